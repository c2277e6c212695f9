/*
 * header.h - the header of a dynamic block: its code lengths, run-length coded, and then coded with
 * a code of their own, which is called the precode here (RFC 1951, section 3.2.7)
 */
#ifndef GZLZSS_HEADER_H
#define GZLZSS_HEADER_H

#include <stdint.h>

#include "base/deflate.h"
#include "huffman/bitwriter.h"
#include "huffman/lengths.h"

/* A planned header. */
struct huff_header {
    uint16_t litlen_count;   /* code lengths of literals and lengths that are sent, 257 to 286 */
    uint16_t distance_count; /* code lengths of distances that are sent, 1 to 30 */
    uint16_t precode_count;  /* code lengths of the precode that are sent, 4 to 19 */

    /* The code lengths that are sent: of literals and lengths, and then of distances. */
    uint8_t lengths[DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS];

    /* For each symbol of the precode, the cost in bits by which runs were divided into symbols. */
    uint8_t cost[DEFLATE_PRECODE_SYMBOLS];

    uint8_t precode_lengths[DEFLATE_PRECODE_SYMBOLS];
    uint32_t bits; /* the header's size, without the 3 bits of the block's type */
};

/* Plans a short header for these code lengths, which are as huff_lengths makes them. */
void huff_header_plan(struct huff_lengths_work *w,
                      const uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS],
                      const uint8_t distance_lengths[DEFLATE_DISTANCE_SYMBOLS],
                      struct huff_header *h);

/* Writes the header, and flushes.  Since the last flush, at most BITWRITER_ROOM - 14 bits may have
 * been put; BITWRITER_SLACK bytes after the header's end may be overwritten. */
void huff_header_write(const struct huff_header *h, struct bitwriter *w);

#endif
