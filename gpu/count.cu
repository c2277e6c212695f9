/*
 * count.cu - finds where blocks of DEFLATE end and how much output they make, on the GPU
 *
 * A thread must read Huffman codes in order: a code's end is known only once it is read.  Many
 * threads can read one block because codes synchronise: a thread that starts inside a code soon
 * reads true codes (Weissenberger and Schmidt, "Massively parallel Huffman decoding on GPUs",
 * 2018).
 *
 *   1. Each thread takes a span of SPAN bits.  The first thread starts at a code.  The others start
 *      at the first bit of their span.
 *   2. Each thread compares its start with the end of the thread before.  If they differ, it
 *      decodes its span again from that end.  The threads repeat this until all starts are true:
 *      with text, two or three times.
 *   3. The threads add up their output, and write the map (pieces.cuh).
 *
 * Codes of nearly one length synchronise badly: then each round makes only one more start true.  A
 * warp goes on like this.  A larger team finds all starts in another way (find_phases) after
 * SYNC_ROUNDS rounds.
 *
 * A warp counts a short unit, and a block of LONG_TEAM threads a long one.
 */
#include "base/zlib_header.h"
#include "gpu/codes.cuh"
#include "gpu/pieces.cuh"
#include "gpu/bits.cuh"

/* Warps of a block of threads.  Each counts a unit of its own, with tables of its own. */
#define WARPS 4

/* Bits of a thread's span: two steps of the map.  With shorter spans, more of the time goes into
 * finding the start of a code. */
#define SPAN (2 * GPU_STEP)

/* --- Counting --------------------------------------------------------------------------------- */

/* A thread's result for its span. */
struct span {
    uint32_t start;  /* bit where its first code starts */
    uint32_t end;    /* bit behind the last code that starts in the span */
    uint32_t output; /* bytes */
    uint32_t state;  /* LITERAL: the block goes on; END: it has ended; WRONG: a code is not valid */
};

/* Decodes the codes that start in bits [start, bound).  middle becomes the bit where the first code
 * at or behind bit `half` starts, and middle_output the output before it.  If there is no such
 * code, middle becomes UINT32_MAX. */
static __device__ span decode_span(const tables &t, const gpu_compressed &in, uint32_t start,
                                   uint32_t bound, uint32_t half, uint32_t &middle,
                                   uint32_t &middle_output)
{
    const uint32_t *const words = in.words;
    span s = {start, start, 0, LITERAL};
    gpu_reader r;

    middle = UINT32_MAX;
    gpu_seek(r, words, start);
    while (s.end < bound) {
        if (s.end >= half && middle == UINT32_MAX) {
            middle = s.end;
            middle_output = s.output;
        }
        gpu_refill(r);
        const uint32_t e = look_up<true>(t, r.buffer);
        const uint32_t kind = ENTRY_KIND(e);

        gpu_drop(r, ENTRY_LENGTH(e));
        if (kind == LITERAL) {
            s.output++;
        } else if (kind == COPY) {
            s.output += ENTRY_VALUE(e) + gpu_take(r, ENTRY_EXTRA(e));
            gpu_refill(r);
            const uint32_t d = look_up<false>(t, r.buffer);

            gpu_drop(r, ENTRY_LENGTH(d) + ENTRY_EXTRA(d));
            if (ENTRY_KIND(d) != COPY)
                s.state = WRONG;
        } else {
            s.state = kind;
        }
        s.end = gpu_bit_of(r, words);
        if (s.state != LITERAL)
            break;
    }
    /* If the input is cut off, the last code may reach past its end.  Without the state WRONG, the
     * next threads would take over this end as their start, only one thread in each round. */
    if (s.end > in.bits)
        s.state = WRONG;
    return s;
}

/* A large team uses find_phases after this many rounds in which spans were decoded again.
 * find_phases takes as long as three to ten rounds. */
#define SYNC_ROUNDS 8

