/*
 * unlzh.c - decompresses files by SCO's compress -H: LZSS and Huffman codes, as in LHA's -lh5-
 *
 * Blocks follow the magic number.  The file is a sequence of bits, high bits of each byte first.  A
 * block begins with 16 bits that hold the number of its items; 0 marks the end of the data.  Then
 * come three codes: T for the code lengths of C, C for literals and match lengths, and P for
 * distances.  Then come the items.  An item begins with a code word of C, which stands for a
 * literal byte or for a match of 3 to 256 bytes.  In a match, a word of P follows, which gives the
 * number of bits of distance - 1.  After it come these bits, without the highest.  The window has
 * 8192 bytes; all are zero at the start.
 *
 * A code is stored as the number of its symbols and the length of each symbol's word.  If the
 * number of symbols is 0, the number of the only symbol follows, and this symbol takes no bits in
 * the data.  Words of one length are consecutive numbers.  They follow the shorter words, as in
 * every canonical code.
 *
 * Odd cases are treated as by GNU gzip 1.12:
 *
 *   - Endless zero bits follow the input.  So a file that is cut off need not be an error.
 *   - If no symbol of a code has a word, the words of the previous code are looked up, but take no
 *     bits.  T and P count as the same code.
 *   - If more lengths are stored than there are symbols, the surplus is read and ignored.
 *
 * One case differs: if a code has one symbol, and its number is too high, that is an error here.
 * gzip goes on with the previous contents of its tables.
 */
#include "config.h"

#include "compat/older/older.h"

#include <stdlib.h>

enum {
    WINDOW = 8192,
    MIN_MATCH = 3,
    C_SYMBOLS = 510,
    C_BITS = 9, /* bits of the number of a symbol */
    T_SYMBOLS = 19,
    T_BITS = 5,
    T_GAP = 3, /* after this many lengths of T, two bits give the number of zeros that follow */
    P_SYMBOLS = 14,
    P_BITS = 4,
    MAX_WORD = 16,
    TABLE_BITS = 12
};

/* A code for decoding. */
struct code {
    /* Indexed by the next TABLE_BITS bits: symbol << 5 | the word's length in bits; 0 if the word
     * is longer than TABLE_BITS. */
    uint16_t table[1 << TABLE_BITS];
    /* For each length: the lowest number of 16 bits that starts with a longer word. */
    uint32_t limit[MAX_WORD + 1];
    /* For each length: the symbol of a word is symbols[base + word], with the index modulo 2^16. */
    uint16_t base[MAX_WORD + 1];
    uint16_t symbols[C_SYMBOLS];
    /* The only symbol, which takes no bits, or -1. */
    int lone;
    /* Whether the words take no bits, because no symbol of the stored code has a word. */
    bool takes_none;
};

struct lzh {
    struct code c, pt;
    struct gz_bits b;
    uint8_t window[WINDOW];
    /* The position in the window where the next byte goes. */
    unsigned pos;
};

/* Takes the next n bits from the input, n up to 16. */
static unsigned take_bits(struct lzh *z, struct gz_stream *s, unsigned n)
{
    if (n == 0)
        return 0;
    gz_fill_bits(&z->b, s);
    const unsigned value = gz_peek_bits(&z->b, n);
    gz_skip_bits(&z->b, n);
    return value;
}

/* --- Codes ---------------------------------------------------------------------------------- */

/* Makes a code with a single symbol.  Leaves the table as it is.  Such a code may come every few
 * bytes, so filling the table each time would take too long. */
static void set_lone(struct code *code, unsigned symbol)
{
    code->lone = (int)symbol;
}

/* Makes a code of n symbols from the lengths of their words.  Returns false if the lengths are not
 * those of a complete code. */
static bool set_lengths(struct code *code, const uint8_t *lengths, unsigned n)
{
    unsigned count[MAX_WORD + 1] = {0};
    uint16_t next[MAX_WORD + 1];
    /* How many of the 2^16 values of 16 bits start with a word that was counted so far. */
    uint32_t used = 0;
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++)
        count[lengths[i]]++;
    for (unsigned l = 1; l <= MAX_WORD; l++)
        used += (uint32_t)count[l] << (MAX_WORD - l);
    code->takes_none = used == 0;
    if (used == 0)
        return true;
    if (used != 1u << MAX_WORD)
        return false;
    code->lone = -1;

    used = 0;
    for (unsigned l = 1; l <= MAX_WORD; l++) {
        code->base[l] = (uint16_t)(sum - (used >> (MAX_WORD - l)));
        next[l] = (uint16_t)sum;
        sum += count[l];
        used += (uint32_t)count[l] << (MAX_WORD - l);
        code->limit[l] = used;
    }
    for (unsigned i = 0; i < n; i++)
        if (lengths[i] != 0)
            code->symbols[next[lengths[i]]++] = (uint16_t)i;
    uint16_t *entry = code->table, *const end = entry + (1 << TABLE_BITS);
    sum = 0;
    for (unsigned l = 1; l <= TABLE_BITS; l++)
        for (unsigned i = 0; i < count[l]; i++, sum++)
            for (unsigned k = 1u << (TABLE_BITS - l); k != 0; k--)
                *entry++ = (uint16_t)(code->symbols[sum] << 5 | l);
    memset(entry, 0, (size_t)(end - entry) * sizeof *entry);
    return true;
}

