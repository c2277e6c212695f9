/*
 * device.cu - finds and describes CUDA devices
 */
#include <dlfcn.h>
#include <stdio.h>

#include "gpu/cuda/internal.cuh"

cudaError_t gpu_use_device(int device)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    const cudaError_t status = gpu_device_is_lost(device)
                                   ? cudaErrorLaunchTimeout
                                   : cudaThreadExchangeStreamCaptureMode(&mode);

    return status == cudaSuccess ? cudaSetDevice(device) : status;
}

cudaError_t gpu_load(const void *const *kernels, size_t count)
{
    cudaFuncAttributes attributes;
    cudaError_t status = cudaSuccess;

    /* The runtime API has no call that only loads a kernel. cudaFuncGetAttributes loads it
     * first. */
    for (size_t i = 0; i < count && status == cudaSuccess; i++)
        status = cudaFuncGetAttributes(&attributes, kernels[i]);
    return status;
}

/* In a program that is linked with the engine; the module's users have this from forward.c. */
bool gpu_is_installed(char error[GPU_ERROR_SIZE])
{
    (void)error;
    return true;
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
