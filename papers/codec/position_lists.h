/*
 * position_lists.h - the format of the position lists: the text with pairs in it, an index that
 * says where they are, and a range coder
 *
 * As in section III.C of "Parallel Data Compression Using LZMA": a match becomes a pair of two
 * numbers of 32 bits, the position at which the matching bytes start, and their number (III.C.1).
 * The pairs stand in the text in place of the bytes that they replace.  An index tells where: each
 * row of pairs without text between them has an entry with its place and its number of pairs
 * (III.C.2).  The paper's own example counts 27 bytes for a text with one row, without the index;
 * with it, there are 35.  Then all bytes are range-coded (range.h), with one table of frequencies
 * for the whole file (III.D).
 *
 * The paper leaves open: the order of index and text, the widths of the index, and what a block
 * begins with.  Here, a packed block is
 *
 *   4 size of the text; 4 number of rows; for each row, 4 place in the text and 4 number of pairs;
 *   the text, in which a pair is 4 position in the block and 4 length
 *
 * Each 4 is the size of a number in bytes.  Numbers are little-endian.  Rows are in order, and no
 * two rows touch.  A pair may be longer than the distance to its source; it then repeats bytes of
 * its own.  Since a length has 32 bits, adjacent matches at one distance are one pair.
 */
#ifndef GZLZSS_PAPERS_CODEC_POSITION_LISTS_H
#define GZLZSS_PAPERS_CODEC_POSITION_LISTS_H

#include "papers/codec/range.h"
#include "papers/codec/shape.h"

/* Bytes in front of the rows, of a row, and of a pair. */
#define POSITION_LISTS_HEAD 8
#define POSITION_LISTS_ROW 8
#define POSITION_LISTS_PAIR 8

/* The most bytes of a packed block.  The worst are a match of three bytes and a literal in turn,
 * which take a row, a pair and a byte. */
BOTH_INLINE uint32_t position_lists_packed_bound(uint32_t block)
{
    return POSITION_LISTS_HEAD + POSITION_LISTS_ROW + POSITION_LISTS_PAIR +
           (POSITION_LISTS_ROW + POSITION_LISTS_PAIR + 1) * (block / 4 + 1);
}

/* Returns how many rows of pairs a block has. */
BOTH_INLINE uint32_t position_lists_rows(const struct codec_shape *s, const uint16_t *tags,
                                         uint32_t len)
{
    struct codec_cutter cutter = {tags, len, 0, 0};
    uint32_t rows = 0, behind = UINT32_MAX, start, length;

    while ((length = codec_next(&cutter, s, &start)) > 0) {
        rows += start != behind;
        behind = start + length;
    }
    return rows;
}

/* Packs the block in[0..len), len >= 1, with its tags.  Returns the size of the packed block in
 * `out`, at most position_lists_packed_bound(len). */
BOTH_INLINE uint32_t position_lists_pack(const struct codec_shape *s, const uint8_t *in,
                                         const uint16_t *tags, uint32_t len, uint8_t *out)
{
    const uint32_t rows = position_lists_rows(s, tags, len);
    struct codec_cutter cutter = {tags, len, 0, 0};
    uint8_t *row = out + POSITION_LISTS_HEAD;
    uint8_t *const text = row + POSITION_LISTS_ROW * rows;
    uint32_t at = 0, size = 0, pairs = 0, start, length;

    do {
        length = codec_next(&cutter, s, &start);
        codec_copy(text + size, in + at, start - at);
        size += start - at;
        if (pairs > 0 && (start > at || length == 0)) {
            codec_put32(row + 4, pairs);
            row += POSITION_LISTS_ROW;
            pairs = 0;
        }
        at = start + length;
        if (length > 0) {
            if (pairs++ == 0)
                codec_put32(row, size);
            codec_put32(text + size, start - tags[start]);
            codec_put32(text + size + 4, length);
            size += POSITION_LISTS_PAIR;
        }
    } while (length > 0);
    codec_put32(out, size);
    codec_put32(out + 4, rows);
    return POSITION_LISTS_HEAD + POSITION_LISTS_ROW * rows + size;
}

/* A packed block while it is read. */
struct position_lists_reader {
    const uint8_t *rows, *text;
    uint32_t row_count, size; /* number of rows; bytes of the text */
    uint32_t row, at;         /* the next row; the next byte of the text */
};

/* Decodes the pairs of the next row to out[done..plain).  Returns the new `done`, or 0 if the block
 * is damaged. */
BOTH_INLINE uint32_t position_lists_take_row(struct position_lists_reader *r, uint8_t *out,
                                             uint32_t done, uint32_t plain)
{
    uint32_t pairs = codec_get32(r->rows + POSITION_LISTS_ROW * r->row + 4);

    if (pairs == 0 || pairs > (r->size - r->at) / POSITION_LISTS_PAIR)
        return 0;
    r->row++;
    for (; pairs > 0; pairs--) {
        const uint32_t position = codec_get32(r->text + r->at);
        const uint32_t length = codec_get32(r->text + r->at + 4);

        if (position >= done || length == 0 || length > plain - done)
            return 0;
        codec_copy(out + done, out + position, length);
        done += length;
        r->at += POSITION_LISTS_PAIR;
    }
    return done;
}

/* Unpacks a block's rows and text to out[0..plain), plain >= 1.  Returns false if they are damaged;
 * some of out[0..plain) is then written, and nothing outside. */
BOTH_INLINE bool position_lists_unpack(struct position_lists_reader r, uint8_t *out, uint32_t plain)
{
    uint32_t done = 0;

    for (;;) {
        const uint32_t place =
            r.row < r.row_count ? codec_get32(r.rows + POSITION_LISTS_ROW * r.row) : r.size;

        /* Each row has literals before it: rows that touch would be one row, and at the block's
         * start, there is nothing to repeat. */
        if (place > r.size || place < r.at || place - r.at > plain - done ||
            (place == r.at && r.row < r.row_count))
            return false;
        codec_copy(out + done, r.text + r.at, place - r.at);
        done += place - r.at;
        r.at = place;
        if (r.row == r.row_count)
            return done == plain;
        done = position_lists_take_row(&r, out, done, plain);
        if (done == 0)
            return false;
    }
}

/* Decodes coded[0..size) to the block out[0..plain), plain >= 1.  `packed` has room for
 * position_lists_packed_bound(plain) bytes, which are overwritten.  Returns false if the coded form
 * is damaged; some of out[0..plain) is then written, and nothing outside. */
BOTH_INLINE bool position_lists_decode(const struct range_model *m, const uint8_t *coded,
                                       uint32_t size, uint8_t *packed, uint8_t *out, uint32_t plain)
{
    const uint32_t most = position_lists_packed_bound(plain) - POSITION_LISTS_HEAD;
    struct range_decoder d = range_begin(coded, size);
    struct position_lists_reader r = {NULL, NULL, 0, 0, 0, 0};

    if (!range_decode(&d, m, packed, POSITION_LISTS_HEAD))
        return false;
    r.size = codec_get32(packed);
    r.row_count = codec_get32(packed + 4);
    if (r.size > most || r.row_count > (most - r.size) / POSITION_LISTS_ROW)
        return false;
    r.rows = packed + POSITION_LISTS_HEAD;
    r.text = r.rows + POSITION_LISTS_ROW * r.row_count;
    return range_decode(&d, m, packed + POSITION_LISTS_HEAD,
                        POSITION_LISTS_ROW * r.row_count + r.size) &&
           range_is_at_end(&d) && position_lists_unpack(r, out, plain);
}

#endif
