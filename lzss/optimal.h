/*
 * optimal.h - near-optimal parsing, which defines levels 10 to 12
 *
 * The idea.  Each position gets a list of its useful matches.  If the cost of each symbol in bits
 * were known, the best way to code a chunk would be a shortest path: positions are the nodes, and
 * literals and matches the edges.  But the costs follow from how often each symbol is used, and so
 * from the choice of matches.  Therefore a simple first parse gives the first costs.  Then the
 * shortest path for these costs is computed, then the costs from that path, and so on.  This takes
 * far longer than searching with look-ahead (chains.h), and finds the smallest output.  Chunks can
 * be done side by side: nothing depends on more than a group of chunks, and all sums are of
 * integers, so their order does not matter.
 *
 * Matches.  A position's list has matches of growing length and growing distance.  It is gathered
 * by following chains as in chains.h, the nearest candidate first, and noting each match that is
 * longer than all before it.  A list has at most LZ_MAX_MATCHES matches; if it is full, a new match
 * replaces the last one.  There are chains by prefixes of LZ_PREFIXES lengths (LZ_PREFIX), and one
 * step of gathering for each.  A level may leave out the two longest (lz_prefixes).
 *
 *   - The first step looks at LZ_OPTIMAL_DEPTH3 candidates by three bytes, for the nearest match of
 *     three; it counts as a match of three even if more bytes agree.
 *   - Each further step looks at lz_prefix_depth candidates, until a match has as many bytes as the
 *     next step's prefix.  The last step looks for a match of `nice` bytes.
 *
 * Steps whose prefix is longer than `nice`, or goes past the chunk's end, are left out.  If a
 * candidate has ended a step, the next step goes on from that candidate; otherwise it starts at the
 * position.  If a step reaches the end of its chain without such a match, no longer match exists,
 * and the list ends.  Positions within a match of `nice` bytes have an empty list: gathering goes
 * on after the match.
 *
 * The nearest match of a prefix's length or more is the first one in the chain by this prefix.  So
 * with chains by many prefixes, few candidates are enough, even where thousands of positions agree
 * in some bytes.
 *
 * First parse.  It goes through the chunk and takes the longest match of each position, but passes
 * over a match that is shorter than lz_least_length (for LZ_OPTIMAL_LEAST_DEPTH), or that has three
 * bytes and a distance above LZ_OPTIMAL_NEAR3.  If the next position's longest match is no shorter
 * and its lz_score is higher by LZ_GAIN_NEXT or more, that match replaces the current one, without
 * the two checks above.
 *
 * Sample.  The first parse's costs are far from those of a good parse, so a few passes with better
 * costs are as good as many passes.  If a group has LZ_SAMPLE_STEP chunks or more, and the first
 * chunk of its sample has LZ_SAMPLE_VALUES different bytes or more (sample.h), its sample is one of
 * each LZ_SAMPLE_STEP chunks.  The sample's units are one block, whose costs the whole group
 * gets; the sample gets a new parse from its shortest path, LZ_SAMPLE_PASSES times.  The costs of
 * the last of these parses are those of the group's first pass.
 *
 * In each parse, adjacent matches at one distance are one match (lz_continues), cut as lz_pieces
 * says.
 *
 * Costs.  A unit is LZ_UNIT_SIZE bytes.  The symbols of a parse are counted for each unit: its
 * literals, and the lengths and distances of the matches that start in it.  A match that is cut
 * counts as several matches.  Units are joined to blocks, from the group's start on: a unit joins
 * the block before it if both together are not estimated larger than the two apart.  A block's size
 * is estimated by the entropy of its counts, plus lz_header_cost for each symbol in use.  Its total
 * of literals and lengths includes one end-of-block symbol, which is not counted otherwise.  (A
 * group is LZ_OPTIMAL_GROUP chunks of a segment, or the rest of it.)  A symbol's cost in a unit is
 * its information content in the unit's block, in 1/16 bits, and at most 15 bits, DEFLATE's longest
 * code.  A symbol that does not occur costs as if it occurred half a time.  In the last pass, costs
 * are near whole bits (lz_symbol_cost).
 *
 * Shortest path.  For each position of the chunk, from the last to the first, the cheapest way to
 * the chunk's end starts with a literal, or with any length up to that of the longest match there.
 * A length gets the distance of the first match in the list that is at least as long.  Of equally
 * cheap ways, the one with the shortest first step is chosen.  The way from the chunk's start is
 * the next parse.  Costs and path are computed `passes` times.
 *
 * Sources.  The shortest path by bit costs, and its iteration, are ideas of zopfli (L. Vandevenne,
 * J. Alakuijala) and libdeflate (E. Biggers); costs by information content are zopfli's.
 */
