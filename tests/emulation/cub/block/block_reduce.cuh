/*
 * block_reduce.cuh - CUB's BlockReduce, as far as gpu/ uses it, for emulated threads (cuda_runtime.h)
 */
#ifndef GZLZSS_EMULATED_BLOCK_REDUCE_CUH
#define GZLZSS_EMULATED_BLOCK_REDUCE_CUH

#include <cuda_runtime.h>

namespace cub
{
template <typename T, int THREADS> class BlockReduce
{
  public:
    struct TempStorage {
        T items[THREADS];
    };

    explicit BlockReduce(TempStorage &s) : storage(s)
    {
    }

    /* The sum of what all threads have, for the first; as CUB says, the others get no sum. */
    T Sum(T item)
    {
        T sum = 0;

        storage.items[threadIdx.x] = item;
        __syncthreads();
        if (threadIdx.x > 0)
            return ~(T)0;
        for (uint32_t i = 0; i < THREADS; i++)
            sum += storage.items[i];
        return sum;
    }

  private:
    TempStorage &storage;
};
} // namespace cub

#endif
