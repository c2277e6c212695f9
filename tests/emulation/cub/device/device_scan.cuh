/*
 * device_scan.cuh - CUB's DeviceScan, as far as papers/codec uses it, on the emulated device
 * (cuda_runtime.h)
 */
#ifndef GZLZSS_EMULATED_DEVICE_SCAN_CUH
#define GZLZSS_EMULATED_DEVICE_SCAN_CUH

#include <cuda_runtime.h>

namespace cub
{
struct DeviceScan {
    /* Sets out[i] to the sum of in[0..i).  As with CUB, a call without temporary memory only sets
     * temporary_size. */
    template <typename T>
    static cudaError_t ExclusiveSum(void *temporary, size_t &temporary_size, const T *in, T *out,
                                    int count, cudaStream_t)
    {
        T sum = 0;

        if (temporary == NULL) {
            temporary_size = 1;
            return cudaSuccess;
        }
        for (int i = 0; i < count; i++) {
            const T item = in[i];

            out[i] = sum;
            sum += item;
        }
        return cudaSuccess;
    }
};
} // namespace cub

#endif
