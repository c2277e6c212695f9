/*
 * slots.c - expands sequences into slots (slots.h)
 */
#include "config.h"

#include "huffman/slots.h"

#ifdef HAVE_AVX2_PATH

#include <immintrin.h>
#include <string.h>

#include "base/deflate.h"

_Static_assert(HUFF_SLOT_LITERALS == 4, "n >> 2 slots without a match");
_Static_assert(sizeof(struct lz_sequence) == 6, "length and distance after the literals");
_Static_assert(LZ_INPUT_PAD >= 16, "16 literals are copied at once");

/* A slot without a match has length 1 and distance 0.  (Length 0 would do as well, but the compiler
 * makes slow code to fill memory with zeros.) */
#define NO_MATCH 1

static huff_top_code top_code(uint64_t bits, unsigned count)
{
    return count == 0 ? 0 : bits << (64 - count) | count;
}

/*
 * huff_slots_encode finds the index of a distance without a table.  As a float, the distance less 1
 * has its logarithm in the exponent, and the next bit is the mantissa's uppermost one.  Less
 * EXPONENT, these bits are the distance's symbol plus 1, from symbol 2 on.  Distance 2 gives 1, its
 * symbol, and distance 1 gives less than 0.
 */
#define EXPONENT (2 * 127 - 1)

static unsigned distance_index(unsigned symbol)
{
    return symbol < 2 ? symbol : symbol + 1;
}

/* The index of "no distance". */
#define NO_DISTANCE (HUFF_VALUE_CODES - 1)

_Static_assert(DEFLATE_DISTANCE_SYMBOLS < NO_DISTANCE, "an index besides those of distances");

void huff_slots_make_codes(struct huff_slot_codes *codes, const uint16_t *litlen,
                           const uint8_t *litlen_lengths, const struct huff_value_code *distance)
{
    for (unsigned i = 0; i < 256; i++)
        codes->literal[i] = top_code(litlen[i], litlen_lengths[i]);
    codes->literal[HUFF_NO_LITERAL] = 0;

    for (unsigned length = 0; length < LZ_MIN_MATCH; length++)
        codes->length[length] = 0;
    for (unsigned i = DEFLATE_FIRST_LENGTH; i < DEFLATE_LITLEN_SYMBOLS; i++) {
        const unsigned least = deflate_least_length(i), extra_bits = deflate_length_extra_bits(i);
        const unsigned count = litlen_lengths[i] + extra_bits;

        /* Symbol 284 also sets the entry of LZ_MAX_MATCH, which symbol 285 then overwrites. */
        for (unsigned extra = 0; extra < 1u << extra_bits; extra++)
            codes->length[least + extra] =
                top_code(litlen[i] | (uint64_t)extra << litlen_lengths[i],
                         litlen_lengths[i] == 0 ? 0 : count);
    }
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++) {
        codes->distance_bits[distance_index(i)] = distance[i].bits;
        codes->distance_counts[distance_index(i)] =
            (uint32_t)distance[i].count << 16 | distance[i].shift;
    }
    codes->distance_bits[NO_DISTANCE] = codes->distance_counts[NO_DISTANCE] = 0;
}

#define AVX2_INLINE AVX2_PATH static inline __attribute__((always_inline))

/* Returns 16 literals as numbers of 16 bits. */
AVX2_INLINE __m256i load_literals(const uint8_t *in)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)in));
}

