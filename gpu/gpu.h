/*
 * gpu.h - the GPU engine as the rest of the program sees it: plain C, no CUDA types
 *
 * The engine works on batches.  A batch has pinned host memory for its input; the caller fills it
 * with whole segments, submits it, and later collects it: the batch's chunks then hold the same
 * sequences that lz_match_segment would have found.  Several batches can be under way at a time, so
 * that copies, kernels and the caller's work overlap.
 *
 * Any thread may call any function, but for one batch only one thread at a time does.  In a build
 * without CUDA, there are no devices, and a message says so.
 */
#ifndef GZLZSS_GPU_H
#define GZLZSS_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lzss/lzss.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for a message that says why a call failed. */
#define GPU_ERROR_SIZE 256

struct gpu_engine;

/* What a batch cost, in seconds, as the device's own clock saw it. */
struct gpu_times {
    double copy_in;
    double kernels;
    double copy_out;
};

/* One batch.  The engine owns the memory; the caller fills what is marked so. */
struct gpu_batch {
    uint8_t *input;          /* pinned, `capacity` bytes and LZ_INPUT_PAD more */
    size_t capacity;         /* whole segments of the engine's segment size fit */
    size_t length;           /* caller: bytes of input filled, segments back to back, each but
                                the batch's last of the engine's full segment size */
    struct lz_chunk *chunks; /* after gpu_collect: chunks of all segments in input order */
    struct gpu_times times;  /* after gpu_collect */
    void *device;            /* the engine's own */
};

/* What --list-devices prints: calls line(ctx, text) once for each device, or with why there is
 * none.  The text has no newline and is gone when the call returns. */
void gpu_list_devices(void (*line)(void *ctx, const char *text), void *ctx);

/* How many devices there are; 0, with the reason in error, if there is none. */
int gpu_count(char error[GPU_ERROR_SIZE]);

/* Sets CUDA_DEVICE_MAX_CONNECTIONS, unless the user has set it, so that the driver makes as many
 * queues on a device as are good for `level`.  To be called before all else here, and before any
 * thread is started: others may read the environment. */
void gpu_choose_queues(const struct lz_level *level);

/*
 * Brings up visible device number `device`, from 0 and below gpu_count, for matching at `level`, with
 * up to `batches` batches of about `batch_size` bytes each for segments of `segment_size` bytes;
 * fewer or smaller ones if the device's free memory is short.  segment_size is as --blocksize allows;
 * batch_size is below 2 GiB; batches is 1 or more.  Takes about 0.3 s: creating a CUDA context is
 * slow.  Returns NULL, with a message in error, if the device cannot be used.
 */
struct gpu_engine *gpu_open(int device, const struct lz_level *level, size_t segment_size,
                            size_t batch_size, int batches, char error[GPU_ERROR_SIZE]);

/* Frees the engine, whose batches must be freed already. */
void gpu_close(struct gpu_engine *g);

/* The device's name, which is there until gpu_close; and how many batches there may be, 1 or more. */
const char *gpu_name(const struct gpu_engine *g);
int gpu_batches(const struct gpu_engine *g);

/* Makes another batch; NULL, with a message in error, if memory is short after all. */
struct gpu_batch *gpu_new_batch(struct gpu_engine *g, char error[GPU_ERROR_SIZE]);

/* Frees a batch that is not under way; b may be NULL. */
void gpu_free_batch(struct gpu_engine *g, struct gpu_batch *b);

/* Starts matching a filled batch and returns at once; gpu_collect, once for every gpu_submit, waits
 * for it.  Both return false, with a message in error, if the device failed: the batch's input is
 * still there, its chunks are not, and the engine is of no more use. */
bool gpu_submit(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE]);
bool gpu_collect(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
