/*
 * bytes.h - unaligned loads and stores, and match lengths
 */
#ifndef GZLZSS_BASE_BYTES_H
#define GZLZSS_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#elif defined(__AARCH64EL__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "base/both.h"

/* Little-endian loads from any address. */
BOTH_INLINE uint32_t load32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

BOTH_INLINE uint64_t load64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* A little-endian store to any address. */
BOTH_INLINE void store64(uint8_t *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, sizeof(v));
}

/* Kernels compare bytes in other ways. */
#ifndef __cplusplus
/*
 * Returns how many bytes at a and b agree, up to `max`.  The caller knows already that the first
 * `known` bytes agree.  Reads up to 15 bytes past the end of the comparison.
 *
 * With SSE2, which every x86-64 has, and NEON, which every 64-bit ARM has, this compares 16 bytes
 * at a time, because processors often mispredict a branch on whether a match is longer than 8
 * bytes, and few matches are longer than 16.
 */
static inline size_t match_length(const uint8_t *a, const uint8_t *b, size_t known, size_t max)
{
    while (known < max) {
#ifdef __SSE2__
        const __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const void *)(a + known)),
                                            _mm_loadu_si128((const void *)(b + known)));
        const uint32_t diff = (uint32_t)_mm_movemask_epi8(same) ^ 0xffff;
        const size_t step = 16, bits = 1;
#elif defined(__AARCH64EL__) && defined(__ARM_NEON)
        const uint8x16_t same = vceqq_u8(vld1q_u8(a + known), vld1q_u8(b + known));
        /* Shorten each byte's result, 0x00 or 0xff, to 4 bits. */
        const uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(same), 4);
        const uint64_t diff = ~vget_lane_u64(vreinterpret_u64_u8(halves), 0);
        const size_t step = 16, bits = 4;
#else
        const uint64_t diff = load64(a + known) ^ load64(b + known);
        const size_t step = 8, bits = 8;
#endif

        if (diff != 0) {
            known += (size_t)__builtin_ctzll(diff) / bits;
            return known < max ? known : max;
        }
        known += step;
    }
    return max;
}

#endif

#endif
