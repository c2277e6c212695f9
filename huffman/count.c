/*
 * count.c - checks matches and counts symbols (count.h)
 *
 * Each match is compared with the input.  No branch depends on the outcome of a comparison, so none
 * is mispredicted.  Instead, the bits that differ gather in a register, which is examined once, at
 * the part's end.  Most matches have at most 32 bytes, and need only one masked comparison.  Data
 * with long matches has a loop of its own, which compares 64 bytes (LONG).
 * Literals are first copied into one array, and then counted in a separate loop, which loads eight
 * at a time.
 */
#include "config.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/bytes.h"
#include "huffman/count.h"

_Static_assert(LZ_CHUNK_SIZE <= UINT16_MAX, "a part's literals in 16 bits");

/* Vectors whose bytes are compared at once.  The compiler uses whatever vector registers the
 * processor has. */
typedef uint64_t vector16 __attribute__((vector_size(16)));
typedef uint64_t vector32 __attribute__((vector_size(32)));

/* The bits that differed in any comparison; all 0 if all bytes were equal. */
struct difference {
    vector16 halves; /* from comparisons of 16 bytes */
    vector32 whole;  /* from comparisons of 32 bytes */
};

/* Compares the bits of a[0..16) and b[0..16) for which mask[0..16) has ones. */
LOOP void compare16(struct difference *d, const uint8_t *a, const uint8_t *b, const uint8_t *mask)
{
    vector16 va, vb, vmask;

    memcpy(&va, a, sizeof(va));
    memcpy(&vb, b, sizeof(vb));
    memcpy(&vmask, mask, sizeof(vmask));
    d->halves |= (va ^ vb) & vmask;
}

/* Compares the bits of a[0..32) and b[0..32) for which mask[0..32) has ones. */
LOOP void compare(struct difference *d, const uint8_t *a, const uint8_t *b, const uint8_t *mask,
                  bool avx2)
{
    if (avx2) {
        vector32 va, vb, vmask;

        memcpy(&va, a, sizeof(va));
        memcpy(&vb, b, sizeof(vb));
        memcpy(&vmask, mask, sizeof(vmask));
        d->whole |= (va ^ vb) & vmask;
    } else {
        /* gcc 12 generates slow code for vectors that are wider than a register. */
        compare16(d, a, b, mask);
        compare16(d, a + 16, b + 16, mask + 16);
    }
}

/* The number of bytes that are compared at once: in a part with mostly short matches, and in one
 * with many long matches.  A comparison of LONG bytes takes longer, but fewer matches need more
 * than one comparison.  The branch for these is often mispredicted. */
#define SHORT 32
#define LONG 64

/* A part has many long matches if the part before had more than this number of bytes for each
 * sequence. */
#define LONG_SEQUENCE 18

/* compare_masks + LONG - n is a mask of n bytes of ones, followed by zeros. */
#define ONES 255, 255, 255, 255, 255, 255, 255, 255
static const uint8_t compare_masks[2 * LONG] = {ONES, ONES, ONES, ONES, ONES, ONES, ONES, ONES};
#undef ONES

/* Compares the bits of a[0..width) and b[0..width) for which mask[0..width) has ones.  `width` is
 * SHORT or LONG. */
LOOP void compare_width(struct difference *d, const uint8_t *a, const uint8_t *b,
                        const uint8_t *mask, bool avx2, size_t width)
{
    compare(d, a, b, mask, avx2);
    if (width == LONG)
        compare(d, a + SHORT, b + SHORT, mask + SHORT, avx2);
}

/* Compares a[0..length) with b[0..length), length being 3 to LZ_MAX_MATCH.  width - 1 bytes after
 * both must be readable.  Few matches are longer than `width`, so the loop's branch is predicted
 * well. */
