/*
 * optimal.c - near-optimal parsing on the CPU (optimal.h says what it finds)
 *
 * A group's matches are gathered once, chunk by chunk, and kept, one position's list after the
 * other's; the passes then go over them.  The memory for them grows as far as it may and the system
 * gives some.  Then the matches of further chunks are not kept: each pass gathers them again, which
 * takes longer and finds the same.  The shortest path's inner step, the least over the
 * lengths of a match, is taken eight lengths at a time where the processor has AVX2, which makes it
 * 1.5 times as fast; elsewhere one by one.
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

#define LANES 8

/* The hot loops are NOINLINE: with the registers to themselves, they have 3 % fewer instructions than
 * in one large function (gcc 12, level 10). */

/* What coding costs in one block. */
struct costs {
    uint32_t literal[256];
    uint32_t length[LZ_MAX_MATCH + 1 + LANES];
    uint32_t distance[DEFLATE_DISTANCE_SYMBOLS + 2];
};

/* Matches that a chunk has at most. */
#define CHUNK_MATCHES ((size_t)LZ_CHUNK_SIZE * LZ_MAX_MATCHES)

struct state {
    /* The matches of position p of the group are those from starts[p] up to starts[p + 1]. */
    uint32_t *matches;
    uint32_t *starts;
    size_t group_size; /* in bytes */
    size_t room;       /* for so many matches, CHUNK_MATCHES at least, */
    size_t most;       /* and no more than these */
    size_t kept;       /* chunks of the group whose matches are kept, */
    size_t used;       /* which are so many.  Those of another chunk follow them. */

    uint16_t counts[LZ_UNITS_A_GROUP][LZ_SYMBOLS]; /* of each unit */
    uint32_t blocks[LZ_UNITS_A_GROUP][LZ_SYMBOLS]; /* of each block */
    uint16_t block_of[LZ_UNITS_A_GROUP];
    struct costs costs;
    unsigned costs_of; /* the block they are of; LZ_UNITS_A_GROUP: none */

    /* The chunk at hand: the cost from each position to the end, and the step that is taken. */
    uint32_t to_end[LZ_CHUNK_SIZE + LZ_MAX_MATCH + LANES];
    uint16_t steps[LZ_CHUNK_SIZE];
};

/* Bytes of a group at most. */
static size_t group_size(size_t segment_size)
{
    const size_t size = LZ_OPTIMAL_GROUP * LZ_CHUNK_SIZE;

    return segment_size < size ? segment_size : size;
}

static size_t state_size(const struct lz_level *level, size_t segment_size)
{
    const struct state *o = NULL;

    (void)level;
    return sizeof(*o) + CHUNK_MATCHES * sizeof(*o->matches) +
           (group_size(segment_size) + 1) * sizeof(*o->starts);
}

/* Matches that a group has at most. */
static size_t group_matches(size_t segment_size)
{
    return LZ_CHUNKS(group_size(segment_size)) * CHUNK_MATCHES;
}

static size_t state_more(const struct lz_level *level, size_t segment_size)
{
    const struct state *o = NULL;

    (void)level;
    return (group_matches(segment_size) - CHUNK_MATCHES) * sizeof(*o->matches);
}

static void limit_state(void *state, size_t more)
{
    struct state *o = state;
    const size_t most = CHUNK_MATCHES + more / sizeof(*o->matches);

    o->most = most < group_matches(o->group_size) ? most : group_matches(o->group_size);
}

static void free_state(void *state)
{
    struct state *o = state;

    free(o->starts);
    free(o->matches);
    free(o);
}

