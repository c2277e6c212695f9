/*
 * tagging.c - the tagging match finder on the CPU (tagging.h says what it finds)
 *
 * Two passes over each chunk.  The first enters every position into the hash table and notes how
 * far back the position it displaced lies: no branch depends on the data, so it runs at the speed
 * of its loads and stores.  The second walks the chunk and compares bytes only where it stops.
 * Sequences are written straight away: going through a tag array, as the GPU does, gives the same
 * ones (tests/unit/test_matcher.c holds it to that) at 0.55 times the speed.
 *
 * One table serves all chunks of a segment, since it holds every position seen, or at least every
 * one in reach.  An entry is a position modulo 65536.  That loses nothing: if the entry is older
 * than 65536 bytes, or was never written, it names some other position in the window; were the four
 * bytes there equal to those here, that position would have the same hash and would have displaced
 * the entry.  So a stale entry never passes the comparison, and the table needs no marks for
 * "empty" or "too old".
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "lzss/emit.h"
#include "lzss/matcher.h"
#include "lzss/tagging.h"

_Static_assert(LZ_CHUNK_SIZE + LZ_WINDOW_SIZE <= 65536, "positions in 16 bits");

/* distances[i] becomes the distance, modulo 65536, from in[start + i] to the candidate for it. */
static void find_candidates(uint16_t *restrict table, uint16_t *restrict distances,
                            const uint8_t *restrict in, size_t start, size_t end)
{
    size_t i = start;

    /* Five hashes can be had from one load of eight bytes; four positions make a round number. */
    for (; i + 4 <= end; i += 4) {
        uint64_t bytes = load64(in + i);

        for (int k = 0; k < 4; k++) {
            uint16_t *entry = &table[lz_tagging_hash((uint32_t)(bytes >> (8 * k)))];
            uint16_t pos = (uint16_t)(i + (size_t)k);

            distances[i - start + (size_t)k] = (uint16_t)(pos - *entry);
            *entry = pos;
        }
    }
    for (; i < end; i++) {
        uint16_t *entry = &table[lz_tagging_hash(load32(in + i))];

        distances[i - start] = (uint16_t)(i - *entry);
        *entry = (uint16_t)i;
    }
}

/* Walks in[start..end) and writes its sequences to out; returns where they end. */
static struct lz_sequence *walk(const uint16_t *restrict distances, const uint8_t *in, size_t start,
                                size_t end, struct lz_sequence *restrict out)
{
    size_t pos = start, literals = start;

    while (pos + LZ_TAGGING_MIN_MATCH <= end) {
        size_t distance = distances[pos - start];
        size_t farthest = pos < LZ_WINDOW_SIZE ? pos : LZ_WINDOW_SIZE;
        size_t length;

        /* A distance of 0 wraps around and is too far as well. */
        if (distance - 1 >= farthest || load32(in + pos) != load32(in + pos - distance)) {
            pos++;
            continue;
        }
        length = match_length(in + pos, in + pos - distance, LZ_TAGGING_MIN_MATCH, end - pos);
        out = lz_emit(out, pos - literals, length, distance);
        pos += length;
        literals = pos;
    }
    return out;
}

static void find(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in, size_t len)
{
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;

    (void)level;
    if (!m->goes_on)
        memset(m->table, 0, sizeof(m->table));
    for (size_t start = m->enter; start < m->end; start += LZ_CHUNK_SIZE) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        size_t end = LZ_CHUNK_END(start, len);

        find_candidates(m->table, m->distances, in, start, end);
        if (start < m->begin)
            continue;
        result->sequences = out;
        out = walk(m->distances, in, start, end, out);
        result->count = (uint32_t)(out - result->sequences);
    }
}

const struct lz_finder lz_finder_tagging = {
    .name = "tagging",
    .gpu = &gpu_finder_tagging,
    .in_parts = true,
    .find = find,
};
