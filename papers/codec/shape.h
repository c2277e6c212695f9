/*
 * shape.h - shared by the papers' formats: what a chunk's coded form may hold, and how tags are cut
 * into the matches that it can hold
 *
 * An encoder's input is a chunk's bytes and their tags.  A tag is the distance of the match that
 * covers the byte, or 0 if the byte is a literal.  Adjacent bytes with the same tag, other than 0,
 * are one match, however many matches the match finder has made of them.
 *
 * A format has a longest match, and in some formats, a match may not be longer than its distance.
 * So an encoder cuts each match, from its start on, into pieces of the greatest length that the
 * format allows.  The last piece may be shorter than the format's shortest match; its bytes then
 * become literals.
 *
 * "Chunk" means a chunk of the paper in this folder.  The rest of the program calls it a packet.
 */
#ifndef GZLZSS_PAPERS_CODEC_SHAPE_H
#define GZLZSS_PAPERS_CODEC_SHAPE_H

#include "lzss/common.h"

/* A format's numbers, which follow from the keys of a method (struct paper_format's shape). */
struct codec_shape {
    uint32_t chunk;   /* plain bytes of a chunk; a file's last chunk may have fewer */
    uint32_t bound;   /* the most bytes of a chunk's coded form, or of its last part */
    uint32_t least;   /* bytes of the shortest match; not used for gpuLZ */
    uint32_t most;    /* bytes of the longest match; not used for gpuLZ */
    bool is_apart;    /* true: no match is longer than its distance */
    uint32_t variant; /* a number of the format's own, see its header */
};

/* Finds the pieces of a chunk's matches, in order. */
struct codec_cutter {
    const uint16_t *tags;
    uint32_t len; /* bytes of the chunk */
    uint32_t at;  /* where the last piece ended; at first, where the search begins */
    uint32_t end; /* the end of the last piece's match; at first 0 */
};

/* Returns the end of the tags' run of equal tags that covers position `at` < len. */
BOTH_INLINE uint32_t codec_run_end(const uint16_t *tags, uint32_t at, uint32_t len)
{
    uint32_t end = at + 1;

    while (end < len && tags[end] == tags[at])
        end++;
    return end;
}

/* Returns the length of the next piece, and sets *start to its start and c->at to its end.  The
 * bytes between the last piece and *start are literals.  If there is no further piece, returns 0,
 * and sets both to the chunk's end. */
BOTH_INLINE uint32_t codec_next(struct codec_cutter *c, const struct codec_shape *s,
                                uint32_t *start)
{
    uint32_t at = c->at;

    for (;;) {
        uint32_t length;

        if (at >= c->end) {
            while (at < c->len && c->tags[at] == 0)
                at++;
            *start = c->at = at;
            if (at == c->len)
                return 0;
            c->end = codec_run_end(c->tags, at, c->len);
        }
        length = s->is_apart && c->tags[at] < s->most ? c->tags[at] : s->most;
        if (length > c->end - at)
            length = c->end - at;
        *start = at;
        at += length;
        c->at = at;
        if (length >= s->least)
            return length;
    }
}

/* Copies a match or literals: to[0..count) becomes from[0..count), one byte after the other. */
BOTH_INLINE void codec_copy(uint8_t *to, const uint8_t *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = from[i];
}

/* Numbers of 32 bits, the low byte first. */
BOTH_INLINE void codec_put32(uint8_t *out, uint32_t number)
{
    for (uint32_t i = 0; i < 4; i++)
        out[i] = (uint8_t)(number >> 8 * i);
}

BOTH_INLINE uint32_t codec_get32(const uint8_t *in)
{
    return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* --- Tokens in groups of eight, after a byte with their flags --------------------------------- */

/* An output whose tokens have flags.  A byte of eight flags, the first token's in the lowest bit,
 * stands before each eight tokens.  Flags without a token are 0. */
struct codec_groups {
    uint8_t *out;   /* where the next byte goes */
    uint8_t *flags; /* the current group's flags */
    uint32_t used;  /* tokens so far */
};

/* Begins a token with this flag.  The caller then writes the token to g->out. */
BOTH_INLINE void codec_put_flag(struct codec_groups *g, uint32_t flag)
{
    if (g->used % 8 == 0) {
        g->flags = g->out++;
        *g->flags = 0;
    }
    *g->flags = (uint8_t)(*g->flags | flag << g->used % 8);
    g->used++;
}

/* Reads from in[0..size) what struct codec_groups has written. */
struct codec_tokens {
    const uint8_t *in;
    uint32_t size;
    uint32_t at;    /* where the next byte is */
    uint32_t flags; /* the current group's flags, without those taken; bit 8 and above: 0 */
    uint32_t used;  /* tokens so far */
};

/* Sets *flag to the next token's flag.  Returns false if the input has no such token of at least
 * one byte. */
BOTH_INLINE bool codec_take_flag(struct codec_tokens *t, uint32_t *flag)
{
    if (t->used % 8 == 0) {
        if (t->at == t->size)
            return false;
        t->flags = t->in[t->at++];
    }
    *flag = t->flags & 1;
    t->flags >>= 1;
    t->used++;
    return t->at < t->size;
}

/* Whether the input has ended: no byte is left, and all flags without a token are 0. */
BOTH_INLINE bool codec_tokens_end(const struct codec_tokens *t)
{
    return t->at == t->size && t->flags == 0;
}

/* --- Bits, the highest first ------------------------------------------------------------------ */

struct codec_bit_writer {
    uint8_t *out;   /* where the next byte goes */
    uint64_t bits;  /* the lowest `count` bits are not written yet */
    uint32_t count; /* 0 to 7 */
};

/* Appends the lowest `count` bits of `value`, 1 to 32; higher bits of `value` are 0. */
BOTH_INLINE void codec_put_bits(struct codec_bit_writer *w, uint32_t value, uint32_t count)
{
    w->bits = w->bits << count | value;
    w->count += count;
    while (w->count >= 8) {
        w->count -= 8;
        *w->out++ = (uint8_t)(w->bits >> w->count);
    }
}

/* Writes the last bits, and fills their byte with zeros. */
BOTH_INLINE void codec_end_bits(struct codec_bit_writer *w)
{
    if (w->count > 0)
        codec_put_bits(w, 0, 8 - w->count);
}

struct codec_bit_reader {
    const uint8_t *in; /* the next byte */
    const uint8_t *end;
    uint64_t bits;  /* the lowest `count` bits are not taken yet */
    uint32_t count; /* 0 to 7 between two calls */
    bool is_short;  /* more bits were asked for than the input has */
};

/* Returns the next `count` bits, 1 to 32.  If the input ends before, returns 0 and sets
 * is_short. */
BOTH_INLINE uint32_t codec_take_bits(struct codec_bit_reader *r, uint32_t count)
{
    while (r->count < count) {
        if (r->in == r->end) {
            r->is_short = true;
            return 0;
        }
        r->bits = r->bits << 8 | *r->in++;
        r->count += 8;
    }
    r->count -= count;
    return (uint32_t)(r->bits >> r->count & (((uint64_t)1 << count) - 1));
}

/* Whether the input has ended: fewer than eight bits are left, and all of them are 0. */
BOTH_INLINE bool codec_bits_end(const struct codec_bit_reader *r)
{
    return !r->is_short && r->in == r->end && r->count < 8 &&
           (r->bits & (((uint64_t)1 << r->count) - 1)) == 0;
}

#endif
