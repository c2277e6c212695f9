/*
 * optimal.h - near-optimal parsing: what the levels of this finder mean
 *
 * Matches.  Every position has a list of matches, longer and longer, further and further away.  It
 * is gathered by following chains as in chains.h, nearest candidate first, and noting every match
 * longer than those before (LZ_MAX_MATCHES at most; then the last gives way):
 *
 * - LZ_OPTIMAL_DEPTH3 candidates by three bytes, for the nearest match of three (and no more than
 *   three are counted);
 * - `depth` candidates by four bytes, until a match has LZ_LONG;
 * - `long_depth` by LZ_LONG bytes, until one has LZ_LONGEST; these go on from the candidate that
 *   ended the step before, if one did, else they start from the position;
 * - `longest_depth` by LZ_LONGEST bytes, in the same way, until one has `nice`.
 *
 * Where a step comes to the end of its chain, there can be no longer match, and the list ends.
 * Positions within a match of `nice` bytes have no list: in a walk through the chunk, a position
 * with such a match is followed by the one after the match.
 *
 * First parse.  A walk takes the longest match at each position, unless it is shorter than
 * lz_least_length, or has three bytes and a distance above LZ_OPTIMAL_NEAR3, or the next position's
 * is no shorter and its lz_score higher by LZ_GAIN_NEXT or more: then that one is considered in its
 * place, whatever else it is.
 *
 * Of both parses, matches side by side at one distance are one match, cut as lz_pieces says.
 *
 * Costs.  From a parse, each unit of LZ_UNIT_SIZE bytes counts its literals, and the lengths and
 * distances of the matches that start in it, with all their pieces.  A block has one end-of-block
 * symbol, which its total of literals and lengths includes, and no more is made of.  Units are
 * joined to blocks, from the group's start:
 * a unit joins the block before it if the sum of their sizes, as if separate, is no less than the
 * size together.  A block's size is estimated by the entropy of its counts, with lz_header_cost for
 * every symbol in use.  (A group is LZ_OPTIMAL_GROUP chunks of a segment, or those left.)  What a
 * symbol costs in a unit is then its information content in the unit's block, in 1/16 bits, and at
 * most 15 bits, DEFLATE's longest code; one that does not occur counts as half a time.
 *
 * Shortest path.  For every position of the chunk, from the last to the first, the cheapest way to
 * the chunk's end is to code a literal or any length that a match there has, each at the distance
 * of the first in the list to have it; of equally cheap ones, the shortest step.  The way from
 * the chunk's start is the next parse.  Costs and path take turns, `passes` times.
 *
 * The shortest path by bit costs, and its iteration, are from zopfli (L. Vandevenne, J. Alakuijala)
 * and libdeflate (E. Biggers); costs by information content from zopfli.  Nothing in it depends on
 * more than a group, and all sums are of integers: chunks can be done side by side.
 */
#ifndef GZLZSS_LZSS_OPTIMAL_H
#define GZLZSS_LZSS_OPTIMAL_H

#include "base/deflate.h"
#include "lzss/chains.h"

/* Matches a list has at most.  Each takes up to four bytes of memory for every byte of input in
 * hand, on either engine. */
#define LZ_MAX_MATCHES 8

/* Candidates by three bytes, and how far away the first parse, which has no costs yet, takes a
 * match of three: further away it hardly saves anything. */
#define LZ_OPTIMAL_DEPTH3 4
#define LZ_OPTIMAL_NEAR3 4096

/* Chunks in a group, whose matches the CPU keeps from pass to pass: 4 MiB of input, the default
 * segment.  In smaller groups, fewer blocks have neighbours to join; larger ones take more memory.
 */
#define LZ_OPTIMAL_GROUP 128

/* Bytes in a unit.  In smaller ones costs follow the data more closely, but are guessed from fewer
 * symbols. */
#define LZ_UNIT_SIZE 4096

#define LZ_UNITS_A_CHUNK (LZ_CHUNK_SIZE / LZ_UNIT_SIZE)
#define LZ_UNITS_A_GROUP (LZ_OPTIMAL_GROUP * LZ_UNITS_A_CHUNK)

LZ_STATIC_ASSERT(LZ_CHUNK_SIZE % LZ_UNIT_SIZE == 0, "whole units in a chunk");
LZ_STATIC_ASSERT(LZ_UNIT_SIZE + LZ_CHUNK_SIZE / LZ_MAX_MATCH < 65536, "a unit's counts in 16 bits");

/* A match of a list: lz_pack's, with the symbol of its distance in the five bits left. */
LZ_INLINE uint32_t lz_pack_match(uint32_t length, uint32_t distance)
{
    return lz_pack(length, distance) | deflate_distance_symbol(distance) << 15;
}

LZ_INLINE uint32_t lz_packed_symbol(uint32_t match)
{
    return match >> 15 & 31;
}

LZ_STATIC_ASSERT(DEFLATE_DISTANCE_SYMBOLS <= 32, "symbols of five bits");

/*
 * After a step of gathering: whether there can still be a match of `bytes` bytes or more, so that
 * the next step, by so many bytes, follows.  *best is the longest so far, max the longest there can
 * be, and `ended` says that the step came to the end of its chain.  If there was no such match yet,
 * the next step looks for one, and starts from the position.
 */
LZ_INLINE bool lz_goes_on(uint32_t *best, uint32_t *distance, bool ended, uint32_t bytes,
                          uint32_t max)
{
    if (*best >= bytes)
        return true;
    if (ended || max < bytes)
        return false;
    *best = bytes - 1;
    *distance = 0;
    return true;
}

