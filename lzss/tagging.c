/*
 * tagging.c - the tagging match finder on the CPU (tagging.h says what it finds)
 *
 * The finder makes two passes over CHUNKS chunks at a time.
 *
 * The first pass (enter) enters each position into the hash table.  It notes the distance to the
 * position that was in the entry before, and sets a bit for each position at which a match seems to
 * start.  No branch in this pass depends on the data.  The table entry alone nearly always tells
 * whether four bytes agree, because it holds 16 of the 18 bits of the hash's product that are not
 * in the bucket number.  If the pass compared the candidate's bytes instead, it would take 1.5
 * times as long with vectors of 64 bytes, and even longer with the other versions, which cannot
 * gather bytes from many places at once.
 *
 * The second pass (walk) goes from set bit to set bit, and compares bytes only there.  In a walk,
 * each load has to wait for the load before it: first the bits are loaded, then the distance, then
 * the bytes.  So four chunks are walked in turn, one sequence of each at a time, and their loads
 * overlap.
 *
 * The walk writes sequences at once.  Writing a tag array first, as the GPU does, gives the same
 * sequences; tests/unit/test_matcher.c checks that.
 *
 * The steps have three versions with the same results.  On an EPYC, matching a byte of text,
 * source, XML or machine code takes 1.8 to 2.1 ns in plain C, 0.9 to 1.15 ns with vectors of 32
 * bytes, and 0.75 to 1.1 ns with vectors of 64 bytes.
 *
 * One table serves all chunks of a segment, since it holds every position to which a match may
 * refer.  An entry keeps a position modulo 65536.  This changes no result, and the table needs no
 * marks for "empty" or "too old".  If an entry was never written, or was written more than 65536
 * bytes ago, it stands for some other position of the window.  That position has a different hash,
 * else it would have displaced the entry.  So its four bytes differ from the four bytes that are
 * looked up.  The walk compares these bytes, and so passes over the entry.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "lzss/emit.h"
#include "lzss/matcher.h"
#include "lzss/tagging.h"

_Static_assert(LZ_CHUNK_SIZE + LZ_WINDOW_SIZE <= 65536, "positions in 16 bits");

/* The number of chunks that are walked in turn.  With a larger number, more loads overlap, but each
 * chunk's 68 KiB of distances and stops take space in the caches.  With a smaller number, loads
 * wait for each other. */
#define CHUNKS 4

/* The finder's memory. */
struct tagging_state {
    const struct tagging_functions *functions; /* the processor's versions */

    /* For each hash, its last position and some bits of the hash's product (struct
     * tagging_block). */
    _Alignas(64) uint32_t table[1 << LZ_TAGGING_HASH_BITS];

    /* For each chunk that is walked, the distances from its positions to their candidates. */
    uint16_t distances[CHUNKS][LZ_CHUNK_SIZE];

    /* For each chunk that is walked, one bit for each position, which is set if a match seems to
     * start there.  The bit after the last position's is set, too, so that a walk stops at the
     * chunk's end.  The bytes after that bit may be read, but do not matter. */
    uint8_t stops[CHUNKS][LZ_CHUNK_SIZE / 8 + 16];
};

/* The number of positions that the first pass processes at a time.  With a larger number, struct
 * tagging_block takes more of the first-level cache.  With a smaller number, the three steps of the
 * pass start more often. */
#define BLOCK 256

_Static_assert(BLOCK % 64 == 0 && LZ_CHUNK_SIZE % BLOCK == 0, "whole words of stops");
_Static_assert(LZ_INPUT_PAD >= 63, "64 bytes are compared from the last one on");

/*
 * The first pass's data about BLOCK positions.
 *
 * A table entry has a position, modulo 65536, in its lower half.  In its upper half it has the
 * lower half of the product that lz_tagging_hash computes from the four bytes at that position.
 * The product's upper bits are the hash, and no two numbers of four bytes have the same product.
 * So if two entries of a bucket have the same upper half, their four bytes are nearly always the
 * same: of the pairs with different bytes, only one in 87,000 has the same upper half.
 */
