/*
 * forward.c - the functions of gpu.h, by a GPU engine's module (module.h)
 *
 * The functions that may be the first to be called load the module. They fail, with the reason in
 * their message, if there is none.
 */
#include "config.h"

#include <stdio.h>

#include "gpu/loader.h"

bool gpu_is_installed(char error[GPU_ERROR_SIZE])
{
    return gpu_module(error) != NULL;
}

void gpu_versions(int *toolkit, int *driver)
{
    char error[GPU_ERROR_SIZE];
    const struct gpu_module *m = gpu_module(error);

    *toolkit = *driver = 0;
    if (m != NULL)
        m->gpu_versions(toolkit, driver);
}

int gpu_count(char error[GPU_ERROR_SIZE])
{
    const struct gpu_module *m = gpu_module(error);

    return m != NULL ? m->gpu_count(error) : 0;
}

void gpu_describe(int device, struct gpu_description *d)
{
    const struct gpu_module *m;

    *d = (struct gpu_description){.is_supported = false};
    m = gpu_module(d->error);
    if (m != NULL)
        m->gpu_describe(device, d);
}

struct gpu_engine *gpu_open(int device, const struct lz_level *level, size_t segment_size,
                            size_t batch_size, int batches, const struct gpu_options *options,
                            char error[GPU_ERROR_SIZE])
{
    const struct gpu_module *m = gpu_module(error);

    return m != NULL ? m->gpu_open(device, level, segment_size, batch_size, batches, options, error)
                     : NULL;
}

struct gpu_copier *gpu_new_copier(int device, char error[GPU_ERROR_SIZE])
{
    const struct gpu_module *m = gpu_module(error);

    return m != NULL ? m->gpu_new_copier(device, error) : NULL;
}

bool gpu_find_memory(const void *p, struct gpu_memory *memory, char error[GPU_ERROR_SIZE])
{
    const struct gpu_module *m = gpu_module(error);

    return m != NULL && m->gpu_find_memory(p, memory, error);
}

enum gpu_wait gpu_wait_stream(void *stream, int device, bool (*goes_on)(void *ctx), void *ctx,
                              char error[GPU_ERROR_SIZE])
{
    const struct gpu_module *m = gpu_module(error);

    return m != NULL ? m->gpu_wait_stream(stream, device, goes_on, ctx, error) : GPU_WAIT_FAILED;
}

/* --- Questions about CUDA.  Without a module, this program has not used CUDA. --- */

int gpu_current_device(void)
{
    const struct gpu_module *m = gpu_module_if_loaded();

    return m != NULL ? m->gpu_current_device() : 0;
}

bool gpu_context_is_active(int device)
{
    const struct gpu_module *m = gpu_module_if_loaded();

    return m != NULL && m->gpu_context_is_active(device);
}

void gpu_save_thread(struct gpu_thread *t)
{
    const struct gpu_module *m = gpu_module_if_loaded();

    *t = (struct gpu_thread){.is_saved = false};
    if (m != NULL)
        m->gpu_save_thread(t);
    t->is_saved = m != NULL;
}

void gpu_restore_thread(const struct gpu_thread *t)
{
    const struct gpu_module *m = gpu_module_if_loaded();

    if (m != NULL && t->is_saved)
        m->gpu_restore_thread(t);
}

/* --- An engine or a copier exists only if the module is loaded. --- */

GPU_ENGINE_CALLS(GPU_FORWARD)
