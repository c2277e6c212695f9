/*
 * gpu_pool.h - brings up the GPUs that a pipeline may use, in the background
 *
 * Bringing up a GPU takes 0.3 s or more.  So each GPU is brought up by a thread of its own, and the
 * thread that wants the GPU does not wait.  GPUs are numbered from 0 in the order in which they
 * come up.  Any thread may call any of these functions.
 */
#ifndef GZLZSS_GPU_POOL_H
#define GZLZSS_GPU_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/gpu.h"

/* The most batches of a GPU. */
#define GPUS_BATCHES 8

/* The most GPUs of a pipeline. */
#define GPUS_MAX 16

struct gpu_pool;

struct gpus_config {
    int numbers[GPUS_MAX]; /* numbers of the CUDA devices that may be used */
    int count;             /* how many numbers; 0: all visible devices may be used */
    struct gpu_options options;
};

enum gpus_state {
    GPUS_UNWANTED, /* gpus_want was not called yet */
    GPUS_OPENING,  /* no GPU is up, but one may still come up */
    GPUS_READY,    /* at least one GPU can be used */
    GPUS_FAILED    /* no GPU can be used, and none will come up */
};

/*
 * Makes a pool.  Each of its GPUs has up to `batches` batches, GPUS_BATCHES at most.  A batch holds
 * about `batch_size` bytes, in segments of up to segment_size bytes, to be matched at `level`.  The
 * pool keeps a copy of *config.
 *
 * Each time a GPU has come up or could not be brought up, a thread that holds no lock calls
 * changed(ctx).  Returns NULL if memory is short.
 */
struct gpu_pool *gpus_new(const struct gpus_config *config, const struct lz_level *level,
                          size_t segment_size, size_t batch_size, int batches,
                          void (*changed)(void *ctx), void *ctx);

/* Whether this machine certainly has no GPU.  If so, `why` gets the reason.  If the driver's device
 * files exist (in WSL, those of Windows), this function assumes that a GPU exists, since asking
 * CUDA would take 0.1 s or more. */
bool gpus_are_missing(char why[GPU_ERROR_SIZE]);

/* Waits for GPUs that are being brought up, closes all GPUs, and frees g, which may be NULL.  No
 * batch may be in use. */
void gpus_free(struct gpu_pool *g);

/* Whether a program that is about to end may skip gpus_free.  True if no GPU was brought up or is
 * being brought up; then the pool's threads have ended.  False if the driver has threads, or if a
 * thread is about to start them. */
bool gpus_leave(struct gpu_pool *g);

/* Brings up GPUs in the background until `count` GPUs are up or being brought up, or until no more
 * GPUs are left.  `near` is a CUDA device, or -1.  If that device may be used and is not up yet, it
 * is brought up next, even if `count` GPUs are up. */
void gpus_want(struct gpu_pool *g, int count, int near);

/* Waits until no GPU is being brought up. */
void gpus_wait(struct gpu_pool *g);

/* The state of the pool now. */
enum gpus_state gpus_state(struct gpu_pool *g);

/* The number of GPUs that have come up, including those that have failed since. */
int gpus_count(struct gpu_pool *g);

/* GPU i, or NULL if it has failed.  i must be below gpus_count. */
struct gpu_engine *gpus_engine(struct gpu_pool *g, int i);

/* The CUDA device number of GPU i. */
int gpus_device(struct gpu_pool *g, int i);

/* Returns batch b of GPU i; b is below GPUS_BATCHES.  The first call for a batch makes it.  Only
 * one thread at a time may call this for a batch.  Returns NULL if GPU i has fewer batches, or if
 * the batch cannot be made; in the second case, `error` gets the reason. */
struct gpu_batch *gpus_batch(struct gpu_pool *g, int i, int b, char error[GPU_ERROR_SIZE]);

/* Marks GPU i as failed, for the reason `why`.  Only the first call for a GPU counts. */
void gpus_fail(struct gpu_pool *g, int i, const char *why);

/* Counts a segment for which GPU i gave wrong matches.  After GPUS_WRONG_MAX such segments, the GPU
 * is not worth its time, and is marked as failed.  Returns whether this call has marked it. */
bool gpus_wrong(struct gpu_pool *g, int i);

/* The number of wrong segments after which a GPU is marked as failed.  With a lower number, one
 * fault of a memory cell could end the use of a GPU.  With a higher number, more segments are
 * matched twice. */
#define GPUS_WRONG_MAX 4

/* Gives the latest reason why a GPU failed or could not be brought up; an empty string if there was
 * none. */
void gpus_trouble(struct gpu_pool *g, char why[GPU_ERROR_SIZE]);

/* Gives the name of the first GPU that came up, and the number of other GPUs that came up.  If no
 * GPU came up, gives an empty string. */
void gpus_names(struct gpu_pool *g, char names[GPU_ERROR_SIZE]);

#endif
