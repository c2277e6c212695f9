/*
 * blocks.cu - joins parts to blocks, makes their codes, and lays them out: the twin of
 * huffman/encoder.c and plan.c
 *
 * The arithmetic that decides is the CPU's, from the same headers (huffman/estimate.h,
 * make_lengths.h, make_header.h).
 */
#include "gpu/cuda/huffman/coding.cuh"
#include "huffman/estimate.h"
#include "huffman/make_header.h"
#include "huffman/make_lengths.h"

#define WARPS 4
#define THREADS (WARPS * WARP)

/* Counts of a part or block, spread over a warp: lane i has entries i, WARP + i, and so on. */
#define ROWS (GPU_CODED_SYMBOLS / WARP)
static_assert(GPU_CODED_SYMBOLS % WARP == 0 && GPU_DISTANCES % WARP == 0, "whole rows");

struct counts {
    uint32_t row[ROWS];
    uint32_t bytes; /* of the part or block */
    uint64_t bits;  /* estimated size */
};

/* The number of this thread's warp in the grid. */
static __device__ __forceinline__ uint32_t warp_number(void)
{
    return (blockIdx.x * THREADS + threadIdx.x) / WARP;
}

/* Estimates the size of a part or block (huff_estimate_portable). */
static __device__ void estimate(counts &c, uint32_t lane)
{
    uint32_t used = 0, litlens = 0, distances = 0, fixed = 0, extra = 0;
    uint64_t each = 0, entropy = 0;

#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
        const uint32_t n = c.row[r], i = r * WARP + lane;

        used += n > 0;
        (i < GPU_DISTANCES ? litlens : distances) += n;
        each += n > 0 ? (uint64_t)n * log2_65536(n) : 0;
        fixed += n * gpu_fixed_length(i);
        extra += n * gpu_extra_bits(i);
    }
    used = gpu_warp_sum(used);
    litlens = gpu_warp_sum(litlens);
    distances = gpu_warp_sum(distances);
    fixed = gpu_warp_sum(fixed);
    extra = gpu_warp_sum(extra);
    each = gpu_warp_sum(each);
    entropy = litlens > 0 ? (uint64_t)litlens * log2_65536(litlens) : 0;
    entropy += distances > 0 ? (uint64_t)distances * log2_65536(distances) : 0;
    c.bits = estimated_bits(entropy - each, used, extra);
    c.bits = min(c.bits, 3 + (uint64_t)extra + fixed);
    c.bits = min(c.bits, stored_bits(c.bytes, 0));
}

/* A block that is not complete yet. */
struct open_block {
    counts c;
    uint32_t first_slot, begin;
};

/* Adds a block to the list, and its number to the segment's.  Returns its number; the batch may
 * have no room for it. */
static __device__ uint32_t add_block(const gpu_coder &c, const open_block &open, uint32_t segment,
                                     uint32_t count, uint32_t lane)
{
    uint32_t number = 0;

    if (lane == 0)
        number = atomicAdd(c.block_count, 1u);
    number = __shfl_sync(ALL_LANES, number, 0);
    if (number >= c.block_room) {
        if (lane == 0)
            c.coded[segment].bad |= GPU_BAD_ROOM;
        return number;
    }
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++)
        c.block_counts[(size_t)number * GPU_CODED_SYMBOLS + r * WARP + lane] = open.c.row[r];
    if (lane == 0) {
        gpu_coded_block b = {};

        b.segment = segment;
        b.first_slot = open.first_slot;
        b.begin = open.begin;
        b.bytes = open.c.bytes;
        c.blocks[number] = b;
        c.segment_blocks[c.to_code[segment].chunk * GPU_PARTS + count] = number;
    }
    return number;
}

/* Joins parts to blocks (encode_by_parts in huffman/encoder.c).  A warp does one segment.  While a
 * block is open, its parts get the block's index in the segment; a later step turns indices into
 * numbers. */
static __global__ void __launch_bounds__(THREADS) join_parts(gpu_coder c)
{
    const uint32_t segment = warp_number(), lane = threadIdx.x % WARP;

    if (segment >= c.segments)
        return;
    const gpu_to_code t = c.to_code[segment];
    open_block open;
    uint32_t count = 0, at = 0;
    bool is_open = false;

    for (uint32_t chunk = t.chunk; chunk < t.chunk + t.chunks; chunk++) {
        const uint32_t parts = c.parts[chunk];

        for (uint32_t k = 0, start = 0; k < parts; k++) {
            const uint32_t slot = chunk * GPU_PARTS + k, end = c.part_ends[slot];
            counts part, both;

#pragma unroll
            for (uint32_t r = 0; r < ROWS; r++)
                part.row[r] = c.part_counts[(size_t)slot * GPU_CODED_SYMBOLS + r * WARP + lane];
            part.bytes = end - start;
            start = end;
            estimate(part, lane);
            if (is_open) {
#pragma unroll
                for (uint32_t r = 0; r < ROWS; r++)
                    both.row[r] =
                        r * WARP + lane == DEFLATE_END_OF_BLOCK ? 1 : open.c.row[r] + part.row[r];
                both.bytes = open.c.bytes + part.bytes;
                estimate(both, lane);
                if (both.bits <= open.c.bits + part.bits) {
                    open.c = both;
                    at += part.bytes;
                    if (lane == 0)
                        c.part_blocks[slot] = count;
                    continue;
                }
                add_block(c, open, segment, count, lane);
                count++;
            }
            open.c = part;
            open.first_slot = slot;
            open.begin = at;
            is_open = true;
            at += part.bytes;
            if (lane == 0)
                c.part_blocks[slot] = count;
        }
    }
    if (is_open) {
        add_block(c, open, segment, count, lane);
        count++;
    }
    if (lane == 0)
        c.coded[segment].blocks = count;
}

