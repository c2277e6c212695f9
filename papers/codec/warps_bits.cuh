/*
 * warps_bits.cuh - decode Mathur's LZSS, and DKLZSS, 32 tokens at a time (warps.cu)
 */
#ifndef GZLZSS_PAPERS_CODEC_WARPS_BITS_CUH
#define GZLZSS_PAPERS_CODEC_WARPS_BITS_CUH

#include "papers/codec/dklzss.h"
#include "papers/codec/lzss.h"
#include "papers/codec/lanes.cuh"

/* --- Mathur's LZSS, and DKLZSS ---------------------------------------------------------------- */

/* Bits of a literal, with its flag. */
#define LITERAL_BITS 9

/* Finds this lane's token among the 32 tokens from bit number `bit` of coded[] on. A match has
 * match_bits bits, at most 29, with its flag. Returns 32 bits from the token's first bit on, and
 * sets *end to the number of the bit after the token.
 *
 * All lanes walk from token to token alike, which takes a few instructions for each. Each lane has
 * loaded one word, so that the walk does not wait for memory. */
static __device__ __forceinline__ uint32_t find_by_bits(const uint8_t *coded, uint32_t bit,
                                                        uint32_t match_bits, uint32_t *end)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uintptr_t from = (uintptr_t)(coded + bit / 8);
    const uint32_t skipped = (uint32_t)(from & 3) * 8 + bit % 8;
    /* The highest bit of a word's first byte becomes the word's highest. */
    const uint32_t word =
        __byte_perm(__ldg((const uint32_t *)(from & ~(uintptr_t)3) + lane), 0, 0x0123);
    uint64_t bits =
        (uint64_t)__shfl_sync(ALL_LANES, word, 0) << 32 | __shfl_sync(ALL_LANES, word, 1);
    uint32_t left = 64 - skipped, next = 2, found = 0;

    bits <<= skipped;
    for (uint32_t i = 0; i < WARP; i++) {
        const uint32_t token = (uint32_t)(bits >> 32);
        const uint32_t size = token >> 31 != 0 ? match_bits : LITERAL_BITS;

        bit += size;
        if (i == lane) {
            found = token;
            *end = bit;
        }
        bits <<= size;
        left -= size;
        if (left < 32) {
            bits |= (uint64_t)__shfl_sync(ALL_LANES, word, (int)next++) << (32 - left);
            left += 32;
        }
    }
    return found;
}

/* Decodes 32 tokens, or as many as are left. Format has match_bits, and sets the length and the
 * distance of a match. *bit: where the tokens are; *done: the bytes that are decoded. Returns false
 * if the coded form is damaged. All lanes return the same. */
template <typename Format>
static __device__ __forceinline__ bool step_by_bits(const Format &f, const uint8_t *coded,
                                                    uint32_t size, uint8_t *out, uint32_t plain,
                                                    uint32_t *bit, uint32_t *done)
{
    token t = {};
    uint32_t end = 0;
    const uint32_t bits = find_by_bits(coded, *bit, f.match_bits(), &end);

    t.is_match = bits >> 31 != 0;
    t.length = t.is_match ? f.length(bits) : 1;
    t.at = *done + sum_before(t.length);
    t.distance = t.is_match ? f.distance(bits, t.at) : 0;

    const bool is_used = t.at < plain;
    const bool is_good =
        end <= 8 * size && (!t.is_match || (f.is_good(t) && t.length <= plain - t.at));

    if (!__all_sync(ALL_LANES, is_good || !is_used))
        return false;
    if (is_used && !t.is_match)
        out[t.at] = (uint8_t)(bits >> 23);
    copy_matches(out, t, __ballot_sync(ALL_LANES, is_used && t.is_match));

    const uint32_t last = 31 - (uint32_t)__clz((int)__ballot_sync(ALL_LANES, is_used));

    *bit = __shfl_sync(ALL_LANES, end, (int)last);
    *done = __shfl_sync(ALL_LANES, t.at + t.length, (int)last);
    return *done < plain || bits_end(coded, size, *bit);
}

template <typename Format>
static __device__ __forceinline__ bool decode_by_bits(const Format &f, const codec_view &v,
                                                      uint32_t c, uint8_t *out, uint32_t plain)
{
    const codec_place place = v.places[c];
    uint32_t bit = 0, done = 0;

    if (is_too_long(v, place))
        return false;
    while (done < plain)
        if (!step_by_bits(f, v.coded + place.at, place.size, out, plain, &bit, &done))
            return false;
    return true;
}

/* The fields of a match of lzss.h, and what lzss_decode demands of it. */
struct lzss_warp {
    static __device__ __forceinline__ uint32_t match_bits()
    {
        return 1 + LZSS_CODE_DISTANCE_BITS + LZSS_CODE_LENGTH_BITS;
    }

    static __device__ __forceinline__ uint32_t length(uint32_t bits)
    {
        return (bits >> (32 - match_bits()) & ((1 << LZSS_CODE_LENGTH_BITS) - 1)) + LZ_MIN_MATCH;
    }

    static __device__ __forceinline__ uint32_t distance(uint32_t bits, uint32_t)
    {
        return (bits << 1 >> (32 - LZSS_CODE_DISTANCE_BITS)) + 1;
    }

    static __device__ __forceinline__ bool is_good(const token &t)
    {
        return t.distance <= t.at;
    }

    static __device__ __forceinline__ bool decode(const codec_view &v, uint32_t c, uint8_t *out,
                                                  uint32_t plain)
    {
        return decode_by_bits(lzss_warp(), v, c, out, plain);
    }
};

/* The fields of a match of dklzss.h, and what dklzss_decode demands of it. */
struct dklzss_warp {
    uint32_t field; /* bits of a position or a length */

    __device__ __forceinline__ uint32_t match_bits() const
    {
        return 1 + 2 * field;
    }

    __device__ __forceinline__ uint32_t length(uint32_t bits) const
    {
        return bits << (1 + field) >> (32 - field);
    }

    /* If the position is after the match, the difference wraps around, and is_good refuses it. */
    __device__ __forceinline__ uint32_t distance(uint32_t bits, uint32_t at) const
    {
        return at - (bits << 1 >> (32 - field));
    }

    static __device__ __forceinline__ bool is_good(const token &t)
    {
        return t.length >= LZ_MIN_MATCH && t.distance <= t.at && t.length <= t.distance;
    }

    static __device__ __forceinline__ bool decode(const codec_view &v, uint32_t c, uint8_t *out,
                                                  uint32_t plain)
    {
        return decode_by_bits(dklzss_warp{v.shape.variant}, v, c, out, plain);
    }
};

#endif
