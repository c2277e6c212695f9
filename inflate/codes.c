/*
 * codes.c - makes the tables by which codes are read (codes.h)
 */
#include "config.h"

#include "inflate/codes.h"

#include <string.h>

/* Returns a symbol's entry, to which make_table adds the number of bits of the code. */
static uint32_t litlen_entry(unsigned symbol)
{
    if (symbol < DEFLATE_END_OF_BLOCK)
        return symbol << 16 | ENTRY_LITERAL;
    if (symbol == DEFLATE_END_OF_BLOCK)
        return ENTRY_END | ENTRY_SPECIAL;
    return deflate_least_length(symbol) << 16 | deflate_length_extra_bits(symbol);
}

static uint32_t distance_entry(unsigned symbol)
{
    return deflate_least_distance(symbol) << 16 | deflate_distance_extra_bits(symbol);
}

/* Returns the code after `code`.  Both codes have `bits` bits, and their first bit is the lowest.
 * The code after the last one has no meaning. */
static unsigned next_code(unsigned code, unsigned bits)
{
    const unsigned zeros = code ^ ((1u << bits) - 1);
    const unsigned highest = zeros != 0 ? 1u << (31 - __builtin_clz(zeros)) : 0;

    return (code & (highest - 1)) | highest;
}

/* The symbols of a code, sorted by length, and by number where lengths are equal. */
struct sorted {
    unsigned count[DEFLATE_MAX_CODE + 1]; /* number of symbols of each length */
    uint16_t symbols[DEFLATE_FIXED_LITLEN_SYMBOLS];
};

/* Sorts the symbols that have codes.  lengths[i], for i below n, is the length of symbol i's code;
 * 0 if the symbol has no code. */
static void sort_symbols(struct sorted *s, const uint8_t *lengths, unsigned n)
{
    unsigned at[DEFLATE_MAX_CODE + 2] = {0};

    memset(s->count, 0, sizeof(s->count));
    /* Skip eight zeros at a time, because counting each of them would take longer than all else
     * here. */
    for (unsigned i = 0; i < n; i++)
        if (n - i >= 8 && load64(lengths + i) == 0)
            i += 7;
        else
            s->count[lengths[i]]++;
    for (unsigned l = 1; l <= DEFLATE_MAX_CODE; l++)
        at[l + 1] = at[l] + s->count[l];
    for (unsigned i = 0; i < n; i++)
        if (n - i >= 8 && load64(lengths + i) == 0)
            i += 7;
        else if (lengths[i] != 0)
            s->symbols[at[lengths[i]]++] = (uint16_t)i;
}

/* Adds an entry for a code of more than `root` bits to the second table of its first bits.  *used
 * is the number of entries in all tables so far; a second table has 1 << second_bits entries. */
static void add_long(uint32_t *table, unsigned root, unsigned second_bits, unsigned code,
                     unsigned bits, uint32_t entry, unsigned *used)
{
    uint32_t *const first = &table[code & ((1u << root) - 1)];

    if (*first == ENTRY_NONE) {
        *first = *used << 16 | second_bits << 8 | ENTRY_SECOND | ENTRY_SPECIAL | root;
        for (unsigned i = 0; i < 1u << second_bits; i++)
            table[*used + i] = ENTRY_NONE;
        *used += 1u << second_bits;
    }
    for (unsigned at = code >> root; at < 1u << second_bits; at += 1u << (bits - root))
        table[entry_value(*first) + at] = entry;
}

/*
 * Makes the table of a code from its lengths, which inf_read_block has found good.  Symbols from
 * `symbols` on have codes but no meaning, so their entries are ENTRY_NONE.
 *
 * The table for codes of up to l bits is made of two copies of the table for l - 1 bits, to which
 * the codes of l bits are added.  So make_table writes each code once, and copies all other
 * entries.
 *
 * The first code of l bits is the code after the last one of l - 1 bits, with a 0 added (RFC 1951,
 * section 3.2.2).  A code's first bit is its lowest, so the added 0 is the highest bit and does not
 * change the number.
 */
static void make_table(uint32_t *table, unsigned root, const uint8_t *lengths, unsigned n,
                       unsigned symbols, uint32_t entry_of(unsigned symbol))
{
    unsigned code = 0, longest = DEFLATE_MAX_CODE, used = 1u << root;
    struct sorted s;
    const uint16_t *symbol = s.symbols;

    sort_symbols(&s, lengths, n);
    while (longest > root && s.count[longest] == 0)
        longest--;
    table[0] = ENTRY_NONE;
    for (unsigned bits = 1; bits <= longest; bits++) {
        if (bits <= root)
            memcpy(table + (1u << (bits - 1)), table, sizeof(*table) << (bits - 1));
        for (unsigned i = 0; i < s.count[bits]; i++, symbol++) {
            uint32_t entry = ENTRY_NONE;

            if (*symbol < symbols)
                entry = entry_of(*symbol) + (bits << 8 | bits);
            if (bits <= root)
                table[code] = entry;
            else
                add_long(table, root, longest - root, code, bits, entry, &used);
            code = next_code(code, bits);
        }
    }
}

static void make_fixed(struct inf_codes *c)
{
    uint8_t lengths[DEFLATE_FIXED_LITLEN_SYMBOLS];

    if (c->is_fixed)
        return;
    for (unsigned i = 0; i < DEFLATE_FIXED_LITLEN_SYMBOLS; i++)
        lengths[i] = (uint8_t)deflate_fixed_length(i);
    make_table(c->litlen, LITLEN_ROOT, lengths, DEFLATE_FIXED_LITLEN_SYMBOLS,
               DEFLATE_LITLEN_SYMBOLS, litlen_entry);
    memset(lengths, DEFLATE_FIXED_DISTANCE_LENGTH, DEFLATE_FIXED_DISTANCE_SYMBOLS);
    make_table(c->distance, DISTANCE_ROOT, lengths, DEFLATE_FIXED_DISTANCE_SYMBOLS,
               DEFLATE_DISTANCE_SYMBOLS, distance_entry);
    c->is_fixed = true;
}

static void make_dynamic(struct inf_codes *c)
{
    const struct inf_lengths *l = &c->lengths;

    make_table(c->litlen, LITLEN_ROOT, l->all, l->litlens, DEFLATE_LITLEN_SYMBOLS, litlen_entry);
    make_table(c->distance, DISTANCE_ROOT, l->all + l->litlens, l->distances,
               DEFLATE_DISTANCE_SYMBOLS, distance_entry);
    c->is_fixed = false;
}

enum inf_result inf_begin_block_of(struct inf_codes *c, uint64_t bits, unsigned count,
                                   const uint8_t *in, size_t len, struct inf_block *block)
{
    switch (inf_read_block(bits, count, in, len, block, &c->lengths)) {
    case INF_BLOCK_CUT:
        return INF_CUT;
    case INF_BLOCK_BAD:
        return INF_BAD;
    case INF_BLOCK_GOOD:
        break;
    }
    if (block->type == INF_BLOCK_FIXED)
        make_fixed(c);
    else if (block->type == INF_BLOCK_DYNAMIC)
        make_dynamic(c);
    return INF_MORE;
}

enum inf_result inf_begin_block(struct inf_codes *c, const uint8_t *in, size_t len, uint64_t place,
                                struct inf_block *block)
{
    const size_t first = (size_t)(place / 8);
    const unsigned skipped = (unsigned)(place % 8);

    if (first >= len)
        return INF_CUT;
    return inf_begin_block_of(c, (uint64_t)in[first] >> skipped, 8 - skipped, in + first + 1,
                              len - first - 1, block);
}
