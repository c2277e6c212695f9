/*
 * warp.cuh - building blocks of the match finders' kernels, for one warp or a few
 *
 * This file has loads of four bytes at any address, and hash tables in shared memory that a few
 * warps fill. Filling a table is sequential by nature: each position must see the positions before
 * it. The function `replace` fills a table fast, because it enters many positions at a time. It
 * relies on a property of the hardware: a warp's accesses to shared memory take effect in program
 * order.
 */
#ifndef GZLZSS_GPU_WARP_CUH
#define GZLZSS_GPU_WARP_CUH

#include <stdint.h>

#include "gpu/cuda/internal.cuh"
#include "lzss/sample.h"

/* Returns word i of data in global memory. The data must not change while the kernel runs. */
static __device__ __forceinline__ uint32_t word_at(const uint32_t *data, uint32_t i)
{
    return __ldg(data + i);
}

/* Data in shared memory, or in any other memory. */
struct shared_words {
    const uint32_t *words;
};

static __device__ __forceinline__ uint32_t word_at(shared_words data, uint32_t i)
{
    return data.words[i];
}

/* Returns the four bytes at `offset`. The data starts at a multiple of 4 bytes. */
template <typename Data>
static __device__ __forceinline__ uint32_t load32(Data data, uint32_t offset)
{
    const uint32_t i = offset >> 2;

    /* The shift uses only the low five bits of its count. */
    return __funnelshift_r(word_at(data, i), word_at(data, i + 1), offset * 8);
}

/* Returns the eight bytes at `offset`. */
template <typename Data>
static __device__ __forceinline__ uint64_t load64(Data data, uint32_t offset)
{
    return (uint64_t)load32(data, offset + 4) << 32 | load32(data, offset);
}

/* Returns how many leading bytes of a and b are equal, 0 to 4. The first byte is the lowest. */
static __device__ __forceinline__ uint32_t common_bytes(uint32_t a, uint32_t b)
{
    uint32_t difference = a ^ b;

    return difference == 0 ? 4 : (uint32_t)(__ffs((int)difference) - 1) >> 3;
}

/* A block enters positions into a table one step at a time. In a step, each warp has GROUPS groups
 * of 32 consecutive positions, and each lane has one position of each group.
 *
 * More groups keep more loads and table accesses in flight, but take more registers. With more
 * warps, more of the work beside the table overlaps, but a warp waits longer for its turn at the
 * table. Four warps were fastest. One warp takes 1.3 times as long, and two or eight warps are no
 * better than four (H100). STEP must divide LZ_WINDOW_SIZE, and two steps must fit into
 * GPU_INPUT_PAD. */
#define GROUPS 8
#define WARP_STEP (GROUPS * WARP)
#define TABLE_WARPS 4
#define TABLE_THREADS (TABLE_WARPS * WARP)
#define STEP (TABLE_WARPS * WARP_STEP)

static_assert(LZ_WINDOW_SIZE % STEP == 0, "a history is whole steps");

/* The last step may begin with a chunk's last byte. Kernels read ahead into the step after the last
 * step: up to 64 bytes for each position, in whole words. */
static_assert(2 * STEP + 64 + sizeof(uint32_t) <= GPU_INPUT_PAD, "reads behind a batch");

/* Returns this thread's position in the first group of its warp, counted from the step's start. */
static __device__ __forceinline__ uint32_t place_in_step(void)
{
    return threadIdx.x / WARP * WARP_STEP + threadIdx.x % WARP;
}

/* The number of marks of a warp (lanes_with_same), a power of two. If a group has 32 random
 * entries, all their marks differ in three of five groups; with 16 entries, in nine of ten. With
 * fewer marks, the slow __match_any_sync runs more often; with more, a block needs more shared
 * memory: one byte for each mark and warp. */
#define MARKS 1024

static_assert(MARKS >= WARP && (MARKS & (MARKS - 1)) == 0, "low bits");

/* The entry of a position that must not be entered. */
#define NO_ENTRY UINT32_MAX

/*
 * Finds, for each of a warp's groups, the lanes that have the same entry as this lane.
 * __match_any_sync does that, but it takes longer if more entries differ, and usually all of them
 * differ. So each lane first writes its number to the mark that the low bits of its entry select,
 * and then reads the mark. If several lanes share a mark, the mark keeps one of their numbers (CUDA
 * does not say which), and the other lanes notice that. If each lane reads its own number, all
 * entries differ, and __match_any_sync is not needed.
 */
static __device__ __forceinline__ void lanes_with_same(const uint32_t (&entry)[GROUPS],
                                                       uint32_t (&same)[GROUPS])
{
#if __CUDA_ARCH__ >= 800
    __shared__ uint8_t all_marks[TABLE_WARPS][MARKS];
    uint8_t *const marks = all_marks[threadIdx.x / WARP];
    const uint32_t lane = threadIdx.x % WARP;
    bool is_alone[GROUPS];

#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        uint8_t *const mark = marks + entry[g] % MARKS;

        if (entry[g] != NO_ENTRY)
            *mark = (uint8_t)lane;
        __syncwarp();
        is_alone[g] = entry[g] == NO_ENTRY || *mark == lane;
        __syncwarp();
    }
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
        same[g] =
            __all_sync(ALL_LANES, is_alone[g]) ? 1u << lane : __match_any_sync(ALL_LANES, entry[g]);
