/*
 * make_header.c - headers of dynamic blocks on the CPU (header.h)
 */
#include "config.h"

#include "huffman/header.h"
#include "huffman/make_header.h"

void huff_header_plan(struct huff_lengths_work *w,
                      const uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS],
                      const uint8_t distance_lengths[DEFLATE_DISTANCE_SYMBOLS],
                      struct huff_header *h)
{
    make_header(w, litlen_lengths, distance_lengths, h);
}

void huff_header_write(const struct huff_header *h, struct bitwriter *w)
{
    put_header(h, w);
}
