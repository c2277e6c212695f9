/*
 * glzss_basic.cu - GLZSS-basic on the GPU (glzss_basic.c defines the method)
 *
 * By default, the walk is that of glzss.cuh. With threads=32, it is Algorithm 1 as the paper maps
 * it to threads (section 4): a warp for each packet, one stop at a time, and a byte for each
 * thread. A warp takes the match branch or the other one. In place of the paper's pointers, it
 * writes tags.
 */
#include "papers/glzss.cuh"
#include "papers/papers.h"

static_assert(2 * WARP <= GPU_INPUT_PAD, "reads behind a batch");

/* Returns the length of the match at `at`, `distance` back, that ends at `end` at the latest. Each
 * lane compares one byte at a time. All lanes call this function with the same arguments. */
static __device__ __forceinline__ uint32_t match_bytes(const uint8_t *bytes, uint32_t at,
                                                       uint32_t distance, uint32_t end)
{
    for (uint32_t first = at;; first += WARP) {
        const uint32_t mine = first + threadIdx.x;
        const uint32_t differ = __ballot_sync(
            ALL_LANES, mine >= end || __ldg(bytes + mine) != __ldg(bytes + mine - distance));

        if (differ != 0)
            return first + (uint32_t)__ffs((int)differ) - 1 - at;
    }
}

/* Returns the packet's four bytes at `at`, of which four lanes read one each. */
static __device__ __forceinline__ uint32_t read_four(const uint8_t *bytes, uint32_t at)
{
    const uint32_t mine = __ldg(bytes + at + threadIdx.x);
    uint32_t four = 0;

#pragma unroll
    for (int i = 0; i < 4; i++)
        four |= __shfl_sync(ALL_LANES, mine, i) << 8 * i;
    return four;
}

/* Algorithm 1. All lanes of the warp call this function. */
static __device__ __forceinline__ void walk_by_bytes(const glzss_place &p, uint16_t *table,
                                                     uint32_t bits)
{
    const uint32_t lane = threadIdx.x;

    if (lane == 0)
        p.tags[0] = 0;
    for (uint32_t at = 1; at < p.size;) {
        const uint32_t end = glzss_end(at, p.size);
        uint32_t length = 1, distance = 0;

        if (at + GLZSS_MIN_MATCH <= end) {
            const uint32_t four = read_four(p.bytes, at), hash = glzss_hash(four, bits);
            const uint32_t pre = table[hash];

            __syncwarp(); /* all lanes have read the table */
            if (lane == 0)
                table[hash] = (uint16_t)at;
            __syncwarp();
            if (read_four(p.bytes, pre) == four && glzss_is_near(at - pre)) {
                distance = at - pre;
                length = match_bytes(p.bytes, at, distance, end);
            }
        }
        for (uint32_t i = lane; i < length; i += WARP)
            p.tags[at + i] = (uint16_t)distance;
        at += length;
    }
}

static __global__ void __launch_bounds__(WARP) tag(gpu_view v, uint32_t bits, uint32_t packet)
{
    extern __shared__ uint4 shared[];

    glzss_tag<false>(v, shared, bits, packet);
}

static __global__ void __launch_bounds__(WARP)
    tag_by_bytes(gpu_view v, uint32_t bits, uint32_t packet)
{
    extern __shared__ uint4 shared[];
    const glzss_place place = glzss_place_of_block(v, packet);

    if (place.size == 0)
        return;
    for (uint32_t i = threadIdx.x; i < (sizeof(uint16_t) << bits) / sizeof(uint4); i += WARP)
        shared[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    walk_by_bytes(place, (uint16_t *)shared, bits);
}

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return 0;
}

/* Queues the walk. The table and the marks take up to 132 KiB of shared memory. If the device does
 * not allow a block that much, this fails, and the CPU does the work. */
static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    const glzss_launch launch = glzss_launch_for(v, level);
    const auto kernel = level->param[GLZSS_THREADS] == PAPER_AS_PAPER ? tag_by_bytes : tag;
    const cudaError_t status = gpu_allow_shared(kernel, v, launch.shared_size);

    if (status != cudaSuccess)
        return status;
    kernel<<<launch.blocks, WARP, launch.shared_size, stream>>>(v, launch.bits, launch.packet);
    return cudaGetLastError();
}

static cudaError_t load(void)
{
    const void *const kernels[] = {(const void *)tag_by_bytes, (const void *)tag};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_glzss_basic = {scratch_size, NULL, parse, GLZSS_MIN_MATCH, load};
