/*
 * make_lengths.c - code lengths and codes on the CPU (lengths.h)
 */
#include "config.h"

#include "huffman/lengths.h"
#include "huffman/make_lengths.h"

uint64_t huff_lengths(struct huff_lengths_work *w, const uint32_t *frequencies, unsigned n,
                      unsigned limit, uint8_t *lengths)
{
    return make_lengths(w, frequencies, n, limit, lengths);
}

void huff_codes(const uint8_t *lengths, unsigned n, uint16_t *codes)
{
    make_codes(lengths, n, codes);
}
