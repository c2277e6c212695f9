/*
 * matcher.h - what a CPU match finder has to work with; private to lzss/
 */
#ifndef GZLZSS_LZSS_MATCHER_H
#define GZLZSS_LZSS_MATCHER_H

#include "lzss/finders.h"
#include "lzss/lzss.h"
#include "lzss/chains.h"
#include "lzss/tagging.h"

struct lz_matcher {
    /* Results: room for every chunk's sequences, one chunk's after the other's. */
    struct lz_chunk *chunks;
    struct lz_sequence *sequences;

    /* tagging: the position last seen under each hash, and one chunk's candidates. */
    uint16_t table[1 << LZ_TAGGING_HASH_BITS];
    uint16_t distances[LZ_CHUNK_SIZE];

    /* chains: the tables, and the links of the chunk before, then of the chunk at hand. */
    int16_t chain_table[1 << LZ_CHAINS_HASH_BITS];
    int16_t chain_table3[1 << LZ_CHAINS_HASH3_BITS];
    uint16_t links[2 * LZ_CHUNK_SIZE];
    uint16_t links3[LZ_CHUNK_SIZE];
};

/*
 * Every finder has this form: fill m->chunks and m->sequences for the segment in[0..len), with the
 * sequences of chunk c anywhere in m->sequences.  len is at least 1.
 */
#define LZ_FINDER_DECLARE(name)                                                                \
    void lz_find_##name(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in, \
                        size_t len);
LZ_FINDERS(LZ_FINDER_DECLARE)
#undef LZ_FINDER_DECLARE

#endif
