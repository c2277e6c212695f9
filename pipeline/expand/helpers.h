/*
 * helpers.h - what threads do ahead of the consumer
 */
#ifndef GZLZSS_EXPAND_HELPERS_H
#define GZLZSS_EXPAND_HELPERS_H

#include "pipeline/expand/expansion.h"

/* Does some work for one decompression: something that is done in order, or else regions are sought
 * and decoded.  Gives up the lock.  False: there is nothing to do now. */
bool help_one(struct expansion *e, struct expand_tools *t);

#endif
