/*
 * test_unlzw.c - compress's format: all widths, with and without block mode, and odd headers
 *
 * The expected results for odd files were observed with GNU gzip 1.12.
 */
#include "config.h"

#include "tests/unit/decoders.h"

/* A text, and the file that ncompress 4.2.4.6 makes of it. */
static const char ncompress_text[] = "hello hello hello hello, hello";
static const uint8_t ncompress_file[] = {0x1f, 0x9d, 0x90, 0x68, 0xca, 0xb0, 0x61, 0xf3,
                                         0x06, 0x44, 0xc0, 0x81, 0x05, 0x0f, 0x12, 0x34,
                                         0x28, 0x90, 0x20, 0x0b, 0x86, 0x08, 0x01};

static void made_by_ncompress(void)
{
    struct bytes file = {0}, data = {0};
    add(&file, ncompress_file, sizeof ncompress_file);
    add(&data, ncompress_text, sizeof ncompress_text - 1);
    check_decodes(&file, &data, GZ_FORMAT_COMPRESS);
    drop(&file);
    drop(&data);
}

static void check_round_trip(const struct bytes *data, const struct lzw_options *options)
{
    struct bytes file = {0};
    encode_lzw(&file, data->data, data->len, options);
    check_decodes(&file, data, GZ_FORMAT_COMPRESS);
    drop(&file);
}

static void round_trips(void)
{
    static const struct lzw_options options[] = {
        {16, true, 0},  {16, false, 0}, {9, true, 0},    {9, false, 0},     {10, true, 0},
        {12, false, 0}, {13, true, 0},  {16, true, 900}, {16, true, 50000}, {12, true, 70000},
    };
    /* Clear the table only for small data, since clearing takes the encoder much time. */
    static const struct lzw_options clearing[] = {{16, true, 1}, {11, true, 9}, {16, true, 300}};
    struct bytes data = {0};
    for (unsigned state = 0; next_data(&data, &state);) {
        for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
            check_round_trip(&data, &options[i]);
        for (size_t i = 0; data.len < 1000 && i < sizeof clearing / sizeof clearing[0]; i++)
            check_round_trip(&data, &clearing[i]);
    }
}

/* Tests an empty file, and all lengths near those where codes become wider.  At these lengths, the
 * last group of codes may be short. */
static void short_files(void)
{
    struct bytes data = {0};
    for (size_t n = 0; n < 1200; n++) {
        struct bytes file = {0};
        encode_lzw(&file, data.data, data.len, &(struct lzw_options){10, n % 2 == 0, 0});
        check_decodes(&file, &data, GZ_FORMAT_COMPRESS);
        drop(&file);
        add_byte(&data, (unsigned)(n * n >> 3 & 0xff));
    }
    drop(&data);
}

/* Tests the longest strings that the table allows.  These strings are longer than the length field
 * of a table's entry can hold, and longer than one write. */
static void long_strings(void)
{
    struct bytes data = {0}, file = {0};
    data.len = data.room = 70u << 20;
    data.data = unit_need(calloc(1, data.room));
    /* Each string is one byte longer than the one before; the last ones have 12 KB. */
    encode_lzw(&file, data.data, data.len, &(struct lzw_options){16, true, 0});
    struct job job = {0};
    CHECK_EQ(run(&job, file.data, file.len), GZ_OK);
    CHECK(same(&job.out, &data));
    drop(&job.out);
    drop(&file);
    drop(&data);
}

