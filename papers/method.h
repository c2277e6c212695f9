/*
 * method.h - shared by the methods on the CPU: the greedy selection of matches
 */
#ifndef GZLZSS_PAPERS_METHOD_H
#define GZLZSS_PAPERS_METHOD_H

#include "lzss/emit.h"
#include "lzss/matcher.h"
#include "papers/papers.h"

/* A match: `length` bytes that are equal to the bytes `distance` bytes before them. length is 0 (no
 * match), or at least LZ_MIN_MATCH. */
struct paper_match {
    uint32_t length, distance;
};

/* Returns the method's match at in[pos]. The chunk is in[start..end); `start` is a multiple of
 * LZ_CHUNK_SIZE. The match must not cross `end`. LZ_INPUT_PAD bytes after `end` are readable.
 * `state` is the finder's plain_state, or NULL. */
typedef struct paper_match paper_match_at(const struct lz_level *level, void *state,
                                          const uint8_t *in, size_t start, size_t pos, size_t end);

/*
 * A finder's `find`, for methods with independent chunks and greedy selection. From the chunk's
 * start on, it takes the match at a position, if there is one, and goes on after the match.
 * Adjacent matches at one distance become one (lz_continues). A method that looks ahead needs a
 * walk of its own, as in lzss.c.
 */
static inline void paper_find_greedily(const struct lz_matcher *m, const struct lz_level *level,
                                       const uint8_t *in, size_t len, paper_match_at *match_at)
{
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;

    for (size_t start = m->begin; start < m->end; start += LZ_CHUNK_SIZE) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        const size_t end = LZ_CHUNK_END(start, len);
        struct lz_pending p = {0, 0, 0, 0};

        result->sequences = out;
        for (size_t pos = start; pos < end;) {
            const struct paper_match match = match_at(level, m->state, in, start, pos, end);
            const int32_t at = (int32_t)(pos - start);

            if (match.length == 0) {
                pos++;
                continue;
            }
            if (!lz_join(&p, at, match.length, match.distance))
                out = lz_emit_next(out, &p, at, match.length, match.distance);
            pos += match.length;
        }
        out = lz_emit_next(out, &p, 0, 0, 0);
        result->count = (uint32_t)(out - result->sequences);
    }
}

#endif
