/*
 * slots.h - sequences in a form whose codes can be written without branches on their data
 *
 * A sequence has any number of literals.  A fifth of all sequences have more than three.  A loop
 * over a sequence's literals ends sooner or later than the processor predicts, and each such
 * mistake costs as much time as writing a sequence.  So the sequences are first expanded into
 * slots.  A slot has up to HUFF_SLOT_LITERALS literals, and at most one match after them.  A
 * sequence takes one slot for each HUFF_SLOT_LITERALS of its literals, and one more slot with the
 * rest of its literals and its match.  All slots are written in the same way: codes that a slot
 * lacks have no bits.
 *
 * The functions in this file need AVX2.  With AVX-512, lanes.h does the same for sixteen slots at a
 * time.
 */
#ifndef GZLZSS_HUFFMAN_SLOTS_H
#define GZLZSS_HUFFMAN_SLOTS_H

#include <stdint.h>

#include "base/cpu.h"
#include "huffman/valuecode.h"
#include "lzss/lzss.h"

/* The most literals of a slot.  With more, each slot takes longer; with fewer, there are more
 * slots. */
#define HUFF_SLOT_LITERALS 4

/* The most literals of a sequence that is expanded.  Sequences with more are rare. */
#define HUFF_SLOT_MOST 63

/* The most slots of a sequence that is expanded. */
#define HUFF_SLOTS_SEQUENCE (HUFF_SLOT_MOST / HUFF_SLOT_LITERALS + 1)

/* No sequence is expanded after so many slots.  With more, slots take more of the first-level
 * cache; with fewer, the steps start more often. */
#define HUFF_SLOTS_ENOUGH 128

#ifdef HAVE_AVX2_PATH

/*
 * A code in a form that is easy to join with others: the code's bits, with extra bits, are the
 * uppermost bits of the number, and their count is in the 6 lowest bits.  The code of something
 * that is not there is 0.  One shift and one "or" join two codes.  The number itself serves as the
 * count of the shift, which only takes the 6 lowest bits.
 */
typedef uint64_t huff_top_code;

/* The index of a literal that is not there in huff_slot_codes.literal. */
#define HUFF_NO_LITERAL 256

/* A block's codes in the form that this file's functions need. */
struct huff_slot_codes {
    huff_top_code literal[HUFF_NO_LITERAL + 1];
    huff_top_code length[LZ_MAX_MATCH + 1]; /* by length; lengths below LZ_MIN_MATCH have no bits */

    /* The members of each distance's struct huff_value_code: `bits`, and `count` << 16 | `shift`.
     * Both are indexed as slots.c says, and are 0 for a distance of 0. */
    _Alignas(32) uint32_t distance_bits[HUFF_VALUE_CODES], distance_counts[HUFF_VALUE_CODES];
};

/* Makes the codes of a block.  `litlen` and `litlen_lengths` are its codes for literals and lengths
 * and the number of their bits; `distance` are its codes for distances, by symbol. */
void huff_slots_make_codes(struct huff_slot_codes *codes, const uint16_t *litlen,
                           const uint8_t *litlen_lengths, const struct huff_value_code *distance);

/* Room for the slots of one call of huff_slots_expand. */
#define HUFF_SLOTS (HUFF_SLOTS_ENOUGH + HUFF_SLOTS_SEQUENCE)

struct huff_slots {
    /* HUFF_SLOT_LITERALS for each slot: literals, then HUFF_NO_LITERAL. */
    _Alignas(32) uint16_t literals[HUFF_SLOTS * HUFF_SLOT_LITERALS];
    /* The match's length in the low 16 bits and its distance in the others; 1 if there is none. */
    _Alignas(32) uint32_t match[HUFF_SLOTS];
    _Alignas(32) huff_top_code distance[HUFF_SLOTS]; /* see huff_slots_encode */
    uint32_t used;                                   /* the number of slots */
};

/*
 * Expands sequences into slots: the first of sequences[0..count), whose literals and matches start
 * at *in.  Stops before a sequence with more than HUFF_SLOT_MOST literals, and at HUFF_SLOTS_ENOUGH
 * slots.  Returns the number of sequences that were expanded, and sets *in to their end.  Reads up
 * to 16 bytes from the place of a sequence's literals, however few they are.
 */
uint32_t huff_slots_expand(struct huff_slots *s, const uint8_t **in,
                           const struct lz_sequence *sequences, uint32_t count);

/* Sets each slot's `distance` to the code of its match's distance, with its extra bits. */
void huff_slots_encode(struct huff_slots *s, const struct huff_slot_codes *codes);

#endif

#endif
