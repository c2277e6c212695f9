/*
 * device.cu - finding and naming CUDA devices
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpu/internal.cuh"

/* Hardware queues that a device's streams share. */
#define FEW_QUEUES "4"

void gpu_use_few_queues(void)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", FEW_QUEUES, 0);
}

int gpu_count(char error[GPU_ERROR_SIZE])
{
    int driver = 0, count = 0;
    cudaError_t status;

    /* What the CUDA runtime itself says where there is no driver is about versions, and misleads. */
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
        snprintf(error, GPU_ERROR_SIZE, "no NVIDIA driver is installed");
        return 0;
    }
    status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count > 0)
        return count;
    snprintf(error, GPU_ERROR_SIZE, "no CUDA device: %.100s", cudaGetErrorString(status));
    return 0;
}

void gpu_list_devices(void (*line)(void *ctx, const char *text), void *ctx)
{
    char text[GPU_ERROR_SIZE];
    const int count = gpu_count(text);

    if (count == 0) {
        line(ctx, text);
        return;
    }
    for (int d = 0; d < count; d++) {
        cudaDeviceProp p;
        const char *remark = "";
        cudaError_t status = cudaGetDeviceProperties(&p, d);

        if (status == cudaSuccess)
            status = cudaSetDevice(d);
        if (status != cudaSuccess) {
            snprintf(text, sizeof(text), "%d: %.100s", d, cudaGetErrorString(status));
            line(ctx, text);
            continue;
        }
        if (gpu_code_fits_device() != cudaSuccess)
            remark = ", not supported by this build";
        snprintf(text, sizeof(text),
                 "%d: %.100s, compute capability %d.%d, %d multiprocessors, %zu MiB%s", d, p.name,
                 p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem >> 20, remark);
        line(ctx, text);
    }
}
