/*
 * tagging.h - the tagging match finder: GLZSS's tag arrays, as level 1 defines them
 *
 * After Y. Zu and B. Hua, "GLZSS: LZSS Lossless Data Compression Can Be Faster", 2014, Algorithm 2.
 * A chunk is walked from its start.  At each stop the hash of the next four bytes gives one earlier
 * position; eight bytes there are compared with the eight here.  All eight equal: the first four
 * are tagged with the distance and the walk goes on four bytes further, at the same distance.
 * Four to seven equal: so many are tagged.  Fewer: one byte is tagged 0, a literal.  Neighbouring
 * bytes with the same tag are one match (tags.h).
 *
 * Where this differs from the paper, and why:
 *
 * - The table holds *every* position of the 32 KiB before the chunk and of the chunk so far, not
 *   only the positions where the walk stopped.  On the first 100 MB of linux.tar (below) that makes
 *   the output 5.5 % smaller, and is what brings it below gzip -1's.
 *   The one earlier position is then a property of the input: the nearest one within 32 KiB whose
 *   four bytes have the same hash.  The CPU can carry one table through all chunks of a segment,
 *   and the GPU can look up 32 positions at a time, and both find the same.
 * - The paper's step in a long match (enter the old position's next four bytes into the table, so
 *   that the next lookup meets it again) becomes "go on at the same distance": the same walk
 *   without the table write, and nothing old displaces something new.
 * - Distances end at 32 KiB, DEFLATE's window, and matches at the chunk's end.
 *
 * In effect: the longest match at the nearest candidate, greedily.
 */
#ifndef GZLZSS_LZSS_TAGGING_H
#define GZLZSS_LZSS_TAGGING_H

#include "lzss/common.h"

/*
 * Size of the hash table, in bits.  The paper's table has 2^12 entries.  More entries find more
 * matches, but on the GPU each chunk has a table of its own in shared memory, two bytes an entry,
 * so that each bit more halves the chunks an SM can work on at a time.  The CPU hardly notices as
 * long as the table fits in its second-level cache.  14 is the least that stays below gzip -1
 * on all three.
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
 * `make bench/gpu_stage` builds what measured the GPU, when looking up and walking were one kernel;
 * as two, they do 25 with 14 bits (16 MiB x 8).
 */
#define LZ_TAGGING_HASH_BITS 14

/* The shortest match: the bytes that are hashed. */
#define LZ_TAGGING_MIN_MATCH 4

/* Fibonacci hashing of four input bytes read as a little-endian number. */
LZ_INLINE uint32_t lz_tagging_hash(uint32_t four_bytes)
{
    return (four_bytes * 2654435761u) >> (32 - LZ_TAGGING_HASH_BITS);
}

#endif