#else
    /* On these GPUs, a block has at most 64 KiB of shared memory. A table may take all of it, so
     * there is no space for marks. */
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
        same[g] = __match_any_sync(ALL_LANES, entry[g]);
#endif
}

/*
 * Enters a step's positions into a table. All TABLE_THREADS threads of a block call this function.
 *
 * pos is this thread's position in its first group. Positions rise by 1 from lane to lane, by WARP
 * from group to group, and by WARP_STEP from warp to warp. All of them must be above the positions
 * entered before. entry[g] is the table entry for the thread's position of group g.
 *
 * Sets before[g] to the position that was the last one to be entered into entry[g] before the
 * thread's position. When the function returns, each table entry holds the highest position that
 * was entered into it. If entry[g] is NO_ENTRY, the position is not entered, and before[g] is
 * undefined.
 *
 * A warp's accesses to shared memory take effect in order. So each group reads before it writes,
 * and writes before the next group reads, although the warp does not wait for any result in
 * between. That is why a warp has several groups. Warps take turns at the table, and do everything
 * else side by side. That is why a block has several warps.
 */
static __device__ __forceinline__ void replace(uint16_t *table, const uint32_t (&entry)[GROUPS],
                                               uint32_t pos, uint32_t (&before)[GROUPS])
{
    const uint32_t lane = threadIdx.x % WARP;
    uint32_t same[GROUPS];

    lanes_with_same(entry, same);
    for (uint32_t turn = 0; turn < TABLE_WARPS; turn++) {
        if (turn == threadIdx.x / WARP) {
#pragma unroll
            for (int g = 0; g < GROUPS; g++) {
                if (entry[g] != NO_ENTRY)
                    before[g] = table[entry[g]];
                __syncwarp();
                if (entry[g] != NO_ENTRY && same[g] >> lane == 1)
                    table[entry[g]] = (uint16_t)(pos + (uint32_t)g * WARP);
                __syncwarp();
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        const uint32_t lower = same[g] & ((1u << lane) - 1);

        if (lower != 0)
            before[g] = pos + (uint32_t)g * WARP - lane + (31 - (uint32_t)__clz((int)lower));
    }
}

/*
 * The first BYTES bytes (1 to 12) at this lane's positions of a step, kept as whole words. A
 * kernel loads the next step's words before it works on the current step.
 */
template <unsigned BYTES> struct step_bytes {
    static const unsigned WORDS = (BYTES + 3) / 4 + 1;
    uint32_t words[GROUPS][WORDS];

    /* Loads the words at this thread's positions. pos: the thread's position in its first group. */
    __device__ __forceinline__ void load(const uint32_t *data, uint32_t pos)
    {
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++)
#pragma unroll
            for (uint32_t i = 0; i < WORDS; i++)
                words[g][i] = word_at(data, (pos + g * WARP) / 4 + i);
    }

    /* Returns bytes 4 i to 4 i + 3 at the position of group g. */
    __device__ __forceinline__ uint32_t at(uint32_t pos, uint32_t g, uint32_t i) const
    {
        return __funnelshift_r(words[g][i], words[g][i + 1], pos * 8);
    }
};

/* Sets all 2^bits entries (8 or more) of a table to `value`, which has 16 bits. The table is
 * 16-byte aligned. All TABLE_THREADS threads of a block call this function. */
static __device__ __forceinline__ void clear_table(uint16_t *table, uint32_t bits, uint32_t value)
{
    uint32_t both = value | value << 16;

    for (uint32_t i = threadIdx.x; i < (sizeof(uint16_t) << bits) / sizeof(uint4);
         i += TABLE_THREADS)
        ((uint4 *)table)[i] = make_uint4(both, both, both, both);
    __syncthreads();
}

/* Returns how many different byte values the chunk's first LZ_SAMPLE bytes have. All threads of a
 * block call this function. */
static __device__ __forceinline__ uint32_t count_distinct(const gpu_view &v, uint32_t index)
{
    __shared__ uint32_t seen[8];
    const gpu_span span = gpu_chunk_span(v, index);
    uint32_t distinct = 0;

    __syncthreads(); /* an earlier call may still read `seen` */
    if (threadIdx.x < 8)
        seen[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < min(span.end - span.start, (uint32_t)LZ_SAMPLE);
         i += blockDim.x) {
        uint32_t byte = v.input[span.start + i];

        atomicOr(&seen[byte / 32], 1u << (byte % 32));
    }
    __syncthreads();
    for (uint32_t i = 0; i < 8; i++)
        distinct += (uint32_t)__popc(seen[i]);
    return distinct;
}

#endif
