/*
 * lanes.c - computes the places and the codes of sixteen sequences at a time (lanes.h)
 *
 * A vector has sixteen numbers of 32 bits, one for each sequence.  Tables are looked up in
 * registers: two registers hold 32 numbers of 32 bits, and four hold 256 bytes.  Instructions that
 * gather from memory would make shorter code, but on some processors they take longer than sixteen
 * loads.
 */
#include "config.h"

#include "huffman/lanes.h"

#ifdef HAVE_AVX512_PATH

#include <immintrin.h>

#include "base/bytes.h"

#define VECTOR static inline __attribute__((always_inline)) AVX512_PATH

_Static_assert(sizeof(struct lz_sequence) == 6, "sixteen sequences in a vector and a half");
_Static_assert(HUFF_LANES == 16 && HUFF_LANES_BATCH % HUFF_LANES == 0, "a vector's numbers");
_Static_assert(sizeof(struct huff_value_code) == 8, "two numbers of 32 bits");
_Static_assert(HUFF_SLOT_LITERALS == 4, "the literals' bytes in a number");
_Static_assert(HUFF_LANES_SLOTS % HUFF_LANES == 0 && HUFF_SLOTS_SEQUENCE == HUFF_LANES,
               "whole vectors of slots");
_Static_assert(LZ_INPUT_PAD >= 64, "64 literals are copied at once");

VECTOR __m512i broadcast(uint32_t value)
{
    return _mm512_set1_epi32((int)value);
}

VECTOR __m512i low16(__m512i x)
{
    return _mm512_and_si512(x, broadcast(0xffff));
}

/* Sixteen sequences, field by field. */
struct fields {
    __m512i literals, length, distance;
};

/* Returns every third of the 48 numbers of 16 bits in a and b, from number `first` on, as sixteen
 * numbers of 32 bits. */
VECTOR __m512i every_third(__m512i a, __m512i b, int first)
{
    const __m512i index = _mm512_add_epi32(
        _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45),
        broadcast((uint32_t)first));

    return _mm512_maskz_permutex2var_epi16(0x55555555, a, index, b);
}

/* Loads sixteen sequences. */
VECTOR struct fields load_fields(const struct lz_sequence *s)
{
    const __m512i a = _mm512_loadu_si512(s);
    const __m512i b =
        _mm512_castsi256_si512(_mm256_loadu_si256((const void *)((const uint8_t *)s + 64)));

    return (struct fields){every_third(a, b, 0), every_third(a, b, 1), every_third(a, b, 2)};
}

/* Adds HUFF_LANES_SPECIAL to the numbers of special sequences. */
VECTOR __m512i mark(__m512i x, __mmask16 special)
{
    return _mm512_mask_add_epi32(x, special, x, broadcast(HUFF_LANES_SPECIAL));
}

/* Returns, for each of the sixteen numbers in x, the sum of the number and all numbers before
 * it. */
VECTOR __m512i prefix_sums(__m512i x)
{
    const __m512i zero = _mm512_setzero_si512();

    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 15));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 14));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 12));
    return _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 8));
}

/* Returns the last number in x, sixteen times. */
VECTOR __m512i broadcast_last(__m512i x)
{
    return _mm512_permutexvar_epi32(broadcast(15), x);
}

/* Returns the first number in x. */
VECTOR uint32_t first_of(__m512i x)
{
    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(x));
}

/* deflate_distance_symbol of sixteen distances, 1 or more. */
VECTOR __m512i distance_symbols(__m512i distance)
{
    const __m512i x = _mm512_sub_epi32(distance, broadcast(1));
    const __m512i zeros = _mm512_lzcnt_epi32(x);
    /* 2 or 3: the highest set bit, and the bit after it */
    const __m512i top = _mm512_srli_epi32(_mm512_sllv_epi32(x, zeros), 30);

    /* 2 * log2 + the next bit, where log2 is 31 - zeros */
    return _mm512_mask_sub_epi32(x, _mm512_cmpgt_epu32_mask(x, broadcast(1)),
                                 _mm512_add_epi32(top, broadcast(60)), _mm512_slli_epi32(zeros, 1));
}

/* A table of 256 bytes. */
struct bytes256 {
    __m512i quarters[4];
};

VECTOR struct bytes256 load_bytes256(const uint8_t *p)
{
    return (struct bytes256){{_mm512_loadu_si512(p), _mm512_loadu_si512(p + 64),
                              _mm512_loadu_si512(p + 128), _mm512_loadu_si512(p + 192)}};
}

/* Looks up 64 bytes at once.  The bytes of `index` are the numbers of the entries. */
VECTOR __m512i look_up_bytes(const struct bytes256 *t, __m512i index)
{
    const __m512i low = _mm512_permutex2var_epi8(t->quarters[0], index, t->quarters[1]);
    const __m512i high = _mm512_permutex2var_epi8(t->quarters[2], index, t->quarters[3]);

    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
}

