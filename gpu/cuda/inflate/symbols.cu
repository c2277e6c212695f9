/*
 * symbols.cu - decodes pieces of DEFLATE to symbols, on the GPU (twin of inflate/symbols.c)
 *
 * A team of threads decodes a piece.  The map says where each thread's step starts, and where its
 * output goes, so that no thread waits for another.  The team decodes into a window in shared
 * memory, which has room for ROOM symbols.  When a thread decodes a match, other threads may not
 * yet have decoded the symbols that the match copies.  So the thread copies no symbols.  Instead,
 * each symbol of the match becomes a name of the earlier symbol that it copies.  When the window is
 * full, all names are followed at the same time.
 */
#include "gpu/cuda/inflate/codes.cuh"
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/inflate/pieces.cuh"
#include "gpu/cuda/inflate/bits.cuh"

/* Threads of a team, each with a step at a time. */
#define TEAM 256

/* Symbols of a team's window.  The window must hold the output of one step.  A step has at most 64
 * matches, since each match takes two bits or more, and a match has up to 258 bytes. */
#define ROOM 16640u
static_assert(ROOM >= GPU_STEP / 2 * DEFLATE_MAX_MATCH, "a step fits");

/* A symbol in the range [NAME, GPU_UNKNOWN) names symbol number (symbol - NAME) of the window. */
#define NAME 256u

static_assert(NAME + ROOM <= GPU_UNKNOWN, "names are not unknown bytes");

/* --- Decoding --------------------------------------------------------------------------------- */

/* A match that a whole warp puts into the window, after the steps are decoded.  Consecutive matches
 * of one distance are a run.  Their names are of places before the run, so that chains of names do
 * not get long. */
struct long_match {
    uint16_t at, run; /* where it starts, and where its run starts */
    uint16_t length;
    uint16_t distance; /* less 1 */
};
static_assert(ROOM <= UINT16_MAX, "places in the window have 16 bits");

/* LONG_MATCH: matches of this length or more go to the list.  LONG_MATCHES: entries of the list;
 * when it is full, long matches are treated like short ones.  With a lower LONG_MATCH, lanes wait
 * less for each other, but short matches take longer from the list. */
#define LONG_MATCH 48u
#define LONG_MATCHES 512u

/* The most names that a thread follows in a chain in one round.  With more, chains take fewer
 * rounds; with fewer, threads wait less for the one with the longest chain. */
#define HOPS 16

struct team {
    tables t;
    long_match list[LONG_MATCHES];
    uint32_t listed;
    uint32_t unfinished[3];     /* flags of follow_names */
    uint32_t entries[TEAM + 1]; /* map entries, from the window's first step on */
    uint32_t piece;
    uint16_t window[ROOM];
};

/* Returns the symbol that a match copies from place `source`, which is counted from the window's
 * start:
 *
 * - from the window: a name of the place;
 * - from the part of the piece before the window: the symbol in out[], which has the `made` symbols
 *   of that part;
 * - from before the piece: the name of an unknown byte. */
static __device__ __forceinline__ uint16_t name_of(int32_t source, const uint16_t *out,
                                                   uint32_t made)
{
    const int32_t place = (int32_t)made + source;

    if (source >= 0)
        return (uint16_t)(NAME + (uint32_t)source);
    return place >= 0 ? out[place] : (uint16_t)(GPU_UNKNOWN + GPU_WINDOW + (uint32_t)place);
}

/* Decodes the codes that start in bits [start, bound), and puts their output into the window, from
 * window[at] on.  Puts long matches into the list instead. */