struct tagging_block {
    _Alignas(64) uint32_t hashes[BLOCK];
    uint32_t now[BLOCK];    /* the positions' own entries */
    uint32_t before[BLOCK]; /* the entries that the new ones displace */
};

/* The walk through a chunk. */
struct tagging_walk {
    const uint8_t *in; /* the chunk's first byte */
    const uint16_t *distances;
    const uint8_t *stops;
    size_t at;       /* the byte of the chunk at which the walk goes on */
    size_t literals; /* the first byte of the chunk that no sequence covers yet */
    size_t size;     /* bytes of the chunk */
    struct lz_sequence *out;
};

/* The steps that have a version for each path (cpu.h). */
struct tagging_functions {
    /* Hashes n positions, the first of which is `pos`, at in[0], and makes their entries.  n is at
     * most BLOCK.  Reads up to 31 bytes after the last position. */
    void (*hash)(struct tagging_block *b, const uint8_t *in, uint32_t pos, size_t n);

    /* Sets the distance, modulo 65536, from each position to the position in the displaced entry.
     * Sets the position's bit in `stops` if the distance is 1 to LZ_WINDOW_SIZE and the four bytes
     * seem to agree.  Rounds n up to a multiple of 64; the results from n on do not matter. */
    void (*compare)(const struct tagging_block *b, size_t n, uint16_t *restrict distances,
                    uint8_t *restrict stops);

    /* Walks through `count` chunks, and writes their sequences. */
    void (*walk)(struct tagging_walk *chunks, unsigned count);
};

/*
 * The first pass over the chunk in[start..end).  Sets distances[i] to the distance, modulo 65536,
 * from in[start + i] to its candidate, and bit i of stops if a match seems to start there.  Also
 * sets the bit after the last position's, so that the walk stops at the chunk's end.
 */
static void enter(const struct tagging_functions *by, uint32_t *restrict table,
                  uint16_t *restrict distances, uint8_t *restrict stops, const uint8_t *restrict in,
                  size_t start, size_t end)
{
    const size_t size = end - start;
    struct tagging_block b;

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
    store64(stops + size / 8 + 1, 0); /* next_stop reads these bytes, but ignores them */
}

/* Returns the first set bit from bit `at` on.  The first load gives at least 57 bits, and mostly
 * one of them is set. */
static inline size_t next_stop(const struct tagging_walk *s, size_t at)
{
    uint64_t stops = load64(s->stops + at / 8) >> at % 8;

    while (stops == 0) {
        at = at / 8 * 8 + 64;
        stops = load64(s->stops + at / 8);
    }
    return at + (size_t)__builtin_ctzll(stops);
}

/* Writes the match of `length` bytes at `at` as a sequence, but only its bytes up to the chunk's
 * end.  If these are too few for a match, returns false and writes nothing.  That happens if the
 * chunk's end is near, if the four bytes only seemed to agree, or if the entry is older than 65536
 * bytes and so names another position. */
static inline bool take_match(struct tagging_walk *s, size_t at, size_t length, size_t distance)
{
    const size_t left = s->size - at;

    length = length < left ? length : left;
    if (__builtin_expect(length < LZ_TAGGING_MIN_MATCH, 0))
        return false;
    s->out = lz_emit(s->out, at - s->literals, length, distance);
    s->at = s->literals = at + length;
    return true;
}

/* The type of a function that returns how many bytes at a and b agree, up to `max`.  The result may
 * be more than `max` if bytes after the first `max` agree, too. */
typedef size_t agreeing(const uint8_t *a, const uint8_t *b, size_t max);

/* Walks past the next match, and writes its sequence.  Returns false if the chunk has no further
 * match. */
static inline __attribute__((always_inline)) bool next(struct tagging_walk *s, agreeing *agree)
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

/* Walks through the chunks in turn, one match of each at a time, until one of them ends.  Then
 * walks through the rest of each chunk, one chunk after the other. */
