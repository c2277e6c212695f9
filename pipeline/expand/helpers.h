/*
 * helpers.h - the work of threads ahead of the consumer
 */
#ifndef GZLZSS_EXPAND_HELPERS_H
#define GZLZSS_EXPAND_HELPERS_H

#include "pipeline/expand/expansion.h"

/* Does some work for one decompression: a step that is done in order (in_order.h), or else decoding
 * a batch of regions.  Gives up the lock.  Returns false if there is nothing to do now. */
bool help_one(struct expansion *e, struct expand_tools *t);

#endif
