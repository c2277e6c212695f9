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
 *   starts each with an empty window. These are this program's segments: `-b 1024` makes them as
 *   large. In addition, no match here crosses the end of a chunk of 32 KiB, since these chunks are
 *   matched side by side.
 *
 * - In the paper, one thread of a GPU does all work for its chunk of 1 MiB (16.1). With threads=1,
 *   one thread does all work for a segment. It takes the segment's chunks of 32 KiB one after
 *   another, and enters the window before each chunk again. By default, many threads work on each
 *   chunk of 32 KiB. Both find the same matches.
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
 *   fixed number of places, not given, and drops positions while it is full. Instead of that, the
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

#include "papers/lzss.h"
#include "papers/method.h"

/* Matches the chunk that w is at the start of. Returns the end of its sequences. */
static struct lz_sequence *match_chunk(struct lzss_walk *w, struct lz_sequence *out)
{
    struct lz_pending p = {0, 0, 0, 0};

    for (;;) {
        uint32_t at = 0;
        const struct lzss_match match = lzss_next(w, &at);
        const int32_t start = (int32_t)(at - w->history);

        if (match.length == 0)
            return lz_emit_next(out, &p, 0, 0, 0);
        if (!lz_join(&p, start, match.length, match.distance))
            out = lz_emit_next(out, &p, start, match.length, match.distance);
    }
}

void lzss_find(struct lz_matcher *m, const struct lzss_numbers *numbers, const uint8_t *in,
               size_t len)
{
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;
    const size_t window = numbers->packet > 0 ? 0 : numbers->window;
    struct lzss_walk w = {.state = m->state, .numbers = numbers};

    for (size_t start = m->begin; start < m->end; start += LZ_CHUNK_SIZE) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        const size_t history = start < window ? start : window;

        lzss_begin(&w, in + start - history, (uint32_t)history,
                   (uint32_t)(LZ_CHUNK_END(start, len) - start + history));
        result->sequences = out;
        out = match_chunk(&w, out);
        result->count = (uint32_t)(out - result->sequences);
    }
    m->counters[0] += w.probes;
    m->counters[1] += w.collisions;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    const struct lzss_numbers numbers = lzss_numbers_of(level);

    lzss_find(m, &numbers, in, len);
}

static const char *const counter_names[LZ_COUNTERS] = {"probes", "collisions"};

static const struct lz_finder finder = {
    .name = "lzss",
    .twin = LZ_TWIN,
    .in_parts = true,
    .plain_state = sizeof(struct lzss_state),
    .find = find_matches,
    .counter_names = counter_names,
};

static const char *const hashes[] = {"djb2", "murmur3", NULL};
static const char *const choices[] = {"longest", "saving", NULL};
static const char *const threads[] = {"auto", "1", NULL};

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
     .origin = "value ours, the paper gives none",
     .least = LZSS_BUCKETS_MIN,
     .most = LZSS_BUCKETS_MAX,
     .is_power = true},
    {.name = "chain",
     .help = "positions of a bucket that a search looks at",
     .usual = LZ_WINDOW_SIZE,
     .origin = "key ours",
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
     .origin = "key ours",
     .words = choices},
    {.name = "threads",
     .help = "threads of a GPU that work on a segment",
     .usual = PAPER_AUTO,
     .origin = "value ours, the paper's: 1",
     .words = threads},
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
