/*
 * dklzss.c - DKLZSS: the longest match anywhere before in the chunk, found with a failure table
 *
 * After V. Tulsyan et al., "DKLZSS - A Dynamic KMP String Matching Method for Parallel LZSS
 * Compression on GPGPUs", which has no date, and a reference of 2015.
 *
 * The input is cut into independent chunks (section 6). A walk goes through each chunk (5.3,
 * Algorithm 3). At each position of the walk, the pattern is the bytes from the position on, and
 * the text is the chunk's bytes before it. The search is that of Knuth, Morris and Pratt (5.4,
 * Algorithm 2): when a match cannot be extended, the failure table says how many of its last bytes
 * may be the start of another match, so no byte of the text is read twice. The table is dynamic:
 * its entry for a length is computed when a match of at least that length fails for the first time
 * (5.1, Algorithm 1). The longest match wins if it has at least three bytes; of equally long ones,
 * the first in the text, which is the farthest. A match ends before the position, so it is never
 * longer than its distance. The time for a position grows with the text, but not with the number of
 * partial matches in it.
 *
 * The paper's chunks are called packets here, since "chunk" means something else in this program.
 *
 * The paper gives neither the widths of pointers and flags nor compressed sizes. The size in the
 * usual coding (a flag bit, then a byte, or log2(packet) bits each for a distance and a length) can
 * be computed from this program's sequences. First, join a sequence without literals to the one
 * before if both have the same distance. Then count a match of n bytes at distance d as n / d
 * matches of the paper, rounded up: this program has joined them (lzss/common.h), and all but the
 * last were as long as their distance. With the key `lookahead`, the paper's matches also end at
 * that length.
 *
 * Differences from the paper, and their reasons:
 *
 * - DEFLATE replaces the paper's coding.
 *
 * - Algorithm 1, as printed, computes an entry from itself. The authors must mean the table of
 *   Knuth, Morris and Pratt, in which each entry is computed from earlier entries. So here, missing
 *   earlier entries are computed first.
 *
 * - Algorithm 2 reads past the end of the data. Here, no match crosses the end of its packet.
 *
 * - The paper names no size for its chunks; it measures several. 4 KiB is the size in CULZSS, to
 *   which the paper compares itself.
 *
 * - The keys `window` and `lookahead` limit distances and lengths. The paper has no such limits; by
 *   default, there are none here either.
 *
 * - After a complete mismatch, memchr looks for the pattern's first byte, and a search ends when no
 *   longer match is possible. Both changes only save time.
 *
 * - The paper has one thread of a GPU for each chunk (section 6), as `threads=1` has. By default,
 *   the GPU twin has a warp, whose lanes share the text. Both find the same matches.
 */
#include "config.h"

#include "papers/dklzss.h"
#include "papers/method.h"

static struct paper_match match_at(const struct lz_level *level, void *state, const uint8_t *in,
                                   size_t start, size_t pos, size_t end)
{
    const uint32_t packet = level->param[DKLZSS_CHUNK], window = level->param[DKLZSS_WINDOW];
    const uint32_t before = (uint32_t)(pos - start) & (packet - 1);
    const uint32_t left = packet - before < end - pos ? packet - before : (uint32_t)(end - pos);
    const uint32_t most =
        left < level->param[DKLZSS_LOOKAHEAD] ? left : level->param[DKLZSS_LOOKAHEAD];
    struct paper_match best = {0, 0};

    best.length =
        dklzss_search(in + pos, before < window ? before : window, most, state, &best.distance);
    return best;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    paper_find_greedily(m, level, in, len, match_at);
}

static const struct lz_finder finder = {
    .name = "dklzss",
    .twin = LZ_TWIN,
    .in_parts = true,
    .plain_state = (DKLZSS_LENGTH_MAX + 1) * sizeof(uint16_t),
    .find = find_matches,
};

static const char *const threads[] = {"auto", "1", NULL};

static const struct paper_key keys[] = {
    {.name = "window",
     .help = "bytes before a position that are searched",
     .usual = DKLZSS_PACKET_MAX,
     .origin = "key ours",
     .least = LZ_MIN_MATCH,
     .most = DKLZSS_PACKET_MAX},
    {.name = "lookahead",
     .help = "bytes of the longest match",
     .usual = DKLZSS_LENGTH_MAX,
     .origin = "key ours",
     .least = LZ_MIN_MATCH,
     .most = DKLZSS_LENGTH_MAX},
    {.name = "chunk",
     .help = "bytes of the chunks, which no match leaves",
     .usual = 4096,
     .origin = "value ours, the paper gives none",
     .least = DKLZSS_PACKET_MIN,
     .most = DKLZSS_PACKET_MAX,
     .is_power = true},
    {.name = "threads",
     .help = "threads of a GPU that work on a chunk",
     .usual = PAPER_AUTO,
     .origin = "value ours, the paper's: 1",
     .words = threads},
    {.name = NULL},
};

const struct paper_method paper_dklzss = {
    .name = "dklzss",
    .summary = "the longest match in all of a chunk so far, by a growing failure table",
    .source = "V. Tulsyan et al.: DKLZSS - A Dynamic KMP String Matching Method for Parallel LZSS "
              "Compression on GPGPUs, not before 2015",
    .finder = &finder,
    .core_guess = 3e6,
    .keys = keys,
};
