/*
 * gpu_feed.h - fills batches, lets GPUs match them, and hands the segments to the workers
 */
#ifndef GZLZSS_GPU_FEED_H
#define GZLZSS_GPU_FEED_H

#include "pipeline/compress/feeding.h"

/* Decides whether the work left is worth GPUs.  If so, brings GPUs up in the background, and starts
 * feeders for the GPUs that are up.  Call this often, because it returns at once if it is too early
 * to decide again. */
void consider_gpus(struct pipeline *p);

/* Reads a segment for a feeder, and returns true.  Releases the lock meanwhile.  If no segment
 * waits to be read, or if enough workers read already, returns false. */
bool read_for_feeder(struct pipeline *p);

/* The function of a feeder's thread. */
void *feeder_main(void *feeder);

#endif