/* Takes the next word from the input, and returns its symbol. */
static unsigned next_symbol(struct lzh *z, struct gz_stream *s, const struct code *code)
{
    if (code->lone >= 0)
        return (unsigned)code->lone;
    if (z->b.count < 2 * MAX_WORD)
        gz_fill_bits(&z->b, s);
    const unsigned entry = code->table[gz_peek_bits(&z->b, TABLE_BITS)];
    unsigned symbol = entry >> 5, n = entry & 31;

    if (n == 0) {
        const uint32_t bits = gz_peek_bits(&z->b, MAX_WORD);
        for (n = TABLE_BITS + 1; bits >= code->limit[n];)
            n++;
        symbol = code->symbols[(uint16_t)(code->base[n] + (bits >> (MAX_WORD - n)))];
    }
    if (!code->takes_none)
        gz_skip_bits(&z->b, n);
    return symbol;
}

/* Reads T or P.  A length below 7 is stored in three bits.  A length of 7 or more is stored as
 * three bits that are 1, then length - 7 more bits that are 1, and a bit that is 0.  `gap` is T_GAP
 * for T; 0 for P, which has no gap. */
static bool read_lengths_code(struct lzh *z, struct gz_stream *s, unsigned symbols, unsigned bits,
                              unsigned gap)
{
    uint8_t lengths[(1 << T_BITS) + 3] = {0};
    const unsigned n = take_bits(z, s, bits);

    if (n == 0) {
        set_lone(&z->pt, take_bits(z, s, bits));
        return true;
    }
    for (unsigned i = 0; i < n;) {
        unsigned length = take_bits(z, s, 3);
        if (length == 7)
            while (take_bits(z, s, 1) != 0)
                if (++length > MAX_WORD)
                    return false;
        lengths[i++] = (uint8_t)length;
        if (i == gap)
            i += take_bits(z, s, 2);
    }
    return set_lengths(&z->pt, lengths, symbols);
}

/* Reads C. Its lengths are stored as words of T: symbols 0 to 2 stand for one or more zeros, and a
 * higher symbol s for the length s - 2. */
static bool read_c(struct lzh *z, struct gz_stream *s)
{
    uint8_t lengths[1 << C_BITS] = {0};
    const unsigned n = take_bits(z, s, C_BITS);

    if (n == 0) {
        set_lone(&z->c, take_bits(z, s, C_BITS));
        return true;
    }
    for (unsigned i = 0; i < n;) {
        const unsigned symbol = next_symbol(z, s, &z->pt);
        if (symbol > 2) {
            if (symbol - 2 > MAX_WORD)
                return false;
            lengths[i++] = (uint8_t)(symbol - 2);
            continue;
        }
        /* A run of zeros may go beyond n, and beyond all symbols. */
        i += symbol == 0 ? 1 : symbol == 1 ? take_bits(z, s, 4) + 3 : take_bits(z, s, C_BITS) + 20;
    }
    return set_lengths(&z->c, lengths, C_SYMBOLS);
}

/* --- Data ----------------------------------------------------------------------------------- */

static inline bool put_byte(struct lzh *z, struct gz_stream *s, uint8_t byte)
{
    z->window[z->pos++] = byte;
    if (z->pos < WINDOW)
        return true;
    z->pos = 0;
    return gz_put(s, z->window, WINDOW);
}

static enum gz_status copy_match(struct lzh *z, struct gz_stream *s, unsigned length)
{
    /* At first, the variable holds the number of bits of distance - 1; later, distance - 1
     * itself. */
    unsigned distance = next_symbol(z, s, &z->pt);

    if (distance >= P_SYMBOLS)
        return GZ_BAD_TABLE;
    if (distance > 1)
        distance = (1u << (distance - 1)) + take_bits(z, s, distance - 1);
    for (unsigned from = z->pos - distance - 1; length != 0; length--)
        if (!put_byte(z, s, z->window[from++ % WINDOW]))
            return GZ_WRITE_ERROR;
    return GZ_OK;
}

/* Decodes a block of `items` items. */
static enum gz_status read_block(struct lzh *z, struct gz_stream *s, unsigned items)
{
    if (!read_lengths_code(z, s, T_SYMBOLS, T_BITS, T_GAP) || !read_c(z, s) ||
        !read_lengths_code(z, s, P_SYMBOLS, P_BITS, 0))
        return GZ_BAD_TABLE;
    for (; items != 0; items--) {
        const unsigned symbol = next_symbol(z, s, &z->c);
        enum gz_status status = GZ_OK;
        if (symbol >= C_SYMBOLS)
            status = GZ_BAD_TABLE;
        else if (symbol > UINT8_MAX)
            status = copy_match(z, s, symbol - (UINT8_MAX + 1) + MIN_MATCH);
        else if (!put_byte(z, s, (uint8_t)symbol))
            status = GZ_WRITE_ERROR;
        if (status != GZ_OK)
            return status;
    }
    return GZ_OK;
}

enum gz_status gz_read_lzh(struct gz_stream *s)
{
    struct lzh *z = calloc(1, sizeof *z);
    enum gz_status status = GZ_OK;

    if (z == NULL)
        return GZ_NO_MEMORY;
    set_lone(&z->c, 0);
    set_lone(&z->pt, 0);
    for (unsigned items; status == GZ_OK && (items = take_bits(z, s, 16)) != 0;)
        status = read_block(z, s, items);
    /* Report a read error, which the endless zeros after the input would hide. */
    if (status != GZ_WRITE_ERROR && s->in_stop == GZ_READ_ERROR)
        status = GZ_READ_ERROR;
    if (status != GZ_WRITE_ERROR && !gz_put(s, z->window, z->pos))
        status = GZ_WRITE_ERROR;
    gz_end_bits(&z->b, s);
    free(z);
    return status;
}
