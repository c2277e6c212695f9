/*
 * store.h - a segment of level 0, stored
 */
#ifndef GZLZSS_STORE_H
#define GZLZSS_STORE_H

#include "huffman/huffman.h"

/* Stores in[0..len) as huff_store does, and sets *crc to its CRC-32.  out has room for huff_bound(len).
 * Returns the bytes written. */
size_t store_segment(const uint8_t *in, size_t len, enum huff_end end, uint8_t *out, uint32_t *crc);

#endif
