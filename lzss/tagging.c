/*
 * tagging.c - the tagging match finder on the CPU (tagging.h says what it finds)
 *
 * The finder makes two passes over CHUNKS chunks at a time.
 *
 * The first pass (enter) enters each position into the hash table.  It notes the distance to the
 * position that was in the entry before, and sets a bit for each position at which a match seems to
 * start.  No branch in this pass depends on the data.  The table entry alone nearly always tells
 * whether the hashed bytes agree, because it has a tag, which is 14 further bits of the hash's
 * product.  If the pass compared the candidate's bytes instead, it would take 1.5 times as long
 * with vectors of 64 bytes, and even longer with the other versions, which cannot gather bytes from
 * many places at once.
 *
 * The second pass (walk) goes from set bit to set bit, and compares bytes only there.  In a walk,
 * each load has to wait for the load before it: first the bits are loaded, then the distance, then
 * the bytes.  So four chunks are walked in turn, one sequence of each at a time, and their loads
 * overlap.  Beside the loads, mispredicted branches take the most time.  So with vectors, each walk
 * compares 64 bytes at once, of which the first is the byte before the match; and tags keep walks
 * from stopping where no match is.
 *
 * The walk writes sequences at once.  Writing a tag array first, as the GPU does, gives the same
 * sequences; tests/unit/test_matcher.c checks that.
 *
 * The steps have three versions with the same results.  On an EPYC, matching a byte of text,
 * source, XML or machine code takes 1.9 ns in plain C, 0.8 to 1.05 ns with vectors of 32 bytes, and
 * 0.7 to 0.95 ns with vectors of 64 bytes.
 *
 * One table serves all chunks of a segment, since it holds every position to which a match may
 * refer.  An entry keeps a position modulo POSITIONS.  This changes no result, and the table needs
 * no marks for "too old".  If an entry was written more than POSITIONS bytes ago, it stands for
 * some other position of the window.  That position has a different hash, else it would have
 * displaced the entry.  So its bytes differ from those that are looked up.  The walk compares them,
 * and so passes over the entry.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "lzss/emit.h"
#include "lzss/matcher.h"
#include "lzss/sample.h"
#include "lzss/tagging.h"
#include "lzss/vectors.h"

/* The number of chunks that are walked in turn.  With a larger number, more loads overlap, but each
 * chunk's 68 KiB of distances and stops take space in the caches.  With a smaller number, loads
 * wait for each other. */
#define CHUNKS 4

/* The finder's memory. */
struct tagging_state {
    const struct tagging_functions *functions; /* the processor's versions */

    /* For each hash, its last position and tag (struct tagging_block). */
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
_Static_assert(LZ_INPUT_PAD >= 62, "64 bytes are compared from the last one on");

/*
 * The first pass's data about BLOCK positions.
 *
 * A table entry has a tag in its TAG_BITS low bits, and above it a position, modulo POSITIONS.  The
 * tag is the bits after the hash in the product (lz_tagging_product) of the position's bytes.
 * Two entries of a bucket with the same tag nearly always have the same bytes.
 *
 * `apart` is a position's entry less the entry that it displaces.  If the tags are the same, that
 * is the distance between the two positions, moved up by TAG_BITS.
 */
struct tagging_block {
    _Alignas(64) uint32_t hashes[BLOCK];
    uint32_t now[BLOCK]; /* the positions' entries */
    uint32_t apart[BLOCK];
};

/* With more bits, fewer walks stop because of different bytes with the same tag.  With fewer, fewer
 * walks stop because the position in an entry is POSITIONS bytes older than it seems to be. */
#define TAG_BITS 14
#define TAG_MASK ((UINT32_C(1) << TAG_BITS) - 1)
#define TAG_SHIFT (32 - LZ_TAGGING_HASH_BITS - TAG_BITS)
#define POSITIONS (UINT32_C(1) << (32 - TAG_BITS))

_Static_assert(LZ_CHUNK_SIZE + LZ_WINDOW_SIZE <= POSITIONS, "an entry's distance in the window");

/* `apart` of two positions with the same tag, if they are as far apart as may be. */
#define FARTHEST ((uint32_t)LZ_TAGGING_WINDOW << TAG_BITS)

/* An entry for "none".  From the first LZ_TAGGING_WINDOW positions, it has no distance that a match
 * may have.  From later ones, it is a position in the window whose bytes have another hash, else
 * that position would be in the entry. */
#define NONE ((uint32_t)LZ_TAGGING_WINDOW << TAG_BITS)

/* How far the walk through a chunk has come. */
struct tagging_place {
    size_t at; /* the byte of the chunk after the last match */
    struct lz_sequence *out;
};

/* Chunks that are walked in turn.  If there are fewer than CHUNKS, the last ones are empty. */
struct tagging_walk {
    const struct tagging_state *t; /* has the chunks' distances and stops */
    const uint8_t *in;             /* the first chunk's first byte */
    size_t least;                  /* the fewest bytes of a match (lz_tagging_least) */
    size_t sizes[CHUNKS];          /* bytes of each chunk */
    struct tagging_place places[CHUNKS];
};

/* The steps that have a version for each path (cpu.h). */
struct tagging_functions {
    /* Hashes n positions, the first of which is `pos`, at in[0], and makes their entries.  Hashes
     * `least` bytes for each position.  n is at most BLOCK.  Reads up to 31 bytes after the last
     * position. */
    void (*hash)(struct tagging_block *b, const uint8_t *in, uint32_t pos, size_t n,
                 uint32_t least);

