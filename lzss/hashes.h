/*
 * hashes.h - sizes and functions of the hash tables with which match finders find earlier positions
 */
#ifndef GZLZSS_LZSS_HASHES_H
#define GZLZSS_LZSS_HASHES_H

#include "lzss/common.h"

/* --- The tagging finder's (tagging.h) --- */

/*
 * Size of the hash table, in bits; the paper's table has 12.  More entries find more matches.  But
 * on a GPU, each chunk has a table of its own in shared memory, with two bytes for each entry.  So
 * each further bit halves the number of chunks that a multiprocessor of the GPU can work on at a
 * time.  The CPU's entries have four bytes, and its speed hardly changes as long as the table fits
 * in the second-level cache.  With 14 bits or more, the output is smaller than that of gzip -1 on
 * all three inputs:
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
 * linux.tar is linux-source-6.1's, lib.tar Debian 12's /usr/lib/x86_64-linux-gnu, and doc.tar its
 * /usr/include, /usr/share/perl and /usr/share/doc.  16 bits were not tried on a GPU.  `make
 * bench/gpu_stage` builds the program that measured the GPU.
 *
 * Both engines were changed after these measurements.  The CPU's vectors doubled its speed at 14
 * bits, where 13 bits are only 1.2 % faster.  On the GPU, looking up and walking became two
 * kernels.  With batches of 16 MiB, 8 at a time, they reach 25 GB/s at 14 bits.  Text is smaller
 * since five bytes are hashed (lz_tagging_least).
 */
#define LZ_TAGGING_HASH_BITS 14

/* The factor of Fibonacci hashing: 2^32 divided by the golden ratio. */
#define LZ_TAGGING_FACTOR 2654435761u

/* The number of bits by which the fifth byte is moved up before it is combined with the first four.
 * Since it is no multiple of 8, the bits in which letters and digits mostly differ do not meet
 * those of another byte. */
#define LZ_TAGGING_LATER_SHIFT 11

/* Combines four input bytes, read as a little-endian number, and the byte after them, `later`, into
 * one number.  `later` is 0 if only four bytes are hashed (lz_tagging_least).  Different bytes
 * mostly give different products. */
LZ_INLINE uint32_t lz_tagging_product(uint32_t four, uint32_t later)
{
    return (four ^ later << LZ_TAGGING_LATER_SHIFT) * LZ_TAGGING_FACTOR;
}

/* The hash of the bytes with that product. */
LZ_INLINE uint32_t lz_tagging_hash(uint32_t product)
{
    return product >> (32 - LZ_TAGGING_HASH_BITS);
}

/* --- Hash chains (chains.h, optimal.h) --- */

/*
 * How far back a candidate may lie, in bytes: one less than DEFLATE's window.  With this limit, a
 * signed number of 16 bits can hold any position that a candidate may have, counted from the
 * chunk's start, and one value is left to mean "none".
 */
#define LZ_CHAINS_WINDOW (LZ_WINDOW_SIZE - 1)

/*
 * Bits of the hashes.  With fewer bits, more positions with different bytes share a chain.  Such
 * positions take a search's time, and use up its depth.  With more bits, the tables no longer fit
 * in a core's nearest caches.
 *
 * For prefixes of four to eight bytes, 16 bits are best: with 15 bits, levels 2 to 6 take 3 %
 * longer (up to 9 % on machine code), and levels 7 to 9 take 9 % longer; with 17 bits, all take 2
 * to 3 % longer.  For prefixes of three and of twelve or more bytes, 15 bits are enough, because
 * with three bytes only near candidates count, and long prefixes have few candidates.  (A
 * GPU's tables always have 15 bits: gpu/cuda/match/links.cuh.)
 */
#define LZ_CHAINS_HASH_BITS 16
#define LZ_CHAINS_HASH_BITS_FEW 15

/*
 * Chains by a long prefix, for chains.h.  Beside chains by the first three and four bytes, there
 * are chains by the first LZ_LONG bytes.  A longer prefix has fewer candidates, and more of them
 * lead to a long match; but its chains cannot find a match that is shorter than the prefix.  The
 * CPU compares up to eight bytes of a prefix with one load.  lz_hash7 is made for this length.
 */
#define LZ_LONG 7

/* The odd factors of Fibonacci hashing, for the first, second and third word of four bytes; and for
 * the first, second and third word of eight.  The first of each is 2^32 or 2^64 divided by the
 * golden ratio. */
#define LZ_FACTOR_A 2654435761u
#define LZ_FACTOR_B 2246822519u
#define LZ_FACTOR_C 3266489917u
#define LZ_FACTOR_LONG_A 0x9e3779b97f4a7c15u
#define LZ_FACTOR_LONG_B 0xc2b2ae3d27d4eb4fu
#define LZ_FACTOR_LONG_C 0x165667b19e3779f9u

/* Hashes of the first 3 to 8 or 12 bytes of the input.  The input is read as little-endian words of
 * four bytes: a, then b, then c. */
LZ_INLINE uint32_t lz_hash3(uint32_t a)
{
    return ((a << 8) * LZ_FACTOR_A) >> (32 - LZ_CHAINS_HASH_BITS_FEW);
}

LZ_INLINE uint32_t lz_hash4(uint32_t a)
{
    return (a * LZ_FACTOR_A) >> (32 - LZ_CHAINS_HASH_BITS);
}

LZ_INLINE uint32_t lz_hash8(uint32_t a, uint32_t b)
{
    return (a * LZ_FACTOR_A + b * LZ_FACTOR_B) >> (32 - LZ_CHAINS_HASH_BITS);
}

LZ_INLINE uint32_t lz_hash7(uint32_t a, uint32_t b)
{
    return lz_hash8(a, b << 8);
}

LZ_INLINE uint32_t lz_hash6(uint32_t a, uint32_t b)
{
    return lz_hash8(a, b << 16);
}

LZ_INLINE uint32_t lz_hash5(uint32_t a, uint32_t b)
{
    return lz_hash8(a, b << 24);
}

LZ_INLINE uint32_t lz_hash12(uint32_t a, uint32_t b, uint32_t c)
{
    return (a * LZ_FACTOR_A + b * LZ_FACTOR_B + c * LZ_FACTOR_C) >> (32 - LZ_CHAINS_HASH_BITS_FEW);
}

/* Hashes of the first 24 and 64 bytes, which are read as little-endian words of eight bytes.  Those
 * of 64 bytes are at 0, 16, 40 and 56: prefixes that differ only between these share a chain. */
LZ_INLINE uint32_t lz_hash24(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t sum = a * LZ_FACTOR_LONG_A + b * LZ_FACTOR_LONG_B + c * LZ_FACTOR_LONG_C;

    return (uint32_t)(sum >> (64 - LZ_CHAINS_HASH_BITS_FEW));
}

LZ_INLINE uint32_t lz_hash64(uint64_t at0, uint64_t at16, uint64_t at40, uint64_t at56)
{
    return lz_hash24(at0 ^ at56 >> 32 ^ at56 << 32, at16, at40);
}

#endif
