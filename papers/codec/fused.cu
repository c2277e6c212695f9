/*
 * fused.cu - gpuLZ's kernel I: matches and codes in one kernel (section 3.2.1, workflow d)
 *
 * A block takes a chunk. It matches the chunk tile by tile (papers/gpulz.cuh). The walk tells which
 * positions begin a token. The sums of the tokens, and of their bytes of data, before each group of
 * 32 positions tell where each token goes: that is the paper's local prefix sum in shared memory
 * (3.3.3). Then each thread writes the tokens of its positions to the chunk's slot. The sums over
 * all chunks (kernel II) and the copies to the file (kernel III) are other kernels (stages.cu,
 * place.cu).
 *
 * The result has the same bytes as gpulz_encode, which takes tags. Tags do not tell where a match
 * begins if the match before it has the same distance. gpulz_encode cuts such matches after every
 * `distance` symbols. The matches here end at the same places: a match with fewer symbols than its
 * distance has ended because the next symbols differ, so the next match cannot have its distance.
 *
 * Differences from the paper, and their reasons: in the paper, one thread makes the whole array of
 * flags as it walks, and the local sum is over all positions. Here, the thread only goes from group
 * to group, which takes a 32nd of the steps, and the sum is over groups.
 */
#include "papers/codec/kernels.cuh"
#include "papers/codec/gpulz.h"
#include "papers/gpulz.cuh"

static_assert(GPULZ_TILE_GROUPS == WARP, "a warp sums up a tile's groups");

/* A chunk's flags are collected in words of this number of bits. */
#define FLAG_WORD 32

/* What a block knows of its chunk, in shared memory. */
struct chunk_memory {
    /* The flags of all tokens so far. A symbol has at least a byte. */
    uint32_t flags[LZ_CHUNK_SIZE / FLAG_WORD];
    /* For each group of the tile: masks of the positions that begin a token, and a match. */
    uint32_t begins[GPULZ_TILE_GROUPS], matches[GPULZ_TILE_GROUPS];
    /* The tokens and the bytes of data before each group. */
    uint32_t tokens_before[GPULZ_TILE_GROUPS], data_before[GPULZ_TILE_GROUPS];
    /* The same before the tile. */
    uint32_t tokens, data;
};

/* Sums up the tokens and the data of a tile's groups. Only the first warp works. groups: the groups
 * that the tile has. */
static __device__ __forceinline__ void sum_groups(chunk_memory &m, uint32_t groups, uint32_t width)
{
    const uint32_t lane = threadIdx.x;

    if (threadIdx.x >= WARP)
        return;
    const uint32_t tokens = lane < groups ? (uint32_t)__popc(m.begins[lane]) : 0;
    const uint32_t matches = lane < groups ? (uint32_t)__popc(m.matches[lane]) : 0;
    const uint32_t data = 2 * matches + width * (tokens - matches);
    uint32_t token_sum = tokens, data_sum = data;

    for (uint32_t by = 1; by < WARP; by *= 2) {
        const uint32_t more_tokens = __shfl_up_sync(ALL_LANES, token_sum, by);
        const uint32_t more_data = __shfl_up_sync(ALL_LANES, data_sum, by);

        if (lane >= by) {
            token_sum += more_tokens;
            data_sum += more_data;
        }
    }
    m.tokens_before[lane] = m.tokens + token_sum - tokens;
    m.data_before[lane] = m.data + data_sum - data;
    __syncwarp();
    if (lane == WARP - 1) {
        m.tokens += token_sum;
        m.data += data_sum;
    }
}

/* Writes the token that begins at symbol `at` of the chunk in[], if one does. found: the match at
 * this position, packed as in gpulz_memory. left: the symbols from the position on. */
template <typename Symbol>
static __device__ __forceinline__ void write_token(chunk_memory &m, const uint8_t *in, uint32_t at,
                                                   uint32_t found, uint32_t left, uint8_t *data)
{
    const uint32_t group = at % GPULZ_TILE / WARP, bit = 1u << at % WARP;
    const uint32_t begins = m.begins[group], matches = m.matches[group];

    if ((begins & bit) == 0)
        return;
    const uint32_t before = (uint32_t)__popc(begins & (bit - 1));
    const uint32_t matches_before = (uint32_t)__popc(matches & (bit - 1));
    const uint32_t token = m.tokens_before[group] + before;
    uint8_t *to = data + m.data_before[group] + 2 * matches_before +
                  sizeof(Symbol) * (before - matches_before);

    if ((matches & bit) != 0) {
        atomicOr(&m.flags[token / FLAG_WORD], 1u << token % FLAG_WORD);
        to[0] = (uint8_t)min(found >> 8, left);
        to[1] = (uint8_t)found;
    } else {
#pragma unroll
        for (uint32_t i = 0; i < sizeof(Symbol); i++)
            to[i] = in[at * sizeof(Symbol) + i];
    }
}

