/*
 * write.h - writes blocks; private to huffman/
 */
#ifndef GZLZSS_HUFFMAN_WRITE_H
#define GZLZSS_HUFFMAN_WRITE_H

#include "huffman/bitwriter.h"
#include "huffman/state.h"

/* Writes sequences[0..count), whose literals and matches start at `in`, and flushes.  The caller
 * must have flushed before (bitwriter.h).  Returns the place in the input where the sequences
 * end. */
huff_write_function huff_write_portable, huff_write_avx2, huff_write_avx512;

/* Set codes->by_path. */
huff_make_codes_function huff_make_codes_avx2, huff_make_codes_avx512;

/* Writes block b of the segment in[0..len), in the form that e->plan has; `final` sets BFINAL. */
void huff_write_block(struct huff_encoder *e, struct bitwriter *w, const uint8_t *in, size_t len,
                      const struct lz_chunk *chunks, const struct huff_block *b, bool final);

/* Writes in[0..n) as one or more stored blocks; `final` sets the last one's BFINAL. */
void huff_write_stored(struct bitwriter *w, const uint8_t *in, size_t n, bool final);

#endif
