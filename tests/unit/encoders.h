/*
 * encoders.h - small encoders for the formats other than gzip's that gunzip reads, to test the
 * decoders
 *
 * The encoders are written from descriptions of the formats and share nothing with the decoders in
 * compat/.  An encoder should use everything that its format can express, but need not compress
 * well.
 */
#ifndef GZLZSS_ENCODERS_H
#define GZLZSS_ENCODERS_H

#include "compat/crc.h"
#include "tests/unit/streams.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <zlib.h>

static inline void add_byte(struct bytes *b, unsigned byte)
{
    uint8_t one = (uint8_t)byte;
    add(b, &one, 1);
}

static inline void add_le(struct bytes *b, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        add_byte(b, value >> 8 * i & 0xff);
}

/* Collects bits in bytes.  Each byte is filled from the low end (.Z) or from the high end. */
struct bits {
    struct bytes *to;
    bool from_high;
    unsigned byte, n;
};

static inline void put_bits(struct bits *b, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned bit = b->from_high ? value >> (count - 1 - i) & 1 : value >> i & 1;
        b->byte |= bit << (b->from_high ? 7 - b->n : b->n);
        if (++b->n == 8) {
            add_byte(b->to, b->byte);
            b->byte = b->n = 0;
        }
    }
}

static inline void end_bits(struct bits *b)
{
    if (b->n != 0)
        add_byte(b->to, b->byte);
    b->byte = b->n = 0;
}

/* --- compress (.Z) -------------------------------------------------------------------------- */

/* How to make a .Z file.  The header's third byte is `max_bits`, plus 0x80 for block mode.  In
 * block mode, a CLEAR code comes after every `clear_after` codes (0: never). */
struct lzw_options {
    unsigned max_bits;
    bool block;
    unsigned clear_after;
};

/* Fills up the current group of eight codes with zero bits, since the width changes only between
 * groups. */
static inline void lzw_align(struct bits *out, unsigned width, unsigned *in_group)
{
    for (; *in_group % 8 != 0; ++*in_group)
        put_bits(out, 0, width);
    *in_group = 0;
}

static inline void encode_lzw(struct bytes *z, const uint8_t *data, size_t len,
                              const struct lzw_options *o)
{
    enum { SLOTS = 1 << 18 };
    struct bits out = {.to = z};
    const unsigned first = o->block ? 257 : 256;
    const unsigned top = 1u << o->max_bits;
    unsigned width = 9, in_group = 0, codes = 0;
    unsigned their_free = first - 1; /* the decoder's next code, one entry behind ours */
    unsigned our_free = first;
    /* An entry's key describes its string: 1 + (prefix << 8 | byte).  Key 0 marks a free entry. */
    uint32_t *keys = unit_need(calloc(SLOTS, sizeof *keys));
    uint32_t *values = unit_need(calloc(SLOTS, sizeof *values));

    add(z, "\x1f\x9d", 2);
    add_byte(z, o->max_bits | (o->block ? 0x80 : 0));
    for (size_t i = 0; i < len;) {
        unsigned code = data[i++];
        uint32_t slot = 0;
        for (; i < len; i++) {
            const uint32_t key = 1 + (code << 8 | data[i]);
            for (slot = key * 2654435761u % SLOTS; keys[slot] != 0 && keys[slot] != key;)
                slot = (slot + 1) % SLOTS;
            if (keys[slot] != key)
                break;
            code = values[slot];
        }
        if (i < len && our_free < top) {
            keys[slot] = 1 + (code << 8 | data[i]);
            values[slot] = our_free++;
        }
        const bool widest = width == o->max_bits && width > 9;
        if (their_free > (1u << width) - !widest) {
            lzw_align(&out, width, &in_group);
            width++;
        }
        put_bits(&out, code, width);
        in_group++;
        if (their_free < top)
            their_free++;
        if (o->block && o->clear_after != 0 && ++codes == o->clear_after && i < len) {
            if (their_free > (1u << width) - !(width == o->max_bits && width > 9)) {
                lzw_align(&out, width, &in_group);
                width++;
            }
            put_bits(&out, 256, width);
            in_group++;
            lzw_align(&out, width, &in_group);
            memset(keys, 0, SLOTS * sizeof *keys);
            width = 9;
            codes = 0;
            their_free = first - 1;
            our_free = first;
        }
    }
    end_bits(&out);
    free(keys);
    free(values);
}

