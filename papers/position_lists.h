/*
 * position_lists.h - what both engines decide in the position-lists method (position_lists.c says what
 * it finds)
 */
#ifndef GZLZSS_PAPERS_POSITION_LISTS_H
#define GZLZSS_PAPERS_POSITION_LISTS_H

#include "lzss/common.h"

/* The keys' places in struct lz_level's param. */
enum {
    POSITION_LISTS_HASH,
    POSITION_LISTS_LIST,
    POSITION_LISTS_THRESHOLD,
    POSITION_LISTS_BLOCK,
};

/* Packets are what the paper calls blocks; their sizes are powers of two. */
#define POSITION_LISTS_PACKET_MIN 4096

/* No position of a packet. */
#define POSITION_LISTS_NONE 0xffffu

/* Of four bytes, the bits of those that are hashed: the first `hash`, 1 to 4. */
BOTH_INLINE uint32_t position_lists_mask(uint32_t hash)
{
    return 0xffffffffu >> (32 - 8 * hash);
}

/* The entry for the first `hash` of these bytes, of a table of 2^bits.  Different bytes may share
 * one: a search passes by positions whose bytes are others. */
BOTH_INLINE uint32_t position_lists_entry(uint32_t four_bytes, uint32_t hash, uint32_t bits)
{
    return ((four_bytes << (32 - 8 * hash)) * 2654435761u) >> (32 - bits);
}

/* The longest match where so many bytes of the packet are left, or 0 if none is long enough. */
BOTH_INLINE uint32_t position_lists_most(uint32_t left, uint32_t hash, uint32_t threshold)
{
    const uint32_t most = left < LZ_MAX_MATCH ? left : LZ_MAX_MATCH;

    return most < threshold || most < hash ? 0 : most;
}

#endif
