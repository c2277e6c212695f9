/*
 * greedy.cuh - greedy selection of matches on the GPU, the twin of paper_find_greedily (method.h)
 */
#ifndef GZLZSS_PAPERS_GREEDY_CUH
#define GZLZSS_PAPERS_GREEDY_CUH

#include "gpu/cuda/warp.cuh"

/*
 * Selects matches greedily at a chunk's positions [begin, end), and replaces `tags` by the result.
 * All lanes of the warp call this function. No match may cross `end`. matches[i] is the length of
 * the match at position i, or 0, and tags[i] its distance. A match may start after its position:
 * the bits of matches[i] from bit SKIPPED on are the number of bytes between position i and the
 * match's start.
 *
 * The walk goes from match to match. Its state is the same in all lanes, so no branch diverges. The
 * warp waits for memory once for every WARP_STEP positions.
 */
template <int SKIPPED = 16>
static __device__ __forceinline__ void paper_walk_greedily(const uint16_t *matches, uint16_t *tags,
                                                           uint32_t begin, uint32_t end)
{
    const uint32_t lane = threadIdx.x % WARP;
    /* Where the last match starts and ends, and its distance. */
    uint32_t start = begin, covered = begin, covered_tag = 0;

    for (uint32_t step = begin; step < end; step += WARP_STEP) {
        uint32_t match[GROUPS], distance[GROUPS];

#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            const uint32_t at = step + g * WARP + lane;

            match[g] = at < end ? matches[at] : 0;
            distance[g] = at < end ? tags[at] : 0;
        }
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            const uint32_t group = step + g * WARP, at = group + lane;
            uint32_t tag = at >= start && at < covered ? covered_tag : 0;

            if (covered < group + WARP) {
                uint32_t left = __ballot_sync(ALL_LANES, match[g] > 0 && at >= covered);

                while (left != 0) {
                    const uint32_t first = (uint32_t)__ffs((int)left) - 1;
                    const uint32_t taken = __shfl_sync(ALL_LANES, match[g], (int)first);

                    covered_tag = __shfl_sync(ALL_LANES, distance[g], (int)first);
                    start = group + first + (taken >> SKIPPED);
                    covered = start + (taken & ((1u << SKIPPED) - 1));
                    if (at >= start && at < covered)
                        tag = covered_tag;
                    left = covered < group + WARP ? left & (ALL_LANES << (covered - group)) : 0;
                }
            }
            if (at < end)
                tags[at] = (uint16_t)tag;
        }
    }
}

#endif
