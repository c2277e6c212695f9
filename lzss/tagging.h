/*
 * tagging.h - the tagging match finder: GLZSS's tag arrays, as level 1 defines them
 *
 * After Y. Zu and B. Hua, "GLZSS: LZSS Lossless Data Compression Can Be Faster", 2014, Algorithm 2.
 *
 * A walk goes through a chunk from its start.  Wherever it stops, the hash of the next bytes, four
 * or five of them (lz_tagging_least), gives one earlier position, the candidate.  The walk compares
 * the eight bytes at the candidate with the next eight bytes, and tags bytes with the distance:
 *
 *   - If all eight agree, it tags the first four, and goes on four bytes further at the same
 *     distance.
 *   - If fewer agree, but at least as many as are hashed, it tags these.  If the walk has just gone
 *     on at the same distance, it tags all that agree; the last step has seen that four do.
 *   - If too few agree, it tags one byte with 0: a literal.
 *
 * Where a match starts after a literal, and the byte before the candidate is the same as that
 * literal, the literal joins the match.
 *
 * Adjacent bytes with the same tag are one match (tags.h).  In effect, the walk greedily takes the
 * longest match at the nearest candidate.
 *
 * Where this differs from the paper, and why:
 *
 *   - The table holds *every* position of the chunk so far and of the 32 KiB before the chunk, not
 *     only those where the walk stopped.  The additional positions make the output 5.5 % smaller
 *     (on the first 100 MB of linux.tar, see hashes.h), and so smaller than the output of gzip -1.
 *     The candidate then depends only on the input: it is the nearest position in reach with the
 *     same hash.  So the CPU can carry one table through all chunks of a segment, while a GPU looks
 *     up 32 positions at a time, and both find the same candidates.
 *   - In a long match, the paper enters the earlier position plus four into the table, so that the
 *     next look-up finds that position.  Here the walk goes on at the same distance instead.  The
 *     result is the same, but no older position displaces a newer one in the table.
 *   - The paper hashes four bytes.  With five, text gets longer matches, and fewer of them: output
 *     becomes 2.5 % smaller.  Machine code becomes 1 % larger, since it has many matches of four
 *     bytes.  So a sample of the segment decides.
 *   - A literal joins the match after it.  That makes output 0.5 to 1.3 % smaller.
 *   - A distance is at most LZ_TAGGING_WINDOW, and a match ends at its chunk's end.  The segment's
 *     first byte is no candidate.  So there always is a byte before the candidate, and a GPU's
 *     table can mark an empty entry by 0.
 */
#ifndef GZLZSS_LZSS_TAGGING_H
#define GZLZSS_LZSS_TAGGING_H

#include "lzss/common.h"
#include "lzss/hashes.h"

/* The largest distance, one less than DEFLATE's. */
#define LZ_TAGGING_WINDOW (LZ_WINDOW_SIZE - 1)

/* The number of bytes that are hashed, which is also the least number of bytes that have to agree:
 * 4 or 5.  `distinct` is the number of different values in a sample from the segment's start
 * (sample.h). */
LZ_INLINE uint32_t lz_tagging_least(uint32_t distinct)
{
    return distinct < 192 ? 5 : 4;
}

#endif
