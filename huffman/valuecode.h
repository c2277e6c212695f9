/*
 * valuecode.h - the codes of lengths and distances, made ready for writing
 */
#ifndef GZLZSS_HUFFMAN_VALUECODE_H
#define GZLZSS_HUFFMAN_VALUECODE_H

#include <stdint.h>

/* Entries of a table by the symbol of a length or distance.  There are 29 symbols of lengths, and
 * 30 of distances; 32 entries fill whole vectors. */
#define HUFF_VALUE_CODES 32

/*
 * The code of a symbol, in a form in which one addition adds the extra bits.  The extra bits of a
 * value are the value less the symbol's least value, and stand above the code, which has `shift`
 * bits.  So a value's code with its extra bits is (value << shift) + bits, where `bits` is the code
 * less the least value << shift.  It has `count` bits.
 */
struct huff_value_code {
    uint32_t bits;
    uint16_t shift, count;
};

/* Makes the entry of a symbol, whose code has `bits` bits, from its least value and number of extra
 * bits. */
static inline struct huff_value_code huff_value_code(uint32_t code, unsigned bits, uint32_t least,
                                                     unsigned extra_bits)
{
    return (struct huff_value_code){code - (least << bits), (uint16_t)bits,
                                    (uint16_t)(bits + extra_bits)};
}

#endif
