/*
 * tagging.c - the tagging match finder on the CPU (tagging.h says what it finds)
 *
 * In two passes over four chunks.  The first enters every position into the hash table, finds how far
 * back the position it displaces lies, and leaves a bit for each that a match seems to start at.  No
 * branch in it depends on the data.  That four bytes agree is seen from the table alone: an entry has
 * 16 of the 18 bits of the hash's product that its bucket does not tell.  To look at the candidate's bytes instead
 * takes half as long again with vectors of 64 bytes, which can gather them, and more without.
 *
 * The second walks from bit to bit, and there compares bytes.  One walk is a chain of loads, each of
 * which waits for the one before: the bits, the distance, the bytes there.  So four chunks are walked in
 * turn, a sequence of each, until one of them ends.
 *
 * Sequences are written straight away: going through a tag array, as the GPU does, gives the same
 * ones (tests/unit/test_matcher.c holds it to that).
 *
 * There are three versions of the steps, with the same results: with vectors of 64 bytes, of 32, and in
 * plain C.  On an EPYC, matching takes 0.75 to 1.1 ns a byte, 0.9 to 1.15, and 1.8 to 2.1 (text,
 * source, XML, machine code).
 *
 * One table serves all chunks of a segment, since it holds every position seen, or at least every
 * one in reach.  A position is kept modulo 65536.  That loses nothing: if the entry is older
 * than 65536 bytes, or was never written, it names some other position in the window; were the four
 * bytes there equal to those here, that position would have the same hash and would have displaced
 * the entry.  So the walk, which compares the bytes, passes over a stale entry, and the table needs no
 * marks for "empty" or "too old".
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "lzss/emit.h"
#include "lzss/matcher.h"
#include "lzss/tagging.h"

_Static_assert(LZ_CHUNK_SIZE + LZ_WINDOW_SIZE <= 65536, "positions in 16 bits");

/* Positions that are entered, and then compared, at a time: what is noted of them stays in the
 * first-level cache. */
#define BLOCK 256

_Static_assert(BLOCK % 64 == 0 && LZ_CHUNK_SIZE % BLOCK == 0, "whole words of stops");
_Static_assert(LZ_INPUT_PAD >= 63, "64 bytes are compared from the last one on");

/* An entry has a position, modulo 65536, in its lower half, and in its upper half the lower half of the
 * hash's product there.  The product's upper bits are the hash, and no two numbers have the same product:
 * entries of a bucket differ above the position unless their four bytes agree, but for one pair in
 * 87,000. */
struct block {
    _Alignas(64) uint32_t hashes[BLOCK];
    uint32_t now[BLOCK];    /* the positions' entries, */
    uint32_t before[BLOCK]; /* and those that they displace */
};

/* A chunk that is walked; places are counted from its start. */
struct walk {
    const uint8_t *in; /* the chunk's first byte */
    const uint16_t *distances;
    const uint8_t *stops;
    size_t at, literals, size;
    struct lz_sequence *out;
};

/* The steps, with vectors of some length, or without. */
struct steps {
    /* Hashes in[0..n), the first being at position `pos`, and makes entries.  n is up to BLOCK.  Reads
     * up to 31 bytes behind the end. */
    void (*hash)(struct block *b, const uint8_t *in, uint32_t pos, size_t n);

    /* Distances, modulo 65536, from entries to those before, and a bit for each that is in reach and
     * whose four bytes seem to agree.  n is rounded up to a multiple of 64; what is found from n on does
     * not matter. */
    void (*compare)(const struct block *b, size_t n, uint16_t *restrict distances,
                    uint8_t *restrict stops);

    /* Walks `count` chunks, and writes their sequences. */
    void (*walk)(struct walk *chunks, unsigned count);
};

/*
 * Enters in[start..end) into the table.  distances[i] becomes the distance, modulo 65536, from
 * in[start + i] to the candidate for it, and bit i of stops, whether a match seems to start there; and
 * there is a bit at the end, for the walk to stop at.
 */
