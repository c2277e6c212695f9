/*
 * push.h - input that the caller gives, which becomes segments (pushed.h has their memory)
 */
#ifndef GZLZSS_PUSH_H
#define GZLZSS_PUSH_H

#include "pipeline/crew/state.h"

/* Whether job_push would take something. */
bool job_can_be_pushed(const struct job *j);

/* Takes as much as there is room for, and returns how much; see pipeline_push.  Gives up the lock;
 * *j may be gone afterwards. */
size_t job_push(struct job *j, const uint8_t *bytes, size_t len, bool ends);

#endif
