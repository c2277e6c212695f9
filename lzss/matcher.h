/*
 * matcher.h - what a CPU match finder has to work with; private to lzss/
 */
#ifndef GZLZSS_LZSS_MATCHER_H
#define GZLZSS_LZSS_MATCHER_H

#include <stdbool.h>

#include "lzss/finders.h"
#include "lzss/hashes.h"
#include "lzss/links.h"
#include "lzss/lzss.h"

struct lz_matcher {
    /* Results: room for every chunk's sequences, one chunk's after the other's. */
    struct lz_chunk *chunks;
    struct lz_sequence *sequences;

    /* What of the segment is to be matched, from a chunk's start to another's or its own end. */
    size_t begin, end;
    /* Where positions begin to be entered into tables: at `begin`, or a chunk before; and whether
     * these tables hold what lies before that, or are to be emptied. */
    size_t enter;
    bool goes_on;
    /* This matcher's results, or another's. */
    struct lz_chunk *to_chunks;
    struct lz_sequence *to_sequences;

    /* tagging: the position last seen under each hash, and one chunk's candidates. */
    uint16_t table[1 << LZ_TAGGING_HASH_BITS];
    uint16_t distances[LZ_CHUNK_SIZE];

    /* chains, optimal: chains by the first 3, 4, 7 and 12 bytes. */
    struct links by3, by4, by7, by12;

    struct lz_optimal *optimal; /* optimal's own; NULL for the others */
};

/*
 * Every finder has this form: for the segment in[0..len), len at least 1, match what m->begin and
 * m->end say, and fill m->to_chunks for these chunks, with the sequences of chunk c in
 * m->to_sequences + c * LZ_CHUNK_MAX_SEQUENCES or, if it is not the first, after those of the chunk
 * before.  `optimal` goes by m->begin alone, and always to the segment's end.
 */
#define LZ_FINDER_DECLARE(name)                                                                \
    void lz_find_##name(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in, \
                        size_t len);
LZ_FINDERS(LZ_FINDER_DECLARE)
#undef LZ_FINDER_DECLARE

/* What optimal needs beside, NULL if memory is short; and the bytes of it. */
struct lz_optimal *lz_optimal_new(size_t segment_size);
size_t lz_optimal_size(size_t segment_size);
void lz_optimal_free(struct lz_optimal *o);

#endif