static void enter(const struct steps *by, uint32_t *restrict table, uint16_t *restrict distances,
                  uint8_t *restrict stops, const uint8_t *restrict in, size_t start, size_t end)
{
    const size_t size = end - start;
    struct block b;

    for (size_t i = 0; i < size; i += BLOCK) {
        const size_t n = size - i < BLOCK ? size - i : BLOCK;

        by->hash(&b, in + start + i, (uint32_t)(start + i), n);
#pragma GCC unroll 8
        for (size_t k = 0; k < n; k++) {
            uint32_t *const entry = &table[b.hashes[k]];

            b.before[k] = *entry;
            *entry = b.now[k];
        }
        memset(b.now + n, 0, -n % 64 * sizeof(b.now[0]));
        memset(b.before + n, 0, -n % 64 * sizeof(b.before[0]));
        by->compare(&b, n, distances + i, stops + i / 8);
    }
    stops[size / 8] = (uint8_t)((stops[size / 8] & ((1u << size % 8) - 1)) | 1u << size % 8);
    store64(stops + size / 8 + 1, 0); /* read, but not looked at */
}

/* The first place with a bit from `at` on.  Mostly it is among the 57 that one load has at the least. */
static inline size_t next_stop(const struct walk *s, size_t at)
{
    uint64_t stops = load64(s->stops + at / 8) >> at % 8;

    while (stops == 0) {
        at = at / 8 * 8 + 64;
        stops = load64(s->stops + at / 8);
    }
    return at + (size_t)__builtin_ctzll(stops);
}

/* Takes the match at `at`, of `length` bytes or as many as are left; false if that is none: the end is
 * near, or four bytes only seemed to agree, or the entry is older than 65536 bytes and leads to another
 * position. */
static inline bool take_match(struct walk *s, size_t at, size_t length, size_t distance)
{
    const size_t left = s->size - at;

    length = length < left ? length : left;
    if (__builtin_expect(length < LZ_TAGGING_MIN_MATCH, 0))
        return false;
    s->out = lz_emit(s->out, at - s->literals, length, distance);
    s->at = s->literals = at + length;
    return true;
}

/* How many bytes at a and b agree, up to `max`; it may be more if what follows agrees, too. */
typedef size_t agreeing(const uint8_t *a, const uint8_t *b, size_t max);

/* Walks to the next match and past it, and writes its sequence; false if there is none. */
static inline __attribute__((always_inline)) bool next(struct walk *s, agreeing *agree)
{
    size_t at = s->at;

    for (; (at = next_stop(s, at)) < s->size; at++) {
        const uint8_t *here = s->in + at;
        const size_t distance = s->distances[at];

        if (take_match(s, at, agree(here, here - distance, s->size - at), distance))
            return true;
    }
    return false;
}

/* Walks chunks in turn, each by its next match, until one of them ends; then one after the other. */
static inline __attribute__((always_inline)) void walk_in_turn(struct walk *chunks, unsigned count,
                                                               agreeing *agree)
{
    if (count == TAGGING_CHUNKS) {
        struct walk a = chunks[0], b = chunks[1], c = chunks[2], d = chunks[3];

        while (next(&a, agree) && next(&b, agree) && next(&c, agree) && next(&d, agree))
            ;
        chunks[0] = a, chunks[1] = b, chunks[2] = c, chunks[3] = d;
    }
    for (unsigned i = 0; i < count; i++)
        while (next(&chunks[i], agree))
            ;
}

/* --- Without vectors --- */

static void hash_plain(struct block *b, const uint8_t *in, uint32_t pos, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const uint32_t product = load32(in + k) * LZ_TAGGING_FACTOR;

        b->hashes[k] = product >> (32 - LZ_TAGGING_HASH_BITS);
        b->now[k] = product << 16 | (uint16_t)(pos + k);
    }
}

static void compare_plain(const struct block *b, size_t n, uint16_t *restrict distances,
                          uint8_t *restrict stops)
{
    for (size_t k = 0; k < n; k += 64) {
        uint8_t flags[64];
        uint64_t bits = 0;

        for (size_t j = 0; j < 64; j++) {
            const uint32_t now = b->now[k + j], before = b->before[k + j];

            distances[k + j] = (uint16_t)(now - before);
            /* A distance of 0 wraps around and is too far.  None reaches before the segment: an entry that
             * was never written names the last multiple of 65536, which lies in it. */
            flags[j] = ((now ^ before) <= UINT16_MAX) &
                       ((uint16_t)(distances[k + j] - 1) < LZ_WINDOW_SIZE);
        }
        /* The product has the lowest bit of each of eight bytes in its highest byte. */
        for (size_t j = 0; j < 64; j += 8)
            bits |= (load64(flags + j) * UINT64_C(0x0102040810204080) >> 56) << j;
        store64(stops + k / 8, bits);
    }
}

