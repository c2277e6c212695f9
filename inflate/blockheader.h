/*
 * blockheader.h - the header of a DEFLATE block, checked without decoding the block
 */
#ifndef GZLZSS_INFLATE_BLOCKHEADER_H
#define GZLZSS_INFLATE_BLOCKHEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of a header: 3 bits, 14 bits for three counts, 19 precode lengths of 3 bits, and
 * at most 316 code lengths of at most 7 bits each, the last one with 7 more bits for a repeat
 * count. */
#define INF_BLOCK_HEADER_MAX ((3 + 14 + 19 * 3 + 316 * 7 + 7 + 7) / 8)

/* The verdict on a header. */
enum inf_block_verdict {
    INF_BLOCK_GOOD,
    INF_BLOCK_CUT, /* the input ends inside the header, which is good up to there */
    INF_BLOCK_BAD,
};

/* The types of blocks, by their numbers in the header. */
enum inf_block_type { INF_BLOCK_STORED, INF_BLOCK_FIXED, INF_BLOCK_DYNAMIC };

/* A good header. */
struct inf_block {
    bool final; /* whether this is the last block of its stream */
    enum inf_block_type type;
    unsigned header_bits; /* bits of the header, with a stored block's padding and two lengths */
    unsigned stored_len;  /* bytes of a stored block */
};

/* The code lengths of a dynamic block. */
struct inf_lengths {
    unsigned litlens;   /* the number of codes of literals and lengths */
    unsigned distances; /* the number of codes of distances */
    /* The code lengths of literals and match lengths, then those of distances; then scratch. */
    uint8_t all[286 + 30 + 16];
};

/*
 * Checks a header.  Its first bits are the low `count` bits of `bits`, count <= 64; it goes on in
 * in[0..len).  in[0] begins at a byte boundary of the data, which determines a stored block's
 * padding.  Fills in *block if the header is good.
 *
 * The rules are those of RFC 1951 as zlib's inflate() applies them, in the same order.  So zlib and
 * this function also agree on a header that has several errors, or that has an error and is cut off
 * after it.  The exception is a precode without codes: zlib then reads on, and sees the error only
 * later.  The rules:
 *
 *   - There is no block of type 3.  A stored block's second length is the complement of the first.
 *   - There are at most 286 literal and length codes, and 30 distance codes.
 *   - The precode is complete.
 *   - A repeat has a length to repeat, and does not go on after the last code length.
 *   - The end of the block has a code.
 *   - The literal and length code is complete, or has one symbol with a code of one bit.
 *   - The same holds for the distance code, or it has no symbols.
 */
enum inf_block_verdict inf_check_block(uint64_t bits, unsigned count, const uint8_t *in, size_t len,
                                       struct inf_block *block);

/* Like inf_check_block, but also fills in *lengths if the block is dynamic. */
enum inf_block_verdict inf_read_block(uint64_t bits, unsigned count, const uint8_t *in, size_t len,
                                      struct inf_block *block, struct inf_lengths *lengths);

#endif
