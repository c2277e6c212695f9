/*
 * phases.cuh - finds where codes start if they do not synchronise (count.cu); private to gpu/
 *
 * Each thread of a team has a span of SPAN bits.  A code that starts before a span reaches at most
 * PHASES - 1 bits into it, so the span's first code starts at one of its first PHASES bits: the
 * span's phase.  A thread does not know its phase at first.  But for each phase that it could be,
 * it can find the phase of the next span: the exit.
 *
 *   1. find_exits finds the exits of a span.  It goes from the span's last bit back to its first:
 *      the exit of a bit is that of the bit behind the code that starts there.  This takes the same
 *      steps whatever the codes are, so that threads of a warp do not wait for each other.
 *   2. Each warp joins the exits of its 32 spans.  So the team knows which phase behind a warp's
 *      last span belongs to each phase of its first span.
 *   3. The team's first phase is known.  Each thread follows the joint exits from there to its own
 *      warp, and then single exits to its own span.
 */
#ifndef GZLZSS_GPU_PHASES_CUH
#define GZLZSS_GPU_PHASES_CUH

#include "gpu/cuda/inflate/codes.cuh"
#include "gpu/cuda/inflate/pieces.cuh"

/* Bits of a thread's span: two steps of the map.  With shorter spans, more of the time goes into
 * finding the start of a code. */
#define SPAN (2 * GPU_STEP)

/* A length and its distance have at most 48 bits, with their extra bits. */
#define PHASES 48u

/* --- Sizes of codes --------------------------------------------------------------------------- */

/* Most bits of a code whose size is in a table.  With more bits, threads seldom wait for another
 * one's search; with fewer, a block of threads needs less shared memory. */
#define SIZES_LITLEN_BITS 12
#define SIZES_DISTANCE_BITS 10

/* A size: the lowest six bits are the bits of a code and its extra bits, or of a length and its
 * distance.  The next two bits are a flag. */
#define SIZE_BITS 0x3f
#define SIZE_KNOWN 0   /* the next code starts behind these bits */
#define SIZE_COPY 0x40 /* of a length alone: add the size of the distance */
#define SIZE_ENDS 0x80 /* no code follows: the block ends, or the code is not valid */
#define SIZE_LONG 0xc0 /* the code is too long for the table */

/* If this bit is set once the size of a distance was added, the size is not known. */
#define SIZE_UNKNOWN 0x40

/* Sizes by the next bits of the input, as signed numbers.  An entry of litlen[] is a length's if it
 * is SIZE_COPY or more.  Entries of distance[] are less by SIZE_COPY, so that the sum's flag is
 * right. */
struct code_sizes {
    int8_t litlen[1 << SIZES_LITLEN_BITS];
    int8_t distance[1 << SIZES_DISTANCE_BITS];
};

/* Returns the size of a literal or length code that has this entry. */
static __device__ __forceinline__ uint32_t litlen_size(uint32_t e)
{
    const uint32_t bits = ENTRY_LENGTH(e) + ENTRY_EXTRA(e);

    return ENTRY_KIND(e) == LITERAL ? bits : ENTRY_KIND(e) == COPY ? SIZE_COPY + bits : SIZE_ENDS;
}

/* Returns the size of a distance code that has this entry, less SIZE_COPY. */
static __device__ __forceinline__ uint32_t distance_size(uint32_t e)
{
    const uint32_t bits = ENTRY_LENGTH(e) + ENTRY_EXTRA(e);

    return (ENTRY_KIND(e) == COPY ? SIZE_KNOWN + bits : SIZE_ENDS) - SIZE_COPY;
}

/* Makes the sizes of a block's codes.  Threads and sync() are as for make_table. */
template <typename Sync>
static __device__ void make_code_sizes(const tables &t, code_sizes &s, uint32_t thread,
                                       uint32_t threads, Sync sync)
{
    for (uint32_t i = thread; i < 1 << SIZES_LITLEN_BITS; i += threads) {
        const uint32_t e = look_up<true>(t, i);
        const bool is_long = ENTRY_LENGTH(e) > SIZES_LITLEN_BITS;

        s.litlen[i] = (int8_t)(is_long ? SIZE_LONG : litlen_size(e));
    }
    for (uint32_t i = thread; i < 1 << SIZES_DISTANCE_BITS; i += threads) {
        const uint32_t e = look_up<false>(t, i);
        const bool is_long = ENTRY_LENGTH(e) > SIZES_DISTANCE_BITS;

        s.distance[i] = (int8_t)(is_long ? SIZE_LONG - SIZE_COPY : distance_size(e));
    }
    sync();
}

/* Returns the size of what starts at the first of 64 bits, without the tables of sizes.  This is
 * no part of the loop in find_exits, because few bits need it. */
static __device__ __noinline__ uint32_t search_size(const tables &t, uint32_t low, uint32_t high)
{
    const uint64_t buffer = (uint64_t)high << 32 | low;
    const uint32_t e = look_up<true>(t, buffer), size = litlen_size(e);

    if (ENTRY_KIND(e) != COPY)
        return size;
    return size + distance_size(look_up<false>(t, buffer >> (size & SIZE_BITS)));
}

/* --- Exits ------------------------------------------------------------------------------------ */

/* Bits of a span whose exits a thread keeps, as a ring: the exit of bit i is in slot i % RING.  A
 * code leads at most PHASES bits on. */
#define RING 64u
static_assert(RING >= PHASES && SPAN % RING == 0, "the exits of the first bits are left");

/* This and higher numbers are exits to the block's end, or to a code that is not valid. */
#define EXIT_ENDS SIZE_ENDS

