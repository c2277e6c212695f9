/*
 * culzss.cu - CULZSS on the GPU (culzss.c defines the method)
 *
 * Two kernels:
 *
 * - longest: one block for each TILE positions of a chunk. The block first copies the bytes of
 *   these positions and of their windows into shared memory. Each thread then goes through the
 *   window of its position. With search=all and search=far, it reads one new byte at each place and
 *   shifts it into a word with the bytes read before. It compares more bytes only if three are
 *   equal. The other searches read each byte of the window once (culzss_one_pass).
 *
 * - walk: selects matches, with one warp for each packet.
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/warp.cuh"
#include "papers/culzss.h"
#include "papers/greedy.cuh"
#include "papers/papers.h"

/* THREADS: threads of a block; each has TILE / THREADS positions. With a larger TILE, windows are
 * copied less often, but there are fewer blocks, and each needs more shared memory. */
#define THREADS 256
#define TILE 1024
#define TILES (LZ_CHUNK_SIZE / TILE)

/* Whole words are loaded, so a load may read up to this many bytes after the last byte that is
 * used. */
#define BEHIND 8

static_assert(TILE + LZ_MAX_MATCH + BEHIND + sizeof(uint32_t) <= GPU_INPUT_PAD,
              "reads behind a batch");

/* The values of the method's keys. */
struct culzss_numbers {
    uint32_t window, packet, length, search;
};

/* Returns how many bytes at `here` equal the bytes `distance` before them, up to `limit`. The first
 * three bytes are known to be equal. */
static __device__ __forceinline__ uint32_t extend(shared_words data, uint32_t here,
                                                  uint32_t distance, uint32_t limit)
{
    for (uint32_t n = LZ_MIN_MATCH; n < limit; n += 4) {
        const uint32_t same =
            common_bytes(load32(data, here + n), load32(data, here + n - distance));

        if (same < 4)
            return min(n + same, limit);
    }
    return limit;
}

/* Each of the next three functions returns the length of the longest match of the bytes at `here`,
 * at most `most` bytes, and sets *distance to its distance; 0: no match. `reach` is the greatest
 * distance. */

/* search=all: from the nearest place to the farthest. */
static __device__ __forceinline__ uint32_t find_nearest(shared_words data, uint32_t here,
                                                        uint32_t reach, uint32_t most,
                                                        uint32_t *distance)
{
    const uint8_t *bytes = (const uint8_t *)data.words;
    const uint32_t want = load32(data, here);
    uint32_t there = load32(data, here - (LZ_MIN_MATCH - 1)), best = 0;

    for (uint32_t d = LZ_MIN_MATCH; d <= reach && best < most; d++) {
        uint32_t length;

        there = there << 8 | bytes[here - d];
        if ((there ^ want) << 8 != 0 || bytes[here + best] != bytes[here + best - d])
            continue;
        length = extend(data, here, d, culzss_limit(most, d));
        if (length > best) {
            best = length;
            *distance = d;
        }
    }
    return best;
}

/* search=far: from the farthest place to the nearest. */
static __device__ __forceinline__ uint32_t find_farthest(shared_words data, uint32_t here,
                                                         uint32_t reach, uint32_t most,
                                                         uint32_t *distance)
{
    const uint8_t *bytes = (const uint8_t *)data.words;
    const uint32_t want = load32(data, here) << 8;
    /* The three bytes before the place that is read next, in the high bytes. */
    uint32_t there = load32(data, here - reach) << 16, best = 0;

    for (uint32_t d = reach; d >= LZ_MIN_MATCH && d > best && best < most; d--) {
        uint32_t length;

        there = there >> 8 | (uint32_t)bytes[here - d + 2] << 24;
        if ((there ^ want) >> 8 != 0 || bytes[here + best] != bytes[here + best - d])
            continue;
        length = extend(data, here, d, culzss_limit(most, d));
        if (length > best) {
            best = length;
            *distance = d;
        }
    }
    return best;
}

