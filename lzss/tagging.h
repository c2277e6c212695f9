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
 * only the positions where the walk stopped.  On the first 100 MB of linux.tar (hashes.h) that
 * makes
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
#include "lzss/hashes.h"

/* The shortest match: the bytes that are hashed. */
#define LZ_TAGGING_MIN_MATCH 4

#endif
