/*
 * glzss.h - shared by both engines of the GLZSS methods (glzss_basic.c and glzss_tagging.c define
 * them)
 *
 * A packet is what the paper calls a chunk, since "chunk" means something else in this program.
 * Positions are counted from the start of a packet, so that 16 bits hold them.
 */
#ifndef GZLZSS_PAPERS_GLZSS_H
#define GZLZSS_PAPERS_GLZSS_H

#include "lzss/common.h"

/* Indexes of the keys in struct lz_level's param. */
enum { GLZSS_TABLE, GLZSS_CHUNK, GLZSS_THREADS };

/* How many bytes are hashed. No match is shorter. */
#define GLZSS_MIN_MATCH 4

/* Limits of the keys, all powers of two: entries of the table, and bytes of a packet. */
#define GLZSS_TABLE_MIN 1024
#define GLZSS_TABLE_MAX 65536
#define GLZSS_PACKET_MIN 4096
#define GLZSS_PACKET_MAX 65536

LZ_STATIC_ASSERT(GLZSS_PACKET_MAX <= 2 * LZ_CHUNK_SIZE, "a packet has two chunks at most");

/* Returns the index of the entry for four bytes, read as a little-endian number, in a table of
 * 2^bits entries. */
BOTH_INLINE uint32_t glzss_hash(uint32_t four_bytes, uint32_t bits)
{
    return (four_bytes * 2654435761u) >> (32 - bits);
}

/* Whether DEFLATE can code this distance. */
BOTH_INLINE bool glzss_is_near(uint32_t distance)
{
    return distance <= LZ_WINDOW_SIZE;
}

/* For glzss-tagging, which goes through a match in steps: returns how many of the match's bytes
 * come before the last step. All steps have four bytes, except the last, which has four to
 * seven. */
BOTH_INLINE uint32_t glzss_before_last_step(uint32_t length)
{
    return (length - GLZSS_MIN_MATCH) & ~3u;
}

/* For glzss-tagging: whether the stop at position `stop`, if it has no match, enters position
 * `side` into the hash table, in addition to its own position. A stop enters only positions that
 * are not after its own, because the walk has passed these positions when it leaves the stop. */
BOTH_INLINE bool glzss_is_passed(uint32_t side, uint32_t stop)
{
    return side <= stop;
}

#endif
