/*
 * chains.c - the hash chain match finder on the CPU (chains.h says what it finds, links.h how
 * chains are made)
 */
#include "config.h"

#include "base/bytes.h"
#include "lzss/chains.h"
#include "lzss/emit.h"
#include "lzss/links.h"
#include "lzss/matcher.h"

/* One chunk at hand. */
struct chunk {
    const uint8_t *in; /* its first byte */
    int32_t size;
    uint32_t distinct;          /* different bytes in its first LZ_SAMPLE */
    const uint16_t *links;      /* by four bytes (links_at) */
    const uint16_t *long_links; /* by LZ_LONG */
    const uint16_t *links3;     /* by three, or NULL; those of the chunk's positions only */
};

/* The same as links_make, by three bytes.  The table need not be kept from chunk to chunk: what is in
 * reach of a chunk's first positions, the `before` bytes before it (max_distance3, or 0 if there are none), is
 * entered anew. */
static void make_links3(struct links *l, const uint8_t *restrict in, int32_t size, int32_t before)
{
    uint16_t *links = links_at(l);

    links_start(l, 3);
    for (int32_t i = -before; i < 0; i++)
        l->table[lz_hash3(load32(in + i))] = (int16_t)i;
    for (int32_t i = 0; i < size; i++)
        links[i] = links_enter(&l->table[lz_hash3(load32(in + i))], i);
}

/*
 * Follows p's chain over `depth` candidates for the best match of more than `length` bytes, 3 or
 * more, and at most `max`, and of a score above `score`; ends with one of `enough` bytes.
 * Candidates whose first bytes, those of `mask`, differ from p's are strangers.
 */
static inline __attribute__((always_inline)) struct lz_match
follow(const uint16_t *links, const uint8_t *here, int32_t pos, uint32_t length, int32_t score,
       uint32_t max, uint32_t depth, uint32_t enough, uint64_t mask)
{
    const uint64_t first = load64(here);
    /* A longer match agrees in the byte after the best so far, and in the three before that. */
    uint32_t last = load32(here + length - 3);
    const ptrdiff_t farthest = pos - LZ_CHAINS_WINDOW;
    struct lz_match best = {0, 0, score};

    for (ptrdiff_t at = pos - links[pos], next; depth > 0 && at >= farthest; depth--, at = next) {
        const uint32_t distance = (uint32_t)(pos - at);
        const uint8_t *there = here - distance;

        /* The next link is loaded early, wanted or not: each load has to wait for the one before. */
        next = at - links[at];
        if (load32(there + length - 3) == last && ((load64(there) ^ first) & mask) == 0) {
            uint32_t n = (uint32_t)match_length(here, there, 4, max);

            if (n > length) {
                if (lz_score(n, distance) > best.score) {
                    best.length = n;
                    best.distance = distance;
                    best.score = lz_score(n, distance);
                    /* Further away, only a longer match can be better. */
                    length = n;
                    last = load32(here + length - 3);
                }
                if (n >= enough)
                    break;
            }
        }
    }
    return best;
}

/* Whether there is a position before `pos`, in reach, whose first four bytes have the same hash; and whether
 * there is one near enough whose first three have. */
static inline bool has_candidate4(const struct chunk *c, int32_t pos)
{
    return c->links[pos] <= LZ_CHAINS_WINDOW;
}

static inline bool has_candidate3(const struct chunk *c, const struct lz_level *level, int32_t pos)
{
    return c->links3 != NULL && c->links3[pos] <= level->max_distance3;
}

/*
 * The best match at `pos`, found with 1/2^less of the level's depths; none unless lz_prefers
 * it to `least` bytes and `least_score`.  Knowing these saves work and changes no result: the
 * search leaves out only candidates that cannot be preferred.  (always_inline: gcc -O2, which
 * distributions use, would inline only some of the three calls in parse, which is 15 % slower.)
 */
static inline __attribute__((always_inline)) struct lz_match
search(const struct chunk *c, const struct lz_level *level, int32_t pos, uint32_t least,
       int32_t least_score, uint32_t less)
{
    const struct lz_match none = {0, 0, LZ_SCORE_MIN};
    const uint8_t *here = c->in + pos;
    const uint32_t left = (uint32_t)(c->size - pos);
    uint32_t max = left < LZ_MAX_MATCH ? left : LZ_MAX_MATCH;
    uint32_t enough = level->nice < max ? level->nice : max;
    struct lz_match best = none;

    if (max < least || max < LZ_MIN_MATCH)
        return none;
    if (level->long_depth > 0) {
        if (max >= LZ_LONG) {
            uint32_t length = LZ_LONG - 1;
            int32_t score = LZ_SCORE_MIN;

            if (least > LZ_LONG) {
                /* What is found below counts for nothing: begin with the least that does.  (A score
                 * is at most four times the length.) */
                uint32_t least_length = least_score > 0 ? (uint32_t)(least_score + 3) / 4 : 0;

                if (least_length > enough)
                    least_length = enough;
                if (least_length > LZ_LONG)
                    length = least_length - 1;
                score = least_score - 1;
            }
            best = follow(c->long_links, here, pos, length, score, max, level->long_depth >> less,
                          enough, ~(uint64_t)0 >> (64 - 8 * LZ_LONG));
        }
        if (best.length > 0 || least >= LZ_LONG)
            return lz_prefers(best, least, least_score) ? best : none;
        max = max < LZ_LONG - 1 ? max : LZ_LONG - 1;
        enough = enough < max ? enough : max;
    }
    if (max > LZ_MIN_MATCH && has_candidate4(c, pos))
        best = follow(c->links, here, pos, LZ_MIN_MATCH, LZ_SCORE_MIN, max, level->depth >> less,
                      enough, UINT32_MAX);
    if (best.length == 0 && has_candidate3(c, level, pos) &&
        ((load32(here - c->links3[pos]) ^ load32(here)) & 0xffffff) == 0) {
        best.length = LZ_MIN_MATCH;
        best.distance = c->links3[pos];
        best.score = lz_score(best.length, best.distance);
    }
    return lz_prefers(best, least, least_score) ? best : none;
}