/* Makes codes and headers (huff_plan_block).  A warp does one block after another; its first lane
 * does most of the work. */
static __global__ void __launch_bounds__(THREADS) plan_blocks(gpu_coder c)
{
    const uint32_t warp = warp_number(), lane = threadIdx.x % WARP;
    const uint32_t count = min(*c.block_count, c.block_room);
    gpu_plan_work *const w = &c.planners[warp];

    for (uint32_t number = warp; number < count; number += GPU_PLANNERS) {
        const uint32_t *const counts = c.block_counts + (size_t)number * GPU_CODED_SYMBOLS;
        uint32_t *const codes = c.codes + (size_t)number * GPU_CODED_SYMBOLS;
        uint32_t fixed = 0, extra = 0;

        for (uint32_t i = lane; i < GPU_CODED_SYMBOLS; i += WARP) {
            fixed += counts[i] * gpu_fixed_length(i);
            extra += counts[i] * gpu_extra_bits(i);
        }
        fixed = gpu_warp_sum(fixed);
        extra = gpu_warp_sum(extra);
        if (lane == 0) {
            uint8_t *const litlens = w->lengths, *const distances =
                                                     litlens + DEFLATE_LITLEN_SYMBOLS;
            gpu_coded_block *const b = &c.blocks[number];
            bitwriter bits = {c.headers + (size_t)number * GPU_BLOCK_HEADER, 0, 0};
            uint64_t size = 3 + (uint64_t)extra;

            size +=
                make_lengths(&w->work, counts, DEFLATE_LITLEN_SYMBOLS, DEFLATE_MAX_CODE, litlens);
            size += make_lengths(&w->work, counts + GPU_DISTANCES, DEFLATE_DISTANCE_SYMBOLS,
                                 DEFLATE_MAX_CODE, distances);
            make_header(&w->work, litlens, distances, &w->header);
            put_header(&w->header, &bits);
            make_codes(litlens, DEFLATE_LITLEN_SYMBOLS, w->codes);
            make_codes(distances, DEFLATE_DISTANCE_SYMBOLS, w->codes + DEFLATE_LITLEN_SYMBOLS);
            b->header = w->header.bits;
            b->dynamic = (uint32_t)(size + w->header.bits);
            b->fixed = 3 + extra + fixed;
        }
        __syncwarp();
        for (uint32_t i = lane; i < GPU_CODED_SYMBOLS; i += WARP) {
            const uint32_t symbol = i < GPU_DISTANCES ? i : i - GPU_DISTANCES;
            const bool is_used =
                symbol < (i < GPU_DISTANCES ? DEFLATE_LITLEN_SYMBOLS : DEFLATE_DISTANCE_SYMBOLS);
            const uint32_t from = i < GPU_DISTANCES ? i : symbol + DEFLATE_LITLEN_SYMBOLS;

            codes[i] = is_used ? (uint32_t)w->codes[from] << 8 | w->lengths[from] : 0;
        }
        __syncwarp();
    }
}

/* Chooses the form of each block, and its place.  A warp does one segment. */
static __global__ void __launch_bounds__(THREADS) lay_out(gpu_coder c)
{
    const uint32_t segment = warp_number(), lane = threadIdx.x % WARP;

    if (segment >= c.segments || c.coded[segment].bad != 0)
        return;
    const gpu_to_code t = c.to_code[segment];
    const uint32_t count = c.coded[segment].blocks;
    uint32_t at = 0;

    for (uint32_t first = 0; first < count; first += WARP) {
        const uint32_t number =
            first + lane < count ? c.segment_blocks[t.chunk * GPU_PARTS + first + lane] : 0;
        gpu_coded_block b = c.blocks[number];

        /* Each lane holds a block.  All lanes follow all blocks, and keep what is for theirs. */
        for (uint32_t i = 0; i < WARP && first + i < count; i++) {
            const uint32_t dynamic = __shfl_sync(ALL_LANES, b.dynamic, (int)i);
            const uint32_t fixed = __shfl_sync(ALL_LANES, b.fixed, (int)i);
            const uint32_t bytes = __shfl_sync(ALL_LANES, b.bytes, (int)i);
            const uint32_t header = __shfl_sync(ALL_LANES, b.header, (int)i);
            const uint32_t stored = (uint32_t)stored_bits(bytes, at % 8);
            const deflate_block_type type = best_type(dynamic, fixed, stored);
            const uint32_t start = at;

            at += type == DEFLATE_STORED ? stored : type == DEFLATE_FIXED ? fixed : dynamic;
            if (i == lane) {
                b.type = type;
                b.at = start;
                b.data = type == DEFLATE_STORED  ? (start + 3 + 7) / 8 * 8 + 32
                         : type == DEFLATE_FIXED ? start + 3
                                                 : start + 3 + header;
                b.end = at;
            }
        }
        if (first + lane < count)
            c.blocks[number] = b;
    }
    if (t.is_last == 0)
        for (uint32_t i = 0; i < 2; i++)
            at = (at + 3 + 7) / 8 * 8 + 32;
    if (lane == 0)
        c.coded[segment].length = (at + 7) / 8;
}

