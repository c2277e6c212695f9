/*
 * position_lists.h - shared by both engines of the position-lists method (position_lists.c defines
 * it)
 */
#ifndef GZLZSS_PAPERS_POSITION_LISTS_H
#define GZLZSS_PAPERS_POSITION_LISTS_H

#include "lzss/common.h"

/* Indexes of the keys in struct lz_level's param. */
enum {
    POSITION_LISTS_HASH,
    POSITION_LISTS_LIST,
    POSITION_LISTS_THRESHOLD,
    POSITION_LISTS_BLOCK,
};

/* The least size of a packet, in bytes. A packet is what the paper calls a block; its size is a
 * power of two. */
#define POSITION_LISTS_PACKET_MIN 4096

/* The end of a list; not a position of a packet. */
#define POSITION_LISTS_NONE 0xffffu

/* Returns a mask for the first `hash` bytes (2 to 4) of a little-endian word. */
BOTH_INLINE uint32_t position_lists_mask(uint32_t hash)
{
    return 0xffffffffu >> (32 - 8 * hash);
}

/* Returns the index of the entry for the first `hash` bytes of a little-endian word, in a table of
 * 2^bits entries. Different bytes may share an entry; a search passes over positions whose bytes
 * differ from its own. */
BOTH_INLINE uint32_t position_lists_entry(uint32_t four_bytes, uint32_t hash, uint32_t bits)
{
    return ((four_bytes << (32 - 8 * hash)) * 2654435761u) >> (32 - bits);
}

/* Returns the greatest possible length of a match where `left` bytes of the packet are left; 0 if
 * no match there can be long enough. */
BOTH_INLINE uint32_t position_lists_most(uint32_t left, uint32_t hash, uint32_t threshold)
{
    const uint32_t most = left < LZ_MAX_MATCH ? left : LZ_MAX_MATCH;

    return most < threshold || most < hash ? 0 : most;
}

#endif
