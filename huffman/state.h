/*
 * state.h - the state that counting, planning and writing a block share; private to huffman/
 *
 * A segment goes through three steps, part by part and block by block.  count.c checks a part's
 * matches and counts its symbols.  plan.c estimates from the counts how many bits a block takes,
 * and chooses the block's form.  write.c writes the block.  encoder.c calls these steps.
 */
#ifndef GZLZSS_HUFFMAN_STATE_H
#define GZLZSS_HUFFMAN_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/deflate.h"
#include "huffman/header.h"
#include "huffman/huffman.h"
#include "huffman/lanes.h"
#include "huffman/lengths.h"
#include "huffman/slots.h"
#include "huffman/valuecode.h"
#include "lzss/lzss.h"

/* The prefix of a function that is inlined into each version of a function of struct
 * huff_functions. */
#define LOOP static inline __attribute__((always_inline))

/* The counts of a block.  The arrays are as large as the alphabets of fixed blocks, so that loops
 * over them take whole vectors. */
struct huff_counts {
    uint32_t litlen[DEFLATE_FIXED_LITLEN_SYMBOLS];     /* how often each symbol occurs */
    uint32_t distance[DEFLATE_FIXED_DISTANCE_SYMBOLS]; /* how often each symbol occurs */
    uint64_t extra_bits;                               /* the extra bits of all symbols */
};

/* How a block is written.  `header` and the code lengths are only for dynamic blocks. */
struct huff_plan {
    enum deflate_block_type type;
    struct huff_header header;
    uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS];     /* the code lengths, in bits */
    uint8_t distance_lengths[DEFLATE_DISTANCE_SYMBOLS]; /* the code lengths, in bits */
    struct huff_lengths_work work;                      /* memory for making code lengths */
};

/* A place in a segment, between two sequences or chunks. */
struct huff_place {
    size_t byte;
    size_t chunk;
    uint32_t sequence; /* index in the chunk */
};

/* A block before it is written, or a part. */
struct huff_block {
    struct huff_counts counts;
    struct huff_place start, end;
    uint64_t bits; /* the estimated size */
};

/* Within a chunk, the least distance between two places where a block may end with HUFF_BEST.  With
 * 2048 bytes, outputs are 0.01 to 0.1 % smaller than with 4096.  With less, the gain is worth less
 * than the time to compare more blocks. */
#define HUFF_BEST_SPLIT ((size_t)2 << 10)

/* The most chunks that are divided at a time: those of a segment of 4 MiB.  A block ends after
 * these chunks in any case. */
#define HUFF_DIVIDED_CHUNKS ((size_t)128)

/* The most parts of these chunks: in each chunk, each part has HUFF_BEST_SPLIT bytes or more unless
 * it is the last one. */
#define HUFF_DIVIDED_PARTS (HUFF_DIVIDED_CHUNKS * (LZ_CHUNK_SIZE / HUFF_BEST_SPLIT + 1))

/* The most open blocks of a division.  With 40, output is less than 0.01 % smaller, and encoding
 * takes 1.6 times as long. */
#define HUFF_OPEN 16

/* A block that may be the last one of a division of the parts so far.  Later parts may join it. */
struct huff_open {
    struct huff_block block;
    uint16_t first;  /* its first part */
    uint64_t before; /* the estimated bits of the best division of the parts before it */
    uint64_t total;  /* the same with this block; UINT64_MAX if the block is too short */
};

/* A division of some chunks into blocks (divide.h). */
struct huff_division {
    struct huff_open open[HUFF_OPEN];

    /* The numbers of the open blocks in `open`, in the order of their starts; then the other
     * numbers. */
    uint8_t order[HUFF_OPEN];
    size_t open_count;

    size_t count;  /* the number of parts */
    uint64_t bits; /* the size of the best division so far; UINT64_MAX if there is none yet, as the
                    * parts are too short */

    /* link[p]: while parts are added, the start of the last block of the best division of the first
     * p parts.  Later, see divide.h. */
    uint16_t link[HUFF_DIVIDED_PARTS + 1];
};

_Static_assert(HUFF_DIVIDED_PARTS <= UINT16_MAX, "a part's number in 16 bits");

/*
 * A block's codes, made ready for writing.  An entry of `literal` or `length` has a number of bits
 * in its low 8 bits, and these bits from bit 8 on: the code, and above it the length's extra bits.
 * A table by distance would be too large, so `distance` is by symbol.
 */