static inline size_t agree_plain(const uint8_t *a, const uint8_t *b, size_t max)
{
    return match_length(a, b, 0, max);
}

static void walk_plain(struct walk *chunks, unsigned count)
{
    walk_in_turn(chunks, count, agree_plain);
}

static const struct steps steps_plain = {hash_plain, compare_plain, walk_plain};

#ifdef HAVE_AVX2_PATH

/* --- With vectors of 32 bytes --- */

#include <immintrin.h>

/* 8 numbers of the four bytes at p, p + 1 and so on.  Reads 16 bytes. */
AVX2_PATH static inline __m256i load_eight(const uint8_t *p)
{
    const __m256i places = _mm256_setr_epi32(0x03020100, 0x04030201, 0x05040302, 0x06050403,
                                             0x07060504, 0x08070605, 0x09080706, 0x0a090807);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p)),
                               places);
}

AVX2_PATH NOINLINE static void hash_avx2(struct block *b, const uint8_t *in, uint32_t pos, size_t n)
{
    __m256i positions =
        _mm256_add_epi32(_mm256_set1_epi32((int)pos), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));

    for (size_t k = 0; k < n; k += 8) {
        const __m256i product =
            _mm256_mullo_epi32(load_eight(in + k), _mm256_set1_epi32((int)LZ_TAGGING_FACTOR));

        _mm256_store_si256((void *)(b->hashes + k),
                           _mm256_srli_epi32(product, 32 - LZ_TAGGING_HASH_BITS));
        _mm256_store_si256((void *)(b->now + k),
                           _mm256_blend_epi16(_mm256_slli_epi32(product, 16), positions, 0x55));
        positions = _mm256_add_epi32(positions, _mm256_set1_epi32(8));
    }
}

/* Eight distances, modulo 65536, from now[0..8) to before[0..8); *near becomes those of a match. */
AVX2_PATH static inline __m256i compare_eight(const uint32_t *now, const uint32_t *before,
                                              __m256i *near)
{
    const __m256i a = _mm256_load_si256((const void *)now),
                  b = _mm256_load_si256((const void *)before);
    const __m256i distance =
        _mm256_and_si256(_mm256_sub_epi32(a, b), _mm256_set1_epi32(UINT16_MAX));
    const __m256i same =
        _mm256_cmpeq_epi32(_mm256_srli_epi32(_mm256_xor_si256(a, b), 16), _mm256_setzero_si256());

    *near = _mm256_and_si256(
        same,
        _mm256_and_si256(_mm256_cmpgt_epi32(distance, _mm256_setzero_si256()),
                         _mm256_cmpgt_epi32(_mm256_set1_epi32(LZ_WINDOW_SIZE + 1), distance)));
    return distance;
}

AVX2_PATH NOINLINE static void compare_avx2(const struct block *b, size_t n,
                                            uint16_t *restrict distances, uint8_t *restrict stops)
{
    for (size_t k = 0; k < n; k += 64) {
        uint64_t bits = 0;

        for (size_t j = 0; j < 64; j += 16) {
            const size_t i = k + j;
            __m256i low_near, high_near;
            const __m256i low = compare_eight(b->now + i, b->before + i, &low_near);
            const __m256i high = compare_eight(b->now + i + 8, b->before + i + 8, &high_near);
            /* Sixteen numbers of 16 bits, and of 8: packing goes by halves of the vectors. */
            const __m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
            const __m256i near =
                _mm256_permute4x64_epi64(_mm256_packs_epi32(low_near, high_near), 0xd8);
            const __m128i bytes =
                _mm_packs_epi16(_mm256_castsi256_si128(near), _mm256_extracti128_si256(near, 1));

            _mm256_storeu_si256((void *)(distances + i), both);
            bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << j;
        }
        store64(stops + k / 8, bits);
    }
}

AVX2_PATH static inline __m256i load_bytes32(const uint8_t *p)
{
    return _mm256_loadu_si256((const void *)p);
}

AVX2_PATH static inline size_t agree_avx2(const uint8_t *a, const uint8_t *b, size_t max)
{
    const uint32_t differ =
        ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load_bytes32(a), load_bytes32(b)));

    return differ == 0 ? match_length(a, b, 32, max) : (size_t)__builtin_ctz(differ);
}

