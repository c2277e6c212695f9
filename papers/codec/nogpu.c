/*
 * nogpu.c - the papers' formats in a build without CUDA: there is no device (gpu.h)
 */
#include "config.h"

#include <stdio.h>

#include "papers/codec/gpu.h"

static bool fail(char error[GPU_ERROR_SIZE])
{
    snprintf(error, GPU_ERROR_SIZE, "this program was built without CUDA");
    return false;
}

const char *paper_gpu_form_name(enum paper_gpu_form form)
{
    (void)form;
    return "none";
}

struct paper_gpu *paper_gpu_open(int device, const struct paper_format *format,
                                 const struct lz_level *level, size_t most,
                                 char error[GPU_ERROR_SIZE])
{
    (void)device;
    (void)format;
    (void)level;
    (void)most;
    (void)fail(error);
    return NULL;
}

void paper_gpu_close(struct paper_gpu *g)
{
    (void)g;
}

bool paper_gpu_can_code(const struct paper_gpu *g, enum paper_gpu_form form)
{
    (void)g;
    (void)form;
    return false;
}

bool paper_gpu_can_decode(const struct paper_gpu *g, enum paper_gpu_form form)
{
    (void)g;
    (void)form;
    return false;
}

void *paper_gpu_pinned(size_t size)
{
    (void)size;
    return NULL;
}

void paper_gpu_free_pinned(void *memory)
{
    (void)memory;
}

const struct paper_gpu_times *paper_gpu_get_times(const struct paper_gpu *g)
{
    static const struct paper_gpu_times none;

    (void)g;
    return &none;
}

void paper_gpu_forget_times(struct paper_gpu *g)
{
    (void)g;
}

/* Nobody can call the functions below, since there is no struct paper_gpu. */

bool paper_gpu_put_plain(struct paper_gpu *g, const uint8_t *in, size_t len,
                         char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)in;
    (void)len;
    return fail(error);
}

bool paper_gpu_match(struct paper_gpu *g, char error[GPU_ERROR_SIZE])
{
    (void)g;
    return fail(error);
}

bool paper_gpu_take_tags(struct paper_gpu *g, uint16_t *tags, char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)tags;
    return fail(error);
}

bool paper_gpu_code(struct paper_gpu *g, enum paper_gpu_form form, size_t *len,
                    char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)form;
    (void)len;
    return fail(error);
}

bool paper_gpu_take_coded(struct paper_gpu *g, uint8_t *out, char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)out;
    return fail(error);
}

bool paper_gpu_put_coded(struct paper_gpu *g, const uint8_t *in, size_t len,
                         char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)in;
    (void)len;
    return fail(error);
}

bool paper_gpu_decode(struct paper_gpu *g, enum paper_gpu_form form, size_t *len,
                      char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)form;
    (void)len;
    return fail(error);
}

bool paper_gpu_take_plain(struct paper_gpu *g, uint8_t *out, char error[GPU_ERROR_SIZE])
{
    (void)g;
    (void)out;
    return fail(error);
}
