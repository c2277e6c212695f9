/*
 * lz4.h - shared by both engines of the lz4 method (lz4.c defines it)
 *
 * The last part is the method for one thread, with enter=visited. The CPU engine runs it, and so
 * does the GPU engine with threads=1. The other code on the GPU (lz4.cu) finds the same matches.
 */
#ifndef GZLZSS_PAPERS_LZ4_H
#define GZLZSS_PAPERS_LZ4_H

#include <stdbool.h>

#include "lzss/common.h"
#include "papers/lzss.h"
#include "papers/plain.h"

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

/* --- For one thread -------------------------------------------------------------------------- */

/* A walk through a packet. Positions are counted from `base`. */
struct lz4_steps {
    const uint8_t *base;
    uint16_t *table;
    uint32_t bits; /* the table has 2^bits entries */
    uint32_t acceleration, skip, window;
    /* The first position that a match may repeat. Entries that were never written have this
     * value. */
    uint32_t first;
    uint32_t pos, end;
    uint32_t behind; /* end of the last match */
    uint32_t misses; /* since the last match */
};

/* A match of `length` bytes at position `at`. */
struct lz4_match {
    uint32_t at, length, distance;
};

BOTH_INLINE uint16_t *lz4_entry(const struct lz4_steps *w, uint32_t pos)
{
    return &w->table[lz4_hash(plain_load32(w->base + pos), w->bits)];
}

/* Returns a walk with these keys' values and this table. */
BOTH_INLINE struct lz4_steps lz4_steps_of(const struct lz_level *level, uint16_t *table)
{
    struct lz4_steps w = {NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    w.table = table;
    w.bits = both_log2(level->param[LZ4_TABLE]);
    w.acceleration = lz4_acceleration(level);
    w.skip = level->param[LZ4_SKIP];
    w.window = level->param[LZ4_WINDOW];
    return w;
}

/* Prepares the walk through the packet [begin, end): clears the table, then enters the positions
 * before the packet, from w->first on. */
BOTH_INLINE void lz4_begin(struct lz4_steps *w, uint32_t begin, uint32_t end)
{
    for (uint32_t i = 0; i < 1u << w->bits; i++)
        w->table[i] = (uint16_t)w->first;
    for (uint32_t pos = w->first; pos + LZ4_MIN_MATCH <= begin; pos += LZ4_STRIDE)
        *lz4_entry(w, pos) = (uint16_t)pos;
    w->pos = w->behind = begin;
    w->end = end;
    w->misses = 0;
}

/*
 * Goes on to the next match and sets *match to it. Returns false if there is none up to the
 * packet's end.
 *
 * An entry that was never written holds the first position. Such an entry never gives a match. The
 * first position is entered before all others. So if the bytes there were equal to those at the
 * walk's position, their entry would have been written.
 */
BOTH_INLINE bool lz4_next(struct lz4_steps *w, struct lz4_match *match)
{
    while (w->pos + LZ4_MIN_MATCH <= w->end) {
        uint16_t *const entry = lz4_entry(w, w->pos);
        uint32_t pos = w->pos, there = *entry, length;

        *entry = (uint16_t)pos;
        if (!lz4_reaches(pos, there, w->window) ||
            plain_load32(w->base + there) != plain_load32(w->base + pos)) {
            w->pos += lz4_step(w->misses++, w->acceleration, w->skip);
            continue;
        }
        length = plain_match_length(w->base + pos, w->base + there, LZ4_MIN_MATCH, w->end - pos);
        for (; pos > w->behind && there > w->first && w->base[pos - 1] == w->base[there - 1];
             pos--, there--)
            length++;
        match->at = pos;
        match->length = length;
        match->distance = pos - there;
        w->pos = w->behind = pos + length;
        w->misses = 0;
        if (w->pos + LZ4_MIN_MATCH <= w->end)
            *lz4_entry(w, w->pos - 2) = (uint16_t)(w->pos - 2);
        return true;
    }
    return false;
}

#endif