AVX2_PATH NOINLINE static void walk_avx2(struct walk *chunks, unsigned count)
{
    walk_in_turn(chunks, count, agree_avx2);
}

static const struct steps steps_avx2 = {hash_avx2, compare_avx2, walk_avx2};

#ifdef HAVE_AVX512_PATH

/* --- With vectors of 64 bytes --- */

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

AVX512_PATH NOINLINE static void hash_512(struct block *b, const uint8_t *in, uint32_t pos,
                                          size_t n)
{
    __m512i positions =
        _mm512_add_epi32(_mm512_set1_epi32((int)pos),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));

    for (size_t k = 0; k < n; k += 16) {
        const __m512i product =
            _mm512_mullo_epi32(load_sixteen(in + k), _mm512_set1_epi32((int)LZ_TAGGING_FACTOR));

        _mm512_store_si512(b->hashes + k, _mm512_srli_epi32(product, 32 - LZ_TAGGING_HASH_BITS));
        _mm512_store_si512(b->now + k, _mm512_mask_blend_epi16(
                                           0x55555555, _mm512_slli_epi32(product, 16), positions));
        positions = _mm512_add_epi32(positions, _mm512_set1_epi32(16));
    }
}

AVX512_PATH NOINLINE static void compare_512(const struct block *b, size_t n,
                                             uint16_t *restrict distances, uint8_t *restrict stops)
{
    const __m512i low = _mm512_set1_epi32(UINT16_MAX);

    for (size_t k = 0; k < n; k += 64) {
        uint64_t bits = 0;

        for (size_t j = 0; j < 64; j += 16) {
            const __m512i now = _mm512_load_si512(b->now + k + j),
                          before = _mm512_load_si512(b->before + k + j);
            const __m512i distance = _mm512_and_si512(_mm512_sub_epi32(now, before), low);
            const __mmask16 same = _mm512_cmple_epu32_mask(_mm512_xor_si512(now, before), low);
            /* A distance of 0 wraps around and is too far. */
            const __mmask16 near =
                _mm512_mask_cmplt_epu32_mask(same, _mm512_sub_epi32(distance, _mm512_set1_epi32(1)),
                                             _mm512_set1_epi32(LZ_WINDOW_SIZE));

            _mm256_storeu_si256((void *)(distances + k + j), _mm512_cvtepi32_epi16(distance));
            bits |= (uint64_t)near << j;
        }
        store64(stops + k / 8, bits);
    }
}

AVX512_PATH static inline size_t agree_512(const uint8_t *a, const uint8_t *b, size_t max)
{
    const uint64_t differ = _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b));

    return differ == 0 ? match_length(a, b, 64, max) : (size_t)__builtin_ctzll(differ);
}

AVX512_PATH NOINLINE static void walk_512(struct walk *chunks, unsigned count)
{
    walk_in_turn(chunks, count, agree_512);
}

static const struct steps steps_512 = {hash_512, compare_512, walk_512};
#endif
#endif

static const struct steps *choose_steps(void)
{
#ifdef HAVE_AVX512_PATH
    if (cpu_has_avx512_path())
        return &steps_512;
#endif
#ifdef HAVE_AVX2_PATH
    if (cpu_has_avx2_path())
        return &steps_avx2;
#endif
    return &steps_plain;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    const struct steps *const by = choose_steps();
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;
    size_t start = m->enter;

    (void)level;
    if (!m->goes_on)
        memset(m->table, 0, sizeof(m->table));
    if (start < m->begin) {
        enter(by, m->table, m->distances[0], m->stops[0], in, start, m->begin);
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

            enter(by, m->table, m->distances[count], m->stops[count], in, start, end);
            walks[count] = (struct walk){.in = in + start,
                                         .distances = m->distances[count],
                                         .stops = m->stops[count],
                                         .size = end - start,
                                         .out = out + count * LZ_CHUNK_MAX_SEQUENCES};
        }
        by->walk(walks, count);
        from = out;
        for (unsigned i = 0; i < count; i++, from += LZ_CHUNK_MAX_SEQUENCES) {
            result[i].sequences = out;
            result[i].count = (uint32_t)(walks[i].out - from);
            memmove(out, from, result[i].count * sizeof(*out));
            out += result[i].count;
        }
    }
}

const struct lz_finder lz_finder_tagging = {
    .name = "tagging",
    .gpu = &gpu_finder_tagging,
    .in_parts = true,
    .find = find_matches,
};
