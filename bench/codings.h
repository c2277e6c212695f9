/*
 * codings.h - the size of a method's matches in the format of the method's paper
 *
 * gzlzss codes all matches by DEFLATE. Each paper has a format of its own, and gives compression
 * ratios in that format. papers/codec/ writes these formats. The functions below compute from the
 * sequences how large the file would be, without writing it; a test holds both equal.
 *
 * For the position lists, the size is that of the packed blocks: the text with its pairs, and the
 * index, before the range coder.
 */
#ifndef GZLZSS_BENCH_CODINGS_H
#define GZLZSS_BENCH_CODINGS_H

#include "lzss/lzss.h"

/* The size of a segment in a paper's format, which grows as literals and matches are added in
 * order. "Chunk" means a chunk of the paper here. */
struct coding_sum {
    const struct lz_level *level;
    const uint8_t *in;   /* the segment */
    size_t len;          /* bytes of the segment */
    size_t chunk;        /* bytes of a chunk */
    uint64_t bits;       /* of the chunks that have ended */
    uint64_t chunk_bits; /* of the current chunk, so far */
    uint32_t state[2];   /* the coding's own numbers; 0 at a chunk's start */
};

/* A paper's format. */
struct coding {
    const char *method; /* the method's name */
    const char *form;   /* the format's name, if the method has several; otherwise NULL */
    size_t (*chunk)(const struct lz_level *level); /* returns the bytes of a chunk */
    /* Adds `count` literals (1 or more) from in[at] on. They lie in one chunk. */
    void (*literals)(struct coding_sum *sum, size_t at, size_t count);
    /* Adds a match of `length` bytes at in[at], which lies in one chunk. `length` may exceed
     * DEFLATE's 258 bytes, because adjacent matches at the same distance are joined. */
    void (*match)(struct coding_sum *sum, size_t at, size_t length, size_t distance);
    /* Adds what belongs to a chunk of `plain` bytes besides its literals and matches, and pads the
     * chunk. */
    void (*end)(struct coding_sum *sum, size_t plain);
    uint32_t file_bits; /* what a file has besides its chunks */
};

/* Returns a format of a method's paper: the first one if `form` is NULL, otherwise the one with
 * this name. Returns NULL if there is none. */
const struct coding *coding_of(const char *method, const char *form);

/* Returns the size of a segment's sequences in the format, in bits: that of its chunks. No match of
 * the segment may cross from one chunk into another, or reach before its chunk; so for `lzss` and
 * `lz4`, a segment has at most a chunk of the paper, 1 MiB. The keys must fit the format
 * (paper_fits). */
uint64_t coding_bits(const struct coding *coding, const struct lz_level *level, const uint8_t *in,
                     size_t len, const struct lz_chunk *chunks);

#endif
