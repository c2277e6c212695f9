/*
 * blockheader.h - the header of a DEFLATE block, checked without decoding the block
 */
#ifndef GZLZSS_INFLATE_BLOCKHEADER_H
#define GZLZSS_INFLATE_BLOCKHEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No header takes more bytes: 3 bits, 14 for three counts, 19 code lengths of 3 bits, and for each
 * of at most 316 code lengths at most 7 bits, the last with 7 more for a repeat count. */
#define INF_BLOCK_HEADER_MAX ((3 + 14 + 19 * 3 + 316 * 7 + 7 + 7) / 8)

enum inf_block_verdict {
    INF_BLOCK_GOOD,
    INF_BLOCK_CUT, /* the input ends inside the header, and what there is of it is good */
    INF_BLOCK_BAD,
};

enum inf_block_type { INF_BLOCK_STORED, INF_BLOCK_FIXED, INF_BLOCK_DYNAMIC };

struct inf_block {
    bool final; /* the last block of its stream */
    enum inf_block_type type;
    unsigned header_bits; /* of a stored block, with the padding and the two lengths */
    unsigned stored_len;  /* bytes of a stored block */
};

/* The code lengths of a dynamic block; those of distances follow those of literals and lengths. */
struct inf_lengths {
    unsigned litlens, distances;
    uint8_t all[286 + 30 + 16]; /* the last are scratch */
};

/*
 * Checks the header that starts with the low `count` bits of `bits`, count <= 64, and goes on in
 * in[0..len).  The bits before in[0] are the end of whole bytes, as a bit buffer holds them: from
 * there the padding of a stored block is counted.  Fills *block in if the header is good.
 *
 * The rules are those of RFC 1951 as zlib's inflate() applies them, and in its order, so that a
 * header with several flaws, or with one before it is cut off, is judged alike:
 *   - no block of type 3; a stored block's second length is the complement of the first;
 *   - at most 286 literal/length codes and 30 distance codes;
 *   - the code of the code lengths is complete;
 *   - a repeat has something to repeat and does not go on beyond the last code length;
 *   - the end of the block has a code;
 *   - the literal/length code is complete, or that of one symbol with one bit;
 *   - the distance code likewise, or it has no symbols.
 */
enum inf_block_verdict inf_check_block(uint64_t bits, unsigned count, const uint8_t *in, size_t len,
                                       struct inf_block *block);

/* The same, and fills *lengths in if the block is dynamic. */
enum inf_block_verdict inf_read_block(uint64_t bits, unsigned count, const uint8_t *in, size_t len,
                                      struct inf_block *block, struct inf_lengths *lengths);

#endif
