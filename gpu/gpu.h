/*
 * gpu.h - the GPU engine as the rest of the program sees it: plain C, no CUDA types
 *
 * The engine works on batches.  A batch has pinned host memory for segments of any lengths, of any
 * files.  The caller adds segments to an empty batch and fills them, submits the batch, and later
 * collects it: each segment's chunks then hold the sequences that lz_match_segment would have
 * found.  Several batches can be under way at a time, so that copies, kernels and the caller's work
 * overlap.
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

/* What tests ask of an engine; all 0 asks for nothing. */
struct gpu_options {
    size_t memory; /* it takes no more than so many bytes of device memory for free; 0: no limit */
    size_t shared; /* a block gets no more than so many bytes of shared memory; 0: no limit */
    bool is_wrong; /* it gives wrong sequences */
    bool fails;    /* it takes `good_batches` batches, and fails when another is submitted */
    long good_batches;
};

/* What a batch cost, in seconds, as the device's own clock saw it. */
struct gpu_times {
    double copy_in;
    double kernels;
    double copy_out;
};

/* One segment of a batch; batch.c's own. */
struct gpu_segment {
    uint32_t start;      /* in the batch's input, a multiple of GPU_ALIGNMENT */
    uint32_t length;     /* bytes */
    uint32_t chunk;      /* number of its first chunk, from gpu_submit on */
    const uint8_t *from; /* a GPU's memory that has its bytes, or NULL: they are in the input */
};

/* Segments of a batch start at multiples of so many bytes. */
#define GPU_ALIGNMENT 16

/* One batch.  The engine owns the memory.  Callers read what is above the line, and use functions
 * for the rest. */
struct gpu_batch {
    size_t capacity;        /* bytes of input: whole segments of the engine's segment size fit */
    size_t length;          /* bytes of its segments, all together */
    unsigned count;         /* segments */
    struct gpu_times times; /* after gpu_collect */
    /* ---- */
    uint8_t *input; /* pinned, `capacity` bytes and LZ_INPUT_PAD more */
    size_t used;    /* bytes of it that are given to segments */
    struct gpu_segment *segments;
    struct lz_chunk *chunks; /* after gpu_collect: those of all segments, in their order */
    unsigned chunk_room;     /* chunks, and so segments, that fit */
    unsigned chunk_count;    /* of which so many are given to segments */
    void *device;            /* the engine's own */
};

/* What --list-devices prints: calls line(ctx, text) once for each device, or with why there is
 * none.  The text has no newline and is gone when the call returns. */
void gpu_list_devices(void (*line)(void *ctx, const char *text), void *ctx);

/* How many devices there are; 0, with the reason in error, if there is none. */
int gpu_count(char error[GPU_ERROR_SIZE]);

/* How many queues the driver should make on a device for `level`; 0: as many as it makes by itself.
 * The driver takes the number from CUDA_DEVICE_MAX_CONNECTIONS in the environment, when it is first
 * called.  This calls no driver. */
int gpu_queues(const struct lz_level *level);

/*
 * Brings up visible device number `device`, from 0 and below gpu_count, for matching at `level`,
 * with up to `batches` batches of about `batch_size` bytes each for segments of `segment_size`
 * bytes; fewer or smaller ones if the device's free memory is short.  segment_size is as
 * --blocksize allows; batch_size is below 2 GiB; batches is 1 or more.  *options is copied.  Takes
 * about 0.3 s: creating a CUDA context is slow.  Returns NULL, with a message in error, if the
 * device cannot be used.
 */
struct gpu_engine *gpu_open(int device, const struct lz_level *level, size_t segment_size,
                            size_t batch_size, int batches, const struct gpu_options *options,
                            char error[GPU_ERROR_SIZE]);

/* Frees the engine, whose batches must be freed already. */
void gpu_close(struct gpu_engine *g);

/* The device's name, which is there until gpu_close; and how many batches there may be, 1 or more.
 */
const char *gpu_name(const struct gpu_engine *g);
int gpu_batches(const struct gpu_engine *g);

/* Makes another batch, which is empty; NULL, with a message in error, if memory is short after all.
 */
struct gpu_batch *gpu_new_batch(struct gpu_engine *g, char error[GPU_ERROR_SIZE]);

/* Frees a batch that is not under way; b may be NULL. */
void gpu_free_batch(struct gpu_engine *g, struct gpu_batch *b);

/* Empties a batch that is not under way. */
void gpu_batch_clear(struct gpu_batch *b);

/* Whether one more segment of `len` bytes, 1 to the engine's segment size, fits: a batch has room
 * for `capacity` bytes, and for as many chunks as segments of the engine's segment size have. */
bool gpu_batch_fits(const struct gpu_batch *b, size_t len);

