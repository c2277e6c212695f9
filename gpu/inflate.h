/*
 * inflate.h - decompression of .gz data by a GPU: plain C, no CUDA types
 *
 * The GPU decodes any .gz in parallel, whichever program made it; pieces.cuh tells how.  The engine
 * compares the output with the CRC-32 and the length in each member's trailer.  It leaves some data
 * to its caller, which then decompresses all of it on the CPU: data that is damaged, that uses rare
 * features of the format, or that the GPU would decode slowly.  Only the CPU decides whether data
 * is damaged.
 *
 * Only one thread at a time may use one struct gpu_inflate.  In a build without CUDA there are no
 * devices, and an error message says so (none.c).
 */
#ifndef GZLZSS_GPU_INFLATE_H
#define GZLZSS_GPU_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/container.h"
#include "gpu/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_inflate;

/* Settings for tests.  With all members 0, the engine works as usual. */
struct gpu_inflate_options {
    size_t batch;   /* compressed bytes of a batch */
    size_t symbols; /* the most output of a group, in bytes */
    size_t longer;  /* a block of threads counts a unit (pieces.cuh) of more bytes */
    bool fails;     /* fail all calls of CUDA after the first `good_calls` */
    long good_calls;
    bool is_wrong;  /* make one byte of the output wrong */
    bool hangs;     /* a kernel takes some 20 s */
    bool miscopies; /* a byte of each slice (gpu_inflate_take) is wrong */
    double seconds; /* the most seconds of a wait for the device; 0: the usual limit (wait.cu) */
    bool in_steps;  /* for the command: open the engine for the steps below, not for gpu_inflate */
};

/* Seconds that the steps of the last call took, by the device's clock (pieces.cuh). */
struct gpu_inflate_times {
    double copy; /* copying the compressed bytes to the engine's memory */
    double find;
    double count;
    double decode;
    double windows;
    double resolve;
    double sum_up;
};

/* Opens an engine on device number `device`, 0 to gpu_count - 1.  Takes 1.8 GB of the device's
 * memory, and about 0.3 s if the process has no context there.  Returns NULL, with a message in
 * error, if the device cannot be used or memory is short. */
struct gpu_inflate *gpu_inflate_open(int device, const struct gpu_inflate_options *options,
                                     char error[GPU_ERROR_SIZE]);

/* Frees the engine; g may be NULL.  If the device does not answer, its memory is not freed. */
void gpu_inflate_close(struct gpu_inflate *g);

enum gpu_inflate_result {
    GPU_INFLATE_DONE,
    GPU_INFLATE_LEFT,    /* the CPU must decompress the input; out[] may have been written to */
    GPU_INFLATE_FAILED,  /* the device has failed; otherwise the same as GPU_INFLATE_LEFT */
    GPU_INFLATE_LOST,    /* the device does not answer; it may still read `in` and write to `out` */
    GPU_INFLATE_STOPPED, /* goes_on has returned false */
};

/* The engine calls this function after each batch, with the bytes of input and output so far.  The
 * output may still be found wrong.  The function returns false to stop the call.  It may change the
 * thread's current device and capture mode. */
typedef bool gpu_inflate_goes_on(void *ctx, uint64_t in, uint64_t out);

/*
 * Decompresses all members of in[0..in_len) to out[0..*out_len).  `in` is memory of this device, of
 * another device, or of the host.  `out` is memory of this device, with `room` bytes.  If the
 * program allocated `out` in a context of its own, kernels cannot write to it, so the input is left
 * to the CPU.  goes_on may be NULL.
 *
 * After GPU_INFLATE_DONE, all output is in out[] and agrees with the trailers, and no byte after
 * the output was written to.  After GPU_INFLATE_STOPPED, *out_len says how much output is in
 * out[].  After any other result, *out_len is 0, and error has a reason.  In any case but
 * GPU_INFLATE_LOST, the device has ended its work on `in` and `out`.
 */
enum gpu_inflate_result gpu_inflate(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                    uint8_t *out, size_t room, size_t *out_len,
                                    gpu_inflate_goes_on *goes_on, void *ctx,
                                    char error[GPU_ERROR_SIZE]);