/* search=one-pass and search=both. */
static __device__ __forceinline__ uint32_t find_in_one_pass(shared_words data, uint32_t here,
                                                            uint32_t reach, uint32_t most,
                                                            uint32_t search, uint32_t *distance)
{
    const uint32_t best =
        culzss_one_pass((const uint8_t *)data.words + here, reach, most, search, distance);

    return best < LZ_MIN_MATCH ? 0 : best;
}

/* Finds each position's longest match. Stores its length, or 0, in the scratch memory, and its
 * distance in the tags. */
static __global__ void __launch_bounds__(THREADS) longest(gpu_view v, culzss_numbers k)
{
    extern __shared__ uint4 shared[];
    uint32_t *words = (uint32_t *)shared;
    const shared_words data = {words};
    const uint32_t chunk = blockIdx.x / TILES, tile = blockIdx.x % TILES * TILE;
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t size = span.end - span.start;
    const uint32_t *input = (const uint32_t *)(v.input + span.start);
    const uint32_t first = tile < k.window ? 0 : (tile - k.window) / 4;
    const uint32_t behind = (tile + TILE + k.length + BEHIND) / 4;
    uint16_t *lengths = (uint16_t *)v.scratch + (size_t)chunk * LZ_CHUNK_SIZE;
    uint16_t *distances = v.tags + (size_t)chunk * LZ_CHUNK_SIZE;

    if (tile >= size)
        return;
    for (uint32_t i = first + threadIdx.x; i < behind; i += THREADS)
        words[i - first] = word_at(input, i);
    __syncthreads();
    for (uint32_t at = tile + threadIdx.x; at < min(tile + TILE, size); at += THREADS) {
        const uint32_t here = at - 4 * first;
        const uint32_t reach = culzss_reach(at, k.window, k.packet);
        const uint32_t most = min(culzss_left(at, size, k.packet), k.length);
        uint32_t best = 0, distance = 0;

        if (most >= LZ_MIN_MATCH && reach >= LZ_MIN_MATCH) {
            if (k.search == CULZSS_ALL)
                best = find_nearest(data, here, reach, most, &distance);
            else if (k.search == CULZSS_FAR)
                best = find_farthest(data, here, reach, most, &distance);
            else
                best = find_in_one_pass(data, here, reach, most, k.search, &distance);
        }
        lengths[at] = (uint16_t)best;
        distances[at] = (uint16_t)distance;
    }
}

/* Selects matches, and replaces the distances in the tags by the final tags (greedy.cuh). */
static __global__ void __launch_bounds__(WARP) walk(gpu_view v, uint32_t packet)
{
    const uint32_t packets = LZ_CHUNK_SIZE / packet;
    const uint32_t chunk = blockIdx.x / packets, begin = blockIdx.x % packets * packet;
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t size = span.end - span.start;

    if (begin < size)
        paper_walk_greedily((const uint16_t *)v.scratch + (size_t)chunk * LZ_CHUNK_SIZE,
                            v.tags + (size_t)chunk * LZ_CHUNK_SIZE, begin,
                            min(begin + packet, size));
}

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return LZ_CHUNK_SIZE * sizeof(uint16_t);
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const culzss_numbers k = {level->param[CULZSS_WINDOW], level->param[CULZSS_CHUNK],
                              level->param[CULZSS_LENGTH], level->param[CULZSS_SEARCH]};

    longest<<<v.chunks * TILES, THREADS, k.window + TILE + k.length + BEHIND + 8, stream>>>(v, k);
    return cudaGetLastError();
}

static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    const uint32_t packet = level->param[CULZSS_CHUNK];

    walk<<<v.chunks *(LZ_CHUNK_SIZE / packet), WARP, 0, stream>>>(v, packet);
    return cudaGetLastError();
}

static cudaError_t load(void)
{
    const void *const kernels[] = {(const void *)longest, (const void *)walk};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_culzss = {scratch_size, find_matches, parse, LZ_MIN_MATCH, load};
