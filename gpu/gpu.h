/*
 * gpu.h - the GPU engine's interface to the rest of the program: plain C, no CUDA types
 *
 * The engine matches batches. A batch is pinned host memory that holds segments of any length, from
 * any number of files. A batch's life:
 *
 *     gpu_new_batch    makes an empty batch
 *     gpu_batch_add    reserves space for a segment; the caller copies the bytes there
 *     gpu_submit       starts copies and kernels, and returns at once
 *     gpu_collect      waits for them
 *
 * After gpu_collect, each segment's chunks hold the sequences that lz_match_segment finds on a CPU.
 * Keep several batches under way, so that copies, kernels and the caller's own work overlap.
 *
 * Any thread may call any function, but only one thread at a time may use one batch. The engine is
 * in a module of its own (module.h). Without the module there are no devices, and an error message
 * says so (forward.c).
 */
#ifndef GZLZSS_GPU_H
#define GZLZSS_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "lzss/lzss.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Size of the buffer for an error message, in bytes. Longer messages are cut off. */
#define GPU_ERROR_SIZE 256

struct gpu_engine;

/* Settings for tests. With all members 0, the engine works as usual. */
struct gpu_options {
    /* The engine assumes at most this much free device memory, in bytes; 0: no limit. */
    size_t memory;
    size_t shared; /* limit on a block's shared memory, bytes; 0: none */
    bool is_wrong; /* give wrong sequences */
    bool fails;    /* fail all submissions after the first `good_batches` */
    long good_batches;
    bool hangs;     /* a kernel takes some 20 s */
    bool miscopies; /* for decompression: a byte of each copy to the host is wrong */
    long flip;      /* Huffman coding: bit flip - 1 of each batch's output is wrong; 0: none */
    double seconds; /* the most seconds of a wait for the device; 0: the usual limit (wait.cu) */
};

/* Seconds that a batch took, by the device's clock. */
struct gpu_times {
    double copy_in;
    double kernels;
    double copy_out;
};

/* One segment of a batch. Only gpu/ uses this struct. */
struct gpu_segment {
    uint32_t start;      /* offset in the batch's input; a multiple of GPU_ALIGNMENT */
    uint32_t length;     /* bytes */
    uint32_t chunk;      /* number of the segment's first chunk; valid from gpu_submit on */
    const uint8_t *from; /* the bytes, in a GPU's memory; NULL: the batch's input has them */
    bool is_last;        /* its last block is final (gpu_batch_set_last) */
};

/* Segments of a batch start at multiples of this many bytes, because kernels load 16 bytes at a
 * time. */
#define GPU_ALIGNMENT 16

/* One batch. The engine owns the memory. Callers read the members above the dashes, and call
 * functions for the rest. */
struct gpu_batch {
    size_t capacity;        /* input bytes; a multiple of the engine's segment size */
    size_t length;          /* bytes of all segments together */
    unsigned count;         /* number of segments */
    struct gpu_times times; /* valid after gpu_collect */
    bool codes;             /* gpu_submit lets the GPU code the segments, too (gpu_batch_output) */
    /* ---- */
    uint8_t *input; /* pinned; `capacity` + LZ_INPUT_PAD bytes */
    size_t used;    /* input bytes given to segments, with the gaps between them */
    struct gpu_segment *segments;
    struct lz_chunk *chunks; /* valid after gpu_collect: the chunks of all segments, in order */
    unsigned chunk_room;     /* the most chunks, and so the most segments, that fit */
    unsigned chunk_count;    /* chunks given to segments */
    void *device;            /* for the engine (engine.cu) */
};

/* Whether the program has a GPU engine. If it has none, error has the reason. This function starts
 * no device. */
bool gpu_is_installed(char error[GPU_ERROR_SIZE]);

/* Sets *toolkit to the version of the CUDA toolkit that this program was built with, and *driver to
 * the newest version that the driver supports. A version is 1000 times the major number plus 10
 * times the minor one, as in CUDART_VERSION; 0: there is no toolkit or no driver. This function
 * starts no device. */
void gpu_versions(int *toolkit, int *driver);

/* Returns the number of devices. If there are none, returns 0 with the reason in error. */
int gpu_count(char error[GPU_ERROR_SIZE]);

/* A description of a device, for --list-devices. */
struct gpu_description {
    char error[GPU_ERROR_SIZE]; /* why the rest is not known; empty if it is */
    char name[128];
    int major, minor; /* the compute capability */
    int multiprocessors;
    uint64_t memory;   /* bytes */
    bool is_supported; /* this build has code for the device */
};

/* Describes visible device number `device`, 0 to gpu_count - 1. */
void gpu_describe(int device, struct gpu_description *d);

/* Returns how many hardware queues the driver should create on a device for `level`; 0 means the
 * driver's default. Put the number into CUDA_DEVICE_MAX_CONNECTIONS in the environment before the
 * process first calls the driver, because the driver reads the variable only then. This function
 * calls no driver. */
int gpu_queues(const struct lz_level *level);

