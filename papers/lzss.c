/*
 * lzss.c - LZSS with hash chains: the longest match in a window, or a better one at the next few
 * positions
 *
 * After M. Mathur, "Analysis of Parallel Lempel-Ziv Compression Using CUDA", M.Tech. dissertation,
 * Delhi Technological University 2013: LZSS (section 6), with the DJB2 hash (6.2) or with Murmur3
 * (7), which the dissertation proposes.
 *
 * A hash table holds all positions of the window, which is the 4 KiB before a position, by the hash
 * of their first three bytes. The positions in a bucket form a chain. A search follows the chain,
 * and takes the longest match of 3 to 18 bytes. If the search at the walk's position finds a match,
 * the matches at the next 8 positions are compared with it, and the best of all is taken (the
 * pseudocode of section 6). The bytes before that match become literals. The walk goes on after the
 * match.
 *
 * The CPU counts two things for -vv. Probes are the positions in chains that searches look at;
 * collisions are the probes whose three bytes differ from those at the search's position. The
 * dissertation compares the two hashes by the collisions in its serial programs (11.1.5, 12.1.5). A
 * position is searched at most once, and only if the walk visits it or looks ahead to it.
 *
 * Differences from the paper, and their reasons:
 *
 * - DEFLATE replaces the paper's coding. Adjacent matches at one distance are therefore joined
 *   (lzss/common.h).
 *
 * - The parallel version (section 10) cuts the input into chunks, of 1 MiB in its code (16.1), and
 *   starts each with an empty window. These are this program's segments. In addition, no match here
 *   crosses the end of a chunk of 32 KiB, since these chunks are matched side by side.
 *
 * - A search at a position ahead of the walk sees the whole window before its own position. In the
 *   pseudocode, it sees only positions before the walk's. Then the result of a search would depend
 *   on the walk, and a GPU could not search all positions at the same time.
 *
 * - The paper does not define the best match. By default, the longest is the best. With
 *   choice=saving, the best match is the one that saves the most bits, in the paper's coding, for
 *   each byte that the walk advances. Of equally good ones, the first wins. In the paper's coding,
 *   4 MiB of source code become 1.88 MB by default, 1.68 MB with choice=saving, and 1.60 MB with
 *   ahead=0: the literals before a match ahead cost more than its length gains.
 *
 * - Of equally long matches, the nearest wins; the paper leaves this open.
 *
 * - The paper does not give the table's size. By default, the table has a quarter as many buckets
 *   as the window has bytes, as in M. Dipperstein's LZSS, to which the paper refers [4].
 *
 * - By default, chains have no limit, as in section 6. In the code for LZ4 (16.1), a bucket has a
 *   fixed number of places, not given, and drops positions when it is full. Instead of that, the
 *   key `chain` limits how many positions of a chain a search looks at, beginning with the nearest.
 *
 * - The code of DJB2 (16.2) hashes four bytes; its comment and the text say three. Here, it hashes
 *   three bytes, since with four, most matches of three bytes would not be found.
 *
 * - The walk begins with the first byte, so a match may start at the second byte. Such a match
 *   repeats bytes of itself. The paper's code allows that, too, since its window and look-ahead are
 *   one buffer. The pseudocode writes three literals before it looks for matches.
 *
 * The size in the paper's coding can be computed from this program's sequences. First, join a
 * sequence without literals to the one before if both have the same distance. Each literal takes 9
 * bits. A pair takes 17 bits, with 12 bits for the distance and 4 for the length (figure 4), so a
 * match takes 17 bits for every 18 bytes or part of 18 bytes. This holds if chains are unlimited:
 * then a match that is shorter than 18 bytes ends where bytes differ, or at a chunk's end.
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "papers/lzss.h"
#include "papers/method.h"

/* How many matches are remembered. The match at a position is at index (position % REMEMBERED). A
 * power of two above LZSS_AHEAD_MAX. */
#define REMEMBERED 32

