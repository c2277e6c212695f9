/*
 * noinflate.c - gpu/inflate.h in a build without CUDA: there is no device that decompresses
 *
 * This file is separate from none.c and nosteps.c, so that a test can replace any of the three by
 * an engine of its own.
 */
#include "config.h"

#include <stdio.h>

#include "gpu/inflate.h"

static const char message[] = "this gzlzss was built without CUDA";

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

enum gpu_inflate_result gpu_inflate_count(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                          uint64_t *size, gpu_inflate_goes_on *goes_on, void *ctx,
                                          char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)in;
    (void)in_len;
    (void)goes_on;
    (void)ctx;
    *size = 0;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return GPU_INFLATE_FAILED;
}

enum gpu_inflate_result gpu_inflate_new(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                        gpu_inflate_allocate *allocate, size_t *out_len,
                                        gpu_inflate_goes_on *goes_on, void *ctx,
                                        char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)in;
    (void)in_len;
    (void)allocate;
    (void)goes_on;
    (void)ctx;
    *out_len = 0;
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return GPU_INFLATE_FAILED;
}

enum gpu_inflate_result gpu_inflate_many(struct gpu_inflate *g, struct gpu_inflate_input *inputs,
                                         size_t count, enum container container,
                                         gpu_inflate_goes_on *goes_on, void *ctx,
                                         char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)container;
    (void)goes_on;
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        inputs[i].result = GPU_INFLATE_LEFT;
        inputs[i].made = 0;
    }
    snprintf(error, GPU_ERROR_SIZE, "%s", message);
    return GPU_INFLATE_FAILED;
}

struct gpu_inflate_times gpu_inflate_times(const struct gpu_inflate *g)
{
    (void)g;
    return (struct gpu_inflate_times){0};
}
