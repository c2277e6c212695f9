/*
 * dklzss.h - what both engines decide in the dklzss method (dklzss.c says what it finds)
 */
#ifndef GZLZSS_PAPERS_DKLZSS_H
#define GZLZSS_PAPERS_DKLZSS_H

#include "lzss/common.h"

/* The keys' places in struct lz_level's param. */
enum { DKLZSS_WINDOW, DKLZSS_LOOKAHEAD, DKLZSS_CHUNK };

/* Packets are what the paper calls chunks; their sizes are powers of two. */
#define DKLZSS_PACKET_MIN 512
#define DKLZSS_PACKET_MAX 16384

/* No match is longer: what it repeats lies before it, in the same packet. */
#define DKLZSS_LENGTH_MAX (DKLZSS_PACKET_MAX / 2)

/*
 * Algorithm 1: adds entry known + 1 to a failure table that has entries 1 to `known`, `stride` numbers
 * apart.
 *
 * Entry n is for the pattern's first n bytes: the most of them, fewer than n, that are both at their
 * start and at their end.
 */
BOTH_INLINE void dklzss_add_failure(uint16_t *table, uint32_t stride, uint32_t known,
                                    const uint8_t *pattern)
{
    uint32_t n = known;

    while (n > 0 && pattern[table[n * stride]] != pattern[known])
        n = table[n * stride];
    table[(known + 1) * stride] = (uint16_t)(n > 0 ? table[n * stride] + 1 : 0);
}

#endif
