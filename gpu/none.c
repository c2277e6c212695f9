/*
 * none.c - the GPU engine of a build without CUDA: there are no devices
 *
 * Functions that can fail say that this program was built without CUDA.
 */
#include "config.h"

#include <stdio.h>

#include "gpu/gpu.h"
#include "gpu/inflate.h"

static const char message[] = "this gzlzss was built without CUDA";

void gpu_list_devices(void (*line)(void *ctx, const char *text), void *ctx)
{
    line(ctx, message);
}

int gpu_queues(const struct lz_level *level)
{
    (void)level;
    return 0;
}

int gpu_count(char error[GPU_ERROR_SIZE])
{
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return 0;
}

struct gpu_engine *gpu_open(int device, const struct lz_level *level, size_t segment_size,
                            size_t batch_size, int batches, const struct gpu_options *options,
                            char error[GPU_ERROR_SIZE])
{
    (void)device;
    (void)level;
    (void)segment_size;
    (void)batch_size;
    (void)batches;
    (void)options;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return NULL;
}

bool gpu_find_memory(const void *p, struct gpu_memory *m, char error[GPU_ERROR_SIZE])
{
    (void)p;
    (void)m;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return false;
}

bool gpu_context_is_active(int device)
{
    (void)device;
    return false;
}

void gpu_save_thread(struct gpu_thread *t)
{
    (void)t;
}

void gpu_restore_thread(const struct gpu_thread *t)
{
    (void)t;
}

/* The program never calls the functions below: gpu_open never returns an engine here, and
 * gpu_find_memory always fails. */

enum gpu_wait gpu_wait_stream(void *stream, int device, bool (*goes_on)(void *ctx), void *ctx,
                              char error[GPU_ERROR_SIZE])
{
    (void)stream;
    (void)device;
    (void)goes_on;
    (void)ctx;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return GPU_WAIT_FAILED;
}

struct gpu_copier *gpu_new_copier(int device, char error[GPU_ERROR_SIZE])
{
    (void)device;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return NULL;
}

void gpu_free_copier(struct gpu_copier *c)
{
    (void)c;
}

bool gpu_copy(struct gpu_copier *c, void *to, const void *from, size_t len,
              char error[GPU_ERROR_SIZE])
{
    (void)c;
    (void)to;
    (void)from;
    (void)len;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return false;
}

void gpu_close(struct gpu_engine *g)
{
    (void)g;
}

const char *gpu_name(const struct gpu_engine *g)
{
    (void)g;
    return "none";
}

int gpu_batches(const struct gpu_engine *g)
{
    (void)g;
    return 0;
}

struct gpu_batch *gpu_new_batch(struct gpu_engine *g, char error[GPU_ERROR_SIZE])
{
    (void)g;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return NULL;
}

void gpu_free_batch(struct gpu_engine *g, struct gpu_batch *b)
{
    (void)g;
    (void)b;
}

bool gpu_submit(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)b;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return false;
}

bool gpu_collect(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)b;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return false;
}

struct gpu_inflate *gpu_inflate_open(int device, const struct gpu_inflate_options *options,
                                     char error[GPU_ERROR_SIZE])
{
    (void)device;
    (void)options;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return NULL;
}

void gpu_inflate_close(struct gpu_inflate *g)
{
    (void)g;
}

enum gpu_inflate_result gpu_inflate(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                    uint8_t *out, size_t room, size_t *out_len,
                                    gpu_inflate_goes_on *goes_on, void *ctx,
                                    char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)in;
    (void)in_len;
    (void)out;
    (void)room;
    (void)goes_on;
    (void)ctx;
    *out_len = 0;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return GPU_INFLATE_FAILED;
}

struct gpu_inflate_times gpu_inflate_times(const struct gpu_inflate *g)
{
    (void)g;
    return (struct gpu_inflate_times){0};
}

size_t gpu_inflate_batch_size(const struct gpu_inflate *g)
{
    (void)g;
    return 0;
}

size_t gpu_inflate_input_size(const struct gpu_inflate *g)
{
    (void)g;
    return 0;
}

uint8_t *gpu_inflate_stage(const struct gpu_inflate *g)
{
    (void)g;
    return NULL;
}

bool gpu_inflate_put(struct gpu_inflate *g, unsigned input, size_t at, size_t len,
                     char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)input;
    (void)at;
    (void)len;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return false;
}

enum gpu_inflate_result gpu_inflate_begin(struct gpu_inflate *g, uint64_t in_len, uint64_t bit,
                                          const uint8_t *window, uint32_t known, bool is_bgzf,
                                          char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)in_len;
    (void)bit;
    (void)window;
    (void)known;
    (void)is_bgzf;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return GPU_INFLATE_FAILED;
}

enum gpu_inflate_result gpu_inflate_find(struct gpu_inflate *g, unsigned input, uint64_t start,
                                         size_t len, char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)input;
    (void)start;
    (void)len;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return GPU_INFLATE_FAILED;
}

enum gpu_inflate_result gpu_inflate_next(struct gpu_inflate *g, unsigned output,
                                         struct gpu_inflate_output *o, char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)output;
    o->count = 0;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return GPU_INFLATE_FAILED;
}

const char *gpu_inflate_name(const struct gpu_inflate *g)
{
    (void)g;
    return "";
}

bool gpu_inflate_has_ended(const struct gpu_inflate *g)
{
    (void)g;
    return true;
}

const uint8_t *gpu_inflate_take(struct gpu_inflate *g, unsigned output, uint64_t at, size_t len,
                                char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)output;
    (void)at;
    (void)len;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return NULL;
}