/*
 * Starts visible device number `device`, 0 to gpu_count - 1, for matching at `level`.
 *
 *     segment_size  the most bytes of a segment: any size that --blocksize allows
 *     batch_size    about the bytes of a batch, below 2 GiB
 *     batches       the most batches that exist at a time, 1 or more
 *     options       settings for tests, which are copied
 *
 * If the device has little free memory, batches become smaller, then fewer.
 *
 * This takes about 0.3 s, because creating a CUDA context is slow. If the device cannot be used,
 * returns NULL with a message in error.
 */
struct gpu_engine *gpu_open(int device, const struct lz_level *level, size_t segment_size,
                            size_t batch_size, int batches, const struct gpu_options *options,
                            char error[GPU_ERROR_SIZE]);

/* Frees the engine. Free its batches first. If the device does not answer, its memory is not freed,
 * because a kernel may still use it (wait.cu). */
void gpu_close(struct gpu_engine *g);

/* gpu_name returns the device's name, which is valid until gpu_close. gpu_batches returns the most
 * batches that the engine plans for, 1 or more. */
const char *gpu_name(const struct gpu_engine *g);
int gpu_batches(const struct gpu_engine *g);

/* Makes an empty batch. If memory is short, returns NULL with a message in error. */
struct gpu_batch *gpu_new_batch(struct gpu_engine *g, char error[GPU_ERROR_SIZE]);

/* Frees a batch that is not under way. b may be NULL. */
void gpu_free_batch(struct gpu_engine *g, struct gpu_batch *b);

/* Empties a batch that is not under way. */
void gpu_batch_clear(struct gpu_batch *b);

/* Whether one more segment of `len` bytes, 1 to the engine's segment size, fits. A batch has room
 * for `capacity` bytes. It also has room for a limited number of chunks: the number that `capacity`
 * bytes have in segments of full size. */
bool gpu_batch_fits(const struct gpu_batch *b, size_t len);

/*
 * Adds a segment of `len` bytes, 1 to the engine's segment size. Returns where the caller must put
 * the bytes before gpu_submit, and sets *index to the segment's number in the batch, from 0 on.
 * Returns NULL if the segment does not fit.
 *
 * The address is a multiple of GPU_ALIGNMENT. The next segment's address is the next such multiple
 * at or after this segment's end. LZ_INPUT_PAD bytes after each segment are readable; they may
 * belong to another segment, and no result depends on them.
 */
uint8_t *gpu_batch_add(struct gpu_batch *b, size_t len, unsigned *index);

/* Shortens segment `index` to `len` bytes, 0 to its current length, before gpu_submit. If the
 * segment is the last one, the bytes that it gives up are free again. */
void gpu_batch_set_length(struct gpu_batch *b, unsigned index, size_t len);

/* Tells the engine, before gpu_submit, that the bytes of segment `index` are at `from` in this
 * GPU's memory (gpu_find_memory). The caller then leaves the segment's place in the batch empty.
 * The GPU makes two copies of the bytes: one for the kernels, and one in the segment's place in the
 * batch. The second copy runs beside the kernels, and is complete after a successful gpu_collect.
 * The engine reads `from` until gpu_collect returns, or until gpu_submit returns false. */
void gpu_batch_set_source(struct gpu_batch *b, unsigned index, const uint8_t *from);

/* Returns, after gpu_collect, the LZ_CHUNKS(length) chunks of segment `index`. They are valid until
 * the batch is cleared or submitted again. */
const struct lz_chunk *gpu_batch_chunks(const struct gpu_batch *b, unsigned index);

/*
 * Huffman coding on the GPU.  If `codes` is true when gpu_submit is called, the GPU also turns the
 * segments' sequences into DEFLATE blocks: the bytes that huff_encode_segment writes at the
 * engine's level, with HUFF_MARK at the end, or HUFF_LAST after gpu_batch_set_last.  The device
 * decodes what it wrote, and compares it with the input as the device has it.  The batch then has
 * no chunks after gpu_collect, but outputs.
 *
 * gpu_codes returns whether the engine can do that: not at levels with HUFF_BEST.  If memory for it
 * is short, gpu_submit sets `codes` to false, and the batch gets chunks.
 */
bool gpu_codes(const struct gpu_engine *g);
void gpu_batch_set_last(struct gpu_batch *b, unsigned index, bool is_last);

/* A segment's output. */
struct gpu_output {
    const uint8_t *bytes; /* valid until the batch is cleared or submitted again */
    size_t length;
    uint32_t in_crc;  /* the CRC-32 of the segment's bytes that the device matched and compared */
    uint32_t out_crc; /* the CRC-32 of the output that the device has checked */
    bool is_wrong;    /* there is no output because it was wrong, not because memory was short */
};

/* Fills in *o with the output of segment `index`.  Believe it only if in_crc is the CRC-32 of the
 * segment's bytes, and out_crc that of the output.  If the GPU has no right output for the segment,
 * returns false; the CPU must then match and encode it. */