#ifndef GZLZSS_LZSS_OPTIMAL_H
#define GZLZSS_LZSS_OPTIMAL_H

#include "base/deflate.h"
#include "lzss/chains.h"

/* The most matches of a list.  With more, the path has more to choose from.  Each match of the list
 * takes up to four bytes of memory for each byte of a group, on either engine. */
#define LZ_MAX_MATCHES 8

/* The most candidates that the first step of gathering looks at. */
#define LZ_OPTIMAL_DEPTH3 4

/* The depth that the first parse gives to lz_least_length.  Lists are as good as those of a search
 * with much depth, so short matches in data of few letters are not worth taking. */
#define LZ_OPTIMAL_LEAST_DEPTH 16

/*
 * The lengths of the prefixes by which there are chains.  Each takes the CPU 1 ns for each byte of
 * input, and some cache.  Prefixes of five and six bytes count in text and source code, the longest
 * ones in very repetitive data.
 */
#define LZ_PREFIXES 8

/* The length of prefix i, 0 to LZ_PREFIXES - 1; a constant expression if i is one. */
#define LZ_PREFIX(i) ((uint32_t)(0x40180c0806050403 >> 8 * (i)) & 255)

/* The most candidates that are compared at a position in a step by `bytes` bytes, 4 or more.  The
 * depths are a level's. */
LZ_INLINE uint32_t lz_prefix_depth(uint32_t bytes, uint32_t depth, uint32_t long_depth,
                                   uint32_t longest_depth)
{
    return bytes < 8 ? depth : bytes < 24 ? long_depth : longest_depth;
}

/* The number of prefixes that a level uses: without a longest_depth, it leaves out the two longest
 * ones. */
LZ_INLINE uint32_t lz_prefixes(uint32_t longest_depth)
{
    return longest_depth > 0 ? LZ_PREFIXES : LZ_PREFIXES - 2;
}

/* A sample has every LZ_SAMPLE_STEP-th chunk of a group, from chunk LZ_SAMPLE_FIRST on, and gets
 * LZ_SAMPLE_PASSES passes.  With a larger sample, the group's first pass has better costs, and the
 * passes over the sample take longer. */
#define LZ_SAMPLE_STEP 8
#define LZ_SAMPLE_FIRST (LZ_SAMPLE_STEP / 2)
#define LZ_SAMPLE_PASSES 3

/* Whether the chunk with this number in its group is in the sample. */
LZ_INLINE bool lz_in_sample(uint32_t chunk)
{
    return chunk % LZ_SAMPLE_STEP == LZ_SAMPLE_FIRST;
}

/* The number of different byte values (sample.h) below which a group has no sample.  In data of few
 * letters, as DNA, costs are far from codes of whole bits, and each pass takes fewer matches. */
#define LZ_SAMPLE_VALUES 16

/* The largest distance at which the first parse takes a match of three.  The first parse knows no
 * costs yet, and a match of three further away saves hardly anything. */
#define LZ_OPTIMAL_NEAR3 4096

/* Chunks of a group, whose matches the CPU keeps from pass to pass: 4 MiB of input, the default
 * segment.  With smaller groups, fewer blocks have neighbours to join; larger ones take more
 * memory. */
#define LZ_OPTIMAL_GROUP 128

/* Bytes of a unit.  With smaller units, costs follow the data more closely, but are estimated from
 * fewer symbols. */
#define LZ_UNIT_SIZE 4096

#define LZ_UNITS_A_CHUNK (LZ_CHUNK_SIZE / LZ_UNIT_SIZE)
#define LZ_UNITS_A_GROUP (LZ_OPTIMAL_GROUP * LZ_UNITS_A_CHUNK)

