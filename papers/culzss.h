/*
 * culzss.h - shared by both engines of the culzss method (culzss.c defines it)
 */
#ifndef GZLZSS_PAPERS_CULZSS_H
#define GZLZSS_PAPERS_CULZSS_H

#include <stdbool.h>
#include <string.h>

#include "base/both.h"

/* Indexes of the keys in struct lz_level's param. */
enum { CULZSS_WINDOW, CULZSS_CHUNK, CULZSS_LENGTH, CULZSS_SEARCH };

/* Values of the key `search`. ALL compares with every place of the window, and takes the nearest of
 * equally long matches; FAR does the same, and takes the farthest. ONE_PASS and BOTH look at each
 * byte of the window only once (culzss_one_pass); ONE_PASS takes the nearest, BOTH the farthest. */
enum { CULZSS_ALL, CULZSS_FAR, CULZSS_ONE_PASS, CULZSS_BOTH };

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

/* Returns the greatest distance, up to d, at which a run can start: there, the byte equals the one
 * at `here`. If there is none, returns 0. On a GPU, returns d: its lanes are faster if all of them
 * go on by one byte. */
BOTH_INLINE uint32_t culzss_next_start(const uint8_t *here, uint32_t d)
{
#ifdef __CUDA_ARCH__
    (void)here;
    return d;
#else
    const uint8_t *found = (const uint8_t *)memchr(here - d, *here, d);

    return found != NULL ? (uint32_t)(here - found) : 0;
#endif
}

/*
 * Searches the `reach` bytes before `here` in one pass, beginning with the farthest. A run grows
 * while the window's bytes equal the bytes from `here` on. The first byte that differs ends the
 * run, and so does the greatest length, `most`. The next run starts with the byte after that. So
 * the pass misses a run that starts inside another one.
 *
 * Returns the length of the longest run and sets *distance to its distance. If no run has a byte,
 * returns 0. Of equally long runs, `search` selects one: the nearest with CULZSS_ONE_PASS, the
 * farthest with CULZSS_BOTH.
 */
BOTH_INLINE uint32_t culzss_one_pass(const uint8_t *here, uint32_t reach, uint32_t most,
                                     uint32_t search, uint32_t *distance)
{
    const uint32_t more = search == CULZSS_BOTH; /* bytes by which a later run must be longer */
    uint32_t run = 0, best = 0;

    /* d: the distance of the next byte. A run has at most `run` + d bytes. */
    for (uint32_t d = reach; d > 0 && run + d >= best + more && best + more <= most; d--) {
        uint32_t grown;
        bool ends;

        if (run == 0)
            d = culzss_next_start(here, d);
        if (d == 0)
            break;
        grown = run + (*(here - d) == here[run]);
        ends = grown == run || grown == most || d == 1;
        if (ends && grown > 0 && grown >= best + more) {
            best = grown;
            *distance = d + run;
        }
        run = ends ? 0 : grown;
    }
    return best;
}

#endif
