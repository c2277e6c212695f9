/*
 * count.h - checks matches and counts symbols; private to huffman/
 */
#ifndef GZLZSS_HUFFMAN_COUNT_H
#define GZLZSS_HUFFMAN_COUNT_H

#include "huffman/state.h"

/*
 * Checks the matches of sequences and counts their symbols.  The first sequence starts at in[pos],
 * and their chunk ends at in[chunk_end].  Stops after `count` sequences, or before a sequence that
 * starts at in[enough] or later.  Sets *counted to the number of sequences counted, and returns the
 * place where the last of them ends.  Returns 0 if one of their matches is wrong (huffman.h).
 */
huff_count_function huff_count_portable, huff_count_avx2, huff_count_avx512;

/*
 * Checks the matches of the part that starts at *at, and counts its symbols.  A part ends after the
 * first sequence with which it reaches `split` bytes, or else at the chunk's end.  Moves *at to the
 * part's end.  Returns false if a match is wrong (huffman.h).
 */
bool huff_count_part(struct huff_encoder *e, const uint8_t *in, size_t len,
                     const struct lz_chunk *chunks, size_t split, struct huff_place *at,
                     struct huff_counts *counts);

#endif
