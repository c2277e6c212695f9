/*
 * sample.h - how many different bytes a chunk is written in, and what follows for its matches
 */
#ifndef GZLZSS_LZSS_SAMPLE_H
#define GZLZSS_LZSS_SAMPLE_H

#include <stdbool.h>

#include "lzss/common.h"

/*
 * What is worth taking depends on how many different bytes the chunk is written in, which its first
 * LZ_SAMPLE bytes tell: where few are in use, literals cost few bits.
 */
#define LZ_SAMPLE 4096

LZ_STATIC_ASSERT(LZ_SAMPLE <= LZ_CHUNK_SIZE, "a sample is of one chunk");

/* How many different values in[0..size) has in its first LZ_SAMPLE bytes.  (The GPU's twin is in
 * gpu/links.cuh.) */
static inline uint32_t lz_count_distinct(const uint8_t *in, int32_t size)
{
    uint8_t seen[256] = {0};
    uint32_t distinct = 0;

    for (int32_t i = 0; i < size && i < LZ_SAMPLE; i++)
        seen[in[i]] = 1;
    for (int i = 0; i < 256; i++)
        distinct += seen[i];
    return distinct;
}

/* The shortest match worth taking: a match costs 18 bits or so.  A search of little depth finds
 * short matches where there are long ones, and must not be too proud. */
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

/* Whether to look for matches of three bytes. */
LZ_INLINE bool lz_wants_length3(uint32_t distinct, uint32_t max_distance3)
{
    return max_distance3 > 0 && distinct >= 80;
}

#endif