    /* Sets each position's bit in `stops` if the hashed bytes seem to agree with those at the
     * displaced entry's position, and the distance to it is 1 to LZ_TAGGING_WINDOW.  Then also sets
     * `distances` to that distance, else to any number.  Rounds n up to a multiple of 64; the
     * results from n on do not matter. */
    void (*compare)(const struct tagging_block *b, size_t n, uint16_t *restrict distances,
                    uint8_t *restrict stops);

    /* Walks through chunks, and writes their sequences. */
    void (*walk)(struct tagging_walk *w);
};

/*
 * The first pass over the chunk in[start..end), of which `least` bytes are hashed at a time.  Sets
 * bit i of stops if a match seems to start at in[start + i], and then sets distances[i] to the
 * match's distance.  Also sets the bit after the last position's, so that the walk stops at the
 * chunk's end.  The segment's first byte is no candidate (tagging.h).
 */
static void enter(const struct tagging_functions *by, uint32_t *restrict table,
                  uint16_t *restrict distances, uint8_t *restrict stops, const uint8_t *restrict in,
                  size_t start, size_t end, uint32_t least)
{
    const size_t size = end - start;
    struct tagging_block b;

    for (size_t i = 0; i < size; i += BLOCK) {
        const size_t n = size - i < BLOCK ? size - i : BLOCK;

        by->hash(&b, in + start + i, (uint32_t)(start + i), n, least);
        if (start + i == 0)
            b.now[0] = NONE;
#pragma GCC unroll 8
        for (size_t k = 0; k < n; k++) {
            uint32_t *const entry = &table[b.hashes[k]];
            const uint32_t now = b.now[k];

            b.apart[k] = now - *entry;
            *entry = now;
        }
        memset(b.apart + n, 0, -n % 64 * sizeof(b.apart[0]));
        by->compare(&b, n, distances + i, stops + i / 8);
    }
    stops[size / 8] = (uint8_t)((stops[size / 8] & ((1u << size % 8) - 1)) | 1u << size % 8);
    store64(stops + size / 8 + 1, 0); /* next_stop reads these bytes, but ignores them */
}

/* Returns the first set bit of `stops` from bit `at` on.  The first load gives at least 57 bits,
 * and mostly one of them is set. */
static inline size_t next_stop(const uint8_t *stops, size_t at)
{
    uint64_t bits = load64(stops + at / 8) >> at % 8;

    while (__builtin_expect(bits == 0, 0)) {
        at = at / 8 * 8 + 64;
        bits = load64(stops + at / 8);
    }
    return at + (size_t)__builtin_ctzll(bits);
}

/* Which bytes of two places agree. */
struct agreement {
    size_t length; /* how many bytes agree, from the places on */
    bool before;   /* whether the bytes before the two places agree */
};

/* The type of a function that compares the bytes at a and b, up to `max`, and the bytes before
 * them.  The result's length may be more than `max` if bytes after the first `max` agree, too. */
typedef struct agreement agreeing(const uint8_t *a, const uint8_t *b, size_t max);

/*
 * Walks past the next match of chunk c, and writes its sequence.  The match also takes the byte
 * before it, if that agrees and is a literal.  Returns false if the chunk has no further match.
 *
 * A match has only bytes of the chunk.  If too few bytes agree, the walk passes over the position.
 * That happens if the chunk's end is near, if the bytes only seemed to agree, or if the entry is
 * older than POSITIONS bytes and so names another position.
 */
static inline __attribute__((always_inline)) bool next(const struct tagging_walk *w, unsigned c,
                                                       struct tagging_place *p, agreeing *agree)
{
    const uint8_t *const in = w->in + (size_t)c * LZ_CHUNK_SIZE;
    const size_t size = w->sizes[c];

