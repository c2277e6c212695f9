/*
 * lzss_walk.h - the lzss method for one thread: search by hash chains, and the walk
 *
 * The CPU engine runs this code, and so does the GPU engine with threads=1. The other code on the
 * GPU (lzss.cu) finds the same matches. lz4 with enter=all uses this code, too, with other numbers.
 */
#ifndef GZLZSS_PAPERS_LZSS_WALK_H
#define GZLZSS_PAPERS_LZSS_WALK_H

#include <stdbool.h>

#include "papers/lzss.h"
#include "papers/plain.h"

/* A match of `length` bytes; 0: no match. */
struct lzss_match {
    uint32_t length, distance;
};

/* How many matches are remembered. The match at a position is at index (position % REMEMBERED). A
 * power of two above LZSS_AHEAD_MAX. */
#define LZSS_REMEMBERED 32

LZ_STATIC_ASSERT(LZSS_REMEMBERED > LZSS_AHEAD_MAX, "all that is ahead");

/* The memory of a thread. Positions are counted from the start of the history, so that they fit in
 * 16 bits. */
struct lzss_state {
    uint16_t table[LZSS_BUCKETS_MAX]; /* the last position in each bucket */
    /* The distance from each position to the position before it in the same bucket; 0: none. */
    uint16_t links[LZ_WINDOW_SIZE + LZ_CHUNK_SIZE];
    struct lzss_match found[LZSS_REMEMBERED];
};

/* The entry of an empty bucket. It would be the last possible position, which no other position can
 * follow, so no link leads to it. */
#define LZSS_NOWHERE 0xffff

/* The walk through a chunk, and its searches. */
struct lzss_walk {
    struct lzss_state *state;
    const struct lzss_numbers *numbers;
    const uint8_t *base; /* position 0, the start of the history */
    uint32_t history;    /* bytes of history; the chunk starts at this position */
    uint32_t end;        /* position where the chunk ends */
    uint32_t pos;        /* where the walk is */
    /* Matches are remembered for all positions from the walk's own to known - 1. */
    uint32_t known;
    uint64_t probes, collisions;
};

/* Enters all positions before w->end. */
BOTH_INLINE void lzss_make_links(const struct lzss_walk *w)
{
    const struct lzss_numbers *const k = w->numbers;

    for (uint32_t i = 0; i < k->buckets; i++)
        w->state->table[i] = LZSS_NOWHERE;
    for (uint32_t pos = 0; pos < w->end; pos++) {
        uint16_t *const entry =
            &w->state->table[lzss_hash(plain_load32(w->base + pos), k->hash, k->buckets)];
        const uint32_t distance = pos - *entry;

        w->state->links[pos] = (uint16_t)(distance - 1 < k->window ? distance : 0);
        *entry = (uint16_t)pos;
    }
}

/* Finds the longest match at a position. */
BOTH_INLINE struct lzss_match lzss_search_at(struct lzss_walk *w, uint32_t pos)
{
    const struct lzss_numbers *const k = w->numbers;
    const uint32_t most = lzss_most(pos, w->history, w->end, k), lowest = lzss_lowest(pos, k);
    const uint8_t *const here = w->base + pos;
    const uint32_t want = plain_load32(here) << 8;
    struct lzss_match best = {0, 0};
    uint32_t there = pos;

    if (most < k->least)
        return best;
    for (uint32_t left = k->chain; left > 0 && best.length < most; left--) {
        const uint32_t link = w->state->links[there];
        uint32_t n;

        if (link == 0 || link > there - lowest)
            break;
        there -= link;
        w->probes++;
        if (plain_load32(w->base + there) << 8 != want) {
            w->collisions++;
            continue;
        }
        /* Skip a candidate that cannot give a longer match. */
        if (here[best.length] != w->base[there + best.length])
            continue;
        n = plain_match_length(here, w->base + there, LZ_MIN_MATCH, most);
        if (n > best.length && n >= k->least) {
            best.length = n;
            best.distance = pos - there;
        }
    }
    return best;
}

/* Returns the match at a position. If no match is remembered for the position, searches for it.
 * Call this function for positions in order, without leaving one out. */
BOTH_INLINE struct lzss_match lzss_match_at(struct lzss_walk *w, uint32_t pos)
{
    struct lzss_match *const found = &w->state->found[pos % LZSS_REMEMBERED];

    if (pos >= w->known) {
        *found = lzss_search_at(w, pos);
        w->known = pos + 1;
    }
    return *found;
}

/* If there is a match at `pos`, returns the best match at `pos` or a few positions ahead, and sets
 * *skipped to the number of bytes between `pos` and that match. */
BOTH_INLINE struct lzss_match lzss_choose(struct lzss_walk *w, uint32_t pos, uint32_t *skipped)
{
    const struct lzss_numbers *const n = w->numbers;
    struct lzss_match best = lzss_match_at(w, pos);
    uint32_t score;

    *skipped = 0;
    if (best.length == 0)
        return best;
    score = lzss_score(best.length, 0, n->choice);
    /* Stop where even a match of the greatest length would not be better than the best so far. */
    for (uint32_t k = 1;
         k <= n->ahead && pos + k < w->end && lzss_score(n->length, k, n->choice) > score; k++) {
        const struct lzss_match next = lzss_match_at(w, pos + k);

        if (next.length > 0 && lzss_score(next.length, k, n->choice) > score) {
            score = lzss_score(next.length, k, n->choice);
            best = next;
            *skipped = k;
        }
    }
    return best;
}

/* Prepares the walk through a chunk whose history starts at `base`. */
BOTH_INLINE void lzss_begin(struct lzss_walk *w, const uint8_t *base, uint32_t history,
                            uint32_t end)
{
    w->base = base;
    w->history = history;
    w->end = end;
    w->pos = w->known = history;
    lzss_make_links(w);
}

/* Goes on to the next match that the walk takes. Sets *at to its position, and sets w->pos to its
 * end. Returns the match; its length is 0 if there is none up to the chunk's end. */
BOTH_INLINE struct lzss_match lzss_next(struct lzss_walk *w, uint32_t *at)
{
    struct lzss_match match = {0, 0};

    while (w->pos < w->end) {
        uint32_t skipped;

        match = lzss_choose(w, w->pos, &skipped);
        if (match.length > 0) {
            *at = w->pos + skipped;
            w->pos = *at + match.length;
            break;
        }
        w->pos++;
    }
    return match;
}

#endif