/*
 * Adds a segment of `len` bytes, 1 to the engine's segment size.  Returns where the caller puts
 * them, before gpu_submit, and the segment's number in the batch, from 0 on, in *index; NULL if the
 * segment does not fit.  The place is aligned to GPU_ALIGNMENT bytes, and the next segment's place
 * is the next such address after this segment's end.  LZ_INPUT_PAD bytes behind every segment can
 * be read; they may belong to others, and no result depends on them.
 */
uint8_t *gpu_batch_add(struct gpu_batch *b, size_t len, unsigned *index);

/* Makes segment `index` shorter before gpu_submit: `len` bytes, from 0 to those that were added.
 * If it is the last one, the next takes the room. */
void gpu_batch_set_length(struct gpu_batch *b, unsigned index, size_t len);

/* Says, before gpu_submit, that the bytes of segment `index` are at `from`, memory of this GPU
 * (gpu_find_memory), and nobody puts them into the batch.  The kernels read a copy that the GPU makes
 * of them.  Another copy goes to the segment's place in the batch beside the kernels; it is there
 * after gpu_collect, unless that failed.  `from` is not read any more once gpu_collect, or a
 * gpu_submit that failed, has returned. */
void gpu_batch_set_source(struct gpu_batch *b, unsigned index, const uint8_t *from);

/* After gpu_collect: the LZ_CHUNKS(length) chunks of segment `index`; there until the batch is
 * cleared or submitted again. */
const struct lz_chunk *gpu_batch_chunks(const struct gpu_batch *b, unsigned index);

/* Starts matching a batch and returns at once; gpu_collect, once for every gpu_submit, waits for
 * it.  Both return false, with a message in error, if the device failed: the batch's input is still
 * there, its chunks are not, and the engine is of no more use. */
bool gpu_submit(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE]);
bool gpu_collect(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE]);

/* --- Memory of a GPU, to read from and to write to -------------------------------------------- */

/* Copies between a device's memory and the host's, or another's.  It has a stream of its own, so
 * that it waits for nothing that others do there. */
struct gpu_copier;

/* NULL, with a message in error, if the device cannot be used.  Bringing up a context, where the
 * process has none on the device, takes about 0.3 s. */
struct gpu_copier *gpu_new_copier(int device, char error[GPU_ERROR_SIZE]);
void gpu_free_copier(struct gpu_copier *c);

/* Copies and waits for it; one thread at a time for one copier.  Either may be host memory, pinned
 * or not.  False, with a message in error, if that failed: some of it may have been copied. */
bool gpu_copy(struct gpu_copier *c, void *to, const void *from, size_t len,
              char error[GPU_ERROR_SIZE]);

/* --- What a program gives: pointers and streams ----------------------------------------------- */

/*
 * These are for threads of the program, which may have contexts of their own current, or none, and
 * know nothing of the runtime in here.  They leave the thread's current context as it is, and make
 * none.  Other functions of this header make the device current; such a thread calls them between
 * gpu_save_thread and gpu_restore_thread.
 */

/* Memory that a program gave. */
struct gpu_memory {
    bool is_on_gpu; /* a GPU's, or managed by the driver: only copies get there, */
    int device;     /* by the number of its device; */
    void *host;     /* otherwise, where the host has it */
};

/* Finds out what memory is at p.  In a process that has not initialized CUDA, that is the host's.
 * False, with a message in error, if it cannot be found out, as in a build without CUDA. */
bool gpu_find_memory(const void *p, struct gpu_memory *m, char error[GPU_ERROR_SIZE]);

enum gpu_wait {
    GPU_WAIT_DONE,
    GPU_WAIT_FAILED,   /* what was queued has failed, or the driver has */
    GPU_WAIT_CAPTURED, /* the stream is being captured into a graph: nothing of it is done */
    GPU_WAIT_STOPPED
};

/*
 * Waits until all is done that was queued on the stream (a cudaStream_t or CUstream) before.  NULL is
 * the legacy default stream, which waits for all blocking streams: those of the thread's current
 * context, or else of the device's primary one if there is one, or, if device is -1, none.
 * goes_on(ctx) is asked now and then, and false ends it.  A message is in error after GPU_WAIT_FAILED.
 */
enum gpu_wait gpu_wait_stream(void *stream, int device, bool (*goes_on)(void *ctx), void *ctx,
                              char error[GPU_ERROR_SIZE]);

/* Whether the process has the device's primary context already. */
bool gpu_context_is_active(int device);

/* What CUDA's driver knows of the calling thread. */
struct gpu_thread {
    void *context; /* the current one, or NULL */
    int capture;   /* what it may do while a stream is being captured */
};

void gpu_save_thread(struct gpu_thread *t);
void gpu_restore_thread(const struct gpu_thread *t);

#ifdef __cplusplus
}
#endif

#endif
