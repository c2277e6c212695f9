/*
 * lz4.h - shared by both engines of the lz4 method (lz4.c defines it)
 */
#ifndef GZLZSS_PAPERS_LZ4_H
#define GZLZSS_PAPERS_LZ4_H

#include "lzss/common.h"
#include "papers/lzss.h"

/* Indexes of the keys in struct lz_level's param. */
enum {
    LZ4_TABLE,
    LZ4_ACCELERATION,
    LZ4_SKIP,
    LZ4_CHUNK,
    LZ4_ENTER,
    LZ4_WINDOW,
    LZ4_CHAIN,
    LZ4_THREADS,
};

/* Values of the key `enter`: which positions are entered into the table. */
enum { LZ4_VISITED, LZ4_ALL };

/* How many bytes are hashed. No match is shorter. */
#define LZ4_MIN_MATCH 4

/* Limits of the number of entries in the hash table, which is a power of two. On the GPU, each warp
 * has a table in shared memory; a table above LZ4_TABLE_MAX would need gpu_allow_shared. */
#define LZ4_TABLE_MIN 256
#define LZ4_TABLE_MAX 16384

#define LZ4_ACCELERATION_MAX 65537
#define LZ4_SKIP_MAX 15

/* The value of the key `skip` that stands for no skipping: all steps have one byte. */
#define LZ4_SKIP_NO (LZ4_SKIP_MAX + 1)

/* With enter=all: literals with which a segment, or a packet, starts (section 16.1). */
#define LZ4_LEAD 13

/* When a chunk starts, every LZ4_STRIDE-th position before it is entered into the table. With a
 * smaller stride, more matches are found early in the chunk, but filling the table takes more
 * time. */
#define LZ4_STRIDE 3

/* Returns the bytes of a packet for a value of the key `chunk`. With value 0 (segment), packets
 * have history; with other values, they have none. */
BOTH_INLINE uint32_t lz4_packet(uint32_t chunk)
{
    return chunk == 0 ? LZ_CHUNK_SIZE : 2 * LZ_CHUNK_SIZE >> chunk;
}

/* Returns the index of the entry for four bytes, in a table of 2^bits entries. */
BOTH_INLINE uint32_t lz4_hash(uint32_t four_bytes, uint32_t bits)
{
    return (four_bytes * 2654435761u) >> (32 - bits);
}

/* Returns the length of the step after a miss, in bytes. misses: how many misses came between the
 * last match and this miss. */
BOTH_INLINE uint32_t lz4_step(uint32_t misses, uint32_t acceleration, uint32_t skip)
{
    return misses < 2 ? 1 : acceleration + ((misses - 2) >> skip);
}

/* Returns the sum of the first `misses` steps, in bytes: how far past the last match's end the walk
 * is after that many misses. */
BOTH_INLINE uint32_t lz4_way(uint32_t misses, uint32_t acceleration, uint32_t skip)
{
    const uint32_t grown = misses < 2 ? 0 : misses - 2;
    const uint32_t whole = grown >> skip, rest = grown - (whole << skip);

    if (misses < 2)
        return misses;
    return 2 + grown * acceleration + (whole * (whole - 1) / 2 << skip) + rest * whole;
}

/* Whether a match at `pos` may repeat the bytes at `there`. It may if `there` is 1 to `window`
 * bytes before `pos`. False if `pos` and `there` are equal. */
BOTH_INLINE bool lz4_reaches(uint32_t pos, uint32_t there, uint32_t window)
{
    return pos - there - 1 < window;
}

/* Returns the bytes of a step after two misses, before steps grow. With skip=no, steps have one
 * byte, and LZ4_SKIP_NO is so large that they never grow. */
BOTH_INLINE uint32_t lz4_acceleration(const struct lz_level *level)
{
    return level->param[LZ4_SKIP] == LZ4_SKIP_NO ? 1 : level->param[LZ4_ACCELERATION];
}

LZ_STATIC_ASSERT(LZ_CHUNK_SIZE < 1 << LZ4_SKIP_NO, "more misses than a chunk has bytes");

/* Returns what a search with enter=all needs to know. It is the search of the lzss method, without
 * looking ahead. */
BOTH_INLINE struct lzss_numbers lz4_numbers_of(const struct lz_level *level)
{
    const uint32_t *const p = level->param;
    const struct lzss_numbers numbers = {
        p[LZ4_WINDOW], LZ_MAX_MATCH,  LZSS_MURMUR3,
        p[LZ4_TABLE],  p[LZ4_CHAIN],  0,
        LZSS_LONGEST,  LZ4_MIN_MATCH, p[LZ4_CHUNK] == 0 ? 0 : lz4_packet(p[LZ4_CHUNK]),
        LZ4_LEAD,
    };

    return numbers;
}

#endif
