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
 * Codes of nearly one length synchronise badly: then each round makes only one more start true.
 * After some rounds, a team therefore finds all starts in another way (phases.cuh).
 *
 * A warp counts a short unit, and a team a long one: a block of threads.  Some units only seem to
 * be short, because a false candidate lies in them.  A warp leaves these to a team, and also those
 * whose codes do not synchronise.  They are counted last.
 */
#include "base/zlib_header.h"
#include "gpu/cuda/inflate/bits.cuh"
#include "gpu/cuda/inflate/codes.cuh"
#include "gpu/cuda/inflate/phases.cuh"
#include "gpu/cuda/inflate/pieces.cuh"
#include "gpu/cuda/inflate/teams.cuh"

/* Warps of a block of threads.  Each counts a unit of its own, with tables of its own. */
#define WARPS 4

/* Threads of a team, and of a wide one, which is for the longest units.  With more threads, few
 * long units take less time; with fewer, shorter units leave fewer threads without work. */
#define TEAM 512u
#define WIDE_TEAM 1024u

/* The units that a kernel counts: those that are short or long, or those that warps have left.  The
 * first counters of gpu_count_work are the units taken so far, by this number. */
enum units { SHORT_UNITS, LONG_UNITS, LATE_UNITS };

/* The counter of the units that warps have left. */
#define LATE_COUNT 3

/* --- Counting --------------------------------------------------------------------------------- */

/* A thread's result for its span. */
struct span {
    uint32_t start;  /* bit where its first code starts */
    uint32_t end;    /* bit behind the last code that starts in the span */
    uint32_t output; /* bytes */
    uint32_t state;  /* LITERAL: the block goes on; END: it has ended; WRONG: bad code */
    uint32_t middle; /* bit where the first code of its second step starts; NO_MIDDLE: none */
    uint32_t middle_output; /* bytes before that code */
};

#define NO_MIDDLE UINT32_MAX

/* Decodes the codes that start in bits [start, bound).  The second step of the span starts at bit
 * `half`. */