    for (size_t at = p->at; (at = next_stop(w->t->stops[c], at)) < size; at++) {
        const size_t distance = w->t->distances[c][at], left = size - at;
        const struct agreement a = agree(in + at, in + at - distance, left);
        const size_t length = a.length < left ? a.length : left;

        if (__builtin_expect(length >= w->least, 1)) {
            const size_t more = a.before & (at > p->at);

            p->out = lz_emit(p->out, at - p->at - more, length + more, distance);
            p->at = at + length;
            return true;
        }
    }
    p->at = size;
    return false;
}

/* Walks through the chunks in turn, one match of each at a time. */
static inline __attribute__((always_inline)) void walk_in_turn(struct tagging_walk *w,
                                                               agreeing *agree)
{
    struct tagging_place a = w->places[0], b = w->places[1], c = w->places[2], d = w->places[3];
    bool goes_on;

    do {
        goes_on = next(w, 0, &a, agree);
        goes_on |= next(w, 1, &b, agree);
        goes_on |= next(w, 2, &c, agree);
        goes_on |= next(w, 3, &d, agree);
    } while (goes_on);
    w->places[0] = a, w->places[1] = b, w->places[2] = c, w->places[3] = d;
}

/* --- Without vectors --- */

static void hash_portable(struct tagging_block *b, const uint8_t *in, uint32_t pos, size_t n,
                          uint32_t least)
{
    const uint32_t mask = least > 4 ? UINT8_MAX : 0;

    for (size_t k = 0; k < n; k++) {
        const uint32_t product = lz_tagging_product(load32(in + k), load32(in + k + 4) & mask);

        b->hashes[k] = lz_tagging_hash(product);
        b->now[k] = (uint32_t)(pos + k) << TAG_BITS | (product >> TAG_SHIFT & TAG_MASK);
    }
}

static void compare_portable(const struct tagging_block *b, size_t n, uint16_t *restrict distances,
                             uint8_t *restrict stops)
{
    for (size_t k = 0; k < n; k += 64) {
        uint8_t flags[64];
        uint64_t bits = 0;

        for (size_t j = 0; j < 64; j++) {
            const uint32_t apart = b->apart[k + j];

            distances[k + j] = (uint16_t)(apart >> TAG_BITS);
            flags[j] = ((apart & TAG_MASK) == 0) & (apart - 1 < FARTHEST);
        }
        /* The multiplication gathers the lowest bits of the eight bytes in the product's highest
         * byte. */
        for (size_t j = 0; j < 64; j += 8)
            bits |= (load64(flags + j) * UINT64_C(0x0102040810204080) >> 56) << j;
        store64(stops + k / 8, bits);
    }
}

static inline struct agreement agree_portable(const uint8_t *a, const uint8_t *b, size_t max)
{
    return (struct agreement){match_length(a, b, 0, max), a[-1] == b[-1]};
}

static void walk_portable(struct tagging_walk *w)
{
    walk_in_turn(w, agree_portable);
}

#ifdef HAVE_AVX2_PATH

/* --- With vectors of 32 bytes --- */

/* Returns an agreement.  Bit i of `differ` says whether a[i - 1] and b[i - 1] differ, for the first
 * `compared` bytes. */
static inline struct agreement agreement(uint64_t differ, unsigned compared, const uint8_t *a,
                                         const uint8_t *b, size_t max)
{
    const uint64_t from_a = differ >> 1;

    return (struct agreement){from_a == 0 ? match_length(a, b, compared - 1, max)
                                          : (size_t)__builtin_ctzll(from_a),
                              (differ & 1) == 0};
}

AVX2_PATH NOINLINE static void hash_avx2(struct tagging_block *b, const uint8_t *in, uint32_t pos,
                                         size_t n, uint32_t least)
{
    /* Number i gets byte i + 4 in its second byte; only zeros if four bytes are hashed. */
    const __m256i later =
        least > 4
            ? _mm256_setr_epi32((int)0x80800480, (int)0x80800580, (int)0x80800680, (int)0x80800780,
                                (int)0x80800880, (int)0x80800980, (int)0x80800a80, (int)0x80800b80)
            : _mm256_set1_epi8((char)0x80);
    const __m256i factor = _mm256_set1_epi32((int)LZ_TAGGING_FACTOR);
    __m256i positions = _mm256_slli_epi32(
        _mm256_add_epi32(_mm256_set1_epi32((int)pos), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
        TAG_BITS);

    for (size_t k = 0; k < n; k += 8) {
        const __m256i more =
            _mm256_slli_epi32(spread_eight(in + k, later), LZ_TAGGING_LATER_SHIFT - 8);
        const __m256i product =
            _mm256_mullo_epi32(_mm256_xor_si256(load_eight(in + k), more), factor);

        _mm256_store_si256((void *)(b->hashes + k),
                           _mm256_srli_epi32(product, 32 - LZ_TAGGING_HASH_BITS));
        _mm256_store_si256((void *)(b->now + k),
                           _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(product, TAG_SHIFT),
                                                            _mm256_set1_epi32(TAG_MASK)),
                                           positions));
        positions = _mm256_add_epi32(positions, _mm256_set1_epi32(8 << TAG_BITS));
    }
}

