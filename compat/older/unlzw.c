/*
 * unlzw.c - decompresses .Z files by compress: LZW with codes of 9 to 16 bits
 *
 * A byte follows the magic number.  Its low five bits are the width of the widest codes; its
 * highest bit says whether code 256 clears the table (block mode).  Then come codes, low bits
 * first.  A code below 256 stands for a byte.  Any other code stands for an entry of the table: the
 * string of an older code, and one byte more.  Until the table is full, each code but the first
 * makes an entry: the string of the code before it, and the first byte of its own string.  When the
 * number of the next entry does not fit the width of codes any more, codes become one bit wider.
 * Codes come in groups of eight.  When the width changes, and after a clear code, the rest of a
 * group is skipped.
 *
 * Following a string byte by byte, from its last byte to its first, would cost a cache miss for
 * each byte.  So an entry holds the last bytes of its string, up to eight, and the code of the
 * string before these bytes.  In this way, a string is a chain of parts.  All parts but the last
 * have exactly eight bytes.  An entry holds the string's length, too, so a string is written from
 * its end to its start, eight bytes at a time.
 *
 * Odd cases are treated as by GNU gzip 1.12: a table of 2^9 entries still gets codes of 10 bits;
 * the entry that the first code after a clear code makes is never used; an incomplete code at the
 * end of the input is ignored, so a file that is cut off need not be an error.
 */
#include "config.h"

#include "base/bytes.h"
#include "compat/older/older.h"

#include <stdlib.h>

enum {
    MIN_BITS = 9,
    MAX_BITS = 16,
    CLEAR = 256,
    PART = 8, /* the most bytes of a string that an entry holds */

    FLAG_BLOCK = 0x80,
    FLAGS_UNKNOWN = 0x60,
    FLAGS_BITS = 0x1f
};

/* A string.  Its last 1 to PART bytes are in `part`, the first of them in the lowest byte.  If it
 * has more bytes, `before` is the code of the string before them. */
struct string {
    uint64_t part;
    uint16_t before;
    /* The string's length in bytes, at most one more than there are entries. */
    uint16_t length;
};

struct lzw {
    struct string *table;
    bool block;
    unsigned max_bits;
    /* The table is full when it has this many entries. */
    uint32_t top;

    /* The number of bits of the next code.  Codes become wider when `free`, the next entry, is
     * above `last`. */
    unsigned width;
    uint32_t last;
    /* The number of the next entry. */
    uint32_t free;
    /* How many codes of the current group were read, modulo 8. */
    unsigned in_group;
    /* The next bits of the input, the first of them lowest.  The lowest bit_count bits were taken
     * from the input. */
    uint64_t bits;
    unsigned bit_count;
};

/* Makes at least 56 bits available, or as many as the input still has. */
static inline void fill_bits(struct lzw *z, struct gz_stream *s)
{
    if (s->in_end - s->in_pos >= 8) {
        z->bits |= load64(s->in + s->in_pos) << z->bit_count;
        s->in_pos += (63 - z->bit_count) / 8;
        z->bit_count |= 56;
        return;
    }
    while (z->bit_count <= 55) {
        int byte = gz_next_byte(s);
        if (byte < 0)
            return;
        z->bits |= (uint64_t)byte << z->bit_count;
        z->bit_count += 8;
    }
}

/* Skips the rest of the current group.  Returns false if the input ends before the group does. */
static bool end_group(struct lzw *z, struct gz_stream *s)
{
    for (; z->in_group % 8 != 0; z->in_group++) {
        fill_bits(z, s);
        if (z->bit_count < z->width)
            return false;
        z->bits >>= z->width;
        z->bit_count -= z->width;
    }
    z->in_group = 0;
    return true;
}

/* Sets the width of codes to MIN_BITS. */
static void narrow(struct lzw *z)
{
    z->width = MIN_BITS;
    z->last = (1u << MIN_BITS) - 1;
}

/* Makes codes one bit wider. */
static void widen(struct lzw *z)
{
    z->width++;
    z->last = z->width == z->max_bits ? z->top : (1u << z->width) - 1;
}

