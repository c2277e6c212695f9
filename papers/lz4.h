/*
 * lz4.h - what both engines of the lz4 method share (lz4.c defines what it finds)
 */
#ifndef GZLZSS_PAPERS_LZ4_H
#define GZLZSS_PAPERS_LZ4_H

#include "lzss/common.h"

/* Indexes of the keys in struct lz_level's param. */
enum { LZ4_TABLE, LZ4_ACCELERATION, LZ4_SKIP, LZ4_CHUNK };

/* The bytes that are hashed. No match is shorter. */
#define LZ4_MIN_MATCH 4

/* Limits of the hash table's entries, a power of two. On the GPU, each warp has a table in shared
 * memory; a larger one than the most would need gpu_allow_shared. */
#define LZ4_TABLE_MIN 256
#define LZ4_TABLE_MAX 16384

#define LZ4_ACCELERATION_MAX 65537
#define LZ4_SKIP_MAX 15

/* Distance between the positions before the chunk that are entered when the chunk starts. A smaller
 * stride finds more matches early in the chunk, but takes more time. */
#define LZ4_STRIDE 3

/* Returns the bytes of a packet, for each value of the key `chunk`. Packets of value 0 (segment)
 * have history, others have none. */
BOTH_INLINE uint32_t lz4_packet(uint32_t chunk)
{
    return chunk == 0 ? LZ_CHUNK_SIZE : 2 * LZ_CHUNK_SIZE >> chunk;
}

/* Returns the entry for four bytes, in a table of 2^bits. */
BOTH_INLINE uint32_t lz4_hash(uint32_t four_bytes, uint32_t bits)
{
    return (four_bytes * 2654435761u) >> (32 - bits);
}

/* Returns the length of the step after a miss, in bytes. misses: how many misses came before this
 * one, since the last match. */
BOTH_INLINE uint32_t lz4_step(uint32_t misses, uint32_t acceleration, uint32_t skip)
{
    return misses < 2 ? 1 : acceleration + ((misses - 2) >> skip);
}

/* Returns the distance between the last match's end and the position after `misses` misses: the sum
 * of that many steps. */
BOTH_INLINE uint32_t lz4_way(uint32_t misses, uint32_t acceleration, uint32_t skip)
{
    const uint32_t grown = misses < 2 ? 0 : misses - 2;
    const uint32_t whole = grown >> skip, rest = grown - (whole << skip);

    if (misses < 2)
        return misses;
    return 2 + grown * acceleration + (whole * (whole - 1) / 2 << skip) + rest * whole;
}

/* Whether a match at `pos` may repeat the bytes at `there`, which may also be `pos` itself. */
BOTH_INLINE bool lz4_reaches(uint32_t pos, uint32_t there)
{
    return pos - there - 1 < LZ_WINDOW_SIZE;
}

#endif
