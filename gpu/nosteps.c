/*
 * nosteps.c - decompression in steps (gpu/inflate.h) in a build without CUDA
 *
 * In such a build, gpu_inflate_open always fails, so the program never calls these functions.
 */
#include "config.h"

#include <stdio.h>

#include "gpu/inflate.h"

static const char message[] = "this gzlzss was built without CUDA";

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
                                size_t next_len, char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)output;
    (void)at;
    (void)len;
    (void)next_len;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return NULL;
}
