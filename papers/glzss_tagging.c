/*
 * glzss_tagging.c - GLZSS-tagging: matches in steps of four bytes, which also fill the table
 *
 * After Y. Zu and B. Hua, "GLZSS: LZSS Lossless Data Compression Can Be Faster", GPGPU-7, 2014:
 * section 5 and Algorithm 2.
 *
 * As in GLZSS-basic (glzss_basic.c), a walk goes through a chunk from stop to stop, and a table has
 * a candidate for each hash of four bytes, at first the chunk's first position. But here a stop
 * compares eight bytes. If all are equal, the first four are tagged with the distance, and the walk
 * goes on after them. If four to seven are equal, these are tagged, and the walk goes on after
 * them. If fewer are, one byte is tagged as a literal. Adjacent bytes with one tag are one match.
 * So that a long match finds its source again at the next step, each stop also enters the position
 * four bytes after its candidate, after it has entered itself.
 *
 * In effect, a match is as long as in GLZSS-basic with the same candidate, but fills more of the
 * table: every fourth of its positions with at least four bytes left in it, and the position four
 * bytes after the last candidate. GLZSS-basic enters only the match's first position.
 *
 * Packets and keys are as in glzss_basic.c.
 *
 * Differences from the paper, and their reasons (measured as in glzss_basic.c):
 *
 * - The position after the candidate is entered only if the walk has passed it when it leaves the
 *   stop. This excludes some positions of stops without a match whose candidate is less than four
 *   bytes back. Algorithm 2 enters these, too (line 8), so a stop may find a position ahead of it,
 *   or itself. A stop that finds itself is tagged as four literals, as its offset is 0, and makes
 *   the next stop find itself. As printed, most chunks are literals from their fifth byte on: at
 *   the stops 1 to 3 the candidate is 0, so position 4 is entered before it is a stop. That would
 *   leave 1.3 % of the bytes in matches; here, 87.9 % are.
 *
 * - The walk starts at a chunk's second byte, as in Algorithm 1. Algorithm 2 leaves this open; from
 *   the first byte on, the stop would find itself.
 *
 * - The coding, the limit on distances, the end of a match and the hash function differ from the
 *   paper as in GLZSS-basic. A candidate that is too far back counts as one with fewer than four
 *   equal bytes.
 *
 * In the paper, four threads have a chunk and its table to themselves and share the reading and
 * writing of a stop's bytes. So there is no race for an entry, and the order is that of the walk.
 * On the GPU, this program takes several stops at a time, and still keeps their order (glzss.cuh).
 *
 * The size in the paper's own coding follows from the sequences as in glzss_basic.c.
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
