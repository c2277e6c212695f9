/*
 * gpulz.h - gpuLZ's format: the flags of a chunk apart from its data, two bytes for a match
 *
 * As in section 3.3 of the paper: a flag of one bit, 1 for a match and 0 for a literal, is written
 * for each token, and a chunk's flags are padded to whole bytes (3.3.2, 3.3.3).  A match is a byte
 * with its length, then a byte with its offset, both counted in symbols.  A literal is a symbol.
 * No match is longer than its offset.  The paper does not say which bit of a byte is the first;
 * here, as in the authors' code, it is the lowest.  Padding bits are 0.
 *
 * The shortest match is that of the authors' code: two symbols of one byte, otherwise one symbol.
 * The tags of this program's match finder have no such short matches, since DEFLATE cannot code
 * them (gpulz.c).
 *
 * Differences from the authors' code, and their reasons:
 *
 * - The last bytes of a chunk may be fewer than a symbol.  They are one literal of that size.  The
 *   code fills the input with zeros.
 *
 * - A chunk that has only zeros is coded like any other.  In the code, it has no coded form.
 */
#ifndef GZLZSS_PAPERS_CODEC_GPULZ_H
#define GZLZSS_PAPERS_CODEC_GPULZ_H

#include "papers/codec/shape.h"

/* The limits of a match's fields, in symbols. */
#define GPULZ_CODE_MAX 255

/* The sizes of a chunk's flags and data, in bytes. */
struct gpulz_sizes {
    uint32_t flags, data;
};

/* The most bytes of the flags of a chunk with `chunk` bytes. Its data has at most as many bytes as
 * the chunk. */
BOTH_INLINE uint32_t gpulz_flags_bound(uint32_t chunk)
{
    return (chunk + 7) / 8;
}

/* Returns the number of symbols in the shortest match. */
BOTH_INLINE uint32_t gpulz_code_least(uint32_t width)
{
    return width == 1 ? 2 : 1;
}

/* A chunk's coded form while it is written. */
struct gpulz_writer {
    uint8_t *flags, *data; /* the flags' start, and where the next byte of data goes */
    uint32_t used;         /* tokens so far */
};

BOTH_INLINE void gpulz_put_flag(struct gpulz_writer *w, uint32_t flag)
{
    uint8_t *const byte = &w->flags[w->used / 8];

    *byte = (uint8_t)((w->used % 8 == 0 ? 0 : *byte) | flag << w->used % 8);
    w->used++;
}

BOTH_INLINE void gpulz_put_literal(struct gpulz_writer *w, const uint8_t *symbol, uint32_t width)
{
    gpulz_put_flag(w, 0);
    codec_copy(w->data, symbol, width);
    w->data += width;
}

/* Codes the match of symbols [at, end), `distance` symbols back, in pieces. */
BOTH_INLINE void gpulz_put_match(struct gpulz_writer *w, const uint8_t *in, uint32_t at,
                                 uint32_t end, uint32_t distance, uint32_t width)
{
    while (at < end) {
        const uint32_t length = distance < end - at ? distance : end - at;

        if (length < gpulz_code_least(width)) {
            for (uint32_t i = 0; i < length; i++)
                gpulz_put_literal(w, in + (at + i) * width, width);
        } else {
            gpulz_put_flag(w, 1);
            *w->data++ = (uint8_t)length;
            *w->data++ = (uint8_t)distance;
        }
        at += length;
    }
}

/* Codes the chunk in[0..len), len >= 1, with its tags, in symbols of `width` bytes.  The tags are
 * multiples of `width`, at most GPULZ_CODE_MAX times `width`; all bytes of a symbol have the same
 * tag.  Writes to flags[] and data[], which have room for gpulz_flags_bound(len) and len bytes, and
 * returns the sizes of both. */
BOTH_INLINE struct gpulz_sizes gpulz_encode(const uint8_t *in, const uint16_t *tags, uint32_t len,
                                            uint32_t width, uint8_t *flags, uint8_t *data)
{
    struct gpulz_writer w = {flags, data, 0};
    struct gpulz_sizes sizes;
    const uint32_t symbols = len / width;

    for (uint32_t at = 0; at < symbols;) {
        const uint32_t tag = tags[at * width];
        uint32_t end = at + 1;

        while (end < symbols && tags[end * width] == tag)
            end++;
        if (tag >= width)
            gpulz_put_match(&w, in, at, end, tag / width, width);
        for (; tag < width && at < end; at++)
            gpulz_put_literal(&w, in + at * width, width);
        at = end;
    }
    if (len % width > 0)
        gpulz_put_literal(&w, in + symbols * width, len % width);
    sizes.flags = (w.used + 7) / 8;
    sizes.data = (uint32_t)(w.data - data);
    return sizes;
}

/* A chunk's coded form while it is read. */
struct gpulz_reader {
    const uint8_t *flags, *data;
    struct gpulz_sizes sizes;
    struct gpulz_sizes used; /* taken so far; used.flags counts bits, used.data bytes */
};

/* Takes the next token: sets *flag to its flag, and *bytes to its data, which are two bytes for a
 * match, `width` for a literal.  Returns false if the flag or the data are not all there. */
BOTH_INLINE bool gpulz_take(struct gpulz_reader *r, uint32_t width, uint32_t *flag,
                            const uint8_t **bytes)
{
    uint32_t size;

    if (r->used.flags / 8 == r->sizes.flags)
        return false;
    *flag = (uint32_t)r->flags[r->used.flags / 8] >> r->used.flags % 8 & 1;
    size = *flag != 0 ? 2 : width;
    *bytes = r->data + r->used.data;
    if (size > r->sizes.data - r->used.data)
        return false;
    r->used.flags++;
    r->used.data += size;
    return true;
}

/* Whether nothing is left but padding bits, all 0. */
BOTH_INLINE bool gpulz_is_at_end(const struct gpulz_reader *r)
{
    const uint32_t whole = r->used.flags / 8, bits = r->used.flags % 8;

    if (r->used.data != r->sizes.data || r->sizes.flags != whole + (bits > 0))
        return false;
    return bits == 0 || r->flags[whole] >> bits == 0;
}

/* Decodes a chunk, in symbols of `width` bytes, to out[0..plain), plain >= 1.  Returns false if the
 * coded form is damaged; some of out[0..plain) is then written, and nothing outside. */
BOTH_INLINE bool gpulz_decode(const uint8_t *flags, const uint8_t *data, struct gpulz_sizes sizes,
                              uint32_t width, uint8_t *out, uint32_t plain)
{
    struct gpulz_reader r = {flags, data, sizes, {0, 0}};
    uint32_t done = 0;

    while (done < plain) {
        const uint32_t size = width < plain - done ? width : plain - done;
        const uint8_t *token;
        uint32_t is_match;

        if (!gpulz_take(&r, size, &is_match, &token))
            return false;
        if (is_match == 0) {
            codec_copy(out + done, token, size);
            done += size;
        } else {
            const uint32_t length = token[0] * width, distance = token[1] * width;

            if (length == 0 || length > distance || distance > done || length > plain - done)
                return false;
            codec_copy(out + done, out + done - distance, length);
            done += length;
        }
    }
    return gpulz_is_at_end(&r);
}

#endif
