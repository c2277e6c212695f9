/*
 * copier.cu - copies from and to a GPU's memory, for any thread (gpu.h)
 *
 * A copier has a non-blocking stream, so its copies and the work in the program's streams do not
 * wait for each other. If the host memory is not pinned, the driver copies by way of pinned memory
 * of its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpu/internal.cuh"

struct gpu_copier {
    int device;
    cudaStream_t stream;
    cudaEvent_t done; /* waiting for this event lets the thread sleep */
};

static bool failed(cudaError_t status, int device, char error[GPU_ERROR_SIZE])
{
    if (status == cudaSuccess)
        return false;
    snprintf(error, GPU_ERROR_SIZE, "CUDA device %d: %.100s", device, cudaGetErrorString(status));
    return true;
}

struct gpu_copier *gpu_new_copier(int device, char error[GPU_ERROR_SIZE])
{
    struct gpu_copier *c = (struct gpu_copier *)calloc(1, sizeof(*c));
    cudaError_t status;

    if (c == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        return NULL;
    }
    c->device = device;
    status = gpu_use_device(device);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
    if (status == cudaSuccess)
        status = cudaEventCreateWithFlags(&c->done, cudaEventBlockingSync | cudaEventDisableTiming);
    if (!failed(status, device, error))
        return c;
    gpu_free_copier(c);
    return NULL;
}

void gpu_free_copier(struct gpu_copier *c)
{
    if (gpu_use_device(c->device) == cudaSuccess) {
        if (c->done != NULL)
            cudaEventDestroy(c->done);
        if (c->stream != NULL)
            cudaStreamDestroy(c->stream);
    }
    free(c);
}

bool gpu_copy(struct gpu_copier *c, void *to, const void *from, size_t len,
              char error[GPU_ERROR_SIZE])
{
    if (failed(gpu_use_device(c->device), c->device, error))
        return false;
    /* Even after a failure, wait for copies that are already queued, because they may still touch
     * the program's memory. */
    if (failed(cudaMemcpyAsync(to, from, len, cudaMemcpyDefault, c->stream), c->device, error) ||
        failed(cudaEventRecord(c->done, c->stream), c->device, error)) {
        (void)cudaStreamSynchronize(c->stream);
        return false;
    }
    return !failed(cudaEventSynchronize(c->done), c->device, error);
}
