/*
 * dklzss.h - shared by both engines of the dklzss method (dklzss.c defines it)
 */
#ifndef GZLZSS_PAPERS_DKLZSS_H
#define GZLZSS_PAPERS_DKLZSS_H

#include "lzss/common.h"

/* Indexes of the keys in struct lz_level's param. */
enum { DKLZSS_WINDOW, DKLZSS_LOOKAHEAD, DKLZSS_CHUNK };

/* Limits of a packet's size, in bytes. A packet is what the paper calls a chunk; its size is a
 * power of two. On the GPU, a packet and the failure tables must fit into 48 KiB of shared
 * memory. */
#define DKLZSS_PACKET_MIN 512
#define DKLZSS_PACKET_MAX 16384

/* The greatest length of a match: half of the largest packet, since a match repeats only earlier
 * bytes of its packet. */
#define DKLZSS_LENGTH_MAX (DKLZSS_PACKET_MAX / 2)

/*
 * Algorithm 1 of the paper: computes entry known + 1 of a failure table that has the entries 1 to
 * `known`. Entry n is at table[n * stride].
 *
 * Entry n belongs to the pattern's first n bytes. It is the length of the longest string, shorter
 * than n, that is both a prefix and a suffix of these bytes.
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