LZ_STATIC_ASSERT(LZ_CHUNK_SIZE % LZ_UNIT_SIZE == 0, "whole units in a chunk");
LZ_STATIC_ASSERT(LZ_UNIT_SIZE + LZ_CHUNK_SIZE / LZ_MAX_MATCH < 65536, "a unit's counts in 16 bits");

/* Packs a match of a list: as lz_pack does, and with the symbol of its distance in bits 15 to
 * 19. */
LZ_INLINE uint32_t lz_pack_match(uint32_t length, uint32_t distance)
{
    return lz_pack(length, distance) | deflate_distance_symbol(distance) << 15;
}

/* The symbol of the distance. */
LZ_INLINE uint32_t lz_packed_symbol(uint32_t match)
{
    return match >> 15 & 31;
}

LZ_STATIC_ASSERT(DEFLATE_DISTANCE_SYMBOLS <= 32, "symbols of five bits");

/*
 * Whether gathering goes on with the step by `bytes` bytes, because there can still be a match of
 * that many bytes or more.  *best is the longest match so far; `nice` is the level's, or the
 * longest match that there can be; `ended` says that the last step came to the end of its chain.
 * If the list has no match of `bytes` bytes yet, sets *best and *distance so that the next step
 * looks for one, and starts at the position.
 */
LZ_INLINE bool lz_goes_on(uint32_t *best, uint32_t *distance, bool ended, uint32_t bytes,
                          uint32_t nice)
{
    if (bytes > nice || *best >= nice)
        return false;
    if (*best >= bytes)
        return true;
    if (ended)
        return false;
    *best = bytes - 1;
    *distance = 0;
    return true;
}

/* Whether the first parse passes over a position whose longest match is `match`, which is 0 if the
 * position has none. */
LZ_INLINE bool lz_passes_over(uint32_t match, uint32_t least)
{
    return lz_packed_length(match) < least || (lz_packed_length(match) == LZ_MIN_MATCH &&
                                               lz_packed_distance(match) > LZ_OPTIMAL_NEAR3);
}

/* Whether the first parse prefers `next`, the next position's longest match, to the current match.
 * `next` is 0 if there is none. */
LZ_INLINE bool lz_prefers_packed(uint32_t next, uint32_t hand)
{
    return lz_packed_length(next) >= lz_packed_length(hand) &&
           lz_prefers(lz_unpack(next), lz_packed_length(hand),
                      lz_unpack(hand).score + LZ_GAIN_NEXT);
}

/* Counts that a unit or a block has: of literals and lengths, then of distances. */
#define LZ_SYMBOLS (DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS)

/* The logarithm of x (1 or more) to base 2, in 1/256, rounded down.  Squaring the mantissa gives
 * its fraction bit by bit. */
LZ_INLINE uint32_t lz_log2_256(uint32_t x)
{
    uint32_t log2 = both_log2(x), mantissa = x << (31 - log2); /* 2^31 is 1 */

    for (int i = 0; i < 8; i++) {
        const uint64_t square = ((uint64_t)mantissa * mantissa) >> 31;
        const uint32_t bit = (uint32_t)(square >> 32);

        log2 = log2 << 1 | bit;
        mantissa = (uint32_t)(square >> bit);
    }
    return log2;
}

/*
 * The bits that a symbol in use is estimated to add to a block's header, in 1/256 bits: 22 bits in
 * the first pass, later 5.5.  Higher numbers give fewer and larger blocks.
 *
 * The first parse knows no costs.  The costs of a small block would mostly repeat the first parse's
 * arbitrary choices in that block.  Costs that large parts of the input share lead to choices that
 * are good for all of these parts.  (With 5.5 bits from the first pass on, 40 MB of /usr/bin and 8
 * MB of a library's symbol tables become 0.6 % larger; text, source and XML change by at most 0.1
 * %.)
 */
LZ_INLINE uint32_t lz_header_cost(uint32_t pass)
{
    return pass == 1 ? 22 * 256 : 11 * 128;
}

/* Returns what a symbol that occurs `count` times, 1 or more, adds to a block's size, in 1/256
 * bits.  log2_count is lz_log2_256 of `count`, log2_total that of the sum of its alphabet's counts,
 * and header_cost is from lz_header_cost. */
