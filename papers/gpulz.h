/*
 * gpulz.h - what both engines decide in the gpulz method (gpulz.c says what it finds)
 */
#ifndef GZLZSS_PAPERS_GPULZ_H
#define GZLZSS_PAPERS_GPULZ_H

#include "lzss/common.h"

/* The keys' places in struct lz_level's param. */
enum { GPULZ_SYMBOL, GPULZ_WINDOW, GPULZ_CHUNK };

/* The values of the key `symbol`. */
enum { GPULZ_AUTO, GPULZ_1, GPULZ_2, GPULZ_4 };

/* Packets are what the paper calls chunks; their sizes in bytes are powers of two. */
#define GPULZ_WINDOW_MIN 32
#define GPULZ_WINDOW_MAX 255
#define GPULZ_PACKET_MIN 512

/* Bytes at a chunk's start by which the width of its symbols is chosen. */
#define GPULZ_SAMPLE 2048

LZ_STATIC_ASSERT(GPULZ_SAMPLE <= LZ_CHUNK_SIZE, "a sample is of one chunk");

/* The bytes of a symbol, for a value of the key that is not `auto`. */
BOTH_INLINE uint32_t gpulz_width(uint32_t symbol)
{
    return 1U << (symbol - GPULZ_1);
}

/* The fewest symbols of a match: DEFLATE has none below three bytes. */
BOTH_INLINE uint32_t gpulz_least(uint32_t width)
{
    return (LZ_MIN_MATCH + width - 1) / width;
}

/* The bits that the paper's coding takes: a flag and a symbol, or a flag, a length and a distance. */
BOTH_INLINE uint32_t gpulz_bits(uint32_t literals, uint32_t matches, uint32_t width)
{
    return literals * (1 + 8 * width) + matches * (1 + 8 + 8);
}

/* The width for a chunk whose sample of `size` bytes takes so many bits in symbols of one, of two and
 * of four bytes: the one that takes the fewest, the widest of equal ones; but one byte, if the sample
 * does not get 1.5 times smaller. */
BOTH_INLINE uint32_t gpulz_choose(uint32_t size, uint32_t bits1, uint32_t bits2, uint32_t bits4)
{
    const uint32_t wide = bits4 <= bits2 ? bits4 : bits2;

    if (wide > bits1 || 3 * wide > 2 * 8 * size)
        return 1;
    return bits4 <= bits2 ? 4 : 2;
}

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of a symbol in the chunk in[0..size): what the level says, or the choice. */
uint32_t gpulz_choose_width(const struct lz_level *level, const uint8_t *in, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
