/*
 * glzss.cuh - the walk of the GLZSS methods on the GPU: the twin of glzss_find.h
 *
 * A warp for a packet, with the packet's table in shared memory.  What a stop finds depends on all
 * stops before it, because they alone are in the table; yet the warp looks at 32 positions in a row,
 * a window, at a time.  Each lane reads its position's entry, and the bytes there, as if no other
 * position of the window were a stop.  Then the warp takes runs of stops: from where the walk is,
 * every position is a stop up to the first with a match.  A lane of the run whose entry a stop of the
 * run would have written before it ends the run early, in front of it.  All stops left have read the
 * right entries.  They are entered into the table, and the match, if the run got to it, is measured
 * by the whole warp.  The next run begins by reading the entries again; a lane whose entry is another
 * now fetches the bytes there.
 *
 * So a window takes a run for each of its two or three matches, and one for each time that stops
 * meet under an entry; and the warp waits for the memory that candidates are in once a window.  Even
 * that is asked for while the window before is worked on.
 */
#ifndef GZLZSS_PAPERS_GLZSS_CUH
#define GZLZSS_PAPERS_GLZSS_CUH

#include "gpu/internal.cuh"
#include "gpu/warp.cuh"
#include "papers/glzss.h"

/* A window's positions and their bytes are read while the second window before it is worked on. */
static_assert(3 * WARP + 8 + sizeof(uint32_t) <= GPU_INPUT_PAD, "reads behind a batch");
static_assert(LZ_CHUNK_SIZE % WARP == 0, "a window lies in one chunk");

/* Where a match at position `at` of a packet of `size` bytes ends at the latest: no match leaves its
 * chunk. */
static __device__ __forceinline__ uint32_t glzss_end(uint32_t at, uint32_t size)
{
    const uint32_t end = (at | (LZ_CHUNK_SIZE - 1)) + 1;

    return end < size ? end : size;
}

/* What all lanes know of a packet. */
struct glzss_packet {
    const uint32_t *data;
    uint16_t *table;
    uint32_t bits;
};

/* The eight bytes at a position, and their first four's entry. */
struct glzss_bytes {
    uint32_t low, high;
};

static __device__ __forceinline__ glzss_bytes glzss_load(const uint32_t *data, uint32_t at)
{
    const uint32_t a = word_at(data, at / 4), b = word_at(data, at / 4 + 1),
                   c = word_at(data, at / 4 + 2);

    return {__funnelshift_r(a, b, at * 8), __funnelshift_r(b, c, at * 8)};
}

/* A lane's position of a window: its bytes, its entry, the candidate in it, and the bytes there. */
struct glzss_stop {
    glzss_bytes here;
    uint32_t hash, pre;
    glzss_bytes there;
};

static __device__ __forceinline__ glzss_stop glzss_look_up(const glzss_packet &packet,
                                                           glzss_bytes here)
{
    glzss_stop s;

    s.here = here;
    s.hash = glzss_hash(here.low, packet.bits);
    s.pre = packet.table[s.hash];
    s.there = glzss_load(packet.data, s.pre);
    return s;
}

/* The length of a match of 8 bytes at `at`, `distance` back, up to `end`; for a warp. */
static __device__ __forceinline__ uint32_t glzss_extend(const uint32_t *data, uint32_t at,
                                                        uint32_t distance, uint32_t end)
{
    const uint32_t lane = threadIdx.x % WARP;

    for (uint32_t first = at + 8;; first += 4 * WARP) {
        const uint32_t mine = first + 4 * lane;
        uint32_t agree = 0, short_lanes;

        if (mine < end)
            agree =
                min(common_bytes(load32(data, mine), load32(data, mine - distance)), end - mine);
        short_lanes = __ballot_sync(ALL_LANES, agree < 4);
        if (short_lanes != 0) {
            const uint32_t last = (uint32_t)__ffs((int)short_lanes) - 1;

            return first + 4 * last + __shfl_sync(ALL_LANES, agree, (int)last) - at;
        }
    }
}

