/*
 * device.cu - finds and describes CUDA devices, and says how many hardware queues a level wants
 */
#include <dlfcn.h>
#include <stdio.h>

#include "gpu/internal.cuh"

/*
 * The value of CUDA_DEVICE_MAX_CONNECTIONS for levels with a fast finder. The driver's own choice
 * is 8 hardware queues, and each takes 12 ms to create and destroy: with 4 queues, 200 MB at level
 * 1 take 0.46 s instead of 0.52 s (H100).
 *
 * With fewer queues, fewer kernels overlap. From 8 to 4 queues, the GPU stage falls from 29 to 26
 * GB/s at level 1, from 9.5 to 9.3 GB/s at level 6, and not at all at level 9 (H200). The command
 * is no slower, since encoding takes longer than matching. Slow finders keep the driver's 8 queues:
 * with 4, level 12 fell from 0.59 to 0.34 GB/s. If you change this, measure both the start of the
 * command and bench/gpu_stage.
 */
#define FEW_QUEUES 4

/* The value of CUDA_DEVICE_MAX_CONNECTIONS for match finders that have no `find` (struct
 * gpu_finder). They use PARSERS_MAX streams for parsing (engine.cu). With 8 queues, copies wait
 * behind the long walks, and the GPU stage does 11.5 GB/s instead of 17.0 (glzss-tagging, H100).
 * With 16 queues, the command starts 0.15 s later. A faster stage is more important here, since the
 * papers' methods are compared by its speed. */
#define MANY_QUEUES 16

int gpu_queues(const struct lz_level *level)
{
    if (!lz_has_twin(level))
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

void gpu_versions(int *toolkit, int *driver)
{
    /* Ask the driver's library directly, which takes 3 ms. cudaDriverGetVersion would start the
     * GPUs, which took 0.25 s (H200). */
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    int (*get)(int *) = NULL;

    *toolkit = CUDART_VERSION;
    *driver = 0;
    if (library == NULL)
        return;
    *(void **)&get = dlsym(library, "cuDriverGetVersion");
    if (get == NULL || get(driver) != 0)
        *driver = 0;
    dlclose(library);
}

int gpu_count(char error[GPU_ERROR_SIZE])
{
    int driver = 0, count = 0;
    cudaError_t status;

    /* Without a driver, the CUDA runtime's message would say that the driver's version is too old,
     * which misleads. */
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

void gpu_describe(int device, struct gpu_description *d)
{
    cudaDeviceProp p;
    cudaError_t status = cudaGetDeviceProperties(&p, device);

    *d = {};
    if (status == cudaSuccess)
        status = cudaSetDevice(device);
    if (status != cudaSuccess) {
        snprintf(d->error, sizeof(d->error), "%.100s", cudaGetErrorString(status));
        return;
    }
    snprintf(d->name, sizeof(d->name), "%.100s", p.name);
    d->major = p.major;
    d->minor = p.minor;
    d->multiprocessors = p.multiProcessorCount;
    d->memory = p.totalGlobalMem;
    d->is_supported = gpu_code_fits_device() == cudaSuccess;
}