LZ_INLINE uint64_t lz_used_symbol_size(uint32_t count, uint32_t log2_count, uint32_t log2_total,
                                       uint32_t header_cost)
{
    return (uint64_t)count * (log2_total - log2_count) + header_cost;
}

/* The same for any count. */
LZ_INLINE uint64_t lz_symbol_size(uint32_t count, uint32_t log2_total, uint32_t header_cost)
{
    return count == 0 ? 0 : lz_used_symbol_size(count, lz_log2_256(count), log2_total, header_cost);
}

/* lz_log2_litlens: lz_log2_256 of a block's number of literals and lengths, plus one for the
 * end-of-block symbol.  lz_log2_distances: lz_log2_256 of its number of distances, or 0 if there
 * are none. */
LZ_INLINE uint32_t lz_log2_litlens(uint32_t count)
{
    return lz_log2_256(count + 1);
}

LZ_INLINE uint32_t lz_log2_distances(uint32_t count)
{
    return count == 0 ? 0 : lz_log2_256(count);
}

/* Whether a unit joins the block before it, given the estimated sizes of the block, of the unit,
 * and of both as one block. */
LZ_INLINE bool lz_joins_block(uint64_t block, uint64_t unit, uint64_t both)
{
    return both <= block + unit;
}

/*
 * The cost of coding a symbol once, without its extra bits, in 1/16 bits.
 *
 * Codes have whole bits.  So in the last pass, `last`, the cost is three quarters of the way to the
 * nearest whole number of bits, 1 or more.  That makes output 0.03 % smaller.  In earlier passes,
 * it would keep rare symbols rare.
 */
LZ_INLINE uint32_t lz_symbol_cost(uint32_t count, uint32_t log2_total, bool last)
{
    uint32_t cost = (count == 0 ? log2_total + 256 : log2_total - lz_log2_256(count)) / 16;
    const uint32_t whole = cost < 24 ? 16 : (cost + 8) / 16 * 16;

    if (last)
        cost = (cost + 3 * whole + 2) / 4;
    return cost < 16 * DEFLATE_MAX_CODE ? cost : 16 * DEFLATE_MAX_CODE;
}

/*
 * The sums of the shortest path.  A sum is the cost of a way to the chunk's end, in 1/16 bits,
 * shifted left by LZ_STEP_BITS, and the length of its first step in the low bits.  So the least of
 * several sums is the cheapest, and among equally cheap ones the one with the shortest step.  Sums
 * fit in 32 bits: the way to the end costs no more than literals at 15 bits each, and one more step
 * at most 48 bits, for two codes of 15 bits and 18 extra bits.
 */
#define LZ_STEP_BITS 9
#define LZ_STEP_LENGTH ((1u << LZ_STEP_BITS) - 1)

LZ_STATIC_ASSERT(LZ_MAX_MATCH <= LZ_STEP_LENGTH, "lengths in the low bits");
LZ_STATIC_ASSERT(16 * (LZ_CHUNK_SIZE * DEFLATE_MAX_CODE + 48) < 1 << (32 - LZ_STEP_BITS),
                 "costs above them");

/* These functions return what a literal, a length and a distance add to a sum.  `count` is the
 * symbol's count in the block; log2_total and `last` are as in lz_symbol_cost. */
LZ_INLINE uint32_t lz_literal_step(uint32_t count, uint32_t log2_total, bool last)
{
    return lz_symbol_cost(count, log2_total, last) << LZ_STEP_BITS | 1;
}

LZ_INLINE uint32_t lz_length_step(uint32_t length, uint32_t count, uint32_t log2_total, bool last)
{
    uint32_t extra = deflate_length_extra_bits(deflate_length_symbol(length));

    return (lz_symbol_cost(count, log2_total, last) + 16 * extra) << LZ_STEP_BITS | length;
}

LZ_INLINE uint32_t lz_distance_step(uint32_t symbol, uint32_t count, uint32_t log2_total, bool last)
{
    return (lz_symbol_cost(count, log2_total, last) + 16 * deflate_distance_extra_bits(symbol))
           << LZ_STEP_BITS;
}

#endif