/* Enters the lanes' positions, those that have one, into the table, as if in the lanes' order. */
static __device__ __forceinline__ void glzss_enter(const glzss_packet &packet, bool has,
                                                   uint32_t hash, uint32_t at)
{
    const uint32_t lane = threadIdx.x % WARP;
    /* No hash has the highest bit. */
    const uint32_t same = __match_any_sync(ALL_LANES, has ? hash : 1u << 31 | lane);

    if (has && same >> lane == 1)
        packet.table[hash] = (uint16_t)at;
    __syncwarp();
}

/* glzss-tagging: enters the stops within a match, but for its first, and what the last one finds
 * behind its candidate. */
static __device__ __forceinline__ void glzss_enter_match(const glzss_packet &packet, uint32_t at,
                                                         uint32_t length, uint32_t pre)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uint32_t last = glzss_before_last_step(length), side = pre + last + 4;

    for (uint32_t first = 4; first <= last; first += 4 * WARP) {
        const uint32_t step = first + 4 * lane;
        const bool has = step <= last;
        const uint32_t bytes = has ? load32(packet.data, at + step) : 0;

        glzss_enter(packet, has, glzss_hash(bytes, packet.bits), at + step);
    }
    if (lane == 0)
        packet.table[glzss_hash(load32(packet.data, side), packet.bits)] = (uint16_t)side;
    __syncwarp();
}

/* The lanes from lane `from` of the window on; `from` is 0 to 31. */
static __device__ __forceinline__ uint32_t glzss_lanes_from(uint32_t from)
{
    return ALL_LANES << from;
}

/* Walks along a packet of `size` bytes and leaves its tags; for a warp. */
template <bool TAGGING>
static __device__ __forceinline__ void glzss_walk(const glzss_packet &packet, uint16_t *tags,
                                                  uint32_t size)
{
    const uint32_t lane = threadIdx.x % WARP;
    glzss_bytes bytes = glzss_load(packet.data, WARP + lane);
    glzss_stop next = glzss_look_up(packet, glzss_load(packet.data, lane));
    uint32_t walked = 1, covered = 0, covered_tag = 0;

    for (uint32_t window = 0; window < size; window += WARP) {
        const uint32_t at = window + lane, end = glzss_end(window, size);
        const bool is_open = at + GLZSS_MIN_MATCH <= end;
        const uint32_t open = __ballot_sync(ALL_LANES, is_open);
        glzss_stop s = next;
        const uint32_t same = __match_any_sync(ALL_LANES, s.hash);
        uint32_t tag = at < covered ? covered_tag : 0;

        next = glzss_look_up(packet, bytes);
        bytes = glzss_load(packet.data, at + 2 * WARP);
        while (walked < window + WARP) {
            const uint32_t left = open & glzss_lanes_from(walked - window);
            const uint32_t pre = packet.table[s.hash];
            uint32_t length = 0, matches, run, first, ahead;
            uint32_t side = 0, side_hash = 0;
            bool has_side = false, clashes;

            if (s.pre != pre) {
                s.pre = pre;
                s.there = glzss_load(packet.data, s.pre);
            }
            __syncwarp();
            if (s.here.low == s.there.low && glzss_is_near(at - s.pre))
                length = min(4 + common_bytes(s.here.high, s.there.high), end - at);
            matches = __ballot_sync(ALL_LANES, length > 0) & left;
            first = (uint32_t)__ffs((int)matches) - 1; /* of none, no lane's number */
            run = matches != 0 ? left & (2 * (matches & (0 - matches)) - 1) : left;

            /* Of the run's lanes, those that a stop before them in the run gets in the way of. */
            clashes = (same & run & ((1u << lane) - 1)) != 0;
            if constexpr (TAGGING) {
                side = s.pre + 4;
                side_hash = glzss_hash(s.there.high, packet.bits);
                has_side = lane != first && glzss_is_passed(side, at);
                for (uint32_t j = walked - window; j < WARP && run >> j > 1; j++) {
                    const uint32_t theirs =
                        __shfl_sync(ALL_LANES, has_side ? side_hash : UINT32_MAX, (int)j);

                    clashes = clashes || (lane > j && theirs == s.hash);
                }
            }
            ahead = __ballot_sync(ALL_LANES, clashes) & run;
            if (ahead != 0)
                run &= (ahead & (0 - ahead)) - 1;

            /* The run's stops have different entries. */
            if ((run >> lane & 1) != 0)
                packet.table[s.hash] = (uint16_t)at;
            __syncwarp();
            if constexpr (TAGGING)
                glzss_enter(packet, has_side && (run >> lane & 1) != 0, side_hash, side);

            if (ahead != 0) {
                walked = window + (uint32_t)__ffs((int)ahead) - 1;
            } else if (matches == 0) {
                walked = window + WARP;
            } else {
                const uint32_t start = window + first;
                uint32_t match_length = __shfl_sync(ALL_LANES, length, (int)first);

                covered_tag = start - __shfl_sync(ALL_LANES, s.pre, (int)first);
                if (match_length == 8)
                    match_length = glzss_extend(packet.data, start, covered_tag, end);
                walked = covered = start + match_length;
                if (at >= start && at < covered)
                    tag = covered_tag;
                if constexpr (TAGGING)
                    glzss_enter_match(packet, start, match_length, start - covered_tag);
            }
        }
        if (at < size)
            tags[at] = (uint16_t)tag;
    }
}