/* The same number for the rest of a block, once find_phases was used in the block. */
#define SYNC_ROUNDS_AGAIN 2

/* A span's first code starts at one of this many bits, its phases: a code that starts before the
 * span has at most 48 bits, with the distance and extra bits. */
#define PHASES 48u

/* A way is a chain of codes through a span, from one of its phases.  It leads to a phase of the
 * next span, or is one of these. */
#define WAY_ENDS 0xfe /* it leads to the block's end, or to a code that is not valid */
#define WAY_IS_NONE 0xff

/* Follows the ways through the span [cut, bound).  to[i] becomes the phase of the next span to
 * which the way from bit cut + i leads, or WAY_ENDS. */
static __device__ void find_phases(const tables &t, const uint32_t *words, uint32_t cut,
                                   uint32_t bound, uint8_t to[PHASES])
{
    /* way[i]: the phase of the first way found that has a code at bit cut + i.  joins[i]: the way
     * that way i runs into; i if none. */
    uint8_t way[SPAN], joins[PHASES];

    for (uint32_t i = 0; i < SPAN; i++)
        way[i] = i < PHASES ? (uint8_t)i : WAY_IS_NONE;
    for (uint32_t i = 0; i < PHASES; i++) {
        joins[i] = (uint8_t)i;
        to[i] = WAY_ENDS;
    }
    for (uint32_t at = cut; at < bound; at++) {
        const uint8_t own = way[at - cut];
        gpu_reader r;

        if (own == WAY_IS_NONE)
            continue;
        gpu_seek(r, words, at);
        const uint32_t e = look_up<true>(t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(e));
        if (ENTRY_KIND(e) == COPY) {
            gpu_drop(r, ENTRY_EXTRA(e));
            gpu_refill(r);
            const uint32_t d = look_up<false>(t, r.buffer);

            if (ENTRY_KIND(d) != COPY)
                continue;
            gpu_drop(r, ENTRY_LENGTH(d) + ENTRY_EXTRA(d));
        } else if (ENTRY_KIND(e) != LITERAL) {
            continue;
        }
        const uint32_t next = gpu_bit_of(r, words);

        if (next >= bound)
            to[own] = (uint8_t)(next - bound);
        else if (way[next - cut] == WAY_IS_NONE)
            way[next - cut] = own;
        else
            joins[own] = way[next - cut];
    }
    for (uint32_t i = 0; i < PHASES; i++) {
        uint32_t last = i;

        while (joins[last] != last)
            last = joins[last];
        to[i] = to[last];
    }
}

/* Threads that count a unit together: a warp, or a whole block of threads.  `rank` is this thread's
 * number.  All threads of the group must call each of the functions. */
struct warp_group {
    static constexpr uint32_t size = WARP;
    static constexpr bool is_large = false;
    uint32_t rank;

    __device__ void sync() const
    {
        __syncwarp();
    }

    /* Returns the value of the thread before; the first thread must not use the result. */
    __device__ uint32_t before(uint32_t value) const
    {
        return __shfl_up_sync(ALL_LANES, value, 1);
    }

    /* Returns the first thread's number for which is_so is true; `size` if there is none. */
    __device__ uint32_t first(bool is_so) const
    {
        const uint32_t lanes = __ballot_sync(ALL_LANES, is_so);

        return lanes != 0 ? (uint32_t)__ffs((int)lanes) - 1 : size;
    }

    /* Returns the value of thread number `other`. */
    __device__ uint32_t from(uint32_t value, uint32_t other) const
    {
        return __shfl_sync(ALL_LANES, value, (int)other);
    }

    /* Returns the sum of the values of this thread and of all threads before. */
    __device__ uint32_t sum(uint32_t value) const
    {
        for (uint32_t i = 1; i < WARP; i <<= 1) {
            const uint32_t other = __shfl_up_sync(ALL_LANES, value, i);

            if (rank >= i)
                value += other;
        }
        return value;
    }
};

