/*
 * chains.c - the hash chain match finder on the CPU (chains.h says what it finds)
 *
 * For each chunk, the finder first makes the links of all positions (links.h).  Then the parse goes
 * through the chunk and searches for matches.  A search takes longest where its loads miss the
 * cache, so it loads each link before the link is needed.  Before a match is measured, two
 * comparisons reject most candidates.  One compares the byte just after the length of the best
 * match so far, together with the three bytes before that byte.  The other compares the bytes that
 * were hashed.
 *
 * The parse is compiled once for each kind of level and chunk (struct chains_kind).  With one parse
 * for all, matching takes 6 to 9 % longer, because the compiler runs out of registers.
 */
#include "config.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "lzss/chains.h"
#include "lzss/emit.h"
#include "lzss/links.h"
#include "lzss/matcher.h"

/* The data that find_more keeps from one call to the next.  Positions are counted from the current
 * chunk's start.  A position is entered into the tables once all bytes that its hash covers are
 * known.  By then, the next chunk may have begun, so the first position to enter may lie before the
 * current chunk; its number is then negative. */
struct chains_more {
    int32_t next3, next4, next7; /* the first position not yet in the chains by 3, 4 and 7 bytes */
    uint32_t distinct;           /* lz_count_distinct, as known so far */
};

/* The finder's memory: the chains that the level uses. */
struct chains_state {
    struct links *by3; /* chains by three bytes; NULL if the level takes no matches of three */
    struct links *by4; /* chains by four bytes */
    struct links *by7; /* chains by LZ_LONG bytes; NULL if the level has no long_depth */
    bool has_before3;  /* by3's table has the positions of the chunk before the current one */
    const struct links_functions *by;     /* the processor's versions of links.h's functions */
    const struct chains_parsers *parsers; /* the processor's versions of the parse */
    struct chains_more more;
    _Alignas(64) struct links links[]; /* the chains that are not NULL, in this order */
};

/* The chunk being matched. */
struct chains_chunk {
    const uint8_t *in;          /* the chunk's first byte */
    int32_t size;               /* the chunk's size in bytes */
    uint32_t distinct;          /* the chunk's lz_count_distinct */
    const uint16_t *links;      /* the links by four bytes */
    const uint16_t *long_links; /* the links by LZ_LONG bytes, or NULL */
    const uint16_t *links3; /* the links by three bytes, made for this chunk alone; NULL if none */
};

/* Makes the links by three bytes of chunk c.  `follows` says that the chunk is not a segment's
 * first.  If the chunk before it got no such links, the table lacks its positions.  Then this
 * function first enters those to which a match of three bytes may refer. */
static void make_links3(struct chains_state *s, const struct lz_level *level,
                        const struct chains_chunk *c, bool follows)
{
    if (follows && s->has_before3) {
        s->by->age3(s->by3);
    } else {
        links_start(s->by3, 3);
        for (int32_t i = follows ? -level->max_distance3 : 0; i < 0; i++)
            s->by3->table[lz_hash3(load32(c->in + i))] = (int16_t)i;
    }
    s->by->make3(s->by3, c->in, c->size);
}

/* The type of a function that returns how many bytes at a and b agree, up to `max`.  The first four
 * bytes are known to agree.  May read up to LZ_INPUT_PAD bytes after the first `max`. */
typedef size_t agreeing(const uint8_t *a, const uint8_t *b, size_t max);

/*
 * Follows the chain of position `pos` of the chunk `in` over `depth` candidates; `depth` is 1 or
 * more.  Returns the best match that has more than `length` and at most `max` bytes; its length is
 * 0 if there is none.  `length` is 3 or more.  A match of `enough` bytes ends the search.  `mask`
 * selects the bytes that were hashed.  A candidate that differs in these bytes has the same hash by
 * chance, and is passed over.
 */
