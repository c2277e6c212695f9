/*
 * divide.h - divides a short segment into blocks in the best way; private to huffman/
 */
#ifndef GZLZSS_HUFFMAN_DIVIDE_H
#define GZLZSS_HUFFMAN_DIVIDE_H

#include "huffman/state.h"

/* Chooses the blocks of the division with the smallest estimated size: sets d->next from
 * d->parts[0..d->count).  `block` is memory for a block. */
void huff_divide(struct huff_division *d, const struct huff_functions *functions,
                 struct huff_block *block);

/* Sets *block to the block of parts [begin, end). */
void huff_join_parts(const struct huff_division *d, size_t begin, size_t end,
                     struct huff_block *block);

#endif