/* A table of 32 numbers. */
struct numbers32 {
    __m512i halves[2];
};

/* Looks up sixteen numbers. */
VECTOR __m512i look_up(const struct numbers32 *t, __m512i index)
{
    return _mm512_permutex2var_epi32(t->halves[0], index, t->halves[1]);
}

/* A table of 32 codes (valuecode.h). */
struct value_codes {
    struct numbers32 bits;
    struct numbers32
        counts; /* each code's count in the upper half, and its shift in the lower half */
};

VECTOR struct value_codes load_value_codes(const struct huff_value_code *codes)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, broadcast(1));
    struct value_codes c;

    for (unsigned i = 0; i < 2; i++) {
        const __m512i low = _mm512_loadu_si512(codes + i * 16);
        const __m512i high = _mm512_loadu_si512(codes + i * 16 + 8);

        c.bits.halves[i] = _mm512_permutex2var_epi32(low, even, high);
        c.counts.halves[i] = _mm512_permutex2var_epi32(low, odd, high);
    }
    return c;
}

/* Returns deflate_length_symbol() - DEFLATE_FIRST_LENGTH of sixteen lengths.  less3 has each length
 * less 3, which is below 256. */
VECTOR __m512i length_symbols_of(const struct bytes256 *t, __m512i less3)
{
    return _mm512_and_si512(look_up_bytes(t, less3), broadcast(255));
}

AVX512_PATH uint32_t huff_lanes_locate(struct huff_located *l, const struct lz_sequence *sequences,
                                       uint32_t count, size_t pos, size_t enough, size_t end,
                                       uint32_t few, uint32_t limit, const uint8_t *length_symbols)
{
    const struct bytes256 symbols = load_bytes256(length_symbols);
    __m512i before = broadcast((uint32_t)pos);
    uint32_t i;

    for (i = 0; i < HUFF_LANES_BATCH && count - i >= HUFF_LANES; i += HUFF_LANES) {
        const struct fields s = load_fields(sequences + i);
        const __m512i bytes = _mm512_add_epi32(s.literals, s.length);
        const __m512i ends = _mm512_add_epi32(before, prefix_sums(bytes));
        const __m512i match = _mm512_sub_epi32(ends, s.length);
        const __m512i literals = _mm512_sub_epi32(match, s.literals);
        const __m512i less3 = _mm512_sub_epi32(s.length, broadcast(LZ_MIN_MATCH));
        const __mmask16 stops =
            _mm512_cmpgt_epu32_mask(less3, broadcast(LZ_MAX_MATCH - LZ_MIN_MATCH)) |
            _mm512_cmpge_epu32_mask(_mm512_sub_epi32(s.distance, broadcast(1)),
                                    broadcast(LZ_WINDOW_SIZE)) |
            _mm512_cmpgt_epu32_mask(s.distance, match) |
            _mm512_cmpge_epu32_mask(literals, broadcast((uint32_t)enough)) |
            _mm512_cmpgt_epu32_mask(ends, broadcast((uint32_t)end));
        const __mmask16 special = _mm512_cmpgt_epu32_mask(s.length, broadcast(limit)) |
                                  _mm512_cmpgt_epu32_mask(s.literals, broadcast(few));

        if (stops != 0)
            break;
        _mm512_store_si512(l->literals + i, literals);
        _mm512_store_si512(l->match + i, match);
        _mm512_store_si512(l->length + i, s.length);
        _mm512_store_si512(l->distance + i, s.distance);
        _mm512_store_si512(l->length_symbol + i, mark(length_symbols_of(&symbols, less3), special));
        _mm512_store_si512(l->distance_symbol + i, distance_symbols(s.distance));
        _mm512_store_si512(
            l->short_of + i,
            _mm512_sub_epi32(broadcast(limit), _mm512_min_epu32(s.length, broadcast(limit))));
        before = broadcast_last(ends);
    }
    l->end = first_of(before);
    return i;
}

void huff_lanes_make_codes(struct huff_lane_codes *codes, const uint16_t *litlen,
                           const uint8_t *litlen_lengths)
{
    for (unsigned i = 0; i < 256; i++) {
        codes->literal_low[i] = (uint8_t)litlen[i];
        codes->literal_high[i] = (uint8_t)(litlen[i] >> 8);
        codes->literal_count[i] = litlen_lengths[i];
    }
    for (unsigned i = DEFLATE_FIRST_LENGTH; i < DEFLATE_LITLEN_SYMBOLS; i++)
        codes->length[i - DEFLATE_FIRST_LENGTH] = huff_value_code(
            litlen[i], litlen_lengths[i], deflate_least_length(i), deflate_length_extra_bits(i));
}

