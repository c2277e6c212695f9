/*
 * lz4.h - what both engines decide in the lz4 method (lz4.c says what it finds)
 */
#ifndef GZLZSS_PAPERS_LZ4_H
#define GZLZSS_PAPERS_LZ4_H

#include "lzss/common.h"

/* The keys' places in struct lz_level's param. */
enum { LZ4_TABLE, LZ4_ACCELERATION, LZ4_SKIP, LZ4_CHUNK };

/* The shortest match: the bytes that are hashed. */
#define LZ4_MIN_MATCH 4

/* Entries of the hash table, a power of two.  On the GPU, a warp has one in shared memory; the
 * largest fit there without being asked for. */
#define LZ4_TABLE_MIN 256
#define LZ4_TABLE_MAX 16384

#define LZ4_ACCELERATION_MAX 65537
#define LZ4_SKIP_MAX 15

/* Bytes between positions before the chunk that are in the table when the chunk starts. */
#define LZ4_STRIDE 3

/* The bytes of a packet, for each value of the key `chunk`.  The first one's packets have history;
 * the others' have none. */
BOTH_INLINE uint32_t lz4_packet(uint32_t chunk)
{
    return chunk == 0 ? LZ_CHUNK_SIZE : 2 * LZ_CHUNK_SIZE >> chunk;
}

/* The entry for these bytes, of a table of 2^bits. */
BOTH_INLINE uint32_t lz4_hash(uint32_t four_bytes, uint32_t bits)
{
    return (four_bytes * 2654435761u) >> (32 - bits);
}

/* How far the walk goes on where no match was found, once it did so `misses` times since the last
 * match. */
BOTH_INLINE uint32_t lz4_step(uint32_t misses, uint32_t acceleration, uint32_t skip)
{
    return misses < 2 ? 1 : acceleration + ((misses - 2) >> skip);
}

/* How far the walk is from the last match's end after so many misses: the sum of as many steps. */
BOTH_INLINE uint32_t lz4_way(uint32_t misses, uint32_t acceleration, uint32_t skip)
{
    const uint32_t grown = misses < 2 ? 0 : misses - 2;
    const uint32_t whole = grown >> skip, rest = grown - (whole << skip);

    if (misses < 2)
        return misses;
    return 2 + grown * acceleration + (whole * (whole - 1) / 2 << skip) + rest * whole;
}

/* Whether a match at `pos` may repeat what is at `there`, which may also be `pos` itself. */
BOTH_INLINE bool lz4_reaches(uint32_t pos, uint32_t there)
{
    return pos - there - 1 < LZ_WINDOW_SIZE;
}

#endif