/* Returns a bit for each of eight numbers of `apart`: whether a match seems to start there. */
AVX2_PATH static inline uint32_t near_eight(__m256i apart)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i same = _mm256_cmpeq_epi32(_mm256_slli_epi32(apart, 32 - TAG_BITS), zero);
    const __m256i near =
        _mm256_andnot_si256(_mm256_cmpgt_epi32(apart, _mm256_set1_epi32((int)FARTHEST)),
                            _mm256_cmpgt_epi32(apart, zero));

    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(same, near)));
}

AVX2_PATH NOINLINE static void compare_avx2(const struct tagging_block *b, size_t n,
                                            uint16_t *restrict distances, uint8_t *restrict stops)
{
    for (size_t k = 0; k < n; k += 64) {
        uint64_t bits = 0;

#pragma GCC unroll 4
        for (size_t j = 0; j < 64; j += 16) {
            const __m256i low = _mm256_load_si256((const void *)(b->apart + k + j)),
                          high = _mm256_load_si256((const void *)(b->apart + k + j + 8));

            store_sixteen(distances + k + j, _mm256_srli_epi32(low, TAG_BITS),
                          _mm256_srli_epi32(high, TAG_BITS));
            bits |= (uint64_t)(near_eight(low) | near_eight(high) << 8) << j;
        }
        store64(stops + k / 8, bits);
    }
}

AVX2_PATH static inline __m256i load_bytes32(const uint8_t *p)
{
    return _mm256_loadu_si256((const void *)p);
}

/* Returns a bit for each of 32 bytes: whether those at a and b agree. */
AVX2_PATH static inline uint32_t same32(const uint8_t *a, const uint8_t *b)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load_bytes32(a), load_bytes32(b)));
}

AVX2_PATH static inline struct agreement agree_avx2(const uint8_t *a, const uint8_t *b, size_t max)
{
    return agreement(~(same32(a - 1, b - 1) | (uint64_t)same32(a + 31, b + 31) << 32), 64, a, b,
                     max);
}

AVX2_PATH NOINLINE static void walk_avx2(struct tagging_walk *w)
{
    walk_in_turn(w, agree_avx2);
}

#ifdef HAVE_AVX512_PATH

/* --- With vectors of 64 bytes --- */

AVX512_PATH NOINLINE static void hash_avx512(struct tagging_block *b, const uint8_t *in,
                                             uint32_t pos, size_t n, uint32_t least)
{
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    /* Number i gets bytes i to i + 3. */
    const __m512i four = _mm512_add_epi32(_mm512_mullo_epi32(lanes, _mm512_set1_epi32(0x01010101)),
                                          _mm512_set1_epi32(0x03020100));
    /* Number i gets byte i + 4 in its second byte; only zeros if four bytes are hashed. */
    const __m512i later = _mm512_add_epi32(_mm512_mullo_epi32(lanes, _mm512_set1_epi32(0x00010100)),
                                           _mm512_set1_epi32(0x00050400));
    const __mmask64 middle = least > 4 ? UINT64_C(0x2222222222222222) : 0;
    const __m512i factor = _mm512_set1_epi32((int)LZ_TAGGING_FACTOR);
    __m512i positions =
        _mm512_slli_epi32(_mm512_add_epi32(_mm512_set1_epi32((int)pos), lanes), TAG_BITS);

    for (size_t k = 0; k < n; k += 16) {
        const __m512i bytes = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)(in + k)));
        const __m512i more = _mm512_slli_epi32(_mm512_maskz_permutexvar_epi8(middle, later, bytes),
                                               LZ_TAGGING_LATER_SHIFT - 8);
        const __m512i product = _mm512_mullo_epi32(
            _mm512_xor_si512(_mm512_permutexvar_epi8(four, bytes), more), factor);

        _mm512_store_si512(b->hashes + k, _mm512_srli_epi32(product, 32 - LZ_TAGGING_HASH_BITS));
        _mm512_store_si512(b->now + k,
                           _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(product, TAG_SHIFT),
                                                            _mm512_set1_epi32(TAG_MASK)),
                                           positions));
        positions = _mm512_add_epi32(positions, _mm512_set1_epi32(16 << TAG_BITS));
    }
}