/* The rings of a warp.  A lane's ring has every 32nd word, so that lanes use different banks of the
 * memory. */
struct warp_exits {
    uint32_t words[RING / 4 * WARP];
};

/* Returns the place of slot `slot` in a lane's ring, in bytes from the ring's first slot on. */
static __device__ __forceinline__ uint32_t slot_place(uint32_t slot)
{
    return slot / 4 * (4 * WARP) + slot % 4;
}

/* Returns the phase of the span behind that of lane `lane`, whose phase is `phase`.  Both may be
 * EXIT_ENDS or more. */
static __device__ __forceinline__ uint32_t exit_of(const warp_exits &w, uint32_t lane,
                                                   uint32_t phase)
{
    const uint8_t *const ring = (const uint8_t *)&w.words[lane];

    return phase < PHASES ? ring[slot_place(phase)] : EXIT_ENDS;
}

/* Exits of this many bits are found at a time.  The loads of their sizes do not wait for each
 * other. */
#define EXITS 4

/* Finds the exits of bits [at, at + EXITS) of a span.  low and high are the 64 bits from bit `at`
 * on. */
static __device__ __forceinline__ void find_some_exits(const tables &t, const code_sizes &s,
                                                       uint32_t at, uint32_t low, uint32_t high,
                                                       uint32_t *ring)
{
    const uint8_t *const slots = (const uint8_t *)ring;
    uint8_t *const to = (uint8_t *)&ring[at % RING / 4 * WARP];
    int32_t size[EXITS], all = 0;

#pragma unroll
    for (uint32_t i = 0; i < EXITS; i++) {
        const uint32_t bits = __funnelshift_r(low, high, i);

        size[i] = s.litlen[bits % (1 << SIZES_LITLEN_BITS)];
        /* Only the lowest five bits of a size count for the shift. */
        if (size[i] >= SIZE_COPY)
            size[i] += s.distance[__funnelshift_r(bits, 0, (uint32_t)size[i]) %
                                  (1 << SIZES_DISTANCE_BITS)];
        all |= size[i];
    }
    if (all & SIZE_UNKNOWN) {
#pragma unroll
        for (uint32_t i = 0; i < EXITS; i++)
            if (size[i] & SIZE_UNKNOWN)
                size[i] = (int32_t)search_size(t, __funnelshift_r(low, high, i), high >> i);
    }
#pragma unroll
    for (int i = EXITS - 1; i >= 0; i--) {
        const uint32_t next = (at + (uint32_t)(i + size[i])) % RING;

        to[i] = (uint8_t)(slots[slot_place(next)] | (size[i] & EXIT_ENDS));
    }
}

/* Finds the exits of the span that starts at bit `cut`.  Those of its phases are in slots 0 to
 * PHASES - 1 afterwards. */
static __device__ void find_exits(const tables &t, const code_sizes &s, const uint32_t *words,
                                  uint32_t cut, uint32_t *ring)
{
    const uint32_t *const from = words + cut / 32;
    /* 96 bits, from a multiple of 32 bits behind `cut` on. */
    uint32_t first = __funnelshift_r(from[SPAN / 32], from[SPAN / 32 + 1], cut);
    uint32_t second = __funnelshift_r(from[SPAN / 32 + 1], from[SPAN / 32 + 2], cut), third = 0;

    /* The exit of a bit behind the span is the phase there. */
    for (uint32_t i = 0; i < PHASES / 4; i++)
        ring[i * WARP] = 0x03020100 + 0x04040404 * i;
#pragma unroll 1
    for (uint32_t at = SPAN; at > 0;) {
        if (at % 32 == 0) {
            third = second;
            second = first;
            first = __funnelshift_r(from[at / 32 - 1], from[at / 32], cut);
        }
        at -= EXITS;
        find_some_exits(t, s, at, __funnelshift_r(first, second, at),
                        __funnelshift_r(second, third, at), ring);
    }
}

/* --- Phases ----------------------------------------------------------------------------------- */

/* The exits of a team of that many warps. */
template <uint32_t COUNT> struct team_exits {
    warp_exits warps[COUNT];
    uint8_t joint[COUNT][PHASES]; /* from the phases of a warp's first span past its last span */
};

/* Returns the phase of this thread's span, which starts at bit `cut`, given that of the first
 * thread's span.  Returns EXIT_ENDS or more if the block, or valid data, ends before this span.
 * All threads of the team call it.  This thread has number `thread`.  sync() waits for all. */
template <uint32_t COUNT, typename Sync>
static __device__ uint32_t find_phase(const gpu_compressed &in, const tables &t,
                                      const code_sizes &s, uint32_t first, uint32_t cut,
                                      uint32_t thread, team_exits<COUNT> &all, Sync sync)
{
    const uint32_t warp = thread / WARP, lane = thread % WARP;
    warp_exits &own = all.warps[warp];
    uint32_t *const ring = &own.words[lane];
    uint32_t phase = first;

    if (cut < in.bits)
        find_exits(t, s, in.words, cut, ring);
    else
        for (uint32_t i = 0; i < PHASES / 4; i++)
            ring[i * WARP] = EXIT_ENDS * 0x01010101u;
    __syncwarp();
    for (uint32_t i = lane; i < PHASES; i += WARP) {
        uint32_t exit = i;

        for (uint32_t k = 0; k < WARP; k++)
            exit = exit_of(own, k, exit);
        all.joint[warp][i] = (uint8_t)exit;
    }
    sync();
    for (uint32_t i = 0; i < warp && phase < PHASES; i++)
        phase = all.joint[i][phase];
    for (uint32_t i = 0; i < lane; i++)
        phase = exit_of(own, i, phase);
    sync();
    return phase;
}

#endif
