/*
 * test_gzip.c - member headers and trailers are, byte for byte, those of GNU gzip 1.12
 */
#include "config.h"

#include "compat/gzip.h"
#include "lzss/lzss.h"
#include "tests/unit/unit.h"

#include <string.h>

/* What `gzip -LEVEL -c h.txt` writes before the data, for a file with the time stamp 981173106, and
 * what `gzip -n -LEVEL` writes.  The name is 5 characters and a zero. */
static const struct {
    int level;
    uint8_t xfl;
} levels[] = {{1, 4}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0}, {9, 2}};

static void with_name(void)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        uint8_t want[] = {0x1f, 0x8b, 8,   8,   0x72, 0x83, 0x7b, 0x3a,
                          0,    3,    'h', '.', 't',  'x',  't',  0};
        uint8_t got[sizeof want + 1];
        want[8] = levels[i].xfl;
        memset(got, 0x55, sizeof got);
        CHECK_EQ(gz_write_header(got, "h.txt", 981173106, levels[i].level), sizeof want);
        CHECK(memcmp(got, want, sizeof want) == 0);
        CHECK_EQ(got[sizeof want], 0x55);
    }
}

static void without_name(void)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        uint8_t want[GZ_HEADER_SIZE] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
        uint8_t got[sizeof want + 1];
        want[8] = levels[i].xfl;
        memset(got, 0x55, sizeof got);
        CHECK_EQ(gz_write_header(got, NULL, 0, levels[i].level), sizeof want);
        CHECK(memcmp(got, want, sizeof want) == 0);
        CHECK_EQ(got[sizeof want], 0x55);
    }
}

/* Levels that GNU gzip lacks: slower ones are still "slowest", and storing is "fastest", as for
 * zlib. */
static void other_levels(void)
{
    uint8_t got[GZ_HEADER_SIZE];

    gz_write_header(got, NULL, 0, 0);
    CHECK_EQ(got[8], 4);
    for (int level = 10; level <= LZ_LEVEL_MAX; level++) {
        gz_write_header(got, NULL, 0, level);
        CHECK_EQ(got[8], 2);
    }
}

static void names_and_times(void)
{
    uint8_t got[GZ_HEADER_SIZE + 256];
    char name[256];

    CHECK_EQ(gz_write_header(got, "", 0xffffffff, 6), GZ_HEADER_SIZE + 1);
    CHECK_EQ(got[3], 8);
    CHECK(memcmp(got + 4, "\xff\xff\xff\xff", 4) == 0);
    CHECK_EQ(got[GZ_HEADER_SIZE], 0);

    memset(name, 0xe9, 255); /* bytes of any character set */
    name[255] = '\0';
    CHECK_EQ(gz_write_header(got, name, 1, 6), GZ_HEADER_SIZE + 256);
    CHECK(memcmp(got + GZ_HEADER_SIZE, name, 256) == 0);
    CHECK(memcmp(got + 4, "\1\0\0\0", 4) == 0);
}

static void trailers(void)
{
    uint8_t got[GZ_TRAILER_SIZE];

    gz_write_trailer(got, 0x3610a686, 5); /* of "hello" */
    CHECK(memcmp(got, "\x86\xa6\x10\x36\5\0\0\0", sizeof got) == 0);
    gz_write_trailer(got, 0, 0);
    CHECK(memcmp(got, "\0\0\0\0\0\0\0\0", sizeof got) == 0);
    /* GNU gzip's for 5 GiB of zeros: the length is taken modulo 2^32. */
    gz_write_trailer(got, 0x193838c3, (uint64_t)5 << 30);
    CHECK(memcmp(got, "\xc3\x38\x38\x19\0\0\0\x40", sizeof got) == 0);
    gz_write_trailer(got, 0xffffffff, 0xfedcba98765432ff);
    CHECK(memcmp(got, "\xff\xff\xff\xff\xff\x32\x54\x76", sizeof got) == 0);
}

int main(void)
{
    RUN(with_name);
    RUN(without_name);
    RUN(other_levels);
    RUN(names_and_times);
    RUN(trailers);
    return unit_done();
}
