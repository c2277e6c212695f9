/*
 * calls.h - the functions that the program calls in a GPU engine's module (module.h)
 *
 * Each entry of a list is F(TYPE, NAME, PARAMETERS, ARGUMENTS). gpu.h and inflate.h say what the
 * functions do. There are several lists, since some tests replace the functions of one.
 */
#ifndef GZLZSS_GPU_CALLS_H
#define GZLZSS_GPU_CALLS_H

#include "gpu/gpu.h"
#include "gpu/inflate.h"

/* Functions that may be the first to be called. forward.c says what they do without a module. */
#define GPU_FIRST_CALLS(F)                                                                      \
    F(void, gpu_versions, (int *toolkit, int *driver), (toolkit, driver))                       \
    F(int, gpu_count, (char error[GPU_ERROR_SIZE]), (error))                                    \
    F(void, gpu_describe, (int device, struct gpu_description *d), (device, d))                 \
    F(struct gpu_engine *, gpu_open,                                                            \
      (int device, const struct lz_level *level, size_t segment_size, size_t batch_size,        \
       int batches, const struct gpu_options *options, char error[GPU_ERROR_SIZE]),             \
      (device, level, segment_size, batch_size, batches, options, error))                       \
    F(struct gpu_copier *, gpu_new_copier, (int device, char error[GPU_ERROR_SIZE]),            \
      (device, error))                                                                          \
    F(bool, gpu_find_memory, (const void *p, struct gpu_memory *m, char error[GPU_ERROR_SIZE]), \
      (p, m, error))                                                                            \
    F(enum gpu_wait, gpu_wait_stream,                                                           \
      (void *stream, int device, bool (*goes_on)(void *ctx), void *ctx,                         \
       char error[GPU_ERROR_SIZE]),                                                             \
      (stream, device, goes_on, ctx, error))                                                    \
    F(int, gpu_current_device, (void), ())                                                      \
    F(bool, gpu_context_is_active, (int device), (device))                                      \
    F(void, gpu_save_thread, (struct gpu_thread * t), (t))                                      \
    F(void, gpu_restore_thread, (const struct gpu_thread *t), (t))

/* Like these, in forward_inflate.c. */
#define GPU_FIRST_INFLATE_CALLS(F)                                                         \
    F(struct gpu_inflate *, gpu_inflate_open,                                              \
      (int device, const struct gpu_inflate_options *options, char error[GPU_ERROR_SIZE]), \
      (device, options, error))                                                            \
    F(void, gpu_inflate_close, (struct gpu_inflate * g), (g))

/* Functions of an engine or a copier that the module has made. */
#define GPU_ENGINE_CALLS(F)                                                                        \
    F(void, gpu_close, (struct gpu_engine * g), (g))                                               \
    F(const char *, gpu_name, (const struct gpu_engine *g), (g))                                   \
    F(int, gpu_batches, (const struct gpu_engine *g), (g))                                         \
    F(bool, gpu_codes, (const struct gpu_engine *g), (g))                                          \
    F(bool, gpu_batch_output, (const struct gpu_batch *b, unsigned index, struct gpu_output *o),   \
      (b, index, o))                                                                               \
    F(struct gpu_batch *, gpu_new_batch, (struct gpu_engine * g, char error[GPU_ERROR_SIZE]),      \
      (g, error))                                                                                  \
    F(void, gpu_free_batch, (struct gpu_engine * g, struct gpu_batch * b), (g, b))                 \
    F(bool, gpu_submit, (struct gpu_engine * g, struct gpu_batch * b, char error[GPU_ERROR_SIZE]), \
      (g, b, error))                                                                               \
    F(bool, gpu_collect,                                                                           \
      (struct gpu_engine * g, struct gpu_batch * b, char error[GPU_ERROR_SIZE]), (g, b, error))    \
    F(void, gpu_free_copier, (struct gpu_copier * c), (c))                                         \
    F(bool, gpu_copy,                                                                              \
      (struct gpu_copier * c, void *to, const void *from, size_t len, char error[GPU_ERROR_SIZE]), \
      (c, to, from, len, error))                                                                   \
    F(bool, gpu_put,                                                                               \
      (struct gpu_copier * c, void *to, const struct iovec *parts, int count,                      \
       char error[GPU_ERROR_SIZE]),                                                                \
      (c, to, parts, count, error))

