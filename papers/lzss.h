/*
 * lzss.h - shared by both engines of the lzss method (lzss.c defines it)
 */
#ifndef GZLZSS_PAPERS_LZSS_H
#define GZLZSS_PAPERS_LZSS_H

#include <stdbool.h>

#include "lzss/common.h"

/* Indexes of the keys in struct lz_level's param. */
enum {
    LZSS_WINDOW,
    LZSS_LENGTH,
    LZSS_HASH,
    LZSS_BUCKETS,
    LZSS_CHAIN,
    LZSS_AHEAD,
    LZSS_CHOICE,
    LZSS_THREADS,
};

/* Values of the keys `hash` and `choice`. */
enum { LZSS_DJB2, LZSS_MURMUR3 };
enum { LZSS_LONGEST, LZSS_SAVING };

/* Limits of the number of buckets, which is a power of two. With LZSS_BUCKETS_MAX, the GPU's table
 * takes 64 KiB of shared memory. */
#define LZSS_BUCKETS_MIN 16
#define LZSS_BUCKETS_MAX 32768

#define LZSS_AHEAD_MAX 16

/* What a search and a walk need to know. The first seven are the values of the method's keys. The
 * last three are always the same for lzss; lz4 with enter=all has others. */
struct lzss_numbers {
    uint32_t window, length, hash, buckets, chain, ahead, choice;
    uint32_t least;  /* bytes of the shortest match */
    uint32_t packet; /* bytes of packets, which no match and no source leaves; 0: no packets */
    uint32_t lead;   /* literals with which each packet starts; without packets, each segment */
};

/* Returns the numbers of the lzss method. */
LZ_INLINE struct lzss_numbers lzss_numbers_of(const struct lz_level *level)
{
    const uint32_t *const p = level->param;
    const struct lzss_numbers numbers = {
        p[LZSS_WINDOW],
        p[LZSS_LENGTH],
        p[LZSS_HASH],
        p[LZSS_BUCKETS],
        p[LZSS_CHAIN],
        p[LZSS_AHEAD],
        p[LZSS_CHOICE],
        LZ_MIN_MATCH,
        0,
        0,
    };

    return numbers;
}

/* Returns the first position that a match at `pos` may repeat. Positions are counted from the
 * history's start, and packets start at multiples of their size. */
LZ_INLINE uint32_t lzss_lowest(uint32_t pos, const struct lzss_numbers *k)
{
    const uint32_t lowest = pos < k->window ? 0 : pos - k->window;
    const uint32_t start = k->packet > 0 ? pos & ~(k->packet - 1) : 0;

    return lowest > start ? lowest : start;
}

/* Returns the greatest length of a match at `pos`, in a chunk that starts at `history` and ends at
 * `end`. A chunk without history starts a segment. */
LZ_INLINE uint32_t lzss_most(uint32_t pos, uint32_t history, uint32_t end,
                             const struct lzss_numbers *k)
{
    const uint32_t start = k->packet > 0 ? pos & ~(k->packet - 1) : 0;
    const bool has_lead = k->packet > 0 || history == 0;
    uint32_t left = end - pos;

    if (has_lead && pos - start < k->lead)
        return 0;
    if (k->packet > 0 && start + k->packet - pos < left)
        left = start + k->packet - pos;
    return left < k->length ? left : k->length;
}

/*
 * Returns the bucket of a position's first three bytes, which are the low bytes of a little-endian
 * word (section 16).
 *
 * DJB2 adds one byte after another. The paper's code takes the hash modulo the number of buckets
 * after each byte; since that number is a power of two, taking it once at the end gives the same
 * result. For Murmur3, a key of three bytes has no whole words, only a tail, whose first byte is
 * the highest.
 */
LZ_INLINE uint32_t lzss_hash(uint32_t bytes, uint32_t hash, uint32_t buckets)
{
    const uint32_t a = bytes & 0xff, b = bytes >> 8 & 0xff, c = bytes >> 16 & 0xff;
    uint32_t key;

    if (hash == LZSS_DJB2) {
        key = (5381u * 33) ^ a;
        key = (key * 33) ^ b;
        key = (key * 33) ^ c;
        return key & (buckets - 1);
    }
    key = (a << 16 | b << 8 | c) * 0xcc9e2d51u;
    key = (key << 15 | key >> 17) * 0x1b873593u;
    key ^= LZ_MIN_MATCH;
    key = (key ^ key >> 16) * 0x85ebca6bu;
    key = (key ^ key >> 13) * 0xc2b2ae35u;
    return (key ^ key >> 16) & (buckets - 1);
}

/* Bits in the paper's coding (figure 4): of a literal byte, and of a match with 12 bits of distance
 * and 4 of length. Each number includes the bit that tells a literal from a match. */
#define LZSS_LITERAL_BITS 9
#define LZSS_MATCH_BITS 17

/*
 * Returns a score for a match of `length` bytes, at least LZ_MIN_MATCH, after `skipped` literals;
 * the match with the highest score is chosen, and of equal ones the first. With LZSS_LONGEST, the
 * score is the length. With LZSS_SAVING, it is the number of bits saved for each byte that the walk
 * advances, times 1024.
 */
LZ_INLINE uint32_t lzss_score(uint32_t length, uint32_t skipped, uint32_t choice)
{
    if (choice == LZSS_LONGEST)
        return length;
    return ((length * LZSS_LITERAL_BITS - LZSS_MATCH_BITS) << 10) / (skipped + length);
}

#ifdef __cplusplus
extern "C" {
#endif

struct lz_matcher;

/* A finder's `find`, for these numbers. The finder's state is a struct lzss_state
 * (lzss_walk.h). */
void lzss_find(struct lz_matcher *m, const struct lzss_numbers *numbers, const uint8_t *in,
               size_t len);

#ifdef __cplusplus
}
#endif

#endif
