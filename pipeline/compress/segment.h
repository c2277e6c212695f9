/*
 * segment.h - matches and encodes one segment; does all of a small job
 */
#ifndef GZLZSS_SEGMENT_H
#define GZLZSS_SEGMENT_H

#include "pipeline/crew/state.h"

/* Encodes the worker's segment, after matching it unless a GPU has matched it.  Then writes all
 * segments that can be written now.  Releases the lock meanwhile; the job may be gone
 * afterwards. */
void finish_segment(struct worker *w, struct slot *s);

/* Whether one worker should do all of a waiting job. */
bool is_small(const struct job *j);

/* Does a whole small job, from its beginning to its end.  No other thread works on the job, so this
 * function holds the lock only for moments.  If you add a step, do it without the lock.  With some
 * ten workers and files of 4 KB, which take 10 us each, workers would otherwise mostly wait for the
 * lock. */
void do_small(struct worker *w, struct job *j);

#endif
