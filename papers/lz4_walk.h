/*
 * lz4_walk.h - the lz4 method for one thread, with enter=visited
 *
 * The CPU engine runs this code, and so does the GPU engine with threads=1. The other code on the
 * GPU (lz4.cu) finds the same matches.
 */
#ifndef GZLZSS_PAPERS_LZ4_WALK_H
#define GZLZSS_PAPERS_LZ4_WALK_H

#include <stdbool.h>

#include "papers/lz4.h"
#include "papers/plain.h"

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