static inline __attribute__((always_inline)) void walk_in_turn(struct tagging_walk *chunks,
                                                               unsigned count, agreeing *agree)
{
    if (count == CHUNKS) {
        struct tagging_walk a = chunks[0], b = chunks[1], c = chunks[2], d = chunks[3];

        while (next(&a, agree) && next(&b, agree) && next(&c, agree) && next(&d, agree))
            ;
        chunks[0] = a, chunks[1] = b, chunks[2] = c, chunks[3] = d;
    }
    for (unsigned i = 0; i < count; i++)
        while (next(&chunks[i], agree))
            ;
}

/* --- Without vectors --- */

static void hash_portable(struct tagging_block *b, const uint8_t *in, uint32_t pos, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const uint32_t product = load32(in + k) * LZ_TAGGING_FACTOR;

        b->hashes[k] = product >> (32 - LZ_TAGGING_HASH_BITS);
        b->now[k] = product << 16 | (uint16_t)(pos + k);
    }
}

static void compare_portable(const struct tagging_block *b, size_t n, uint16_t *restrict distances,
                             uint8_t *restrict stops)
{
    for (size_t k = 0; k < n; k += 64) {
        uint8_t flags[64];
        uint64_t bits = 0;

        for (size_t j = 0; j < 64; j++) {
            const uint32_t now = b->now[k + j], before = b->before[k + j];

            distances[k + j] = (uint16_t)(now - before);
            /* With a distance of 0, distance - 1 wraps around and is too large.  A distance never
             * refers to bytes before the segment, because an entry that was never written stands
             * for the last multiple of 65536, which is in the segment. */
            flags[j] = ((now ^ before) <= UINT16_MAX) &
                       ((uint16_t)(distances[k + j] - 1) < LZ_WINDOW_SIZE);
        }
        /* The multiplication gathers the lowest bits of the eight bytes in the product's highest
         * byte. */
        for (size_t j = 0; j < 64; j += 8)
            bits |= (load64(flags + j) * UINT64_C(0x0102040810204080) >> 56) << j;
        store64(stops + k / 8, bits);
    }
}

static inline size_t agree_portable(const uint8_t *a, const uint8_t *b, size_t max)
{
    return match_length(a, b, 0, max);
}

static void walk_portable(struct tagging_walk *chunks, unsigned count)
{
    walk_in_turn(chunks, count, agree_portable);
}

#ifdef HAVE_AVX2_PATH

/* --- With vectors of 32 bytes --- */

#include <immintrin.h>

/* Returns eight numbers of four bytes: the bytes at p, the bytes at p + 1, and so on.  Reads 16
 * bytes. */
AVX2_PATH static inline __m256i load_eight(const uint8_t *p)
{
    const __m256i places = _mm256_setr_epi32(0x03020100, 0x04030201, 0x05040302, 0x06050403,
                                             0x07060504, 0x08070605, 0x09080706, 0x0a090807);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p)),
                               places);
}

AVX2_PATH NOINLINE static void hash_avx2(struct tagging_block *b, const uint8_t *in, uint32_t pos,
                                         size_t n)
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

/* Returns eight distances, modulo 65536, between the positions in now[0..8) and before[0..8).  Sets
 * each of the eight numbers of *near to all ones if a match seems to start there, else to 0. */
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

