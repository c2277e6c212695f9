/*
 * culzss.h - CULZSS's format: a byte for a literal, two bytes for a match, and a byte of flags for
 * each eight of them
 *
 * The GLZSS paper (2.3) and the gpuLZ paper (2.2) describe a flag for each literal or match, and a
 * byte each for offset and length.  They leave the rest open.  Here, it is as in the authors'
 * code: a byte of flags stands before each eight tokens; the lowest bit belongs to the first
 * token, and 1 means a literal.  A match is a byte with its length, then a byte with its place.
 *
 * Differences from the authors' code, and their reasons:
 *
 * - The place of a match is its distance - 1.  In the code, it is an index into a cyclic buffer of
 *   128 bytes, which no window above 128 bytes would allow.
 *
 * - The window is empty at a chunk's start.  The code fills it with blanks (culzss.c says why this
 *   program does not).
 *
 * - A chunk whose coded form would not be smaller is stored: its coded form is its bytes.  So a
 *   stored chunk has as many coded bytes as plain ones, and any other chunk has fewer.  The code
 *   gives up the whole file if it grows.
 *
 * - A file's last chunk may be short.  The code fills it with zeros to 4 KiB.
 */
#ifndef GZLZSS_PAPERS_CODEC_CULZSS_H
#define GZLZSS_PAPERS_CODEC_CULZSS_H

#include "papers/codec/shape.h"

/* The limits of the fields, in bytes. */
#define CULZSS_CODE_DISTANCE_MAX 256
#define CULZSS_CODE_LENGTH_MAX 255

/* The flags. */
enum { CULZSS_IS_MATCH, CULZSS_IS_LITERAL };

/* The most bytes of a chunk's coded form while it is written, before it may be stored instead. */
BOTH_INLINE uint32_t culzss_bound(uint32_t chunk)
{
    return chunk + (chunk + 7) / 8;
}

/* Codes the chunk in[0..len), len >= 1, with its tags.  Returns the size of its coded form in
 * `out`, which has room for s->bound bytes; at most len. */
BOTH_INLINE uint32_t culzss_encode(const struct codec_shape *s, const uint8_t *in,
                                   const uint16_t *tags, uint32_t len, uint8_t *out)
{
    struct codec_cutter cutter = {tags, len, 0, 0};
    struct codec_groups g = {out, NULL, 0};
    uint32_t at = 0, start, length;

    do {
        length = codec_next(&cutter, s, &start);
        for (; at < start; at++) {
            codec_put_flag(&g, CULZSS_IS_LITERAL);
            *g.out++ = in[at];
        }
        if (length > 0) {
            codec_put_flag(&g, CULZSS_IS_MATCH);
            *g.out++ = (uint8_t)length;
            *g.out++ = (uint8_t)(tags[at] - 1);
        }
        at += length;
    } while (length > 0);
    if ((uint32_t)(g.out - out) < len)
        return (uint32_t)(g.out - out);
    codec_copy(out, in, len);
    return len;
}

/* Decodes coded[0..size) to the chunk out[0..plain), plain >= 1.  Returns false if the coded form
 * is damaged; some of out[0..plain) is then written, and nothing outside. */
BOTH_INLINE bool culzss_decode(const struct codec_shape *s, const uint8_t *coded, uint32_t size,
                               uint8_t *out, uint32_t plain)
{
    struct codec_tokens t = {coded, size, 0, 0, 0};
    uint32_t done = 0, flag;

    (void)s;
    if (size >= plain) {
        if (size == plain)
            codec_copy(out, coded, plain);
        return size == plain;
    }
    while (done < plain) {
        if (!codec_take_flag(&t, &flag))
            return false;
        if (flag == CULZSS_IS_LITERAL) {
            out[done++] = coded[t.at++];
        } else {
            const uint32_t length = coded[t.at];
            uint32_t distance;

            if (size - t.at < 2)
                return false;
            distance = coded[t.at + 1] + 1u;
            t.at += 2;
            if (length < LZ_MIN_MATCH || length > distance || distance > done ||
                length > plain - done)
                return false;
            codec_copy(out + done, out + done - distance, length);
            done += length;
        }
    }
    return codec_tokens_end(&t);
}

#endif
