/*
 * tagging.c - the tagging match finder on the CPU (tagging.h says what it finds)
 *
 * Two passes over each chunk.  The first enters every position into the hash table and notes how
 * far back the position it displaced lies: no branch depends on the data, so it runs at the speed
 * of its loads and stores.  The second walks the chunk and compares bytes only where it stops.
 * Sequences are written straight away: going through a tag array, as the GPU does, gives the same
 * ones (tests/unit/test_matcher.c holds it to that) at 0.55 times the speed.
 *
 * With vectors of 64 bytes, the same sequences come in three passes over four chunks.  The first is
 * as above, but hashes 16 positions at a time, and notes the displaced position itself, as that takes
 * two thirds of the time.  The second compares four bytes at every position and
 * leaves a bit for each whose candidate has the same: 16 at a time, without a branch.  The third walks
 * from bit to bit.  One walk is a chain of loads, each of which waits for the one before: the bits, the
 * candidate, the bytes there.  So four chunks are walked in turn, a sequence of each, until one of them
 * ends.  On an EPYC, a sequence takes 6.5 ns in place of 14.7, and 11 if walks come one after another.
 * On a Xeon, matching has 1.3 times the speed on source and 1.6 to 1.7 on text and binaries.  Where
 * there are no such vectors, the bits cost more than they save.
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
#include "base/cpu.h"
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

#ifdef HAVE_AVX512_PATH
#include <immintrin.h>

/* 16 numbers of the four bytes at p, p + 1 and so on.  Reads 32 bytes. */
AVX512_PATH static inline __m512i load_sixteen(const uint8_t *p)
{
    const __m512i quad = _mm512_set1_epi32(0x03020100);
    const __m512i place =
        _mm512_setr_epi32(0x00000000, 0x01010101, 0x02020202, 0x03030303, 0x04040404, 0x05050505,
                          0x06060606, 0x07070707, 0x08080808, 0x09090909, 0x0a0a0a0a, 0x0b0b0b0b,
                          0x0c0c0c0c, 0x0d0d0d0d, 0x0e0e0e0e, 0x0f0f0f0f);
    const __m256i bytes = _mm256_loadu_si256((const void *)p);

    return _mm512_permutexvar_epi8(_mm512_add_epi8(quad, place), _mm512_castsi256_si512(bytes));
}

/* lz_tagging_hash of 16 numbers, in 16 bits each. */
AVX512_PATH static inline __m256i hash_sixteen(__m512i numbers)
{
    const __m512i product = _mm512_mullo_epi32(numbers, _mm512_set1_epi32((int)LZ_TAGGING_FACTOR));

    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(product, 32 - LZ_TAGGING_HASH_BITS));
}

/* before[i] becomes the candidate for in[start + i], modulo 65536.  The 16 positions behind
 * the end have themselves: that is no distance, and so no match. */
AVX512_PATH NOINLINE static void find_candidates_512(uint16_t *restrict table,
                                                     uint16_t *restrict before,
                                                     const uint8_t *restrict in, size_t start,
                                                     size_t end)
{
    _Alignas(64) uint16_t hashes[32];
    size_t i = start;

    for (; i + 32 <= end; i += 32) {
        _mm256_store_si256((void *)hashes, hash_sixteen(load_sixteen(in + i)));
        _mm256_store_si256((void *)(hashes + 16), hash_sixteen(load_sixteen(in + i + 16)));
#pragma GCC unroll 4
        for (size_t k = 0; k < 32; k++) {
            uint16_t *const entry = &table[hashes[k]];

            before[i - start + k] = *entry;
            *entry = (uint16_t)(i + k);
        }
    }
    for (; i < end; i++) {
        uint16_t *const entry = &table[lz_tagging_hash(load32(in + i))];

        before[i - start] = *entry;
        *entry = (uint16_t)i;
    }
    for (size_t k = 0; k < 16; k++)
        before[end - start + k] = (uint16_t)(end + k);
}

/*
 * Bit i of stops becomes whether a match starts at in[start + i] or, for the last few that are too
 * short for one, 0; and there is a bit at the end, for the walk to stop at.  Reads LZ_INPUT_PAD bytes
 * behind the end.
 */
AVX512_PATH NOINLINE static void find_stops(uint64_t *restrict stops,
                                            const uint16_t *restrict before,
                                            const uint8_t *restrict in, size_t start, size_t end)
{
    const size_t size = end - start;
    const size_t open = size < LZ_TAGGING_MIN_MATCH ? 0 : size - LZ_TAGGING_MIN_MATCH + 1;
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i window = _mm512_set1_epi32(LZ_WINDOW_SIZE), one = _mm512_set1_epi32(1),
                  low = _mm512_set1_epi32(UINT16_MAX);

    memset(stops, 0, (size / 64 + 1) * sizeof(*stops));
    for (size_t i = 0; i < open; i += 16) {
        const size_t pos = start + i;
        const __m512i candidate =
            _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(before + i)));
        const __m512i distance = _mm512_and_epi32(
            _mm512_sub_epi32(_mm512_add_epi32(_mm512_set1_epi32((uint16_t)pos), lanes), candidate),
            low);
        /* A distance of 0 wraps around and is too far.  None reaches before the segment: an entry that
         * was never written is 0, its first position. */
        const __mmask16 near = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(distance, one), window);
        const __m512i here = load_sixteen(in + pos);
        const __m512i there =
            _mm512_mask_i32gather_epi32(here, near, _mm512_sub_epi32(lanes, distance), in + pos, 1);

        stops[i / 64] |= (uint64_t)_mm512_mask_cmpeq_epi32_mask(near, here, there) << i % 64;
    }
    stops[open / 64] &= ~(UINT64_MAX << open % 64);
    stops[size / 64] |= (uint64_t)1 << size % 64;
}

