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

/* The number of literals just before a match, at most, whose codes are joined with the codes of the
 * match. */
#define HUFF_LANES_LITERALS 4

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

/* The results of huff_lanes_encode, by sequence. */
struct huff_encoded {
    /* The codes of the sequence's last literals and of its match; garbage if they have more than 64
     * bits. */
    _Alignas(64) uint64_t bits[HUFF_LANES_BATCH];

    /* The number of bits in `bits`; plus HUFF_LANES_SPECIAL if the sequence is special. */
    uint32_t count[HUFF_LANES_BATCH];

    /* The place of the sequence's last literals, in bytes from the start of the first sequence. */
    uint32_t literals[HUFF_LANES_BATCH];
};

/*
 * Encodes sequences[0..count), whose literals and matches start at `in`; count is a multiple of
 * HUFF_LANES, up to HUFF_LANES_BATCH.  Sequences that take more than `room` bits, or have more than
 * HUFF_LANES_LITERALS literals, are special.  distance[0..HUFF_VALUE_CODES) are the codes of
 * distances; length_symbols is as for huff_lanes_locate.  Returns the number of input bytes that
 * the sequences stand for.
 */
size_t huff_lanes_encode(struct huff_encoded *e, const struct huff_lane_codes *litlen,
                         const struct huff_value_code *distance, const uint8_t *in,
                         const struct lz_sequence *sequences, uint32_t count, uint32_t room,
                         const uint8_t *length_symbols);

#endif

#endif
