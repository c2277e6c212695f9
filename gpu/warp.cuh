/*
 * warp.cuh - what the match finders' kernels do a warp at a time
 */
#ifndef GZLZSS_GPU_WARP_CUH
#define GZLZSS_GPU_WARP_CUH

#include <stdint.h>

#define WARP 32
#define ALL_LANES 0xffffffffu

/* The four bytes at `offset` of data that starts at a multiple of 4. */
static __device__ __forceinline__ uint32_t load32(const uint32_t *data, uint32_t offset)
{
    const uint32_t *p = data + (offset >> 2);

    return __funnelshift_r(__ldg(p), __ldg(p + 1), (offset & 3) * 8);
}

/* How many of the four bytes of a and b agree from the first on. */
static __device__ __forceinline__ uint32_t common_bytes(uint32_t a, uint32_t b)
{
    uint32_t difference = a ^ b;

    return difference == 0 ? 4 : (uint32_t)(__ffs((int)difference) - 1) >> 3;
}

/*
 * Every lane gives its position and its entry's index; the warp's positions rise by one from lane
 * to lane and are above all that were entered before.  Returns the position that was last under
 * that entry before this one, and leaves the highest position under each.
 */
static __device__ __forceinline__ uint32_t replace(uint16_t *table, uint32_t entry, uint32_t pos)
{
    uint32_t lane = threadIdx.x % WARP;
    uint32_t before = table[entry];
    uint32_t same = __match_any_sync(ALL_LANES, entry);
    uint32_t lower = same & ((1u << lane) - 1);

    /* All have read before any writes. */
    __syncwarp();
    if (lower != 0)
        before = pos - lane + (31 - (uint32_t)__clz((int)lower));
    if (same >> lane == 1)
        table[entry] = (uint16_t)pos;
    __syncwarp();
    return before;
}

/* Sets all 2^bits entries (8 or more) of a table, 16-byte aligned, to `value`, which has 16 bits. */
static __device__ __forceinline__ void clear_table(uint16_t *table, uint32_t bits, uint32_t value)
{
    uint32_t both = value | value << 16;

    for (uint32_t i = threadIdx.x % WARP; i < (sizeof(uint16_t) << bits) / sizeof(uint4); i += WARP)
        ((uint4 *)table)[i] = make_uint4(both, both, both, both);
    __syncwarp();
}

#endif
