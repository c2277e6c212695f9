/*
 * segment.h - one segment is matched and encoded; and small jobs
 */
#ifndef GZLZSS_SEGMENT_H
#define GZLZSS_SEGMENT_H

#include "pipeline/crew/state.h"

/* Matches the worker's segment, unless a GPU did, encodes it, and writes what can be written; the
 * lock is free meanwhile, and the job may be gone afterwards. */
void finish_segment(struct worker *w, struct slot *s);

/* Whether one worker should do all of a job that waits. */
bool is_small(const struct job *j);

/* Does a whole job, which is small, from its beginning to its end.  No other thread has a part in
 * it.  So the lock is free all the time but for a moment, which matters: with some ten workers, and
 * a file of 4 KB each 10 us, they would mostly wait for it. */
void do_small(struct worker *w, struct job *j);

#endif
