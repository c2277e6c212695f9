/*
 * optimal.c - near-optimal parsing on the CPU (optimal.h says what it finds)
 *
 * The matches of a group are gathered once, chunk by chunk, and kept for all passes: one position's
 * list after the other's.  The memory for them grows as the lists need it, up to a limit, and as
 * long as the system has some.  If there is no room for a chunk's matches, they are not kept.  Then
 * each pass gathers them again, which takes longer but gives the same result.
 *
 * The inner loop of the shortest path finds the least sum over the lengths of a match.  With AVX2
 * it takes eight lengths at a time, and computes the shortest path 1.5 times as fast as the
 * portable version, which takes one length at a time.
 */
#include "config.h"

#include <stdlib.h>

#include "base/cpu.h"
#include "lzss/emit.h"
#include "lzss/links.h"
#include "lzss/matcher.h"
#include "lzss/optimal.h"

#ifdef HAVE_AVX2_PATH
#include <immintrin.h>
#endif

/* The number of lengths that the AVX2 version takes at a time.  Arrays from which it loads have
 * this many numbers more. */
#define LANES 8

/* The hot loops are NOINLINE, so that each has all registers.  As parts of one large function, they
 * would have 3 % more instructions (gcc 12, level 10). */

/* The costs of symbols in one block, in the form of lz_literal_step, lz_length_step and
 * lz_distance_step. */
struct optimal_costs {
    uint32_t literal[256];
    uint32_t length[LZ_MAX_MATCH + 1 + LANES];
    uint32_t distance[DEFLATE_DISTANCE_SYMBOLS + 2];
};

/* The most matches that a chunk can have. */
#define CHUNK_MATCHES ((size_t)LZ_CHUNK_SIZE * LZ_MAX_MATCHES)

struct optimal_state;

/* The step that has a version for each path (cpu.h). */
struct optimal_functions {
    /* Finds the cheapest step at each position in [begin, end) of a chunk, which is in one unit.
     * The sums of the positions after them must be known. */
    void (*find_steps)(struct optimal_state *o, const uint8_t *in, const uint32_t *starts,
                       int32_t begin, int32_t end);
};

/* Most counts are below this.  A larger table would take more cache. */
#define SMALL_COUNTS 512

struct optimal_state {
    const struct optimal_functions *functions; /* the processor's versions */

    /* lz_log2_256 of each number from 1 on, which takes many steps to compute. */
    uint16_t log2_small[SMALL_COUNTS];

    struct links chains[LZ_PREFIXES]; /* the chains by prefixes of LZ_PREFIX(i) bytes */

    /* The lists of the group's kept chunks, one position's after the other's.  After these is room
     * for the lists of one more chunk. */
    uint32_t *matches;

    /* The list of position p of the group is matches[starts[p]..starts[p + 1]). */
    uint32_t *starts;

    size_t group_size; /* bytes of a group */
    size_t room;       /* matches for which there is room, CHUNK_MATCHES or more */
    size_t most;       /* the most matches for which room may be allocated */
    size_t kept;       /* chunks at the group's start whose lists are kept */
    size_t used;       /* matches in these lists */

    uint16_t counts[LZ_UNITS_A_GROUP][LZ_SYMBOLS]; /* each unit's counts of symbols in the last
                                                    * parse */
    uint32_t blocks[LZ_UNITS_A_GROUP][LZ_SYMBOLS]; /* each block's counts of symbols */
    uint16_t block_of[LZ_UNITS_A_GROUP];           /* the block that each unit is in */
    struct optimal_costs costs;                    /* the costs in one block */
    unsigned costs_of;                             /* that block, or LZ_UNITS_A_GROUP for none */

    /* For each position of the current chunk, the cost from there to the chunk's end. */
    uint32_t to_end[LZ_CHUNK_SIZE + LZ_MAX_MATCH + LANES];

    /* For each of these positions, the length of the first step on the cheapest way to the chunk's
     * end. */
    uint16_t steps[LZ_CHUNK_SIZE];
};

/* The bytes of a group in a segment of segment_size bytes. */
static size_t group_size(size_t segment_size)
{
    const size_t size = LZ_OPTIMAL_GROUP * LZ_CHUNK_SIZE;

    return segment_size < size ? segment_size : size;
}

