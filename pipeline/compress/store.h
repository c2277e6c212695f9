/*
 * store.h - stores a segment, at level 0
 */
#ifndef GZLZSS_STORE_H
#define GZLZSS_STORE_H

#include "compat/check.h"
#include "huffman/huffman.h"

/* Stores in[0..len) as huff_store does, and sets *value to the check value of these bytes.  `out`
 * has room for huff_bound(len) bytes.  Returns the number of bytes written. */
size_t store_segment(const uint8_t *in, size_t len, enum huff_end end, enum gz_check check,
                     uint8_t *out, uint32_t *value);

#endif
