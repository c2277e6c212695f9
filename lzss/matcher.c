/*
 * matcher.c - the CPU engine: one thread's memory, and the call into a level's match finder
 */
#include "config.h"

#include <stdlib.h>

#include "lzss/matcher.h"

struct lz_matcher *lz_matcher_new(const struct lz_level *level, size_t segment_size)
{
    struct lz_matcher *m = malloc(sizeof(*m));

    if (m == NULL)
        return NULL;
    m->optimal = NULL;
    m->chunks = malloc(LZ_CHUNKS(segment_size) * sizeof(*m->chunks));
    m->sequences = malloc(LZ_CHUNKS(segment_size) * LZ_CHUNK_MAX_SEQUENCES * sizeof(*m->sequences));
    if (level->finder == LZ_FINDER_optimal)
        m->optimal = lz_optimal_new(segment_size);
    if (m->chunks == NULL || m->sequences == NULL ||
        (level->finder == LZ_FINDER_optimal && m->optimal == NULL)) {
        lz_matcher_free(m);
        return NULL;
    }
    return m;
}

size_t lz_matcher_size(const struct lz_level *level, size_t segment_size)
{
    const struct lz_matcher *m = NULL;

    return sizeof(*m) + LZ_CHUNKS(segment_size) * sizeof(*m->chunks) +
           LZ_CHUNKS(segment_size) * LZ_CHUNK_MAX_SEQUENCES * sizeof(*m->sequences) +
           (level->finder == LZ_FINDER_optimal ? lz_optimal_size(segment_size) : 0);
}

void lz_matcher_free(struct lz_matcher *m)
{
    if (m == NULL)
        return;
    lz_optimal_free(m->optimal);
    free(m->sequences);
    free(m->chunks);
    free(m);
}

static void match(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in, size_t len)
{
    typedef void finder(struct lz_matcher *, const struct lz_level *, const uint8_t *, size_t);
    static finder *const finders[] = {
#define LZ_FINDER_ENTRY(name) [LZ_FINDER_##name] = lz_find_##name,
        LZ_FINDERS(LZ_FINDER_ENTRY)
#undef LZ_FINDER_ENTRY
    };

    if (len > 0)
        finders[level->finder](m, level, in, len);
}

/* The segment from `begin` on. */
static const struct lz_chunk *match_from(struct lz_matcher *m, const struct lz_level *level,
                                         const uint8_t *in, size_t len, size_t begin)
{
    m->begin = begin;
    m->end = len;
    m->enter = 0;
    m->goes_on = false;
    m->to_chunks = m->chunks;
    m->to_sequences = m->sequences;
    match(m, level, in, len);
    return m->chunks;
}

const struct lz_chunk *lz_match_segment(struct lz_matcher *m, const struct lz_level *level,
                                        const uint8_t *in, size_t len)
{
    return match_from(m, level, in, len, 0);
}

const struct lz_chunk *lz_match_after(struct lz_matcher *m, const struct lz_level *level,
                                      const uint8_t *in, size_t len)
{
    m->chunks[0] = (struct lz_chunk){.sequences = m->sequences, .count = 0};
    return match_from(m, level, in, len, LZ_CHUNK_SIZE);
}

void lz_match_chunks(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                     size_t len, size_t first, size_t count, struct lz_matcher *to)
{
    m->begin = first * LZ_CHUNK_SIZE;
    m->end = LZ_CHUNK_END((first + count - 1) * LZ_CHUNK_SIZE, len);
    m->goes_on = m == to && first > 0;
    m->enter = m->goes_on || first == 0 ? m->begin : m->begin - LZ_CHUNK_SIZE;
    m->to_chunks = to->chunks;
    m->to_sequences = to->sequences;
    match(m, level, in, len);
}

const struct lz_chunk *lz_chunks(const struct lz_matcher *m)
{
    return m->chunks;
}