_Static_assert(REMEMBERED > LZSS_AHEAD_MAX, "all that is ahead");

/* The finder's memory. Positions are counted from the start of the history, so that they fit in 16
 * bits. */
struct lzss_state {
    uint16_t table[LZSS_BUCKETS_MAX]; /* the last position in each bucket */
    /* The distance from each position to the position before it in the same bucket; 0: none. */
    uint16_t links[LZ_WINDOW_SIZE + LZ_CHUNK_SIZE];
    struct paper_match found[REMEMBERED];
};

/* The entry of an empty bucket. It would be the last possible position, which no other position can
 * follow, so no link leads to it. */
#define NOWHERE 0xffff

/* The state of a chunk's searches. */
struct lzss_search {
    struct lzss_state *state;
    const uint32_t *param;
    const uint8_t *base; /* position 0 */
    uint32_t end;
    /* Matches are remembered for all positions from the walk's own to known - 1. */
    uint32_t known;
    uint64_t probes, collisions;
};

/* Enters all positions before s->end. */
static void make_links(const struct lzss_search *s)
{
    const uint32_t window = s->param[LZSS_WINDOW], hash = s->param[LZSS_HASH];
    const uint32_t buckets = s->param[LZSS_BUCKETS];

    memset(s->state->table, 0xff, buckets * sizeof(s->state->table[0]));
    for (uint32_t pos = 0; pos < s->end; pos++) {
        uint16_t *const entry = &s->state->table[lzss_hash(load32(s->base + pos), hash, buckets)];
        const uint32_t distance = pos - *entry;

        s->state->links[pos] = (uint16_t)(distance - 1 < window ? distance : 0);
        *entry = (uint16_t)pos;
    }
}

/* Finds the longest match at a position. */
static struct paper_match search_at(struct lzss_search *s, uint32_t pos)
{
    const uint32_t length = s->param[LZSS_LENGTH], window = s->param[LZSS_WINDOW];
    const uint32_t most = s->end - pos < length ? s->end - pos : length;
    const uint8_t *const here = s->base + pos;
    const uint32_t want = load32(here) << 8;
    struct paper_match best = {0, 0};
    uint32_t left = s->param[LZSS_CHAIN], there = pos;

    if (most < LZ_MIN_MATCH)
        return best;
    for (; left > 0 && best.length < most; left--) {
        const uint32_t link = s->state->links[there];
        uint32_t n;

        there -= link;
        if (link == 0 || pos - there > window)
            break;
        s->probes++;
        if (load32(s->base + there) << 8 != want) {
            s->collisions++;
            continue;
        }
        /* Skip a candidate that cannot give a longer match. */
        if (here[best.length] != s->base[there + best.length])
            continue;
        n = (uint32_t)match_length(here, s->base + there, LZ_MIN_MATCH, most);
        if (n > best.length)
            best = (struct paper_match){n, pos - there};
    }
    return best;
}

/* Returns the match at a position. If no match is remembered for the position, searches for it.
 * Call this function for positions in order, without leaving one out. */
static struct paper_match match_at(struct lzss_search *s, uint32_t pos)
{
    struct paper_match *const found = &s->state->found[pos % REMEMBERED];

    if (pos >= s->known) {
        *found = search_at(s, pos);
        s->known = pos + 1;
    }
    return *found;
}

/* If there is a match at `pos`, returns the best match at `pos` or a few positions ahead, and sets
 * *skipped to the number of bytes between `pos` and that match. */
static struct paper_match choose(struct lzss_search *s, uint32_t pos, uint32_t *skipped)
{
    const uint32_t choice = s->param[LZSS_CHOICE];
    struct paper_match best = match_at(s, pos);
    uint32_t score;

