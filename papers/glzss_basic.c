/*
 * glzss_basic.c - GLZSS-basic: the match at the last stop with the same hash
 *
 * After Y. Zu and B. Hua, "GLZSS: LZSS Lossless Data Compression Can Be Faster", GPGPU-7, 2014:
 * section 4 and Algorithm 1.  The input is cut into chunks of 64 KiB that know nothing of each
 * other.  A chunk is walked from its second byte on.  At each stop, the hash of the next four bytes
 * leads to an entry of a table; the position in it is the candidate, and the stop replaces it.  If
 * the four bytes there are the same, as many bytes match as are equal, and the walk goes on behind
 * them.  If not, it goes on by one byte.  So the table has stops alone, and the last one with a hash
 * displaces all before it.  All entries are 0 at first, which is the chunk's first position: until
 * something else is entered, that is every hash's candidate.
 *
 * Here the paper's chunks are called packets, as a chunk is something else in this program.  The
 * table's size, of which section 6.4 takes 4096, and the packet's are parameters.
 *
 * Where this differs from the paper, and why (measured on the first 200 MB of linux-source-6.1's
 * tar file, of which the paper's Algorithm 1 has 88.3 % in matches):
 *
 * - Its coding is DEFLATE's.
 * - A candidate more than 32 KiB back is none, and the walk goes on by one byte.  The paper reaches as
 *   far as its chunk, but DEFLATE does not.  That leaves 87.8 % in matches.
 * - No match goes beyond a chunk of this program, so that one that would is cut in the middle of a
 *   packet of 64 KiB: about half of the packets have one.  Where a chunk or a packet has fewer than four
 *   bytes left, there are no stops any more; Algorithm 1 does not say what it reads there.
 * - The paper names no hash function.  This one is level 1's (lzss/hashes.h).
 *
 * A match's length has no limit in the paper, nor here; lz_emit cuts what DEFLATE cannot say.  In the
 * paper, all of a warp's threads are at one stop, so there is no race for an entry: the stops are
 * entered in the order of the walk.  On the GPU, this program takes several stops at a time, and has
 * their order all the same (glzss.cuh).
 *
 * What the paper's own coding takes follows from the sequences: each run of literals is a pair of its
 * length and the bytes, each match a pair of an offset of 16 bits and its length, and each packet has
 * 8 bytes of header (section 6.5).  A sequence without literals, at the distance of the one before,
 * continues its match.  The paper does not say how wide a length is, nor what tells the two sorts of
 * pairs apart.  With three bytes for a match and one for a run, that file is 2.60 times as large as
 * its pairs; the paper has 2.55 for linux-2.4.5.
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
