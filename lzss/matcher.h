/*
 * matcher.h - what a CPU match finder has to work with; private to lzss/ and papers/
 */
#ifndef GZLZSS_LZSS_MATCHER_H
#define GZLZSS_LZSS_MATCHER_H

#include <stdbool.h>

#include "lzss/finders.h"
#include "lzss/lzss.h"

/*
 * A finder is called to match bytes [begin, end) of a segment.  It fills in to_chunks for the
 * chunks there.  The sequences of chunk c start at to_sequences + c * LZ_CHUNK_MAX_SEQUENCES or, if
 * c is not the first of them, after those of chunk c - 1.  A finder that cannot match in parts goes
 * by `begin` alone, and on to the segment's end.
 */
struct lz_matcher {
    struct lz_level level;          /* the row that the matcher was made for */
    void *state;                    /* the finder's own memory, or NULL */
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
};

#endif
