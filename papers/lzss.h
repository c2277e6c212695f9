/*
 * lzss.h - what both engines decide in the lzss method (lzss.c says what it finds)
 */
#ifndef GZLZSS_PAPERS_LZSS_H
#define GZLZSS_PAPERS_LZSS_H

#include "lzss/common.h"

/* The keys' places in struct lz_level's param. */
enum {
    LZSS_WINDOW,
    LZSS_LENGTH,
    LZSS_HASH,
    LZSS_BUCKETS,
    LZSS_CHAIN,
    LZSS_AHEAD,
    LZSS_CHOICE,
};

/* Words that two of the keys have as values. */
enum { LZSS_DJB2, LZSS_MURMUR3 };
enum { LZSS_LONGEST, LZSS_SAVING };

/* Numbers of buckets are powers of two.  With the most, the GPU's table takes 64 KiB of shared
 * memory. */
#define LZSS_BUCKETS_MIN 16
#define LZSS_BUCKETS_MAX 32768

#define LZSS_AHEAD_MAX 16

/*
 * The bucket of a position's first three bytes, the low ones of a little-endian word (section 16).
 *
 * DJB2 takes one byte after another.  The paper's code divides by the number of buckets at each of
 * them; with a power of two, doing that once at the end comes to the same.  Murmur3 has three bytes
 * as what remains of a key without a whole word, the first byte as the highest.
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

/* Bits of the paper's coding (figure 4): a byte that stands for itself, and a match of a distance of
 * 12 bits and a length of four.  Both begin with a bit that tells them apart. */
#define LZSS_LITERAL_BITS 9
#define LZSS_MATCH_BITS 17

/*
 * How good it is to take a match of `length` bytes, at least LZ_MIN_MATCH, after `skipped` bytes that
 * stand for themselves; of matches that are equally good, the first is taken.  Either its length
 * counts, or the bits that it saves for each byte that the walk goes on, in 1/1024.
 */
LZ_INLINE uint32_t lzss_score(uint32_t length, uint32_t skipped, uint32_t choice)
{
    if (choice == LZSS_LONGEST)
        return length;
    return ((length * LZSS_LITERAL_BITS - LZSS_MATCH_BITS) << 10) / (skipped + length);
}

#endif
