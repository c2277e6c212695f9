/*
 * count.h - checks matches and counts symbols; private to huffman/
 */
#ifndef GZLZSS_HUFFMAN_COUNT_H
#define GZLZSS_HUFFMAN_COUNT_H

#include "huffman/state.h"

/*
 * Checks and counts sequences that start at in[pos], in a chunk that ends at in[chunk_end]: at most
 * `count` of them, and none that starts at in[enough] or later.  Sets *counted to the number of
 * sequences counted, and returns the place after the last one.  Returns 0 if one of these sequences
 * is not a match.
 */
huff_count_function huff_count_portable, huff_count_avx2, huff_count_avx512;

/*
 * Checks the matches of the part that starts at *at, and counts its symbols.  A part ends after the
 * first sequence with which it reaches `split` bytes, or else at the chunk's end.  Moves *at to the
 * part's end.  Returns false if a sequence is not a match.
 */
bool huff_count_part(struct huff_encoder *e, const uint8_t *in, size_t len,
                     const struct lz_chunk *chunks, size_t split, struct huff_place *at,
                     struct huff_counts *counts);

#endif
