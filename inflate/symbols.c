/*
 * symbols.c - decodes DEFLATE to symbols (symbols.h)
 *
 * Decoding works as in a decoder to bytes: a table gives the meaning of the next bits.  Only the
 * output is twice as wide, as a match may copy symbols for unknown bytes.  While enough input and
 * room are left, one step decodes up to two literals and then another literal or a match, and
 * checks for input and room only once.
 */
#include "config.h"

#include "inflate/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "inflate/codes.h"

struct inf_symbols {
    struct inf_codes codes;
    /* Indexed by symbol: the byte that the symbol stands for (inf_resolve).  Indices from 256 to
     * INF_UNKNOWN - 1 are not symbols. */
    uint8_t bytes[INF_UNKNOWN + INF_WINDOW];
};

struct inf_symbols *inf_symbols_new(void)
{
    struct inf_symbols *d = calloc(1, sizeof(*d));

    for (unsigned byte = 0; d != NULL && byte < 256; byte++)
        d->bytes[byte] = (uint8_t)byte;
    return d;
}

void inf_symbols_free(struct inf_symbols *d)
{
    free(d);
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* The most symbols that copy_match writes after the end of the match. */
#define BEHIND 15

/* Copies a match of `length` symbols to `to`, from `distance` symbols back. */
static inline void copy_match(uint16_t *to, size_t distance, size_t length)
{
    const uint16_t *from = to - distance;

    if (distance >= 8) {
        /* Most matches have at most 16 symbols. */
        memcpy(to, from, 8 * sizeof(*to));
        memcpy(to + 8, from + 8, 8 * sizeof(*to));
        for (size_t i = 16; i < length; i += 8)
            memcpy(to + i, from + i, 8 * sizeof(*to));
        return;
    }
    for (size_t i = 0; i < length; i++)
        to[i] = from[i];
}

enum {
    FAST_LITERALS = 2,                 /* literals that a fast step may begin with */
    STEP = DEFLATE_MAX_MATCH + BEHIND, /* the most symbols that a step writes */
    FAST_STEP = STEP + FAST_LITERALS,  /* the most symbols that a fast step writes */
};

/* Decodes one step of a block: a literal or a match.  If is_fast, it may decode up to FAST_LITERALS
 * literals before that.  Returns INF_MORE if the block goes on, INF_BLOCK at its end, or
 * INF_BAD. */
static inline enum inf_result decode_step(const struct inf_codes *c, struct reader *r,
                                          uint16_t *out, size_t *n, bool is_fast)
{
    uint32_t entry = look_up(r->bits, c->litlen, LITLEN_ROOT);

    for (int i = 0; is_fast && i < FAST_LITERALS && (entry & ENTRY_LITERAL) != 0; i++) {
        skip(r, entry_bits(entry));
        out[(*n)++] = (uint16_t)entry_value(entry);
        entry = look_up(r->bits, c->litlen, LITLEN_ROOT);
    }
    if ((entry & ENTRY_SECOND) != 0)
        entry = look_up_second(r->bits, c->litlen, LITLEN_ROOT, entry);
    if ((entry & ENTRY_LITERAL) != 0) {
        skip(r, entry_bits(entry));
        out[(*n)++] = (uint16_t)entry_value(entry);
        return INF_MORE;
    }
    if (entry_bits(entry) == 0)
        return INF_BAD;
    if ((entry & ENTRY_END) != 0) {
        skip(r, entry_bits(entry));
        return INF_BLOCK;
    }
    const size_t length = take_value(r, entry);

    if (is_fast)
        fill_bits(r);
    entry = look_up(r->bits, c->distance, DISTANCE_ROOT);
    if ((entry & ENTRY_SECOND) != 0)
        entry = look_up_second(r->bits, c->distance, DISTANCE_ROOT, entry);
    if (entry_bits(entry) == 0)
        return INF_BAD;
    copy_match(out + *n, take_value(r, entry), length);
    *n += length;
    return INF_MORE;
}

/* Decodes a block after its header, up to the block's end. */
static enum inf_result decode_codes(const struct inf_codes *c, struct reader *reader, size_t len,
                                    uint16_t *out, size_t *n, size_t room)
{
    struct reader r = *reader;
    enum inf_result result = INF_MORE;
    size_t made = *n;

    while (result == INF_MORE && r.at + 2 * sizeof(r.bits) <= len && made + FAST_STEP <= room) {
        fill_bits(&r);
        result = decode_step(c, &r, out, &made, true);
    }
    while (result == INF_MORE) {
        if (r.count < 48) {
            /* More bits were used than the input has. */
            if (r.at > len && r.count < 8 * (r.at - len)) {
                result = INF_CUT;
                break;
            }
            fill_bits(&r);
        }
        if (made + STEP > room)
            break;
        result = decode_step(c, &r, out, &made, false);
    }
    *reader = r;
    *n = made;
    return result;
}

_Static_assert(DEFLATE_MAX_CODE + 5 + DEFLATE_MAX_CODE + 13 <= 48, "bits of a match");
_Static_assert(FAST_LITERALS *LITLEN_ROOT + DEFLATE_MAX_CODE + 5 <= 56, "bits between two fills");

enum inf_result inf_symbols_block(struct inf_symbols *d, const uint8_t *in, size_t len,
                                  uint64_t *place, uint16_t *out, size_t *n, size_t room)
{
    struct reader r = {.in = in};
    struct inf_block block;
    enum inf_result result = inf_begin_block(&d->codes, in, len, *place, &block);

    if (result != INF_MORE)
        return result;
    uint64_t end = *place + block.header_bits;

    if (block.type == INF_BLOCK_STORED) {
        const uint8_t *stored = in + end / 8;

        if (block.stored_len > len - end / 8)
            return INF_CUT;
        if (block.stored_len > room - *n)
            return INF_MORE;
        for (unsigned i = 0; i < block.stored_len; i++)
            out[*n + i] = stored[i];
        *n += block.stored_len;
        end += 8 * (uint64_t)block.stored_len;
    } else {
        r.at = (size_t)(end / 8);
        if (r.at > len)
            return INF_CUT;
        fill_bits(&r);
        skip(&r, (unsigned)(end % 8));
        size_t made = *n;
        result = decode_codes(&d->codes, &r, len, out, &made, room);
        /* The bits that seem wrong may lie after the input's end. */
        if (result == INF_BAD && r.at + sizeof(r.bits) > len)
            return INF_CUT;
        if (result != INF_BLOCK)
            return result;
        end = 8 * (uint64_t)r.at - r.count;
        if (end > 8 * (uint64_t)len)
            return INF_CUT;
        *n = made;
    }
    *place = end;
    return block.final ? INF_END : INF_BLOCK;
}

/* --- Symbols -------------------------------------------------------------------------------- */

void inf_symbols_begin(uint16_t *out)
{
    for (unsigned i = 0; i < INF_WINDOW; i++)
        out[(ptrdiff_t)i - (ptrdiff_t)INF_WINDOW] = (uint16_t)(INF_UNKNOWN + i);
}

bool inf_is_known(const uint16_t *end)
{
    /* Start at the end, where unknown symbols mostly are. */
    for (size_t done = 0; done < INF_WINDOW; done += 256) {
        unsigned any = 0;

        for (size_t i = 0; i < 256; i++)
            any |= end[(ptrdiff_t)i - (ptrdiff_t)done - 256];
        if (any >= INF_UNKNOWN)
            return false;
    }
    return true;
}

void inf_resolve(struct inf_symbols *d, const uint16_t *symbols, size_t n, const uint8_t *window,
                 uint8_t *bytes)
{
    const uint8_t *restrict const table = d->bytes;
    size_t i = 0;

    if (n == 0)
        return;
    memcpy(d->bytes + INF_UNKNOWN, window, INF_WINDOW);
    for (; i + 4 <= n; i += 4) {
        uint16_t some[4];

        memcpy(some, symbols + i, sizeof(some));
        for (unsigned k = 0; k < 4; k++)
            bytes[i + k] = table[some[k]];
    }
    for (; i < n; i++)
        bytes[i] = table[symbols[i]];
}