/* Turns the indices of the parts' blocks into numbers, and sets part_bits[] to the bits of each
 * part's codes.  A warp does one slot. */
static __global__ void __launch_bounds__(THREADS) count_bits(gpu_view v, gpu_coder c)
{
    const uint32_t slot = warp_number(), lane = threadIdx.x % WARP, chunk = slot / GPU_PARTS;

    if (chunk >= v.chunks)
        return;
    const uint32_t segment = c.chunk_segment[chunk];

    if (slot % GPU_PARTS >= c.parts[chunk] || c.coded[segment].bad != 0) {
        if (lane == 0)
            c.part_bits[slot] = 0;
        return;
    }
    const uint32_t number =
        c.segment_blocks[c.to_code[segment].chunk * GPU_PARTS + c.part_blocks[slot]];
    const uint32_t type = c.blocks[number].type;
    uint32_t bits = 0;

    for (uint32_t i = lane; i < GPU_CODED_SYMBOLS; i += WARP) {
        const uint32_t n = c.part_counts[(size_t)slot * GPU_CODED_SYMBOLS + i];
        const uint32_t length = type == DEFLATE_DYNAMIC
                                    ? c.codes[(size_t)number * GPU_CODED_SYMBOLS + i] & 255
                                    : gpu_fixed_length(i);

        if (i != DEFLATE_END_OF_BLOCK)
            bits += n * (length + gpu_extra_bits(i));
    }
    bits = gpu_warp_sum(bits);
    __syncwarp();
    if (lane == 0) {
        c.part_blocks[slot] = number;
        c.part_bits[slot] = type == DEFLATE_STORED ? 0 : bits;
    }
}

/* Replaces the bits of each part's codes by those of all earlier parts.  A warp does one segment.
 */
static __global__ void __launch_bounds__(THREADS) add_bits(gpu_coder c)
{
    const uint32_t segment = warp_number(), lane = threadIdx.x % WARP;

    if (segment >= c.segments)
        return;
    const gpu_to_code t = c.to_code[segment];
    uint32_t *const bits = c.part_bits + t.chunk * GPU_PARTS;
    uint32_t before = 0;

    for (uint32_t first = 0; first < t.chunks * GPU_PARTS; first += WARP) {
        const uint32_t own = first + lane < t.chunks * GPU_PARTS ? bits[first + lane] : 0;
        uint32_t sum = own;

        for (uint32_t by = 1; by < WARP; by *= 2) {
            const uint32_t other = __shfl_up_sync(ALL_LANES, sum, by);

            sum += lane >= by ? other : 0;
        }
        if (first + lane < t.chunks * GPU_PARTS)
            bits[first + lane] = before + sum - own;
        before += __shfl_sync(ALL_LANES, sum, WARP - 1);
    }
}

/* The number of blocks of threads with a warp for each of `count` things. */
static uint32_t blocks_for(uint32_t count)
{
    return (count + WARPS - 1) / WARPS;
}

cudaError_t gpu_make_blocks(const gpu_view &v, const gpu_coder &c, cudaStream_t stream)
{
    join_parts<<<blocks_for(c.segments), THREADS, 0, stream>>>(c);
    plan_blocks<<<GPU_PLANNERS / WARPS, THREADS, 0, stream>>>(c);
    lay_out<<<blocks_for(c.segments), THREADS, 0, stream>>>(c);
    count_bits<<<blocks_for(v.chunks * GPU_PARTS), THREADS, 0, stream>>>(v, c);
    add_bits<<<blocks_for(c.segments), THREADS, 0, stream>>>(c);
    return cudaGetLastError();
}

cudaError_t gpu_load_blocks(void)
{
    const void *const kernels[] = {(const void *)join_parts, (const void *)plan_blocks,
                                   (const void *)lay_out, (const void *)count_bits,
                                   (const void *)add_bits};

    return gpu_load(kernels);
}