/* A chunk that is walked; places are counted from its start. */
struct walk {
    const uint8_t *in; /* the chunk's first byte, */
    uint16_t start;    /* its place in the segment, modulo 65536, */
    const uint16_t *before;
    const uint64_t *stops;
    size_t at, literals, size;
    struct lz_sequence *out;
};

/* Walks to the next match and past it, and writes its sequence; false if there is none. */
AVX512_PATH static inline bool step(struct walk *s)
{
    size_t at = s->at, length, distance;
    uint64_t stops = s->stops[at / 64] >> at % 64;
    uint32_t differ;

    while (stops == 0) {
        at = (at / 64 + 1) * 64;
        stops = s->stops[at / 64];
    }
    at += (size_t)__builtin_ctzll(stops);
    if (at >= s->size)
        return false;
    distance = (uint16_t)(s->start + at - s->before[at]);
    differ = ~(uint32_t)_mm256_movemask_epi8(
        _mm256_cmpeq_epi8(_mm256_loadu_si256((const void *)(s->in + at)),
                          _mm256_loadu_si256((const void *)(s->in + at - distance))));
    if (differ != 0) {
        length = (size_t)__builtin_ctz(differ);
        length = length < s->size - at ? length : s->size - at;
    } else {
        length = match_length(s->in + at, s->in + at - distance, 32, s->size - at);
    }
    s->out = lz_emit(s->out, at - s->literals, length, distance);
    s->at = s->literals = at + length;
    return true;
}

AVX512_PATH NOINLINE static void walk_512(struct walk *all, unsigned count)
{
    if (count == TAGGING_CHUNKS) {
        struct walk a = all[0], b = all[1], c = all[2], d = all[3];

        while (step(&a) && step(&b) && step(&c) && step(&d))
            ;
        all[0] = a, all[1] = b, all[2] = c, all[3] = d;
    }
    for (unsigned i = 0; i < count; i++)
        while (step(&all[i]))
            ;
}

AVX512_PATH static void find_512(struct lz_matcher *m, const uint8_t *in, size_t len)
{
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;
    size_t start = m->enter;

    if (start < m->begin) {
        find_candidates_512(m->table, m->candidates[0], in, start, m->begin);
        start = m->begin;
    }
    while (start < m->end) {
        struct lz_chunk *const result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        const struct lz_sequence *from;
        struct walk walks[TAGGING_CHUNKS];
        unsigned count = 0;

        /* Each chunk has room for all sequences that it may have; then they are moved together. */
        for (; count < TAGGING_CHUNKS && start < m->end; count++, start += LZ_CHUNK_SIZE) {
            const size_t end = LZ_CHUNK_END(start, len);

            find_candidates_512(m->table, m->candidates[count], in, start, end);
            find_stops(m->stops[count], m->candidates[count], in, start, end);
            walks[count] = (struct walk){.in = in + start,
                                         .start = (uint16_t)start,
                                         .before = m->candidates[count],
                                         .stops = m->stops[count],
                                         .size = end - start,
                                         .out = out + count * LZ_CHUNK_MAX_SEQUENCES};
        }
        walk_512(walks, count);
        from = out;
        for (unsigned i = 0; i < count; i++, from += LZ_CHUNK_MAX_SEQUENCES) {
            result[i].sequences = out;
            result[i].count = (uint32_t)(walks[i].out - from);
            memmove(out, from, result[i].count * sizeof(*out));
            out += result[i].count;
        }
    }
}
#endif

static void find(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in, size_t len)
{
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;

    (void)level;
    if (!m->goes_on)
        memset(m->table, 0, sizeof(m->table));
#ifdef HAVE_AVX512_PATH
    if (cpu_has_avx512_path()) {
        find_512(m, in, len);
        return;
    }
#endif
    for (size_t start = m->enter; start < m->end; start += LZ_CHUNK_SIZE) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        size_t end = LZ_CHUNK_END(start, len);

        find_candidates(m->table, m->candidates[0], in, start, end);
        if (start < m->begin)
            continue;
        result->sequences = out;
        out = walk(m->candidates[0], in, start, end, out);
        result->count = (uint32_t)(out - result->sequences);
    }
}

const struct lz_finder lz_finder_tagging = {
    .name = "tagging",
    .gpu = &gpu_finder_tagging,
    .in_parts = true,
    .find = find,
};