/* Tests odd files, with GNU gzip's result and the output that it wrote. */
static void as_gnu_gzip(void)
{
    static const struct {
        const char *file;
        size_t len;
        enum gz_status status;
        const char *data;
        unsigned flags;
    } cases[] = {
#define CASE(file, status, data, flags) {file, sizeof file - 1, status, data, flags}
        CASE("\x1f\x9d", GZ_TRUNCATED, "", 0),
        CASE("\x1f\x9d\x90", GZ_OK, "", 0),
        CASE("\x1f\x9d\x90\x61", GZ_OK, "", 0),
        CASE("\x1f\x9d\x90\x61\x00", GZ_OK, "a", 0),
        CASE("\x1f\x9d\x10\x61\x00", GZ_OK, "a", 0),
        CASE("\x1f\x9d\xf0\x61\x00", GZ_OK, "a", 0x60),
        CASE("\x1f\x9d\xb0\x61\x00", GZ_OK, "a", 0x20),
        CASE("\x1f\x9d\x80\x61\x00", GZ_OK, "a", 0),
        CASE("\x1f\x9d\x91\x61\x00", GZ_TOO_MANY_BITS, "", 0),
        CASE("\x1f\x9d\xff\x61\x00", GZ_TOO_MANY_BITS, "", 0x60),
        CASE("\x1f\x9d\x90\x00\x01", GZ_CORRUPT_START, "", 0),
        CASE("\x1f\x9d\x90\xff\xff", GZ_CORRUPT_START, "", 0),
        CASE("\x1f\x9d\x10\x00\x01", GZ_CORRUPT_START, "", 0),
        /* The code that the decoder is just about to add, and the code after it. */
        CASE("\x1f\x9d\x90\x61\x02\x02", GZ_OK, "aaa", 0),
        CASE("\x1f\x9d\x90\x61\x04\x02", GZ_CORRUPT, "a", 0),
        CASE("\x1f\x9d\x10\x61\x00\x02", GZ_OK, "aaa", 0),
        CASE("\x1f\x9d\x10\x61\x02\x02", GZ_CORRUPT, "a", 0),
        /* If the second code is CLEAR, the other six codes of its group are skipped. */
        CASE("\x1f\x9d\x90\x61\x00\x02\xff\xff\xff\xff\xff\xff\x62\x00", GZ_OK, "ab", 0),
        CASE("\x1f\x9d\x90\x61\x00\x02\xff\xff\xff\xff", GZ_OK, "a", 0),
        CASE("\x1f\x9d\x90\x61\x00\x02\xff\xff\xff\xff\xff\xff\x01\x01", GZ_CORRUPT, "a", 0),
#undef CASE
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct job job = {0};
        const size_t len = strlen(cases[i].data);
        bool ok = CHECK_EQ(run(&job, cases[i].file, cases[i].len), cases[i].status);
        ok &= CHECK_EQ(job.out.len, len);
        ok &=
            CHECK(job.out.len != len || len == 0 || memcmp(job.out.data, cases[i].data, len) == 0);
        ok &= CHECK_EQ(job.info.unknown_flags, cases[i].flags);
        if (!ok)
            printf("# in case %zu\n", i);
        drop(&job.out);
    }
}

static void every_truncation(void)
{
    struct bytes data = {0}, file = {0};
    for (unsigned i = 0; i < 700; i++)
        add_byte(&data, i * i >> 4 & 0xff);
    encode_lzw(&file, data.data, data.len, &(struct lzw_options){11, true, 300});
    check_truncations(&file, &data, GZ_TRUNCATED, true, false);
    check_failures(&file, &data);
    drop(&file);
    drop(&data);
}

static void random_damage(void)
{
    static const struct lzw_options options[] = {
        {16, true, 0}, {12, false, 0}, {9, true, 0}, {9, false, 0}, {16, true, 50}};
    struct bytes data = {0};
    for (unsigned i = 0; i < 2000; i++)
        add_byte(&data, i * i >> 6 & 0x1f);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct bytes file = {0};
        encode_lzw(&file, data.data, data.len, &options[i]);
        CHECK(check_damage(&file, 400, i) > 20);
        drop(&file);
    }
    drop(&data);
}

int main(void)
{
    RUN(made_by_ncompress);
    RUN(round_trips);
    RUN(short_files);
    RUN(long_strings);
    RUN(as_gnu_gzip);
    RUN(every_truncation);
    RUN(random_damage);
    return unit_done();
}
