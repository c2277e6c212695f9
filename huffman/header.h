/*
 * header.h - the header of a dynamic block, which holds the code lengths of the block (RFC 1951,
 * section 3.2.7).  The code lengths are stored as symbols, each for one length or for a run of
 * equal lengths.  These symbols have a Huffman code of their own, which is called the precode here.
 */
#ifndef GZLZSS_HEADER_H
#define GZLZSS_HEADER_H

#include <stdint.h>

#include "base/deflate.h"
#include "huffman/bitwriter.h"
#include "huffman/lengths.h"

/* A planned header. */
struct huff_header {
    uint16_t litlen_count;   /* the number of code lengths of literals and lengths in the header,
                              * 257 to 286 */
    uint16_t distance_count; /* the number of code lengths of distances in the header, 1 to 30 */
    uint16_t precode_count;  /* the number of code lengths of the precode in the header, 4 to 19 */

    /* The code lengths in the header: first of literals and lengths, then of distances. */
    uint8_t lengths[DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS];

    /* The cost in bits of each symbol of the precode.  The plan used these costs to choose how to
     * code runs. */
    uint8_t cost[DEFLATE_PRECODE_SYMBOLS];

    uint8_t precode_lengths[DEFLATE_PRECODE_SYMBOLS];
    uint32_t bits; /* the header's size, without the 3 bits of the block's type */
};

/* Plans a short header for code lengths that huff_lengths has made. */
void huff_header_plan(struct huff_lengths_work *w,
                      const uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS],
                      const uint8_t distance_lengths[DEFLATE_DISTANCE_SYMBOLS],
                      struct huff_header *h);

/* Writes the header, and flushes.  The caller may have put at most BITWRITER_ROOM - 14 bits since
 * the last flush; BITWRITER_SLACK bytes after the header's end may be overwritten. */
void huff_header_write(const struct huff_header *h, struct bitwriter *w);

#endif
