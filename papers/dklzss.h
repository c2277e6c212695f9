/*
 * dklzss.h - shared by both engines of the dklzss method (dklzss.c defines it)
 */
#ifndef GZLZSS_PAPERS_DKLZSS_H
#define GZLZSS_PAPERS_DKLZSS_H

#include <string.h>

#include "lzss/common.h"

/* Indexes of the keys in struct lz_level's param. */
enum { DKLZSS_WINDOW, DKLZSS_LOOKAHEAD, DKLZSS_CHUNK, DKLZSS_THREADS };

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

/* Returns the first place in [at, end) whose byte is `byte`; if there is none, returns `end`. */
BOTH_INLINE const uint8_t *dklzss_find_byte(const uint8_t *at, const uint8_t *end, uint8_t byte)
{
#ifdef __CUDA_ARCH__
    while (at < end && *at != byte)
        at++;
    return at;
#else
    const uint8_t *found = (const uint8_t *)memchr(at, byte, (size_t)(end - at));

    return found != NULL ? found : end;
#endif
}

/*
 * Algorithm 2 of the paper: finds the longest match, at most `most` bytes, of the pattern in the
 * `reach` bytes before it, and of equally long matches the farthest. Returns its length, or 0 if it
 * is below LZ_MIN_MATCH, and sets *distance. `failures` has space for the failure table: entries 1
 * to `most`, or to `reach` / 2 if that is less.
 */
BOTH_INLINE uint32_t dklzss_search(const uint8_t *pattern, uint32_t reach, uint32_t most,
                                   uint16_t *failures, uint32_t *distance)
{
    /* Where the current match starts in the text; `match` is its length so far. */
    const uint8_t *at = pattern - reach;
    uint32_t known = 0, match = 0, best = 0;

    /* At the top of the loop, the current match is never longer than the best one. */
    while (best < most && at + best < pattern) {
        if (at[match] == pattern[match]) {
            match++;
            if (match > best) {
                best = match;
                *distance = (uint32_t)(pattern - at);
            }
        } else if (match == 0) {
            at = dklzss_find_byte(at, pattern, pattern[0]);
        } else {
            for (; known < match; known++)
                dklzss_add_failure(failures, 1, known, pattern);
            at += match - failures[match];
            match = failures[match];
        }
    }
    return best < LZ_MIN_MATCH ? 0 : best;
}

#endif
