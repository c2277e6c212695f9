/*
 * chains.h - the hash chain match finder: what levels 2 to 9 mean
 *
 * The candidates for position p are the nearest earlier positions whose first four bytes have the
 * same hash, nearest first, `depth` of them at most (whether they match or not), none further back
 * than LZ_CHAINS_WINDOW.  The best is the longest, of equally long ones the nearest; the search
 * ends at one of `nice` bytes.  If none of these matches four bytes, the nearest earlier position
 * whose first three have the same hash will do, if it lies within `near3` bytes and matches three:
 * that is a match of three bytes, in chunks that lz_wants_length3 names.  A match ends with its
 * chunk, and at 258 bytes.  All this is a property of the segment's bytes, so that a CPU can follow
 * chains as it goes along, and a GPU can look at all positions at once.
 *
 * The parse walks a chunk from its start.  A match shorter than lz_least_length is passed over.
 * Greedily (`lazy` 0), any other is taken.  Else, unless it has `nice` bytes, the next position is
 * searched, with half the level's depth; if the match there is no shorter, and gains LZ_GAIN_NEXT
 * bits (lz_gain), it is considered in place of the one in hand, in the same way.  With `lazy` 2, if
 * it was not preferred, the position after that is searched, with a quarter of the depth, and has
 * to gain LZ_GAIN_AFTER_NEXT.  What is left in hand is taken, and the walk goes on at its end.
 *
 * Lazy matching and chains are from Deflate's own beginnings (P. Deutsch, RFC 1951, section 4);
 * that later searches look less deep, and that look-ahead weighs length against distance in bits,
 * are ideas of E. Biggers' libdeflate.
 */
#ifndef GZLZSS_LZSS_CHAINS_H
#define GZLZSS_LZSS_CHAINS_H

#include <stdbool.h>

#include "lzss/common.h"

/*
 * How far back a candidate may lie: one less than DEFLATE's window, so that signed 16 bits, counted
 * from the chunk's start, hold every position in reach of it and one value that means "none".
 */
#define LZ_CHAINS_WINDOW (LZ_WINDOW_SIZE - 1)

/* Sizes of the hash tables, in bits.  More bits put fewer strangers into a chain, whose candidates
 * use up depth; fewer let more chunks share a GPU's shared memory. */
#define LZ_CHAINS_HASH_BITS 15
#define LZ_CHAINS_HASH3_BITS 13

/* Hashes of the first four, and the first three, of four bytes read as a little-endian number. */
LZ_INLINE uint32_t lz_chains_hash(uint32_t four_bytes)
{
    return (four_bytes * 2654435761u) >> (32 - LZ_CHAINS_HASH_BITS);
}

LZ_INLINE uint32_t lz_chains_hash3(uint32_t four_bytes)
{
    return ((four_bytes << 8) * 2654435761u) >> (32 - LZ_CHAINS_HASH3_BITS);
}

/* A match that a search found; length 0 if it found none. */
struct lz_match {
    uint32_t length;
    uint32_t distance;
};

LZ_INLINE uint32_t lz_log2(uint32_t x)
{
#ifdef __CUDA_ARCH__
    return 31 - (uint32_t)__clz((int)x);
#else
    return 31 - (uint32_t)__builtin_clz(x);
#endif
}

/* What `next` gains over `match`, in bits, roughly: 4 for every byte it is longer, less what its
 * larger distance costs in extra bits. */
LZ_INLINE int32_t lz_gain(struct lz_match match, struct lz_match next)
{
    return 4 * ((int32_t)next.length - (int32_t)match.length) +
           ((int32_t)lz_log2(match.distance) - (int32_t)lz_log2(next.distance));
}

/* What the match one, and two, positions later has to gain to be preferred. */
#define LZ_GAIN_NEXT 3
#define LZ_GAIN_AFTER_NEXT 7

/*
 * What is worth taking depends on how many different bytes the chunk is written in, which its first
 * LZ_SAMPLE bytes tell: where few are in use, literals cost few bits.
 */
#define LZ_SAMPLE 4096

/* The shortest match worth taking: a match costs 18 bits or so.  A search of little depth finds
 * short matches where there are long ones, and must not be too proud. */
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
