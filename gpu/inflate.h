/*
 * inflate.h - decompression of .gz data by a GPU: plain C, no CUDA types
 *
 * Any .gz is decoded in parallel, whichever program made it: pieces.cuh tells how.  What a GPU
 * makes is compared with the CRC-32 and the length in each member's trailer.  Data that is damaged,
 * or odd, or that the GPU would decode slowly, is left to the caller's CPU: it has the verdict.
 *
 * Only one thread at a time may use one struct gpu_inflate.  In a build without CUDA there are no
 * devices, and an error message says so (none.c).
 */
#ifndef GZLZSS_GPU_INFLATE_H
#define GZLZSS_GPU_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_inflate;

/* What tests ask for.  With all members 0 it works as usual. */
struct gpu_inflate_options {
    size_t batch;   /* compressed bytes of a batch */
    size_t symbols; /* the most output of a group, in bytes */
    size_t longer;  /* a unit of more compressed bytes than this is counted by many threads */
    bool fails;     /* fail the call of CUDA number `good_calls` and all after it */
    long good_calls;
    bool is_wrong; /* make a wrong byte */
};

/* Seconds of the last call by the device's clock. */
struct gpu_inflate_times {
    double copy; /* of the compressed bytes to the engine's memory */
    double find;
    double count;
    double decode;
    double windows;
    double resolve;
    double sum_up;
};

/* Readies a device, whose number is 0 to gpu_count - 1.  Takes about 0.3 s if the process has no
 * context there, and 1.3 GB of the device's memory.  Returns NULL, with a message in error, if
 * the device cannot be used or memory is short. */
struct gpu_inflate *gpu_inflate_open(int device, const struct gpu_inflate_options *options,
                                     char error[GPU_ERROR_SIZE]);
void gpu_inflate_close(struct gpu_inflate *g); /* g may be NULL */

enum gpu_inflate_result {
    GPU_INFLATE_DONE,
    GPU_INFLATE_LEFT,    /* the CPU has to decompress it; out[] may have been written to */
    GPU_INFLATE_FAILED,  /* the device has failed; the same holds */
    GPU_INFLATE_STOPPED, /* goes_on has returned false */
};

/* Called after each batch with the bytes of input and output so far.  The output may still be found
 * wrong.  Returns false to stop.  It may change the thread's current device and capture mode. */
typedef bool gpu_inflate_goes_on(void *ctx, uint64_t in, uint64_t out);

/*
 * Decompresses all members of in[0..in_len) to out[0..*out_len).  `in` is memory of the device, of
 * another, or of the host; `out` is memory of the device, with `room` bytes.  If the program
 * allocated `out` in a context of its own, where kernels cannot write to it, all is left to the
 * CPU.  goes_on may be NULL.
 *
 * After GPU_INFLATE_DONE, all output is there and was compared with the trailers, and nothing
 * behind it was written to.  After GPU_INFLATE_STOPPED, *out_len says how much output is there;
 * otherwise it is 0, and there is a reason in error.  Whatever is returned, the device has ended
 * its work on `in` and `out`.
 */
enum gpu_inflate_result gpu_inflate(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                    uint8_t *out, size_t room, size_t *out_len,
                                    gpu_inflate_goes_on *goes_on, void *ctx,
                                    char error[GPU_ERROR_SIZE]);

/* What the last call took. */
struct gpu_inflate_times gpu_inflate_times(const struct gpu_inflate *g);

#ifdef __cplusplus
}
#endif

#endif