/* --- Huffman codes -------------------------------------------------------------------------- */

/* Sets lengths[i], for n symbols, to the code length of a symbol that occurs count[i] times: at
 * most `limit` bits, or 0 if the symbol does not occur.  A lone symbol gets a code of one bit. */
static inline void huffman_lengths(const uint32_t *count, unsigned n, unsigned limit,
                                   uint8_t *lengths)
{
    uint64_t *weight = unit_need(calloc(2 * n, sizeof *weight));
    unsigned *parent = unit_need(calloc(2 * n, sizeof *parent));

    for (unsigned flatten = 0;; flatten++) {
        unsigned nodes = n, longest = 0;
        for (unsigned i = 0; i < n; i++) {
            weight[i] = count[i] == 0 || flatten == 0 ? count[i] : 1 + (count[i] >> flatten);
            parent[i] = 0;
        }
        for (;;) {
            unsigned two[2] = {0, 0}, found = 0;
            /* Find the two lightest nodes without a parent. */
            for (unsigned i = 0; i < nodes; i++) {
                if (weight[i] == 0 || parent[i] != 0)
                    continue;
                if (found == 0 || weight[i] < weight[two[0]]) {
                    two[1] = two[0];
                    two[0] = i;
                } else if (found == 1 || weight[i] < weight[two[1]]) {
                    two[1] = i;
                }
                found += found < 2;
            }
            if (found < 2)
                break;
            weight[nodes] = weight[two[0]] + weight[two[1]];
            parent[nodes] = 0;
            parent[two[0]] = parent[two[1]] = nodes++;
        }
        for (unsigned i = 0; i < n; i++) {
            unsigned depth = 0;
            for (unsigned node = i; parent[node] != 0; node = parent[node])
                depth++;
            lengths[i] = (uint8_t)(count[i] != 0 && depth == 0 ? 1 : depth);
            longest = depth > longest ? depth : longest;
        }
        if (longest <= limit)
            break;
    }
    free(weight);
    free(parent);
}

/* --- pack (.z) ------------------------------------------------------------------------------ */

/* Codes of the same length are numbered in the order of the symbols.  On each level of the tree,
 * the leaves come after the inner nodes.  The end symbol has the last of the longest codes. */