/* Threads of a block that counts a long unit. */
#define LONG_TEAM 1024

struct team_memory {
    uint32_t values[LONG_TEAM], sums[LONG_TEAM / WARP], first, value;
    uint8_t phases[LONG_TEAM][PHASES];
};

struct team_group {
    static constexpr uint32_t size = LONG_TEAM;
    static constexpr bool is_large = true;
    uint32_t rank;
    team_memory &m;

    __device__ void sync() const
    {
        __syncthreads();
    }

    __device__ uint32_t before(uint32_t value) const
    {
        m.values[rank] = value;
        __syncthreads();
        value = rank > 0 ? m.values[rank - 1] : 0;
        __syncthreads();
        return value;
    }

    __device__ uint32_t first(bool is_so) const
    {
        uint32_t found;

        if (rank == 0)
            m.first = size;
        __syncthreads();
        if (is_so)
            atomicMin(&m.first, rank);
        __syncthreads();
        found = m.first;
        __syncthreads();
        return found;
    }

    __device__ uint32_t from(uint32_t value, uint32_t other) const
    {
        if (rank == other)
            m.value = value;
        __syncthreads();
        value = m.value;
        __syncthreads();
        return value;
    }

    __device__ uint32_t sum(uint32_t value) const
    {
        const warp_group warp = {rank % WARP};

        value = warp.sum(value);
        if (rank % WARP == WARP - 1)
            m.sums[rank / WARP] = value;
        __syncthreads();
        for (uint32_t i = 0; i < rank / WARP; i++)
            value += m.sums[i];
        __syncthreads();
        return value;
    }
};

/* Returns the bit where this thread's first code starts, given that the first thread's starts at
 * `place`; 0 if the block, or valid data, ends before this thread's span.  All threads must call
 * it. */
template <typename Group>
static __device__ uint32_t find_true_start(const gpu_compressed &in, const tables &t,
                                           uint32_t place, uint32_t cut, uint32_t bound,
                                           const Group &g)
{
    find_phases(t, in.words, cut, bound, g.m.phases[g.rank]);
    g.sync();
    if (g.rank == 0) {
        uint32_t phase = place - cut;

        /* Follow the phases through all spans.  phases[i][0] becomes the phase of thread i. */
        for (uint32_t i = 0; i < Group::size; i++) {
            const uint32_t next = phase < PHASES ? g.m.phases[i][phase] : WAY_IS_NONE;

            g.m.phases[i][0] = (uint8_t)phase;
            phase = next;
        }
    }
    g.sync();
    return g.m.phases[g.rank][0] < PHASES ? cut + g.m.phases[g.rank][0] : 0;
}

/* Counts a block whose tables are made, and writes its map, which must end before map_end.  reach
 * becomes the bit up to which the map may have been written.  False: the block is not valid, or too
 * long: it goes on behind bit `limit`, or its output or map have no room. */
