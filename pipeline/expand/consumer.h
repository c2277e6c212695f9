/*
 * consumer.h - the thread that decodes a .gz from its start
 */
#ifndef GZLZSS_EXPAND_CONSUMER_H
#define GZLZSS_EXPAND_CONSUMER_H

#include "pipeline/expand/expansion.h"

/* What the decoder of compat/ asks at each block. */
struct gz_ahead consumer_ahead(struct expansion *e);

/* Lets workers help, once the input is known to be large.  Called without the lock. */
void consumer_consider_help(struct expansion *e);

#endif