/* Whether the first parse passes over a position's longest match, or the lack of one (0). */
LZ_INLINE bool lz_passes_over(uint32_t match, uint32_t least)
{
    return lz_packed_length(match) < least || (lz_packed_length(match) == LZ_MIN_MATCH &&
                                               lz_packed_distance(match) > LZ_OPTIMAL_NEAR3);
}

/* Whether the first parse prefers the next position's longest match, if there is one, to the one in
 * hand. */
LZ_INLINE bool lz_prefers_packed(uint32_t next, uint32_t hand)
{
    return lz_packed_length(next) >= lz_packed_length(hand) &&
           lz_prefers(lz_unpack(next), lz_packed_length(hand),
                      lz_unpack(hand).score + LZ_GAIN_NEXT);
}

/* How often the symbols of a unit or block occur: literals and lengths, then distances. */
#define LZ_SYMBOLS (DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS)

/* The logarithm of x (1 or more) to base 2, in 1/256, rounded down: its fraction bit by bit, by
 * squaring. */
LZ_INLINE uint32_t lz_log2_256(uint32_t x)
{
    uint32_t log2 = both_log2(x);
    uint64_t mantissa = (uint64_t)x << (31 - log2); /* 2^31 is 1 */

    for (int i = 0; i < 8; i++) {
        mantissa = (mantissa * mantissa) >> 31;
        log2 = log2 << 1 | (uint32_t)(mantissa >> 32);
        mantissa >>= mantissa >> 32;
    }
    return log2;
}

/*
 * What a symbol in use adds to a block's header in pass 1, 2 and so on, in 1/256 bits: 22 bits,
 * later 5.5.  More makes for fewer, larger blocks.  The first parse knows no costs, and each
 * block's own costs would keep it at what that parse happened to choose there; costs that large
 * parts of the input share bring them to what is best for all.  (With 5.5 bits from the start, 40
 * MB of /usr/bin and 8 MB of a library's tables of symbols become 0.6 % larger; texts, source and
 * XML change by 0.1 % at most.)
 */
LZ_INLINE uint32_t lz_header_cost(uint32_t pass)
{
    return pass == 1 ? 22 * 256 : 11 * 128;
}

/* What a symbol that occurs `count` times adds to a block's size, in 1/256 bits; log2_total is
 * lz_log2_256 of all counts of its alphabet together, header_cost from lz_header_cost. */
LZ_INLINE uint64_t lz_symbol_size(uint32_t count, uint32_t log2_total, uint32_t header_cost)
{
    return count == 0 ? 0 : (uint64_t)count * (log2_total - lz_log2_256(count)) + header_cost;
}

/* lz_log2_256 of all literals and lengths of a block together, and of all distances.  A block has
 * one end-of-block symbol beside the former, and may have none of the latter. */
LZ_INLINE uint32_t lz_log2_litlens(uint32_t count)
{
    return lz_log2_256(count + 1);
}

LZ_INLINE uint32_t lz_log2_distances(uint32_t count)
{
    return count == 0 ? 0 : lz_log2_256(count);
}

/* Whether a unit joins the block before it, from the sizes of the block, the unit, and both as one.
 */
LZ_INLINE bool lz_joins_block(uint64_t block, uint64_t unit, uint64_t both)
{
    return both <= block + unit;
}

/* What coding it once costs, in 1/16 bits, extra bits not counted. */
LZ_INLINE uint32_t lz_symbol_cost(uint32_t count, uint32_t log2_total)
{
    uint32_t cost = (count == 0 ? log2_total + 256 : log2_total - lz_log2_256(count)) / 16;

    return cost < 16 * DEFLATE_MAX_CODE ? cost : 16 * DEFLATE_MAX_CODE;
}

/*
 * Costs as the shortest path adds them up: in 1/16 bits, shifted left by LZ_STEP_BITS, and the
 * step's length in the low bits, so that the least of several numbers is the cheapest and of these
 * the shortest step.  They fit: the way to the end costs no more than literals at 15 bits each, and
 * a step from there at most 48 bits, two codes of 15 and 18 extra bits.
 */
#define LZ_STEP_BITS 9
#define LZ_STEP_LENGTH ((1u << LZ_STEP_BITS) - 1)

LZ_STATIC_ASSERT(LZ_MAX_MATCH <= LZ_STEP_LENGTH, "lengths in the low bits");
LZ_STATIC_ASSERT(16 * (LZ_CHUNK_SIZE * DEFLATE_MAX_CODE + 48) < 1 << (32 - LZ_STEP_BITS),
                 "costs above them");

LZ_INLINE uint32_t lz_literal_step(uint32_t count, uint32_t log2_total)
{
    return lz_symbol_cost(count, log2_total) << LZ_STEP_BITS | 1;
}

LZ_INLINE uint32_t lz_length_step(uint32_t length, uint32_t count, uint32_t log2_total)
{
    uint32_t extra = deflate_length_extra_bits(deflate_length_symbol(length));

    return (lz_symbol_cost(count, log2_total) + 16 * extra) << LZ_STEP_BITS | length;
}

LZ_INLINE uint32_t lz_distance_step(uint32_t symbol, uint32_t count, uint32_t log2_total)
{
    return (lz_symbol_cost(count, log2_total) + 16 * deflate_distance_extra_bits(symbol))
           << LZ_STEP_BITS;
}

#endif
