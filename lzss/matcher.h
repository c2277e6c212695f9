/*
 * matcher.h - what a CPU match finder has to work with; private to lzss/ and papers/
 */
#ifndef GZLZSS_LZSS_MATCHER_H
#define GZLZSS_LZSS_MATCHER_H

#include <stdbool.h>

#include "lzss/finders.h"
#include "lzss/hashes.h"
#include "lzss/links.h"
#include "lzss/lzss.h"

/* Chunks that the tagging finder walks in turn. */
#define TAGGING_CHUNKS 4

/*
 * A finder is called to match bytes [begin, end) of a segment.  It fills in to_chunks for the
 * chunks there.  The sequences of chunk c start at to_sequences + c * LZ_CHUNK_MAX_SEQUENCES or, if
 * c is not the first of them, after those of chunk c - 1.  A finder that cannot match in parts goes
 * by `begin` alone, and on to the segment's end.
 */
struct lz_matcher {
    const struct lz_finder *finder; /* of the level that it was made for */
    void *state;                    /* this finder's own, or NULL */
    uint64_t counters[LZ_COUNTERS]; /* a finder that counts adds to them */

    /* This matcher's results: room for all chunks' sequences, one chunk's after another's. */
    struct lz_chunk *chunks;
    struct lz_sequence *sequences;

    /* Where results go: to this matcher's memory, or another's. */
    struct lz_chunk *to_chunks;
    struct lz_sequence *to_sequences;

    /* Bytes [begin, end) to match.  Both lie on chunk boundaries, or end is the segment's end. */
    size_t begin, end;

    /* The first position to enter into the tables: `begin`, or one chunk earlier. */
    size_t enter;

    /* Whether the tables hold the positions before `enter`.  If not, the finder empties them first.
     */
    bool goes_on;

    /* tagging: the position last seen under each hash, with some of the bytes there; and of several
     * chunks the distances to the candidates, a bit for each position that a match may start at, one for
     * the chunk's end, and what is read behind it. */
    uint32_t table[1 << LZ_TAGGING_HASH_BITS];
    uint16_t distances[TAGGING_CHUNKS][LZ_CHUNK_SIZE];
    uint8_t stops[TAGGING_CHUNKS][LZ_CHUNK_SIZE / 8 + 16];

    /* chains, optimal: chains by the first 3, 4, 7 and 12 bytes. */
    struct links by3, by4, by7, by12;
};

#endif
