/*
 * vectors.h - vectors of 32 bytes, as several match finders need them; private to lzss/
 *
 * The file is empty where HAVE_AVX2_PATH is not defined (cpu.h).
 */
#ifndef GZLZSS_LZSS_VECTORS_H
#define GZLZSS_LZSS_VECTORS_H

#include "base/cpu.h"

#ifdef HAVE_AVX2_PATH

#include <immintrin.h>
#include <stdint.h>

/* Spreads the 16 bytes at p over eight numbers, as `places` says. */
AVX2_PATH static inline __m256i spread_eight(const uint8_t *p, __m256i places)
{
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p)),
                               places);
}

/* Returns eight numbers of four bytes: the bytes at p, the bytes at p + 1, and so on.  Reads 16
 * bytes. */
AVX2_PATH static inline __m256i load_eight(const uint8_t *p)
{
    return spread_eight(p, _mm256_setr_epi32(0x03020100, 0x04030201, 0x05040302, 0x06050403,
                                             0x07060504, 0x08070605, 0x09080706, 0x0a090807));
}

/* Stores sixteen numbers as 16 bits each; greater ones become 65535.  The pack instruction works on
 * each half of a vector by itself; the permutation puts the numbers into order. */
AVX2_PATH static inline void store_sixteen(uint16_t *to, __m256i low, __m256i high)
{
    _mm256_storeu_si256((void *)to, _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8));
}

#endif

#endif
