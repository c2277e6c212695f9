/*
 * compact.cu - turns tags into sequences on the GPU, so that only sequences cross the bus
 *
 * A tag is the distance of the match that covers a byte, or 0 for a literal. A block works on one
 * chunk in two steps. Each step is a scan (CUB's BlockScan) over items in order:
 *
 * - Runs: a tag that differs from the tag before it starts a run. The block gathers the starts in
 *   shared memory, in order.
 *
 * - Sequences: a run of one distance becomes as many sequences as lz_pieces says. A run of zeros
 *   becomes the literals of the next sequence. The block counts its sequences, and takes space for
 *   them in the batch's array. Then each thread writes the sequences of its run.
 *
 * Blocks take space in the order in which they finish counting. So the order of chunks in a batch's
 * array changes from run to run. Each chunk's gpu_result tells where its sequences are; the
 * sequences themselves never change.
 */
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "gpu/cuda/internal.cuh"
#include "lzss/common.h"

/* THREADS: threads of a block. TAGS_A_THREAD: tags that a thread takes at a time, one load of 16
 * bytes. This kernel takes 0.09 ms of the 6.8 ms that 32 MiB take at level 6 (H200), and is bound
 * by memory, so tuning it gains little. */
#define THREADS 256
#define TAGS_A_THREAD 8

/* Most runs of a chunk. A match and the literal after it take four bytes or more, and make two
 * runs. A chunk with more runs is faulty, and gets GPU_NO_ROOM. */
#define MAX_RUNS (LZ_CHUNK_SIZE / 2)

typedef cub::BlockScan<uint32_t, THREADS> Scan;
typedef cub::BlockReduce<uint32_t, THREADS> Reduce;

/* Gathers the starts of the runs in tags[0..length). Returns their number to all threads. */
static __device__ uint32_t gather_runs(const uint16_t *tags, uint32_t length, uint16_t *starts,
                                       Scan::TempStorage &storage)
{
    uint32_t runs = 0;

    for (uint32_t tile = 0; tile < length; tile += THREADS * TAGS_A_THREAD) {
        uint32_t first = tile + threadIdx.x * TAGS_A_THREAD;
        uint32_t is_start = 0, at, total;

        if (first < length) {
            union {
                uint4 all;
                uint16_t tag[TAGS_A_THREAD];
            } u;
            uint32_t before = first == 0 ? ~0u : tags[first - 1];

            u.all = *(const uint4 *)(tags + first);
#pragma unroll
            for (uint32_t i = 0; i < TAGS_A_THREAD; i++) {
                if (u.tag[i] != before && first + i < length)
                    is_start |= 1u << i;
                before = u.tag[i];
            }
        }
        Scan(storage).ExclusiveSum((uint32_t)__popc(is_start), at, total);
        for (at += runs; is_start != 0; is_start &= is_start - 1, at++)
            if (at < MAX_RUNS)
                starts[at] = (uint16_t)(first + (uint32_t)__ffs((int)is_start) - 1);
        runs += total;
        __syncthreads();
    }
    return runs;
}

static __global__ void __launch_bounds__(THREADS) compact(gpu_view v)
{
    __shared__ uint16_t starts[MAX_RUNS];
    __shared__ union {
        Scan::TempStorage scan;
        Reduce::TempStorage reduce;
    } storage;
    __shared__ uint32_t shared_offset;

    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t length = span.end - span.start;
    const uint16_t *tags = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    const uint32_t runs = gather_runs(tags, length, starts, storage.scan);
    uint32_t count = 0, offset;

    if (runs <= MAX_RUNS) {
        for (uint32_t r = threadIdx.x; r < runs; r += THREADS)
            if (tags[starts[r]] != 0)
                count += lz_pieces((r + 1 < runs ? starts[r + 1] : length) - starts[r]);
    }
    count = Reduce(storage.reduce).Sum(count);
    if (threadIdx.x == 0) {
        gpu_result result;

        result.offset = atomicAdd(v.used, count);
        result.count = count;
        if (runs > MAX_RUNS || result.offset > v.capacity || count > v.capacity - result.offset)
            result.count = GPU_NO_ROOM;
        v.results[blockIdx.x] = result;
        shared_offset = result.count == GPU_NO_ROOM ? GPU_NO_ROOM : result.offset;
    }
    __syncthreads();
    offset = shared_offset;
    if (offset == GPU_NO_ROOM)
        return;

    for (uint32_t tile = 0; tile < runs; tile += THREADS) {
        uint32_t r = tile + threadIdx.x;
        uint32_t start = 0, run = 0, literals = 0, pieces = 0, at, total;
        uint16_t tag = 0;

        if (r < runs) {
            start = starts[r];
            run = (r + 1 < runs ? starts[r + 1] : length) - start;
            tag = tags[start];
            if (tag != 0)
                pieces = lz_pieces(run);
            if (r > 0 && tags[starts[r - 1]] == 0)
                literals = start - starts[r - 1];
        }
        Scan(storage.scan).ExclusiveSum(pieces, at, total);
        for (uint32_t p = 0; p < pieces; p++) {
            struct lz_sequence s;

            s.literals = (uint16_t)(p == 0 ? literals : 0);
            s.length = (uint16_t)lz_piece_length(run, p);
            s.distance = tag;
            v.sequences[offset + at + p] = s;
        }
        offset += total;
        __syncthreads();
    }
}

cudaError_t gpu_tags_to_sequences(const gpu_view &v, cudaStream_t stream)
{
    compact<<<v.chunks, THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}

cudaError_t gpu_code_fits_device(void)
{
    cudaFuncAttributes attributes;

    return cudaFuncGetAttributes(&attributes, compact);
}
