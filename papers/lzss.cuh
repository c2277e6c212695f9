/*
 * lzss.cuh - the kernels of the lzss method (lzss.cu), which lz4 with enter=all uses, too
 */
#ifndef GZLZSS_PAPERS_LZSS_CUH
#define GZLZSS_PAPERS_LZSS_CUH

#include "gpu/cuda/internal.cuh"
#include "papers/lzss.h"

/* Queues the search at all positions, and the choice among the matches that it finds. */
cudaError_t lzss_queue_search(const gpu_view &v, const lzss_numbers &k, cudaStream_t stream);

/* Queues the walk, which fills in the tags after a search. */
cudaError_t lzss_queue_walk(const gpu_view &v, cudaStream_t stream);

/* Loads all kernels of lzss.cu (gpu_load). */
cudaError_t lzss_load(void);

/* Bytes of scratch memory for each chunk that the two functions above need. */
size_t lzss_scratch_size(void);

/* Queues all work with one thread for each segment. */
cudaError_t lzss_queue_alone(const gpu_view &v, const lzss_numbers &k, cudaStream_t stream);

/* Bytes of scratch memory for each chunk that lzss_queue_alone needs. */
size_t lzss_alone_scratch(void);

#endif
