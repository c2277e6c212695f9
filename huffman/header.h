/*
 * header.h - the header of a dynamic block: its code lengths, run-length coded and then coded with
 * a code of their own (RFC 1951, section 3.2.7)
 */
#ifndef GZLZSS_HEADER_H
#define GZLZSS_HEADER_H

#include <stdint.h>

#include "base/deflate.h"
#include "huffman/bitwriter.h"
#include "huffman/lengths.h"

struct huff_header {
    uint16_t litlen_count;   /* code lengths sent, 257 to 286 */
    uint16_t distance_count; /* 1 to 30 */
    uint16_t precode_count;  /* 4 to 19 */
    uint8_t lengths[DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS]; /* those sent */
    uint8_t cost[DEFLATE_PRECODE_SYMBOLS]; /* in bits, that decides how runs of them are said */
    uint8_t precode_lengths[DEFLATE_PRECODE_SYMBOLS];
    uint32_t bits; /* size of the whole header, the 3 bits of the block type not counted */
};

/* Finds a short header for these code lengths, as huff_lengths gives them, and its size. */
void huff_header_plan(struct huff_lengths_work *w,
                      const uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS],
                      const uint8_t distance_lengths[DEFLATE_DISTANCE_SYMBOLS],
                      struct huff_header *h);

/* Writes it, after at most BITWRITER_ROOM - 14 bits put since the last flush, and flushes; needs
 * BITWRITER_SLACK bytes of room after its end. */
void huff_header_write(const struct huff_header *h, struct bitwriter *w);

#endif
