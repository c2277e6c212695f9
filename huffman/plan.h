/*
 * plan.h - what a block takes, and in which form it takes least; private to huffman/
 */
#ifndef GZLZSS_HUFFMAN_PLAN_H
#define GZLZSS_HUFFMAN_PLAN_H

#include "huffman/state.h"

/* Sets b->bits to an estimate, from b's counts, start and end. */
huff_estimate_function huff_estimate_portable, huff_estimate_avx2;

/* both = a followed by b, but for its bits. */
void huff_join(const struct huff_block *a, const struct huff_block *b, struct huff_block *both);

/* Chooses the form, and with it the codes, that b is shortest in.  b will start `offset` bits into
 * a byte, which matters to a stored block. */
void huff_plan_block(struct huff_plan *p, const struct huff_block *b, unsigned offset);

#endif
