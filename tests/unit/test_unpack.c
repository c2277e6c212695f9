/*
 * test_unpack.c - pack's format: codes of all lengths, one member after another, and bad codes
 *
 * The expected results for odd files were observed with GNU gzip 1.12.
 */
#include "config.h"

#include "tests/unit/decoders.h"

static void round_trips(void)
{
    static const unsigned limits[] = {24, 13, 12, 11, 9};
    struct bytes data = {0};
    for (unsigned state = 0; next_data(&data, &state);)
        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            struct bytes file = {0};
            encode_pack(&file, data.data, data.len, limits[i]);
            check_decodes(&file, &data, GZ_FORMAT_PACK);
            drop(&file);
        }
}

/* Symbol counts that grow a little faster than Fibonacci numbers make codes of all lengths up to
 * the longest allowed. */
static void long_codes(void)
{
    struct bytes data = {0}, file = {0};
    unsigned a = 1, b = 1;
    for (unsigned symbol = 0; symbol < 23; symbol++) {
        for (unsigned i = 0; i < a; i++)
            add_byte(&data, symbol);
        const unsigned next = a + b + 1;
        a = b;
        b = next;
    }
    encode_pack(&file, data.data, data.len, 25);
    CHECK(file.data[6] >= 20);
    check_decodes(&file, &data, GZ_FORMAT_PACK);
    drop(&file);
    drop(&data);
}

static void several_members(void)
{
    struct bytes data = {0}, file = {0}, again = {0};
    add(&data, "one and the other", 17);
    for (unsigned i = 0; i < 5; i++) {
        encode_pack(&file, data.data, data.len, 24);
        add(&again, data.data, data.len);
    }
    struct job job = {.read_max = 5};
    CHECK_EQ(run(&job, file.data, file.len), GZ_OK);
    CHECK(same(&job.out, &again));
    CHECK_EQ(job.info.members, 5);
    CHECK_EQ(job.info.member_bytes, data.len);
    drop(&job.out);
    add(&file, "garbage", 7);
    job = (struct job){0};
    CHECK_EQ(run(&job, file.data, file.len), GZ_TRAILING_GARBAGE);
    CHECK_EQ(job.info.in_bytes, file.len - 7);
    drop(&job.out);
    drop(&again);
    drop(&file);
    drop(&data);
}

static void as_gnu_gzip(void)
{
    static const struct {
        const char *file;
        size_t len;
        enum gz_status status;
        const char *data;
    } cases[] = {
#define CASE(file, status, data) {file, sizeof file - 1, status, data}
        /* One code of one bit for 'a', and one code of one bit for the end. */
        CASE("\x1f\x1e\x00\x00\x00\x01\x01\x00\x61\x40", GZ_OK, "a"),
        CASE("\x1f\x1e\x00\x00\x00\x03\x01\x00\x61\x10", GZ_OK, "aaa"),
        CASE("\x1f\x1e\x00\x00\x00\x00\x01\x00\x61\x80", GZ_OK, ""),
        CASE("\x1f\x1e\x00\x00\x00\x02\x01\x00\x61\x40", GZ_BAD_PACK_LENGTH, "a"),
        CASE("\x1f\x1e\x01\x00\x00\x01\x01\x00\x61\x40", GZ_BAD_PACK_LENGTH, "a"),
        CASE("\x1f\x1e\x00\x00\x00\x01\x01\x01\x61\x62\x40", GZ_TOO_MANY_LEAVES, ""),
        CASE("\x1f\x1e\x00\x00\x00\x01\x00\x00\x61\x40", GZ_BAD_CODE_LENGTH, ""),
        CASE("\x1f\x1e\x00\x00\x00\x01\x1a\x00\x61\x40", GZ_BAD_CODE_LENGTH, ""),
        CASE("\x1f\x1e\x00\x00\x00\x01\xff\x00\x61\x40", GZ_BAD_CODE_LENGTH, ""),
        CASE("\x1f\x1e\x00\x00\x00\x01\x02\x00\x00\x61\x40", GZ_TOO_FEW_LEAVES, ""),
        CASE("\x1f\x1e\x00\x00\x00\x01\x02\x00\x00", GZ_TRUNCATED, ""),
        CASE("\x1f\x1e\x00\x00\x00\x01\x02\x01\x00\x61\x62\x80", GZ_TRUNCATED, "abbb"),
        CASE("\x1f\x1e\x00\x00\x00\x01\x02\x01\x00\x61\x62\x40", GZ_BAD_PACK_LENGTH, ""),
        CASE("\x1f\x1e\x00\x00\x00\x01\x02\x02\x00\x61\x62\x80", GZ_TOO_MANY_LEAVES, ""),
        CASE("\x1f\x1e\x00\x00\x00\x01\x09\x00\x00\x00\x00\x00\x00\x00\xff\xff", GZ_TOO_MANY_LEAVES,
             ""),
        CASE("\x1f\x1e\x00\x00\x00\x01\x03\x00", GZ_TRUNCATED, ""),
#undef CASE
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct job job = {0};
        const size_t len = strlen(cases[i].data);
        bool ok = CHECK_EQ(run(&job, cases[i].file, cases[i].len), cases[i].status);
        ok &= CHECK_EQ(job.out.len, len);
        ok &=
            CHECK(job.out.len != len || len == 0 || memcmp(job.out.data, cases[i].data, len) == 0);
        if (!ok)
            printf("# in case %zu\n", i);
        drop(&job.out);
    }
}

static void damage_and_failures(void)
{
    struct bytes data = {0}, file = {0};
    for (unsigned i = 0; i < 900; i++)
        add_byte(&data, i * i >> 6 & 0x7f);
    encode_pack(&file, data.data, data.len, 24);
    check_truncations(&file, &data, GZ_TRUNCATED, false, false);
    check_failures(&file, &data);
    CHECK(check_damage(&file, 1000, 1) > 500);
    drop(&file);
    drop(&data);
}

int main(void)
{
    RUN(round_trips);
    RUN(long_codes);
    RUN(several_members);
    RUN(as_gnu_gzip);
    RUN(damage_and_failures);
    return unit_done();
}
