/*
 * divide.h - finds good places for the ends of blocks; private to huffman/
 *
 * The caller starts a division, adds the parts of up to HUFF_DIVIDED_CHUNKS chunks in order, and
 * finishes the division.  Then d->link[p] is the first part after the block that starts with part
 * p, for each p that starts a block: for part 0, for part link[0], and so on up to d->count.
 */
#ifndef GZLZSS_HUFFMAN_DIVIDE_H
#define GZLZSS_HUFFMAN_DIVIDE_H

#include "huffman/state.h"

/* Starts a division, which has no parts yet. */
void huff_divide_start(struct huff_division *d);

/* Adds a part, which follows the last one. */
void huff_divide_add(struct huff_division *d, const struct huff_functions *functions,
                     const struct huff_block *part);

/* Ends the division: sets d->link. */
void huff_divide_finish(struct huff_division *d);

#endif