LOOP void compare_match(struct difference *d, const uint8_t *a, const uint8_t *b, size_t length,
                        bool avx2, size_t width)
{
    compare_width(d, a, b, compare_masks + LONG - (length < width ? length : width), avx2, width);
    while (length > width) {
        /* The last step compares some bytes a second time, and so needs no mask. */
        size_t step = length < 2 * width ? length - width : width;

        length -= step;
        a += step;
        b += step;
        compare_width(d, a, b, compare_masks, avx2, width);
    }
}

/* Whether all compared bytes were equal. */
LOOP bool all_equal(const struct difference *d)
{
    return (d->halves[0] | d->halves[1] | d->whole[0] | d->whole[1] | d->whole[2] | d->whole[3]) ==
           0;
}

/* Adds the literals in[0..n) to the part's counts. */
static void count_literals(struct huff_encoder *e, const uint8_t *in, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t bytes = load64(in + i);

#pragma GCC unroll 8
        for (unsigned k = 0; k < 8; k++)
            e->literals[k & 3][(bytes >> (8 * k)) & 255]++;
    }
    for (; i < n; i++)
        e->literals[i & 3][in[i]]++;
}

/* Sets the part's counts of all symbols, and its extra bits. */
static void sum_up(const struct huff_encoder *restrict e, struct huff_counts *restrict counts)
{
    for (unsigned i = 0; i < 256; i++)
        counts->litlen[i] =
            (uint32_t)e->literals[0][i] + e->literals[1][i] + e->literals[2][i] + e->literals[3][i];
    counts->litlen[DEFLATE_END_OF_BLOCK] = 1;
    for (unsigned i = DEFLATE_FIRST_LENGTH; i < DEFLATE_FIXED_LITLEN_SYMBOLS; i++)
        counts->litlen[i] = (uint32_t)e->symbols[0].length[i - DEFLATE_FIRST_LENGTH] +
                            e->symbols[1].length[i - DEFLATE_FIRST_LENGTH];
    for (unsigned i = 0; i < DEFLATE_FIXED_DISTANCE_SYMBOLS; i++)
        counts->distance[i] = (uint32_t)e->symbols[0].distance[i] + e->symbols[1].distance[i];
    counts->extra_bits = 0;
    for (unsigned i = DEFLATE_FIRST_LENGTH; i < DEFLATE_LITLEN_SYMBOLS; i++)
        counts->extra_bits += (uint64_t)counts->litlen[i] * deflate_length_extra_bits(i);
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++)
        counts->extra_bits += (uint64_t)counts->distance[i] * deflate_distance_extra_bits(i);
}

/* The loop of huff_count_portable (avx2 = false) and huff_count_avx2 (avx2 = true: with vectors of
 * 32 bytes).  Compares `width` bytes at once. */
LOOP size_t count_loop(struct huff_encoder *e, const uint8_t *in, size_t pos, size_t chunk_end,
                       size_t enough, const struct lz_sequence *sequences, uint32_t count,
                       uint32_t *counted, bool avx2, size_t width)
{
    const struct lz_sequence *s = sequences, *const end = s + count;
    struct huff_symbol_counts *symbols = &e->symbols[0], *others = &e->symbols[1], *swap;
    uint8_t *text = e->text;
    struct difference d = {{0}, {0}};

    for (; s < end && pos < enough; s++) {
        const size_t literals = s->literals, length = s->length, distance = s->distance;
        const size_t match = pos + literals;

        if (length - LZ_MIN_MATCH > LZ_MAX_MATCH - LZ_MIN_MATCH || match + length > chunk_end)
            return 0;
        if (distance - 1 >= LZ_WINDOW_SIZE || distance > match)
            return 0;
        compare_match(&d, in + match, in + match - distance, length, avx2, width);
        memcpy(text, in + pos, FEW_LITERALS);
        if (__builtin_expect(literals <= FEW_LITERALS, 1))
            text += literals;
        else
            count_literals(e, in + pos, literals);
        symbols->length[e->length_symbols[length - LZ_MIN_MATCH]]++;
        symbols->distance[huff_distance_symbol(e, (unsigned)distance)]++;
        swap = symbols, symbols = others, others = swap;
        pos = match + length;
    }
    count_literals(e, e->text, (size_t)(text - e->text));
    *counted = (uint32_t)(s - sequences);
    return all_equal(&d) ? pos : 0;
}

