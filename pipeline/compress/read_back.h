/*
 * read_back.h - reads written segments back from the output file, and verifies them
 *
 * The writer hands each segment that it has written to this file.  Any worker then reads the
 * segment's output back, to the buffer from which it was written, and decodes it (verify.h), while
 * others go on compressing.  The bytes are still in the system's page cache.  A worker does this
 * before it claims more input, so few segments wait, and their slots bound the memory.
 *
 * The worker that verifies the job's last segment also compares the header, the trailer and the
 * file's size.  The trailer is made again for this, from the lengths and check values of the
 * segments that were decoded.
 *
 * Pieces of --rsyncable refer to the bytes before them.  So one worker at a time verifies a job's
 * pieces, in order, and leaves a window for the next.
 */
#ifndef GZLZSS_READ_BACK_H
#define GZLZSS_READ_BACK_H

#include "pipeline/crew/state.h"

/* Makes p->read_backs.  Returns false if memory is short. */
bool read_back_init(struct pipeline *p);

/* Frees p->read_backs, which may be NULL. */
void read_back_free(struct pipeline *p);

/* Takes over the job's first slot, after its segment was written. */
void read_back_put(struct job *j);

/* The first segment that a worker can verify now, or NULL.  It stays in the queue. */
const struct slot *read_back_first(const struct pipeline *p);

/* Verifies the segment that read_back_first returns, or drops it if its job has failed.  The worker
 * must be equipped, unless the job has failed.  If the output is wrong, the job fails.  Releases
 * the lock meanwhile; the job may be gone afterwards. */
void read_back_do(struct worker *w);

/* Verifies the whole output of a job with one segment, which was written.  Returns false if it is
 * wrong.  errno is 0 then, or says why the output could not be read.  Called without the lock. */
bool read_back_small(struct worker *w, struct slot *s);

#endif
