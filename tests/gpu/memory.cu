/*
 * memory.cu - allocates and copies a device's memory, for tests in C
 */
#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>

static void check(cudaError_t result)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "memory.cu: %s\n", cudaGetErrorString(result));
    abort();
}

extern "C" void *device_alloc(size_t size)
{
    void *p;

    check(cudaMalloc(&p, size > 0 ? size : 1));
    return p;
}

extern "C" void device_free(void *p)
{
    check(cudaFree(p));
}

extern "C" void device_get(void *to, const void *from, size_t size)
{
    check(cudaMemcpy(to, from, size, cudaMemcpyDeviceToHost));
}

extern "C" void device_put(void *to, const void *from, size_t size)
{
    check(cudaMemcpy(to, from, size, cudaMemcpyHostToDevice));
}