NOINLINE size_t huff_count_portable(struct huff_encoder *e, const uint8_t *in, size_t pos,
                                    size_t chunk_end, size_t enough,
                                    const struct lz_sequence *sequences, uint32_t count,
                                    uint32_t *counted)
{
    return count_loop(e, in, pos, chunk_end, enough, sequences, count, counted, false, SHORT);
}

#ifdef HAVE_AVX2_PATH
AVX2_PATH NOINLINE static size_t count_long_avx2(struct huff_encoder *e, const uint8_t *in,
                                                 size_t pos, size_t chunk_end, size_t enough,
                                                 const struct lz_sequence *sequences,
                                                 uint32_t count, uint32_t *counted)
{
    return count_loop(e, in, pos, chunk_end, enough, sequences, count, counted, true, LONG);
}

AVX2_PATH NOINLINE static size_t count_short_avx2(struct huff_encoder *e, const uint8_t *in,
                                                  size_t pos, size_t chunk_end, size_t enough,
                                                  const struct lz_sequence *sequences,
                                                  uint32_t count, uint32_t *counted)
{
    return count_loop(e, in, pos, chunk_end, enough, sequences, count, counted, true, SHORT);
}

size_t huff_count_avx2(struct huff_encoder *e, const uint8_t *in, size_t pos, size_t chunk_end,
                       size_t enough, const struct lz_sequence *sequences, uint32_t count,
                       uint32_t *counted)
{
    huff_count_function *const f = e->long_matches ? count_long_avx2 : count_short_avx2;

    return f(e, in, pos, chunk_end, enough, sequences, count, counted);
}
#endif

#ifdef HAVE_AVX512_PATH

/* Returns a bit for each of the first n bytes at a and b: whether they differ.  n is at most LONG,
 * and LONG bytes at a and b must be readable. */
AVX512_PATH LOOP uint64_t differences(const uint8_t *a, const uint8_t *b, uint32_t n)
{
    return _mm512_mask_cmpneq_epi8_mask(_bzhi_u64(~UINT64_C(0), n), _mm512_loadu_si512(a),
                                        _mm512_loadu_si512(b));
}

/* What the sequences of a part have in common while count_batch counts them. */
struct progress {
    uint8_t *text; /* the end of the literals in e->text */
    struct difference difference;
    uint64_t differences; /* bits that are set where bytes differed */
};

/* Checks and counts sequence i of e->batch.located, in the tables `symbols`. */
AVX512_PATH LOOP void count_located(struct huff_encoder *e, const uint8_t *in, uint32_t i,
                                    struct progress *p, struct huff_symbol_counts *symbols,
                                    size_t width)
{
    const struct huff_located *const l = &e->batch.located;
    const uint8_t *const match = in + l->match[i], *const before = match - l->distance[i];
    const uint8_t *const literals = in + l->literals[i];
    size_t gathered = (size_t)(match - literals);
    uint32_t symbol = l->length_symbol[i];

    if (width == LONG)
        p->differences |= differences(match, before, l->length[i]);
    else
        compare(&p->difference, match, before, compare_masks + LONG - SHORT + l->short_of[i], true);
    memcpy(p->text, literals, FEW_LITERALS);
    symbols->distance[l->distance_symbol[i]]++;
    if (__builtin_expect(symbol >= HUFF_LANES_SPECIAL, 0)) {
        symbol -= HUFF_LANES_SPECIAL;
        compare_match(&p->difference, match, before, l->length[i], true, SHORT);
        if (gathered > FEW_LITERALS) {
            count_literals(e, literals, gathered);
            gathered = 0;
        }
    }
    symbols->length[symbol]++;
    p->text += gathered;
}