static size_t state_size(const struct lz_level *level, size_t segment_size)
{
    const struct optimal_state *o = NULL;

    (void)level;
    return sizeof(*o) + CHUNK_MATCHES * sizeof(*o->matches) +
           (group_size(segment_size) + 1) * sizeof(*o->starts);
}

/* The most matches that a group can have. */
static size_t group_matches(size_t segment_size)
{
    return LZ_CHUNKS(group_size(segment_size)) * CHUNK_MATCHES;
}

static size_t state_more(const struct lz_level *level, size_t segment_size)
{
    const struct optimal_state *o = NULL;

    (void)level;
    return (group_matches(segment_size) - CHUNK_MATCHES) * sizeof(*o->matches);
}

static void limit_state(void *state, size_t more)
{
    struct optimal_state *o = state;
    const size_t most = CHUNK_MATCHES + more / sizeof(*o->matches);

    o->most = most < group_matches(o->group_size) ? most : group_matches(o->group_size);
}

static void free_state(void *state)
{
    struct optimal_state *o = state;

    free(o->starts);
    free(o->matches);
    free(o);
}

/* Makes room for another chunk's matches after the first `used` matches.  False if there is not
 * enough. */
static bool has_room(struct optimal_state *o, size_t used)
{
    const size_t needed = used + CHUNK_MATCHES;
    size_t room = o->room + o->room / 2;
    uint32_t *grown;

    if (needed <= o->room)
        return true;
    if (needed > o->most)
        return false;
    room = room < needed ? needed : room > o->most ? o->most : room;
    grown = realloc(o->matches, room * sizeof(*grown));
    if (grown == NULL)
        return false;
    o->matches = grown;
    o->room = room;
    return true;
}

/* The current chunk. */
struct optimal_chunk {
    const uint8_t *in; /* the chunk's first byte */
    int32_t size;      /* bytes of the chunk */
    uint32_t *starts;  /* the entry of its first position in optimal_state.starts */
    size_t unit;       /* the index of its first unit in the group */
};

/* --- Matches --- */

/* A list that is being gathered. */
struct optimal_list {
    uint32_t *matches;
    uint32_t count;
    uint32_t best;     /* the next match must be longer than this */
    uint32_t distance; /* the distance of the last candidate looked at */
    bool ended;        /* whether the last step reached the end of its chain */
};

/*
 * Does one step of gathering: follows a chain over `depth` candidates, until a match has `enough`
 * bytes.  Works like follow in chains.c.  If a candidate agrees in the bits of `mask`, its first
 * `known` bytes need not be compared.  (Taking the next candidate is written out here and in
 * chains.c: as one function for both, it made 1.5 % more instructions at level 9, and 2.4 % more at
 * level 10, with gcc 12.)
 */
static inline __attribute__((always_inline)) void
gather(struct optimal_list *l, const uint16_t *links, const uint8_t *here, int32_t pos,
       uint32_t max, uint32_t depth, uint32_t enough, uint64_t mask, uint32_t known)
{
    const uint64_t first = load64(here);
    const ptrdiff_t farthest = pos - LZ_CHAINS_WINDOW;
    ptrdiff_t at = pos - (ptrdiff_t)l->distance, next = at - links[at];
    uint32_t best = l->best, count = l->count;
    uint32_t last = load32(here + best - 3);

    l->ended = false;
    for (; depth > 0; depth--) {
        uint32_t distance;
        const uint8_t *there;

        if (next < farthest) {
            l->ended = true;
            break;
        }
        at = next;
        next = at - links[at];
        distance = (uint32_t)(pos - at);
        there = here - distance;
        if (load32(there + best - 3) == last && ((load64(there) ^ first) & mask) == 0) {
            uint32_t n = (uint32_t)match_length(here, there, known, max);

            if (n > best) {
                best = n;
                if (count == LZ_MAX_MATCHES)
                    count--;
                l->matches[count++] = lz_pack_match(n, distance);
                if (n >= enough)
                    break;
                last = load32(here + best - 3);
            }
        }
    }
    l->best = best;
    l->distance = (uint32_t)(pos - at);
    l->count = count;
}

/* Adds the nearest match of three bytes to the list. */
static inline void gather_three(struct optimal_list *l, const uint16_t *links, const uint8_t *here,
                                int32_t pos)
{
    for (uint32_t depth = LZ_OPTIMAL_DEPTH3, distance = 0; depth > 0; depth--) {
        distance += links[pos - (int32_t)distance];
        if (distance > LZ_CHAINS_WINDOW)
            return;
        if (((load32(here - distance) ^ load32(here)) & 0xffffff) == 0) {
            l->matches[l->count++] = lz_pack_match(LZ_MIN_MATCH, distance);
            return;
        }
    }
}

