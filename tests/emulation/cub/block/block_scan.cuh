/*
 * block_scan.cuh - CUB's BlockScan, as far as gpu/ uses it, for emulated threads (cuda_runtime.h)
 */
#ifndef GZLZSS_EMULATED_BLOCK_SCAN_CUH
#define GZLZSS_EMULATED_BLOCK_SCAN_CUH

#include <cuda_runtime.h>

namespace cub
{
template <typename T, int THREADS> class BlockScan
{
  public:
    struct TempStorage {
        T items[THREADS];
    };

    explicit BlockScan(TempStorage &s) : storage(s)
    {
    }

    /* Gives each thread the sum of the items of all threads before it, and the sum of all items. */
    void ExclusiveSum(T item, T &before, T &total)
    {
        storage.items[threadIdx.x] = item;
        __syncthreads();
        before = total = 0;
        for (uint32_t i = 0; i < THREADS; i++) {
            if (i < threadIdx.x)
                before += storage.items[i];
            total += storage.items[i];
        }
    }

  private:
    TempStorage &storage;
};
} // namespace cub

#endif
