/*
 * glzss_tagging.c - GLZSS-tagging: matches four bytes at a step, with the table leading on
 *
 * After Y. Zu and B. Hua, "GLZSS: LZSS Lossless Data Compression Can Be Faster", GPGPU-7, 2014:
 * section 5 and Algorithm 2.  As in GLZSS-basic (glzss_basic.c), a chunk is walked from stop to stop,
 * and a table has a candidate for each hash of four bytes: the chunk's first position, before
 * something is entered.  But a stop compares eight bytes.  If all are equal, the first four are
 * tagged with the distance, and the walk goes on behind them; if four to seven are, it goes on
 * behind these; if fewer, one byte is tagged as a literal.  Neighbours with one tag are one match.
 * So that a long match is met again at its next step, each stop also enters the position four bytes
 * behind its candidate, and does so after it has entered itself.
 *
 * In effect, a match is as long as in GLZSS-basic with the same candidate.  Every fourth position of
 * it is entered, as far as four of its bytes are left there, and then the position four bytes behind
 * the candidate of the last of these.  In GLZSS-basic, its first position alone is entered.
 *
 * Packets, and the parameters, are as in glzss_basic.c.
 *
 * Where this differs from the paper, and why (measured as in glzss_basic.c):
 *
 * - The position behind the candidate is entered only if the walk is past it when it leaves the stop.
 *   This leaves out some where there is no match and the candidate is less than four bytes back.
 *   Algorithm 2 enters these, too (line 8), and so lets a stop find a position that is ahead of it,
 *   or the stop itself.  The latter is tagged as four literals, as its offset is 0, and makes the
 *   next stop find itself.  As printed, most chunks are literals from their fifth byte on: at the
 *   stops 1 to 3 the candidate is 0, so position 4 is entered before it is a stop.  That would leave
 *   1.3 % of the bytes in matches; here, 87.9 % are.
 * - The walk starts at a chunk's second byte, as in Algorithm 1.  Algorithm 2 does not say; from the
 *   first byte on, the stop would find itself.
 * - In the coding, the way back, what ends a match, and the hash function, it differs as
 *   GLZSS-basic does.  A candidate that is too far back is as one with fewer than four equal bytes.
 *
 * In the paper, four threads have a chunk and its table to themselves and share the reading and
 * writing of a stop's bytes, so there is no race for an entry: the order is that of the walk.  On
 * the GPU, this program takes several stops at a time, and has their order all the same (glzss.cuh).
 *
 * What the paper's own coding takes follows from the sequences as in glzss_basic.c.
 */
#include "config.h"

#include "papers/glzss_find.h"

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    glzss_find(m, level, in, len, true);
}

static const struct lz_finder finder = {
    .name = "glzss-tagging",
    .gpu = &gpu_finder_glzss_tagging,
    .in_parts = true,
    .plain_state = GLZSS_STATE_SIZE,
    .find = find_matches,
};

const struct paper_method paper_glzss_tagging = {
    .name = "glzss-tagging",
    .summary = "as glzss-basic, with four bytes a step and more of a match in the table",
    .source = "Y. Zu, B. Hua: GLZSS: LZSS Lossless Data Compression Can Be Faster, GPGPU-7, 2014",
    .finder = &finder,
    .core_guess = 210e6,
    .keys = glzss_keys,
};
