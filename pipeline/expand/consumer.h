/*
 * consumer.h - the thread that decodes a .gz from its start
 */
#ifndef GZLZSS_EXPAND_CONSUMER_H
#define GZLZSS_EXPAND_CONSUMER_H

#include "pipeline/expand/expansion.h"

/* Returns the functions that the decoder of compat/ calls at the start of blocks. */
struct gz_ahead consumer_ahead(struct expansion *e);

/* Lets workers help if the input is now known to be large.  Called without the lock. */
void consumer_consider_help(struct expansion *e);

#endif
