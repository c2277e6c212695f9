/*
 * lanes.h - where sequences are, and their codes, worked out for sixteen at a time
 *
 * With AVX-512, this takes less than half of the instructions of asking tables, sequence by
 * sequence.  What it gives are arrays, from which the encoder does one by one what has to be done
 * in order: it compares and counts, and puts bits behind bits.
 */
#ifndef GZLZSS_HUFFMAN_LANES_H
#define GZLZSS_HUFFMAN_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

#ifdef HAVE_AVX512_PATH

#include "base/deflate.h"
#include "huffman/valuecode.h"
#include "lzss/lzss.h"

/* Sequences that are worked on at a time, and that a call takes at most: larger, and more of the
 * first-level cache goes; smaller, and tables are brought into registers more often. */
#define HUFF_LANES 16
#define HUFF_LANES_BATCH 128

/* Added to a number to mark a sequence as special: one for which there is more to do. */
#define HUFF_LANES_SPECIAL 256

/* A sequence's last literals, whose codes are put together with the match's. */
#define HUFF_LANES_LITERALS 4

/*
 * What huff_lanes_locate finds, by sequence: where its literals and its match start; its length and
 * distance; the length's symbol, less DEFLATE_FIRST_LENGTH, with HUFF_LANES_SPECIAL added if it is
 * special, and the distance's; and `limit` less its length, or 0.  And where the last one ends.
 */
struct huff_located {
    _Alignas(64) uint32_t literals[HUFF_LANES_BATCH];
    uint32_t match[HUFF_LANES_BATCH];
    uint32_t length[HUFF_LANES_BATCH];
    uint32_t distance[HUFF_LANES_BATCH];
    uint32_t length_symbol[HUFF_LANES_BATCH];
    uint32_t distance_symbol[HUFF_LANES_BATCH];
    uint32_t short_of[HUFF_LANES_BATCH];
    size_t end;
};

/*
 * Locates up to `count` sequences that start at byte `pos` of a segment.  Stops before a group of
 * HUFF_LANES of which one starts at `enough` or later, ends after `end`, or cannot be a match: of a
 * length or distance that DEFLATE does not have, or from before the segment.  Whether its bytes are
 * equal is still to be seen; for that, nothing has to be read from `sequences` again.  Matches
 * longer than `limit`, or after more than `few` literals, are marked as special.
 * length_symbols[0..256) are the symbols of lengths, less DEFLATE_FIRST_LENGTH, by length less
 * LZ_MIN_MATCH.  Returns how many sequences were located, a multiple of HUFF_LANES, or 0.
 */
uint32_t huff_lanes_locate(struct huff_located *l, const struct lz_sequence *sequences,
                           uint32_t count, size_t pos, size_t enough, size_t end, uint32_t few,
                           uint32_t limit, const uint8_t *length_symbols);

/* Codes made ready for huff_lanes_encode.  Literals: the code's low and high byte, and its
 * length. */
struct huff_lane_codes {
    _Alignas(64) uint8_t literal_low[256], literal_high[256], literal_count[256];
    struct huff_value_code length[HUFF_VALUE_CODES]; /* by symbol, less DEFLATE_FIRST_LENGTH */
};

/* Makes codes of literals and lengths, with their lengths in bits, ready. */
void huff_lanes_make_codes(struct huff_lane_codes *codes, const uint16_t *litlen,
                           const uint8_t *litlen_lengths);

/* What huff_lanes_encode makes, by sequence: its last literals' codes and its match's; how many
 * bits these are, with HUFF_LANES_SPECIAL added if it is special; and where its last literals
 * start.  More than 64 bits are garbage. */
struct huff_encoded {
    _Alignas(64) uint64_t bits[HUFF_LANES_BATCH];
    uint32_t count[HUFF_LANES_BATCH];
    uint32_t literals[HUFF_LANES_BATCH];
};

/*
 * Encodes sequences[0..count), count being a multiple of HUFF_LANES up to HUFF_LANES_BATCH, whose
 * literals and matches start at `in`.  Those that take more than `room` bits, or have more than
 * HUFF_LANES_LITERALS literals, are marked as special.  distance[0..HUFF_VALUE_CODES) are the
 * distances' codes, length_symbols is as above.  Returns how many bytes of input the sequences
 * stand for.
 */
size_t huff_lanes_encode(struct huff_encoded *e, const struct huff_lane_codes *litlen,
                         const struct huff_value_code *distance, const uint8_t *in,
                         const struct lz_sequence *sequences, uint32_t count, uint32_t room,
                         const uint8_t *length_symbols);

#endif

#endif
