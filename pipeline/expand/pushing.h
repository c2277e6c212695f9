/*
 * pushing.h - how far an input may be pushed ahead of what is written
 *
 * Input that is pushed cannot be given back, so a stream whose caller is away must not hold much.
 * Every pushed input may be PUSH_LEAD bytes ahead of what was written.  Beyond that, all inputs of
 * a pipeline share a lead, as they share the threads: an input borrows from it as long as it has
 * more.
 */
#ifndef GZLZSS_EXPAND_PUSHING_H
#define GZLZSS_EXPAND_PUSHING_H

#include "pipeline/expand/expansion.h"

/* The most output of one region of a pushed input.  One run of it may stay in memory while the
 * caller is away.  With less, segments of 4 MiB would be cut in two. */
#define PUSHED_OUT (((size_t)4 << 20) + ((size_t)64 << 10))

/* Returns borrowed lead that is not needed any more, or borrows more, after bytes were pushed or
 * written. */
void pushing_count(struct expansion *e);

/* Whether one more region may have an output buffer: there is one, and the caller is not slow. */
bool pushing_has_buffer(const struct expansion *e);

/* The caller is away for long, while the consumer waits for it. */
void pushing_slow_down(struct expansion *e);

/* The most input that a region should have, so that every thread has a part of what may be
 * pushed. */
uint64_t pushing_region_max(const struct expansion *e);

#endif
