/*
 * both.h - C that both engines compile: gcc or clang for the CPU, nvcc for a GPU
 *
 * Both engines must find the same matches.  So a decision that both make is one inline function, in
 * a header that both compilers take.
 */
#ifndef GZLZSS_BASE_BOTH_H
#define GZLZSS_BASE_BOTH_H

#include <stdint.h>

/* Stands in front of a function in a header.  With nvcc, code on the device can call it, too. */
#ifdef __CUDACC__
#define BOTH_INLINE static __host__ __device__ __forceinline__
#else
#define BOTH_INLINE static inline
#endif

/* The position of the highest bit set in x, which is not 0. */
BOTH_INLINE uint32_t both_log2(uint32_t x)
{
#ifdef __CUDA_ARCH__
    return 31 - (uint32_t)__clz((int)x);
#else
    return 31 - (uint32_t)__builtin_clz(x);
#endif
}

#endif
