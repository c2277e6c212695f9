/*
 * gpulz.cu - gpuLZ on the GPU (gpulz.c defines the method)
 *
 * One kernel does everything for a packet, with one block. With symbol=auto, another kernel runs
 * before it, with one block for each chunk's sample. gpulz.cuh tells how a packet is matched. Then
 * all threads write the tags of their positions.
 */
#include "papers/gpulz.cuh"
#include "papers/papers.h"

/* Writes the tags of a packet. */
template <typename Symbol>
static __device__ __forceinline__ void write_tags(gpulz_memory *b, const uint8_t *in,
                                                  uint32_t bytes, uint32_t window, uint16_t *tags)
{
    const uint32_t size = bytes / sizeof(Symbol);

    gpulz_match_packet<Symbol>(
        b, in, size, window,
        [&](uint32_t at, uint32_t distance, bool) {
            const uint64_t tag = distance * sizeof(Symbol);

            if (at >= size)
                return;
            if (sizeof(Symbol) == 1)
                tags[at] = (uint16_t)tag;
            else if (sizeof(Symbol) == 2)
                ((uint32_t *)tags)[at] = (uint32_t)(tag * 0x10001);
            else if (sizeof(Symbol) == 3)
                tags[3 * at] = tags[3 * at + 1] = tags[3 * at + 2] = (uint16_t)tag;
            else
                ((uint64_t *)tags)[at] = tag * 0x1000100010001;
        },
        [](uint32_t, uint32_t) {});
    for (uint32_t i = size * sizeof(Symbol) + threadIdx.x; i < bytes; i += GPULZ_THREADS)
        tags[i] = 0;
}

static __global__ void __launch_bounds__(GPULZ_THREADS) match(gpu_view v, gpulz_numbers k)
{
    extern __shared__ uint4 shared[];
    gpulz_memory *b = (gpulz_memory *)shared;
    const uint32_t packets = LZ_CHUNK_SIZE / k.packet;
    const uint32_t chunk = blockIdx.x / packets, begin = blockIdx.x % packets * k.packet;
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t size = span.end - span.start;
    const uint32_t bytes = begin < size ? min(k.packet, size - begin) : 0;
    const uint8_t *in = v.input + span.start + begin;
    uint16_t *tags = v.tags + (size_t)chunk * LZ_CHUNK_SIZE + begin;
    const uint32_t width =
        k.symbol == GPULZ_AUTO ? ((const uint32_t *)v.scratch)[chunk] : gpulz_width(k.symbol);

    if (width == 1)
        write_tags<uint8_t>(b, in, bytes, k.window, tags);
    else if (width == 2)
        write_tags<uint16_t>(b, in, bytes, k.window, tags);
    else if (width == 3)
        write_tags<gpulz_three>(b, in, bytes, k.window, tags);
    else
        write_tags<uint32_t>(b, in, bytes, k.window, tags);
}

/* Returns the size, in bits, of a chunk's sample in the paper's coding. All threads get the
 * result. */
template <typename Symbol>
static __device__ __forceinline__ uint32_t count_bits(gpulz_memory *b, const uint8_t *in,
                                                      uint32_t sample, gpulz_numbers k)
{
    __syncthreads();
    if (threadIdx.x == 0)
        b->literals = b->matches = 0;
    for (uint32_t begin = 0; begin < sample; begin += k.packet) {
        const uint32_t size = min(k.packet, sample - begin) / sizeof(Symbol);

        gpulz_match_packet<Symbol>(
            b, in + begin, size, k.window,
            [&](uint32_t at, uint32_t distance, bool begins) {
                const uint32_t literals =
                    __ballot_sync(ALL_LANES, begins && distance == 0 && at < size);
                const uint32_t matches = __ballot_sync(ALL_LANES, begins && distance != 0);

                if (threadIdx.x % WARP == 0) {
                    atomicAdd(&b->literals, (uint32_t)__popc(literals));
                    atomicAdd(&b->matches, (uint32_t)__popc(matches));
                }
            },
            [](uint32_t, uint32_t) {});
    }
    __syncthreads();
    return gpulz_bits(b->literals, b->matches, sizeof(Symbol));
}

/* Stores the width of each chunk's symbols in the scratch memory. */
static __global__ void __launch_bounds__(GPULZ_THREADS) choose(gpu_view v, gpulz_numbers k)
{
    extern __shared__ uint4 shared[];
    gpulz_memory *b = (gpulz_memory *)shared;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint8_t *in = v.input + span.start;
    const uint32_t sample = min(span.end - span.start, GPULZ_SAMPLE);
    const uint32_t bits1 = count_bits<uint8_t>(b, in, sample, k);
    const uint32_t bits2 = count_bits<uint16_t>(b, in, sample, k);
    const uint32_t bits4 = count_bits<uint32_t>(b, in, sample, k);

    if (threadIdx.x == 0)
        ((uint32_t *)v.scratch)[blockIdx.x] = gpulz_choose(sample, bits1, bits2, bits4);
}

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return sizeof(uint32_t);
}

cudaError_t gpulz_queue_choice(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    const gpulz_numbers k = gpulz_numbers_of(level);

    if (k.symbol != GPULZ_AUTO)
        return cudaSuccess;
    choose<<<v.chunks, GPULZ_THREADS, gpulz_shared_size(4, k.window), stream>>>(v, k);
    return cudaGetLastError();
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const gpulz_numbers k = gpulz_numbers_of(level);
    const uint32_t width = k.symbol == GPULZ_AUTO ? 4 : gpulz_width(k.symbol);
    const uint32_t blocks = v.chunks * (LZ_CHUNK_SIZE / k.packet);
    const cudaError_t status = gpulz_queue_choice(v, level, stream);

    if (status != cudaSuccess)
        return status;
    match<<<blocks, GPULZ_THREADS, gpulz_shared_size(width, k.window), stream>>>(v, k);
    return cudaGetLastError();
}

/* Does nothing, since the first kernel has done the walks already. */
static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    (void)v;
    (void)level;
    (void)stream;
    return cudaSuccess;
}

static cudaError_t load(void)
{
    const void *const kernels[] = {(const void *)choose, (const void *)match};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_gpulz = {scratch_size, find_matches, parse, LZ_MIN_MATCH, load};