AVX2_PATH NOINLINE uint32_t huff_slots_expand(struct huff_slots *s, const uint8_t **in,
                                              const struct lz_sequence *sequences, uint32_t count)
{
    /* ends + 16 - n has n zeros, and then 16 times HUFF_NO_LITERAL or more. */
#define FOUR(x) x, x, x, x
    static const uint16_t ends[32] = {
        FOUR(0),
        FOUR(0),
        FOUR(0),
        FOUR(0),
        FOUR(HUFF_NO_LITERAL),
        FOUR(HUFF_NO_LITERAL),
        FOUR(HUFF_NO_LITERAL),
        FOUR(HUFF_NO_LITERAL),
    };
#undef FOUR
    const uint8_t *next = *in;
    uint32_t used = 0, i;

    for (i = 0; i < HUFF_SLOTS; i += 8)
        _mm256_store_si256((void *)(s->match + i), _mm256_set1_epi32(NO_MATCH));
    for (i = 0; i < count && used < HUFF_SLOTS_ENOUGH; i++) {
        size_t n = sequences[i].literals;
        __m256i literals;

        if (__builtin_expect(n >= 16, 0)) {
            if (n > HUFF_SLOT_MOST)
                break;
            for (; n >= 16; n -= 16, next += 16, used += 16 / HUFF_SLOT_LITERALS)
                _mm256_storeu_si256((void *)(s->literals + HUFF_SLOT_LITERALS * used),
                                    load_literals(next));
        }
        literals = _mm256_max_epu16(load_literals(next),
                                    _mm256_loadu_si256((const void *)(ends + 16 - n)));
        _mm256_storeu_si256((void *)(s->literals + HUFF_SLOT_LITERALS * used), literals);
        used += (uint32_t)(n / HUFF_SLOT_LITERALS);
        memcpy(&s->match[used++], &sequences[i].length, sizeof(s->match[0]));
        next += n + sequences[i].length;
    }
    s->used = used;
    *in = next;
    return i;
}

/* Looks up eight numbers in table[0..32).  `bit3` and `bit4` have these bits of each index as their
 * uppermost ones. */
AVX2_INLINE __m256i look_up(const uint32_t *table, __m256i index, __m256 bit3, __m256 bit4)
{
    __m256 quarters[4];

#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++)
        quarters[i] = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(
            _mm256_load_si256((const void *)(table + (size_t)8 * i)), index));
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_blendv_ps(quarters[0], quarters[1], bit3),
                                                _mm256_blendv_ps(quarters[2], quarters[3], bit3),
                                                bit4));
}

/* Stores four codes, of which `value` and `count` have the bits and their count. */
AVX2_INLINE void store_top_codes(huff_top_code *to, __m128i value, __m128i count)
{
    const __m256i c = _mm256_cvtepu32_epi64(count);
    /* If c is 0, the instruction shifts by 64, and all bits are 0. */
    const __m256i bits = _mm256_sllv_epi64(_mm256_cvtepu32_epi64(value),
                                           _mm256_sub_epi64(_mm256_set1_epi64x(64), c));

    _mm256_store_si256((void *)to, _mm256_or_si256(bits, c));
}

AVX2_PATH NOINLINE void huff_slots_encode(struct huff_slots *s, const struct huff_slot_codes *codes)
{
    for (uint32_t i = 0; i < s->used; i += 8) {
        const __m256i distance =
            _mm256_srli_epi32(_mm256_load_si256((const void *)(s->match + i)), 16);
        const __m256i less1 = _mm256_sub_epi32(distance, _mm256_set1_epi32(1));
        const __m256i upper = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(less1)), 22);
        /* Without a distance, less1 is negative, and so is the float.  Its sign is the uppermost
         * bit of `upper`, so the index is too large. */
        const __m256i index =
            _mm256_min_epi32(_mm256_max_epi32(_mm256_sub_epi32(upper, _mm256_set1_epi32(EXPONENT)),
                                              _mm256_setzero_si256()),
                             _mm256_set1_epi32(NO_DISTANCE));
        const __m256 bit3 = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
        const __m256 bit4 = _mm256_castsi256_ps(_mm256_slli_epi32(index, 27));
        const __m256i counts = look_up(codes->distance_counts, index, bit3, bit4);
        const __m256i shift = _mm256_and_si256(counts, _mm256_set1_epi32(0xffff));
        const __m256i value = _mm256_add_epi32(_mm256_sllv_epi32(distance, shift),
                                               look_up(codes->distance_bits, index, bit3, bit4));
        const __m256i count = _mm256_srli_epi32(counts, 16);

        store_top_codes(s->distance + i, _mm256_castsi256_si128(value),
                        _mm256_castsi256_si128(count));
        store_top_codes(s->distance + i + 4, _mm256_extracti128_si256(value, 1),
                        _mm256_extracti128_si256(count, 1));
    }
}

#endif
