/*
 * glzss_basic.c - GLZSS-basic: the match at the last stop with the same hash
 *
 * After Y. Zu and B. Hua, "GLZSS: LZSS Lossless Data Compression Can Be Faster", GPGPU-7, 2014:
 * section 4 and Algorithm 1.
 *
 * The input is cut into independent chunks of 64 KiB. A walk goes through each chunk from its
 * second byte on. Each position that it visits is a "stop". The hash of the four bytes at a stop
 * selects an entry of a table. The position in that entry is the stop's candidate. The stop's own
 * position then replaces the candidate in the entry. If the four bytes at the candidate equal those
 * at the stop, there is a match. The match ends at the first byte that differs, and the walk goes
 * on after the match. If the four bytes are not equal, the walk goes on by one byte. So the table
 * holds stops only, and for each hash only the last stop. At first, all entries are 0, so the
 * chunk's first position is the candidate for each hash. A stop compares with one candidate only,
 * which makes the method fast.
 *
 * The paper's chunks are called packets here, since "chunk" means something else in this program.
 * The sizes of the table (4096 entries in section 6.4) and of a packet are keys.
 *
 * Differences from the paper, and their reasons (measured on the first 200 MB of linux-source-6.1's
 * tar file, where matches cover 88.3 % of the bytes with Algorithm 1 as in the paper):
 *
 * - DEFLATE replaces the paper's coding.
 *
 * - A candidate more than 32 KiB back is rejected, and the walk goes on by one byte. In the paper,
 *   a match may reach back to the start of its chunk; DEFLATE does not allow that. With this limit,
 *   matches cover 87.8 % of the bytes.
 *
 * - A match ends at the latest with this program's chunk of 32 KiB. So a match across the middle of
 *   a packet of 64 KiB is cut there; about half of the packets have such a match. There are no
 *   stops in the last three bytes of a chunk or packet; Algorithm 1 does not say which bytes it
 *   reads there.
 *
 * - The paper names no hash function. This one is level 1's (lzss/hashes.h).
 *
 * As in the paper, a match's length has no limit; lz_emit cuts matches that are too long for
 * DEFLATE. In the paper, all threads of a warp work on one stop at a time, so stops are entered in
 * the order of the walk, without a race: each thread reads one byte, and the warp takes one of the
 * two branches of Algorithm 1. So does this program with threads=32 (glzss_basic.cu). By default,
 * it takes several stops at a time on the GPU, but the result is the same (glzss.cuh).
 *
 * The size in the paper's own coding can be computed from this program's sequences. Each run of
 * literals is coded as its length and its bytes, each match as an offset of 16 bits and its length,
 * and each packet has a header of 8 bytes (section 6.5). A sequence without literals, at the same
 * distance as the one before, continues that match. The paper gives neither the width of a length
 * nor how the decoder tells a run from a match. With three bytes for a match and one for a run's
 * length, the compression ratio for the file above is 2.60; the paper reports 2.55 for linux-2.4.5.
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
    .twin = LZ_TWIN_WALKS,
    .in_parts = true,
    .plain_state = GLZSS_STATE_SIZE,
    .find = find_matches,
};

static const char *const threads[] = {"auto", "32", NULL};

static const struct paper_key keys[] = GLZSS_KEYS(threads, "32");

const struct paper_method paper_glzss_basic = {
    .name = "glzss-basic",
    .summary = "the match at the last stop with the same hash, in chunks of 64 KiB",
    .source = "Y. Zu, B. Hua: GLZSS: LZSS Lossless Data Compression Can Be Faster, GPGPU-7, 2014",
    .finder = &finder,
    .core_guess = 240e6,
    .keys = keys,
};
