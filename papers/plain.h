/*
 * plain.h - loads and comparisons for code that both engines compile and that one thread runs
 *
 * On the CPU, these are the functions of base/bytes.h. A GPU cannot load words from any address, so
 * there they go byte by byte, as the papers' kernels do.
 */
#ifndef GZLZSS_PAPERS_PLAIN_H
#define GZLZSS_PAPERS_PLAIN_H

#include "base/both.h"
#if !defined(__CUDACC__) && !defined(__CUDA_ARCH__)
#include "base/bytes.h"
#endif

/* Returns the four bytes at p as a little-endian number. */
BOTH_INLINE uint32_t plain_load32(const uint8_t *p)
{
#if !defined(__CUDACC__) && !defined(__CUDA_ARCH__)
    return load32(p);
#else
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
#endif
}

/* Returns how many bytes at a and b agree, up to `most`. The first `known` bytes are known to
 * agree. On the CPU, reads up to 15 bytes past the end of the comparison. */
BOTH_INLINE uint32_t plain_match_length(const uint8_t *a, const uint8_t *b, uint32_t known,
                                        uint32_t most)
{
#if !defined(__CUDACC__) && !defined(__CUDA_ARCH__)
    return (uint32_t)match_length(a, b, known, most);
#else
    while (known < most && a[known] == b[known])
        known++;
    return known;
#endif
}

#endif