/* The search for a position's list. */
struct optimal_search {
    const uint8_t *here;
    int32_t pos;        /* the position in its chunk */
    uint32_t max, nice; /* the longest match that there can be, and one that ends the search */
};

/* Does the step of gathering by prefix i, 1 or more.  `last`: it is the last step.  Returns false
 * if gathering does not go on.  Each step has its own copy of the loop, so that the processor
 * predicts its branches apart.  That makes level 10 8 % faster than one copy. */
static inline __attribute__((always_inline)) bool gather_by(struct optimal_list *l,
                                                            const struct optimal_search *s,
                                                            struct links *chains, unsigned i,
                                                            uint32_t depth, bool last)
{
    const uint32_t bytes = LZ_PREFIX(i), enough = last ? s->nice : LZ_PREFIX(i + 1);
    const uint64_t all = ~(uint64_t)0;

    if (!lz_goes_on(&l->best, &l->distance, l->ended, bytes, s->nice))
        return false;
    if (l->best < enough)
        gather(l, links_at(&chains[i]), s->here, s->pos, s->max, depth,
               enough < s->nice ? enough : s->nice, bytes < 8 ? all >> (64 - 8 * bytes) : all,
               bytes < 8 ? bytes : 8);
    return true;
}

/* Writes the list of position `pos` of the chunk in[0..size) to `matches`; returns its length. */
static inline uint32_t gather_all(struct optimal_state *o, const struct lz_level *level,
                                  const uint8_t *in, int32_t size, int32_t pos, uint32_t *matches)
{
    const uint32_t left = (uint32_t)(size - pos);
    const uint32_t max = left < LZ_MAX_MATCH ? left : LZ_MAX_MATCH;
    const struct optimal_search s = {in + pos, pos, max, level->nice < max ? level->nice : max};
    struct optimal_list l = {.matches = matches, .best = LZ_MIN_MATCH};

    if (max < LZ_MIN_MATCH)
        return 0;
    gather_three(&l, links_at(&o->chains[0]), s.here, pos);
    if (gather_by(&l, &s, o->chains, 1, level->depth, false) &&
        gather_by(&l, &s, o->chains, 2, level->depth, false) &&
        gather_by(&l, &s, o->chains, 3, level->depth, false) &&
        gather_by(&l, &s, o->chains, 4, level->long_depth, false) &&
        gather_by(&l, &s, o->chains, 5, level->long_depth, level->longest_depth == 0) &&
        level->longest_depth > 0 && gather_by(&l, &s, o->chains, 6, level->longest_depth, false))
        gather_by(&l, &s, o->chains, 7, level->longest_depth, true);
    return l.count;
}

/* Writes the lists of chunk c after the kept ones, and their starts to c->starts.  Returns the end
 * of the lists. */
static NOINLINE size_t gather_chunk(struct optimal_state *o, const struct lz_level *level,
                                    const struct optimal_chunk *c)
{
    const uint32_t *base = o->matches;
    uint32_t *matches = o->matches + o->used;
    const uint8_t *in = c->in;
    const int32_t size = c->size;
    uint32_t *starts = c->starts;
    int32_t pos = 0;

    while (pos < size) {
        uint32_t count = gather_all(o, level, in, size, pos, matches);
        uint32_t longest = count == 0 ? 0 : lz_packed_length(matches[count - 1]);

        starts[pos++] = (uint32_t)(matches - base);
        matches += count;
        if (longest >= level->nice)
            for (uint32_t i = 1; i < longest; i++)
                starts[pos++] = (uint32_t)(matches - base);
    }
    starts[size] = (uint32_t)(matches - base);
    return (size_t)(matches - base);
}

/* --- Parses --- */

/* A parse of a chunk.  All parses but the last one only count the symbols of each unit; the last
 * one writes sequences. */
struct optimal_parse {
    const uint8_t *in;              /* the chunk's first byte */
    uint16_t (*counts)[LZ_SYMBOLS]; /* the counts of the chunk's units; NULL in the last parse */
    struct lz_sequence *out;        /* the end of the sequences written; not used while counting */
    struct lz_pending pending;      /* the match that was taken last */
};

