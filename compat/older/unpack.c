/*
 * unpack.c - decompresses .z files by System V's pack: a Huffman code of bytes
 *
 * The magic number is followed by the data's length modulo 2^32, high byte first, and by the code:
 *
 *   - the number of bits of its longest words;
 *   - for each length 1, 2, ..., the number of words of that length.  For the greatest length, 2
 *     less is stored, so that a byte can hold the number even if there are 257 words (for 256 bytes
 *     and the end symbol);
 *   - the bytes that these words stand for, in the same order.
 *
 * Words of one length are consecutive numbers.  The inner nodes of the tree at that depth have the
 * lower numbers.  The last of the longest words is the end symbol.  Then comes the data: words,
 * high bits first.
 *
 * Words of up to TABLE_BITS bits are decoded by a single table look-up.  Longer words are found
 * level by level, from the number of inner nodes at each level.
 *
 * The errors, and the order in which they are found, are those of GNU gzip 1.12.
 */
#include "config.h"

#include "compat/older/older.h"

#include <stdlib.h>

enum { MAX_BITS = 25, TABLE_BITS = 12, MAX_BYTES = 256, END = 256 };

struct pack {
    /* Bits of the longest words. */
    unsigned longest;
    /* For each length: the number of words. */
    unsigned words[MAX_BITS + 1];
    /* For each depth: the number of inner nodes of the tree, which is also the first word of that
     * length. */
    uint32_t inner[MAX_BITS + 1];
    /* For each length: the index in `symbols` of the symbol of the first word. */
    unsigned start[MAX_BITS + 1];
    uint16_t symbols[MAX_BYTES + 1];
    /* Indexed by the next TABLE_BITS bits: symbol << 4 | the word's length in bits; 0 if the word
     * is longer than TABLE_BITS. */
    uint16_t table[1 << TABLE_BITS];
};

/* Reads the number of words of each length. */
static enum gz_status read_counts(struct pack *p, struct gz_stream *s)
{
    /* The number of the tree's nodes at depth i. */
    uint32_t nodes = 1;
    unsigned sum = 0;
    int byte = gz_next_byte(s);

    if (byte < 0)
        return s->in_stop;
    if (byte == 0 || byte > MAX_BITS)
        return GZ_BAD_CODE_LENGTH;
    p->longest = (unsigned)byte;
    for (unsigned i = 1; i <= p->longest; i++) {
        byte = gz_next_byte(s);
        if (byte < 0)
            return s->in_stop;
        nodes *= 2;
        p->words[i] = (unsigned)byte + (i == p->longest ? 2 : 0);
        sum += (unsigned)byte;
        /* At each depth above the longest words, at least one node is not a leaf. */
        if (p->words[i] > nodes - (i != p->longest) || sum >= MAX_BYTES)
            return GZ_TOO_MANY_LEAVES;
        nodes -= p->words[i];
        p->inner[i] = nodes;
    }
    return GZ_OK;
}

/* Reads the bytes that the words stand for. */
static enum gz_status read_symbols(struct pack *p, struct gz_stream *s)
{
    unsigned n = 0;

    for (unsigned i = 1; i <= p->longest; i++) {
        p->start[i] = n;
        for (unsigned j = 0; j < p->words[i]; j++) {
            int symbol = END;
            if (i < p->longest || j + 1 < p->words[i])
                symbol = gz_next_byte(s);
            if (symbol < 0)
                return s->in_stop;
            p->symbols[n++] = (uint16_t)symbol;
        }
    }
    return p->inner[p->longest] == 0 ? GZ_OK : GZ_TOO_FEW_LEAVES;
}

/* Fills the table with the words of up to TABLE_BITS bits. */
static void fill_table(struct pack *p)
{
    for (unsigned i = 1; i <= p->longest && i <= TABLE_BITS; i++)
        for (unsigned j = 0; j < p->words[i]; j++) {
            const unsigned shift = TABLE_BITS - i;
            uint16_t *entry = p->table + ((p->inner[i] + j) << shift);
            for (unsigned k = 0; k < 1u << shift; k++)
                entry[k] = (uint16_t)(p->symbols[p->start[i] + j] << 4 | i);
        }
}

/* Decodes words up to the end symbol.  *len becomes the number of decoded bytes. */
static enum gz_status read_words(const struct pack *p, struct gz_stream *s, uint64_t *len)
{
    struct gz_bits b = {0};

    *len = 0;
    for (;;) {
        if (b.count < MAX_BITS)
            gz_fill_bits(&b, s);
        const unsigned entry = p->table[gz_peek_bits(&b, TABLE_BITS)];
        unsigned symbol = entry >> 4, n = entry & 15;
        if (n == 0) {
            uint32_t word;
            for (n = TABLE_BITS + 1; (word = gz_peek_bits(&b, n)) < p->inner[n];)
                n++;
            symbol = p->symbols[p->start[n] + word - p->inner[n]];
        }
        if (n > b.count)
            return s->in_stop;
        gz_skip_bits(&b, n);
        if (symbol == END)
            break;
        s->out[s->out_len++] = (uint8_t)symbol;
        ++*len;
        if (s->out_len == GZ_OUT_SIZE && !gz_flush(s))
            return GZ_WRITE_ERROR;
    }
    gz_end_bits(&b, s);
    return GZ_OK;
}

/* Decodes the file after its magic number.  *p must be all zeros. */
static enum gz_status read_pack(struct pack *p, struct gz_stream *s)
{
    uint32_t stored = 0;
    uint64_t len;

    for (int i = 0; i < 4; i++) {
        const int byte = gz_next_byte(s);
        if (byte < 0)
            return s->in_stop;
        stored = stored << 8 | (uint32_t)byte;
    }
    enum gz_status status = read_counts(p, s);
    if (status == GZ_OK)
        status = read_symbols(p, s);
    if (status != GZ_OK)
        return status;
    fill_table(p);
    status = read_words(p, s, &len);
    if (status == GZ_OK && (uint32_t)len != stored)
        status = GZ_BAD_PACK_LENGTH;
    return status;
}

enum gz_status gz_read_pack(struct gz_stream *s)
{
    struct pack *p = calloc(1, sizeof *p);
    enum gz_status status = GZ_NO_MEMORY;

    if (p != NULL)
        status = read_pack(p, s);
    free(p);
    return status;
}
