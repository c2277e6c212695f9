/*
 * lanes.h - what the encoder works out for every sequence, for sixteen of them at a time
 *
 * Where a sequence is, which symbols it has, and what its codes are, put together: with AVX-512 that
 * takes a third of the instructions of asking tables, sequence by sequence.  What has to be done in
 * order, the encoder does, with what is here in the lanes of arrays: to compare and to count, and
 * to put bits behind bits.
 */
#ifndef GZLZSS_HUFFMAN_LANES_H
#define GZLZSS_HUFFMAN_LANES_H

#include "lzss/cpu.h"

#ifdef HAVE_AVX512_PATH

#include <stddef.h>
#include <stdint.h>

#include "huffman/deflate.h"
#include "lzss/lzss.h"

/* Sequences that share a call, at most, and how many a call takes a multiple of. */
#define LANES 128
#define LANES_STEP 16

/* Added to a number to mark a sequence as odd: one for which there is more to do. */
#define LANES_ODD 256

/* A sequence's last literals, whose codes are put together with the match's. */
#define LANES_LITERALS 4

/* What lanes_locate finds, by sequence. */
struct located {
    _Alignas(64) uint32_t literals[LANES]; /* where its literals start */
    uint32_t match[LANES];                 /* and where its match does */
    uint32_t length_symbol[LANES]; /* less DEFLATE_FIRST_LENGTH; LANES_ODD more if it is odd */
    uint32_t distance_symbol[LANES];
    uint32_t short_of[LANES]; /* `limit` less its length, or 0 */
    size_t end;               /* of the last */
};

/*
 * Locates up to `count` sequences that start at byte `pos` of a segment.  Stops before a group of
 * LANES_STEP of which one starts at `enough` or later, ends after `end`, or cannot be a match: of a
 * length or distance that DEFLATE does not have, or from before the segment.  Whether its bytes are
 * equal is still to be seen.  Matches longer than `limit`, or after more than `few` literals, are
 * marked as odd.  Lengths' symbols, less DEFLATE_FIRST_LENGTH, are length_symbols[0..256), by length
 * less LZ_MIN_MATCH.  Returns how many sequences were located, a multiple of LANES_STEP, or 0.
 */
uint32_t lanes_locate(struct located *l, const struct lz_sequence *sequences, uint32_t count,
                      size_t pos, size_t enough, size_t end, uint32_t few, uint32_t limit,
                      const uint8_t *length_symbols);

/*
 * Codes made ready for lanes_encode.  Literals: the code's low and high byte, and its length.
 * Lengths and distances, by symbol: what to add to the length or distance, shifted left by the
 * code's length, to have the code with the extra bits above it; and the code's length, with that of
 * the extra bits added to it in the upper half.
 */
struct lane_codes {
    _Alignas(64) uint8_t literal_low[256], literal_high[256], literal_count[256];
    uint32_t length_bits[32], length_counts[32];
    uint32_t distance_bits[32], distance_counts[32];
};

/* Makes codes ready: of literals and lengths, and of distances, with their lengths in bits. */
void lanes_make_codes(struct lane_codes *codes, const uint16_t *litlen,
                      const uint8_t *litlen_lengths, const uint16_t *distance,
                      const uint8_t *distance_lengths);

/* What lanes_encode makes, by sequence. */
struct encoded {
    _Alignas(64)
        uint64_t bits[LANES]; /* its last literals' codes and its match's; garbage if count > 64 */
    uint32_t count[LANES];    /* how many bits; LANES_ODD more if it is odd */
    uint32_t literals[LANES]; /* where its last literals start */
};

/*
 * Encodes sequences[0..count), a multiple of LANES_STEP up to LANES, whose literals and matches
 * start at `in`.  Those that take more than `room` bits are marked as odd.  Lengths' symbols are as
 * above.  Returns how many bytes of input the sequences stand for.
 */
size_t lanes_encode(struct encoded *e, const struct lane_codes *codes, const uint8_t *in,
                    const struct lz_sequence *sequences, uint32_t count, uint32_t room,
                    const uint8_t *length_symbols);

#endif

#endif
