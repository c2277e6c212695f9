/*
 * glzss.h - the format of both GLZSS methods, in two forms
 *
 * The paper says little about it: a match is (offset, length), and successive literals are merged
 * into (length, literals) (2.2); an offset below 64K is coded as a short, 16 bits (section 4); each
 * chunk has its plain and its compressed size, 8 bytes (6.5).  It does not give the width of the
 * lengths, nor what tells a run of literals from a match.  These are assumptions:
 *
 * - Form GLZSS_25: a byte of flags stands before each eight tokens; the lowest bit belongs to the
 *   first token, and 1 means a match.  A run is a byte with its length less 1, then its literals, 1
 *   to 256.  A match is 16 bits with its offset, the low byte first, then a byte with its length
 *   less 4, for 4 to 259 bytes.  So a match takes 25 bits, and a run of n literals 9 + 8n.
 *
 * - Form GLZSS_17: bits, the highest of a byte first.  A run is a bit 0, 8 bits with its length
 *   less 1, then its literals.  A near and short match is the bits 1 and 0, 11 bits with its offset
 *   less 1 and 4 bits with its length less 4: 17 bits for an offset up to 2048 and 4 to 19 bytes.
 *   Any other match is the bits 1 and 1, 16 bits with its offset and 7 bits with its length less 4:
 *   25 bits for 4 to 131 bytes.  Nothing in the paper suggests this form.  It only tries to explain
 *   the paper's ratios on DNA (table 3: 1.94 and 2.01), which no coding with 25 bits for all
 *   matches can give.
 *
 * Longer runs and matches are cut.  Difference from the paper: Algorithm 1 writes a run of no
 * literals between two matches side by side; here, there is none.
 */
#ifndef GZLZSS_PAPERS_CODEC_GLZSS_H
#define GZLZSS_PAPERS_CODEC_GLZSS_H

#include "papers/codec/shape.h"
#include "papers/glzss.h"

/* The forms, values of struct codec_shape's variant.  A number is the fewest bits of a match. */
enum { GLZSS_17 = 17, GLZSS_25 = 25 };

/* The limits of the fields, in bytes.  The near offset and the short length are GLZSS_17's. */
#define GLZSS_CODE_DISTANCE_MAX 65535
#define GLZSS_CODE_RUN_MAX 256
#define GLZSS_CODE_LENGTH_MAX_25 (GLZSS_MIN_MATCH + 255)
#define GLZSS_CODE_LENGTH_MAX_17 (GLZSS_MIN_MATCH + 127)
#define GLZSS_CODE_NEAR 2048
#define GLZSS_CODE_SHORT (GLZSS_MIN_MATCH + 15)

/* The most bytes of a chunk's coded form.  The worst are a literal and a match of four bytes in
 * turn, 42 bits for 5 bytes. */
BOTH_INLINE uint32_t glzss_bound(uint32_t chunk)
{
    return chunk + chunk / 16 + 8;
}

/* --- Form 25 ---------------------------------------------------------------------------------- */

/* Writes in[at..end) as runs. */
BOTH_INLINE void glzss_put_runs_25(struct codec_groups *g, const uint8_t *in, uint32_t at,
                                   uint32_t end)
{
    while (at < end) {
        const uint32_t count = end - at < GLZSS_CODE_RUN_MAX ? end - at : GLZSS_CODE_RUN_MAX;

        codec_put_flag(g, 0);
        *g->out++ = (uint8_t)(count - 1);
        codec_copy(g->out, in + at, count);
        g->out += count;
        at += count;
    }
}

BOTH_INLINE uint32_t glzss_encode_25(const struct codec_shape *s, const uint8_t *in,
                                     const uint16_t *tags, uint32_t len, uint8_t *out)
{
    struct codec_cutter cutter = {tags, len, 0, 0};
    struct codec_groups g = {out, NULL, 0};
    uint32_t at = 0, start, length;

    do {
        length = codec_next(&cutter, s, &start);
        glzss_put_runs_25(&g, in, at, start);
        at = start + length;
        if (length > 0) {
            codec_put_flag(&g, 1);
            *g.out++ = (uint8_t)tags[start];
            *g.out++ = (uint8_t)(tags[start] >> 8);
            *g.out++ = (uint8_t)(length - GLZSS_MIN_MATCH);
        }
    } while (length > 0);
    return (uint32_t)(g.out - out);
}

