/*
 * lengths.h - computes optimal code lengths, and canonical codes from them
 */
#ifndef GZLZSS_LENGTHS_H
#define GZLZSS_LENGTHS_H

#include <stdint.h>

/* The most symbols and the longest codes that huff_lengths accepts: those of DEFLATE's literals and
 * lengths.  plan.c asserts this. */
#define HUFF_MAX_SYMBOLS 286
#define HUFF_MAX_LENGTH 15

/* The buckets into which symbols are sorted by how often they occur.  With more bits, fewer symbols
 * share a bucket, and there are more buckets to clear. */
#define HUFF_BUCKET_BITS 5
#define HUFF_BUCKETS ((33 - HUFF_BUCKET_BITS) << HUFF_BUCKET_BITS)

/* Memory for huff_lengths, which would be too much for a small stack.  Its contents do not matter
 * between calls.  make_lengths.h describes each member where it is used. */
struct huff_lengths_work {
    uint64_t leaves[HUFF_MAX_SYMBOLS], sorted[HUFF_MAX_SYMBOLS + 2];
    union {
        struct {
            uint16_t start[HUFF_BUCKETS + 1], bucket_of[HUFF_MAX_SYMBOLS];
        } sort;
        struct {
            uint16_t leaf_parent[HUFF_MAX_SYMBOLS + 2], parent[HUFF_MAX_SYMBOLS + 2];
            uint64_t nodes[HUFF_MAX_SYMBOLS + 2];
            uint8_t depth[HUFF_MAX_SYMBOLS];
        } tree;
        struct {
            uint16_t packages[HUFF_MAX_LENGTH][2 * HUFF_MAX_SYMBOLS + 1];
            uint64_t list[2 * HUFF_MAX_SYMBOLS + 1], package_weight[HUFF_MAX_SYMBOLS + 1];
            uint64_t leaf_weight[HUFF_MAX_SYMBOLS + 1];
            uint16_t package_at[HUFF_MAX_SYMBOLS + 1];
            uint8_t ends[HUFF_MAX_SYMBOLS + 1];
        } merge;
    } in;
};

/*
 * Sets lengths[0..n) to the code lengths of an optimal prefix code in which no length exceeds
 * `limit`: the sum of frequency times length is the least possible.  Returns that sum.
 *
 * n is 2 to HUFF_MAX_SYMBOLS, and at most 2^limit; the sum of all frequencies must be below 2^32.
 * A symbol that does not occur gets length 0.  The code is always complete: if fewer than two
 * symbols occur, the lowest other symbols get codes, too, so that there are two codes of one bit.
 * (Some decoders reject an incomplete code.)
 */
uint64_t huff_lengths(struct huff_lengths_work *w, const uint32_t *frequencies, unsigned n,
                      unsigned limit, uint8_t *lengths);

/* Sets codes[0..n) to the canonical codes (RFC 1951, section 3.2.2) of lengths[0..n), each of which
 * is at most HUFF_MAX_LENGTH.  The codes are bit-reversed, since DEFLATE writes codes from their
 * most significant bit on.  A symbol of length 0 gets code 0. */
void huff_codes(const uint8_t *lengths, unsigned n, uint16_t *codes);

#endif