bool gpu_batch_output(const struct gpu_batch *b, unsigned index, struct gpu_output *o);

/* Whether the GPU had no room for the chunk's sequences. The chunk then has a single sequence,
 * which no check accepts: the GPU is not wrong, but the CPU must match the segment. */
static inline bool gpu_had_no_room(const struct lz_chunk *c)
{
    return c->count == 1 && c->sequences[0].length == 0 && c->sequences[0].distance == 0;
}

/* gpu_submit starts matching a batch, and returns at once. gpu_collect waits for the result; call
 * it once for each gpu_submit. If the device fails, both functions return false with a message in
 * error. The batch then still has its input, but no chunks. After that, close the engine, since its
 * later batches would fail, too.
 *
 * A device that does not answer within 60 s, plus 1 s for each MiB of a batch, has failed. */
bool gpu_submit(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE]);
bool gpu_collect(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE]);

/* --- Copies from and to a GPU's memory -------------------------------------------------------- */

/* A copier copies between a device's memory and the memory of the host or of another device. It has
 * a CUDA stream of its own, so its copies wait for no other work on the device. */
struct gpu_copier;

/* Makes a copier. If the device cannot be used, returns NULL with a message in error. If the
 * process has no context on the device yet, this takes about 0.3 s. */
struct gpu_copier *gpu_new_copier(int device, char error[GPU_ERROR_SIZE]);
void gpu_free_copier(struct gpu_copier *c);

/* Copies `len` bytes and waits until the copy is complete. Each address may be device memory or
 * host memory, pinned or not. Only one thread at a time may use one copier. On failure, returns
 * false with a message in error; some of the bytes may have been copied. */
bool gpu_copy(struct gpu_copier *c, void *to, const void *from, size_t len,
              char error[GPU_ERROR_SIZE]);

/* Copies the `count` parts, which are in host memory, one after another to device memory. `count`
 * is 1 or more. Like gpu_copy otherwise. */
bool gpu_put(struct gpu_copier *c, void *to, const struct iovec *parts, int count,
             char error[GPU_ERROR_SIZE]);

/* --- Pointers and streams of the calling program ---------------------------------------------- */

/*
 * The functions below run in the calling program's threads. Such a thread may have a current CUDA
 * context of its own, or none, and knows nothing of this library's CUDA runtime. These functions
 * leave the thread's current context as it is, and create no context.
 *
 * Other functions of this header may change the thread's current device. So a thread of the program
 * calls them between gpu_save_thread and gpu_restore_thread.
 */

/* Memory that the calling program passed in. */
struct gpu_memory {
    bool is_on_gpu; /* memory of a GPU, or managed memory: only CUDA copies reach it */
    int device;     /* number of the device, if is_on_gpu */
    void *host;     /* the host's address, if not is_on_gpu */
    /* If is_on_gpu: block[0..block_size) is the allocation that contains the memory, and the whole
     * allocation is on the device. block_size is 0 if the driver does not tell the allocation, or
     * tells a range that may have memory of several devices. */
    const uint8_t *block;
    size_t block_size;
};

/* Sets *m to a description of the memory at p. In a process that has not initialized CUDA, all
 * memory is host memory. If the driver cannot tell, or there is no engine, returns false with a
 * message in error. */
bool gpu_find_memory(const void *p, struct gpu_memory *m, char error[GPU_ERROR_SIZE]);

enum gpu_wait {
    GPU_WAIT_DONE,
    GPU_WAIT_FAILED,   /* queued work has failed, or the driver has failed */
    GPU_WAIT_CAPTURED, /* the stream is being captured into a graph, so its work does not run */
    GPU_WAIT_STOPPED
};

/*
 * Waits until all work that was queued on the stream (a cudaStream_t or CUstream) before this call
 * is done. goes_on(ctx) is called now and then; if it returns false, the wait ends with
 * GPU_WAIT_STOPPED. After GPU_WAIT_FAILED, error has a message.
 *
 * NULL is the legacy default stream. It stands for all blocking streams of one context: the current
 * context of the thread, or if the thread has none, the primary context of `device`. If neither
 * exists, the function returns GPU_WAIT_DONE at once. If `device` is -1, there is no primary
 * context.
 */
enum gpu_wait gpu_wait_stream(void *stream, int device, bool (*goes_on)(void *ctx), void *ctx,
                              char error[GPU_ERROR_SIZE]);

/* Returns the number of the device of the thread's current context; 0 if it has none. */
int gpu_current_device(void);

/* Whether the process already has the device's primary context. */
bool gpu_context_is_active(int device);

/* The CUDA driver's state of the calling thread. */
struct gpu_thread {
    void *context; /* the current context, or NULL */
    int capture;   /* the capture mode: what the thread may do while a stream is captured */
    bool is_saved; /* whether an engine was loaded, which has set the members above */
};

void gpu_save_thread(struct gpu_thread *t);
void gpu_restore_thread(const struct gpu_thread *t);

#ifdef __cplusplus
}
#endif

#endif
