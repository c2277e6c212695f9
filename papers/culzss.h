/*
 * culzss.h - what both engines decide in the culzss method (culzss.c says what it finds)
 */
#ifndef GZLZSS_PAPERS_CULZSS_H
#define GZLZSS_PAPERS_CULZSS_H

#include "base/both.h"

/* The keys' places in struct lz_level's param. */
enum { CULZSS_WINDOW, CULZSS_CHUNK, CULZSS_LENGTH };

/* Packets are what the paper calls chunks; their sizes are powers of two. */
#define CULZSS_WINDOW_MAX 4096
#define CULZSS_PACKET_MIN 512

/* How far back a match at position `at`, counted from the start of a packet or of several, may
 * lie. */
BOTH_INLINE uint32_t culzss_reach(uint32_t at, uint32_t window, uint32_t packet)
{
    const uint32_t before = at & (packet - 1);

    return before < window ? before : window;
}

/* The bytes from position `at` on to the end of its packet, or to `end`, if that comes first. */
BOTH_INLINE uint32_t culzss_left(uint32_t at, uint32_t end, uint32_t packet)
{
    const uint32_t left = packet - (at & (packet - 1));

    return left < end - at ? left : end - at;
}

/* The longest that a match at this distance may be: what it repeats lies in the window, which ends
 * where the match starts. */
BOTH_INLINE uint32_t culzss_limit(uint32_t most, uint32_t distance)
{
    return most < distance ? most : distance;
}

#endif