/* Counts the pending match, if there is one, and the literals before it. */
static void count_pending(struct optimal_parse *parse)
{
    const struct lz_pending *p = &parse->pending;

    for (int32_t i = p->literals; i < p->start; i++)
        parse->counts[i / LZ_UNIT_SIZE][parse->in[i]]++;
    if (p->length > 0) {
        uint16_t *counts = parse->counts[p->start / LZ_UNIT_SIZE];
        uint32_t pieces = lz_pieces(p->length);

        for (uint32_t i = 0; i < pieces; i++)
            counts[deflate_length_symbol(lz_piece_length(p->length, i))]++;
        counts[DEFLATE_LITLEN_SYMBOLS + deflate_distance_symbol(p->distance)] += (uint16_t)pieces;
    }
}

/* Adds the match at `pos` to the parse. */
static inline void take_step(struct optimal_parse *parse, int32_t pos, uint32_t length,
                             uint32_t distance)
{
    if (lz_join(&parse->pending, pos, length, distance))
        return;
    if (parse->counts == NULL) {
        parse->out = lz_emit_next(parse->out, &parse->pending, pos, length, distance);
        return;
    }
    count_pending(parse);
    lz_replace(&parse->pending, pos, length, distance);
}

/* Ends the parse with the literals up to `size`. */
static void end_parse(struct optimal_parse *parse, int32_t size)
{
    take_step(parse, size, 0, 0);
    if (parse->counts != NULL)
        count_pending(parse);
}

/* The position's longest match, packed, or 0. */
static inline uint32_t longest(const uint32_t *matches, const uint32_t *starts, int32_t pos)
{
    return starts[pos + 1] > starts[pos] ? matches[starts[pos + 1] - 1] : 0;
}

/* Makes the first parse of chunk c. */
static void first_parse(const struct optimal_state *o, const struct optimal_chunk *c,
                        struct optimal_parse *parse)
{
    const uint32_t least =
        lz_least_length(lz_count_distinct(c->in, c->size), LZ_OPTIMAL_LEAST_DEPTH);
    int32_t pos = 0;

    while (pos < c->size) {
        uint32_t packed = longest(o->matches, c->starts, pos);

        if (lz_passes_over(packed, least)) {
            pos++;
            continue;
        }
        while (pos + 1 < c->size) {
            uint32_t next = longest(o->matches, c->starts, pos + 1);

            if (!lz_prefers_packed(next, packed))
                break;
            packed = next;
            pos++;
        }
        take_step(parse, pos, lz_packed_length(packed), lz_packed_distance(packed));
        pos += (int32_t)lz_packed_length(packed);
    }
    end_parse(parse, c->size);
}

/* --- Costs --- */

/* Sets *litlen and *distance to the logarithms of a block's totals (lz_log2_litlens and
 * lz_log2_distances). */
static void log2_totals(const uint32_t counts[LZ_SYMBOLS], uint32_t *litlen, uint32_t *distance)
{
    uint32_t litlens = 0, distances = 0;

    for (unsigned i = 0; i < DEFLATE_LITLEN_SYMBOLS; i++)
        litlens += counts[i];
    for (unsigned i = DEFLATE_LITLEN_SYMBOLS; i < LZ_SYMBOLS; i++)
        distances += counts[i];
    *litlen = lz_log2_litlens(litlens);
    *distance = lz_log2_distances(distances);
}

/* The estimated size of a block with these counts, in 1/256 bits. */
static uint64_t estimate(const struct optimal_state *o, const uint32_t counts[LZ_SYMBOLS],
                         uint32_t header_cost)
{
    uint32_t litlen, distance;
    uint64_t size = 0;

    log2_totals(counts, &litlen, &distance);
    for (unsigned i = 0; i < LZ_SYMBOLS; i++) {
        const uint32_t count = counts[i], total = i < DEFLATE_LITLEN_SYMBOLS ? litlen : distance;

        if (count > 0)
            size += lz_used_symbol_size(
                count, count < SMALL_COUNTS ? o->log2_small[count] : lz_log2_256(count), total,
                header_cost);
    }
    return size;
}

