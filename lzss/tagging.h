/*
 * tagging.h - the tagging match finder: GLZSS's tag arrays, as level 1 defines them
 *
 * After Y. Zu and B. Hua, "GLZSS: LZSS Lossless Data Compression Can Be Faster", 2014, Algorithm 2.
 *
 * A walk goes through a chunk from its start.  Wherever it stops, the hash of the next four bytes
 * gives one earlier position, the candidate.  The walk compares the eight bytes at the candidate
 * with the next eight bytes, and tags bytes with the distance:
 *
 *   - If all eight agree, it tags the first four, and goes on four bytes further at the same
 *     distance.
 *   - If four to seven agree, it tags these.
 *   - If fewer agree, it tags one byte with 0: a literal.
 *
 * Adjacent bytes with the same tag are one match (tags.h).  In effect, the walk greedily takes the
 * longest match at the nearest candidate.
 *
 * Where this differs from the paper, and why:
 *
 *   - The table holds *every* position of the chunk so far and of the 32 KiB before the chunk, not
 *     only those where the walk stopped.  The additional positions make the output 5.5 % smaller
 *     (on the first 100 MB of linux.tar, see hashes.h), and so smaller than the output of gzip -1.
 *     The candidate then depends only on the input: it is the nearest position within 32 KiB whose
 *     four bytes have the same hash.  So the CPU can carry one table through all chunks of a
 *     segment, while a GPU looks up 32 positions at a time, and both find the same candidates.
 *   - In a long match, the paper enters the earlier position plus four into the table, so that the
 *     next look-up finds that position.  Here the walk goes on at the same distance instead.  The
 *     result is the same, but no older position displaces a newer one in the table.
 *   - A distance is at most 32 KiB, DEFLATE's window, and a match ends at its chunk's end.
 */
#ifndef GZLZSS_LZSS_TAGGING_H
#define GZLZSS_LZSS_TAGGING_H

#include "lzss/common.h"
#include "lzss/hashes.h"

/* The bytes that are hashed, which are also the shortest match. */
#define LZ_TAGGING_MIN_MATCH 4

#endif