AVX2_PATH NOINLINE static void compare_avx2(const struct tagging_block *b, size_t n,
                                            uint16_t *restrict distances, uint8_t *restrict stops)
{
    for (size_t k = 0; k < n; k += 64) {
        uint64_t bits = 0;

        for (size_t j = 0; j < 64; j += 16) {
            const size_t i = k + j;
            __m256i low_near, high_near;
            const __m256i low = compare_eight(b->now + i, b->before + i, &low_near);
            const __m256i high = compare_eight(b->now + i + 8, b->before + i + 8, &high_near);
            /* Pack the sixteen distances into 16 bits each.  Then pack the sixteen numbers of
             * `near` into 8 bits each.  The pack instructions work on each half of a vector by
             * itself; the permutation puts the numbers into order. */
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

AVX2_PATH NOINLINE static void walk_avx2(struct tagging_walk *chunks, unsigned count)
{
    walk_in_turn(chunks, count, agree_avx2);
}

#ifdef HAVE_AVX512_PATH

/* --- With vectors of 64 bytes --- */

/* Returns sixteen numbers of four bytes: the bytes at p, the bytes at p + 1, and so on.  Reads 32
 * bytes. */
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

AVX512_PATH NOINLINE static void hash_avx512(struct tagging_block *b, const uint8_t *in,
                                             uint32_t pos, size_t n)
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

AVX512_PATH NOINLINE static void compare_avx512(const struct tagging_block *b, size_t n,
                                                uint16_t *restrict distances,
                                                uint8_t *restrict stops)
{
    const __m512i low = _mm512_set1_epi32(UINT16_MAX);

    for (size_t k = 0; k < n; k += 64) {
        uint64_t bits = 0;

        for (size_t j = 0; j < 64; j += 16) {
            const __m512i now = _mm512_load_si512(b->now + k + j),
                          before = _mm512_load_si512(b->before + k + j);
            const __m512i distance = _mm512_and_si512(_mm512_sub_epi32(now, before), low);
            const __mmask16 same = _mm512_cmple_epu32_mask(_mm512_xor_si512(now, before), low);
            /* With a distance of 0, distance - 1 wraps around and is too large. */
            const __mmask16 near =
                _mm512_mask_cmplt_epu32_mask(same, _mm512_sub_epi32(distance, _mm512_set1_epi32(1)),
                                             _mm512_set1_epi32(LZ_WINDOW_SIZE));

            _mm256_storeu_si256((void *)(distances + k + j), _mm512_cvtepi32_epi16(distance));
            bits |= (uint64_t)near << j;
        }
        store64(stops + k / 8, bits);
    }
}

AVX512_PATH static inline size_t agree_avx512(const uint8_t *a, const uint8_t *b, size_t max)
{
    const uint64_t differ = _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b));

    return differ == 0 ? match_length(a, b, 64, max) : (size_t)__builtin_ctzll(differ);
}

AVX512_PATH NOINLINE static void walk_avx512(struct tagging_walk *chunks, unsigned count)
{
    walk_in_turn(chunks, count, agree_avx512);
}

#endif
#endif

static const struct tagging_functions functions[CPU_PATHS] = {
    [CPU_PORTABLE] = {hash_portable, compare_portable, walk_portable},
#ifdef HAVE_AVX2_PATH
    [CPU_AVX2] = {hash_avx2, compare_avx2, walk_avx2},
#endif
#ifdef HAVE_AVX512_PATH
    [CPU_AVX512] = {hash_avx512, compare_avx512, walk_avx512},
#endif
};

static size_t state_size(const struct lz_level *level, size_t segment_size)
{
    (void)level;
    (void)segment_size;
    return sizeof(struct tagging_state);
}

static void *new_state(const struct lz_level *level, size_t segment_size)
{
    struct tagging_state *t =
        aligned_alloc(_Alignof(struct tagging_state), state_size(level, segment_size));

    if (t != NULL)
        t->functions = &functions[cpu_path()];
    return t;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;
    struct tagging_state *const t = m->state;
    const struct tagging_functions *const by = t->functions;
    size_t start = m->enter;

    (void)level;
    if (!m->goes_on)
        memset(t->table, 0, sizeof(t->table));
    if (start < m->begin) {
        enter(by, t->table, t->distances[0], t->stops[0], in, start, m->begin);
        start = m->begin;
    }
    while (start < m->end) {
        struct lz_chunk *const result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        const struct lz_sequence *from;
        struct tagging_walk walks[CHUNKS];
        unsigned count = 0;

        /* Each chunk gets room for all sequences that it may have.  The loop below closes the
         * gaps. */
        for (; count < CHUNKS && start < m->end; count++, start += LZ_CHUNK_SIZE) {
            const size_t end = LZ_CHUNK_END(start, len);

            enter(by, t->table, t->distances[count], t->stops[count], in, start, end);
            walks[count] = (struct tagging_walk){.in = in + start,
                                                 .distances = t->distances[count],
                                                 .stops = t->stops[count],
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
    .new_state = new_state,
    .state_size = state_size,
    .find = find_matches,
};