static inline __attribute__((always_inline)) struct lz_match
follow(const uint16_t *links, const uint8_t *in, ptrdiff_t pos, uint32_t length, uint32_t max,
       uint32_t depth, uint32_t enough, uint64_t mask, agreeing *agree)
{
    const uint64_t first = load64(in + pos);
    const ptrdiff_t farthest = pos - LZ_CHAINS_WINDOW;
    struct lz_match best = {0, 0, LZ_SCORE_MIN};
    /* A match longer than `length` agrees in byte `length`, and in the three bytes before it. */
    const uint8_t *tail = in + length - 3;
    uint32_t last = load32(tail + pos);

    for (ptrdiff_t at = pos - links[pos], next; at >= farthest; at = next) {
        /* Load the next link early, needed or not, because each load of a link waits for the
         * previous one. */
        next = at - links[at];
        if (load32(tail + at) == last && ((load64(in + at) ^ first) & mask) == 0) {
            const uint32_t distance = (uint32_t)(pos - at);
            const uint32_t n = (uint32_t)agree(in + pos, in + at, max);

            if (n > length) {
                if (lz_score(n, distance) > best.score) {
                    best.length = n;
                    best.distance = distance;
                    best.score = lz_score(n, distance);
                    /* A candidate further away can only be better if it is longer. */
                    length = n;
                    tail = in + length - 3;
                    last = load32(tail + pos);
                }
                if (n >= enough)
                    break;
            }
        }
        if (--depth == 0)
            break;
    }
    return best;
}

/* What one version of the parse does.  All fields are compile-time constants. */
struct chains_kind {
    bool by3;        /* the chunk has links by three bytes */
    bool by7;        /* the level has a long_depth */
    uint8_t lazy;    /* the level's `lazy` */
    agreeing *agree; /* how to measure a match */
};

/* Whether an earlier position, at most LZ_CHAINS_WINDOW bytes back, has the same hash of four
 * bytes. */
static inline bool has_candidate4(const struct chains_chunk *c, ptrdiff_t pos)
{
    return c->links[pos] <= LZ_CHAINS_WINDOW;
}

/* Whether an earlier position, at most level->max_distance3 bytes back, has the same hash of three
 * bytes. */
static inline bool has_candidate3(const struct chains_chunk *c, const struct lz_level *level,
                                  struct chains_kind kind, ptrdiff_t pos)
{
    return kind.by3 && c->links3[pos] <= level->max_distance3;
}

/*
 * Searches for the best match at `pos`.  The search looks at 1/2^less of the candidates that the
 * level's depths allow.  If the best match passes lz_prefers with `least` and `least_score`,
 * returns it; otherwise returns a match of length 0.
 *
 * The search could use `least` and `least_score` to pass over candidates that are too short.  It
 * does not, because look-ahead would have to wait for the search before it.  As it is, the
 * processor works on both at once; with such a test, level 6 takes 6 to 16 % longer.
 *
 * (Without always_inline, gcc -O2, which distributions use, inlines only some of the three calls in
 * parse_as, and matching is 15 % slower.)
 */
static inline __attribute__((always_inline)) struct lz_match
search(const struct chains_chunk *c, const struct lz_level *level, struct chains_kind kind,
       ptrdiff_t pos, uint32_t least, int32_t least_score, uint32_t less)
{
    const struct lz_match none = {0, 0, LZ_SCORE_MIN};
    const uint8_t *here = c->in + pos;
    const uint32_t left = (uint32_t)(c->size - pos);
    uint32_t max = left < LZ_MAX_MATCH ? left : LZ_MAX_MATCH;
    uint32_t enough = level->nice < max ? level->nice : max;
    struct lz_match best = none;

    if (max < least || max < LZ_MIN_MATCH)
        return none;
    if (kind.by7) {
        if (max >= LZ_LONG)
            best = follow(c->long_links, c->in, pos, LZ_LONG - 1, max, level->long_depth >> less,
                          enough, ~(uint64_t)0 >> (64 - 8 * LZ_LONG), kind.agree);
        if (best.length > 0 || least >= LZ_LONG)
            return lz_prefers(best, least, least_score) ? best : none;
        max = max < LZ_LONG - 1 ? max : LZ_LONG - 1;
        enough = enough < max ? enough : max;
    }
    if (max > LZ_MIN_MATCH && has_candidate4(c, pos))
        best = follow(c->links, c->in, pos, LZ_MIN_MATCH, max, level->depth >> less, enough,
                      UINT32_MAX, kind.agree);
    if (best.length == 0 && has_candidate3(c, level, kind, pos) &&
        ((load32(here - c->links3[pos]) ^ load32(here)) & 0xffffff) == 0) {
        best.length = LZ_MIN_MATCH;
        best.distance = c->links3[pos];
        best.score = lz_score(best.length, best.distance);
    }
    return lz_prefers(best, least, least_score) ? best : none;
}

