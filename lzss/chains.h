/*
 * chains.h - the hash chain match finder, which defines levels 2 to 9
 *
 * The idea.  For each position there is a chain of the earlier positions whose first bytes have the
 * same hash, the nearest first.  A search follows the chain, compares bytes, and keeps the best
 * match.  The more positions it looks at (`depth`), the better the matches, and the longer it
 * takes.  Lazy matching then asks whether a match one or two positions later is worth more.
 *
 * The result depends only on the segment's bytes.  So a CPU can follow chains as it goes through a
 * chunk, while a GPU looks at all positions at once, and both find the same matches.
 *
 * Candidates.  The candidates for position p are the nearest earlier positions with the same hash,
 * none further back than LZ_CHAINS_WINDOW.  A search looks at `depth` of them, whether they match
 * or not.  A match ends with its chunk, and has at most 258 bytes.  The best match is the match
 * with the highest lz_score; if several have that score, it is the nearest of them.  A candidate
 * that matches `nice` bytes ends the search, whether it is the best or not.
 *
 * Searches.  A position has up to three searches; each runs only if the searches before it found
 * nothing:
 *
 *   - Only if the level has a `long_depth`: a search over `long_depth` candidates by the first
 *     LZ_LONG bytes, for a match of at least LZ_LONG bytes.
 *   - A search over `depth` candidates by the first four bytes, for a match of at least four
 *     bytes.  If the level has a long_depth, the match has at most LZ_LONG - 1 bytes, as the first
 *     search would have found a longer one.  So lazy matching leaves this search out if the current
 *     match has LZ_LONG bytes or more.
 *   - In chunks for which lz_wants_length3 is true: the nearest candidate by the first three bytes,
 *     if it lies within `max_distance3` bytes, for a match of three bytes.
 *
 * The parse.  It goes through a chunk from its start, and passes over matches shorter than
 * lz_least_length.
 *
 *   - With `lazy` 0, it takes each match that is long enough.
 *   - With `lazy` 1 or 2, it takes a match of `nice` bytes at once.  After finding a shorter match,
 *     it searches the next position with half of the level's depths.  If the match there is no
 *     shorter, and its lz_score is higher by LZ_GAIN_NEXT or more, that match replaces the current
 *     one, and is treated in the same way.
 *   - With `lazy` 2, if the next position's match did not replace the current one, it searches the
 *     position after that with a quarter of the depths.  That match has to gain LZ_GAIN_AFTER_NEXT.
 *
 * A level's depths are at least 2 with `lazy` 1, and at least 4 with `lazy` 2, so that each search
 * looks at a candidate.  (A long_depth of 0 means that there are no searches by a long prefix.)
 *
 * The current match is then taken, and the parse goes on at its end.  Adjacent matches at one
 * distance count as one match (lz_continues).  A match longer than 258 bytes is cut into several
 * (lz_pieces).
 *
 * Sources.  Chains and lazy matching are as old as Deflate (P. Deutsch, RFC 1951, section 4).  Two
 * ideas are those of E. Biggers' libdeflate: later searches look at fewer candidates, and
 * look-ahead weighs length against distance in bits.  Three things are this project's own.  Longer
 * prefixes have chains of their own, which are searched first, because they have fewer candidates,
 * and more of these lead to a long match.  After a long match, look-ahead searches only these
 * chains, because only a longer match counts.  And lz_score, which weighs length against distance,
 * decides within a search, too, not only between two searches.
 */
#ifndef GZLZSS_LZSS_CHAINS_H
#define GZLZSS_LZSS_CHAINS_H

#include "lzss/common.h"
#include "lzss/hashes.h"
#include "lzss/sample.h"

/* A match that a search found; its length is 0 if the search found none. */
struct lz_match {
    uint32_t length;
    uint32_t distance;
    int32_t score;
};

/* Roughly how many bits a match saves: 4 for each byte, less the extra bits of its distance.  Each
 * match scores more than LZ_SCORE_MIN. */
LZ_INLINE int32_t lz_score(uint32_t length, uint32_t distance)
{
    return 4 * (int32_t)length - (int32_t)both_log2(distance);
}

#define LZ_SCORE_MIN (-16)

/* A match in 32 bits: its length from bit 20 on, and its distance in the low 15 bits; 0 means no
 * match.  optimal.h uses bits 15 to 19. */
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

/* The match that lz_pack packed, with its score. */
LZ_INLINE struct lz_match lz_unpack(uint32_t match)
{
    struct lz_match m = {lz_packed_length(match), lz_packed_distance(match), LZ_SCORE_MIN};

    if (match != 0)
        m.score = lz_score(m.length, m.distance);
    return m;
}

/* Look-ahead prefers a later match only if its score is higher than the current match's by
 * LZ_GAIN_NEXT (one position later) or LZ_GAIN_AFTER_NEXT (two positions later).  This gain has to
 * pay for the literals before the later match.  With larger numbers, fewer matches are replaced. */
#define LZ_GAIN_NEXT 3
#define LZ_GAIN_AFTER_NEXT 7

/* Whether look-ahead prefers `next` to a match of `length` bytes.  `score` is that match's score
 * plus the gain that `next` needs. */
LZ_INLINE bool lz_prefers(struct lz_match next, uint32_t length, int32_t score)
{
    return next.length >= length && next.score >= score;
}

#endif