/* Codes a chunk of `bytes` bytes to flags[] and data[]. All threads of the block call this
 * function. Returns the sizes to each of them. */
template <typename Symbol>
static __device__ __forceinline__ gpulz_sizes code_chunk(gpulz_memory *b, chunk_memory &m,
                                                         const uint8_t *in, uint32_t bytes,
                                                         uint32_t window, uint8_t *flags,
                                                         uint8_t *data)
{
    const uint32_t size = bytes / sizeof(Symbol), rest = bytes % sizeof(Symbol);

    gpulz_match_packet<Symbol>(
        b, in, size, window,
        [&](uint32_t at, uint32_t distance, bool begins) {
            const uint32_t tokens = __ballot_sync(ALL_LANES, begins && at < size);
            const uint32_t matches = __ballot_sync(ALL_LANES, begins && at < size && distance > 0);

            if (threadIdx.x % WARP == 0) {
                m.begins[at % GPULZ_TILE / WARP] = tokens;
                m.matches[at % GPULZ_TILE / WARP] = matches;
            }
        },
        [&](uint32_t tile, uint32_t rounded) {
            __syncthreads();
            sum_groups(m, rounded / WARP, sizeof(Symbol));
            __syncthreads();
            for (uint32_t i = threadIdx.x; i < rounded; i += GPULZ_THREADS)
                write_token<Symbol>(m, in, tile + i, b->found[i], size - tile - i, data);
            __syncthreads();
        });
    /* The last bytes, fewer than a symbol, are a literal. */
    if (threadIdx.x < rest)
        data[m.data + threadIdx.x] = in[bytes - rest + threadIdx.x];

    const gpulz_sizes sizes = {(m.tokens + (rest > 0) + 7) / 8, m.data + rest};

    for (uint32_t i = threadIdx.x; i < sizes.flags; i += GPULZ_THREADS)
        flags[i] = (uint8_t)(m.flags[i / 4] >> i % 4 * 8);
    return sizes;
}

static __global__ void __launch_bounds__(GPULZ_THREADS)
    match_and_code(codec_view v, uint32_t window)
{
    extern __shared__ uint4 shared[];
    __shared__ chunk_memory m;
    gpulz_memory *b = (gpulz_memory *)shared;
    const uint32_t c = blockIdx.x, bytes = codec_plain(v, c), width = codec_width(v, c);
    const uint8_t *in = v.plain + (size_t)c * v.shape.chunk;
    uint8_t *flags = v.slots + (size_t)c * v.slot, *data = flags + v.second;
    gpulz_sizes sizes;

    for (uint32_t i = threadIdx.x; i < LZ_CHUNK_SIZE / FLAG_WORD; i += GPULZ_THREADS)
        m.flags[i] = 0;
    if (threadIdx.x == 0)
        m.tokens = m.data = 0;
    __syncthreads();
    if (width == 1)
        sizes = code_chunk<uint8_t>(b, m, in, bytes, window, flags, data);
    else if (width == 2)
        sizes = code_chunk<uint16_t>(b, m, in, bytes, window, flags, data);
    else if (width == 3)
        sizes = code_chunk<gpulz_three>(b, m, in, bytes, window, flags, data);
    else
        sizes = code_chunk<uint32_t>(b, m, in, bytes, window, flags, data);
    if (threadIdx.x == 0) {
        v.sizes[c] = sizes.flags;
        v.sizes[v.chunks + 1 + c] = sizes.data;
    }
}

cudaError_t codec_encode_fused(const codec_view &v, const struct lz_level *level,
                               cudaStream_t stream)
{
    const gpulz_numbers k = gpulz_numbers_of(level);
    const uint32_t width = k.symbol == GPULZ_AUTO ? 4 : gpulz_width(k.symbol);
    const size_t size = gpulz_shared_size(width, k.window);

    match_and_code<<<v.chunks, GPULZ_THREADS, size, stream>>>(v, k.window);
    return cudaGetLastError();
}
