/*
 * huffman.h - the entropy stage: a segment's sequences in, DEFLATE blocks out
 *
 * Both engines' sequences come through here.  Every match is compared with the input before
 * anything is written, so a wrong sequence can never become a wrong file.
 */
#ifndef GZLZSS_HUFFMAN_H
#define GZLZSS_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lzss/lzss.h"

/* One thread's tables; they carry nothing from one segment to the next. */
struct huff_encoder;

/* NULL if memory is short; NULL can be freed. */
struct huff_encoder *huff_encoder_new(void);
void huff_encoder_free(struct huff_encoder *e);

/* The least huff_encode_segment's `split` may be. */
#define HUFF_SPLIT_MIN ((size_t)4 << 10)

/* Bytes huff_encode_segment writes at most for a segment of `len` bytes, the mark that ends a
 * segment and the bit writer's slack included. */
size_t huff_bound(size_t len);

/* How what is encoded, or stored, ends, on a byte boundary. */
enum huff_end {
    HUFF_MARK, /* with the mark of `pigz -i`: two empty stored blocks, so that what comes next
                  stands behind the bytes 00 00 FF FF 00 00 00 FF FF.  It refers to nothing before
                  the mark. */
    HUFF_LAST, /* the final block has BFINAL set */
    HUFF_SYNC, /* with one empty stored block, as zlib's Z_SYNC_FLUSH does: the next may refer to
                  what comes before */
    HUFF_MORE, /* with nothing; of huff_store alone: what is stored next follows at once */
};

/*
 * Encodes the segment in[0..len) as DEFLATE blocks (RFC 1951) that start and end on a byte
 * boundary, as `end` says.  `chunks` holds LZ_CHUNKS(len) entries; in needs
 * LZ_INPUT_PAD readable bytes after it and out room for huff_bound(len).
 *
 * A block may end where a chunk ends.  Within a chunk, it may end after a match, `split` bytes
 * (HUFF_SPLIT_MIN or more) or later after the last place where a block may end; but not after the
 * chunk's last match.
 *
 * Returns true and the bytes written in *out_len; or false if a sequence is not a match within
 * this segment, within its chunk and within DEFLATE's limits.  *out is garbage then.
 */
bool huff_encode_segment(struct huff_encoder *e, const uint8_t *in, size_t len,
                         const struct lz_chunk *chunks, size_t split, enum huff_end end,
                         uint8_t *out, size_t *out_len);

/* The same without the segment's first chunk: it is not encoded, but matches may refer to it
 * (lz_match_after).  len is LZ_CHUNK_SIZE at least. */
bool huff_encode_after(struct huff_encoder *e, const uint8_t *in, size_t len,
                       const struct lz_chunk *chunks, size_t split, enum huff_end end, uint8_t *out,
                       size_t *out_len);

/* Stores in[0..len) in stored blocks (RFC 1951, section 3.2.4), which end as `end` says.  All blocks but
 * the last have DEFLATE_MAX_STORED bytes.  len is 0 only with HUFF_LAST; out has room for huff_bound(len).
 * Returns the bytes written. */
size_t huff_store(const uint8_t *in, size_t len, enum huff_end end, uint8_t *out);

#endif
