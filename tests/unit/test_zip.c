/*
 * test_zip.c - zip files: deflated and stored, with sizes before and after the data, and zip files
 * that are refused
 *
 * The expected results for odd files were observed with GNU gzip 1.12.
 */
#include "config.h"

#include "tests/unit/decoders.h"

static void round_trips(void)
{
    struct bytes data = {0};
    for (unsigned state = 0; next_data(&data, &state);)
        for (unsigned i = 0; i < 3; i++) {
            struct bytes file = {0};
            encode_zip(&file, data.data, data.len, i == 0 ? 0 : 8, i == 2 ? 8 : 0);
            check_decodes(&file, &data, i == 0 ? GZ_FORMAT_ZIP_STORED : GZ_FORMAT_ZIP);
            drop(&file);
        }
}

/* Tests a file that Info-ZIP's zip 3.0 made from a pipe.  The length is in a Zip64 field, and the
 * header has 2^32 - 1 in its place.  GNU gzip takes 2^32 - 1 for the length, and so reports an
 * error. */
static void made_by_zip(void)
{
    static const char text[] = "hello hello hello hello, hello";
    static const uint8_t file[] = {
        0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x12, 0x87, 0x75, 0x5d, 0x32,
        0xad, 0xf7, 0xd1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0x14, 0x00,
        0x2d, 0x01, 0x00, 0x10, 0x00, 0x1e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0d, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27,
        0x75, 0x20, 0x14, 0x00, 0x50, 0x4b, 0x01, 0x02, 0x1e, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x08,
        0x00, 0x12, 0x87, 0x75, 0x5d, 0x32, 0xad, 0xf7, 0xd1, 0x0d, 0x00, 0x00, 0x00, 0x1e, 0x00,
        0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x80,
        0x11, 0x00, 0x00, 0x00, 0x00, 0x2d, 0x50, 0x4b, 0x06, 0x06, 0x2c, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x1e, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x2f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x50, 0x4b, 0x06, 0x07, 0x00, 0x00, 0x00, 0x00, 0x6f, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x50, 0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00,
        0x01, 0x00, 0x01, 0x00, 0x2f, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00};
    struct job job = {0};
    CHECK_EQ(run(&job, file, sizeof file), GZ_OK);
    CHECK(job.out.len == sizeof text - 1 && memcmp(job.out.data, text, sizeof text - 1) == 0);
    CHECK(!job.info.more_entries);
    drop(&job.out);
}

static const uint8_t text[] = "first entry of all, the first entry";
#define TEXT_LEN (sizeof text - 1)

/* Sets a byte of an entry, appends `more`, and checks the result. */
static void check(unsigned method, unsigned flags, size_t at, unsigned byte, const char *more,
                  size_t more_len, enum gz_status status)
{
    for (size_t i = 0; i < DECODER_READS; i++) {
        struct bytes file = {0};
        struct job job = {.read_max = decoder_reads[i]};
        encode_zip(&file, text, TEXT_LEN, method, flags);
        if (at != 0)
            file.data[at] = (uint8_t)byte;
        const size_t len = file.len;
        add(&file, more, more_len);
        CHECK_EQ(run(&job, file.data, file.len), status);
        if (status == GZ_OK || status == GZ_MORE_ENTRIES)
            CHECK_EQ(job.info.in_bytes, len);
        CHECK_EQ(job.info.more_entries, more_len > 4 && memcmp(more, "PK\3\4", 4) == 0);
        drop(&job.out);
        drop(&file);
    }
}

static void as_gnu_gzip(void)
{
    check(8, 0, 0, 0, "", 0, GZ_OK);
    check(8, 0, 0, 0, "garbage", 7, GZ_OK);
    check(8, 0, 0, 0, "PK\3\4", 4, GZ_OK);
    check(8, 0, 0, 0, "PK\3\4a", 5, GZ_MORE_ENTRIES);
    check(8, 8, 0, 0, "PK\3\4a", 5, GZ_MORE_ENTRIES);
    check(0, 0, 0, 0, "PK\3\4a", 5, GZ_MORE_ENTRIES);
    check(8, 0, 0, 0, "PK\1\2a", 5, GZ_OK);
    check(8, 0, 3, 5, "", 0, GZ_NOT_GZIP);
    check(8, 1, 0, 0, "", 0, GZ_ZIP_ENCRYPTED);
    check(0, 1, 0, 0, "", 0, GZ_ZIP_ENCRYPTED);
    check(12, 0, 0, 0, "", 0, GZ_ZIP_METHOD);
    check(12, 1, 0, 0, "", 0, GZ_ZIP_METHOD);
    check(8, 0, 14, 0, "", 0, GZ_BAD_CRC);
    check(8, 0, 14, 0, "PK\3\4a", 5, GZ_BAD_CRC);
    check(8, 0, 22, 1, "", 0, GZ_BAD_LENGTH);
    check(8, 0, 18, 1, "", 0, GZ_OK); /* the compressed size, which is not used */
    check(0, 0, 18, 1, "", 0, GZ_BAD_STORED_LENGTH);
    check(0, 0, 22, 1, "", 0, GZ_BAD_STORED_LENGTH);
    check(8, 0, 39, 7, "", 0, GZ_BAD_DATA);
    check(8, 0, 28, 200, "", 0, GZ_BAD_ZIP);
}

static void wrong_length_and_crc(void)
{
    struct bytes file = {0};
    encode_zip(&file, text, TEXT_LEN, 8, 0);
    file.data[14] ^= 1;
    for (unsigned i = 0; i < 2; i++) {
        struct job job = {0};
        CHECK_EQ(run(&job, file.data, file.len), GZ_BAD_CRC);
        CHECK_EQ(job.info.bad_length, i == 1);
        CHECK_EQ(job.out.len, TEXT_LEN);
        drop(&job.out);
        file.data[22] ^= 1;
    }
    drop(&file);
}

static void damage_and_failures(void)
{
    struct bytes data = {0};
    for (unsigned i = 0; i < 900; i++)
        add_byte(&data, i * i >> 6 & 0x7f);
    for (unsigned i = 0; i < 3; i++) {
        struct bytes file = {0};
        encode_zip(&file, data.data, data.len, i == 0 ? 0 : 8, i == 2 ? 8 : 0);
        check_failures(&file, &data);
        CHECK(check_damage(&file, 500, i) > 300);
        for (size_t n = 0; n < file.len; n++) {
            struct job job = {0};
            CHECK_EQ(run(&job, file.data, n), n < 2    ? GZ_TRUNCATED
                                              : n < 4  ? GZ_NOT_GZIP
                                              : n < 39 ? GZ_BAD_ZIP
                                                       : GZ_TRUNCATED);
            drop(&job.out);
        }
        drop(&file);
    }
    drop(&data);
}

int main(void)
{
    RUN(round_trips);
    RUN(made_by_zip);
    RUN(as_gnu_gzip);
    RUN(wrong_length_and_crc);
    RUN(damage_and_failures);
    return unit_done();
}
