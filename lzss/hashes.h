/*
 * hashes.h - the hash tables by which match finders find earlier positions: sizes and functions
 */
#ifndef GZLZSS_LZSS_HASHES_H
#define GZLZSS_LZSS_HASHES_H

#include "lzss/common.h"

/* --- The tagging finder's (tagging.h) --- */

/*
 * Size of the hash table, in bits.  The paper's table has 2^12 entries.  More entries find more
 * matches, but on the GPU each chunk has a table of its own in shared memory, two bytes an entry,
 * so that each bit more halves the chunks an SM can work on at a time.  The CPU, whose entries have four
 * bytes, hardly notices as long as the table fits in its second-level cache.  14 is the least that stays below gzip -1
 * on all three inputs.
 *
 *     bits       size, MB, of the first       GB/s, on the first 200 MB of linux.tar:
 *            100 MB of    100 MB of   60 MB       GPU stage      CPU, matching
 *            linux.tar    lib.tar    doc.tar    (H200, 32 MiB x 4)   (one core)
 *      12      23.727       38.895    12.314         33.2              0.53
 *      13      23.200       38.256    12.177         27.5              0.53
 *      14      22.912       37.878    12.084         16.5              0.54
 *      15      22.780       37.660    12.026          9.7              0.53
 *      16      22.712       37.546    12.009           -               0.54
 *   gzip -1    23.975       38.181    12.359
 *
 * linux.tar is linux-source-6.1's, lib.tar Debian 12's /usr/lib/x86_64-linux-gnu, doc.tar its
 * /usr/include, /usr/share/perl and /usr/share/doc; 16 bits were not tried on a GPU.
 * The CPU's figures are older than its vectors; with them, matching has twice the speed, at 14 bits.
 * `make bench/gpu_stage` builds what measured the GPU, when looking up and walking were one kernel;
 * as two, they do 25 with 14 bits (16 MiB x 8).
 */
#define LZ_TAGGING_HASH_BITS 14

/* Fibonacci hashing of four input bytes read as a little-endian number. */
#define LZ_TAGGING_FACTOR 2654435761u

LZ_INLINE uint32_t lz_tagging_hash(uint32_t four_bytes)
{
    return (four_bytes * LZ_TAGGING_FACTOR) >> (32 - LZ_TAGGING_HASH_BITS);
}

/* --- Hash chains (chains.h, optimal.h) --- */

/*
 * How far back a candidate may lie: one less than DEFLATE's window, so that signed 16 bits, counted
 * from the chunk's start, hold every position in reach of it and one value that means "none".
 */
#define LZ_CHAINS_WINDOW (LZ_WINDOW_SIZE - 1)

/*
 * Bits of the hashes.  With more bits, fewer strangers share a chain; strangers take time and use up depth.
 * With fewer, tables stay in a core's nearest caches.  By four and seven bytes, 15 bits give as many entries as a
 * window has positions: levels 2 to 6 take 3 % longer with them, on machine code up to 9 %, and levels 7 to 9
 * take 9 % longer.  17 bits take 2 to 3 % longer than 16.  For three bytes, where only near candidates count, and
 * for twelve, where few are looked at, 15 are enough.  (A GPU's tables have 15 bits in any case: gpu/links.cuh.)
 */
#define LZ_CHAINS_HASH_BITS 16
#define LZ_CHAINS_HASH_BITS_FEW 15

/*
 * Bytes of the prefixes that have chains, beside those of three and four.  Longer ones have fewer
 * candidates, of which more lead to long matches; but a match shorter than the prefix is never met
 * among them.  The CPU compares a prefix of up to eight bytes at a load, and lz_hash7 and lz_hash12
 * are made for these two.
 */
#define LZ_LONG 7
#define LZ_LONGEST 12

/* Hashes of the first 3, 4, 7 and 12 bytes of four-byte little-endian words. */
LZ_INLINE uint32_t lz_hash3(uint32_t a)
{
    return ((a << 8) * 2654435761u) >> (32 - LZ_CHAINS_HASH_BITS_FEW);
}

LZ_INLINE uint32_t lz_hash4(uint32_t a)
{
    return (a * 2654435761u) >> (32 - LZ_CHAINS_HASH_BITS);
}

LZ_INLINE uint32_t lz_hash7(uint32_t a, uint32_t b)
{
    return (a * 2654435761u + (b << 8) * 2246822519u) >> (32 - LZ_CHAINS_HASH_BITS);
}

LZ_INLINE uint32_t lz_hash12(uint32_t a, uint32_t b, uint32_t c)
{
    return (a * 2654435761u + b * 2246822519u + c * 3266489917u) >> (32 - LZ_CHAINS_HASH_BITS_FEW);
}

#endif
