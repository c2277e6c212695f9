/*
 * culzss.h - shared by both engines of the culzss method (culzss.c defines it)
 */
#ifndef GZLZSS_PAPERS_CULZSS_H
#define GZLZSS_PAPERS_CULZSS_H

#include "base/both.h"

/* Indexes of the keys in struct lz_level's param. */
enum { CULZSS_WINDOW, CULZSS_CHUNK, CULZSS_LENGTH };

/* Limits of the keys, in bytes. A packet is what the paper calls a chunk; its size is a power of
 * two. */
#define CULZSS_WINDOW_MAX 4096
#define CULZSS_PACKET_MIN 512

/* Returns the greatest distance of a match at position `at`. This is the size of the window, or the
 * distance to the packet's start if that is less. `at` is counted from the start of its packet, or
 * of any packet before. */
BOTH_INLINE uint32_t culzss_reach(uint32_t at, uint32_t window, uint32_t packet)
{
    const uint32_t before = at & (packet - 1);

    return before < window ? before : window;
}

/* Returns the bytes from position `at` to the end of its packet, or to `end` if that comes
 * first. */
BOTH_INLINE uint32_t culzss_left(uint32_t at, uint32_t end, uint32_t packet)
{
    const uint32_t left = packet - (at & (packet - 1));

    return left < end - at ? left : end - at;
}

/* Returns the greatest length of a match at this distance, since a match may repeat only bytes
 * before its own start. */
BOTH_INLINE uint32_t culzss_limit(uint32_t most, uint32_t distance)
{
    return most < distance ? most : distance;
}

#endif