AVX512_PATH NOINLINE static void compare_avx512(const struct tagging_block *b, size_t n,
                                                uint16_t *restrict distances,
                                                uint8_t *restrict stops)
{
    for (size_t k = 0; k < n; k += 64) {
        uint64_t bits = 0;

#pragma GCC unroll 4
        for (size_t j = 0; j < 64; j += 16) {
            const __m512i apart = _mm512_load_si512(b->apart + k + j);
            const __mmask16 same = _mm512_testn_epi32_mask(apart, _mm512_set1_epi32(TAG_MASK));
            /* With 0, apart - 1 wraps around and is too large. */
            const __mmask16 near = _mm512_mask_cmplt_epu32_mask(
                same, _mm512_sub_epi32(apart, _mm512_set1_epi32(1)), _mm512_set1_epi32(FARTHEST));

            _mm256_storeu_si256((void *)(distances + k + j),
                                _mm512_cvtepi32_epi16(_mm512_srli_epi32(apart, TAG_BITS)));
            bits |= (uint64_t)near << j;
        }
        store64(stops + k / 8, bits);
    }
}

AVX512_PATH static inline struct agreement agree_avx512(const uint8_t *a, const uint8_t *b,
                                                        size_t max)
{
    return agreement(_mm512_cmpneq_epi8_mask(_mm512_loadu_si512(a - 1), _mm512_loadu_si512(b - 1)),
                     64, a, b, max);
}

AVX512_PATH NOINLINE static void walk_avx512(struct tagging_walk *w)
{
    walk_in_turn(w, agree_avx512);
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

/* Makes all entries of the table "none".  The C library's wmemset takes the widest vectors that the
 * processor has. */
static void clear(uint32_t table[1 << LZ_TAGGING_HASH_BITS])
{
    _Static_assert(sizeof(wchar_t) == sizeof(table[0]), "an entry");
    wmemset((wchar_t *)(void *)table, (wchar_t)NONE, 1 << LZ_TAGGING_HASH_BITS);
}

/* Enters and walks through the next CHUNKS chunks from `start` on, or those up to m->end, and sets
 * their results.  Returns the end of the last one. */
static size_t match_chunks(struct lz_matcher *m, const uint8_t *in, size_t len, size_t start,
                           uint32_t least)
{
    struct tagging_state *const t = m->state;
    struct lz_chunk *const result = &m->to_chunks[start / LZ_CHUNK_SIZE];
    struct tagging_walk w = {.t = t, .in = in + start, .least = least};
    struct lz_sequence *out = m->to_sequences + start / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;

    for (unsigned c = 0; c < CHUNKS; c++, out += LZ_CHUNK_MAX_SEQUENCES) {
        const size_t end = start < m->end ? LZ_CHUNK_END(start, len) : start;

        enter(t->functions, t->table, t->distances[c], t->stops[c], in, start, end, least);
        w.sizes[c] = end - start;
        w.places[c].out = out;
        if (end > start)
            result[c].sequences = out;
        start = end;
    }
    t->functions->walk(&w);
    for (unsigned c = 0; c < CHUNKS && w.sizes[c] > 0; c++)
        result[c].count = (uint32_t)(w.places[c].out - result[c].sequences);
    return start;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    struct tagging_state *const t = m->state;
    const uint32_t least = lz_tagging_least(lz_count_distinct(in, (int32_t)len));
    size_t start = m->begin;

    (void)level;
    if (!m->goes_on)
        clear(t->table);
    if (m->enter < start)
        enter(t->functions, t->table, t->distances[0], t->stops[0], in, m->enter, start, least);
    while (start < m->end)
        start = match_chunks(m, in, len, start, least);
}

const struct lz_finder lz_finder_tagging = {
    .name = "tagging",
    .twin = LZ_TWIN,
    .in_parts = true,
    .new_state = new_state,
    .state_size = state_size,
    .find = find_matches,
};
