/*
 * common.h - the pieces of match finding that both engines compile
 *
 * Whatever decides what a match finder finds is here or in the finder's own header (tagging.h,
 * chains.h, optimal.h), in C that gcc, clang and nvcc read alike, so that the engines cannot drift
 * apart.
 */
#ifndef GZLZSS_LZSS_COMMON_H
#define GZLZSS_LZSS_COMMON_H

#include <stdint.h>

#include "base/both.h"
#include "lzss/lzss.h"

#define LZ_INLINE BOTH_INLINE

/* C's and C++'s. */
#ifdef __cplusplus
#define LZ_STATIC_ASSERT static_assert
#else
#define LZ_STATIC_ASSERT _Static_assert
#endif

/*
 * How a match of `length` (at least LZ_MIN_MATCH) bytes, longer than DEFLATE can say at once, is
 * said in pieces: pieces of LZ_MAX_MATCH and then the rest.  Where the rest would be 1 or 2 bytes,
 * too short to be a match, the piece before gives it enough to be LZ_MIN_MATCH.
 */
LZ_INLINE uint32_t lz_pieces(uint32_t length)
{
    return (length + LZ_MAX_MATCH - 1) / LZ_MAX_MATCH;
}

/* The length of piece `i` (from 0) of such a match. */
LZ_INLINE uint32_t lz_piece_length(uint32_t length, uint32_t i)
{
    uint32_t left = length - i * LZ_MAX_MATCH;
    uint32_t piece;

    /* Once a piece gave bytes away, the one after it is the last and starts that much earlier. */
    if (i > 0 && left < LZ_MIN_MATCH)
        return LZ_MIN_MATCH;
    if (left <= LZ_MAX_MATCH)
        return left;
    piece = LZ_MAX_MATCH;
    if (left - piece < LZ_MIN_MATCH)
        piece = left - LZ_MIN_MATCH;
    return piece;
}

/* Whether the match at `next`, which is next_distance back, continues the one of `length` bytes at
 * `start`.  Matches side by side at one distance are one match: a GPU that writes them as tags
 * cannot tell where one ends. */
LZ_INLINE bool lz_continues(uint32_t start, uint32_t length, uint32_t distance, uint32_t next,
                            uint32_t next_distance)
{
    return distance == next_distance && start + length == next && length > 0;
}

#endif