/* Sets *size to the bytes of output that gpu_inflate would make of in[0..in_len).  This takes only
 * the first steps of decompression: members' lengths are compared with their trailers, but CRCs are
 * not computed.  The engine calls goes_on with 0 for input and output.  With any result but
 * GPU_INFLATE_DONE, *size is 0. */
enum gpu_inflate_result gpu_inflate_count(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                          uint64_t *size, gpu_inflate_goes_on *goes_on, void *ctx,
                                          char error[GPU_ERROR_SIZE]);

/* Returns memory of the device for `size` bytes of output, or NULL to stop; `size` may be 0.  The
 * function may change the thread's current device and capture mode. */
typedef uint8_t *gpu_inflate_allocate(void *ctx, size_t size);

/* Does gpu_inflate_count, then calls `allocate`, then does gpu_inflate.  An input that fits in one
 * batch is copied and counted only once.  `allocate` is called at most once.  If it returns NULL
 * for a size above 0, the result is GPU_INFLATE_STOPPED. */
enum gpu_inflate_result gpu_inflate_new(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                        gpu_inflate_allocate *allocate, size_t *out_len,
                                        gpu_inflate_goes_on *goes_on, void *ctx,
                                        char error[GPU_ERROR_SIZE]);

/* --- Many inputs ------------------------------------------------------------------------------ */

/* An input, and memory of the device for its output. */
struct gpu_inflate_input {
    const uint8_t *in;
    size_t in_len;
    uint8_t *out;
    size_t room;
    /* The starts of the allocations that contain `in` and `out`.  The engine asks CUDA only once
     * about consecutive inputs with the same allocation.  NULL: it asks about each input. */
    const void *in_block, *out_block;

    /* Results, set in any case: */
    enum gpu_inflate_result result; /* GPU_INFLATE_DONE, or GPU_INFLATE_LEFT */
    size_t made;                    /* bytes of output; 0 if the input is left */
};

/*
 * Decompresses inputs[0..count), side by side.  Each input is one member of gzip, zlib's format, or
 * raw data.  Raw DEFLATE has no checksum, so its output is not compared with anything.  The result
 * and `made` of each input are set in any case.
 *
 * An input is left to the CPU if it is damaged, uses rare features, is longer than a batch (128
 * MiB), has other bytes after its end, or makes more output than there is room for.  The out[] of
 * an input that is left may have been written to.
 *
 * A result other than GPU_INFLATE_DONE means that the call has ended early.  Then error has a
 * message, except after GPU_INFLATE_STOPPED.  goes_on may be NULL.
 */
enum gpu_inflate_result gpu_inflate_many(struct gpu_inflate *g, struct gpu_inflate_input *inputs,
                                         size_t count, enum container container,
                                         gpu_inflate_goes_on *goes_on, void *ctx,
                                         char error[GPU_ERROR_SIZE]);

/* Returns the times of the last call. */
struct gpu_inflate_times gpu_inflate_times(const struct gpu_inflate *g);

/* --- In steps --------------------------------------------------------------------------------- */

/*
 * The engine can decode an input in steps, if it was opened with options.in_steps.  Then the host
 * needs only a part of the input in memory at a time.  The engine has GPU_INFLATE_INPUTS input
 * buffers and GPU_INFLATE_OUTPUTS output buffers on the device.  Three threads may work side by
 * side, each on buffers that no other thread uses meanwhile:
 *
 *   the loader fills input buffers: gpu_inflate_put
 *   the decoder decodes: gpu_inflate_begin; then for each input buffer gpu_inflate_find, and
 *       gpu_inflate_next until all is decoded
 *   the consumer copies output to the host: gpu_inflate_take
 *
 * Input buffers of an input are counted from 0.  The caller chooses `first`, the number of a byte
 * at or before the byte where decoding begins.  Buffer i begins with byte first + i * B of the
 * input, where B is gpu_inflate_batch_size.  Buffer i has gpu_inflate_input_size bytes, or fewer if
 * the input ends before.  So consecutive buffers overlap.
 */
#define GPU_INFLATE_INPUTS 2
#define GPU_INFLATE_OUTPUTS 2

/* Bytes of pinned memory on the host: GPU_INFLATE_STAGE for copies of input, two times
 * GPU_INFLATE_SLICE for copies of output.  With less memory, copies wait more often; with more, the
 * engine takes longer to open. */
#define GPU_INFLATE_STAGE ((size_t)4 << 20)
#define GPU_INFLATE_SLICE ((size_t)8 << 20)

