/*
 * test_container.c - the bytes around DEFLATE data are those that zlib and bgzip write and that the
 * zip specification demands
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "compat/check.h"
#include "compat/container.h"
#include "compat/zip.h"
#include "lzss/lzss.h"
#include "tests/unit/unit.h"

/* --- zlib --- */

static void zlib_headers(void)
{
    for (int level = 0; level <= LZ_LEVEL_MAX; level++) {
        uint8_t want[100], got[2];
        uLongf len = sizeof(want);

        CHECK_EQ(compress2(want, &len, (const Bytef *)"x", 1, level < 9 ? level : 9), Z_OK);
        CHECK_EQ(gz_start_room(CONTAINER_ZLIB, "name"), 2);
        CHECK_EQ(gz_write_start(CONTAINER_ZLIB, got, "name", 1, level), 2);
        CHECK(memcmp(got, want, 2) == 0);
    }
}

static void zlib_trailer(void)
{
    const struct gz_data data = {.check = 0x01020304};
    uint8_t got[4];

    CHECK_EQ(gz_end_room(CONTAINER_ZLIB, 2), 4);
    CHECK_EQ(gz_write_end(CONTAINER_ZLIB, got, &data), 4);
    CHECK(memcmp(got, "\1\2\3\4", 4) == 0);
}

/* --- BGZF --- */

static void bgzf_end(void)
{
    /* SAM specification, 4.1.2. */
    static const uint8_t want[28] = {0x1f, 0x8b, 0x08, 0x04, 0, 0, 0,    0, 0, 0xff,
                                     0x06, 0,    0x42, 0x43, 2, 0, 0x1b, 0, 3, 0};
    const struct gz_data data = {0};
    uint8_t got[GZ_END_MOST];

    CHECK_EQ(gz_start_room(CONTAINER_BGZF, "name"), 0);
    CHECK_EQ(gz_write_end(CONTAINER_BGZF, got, &data), sizeof(want));
    CHECK(memcmp(got, want, sizeof(want)) == 0);
}

static void bgzf_member(void)
{
    uint8_t member[BGZF_AROUND + 1000];
    size_t size;

    memset(member, 0x55, sizeof(member));
    size = gz_write_member(member, 1000, 0xdddddddd, 65280);
    CHECK_EQ(size, BGZF_AROUND + 1000);
    CHECK(bgzf_starts(member));
    CHECK_EQ(member[16] | member[17] << 8, (int)size - 1);
    CHECK_EQ(member[BGZF_HEADER_SIZE], 0x55);
    CHECK(memcmp(member + BGZF_HEADER_SIZE + 1000, "\xdd\xdd\xdd\xdd\0\xff\0\0", 8) == 0);
    CHECK_EQ(gz_write_member(member, 2, 0, 0), 0);
}

/* --- zip --- */

static uint64_t number(const uint8_t *p, int bytes)
{
    uint64_t n = 0;

    for (int i = bytes - 1; i >= 0; i--)
        n = n << 8 | p[i];
    return n;
}

/* The expected contents of a zip file. */
struct expected {
    const char *name;
    uint32_t mtime;
    uint64_t len, packed;
    bool is_zip64;  /* the sizes are in zip64's field */
    bool has_end64; /* zip64's end of the directory is there */
    unsigned flags; /* the entry's flags */
    size_t extra;   /* bytes of the entry's extra field */
};

/* Checks the directory's entry at p; returns its size. */
static size_t check_directory(const struct expected *x, const uint8_t *p, uint32_t check)
{
    const size_t name = strlen(x->name);
    const size_t extra = x->extra + (x->is_zip64 ? 20 : 0);

    CHECK_EQ(number(p, 4), 0x02014b50);
    CHECK_EQ(number(p + 6, 2), x->is_zip64 ? 45 : 20);
    CHECK_EQ(number(p + 8, 2), x->flags);
    CHECK_EQ(number(p + 10, 2), 8);
    CHECK_EQ(number(p + 16, 4), check);
    CHECK_EQ(number(p + 20, 4), x->is_zip64 ? UINT32_MAX : x->packed);
    CHECK_EQ(number(p + 24, 4), x->is_zip64 ? UINT32_MAX : x->len);
    CHECK_EQ(number(p + 28, 2), name);
    CHECK_EQ(number(p + 30, 2), extra);
    CHECK(memcmp(p + 46, x->name, name) == 0);
    if (x->is_zip64) {
        const uint8_t *zip64 = p + 46 + name;

        CHECK_EQ(number(zip64, 2), 1);
        CHECK_EQ(number(zip64 + 2, 2), 16);
        CHECK(number(zip64 + 4, 8) == x->len && number(zip64 + 12, 8) == x->packed);
    }
    return 46 + name + extra;
}

