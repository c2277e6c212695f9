/*
 * starts.cuh - lists where segments, or packets of several chunks, start in a batch
 *
 * With threads=1 or threads=4, some methods give each thread, or each few threads, a whole segment
 * or a packet of two chunks. A list of the chunks with which these start gives neighbouring threads
 * neighbouring work, without idle threads between.
 */
#ifndef GZLZSS_PAPERS_STARTS_CUH
#define GZLZSS_PAPERS_STARTS_CUH

#include "gpu/cuda/internal.cuh"

/* Bytes of scratch memory for each chunk that the list takes. The list has an entry for each chunk
 * and comes first in the scratch memory. More than an entry's four bytes, so that the memory after
 * the list is 16-byte aligned. */
#define PAPER_STARTS_SIZE 16

/* The entry after the last one. All entries from there on have this value. */
#define PAPER_NO_START UINT32_MAX

/* The `step` of whole segments. */
#define PAPER_SEGMENTS UINT32_MAX

static __device__ __forceinline__ uint32_t *paper_starts(const gpu_view &v)
{
    return (uint32_t *)v.scratch;
}

/* The scratch memory after the list. */
static __host__ __device__ __forceinline__ uint8_t *paper_after_starts(const gpu_view &v)
{
    return (uint8_t *)v.scratch + (size_t)v.chunks * PAPER_STARTS_SIZE;
}

/* Lists the chunks with which a segment starts, and every step-th chunk after them in the same
 * segment, in order. One block of one warp. */
static __global__ void __launch_bounds__(WARP) paper_list_starts(gpu_view v, uint32_t step)
{
    const uint32_t lane = threadIdx.x, up_to_here = ALL_LANES >> (31 - lane);
    uint32_t *const starts = paper_starts(v);
    /* segment: the chunk with which the current segment starts. */
    uint32_t count = 0, segment = 0;

    for (uint32_t first = 0; first < v.chunks; first += WARP) {
        const uint32_t c = first + lane;
        const uint32_t begins =
            __ballot_sync(ALL_LANES, c < v.chunks && gpu_chunk_span(v, c).history == 0);
        const uint32_t last = begins & up_to_here;
        const uint32_t mine = last != 0 ? first + 31 - (uint32_t)__clz((int)last) : segment;
        const bool is_start = c < v.chunks && (c - mine) % step == 0;
        const uint32_t all = __ballot_sync(ALL_LANES, is_start);

        if (is_start)
            starts[count + (uint32_t)__popc((int)(all & up_to_here)) - 1] = c;
        count += (uint32_t)__popc((int)all);
        segment = __shfl_sync(ALL_LANES, mine, WARP - 1);
    }
    for (uint32_t i = count + lane; i < v.chunks; i += WARP)
        starts[i] = PAPER_NO_START;
}

#endif