/* Joins the group's units into blocks: sets o->block_of and o->blocks. */
static void split(struct optimal_state *o, unsigned units, unsigned pass)
{
    const uint32_t header_cost = lz_header_cost(pass);
    unsigned blocks = 0;
    uint64_t open_size = 0;

    for (unsigned u = 0; u < units; u++) {
        uint32_t *own = o->blocks[blocks];
        uint64_t own_size;

        for (unsigned i = 0; i < LZ_SYMBOLS; i++)
            own[i] = o->counts[u][i];
        own_size = estimate(o, own, header_cost);
        if (blocks > 0) {
            uint32_t *open = o->blocks[blocks - 1];
            uint32_t both[LZ_SYMBOLS];
            uint64_t both_size;

            for (unsigned i = 0; i < LZ_SYMBOLS; i++)
                both[i] = open[i] + own[i];
            both_size = estimate(o, both, header_cost);
            if (lz_joins_block(open_size, own_size, both_size)) {
                memcpy(open, both, sizeof(both));
                open_size = both_size;
                o->block_of[u] = (uint16_t)(blocks - 1);
                continue;
            }
        }
        o->block_of[u] = (uint16_t)blocks++;
        open_size = own_size;
    }
    o->costs_of = LZ_UNITS_A_GROUP;
}

/* Sets the costs of symbols in a block with these counts; `last`: for the last pass. */
static void make_costs(struct optimal_costs *c, const uint32_t counts[LZ_SYMBOLS], bool last)
{
    uint32_t litlen, distance;

    log2_totals(counts, &litlen, &distance);
    for (unsigned i = 0; i < 256; i++)
        c->literal[i] = lz_literal_step(counts[i], litlen, last);
    for (unsigned length = LZ_MIN_MATCH; length <= LZ_MAX_MATCH; length++)
        c->length[length] =
            lz_length_step(length, counts[deflate_length_symbol(length)], litlen, last);
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++)
        c->distance[i] = lz_distance_step(i, counts[DEFLATE_LITLEN_SYMBOLS + i], distance, last);
}

/* --- The shortest path --- */

static void find_steps_portable(struct optimal_state *o, const uint8_t *in, const uint32_t *starts,
                                int32_t begin, int32_t end)
{
    const struct optimal_costs *c = &o->costs;

    for (int32_t pos = end - 1; pos >= begin; pos--) {
        const uint32_t *to_end = o->to_end + pos;
        uint32_t best = c->literal[in[pos]] + to_end[1];
        uint32_t length = LZ_MIN_MATCH;

        for (uint32_t i = starts[pos]; i < starts[pos + 1]; i++) {
            const uint32_t match = o->matches[i];
            const uint32_t distance = c->distance[lz_packed_symbol(match)];

            for (; length <= lz_packed_length(match); length++) {
                uint32_t step = distance + c->length[length] + to_end[length];

                best = step < best ? step : best;
            }
        }
        o->steps[pos] = (uint16_t)(best & LZ_STEP_LENGTH);
        o->to_end[pos] = best & ~LZ_STEP_LENGTH;
    }
}

#ifdef HAVE_AVX2_PATH
/* The lengths that find_steps_avx2 takes from a register: LZ_MIN_MATCH to NEAR_END - 1. */
#define NEAR_END (LZ_MIN_MATCH + LANES)

/* The cost of a distance, for such lengths of which the position has no match.  It is more than the
 * literals of that length cost, so a step of that length is never the cheapest. */
#define NO_MATCH (UINT32_C(1) << 26)

_Static_assert(LZ_INPUT_PAD >= 63, "a prefix of 64 bytes from the last one on");
_Static_assert(16 * NEAR_END * DEFLATE_MAX_CODE << LZ_STEP_BITS < NO_MATCH, "literals cost less");
_Static_assert(16 * (LZ_CHUNK_SIZE * DEFLATE_MAX_CODE + 48) <
                   (1 << (32 - LZ_STEP_BITS)) - (int)(NO_MATCH >> LZ_STEP_BITS),
               "sums with NO_MATCH in 32 bits");

/*
 * Sums are stored one by one.  If they were then loaded eight at a time, each load would have to
 * wait until the last stores have reached the cache.  So the eight sums from pos + LZ_MIN_MATCH on
 * are kept in a register.
 *
 * The sums of the next two positions are not among them.  So the work on a position's matches does
 * not wait for the sums of these two positions, and the processor can work on three positions at a
 * time.  Only the choice between the literal and the best match waits for the next position.
 */
