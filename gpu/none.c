/*
 * none.c - the GPU engine of a build without CUDA: there are no devices
 *
 * Functions that can fail say that this program was built without CUDA.
 */
#include "config.h"

#include <stdio.h>

#include "gpu/gpu.h"

static const char message[] = "this gzlzss was built without CUDA";

void gpu_versions(int *toolkit, int *driver)
{
    *toolkit = *driver = 0;
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

void gpu_describe(int device, struct gpu_description *d)
{
    (void)device;
    *d = (struct gpu_description){.is_supported = false};
    snprintf(d->error, sizeof(d->error), "%s", message);
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

int gpu_current_device(void)
{
    return 0;
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

/* The program never calls the functions below, since gpu_open never returns an engine here, and
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

bool gpu_put(struct gpu_copier *c, void *to, const struct iovec *parts, int count,
             char error[GPU_ERROR_SIZE])
{
    (void)c;
    (void)to;
    (void)parts;
    (void)count;
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
