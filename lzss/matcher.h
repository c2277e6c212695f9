/*
 * matcher.h - what a CPU match finder has to work with; private to lzss/
 */
#ifndef GZLZSS_LZSS_MATCHER_H
#define GZLZSS_LZSS_MATCHER_H

#include "lzss/finders.h"
#include "lzss/lzss.h"
#include "lzss/links.h"
#include "lzss/tagging.h"

struct lz_matcher {
    /* Where in the segment the search starts: 0, or LZ_CHUNK_SIZE (lz_match_after).  The finders'
     * chunks before it count as gone through. */
    size_t begin;

    /* Results: room for every chunk's sequences, one chunk's after the other's. */
    struct lz_chunk *chunks;
    struct lz_sequence *sequences;

    /* tagging: the position last seen under each hash, and one chunk's candidates. */
    uint16_t table[1 << LZ_TAGGING_HASH_BITS];
    uint16_t distances[LZ_CHUNK_SIZE];

    /* chains, optimal: chains by the first 3, 4, 7 and 12 bytes. */
    struct links by3, by4, by7, by12;

    struct lz_optimal *optimal; /* optimal's own; NULL for the others */
};

/*
 * Every finder has this form: fill m->chunks and m->sequences for the segment in[0..len), with the
 * sequences of chunk c anywhere in m->sequences.  len is at least 1.  Chunks before m->begin are
 * only to be found in by those after.
 */
#define LZ_FINDER_DECLARE(name)                                                                \
    void lz_find_##name(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in, \
                        size_t len);
LZ_FINDERS(LZ_FINDER_DECLARE)
#undef LZ_FINDER_DECLARE

/* What optimal needs beside; NULL if memory is short. */
struct lz_optimal *lz_optimal_new(size_t segment_size);
void lz_optimal_free(struct lz_optimal *o);

#endif
