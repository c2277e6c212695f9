/*
 * plan.h - estimates a block's size, and chooses its form; private to huffman/
 */
#ifndef GZLZSS_HUFFMAN_PLAN_H
#define GZLZSS_HUFFMAN_PLAN_H

#include "huffman/state.h"

/* Sets b->bits to an estimate of the block's size, made from b's counts, start and end. */
huff_estimate_function huff_estimate_portable, huff_estimate_avx2;

/* Sets *both to the block that has the data of a, then that of b.  Does not set both->bits. */
void huff_join(const struct huff_block *a, const struct huff_block *b, struct huff_block *both);

/* Chooses the form in which b is shortest, and the codes of a dynamic block.  b will start `offset`
 * bits into a byte, which decides how much padding a stored block needs. */
void huff_plan_block(struct huff_plan *p, const struct huff_block *b, unsigned offset);

#endif
