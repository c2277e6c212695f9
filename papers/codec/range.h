/*
 * range.h - a range coder for bytes, with one fixed table of frequencies
 *
 * The position lists' paper ends with a "range encoder" (II.A.c), which it also calls "arithmetic
 * encoding" (III.E), by a table of the bytes' frequencies in the whole file (III.D).  It leaves the
 * coder open.  This one is byte by byte, in 32 bits, and carries into bytes that it has not written
 * yet (G. N. N. Martin's range encoder, as carry propagation is usually done).
 *
 * The coder keeps an interval [low, low + range).  A byte with frequency f of RANGE_TOTAL makes the
 * interval f / RANGE_TOTAL as large.  When the interval has less than 2^24 numbers, its highest
 * byte is written.  So a byte takes about log2(RANGE_TOTAL / f) bits.
 */
#ifndef GZLZSS_PAPERS_CODEC_RANGE_H
#define GZLZSS_PAPERS_CODEC_RANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/both.h"

/* The sum of all frequencies.  A byte takes at most RANGE_TOTAL_BITS bits, and some for rounding.
 * With more, frequencies are more exact, but the rarest bytes take more bits.  15 is the most:
 * struct range_model has RANGE_TOTAL in 16 bits. */
#define RANGE_TOTAL_BITS 15
#define RANGE_TOTAL (1u << RANGE_TOTAL_BITS)

/* The interval has at least this many numbers before a byte is coded. */
#define RANGE_MIN (1u << 24)

/* sums[b] is the sum of the frequencies of all bytes below b; sums[256] is RANGE_TOTAL. */
struct range_model {
    uint16_t sums[257];
};

/* Sets the sums from the frequencies of the 256 bytes.  Returns false if their sum is not
 * RANGE_TOTAL. */
BOTH_INLINE bool range_model_set(struct range_model *m, const uint16_t frequencies[256])
{
    uint32_t sum = 0;

    for (uint32_t b = 0; b < 256; b++) {
        m->sums[b] = (uint16_t)sum;
        sum += frequencies[b];
        if (sum > RANGE_TOTAL)
            return false;
    }
    m->sums[256] = (uint16_t)sum;
    return sum == RANGE_TOTAL;
}

struct range_encoder {
    uint8_t *out; /* where the next byte goes */
    uint64_t low; /* below 2^33; a carry is in bit 32 */
    uint32_t range;
    uint32_t pending; /* bytes not written yet: first `byte`, the others 255; 0 only at first */
    uint8_t byte;
};

/* Moves the highest byte of `low` to the pending bytes.  Pending bytes are written when no carry
 * can change them any more.  No carry goes past the first byte of all, since `low` + range is never
 * above 2^32 there. */
BOTH_INLINE void range_shift(struct range_encoder *e)
{
    if (e->pending == 0 || e->low < 0xff000000u || e->low > UINT32_MAX) {
        const uint8_t carry = (uint8_t)(e->low >> 32);

        for (; e->pending > 0; e->pending--) {
            *e->out++ = (uint8_t)(e->byte + carry);
            e->byte = 0xff;
        }
        e->byte = (uint8_t)(e->low >> 24);
    }
    e->pending++;
    e->low = (e->low & 0x00ffffffu) << 8;
}

/* Codes in[0..size) with the model, in which each of these bytes has a frequency above 0.  Returns
 * the size of the result in `out`, at most range_bound(size) bytes. */
BOTH_INLINE uint32_t range_encode(const struct range_model *m, const uint8_t *in, uint32_t size,
                                  uint8_t *out)
{
    struct range_encoder e = {out, 0, UINT32_MAX, 0, 0};

    for (uint32_t i = 0; i < size; i++) {
        const uint32_t sum = m->sums[in[i]], part = e.range >> RANGE_TOTAL_BITS;

        e.low += (uint64_t)part * sum;
        e.range = part * (m->sums[in[i] + 1] - sum);
        for (; e.range < RANGE_MIN; e.range <<= 8)
            range_shift(&e);
    }
    for (int i = 0; i < 5; i++)
        range_shift(&e);
    return (uint32_t)(e.out - out);
}

/* The most bytes that range_encode writes.  A byte takes at most RANGE_TOTAL_BITS = 15 bits, and
 * less than 1 bit for rounding: 2 bytes. */
BOTH_INLINE size_t range_bound(size_t size)
{
    return 2 * size + 8;
}

struct range_decoder {
    const uint8_t *in, *end;
    uint32_t code; /* the coded number, less the encoder's `low` */
    uint32_t range;
    bool is_bad; /* the input is damaged */
};

/* Reads the next byte of the coded number. */
BOTH_INLINE void range_fill(struct range_decoder *d)
{
    if (d->in == d->end)
        d->is_bad = true;
    else
        d->code = d->code << 8 | *d->in++;
}

BOTH_INLINE struct range_decoder range_begin(const uint8_t *in, uint32_t size)
{
    struct range_decoder d = {in, in + size, 0, UINT32_MAX, false};

    for (int i = 0; i < 4; i++)
        range_fill(&d);
    return d;
}

/* Returns the byte b with sums[b] <= place < sums[b + 1].  place: below RANGE_TOTAL. */
BOTH_INLINE uint32_t range_byte_at(const struct range_model *m, uint32_t place)
{
    uint32_t byte = 0;

    for (uint32_t step = 128; step > 0; step /= 2)
        if (m->sums[byte + step] <= place)
            byte += step;
    return byte;
}

/* Decodes size bytes.  Returns false if the input is damaged. */
BOTH_INLINE bool range_decode(struct range_decoder *d, const struct range_model *m, uint8_t *out,
                              uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t part = d->range >> RANGE_TOTAL_BITS, place = d->code / part;
        uint32_t byte;

        if (d->is_bad || place >= RANGE_TOTAL)
            return false;
        byte = range_byte_at(m, place);
        d->code -= part * m->sums[byte];
        d->range = part * (uint32_t)(m->sums[byte + 1] - m->sums[byte]);
        for (; d->range < RANGE_MIN; d->range <<= 8)
            range_fill(d);
        out[i] = (uint8_t)byte;
    }
    return !d->is_bad;
}

/* Whether the input has ended, as range_encode ends it. */
BOTH_INLINE bool range_is_at_end(const struct range_decoder *d)
{
    return !d->is_bad && d->in == d->end && d->code == 0;
}

#endif