/* Writes the match whose first sequence is `first` again, now with `length` bytes, because the
 * match after it continues it (lz_continues).  Returns the end of the sequences written. */
static NOINLINE struct lz_sequence *lengthen(struct lz_sequence *first, size_t length)
{
    return lz_emit(first, first->literals, length, first->distance);
}

/* Parses the chunk `from` from position `pos` on, as chains.h says, with the parameters `by`.
 * Writes its sequences to `out`, and returns their end. */
static inline __attribute__((always_inline)) struct lz_sequence *
parse_as(const struct chains_chunk *from, const struct lz_level *by, struct chains_kind kind,
         ptrdiff_t pos, struct lz_sequence *restrict out)
{
    /* Of these copies, the compiler knows that no written sequence changes them. */
    const struct chains_chunk copy = *from, *const c = &copy;
    const struct lz_level level_copy = *by, *const level = &level_copy;
    const uint32_t least = lz_least_length(c->distinct, level->depth);
    ptrdiff_t start = pos, end = pos; /* the last match; at first, an empty one */
    uint32_t distance = 0;
    struct lz_sequence *first = out; /* its first sequence */

    while (pos < c->size) {
        struct lz_match match;

        /* Pass over positions without a candidate by three or four bytes.  No longer match starts
         * at such a position, either, since the start of a longer match is also a candidate by four
         * bytes.  Machine code has many positions without a candidate. */
        if (!has_candidate4(c, pos) && !has_candidate3(c, level, kind, pos)) {
            pos++;
            continue;
        }
        match = search(c, level, kind, pos, least, LZ_SCORE_MIN, 0);
        if (match.length == 0) {
            pos++;
            continue;
        }
        while (kind.lazy > 0 && match.length < level->nice) {
            struct lz_match next =
                search(c, level, kind, pos + 1, match.length, match.score + LZ_GAIN_NEXT, 1);

            if (next.length > 0) {
                pos++;
                match = next;
                continue;
            }
            if (kind.lazy < 2)
                break;
            next =
                search(c, level, kind, pos + 2, match.length, match.score + LZ_GAIN_AFTER_NEXT, 2);
            if (next.length == 0)
                break;
            pos += 2;
            match = next;
        }
        if (__builtin_expect(pos == end && match.distance == distance, 0)) {
            end += (ptrdiff_t)match.length;
            out = lengthen(first, (size_t)(end - start));
        } else {
            first = out++;
            *first = (struct lz_sequence){.literals = (uint16_t)(pos - end),
                                          .length = (uint16_t)match.length,
                                          .distance = (uint16_t)match.distance};
            start = pos;
            end = pos + (ptrdiff_t)match.length;
            distance = match.distance;
        }
        pos = end;
    }
    return out;
}

/* The type of a function that parses chunk c from position `pos` on, as chains.h says.  Writes the
 * chunk's sequences to `out`, and returns their end. */
typedef struct lz_sequence *parser(const struct chains_chunk *c, const struct lz_level *level,
                                   int32_t pos, struct lz_sequence *out);

/* The parsers of one path (cpu.h): by whether the level has a long_depth, by whether the chunk has
 * links by three bytes, and by how many positions the level looks ahead. */
struct chains_parsers {
    parser *parse[2][2][3];
};

/* clang-format off */

/* Defines the parser NAME, which TARGET compiles for its path. */
#define PARSER(NAME, TARGET, BY7, BY3, LAZY, AGREE)                                                \
    TARGET NOINLINE static struct lz_sequence *NAME(                                               \
        const struct chains_chunk *c, const struct lz_level *level, int32_t pos,                   \
        struct lz_sequence *out)                                                                   \
    {                                                                                              \
        const struct chains_kind kind = {BY3, BY7, LAZY, AGREE};                                   \
                                                                                                   \
        return parse_as(c, level, kind, pos, out);                                                 \
    }