    *skipped = 0;
    if (best.length == 0)
        return best;
    score = lzss_score(best.length, 0, choice);
    /* Stop where even a match of the greatest length would not be better than the best so far. */
    for (uint32_t k = 1; k <= s->param[LZSS_AHEAD] && pos + k < s->end &&
                         lzss_score(s->param[LZSS_LENGTH], k, choice) > score;
         k++) {
        const struct paper_match next = match_at(s, pos + k);

        if (next.length > 0 && lzss_score(next.length, k, choice) > score) {
            score = lzss_score(next.length, k, choice);
            best = next;
            *skipped = k;
        }
    }
    return best;
}

/* Matches the chunk from position `begin` on. Returns the end of its sequences. */
static struct lz_sequence *walk(struct lzss_search *s, uint32_t begin, struct lz_sequence *out)
{
    struct lz_pending p = {0, 0, 0, 0};

    s->known = begin;
    for (uint32_t pos = begin; pos < s->end;) {
        uint32_t skipped;
        const struct paper_match match = choose(s, pos, &skipped);
        int32_t at;

        if (match.length == 0) {
            pos++;
            continue;
        }
        at = (int32_t)(pos + skipped - begin);
        if (!lz_join(&p, at, match.length, match.distance))
            out = lz_emit_next(out, &p, at, match.length, match.distance);
        pos += skipped + match.length;
    }
    return lz_emit_next(out, &p, 0, 0, 0);
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;
    struct lzss_search s = {.state = m->state, .param = level->param};

    for (size_t start = m->begin; start < m->end; start += LZ_CHUNK_SIZE) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        const size_t window = level->param[LZSS_WINDOW];
        const size_t history = start < window ? start : window;

        s.base = in + start - history;
        s.end = (uint32_t)(LZ_CHUNK_END(start, len) - start + history);
        make_links(&s);
        result->sequences = out;
        out = walk(&s, (uint32_t)history, out);
        result->count = (uint32_t)(out - result->sequences);
    }
    m->counters[0] += s.probes;
    m->counters[1] += s.collisions;
}

static const char *const counter_names[LZ_COUNTERS] = {"probes", "collisions"};

static const struct lz_finder finder = {
    .name = "lzss",
    .gpu = &gpu_finder_lzss,
    .in_parts = true,
    .plain_state = sizeof(struct lzss_state),
    .find = find_matches,
    .counter_names = counter_names,
};

static const char *const hashes[] = {"djb2", "murmur3", NULL};
static const char *const choices[] = {"longest", "saving", NULL};

static const struct paper_key keys[] = {
    {.name = "window",
     .help = "bytes before a position that are searched",
     .usual = 4096,
     .least = 1,
     .most = LZ_WINDOW_SIZE},
    {.name = "length",
     .help = "bytes of the longest match",
     .usual = 18,
     .least = LZ_MIN_MATCH,
     .most = LZ_MAX_MATCH},
    {.name = "hash", .help = "hash of three bytes", .usual = LZSS_MURMUR3, .words = hashes},
    {.name = "buckets",
     .help = "buckets of the hash table",
     .usual = 1024,
     .least = LZSS_BUCKETS_MIN,
     .most = LZSS_BUCKETS_MAX,
     .is_power = true},
    {.name = "chain",
     .help = "positions of a bucket that a search looks at",
     .usual = LZ_WINDOW_SIZE,
     .least = 1,
     .most = LZ_WINDOW_SIZE},
    {.name = "ahead",
     .help = "positions after a match's start at which one may be better",
     .usual = 8,
     .least = 0,
     .most = LZSS_AHEAD_MAX},
    {.name = "choice",
     .help = "which match is the best, of these",
     .usual = LZSS_LONGEST,
     .words = choices},
    {.name = NULL},
};

const struct paper_method paper_lzss = {
    .name = "lzss",
    .summary = "the longest match in a window, by hash chains, and the best of the next few",
    .source = "M. Mathur: Analysis of Parallel Lempel-Ziv Compression Using CUDA, DTU Delhi, 2013",
    .finder = &finder,
    .core_guess = 14e6,
    .keys = keys,
};
