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

#include "base/bytes.h"
#include "base/deflate.h"
#include "inflate/blockheader.h"

/*
 * A code's table has an entry for each value of the next ROOT bits.  Codes of more than ROOT bits
 * continue in a second table, which is for the bits after these.  With more ROOT bits, fewer codes
 * need a second table, but the table takes longer to make, and more of the cache.
 *
 * An entry has, from its lowest bit on:
 *
 *   - 8 bits: the number of bits of the code and of its extra bits together; 0 if no code starts
 *     with these bits;
 *   - 4 bits: the number of bits of the code alone;
 *   - 4 bits: the entry's kind (LITERAL, END, SECOND, or none of them: a length or distance);
 *   - 16 bits: the value.
 *
 * In an entry of kind SECOND, the value is the index of the second table's first entry.  The four
 * bits after the first eight then hold the number of bits by which the second table is indexed.
 */
enum {
    LITLEN_ROOT = 11,
    DISTANCE_ROOT = 8,
    LITLEN_ENTRIES =
        (1 << LITLEN_ROOT) + (DEFLATE_FIXED_LITLEN_SYMBOLS << (DEFLATE_MAX_CODE - LITLEN_ROOT)),
    DISTANCE_ENTRIES = (1 << DISTANCE_ROOT) +
                       (DEFLATE_FIXED_DISTANCE_SYMBOLS << (DEFLATE_MAX_CODE - DISTANCE_ROOT)),

    LITERAL = 1 << 13,
    END = 1 << 14,
    SECOND = 1 << 15,
};