static void check_zip(const struct expected *x)
{
    uint8_t start[200], end[500], *p = end;
    const size_t name = strlen(x->name);
    const size_t start_len = gz_write_start(CONTAINER_ZIP, start, x->name, x->mtime, 6);
    const struct gz_data data = {.start = start,
                                 .start_len = start_len,
                                 .check = 0x12345678,
                                 .len = x->len,
                                 .packed = x->packed};
    const size_t end_len = gz_write_end(CONTAINER_ZIP, end, &data);
    const int bytes = x->is_zip64 ? 8 : 4;
    uint64_t at;
    size_t size;

    CHECK(start_len <= gz_start_room(CONTAINER_ZIP, x->name));
    CHECK(end_len <= gz_end_room(CONTAINER_ZIP, start_len));
    CHECK_EQ(number(start, 4), 0x04034b50);
    CHECK_EQ(number(start + 6, 2), x->flags);
    CHECK_EQ(number(start + 26, 2), name);
    CHECK_EQ(number(start + 28, 2), x->extra);
    CHECK(memcmp(start + 30, x->name, name) == 0);
    if (x->extra > 0)
        CHECK_EQ(number(start + 30 + name + 5, 4), x->mtime);

    CHECK_EQ(number(p, 4), 0x08074b50);
    CHECK_EQ(number(p + 4, 4), data.check);
    CHECK(number(p + 8, bytes) == x->packed && number(p + 8 + bytes, bytes) == x->len);
    p += 8 + 2 * bytes;
    at = start_len + x->packed + (uint64_t)(p - end);
    size = check_directory(x, p, data.check);
    p += size;
    if (x->has_end64) {
        CHECK_EQ(number(p, 4), 0x06064b50);
        CHECK_EQ(number(p + 4, 8), 44);
        CHECK(number(p + 24, 8) == 1 && number(p + 32, 8) == 1);
        CHECK(number(p + 40, 8) == size && number(p + 48, 8) == at);
        CHECK_EQ(number(p + 56, 4), 0x07064b50);
        CHECK(number(p + 64, 8) == at + size);
        p += 76;
    }
    CHECK_EQ(number(p, 4), 0x06054b50);
    CHECK_EQ(number(p + 8, 2), 1);
    CHECK_EQ(number(p + 12, 4), size);
    CHECK_EQ(number(p + 16, 4), at < UINT32_MAX ? at : UINT32_MAX);
    CHECK_EQ((size_t)(p + 22 - end), end_len);
}

