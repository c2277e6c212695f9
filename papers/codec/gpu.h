/*
 * gpu.h - the papers' formats on a GPU: plain C, no CUDA types
 *
 * For the measuring programs and the tests. gzlzss itself never writes these formats.
 *
 * A struct paper_gpu has all the device memory that one input needs. Its functions are the steps of
 * the papers' systems, so that a program can put together the system that a paper measured:
 *
 *     coding        put_plain, match, code, take_coded
 *     decoding      put_coded, decode, take_plain
 *     on the CPU    put_plain, match, take_tags, then paper_encode (CULZSS, GLZSS-tagging)
 *     gpuLZ, fused  put_plain, code with PAPER_GPU_FUSED, take_coded
 *
 * Each step waits until the device is done, and appends the times of its kernels and copies, by the
 * device's clock, to the list of times. The coded bytes are those of paper_encode (codec.h).
 *
 * Only one thread at a time may use one struct paper_gpu. In a build without CUDA there are no
 * devices, and an error message says so (nogpu.c).
 */
#ifndef GZLZSS_PAPERS_CODEC_GPU_H
#define GZLZSS_PAPERS_CODEC_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/gpu.h"
#include "papers/codec/codec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The greatest plain size of an input, in bytes. */
#define PAPER_GPU_MOST ((size_t)2 << 30)

/* How the GPU codes or decodes. All forms give the same bytes. */
enum paper_gpu_form {
    PAPER_GPU_THREADS, /* a thread for each chunk of the paper; every format has this form */
    PAPER_GPU_WARPS,   /* a warp for each chunk; only some formats have it (paper_gpu_can_code) */
    PAPER_GPU_FUSED,   /* gpuLZ as its paper has it: matching and coding in one kernel: only
                        * coding */
    PAPER_GPU_FORMS
};

/* A form's name: "threads", "warps" or "fused". */
const char *paper_gpu_form_name(enum paper_gpu_form form);

/* The time that a kernel, or a group of kernels, or copies took. */
struct paper_time {
    const char *name; /* a string constant */
    bool is_copy;     /* between host and device */
    double seconds;
};

/* The most times that are kept; later ones are dropped. */
#define PAPER_GPU_TIMES 32

struct paper_gpu_times {
    unsigned count;
    struct paper_time times[PAPER_GPU_TIMES];
};

struct paper_gpu;

/* Opens device number `device` for inputs of up to `most` bytes, 1 to PAPER_GPU_MOST, which the
 * level's method matches, and which are coded in its format. *level must stay as it is until
 * paper_gpu_close. Returns NULL, with a message in error, if the level does not fit the format, if
 * the device cannot be used, or if its memory is short. This takes about six times `most` bytes of
 * device memory, or 25 times for position lists, besides the memory that the match finder needs. */
struct paper_gpu *paper_gpu_open(int device, const struct paper_format *format,
                                 const struct lz_level *level, size_t most,
                                 char error[GPU_ERROR_SIZE]);
void paper_gpu_close(struct paper_gpu *g); /* g may be NULL */

/* Whether the format can be coded, or decoded, in this form. */
bool paper_gpu_can_code(const struct paper_gpu *g, enum paper_gpu_form form);
bool paper_gpu_can_decode(const struct paper_gpu *g, enum paper_gpu_form form);

/* Returns pinned memory of the host, which copies need to be fast, or NULL. */
void *paper_gpu_pinned(size_t size);
void paper_gpu_free_pinned(void *memory); /* memory may be NULL */

/* The times of the steps since the last paper_gpu_forget_times. */
const struct paper_gpu_times *paper_gpu_get_times(const struct paper_gpu *g);
void paper_gpu_forget_times(struct paper_gpu *g);

/* --- The steps --- *
 *
 * All of them return false, with a message in error, if the device fails. */

/* Copies in[0..len) to the device, len at most `most`. */
bool paper_gpu_put_plain(struct paper_gpu *g, const uint8_t *in, size_t len,
                         char error[GPU_ERROR_SIZE]);

/* Lets the method's kernels find the matches of the plain bytes, and write their tags. */
bool paper_gpu_match(struct paper_gpu *g, char error[GPU_ERROR_SIZE]);

/* Copies the tags to the host: one uint16_t for each plain byte. */
bool paper_gpu_take_tags(struct paper_gpu *g, uint16_t *tags, char error[GPU_ERROR_SIZE]);

/* Codes the plain bytes and their tags, or with PAPER_GPU_FUSED the plain bytes alone. The coded
 * bytes stay on the device. *len becomes their number. */
bool paper_gpu_code(struct paper_gpu *g, enum paper_gpu_form form, size_t *len,
                    char error[GPU_ERROR_SIZE]);

/* Copies the coded bytes to the host. */
bool paper_gpu_take_coded(struct paper_gpu *g, uint8_t *out, char error[GPU_ERROR_SIZE]);

/* Takes apart the file in[0..len) on the host (paper_open), and copies it to the device. Returns
 * false, too, if the file is damaged, or has more than `most` plain bytes. */
bool paper_gpu_put_coded(struct paper_gpu *g, const uint8_t *in, size_t len,
                         char error[GPU_ERROR_SIZE]);

/* Decodes the file that paper_gpu_put_coded has copied. The plain bytes stay on the device. *len
 * becomes their number. Returns false, too, if the file is damaged. */
bool paper_gpu_decode(struct paper_gpu *g, enum paper_gpu_form form, size_t *len,
                      char error[GPU_ERROR_SIZE]);

/* Copies the plain bytes to the host. */
bool paper_gpu_take_plain(struct paper_gpu *g, uint8_t *out, char error[GPU_ERROR_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