AVX2_PATH static void find_steps_avx2(struct optimal_state *o, const uint8_t *in,
                                      const uint32_t *starts, int32_t begin, int32_t end)
{
    const struct optimal_costs *c = &o->costs;
    const __m256i none = _mm256_set1_epi32(-1);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i near_lengths = _mm256_add_epi32(lanes, _mm256_set1_epi32(LZ_MIN_MATCH));
    const __m256i near_steps = _mm256_loadu_si256((const __m256i *)(c->length + LZ_MIN_MATCH));
    const __m256i shift = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    /* The sums from end + LZ_MIN_MATCH on, and the three before them. */
    __m256i near = _mm256_loadu_si256((const __m256i *)(o->to_end + end + LZ_MIN_MATCH));
    uint32_t next = o->to_end[end], second = o->to_end[end + 1], third = o->to_end[end + 2];

    for (int32_t pos = end - 1; pos >= begin; pos--) {
        const uint32_t *const matches = o->matches + starts[pos];
        const uint32_t *match = o->matches + starts[pos + 1];
        uint32_t best = c->literal[in[pos]] + next;

        near = _mm256_blend_epi32(_mm256_permutevar8x32_epi32(near, shift),
                                  _mm256_castsi128_si256(_mm_cvtsi32_si128((int)third)), 1);
        if (match > matches) {
            __m256i distances = _mm256_set1_epi32(NO_MATCH), least = none;
            __m128i half;

            do {
                const uint32_t length = lz_packed_length(*--match);
                const __m256i distance =
                    _mm256_set1_epi32((int)c->distance[lz_packed_symbol(*match)]);
                const __m256i lengths = _mm256_set1_epi32((int)length);
                uint32_t from = match == matches ? LZ_MIN_MATCH : lz_packed_length(match[-1]) + 1;

                /* Shorter matches come later, and overwrite their lengths. */
                distances = _mm256_blendv_epi8(distance, distances,
                                               _mm256_cmpgt_epi32(near_lengths, lengths));
                for (from = from < NEAR_END ? NEAR_END : from; from <= length; from += LANES) {
                    const __m256i sum = _mm256_add_epi32(
                        _mm256_loadu_si256((const __m256i *)(c->length + from)),
                        _mm256_loadu_si256((const __m256i *)(o->to_end + pos + from)));
                    const __m256i out = _mm256_cmpgt_epi32(
                        _mm256_add_epi32(lanes, _mm256_set1_epi32((int)from)), lengths);

                    least = _mm256_min_epu32(least,
                                             _mm256_or_si256(out, _mm256_add_epi32(sum, distance)));
                }
            } while (match > matches);

            least = _mm256_min_epu32(
                least, _mm256_add_epi32(_mm256_add_epi32(near, near_steps), distances));
            half = _mm_min_epu32(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
            half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0x4e));
            half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0xb1));
            if ((uint32_t)_mm_cvtsi128_si32(half) < best)
                best = (uint32_t)_mm_cvtsi128_si32(half);
        }
        o->steps[pos] = (uint16_t)(best & LZ_STEP_LENGTH);
        third = second;
        second = next;
        next = best & ~LZ_STEP_LENGTH;
        o->to_end[pos] = next;
    }
}
#endif

static const struct optimal_functions functions[CPU_PATHS] = {
    [CPU_PORTABLE] = {find_steps_portable},
#ifdef HAVE_AVX2_PATH
    [CPU_AVX2] = {find_steps_avx2},
#endif
#ifdef HAVE_AVX512_PATH
    [CPU_AVX512] = {find_steps_avx2},
#endif
};

/* Finds the chunk's shortest path: sets o->steps.  `last`: in the last pass. */
static void find_path(struct optimal_state *o, const struct optimal_chunk *c, bool last)
{
    int32_t pos = c->size;

    memset(o->to_end + pos, 0, (LZ_MAX_MATCH + LANES) * sizeof(o->to_end[0]));
    while (pos > 0) {
        const int32_t unit = (pos - 1) / LZ_UNIT_SIZE, begin = unit * LZ_UNIT_SIZE;
        const unsigned block = o->block_of[c->unit + (size_t)unit];

        if (o->costs_of != block) {
            o->costs_of = block;
            make_costs(&o->costs, o->blocks[block], last);
        }
        o->functions->find_steps(o, c->in, c->starts, begin, pos);
        pos = begin;
    }
}