template <typename Group>
static __device__ bool count_codes(const gpu_compressed &in, const tables &t, gpu_block &b,
                                   uint32_t *map, const uint32_t *map_end, const Group &g,
                                   uint32_t limit, uint32_t &reach)
{
    uint32_t place = b.data, total = 0, rounds_max = SYNC_ROUNDS;

    for (uint32_t at = b.data;; at += Group::size * SPAN) {
        const uint32_t cut = at + g.rank * SPAN, bound = min(cut + SPAN, in.bits);
        uint32_t middle, middle_output = 0, ended, rounds = 0;
        span s;

        if (at >= limit)
            return false;
        s = decode_span(t, in, g.rank == 0 ? place : min(cut, in.bits), bound, cut + GPU_STEP,
                        middle, middle_output);
        for (;;) {
            const uint32_t before = g.before(s.end), before_state = g.before(s.state);
            const bool is_wrong = g.rank > 0 && before_state == LITERAL && before != s.start;

            ended = g.first(s.state != LITERAL);
            /* Wrong starts behind the thread in which the block ends do not matter. */
            if (g.first(is_wrong) > min(ended, Group::size - 1))
                break;
            if constexpr (Group::is_large) {
                if (++rounds == rounds_max) {
                    rounds_max = SYNC_ROUNDS_AGAIN;
                    const uint32_t start = find_true_start(in, t, place, cut, bound, g);

                    if (start != 0 && start != s.start)
                        s = decode_span(t, in, start, bound, cut + GPU_STEP, middle, middle_output);
                    continue;
                }
            }
            if (is_wrong) {
                s = decode_span(t, in, before, bound, cut + GPU_STEP, middle, middle_output);
            }
        }
        const uint32_t last = min(ended, Group::size - 1);
        const uint32_t output = g.rank <= last ? s.output : 0, sum = g.sum(output);
        const uint32_t state = g.from(s.state, last), end = g.from(s.end, last);
        const uint32_t before = total + sum - output;

        total += g.from(sum, Group::size - 1);
        if (total > GPU_BLOCK_MAX || state == WRONG || end > in.bits ||
            map + (at - b.data) / GPU_STEP + 2 * Group::size >= map_end)
            return false;
        reach = at + Group::size * SPAN;
        if (g.rank <= last) {
            uint32_t *const entry = map + (at - b.data) / GPU_STEP + 2 * g.rank;

            entry[0] = before << GPU_MAP_BITS | (s.start - cut);
            if (middle != UINT32_MAX)
                entry[1] = (before + middle_output) << GPU_MAP_BITS | (middle - cut - GPU_STEP);
        }
        if (state == END) {
            const uint32_t both = g.from(middle != UINT32_MAX, last);

            b.end = end;
            b.length = total;
            b.steps = (at - b.data) / GPU_STEP + 2 * last + 1 + both;
            if (g.rank == 0)
                map[b.steps] = total << GPU_MAP_BITS | GPU_MAP_END;
            return true;
        }
        place = end;
    }
}

/* Reads the trailer of one of many inputs, whose last block has ended. */
static __device__ void end_input(const gpu_compressed &in, gpu_unit &u)
{
    const uint32_t byte = (u.end + 7) / 8, bytes = in.bits / 8;
    const uint32_t trailer = in.wrapping == GPU_MANY_GZIP   ? 8
                             : in.wrapping == GPU_MANY_ZLIB ? ZLIB_TRAILER_SIZE
                                                            : 0;

    u.how = GPU_UNIT_BAD;
    if (bytes < trailer || byte > bytes - trailer)
        return;
    u.crc = (uint32_t)gpu_bits_at(in.words, 8 * byte);
    u.size = (uint32_t)gpu_bits_at(in.words, 8 * byte + 32);
    if (in.wrapping == GPU_MANY_ZLIB)
        u.crc = __byte_perm(u.crc, 0, 0x0123);
    u.end = 8 * (byte + trailer);
    u.how = GPU_UNIT_LAST;
}

/* Reads the trailer of a member whose last block has ended, and the next member's header. */
static __device__ void end_member(const gpu_compressed &in, gpu_unit &u)
{
    const uint32_t byte = (u.end + 7) / 8, bytes = in.bits / 8;

    u.how = GPU_UNIT_BAD;
    if (bytes < 8 || byte > bytes - 8)
        return;
    u.crc = (uint32_t)gpu_bits_at(in.words, 8 * byte);
    u.size = (uint32_t)gpu_bits_at(in.words, 8 * byte + 32);
    if (byte + 8 == bytes) {
        u.end = in.bits;
        u.how = in.is_last ? GPU_UNIT_LAST : GPU_UNIT_BAD;
        return;
    }
    u.end = 8 * gpu_header_end(in, byte + 8);
    u.how = u.end != 0 ? GPU_UNIT_MEMBER : GPU_UNIT_BAD;
}

