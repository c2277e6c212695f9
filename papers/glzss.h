/*
 * glzss.h - what both engines decide in the GLZSS methods (glzss_basic.c and glzss_tagging.c say what
 * they find)
 *
 * What the paper calls a chunk is called a packet here, as a chunk is something else in this
 * program.  Positions are counted from the start of a packet, so that 16 bits hold them.
 */
#ifndef GZLZSS_PAPERS_GLZSS_H
#define GZLZSS_PAPERS_GLZSS_H

#include "lzss/common.h"

/* The keys' places in struct lz_level's param. */
enum { GLZSS_TABLE, GLZSS_CHUNK };

/* The bytes that are hashed: no match is shorter. */
#define GLZSS_MIN_MATCH 4

/* Powers of two: entries of a table, and bytes of a packet. */
#define GLZSS_TABLE_MIN 1024
#define GLZSS_TABLE_MAX 65536
#define GLZSS_PACKET_MIN 4096
#define GLZSS_PACKET_MAX 65536

LZ_STATIC_ASSERT(GLZSS_PACKET_MAX <= 2 * LZ_CHUNK_SIZE, "a packet has two chunks at most");

/* The entry for four bytes, read as a little-endian number, in a table of 2^bits. */
BOTH_INLINE uint32_t glzss_hash(uint32_t four_bytes, uint32_t bits)
{
    return (four_bytes * 2654435761u) >> (32 - bits);
}

/* Whether a match may lie so far back. */
BOTH_INLINE bool glzss_is_near(uint32_t distance)
{
    return distance <= LZ_WINDOW_SIZE;
}

/* How many of a match's bytes lie before the last step that glzss-tagging takes in it: steps are of
 * four bytes as long as eight are equal, and the last one is of four to seven. */
BOTH_INLINE uint32_t glzss_before_last_step(uint32_t length)
{
    return (length - GLZSS_MIN_MATCH) & ~3u;
}

/* Whether glzss-tagging enters position `side` into the table from a stop at which no match starts:
 * only if the walk is past it then. */
BOTH_INLINE bool glzss_is_passed(uint32_t side, uint32_t stop)
{
    return side <= stop;
}

#endif
