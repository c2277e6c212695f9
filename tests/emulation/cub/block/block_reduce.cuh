/*
 * block_reduce.cuh - CUB's BlockReduce, as far as gpu/ uses it, for emulated threads
 * (cuda_runtime.h)
 */
#ifndef GZLZSS_EMULATED_BLOCK_REDUCE_CUH
#define GZLZSS_EMULATED_BLOCK_REDUCE_CUH

#include <cub/block/block_scan.cuh>

namespace cub
{
template <typename T, int THREADS> class BlockReduce : BlockScan<T, THREADS>
{
    typedef BlockScan<T, THREADS> Scan;

  public:
    using Scan::Scan;
    using typename Scan::TempStorage;

    /* Returns the sum of all threads' items to the first thread.  As with CUB, other threads must
     * not use the result. */
    T Sum(T item)
    {
        T before, total;

        Scan::ExclusiveSum(item, before, total);
        return threadIdx.x == 0 ? total : ~(T)0;
    }
};
} // namespace cub

#endif