static void *new_state(const struct lz_level *level, size_t segment_size)
{
    struct state *o = calloc(1, sizeof(*o));

    (void)level;
    if (o == NULL)
        return NULL;
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

/* Sees to it that there is room for another chunk's matches behind `used` ones; false if there is none. */
static bool has_room(struct state *o, size_t used)
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

/* A chunk at hand. */
struct chunk {
    const uint8_t *in; /* its first byte */
    int32_t size;
    uint32_t *starts; /* of its positions' lists, in the state's starts */
    size_t unit;      /* the first of its units in the group */
};

/* --- Matches --- */

/* A list as it grows. */
struct list {
    uint32_t *matches;
    uint32_t count;
    uint32_t best;     /* length that the next match has to exceed */
    uint32_t distance; /* of the last candidate looked at */
    bool ended;        /* at the end of a chain */
};

/*
 * Follows a chain over `depth` candidates until a match has `enough` bytes; see follow in chains.c.
 * `known` bytes of a candidate whose bytes of `mask` agree need not be compared.  (Taking the next
 * candidate is written out here and there: as a function of both, it made 1.5 % more instructions
 * of level 9 and 2.4 % of level 10, by gcc 12.)
 */
static inline __attribute__((always_inline)) void
gather(struct list *l, const uint16_t *links, const uint8_t *here, int32_t pos, uint32_t max,
       uint32_t depth, uint32_t enough, uint64_t mask, uint32_t known)
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

/* Notes the nearest match of three bytes. */
static inline void gather_three(struct list *l, const uint16_t *links, const uint8_t *here,
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

static inline bool goes_on(struct list *l, uint32_t bytes, uint32_t max)
{
    return lz_goes_on(&l->best, &l->distance, l->ended, bytes, max);
}

/* Writes the list of position `pos` of the chunk in[0..size) to matches; returns its length. */
static inline uint32_t gather_all(struct lz_matcher *m, const struct lz_level *level,
                                  const uint8_t *in, int32_t size, int32_t pos, uint32_t *matches)
{
    const uint64_t all = ~(uint64_t)0;
    const uint8_t *here = in + pos;
    const uint32_t left = (uint32_t)(size - pos);
    const uint32_t max = left < LZ_MAX_MATCH ? left : LZ_MAX_MATCH;
    const uint32_t nice = level->nice < max ? level->nice : max;
    struct list l = {.matches = matches, .best = LZ_MIN_MATCH};

    if (max < LZ_MIN_MATCH)
        return 0;
    gather_three(&l, links_at(&m->by3), here, pos);
    if (max <= LZ_MIN_MATCH)
        return l.count;
    gather(&l, links_at(&m->by4), here, pos, max, level->depth, nice < LZ_LONG ? nice : LZ_LONG,
           UINT32_MAX, 4);
    if (!goes_on(&l, LZ_LONG, max) || l.best >= nice)
        return l.count;
    if (l.best < LZ_LONGEST) {
        gather(&l, links_at(&m->by7), here, pos, max, level->long_depth,
               nice < LZ_LONGEST ? nice : LZ_LONGEST, all >> (64 - 8 * LZ_LONG), LZ_LONG);
        if (!goes_on(&l, LZ_LONGEST, max))
            return l.count;
    }
    if (l.best < nice)
        gather(&l, links_at(&m->by12), here, pos, max, level->longest_depth, nice, all, 8);
    return l.count;
}

/* Writes the lists of chunk c behind those that are kept, and where each starts to c->starts; returns where
 * they end. */
static NOINLINE size_t gather_chunk(struct lz_matcher *m, const struct lz_level *level,
                                    const struct chunk *c)
{
    const struct state *o = m->state;
    const uint32_t *base = o->matches;
    uint32_t *matches = o->matches + o->used;
    const uint8_t *in = c->in;
    const int32_t size = c->size;
    uint32_t *starts = c->starts;
    int32_t pos = 0;

    while (pos < size) {
        uint32_t count = gather_all(m, level, in, size, pos, matches);
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

/*
 * A parse as it is taken down.  All parses but the last serve to count symbols, unit by unit, and
 * only the last becomes sequences.
 */
struct parse {
    const uint8_t *in;
    uint16_t (*counts)[LZ_SYMBOLS]; /* of the chunk's units; NULL: write, do not count */
    struct lz_sequence *out;        /* where the next sequence goes */
    struct lz_pending pending;
};

/* Counts the pending match, if there is one, and the literals before it, if there are any. */
static void count_pending(struct parse *parse)
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

/* Takes the match at `pos`. */
static inline void take_step(struct parse *parse, int32_t pos, uint32_t length, uint32_t distance)
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
static void end_parse(struct parse *parse, int32_t size)
{
    take_step(parse, size, 0, 0);
    if (parse->counts != NULL)
        count_pending(parse);
}

/* The longest match of a position, packed; 0 if there is none. */
static inline uint32_t longest(const uint32_t *matches, const uint32_t *starts, int32_t pos)
{
    return starts[pos + 1] > starts[pos] ? matches[starts[pos + 1] - 1] : 0;
}

/* Takes the first parse of chunk c. */
static void first_parse(const struct state *o, const struct lz_level *level, const struct chunk *c,
                        struct parse *parse)
{
    const uint32_t least = lz_least_length(lz_count_distinct(c->in, c->size), level->depth);
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

/* Sets lz_log2_litlens and lz_log2_distances of a block's counts. */
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

/* A block's size, in 1/256 bits. */
static uint64_t estimate(const uint32_t counts[LZ_SYMBOLS], uint32_t header_cost)
{
    uint32_t litlen, distance;
    uint64_t size = 0;

    log2_totals(counts, &litlen, &distance);
    for (unsigned i = 0; i < LZ_SYMBOLS; i++)
        size +=
            lz_symbol_size(counts[i], i < DEFLATE_LITLEN_SYMBOLS ? litlen : distance, header_cost);
    return size;
}

/* Joins the group's units to blocks: o->block_of and o->blocks. */
static void split(struct state *o, unsigned units, unsigned pass)
{
    const uint32_t header_cost = lz_header_cost(pass);
    unsigned blocks = 0;
    uint64_t open_size = 0;

    for (unsigned u = 0; u < units; u++) {
        uint32_t *own = o->blocks[blocks];
        uint64_t own_size;

        for (unsigned i = 0; i < LZ_SYMBOLS; i++)
            own[i] = o->counts[u][i];
        own_size = estimate(own, header_cost);
        if (blocks > 0) {
            uint32_t *open = o->blocks[blocks - 1];
            uint32_t both[LZ_SYMBOLS];
            uint64_t both_size;

            for (unsigned i = 0; i < LZ_SYMBOLS; i++)
                both[i] = open[i] + own[i];
            both_size = estimate(both, header_cost);
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
}

/* The costs in a block of these counts. */
static void make_costs(struct costs *c, const uint32_t counts[LZ_SYMBOLS])
{
    uint32_t litlen, distance;

    log2_totals(counts, &litlen, &distance);
    for (unsigned i = 0; i < 256; i++)
        c->literal[i] = lz_literal_step(counts[i], litlen);
    for (unsigned length = LZ_MIN_MATCH; length <= LZ_MAX_MATCH; length++)
        c->length[length] = lz_length_step(length, counts[deflate_length_symbol(length)], litlen);
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++)
        c->distance[i] = lz_distance_step(i, counts[DEFLATE_LITLEN_SYMBOLS + i], distance);
}

/* --- The shortest path --- */

/* Finds the steps of positions [begin..end) of a chunk, all of one unit, from those after them. */
static void find_steps(struct state *o, const uint8_t *in, const uint32_t *starts, int32_t begin,
                       int32_t end)
{
    const struct costs *c = &o->costs;

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
/*
 * The same.  Costs just stored one by one would have to reach memory before they could be loaded
 * eight at a time; so the eight nearest, from pos + 1 on, are kept in a register, which serves the
 * steps of up to eight bytes.
 */
AVX2_PATH static void find_steps_avx2(struct state *o, const uint8_t *in, const uint32_t *starts,
                                      int32_t begin, int32_t end)
{
    const struct costs *c = &o->costs;
    const __m256i none = _mm256_set1_epi32(-1);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i near_lengths = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
    const __m256i near_steps = _mm256_loadu_si256((const __m256i *)(c->length + 1));
    const __m256i shift = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    __m256i near = _mm256_loadu_si256((const __m256i *)(o->to_end + end));
    uint32_t next = o->to_end[end];

    for (int32_t pos = end - 1; pos >= begin; pos--) {
        const uint32_t *match = o->matches + starts[pos];
        const uint32_t *matches_end = o->matches + starts[pos + 1];
        uint32_t best = c->literal[in[pos]] + next;

        if (match < matches_end) {
            const __m256i near_sums = _mm256_add_epi32(near, near_steps);
            __m256i least = none, covered = _mm256_set1_epi32(LZ_MIN_MATCH - 1);
            __m128i half;
            uint32_t from = LANES + 1;

            do {
                const uint32_t length = lz_packed_length(*match);
                const __m256i distance =
                    _mm256_set1_epi32((int)c->distance[lz_packed_symbol(*match)]);
                const __m256i lengths = _mm256_set1_epi32((int)length);
                /* Lengths above `covered`, which the matches before have, and up to this one's. */
                __m256i out = _mm256_or_si256(
                    _mm256_cmpgt_epi32(near_lengths, lengths),
                    _mm256_cmpgt_epi32(_mm256_add_epi32(covered, _mm256_set1_epi32(1)),
                                       near_lengths));

                least = _mm256_min_epu32(
                    least, _mm256_or_si256(out, _mm256_add_epi32(near_sums, distance)));
                covered = lengths;
                for (; from <= length; from += LANES) {
                    __m256i sum = _mm256_add_epi32(
                        _mm256_loadu_si256((const __m256i *)(c->length + from)),
                        _mm256_loadu_si256((const __m256i *)(o->to_end + pos + from)));

                    out = _mm256_cmpgt_epi32(_mm256_add_epi32(lanes, _mm256_set1_epi32((int)from)),
                                             lengths);
                    least = _mm256_min_epu32(least,
                                             _mm256_or_si256(out, _mm256_add_epi32(sum, distance)));
                }
                from = length > LANES ? length + 1 : LANES + 1;
            } while (++match < matches_end);

            half = _mm_min_epu32(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
            half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0x4e));
            half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0xb1));
            if ((uint32_t)_mm_cvtsi128_si32(half) < best)
                best = (uint32_t)_mm_cvtsi128_si32(half);
        }
        o->steps[pos] = (uint16_t)(best & LZ_STEP_LENGTH);
        next = best & ~LZ_STEP_LENGTH;
        o->to_end[pos] = next;
        near = _mm256_blend_epi32(_mm256_permutevar8x32_epi32(near, shift),
                                  _mm256_castsi128_si256(_mm_cvtsi32_si128((int)next)), 1);
    }
}
#endif

/* Finds a chunk's shortest path: o->steps. */
static void find_path(struct state *o, const struct chunk *c)
{
    int32_t pos = c->size;

    memset(o->to_end + pos, 0, (LZ_MAX_MATCH + LANES) * sizeof(o->to_end[0]));
    while (pos > 0) {
        const int32_t unit = (pos - 1) / LZ_UNIT_SIZE, begin = unit * LZ_UNIT_SIZE;
        const unsigned block = o->block_of[c->unit + (size_t)unit];

        if (o->costs_of != block) {
            o->costs_of = block;
            make_costs(&o->costs, o->blocks[block]);
        }
#ifdef HAVE_AVX2_PATH
        if (cpu_has_avx2_path())
            find_steps_avx2(o, c->in, c->starts, begin, pos);
        else
#endif
            find_steps(o, c->in, c->starts, begin, pos);
        pos = begin;
    }
}

/* Takes the matches on it. */
static void walk_path(const struct state *o, const struct chunk *c, struct parse *parse)
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

/* --- The whole --- */

/* The chunk that starts at in[start], in the group in[begin..end). */
static struct chunk chunk_at(const struct state *o, const uint8_t *in, size_t start, size_t begin,
                             size_t end)
{
    return (struct chunk){
        .in = in + start,
        .size = (int32_t)(LZ_CHUNK_END(start, end) - start),
        .starts = o->starts + (start - begin),
        .unit = (start - begin) / LZ_UNIT_SIZE,
    };
}

/* Makes the chains of the chunk, the segment's first or not. */
static NOINLINE void link_chunk(struct lz_matcher *m, const struct chunk *c, bool first)
{
    struct links *chains[] = {&m->by3, &m->by4, &m->by7, &m->by12};
    static const unsigned bytes[] = {3, 4, LZ_LONG, LZ_LONGEST};

    for (int i = 0; i < 4; i++)
        links_start_chunk(chains[i], bytes[i], !first);
    links_make_two(&m->by3, 3, &m->by4, 4, c->in, c->size);
    links_make_two(&m->by7, LZ_LONG, &m->by12, LZ_LONGEST, c->in, c->size);
}

/* Gathers the matches of the group in[begin..end) of a segment, and counts its first parse. */
static void begin_group(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                        size_t begin, size_t end)
{
    struct state *o = m->state;

    o->kept = o->used = 0;
    for (size_t start = begin, index = 0; start < end; start += LZ_CHUNK_SIZE, index++) {
        const struct chunk c = chunk_at(o, in, start, begin, end);
        struct parse parse = {.in = c.in, .counts = o->counts + c.unit};
        size_t used;

        link_chunk(m, &c, start == 0);
        used = gather_chunk(m, level, &c);
        first_parse(o, level, &c, &parse);
        /* Behind those that are kept there has to be room for the next. */
        if (o->kept == index && (start + LZ_CHUNK_SIZE >= end || has_room(o, used))) {
            o->kept++;
            o->used = used;
        }
    }
}

/* Gathers the matches of a chunk, which starts at in[start], again.  All chunks of its group after those
 * whose matches are kept have their turns, one after the other. */
static void gather_again(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t start, bool is_first, const struct chunk *c)
{
    /* No more than the chunk before can be seen in the chains. */
    if (is_first && start > 0) {
        const struct chunk before = {.in = in + start - LZ_CHUNK_SIZE, .size = LZ_CHUNK_SIZE};

        link_chunk(m, &before, true);
    }
    link_chunk(m, c, start == 0);
    (void)gather_chunk(m, level, c);
}

/* Finds the sequences of the group in[begin..end) of a segment. */
static void find_in_group(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                          size_t begin, size_t end)
{
    struct state *o = m->state;
    const unsigned units = (unsigned)((end - begin + LZ_UNIT_SIZE - 1) / LZ_UNIT_SIZE);

    memset(o->counts, 0, sizeof(o->counts[0]) * units);
    begin_group(m, level, in, begin, end);
    for (unsigned pass = 1; pass <= level->passes; pass++) {
        const bool last = pass == level->passes;

        split(o, units, pass);
        o->costs_of = LZ_UNITS_A_GROUP;
        memset(o->counts, 0, sizeof(o->counts[0]) * units);
        for (size_t start = begin; start < end; start += LZ_CHUNK_SIZE) {
            const struct chunk c = chunk_at(o, in, start, begin, end);
            const size_t index = start / LZ_CHUNK_SIZE, in_group = (start - begin) / LZ_CHUNK_SIZE;
            struct lz_sequence *sequences = m->to_sequences + index * LZ_CHUNK_MAX_SEQUENCES;
            struct parse parse = {
                .in = c.in,
                .counts = last ? NULL : o->counts + c.unit,
                .out = sequences,
            };

            if (in_group >= o->kept)
                gather_again(m, level, in, start, in_group == o->kept, &c);
            find_path(o, &c);
            walk_path(o, &c, &parse);
            m->to_chunks[index].sequences = sequences;
            m->to_chunks[index].count = (uint32_t)(parse.out - sequences);
        }
    }
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    const struct state *o = m->state;

    if (m->begin > 0) {
        const struct chunk before = {.in = in, .size = LZ_CHUNK_SIZE};

        link_chunk(m, &before, true);
    }
    for (size_t begin = m->begin; begin < len; begin += o->group_size) {
        size_t end = len - begin < o->group_size ? len : begin + o->group_size;

        find_in_group(m, level, in, begin, end);
    }
}

const struct lz_finder lz_finder_optimal = {
    .name = "optimal",
    .gpu = &gpu_finder_optimal,
    .is_slow = true,
    .new_state = new_state,
    .state_size = state_size,
    .state_more = state_more,
    .limit_state = limit_state,
    .free_state = free_state,
    .find = find_matches,
};
