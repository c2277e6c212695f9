/*
 * valuecode.h - codes of lengths and distances, made ready for writing
 */
#ifndef GZLZSS_HUFFMAN_VALUECODE_H
#define GZLZSS_HUFFMAN_VALUECODE_H

#include <stdint.h>

/* Entries of a table by a length's or distance's symbol: there are 29 of these, and 30. */
#define HUFF_VALUE_CODES 32

/*
 * The code of a symbol: `bits` are those of the symbol's least value, less that value shifted left
 * by `shift`, the code's length, so that the value in hand, shifted likewise, has only to be added
 * to have the code with the extra bits above it; and together they are `count` bits.
 */
struct huff_value_code {
    uint32_t bits;
    uint16_t shift, count;
};

/* Makes it of a code, its length in bits, the least value, and the number of extra bits. */
static inline struct huff_value_code huff_value_code(uint32_t code, unsigned bits, uint32_t least,
                                                     unsigned extra_bits)
{
    return (struct huff_value_code){code - (least << bits), (uint16_t)bits,
                                    (uint16_t)(bits + extra_bits)};
}

#endif