/* Adds the matches on the shortest path to the parse. */
static void walk_path(const struct optimal_state *o, const struct optimal_chunk *c,
                      struct optimal_parse *parse)
{
    for (int32_t pos = 0; pos < c->size; pos += o->steps[pos]) {
        const uint32_t length = o->steps[pos];

        if (length > 1) {
            const uint32_t *match = o->matches + c->starts[pos];

            while (lz_packed_length(*match) < length)
                match++;
            take_step(parse, pos, length, lz_packed_distance(*match));
        }
    }
    end_parse(parse, c->size);
}

/* --- Groups --- */

/* The chunk that starts at in[start], of the group in[begin..end). */
static struct optimal_chunk chunk_at(const struct optimal_state *o, const uint8_t *in, size_t start,
                                     size_t begin, size_t end)
{
    return (struct optimal_chunk){
        .in = in + start,
        .size = (int32_t)(LZ_CHUNK_END(start, end) - start),
        .starts = o->starts + (start - begin),
        .unit = (start - begin) / LZ_UNIT_SIZE,
    };
}

/* Makes the chunk's links.  `first`: the tables hold no earlier chunk. */
static NOINLINE void link_chunk(struct optimal_state *o, const struct lz_level *level,
                                const struct optimal_chunk *c, bool first)
{
    struct links *l = o->chains;
    const uint32_t prefixes = lz_prefixes(level->longest_depth);

    for (uint32_t i = 0; i < prefixes; i++)
        links_start_chunk(&l[i], LZ_PREFIX(i), !first);
    links_make_two(&l[0], LZ_PREFIX(0), &l[1], LZ_PREFIX(1), c->in, c->size);
    links_make_two(&l[2], LZ_PREFIX(2), &l[3], LZ_PREFIX(3), c->in, c->size);
    links_make_two(&l[4], LZ_PREFIX(4), &l[5], LZ_PREFIX(5), c->in, c->size);
    if (prefixes > 6)
        links_make_two(&l[6], LZ_PREFIX(6), &l[7], LZ_PREFIX(7), c->in, c->size);
}

/* Gathers the matches of the group in[begin..end) of a segment, and makes its first parse. */
static void begin_group(struct optimal_state *o, const struct lz_level *level, const uint8_t *in,
                        size_t begin, size_t end)
{
    o->kept = o->used = 0;
    for (size_t start = begin, index = 0; start < end; start += LZ_CHUNK_SIZE, index++) {
        const struct optimal_chunk c = chunk_at(o, in, start, begin, end);
        struct optimal_parse parse = {.in = c.in, .counts = o->counts + c.unit};
        size_t used;

        link_chunk(o, level, &c, start == 0);
        used = gather_chunk(o, level, &c);
        first_parse(o, &c, &parse);
        /* Keep these lists if there is room after them for the lists of one more chunk. */
        if (o->kept == index && (start + LZ_CHUNK_SIZE >= end || has_room(o, used))) {
            o->kept++;
            o->used = used;
        }
    }
}

/* Gathers the matches of chunk c, which starts at in[start], again.  `is_first`: the chains do not
 * have the chunk before c as their last one. */
static void gather_again(struct optimal_state *o, const struct lz_level *level, const uint8_t *in,
                         size_t start, bool is_first, const struct optimal_chunk *c)
{
    /* Candidates may lie in the previous chunk, but not before it. */
    if (is_first && start > 0) {
        const struct optimal_chunk before = {.in = in + start - LZ_CHUNK_SIZE,
                                             .size = LZ_CHUNK_SIZE};

        link_chunk(o, level, &before, true);
    }
    link_chunk(o, level, c, start == 0);
    (void)gather_chunk(o, level, c);
}

/* Joins the units of the group's sample to one block, whose costs all units of the group get. */
static void join_sample(struct optimal_state *o, unsigned units)
{
    uint32_t *block = o->blocks[0];

    memset(block, 0, sizeof(o->blocks[0]));
    for (unsigned u = 0; u < units; u++) {
        o->block_of[u] = 0;
        if (lz_in_sample(u / LZ_UNITS_A_CHUNK))
            for (unsigned i = 0; i < LZ_SYMBOLS; i++)
                block[i] += o->counts[u][i];
    }
    o->costs_of = LZ_UNITS_A_GROUP;
}

/* Does the passes over the sample of the group in[begin..end) of a segment, and sets the costs of
 * the first pass over the group. */