/* Whether a candidate starts at that bit; starts[0..count) are in ascending order. */
static __device__ bool is_candidate(const uint32_t *starts, uint32_t count, uint32_t bit)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        const uint32_t middle = (low + high) / 2;

        if (starts[middle] < bit)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && starts[low] == bit;
}

/* The header of a stored block that is not final has three bits, all 0, and up to seven unused bits
 * follow it.  If these are 0, too, the header can be read at several places; find.cu's candidate is
 * the last of these places.  Returns that place if all bits from `bit` to the end of a header there
 * are 0; else `bit`. */
static __device__ uint32_t last_start(const gpu_compressed &in, uint32_t bit)
{
    const uint32_t canonical = (bit + 3 + 7) / 8 * 8 - 3;
    const uint64_t bits = gpu_bits_at(in.words, bit);

    if (canonical + 3 > in.bits)
        return bit;
    return (bits & (((uint64_t)1 << (canonical + 3 - bit)) - 1)) == 0 ? canonical : bit;
}

/* Counts a stored block; false if it is not valid. */
static __device__ bool count_stored(const gpu_compressed &in, gpu_block &b)
{
    const uint32_t byte = (b.start + 3 + 7) / 8;
    const uint32_t header = (uint32_t)gpu_bits_at(in.words, 8 * byte);

    b.data = 8 * byte + 32;
    b.length = header & 0xffff;
    b.end = b.data + 8 * b.length;
    return b.length == (~header >> 16) && b.data <= in.bits && b.end <= in.bits;
}

/* If a block of codes goes on over this many further candidates, it is left to the CPU.  With a
 * higher limit, hostile data keeps the device busy for longer: each candidate is counted up to the
 * end of its block.  With a lower one, more good data is left to the CPU: long blocks contain some
 * false candidates. */
#define PASSED_MAX 64u

/* Counts the unit that starts at candidate number `rank`. */
template <typename Group>
static __device__ void count_unit(const gpu_compressed &in, const gpu_count_work &w, uint32_t rank,
                                  tables &t, const Group &g)
{
    const auto sync = [&] { g.sync(); };
    uint32_t bit = w.starts[rank], *map = w.map + gpu_map_place(in, bit, rank);
    const uint32_t *const map_end = w.map + (size_t)(rank % GPU_MAPS + 1) * in.map_room;
    const uint32_t limit = rank + PASSED_MAX < w.count ? w.starts[rank + PASSED_MAX] : in.bits;
    gpu_unit u = {bit, bit, GPU_UNIT_BAD, 0, 0, 0, 0, 0, {}};

    for (;;) {
        const uint64_t header = gpu_bits_at(in.words, bit);
        const uint32_t type = (uint32_t)(header >> 1 & 3);
        gpu_block b = {bit, 0, 0, 0, 0, 0};

        if (bit + 10 > in.bits || type > DEFLATE_DYNAMIC || u.count == GPU_UNIT_BLOCKS)
            break;
        if (type == DEFLATE_STORED) {
            if (!count_stored(in, b))
                break;
        } else {
            make_tables(in, bit, t, g.rank, Group::size, sync);
            b.data = t.data;
            if (!t.is_good || !count_codes(in, t, b, map, map_end, g, limit, u.reach))
                break;
            map += b.steps + 1;
        }
        u.blocks[u.count++] = b;
        u.length += b.length;
        u.end = bit = b.end;
        if (u.length > GPU_BLOCK_MAX)
            break;
        if (header & 1) {
            if (in.wrapping == GPU_MEMBERS)
                end_member(in, u);
            else
                end_input(in, u);
            break;
        }
        bit = last_start(in, bit);
        if (bit >= in.find_end || is_candidate(w.starts, w.count, bit)) {
            u.end = bit;
            u.how = GPU_UNIT_BLOCK;
            break;
        }
    }
    if (g.rank == 0)
        w.units[rank] = u;
    g.sync();
}

