/*
 * glzss.cuh - the walk of the GLZSS methods on the GPU, the twin of glzss_find.h
 *
 * glzss_basic.c defines walk, stop, entry and candidate. A warp works on one packet, whose hash
 * table is in shared memory. The candidate at a stop depends on all stops before it, because only
 * stops are entered into the table. A warp that took one stop at a time would wait for memory at
 * every stop. So the warp looks at 32 consecutive positions (a "window") at a time:
 *
 * - Each lane reads the table's entry for its position, and the bytes at the candidate, as if no
 *   other position of the window were a stop.
 *
 * - The warp then takes a run of stops. The run begins at the walk's position, and ends with the
 *   first position that has a match. All positions of the run are stops.
 *
 * - If a lane of the run has read an entry that an earlier stop of the run will write, the run ends
 *   just before that lane. So all stops of a run have read the right entries. The function
 *   glzss_clashes finds such lanes, and sometimes a few other lanes, which make the run shorter
 *   than necessary.
 *
 * - The run's stops are entered into the table. If the run ends with a match, the whole warp
 *   measures the match's length.
 *
 * - For the next run, the lanes read the entries again. A lane whose entry has changed loads the
 *   bytes at its new candidate.
 *
 * This is the walk of threads=auto. The papers' own ways are in glzss_basic.cu and
 * glzss_tagging.cu.
 *
 * A window takes one run for each of its matches, usually two or three, and one more run whenever
 * two of its stops share an entry. The candidates' bytes are loaded while the warp works on the
 * window before, so the warp waits for them at most once for each window.
 */
#ifndef GZLZSS_PAPERS_GLZSS_CUH
#define GZLZSS_PAPERS_GLZSS_CUH

#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/warp.cuh"
#include "papers/glzss.h"

/* The bytes of a window are loaded two windows ahead. */
static_assert(3 * WARP + 8 + sizeof(uint32_t) <= GPU_INPUT_PAD, "reads behind a batch");
static_assert(LZ_CHUNK_SIZE % WARP == 0, "a window lies in one chunk");

/* Returns the last place where a match at position `at` of a packet of `size` bytes may end. This
 * is the end of the packet or of the chunk, whichever comes first, since no match may cross
 * either. */
static __device__ __forceinline__ uint32_t glzss_end(uint32_t at, uint32_t size)
{
    const uint32_t end = (at | (LZ_CHUNK_SIZE - 1)) + 1;

    return end < size ? end : size;
}

/* The packet that a warp works on; the same for all lanes. */
struct glzss_packet {
    const uint32_t *data;
    uint16_t *table;
    uint32_t *marks; /* GLZSS_MARKS words (glzss_clashes) */
    uint32_t bits;
};

/* The number of marks (glzss_clashes), a power of two. The marks are words of shared memory after
 * the table. With fewer marks, stops with different entries share a mark more often, so runs are
 * shorter. With more marks, fewer packets fit on the device at a time. */
#define GLZSS_MARKS 1024

/* The three aligned words that contain the eight bytes at a position. Words that are loaded a
 * window ahead stay in this form until they are used, since combining them earlier would wait for
 * the load. */
struct glzss_words {
    uint32_t a, b, c;
};

static __device__ __forceinline__ glzss_words glzss_load(const uint32_t *data, uint32_t at)
{
    return {word_at(data, at / 4), word_at(data, at / 4 + 1), word_at(data, at / 4 + 2)};
}

/* Eight bytes: `low` is the first four, `high` the last four. */
struct glzss_bytes {
    uint32_t low, high;
};

static __device__ __forceinline__ glzss_bytes glzss_join(glzss_words words, uint32_t at)
{
    return {__funnelshift_r(words.a, words.b, at * 8), __funnelshift_r(words.b, words.c, at * 8)};
}

/* A lane's position in a window. here: the bytes at that position. hash: the number of their entry
 * in the table. pre: the candidate, which is the position in that entry. there: the words at the
 * candidate. */
struct glzss_stop {
    glzss_bytes here;
    uint32_t hash, pre;
    glzss_words there;
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

/* Returns the length of the match at `at`, `distance` back, that ends at `end` at the latest. The
 * first 8 bytes are known to be equal. All lanes call this function with the same arguments. */
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

/*
 * Returns those of the lanes in `lanes` that share an entry with a lower lane, and perhaps a few
 * others. All lanes call this function. A lane's entries are `hash` and, with SIDES, also `also`,
 * which may equal `hash`.
 *
 * Each lane writes its number to the marks of its entries; of all numbers written to a mark, the
 * lowest stays. A lane that then finds a lower number in its mark shares the mark with a lower
 * lane. Different entries may have the same mark, so lanes without a shared entry may be returned,
 * too.
 *
 * `number` is the number that this lane writes. It must differ between lanes, and be lower than all
 * numbers of earlier calls, which are still in the marks. Otherwise a run's first lane might seem
 * to share its entry, and the walk would not advance.
 */
template <bool SIDES>
static __device__ __forceinline__ uint32_t glzss_clashes(const glzss_packet &packet, uint32_t lanes,
                                                         uint32_t hash, uint32_t also,
                                                         uint32_t number)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uint32_t left = (lanes & 1u << lane) != 0 ? number : UINT32_MAX;
    uint32_t *const mark = packet.marks + hash % GLZSS_MARKS;
    uint32_t *const other = packet.marks + also % GLZSS_MARKS;
    uint32_t lowest;

