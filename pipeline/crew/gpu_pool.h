/*
 * gpu_pool.h - the GPUs that a pipeline may use, and how they come up in the background
 *
 * Bringing up a GPU takes 0.3 s or more, so every one has a thread for it, and who wants them goes
 * on meanwhile.  They are numbered from 0 in the order in which they came up.  All functions may be
 * called by any thread.
 */
#ifndef GZLZSS_GPU_POOL_H
#define GZLZSS_GPU_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/gpu.h"

/* Batches that a GPU has at most. */
#define GPUS_BATCHES 8

/* GPUs at most. */
#define GPUS_MAX 16

struct gpu_pool;

struct gpus_config {
    int numbers[GPUS_MAX]; /* CUDA devices that may be used, */
    int count;             /* and how many; 0: all that are visible */
    struct gpu_options options;
};

enum gpus_state {
    GPUS_UNWANTED, /* gpus_want was not called yet */
    GPUS_OPENING,  /* none is up, but that may change */
    GPUS_READY,    /* one at least can be used */
    GPUS_FAILED    /* none can, and none will */
};

/*
 * For up to `batches` batches, GPUS_BATCHES at most, of about `batch_size` bytes, of segments of
 * segment_size bytes, to be matched at `level`.  *config is copied.  `changed` is called, with ctx,
 * whenever one more GPU has come up or cannot be brought up; by a thread of its own, which holds no
 * lock.  NULL if memory is short.
 */
struct gpu_pool *gpus_new(const struct gpus_config *config, const struct lz_level *level,
                          size_t segment_size, size_t batch_size, int batches,
                          void (*changed)(void *ctx), void *ctx);

/* Whether there is certainly no GPU, with the reason in `why`.  Where the driver's device files are
 * (Windows' in WSL), there is thought to be one: asking CUDA would take 0.1 s or more. */
bool gpus_are_missing(char why[GPU_ERROR_SIZE]);

/* Closes them all, once those that are being brought up have come up or failed.  No batch may be
 * under way.  g may be NULL. */
void gpus_free(struct gpu_pool *g);

/* Whether there is nothing of a GPU to free: none was brought up or is about to be.  If so, its threads
 * have ended.  If not, there are threads of the driver's, or one that is about to start them.  A program
 * that ends now may do without gpus_free then. */
bool gpus_leave(struct gpu_pool *g);

/* Starts bringing up GPUs in the background until so many were, or there are no more.  `near` is a
 * CUDA device, or -1.  If it may be used and is not up yet, it comes next, even if `count` are up. */
void gpus_want(struct gpu_pool *g, int count, int near);

/* Waits until none is being brought up. */
void gpus_wait(struct gpu_pool *g);

enum gpus_state gpus_state(struct gpu_pool *g);

/* How many have come up, whether they have failed since or not. */
int gpus_count(struct gpu_pool *g);

/* GPU i, below gpus_count; NULL if it has failed. */
struct gpu_engine *gpus_engine(struct gpu_pool *g, int i);

/* The CUDA device that GPU i is. */
int gpus_device(struct gpu_pool *g, int i);

/* Batch b, from 0 and below GPUS_BATCHES, of GPU i, which is made the first time; one thread at a
 * time for each.  NULL if memory is short, with the reason in error where it was thought to do. */
struct gpu_batch *gpus_batch(struct gpu_pool *g, int i, int b, char error[GPU_ERROR_SIZE]);

/* GPU i has failed, for this reason. */
void gpus_fail(struct gpu_pool *g, int i, const char *why);

/* Why a GPU failed or could not be brought up, the last time that one did; empty if none. */
void gpus_trouble(struct gpu_pool *g, char why[GPU_ERROR_SIZE]);

/* The name of the first that came up, and how many more did; empty if none. */
void gpus_names(struct gpu_pool *g, char names[GPU_ERROR_SIZE]);

#endif