/* For each of sixteen sequences: some bits, and the number of these bits. */
struct codes16 {
    __m512i bits, count;
};

/* Puts the bits of b above the bits of a; together, a and b have at most 32 bits. */
VECTOR struct codes16 join(struct codes16 a, struct codes16 b)
{
    return (struct codes16){_mm512_or_si512(a.bits, _mm512_sllv_epi32(b.bits, a.count)),
                            _mm512_add_epi32(a.count, b.count)};
}

/* The codes of sixteen lengths or distances, with their extra bits. */
VECTOR struct codes16 code_of(__m512i value, __m512i symbol, const struct value_codes *codes)
{
    const __m512i count = look_up(&codes->counts, symbol);

    return (struct codes16){
        _mm512_add_epi32(_mm512_sllv_epi32(value, low16(count)), look_up(&codes->bits, symbol)),
        _mm512_srli_epi32(count, 16)};
}

/* The codes of the lanes in `mask`, and no bits for the others. */
VECTOR struct codes16 only(__mmask16 mask, struct codes16 codes)
{
    return (struct codes16){_mm512_maskz_mov_epi32(mask, codes.bits),
                            _mm512_maskz_mov_epi32(mask, codes.count)};
}

/* The lower or the upper halves of eight numbers of 64 bits. */
VECTOR __m512i half(__m512i x, bool upper)
{
    return upper ? _mm512_srli_epi64(x, 32) : _mm512_and_si512(x, _mm512_set1_epi64(0xffffffff));
}

/* Joins the bits of a, b, c and d for every other sequence, either the odd ones or the even ones.
 * The result has 64 bits for each of these sequences. */
VECTOR __m512i join_all(struct codes16 a, struct codes16 b, struct codes16 c, struct codes16 d,
                        bool odd)
{
    const __m512i ab = _mm512_or_si512(half(a.bits, odd),
                                       _mm512_sllv_epi64(half(b.bits, odd), half(a.count, odd)));
    const __m512i cd = _mm512_or_si512(half(c.bits, odd),
                                       _mm512_sllv_epi64(half(d.bits, odd), half(c.count, odd)));

    return _mm512_or_si512(ab,
                           _mm512_sllv_epi64(cd, half(_mm512_add_epi32(a.count, b.count), odd)));
}

/* A group of HUFF_LANES sequences that is being expanded, sequence by sequence. */
struct group {
    _Alignas(64) uint32_t places[HUFF_LANES]; /* the literals' places in the input */
    uint32_t full[HUFF_LANES];                /* the number of slots without a match */
    uint32_t match[HUFF_LANES];               /* the last slot's `match` */
};

/* Expands a group whose sequences need at most `most` slots each, 8 or 16.  The slots after the
 * first `used` ones have no match yet.  Always copies as many literals as fit in `most` slots; the
 * next sequence overwrites those that are too many.  Returns the number of slots in use. */
VECTOR uint32_t expand_group(struct huff_lane_slots *s, const uint8_t *in, const struct group *g,
                             uint32_t used, unsigned most)
{
    for (unsigned i = 0; i < HUFF_LANES; i++) {
        const uint8_t *const literals = in + g->places[i];

        if (most == 8) {
            _mm256_storeu_si256((void *)(s->literals + 4 * used),
                                _mm256_loadu_si256((const void *)literals));
        } else {
            _mm512_storeu_si512(s->literals + 4 * used, _mm512_loadu_si512(literals));
        }
        used += g->full[i];
        s->match[used++] = g->match[i];
    }
    return used;
}

AVX512_PATH uint32_t huff_lanes_expand(struct huff_lane_slots *s, const uint8_t **in,
                                       const struct lz_sequence *sequences, uint32_t count)
{
    const __m512i no_match = broadcast(HUFF_SLOT_LITERALS << HUFF_LANES_LITERALS_SHIFT);
    __m512i before = _mm512_setzero_si512();
    uint32_t i, used = 0;
    struct group g;

    for (i = 0; i < HUFF_LANES_SLOTS; i += HUFF_LANES)
        _mm512_store_si512(s->match + i, no_match);
    for (i = 0; count - i >= HUFF_LANES && used < HUFF_SLOTS_ENOUGH; i += HUFF_LANES) {
        const struct fields f = load_fields(sequences + i);
        const __m512i bytes = _mm512_add_epi32(f.literals, f.length);
        const __m512i ends = _mm512_add_epi32(before, prefix_sums(bytes));
        const __m512i rest = _mm512_and_si512(f.literals, broadcast(HUFF_SLOT_LITERALS - 1));

        if (_mm512_cmpgt_epu32_mask(f.literals, broadcast(HUFF_SLOT_MOST)) != 0)
            break;
        _mm512_store_si512(g.places, _mm512_sub_epi32(ends, bytes));
        _mm512_store_si512(g.full, _mm512_srli_epi32(f.literals, 2));
        _mm512_store_si512(
            g.match,
            _mm512_or_si512(f.distance,
                            _mm512_or_si512(_mm512_slli_epi32(f.length, HUFF_LANES_LENGTH_SHIFT),
                                            _mm512_slli_epi32(rest, HUFF_LANES_LITERALS_SHIFT))));
        if (_mm512_cmpge_epu32_mask(f.literals, broadcast(32)) == 0)
            used = expand_group(s, *in, &g, used, 8);
        else
            used = expand_group(s, *in, &g, used, 16);
        before = broadcast_last(ends);
    }
    s->used = used;
    *in += first_of(before);
    return i;
}

