/*
 * cuda.h - functions that the calls of gzlzss_cuda.h share
 */
#ifndef GZLZSS_LIB_CUDA_H
#define GZLZSS_LIB_CUDA_H

#include "gpu/gpu.h"
#include "gpu/inflate.h"
#include "lib/object.h"

struct CUstream_st;

/* --- Memory and streams of the program -------------------------------------------------------- */

/* Finds out where the memory at p is: on which device, or on the host. */
gzlzss_status cuda_locate(const void *p, struct gpu_memory *m);

/* Waits for the caller's CUDA stream, in a call that has begun. */
gzlzss_status cuda_wait(struct operation *o, struct CUstream_st *stream,
                        const struct gpu_memory *in, const struct gpu_memory *out);

/* --- Calls ------------------------------------------------------------------------------------ */

/* Calls operation_goes_on for `ctx`, which is a struct operation.  Functions that take a
 * goes_on(ctx) are given this function. */
bool cuda_goes_on(void *ctx);

/* --- Decompression ---------------------------------------------------------------------------- */

/* Ends the wait for a turn when an operation is cancelled.  An operation that uses a GPU's engine
 * has this function as its `wake_up`. */
void cuda_wake_up(struct operation *o);

/* A GPU's attempt to do the work of a call. */
struct cuda_attempt {
    struct operation *operation;
    struct gpu_thread program;
    /* The last numbers that the program's function `progress` got. */
    uint64_t in_bytes, out_bytes;
    /* If set, cuda_tell does not call `progress`. */
    bool is_silent;
};

/* Work that cuda_use_engine lets a GPU's engine do. */
typedef enum gpu_inflate_result cuda_work(void *ctx, struct gpu_inflate *g,
                                          char error[GPU_ERROR_SIZE]);

/* Waits for a turn on the device, opens its engine if necessary, calls work(ctx) and returns its
 * result.  Meanwhile, the CUDA state of the program's thread is saved.  If there is no engine,
 * returns GPU_INFLATE_LEFT. */
enum gpu_inflate_result cuda_use_engine(struct cuda_attempt *a, int device, cuda_work *work,
                                        void *ctx);

/* Sets the error of a call whose GPU does not answer.  The GPU may still write to the output, so
 * the CPU must not write there.  Returns the call's status. */
gzlzss_status cuda_lost(const struct operation *o);

/* Tells the program how far the GPU is.  Meanwhile, the thread has the program's CUDA context.
 * Returns whether the call goes on. */
bool cuda_tell(struct cuda_attempt *a, uint64_t in, uint64_t out);

#endif
