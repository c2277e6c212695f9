/*
 * sample.h - which short matches are worth taking, judged from a sample of the chunk
 *
 * In a chunk with few different byte values, a literal costs only a few bits, so a short match
 * costs more than the literals that it replaces.  The number of different values in the chunk's
 * first LZ_SAMPLE bytes tells which matches to pass over.
 */
#ifndef GZLZSS_LZSS_SAMPLE_H
#define GZLZSS_LZSS_SAMPLE_H

#include <stdbool.h>

#include "lzss/common.h"

/* Bytes of the sample.  A larger sample represents the chunk better, and takes longer to count. */
#define LZ_SAMPLE 4096

LZ_STATIC_ASSERT(LZ_SAMPLE <= LZ_CHUNK_SIZE, "a sample lies in one chunk");

/* The number of different values among the first LZ_SAMPLE bytes of the chunk in[0..size).  (Its
 * twin for the GPU, count_distinct, is in gpu/cuda/warp.cuh.) */
static inline uint32_t lz_count_distinct(const uint8_t *in, int32_t size)
{
    uint8_t seen[256] = {0};
    const int32_t n = size < LZ_SAMPLE ? size : LZ_SAMPLE;
    uint32_t distinct = 0;

#ifndef __CUDACC__ /* nvcc does not know this pragma */
#pragma GCC unroll 8
#endif
    for (int32_t i = 0; i < n; i++)
        seen[in[i]] = 1;
    for (int i = 0; i < 256; i++)
        distinct += seen[i];
    return distinct;
}

/* The shortest match worth taking, if a match costs about 18 bits.  With a small `depth`, the
 * result is at most 4 or 5.  The reason is that searches with a small depth often find a short
 * match where a longer one exists.  If all short matches were passed over, too few matches would
 * remain. */
LZ_INLINE uint32_t lz_least_length(uint32_t distinct, uint32_t depth)
{
    uint32_t least = distinct < 6    ? 9
                     : distinct < 8  ? 7
                     : distinct < 16 ? 6
                     : distinct < 40 ? 5
                     : distinct < 80 ? 4
                                     : 3;
    uint32_t most = depth < 5 ? 4 : depth < 10 ? 5 : 9;

    return least < most ? least : most;
}

/* Whether to look for matches of three bytes in a chunk with `distinct` different values. */
LZ_INLINE bool lz_wants_length3(uint32_t distinct, uint32_t max_distance3)
{
    return max_distance3 > 0 && distinct >= 80;
}

#endif
