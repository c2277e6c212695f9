/*
 * gpu_feed.h - segments for GPUs, in batches
 */
#ifndef GZLZSS_GPU_FEED_H
#define GZLZSS_GPU_FEED_H

#include "pipeline/compress/feeding.h"

/* Has GPUs brought up once what is to be done is known to be worth it, and feeds those that are
 * up. */
void consider_gpus(struct pipeline *p);

/* Reads a segment for a feeder, unless there is none, or enough workers do so already.  Gives up
 * the lock meanwhile. */
bool read_for_feeder(struct pipeline *p);

/* What a feeder does: a thread's function. */
void *feeder_main(void *feeder);

#endif
