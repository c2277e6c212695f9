/*
 * both.h - helpers for C that is compiled twice: by gcc or clang for the CPU, and by nvcc for a GPU
 *
 * The CPU and the GPU must find the same matches.  So each decision that both make is one inline
 * function in a header that both compilers accept.
 */
#ifndef GZLZSS_BASE_BOTH_H
#define GZLZSS_BASE_BOTH_H

#include <stdint.h>

/* The prefix of an inline function for the CPU and the GPU.  With nvcc, both host code and device
 * code can call the function. */
#ifdef __CUDACC__
#define BOTH_INLINE static __host__ __device__ __forceinline__
#else
#define BOTH_INLINE static inline
#endif

/* The prefix of a larger function for both, which nvcc need not inline. */
#ifdef __CUDACC__
#define BOTH_STATIC static inline __host__ __device__
#else
#define BOTH_STATIC static inline
#endif

/* The prefix of a table of constants within such a function. */
#ifdef __CUDACC__
#define BOTH_TABLE const
#else
#define BOTH_TABLE static const
#endif

/* C's restrict, which C++ lacks. */
#ifdef __cplusplus
#define BOTH_RESTRICT __restrict__
#else
#define BOTH_RESTRICT restrict
#endif

/* A static assertion in C and in C++. */
#ifdef __cplusplus
#define BOTH_ASSERT static_assert
#else
#define BOTH_ASSERT _Static_assert
#endif

/* The position of the highest set bit of x, counted from 0; x must not be 0. */
BOTH_INLINE uint32_t both_log2(uint32_t x)
{
#ifdef __CUDA_ARCH__
    return 31 - (uint32_t)__clz((int)x);
#else
    return 31 - (uint32_t)__builtin_clz(x);
#endif
}

#endif
