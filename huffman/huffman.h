/*
 * huffman.h - the entropy stage: turns a segment's sequences into DEFLATE blocks
 *
 * Sequences from the CPU and from a GPU are encoded in the same way.  The encoder compares each
 * match with the input before it writes anything, so a wrong sequence never becomes a wrong file.
 */
#ifndef GZLZSS_HUFFMAN_H
#define GZLZSS_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lzss/lzss.h"

/* One thread's memory for encoding.  It keeps no state from one segment to the next. */
struct huff_encoder;

/* Makes an encoder; returns NULL if memory is short. */
struct huff_encoder *huff_encoder_new(void);

/* Frees e, which may be NULL. */
void huff_encoder_free(struct huff_encoder *e);

/* The smallest `split` that huff_encode_segment takes. */
#define HUFF_SPLIT_MIN ((size_t)4 << 10)

/* Given as `split`, HUFF_BEST makes huff_encode_segment find better places for the ends of
 * blocks. */
#define HUFF_BEST ((size_t)0)

/* The most bytes that huff_encode_segment writes for a segment of `len` bytes, with the mark that
 * ends a segment and the bit writer's slack. */
size_t huff_bound(size_t len);

/* How a call's output ends.  It always ends on a byte boundary. */
enum huff_end {
    /* The mark of `pigz -i`: two empty stored blocks, so that the output ends with the bytes 00 00
     * FF FF 00 00 00 FF FF.  The next segment refers to nothing before its own start. */
    HUFF_MARK,

    /* The final block, whose BFINAL bit is set. */
    HUFF_LAST,

    /* One empty stored block, as after zlib's Z_SYNC_FLUSH.  The data after this block may refer to
     * data before it. */
    HUFF_SYNC,

    /* Nothing is added, as more data follows; only for huff_store. */
    HUFF_MORE,
};

/*
 * Encodes the segment in[0..len) as DEFLATE blocks (RFC 1951), which start and end on a byte
 * boundary; `end` says what follows the segment's data.  `chunks` has LZ_CHUNKS(len) entries.
 * LZ_INPUT_PAD bytes after the segment must be readable, and `out` must have room for
 * huff_bound(len) bytes.
 *
 * A block may end where a chunk ends.  Within a chunk, it may end after each match but the chunk's
 * last one, if at least `split` bytes (HUFF_SPLIT_MIN or more) lie between the match's end and the
 * previous place where a block may end.  With a smaller split, blocks follow the data more closely,
 * and encoding takes longer.  HUFF_BEST gives the smallest output: the encoder compares many ways
 * to divide the segment into blocks, and takes the one that it estimates to be the smallest.
 *
 * Returns true, with the number of bytes written in *out_len.  Returns false if the match of a
 * sequence is wrong: if it differs from the bytes to which it refers, refers to bytes before the
 * segment, goes on past its chunk's end, or is outside DEFLATE's limits.  The bytes at `out` are
 * garbage then.
 */
bool huff_encode_segment(struct huff_encoder *e, const uint8_t *in, size_t len,
                         const struct lz_chunk *chunks, size_t split, enum huff_end end,
                         uint8_t *out, size_t *out_len);

/* Like huff_encode_segment, but encodes only in[begin..len); matches may refer to the bytes before
 * `begin` (lz_match_after, lz_match_more).  The sequences of the chunk with `begin` start at
 * `begin`. */
bool huff_encode_after(struct huff_encoder *e, const uint8_t *in, size_t len, size_t begin,
                       const struct lz_chunk *chunks, size_t split, enum huff_end end, uint8_t *out,
                       size_t *out_len);

/* Writes in[0..len) as stored blocks (RFC 1951, section 3.2.4), and ends as `end` says.  All blocks
 * but the last one have DEFLATE_MAX_STORED bytes.  len may be 0 only with HUFF_LAST.  `out` must
 * have room for huff_bound(len) bytes.  Returns the number of bytes written. */
size_t huff_store(const uint8_t *in, size_t len, enum huff_end end, uint8_t *out);

#endif
