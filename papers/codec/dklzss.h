/*
 * dklzss.h - a format for DKLZSS: a bit, then a character or a pointer
 *
 * The paper gives no layout.  It says that a pointer is the offset of the original string from the
 * start of the string, and its length (section 1), and that a match has at least three characters
 * (5.3, Algorithm 3).  So a pointer has a position in its chunk, not a distance.  The rest is
 * assumed: a bit 0 before a character of 8 bits; a bit 1 before a pointer, which has log2(chunk)
 * bits for the position, then as many for the length.  The bits of a byte are used from the highest
 * on, and the last byte of a chunk is filled with zeros.
 *
 * A match ends before its own start (Algorithm 2), so its length is at most half of a chunk, and
 * the fields can hold every match.
 */
#ifndef GZLZSS_PAPERS_CODEC_DKLZSS_H
#define GZLZSS_PAPERS_CODEC_DKLZSS_H

#include "papers/codec/shape.h"

/* The most bytes of a chunk's coded form.  With 14 bits for a position, a match of three bytes
 * takes 29 bits. */
BOTH_INLINE uint32_t dklzss_bound(uint32_t chunk)
{
    return chunk + chunk / 4 + 8;
}

/* Codes the chunk in[0..len), len >= 1, with its tags.  s->variant: the bits of a position.
 * Returns the size of its coded form in `out`, which has room for s->bound bytes. */
BOTH_INLINE uint32_t dklzss_encode(const struct codec_shape *s, const uint8_t *in,
                                   const uint16_t *tags, uint32_t len, uint8_t *out)
{
    struct codec_cutter cutter = {tags, len, 0, 0};
    struct codec_bit_writer w = {out, 0, 0};
    const uint32_t mask = (1u << s->variant) - 1;
    uint32_t at = 0, start, length;

    do {
        length = codec_next(&cutter, s, &start);
        for (; at < start; at++)
            codec_put_bits(&w, in[at], 1 + 8);
        if (length > 0) {
            const uint32_t position = (at - tags[at]) & mask;

            codec_put_bits(&w, 1u << s->variant | position, 1 + s->variant);
            codec_put_bits(&w, length & mask, s->variant);
        }
        at += length;
    } while (length > 0);
    codec_end_bits(&w);
    return (uint32_t)(w.out - out);
}

/* Decodes coded[0..size) to the chunk out[0..plain), plain >= 1.  Returns false if the coded form
 * is damaged; some of out[0..plain) is then written, and nothing outside. */
BOTH_INLINE bool dklzss_decode(const struct codec_shape *s, const uint8_t *coded, uint32_t size,
                               uint8_t *out, uint32_t plain)
{
    struct codec_bit_reader r = {coded, coded + size, 0, 0, false};
    uint32_t done = 0;

    while (done < plain) {
        if (codec_take_bits(&r, 1) == 0) {
            out[done++] = (uint8_t)codec_take_bits(&r, 8);
        } else {
            const uint32_t position = codec_take_bits(&r, s->variant);
            const uint32_t length = codec_take_bits(&r, s->variant);

            if (length < LZ_MIN_MATCH || position > done || length > done - position ||
                length > plain - done)
                return false;
            codec_copy(out + done, out + position, length);
            done += length;
        }
        if (r.is_short)
            return false;
    }
    return codec_bits_end(&r);
}

#endif
