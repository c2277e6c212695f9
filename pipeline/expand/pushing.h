/*
 * pushing.h - limits how far an input may be pushed ahead of the output
 *
 * Pushed input must be kept until it is decoded, so a stream whose caller is away should have
 * little of it.  The lead of an input is the number of pushed bytes after the place up to which the
 * output is written.  Each input may have a lead of PUSH_LEAD bytes.  All inputs of a pipeline
 * share a further lead, as they share the threads.  An input whose lead exceeds PUSH_LEAD has
 * borrowed the excess from the shared lead.
 */
#ifndef GZLZSS_EXPAND_PUSHING_H
#define GZLZSS_EXPAND_PUSHING_H

#include "pipeline/expand/expansion.h"

/* The most bytes of output of one region of a pushed input.  One run of the region may stay in
 * memory while the caller is away.  With a lower number, segments of 4 MiB would be cut in two. */
#define PUSHED_OUT (((size_t)4 << 20) + ((size_t)64 << 10))

/* Updates the lead that the input has borrowed.  Call this after bytes were pushed or written. */
void pushing_count(struct expansion *e);

/* Whether one more region may have an output buffer.  It may if a buffer is available, and, with a
 * slow caller, if the caller has taken enough output. */
bool pushing_has_buffer(const struct expansion *e);

/* Marks the caller as slow.  Call this when the caller has been away for a long time while the
 * consumer waited for it. */
void pushing_slow_down(struct expansion *e);

/* Returns the most bytes of input that a region should have, so that the bytes that may be pushed
 * ahead are enough for one region for each thread. */
uint64_t pushing_region_max(const struct expansion *e);

#endif
