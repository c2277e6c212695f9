/*
 * codings.h - the size of a method's matches in the coding of the method's paper
 *
 * gzlzss codes all matches by DEFLATE. Each paper has a coding of its own, and gives compression
 * ratios in that coding. To compare with these ratios, the functions below compute from the
 * sequences how many bits the paper's coding would take, without encoding.
 */
#ifndef GZLZSS_BENCH_CODINGS_H
#define GZLZSS_BENCH_CODINGS_H

#include "lzss/lzss.h"

/* The size of a segment in a paper's coding, which grows as literals and matches are added in
 * order. */
struct coding_sum {
    const struct lz_level *level;
    size_t len; /* bytes of the segment */
    uint64_t bits;
    uint32_t state[4]; /* the coding's own numbers; 0 at a segment's start */
};

/* A paper's coding. */
struct coding {
    const char *method; /* the method's name */
    /* Adds `count` literals (1 or more) from in[at] on. in[0] is the segment's start. */
    void (*literals)(struct coding_sum *sum, const uint8_t *in, size_t at, size_t count);
    /* Adds a match of `length` bytes at in[at]. `length` may exceed DEFLATE's 258 bytes, because
     * adjacent matches at the same distance are joined. */
    void (*match)(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                  size_t distance);
    /* Adds the size of everything that the coding puts at a segment's end. NULL if it puts nothing
     * there. */
    void (*end)(struct coding_sum *sum);
};

/* Returns the coding of a method's paper, or NULL if there is none. */
const struct coding *coding_of(const char *method);

/* Returns the size of a segment's sequences in the coding, in bits. */
uint64_t coding_bits(const struct coding *coding, const struct lz_level *level, const uint8_t *in,
                     size_t len, const struct lz_chunk *chunks);

#endif