BOTH_INLINE bool glzss_decode_25(const uint8_t *coded, uint32_t size, uint8_t *out, uint32_t plain)
{
    struct codec_tokens t = {coded, size, 0, 0, 0};
    uint32_t done = 0, flag;

    while (done < plain) {
        uint32_t count;

        if (!codec_take_flag(&t, &flag))
            return false;
        if (flag == 0) {
            count = coded[t.at++] + 1u;
            if (count > size - t.at || count > plain - done)
                return false;
            codec_copy(out + done, coded + t.at, count);
            t.at += count;
        } else {
            uint32_t distance;

            if (size - t.at < 3)
                return false;
            distance = coded[t.at] | (uint32_t)coded[t.at + 1] << 8;
            count = coded[t.at + 2] + (uint32_t)GLZSS_MIN_MATCH;
            t.at += 3;
            if (distance == 0 || distance > done || count > plain - done)
                return false;
            codec_copy(out + done, out + done - distance, count);
        }
        done += count;
    }
    return codec_tokens_end(&t);
}

/* --- Form 17 ---------------------------------------------------------------------------------- */

/* Writes in[at..end) as runs. */
BOTH_INLINE void glzss_put_runs_17(struct codec_bit_writer *w, const uint8_t *in, uint32_t at,
                                   uint32_t end)
{
    while (at < end) {
        const uint32_t count = end - at < GLZSS_CODE_RUN_MAX ? end - at : GLZSS_CODE_RUN_MAX;

        codec_put_bits(w, count - 1, 1 + 8);
        for (uint32_t i = 0; i < count; i++)
            codec_put_bits(w, in[at + i], 8);
        at += count;
    }
}

BOTH_INLINE void glzss_put_match_17(struct codec_bit_writer *w, uint32_t distance, uint32_t length)
{
    if (distance <= GLZSS_CODE_NEAR && length <= GLZSS_CODE_SHORT)
        codec_put_bits(w, 1u << 16 | (distance - 1) << 4 | (length - GLZSS_MIN_MATCH), 17);
    else
        codec_put_bits(w, 3u << 23 | distance << 7 | (length - GLZSS_MIN_MATCH), 25);
}

BOTH_INLINE uint32_t glzss_encode_17(const struct codec_shape *s, const uint8_t *in,
                                     const uint16_t *tags, uint32_t len, uint8_t *out)
{
    struct codec_cutter cutter = {tags, len, 0, 0};
    struct codec_bit_writer w = {out, 0, 0};
    uint32_t at = 0, start, length;

    do {
        length = codec_next(&cutter, s, &start);
        glzss_put_runs_17(&w, in, at, start);
        at = start + length;
        if (length > 0)
            glzss_put_match_17(&w, tags[start], length);
    } while (length > 0);
    codec_end_bits(&w);
    return (uint32_t)(w.out - out);
}

BOTH_INLINE bool glzss_decode_17(const uint8_t *coded, uint32_t size, uint8_t *out, uint32_t plain)
{
    struct codec_bit_reader r = {coded, coded + size, 0, 0, false};
    uint32_t done = 0;

    while (done < plain) {
        uint32_t count;

        if (codec_take_bits(&r, 1) == 0) {
            count = codec_take_bits(&r, 8) + 1;
            if (count > plain - done)
                return false;
            for (uint32_t i = 0; i < count; i++)
                out[done + i] = (uint8_t)codec_take_bits(&r, 8);
        } else {
            const bool is_far = codec_take_bits(&r, 1) == 1;
            const uint32_t distance = codec_take_bits(&r, is_far ? 16 : 11) + (is_far ? 0 : 1);

            count = codec_take_bits(&r, is_far ? 7 : 4) + GLZSS_MIN_MATCH;
            if (distance == 0 || distance > done || count > plain - done)
                return false;
            codec_copy(out + done, out + done - distance, count);
        }
        if (r.is_short)
            return false;
        done += count;
    }
    return codec_bits_end(&r);
}

/* --- Both ------------------------------------------------------------------------------------- */

/* Codes the chunk in[0..len), len >= 1, with its tags.  Returns the size of its coded form in
 * `out`, which has room for s->bound bytes. */
BOTH_INLINE uint32_t glzss_encode(const struct codec_shape *s, const uint8_t *in,
                                  const uint16_t *tags, uint32_t len, uint8_t *out)
{
    return s->variant == GLZSS_25 ? glzss_encode_25(s, in, tags, len, out)
                                  : glzss_encode_17(s, in, tags, len, out);
}

/* Decodes coded[0..size) to the chunk out[0..plain), plain >= 1.  Returns false if the coded form
 * is damaged; some of out[0..plain) is then written, and nothing outside. */
BOTH_INLINE bool glzss_decode(const struct codec_shape *s, const uint8_t *coded, uint32_t size,
                              uint8_t *out, uint32_t plain)
{
    return s->variant == GLZSS_25 ? glzss_decode_25(coded, size, out, plain)
                                  : glzss_decode_17(coded, size, out, plain);
}

#endif
