/*
 * bombs.c - writes compressed data that is made to cost much time or memory, for each byte
 *
 *     tests/bombs                      prints the names of all cases
 *     tests/bombs CASE BYTES >FILE     writes a good file of about BYTES bytes
 *
 * tests/bombs.bats and bench/bombs.sh compare what the command and gzip take for them.
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "tests/unit/encoders.h"

static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

static void add_header(struct bytes *b, uint8_t flags)
{
    add(b, header, sizeof(header));
    b->data[b->len - sizeof(header) + 3] = flags;
}

/* Adds the end of a member: one stored block with the data, and the trailer. */
static void add_end(struct bytes *b, const char *data)
{
    const size_t len = strlen(data);

    add_byte(b, 1);
    add_le(b, len, 2);
    add_le(b, ~len, 2);
    add(b, data, len);
    add_le(b, crc32(0, (const uint8_t *)data, (uInt)len), 4);
    add_le(b, len, 4);
}

static void add_member(struct bytes *b, const char *data)
{
    add_header(b, 0);
    add_end(b, data);
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* Writes the code lengths of a dynamic block, each by a code of 4 bits of its own, and the code of
 * the block's end, which is all ones in `end_length` bits. */
static void add_dynamic(struct bits *w, const uint8_t *lengths, unsigned literals,
                        unsigned distances, unsigned end_length)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};

    put_bits(w, 2 << 1, 3);
    put_bits(w, literals - 257, 5);
    put_bits(w, distances - 1, 5);
    put_bits(w, 15, 4);
    for (unsigned i = 0; i < 19; i++)
        put_bits(w, order[i] < 16 ? 4 : 0, 3);
    for (unsigned i = 0; i < literals + distances; i++)
        for (int bit = 3; bit >= 0; bit--)
            put_bits(w, lengths[i] >> bit & 1, 1);
    put_bits(w, (1u << end_length) - 1, end_length);
}

/* A block with one code, which ends it. */
static void add_shallow(struct bits *w)
{
    uint8_t lengths[258] = {[0] = 1, [256] = 1, [257] = 1};

    add_dynamic(w, lengths, 257, 1, 1);
}

/* A block with as many codes of 15 bits as there can be.  Seven other codes have 1 to 7 bits. */
static void add_deep(struct bits *w)
{
    enum { LITERALS = 263, DISTANCES = 30 };
    uint8_t lengths[LITERALS + DISTANCES] = {1};

    memset(lengths + 1, 15, 256);
    for (unsigned i = 0; i < 6; i++)
        lengths[257 + i] = (uint8_t)(2 + i);
    for (unsigned i = 0; i < 16; i++)
        lengths[LITERALS + i] = i < 14 ? (uint8_t)(1 + i) : 15;
    add_dynamic(w, lengths, LITERALS, DISTANCES, 15);
}

/* Adds blocks up to `size` bytes, and ends the member.  The blocks are a whole number of bytes,
 * since eight of them are added at a time. */
static void add_blocks(struct bytes *b, void (*block)(struct bits *w), size_t size)
{
    struct bits w = {.to = b};

    add_header(b, 0);
    while (b->len < size)
        for (int i = 0; i < 8; i++)
            block(&w);
    end_bits(&w);
    add_end(b, "end\n");
}

static void add_fixed(struct bits *w)
{
    put_bits(w, 1 << 1, 3);
    put_bits(w, 0, 7);
}

static void stored(struct bytes *b, size_t size)
{
    static const uint8_t block[] = {0, 0, 0, 0xff, 0xff};

    add_header(b, 0);
    while (b->len < size)
        add(b, block, sizeof(block));
    add_end(b, "end\n");
}

static void fixed(struct bytes *b, size_t size)
{
    add_blocks(b, add_fixed, size);
}

static void dynamic(struct bytes *b, size_t size)
{
    add_blocks(b, add_shallow, size);
}

static void deep(struct bytes *b, size_t size)
{
    add_blocks(b, add_deep, size);
}

/* --- Members -------------------------------------------------------------------------------- */

static void members(struct bytes *b, size_t size)
{
    do
        add_member(b, "");
    while (b->len < size);
}