static inline void encode_pack(struct bytes *z, const uint8_t *data, size_t len, unsigned limit)
{
    enum { END = 256, SYMBOLS };
    uint32_t count[SYMBOLS] = {[END] = 1}, code[SYMBOLS];
    unsigned leaves[32] = {0}, inner[32] = {0}, longest = 1;
    uint8_t lengths[SYMBOLS];
    struct bits out = {.to = z, .from_high = true};

    for (size_t i = 0; i < len; i++)
        count[data[i]]++;
    huffman_lengths(count, SYMBOLS, limit, lengths);
    for (unsigned i = 0; i < SYMBOLS; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    /* The end symbol is the rarest, so its code should be among the longest.  If the end symbol's
     * code is shorter, swap codes with a symbol that has a longest code. */
    for (unsigned i = 0; i < END && lengths[END] != longest; i++)
        if (lengths[i] == longest) {
            lengths[i] = lengths[END];
            lengths[END] = (uint8_t)longest;
        }
    for (unsigned i = 0; i < SYMBOLS; i++)
        leaves[lengths[i]] += lengths[i] != 0;
    for (unsigned l = longest; l > 0; l--)
        inner[l - 1] = (inner[l] + leaves[l]) / 2;
    add(z, "\x1f\x1e", 2);
    for (unsigned i = 0; i < 4; i++)
        add_byte(z, (uint32_t)len >> (24 - 8 * i) & 0xff);
    add_byte(z, longest);
    for (unsigned l = 1; l <= longest; l++)
        add_byte(z, leaves[l] - (l == longest ? 2 : 0));
    for (unsigned l = 1; l <= longest; l++) {
        unsigned next = inner[l];
        for (unsigned i = 0; i < SYMBOLS; i++)
            if (lengths[i] == l) {
                code[i] = next++;
                if (i != END)
                    add_byte(z, i);
            }
    }
    for (size_t i = 0; i < len; i++)
        put_bits(&out, code[data[i]], lengths[data[i]]);
    put_bits(&out, code[END], lengths[END]);
    end_bits(&out);
}

/* --- compress -H (lzh) ---------------------------------------------------------------------- */

enum {
    LZH_WINDOW = 8192,
    LZH_MIN = 3,
    LZH_MAX = 256,
    LZH_CODES = 256 + LZH_MAX - LZH_MIN + 1,
    LZH_DISTANCES = 14,
    LZH_LENGTHS = 19
};

/* A literal or a match of lzh.  A literal's code is the byte.  A match's code is 256 + length -
 * LZH_MIN, and `distance` is one less than the match's distance. */
struct lzh_item {
    uint16_t code, distance;
};

/* Makes canonical codes: codes of the same length are numbered in the order of the symbols, after
 * all shorter codes. */
static inline void canonical_codes(const uint8_t *lengths, unsigned n, uint32_t *code)
{
    uint32_t next = 0;
    for (unsigned l = 1; l <= 16; l++, next <<= 1)
        for (unsigned i = 0; i < n; i++)
            if (lengths[i] == l)
                code[i] = next++;
}

/* Returns the symbol that codes the next code lengths.  Symbols 0 to 2 code *run lengths of zero.
 * Each other symbol codes one length: the symbol is the length plus 2. */
static inline unsigned lzh_length_symbol(const uint8_t *lengths, unsigned n, unsigned *run)
{
    *run = 1;
    if (lengths[0] != 0)
        return lengths[0] + 2u;
    while (*run < n && lengths[*run] == 0)
        ++*run;
    if (*run < 3) {
        *run = 1;
        return 0;
    }
    if (*run < 20) {
        *run = *run < 18 ? *run : 18;
        return 1;
    }
    *run = *run < 531 ? *run : 531;
    return 2;
}

/* Writes the lengths of a small code.  First comes their number, in `bits` bits.  A length below 7
 * takes 3 bits; a length of 7 or more takes one more bit for each unit above 6.  If `special` is
 * true, 2 bits after the third length give the number of zeros that follow. */
static inline void lzh_put_small(struct bits *out, const uint8_t *lengths, unsigned n,
                                 unsigned bits, bool special)
{
    while (n > 0 && lengths[n - 1] == 0)
        n--;
    put_bits(out, n, bits);
    for (unsigned i = 0; i < n;) {
        const unsigned l = lengths[i++];
        if (l < 7)
            put_bits(out, l, 3);
        else
            put_bits(out, (1u << (l - 3)) - 2, l - 3);
        if (special && i == 3) {
            unsigned zeros = 0;
            while (zeros < 3 && i < n && lengths[i] == 0)
                zeros++, i++;
            put_bits(out, zeros, 2);
        }
    }
}

static inline unsigned bit_width(unsigned v)
{
    unsigned n = 0;
    for (; v != 0; v >>= 1)
        n++;
    return n;
}

/* If exactly one symbol occurs, returns that symbol, since the file then has the symbol's number in
 * place of code lengths.  Returns 0 if no symbol occurs, and -1 if several occur. */
static inline int lone_symbol(const uint32_t *count, unsigned n)
{
    int lone = -2;
    for (unsigned i = 0; i < n; i++)
        if (count[i] != 0)
            lone = lone == -2 ? (int)i : -1;
    return lone == -2 ? 0 : lone;
}

static inline void lzh_put_block(struct bits *out, const struct lzh_item *items, unsigned n)
{
    uint32_t c_count[LZH_CODES] = {0}, p_count[LZH_DISTANCES] = {0}, t_count[LZH_LENGTHS] = {0};
    uint32_t c_code[LZH_CODES] = {0}, p_code[LZH_DISTANCES] = {0}, t_code[LZH_LENGTHS] = {0};
    uint8_t c_len[LZH_CODES] = {0}, p_len[LZH_DISTANCES] = {0}, t_len[LZH_LENGTHS] = {0};
    unsigned run, c_used = LZH_CODES;

    for (unsigned i = 0; i < n; i++) {
        c_count[items[i].code]++;
        if (items[i].code >= 256)
            p_count[bit_width(items[i].distance)]++;
    }
    const int c_lone = lone_symbol(c_count, LZH_CODES),
              p_lone = lone_symbol(p_count, LZH_DISTANCES);
    put_bits(out, n, 16);
    if (c_lone >= 0) {
        put_bits(out, 0, 5);
        put_bits(out, 0, 5);
        put_bits(out, 0, 9);
        put_bits(out, (unsigned)c_lone, 9);
    } else {
        huffman_lengths(c_count, LZH_CODES, 16, c_len);
        canonical_codes(c_len, LZH_CODES, c_code);
        while (c_len[c_used - 1] == 0)
            c_used--;
        for (unsigned i = 0; i < c_used; i += run)
            t_count[lzh_length_symbol(c_len + i, c_used - i, &run)]++;
        const int t_lone = lone_symbol(t_count, LZH_LENGTHS);
        if (t_lone >= 0) {
            put_bits(out, 0, 5);
            put_bits(out, (unsigned)t_lone, 5);
        } else {
            huffman_lengths(t_count, LZH_LENGTHS, 16, t_len);
            canonical_codes(t_len, LZH_LENGTHS, t_code);
            lzh_put_small(out, t_len, LZH_LENGTHS, 5, true);
        }
        put_bits(out, c_used, 9);
        for (unsigned i = 0; i < c_used; i += run) {
            const unsigned t = lzh_length_symbol(c_len + i, c_used - i, &run);
            put_bits(out, t_code[t], t_len[t]);
            if (t == 1)
                put_bits(out, run - 3, 4);
            else if (t == 2)
                put_bits(out, run - 20, 9);
        }
    }
    if (p_lone >= 0) {
        put_bits(out, 0, 4);
        put_bits(out, (unsigned)p_lone, 4);
    } else {
        huffman_lengths(p_count, LZH_DISTANCES, 16, p_len);
        canonical_codes(p_len, LZH_DISTANCES, p_code);
        lzh_put_small(out, p_len, LZH_DISTANCES, 4, false);
    }
    for (unsigned i = 0; i < n; i++) {
        put_bits(out, c_code[items[i].code], c_len[items[i].code]);
        if (items[i].code < 256)
            continue;
        const unsigned width = bit_width(items[i].distance);
        put_bits(out, p_code[width], p_len[width]);
        if (width > 1)
            put_bits(out, items[i].distance - (1u << (width - 1)), width - 1);
    }
}

/* Makes a file in the format of compress -H.  block: the number of items in a block, 1 to 65535. */
static inline void encode_lzh(struct bytes *z, const uint8_t *data, size_t len, unsigned block)
{
    enum { SLOTS = 1 << 14 };
    struct bits out = {.to = z, .from_high = true};
    struct lzh_item *items = unit_need(malloc(block * sizeof *items));
    size_t *last = unit_need(calloc(SLOTS, sizeof *last)); /* 1 + position */
    unsigned n = 0;

    add(z, "\x1f\xa0", 2);
    for (size_t i = 0; i < len;) {
        size_t best = 0;
        items[n] = (struct lzh_item){.code = data[i]};
        if (i + 3 <= len) {
            const uint32_t key = data[i] | (uint32_t)data[i + 1] << 8 | (uint32_t)data[i + 2] << 16;
            size_t *const slot = &last[key * 2654435761u >> 18];
            const size_t from = *slot;
            *slot = i + 1;
            if (from != 0 && i - (from - 1) <= LZH_WINDOW) {
                while (best < LZH_MAX && i + best < len && data[i + best] == data[from - 1 + best])
                    best++;
                if (best >= LZH_MIN)
                    items[n] = (struct lzh_item){.code = (uint16_t)(256 + best - LZH_MIN),
                                                 .distance = (uint16_t)(i - from)};
            }
        }
        i += best >= LZH_MIN ? best : 1;
        if (++n == block) {
            lzh_put_block(&out, items, n);
            n = 0;
        }
    }
    if (n != 0)
        lzh_put_block(&out, items, n);
    put_bits(&out, 0, 16);
    end_bits(&out);
    free(items);
    free(last);
}

/* --- zip ------------------------------------------------------------------------------------ */

/* Appends in[0..len) as raw DEFLATE, made by zlib. */
static inline void add_deflate(struct bytes *b, const void *data, size_t len, int level,
                               int strategy)
{
    z_stream z = {0};
    if (deflateInit2(&z, level, Z_DEFLATED, -15, 8, strategy) != Z_OK)
        abort();
    size_t room = deflateBound(&z, (uLong)len) + 16;
    uint8_t *out = unit_need(malloc(room));
    z.next_in = (Bytef *)data;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    add(b, out, room - z.avail_out);
    free(out);
    deflateEnd(&z);
}

/* Writes an entry of a zip file.  The directory at the end is left out, since gunzip ignores it.
 * If `flags` contains 8, the sizes and the CRC come after the data. */
static inline void encode_zip(struct bytes *z, const uint8_t *data, size_t len, unsigned method,
                              unsigned flags)
{
    const bool after = (flags & 8) != 0;
    struct bytes body = {0};

    if (method == 8)
        add_deflate(&body, data, len, 6, Z_DEFAULT_STRATEGY);
    else
        add(&body, data, len);
    const uint32_t crc = gz_crc32(0, data, len);
    add(z, "PK\3\4\24\0", 6);
    add_le(z, flags, 2);
    add_le(z, method, 2);
    add_le(z, 0x5a6b0000, 4); /* time and date */
    add_le(z, after ? 0 : crc, 4);
    add_le(z, after ? 0 : body.len, 4);
    add_le(z, after ? 0 : len, 4);
    add_le(z, 4, 2); /* name */
    add_le(z, 5, 2); /* extra field */
    add(z, "nameextra", 9);
    add(z, body.data, body.len);
    if (after) {
        add(z, "PK\7\10", 4);
        add_le(z, crc, 4);
        add_le(z, body.len, 4);
        add_le(z, len, 4);
    }
    drop(&body);
}

/* --- Damage --------------------------------------------------------------------------------- */

/* Damages the data at a random place after its first two bytes: truncates it, flips a bit, sets
 * some bytes, or replaces all bytes from that place on by noise.  In half of all cases, the place
 * is near the start, where headers are. */
static inline void damage(struct bytes *b, uint64_t *state)
{
    const size_t near[] = {8, 16, 40, 80};
    size_t end = unit_below(state, 2) == 0 ? near[unit_below(state, 4)] : b->len, at;

    if (end > b->len)
        end = b->len;
    if (end <= 2)
        return;
    at = 2 + unit_below(state, end - 2);
    switch (unit_below(state, 5)) {
    case 0:
        b->len = at;
        break;
    case 1:
    case 2:
        b->data[at] ^= (uint8_t)(1u << unit_below(state, 8));
        break;
    case 3:
        for (uint64_t n = 1 + unit_below(state, 7); n != 0; n--)
            b->data[2 + unit_below(state, end - 2)] = (uint8_t)unit_rand(state);
        break;
    default:
        for (uint64_t n = unit_below(state, 40); n != 0 && at < b->len; n--)
            b->data[at++] = (uint8_t)unit_rand(state);
    }
}

#endif
