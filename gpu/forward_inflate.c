/*
 * forward_inflate.c - decompression (inflate.h) by a GPU engine's module (module.h)
 */
#include "config.h"

#include "gpu/loader.h"

struct gpu_inflate *gpu_inflate_open(int device, const struct gpu_inflate_options *options,
                                     char error[GPU_ERROR_SIZE])
{
    const struct gpu_module *m = gpu_module(error);

    return m != NULL ? m->gpu_inflate_open(device, options, error) : NULL;
}

void gpu_inflate_close(struct gpu_inflate *g)
{
    if (g != NULL)
        gpu_module_if_loaded()->gpu_inflate_close(g);
}

GPU_INFLATE_CALLS(GPU_FORWARD)