static void bytes(struct bytes *b, size_t size)
{
    do
        add_member(b, "x");
    while (b->len < size);
}

static void bgzf(struct bytes *b, size_t size)
{
    static const uint8_t end[] = {0x1f, 0x8b, 8,    4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C',
                                  2,    0,    0x1b, 0, 3, 0, 0, 0, 0, 0,    0, 0, 0,   0};

    while (b->len < size)
        add(b, end, sizeof(end));
}

/* Members with the largest extra field, which looks like many headers. */
static void extra(struct bytes *b, size_t size)
{
    do {
        add_header(b, 4);
        add_le(b, 0xffff, 2);
        for (size_t i = 0; i < 0xffff; i++)
            add_byte(b, i % 10 < 3 ? header[i % 10] : 0);
        add_end(b, "");
    } while (b->len < size);
}

/* One name and one comment, each half of the file. */
static void name(struct bytes *b, size_t size)
{
    add_header(b, 8 | 16);
    for (size_t i = 0; i < size; i++)
        add_byte(b, i == size / 2 || i + 1 == size ? 0 : 'n');
    add_end(b, "end\n");
}

/* Marks (docs/format.md) that no segment is between. */
static void marks(struct bytes *b, size_t size)
{
    static const uint8_t mark[] = {0, 0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0xff};

    add_header(b, 0);
    while (b->len < size)
        add(b, mark, sizeof(mark));
    add_end(b, "end\n");
}

/* Data that is full of headers which are none. */
static void headers(struct bytes *b, size_t size)
{
    uint8_t *data = unit_need(malloc(size));

    for (size_t i = 0; i < size; i++)
        data[i] = header[i % 5];
    add_header(b, 0);
    add_deflate(b, data, size, 0, Z_DEFAULT_STRATEGY);
    add_le(b, crc32(0, data, (uInt)size), 4);
    add_le(b, size, 4);
    free(data);
}

/* A thousand bytes of output for each byte. */
static void zeros(struct bytes *b, size_t size)
{
    const size_t len = 1000 * size;
    uint8_t *data = unit_need(calloc(1, len));

    add_header(b, 0);
    add_deflate(b, data, len, 9, Z_DEFAULT_STRATEGY);
    add_le(b, crc32_z(0, data, len), 4);
    add_le(b, len, 4);
    free(data);
}

/* --- Older formats -------------------------------------------------------------------------- */

static void pack(struct bytes *b, size_t size)
{
    do
        encode_pack(b, (const uint8_t *)"abc", 3, 24);
    while (b->len < size);
}

/* compress's format: the table is cleared all the time. */
static void lzw(struct bytes *b, size_t size)
{
    static const struct lzw_options options = {16, true, 1};
    uint8_t *data = unit_need(calloc(1, size));

    encode_lzw(b, data, size, &options);
    free(data);
}

static void lzh(struct bytes *b, size_t size)
{
    uint8_t *data = unit_need(calloc(1, size));

    encode_lzh(b, data, size, 1);
    free(data);
}

/* A zip file whose name, extra field and data are as long as they can be. */
static void zip(struct bytes *b, size_t size)
{
    uint8_t *data = unit_need(calloc(1, size));

    encode_zip(b, data, size, 0, 8);
    free(data);
}

static const struct {
    const char *name;
    void (*make)(struct bytes *b, size_t size);
} cases[] = {
    {"stored", stored},   {"fixed", fixed}, {"dynamic", dynamic}, {"deep", deep},
    {"members", members}, {"bytes", bytes}, {"bgzf", bgzf},       {"extra", extra},
    {"name", name},       {"marks", marks}, {"headers", headers}, {"zeros", zeros},
    {"pack", pack},       {"lzw", lzw},     {"lzh", lzh},         {"zip", zip},
};

int main(int argc, char **argv)
{
    struct bytes b = {0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (argc == 1)
            puts(cases[i].name);
        else if (argc == 3 && strcmp(cases[i].name, argv[1]) == 0)
            cases[i].make(&b, strtoull(argv[2], NULL, 10));
    }
    if (argc > 1 && (b.len == 0 || fwrite(b.data, 1, b.len, stdout) != b.len))
        return EXIT_FAILURE;
    drop(&b);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
