/*
 * matcher.c - the CPU engine: one thread's memory, and the calls of a level's match finder
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lzss/matcher.h"

struct lz_matcher *lz_matcher_new(const struct lz_level *level, size_t segment_size)
{
    const struct lz_finder *f = level->finder;
    struct lz_matcher *m = malloc(sizeof(*m));

    if (m == NULL)
        return NULL;
    m->level = *level;
    m->state = NULL;
    memset(m->counters, 0, sizeof(m->counters));
    m->chunks = malloc(LZ_CHUNKS(segment_size) * sizeof(*m->chunks));
    m->sequences = malloc(LZ_CHUNKS(segment_size) * LZ_CHUNK_MAX_SEQUENCES * sizeof(*m->sequences));
    if (f->new_state != NULL)
        m->state = f->new_state(level, segment_size);
    else if (f->plain_state > 0)
        m->state = malloc(f->plain_state);
    if (m->chunks == NULL || m->sequences == NULL ||
        (m->state == NULL && (f->new_state != NULL || f->plain_state > 0))) {
        lz_matcher_free(m);
        return NULL;
    }
    return m;
}

size_t lz_matcher_size(const struct lz_level *level, size_t segment_size)
{
    const struct lz_matcher *m = NULL;
    const struct lz_finder *f = level->finder;

    if (lz_is_stored(level))
        return 0;
    return sizeof(*m) + LZ_CHUNKS(segment_size) * sizeof(*m->chunks) +
           LZ_CHUNKS(segment_size) * LZ_CHUNK_MAX_SEQUENCES * sizeof(*m->sequences) +
           (f->state_size != NULL ? f->state_size(level, segment_size) : f->plain_state);
}

size_t lz_matcher_more(const struct lz_level *level, size_t segment_size)
{
    const struct lz_finder *f = level->finder;

    return f->state_more != NULL ? f->state_more(level, segment_size) : 0;
}

void lz_matcher_limit(struct lz_matcher *m, size_t more)
{
    const struct lz_finder *f = m->level.finder;

    if (f->limit_state != NULL)
        f->limit_state(m->state, more);
}

void lz_matcher_free(struct lz_matcher *m)
{
    if (m == NULL)
        return;
    if (m->level.finder->free_state == NULL)
        free(m->state);
    else if (m->state != NULL)
        m->level.finder->free_state(m->state);
    free(m->sequences);
    free(m->chunks);
    free(m);
}

/* Calls the level's finder for bytes [m->begin, m->end) of the segment. */
static void find_matches(struct lz_matcher *m, const uint8_t *in, size_t len)
{
    m->level.finder->find(m, &m->level, in, len);
#ifdef __SANITIZE_THREAD__
    /* .ci/run compiles the finders without ThreadSanitizer, but compiles this file with
     * ThreadSanitizer.  The accesses below show ThreadSanitizer that each chunk's bytes were read,
     * and its sequences written. */
    for (size_t c = m->begin / LZ_CHUNK_SIZE; c < LZ_CHUNKS(m->end); c++) {
        volatile struct lz_chunk *const chunk = &m->to_chunks[c];
        volatile uint8_t *const sequences = (volatile uint8_t *)chunk->sequences;

        (void)*(const volatile uint8_t *)(in + c * LZ_CHUNK_SIZE);
        chunk->count = chunk->count;
        if (chunk->count > 0)
            *sequences = *sequences;
    }
#endif
}

/* Matches the segment in[0..len) from byte `begin` on, with empty tables. */
static const struct lz_chunk *match_from(struct lz_matcher *m, const uint8_t *in, size_t len,
                                         size_t begin)
{
    m->begin = begin;
    m->end = len;
    m->enter = 0;
    m->goes_on = false;
    m->to_chunks = m->chunks;
    m->to_sequences = m->sequences;
    if (len > 0)
        find_matches(m, in, len);
    return m->chunks;
}

const struct lz_chunk *lz_match_segment(struct lz_matcher *m, const uint8_t *in, size_t len)
{
    return match_from(m, in, len, 0);
}

const struct lz_chunk *lz_match_after(struct lz_matcher *m, const uint8_t *in, size_t len)
{
    m->chunks[0] = (struct lz_chunk){.sequences = m->sequences, .count = 0};
    return match_from(m, in, len, LZ_CHUNK_SIZE);
}

const struct lz_chunk *lz_match_more(struct lz_matcher *m, const uint8_t *in, size_t len,
                                     size_t begin, bool goes_on)
{
    const size_t chunk = begin - begin % LZ_CHUNK_SIZE;

    m->begin = begin;
    m->end = len;
    m->enter = goes_on ? begin : chunk > 0 ? chunk - LZ_CHUNK_SIZE : 0;
    m->goes_on = goes_on;
    m->to_chunks = m->chunks;
    m->to_sequences = m->sequences;
    if (begin < len)
        m->level.finder->find_more(m, &m->level, in, len);
    return m->chunks;
}

void lz_match_chunks(struct lz_matcher *m, const uint8_t *in, size_t len, size_t first,
                     size_t count, struct lz_matcher *to)
{
    m->begin = first * LZ_CHUNK_SIZE;
    m->end = LZ_CHUNK_END((first + count - 1) * LZ_CHUNK_SIZE, len);
    m->goes_on = m == to && first > 0;
    m->enter = m->goes_on || first == 0 ? m->begin : m->begin - LZ_CHUNK_SIZE;
    m->to_chunks = to->chunks;
    m->to_sequences = to->sequences;
    find_matches(m, in, len);
}

void lz_take_counters(struct lz_matcher *m, uint64_t sums[LZ_COUNTERS])
{
    for (size_t i = 0; i < LZ_COUNTERS; i++) {
        sums[i] += m->counters[i];
        m->counters[i] = 0;
    }
}

const struct lz_chunk *lz_chunks(const struct lz_matcher *m)
{
    return m->chunks;
}
