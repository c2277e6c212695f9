/*
 * common.h - the parts of match finding that are compiled for the CPU and for the GPU
 *
 * All code that decides which matches a finder finds is in this file or in the finder's own header
 * (tagging.h, chains.h, optimal.h).  gcc, clang and nvcc all compile this code, so the CPU's
 * results and the GPU's cannot differ.
 */
#ifndef GZLZSS_LZSS_COMMON_H
#define GZLZSS_LZSS_COMMON_H

#include <stdint.h>

#include "base/both.h"
#include "lzss/lzss.h"

#define LZ_INLINE BOTH_INLINE

#define LZ_STATIC_ASSERT BOTH_ASSERT

/*
 * A match may be longer than LZ_MAX_MATCH, the longest that DEFLATE can code.  It is then cut into
 * several matches at the same distance.  All but the last have LZ_MAX_MATCH bytes, and the last has
 * the rest.  A rest of 1 or 2 bytes is too short for a match, so the match before it gives up
 * enough bytes to make the last one LZ_MIN_MATCH long.
 *
 * lz_pieces returns the number of matches that a match of `length` bytes is cut into; length is at
 * least LZ_MIN_MATCH.
 */
LZ_INLINE uint32_t lz_pieces(uint32_t length)
{
    return (length + LZ_MAX_MATCH - 1) / LZ_MAX_MATCH;
}

/* The length of match number i, counted from 0, of the matches into which a match of `length` bytes
 * is cut. */
LZ_INLINE uint32_t lz_piece_length(uint32_t length, uint32_t i)
{
    uint32_t left = length - i * LZ_MAX_MATCH;
    uint32_t piece;

    /* If fewer than LZ_MIN_MATCH bytes are left, match i is the last one, and the match before it
     * has given up bytes to make match i LZ_MIN_MATCH long. */
    if (i > 0 && left < LZ_MIN_MATCH)
        return LZ_MIN_MATCH;
    if (left <= LZ_MAX_MATCH)
        return left;
    piece = LZ_MAX_MATCH;
    if (left - piece < LZ_MIN_MATCH)
        piece = left - LZ_MIN_MATCH;
    return piece;
}

/* Whether the match at position `next`, at distance next_distance, continues the match of `length`
 * bytes at position `start`.  Two adjacent matches at one distance count as one match, because a
 * GPU writes matches as tags (tags.h), which do not show where one ends and the next starts. */
LZ_INLINE bool lz_continues(uint32_t start, uint32_t length, uint32_t distance, uint32_t next,
                            uint32_t next_distance)
{
    return distance == next_distance && start + length == next && length > 0;
}

#endif
