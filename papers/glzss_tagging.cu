/*
 * glzss_tagging.cu - GLZSS-tagging on the GPU (glzss_tagging.c defines the method)
 *
 * By default, the walk is that of glzss.cuh. With threads=4, it is Algorithm 2 as the paper maps it
 * to threads (section 5): four threads, a "team", for each packet, so a warp works on eight
 * packets. All teams run the same loop. In each round, a team makes one stop: its lanes read two
 * bytes each, and write the stop's tags. The paper does not say where the tables are. Here, a
 * warp's eight tables are in shared memory if they fit there, or else in the scratch memory.
 */
#include "papers/glzss.cuh"
#include "papers/papers.h"
#include "papers/starts.cuh"

/* Lanes of a team, and teams of a warp. */
#define TEAM 4
#define TEAMS (WARP / TEAM)

/* Returns the eight bytes at `at`. Each of the team's lanes reads two. */
static __device__ __forceinline__ glzss_bytes read_eight(const uint8_t *bytes, uint32_t at)
{
    const uint32_t q = threadIdx.x % TEAM;
    const uint8_t *const mine = bytes + at + 2 * q;
    uint32_t half = (uint32_t)(__ldg(mine) | __ldg(mine + 1) << 8) << q % 2 * 16, other;

    half |= __shfl_xor_sync(ALL_LANES, half, 1);
    other = __shfl_xor_sync(ALL_LANES, half, 2);
    return q < 2 ? glzss_bytes{half, other} : glzss_bytes{other, half};
}

/* Makes a stop at `at` of the packet, which ends at `end` or before a chunk's end. Returns how many
 * bytes it tags, and sets *distance to their tag. With is_open false, no stop is made and one byte
 * is a literal. All lanes of the warp call this function. */
static __device__ __forceinline__ uint32_t stop(const glzss_place &p, uint16_t *table,
                                                uint32_t bits, uint32_t at, uint32_t end,
                                                bool is_open, uint32_t *distance)
{
    const glzss_bytes here = read_eight(p.bytes, at);
    const uint32_t hash = glzss_hash(here.low, bits), pre = is_open ? table[hash] : 0;
    const glzss_bytes there = read_eight(p.bytes, pre);
    const uint32_t side = pre + 4;
    const uint32_t length =
        min(here.low != there.low ? 0 : 4 + common_bytes(here.high, there.high), end - at);
    const bool is_match = is_open && length >= GLZSS_MIN_MATCH && glzss_is_near(at - pre);

    __syncwarp(); /* all lanes have read the table */
    if (is_open && threadIdx.x % TEAM == 0) {
        table[hash] = (uint16_t)at;
        if (is_match || glzss_is_passed(side, at))
            table[glzss_hash(there.high, bits)] = (uint16_t)side;
    }
    __syncwarp();
    *distance = is_match ? at - pre : 0;
    return !is_match ? 1 : length == 8 ? 4 : length;
}

/* Algorithm 2. All lanes of the warp call this function, with their team's packet and table. */
static __device__ __forceinline__ void walk_by_teams(const glzss_place &p, uint16_t *table,
                                                     uint32_t bits)
{
    const uint32_t q = threadIdx.x % TEAM;
    uint32_t at = 1;

    if (q == 0 && p.size > 0)
        p.tags[0] = 0;
    while (__ballot_sync(ALL_LANES, at < p.size) != 0) {
        const bool is_inside = at < p.size;
        const uint32_t end = is_inside ? glzss_end(at, p.size) : at;
        const bool is_open = is_inside && at + GLZSS_MIN_MATCH <= end;
        uint32_t distance;
        const uint32_t length = stop(p, table, bits, is_open ? at : 0, end, is_open, &distance);

        if (!is_inside)
            continue;
        for (uint32_t i = q; i < length; i += TEAM)
            p.tags[at + i] = (uint16_t)distance;
        at += length;
    }
}

/* Returns the place of packet number `index` of the batch. The size is 0 if there is no such
 * packet. */
