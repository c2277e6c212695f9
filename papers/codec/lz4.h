/*
 * lz4.h - the format of Mathur's LZ4, which is close to LZ4's own, but not the same
 *
 * As in chapter 8 of the thesis (items 1 to 5).  A chunk is a row of entries.  An entry is a token,
 * literals, an offset of two bytes, and perhaps bytes of a length.  The token's high four bits are
 * the number of literals, its low four bits the match's length less 4.  If a field is 15, further
 * bytes follow, whose sum is added to it: each is 255, except the last, which is less.  Those of
 * the number of literals stand before the literals, those of the length after the offset.  An entry
 * without a match has the offset 0, and 0 in the token's low bits.
 *
 * The first entry of a chunk has its first 13 bytes as literals and no match; the last entry has no
 * match if literals are left (16.1).  LZ4 itself has no such entries: its last literals come
 * without an offset.  So LZ4's decoders cannot read this format, and the last literals take 2 bytes
 * more.
 *
 * The thesis leaves open: the order of the offset's bytes (here as in LZ4, the low byte first), and
 * whether 4 is subtracted from a length (here it is, as in LZ4; table 3 does not say).
 *
 * Differences from the thesis, and their reasons:
 *
 * - An offset is counted from the match's start, as in LZ4.  The code of section 16.1 counts it
 *   from the start of the entry, before its literals; the coded size is the same.
 *
 * - The thesis begins a new entry after a number of literals (MAX_LITERALS) that it does not give.
 *   Here, an entry has any number of literals.
 *
 * - The thesis has a window of 4 KiB, although 16 bits can hold 64 KiB.  Here, the match finder's
 *   window counts.
 */
#ifndef GZLZSS_PAPERS_CODEC_LZ4_H
#define GZLZSS_PAPERS_CODEC_LZ4_H

#include "papers/codec/shape.h"
#include "papers/lz4.h"

/* Bytes of a chunk in the thesis (16.1, oneMB).  Its first entry has LZ4_LEAD literals. */
#define LZ4_CODE_CHUNK (1u << 20)

/* A field of the token that has this value is continued in bytes of its own. */
#define LZ4_CODE_FIELD_MAX 15

/* The most bytes of a chunk's coded form.  An entry with a match covers at least four bytes besides
 * its literals, and takes three, so only literals make the form longer: a byte for each 255.  16
 * covers the entries without a match. */
BOTH_INLINE uint32_t lz4_bound(uint32_t chunk)
{
    return chunk + chunk / 255 + 16;
}

/* Writes the bytes that continue a field.  Returns their end. */
BOTH_INLINE uint8_t *lz4_put_more(uint8_t *out, uint32_t number)
{
    if (number < LZ4_CODE_FIELD_MAX)
        return out;
    for (number -= LZ4_CODE_FIELD_MAX; number >= 255; number -= 255)
        *out++ = 255;
    *out++ = (uint8_t)number;
    return out;
}

BOTH_INLINE uint32_t lz4_field(uint32_t number)
{
    return number < LZ4_CODE_FIELD_MAX ? number : LZ4_CODE_FIELD_MAX;
}

/* Writes an entry with `count` literals and, if length > 0, a match.  Returns its end. */
BOTH_INLINE uint8_t *lz4_put_entry(uint8_t *out, const uint8_t *literals, uint32_t count,
                                   uint32_t length, uint32_t distance)
{
    const uint32_t more = length > 0 ? length - LZ4_MIN_MATCH : 0;

    *out++ = (uint8_t)(lz4_field(count) << 4 | lz4_field(more));
    out = lz4_put_more(out, count);
    codec_copy(out, literals, count);
    out += count;
    *out++ = (uint8_t)distance;
    *out++ = (uint8_t)(distance >> 8);
    return lz4_put_more(out, more);
}

/* Codes the chunk in[0..len), len >= 1, with its tags.  Returns the size of its coded form in
 * `out`, which has room for s->bound bytes. */
BOTH_INLINE uint32_t lz4_encode(const struct codec_shape *s, const uint8_t *in,
                                const uint16_t *tags, uint32_t len, uint8_t *out)
{
    const uint32_t first = len < LZ4_LEAD ? len : LZ4_LEAD;
    struct codec_cutter cutter = {tags, len, first, 0};
    uint8_t *end = lz4_put_entry(out, in, first, 0, 0);
    uint32_t at = first, start, length;

    do {
        length = codec_next(&cutter, s, &start);
        if (length > 0)
            end = lz4_put_entry(end, in + at, start - at, length, tags[start]);
        else if (start > at)
            end = lz4_put_entry(end, in + at, start - at, 0, 0);
        at = start + length;
    } while (length > 0);
    return (uint32_t)(end - out);
}

/* A chunk's coded form while it is read. */
struct lz4_reader {
    const uint8_t *in;
    uint32_t size, at;
};

/* Completes a token's field *number, which may be at most `most`.  Returns false if it is more, or
 * the coded form ends before. */
BOTH_INLINE bool lz4_take_more(struct lz4_reader *r, uint32_t *number, uint32_t most)
{
    uint32_t byte = *number == LZ4_CODE_FIELD_MAX ? 255 : 0;

    while (byte == 255) {
        if (r->at == r->size || *number > most)
            return false;
        byte = r->in[r->at++];
        *number += byte;
    }
    return *number <= most;
}

/* Decodes the match of an entry, whose token's low bits are `more`, to out[done..plain).  Returns
 * its length, 0 for an entry without a match, or UINT32_MAX if the coded form is damaged. */
BOTH_INLINE uint32_t lz4_take_match(struct lz4_reader *r, uint32_t more, uint8_t *out,
                                    uint32_t done, uint32_t plain)
{
    uint32_t distance;

    if (r->size - r->at < 2)
        return UINT32_MAX;
    distance = r->in[r->at] | (uint32_t)r->in[r->at + 1] << 8;
    r->at += 2;
    if (distance == 0)
        return more == 0 ? 0 : UINT32_MAX;
    if (distance > done || plain - done < LZ4_MIN_MATCH ||
        !lz4_take_more(r, &more, plain - done - LZ4_MIN_MATCH))
        return UINT32_MAX;
    codec_copy(out + done, out + done - distance, more + LZ4_MIN_MATCH);
    return more + LZ4_MIN_MATCH;
}

/* Decodes coded[0..size) to the chunk out[0..plain), plain >= 1.  Returns false if the coded form
 * is damaged; some of out[0..plain) is then written, and nothing outside. */
BOTH_INLINE bool lz4_decode(const struct codec_shape *s, const uint8_t *coded, uint32_t size,
                            uint8_t *out, uint32_t plain)
{
    struct lz4_reader r = {coded, size, 0};
    uint32_t done = 0;

    (void)s;
    while (done < plain) {
        uint32_t token, count, length;

        if (r.at == r.size)
            return false;
        token = coded[r.at++];
        count = token >> 4;
        if (!lz4_take_more(&r, &count, plain - done) || count > r.size - r.at)
            return false;
        codec_copy(out + done, coded + r.at, count);
        r.at += count;
        done += count;
        length = lz4_take_match(&r, token & 15, out, done, plain);
        if (length == UINT32_MAX || length + count == 0)
            return false;
        done += length;
    }
    return r.at == size;
}

#endif