static void pass_over_sample(struct optimal_state *o, const struct lz_level *level,
                             const uint8_t *in, size_t begin, size_t end, unsigned units)
{
    join_sample(o, units);
    for (unsigned pass = 1; pass <= LZ_SAMPLE_PASSES; pass++) {
        for (size_t start = begin + LZ_SAMPLE_FIRST * LZ_CHUNK_SIZE; start < end;
             start += LZ_SAMPLE_STEP * LZ_CHUNK_SIZE) {
            const struct optimal_chunk c = chunk_at(o, in, start, begin, end);
            struct optimal_parse parse = {.in = c.in, .counts = o->counts + c.unit};

            if ((start - begin) / LZ_CHUNK_SIZE >= o->kept)
                gather_again(o, level, in, start, true, &c);
            memset(parse.counts, 0, sizeof(o->counts[0]) * LZ_UNITS_A_CHUNK);
            find_path(o, &c, false);
            walk_path(o, &c, &parse);
        }
        join_sample(o, units);
    }
}

/* Whether the group in[begin..end) has a sample. */
static bool has_sample(const uint8_t *in, size_t begin, size_t end)
{
    return LZ_CHUNKS(end - begin) >= LZ_SAMPLE_STEP &&
           lz_count_distinct(in + begin + LZ_SAMPLE_FIRST * LZ_CHUNK_SIZE, LZ_CHUNK_SIZE) >=
               LZ_SAMPLE_VALUES;
}

/* Finds the sequences of the group in[begin..end) of a segment. */
static void find_in_group(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                          size_t begin, size_t end)
{
    struct optimal_state *o = m->state;
    const unsigned units = (unsigned)((end - begin + LZ_UNIT_SIZE - 1) / LZ_UNIT_SIZE);
    const bool sampled = has_sample(in, begin, end);

    memset(o->counts, 0, sizeof(o->counts[0]) * units);
    begin_group(o, level, in, begin, end);
    if (sampled)
        pass_over_sample(o, level, in, begin, end, units);
    for (unsigned pass = 1; pass <= level->passes; pass++) {
        const bool last = pass == level->passes;

        if (pass > 1 || !sampled)
            split(o, units, pass);
        memset(o->counts, 0, sizeof(o->counts[0]) * units);
        for (size_t start = begin; start < end; start += LZ_CHUNK_SIZE) {
            const struct optimal_chunk c = chunk_at(o, in, start, begin, end);
            const size_t index = start / LZ_CHUNK_SIZE, in_group = (start - begin) / LZ_CHUNK_SIZE;
            struct lz_sequence *sequences = m->to_sequences + index * LZ_CHUNK_MAX_SEQUENCES;
            struct optimal_parse parse = {
                .in = c.in,
                .counts = last ? NULL : o->counts + c.unit,
                .out = sequences,
            };

            if (in_group >= o->kept)
                gather_again(o, level, in, start, in_group == o->kept, &c);
            find_path(o, &c, last);
            walk_path(o, &c, &parse);
            m->to_chunks[index].sequences = sequences;
            m->to_chunks[index].count = (uint32_t)(parse.out - sequences);
        }
    }
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    struct optimal_state *o = m->state;

    if (m->begin > 0) {
        const struct optimal_chunk before = {.in = in, .size = LZ_CHUNK_SIZE};

        link_chunk(o, level, &before, true);
    }
    for (size_t begin = m->begin; begin < len; begin += o->group_size) {
        size_t end = len - begin < o->group_size ? len : begin + o->group_size;

        find_in_group(m, level, in, begin, end);
    }
}

static void *new_state(const struct lz_level *level, size_t segment_size)
{
    struct optimal_state *o = calloc(1, sizeof(*o));

    (void)level;
    if (o == NULL)
        return NULL;
    o->functions = &functions[cpu_path()];
    for (uint32_t i = 1; i < SMALL_COUNTS; i++)
        o->log2_small[i] = (uint16_t)lz_log2_256(i);
    o->group_size = group_size(segment_size);
    o->room = CHUNK_MATCHES;
    o->most = group_matches(segment_size);
    o->matches = malloc(o->room * sizeof(*o->matches));
    o->starts = malloc((o->group_size + 1) * sizeof(*o->starts));
    if (o->matches == NULL || o->starts == NULL) {
        free_state(o);
        return NULL;
    }
    return o;
}

const struct lz_finder lz_finder_optimal = {
    .name = "optimal",
    .twin = LZ_TWIN,
    .is_slow = true,
    .new_state = new_state,
    .state_size = state_size,
    .state_more = state_more,
    .limit_state = limit_state,
    .free_state = free_state,
    .find = find_matches,
};
