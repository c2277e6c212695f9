/*
 * lengths.h - optimal code lengths, and the canonical codes that go with them
 */
#ifndef GZLZSS_LENGTHS_H
#define GZLZSS_LENGTHS_H

#include <stdint.h>

/* The most symbols and the longest codes huff_lengths is asked for: DEFLATE's literals and lengths
 * (encoder.c holds them to that). */
#define HUFF_MAX_SYMBOLS 286
#define HUFF_MAX_LENGTH 15

/* Buckets that symbols are sorted into by how often they occur (lengths.c). */
#define HUFF_BUCKET_BITS 5
#define HUFF_BUCKETS ((33 - HUFF_BUCKET_BITS) << HUFF_BUCKET_BITS)

/* What huff_lengths works on: too much for a small stack.  lengths.c says what the members are; their
 * values do not matter between calls. */
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
 * Sets lengths[0..n) so that the sum of frequency times length is the least that a prefix code
 * with no length above `limit` can have, and returns this sum; 2 <= n <= HUFF_MAX_SYMBOLS and
 * n <= 2^limit.  A symbol that does not occur gets length 0.  The code is always complete: if fewer
 * than two symbols occur, the lowest others make up two codes of one bit, since not every decoder
 * takes an incomplete code.
 * The sum of all frequencies must be below 2^32.
 */
uint64_t huff_lengths(struct huff_lengths_work *w, const uint32_t *frequencies, unsigned n,
                      unsigned limit, uint8_t *lengths);

/* Sets codes[0..n) to the canonical codes (RFC 1951, section 3.2.2) of lengths[0..n), each at most
 * HUFF_MAX_LENGTH; bit-reversed, since DEFLATE writes codes from their most significant bit.  A
 * symbol of length 0 has code 0. */
void huff_codes(const uint8_t *lengths, unsigned n, uint16_t *codes);

#endif
