/*
 * culzss.c - CULZSS: the longest match in a small window, found by trying every distance
 *
 * After A. Ozsoy and M. Swamy, "CULZSS: LZSS Lossless Data Compression on CUDA", IEEE CLUSTER 2011,
 * as the GLZSS paper (its section 2.3) and the gpuLZ paper (2.3, 2.4) describe it.
 *
 * The input is cut into independent chunks of 4 KiB. Each thread has one position. The thread
 * compares the bytes at this position with the bytes at every place in the window, which is the 128
 * bytes before the position. The longest match wins if it has at least three bytes. A match repeats
 * only bytes of the window, so it is never longer than its distance. A walk from the chunk's start
 * then selects matches: it takes the match at its position, and goes on after the match's end. The
 * search at one position does not depend on other positions, which suits a GPU. The time of a
 * search grows with the window.
 *
 * The paper's chunks are called packets here, since "chunk" means something else in this program.
 * The sizes of window and packet, and the greatest length of a match, are keys. Their defaults are
 * the papers' and the authors' code's: 128 bytes, 4 KiB, and 127 bytes. One byte each holds the
 * code's length and offset, so matches of more than 255 bytes, and windows of more than 256 bytes,
 * do not fit its coding.
 *
 * The key `search` selects the search at a position. The descriptions leave open which one is
 * meant, and the authors' code changed it:
 *
 * - all (default), which no code of theirs has: compares with every place, and takes the nearest of
 *   equally long matches, since DEFLATE codes short distances in fewer bits. With `far`, the .gz
 *   files of 32 MiB of the dictionary and of 32 MiB of the kernel source, as bench/papers.sh takes
 *   them, are 0.16 and 0.19 % larger.
 *
 * - far, as the code of 2011: compares with every place, the oldest first, and takes a match only
 *   if it is longer. So of equally long matches, the farthest wins.
 *
 * - both, as the code of 2012: one pointer goes through the window, the oldest byte first. A byte
 *   that differs ends a run, and the next run starts after this byte. So the search misses a run
 *   that starts inside another one. The farthest of equally long runs wins.
 *
 * - one-pass: as `both`, but the nearest of equally long runs wins. This shows what the one pass
 *   costs by itself.
 *
 * Differences from the paper, and their reasons:
 *
 * - DEFLATE replaces the paper's coding: a flag bit, then a literal byte, or one byte for the
 *   offset and one for the length. Since DEFLATE allows longer matches, adjacent matches at the
 *   same distance are joined (lzss/common.h). To get the paper's pairs back, cut each match, from
 *   its start, after every min(distance, greatest length) bytes.
 *
 * - The window is empty at a packet's start. The authors' code fills it with blanks first, but a
 *   DEFLATE match cannot reach before a file's first byte.
 *
 * - A search looks at the whole window. The authors' code leaves out the newest byte, and at the
 *   last 128 positions of a packet, also older bytes. Both look like slips.
 *
 * - The GPU does the walk, with one warp for each packet. In the paper, the CPU does the walk. For
 *   that, the matches of all positions must be copied to the CPU: twice as many bytes as the input
 *   has.
 */
#include "config.h"

#include "base/bytes.h"
#include "papers/culzss.h"
#include "papers/method.h"

/* If the match at distance d is longer than *best, makes it the best.  A match has at most `most`
 * bytes. */
static inline void try_distance(const uint8_t *here, uint32_t d, uint32_t most,
                                struct paper_match *best)
{
    uint32_t length;

    if (load32(here - d) << 8 != load32(here) << 8 ||
        here[best->length] != (here - d)[best->length])
        return;
    length = (uint32_t)match_length(here, here - d, LZ_MIN_MATCH, culzss_limit(most, d));
    if (length > best->length)
        *best = (struct paper_match){length, d};
}

/* Compares with every place, the nearest first. Returns the longest match, and of equally long ones
 * the nearest. A match has at most `most` bytes. */
static struct paper_match nearest_at(const uint8_t *here, uint32_t reach, uint32_t most)
{
    struct paper_match best = {0, 0};

    for (uint32_t d = LZ_MIN_MATCH; d <= reach && best.length < most; d++)
        try_distance(here, d, most, &best);
    return best;
}

/* Like nearest_at, but the farthest place comes first, and the farthest of equally long matches
 * wins. A match is never longer than its distance, so the search ends where no distance is above
 * the best length. */
static struct paper_match farthest_at(const uint8_t *here, uint32_t reach, uint32_t most)
{
    struct paper_match best = {0, 0};

    for (uint32_t d = reach; d >= LZ_MIN_MATCH && d > best.length && best.length < most; d--)
        try_distance(here, d, most, &best);
    return best;
}

static struct paper_match match_at(const struct lz_level *level, void *state, const uint8_t *in,
                                   size_t start, size_t pos, size_t end)
{
    const uint32_t search = level->param[CULZSS_SEARCH];
    const uint32_t packet = level->param[CULZSS_CHUNK];
    const uint32_t at = (uint32_t)(pos - start);
    const uint32_t reach = culzss_reach(at, level->param[CULZSS_WINDOW], packet);
    const uint32_t left = culzss_left(at, (uint32_t)(end - start), packet);
    const uint32_t most = left < level->param[CULZSS_LENGTH] ? left : level->param[CULZSS_LENGTH];
    struct paper_match best = {0, 0};

    (void)state;
    if (most < LZ_MIN_MATCH)
        return best;
    if (search == CULZSS_ALL)
        return nearest_at(in + pos, reach, most);
    if (search == CULZSS_FAR)
        return farthest_at(in + pos, reach, most);
    best.length = culzss_one_pass(in + pos, reach, most, search, &best.distance);
    if (best.length < LZ_MIN_MATCH)
        best.length = 0;
    return best;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    paper_find_greedily(m, level, in, len, match_at);
}

static const struct lz_finder finder = {
    .name = "culzss",
    .twin = LZ_TWIN,
    .in_parts = true,
    .find = find_matches,
};

static const char *const searches[] = {"all", "far", "one-pass", "both", NULL};

static const struct paper_key keys[] = {
    {.name = "window",
     .help = "bytes before a position that are searched",
     .usual = 128,
     .least = LZ_MIN_MATCH,
     .most = CULZSS_WINDOW_MAX},
    {.name = "chunk",
     .help = "bytes of the chunks, which no match leaves",
     .usual = 4096,
     .least = CULZSS_PACKET_MIN,
     .most = LZ_CHUNK_SIZE,
     .is_power = true},
    {.name = "length",
     .help = "bytes of the longest match",
     .usual = 127,
     .least = LZ_MIN_MATCH,
     .most = LZ_MAX_MATCH},
    {.name = "search",
     .help = "all places (all, far) or one pass; nearest (all, one-pass) or farthest of equals",
     .usual = CULZSS_ALL,
     .origin = "value ours, the authors': far in 2011, both in 2012",
     .words = searches},
    {.name = NULL},
};

const struct paper_method paper_culzss = {
    .name = "culzss",
    .summary = "the longest match in a small window, by comparing with all of it",
    .source = "A. Ozsoy, M. Swamy: CULZSS: LZSS Lossless Data Compression on CUDA, CLUSTER 2011",
    .finder = &finder,
    .core_guess = 12e6,
    .keys = keys,
};
