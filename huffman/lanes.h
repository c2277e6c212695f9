/*
 * lanes.h - computes the places and the codes of sixteen sequences at a time
 *
 * This code needs AVX-512.  It takes less than half as many instructions as code that processes one
 * sequence at a time.  The results are arrays.  With these, the encoder does the steps that must go
 * in order, one sequence after the other: comparing, counting, and writing bits.
 */
#ifndef GZLZSS_HUFFMAN_LANES_H
#define GZLZSS_HUFFMAN_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

#ifdef HAVE_AVX512_PATH

#include "base/deflate.h"
#include "huffman/slots.h"
#include "huffman/valuecode.h"
#include "lzss/lzss.h"

/* The number of sequences that are processed at a time.  A vector has one number for each of
 * them. */
#define HUFF_LANES 16

/* The most sequences of a call.  With more, the arrays take more of the first-level cache; with
 * fewer, tables are loaded into registers more often. */
#define HUFF_LANES_BATCH 128

/* A number that is added to one of a sequence's results to mark the sequence as special.  For a
 * special sequence, the caller has to do more. */
#define HUFF_LANES_SPECIAL 256

/* The results of huff_lanes_locate, by sequence, and the place where the last sequence ends. */
struct huff_located {
    _Alignas(64) uint32_t literals[HUFF_LANES_BATCH]; /* the place of the first literal */
    uint32_t match[HUFF_LANES_BATCH];                 /* the place of the match */
    uint32_t length[HUFF_LANES_BATCH];                /* the match's length */
    uint32_t distance[HUFF_LANES_BATCH];              /* the match's distance */

    /* The length's symbol, less DEFLATE_FIRST_LENGTH; plus HUFF_LANES_SPECIAL if the sequence is
     * special. */
    uint32_t length_symbol[HUFF_LANES_BATCH];

    uint32_t distance_symbol[HUFF_LANES_BATCH]; /* the distance's symbol */
    uint32_t short_of[HUFF_LANES_BATCH];        /* `limit` less the length, or 0 if the length is
                                                 * greater */
    size_t end;                                 /* the place after the last match */
};

/*
 * Locates up to `count` sequences that start at byte `pos` of a segment.  A sequence is special if
 * its match is longer than `limit` or follows more than `few` literals.  For each length,
 * length_symbols[length - LZ_MIN_MATCH] is the length's symbol, less DEFLATE_FIRST_LENGTH.
 *
 * Works on groups of HUFF_LANES sequences.  Stops before a group if one of its sequences starts at
 * `enough` or later, ends after `end`, or has a match whose length or distance is outside DEFLATE's
 * limits, or that refers to bytes before the segment.  This function does not compare the match
 * with the bytes to which it refers; the caller can do that without reading `sequences` again.
 *
 * Returns the number of sequences located, a multiple of HUFF_LANES, or 0.
 */
uint32_t huff_lanes_locate(struct huff_located *l, const struct lz_sequence *sequences,
                           uint32_t count, size_t pos, size_t enough, size_t end, uint32_t few,
                           uint32_t limit, const uint8_t *length_symbols);

/* Codes in the form that huff_lanes_encode needs. */
struct huff_lane_codes {
    _Alignas(64) uint8_t literal_low[256];           /* the low byte of each literal's code */
    uint8_t literal_high[256];                       /* the high byte of each literal's code */
    uint8_t literal_count[256];                      /* the number of bits of each literal's code */
    struct huff_value_code length[HUFF_VALUE_CODES]; /* by symbol less DEFLATE_FIRST_LENGTH */
};

/* Fills in `codes` for literals and lengths.  litlen are their codes, and litlen_lengths the
 * lengths of these codes in bits. */
void huff_lanes_make_codes(struct huff_lane_codes *codes, const uint16_t *litlen,
                           const uint8_t *litlen_lengths);

/* Slots (slots.h) in the form that is encoded with AVX-512. */

/* A slot's match and its number of literals, in one number: the match's distance in the low 16
 * bits, then its length in 9 bits, both 0 if there is no match; and then the number of literals. */
#define HUFF_LANES_LENGTH_SHIFT 16
#define HUFF_LANES_LITERALS_SHIFT 25
#define HUFF_LANES_LENGTH_MASK 511

/* Room for the slots of one call of huff_lanes_expand, and those that its last step may write after
 * them. */
#define HUFF_LANES_SLOTS (HUFF_SLOTS_ENOUGH + (HUFF_LANES + 1) * HUFF_SLOTS_SEQUENCE)

struct huff_lane_slots {
    /* HUFF_SLOT_LITERALS bytes for each slot: literals, then any bytes. */
    _Alignas(64) uint8_t literals[HUFF_LANES_SLOTS * HUFF_SLOT_LITERALS];
    _Alignas(64) uint32_t match[HUFF_LANES_SLOTS]; /* see HUFF_LANES_LENGTH_SHIFT */
    uint32_t used;                                 /* the number of slots */

    /* The results of huff_lanes_encode: the codes of the slot's literals and of its match, and the
     * number of their bits.  If there are more than 64 bits, `bits` is garbage. */
    _Alignas(64) uint64_t bits[HUFF_LANES_SLOTS];
    uint32_t count[HUFF_LANES_SLOTS];
};

/*
 * Expands sequences into slots: the first of sequences[0..count), whose literals and matches start
 * at *in.  Works on groups of HUFF_LANES sequences.  Stops before a group with a sequence that has
 * more than HUFF_SLOT_MOST literals, and at HUFF_SLOTS_ENOUGH slots.  Returns the number of
 * sequences that were expanded, a multiple of HUFF_LANES, and sets *in to their end.  Reads up to
 * 64 bytes from the place of a sequence's literals, however few they are.
 */
uint32_t huff_lanes_expand(struct huff_lane_slots *s, const uint8_t **in,
                           const struct lz_sequence *sequences, uint32_t count);

/* Sets each slot's `bits` and `count`.  distance[0..HUFF_VALUE_CODES) are the codes of distances;
 * length_symbols is as for huff_lanes_locate. */
void huff_lanes_encode(struct huff_lane_slots *s, const struct huff_lane_codes *litlen,
                       const struct huff_value_code *distance, const uint8_t *length_symbols);

#endif

#endif
