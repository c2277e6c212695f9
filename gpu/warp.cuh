/*
 * warp.cuh - what the match finders' kernels do a warp at a time, or a few warps
 */
#ifndef GZLZSS_GPU_WARP_CUH
#define GZLZSS_GPU_WARP_CUH

#include <stdint.h>

#include "gpu/internal.cuh"

#define WARP 32
#define ALL_LANES 0xffffffffu

/* Word i of data in global memory, which nothing writes while the kernel runs. */
static __device__ __forceinline__ uint32_t word_at(const uint32_t *data, uint32_t i)
{
    return __ldg(data + i);
}

/* The same in shared memory, or in any other. */
struct shared_words {
    const uint32_t *words;
};

static __device__ __forceinline__ uint32_t word_at(shared_words data, uint32_t i)
{
    return data.words[i];
}

/* The four bytes at `offset` of data that starts at a multiple of 4. */
template <typename Data>
static __device__ __forceinline__ uint32_t load32(Data data, uint32_t offset)
{
    const uint32_t i = offset >> 2;

    /* Of the bits to shift by, the low five count. */
    return __funnelshift_r(word_at(data, i), word_at(data, i + 1), offset * 8);
}

/* How many of the four bytes of a and b agree from the first on. */
static __device__ __forceinline__ uint32_t common_bytes(uint32_t a, uint32_t b)
{
    uint32_t difference = a ^ b;

    return difference == 0 ? 4 : (uint32_t)(__ffs((int)difference) - 1) >> 3;
}

/* Positions are entered into tables a step at a time: each of a block's warps has some groups of 32
 * of them in a row, a position of every group for a lane.  (With one warp, links take 1.3 times as
 * long as with four; two and eight are no better.) */
#define GROUPS 8
#define WARP_STEP (GROUPS * WARP)
#define TABLE_WARPS 4
#define TABLE_THREADS (TABLE_WARPS * WARP)
#define STEP (TABLE_WARPS * WARP_STEP)

static_assert(LZ_WINDOW_SIZE % STEP == 0, "a history is whole steps");

/* The last step may begin with a chunk's last byte, and the bytes of the step after it are read: of
 * each position, 12 at most, in whole words. */
static_assert(2 * STEP + 12 + sizeof(uint32_t) <= GPU_INPUT_PAD, "reads behind a batch");

/* This thread's place in a step, in its warp's first group. */
static __device__ __forceinline__ uint32_t place_in_step(void)
{
    return threadIdx.x / WARP * WARP_STEP + threadIdx.x % WARP;
}

/* Marks of a warp.  32 random entries have 32 different marks in three of five groups, 16 in nine of ten. */
#define MARKS 1024

static_assert(MARKS >= WARP && (MARKS & (MARKS - 1)) == 0, "low bits");

/* The entry of a position that is not to be entered. */
#define NO_ENTRY UINT32_MAX

/*
 * For each of a warp's groups: the lanes that have the same entry as this lane.  __match_any_sync finds them,
 * but takes longer the more entries differ, and mostly all of them do.  So every lane first writes its number to
 * the mark that its entry's low bits name, and then reads that mark.  If lanes share a mark, one of their numbers
 * is left (CUDA does not say whose), and the others see that.  If every lane reads its own number, all
 * entries differ.
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
    /* Blocks have 64 KiB at most there, and a table may take all of it. */
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
        same[g] = __match_any_sync(ALL_LANES, entry[g]);
#endif
}

/*
 * Enters a step's positions into a table; for a block of TABLE_THREADS.  They rise by one from lane
 * to lane, by WARP from group to group, and by WARP_STEP from warp to warp, from `pos`, which is
 * this thread's in its first group, and are above all that were entered before.  entry[g] is where
 * the thread's position of group g belongs.  before[g] becomes the position that was last under
 * that entry before this one, and the highest position is left under each.  A position whose entry is
 * NO_ENTRY is not entered, and its before[g] means nothing.
 *
 * A group's reads come before its writes, and these before the next group's reads, because a warp's
 * accesses to shared memory are done in order; none of them has to wait for the one before it to
 * answer.  That is why a warp has several groups.  The warps take turns at that, and do all else
 * side by side: that is why there are several.
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
 * The first BYTES bytes (3, 4, 7 or 12) at this lane's positions of a step, as the words they are
 * in, so that they can be asked for while the step before is worked on.
 */
template <unsigned BYTES> struct step_bytes {
    static const unsigned WORDS = (BYTES + 3) / 4 + 1;
    uint32_t words[GROUPS][WORDS];

    /* `pos` as for replace. */
    __device__ __forceinline__ void load(const uint32_t *data, uint32_t pos)
    {
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++)
#pragma unroll
            for (uint32_t i = 0; i < WORDS; i++)
                words[g][i] = word_at(data, (pos + g * WARP) / 4 + i);
    }

    /* Bytes 4 i to 4 i + 3 from the position of group g on. */
    __device__ __forceinline__ uint32_t at(uint32_t pos, uint32_t g, uint32_t i) const
    {
        return __funnelshift_r(words[g][i], words[g][i + 1], pos * 8);
    }
};

/* Sets all 2^bits entries (8 or more) of a table, 16-byte aligned, to `value`, which has 16 bits;
 * for a block of TABLE_THREADS. */
static __device__ __forceinline__ void clear_table(uint16_t *table, uint32_t bits, uint32_t value)
{
    uint32_t both = value | value << 16;

    for (uint32_t i = threadIdx.x; i < (sizeof(uint16_t) << bits) / sizeof(uint4);
         i += TABLE_THREADS)
        ((uint4 *)table)[i] = make_uint4(both, both, both, both);
    __syncthreads();
}

#endif