/* Decompression by an engine that the module has made. */
#define GPU_INFLATE_CALLS(F)                                                                     \
    F(enum gpu_inflate_result, gpu_inflate,                                                      \
      (struct gpu_inflate * g, const uint8_t *in, size_t in_len, uint8_t *out, size_t room,      \
       size_t *out_len, gpu_inflate_goes_on *goes_on, void *ctx, char error[GPU_ERROR_SIZE]),    \
      (g, in, in_len, out, room, out_len, goes_on, ctx, error))                                  \
    F(enum gpu_inflate_result, gpu_inflate_count,                                                \
      (struct gpu_inflate * g, const uint8_t *in, size_t in_len, uint64_t *size,                 \
       gpu_inflate_goes_on *goes_on, void *ctx, char error[GPU_ERROR_SIZE]),                     \
      (g, in, in_len, size, goes_on, ctx, error))                                                \
    F(enum gpu_inflate_result, gpu_inflate_new,                                                  \
      (struct gpu_inflate * g, const uint8_t *in, size_t in_len, gpu_inflate_allocate *allocate, \
       size_t *out_len, gpu_inflate_goes_on *goes_on, void *ctx, char error[GPU_ERROR_SIZE]),    \
      (g, in, in_len, allocate, out_len, goes_on, ctx, error))                                   \
    F(enum gpu_inflate_result, gpu_inflate_many,                                                 \
      (struct gpu_inflate * g, struct gpu_inflate_input * inputs, size_t count,                  \
       enum container container, gpu_inflate_goes_on * goes_on, void *ctx,                       \
       char error[GPU_ERROR_SIZE]),                                                              \
      (g, inputs, count, container, goes_on, ctx, error))                                        \
    F(struct gpu_inflate_times, gpu_inflate_times, (const struct gpu_inflate *g), (g))

/* Decompression in steps. */
#define GPU_STEPS_CALLS(F)                                                                         \
    F(size_t, gpu_inflate_batch_size, (const struct gpu_inflate *g), (g))                          \
    F(size_t, gpu_inflate_input_size, (const struct gpu_inflate *g), (g))                          \
    F(uint8_t *, gpu_inflate_stage, (const struct gpu_inflate *g), (g))                            \
    F(bool, gpu_inflate_put,                                                                       \
      (struct gpu_inflate * g, unsigned input, size_t at, size_t len, char error[GPU_ERROR_SIZE]), \
      (g, input, at, len, error))                                                                  \
    F(enum gpu_inflate_result, gpu_inflate_begin,                                                  \
      (struct gpu_inflate * g, uint64_t in_len, uint64_t bit, const uint8_t *window,               \
       uint32_t known, bool is_bgzf, char error[GPU_ERROR_SIZE]),                                  \
      (g, in_len, bit, window, known, is_bgzf, error))                                             \
    F(enum gpu_inflate_result, gpu_inflate_find,                                                   \
      (struct gpu_inflate * g, unsigned input, uint64_t start, size_t len,                         \
       char error[GPU_ERROR_SIZE]),                                                                \
      (g, input, start, len, error))                                                               \
    F(enum gpu_inflate_result, gpu_inflate_next,                                                   \
      (struct gpu_inflate * g, unsigned output, struct gpu_inflate_output *o,                      \
       char error[GPU_ERROR_SIZE]),                                                                \
      (g, output, o, error))                                                                       \
    F(const char *, gpu_inflate_name, (const struct gpu_inflate *g), (g))                          \
    F(bool, gpu_inflate_has_ended, (const struct gpu_inflate *g), (g))                             \
    F(const uint8_t *, gpu_inflate_take,                                                           \
      (struct gpu_inflate * g, unsigned output, uint64_t at, size_t len, size_t next_len,          \
       char error[GPU_ERROR_SIZE]),                                                                \
      (g, output, at, len, next_len, error))

#define GPU_CALLS(F)   \
    GPU_FIRST_CALLS(F) \
    GPU_FIRST_INFLATE_CALLS(F) GPU_ENGINE_CALLS(F) GPU_INFLATE_CALLS(F) GPU_STEPS_CALLS(F)

#endif