/* Whether a unit counts as long: the next candidate is more than long_bits away. */
static __device__ bool is_long(const gpu_compressed &in, const gpu_count_work &w, uint32_t rank)
{
    const uint32_t next = rank + 1 < w.count ? w.starts[rank + 1] : in.find_end;

    return next - w.starts[rank] > in.long_bits;
}

/* Counts the long units, or with long_ones false the others, one after the other.  All groups of
 * threads share *next, the number of units taken so far. */
template <typename Group>
static __device__ void count_next_units(const gpu_compressed &in, const gpu_count_work &w,
                                        bool long_ones, uint32_t *next, tables &t, const Group &g)
{
    for (;;) {
        uint32_t i = 0;

        if (g.rank == 0)
            i = atomicAdd(next, 1u);
        i = g.from(i, 0);
        if (i >= w.which_count)
            return;
        if (w.which != NULL)
            i = w.which[i];
        if (is_long(in, w, i) == long_ones)
            count_unit(in, w, i, t, g);
    }
}

static __global__ void __launch_bounds__(WARPS *WARP)
    count_units(gpu_compressed in, gpu_count_work w)
{
    extern __shared__ uint4 shared[];
    const warp_group g = {threadIdx.x % WARP};

    count_next_units(in, w, false, &w.next[0], ((tables *)shared)[threadIdx.x / WARP], g);
}

struct long_memory {
    tables t;
    team_memory m;
};

static __global__ void __launch_bounds__(LONG_TEAM)
    count_long_units(gpu_compressed in, gpu_count_work w)
{
    extern __shared__ uint4 shared[];
    long_memory &memory = *(long_memory *)shared;
    const team_group g = {threadIdx.x, memory.m};

    count_next_units(in, w, true, &w.next[1], memory.t, g);
}

/* --- An outline of the map -------------------------------------------------------------------- */

static __global__ void copy_outline(const uint32_t *map, const gpu_outlined *blocks,
                                    uint32_t *outline)
{
    const gpu_outlined b = blocks[blockIdx.x];

    for (uint32_t i = threadIdx.x; i * GPU_OUTLINE_STEPS < b.steps; i += blockDim.x)
        outline[b.to + i] = map[b.map + i * GPU_OUTLINE_STEPS] >> GPU_MAP_BITS;
}

/* --- The host's part -------------------------------------------------------------------------- */

cudaError_t gpu_count_units(const gpu_compressed &in, const gpu_count_work &w, uint32_t blocks,
                            cudaStream_t stream)
{
    const size_t size = WARPS * sizeof(tables);
    cudaError_t error = gpu_allow_shared(count_units, size);

    if (error == cudaSuccess)
        error = gpu_allow_shared(count_long_units, sizeof(long_memory));
    if (error != cudaSuccess || w.which_count == 0)
        return error;
    const uint32_t long_blocks = min(blocks, w.which_count);

    (void)cudaEventRecord(w.fork, stream);
    (void)cudaStreamWaitEvent(w.side, w.fork, 0);
    count_long_units<<<long_blocks, LONG_TEAM, sizeof(long_memory), stream>>>(in, w);
    blocks = min(blocks, (w.which_count + WARPS - 1) / WARPS);
    count_units<<<blocks, WARPS * WARP, size, w.side>>>(in, w);
    (void)cudaEventRecord(w.join, w.side);
    (void)cudaStreamWaitEvent(stream, w.join, 0);
    return cudaGetLastError();
}

cudaError_t gpu_copy_outline(const uint32_t *map, const gpu_outlined *blocks, uint32_t count,
                             uint32_t *outline, cudaStream_t stream)
{
    copy_outline<<<count, 4 * WARP, 0, stream>>>(map, blocks, outline);
    return cudaGetLastError();
}
