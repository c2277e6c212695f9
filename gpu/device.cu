/*
 * device.cu - finding and naming CUDA devices
 */
#include <stdio.h>

#include "gpu/internal.cuh"

/*
 * Hardware queues that a device's streams share.  By itself, the driver makes 8, and each takes 12
 * ms to make and take down: with 4, 200 MB at level 1 take 0.46 s instead of 0.52 (H100).  Fewer
 * kernels overlap with 4 queues.  Level 1 falls from 29 GB/s to 26, level 6 from 9.5 to 9.3, and
 * level 9 stays the same (H200); the command does not notice, since encoding takes longer.  Level
 * 12 fell from 0.59 to 0.34 GB/s: the kernels of slow finders take long, and need all queues.
 */
#define FEW_QUEUES 4

/* For finders that have PARSERS_MAX streams for parsing (engine.cu): with 8, copies wait behind their
 * walks, and the stage does 11.5 GB/s in place of 17.0 (glzss-tagging, H100).  It is what the methods are
 * compared by, and so was preferred to the command, which starts 0.15 s later. */
#define MANY_QUEUES 16

int gpu_queues(const struct lz_level *level)
{
    if (lz_is_stored(level))
        return 0;
    if (level->finder->gpu->find == NULL)
        return MANY_QUEUES;
    return level->finder->is_slow ? 0 : FEW_QUEUES;
}

cudaError_t gpu_use_device(int device)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    const cudaError_t status = cudaThreadExchangeStreamCaptureMode(&mode);

    return status == cudaSuccess ? cudaSetDevice(device) : status;
}

int gpu_count(char error[GPU_ERROR_SIZE])
{
    int driver = 0, count = 0;
    cudaError_t status;

    /* Without a driver, the CUDA runtime's own message is about versions, and misleads. */
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
