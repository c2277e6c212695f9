/*
 * lzss.h - shared by both engines of the lzss method (lzss.c defines it)
 *
 * The last part is the method for one thread: the search by hash chains, and the walk. The CPU
 * engine runs it, and so does the GPU engine with threads=1. The other code on the GPU (lzss.cu)
 * finds the same matches. lz4 with enter=all uses all this, too, with other numbers.
 */
#ifndef GZLZSS_PAPERS_LZSS_H
#define GZLZSS_PAPERS_LZSS_H

#include <stdbool.h>

#include "lzss/common.h"
#include "papers/plain.h"

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

/* --- For one thread -------------------------------------------------------------------------- */

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

#ifdef __cplusplus
extern "C" {
#endif

struct lz_matcher;

/* A finder's `find`, for these numbers. The finder's state is a struct lzss_state. */
void lzss_find(struct lz_matcher *m, const struct lzss_numbers *numbers, const uint8_t *in,
               size_t len);

#ifdef __cplusplus
}
#endif

#endif