/* Parses chunk c as chains.h says; writes its sequences to out, and returns where they end. */
static struct lz_sequence *parse(const struct chunk *c, const struct lz_level *level,
                                 struct lz_sequence *restrict out)
{
    const uint32_t least = lz_least_length(c->distinct, level->depth);
    struct lz_pending pending = {0, 0, 0, 0};
    int32_t pos = 0;

    while (pos < c->size) {
        struct lz_match match;

        /* In machine code, many positions have nothing to search.  (A match of more than four bytes implies a
         * link by four: its first four bytes have the same hash.) */
        if (!has_candidate4(c, pos) && !has_candidate3(c, level, pos)) {
            pos++;
            continue;
        }
        match = search(c, level, pos, least, LZ_SCORE_MIN, 0);
        if (match.length == 0) {
            pos++;
            continue;
        }
        while (level->lazy > 0 && match.length < level->nice) {
            struct lz_match next =
                search(c, level, pos + 1, match.length, match.score + LZ_GAIN_NEXT, 1);

            if (next.length > 0) {
                pos++;
                match = next;
                continue;
            }
            if (level->lazy < 2)
                break;
            next = search(c, level, pos + 2, match.length, match.score + LZ_GAIN_AFTER_NEXT, 2);
            if (next.length == 0)
                break;
            pos += 2;
            match = next;
        }
        if (!lz_join(&pending, pos, match.length, match.distance))
            out = lz_emit_next(out, &pending, pos, match.length, match.distance);
        pos += (int32_t)match.length;
    }
    return lz_emit_next(out, &pending, pos, 0, 0);
}

/* Makes the chunk's links by four bytes and, if the level needs them, by LZ_LONG.  `follows`: the tables have the
 * positions of the chunk before it.  If not, it is a segment's first. */
static void make_links(struct lz_matcher *m, const struct lz_level *level, const struct chunk *c,
                       bool follows)
{
    links_start_chunk(&m->by4, 4, follows);
    if (level->long_depth == 0) {
        links_make(&m->by4, 4, c->in, c->size);
        return;
    }
    links_start_chunk(&m->by7, LZ_LONG, follows);
    links_make_two(&m->by4, 4, &m->by7, LZ_LONG, c->in, c->size);
}

/* The same for a small segment's only chunk. */
static void make_small_links(struct lz_matcher *m, const struct lz_level *level,
                             const struct chunk *c)
{
    links_make_small(&m->by4, 4, c->in, c->size);
    if (level->long_depth > 0)
        links_make_small(&m->by7, LZ_LONG, c->in, c->size);
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;
    /* Such a segment is one chunk, and matching starts there. */
    const bool is_small = len <= LINKS_SMALL;
    bool follows = m->goes_on;

    for (size_t start = m->enter; start < m->end; start += LZ_CHUNK_SIZE, follows = true) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        struct chunk chunk = {
            .in = in + start,
            .size = (int32_t)(LZ_CHUNK_END(start, len) - start),
            .links = links_at(&m->by4),
            .long_links = links_at(&m->by7),
        };

        if (is_small)
            make_small_links(m, level, &chunk);
        else
            make_links(m, level, &chunk, follows);
        if (start < m->begin)
            continue;
        chunk.distinct = lz_count_distinct(chunk.in, chunk.size);
        if (lz_wants_length3(chunk.distinct, level->max_distance3)) {
            if (is_small)
                links_make_small(&m->by3, 3, chunk.in, chunk.size);
            else
                make_links3(&m->by3, chunk.in, chunk.size, start > 0 ? level->max_distance3 : 0);
            chunk.links3 = links_at(&m->by3);
        }
        result->sequences = out;
        out = parse(&chunk, level, out);
        result->count = (uint32_t)(out - result->sequences);
    }
}

const struct lz_finder lz_finder_chains = {
    .name = "chains",
    .gpu = &gpu_finder_chains,
    .in_parts = true,
    .find = find_matches,
};
