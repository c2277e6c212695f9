/*
 * deflate.h - DEFLATE's limits and alphabets (RFC 1951, sections 3.2.3 to 3.2.7)
 */
#ifndef GZLZSS_BASE_DEFLATE_H
#define GZLZSS_BASE_DEFLATE_H

#include <stdint.h>

#include "base/both.h"

/* The shortest and the longest match, and the largest distance, in bytes. */
#define DEFLATE_MIN_MATCH 3
#define DEFLATE_MAX_MATCH 258
#define DEFLATE_WINDOW_SIZE 32768

/* Literals, the end of a block and match lengths share one alphabet and one code.  Distances have
 * another.  A third code, the precode, encodes the code lengths of the first two. */
#define DEFLATE_LITLEN_SYMBOLS 286
#define DEFLATE_DISTANCE_SYMBOLS 30
/* The numbers of symbols that have codes in a fixed block.  The last two symbols of each alphabet
 * have codes but never occur in data. */
#define DEFLATE_FIXED_LITLEN_SYMBOLS 288
#define DEFLATE_FIXED_DISTANCE_SYMBOLS 32
#define DEFLATE_PRECODE_SYMBOLS 19
/* The precode's symbols, in the order in which a block's header stores their code lengths. */
#define DEFLATE_PRECODE_ORDER                                            \
    {                                                                    \
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 \
    }

#define DEFLATE_END_OF_BLOCK 256
#define DEFLATE_FIRST_LENGTH 257

/* The most bits that the code of a symbol may have: in the two alphabets, and in the precode. */
#define DEFLATE_MAX_CODE 15
#define DEFLATE_MAX_PRECODE 7

/* The most bytes that a stored block can hold. */
#define DEFLATE_MAX_STORED 65535

enum deflate_block_type { DEFLATE_STORED, DEFLATE_FIXED, DEFLATE_DYNAMIC };

/* The symbol for a match length (3 to 258).  Each length up to 10 has a symbol of its own, and so
 * has 258.  For the other lengths, the values of (length - 3) from one power of two up to the next
 * share four symbols. */
BOTH_INLINE unsigned deflate_length_symbol(unsigned length)
{
    unsigned x = length - DEFLATE_MIN_MATCH;
    unsigned log2;

    if (x < 8)
        return DEFLATE_FIRST_LENGTH + x;
    if (length == DEFLATE_MAX_MATCH)
        return DEFLATE_LITLEN_SYMBOLS - 1;
    log2 = both_log2(x);
    return DEFLATE_FIRST_LENGTH + 4 * (log2 - 1) + ((x >> (log2 - 2)) & 3);
}

/* The number of extra bits that follow a length's symbol (257 to 285). */
BOTH_INLINE unsigned deflate_length_extra_bits(unsigned symbol)
{
    if (symbol < DEFLATE_FIRST_LENGTH + 8 || symbol == DEFLATE_LITLEN_SYMBOLS - 1)
        return 0;
    return (symbol - DEFLATE_FIRST_LENGTH) / 4 - 1;
}

/* The least length that a symbol (257 to 285) stands for. */
BOTH_INLINE unsigned deflate_least_length(unsigned symbol)
{
    unsigned x = symbol - DEFLATE_FIRST_LENGTH;

    if (x < 8)
        return DEFLATE_MIN_MATCH + x;
    if (symbol == DEFLATE_LITLEN_SYMBOLS - 1)
        return DEFLATE_MAX_MATCH;
    return DEFLATE_MIN_MATCH + ((4 + (x & 3)) << deflate_length_extra_bits(symbol));
}

/* The value of a length's extra bits.  `extra_bits` is the number of these bits. */
BOTH_INLINE unsigned deflate_length_extra(unsigned length, unsigned extra_bits)
{
    return (length - DEFLATE_MIN_MATCH) & ((1u << extra_bits) - 1);
}

/* The symbol for a distance (1 to 32768).  The values of (distance - 1) from one power of two up to
 * the next share two symbols. */
BOTH_INLINE unsigned deflate_distance_symbol(unsigned distance)
{
    unsigned x = distance - 1;
    unsigned log2;

    if (x < 2)
        return x;
    log2 = both_log2(x);
    return 2 * log2 + ((x >> (log2 - 1)) & 1);
}

/* The number of extra bits that follow a distance's symbol (0 to 29). */
BOTH_INLINE unsigned deflate_distance_extra_bits(unsigned symbol)
{
    return symbol < 4 ? 0 : symbol / 2 - 1;
}

/* The value of a distance's extra bits.  `extra_bits` is the number of these bits. */
BOTH_INLINE unsigned deflate_distance_extra(unsigned distance, unsigned extra_bits)
{
    return (distance - 1) & ((1u << extra_bits) - 1);
}

/* The least distance that a symbol (0 to 29) stands for. */
BOTH_INLINE unsigned deflate_least_distance(unsigned symbol)
{
    unsigned extra_bits = deflate_distance_extra_bits(symbol);

    return symbol < 4 ? symbol + 1 : 1 + ((2 + (symbol & 1)) << extra_bits);
}

/* The length, in bits, of the code of a literal or length symbol in fixed blocks. */
BOTH_INLINE unsigned deflate_fixed_length(unsigned symbol)
{
    if (symbol < 144)
        return 8;
    if (symbol < 256)
        return 9;
    return symbol < 280 ? 7 : 8;
}

/* The length, in bits, of every distance code in fixed blocks. */
#define DEFLATE_FIXED_DISTANCE_LENGTH 5

#endif
