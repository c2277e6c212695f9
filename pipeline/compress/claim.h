/*
 * claim.h - claims segments and reads them; reads ahead of a pipe
 */
#ifndef GZLZSS_CLAIM_H
#define GZLZSS_CLAIM_H

#include "pipeline/crew/state.h"

/* Claims the job's next segment and reads it to buf.  Call this only if the segment can be read
 * right now.  buf has room for a segment and LZ_INPUT_PAD bytes.  Releases the lock meanwhile.
 * Returns NULL if the job has failed; then *j may be gone. */
struct slot *claim_one(struct job *j, uint8_t *buf);

/* Claims the job's next segment, which can be read in any order (job_next_is_any), but does not
 * read it.  The slot's buffer becomes buf, to which read_segment reads the segment later.  Returns
 * NULL if memory is short. */
struct slot *claim_any(struct job *j, uint8_t *buf);

/* Reads the slot's segment to the slot's buffer.  Call this after claim_any, with the slot that it
 * has made.  Releases the lock meanwhile.  If reading fails, the job fails. */
void read_segment(struct slot *s);

/* Claims the job's next segment, which can only be read in order, and reads it to buf.  Releases
 * the lock meanwhile.  Returns NULL if memory is short.  If the job has failed meanwhile, the
 * caller must drop the slot (slot_done). */
struct slot *claim_in_order(struct job *j, uint8_t *buf);

/* Reads the next segment of an input that is read in order, to the slot's buffer.  Called without
 * the lock, by the one thread that reads the job's input.  Returns false, with errno set, if
 * reading fails. */
bool read_in_order(struct slot *s);

/* Counts `bytes` bytes that were read in `seconds` seconds.  If `ok` is false, makes the job fail
 * with the errno `error`. */
void count_read(struct job *j, double seconds, uint64_t bytes, bool ok, int error);

/* Claims a segment that was read in order.  It becomes the job's next segment and, if s->last is
 * set, its last one. */
void claim_read(struct slot *s);

/* The job whose pipe a worker should read ahead now, or NULL.  While a GPU is brought up, a pipe
 * can give more than the workers can match. */
struct job *job_to_read_ahead(struct pipeline *p);

/* Reads the job's next segment ahead.  Releases the lock meanwhile; *j may be gone afterwards. */
void read_ahead(struct job *j);

/* If the first job's block of memory for reading ahead holds no segment, and no more segments will
 * come, frees the block.  Returns whether it has freed the block.  If so, the lock was released
 * meanwhile, as freeing may take long. */
bool leave_ahead(struct pipeline *p);

#endif