/* Bytes from the batch's chunk `c` on to the end of a packet of two chunks that starts with it; 0 if
 * none does.  For a warp. */
static __device__ __forceinline__ uint32_t glzss_double_packet(const gpu_view &v, uint32_t c)
{
    const uint32_t lane = threadIdx.x % WARP;
    const gpu_span span = gpu_chunk_span(v, c);
    uint32_t size = span.end - span.start;

    /* The nearest chunk before it that starts a segment. */
    for (uint32_t back = 0;; back += WARP) {
        const bool is_first = back + lane <= c && gpu_chunk_span(v, c - back - lane).history == 0;
        const uint32_t starts = __ballot_sync(ALL_LANES, is_first);

        if (starts != 0) {
            /* WARP is even. */
            if (((uint32_t)__ffs((int)starts) - 1) % 2 != 0)
                return 0;
            break;
        }
    }
    if (c + 1 < v.chunks) {
        const gpu_span after = gpu_chunk_span(v, c + 1);

        if (after.history > 0)
            size += after.end - after.start;
    }
    return size;
}

/* Fills in tags; for a block of a warp, with room for a table of 2^bits.  A block has a packet; where
 * packets have two chunks, every other block has none. */
template <bool TAGGING>
static __device__ __forceinline__ void glzss_tag(const gpu_view &v, uint4 *table, uint32_t bits,
                                                 uint32_t packet)
{
    const uint32_t packets = packet < LZ_CHUNK_SIZE ? LZ_CHUNK_SIZE / packet : 1;
    const uint32_t chunk = blockIdx.x / packets, begin = blockIdx.x % packets * packet;
    const gpu_span span = gpu_chunk_span(v, chunk);
    uint32_t size;

    if (packet > LZ_CHUNK_SIZE)
        size = glzss_double_packet(v, chunk);
    else
        size = begin < span.end - span.start ? min(span.end - span.start - begin, packet) : 0;
    if (size == 0)
        return;
    for (uint32_t i = threadIdx.x; i < (sizeof(uint16_t) << bits) / sizeof(uint4); i += WARP)
        table[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    glzss_walk<TAGGING>({(const uint32_t *)(v.input + span.start + begin), (uint16_t *)table, bits},
                        v.tags + (size_t)chunk * LZ_CHUNK_SIZE + begin, size);
}

/* For struct gpu_finder: all is done by `parse`. */
static size_t glzss_scratch(const struct lz_level *level)
{
    (void)level;
    return 0;
}

static cudaError_t glzss_find(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    (void)v;
    (void)level;
    (void)stream;
    return cudaSuccess;
}

/* How the kernel is queued that calls glzss_tag. */
struct glzss_launch {
    uint32_t blocks, bits, packet;
    size_t shared_size;
};

static glzss_launch glzss_launch_for(const gpu_view &v, const struct lz_level *level)
{
    const uint32_t table = level->param[GLZSS_TABLE], packet = level->param[GLZSS_CHUNK];
    const uint32_t packets = packet < LZ_CHUNK_SIZE ? LZ_CHUNK_SIZE / packet : 1;

    return {v.chunks * packets, both_log2(table), packet, table * sizeof(uint16_t)};
}

#endif
