/*
 * lanes.cuh - building blocks of the kernels with a warp for each chunk (warps.cu, encode_warps.cu)
 */
#ifndef GZLZSS_PAPERS_CODEC_LANES_CUH
#define GZLZSS_PAPERS_CODEC_LANES_CUH

#include "papers/codec/kernels.cuh"

static_assert(WARP * sizeof(uint32_t) + 4 <= CODEC_PAD, "32 literals, the longest tokens");

/* The sum of the values of the lanes before this one. */
static __device__ __forceinline__ uint32_t sum_before(uint32_t value)
{
    const uint32_t lane = threadIdx.x % WARP;
    uint32_t sum = value;

    for (uint32_t by = 1; by < WARP; by *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, sum, by);

        if (lane >= by)
            sum += other;
    }
    return sum - value;
}

/* A lane's token. */
struct token {
    bool is_match;
    uint32_t data;     /* where its bytes are in the coded form */
    uint32_t at;       /* where its output begins */
    uint32_t length;   /* bytes of its output */
    uint32_t distance; /* of a match, in bytes */
};

/* Copies a match. If it is longer than its distance, it repeats its own first bytes. All lanes of
 * the warp call this function; the bytes before out[at] are visible to all of them. */
static __device__ __forceinline__ void copy_match(uint8_t *out, uint32_t at, uint32_t length,
                                                  uint32_t distance)
{
    for (uint32_t i = threadIdx.x % WARP; i < length; i += WARP)
        out[at + i] = out[at - distance + (i < distance ? i : i % distance)];
    __syncwarp();
}

/* Copies the matches of the lanes in the mask, in order. All lanes of the warp call this function,
 * after they have written the literals. */
static __device__ __forceinline__ void copy_matches(uint8_t *out, const token &t, uint32_t mask)
{
    __syncwarp();
    for (; mask != 0; mask &= mask - 1) {
        const int from = __ffs((int)mask) - 1;

        copy_match(out, __shfl_sync(ALL_LANES, t.at, from), __shfl_sync(ALL_LANES, t.length, from),
                   __shfl_sync(ALL_LANES, t.distance, from));
    }
}

/* Copies from[0..len) to to[]. All lanes of the warp call this function. */
static __device__ __forceinline__ void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t len)
{
    for (uint32_t i = threadIdx.x % WARP; i < len; i += WARP)
        to[i] = from[i];
}

/* Copies a run of literals. All lanes call this function. */
static __device__ __forceinline__ void copy_run(uint8_t *out, const uint8_t *from, uint32_t length)
{
    for (uint32_t i = threadIdx.x % WARP; i < length; i += WARP)
        out[i] = __ldg(from + i);
    __syncwarp();
}

/* Whether a coded form is damaged because it is too long: no token has four bytes for each byte of
 * its output. So the number of a bit has less than 32 bits. */
static __device__ __forceinline__ bool is_too_long(const codec_view &v, const codec_place &place)
{
    return place.size > 4 * v.shape.chunk;
}

/* Returns `count` bits, 1 to 25, from bit number `bit` of coded[] on; the highest bit of a byte is
 * its first. */
static __device__ __forceinline__ uint32_t bits_at(const uint8_t *coded, uint32_t bit,
                                                   uint32_t count)
{
    const uint8_t *from = coded + bit / 8;
    const uint32_t four = (uint32_t)__ldg(from) << 24 | (uint32_t)__ldg(from + 1) << 16 |
                          (uint32_t)__ldg(from + 2) << 8 | __ldg(from + 3);

    return four << bit % 8 >> (32 - count);
}

/* Whether nothing is left of coded[0..size) from bit number `bit` on but zeros in the last byte. */
static __device__ __forceinline__ bool bits_end(const uint8_t *coded, uint32_t size, uint32_t bit)
{
    const uint32_t left = 8 * size - bit;

    return left == 0 || (left < 8 && bits_at(coded, bit, left) == 0);
}

#endif