static __device__ __forceinline__ glzss_place place_of_team(const gpu_view &v, uint32_t packet,
                                                            uint32_t index)
{
    const uint32_t packets = glzss_packets(packet), begin = index % packets * packet;
    uint32_t chunk = index / packets, size;
    gpu_span span;

    if (chunk < v.chunks && packet > LZ_CHUNK_SIZE)
        chunk = paper_starts(v)[chunk];
    if (chunk >= v.chunks)
        return {v.input, 0, v.tags};
    span = gpu_chunk_span(v, chunk);
    size = span.end - span.start;
    if (packet > LZ_CHUNK_SIZE && chunk + 1 < v.chunks) {
        span = gpu_chunk_span(v, chunk + 1);
        size += span.history > 0 ? span.end - span.start : 0;
    }
    /* A team without a packet reads, too, so it must have a place that can be read. */
    if (begin >= size)
        return {v.input, 0, v.tags};
    return glzss_place_at(v, chunk, begin, min(size, begin + packet));
}

static __global__ void __launch_bounds__(WARP) tag(gpu_view v, uint32_t bits, uint32_t packet)
{
    extern __shared__ uint4 shared[];

    glzss_tag<true>(v, shared, bits, packet);
}

static __global__ void __launch_bounds__(WARP)
    tag_by_teams(gpu_view v, uint32_t bits, uint32_t packet, bool is_shared)
{
    extern __shared__ uint4 shared[];
    const uint32_t team = threadIdx.x / TEAM, index = blockIdx.x * TEAMS + team;
    const uint32_t size = (sizeof(uint16_t) << bits) / sizeof(uint4);
    const glzss_place place = place_of_team(v, packet, index);
    uint4 *table;

    if (is_shared)
        table = shared + team * size;
    else
        table = (uint4 *)paper_after_starts(v) + (size_t)index * size;
    if (place.size > 0)
        for (uint32_t i = threadIdx.x % TEAM; i < size; i += TEAM)
            table[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    walk_by_teams(place, (uint16_t *)table, bits);
}

/* Bytes for the list of packets and for the tables. Packets have two chunks or less, so a table for
 * each chunk, or for each packet of a chunk, is enough. */
static size_t scratch_size(const struct lz_level *level)
{
    if (level->param[GLZSS_THREADS] == PAPER_AUTO)
        return 0;
    return PAPER_STARTS_SIZE +
           glzss_packets(level->param[GLZSS_CHUNK]) * level->param[GLZSS_TABLE] * sizeof(uint16_t);
}

/* Queues the walk of threads=4. */
static cudaError_t parse_by_teams(const gpu_view &v, const glzss_launch &launch,
                                  cudaStream_t stream)
{
    const size_t tables = (TEAMS * sizeof(uint16_t)) << launch.bits;
    const bool is_shared = tables <= v.shared_size;
    const size_t size = is_shared ? tables : 0;
    const uint32_t blocks = (launch.blocks + TEAMS - 1) / TEAMS;
    const cudaError_t status = gpu_allow_shared(tag_by_teams, v, size);

    if (status != cudaSuccess)
        return status;
    if (launch.packet > LZ_CHUNK_SIZE)
        paper_list_starts<<<1, WARP, 0, stream>>>(v, launch.packet / LZ_CHUNK_SIZE);
    tag_by_teams<<<blocks, WARP, size, stream>>>(v, launch.bits, launch.packet, is_shared);
    return cudaGetLastError();
}

/* Queues the walk. The table and the marks take up to 132 KiB of shared memory. If the device does
 * not allow a block that much, this fails, and the CPU does the work. */
static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    const glzss_launch launch = glzss_launch_for(v, level);
    cudaError_t status;

    if (level->param[GLZSS_THREADS] == PAPER_AS_PAPER)
        return parse_by_teams(v, launch, stream);
    status = gpu_allow_shared(tag, v, launch.shared_size);
    if (status != cudaSuccess)
        return status;
    tag<<<launch.blocks, WARP, launch.shared_size, stream>>>(v, launch.bits, launch.packet);
    return cudaGetLastError();
}

static cudaError_t load(void)
{
    const void *const kernels[] = {(const void *)paper_list_starts, (const void *)tag_by_teams,
                                   (const void *)tag};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_glzss_tagging = {scratch_size, NULL, parse, GLZSS_MIN_MATCH,
                                                    load};
