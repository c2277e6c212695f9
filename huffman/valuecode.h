/*
 * valuecode.h - codes of lengths and distances, in the form that writing needs
 */
#ifndef GZLZSS_HUFFMAN_VALUECODE_H
#define GZLZSS_HUFFMAN_VALUECODE_H

#include <stdint.h>

/* Entries of a table that is indexed by the symbol of a length or distance.  There are 29 symbols
 * of lengths, and 30 of distances; 32 entries fill whole vectors. */
#define HUFF_VALUE_CODES 32

/*
 * The code of a symbol, in a form in which one addition adds the extra bits.  A value's extra bits
 * are the value less the symbol's least value, and stand above the code.  So (value << shift) +
 * bits is the code with its extra bits, if `shift` is the number of bits of the code, and `bits` is
 * the code less (least value << shift).  `count` is the number of bits of the code with its extra
 * bits.
 */
struct huff_value_code {
    uint32_t bits;
    uint16_t shift, count;
};

/* Makes the entry of a symbol.  `bits` is the number of bits of its code, and `least` its least
 * value. */
static inline struct huff_value_code huff_value_code(uint32_t code, unsigned bits, uint32_t least,
                                                     unsigned extra_bits)
{
    return (struct huff_value_code){code - (least << bits), (uint16_t)bits,
                                    (uint16_t)(bits + extra_bits)};
}

#endif
