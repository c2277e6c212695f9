/*
 * codes.h - reads the codes of a DEFLATE block: a reader of bits, and tables that give the meaning
 * of codes
 *
 * Three decoders use this file: symbols.c, which decodes to symbols, and whole.c and push.c, which
 * decode to bytes.
 */
#ifndef GZLZSS_INFLATE_CODES_H
#define GZLZSS_INFLATE_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/deflate.h"
#include "inflate/raw.h"

/*
 * A code's table has an entry for each value of the next ROOT bits.  Codes of more than ROOT bits
 * continue in a second table, whose index is the bits after the first ROOT bits.  With a larger
 * ROOT, fewer codes need a second table, but the table takes longer to make, and takes more of the
 * cache.
 *
 * An entry has, from its lowest bit on:
 *
 *   - 8 bits: the number of bits of the code and of its extra bits together;
 *   - 4 bits: the number of bits of the code alone;
 *   - 4 bits: the entry's kind.  It is ENTRY_LITERAL, ENTRY_END or ENTRY_SECOND; for a length or a
 *     distance, it is none of these.  If the kind is ENTRY_END or ENTRY_SECOND, ENTRY_SPECIAL is
 *     also set;
 *   - 16 bits: the value.
 *
 * If the bits that are the index do not start any code, the entry is ENTRY_NONE, which is the same
 * as ENTRY_SPECIAL.  So one test of ENTRY_SPECIAL finds all entries that are neither literals nor
 * lengths nor distances.
 *
 * In an entry of kind ENTRY_SECOND, the value is the index of the second table's first entry.  The
 * four bits after the first eight then hold the number of bits by which the second table is
 * indexed.
 */
enum {
    LITLEN_ROOT = 11,
    DISTANCE_ROOT = 8,
    LITLEN_ENTRIES =
        (1 << LITLEN_ROOT) + (DEFLATE_FIXED_LITLEN_SYMBOLS << (DEFLATE_MAX_CODE - LITLEN_ROOT)),
    DISTANCE_ENTRIES = (1 << DISTANCE_ROOT) +
                       (DEFLATE_FIXED_DISTANCE_SYMBOLS << (DEFLATE_MAX_CODE - DISTANCE_ROOT)),

    ENTRY_SPECIAL = 1 << 12,
    ENTRY_LITERAL = 1 << 13,
    ENTRY_END = 1 << 14,
    ENTRY_SECOND = 1 << 15,
    ENTRY_NONE = ENTRY_SPECIAL,
};

/* Returns the number of bits of an entry's code and extra bits together. */
static inline unsigned entry_bits(uint32_t entry)
{
    return entry & 63;
}

/* Returns the number of bits of the code alone.  If the kind is ENTRY_SECOND, returns the number of
 * bits by which the second table is indexed. */
static inline unsigned entry_code_bits(uint32_t entry)
{
    return entry >> 8 & 15;
}

/* Returns the value of an entry. */
static inline uint32_t entry_value(uint32_t entry)
{
    return entry >> 16;
}

/* The tables of a block. */
struct inf_codes {
    uint32_t litlen[LITLEN_ENTRIES], distance[DISTANCE_ENTRIES];
    bool is_fixed; /* whether the tables are those of fixed blocks */
    struct inf_lengths lengths;
};

/* Begins the block whose header starts at bit `place` of in[0..len): reads the header and, unless
 * the block is stored, makes its tables.  Fills in *block and returns INF_MORE if the header is
 * good; otherwise returns INF_CUT or INF_BAD.  c->is_fixed must be false before the first
 * use. */
enum inf_result inf_begin_block(struct inf_codes *c, const uint8_t *in, size_t len, uint64_t place,
                                struct inf_block *block);

/* The same for a block whose header starts with the lowest `count` bits of `bits`, count < 64, and
 * goes on in in[0..len), which starts at a byte boundary of the data. */
enum inf_result inf_begin_block_of(struct inf_codes *c, uint64_t bits, unsigned count,
                                   const uint8_t *in, size_t len, struct inf_block *block);

/* A reader of bits. */
struct reader {
    const uint8_t *in;
    uint64_t bits;  /* the next bits of the input; above the lowest `count`, more bits or zeros */
    unsigned count; /* the number of valid bits in `bits` */
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

/* Returns the entry of the code at the lowest bits of `bits`.  It is of kind ENTRY_SECOND if the
 * code has more than `root` bits. */
static inline uint32_t look_up(uint64_t bits, const uint32_t *table, unsigned root)
{
    return table[low_bits(bits, root)];
}

/* Returns the entry of the code at the lowest bits of `bits`, from a second table.  `first` is the
 * entry of kind ENTRY_SECOND that look_up has returned for this code. */
static inline uint32_t look_up_second(uint64_t bits, const uint32_t *table, unsigned root,
                                      uint32_t first)
{
    return table[entry_value(first) + low_bits(bits >> root, entry_code_bits(first))];
}

/* Returns the value of the entry's code plus the extra bits after it, and skips both. */
static inline size_t take_value(struct reader *r, uint32_t entry)
{
    const unsigned all = entry_bits(entry);
    const size_t value = entry_value(entry) + (low_bits(r->bits, all) >> entry_code_bits(entry));

    skip(r, all);
    return value;
}

/* --- Careful steps, near the end of the input ----------------------------------------------- */

/* The most bits of a match: the codes of its length and distance, and their extra bits. */
#define MATCH_BITS (DEFLATE_MAX_CODE + 5 + DEFLATE_MAX_CODE + 13)

/* Makes 56 to 63 bits valid, or as many as the input still has.  Reads no byte after the input. */
static inline void fill_to_end(struct reader *r, size_t len)
{
    if (len - r->at >= sizeof(r->bits)) {
        fill_bits(r);
        return;
    }
    /* fill_bits may have left bits of the next byte above the valid ones. */
    r->bits &= ~(UINT64_MAX << r->count);
    for (; r->count < 56 && r->at < len; r->count += 8)
        r->bits |= (uint64_t)r->in[r->at++] << r->count;
}

/* Returns the next code's entry.  Sets *result to INF_CUT if the input ends before the code and its
 * extra bits do, or to INF_BAD if no code starts with the next bits.  Otherwise leaves *result as
 * it is. */
static inline uint32_t next_entry(const struct reader *r, const uint32_t *table, unsigned root,
                                  enum inf_result *result)
{
    uint32_t entry = look_up(r->bits, table, root);

    if ((entry & ENTRY_SECOND) != 0)
        entry = look_up_second(r->bits, table, root, entry);
    if (entry_bits(entry) > r->count)
        *result = INF_CUT;
    else if (entry_bits(entry) == 0)
        *result = r->count < DEFLATE_MAX_CODE ? INF_CUT : INF_BAD;
    return entry;
}

#endif
