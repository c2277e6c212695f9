/*
 * chains.h - the hash chain match finder: what levels 2 to 9 mean
 *
 * The candidates for position p are the earlier positions whose first bytes have the same hash.  A
 * search looks at them from the nearest on, and no further back than LZ_CHAINS_WINDOW.  It looks at
 * as many as the level's depth says, whether they match or not.  A match ends where its chunk ends,
 * and at 258 bytes.  The best match has the highest lz_score; of equal scores, the nearest is best.
 * A search ends after a candidate that matches `nice` bytes, even if another is best.  There are
 * three searches.  Each runs only if those before it found nothing:
 *
 * - by the first LZ_LONG bytes, over `long_depth` candidates, for a match of LZ_LONG bytes or more;
 *   not at levels whose long_depth is 0;
 * - by the first four bytes, over `depth` candidates, for a match of four bytes or more.  At levels
 *   that have a long_depth, it counts LZ_LONG - 1 bytes at most: after the first search, a longer
 *   match is not to be expected.  So look-ahead from a longer match need not search by four bytes;
 * - by the first three bytes, in chunks that lz_wants_length3 names: one candidate, the nearest, if
 *   it lies within `near3` bytes, for a match of three.
 *
 * What a search finds depends on the segment's bytes alone.  So the CPU can search where its parse
 * gets to, and the GPU can search at all positions at once.
 *
 * The parse walks a chunk from its start, and passes over matches shorter than lz_least_length.
 * With `lazy` 0, it takes any other match.  With `lazy` 1 and 2, it looks ahead first, unless the
 * match in hand has `nice` bytes: it searches at the next position, with half the level's depths.
 * If lz_prefers that match by LZ_GAIN_NEXT, it becomes the match in hand, and look-ahead starts
 * again from there.  If not, and `lazy` is 2, the parse searches at the position after that, with a
 * quarter of the depths, for a match that gains LZ_GAIN_AFTER_NEXT.  Then it takes the match in
 * hand, and goes on at its end.  Matches side by side at one distance become one match, which
 * lz_pieces cuts.
 *
 * Chains and lazy matching are as old as Deflate (P. Deutsch, RFC 1951, section 4).  libdeflate (E.
 * Biggers) has less depth for later searches, and look-ahead that weighs length against distance in
 * bits.  Two things are ours.  Longer prefixes have chains of their own: the candidates for a long
 * match are few and come first, and look-ahead from a long match looks at no others.  And scores
 * decide within a search, not only between two.
 */
#ifndef GZLZSS_LZSS_CHAINS_H
#define GZLZSS_LZSS_CHAINS_H

#include <stdbool.h>

#include "lzss/common.h"

/*
 * How far back a candidate may lie: one byte less than DEFLATE's window.  So 16 bits with a sign,
 * counted from the chunk's start, hold every position in its reach, and one value that means
 * "none".
 */
#define LZ_CHAINS_WINDOW (LZ_WINDOW_SIZE - 1)

/* Size of the hash tables, in bits.  With more bits, a chain has fewer candidates that do not match
 * and only use up depth.  With fewer, more chunks share a GPU's shared memory. */
#define LZ_CHAINS_HASH_BITS 15

/*
 * Lengths of the prefixes that have chains, beside those of three and four bytes.  A longer prefix
 * has fewer candidates, and more of them lead to long matches; but it never leads to a match
 * shorter than itself.  The CPU compares a prefix of up to eight bytes with one load.  lz_hash7 and
 * lz_hash12 are made for these two lengths.
 */
#define LZ_LONG 7
#define LZ_LONGEST 12

/* Hashes of the first 3, 4, 7 and 12 bytes of four-byte little-endian words. */
LZ_INLINE uint32_t lz_hash4(uint32_t a)
{
    return (a * 2654435761u) >> (32 - LZ_CHAINS_HASH_BITS);
}

LZ_INLINE uint32_t lz_hash3(uint32_t a)
{
    return lz_hash4(a << 8);
}

LZ_INLINE uint32_t lz_hash7(uint32_t a, uint32_t b)
{
    return (a * 2654435761u + (b << 8) * 2246822519u) >> (32 - LZ_CHAINS_HASH_BITS);
}

LZ_INLINE uint32_t lz_hash12(uint32_t a, uint32_t b, uint32_t c)
{
    return (a * 2654435761u + b * 2246822519u + c * 3266489917u) >> (32 - LZ_CHAINS_HASH_BITS);
}

/* A match that a search found; length 0 if it found none. */
struct lz_match {
    uint32_t length;
    uint32_t distance;
    int32_t score;
};

/* About how many bits a match saves: 4 for every byte, less the extra bits of its distance.
 * LZ_SCORE_MIN is below the score of any match. */
LZ_INLINE int32_t lz_score(uint32_t length, uint32_t distance)
{
    return 4 * (int32_t)length - (int32_t)lz_log2(distance);
}

#define LZ_SCORE_MIN (-16)

/* A match in 32 bits, 0 for none: the length from bit 20 on, the distance in the low 15 bits.  The
 * bits between are optimal.h's. */
LZ_INLINE uint32_t lz_pack(uint32_t length, uint32_t distance)
{
    return length << 20 | distance;
}

LZ_INLINE uint32_t lz_packed_length(uint32_t match)
{
    return match >> 20;
}

LZ_INLINE uint32_t lz_packed_distance(uint32_t match)
{
    return match & 0x7fff;
}

LZ_STATIC_ASSERT(LZ_CHAINS_WINDOW <= 0x7fff, "distances of 15 bits");

/* A match unpacked, with its score. */
LZ_INLINE struct lz_match lz_unpack(uint32_t match)
{
    struct lz_match m = {lz_packed_length(match), lz_packed_distance(match), LZ_SCORE_MIN};

    if (match != 0)
        m.score = lz_score(m.length, m.distance);
    return m;
}

/* Look-ahead prefers a match one or two positions later if its score is higher by at least this: it
 * has to pay for the literals before it. */
#define LZ_GAIN_NEXT 3
#define LZ_GAIN_AFTER_NEXT 7

/* Whether look-ahead prefers `next` to the match in hand, which has this length; `score` is its
 * score and the gain asked for. */
LZ_INLINE bool lz_prefers(struct lz_match next, uint32_t length, int32_t score)
{
    return next.length >= length && next.score >= score;
}

/* Which matches are worth taking depends on how many different bytes a chunk uses: if they are few,
 * literals cost few bits.  The chunk's first LZ_SAMPLE bytes tell. */
#define LZ_SAMPLE 4096

LZ_STATIC_ASSERT(LZ_SAMPLE <= LZ_CHUNK_SIZE, "a sample is of one chunk");

/* The length of the shortest match worth taking: a match costs about 18 bits.  A search of little
 * depth often finds a short match where there is a long one, so it must accept shorter ones. */
LZ_INLINE uint32_t lz_least_length(uint32_t distinct, uint32_t depth)
{
    uint32_t least = distinct < 6    ? 9
                     : distinct < 8  ? 7
                     : distinct < 16 ? 6
                     : distinct < 40 ? 5
                     : distinct < 80 ? 4
                                     : 3;
    uint32_t most = depth < 5 ? 4 : depth < 10 ? 5 : 9;

    return least < most ? least : most;
}

/* Whether to look for matches of three bytes. */
LZ_INLINE bool lz_wants_length3(uint32_t distinct, uint32_t near3)
{
    return near3 > 0 && distinct >= 80;
}

#endif
