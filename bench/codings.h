/*
 * codings.h - what the papers' own codings make of the matches that their methods find
 *
 * gzlzss codes all matches as DEFLATE does.  A paper has a coding of its own, which is what its ratios
 * are of; how many bits that takes follows from the sequences.
 */
#ifndef GZLZSS_BENCH_CODINGS_H
#define GZLZSS_BENCH_CODINGS_H

#include "lzss/lzss.h"

/* Adds up the bits of literals and matches, in order. */
struct coding_sum {
    const struct lz_level *level;
    size_t len; /* of the segment */
    uint64_t bits;
    uint32_t state[4]; /* the coding's: 0 where a segment begins */
};

/* A paper's coding. */
struct coding {
    const char *method; /* its name */
    /* `count` literals, from in[at] on, where in[0] is where the segment begins; 1 or more. */
    void (*literals)(struct coding_sum *sum, const uint8_t *in, size_t at, size_t count);
    /* A match of `length` bytes at in[at], as long as it goes on at one distance: more than DEFLATE's
     * 258 bytes, perhaps. */
    void (*match)(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                  size_t distance);
    /* The segment ends; or NULL. */
    void (*end)(struct coding_sum *sum);
};

/* The coding of this method's paper; NULL if there is none. */
const struct coding *coding_of(const char *method);

/* The bits of a segment's sequences. */
uint64_t coding_bits(const struct coding *coding, const struct lz_level *level, const uint8_t *in,
                     size_t len, const struct lz_chunk *chunks);

#endif