/* Decoded blocks of one member, one after another. */
struct gpu_inflate_run {
    uint64_t start;  /* bit of the input where the first block starts */
    uint64_t end;    /* bit after the last block; rounded up to a byte if ends_member */
    uint64_t length; /* bytes of output */
    uint32_t crc;    /* CRC-32 of the output */
    bool ends_member;
};

/* A part of an output buffer: at most GPU_INFLATE_PART bytes. */
struct gpu_inflate_part {
    uint64_t end; /* bytes from the buffer's start to the part's end, where the next part starts */
    uint32_t crc; /* CRC-32 of the part, by the GPU */
};

#define GPU_INFLATE_PART ((size_t)64 << 10)

/* Describes the content of an output buffer: the output of runs[0..count), one after another.  The
 * same bytes are parts[0..part_count), one after another; each run starts with a new part.  The
 * CRCs of the parts tell whether a copy on the host is right. */
struct gpu_inflate_output {
    const struct gpu_inflate_run *runs;
    size_t count;
    const struct gpu_inflate_part *parts;
    size_t part_count;
    uint64_t length;       /* bytes of output of all runs */
    uint8_t window[32768]; /* the last 32 KiB of output up to the end of the last run */
};

size_t gpu_inflate_batch_size(const struct gpu_inflate *g);
size_t gpu_inflate_input_size(const struct gpu_inflate *g);

/* Returns GPU_INFLATE_STAGE bytes of memory, for gpu_inflate_put. */
uint8_t *gpu_inflate_stage(const struct gpu_inflate *g);

/* Copies the first `len` bytes of gpu_inflate_stage to input buffer number `input` on the device,
 * from byte `at` of that buffer on.  Returns false, with a message, if the device fails. */
bool gpu_inflate_put(struct gpu_inflate *g, unsigned input, size_t at, size_t len,
                     char error[GPU_ERROR_SIZE]);

/* Begins to decode an input of in_len bytes, with the block that starts at bit `bit`.  The last
 * `known` bytes of window[0..32768) are the output of the same member before that block.  is_bgzf:
 * the engine expects members of BGZF; other members then cost time.  Returns GPU_INFLATE_DONE, or
 * GPU_INFLATE_FAILED with a message. */
enum gpu_inflate_result gpu_inflate_begin(struct gpu_inflate *g, uint64_t in_len, uint64_t bit,
                                          const uint8_t *window, uint32_t known, bool is_bgzf,
                                          char error[GPU_ERROR_SIZE]);

/* Finds the blocks in the next input buffer, which has `len` bytes from byte `start` of the input
 * on.  Returns GPU_INFLATE_DONE if there are blocks to decode, or if a block of the buffer before
 * is so long that no block starts in this buffer's batch.  Otherwise returns GPU_INFLATE_LEFT or
 * GPU_INFLATE_FAILED, with a message. */
enum gpu_inflate_result gpu_inflate_find(struct gpu_inflate *g, unsigned input, uint64_t start,
                                         size_t len, char error[GPU_ERROR_SIZE]);

/* Decodes the next blocks to an output buffer.  After GPU_INFLATE_DONE, *o describes the content of
 * the output buffer; if *o has no runs, all of the input buffer is decoded.  After any other
 * result, there is a message, and the CPU must go on from the end of the last run. */
enum gpu_inflate_result gpu_inflate_next(struct gpu_inflate *g, unsigned output,
                                         struct gpu_inflate_output *o, char error[GPU_ERROR_SIZE]);

/* The device's name. */
const char *gpu_inflate_name(const struct gpu_inflate *g);

/* Whether the last run that was decoded ends the input. */
bool gpu_inflate_has_ended(const struct gpu_inflate *g);

/* Copies bytes [at, at + len) of an output buffer to the host; len is at most GPU_INFLATE_SLICE.
 * Returns the copy, which the next call but one overwrites; NULL, with a message, if the device
 * fails.  Only the CRCs of the parts tell whether the copy is right.
 *
 * The function also begins to copy the next `next_len` bytes, since the next call is likely to ask
 * for them. */
const uint8_t *gpu_inflate_take(struct gpu_inflate *g, unsigned output, uint64_t at, size_t len,
                                size_t next_len, char error[GPU_ERROR_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