struct huff_codes {
    uint32_t literal[DEFLATE_END_OF_BLOCK + 1];
    uint32_t length[LZ_MAX_MATCH + 1];
    /* Only the first DEFLATE_DISTANCE_SYMBOLS are set. */
    struct huff_value_code distance[HUFF_VALUE_CODES];
#ifdef HAVE_AVX2_PATH
    /* The same codes in the form that the path needs (huff_functions). */
    union {
        struct huff_slot_codes slots; /* with AVX2 */
#ifdef HAVE_AVX512_PATH
        struct huff_lane_codes lanes; /* with AVX-512 */
#endif
    } by_path;
#endif
};

/* The number of literals that count.c copies in one step.  Most matches follow at most this many
 * literals.  With a larger number, each step copies more.  With a smaller number, more sequences
 * have too many literals for a step, and count.c processes them more slowly. */
#define FEW_LITERALS 16

struct huff_encoder;

/* Checks and counts a part's sequences (count.h). */
typedef size_t huff_count_function(struct huff_encoder *e, const uint8_t *in, size_t pos,
                                   size_t chunk_end, size_t enough,
                                   const struct lz_sequence *sequences, uint32_t count,
                                   uint32_t *counted);

/* Writes sequences (write.h). */
typedef const uint8_t *huff_write_function(struct huff_encoder *e, struct bitwriter *w,
                                           const uint8_t *in, const struct lz_sequence *sequences,
                                           uint32_t count);

/* Makes the codes that the path needs in addition to those for all paths (write.h). */
typedef void huff_make_codes_function(struct huff_codes *codes, const uint16_t *litlen,
                                      const uint8_t *litlen_lengths);

/* Estimates a block's size (plan.h). */
typedef void huff_estimate_function(struct huff_block *b);

/*
 * The functions that have a version for each path (cpu.h).  The loops over sequences, in count.c
 * and write.c, are limited by the number of instructions and by mispredicted branches.  With AVX2,
 * write.c writes slots (slots.h).  With AVX-512, lanes.h does most of the work of these loops, and
 * other versions do the last sequences of a part.  In plan.c, the estimates use larger vectors.
 * Each version is a function of its own (NOINLINE), so that it has all registers.
 */
struct huff_functions {
    huff_count_function *count;
    huff_write_function *write;
    huff_make_codes_function *make_codes; /* NULL if the path needs no more codes */
    huff_estimate_function *estimate;
};

/* A part's counts of lengths, by symbol less DEFLATE_FIRST_LENGTH, and of distances, by symbol. */
struct huff_symbol_counts {
    uint16_t length[DEFLATE_FIXED_LITLEN_SYMBOLS - DEFLATE_FIRST_LENGTH];
    uint16_t distance[DEFLATE_FIXED_DISTANCE_SYMBOLS];
};

/* One thread's memory. */
struct huff_encoder {
    const struct huff_functions *functions; /* the versions for this processor */
    struct huff_block blocks[3];            /* the open block, the next part, and both joined; with
                                             * HUFF_BEST, a block or a part, and a part */
    struct huff_division division;          /* the places where blocks end (HUFF_BEST) */
    struct huff_plan plan;                  /* the plan of the block that is written */
    struct huff_codes codes;                /* the codes of the block that is written */
    bool has_fixed_codes;                   /* `codes` has the codes of fixed blocks */
    bool long_matches;                      /* the last part had many long matches (count.c) */

    /* Indexed by a match's length less LZ_MIN_MATCH: the length's symbol, less
     * DEFLATE_FIRST_LENGTH. */
    _Alignas(64) uint8_t length_symbols[256];

    /* The symbols of distances; see huff_distance_symbol. */
    uint8_t distance_symbols[1 + 2 * 256];

    /* The part's literals, except those of sequences with more than FEW_LITERALS. */
    uint8_t text[LZ_CHUNK_SIZE + FEW_LITERALS];

    /* The part's counts of literals.  They are spread over four tables, so that counting a literal
     * does not wait for counting an equal one just before it. */
    uint16_t literals[4][256];

    /* The part's counts of lengths and distances.  Two sequences in a row are counted in two
     * tables, for the same reason. */
    struct huff_symbol_counts symbols[2];
#ifdef HAVE_AVX2_PATH
    /* A batch of sequences. */
    union {
        struct huff_slots slots; /* while a block is written, with AVX2 */
#ifdef HAVE_AVX512_PATH
        struct huff_located located;  /* while a part is counted, with AVX-512 */
        struct huff_lane_slots lanes; /* while a block is written, with AVX-512 */
#endif
    } batch;
#endif
};

/* Returns the symbol of a distance, 1 to 32768.  Above 256, the number of distances that a symbol
 * stands for is a multiple of 128, so the table has one entry for 128 of them.  A table with an
 * entry for each distance would take cache from the data. */
static inline unsigned huff_distance_symbol(const struct huff_encoder *e, unsigned distance)
{
    return e->distance_symbols[distance <= 256 ? distance : (distance + 127 + (256 << 7)) >> 7];
}

#endif