static __device__ span decode_span(const tables &t, const gpu_compressed &in, uint32_t start,
                                   uint32_t bound, uint32_t half)
{
    const uint32_t *const words = in.words;
    span s = {start, start, 0, LITERAL, NO_MIDDLE, 0};
    gpu_reader r;

    gpu_seek(r, words, start);
    while (s.end < bound) {
        if (s.end >= half && s.middle == NO_MIDDLE) {
            s.middle = s.end;
            s.middle_output = s.output;
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

/* If starts are still wrong after this many rounds of decoding, a team finds them by phases, in
 * this part of the block and in all parts behind it.  find_phase takes about as long as four
 * rounds.  With text, nearly all parts need fewer than eight. */
#define TEAM_ROUNDS 8

/* After this many rounds, a warp leaves the unit to a team.  Nearly no part of text needs so many;
 * a unit that is left is counted later than all others. */
#define WARP_ROUNDS 16

/* What decode_spans returns if a warp leaves the unit. */
#define GIVEN_UP UINT32_MAX

/* Decodes this thread's part of the group's spans, which start at bit `at`.  The group's first code
 * starts at bit `place`.  Returns the number of the thread in whose span the block ends, or data is
 * not valid; Group::size if there is none.  The spans behind that one are undefined.  A warp may
 * return GIVEN_UP.
 *
 * uses_phases: whether a team uses phases at once.  It becomes true when the team uses them. */
template <typename Group>
static __device__ uint32_t decode_spans(const gpu_compressed &in, const tables &t, uint32_t at,
                                        uint32_t place, bool &uses_phases, const Group &g, span &s)
{
    const uint32_t cut = at + g.rank * SPAN, bound = min(cut + SPAN, in.bits);
    uint32_t start = g.rank == 0 ? place : min(cut, in.bits);

    if constexpr (Group::is_team) {
        if (uses_phases)
            start = g.find_start(in, t, place, cut, start);
    }
    s = decode_span(t, in, start, bound, cut + GPU_STEP);
    for (uint32_t round = 1;; round++) {
        const uint32_t before = g.before(s.end), before_state = g.before(s.state);
        const bool is_wrong = g.rank > 0 && before_state == LITERAL && before != s.start;
        const uint32_t ended = g.first(s.state != LITERAL);

        /* Wrong starts behind the thread in which the block ends do not matter. */
        if (g.first(is_wrong) > min(ended, Group::size - 1))
            return ended;
        start = is_wrong ? before : s.start;
        if constexpr (Group::is_team) {
            if (round >= TEAM_ROUNDS && !uses_phases) {
                g.make_sizes(t);
                start = g.find_start(in, t, place, cut, start);
                uses_phases = true;
            }
        } else if (round == WARP_ROUNDS) {
            return GIVEN_UP;
        }
        if (start != s.start)
            s = decode_span(t, in, start, bound, cut + GPU_STEP);
    }
}

enum counted {
    COUNTED,
    REFUSED, /* the block is not valid, or too long: its output or map have no room */
    LATE     /* a warp leaves it to a team */
};

/* Counts a block of unit u whose tables are made, and writes its map, which must end before
 * map_end.  u.reach becomes the bit up to which the map may have been written.  The block must not
 * go on behind bit `limit`. */
template <typename Group>
static __device__ counted count_codes(const gpu_compressed &in, const tables &t, gpu_unit &u,
                                      gpu_block &b, uint32_t *map, const uint32_t *map_end,
                                      const Group &g, uint32_t limit)
{
    uint32_t place = b.data, total = 0;
    bool uses_phases = false;

    for (uint32_t at = b.data;; at += Group::size * SPAN) {
        const uint32_t cut = at + g.rank * SPAN;
        span s;

        if (at >= limit)
            return REFUSED;
        if (!Group::is_team && at - u.start > in.long_bits)
            return LATE;
        const uint32_t ended = decode_spans(in, t, at, place, uses_phases, g, s);

        if (!Group::is_team && ended == GIVEN_UP)
            return LATE;
        const uint32_t last = min(ended, Group::size - 1);
        const uint32_t output = g.rank <= last ? s.output : 0, sum = g.sum(output);
        const uint32_t state = g.from(s.state, last), end = g.from(s.end, last);
        const uint32_t before = total + sum - output;

        total += g.from(sum, Group::size - 1);
        if (total > GPU_BLOCK_MAX || state == WRONG || end > in.bits ||
            map + (at - b.data) / GPU_STEP + 2 * Group::size >= map_end)
            return REFUSED;
        u.reach = max(u.reach, at + Group::size * SPAN);
        if (g.rank <= last) {
            uint32_t *const entry = map + (at - b.data) / GPU_STEP + 2 * g.rank;

            entry[0] = before << GPU_MAP_BITS | (s.start - cut);
            if (s.middle != NO_MIDDLE)
                entry[1] = (before + s.middle_output) << GPU_MAP_BITS | (s.middle - cut - GPU_STEP);
        }
        if (state == END) {
            const uint32_t both = g.from(s.middle != NO_MIDDLE, last);

            b.end = end;
            b.length = total;
            b.steps = (at - b.data) / GPU_STEP + 2 * last + 1 + both;
            if (g.rank == 0)
                map[b.steps] = total << GPU_MAP_BITS | GPU_MAP_END;
            return COUNTED;
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

/* Counts the unit that starts at candidate number `rank`.  Entries of its map up to bit `reach` may
 * have been written before; 0: none. */
template <typename Group>
static __device__ void count_unit(const gpu_compressed &in, const gpu_count_work &w, uint32_t rank,
                                  uint32_t reach, tables &t, const Group &g)
{
    const auto sync = [&] { g.sync(); };
    uint32_t bit = w.starts[rank], *map = w.map + gpu_map_place(in, bit, rank);
    const uint32_t *const map_end = w.map + (size_t)(rank % GPU_MAPS + 1) * in.map_room;
    const uint32_t limit = rank + PASSED_MAX < w.count ? w.starts[rank + PASSED_MAX] : in.bits;
    gpu_unit u = {bit, bit, GPU_UNIT_BAD, 0, 0, 0, 0, reach, {}};

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
            if (!t.is_good)
                break;
            const counted result = count_codes(in, t, u, b, map, map_end, g, limit);

            if (result == LATE && g.rank == 0)
                w.late[atomicAdd(&w.next[LATE_COUNT], 1u)] = rank;
            if (result != COUNTED)
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

/* Counts such units, one after the other.  All groups of threads share a counter of the units taken
 * so far. */
template <typename Group>
static __device__ void count_next_units(const gpu_compressed &in, const gpu_count_work &w,
                                        units kind, tables &t, const Group &g)
{
    const bool is_late = kind == LATE_UNITS;
    const uint32_t count = is_late ? w.next[LATE_COUNT] : w.which_count;
    const uint32_t *const which = is_late ? w.late : w.which;

    for (;;) {
        uint32_t i = 0;

        if (g.rank == 0)
            i = atomicAdd(&w.next[kind], 1u);
        i = g.from(i, 0);
        if (i >= count)
            return;
        if (which != NULL)
            i = which[i];
        if (is_late || is_long(in, w, i) == (kind == LONG_UNITS))
            count_unit(in, w, i, is_late ? w.units[i].reach : 0, t, g);
    }
}

static __global__ void __launch_bounds__(WARPS *WARP)
    count_units(gpu_compressed in, gpu_count_work w)
{
    extern __shared__ uint4 shared[];
    const warp_group g = {threadIdx.x % WARP};

    count_next_units(in, w, SHORT_UNITS, ((tables *)shared)[threadIdx.x / WARP], g);
}

template <uint32_t SIZE> struct long_memory {
    tables t;
    team_memory<SIZE> m;
};

/* Two blocks of TEAM threads, or one of WIDE_TEAM, fit on a multiprocessor with their registers. */
template <uint32_t SIZE>
static __global__ void __launch_bounds__(SIZE, WIDE_TEAM / SIZE)
    count_long_units(gpu_compressed in, gpu_count_work w, units kind)
{
    extern __shared__ uint4 shared[];
    long_memory<SIZE> &memory = *(long_memory<SIZE> *)shared;
    const team_group<SIZE> g = {threadIdx.x, memory.m};

    count_next_units(in, w, kind, memory.t, g);
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

/* Queues the counting of such units by teams of SIZE threads. */
template <uint32_t SIZE>
static cudaError_t count_by_teams(const gpu_compressed &in, const gpu_count_work &w, units kind,
                                  uint32_t blocks, cudaStream_t stream)
{
    const size_t size = sizeof(long_memory<SIZE>);
    const cudaError_t error = gpu_allow_shared(count_long_units<SIZE>, size);

    if (error != cudaSuccess)
        return error;
    blocks = min(blocks, w.which_count);
    count_long_units<SIZE><<<blocks, SIZE, size, stream>>>(in, w, kind);
    return cudaGetLastError();
}

/* Queues the counting of long units, by wide teams if such a unit has work for all threads, and if
 * the device has enough shared memory (from compute capability 8.0 on). */
static cudaError_t count_long(const gpu_compressed &in, const gpu_count_work &w, uint32_t blocks,
                              cudaStream_t stream)
{
    if (in.long_bits >= WIDE_TEAM * SPAN) {
        if (count_by_teams<WIDE_TEAM>(in, w, LONG_UNITS, blocks, stream) == cudaSuccess)
            return cudaSuccess;
        (void)cudaGetLastError();
    }
    return count_by_teams<TEAM>(in, w, LONG_UNITS, blocks, stream);
}

cudaError_t gpu_count_units(const gpu_compressed &in, const gpu_count_work &w, uint32_t blocks,
                            cudaStream_t stream)
{
    const size_t size = WARPS * sizeof(tables);
    const uint32_t warp_blocks = min(blocks, (w.which_count + WARPS - 1) / WARPS);
    cudaError_t error = gpu_allow_shared(count_units, size);

    if (error != cudaSuccess || w.which_count == 0)
        return error;
    (void)cudaEventRecord(w.fork, stream);
    (void)cudaStreamWaitEvent(w.side, w.fork, 0);
    error = count_long(in, w, blocks, stream);
    count_units<<<warp_blocks, WARPS * WARP, size, w.side>>>(in, w);
    (void)cudaEventRecord(w.join, w.side);
    (void)cudaStreamWaitEvent(stream, w.join, 0);
    if (error == cudaSuccess)
        error = count_by_teams<TEAM>(in, w, LATE_UNITS, blocks, stream);
    return error;
}

cudaError_t gpu_copy_outline(const uint32_t *map, const gpu_outlined *blocks, uint32_t count,
                             uint32_t *outline, cudaStream_t stream)
{
    copy_outline<<<count, 4 * WARP, 0, stream>>>(map, blocks, outline);
    return cudaGetLastError();
}

cudaError_t gpu_load_count(void)
{
    const void *const kernels[] = {
        (const void *)count_units, (const void *)count_long_units<WIDE_TEAM>,
        (const void *)count_long_units<TEAM>, (const void *)copy_outline};

    return gpu_load(kernels);
}
