/*
 * lzss.h - the format of Mathur's LZSS: 9 bits for a literal, 17 for a match
 *
 * As in section 6, figure 4 and table 2 of the thesis: a bit before each entry tells whether it is
 * encoded; a literal is a byte; a match is 12 bits for the offset, then 4 bits for the length - 3.
 * The thesis does not give the rest.  Here, the bit is 0 for a literal and 1 for a match, the bits
 * of a byte are used from the highest on, the offset is the distance - 1 (a window of 4 KiB needs
 * it), and the last byte of a chunk is filled with zeros.
 *
 * Difference from the thesis: its encoder begins each chunk with three literals.  Here, a match may
 * start at a chunk's second byte.
 */
#ifndef GZLZSS_PAPERS_CODEC_LZSS_H
#define GZLZSS_PAPERS_CODEC_LZSS_H

#include "papers/codec/shape.h"

/* Bytes of a chunk (16.1, oneMB). */
#define LZSS_CODE_CHUNK (1u << 20)

/* Bits of the fields. */
#define LZSS_CODE_DISTANCE_BITS 12
#define LZSS_CODE_LENGTH_BITS 4

/* The limits of the fields, in bytes. */
#define LZSS_CODE_DISTANCE_MAX (1 << LZSS_CODE_DISTANCE_BITS)
#define LZSS_CODE_LENGTH_MAX (LZ_MIN_MATCH + (1 << LZSS_CODE_LENGTH_BITS) - 1)

/* The most bytes of a chunk's coded form. */
BOTH_INLINE uint32_t lzss_bound(uint32_t chunk)
{
    return chunk + (chunk + 7) / 8;
}

/* Codes the chunk in[0..len), len >= 1, with its tags.  Returns the size of its coded form in
 * `out`, which has room for s->bound bytes. */
BOTH_INLINE uint32_t lzss_encode(const struct codec_shape *s, const uint8_t *in,
                                 const uint16_t *tags, uint32_t len, uint8_t *out)
{
    struct codec_cutter cutter = {tags, len, 0, 0};
    struct codec_bit_writer w = {out, 0, 0};
    uint32_t at = 0, start, length;

    do {
        length = codec_next(&cutter, s, &start);
        for (; at < start; at++)
            codec_put_bits(&w, in[at], 1 + 8);
        if (length > 0) {
            const uint32_t distance = (tags[at] - 1u) & (LZSS_CODE_DISTANCE_MAX - 1);
            const uint32_t pair = distance << LZSS_CODE_LENGTH_BITS | (length - LZ_MIN_MATCH);

            codec_put_bits(&w, 1u << (LZSS_CODE_DISTANCE_BITS + LZSS_CODE_LENGTH_BITS) | pair,
                           1 + LZSS_CODE_DISTANCE_BITS + LZSS_CODE_LENGTH_BITS);
        }
        at += length;
    } while (length > 0);
    codec_end_bits(&w);
    return (uint32_t)(w.out - out);
}

/* Decodes coded[0..size) to the chunk out[0..plain), plain >= 1.  Returns false if the coded form
 * is damaged; some of out[0..plain) is then written, and nothing outside. */
BOTH_INLINE bool lzss_decode(const struct codec_shape *s, const uint8_t *coded, uint32_t size,
                             uint8_t *out, uint32_t plain)
{
    struct codec_bit_reader r = {coded, coded + size, 0, 0, false};
    uint32_t done = 0;

    (void)s;
    while (done < plain) {
        if (codec_take_bits(&r, 1) == 0) {
            out[done++] = (uint8_t)codec_take_bits(&r, 8);
        } else {
            const uint32_t distance = codec_take_bits(&r, LZSS_CODE_DISTANCE_BITS) + 1;
            const uint32_t length = codec_take_bits(&r, LZSS_CODE_LENGTH_BITS) + LZ_MIN_MATCH;

            if (distance > done || length > plain - done)
                return false;
            codec_copy(out + done, out + done - distance, length);
            done += length;
        }
        if (r.is_short)
            return false;
    }
    return codec_bits_end(&r);
}

#endif
