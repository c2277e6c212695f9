/*
 * push.h - makes segments from input that the caller gives; ahead.h has the segments' memory
 */
#ifndef GZLZSS_PUSH_H
#define GZLZSS_PUSH_H

#include "pipeline/crew/state.h"

/* Whether job_push would take at least one byte now, or go on with a flush. */
bool job_can_be_pushed(const struct job *j);

/* Does the work of pipeline_push (pipeline.h).  Takes as many of the `len` bytes as there is room
 * for, and returns their number.  Releases the lock meanwhile; *j may be gone afterwards. */
size_t job_push(struct job *j, const uint8_t *bytes, size_t len, enum pipeline_push then);

#endif
