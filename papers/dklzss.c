/*
 * dklzss.c - DKLZSS: the longest match in all of a chunk so far, by a growing failure table
 *
 * After V. Tulsyan et al., "DKLZSS - A Dynamic KMP String Matching Method for Parallel LZSS
 * Compression on GPGPUs", which has no date, and references up to 2014.  The input is cut into chunks
 * that know nothing of each other (section 6).  A walk goes through a chunk (5.3, Algorithm 3).  For
 * each position that it comes to, what follows there is looked for in all of the chunk before, as
 * Knuth, Morris and Pratt look for a pattern in a text (5.4, Algorithm 2): where a match fails, the
 * failure table says how much of its end may be the start of another one, and no byte of the text has
 * to be read again.  The table is dynamic: an entry is computed when a match of that length, or a longer
 * one, fails for the first time (5.1, Algorithm 1).  The longest match wins, if it has three bytes or
 * more, and the first in the text, which is the farthest, of equal ones.  It ends before the position,
 * so that it is never longer than its distance.
 *
 * Here the paper's chunks are called packets, as a chunk is something else in this program.
 *
 * The paper does not say what a pointer or a flag takes; it has no sizes of compressed data.  In the
 * usual coding, a flag bit and then a byte, or log2(packet) bits each for a distance and a length,
 * the size follows from the sequences.  Those with no literals before them and at the distance of the
 * one before belong to one match.  A match of n bytes at distance d is n / d matches of the paper,
 * rounded up: matches side by side at one distance are joined here (lzss/common.h), and all but the
 * last of them are as long as their distance.  With `lookahead`, no match is longer than that either.
 *
 * Where this differs from the paper, and why:
 *
 * - Its coding is DEFLATE's.
 * - Algorithm 1, as printed, computes an entry from itself.  What is meant is the table of Knuth, Morris
 *   and Pratt: each entry follows from those before it.  So these are computed first.
 * - Algorithm 2 reads beyond the end of the data.  Here a match ends with its packet.
 * - The paper names no size of its chunks.  4 KiB are those of CULZSS, with which it compares itself.
 * - `window` and `lookahead` are not the paper's, which has no limits; without them, neither has this.
 * - Where nothing matches, the next byte of the text that is the pattern's first is looked for by
 *   memchr, and a search ends where no longer match is possible.  That is only quicker.
 * - The paper has a thread for each chunk.  The GPU's twin has a warp, whose lanes share the text.
 */
#include "config.h"

#include <string.h>

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
    const uint8_t *const pattern = in + pos;
    const uint8_t *at = pattern - (before < window ? before : window); /* of the match */
    struct paper_match best = {0, 0};
    uint16_t *const failures = state;
    uint32_t known = 0, match = 0;

    /* What matches now is never longer than the best match. */
    while (best.length < most && at + best.length < pattern) {
        if (at[match] == pattern[match]) {
            match++;
            if (match > best.length)
                best = (struct paper_match){match, (uint32_t)(pattern - at)};
        } else if (match == 0) {
            at = memchr(at, pattern[0], (size_t)(pattern - at));
            if (at == NULL)
                break;
        } else {
            for (; known < match; known++)
                dklzss_add_failure(failures, 1, known, pattern);
            at += match - failures[match];
            match = failures[match];
        }
    }
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
    .name = "dklzss",
    .gpu = &gpu_finder_dklzss,
    .in_parts = true,
    .plain_state = (DKLZSS_LENGTH_MAX + 1) * sizeof(uint16_t),
    .find = find_matches,
};

static const struct paper_key keys[] = {
    {.name = "window",
     .help = "bytes before a position that are searched",
     .usual = DKLZSS_PACKET_MAX,
     .least = LZ_MIN_MATCH,
     .most = DKLZSS_PACKET_MAX},
    {.name = "lookahead",
     .help = "bytes of the longest match",
     .usual = DKLZSS_LENGTH_MAX,
     .least = LZ_MIN_MATCH,
     .most = DKLZSS_LENGTH_MAX},
    {.name = "chunk",
     .help = "bytes of the chunks, which no match leaves",
     .usual = 4096,
     .least = DKLZSS_PACKET_MIN,
     .most = DKLZSS_PACKET_MAX,
     .is_power = true},
    {.name = NULL},
};

const struct paper_method paper_dklzss = {
    .name = "dklzss",
    .summary = "the longest match in all of a chunk so far, by a growing failure table",
    .source = "V. Tulsyan et al.: DKLZSS - A Dynamic KMP String Matching Method for Parallel LZSS "
              "Compression on GPGPUs, not before 2014",
    .finder = &finder,
    .core_guess = 3e6,
    .keys = keys,
};
