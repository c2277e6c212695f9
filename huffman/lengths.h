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

/*
 * Sets lengths[0..n) so that the sum of frequency times length is the least that a prefix code
 * with no length above `limit` can have, and returns this sum; 2 <= n <= HUFF_MAX_SYMBOLS and
 * n <= 2^limit.  A symbol that does not occur gets length 0.  The code is always complete: if fewer
 * than two symbols occur, the lowest others make up two codes of one bit, since not every decoder
 * takes an incomplete code.
 * The sum of all frequencies must be below 2^32.
 */
uint64_t huff_lengths(const uint32_t *frequencies, unsigned n, unsigned limit, uint8_t *lengths);

/* Sets codes[0..n) to the canonical codes (RFC 1951, section 3.2.2) of lengths[0..n), each at most
 * HUFF_MAX_LENGTH; bit-reversed, since DEFLATE writes codes from their most significant bit.  A
 * symbol of length 0 has code 0. */
void huff_codes(const uint8_t *lengths, unsigned n, uint16_t *codes);

#endif
