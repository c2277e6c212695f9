/*
 * chains.h - the hash chain match finder: what levels 2 to 9 mean
 *
 * The candidates for position p are the nearest earlier positions whose first bytes have the same
 * hash, nearest first, none further back than LZ_CHAINS_WINDOW; as many of them are looked at as
 * the level's depth says, whether they match or not.  A match ends with its chunk, and at 258
 * bytes.  The best of several is the one of the highest lz_score, the nearest of several such; a
 * search ends with a candidate that matches `nice` bytes, the best or not.  Three searches, each if
 * those before it found nothing:
 *
 * - where the level has a `long_depth`, that many candidates by the first LZ_LONG bytes, for a
 *   match of at least as many;
 * - `depth` candidates by the first four bytes, for a match of at least four; where the level has a
 *   long_depth, of at most LZ_LONG - 1, as nothing longer is to be expected: so that who has a
 *   match longer than that can do without this search;
 * - in chunks that lz_wants_length3 names, the nearest candidate by the first three bytes, if it
 *   lies within `max_distance3` bytes, for a match of three.
 *
 * All this is a property of the segment's bytes, so that a CPU can follow chains as it goes along,
 * and a GPU can look at all positions at once.
 *
 * The parse walks a chunk from its start.  A match shorter than lz_least_length is passed over.
 * Greedily (`lazy` 0), any other is taken.  Else, unless it has `nice` bytes, the next position is
 * searched, with half the level's depths; if the match there is no shorter, and its lz_score higher
 * by LZ_GAIN_NEXT or more, it is considered in place of the one in hand, in the same way.  With
 * `lazy` 2, if it was not preferred, the position after that is searched, with a quarter of the
 * depths, and has to gain LZ_GAIN_AFTER_NEXT.  What is left in hand is taken, and the walk goes on
 * at its end.  Matches side by side at one distance are one match (and cut as lz_pieces says).
 *
 * Lazy matching and chains are from Deflate's own beginnings (P. Deutsch, RFC 1951, section 4);
 * that later searches look less deep, and that look-ahead weighs length against distance in bits,
 * are ideas of E. Biggers' libdeflate.  That longer prefixes have chains of their own is ours: the
 * candidates for a long match are few, and come first; and look-ahead from a long match, where only
 * a longer one is of use, has no others to look at.  So is weighing within a search, not only
 * between two.
 */
#ifndef GZLZSS_LZSS_CHAINS_H
#define GZLZSS_LZSS_CHAINS_H

#include "lzss/common.h"
#include "lzss/hashes.h"
#include "lzss/sample.h"

/* A match that a search found; length 0 if it found none. */
struct lz_match {
    uint32_t length;
    uint32_t distance;
    int32_t score;
};

/* What a match is worth, in bits, roughly: 4 for every byte, less what its distance costs in extra
 * bits.  LZ_SCORE_MIN is less than that of any match. */
LZ_INLINE int32_t lz_score(uint32_t length, uint32_t distance)
{
    return 4 * (int32_t)length - (int32_t)both_log2(distance);
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

/* Whether look-ahead prefers `next` to a match of this length and, with what it has to gain, this
 * score.
 */
LZ_INLINE bool lz_prefers(struct lz_match next, uint32_t length, int32_t score)
{
    return next.length >= length && next.score >= score;
}

#endif