AVX512_PATH void huff_lanes_encode(struct huff_lane_slots *s, const struct huff_lane_codes *litlen,
                                   const struct huff_value_code *distance,
                                   const uint8_t *length_symbols)
{
    const struct bytes256 low_bytes = load_bytes256(litlen->literal_low);
    const struct bytes256 high_bytes = load_bytes256(litlen->literal_high);
    const struct bytes256 counts = load_bytes256(litlen->literal_count);
    const struct bytes256 symbols = load_bytes256(length_symbols);
    const struct value_codes length_codes = load_value_codes(litlen->length);
    const struct value_codes distance_codes = load_value_codes(distance);
    /* Masks for a slot's 4 bytes, indexed by the number of its literals.  The mask clears the code
     * and the count of bits of each byte that is not a literal. */
    const __m512i masks =
        _mm512_setr_epi32(0, 0xff, 0xffff, 0xffffff, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i even = broadcast(0x00ff00ff); /* the first and the third byte */

    for (uint32_t i = 0; i < s->used; i += HUFF_LANES) {
        const __m512i match = _mm512_load_si512(s->match + i);
        const __m512i bytes = _mm512_load_si512(s->literals + 4 * i);
        const __m512i mask =
            _mm512_permutexvar_epi32(_mm512_srli_epi32(match, HUFF_LANES_LITERALS_SHIFT), masks);
        const __m512i dist = low16(match);
        const __m512i length = _mm512_and_si512(_mm512_srli_epi32(match, HUFF_LANES_LENGTH_SHIFT),
                                                broadcast(HUFF_LANES_LENGTH_MASK));
        const __mmask16 has_match = _mm512_test_epi32_mask(length, length);
        const __m512i low = _mm512_and_si512(mask, look_up_bytes(&low_bytes, bytes));
        const __m512i high = _mm512_and_si512(mask, look_up_bytes(&high_bytes, bytes));
        const __m512i lengths = _mm512_and_si512(mask, look_up_bytes(&counts, bytes));
        /* first_third has the codes of the first and the third literal, in 16 bits each, and
         * second_fourth those of the second and the fourth.  The numbers of bits of the codes are
         * in `count`, in the same order. */
        const struct codes16 first_third = {
            _mm512_or_si512(_mm512_and_si512(low, even),
                            _mm512_slli_epi16(_mm512_and_si512(high, even), 8)),
            _mm512_and_si512(lengths, even)};
        const struct codes16 second_fourth = {
            _mm512_or_si512(_mm512_srli_epi16(low, 8), _mm512_andnot_si512(even, high)),
            _mm512_srli_epi16(lengths, 8)};
        const struct codes16 first = {low16(first_third.bits), low16(first_third.count)};
        const struct codes16 second = {low16(second_fourth.bits), low16(second_fourth.count)};
        const struct codes16 third = {_mm512_srli_epi32(first_third.bits, 16),
                                      _mm512_srli_epi32(first_third.count, 16)};
        const struct codes16 fourth = {_mm512_srli_epi32(second_fourth.bits, 16),
                                       _mm512_srli_epi32(second_fourth.count, 16)};
        const struct codes16 a = join(first, second), b = join(third, fourth);
        const __m512i less3 = _mm512_sub_epi32(length, broadcast(LZ_MIN_MATCH));
        const struct codes16 c =
            only(has_match, code_of(length, length_symbols_of(&symbols, less3), &length_codes));
        const struct codes16 d =
            only(has_match, code_of(dist, distance_symbols(dist), &distance_codes));
        const __m512i count_of_all = _mm512_add_epi32(_mm512_add_epi32(a.count, b.count),
                                                      _mm512_add_epi32(c.count, d.count));
        const __m512i evens = join_all(a, b, c, d, false), odds = join_all(a, b, c, d, true);

        _mm512_store_si512(
            s->bits + i,
            _mm512_permutex2var_epi64(evens, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), odds));
        _mm512_store_si512(
            s->bits + i + 8,
            _mm512_permutex2var_epi64(evens, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), odds));
        _mm512_store_si512(s->count + i, count_of_all);
    }
}

#endif