static __device__ void decode_step(team &m, const uint32_t *words, uint32_t start, uint32_t bound,
                                   uint32_t at, const uint16_t *out, uint32_t made)
{
    uint32_t run = 0, run_end = ROOM + 1, run_distance = 0;
    gpu_reader r;

    gpu_seek(r, words, start);
    while (gpu_bit_of(r, words) < bound) {
        gpu_refill(r);
        const uint32_t e = look_up<true>(m.t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(e));
        if (ENTRY_KIND(e) == LITERAL) {
            if (at < ROOM)
                m.window[at++] = (uint16_t)ENTRY_VALUE(e);
            continue;
        }
        if (ENTRY_KIND(e) != COPY)
            return;
        const uint32_t length = ENTRY_VALUE(e) + gpu_take(r, ENTRY_EXTRA(e));

        gpu_refill(r);
        const uint32_t d = look_up<false>(m.t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(d));
        const uint32_t distance = ENTRY_VALUE(d) + gpu_take(r, ENTRY_EXTRA(d));
        const int32_t from = (int32_t)at - (int32_t)distance;

        if (at > ROOM - length)
            return; /* the map is wrong, since it has another candidate's entries */
        if (length >= LONG_MATCH) {
            const uint32_t i = atomicAdd(&m.listed, 1u);

            if (i < LONG_MATCHES) {
                if (at != run_end || distance != run_distance) {
                    run = at;
                    run_distance = distance;
                }
                m.list[i] = {(uint16_t)at, (uint16_t)run, (uint16_t)length,
                             (uint16_t)(distance - 1)};
                at += length;
                run_end = at;
                continue;
            }
        }
        /* Even if the match overlaps itself, each name is that of a place before the match. */
        for (uint32_t i = 0, k = 0; i < length; i++) {
            m.window[at++] = name_of(from + (int32_t)k, out, made);
            if (++k == distance)
                k = 0;
        }
    }
}

/* Puts the long matches into the window. */
static __device__ void put_long_matches(team &m, const uint16_t *out, uint32_t made)
{
    const uint32_t count = min(m.listed, LONG_MATCHES);

    for (uint32_t i = threadIdx.x / WARP; i < count; i += TEAM / WARP) {
        const long_match match = m.list[i];
        const uint32_t distance = match.distance + 1u;
        const uint32_t before = match.at - match.run;
        const int32_t from = match.run - (int32_t)distance;

        for (uint32_t k = threadIdx.x % WARP; k < match.length; k += WARP)
            m.window[match.at + k] = name_of(from + (int32_t)((before + k) % distance), out, made);
    }
}

static __device__ __forceinline__ bool is_name(uint32_t symbol)
{
    return symbol >= NAME && symbol < GPU_UNKNOWN;
}

/*
 * Puts the window's symbols into out[0..count), with each name replaced by the symbol at the end of
 * its chain of names.
 *
 * In each round, a thread follows the chain of each of its symbols over at most HOPS names.  If all
 * chains end, this is the last round; for ordinary data, the first round is the last.  Otherwise
 * all threads replace the names in the window by the names that they have reached.  So in the next
 * round each name leads further, and even the longest chains take few rounds.  Chains are longest
 * if the data is a table whose entries repeat the entries before them.
 *
 * Threads write to the window between two barriers, and only read it otherwise.
 */
static __device__ void follow_names(team &m, uint16_t *out, uint32_t count)
{
    for (uint32_t round = 0;; round++) {
        bool is_unfinished = false;

        for (uint32_t i = threadIdx.x; i < count; i += TEAM) {
            uint32_t symbol = m.window[i], at = i, hops = 0;

            if (round > 0 && !is_name(symbol))
                continue;
            /* A name leads back, unless the map is wrong. */
            for (; hops < HOPS && is_name(symbol) && symbol - NAME < at; hops++) {
                at = symbol - NAME;
                symbol = m.window[at];
            }
            if (is_name(symbol) && hops == HOPS)
                is_unfinished = true;
            else if (is_name(symbol))
                symbol = 0;
            out[i] = (uint16_t)symbol;
        }
        /* There are three flags, which rounds use in turn.  Threads set the flag of this round,
         * while thread 0 clears the flag of the next round. */
        if (threadIdx.x == 0)
            m.unfinished[(round + 1) % 3] = 0;
        if (is_unfinished)
            m.unfinished[round % 3] = 1;
        __syncthreads();
        if (!m.unfinished[round % 3])
            return;
        for (uint32_t i = threadIdx.x; i < count; i += TEAM)
            m.window[i] = out[i];
        __syncthreads();
    }
}