/* Like count_loop, but stops where huff_lanes_locate stops.  If count_lanes counts no sequence, it
 * returns pos, which may be 0.  If it counts any, a result of 0 means that a match is wrong. */
AVX512_PATH LOOP size_t count_lanes(struct huff_encoder *e, const uint8_t *in, size_t pos,
                                    size_t chunk_end, size_t enough,
                                    const struct lz_sequence *sequences, uint32_t count,
                                    uint32_t *counted, size_t width)
{
    struct huff_located *const l = &e->batch.located;
    struct progress p = {e->text, {{0}, {0}}, 0};
    uint32_t n;

    *counted = 0;
    while ((n = huff_lanes_locate(l, sequences + *counted, count - *counted, pos, enough, chunk_end,
                                  FEW_LITERALS, (uint32_t)width, e->length_symbols)) > 0) {
        for (uint32_t i = 0; i < n; i += 2) {
            count_located(e, in, i, &p, &e->symbols[0], width);
            count_located(e, in, i + 1, &p, &e->symbols[1], width);
        }
        pos = l->end;
        *counted += n;
    }
    count_literals(e, e->text, (size_t)(p.text - e->text));
    return all_equal(&p.difference) && p.differences == 0 ? pos : 0;
}

AVX512_PATH NOINLINE static size_t count_long_lanes(struct huff_encoder *e, const uint8_t *in,
                                                    size_t pos, size_t chunk_end, size_t enough,
                                                    const struct lz_sequence *sequences,
                                                    uint32_t count, uint32_t *counted)
{
    return count_lanes(e, in, pos, chunk_end, enough, sequences, count, counted, LONG);
}

AVX512_PATH NOINLINE static size_t count_short_lanes(struct huff_encoder *e, const uint8_t *in,
                                                     size_t pos, size_t chunk_end, size_t enough,
                                                     const struct lz_sequence *sequences,
                                                     uint32_t count, uint32_t *counted)
{
    return count_lanes(e, in, pos, chunk_end, enough, sequences, count, counted, SHORT);
}

size_t huff_count_avx512(struct huff_encoder *e, const uint8_t *in, size_t pos, size_t chunk_end,
                         size_t enough, const struct lz_sequence *sequences, uint32_t count,
                         uint32_t *counted)
{
    huff_count_function *const f = e->long_matches ? count_long_lanes : count_short_lanes;
    uint32_t by_lanes;

    pos = f(e, in, pos, chunk_end, enough, sequences, count, &by_lanes);
    if (by_lanes > 0 && pos == 0)
        return 0;
    pos = huff_count_avx2(e, in, pos, chunk_end, enough, sequences + by_lanes, count - by_lanes,
                          counted);
    *counted += by_lanes;
    return pos;
}
#endif

bool huff_count_part(struct huff_encoder *e, const uint8_t *in, size_t len,
                     const struct lz_chunk *chunks, size_t split, struct huff_place *at,
                     struct huff_counts *counts)
{
    const struct lz_chunk *chunk = &chunks[at->chunk];
    const size_t chunk_end = LZ_CHUNK_END(at->chunk * LZ_CHUNK_SIZE, len), start = at->byte;

    memset(e->literals, 0, sizeof(e->literals));
    memset(e->symbols, 0, sizeof(e->symbols));
    if (at->sequence < chunk->count) {
        uint32_t counted;

        at->byte = e->functions->count(e, in, at->byte, chunk_end, at->byte + split,
                                       chunk->sequences + at->sequence, chunk->count - at->sequence,
                                       &counted);
        if (at->byte == 0)
            return false;
        at->sequence += counted;
        e->long_matches = at->byte - start > (size_t)counted * LONG_SEQUENCE;
    }
    if (at->sequence == chunk->count) {
        count_literals(e, in + at->byte, chunk_end - at->byte);
        at->byte = chunk_end;
        at->chunk++;
        at->sequence = 0;
    }
    sum_up(e, counts);
    return true;
}
