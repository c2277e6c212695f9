/*
 * glzss_basic.c - GLZSS-basic: the match at the last stop with the same hash
 *
 * After Y. Zu and B. Hua, "GLZSS: LZSS Lossless Data Compression Can Be Faster", GPGPU-7, 2014:
 * section 4 and Algorithm 1.
 *
 * The input is cut into independent chunks of 64 KiB. A walk goes through each chunk from its
 * second byte on. Each position of the walk is a stop. The hash of the four bytes at a stop selects
 * an entry of a table. The position in the entry is the candidate, and the stop replaces it. If the
 * four bytes there are equal, the match is as long as bytes are equal, and the walk goes on after
 * it. If not, the walk goes on by one byte. So the table holds stops only, and each stop displaces
 * all earlier ones of its hash. Entries start as 0, the chunk's first position: until a stop is
 * entered, this position is each hash's candidate. There is one comparison for each stop, which
 * makes the method fast.
 *
 * The paper's chunks are called packets here, since "chunk" means something else in this program.
 * The sizes of the table (4096 entries in section 6.4) and of a packet are keys.
 *
 * Differences from the paper, and their reasons (measured on the first 200 MB of linux-source-6.1's
 * tar file; the paper's Algorithm 1 has 88.3 % of its bytes in matches):
 *
 * - DEFLATE replaces the paper's coding.
 *
 * - A candidate more than 32 KiB back is rejected, and the walk goes on by one byte. The paper
 *   reaches as far as its chunk, but DEFLATE does not. That leaves 87.8 % in matches.
 *
 * - A match ends with the chunk of this program, so it may be cut in the middle of a packet of 64
 *   KiB; that happens in about half of the packets. There are no stops where a chunk or a packet
 *   has fewer than four bytes left; Algorithm 1 does not say which bytes it reads there.
 *
 * - The paper names no hash function. This one is level 1's (lzss/hashes.h).
 *
 * As in the paper, a match's length has no limit; lz_emit cuts matches that are too long for
 * DEFLATE. In the paper, all threads of a warp are at one stop, so there is no race for an entry:
 * stops are entered in the order of the walk. On the GPU, this program takes several stops at a
 * time, and still keeps their order (glzss.cuh).
 *
 * The size in the paper's own coding follows from the sequences. Each run of literals is a pair of
 * its length and its bytes, each match is a pair of an offset of 16 bits and its length, and each
 * packet has a header of 8 bytes (section 6.5). A sequence without literals, at the distance of the
 * one before, continues that match. The paper gives neither the width of a length nor the mark that
 * tells the two kinds of pairs apart. With three bytes for a match and one for a run, the file
 * above is 2.60 times as large as its pairs; the paper has 2.55 for linux-2.4.5.
 */
#include "config.h"

#include "papers/glzss_find.h"

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    glzss_find(m, level, in, len, false);
}

static const struct lz_finder finder = {
    .name = "glzss-basic",
    .gpu = &gpu_finder_glzss_basic,
    .in_parts = true,
    .plain_state = GLZSS_STATE_SIZE,
    .find = find_matches,
};

const struct paper_method paper_glzss_basic = {
    .name = "glzss-basic",
    .summary = "the match at the last stop with the same hash, in chunks of 64 KiB",
    .source = "Y. Zu, B. Hua: GLZSS: LZSS Lossless Data Compression Can Be Faster, GPGPU-7, 2014",
    .finder = &finder,
    .core_guess = 240e6,
    .keys = glzss_keys,
};
