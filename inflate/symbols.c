/*
 * symbols.c - decodes DEFLATE to symbols (symbols.h)
 *
 * Decoding works as in a decoder to bytes, and the loop of fast.h does most of it.  Only the output
 * is twice as wide, as a match may copy symbols for unknown bytes.
 */
#include "config.h"

#include "inflate/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "inflate/fast.h"

/* The functions that are compiled for each path of base/cpu.h. */
struct symbols_functions {
    enum inf_result (*decode_most)(const struct inf_codes *c, struct reader *reader, size_t len,
                                   uint16_t *out, size_t *n, size_t room);
};

struct inf_symbols {
    struct inf_codes codes;
    const struct symbols_functions *functions;
    /* Indexed by symbol: the byte that the symbol stands for (inf_resolve).  Indices from 256 to
     * INF_UNKNOWN - 1 are not symbols. */
    uint8_t bytes[INF_UNKNOWN + INF_WINDOW];
};

void inf_symbols_free(struct inf_symbols *d)
{
    free(d);
}

/* Decodes most of a block's codes (fast.h). */
FAST_INLINE enum inf_result decode_most(const struct inf_codes *c, struct reader *reader,
                                        size_t len, uint16_t *out, size_t *n, size_t room)
{
    uint8_t *to = (uint8_t *)(out + *n);
    const enum inf_result result = decode_fast(c, reader, len, &to, (uint8_t *)(out - INF_WINDOW),
                                               (uint8_t *)(out + room), sizeof(*out), NULL);

    *n = (size_t)(to - (uint8_t *)out) / sizeof(*out);
    return result;
}

static NOINLINE enum inf_result decode_most_portable(const struct inf_codes *c,
                                                     struct reader *reader, size_t len,
                                                     uint16_t *out, size_t *n, size_t room)
{
    return decode_most(c, reader, len, out, n, room);
}

#ifdef HAVE_AVX2_PATH
static AVX2_PATH NOINLINE enum inf_result decode_most_avx2(const struct inf_codes *c,
                                                           struct reader *reader, size_t len,
                                                           uint16_t *out, size_t *n, size_t room)
{
    return decode_most(c, reader, len, out, n, room);
}
#endif

static const struct symbols_functions functions[CPU_PATHS] = {
    [CPU_PORTABLE] = {decode_most_portable},
#ifdef HAVE_AVX2_PATH
    [CPU_AVX2] = {decode_most_avx2},
#endif
#ifdef HAVE_AVX512_PATH
    [CPU_AVX512] = {decode_most_avx2},
#endif
};

struct inf_symbols *inf_symbols_new(void)
{
    struct inf_symbols *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return NULL;
    d->functions = &functions[cpu_path()];
    for (unsigned byte = 0; byte < 256; byte++)
        d->bytes[byte] = (uint8_t)byte;
    return d;
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* The most symbols that a step writes: a match, and the symbols after it that copy_match may
 * overwrite. */
#define STEP (DEFLATE_MAX_MATCH + BEHIND / sizeof(uint16_t))

/* Decodes a literal or a match.  48 bits are valid.  Returns INF_MORE if the block goes on,
 * INF_BLOCK at its end, or INF_BAD. */
static enum inf_result decode_step(const struct inf_codes *c, struct reader *r, uint16_t *out,
                                   size_t *n)
{
    uint32_t entry = look_up(r->bits, c->litlen, LITLEN_ROOT);

    if ((entry & ENTRY_SECOND) != 0)
        entry = look_up_second(r->bits, c->litlen, LITLEN_ROOT, entry);
    if ((entry & ENTRY_LITERAL) != 0) {
        skip(r, entry_bits(entry));
        out[(*n)++] = (uint16_t)entry_value(entry);
        return INF_MORE;
    }
    if ((entry & ENTRY_END) != 0) {
        skip(r, entry_bits(entry));
        return INF_BLOCK;
    }
    if (entry == ENTRY_NONE)
        return INF_BAD;
    const size_t length = take_value(r, entry);

    entry = look_up(r->bits, c->distance, DISTANCE_ROOT);
    if ((entry & ENTRY_SECOND) != 0)
        entry = look_up_second(r->bits, c->distance, DISTANCE_ROOT, entry);
    if (entry == ENTRY_NONE)
        return INF_BAD;
    const size_t distance = take_value(r, entry);

    copy_match((uint8_t *)(out + *n), distance * sizeof(*out), length * sizeof(*out));
    *n += length;
    return INF_MORE;
}

/* Decodes a block after its header, up to the block's end. */
static enum inf_result decode_codes(const struct inf_symbols *d, struct reader *reader, size_t len,
                                    uint16_t *out, size_t *n, size_t room)
{
    struct reader r = *reader;
    size_t made = *n;
    enum inf_result result = d->functions->decode_most(&d->codes, &r, len, out, &made, room);

    while (result == INF_MORE) {
        if (r.count < 48) {
            /* If more bits were used than the input has, the block is cut off. */
            if (r.at > len && r.count < 8 * (r.at - len)) {
                result = INF_CUT;
                break;
            }
            fill_bits(&r);
        }
        if (made + STEP > room)
            break;
        result = decode_step(&d->codes, &r, out, &made);
    }
    *reader = r;
    *n = made;
    return result;
}

_Static_assert(DEFLATE_MAX_CODE + 5 + DEFLATE_MAX_CODE + 13 <= 48, "bits of a match");

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
        result = decode_codes(d, &r, len, out, &made, room);
        /* If the bits that seem wrong may lie after the input's end, the block may only be cut
         * off. */
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
