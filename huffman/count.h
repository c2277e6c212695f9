/*
 * count.h - checks matches and counts symbols; private to huffman/
 */
#ifndef GZLZSS_HUFFMAN_COUNT_H
#define GZLZSS_HUFFMAN_COUNT_H

#include "huffman/state.h"

/*
 * Checks and counts sequences that start at in[pos], in a chunk that ends at chunk_end: at most
 * `count`, and none that starts at `enough` or later.  Returns where they end, and their number in
 * *counted; or 0 if one is not a match.
 */
huff_count_function huff_count_portable, huff_count_avx2, huff_count_avx512;

/*
 * Checks the matches of the part that starts at *at, and counts the part's symbols.  A part is as
 * many sequences as give `split` bytes, or the rest of the chunk.  Moves *at to the part's end.
 * False if a sequence is not a match.
 */
bool huff_count_part(struct huff_encoder *e, const uint8_t *in, size_t len,
                     const struct lz_chunk *chunks, size_t split, struct huff_place *at,
                     struct huff_counts *counts);

#endif