/* Decodes a piece of codes to out[0..size).  The caller has made the tables.  Returns false if the
 * map is wrong, that is, has another candidate's entries. */
static __device__ bool decode_codes(const gpu_compressed &in, team &m, const gpu_piece &p,
                                    const uint32_t *map, uint16_t *out, uint32_t size)
{
    uint32_t made = 0;

    for (uint32_t step = 0; step < p.steps;) {
        const uint32_t left = p.steps - step, some = left < TEAM ? left : TEAM;
        uint32_t low = 1, high = some;

        for (uint32_t i = threadIdx.x; i <= some; i += TEAM)
            m.entries[i] = map[p.map + step + i];
        if (threadIdx.x == 0)
            m.listed = m.unfinished[0] = 0;
        __syncthreads();
        const uint32_t before = m.entries[0] >> GPU_MAP_BITS;

        /* Find how many steps, at least one, have an output that fits in the window. */
        while (low < high) {
            const uint32_t middle = (low + high + 1) / 2;

            if ((m.entries[middle] >> GPU_MAP_BITS) - before <= ROOM)
                low = middle;
            else
                high = middle - 1;
        }
        if (threadIdx.x < low) {
            const uint32_t entry = m.entries[threadIdx.x];
            const uint32_t cut = p.data + (p.first + step + threadIdx.x) * GPU_STEP;

            decode_step(m, in.words, cut + (entry & GPU_MAP_END), cut + GPU_STEP,
                        (entry >> GPU_MAP_BITS) - before, out, made);
        }
        const uint32_t length = (m.entries[low] >> GPU_MAP_BITS) - before;

        __syncthreads();
        if (length > ROOM || length > size - made)
            return false;
        if (m.listed > 0)
            put_long_matches(m, out, made);
        __syncthreads();
        follow_names(m, out + made, length);
        __syncthreads();
        made += length;
        step += low;
    }
    return made == size;
}

static __global__ void __launch_bounds__(TEAM)
    decode_pieces(gpu_compressed in, gpu_group g, const uint32_t *map)
{
    extern __shared__ uint4 shared[];
    team &m = *(team *)shared;
    const auto sync = [] { __syncthreads(); };

    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            m.piece = atomicAdd(g.next, 1u);
        __syncthreads();
        const uint32_t i = m.piece;

        if (i >= g.count)
            return;
        const gpu_piece p = g.pieces[i];
        const uint32_t first = p.steps == 0 ? 0 : map[p.map] >> GPU_MAP_BITS;
        const uint32_t end = p.steps == 0 ? p.length : map[p.map + p.steps] >> GPU_MAP_BITS;
        /* Even if the map is wrong, never write outside of the block's output. */
        const bool is_good = first <= end && end <= p.length;
        const uint32_t length = is_good ? end - first : 0;
        uint16_t *const out = g.symbols + p.block_out + first;

        if (threadIdx.x == 0)
            g.ranges[i] = {is_good ? p.block_out + first : p.block_out, length, !is_good};
        if (!is_good)
            continue;
        if (p.steps == 0) {
            for (uint32_t k = threadIdx.x; k < length; k += TEAM)
                out[k] = gpu_byte_at(in.words, p.data / 8 + k);
            continue;
        }
        make_tables(in, p.header, m.t, threadIdx.x, TEAM, sync);
        if (!decode_codes(in, m, p, map, out, length) && threadIdx.x == 0)
            g.ranges[i].is_bad = 1;
    }
}

/* --- The host's part -------------------------------------------------------------------------- */

cudaError_t gpu_decode(const gpu_compressed &in, const gpu_group &g, const uint32_t *map,
                       uint32_t blocks, cudaStream_t stream)
{
    cudaError_t error = gpu_allow_shared(decode_pieces, sizeof(team));

    if (error != cudaSuccess)
        return error;
    decode_pieces<<<min(blocks, g.count), TEAM, sizeof(team), stream>>>(in, g, map);
    return cudaGetLastError();
}

cudaError_t gpu_load_decode(void)
{
    const void *const kernels[] = {(const void *)decode_pieces};

    return gpu_load(kernels);
}