struct inf_symbols {
    uint32_t litlen[LITLEN_ENTRIES], distance[DISTANCE_ENTRIES];
    bool is_fixed; /* whether the tables are those of fixed blocks */
    struct inf_lengths lengths;
    /* By symbol: the byte that it stands for (inf_resolve).  Indices from 256 to INF_UNKNOWN - 1
     * are not symbols. */
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

/* --- Tables --------------------------------------------------------------------------------- */

/* Returns a symbol's entry, to which make_table adds the number of bits of the code. */
static uint32_t litlen_entry(unsigned symbol)
{
    if (symbol < DEFLATE_END_OF_BLOCK)
        return symbol << 16 | LITERAL;
    if (symbol == DEFLATE_END_OF_BLOCK)
        return END;
    return deflate_least_length(symbol) << 16 | deflate_length_extra_bits(symbol);
}

static uint32_t distance_entry(unsigned symbol)
{
    return deflate_least_distance(symbol) << 16 | deflate_distance_extra_bits(symbol);
}

static unsigned reverse(unsigned code, unsigned bits)
{
    unsigned reversed = 0;

    for (; bits > 0; bits--, code >>= 1)
        reversed = reversed << 1 | (code & 1);
    return reversed;
}

/* Makes the table of a code from its lengths, which inf_read_block has found good.  Symbols from
 * `symbols` on have codes but no meaning: their entries are 0. */
static void make_table(uint32_t *table, unsigned root, const uint8_t *lengths, unsigned n,
                       unsigned symbols, uint32_t entry_of(unsigned symbol))
{
    unsigned count[DEFLATE_MAX_CODE + 1] = {0}, next[DEFLATE_MAX_CODE + 1], code = 0;
    unsigned longest = 0, used = 1u << root;

    /* Skip eight zeros at a time: counting each of them would take longer than all else here. */
    for (unsigned i = 0; i < n; i++)
        if (n - i >= 8 && load64(lengths + i) == 0)
            i += 7;
        else
            count[lengths[i]]++;
    for (unsigned l = 1; l <= DEFLATE_MAX_CODE; l++) {
        next[l] = code;
        code = (code + count[l]) << 1;
        if (count[l] > 0)
            longest = l;
    }
    /* If all codes are short, fill a smaller table first, then copy it until the root's table is
     * full. */
    const unsigned small = longest < root ? longest : root;

    memset(table, 0, sizeof(*table) << small);
    for (unsigned i = 0; i < n; i++) {
        const unsigned bits = lengths[i];

        if (bits == 0)
            continue;
        const unsigned reversed = reverse(next[bits]++, bits);
        const uint32_t entry = i < symbols ? entry_of(i) + (bits << 8 | bits) : 0;

        if (bits <= root) {
            for (unsigned at = reversed; at < 1u << small; at += 1u << bits)
                table[at] = entry;
            continue;
        }
        uint32_t *const first = &table[reversed & ((1u << root) - 1)];
        const unsigned second_bits = longest - root;

        if (*first == 0) {
            *first = used << 16 | second_bits << 8 | SECOND | root;
            memset(table + used, 0, sizeof(*table) << second_bits);
            used += 1u << second_bits;
        }
        for (unsigned at = reversed >> root; at < 1u << second_bits; at += 1u << (bits - root))
            table[(*first >> 16) + at] = entry;
    }
    for (unsigned bits = small; bits < root; bits++)
        memcpy(table + (1u << bits), table, sizeof(*table) << bits);
}

static void make_fixed_tables(struct inf_symbols *d)
{
    uint8_t lengths[DEFLATE_FIXED_LITLEN_SYMBOLS];

    if (d->is_fixed)
        return;
    for (unsigned i = 0; i < DEFLATE_FIXED_LITLEN_SYMBOLS; i++)
        lengths[i] = (uint8_t)deflate_fixed_length(i);
    make_table(d->litlen, LITLEN_ROOT, lengths, DEFLATE_FIXED_LITLEN_SYMBOLS,
               DEFLATE_LITLEN_SYMBOLS, litlen_entry);
    memset(lengths, DEFLATE_FIXED_DISTANCE_LENGTH, DEFLATE_FIXED_DISTANCE_SYMBOLS);
    make_table(d->distance, DISTANCE_ROOT, lengths, DEFLATE_FIXED_DISTANCE_SYMBOLS,
               DEFLATE_DISTANCE_SYMBOLS, distance_entry);
    d->is_fixed = true;
}

static void make_dynamic_tables(struct inf_symbols *d)
{
    const struct inf_lengths *l = &d->lengths;

    make_table(d->litlen, LITLEN_ROOT, l->all, l->litlens, DEFLATE_LITLEN_SYMBOLS, litlen_entry);
    make_table(d->distance, DISTANCE_ROOT, l->all + l->litlens, l->distances,
               DEFLATE_DISTANCE_SYMBOLS, distance_entry);
    d->is_fixed = false;
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* A reader of bits. */
struct reader {
    const uint8_t *in;
    uint64_t bits;  /* the next bits of the input; above the lowest `count`, more bits or zeros */
    unsigned count; /* how many of them are valid */
    size_t at;      /* in[at] is the first byte that is not in the valid bits */
};

/* Makes 56 bits or more valid; reads 8 bytes from in[at] on. */
static inline void fill_bits(struct reader *r)
{
    r->bits |= load64(r->in + r->at) << r->count;
    r->at += (63 - r->count) / 8;
    r->count |= 56;
}

/* Skips n bits. */
static inline void skip(struct reader *r, unsigned n)
{
    r->bits >>= n;
    r->count -= n;
}

/* The lowest n bits. */
static inline unsigned low_bits(uint64_t bits, unsigned n)
{
    return (unsigned)bits & ((1u << n) - 1);
}

/* Returns the next code's entry; it is of kind SECOND if the code has more than `root` bits. */
static inline uint32_t look_up(const struct reader *r, const uint32_t *table, unsigned root)
{
    return table[low_bits(r->bits, root)];
}

/* Returns the next code's entry in the second table that `first`, an entry of kind SECOND,
 * gives. */
static inline uint32_t look_up_second(const struct reader *r, const uint32_t *table, unsigned root,
                                      uint32_t first)
{
    return table[(first >> 16) + low_bits(r->bits >> root, first >> 8 & 15)];
}

/* Returns the value of the entry's code plus the extra bits after it, and skips both. */
static inline size_t take_value(struct reader *r, uint32_t entry)
{
    const unsigned all = entry & 63;
    const size_t value = (entry >> 16) + (low_bits(r->bits, all) >> (entry >> 8 & 15));

    skip(r, all);
    return value;
}

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
static inline enum inf_result decode_step(const struct inf_symbols *d, struct reader *r,
                                          uint16_t *out, size_t *n, bool is_fast)
{
    uint32_t entry = look_up(r, d->litlen, LITLEN_ROOT);

    for (int i = 0; is_fast && i < FAST_LITERALS && (entry & LITERAL) != 0; i++) {
        skip(r, entry & 63);
        out[(*n)++] = (uint16_t)(entry >> 16);
        entry = look_up(r, d->litlen, LITLEN_ROOT);
    }
    if ((entry & SECOND) != 0)
        entry = look_up_second(r, d->litlen, LITLEN_ROOT, entry);
    if ((entry & LITERAL) != 0) {
        skip(r, entry & 63);
        out[(*n)++] = (uint16_t)(entry >> 16);
        return INF_MORE;
    }
    if ((entry & 63) == 0)
        return INF_BAD;
    if ((entry & END) != 0) {
        skip(r, entry & 63);
        return INF_BLOCK;
    }
    const size_t length = take_value(r, entry);

    if (is_fast)
        fill_bits(r);
    entry = look_up(r, d->distance, DISTANCE_ROOT);
    if ((entry & SECOND) != 0)
        entry = look_up_second(r, d->distance, DISTANCE_ROOT, entry);
    if ((entry & 63) == 0)
        return INF_BAD;
    copy_match(out + *n, take_value(r, entry), length);
    *n += length;
    return INF_MORE;
}

/* Decodes a block after its header, up to the block's end. */
static enum inf_result decode_codes(const struct inf_symbols *d, struct reader *reader, size_t len,
                                    uint16_t *out, size_t *n, size_t room)
{
    struct reader r = *reader;
    enum inf_result result = INF_MORE;
    size_t made = *n;

    while (result == INF_MORE && r.at + 2 * sizeof(r.bits) <= len && made + FAST_STEP <= room) {
        fill_bits(&r);
        result = decode_step(d, &r, out, &made, true);
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
        result = decode_step(d, &r, out, &made, false);
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
    const size_t first = (size_t)(*place / 8);
    const unsigned skipped = (unsigned)(*place % 8);
    struct reader r = {.in = in};
    struct inf_block block;
    enum inf_result result;

    if (first >= len)
        return INF_CUT;
    switch (inf_read_block((uint64_t)in[first] >> skipped, 8 - skipped, in + first + 1,
                           len - first - 1, &block, &d->lengths)) {
    case INF_BLOCK_GOOD:
        break;
    case INF_BLOCK_CUT:
        return INF_CUT;
    case INF_BLOCK_BAD:
        return INF_BAD;
    }
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
        if (block.type == INF_BLOCK_FIXED)
            make_fixed_tables(d);
        else
            make_dynamic_tables(d);
        r.at = (size_t)(end / 8);
        if (r.at > len)
            return INF_CUT;
        fill_bits(&r);
        skip(&r, (unsigned)(end % 8));
        size_t made = *n;
        result = decode_codes(d, &r, len, out, &made, room);
        /* The bits of the error may come from after the input's end. */
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