    atomicMin(mark, left);
    if constexpr (SIDES)
        atomicMin(other, left);
    __syncwarp();
    lowest = *mark;
    if constexpr (SIDES)
        lowest = min(lowest, *other);
    return __ballot_sync(ALL_LANES, lowest < number) & lanes;
}

/* For glzss-tagging: enters the stops inside a match, except the first stop, and then the position
 * four bytes after the last stop's candidate. pre: the match's candidate. after: bytes 4 to 7 at
 * the candidate. number: the argument `number` of glzss_clashes. For a long match, several calls of
 * glzss_clashes have the same number. Lanes may then seem to share an entry, which costs only time
 * here. */
static __device__ __forceinline__ void glzss_enter_match(const glzss_packet &packet, uint32_t at,
                                                         uint32_t length, uint32_t pre,
                                                         uint32_t after, uint32_t number)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uint32_t last = glzss_before_last_step(length), side = pre + last + 4;
    const uint32_t side_bytes = last == 0 ? after : load32(packet.data, side);

    for (uint32_t first = 4; first <= last; first += 4 * WARP) {
        const uint32_t step = first + 4 * lane;
        const bool has = step <= last;
        const uint32_t bytes = has ? load32(packet.data, at + step) : 0;
        const uint32_t hash = glzss_hash(bytes, packet.bits);
        uint32_t same = 1u << lane;

        /* If several steps share an entry, the last of these steps must stay. __match_any_sync
         * finds steps that share an entry, but is slow. glzss_clashes tells in a tenth of the time
         * whether there are such steps. */
        if (first < last) {
            const uint32_t steps = __ballot_sync(ALL_LANES, has);

            if (glzss_clashes<false>(packet, steps, hash, hash, number) != 0)
                same = __match_any_sync(ALL_LANES, has ? hash : 1u << 31 | lane);
        }
        if (has && same >> lane == 1)
            packet.table[hash] = (uint16_t)(at + step);
        __syncwarp();
    }
    if (lane == 0)
        packet.table[glzss_hash(side_bytes, packet.bits)] = (uint16_t)side;
    __syncwarp();
}

/* Returns a mask of the lanes from lane `from` (0 to 31) on. */
static __device__ __forceinline__ uint32_t glzss_lanes_from(uint32_t from)
{
    return ALL_LANES << from;
}

/* Walks through a packet of `size` bytes and stores its tags. All lanes of the warp call this
 * function. */
template <bool TAGGING>
static __device__ __forceinline__ void glzss_walk(const glzss_packet &packet, uint16_t *tags,
                                                  uint32_t size)
{
    const uint32_t lane = threadIdx.x % WARP;
    glzss_words words = glzss_load(packet.data, WARP + lane);
    glzss_stop next = glzss_look_up(packet, glzss_join(glzss_load(packet.data, lane), lane));
    uint32_t walked = 1, covered = 0, covered_tag = 0, lowest = UINT32_MAX & ~(WARP - 1u);

    for (uint32_t window = 0; window < size; window += WARP) {
        const uint32_t at = window + lane, end = glzss_end(window, size);
        const bool is_open = at + GLZSS_MIN_MATCH <= end;
        const uint32_t open = __ballot_sync(ALL_LANES, is_open);
        glzss_stop s = next;
        uint32_t tag = at < covered ? covered_tag : 0;

        next = glzss_look_up(packet, glzss_join(words, at));
        words = glzss_load(packet.data, at + 2 * WARP);
        while (walked < window + WARP) {
            const uint32_t left = open & glzss_lanes_from(walked - window);
            const uint32_t pre = packet.table[s.hash];
            uint32_t length, matches, run, first, ahead, side, side_hash;
            bool is_match, has_side;
            glzss_bytes there;

            if (s.pre != pre) {
                s.pre = pre;
                s.there = glzss_load(packet.data, s.pre);
            }
            there = glzss_join(s.there, s.pre);
            is_match = s.here.low == there.low && glzss_is_near(at - s.pre);
            length = min(4 + common_bytes(s.here.high, there.high), end - at);
            matches = __ballot_sync(ALL_LANES, is_match) & left;
            /* The first lane with a match; if there is none, a number that no lane has. */
            first = (uint32_t)__ffs((int)matches) - 1;
            run = matches != 0 ? left & (2 * (matches & (0 - matches)) - 1) : left;

            side = s.pre + 4;
            side_hash = glzss_hash(there.high, packet.bits);
            has_side = TAGGING && lane != first && glzss_is_passed(side, at);
            lowest -= WARP;
            ahead = glzss_clashes<TAGGING>(packet, run, s.hash, has_side ? side_hash : s.hash,
                                           lowest + lane);
            if (ahead != 0)
                run &= (ahead & (0 - ahead)) - 1;

            /* The stops of the run have different entries, so all can be entered at once. */
            if ((run & 1u << lane) != 0)
                packet.table[s.hash] = (uint16_t)at;
            if (has_side && (run & 1u << lane) != 0)
                packet.table[side_hash] = (uint16_t)side;
            __syncwarp();

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
                lowest -= WARP;
                if constexpr (TAGGING)
                    glzss_enter_match(packet, start, match_length, start - covered_tag,
                                      __shfl_sync(ALL_LANES, there.high, (int)first),
                                      lowest + lane);
            }
        }
        if (at < size)
            tags[at] = (uint16_t)tag;
    }
}