/* Defines NAME_0, NAME_1 and NAME_2, which look ahead by as many positions. */
#define PARSERS_THAT_LOOK(NAME, TARGET, BY7, BY3, AGREE)                                           \
    PARSER(NAME##_0, TARGET, BY7, BY3, 0, AGREE)                                                   \
    PARSER(NAME##_1, TARGET, BY7, BY3, 1, AGREE)                                                   \
    PARSER(NAME##_2, TARGET, BY7, BY3, 2, AGREE)

/* Defines all parsers of a path, and the struct NAME with pointers to them. */
#define PARSERS(NAME, TARGET, AGREE)                                                               \
    PARSERS_THAT_LOOK(NAME##_4, TARGET, false, false, AGREE)                                       \
    PARSERS_THAT_LOOK(NAME##_34, TARGET, false, true, AGREE)                                       \
    PARSERS_THAT_LOOK(NAME##_47, TARGET, true, false, AGREE)                                       \
    PARSERS_THAT_LOOK(NAME##_347, TARGET, true, true, AGREE)                                       \
    static const struct chains_parsers NAME = {                                                    \
        {{{NAME##_4_0, NAME##_4_1, NAME##_4_2}, {NAME##_34_0, NAME##_34_1, NAME##_34_2}},          \
         {{NAME##_47_0, NAME##_47_1, NAME##_47_2}, {NAME##_347_0, NAME##_347_1, NAME##_347_2}}}};

/* clang-format on */

static inline size_t agree_portable(const uint8_t *a, const uint8_t *b, size_t max)
{
    return match_length(a, b, 4, max);
}

PARSERS(parsers_portable, , agree_portable)

#ifdef HAVE_AVX2_PATH

#include <immintrin.h>

AVX2_PATH static inline size_t agree_avx2(const uint8_t *a, const uint8_t *b, size_t max)
{
    const __m256i same =
        _mm256_cmpeq_epi8(_mm256_loadu_si256((const void *)a), _mm256_loadu_si256((const void *)b));
    const uint32_t differ = ~(uint32_t)_mm256_movemask_epi8(same);
    const size_t n = differ == 0 ? match_length(a, b, 32, max) : (size_t)__builtin_ctz(differ);

    return n < max ? n : max;
}

PARSERS(parsers_avx2, AVX2_PATH, agree_avx2)

#endif

static const struct chains_parsers *const parsers[CPU_PATHS] = {
    [CPU_PORTABLE] = &parsers_portable,
#ifdef HAVE_AVX2_PATH
    [CPU_AVX2] = &parsers_avx2,
#endif
#ifdef HAVE_AVX512_PATH
    /* Comparing 64 bytes at a time is slower, as few matches have more than 32. */
    [CPU_AVX512] = &parsers_avx2,
#endif
};

/* Parses chunk c from position `pos` on.  Writes its sequences to `out`, and returns their end. */
static struct lz_sequence *parse(const struct chains_state *s, const struct chains_chunk *c,
                                 const struct lz_level *level, int32_t pos, struct lz_sequence *out)
{
    parser *const by = s->parsers->parse[level->long_depth > 0][c->links3 != NULL][level->lazy];

    return by(c, level, pos, out);
}

static size_t state_size(const struct lz_level *level, size_t segment_size)
{
    const size_t chains = 1 + (level->max_distance3 > 0) + (level->long_depth > 0);

    (void)segment_size;
    return sizeof(struct chains_state) + chains * sizeof(struct links);
}

static void *new_state(const struct lz_level *level, size_t segment_size)
{
    struct chains_state *s =
        aligned_alloc(_Alignof(struct chains_state), state_size(level, segment_size));
    struct links *next;

    if (s == NULL)
        return NULL;
    s->by = links_functions();
    s->parsers = parsers[cpu_path()];
    next = s->links;
    s->by3 = level->max_distance3 > 0 ? next++ : NULL;
    s->by4 = next++;
    s->by7 = level->long_depth > 0 ? next : NULL;
    return s;
}

/* Prepares the table of l, by four or LZ_LONG bytes, for a chunk.  If `follows` is true, keeps the
 * positions that the table has of the chunk before it.  Otherwise the chunk is a segment's first,
 * and the table is emptied. */
static void start_links(struct chains_state *s, struct links *l, bool follows)
{
    if (follows)
        s->by->next_chunk(l);
    else
        links_start(l, 4);
}

/* Makes the chunk's links by four bytes and, if the level needs them, by LZ_LONG bytes.  `follows`
 * says whether the tables have the positions of the previous chunk.  If not, the chunk is a
 * segment's first, and the tables are emptied. */
static void make_links(struct chains_state *s, const struct lz_level *level,
                       const struct chains_chunk *c, bool follows)
{
    start_links(s, s->by4, follows);
    s->by->make4(s->by4, c->in, c->size);
    if (level->long_depth == 0)
        return;
    start_links(s, s->by7, follows);
    s->by->make7(s->by7, c->in, c->size);
}

/* Like make_links, for the only chunk of a segment of up to LINKS_SMALL bytes. */
static void make_small_links(struct chains_state *s, const struct lz_level *level,
                             const struct chains_chunk *c)
{
    links_make_small(s->by4, 4, c->in, c->size);
    if (level->long_depth > 0)
        links_make_small(s->by7, LZ_LONG, c->in, c->size);
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    struct chains_state *const s = m->state;
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;
    /* A segment of up to LINKS_SMALL bytes has only one chunk. */
    const bool is_small = len <= LINKS_SMALL;
    bool follows = m->goes_on;

    for (size_t start = m->enter; start < m->end; start += LZ_CHUNK_SIZE, follows = true) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        struct chains_chunk chunk = {
            .in = in + start,
            .size = (int32_t)(LZ_CHUNK_END(start, len) - start),
            .links = links_at(s->by4),
            .long_links = s->by7 != NULL ? links_at(s->by7) : NULL,
        };

        if (is_small)
            make_small_links(s, level, &chunk);
        else
            make_links(s, level, &chunk, follows);
        if (start < m->begin) {
            s->has_before3 = false;
            continue;
        }
        chunk.distinct = lz_count_distinct(chunk.in, chunk.size);
        if (lz_wants_length3(chunk.distinct, level->max_distance3)) {
            if (is_small)
                links_make_small(s->by3, 3, chunk.in, chunk.size);
            else
                make_links3(s, level, &chunk, start > 0);
            chunk.links3 = links_at(s->by3);
        }
        s->has_before3 = chunk.links3 != NULL;
        result->sequences = out;
        out = parse(s, &chunk, level, 0, out);
        result->count = (uint32_t)(out - result->sequences);
    }
}

/* --- Input that comes piece by piece -------------------------------------------------------- */

/* Enters positions of the chunk, from *next on.  Stops before the first position whose hash covers
 * bytes that are not in in[0..known); a hash covers `bytes` bytes.  Sets *next to the position
 * where it stopped.  This position and the later ones of the chunk get no link. */
static inline __attribute__((always_inline)) void enter_known(struct links *l, unsigned bytes,
                                                              int32_t *next, const uint8_t *in,
                                                              int32_t size, int32_t known)
{
    const int32_t whole = known - (int32_t)bytes + 1, end = whole < size ? whole : size;
    uint16_t *links = links_at(l);
    int32_t i = *next;

    for (; i < end; i++)
        links[i] = links_enter(&l->table[links_hash(in + i, bytes)], i);
    *next = i;
    for (; i < size; i++)
        links[i] = UINT16_MAX;
}

/* Makes the links of the known bytes of chunk c.  c->in[0..known) are known; these may include
 * bytes of the next chunk. */
static void link_known(struct chains_state *s, const struct chains_chunk *c, int32_t known)
{
    if (s->by3 != NULL)
        enter_known(s->by3, 3, &s->more.next3, c->in, c->size, known);
    enter_known(s->by4, 4, &s->more.next4, c->in, c->size, known);
    if (s->by7 != NULL)
        enter_known(s->by7, LZ_LONG, &s->more.next7, c->in, c->size, known);
}

/* Prepares the tables for a chunk.  If `follows` is true, keeps the positions of the chunk before
 * it; otherwise empties the tables. */
static void start_chunk(struct chains_state *s, bool follows)
{
    struct chains_more *const more = &s->more;

    if (s->by3 != NULL)
        links_start_chunk(s->by3, 3, follows);
    links_start_chunk(s->by4, 4, follows);
    if (s->by7 != NULL)
        links_start_chunk(s->by7, LZ_LONG, follows);
    more->next3 = follows ? more->next3 - LZ_CHUNK_SIZE : 0;
    more->next4 = follows ? more->next4 - LZ_CHUNK_SIZE : 0;
    more->next7 = follows ? more->next7 - LZ_CHUNK_SIZE : 0;
}

/* Sets more->distinct, by which find_more judges the matches of chunk c from position `from` on.
 * While chunk c is too short for a whole sample (sample.h), the bytes of the chunk before c are
 * counted instead.
 *
 *   - is_first: there is no chunk before c.
 *   - is_known: an earlier call has set more->distinct.  Then this call counts again only if the
 *     sample may have changed since. */
static void count_sample(struct chains_more *more, const struct chains_chunk *c, int32_t from,
                         bool is_first, bool is_known)
{
    if (is_first || c->size >= LZ_SAMPLE) {
        if (from < LZ_SAMPLE || !is_known)
            more->distinct = lz_count_distinct(c->in, c->size);
    } else if (!is_known) {
        more->distinct = lz_count_distinct(c->in - LZ_CHUNK_SIZE, LZ_CHUNK_SIZE);
    }
}

/* In a piece of input of fewer than TINY_PIECE bytes, short matches are always worth taking
 * (distinct_in_piece).  With a larger number, longer pieces with few values compress worse.  With a
 * smaller number, pieces of some 100 bytes compress worse. */
#define TINY_PIECE 256

/* Numbers of different byte values in the sample.  With FEW_VALUES or more, lz_least_length returns
 * 4 or less; with MANY_VALUES or more, it returns 3. */
#define FEW_VALUES 40
#define MANY_VALUES 80

/* Returns the number of different byte values that lz_least_length gets for a piece of `len` bytes
 * whose sample has `distinct` different values.  A small piece often has fixed codes, whose
 * literals take eight bits or more.  So short matches are worth taking in it, as in a sample with
 * MANY_VALUES.  The exception is a piece of TINY_PIECE bytes or more with fewer than FEW_VALUES
 * values, because it gets dynamic codes, and its literals are short.  (Without this function, the
 * output of pieces of 100 bytes is larger: by 0.8 % for C headers, and by 16 % for DNA's four
 * letters.) */
static uint32_t distinct_in_piece(size_t len, uint32_t distinct)
{
    if (len >= LZ_SAMPLE || distinct >= MANY_VALUES)
        return distinct;
    return len < TINY_PIECE || distinct >= FEW_VALUES ? MANY_VALUES : distinct;
}

/* Finds matches as find_matches does, with two differences.  The chains of three bytes go on from
 * chunk to chunk.  And a position is entered only once all bytes that its hash covers are known. */
static void find_more(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                      size_t len)
{
    struct chains_state *const s = m->state;
    struct lz_sequence *out = m->to_sequences;

    for (size_t at = m->enter, end; at < len; at = end) {
        const size_t start = at - at % LZ_CHUNK_SIZE, known = len - start;
        const size_t begin = m->begin < start ? start : m->begin;
        struct lz_chunk *const result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        struct chains_chunk chunk = {.in = in + start, .links = links_at(s->by4)};
        const bool follows = m->goes_on || at > m->enter;

        end = LZ_CHUNK_END(start, len);
        chunk.size = (int32_t)(end - start);
        chunk.long_links = s->by7 != NULL ? links_at(s->by7) : NULL;
        if (at == start)
            start_chunk(s, follows);
        link_known(s, &chunk, known < 2 * LZ_CHUNK_SIZE ? (int32_t)known : 2 * LZ_CHUNK_SIZE);
        if (end <= m->begin)
            continue;
        count_sample(&s->more, &chunk, (int32_t)(begin - start), start == 0,
                     m->goes_on || start > m->begin);
        chunk.distinct = distinct_in_piece(len - m->begin, s->more.distinct);
        if (lz_wants_length3(chunk.distinct, level->max_distance3))
            chunk.links3 = links_at(s->by3);
        result->sequences = out;
        out = parse(s, &chunk, level, (int32_t)(begin - start), out);
        result->count = (uint32_t)(out - result->sequences);
    }
}

const struct lz_finder lz_finder_chains = {
    .name = "chains",
    .twin = LZ_TWIN,
    .in_parts = true,
    .new_state = new_state,
    .state_size = state_size,
    .find = find_matches,
    .find_more = find_more,
};
