/*
 * culzss.c - CULZSS: the longest match in a small window, by comparing with all of it
 *
 * After A. Ozsoy and M. Swamy, "CULZSS: LZSS Lossless Data Compression on CUDA", IEEE CLUSTER 2011, as
 * the GLZSS paper (its section 2.3) and the gpuLZ paper (2.3, 2.4) describe it.  The input is cut
 * into chunks of 4 KiB that know nothing of each other.  Every thread has a position of its own and
 * compares what follows there with every place in the window, the 128 bytes before; the longest
 * match wins, if it has three bytes or more.  Of all positions' matches, those are taken that a walk
 * from the chunk's start meets: a match covers the positions after it.  What a match repeats lies
 * whole in the window, so a match is never longer than its distance.
 *
 * Here the paper's chunks are called packets, as a chunk is something else in this program.  Window,
 * packet and the greatest length, which the authors' code has as 128, are parameters.
 *
 * Where this differs from the paper, and why (measured on 32 MiB of the dictionary and of the kernel
 * source that bench/papers.sh takes):
 *
 * - Its coding (a flag bit, then a byte, or a byte each for offset and length) is DEFLATE's.  So
 *   matches side by side at one distance are one match (lzss/common.h): the paper's pairs are had
 *   by cutting it, from its start on, at every min(distance, greatest length) bytes.
 * - Of matches of equal length, the nearest wins; the descriptions do not say which.  DEFLATE says
 *   small distances in fewer bits: with the farthest, the .gz is 0.16 and 0.19 % larger.
 * - The window is empty where a packet starts.  The authors' code fills it with blanks first, but
 *   DEFLATE has nothing before a file's first byte.
 * - The walk is done by the GPU, a warp for each packet, where the paper's is the CPU's: all
 *   positions' matches would be twice the input's size to copy.
 */
#include "config.h"

#include "base/bytes.h"
#include "papers/culzss.h"
#include "papers/method.h"

static struct paper_match match_at(const struct lz_level *level, void *state, const uint8_t *in,
                                   size_t start, size_t pos, size_t end)
{
    const uint32_t packet = level->param[CULZSS_CHUNK];
    const uint32_t at = (uint32_t)(pos - start);
    const uint32_t reach = culzss_reach(at, level->param[CULZSS_WINDOW], packet);
    const uint32_t left = culzss_left(at, (uint32_t)(end - start), packet);
    const uint32_t most = left < level->param[CULZSS_LENGTH] ? left : level->param[CULZSS_LENGTH];
    const uint8_t *const here = in + pos;
    const uint32_t want = load32(here) << 8;
    struct paper_match best = {0, 0};

    (void)state;
    if (most < LZ_MIN_MATCH)
        return best;
    for (uint32_t d = LZ_MIN_MATCH; d <= reach && best.length < most; d++) {
        uint32_t length;

        if (load32(here - d) << 8 != want || here[best.length] != (here - d)[best.length])
            continue;
        length = (uint32_t)match_length(here, here - d, LZ_MIN_MATCH, culzss_limit(most, d));
        if (length > best.length)
            best = (struct paper_match){length, d};
    }
    return best;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    paper_find_greedily(m, level, in, len, match_at);
}

static const struct lz_finder finder = {
    .name = "culzss",
    .gpu = &gpu_finder_culzss,
    .in_parts = true,
    .find = find_matches,
};

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
     .usual = 128,
     .least = LZ_MIN_MATCH,
     .most = LZ_MAX_MATCH},
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
