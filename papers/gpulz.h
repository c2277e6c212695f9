/*
 * gpulz.h - shared by both engines of the gpulz method (gpulz.c defines it)
 */
#ifndef GZLZSS_PAPERS_GPULZ_H
#define GZLZSS_PAPERS_GPULZ_H

#include "lzss/common.h"

/* Indexes of the keys in struct lz_level's param. */
enum { GPULZ_SYMBOL, GPULZ_WINDOW, GPULZ_CHUNK };

/* Values of the key `symbol`. */
enum { GPULZ_AUTO, GPULZ_1, GPULZ_2, GPULZ_3, GPULZ_4 };

/* Limits of the keys: symbols of the window, and bytes of a packet. A packet is what the paper
 * calls a chunk; its size is a power of two. The window's limit comes from the paper's coding,
 * which has eight bits for a length or a distance. */
#define GPULZ_WINDOW_MIN 32
#define GPULZ_WINDOW_MAX 255
#define GPULZ_PACKET_MIN 512

/* The first bytes of a chunk that are used as a sample to choose the width of its symbols. With
 * more, the choice fits the chunk better, but takes more time, since the sample is matched with
 * each of the three widths that are chosen from. */
#define GPULZ_SAMPLE 2048

LZ_STATIC_ASSERT(GPULZ_SAMPLE <= LZ_CHUNK_SIZE, "a sample is of one chunk");

/* Returns a symbol's width in bytes, from a value of the key `symbol` other than GPULZ_AUTO. */
BOTH_INLINE uint32_t gpulz_width(uint32_t symbol)
{
    return 1 + (symbol - GPULZ_1);
}

/* Returns the least number of symbols in a match, so that it has DEFLATE's least length of three
 * bytes. */
BOTH_INLINE uint32_t gpulz_least(uint32_t width)
{
    return (LZ_MIN_MATCH + width - 1) / width;
}

/* Returns the size in bits, in the paper's coding, of `literals` literals and `matches` matches. A
 * literal is a flag and a symbol; a match is a flag, a length and a distance. */
BOTH_INLINE uint32_t gpulz_bits(uint32_t literals, uint32_t matches, uint32_t width)
{
    return literals * (1 + 8 * width) + matches * (1 + 8 + 8);
}

/* Chooses the width of a chunk's symbols: one, two or four bytes. bits1, bits2 and bits4: the size
 * in bits of the chunk's sample of `size` bytes, coded in symbols of one, two and four bytes. If
 * neither two nor four bytes give the sample a compression ratio of at least 1.5, returns one byte.
 * Otherwise, returns the width with the fewest bits, and of equal ones the widest. */
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

/* Returns the width of the symbols of the chunk in[0..size), in bytes. If the key `symbol` is
 * `auto`, chooses the width by a sample of the chunk. */
uint32_t gpulz_choose_width(const struct lz_level *level, const uint8_t *in, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif
