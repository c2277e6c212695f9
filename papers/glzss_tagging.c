/*
 * glzss_tagging.c - GLZSS-tagging: matches in steps of four bytes, which also fill the table
 *
 * After Y. Zu and B. Hua, "GLZSS: LZSS Lossless Data Compression Can Be Faster", GPGPU-7, 2014:
 * section 5 and Algorithm 2.
 *
 * As in GLZSS-basic (glzss_basic.c), a walk goes through a chunk from stop to stop, and a table has
 * a candidate for each hash of four bytes, at first the chunk's first position. But here, a stop
 * compares only eight bytes. If all eight are equal, the first four are tagged with the distance,
 * and the walk goes on after these four. If four to seven are equal, these are tagged, and the walk
 * goes on after them. If fewer than four are equal, one byte is tagged as a literal. Adjacent bytes
 * with the same tag form one match. Each stop enters itself into the table, and then also the
 * position four bytes after its candidate. So within a long match, the next stop finds the place
 * where the match's source goes on.
 *
 * With the same candidate, a match is therefore as long as in GLZSS-basic, but more positions are
 * entered. GLZSS-basic enters only the match's first position. This method enters every fourth
 * position that has at least four of the match's bytes left, and the position four bytes after the
 * last candidate.
 *
 * Packets and keys are as in glzss_basic.c.
 *
 * Differences from the paper, and their reasons (measured as in glzss_basic.c):
 *
 * - A stop enters the position four bytes after its candidate only if the walk has passed that
 *   position when it leaves the stop. The walk has not passed it if there is no match and the
 *   candidate is less than four bytes back. Algorithm 2 enters such a position, too (line 8), so a
 *   later stop may find itself in the table. A stop that finds itself is tagged as four literals,
 *   since its offset is 0, and makes the next stop find itself. In Algorithm 2 as printed, most
 *   chunks are literals from their fifth byte on: the candidate of the stops 1 to 3 is 0, so
 *   position 4 is entered before it is a stop. Matches would then cover 1.3 % of the bytes; here,
 *   they cover 87.9 %.
 *
 * - The walk starts at a chunk's second byte, as in Algorithm 1. Algorithm 2 leaves this open. A
 *   stop at the first byte would find itself.
 *
 * - The coding, the limit on distances, the end of a match and the hash function differ from the
 *   paper as in GLZSS-basic. A candidate that is too far back counts as one with fewer than four
 *   equal bytes.
 *
 * In the paper, four threads work on a chunk and its table, and divide the reading and writing of a
 * stop's bytes among them. So a warp works on eight chunks at a time, whose stops are entered in
 * the order of their walks, without a race. So does this program with threads=4
 * (glzss_tagging.cu). By default, it has a warp for each chunk and takes several stops at a time on
 * the GPU, but the result is the same (glzss.cuh).
 *
 * The size in the paper's own coding can be computed as in glzss_basic.c.
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
    .twin = LZ_TWIN_WALKS,
    .in_parts = true,
    .plain_state = GLZSS_STATE_SIZE,
    .find = find_matches,
};

static const char *const threads[] = {"auto", "4", NULL};

static const struct paper_key keys[] = GLZSS_KEYS(threads, "4");

const struct paper_method paper_glzss_tagging = {
    .name = "glzss-tagging",
    .summary = "as glzss-basic, with four bytes a step and more of a match in the table",
    .source = "Y. Zu, B. Hua: GLZSS: LZSS Lossless Data Compression Can Be Faster, GPGPU-7, 2014",
    .finder = &finder,
    .core_guess = 210e6,
    .keys = keys,
};
