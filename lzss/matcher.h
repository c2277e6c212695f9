/*
 * matcher.h - the data with which a match finder of the CPU engine works; private to lzss/ and
 * papers/
 *
 * lz_match_segment and the other functions of lzss.h that match set the fields of struct lz_matcher
 * and call the finder's `find` or find_more.  The finder matches bytes [begin, end) of the segment,
 * and fills in to_chunks for the chunks there.  It writes the sequences of chunk c from
 * to_sequences + c * LZ_CHUNK_MAX_SEQUENCES on.  If it matches chunk c - 1 in the same call, it may
 * write them directly after the sequences of that chunk instead, to touch less memory.  A finder
 * that cannot match in parts is called only with `end` at the segment's end, and with `begin` at
 * the start of the first or the second chunk.
 */
#ifndef GZLZSS_LZSS_MATCHER_H
#define GZLZSS_LZSS_MATCHER_H

#include <stdbool.h>

#include "lzss/finders.h"
#include "lzss/lzss.h"

struct lz_matcher {
    struct lz_level level;          /* the row that the matcher was made for */
    void *state;                    /* the finder's own memory, or NULL */
    uint64_t counters[LZ_COUNTERS]; /* the finder's counts (counter_names) */

    /* Memory for this matcher's own results: one entry for each chunk, and LZ_CHUNK_MAX_SEQUENCES
     * sequences for each chunk. */
    struct lz_chunk *chunks;
    struct lz_sequence *sequences;

    /* Where the finder writes its results: `chunks` and `sequences` of this matcher, or of another
     * one (lz_match_chunks). */
    struct lz_chunk *to_chunks;
    struct lz_sequence *to_sequences;

    /* Bytes [begin, end) to match.  Both lie on chunk boundaries, or `end` is the segment's end.
     * For find_more, `begin` may lie anywhere. */
    size_t begin, end;

    /* The first position to enter into the finder's tables: `begin`, or the start of the chunk
     * before it. */
    size_t enter;

    /* Whether the tables hold the positions before `enter`.  If not, the finder empties the tables
     * first. */
    bool goes_on;
};

#endif