/* Returns the string of the code `code` with one byte appended. */
static inline struct string extend(struct string string, uint32_t code, uint8_t byte)
{
    const unsigned used = string.length % PART;

    if (used == 0)
        return (struct string){byte, (uint16_t)code, (uint16_t)(string.length + 1)};
    string.part |= (uint64_t)byte << (8 * used);
    string.length++;
    return string;
}

/* Writes the string to `to`.  May overwrite up to PART - 1 bytes after it. */
static inline void write_string(const struct lzw *z, struct string string, uint8_t *to)
{
    size_t left = string.length;

    left = (left - 1) / PART * PART;
    store64(to + left, string.part);
    while (left != 0) {
        string = z->table[string.before];
        left -= PART;
        store64(to + left, string.part);
    }
}

/* Reads a code; false if the input ends before it does. */
static inline bool next_code(struct lzw *z, struct gz_stream *s, uint32_t *code)
{
    if (z->free > z->last) {
        if (!end_group(z, s))
            return false;
        widen(z);
    }
    if (z->bit_count < z->width)
        fill_bits(z, s);
    if (z->bit_count < z->width)
        return false;
    *code = (uint32_t)(z->bits & ((1u << z->width) - 1));
    z->bits >>= z->width;
    z->bit_count -= z->width;
    z->in_group++;
    return true;
}

/* Decodes codes to the end of the input. */
static enum gz_status read_codes(struct lzw *z, struct gz_stream *s)
{
    struct string old;
    uint32_t code, old_code;
    /* The first byte of the string `old`. */
    uint8_t first;

    if (!next_code(z, s, &code))
        return GZ_OK;
    if (code > UINT8_MAX)
        return GZ_CORRUPT_START;
    old_code = code;
    old = z->table[code];
    first = (uint8_t)code;
    if (!gz_put(s, &first, 1))
        return GZ_WRITE_ERROR;
    while (next_code(z, s, &code)) {
        if (code == CLEAR && z->block) {
            if (!end_group(z, s))
                break;
            narrow(z);
            z->free = CLEAR;
            continue;
        }
        if (code > z->free)
            return GZ_CORRUPT;
        /* A code may stand for the entry that it makes itself: the old string followed by the first
         * byte of that string. */
        const struct string now = code == z->free ? extend(old, old_code, first) : z->table[code];
        if (now.length > GZ_OUT_SIZE - s->out_len && !gz_flush(s))
            return GZ_WRITE_ERROR;
        uint8_t *to = s->out + s->out_len;
        write_string(z, now, to);
        s->out_len += now.length;
        first = to[0];
        if (z->free < z->top)
            z->table[z->free++] = extend(old, old_code, first);
        old = z->table[code];
        old_code = code;
    }
    return GZ_OK;
}

enum gz_status gz_read_lzw(struct gz_stream *s)
{
    const int flags = gz_next_byte(s);
    struct lzw z;

    if (flags < 0)
        return s->in_stop;
    z = (struct lzw){.block = (flags & FLAG_BLOCK) != 0, .max_bits = flags & FLAGS_BITS};
    s->info->unknown_flags = flags & FLAGS_UNKNOWN;
    if (z.max_bits > MAX_BITS) {
        s->info->unknown = (uint8_t)z.max_bits;
        return GZ_TOO_MANY_BITS;
    }
    z.top = 1u << z.max_bits;
    z.free = z.block ? CLEAR + 1 : CLEAR;
    narrow(&z);

    /* A full table gets no more entries.  Even so, a code that equals `never`, the number that the
     * next entry would have, is not an error.  If the code after it refers to the string of
     * `never`, that string counts as two zero bytes. */
    const uint32_t never = z.top > z.free ? z.top : z.free;
    z.table = malloc((never + 1) * sizeof *z.table);
    if (z.table == NULL)
        return GZ_NO_MEMORY;
    for (unsigned i = 0; i <= UINT8_MAX; i++)
        z.table[i] = (struct string){.part = i, .length = 1};
    z.table[CLEAR] = (struct string){.length = 2};
    z.table[never] = (struct string){.length = 2};
    enum gz_status status = read_codes(&z, s);
    free(z.table);
    return status == GZ_OK && s->in_stop == GZ_READ_ERROR ? GZ_READ_ERROR : status;
}
