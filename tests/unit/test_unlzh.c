/*
 * test_unlzh.c - compress -H's format: blocks of all sizes, codes of one symbol, and bad codes
 *
 * The expected results for odd files were observed with GNU gzip 1.12.
 */
#include "config.h"

#include "tests/unit/decoders.h"

static void round_trips(void)
{
    static const unsigned blocks[] = {65535, 3000, 60, 3, 1};
    struct bytes data = {0};
    for (unsigned state = 0; next_data(&data, &state);)
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0] - (data.len > 5000 ? 2 : 0); i++) {
            struct bytes file = {0};
            encode_lzh(&file, data.data, data.len, blocks[i]);
            check_decodes(&file, &data, GZ_FORMAT_LZH);
            drop(&file);
        }
}

/* Tests matches at the greatest distance that the window allows. */
static void whole_window(void)
{
    struct bytes data = {0};
    uint64_t random = 5;
    for (size_t i = 0; i < LZH_WINDOW; i++)
        add_byte(&data, unit_rand(&random) & 0xff);
    for (size_t i = 0; i < 3 * LZH_WINDOW; i++) {
        const uint8_t byte = data.data[data.len - LZH_WINDOW];
        add_byte(&data, byte);
    }
    struct bytes file = {0};
    encode_lzh(&file, data.data, data.len, 65535);
    CHECK(file.len < data.len / 2);
    check_decodes(&file, &data, GZ_FORMAT_LZH);
    drop(&file);
    drop(&data);
}

/* Symbol counts that grow a little faster than Fibonacci numbers make codes of all lengths up to 16
 * bits. */
static void long_codes(void)
{
    struct bytes data = {0}, file = {0};
    uint64_t random = 3;
    unsigned a = 1, b = 1;
    for (unsigned symbol = 0; symbol < 22; symbol++) {
        for (unsigned i = 0; i < a; i++)
            add_byte(&data, symbol);
        const unsigned next = a + b + 1;
        a = b;
        b = next;
    }
    for (size_t i = data.len - 1; i > 0; i--) {
        const size_t j = unit_below(&random, i + 1);
        const uint8_t byte = data.data[i];
        data.data[i] = data.data[j];
        data.data[j] = byte;
    }
    encode_lzh(&file, data.data, data.len, 65535);
    check_decodes(&file, &data, GZ_FORMAT_LZH);
    drop(&file);
    drop(&data);
}

/* A file that a test writes bit by bit. */
struct trial {
    struct bytes file;
    struct bits bits;
};

static void begin(struct trial *t)
{
    *t = (struct trial){0};
    add(&t->file, "\x1f\xa0", 2);
    t->bits = (struct bits){.to = &t->file, .from_high = true};
}

static void put(struct trial *t, unsigned value, unsigned count)
{
    put_bits(&t->bits, value, count);
}

static void gives(struct trial *t, enum gz_status status, const char *data, size_t len)
{
    struct job job = {0};
    end_bits(&t->bits);
    CHECK_EQ(run(&job, t->file.data, t->file.len), status);
    CHECK_EQ(job.out.len, len);
    CHECK(job.out.len != len || len == 0 || memcmp(job.out.data, data, len) == 0);
    drop(&job.out);
    drop(&t->file);
}

/* Writes a block of `items` items, in which each code has only one symbol: c for literals and
 * lengths, p for distances. */
static void put_lone(struct trial *t, unsigned items, unsigned c, unsigned p)
{
    put(t, items, 16);
    put(t, 0, 10);
    put(t, 0, 9);
    put(t, c, 9);
    put(t, 0, 4);
    put(t, p, 4);
}

static void as_gnu_gzip(void)
{
    struct trial t;

    begin(&t); /* an empty file, which is treated like zeros */
    gives(&t, GZ_OK, "", 0);
    begin(&t);
    put_lone(&t, 3, 'a', 0);
    gives(&t, GZ_OK, "aaa", 3);
    begin(&t); /* a match to before the start gives zeros */
    put_lone(&t, 2, 256, 0);
    gives(&t, GZ_OK, "\0\0\0\0\0", 6);
    begin(&t);
    put_lone(&t, 1, 'a', 0);
    put_lone(&t, 1, 258, 0);
    put_lone(&t, 1, 'b', 0);
    put_lone(&t, 1, 256, 1);
    gives(&t, GZ_OK, "aaaaaababa", 10);
    /* In a truncated file, the missing bits count as zeros.  So the file's code has only symbol
     * 0. */
    begin(&t);
    put(&t, 1, 8);
    gives(&t, GZ_OK, (const char[256]){0}, 256);
    begin(&t); /* a code of one length is incomplete */
    put(&t, 1, 16);
    put(&t, 1, 5);
    put(&t, 1, 3);
    gives(&t, GZ_BAD_TABLE, "", 0);
    begin(&t); /* three codes of one bit are too many */
    put(&t, 1, 16);
    put(&t, 3, 5);
    put(&t, 0111, 9);
    gives(&t, GZ_BAD_TABLE, "", 0);
    begin(&t); /* a code of 17 bits */
    put(&t, 1, 16);
    put(&t, 3, 5);
    put(&t, 0x1ffe, 13);
    gives(&t, GZ_BAD_TABLE, "", 0);
    begin(&t); /* a code of 17 bits, as the length of a literal's code */
    put(&t, 1, 16);
    put(&t, 0, 5);
    put(&t, 19, 5);
    put(&t, 2, 9);
    gives(&t, GZ_BAD_TABLE, "", 0);
}

/* Numbers that are too high are errors here.  GNU gzip goes on with whatever its tables contain. */
static void numbers_too_high(void)
{
    struct trial t;
    const unsigned c[] = {510, 511}, p[] = {14, 15};

    for (unsigned i = 0; i < 2; i++) {
        begin(&t);
        put_lone(&t, 1, 'a', 0);
        put_lone(&t, 1, c[i], 0);
        gives(&t, GZ_BAD_TABLE, "a", 1);
        begin(&t);
        put_lone(&t, 1, 'a', 0);
        put_lone(&t, 1, 256, p[i]);
        gives(&t, GZ_BAD_TABLE, "a", 1);
    }
}

static void damage_and_failures(void)
{
    static const unsigned blocks[] = {65535, 100, 20};
    struct bytes data = {0};
    for (unsigned i = 0; i < 900; i++)
        add_byte(&data, i * i >> 6 & 0x7f);
    for (unsigned i = 0; i < 3; i++) {
        struct bytes file = {0};
        encode_lzh(&file, data.data, data.len, blocks[i]);
        check_truncations(&file, &data, GZ_BAD_TABLE, true, true);
        check_failures(&file, &data);
        CHECK(check_damage(&file, 500, i) > 100);
        drop(&file);
    }
    drop(&data);
}

int main(void)
{
    RUN(round_trips);
    RUN(whole_window);
    RUN(long_codes);
    RUN(as_gnu_gzip);
    RUN(numbers_too_high);
    RUN(damage_and_failures);
    return unit_done();
}