static void zip_files(void)
{
    const uint64_t gib4 = UINT64_C(1) << 32;
    const struct expected files[] = {
        {"f.txt", 981173106, 1000, 300, false, false, 8, 9},
        {"f.txt", 0, 0, 2, false, false, 8, 0},
        {"\xc3\xa4.txt", 0, 5, 7, false, false, 8 | 0x800, 0},
        {"\xe4.txt", 0, 5, 7, false, false, 8, 0}, /* not UTF-8 */
        {"cut \xe2\x82", 0, 5, 7, false, false, 8, 0},
        {"f", 1, gib4, 300, true, true, 8, 9},
        {"f", 1, gib4 + 5, gib4 + 77, true, true, 8, 9},
        {"f", 1, UINT32_MAX, 7, true, true, 8, 9},
        {"f", 1, UINT32_MAX - 1, 7, false, false, 8, 9},
        {"f", 1, 7, UINT32_MAX - 1, false, true, 8, 9}, /* only the directory is beyond 4 GiB */
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        check_zip(&files[i]);
}

/* Without a name, the entry is called "-".  A time before 1980 becomes 1980-01-01. */
static void zip_without_name(void)
{
    uint8_t start[100];

    CHECK_EQ(gz_write_start(CONTAINER_ZIP, start, NULL, 0, 6), 31);
    CHECK_EQ(start[30], '-');
    CHECK_EQ(number(start + 10, 4), 0x00210000);
    /* 2001-02-03 04:05:06 */
    gz_write_start(CONTAINER_ZIP, start, NULL, 981173106, 6);
    CHECK_EQ(number(start + 10, 4), (UINT32_C(21) << 9 | 2 << 5 | 3) << 16 | 4 << 11 | 5 << 5 | 3);
}

/* A name of more than 65535 bytes is cut off. */
static void zip_long_name(void)
{
    const size_t len = 70000;
    char *name = unit_need(malloc(len + 1));
    uint8_t *start;

    memset(name, 'n', len);
    name[len] = '\0';
    start = unit_need(malloc(gz_start_room(CONTAINER_ZIP, name)));
    CHECK_EQ(gz_write_start(CONTAINER_ZIP, start, name, 0, 6), 30 + 65535);
    CHECK_EQ(number(start + 26, 2), 65535);
    free(start);
    free(name);
}

/* --- Check values --- */

static void check_values(void)
{
    static const enum gz_check kinds[] = {GZ_CHECK_CRC32, GZ_CHECK_ADLER32, GZ_CHECK_NONE};
    uint8_t buf[100000];
    uint64_t seed = 5;

    for (size_t i = 0; i < sizeof(buf); i++)
        buf[i] = (uint8_t)unit_rand(&seed);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const enum gz_check kind = kinds[k];
        const uint32_t start = gz_check_start(kind);
        const uint32_t all = gz_check_more(kind, start, buf, sizeof(buf));

        CHECK_EQ(gz_check_more(kind, start, NULL, 0), start);
        CHECK_EQ(all, kind == GZ_CHECK_CRC32     ? crc32(0, buf, sizeof(buf))
                      : kind == GZ_CHECK_ADLER32 ? adler32(1, buf, sizeof(buf))
                                                 : 0);
        for (int i = 0; i < 100; i++) {
            const size_t cut = unit_below(&seed, sizeof(buf) + 1);
            const uint32_t a = gz_check_more(kind, start, buf, cut);
            const uint32_t b = gz_check_more(kind, start, buf + cut, sizeof(buf) - cut);

            CHECK_EQ(gz_check_combine(kind, a, b, sizeof(buf) - cut), all);
            CHECK_EQ(gz_check_more(kind, a, buf + cut, sizeof(buf) - cut), all);
        }
    }
}

/* The Adler-32 of 6 GB of zeros is joined from the Adler-32s of a thousand parts.  The number of
 * all bytes does not fit in 32 bits. */
static void check_of_many(void)
{
    const uint64_t part = UINT64_C(6000000);
    static uint8_t zeros[6000000];
    const uint32_t one = gz_check_more(GZ_CHECK_ADLER32, 1, zeros, part);
    uint32_t all = 1, half = 1;

    for (int i = 0; i < 1000; i++)
        all = gz_check_combine(GZ_CHECK_ADLER32, all, one, part);
    for (int i = 0; i < 500; i++)
        half = gz_check_combine(GZ_CHECK_ADLER32, half, one, part);
    CHECK_EQ(gz_check_combine(GZ_CHECK_ADLER32, 1, all, 1000 * part), all);
    CHECK_EQ(gz_check_combine(GZ_CHECK_ADLER32, half, half, 500 * part), all);
    /* The upper half adds up the lower half, which stays 1, for each of 6 * 10^9 bytes. */
    CHECK_EQ(all >> 16, 1000 * part % 65521);
}

int main(void)
{
    RUN(zlib_headers);
    RUN(zlib_trailer);
    RUN(bgzf_end);
    RUN(bgzf_member);
    RUN(zip_files);
    RUN(zip_without_name);
    RUN(zip_long_name);
    RUN(check_values);
    RUN(check_of_many);
    return unit_done();
}