/* Packets have two chunks. If a packet starts with chunk `c` of the batch, returns the packet's
 * size in bytes, which is at most that of two chunks. Otherwise, returns 0. All lanes call this
 * function. */
static __device__ __forceinline__ uint32_t glzss_double_packet(const gpu_view &v, uint32_t c)
{
    const uint32_t lane = threadIdx.x % WARP;
    const gpu_span span = gpu_chunk_span(v, c);
    uint32_t size = span.end - span.start;

    /* Find the chunk that starts the segment of chunk c. This is chunk c if it has no history,
     * otherwise the nearest chunk before it that has none. */
    for (uint32_t back = 0;; back += WARP) {
        const bool is_first = back + lane <= c && gpu_chunk_span(v, c - back - lane).history == 0;
        const uint32_t starts = __ballot_sync(ALL_LANES, is_first);

        if (starts != 0) {
            /* Packets start at even chunks of a segment. `back` is always even, because WARP is
             * even. */
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

/* Returns the number of packets that start in a chunk, at most. */
static __host__ __device__ __forceinline__ uint32_t glzss_packets(uint32_t packet)
{
    return packet < LZ_CHUNK_SIZE ? LZ_CHUNK_SIZE / packet : 1;
}

/* A packet's place: its first byte, its size in bytes, and its first tag. */
struct glzss_place {
    const uint8_t *bytes;
    uint32_t size;
    uint16_t *tags;
};

/* Returns the place of a packet that starts at byte `begin` of a chunk. size: the bytes from the
 * chunk's start to the packet's end at the latest. If no packet starts there, the size is 0. */
static __device__ __forceinline__ glzss_place glzss_place_at(const gpu_view &v, uint32_t chunk,
                                                             uint32_t begin, uint32_t size)
{
    return {v.input + gpu_chunk_span(v, chunk).start + begin, size > begin ? size - begin : 0,
            v.tags + (size_t)chunk * LZ_CHUNK_SIZE + begin};
}

/* Returns the place of the packet that a block of one warp works on. All lanes call this function.
 * If packets have two chunks, only every other block has a packet; the size is 0 in others. */
static __device__ __forceinline__ glzss_place glzss_place_of_block(const gpu_view &v,
                                                                   uint32_t packet)
{
    const uint32_t packets = glzss_packets(packet);
    const uint32_t chunk = blockIdx.x / packets, begin = blockIdx.x % packets * packet;
    const gpu_span span = gpu_chunk_span(v, chunk);

    if (packet > LZ_CHUNK_SIZE)
        return glzss_place_at(v, chunk, 0, glzss_double_packet(v, chunk));
    return glzss_place_at(v, chunk, begin, min(span.end - span.start, begin + packet));
}

/* Stores the tags of one packet. A block of threads is one warp. `table` has space for 2^bits
 * entries and the marks. */
template <bool TAGGING>
static __device__ __forceinline__ void glzss_tag(const gpu_view &v, uint4 *table, uint32_t bits,
                                                 uint32_t packet)
{
    const glzss_place place = glzss_place_of_block(v, packet);
    uint32_t *const marks = (uint32_t *)table + (sizeof(uint16_t) << bits) / sizeof(uint32_t);

    if (place.size == 0)
        return;
    for (uint32_t i = threadIdx.x; i < (sizeof(uint16_t) << bits) / sizeof(uint4); i += WARP)
        table[i] = make_uint4(0, 0, 0, 0);
    for (uint32_t i = threadIdx.x; i < GLZSS_MARKS; i += WARP)
        marks[i] = UINT32_MAX;
    __syncwarp();
    glzss_walk<TAGGING>({(const uint32_t *)place.bytes, (uint16_t *)table, marks, bits}, place.tags,
                        place.size);
}

/* How to launch a kernel that calls glzss_tag. */
struct glzss_launch {
    uint32_t blocks, bits, packet;
    size_t shared_size;
};

static glzss_launch glzss_launch_for(const gpu_view &v, const struct lz_level *level)
{
    const uint32_t table = level->param[GLZSS_TABLE], packet = level->param[GLZSS_CHUNK];

    return {v.chunks * glzss_packets(packet), both_log2(table), packet,
            table * sizeof(uint16_t) + GLZSS_MARKS * sizeof(uint32_t)};
}

#endif
