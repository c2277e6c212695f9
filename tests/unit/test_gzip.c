/*
 * test_gzip.c - member headers and trailers are the same, byte for byte, as GNU gzip 1.12's;
 * headers can be parsed in parts of any size
 */
#include "config.h"

#include "compat/crc.h"
#include "compat/gzip.h"
#include "lzss/lzss.h"
#include "tests/unit/unit.h"

#include <string.h>

/* The headers that `gzip -LEVEL -c h.txt` writes for a file with the time stamp 981173106, and that
 * `gzip -n -LEVEL` writes.  The name takes 5 characters and a zero. */
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

/* Tests levels that GNU gzip does not have.  As in zlib, the header says "slowest" for slower
 * levels, and "fastest" for storing. */
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

static void comments(void)
{
    uint8_t got[GZ_HEADER_SIZE + 16];
    size_t size = gz_write_header(got, "n", 0, 6);

    memset(got + size, 0x55, sizeof(got) - size);
    CHECK_EQ(gz_add_comment(got, size, "hi"), size + 3);
    CHECK_EQ(got[GZ_FLAGS_AT], GZ_FLAG_NAME | GZ_FLAG_COMMENT);
    CHECK(memcmp(got + GZ_HEADER_SIZE, "n\0hi\0U", 6) == 0);
    size = gz_write_header(got, NULL, 0, 6);
    CHECK_EQ(gz_add_comment(got, size, ""), size + 1);
    CHECK_EQ(got[GZ_FLAGS_AT], GZ_FLAG_COMMENT);
    CHECK_EQ(got[GZ_HEADER_SIZE], 0);
}

static void trailers(void)
{
    uint8_t got[GZ_TRAILER_SIZE];

    gz_write_trailer(got, 0x3610a686, 5); /* for "hello" */
    CHECK(memcmp(got, "\x86\xa6\x10\x36\5\0\0\0", sizeof got) == 0);
    gz_write_trailer(got, 0, 0);
    CHECK(memcmp(got, "\0\0\0\0\0\0\0\0", sizeof got) == 0);
    /* GNU gzip's trailer for 5 GiB of zeros: the length is stored modulo 2^32. */
    gz_write_trailer(got, 0x193838c3, (uint64_t)5 << 30);
    CHECK(memcmp(got, "\xc3\x38\x38\x19\0\0\0\x40", sizeof got) == 0);
    gz_write_trailer(got, 0xffffffff, 0xfedcba98765432ff);
    CHECK(memcmp(got, "\xff\xff\xff\xff\xff\x32\x54\x76", sizeof got) == 0);
}

/* --- Parsing --- */

/* A header with all fields, including its magic number.  full_header sets the CRC at its end. */
#define FULL                       \
    "\x1f\x8b\x08\x1f\1\2\3\4\0\3" \
    "\3\0abc"                      \
    "name\0"                       \
    "a comment\0"                  \
    "??"
enum { FULL_SIZE = sizeof FULL - 1, NAME_END = 20 };

static void full_header(uint8_t h[FULL_SIZE])
{
    memcpy(h, FULL, FULL_SIZE);
    const uint32_t crc = gz_crc32(0, h, FULL_SIZE - 2);
    h[FULL_SIZE - 2] = (uint8_t)crc;
    h[FULL_SIZE - 1] = (uint8_t)(crc >> 8);
}

static void count_extra(void *ctx, unsigned bytes)
{
    *(unsigned *)ctx += 1000 + bytes;
}

/* Parses in[2..len) in parts of `step` bytes.  Sets *used to the number of bytes used, including
 * the two of the magic number. */
static enum gz_status parse(struct gz_header *h, const uint8_t *in, size_t len, size_t step,
                            size_t *used)
{
    enum gz_status status = GZ_TRUNCATED;

    for (*used = 2; status == GZ_TRUNCATED && *used < len;) {
        const size_t n = step < len - *used ? step : len - *used;
        size_t taken;

        status = gz_header_parse(h, in + *used, n, &taken);
        CHECK(status == GZ_TRUNCATED ? taken == n : taken <= n);
        *used += taken;
    }
    return status;
}

static void parses_all_fields(void)
{
    uint8_t in[FULL_SIZE + 9] = {0};

    full_header(in);
    for (size_t step = 1; step <= sizeof in; step++) {
        char name[16] = "??????????????";
        unsigned extra = 0;
        struct gz_header h;
        size_t used;

        gz_header_begin(&h, in);
        h.name = name;
        h.name_room = sizeof name;
        h.extra = count_extra;
        h.ctx = &extra;
        CHECK_EQ(parse(&h, in, sizeof in, step, &used), GZ_OK);
        CHECK_EQ(used, FULL_SIZE);
        CHECK_EQ(h.flags, 0x1f);
        CHECK_EQ(h.mtime, 0x04030201);
        CHECK(h.has_name && !h.name_cut && strcmp(name, "name") == 0);
        CHECK_EQ(extra, 1003);
        CHECK_EQ(h.stored_crc, h.right_crc);
    }
}

/* The fields that come before the end of a truncated header are known. */
static void parses_what_there_is(void)
{
    uint8_t in[FULL_SIZE];

    full_header(in);
    for (size_t len = 3; len < FULL_SIZE; len++) {
        struct gz_header h;
        size_t used;

        gz_header_begin(&h, in);
        CHECK_EQ(parse(&h, in, len, len % 7 + 1, &used), GZ_TRUNCATED);
        CHECK_EQ(used, len);
        CHECK_EQ(h.mtime, len < GZ_HEADER_SIZE ? 0 : 0x04030201);
        CHECK_EQ(h.has_name, len >= NAME_END);
    }
}

static void cuts_names(void)
{
    uint8_t in[FULL_SIZE];

    full_header(in);
    for (size_t room = 1; room <= 6; room++)
        for (size_t step = 1; step <= FULL_SIZE; step++) {
            char name[8] = "???????";
            struct gz_header h;
            size_t used;

            gz_header_begin(&h, in);
            h.name = name;
            h.name_room = room;
            CHECK_EQ(parse(&h, in, sizeof in, step, &used), GZ_OK);
            CHECK_EQ(h.name_cut, room < 5);
            CHECK_EQ(strlen(name), room < 5 ? room - 1 : 4);
            CHECK(memcmp(name, "name", strlen(name)) == 0);
            CHECK_EQ(name[room], '?');
        }
}

/* A wrong header is rejected as soon as its first wrong field was parsed. */
static void finds_wrong_headers(void)
{
    static const struct {
        size_t at;
        uint8_t byte;
        enum gz_status status;
        size_t used;
    } wrong[] = {
        {2, 7, GZ_UNKNOWN_METHOD, 3},
        {3, 0x3f, GZ_ENCRYPTED, 4},
        {3, 0xff, GZ_ENCRYPTED, 4},
        {3, 0x5f, GZ_RESERVED_FLAGS, 4},
        {3, 0x9f, GZ_RESERVED_FLAGS, 4},
        {0, 0x1e, GZ_BAD_HEADER_CRC, FULL_SIZE},
        {4, 9, GZ_BAD_HEADER_CRC, FULL_SIZE},
        {13, 'x', GZ_BAD_HEADER_CRC, FULL_SIZE},
        {16, 'x', GZ_BAD_HEADER_CRC, FULL_SIZE},
        {NAME_END, 'x', GZ_BAD_HEADER_CRC, FULL_SIZE},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (size_t step = 1; step <= FULL_SIZE; step++) {
            uint8_t in[FULL_SIZE];
            struct gz_header h;
            size_t used;

            full_header(in);
            in[wrong[i].at] = wrong[i].byte;
            gz_header_begin(&h, in);
            CHECK_EQ(parse(&h, in, sizeof in, step, &used), wrong[i].status);
            CHECK_EQ(used, wrong[i].used);
        }
}

/* gz_member_header accepts a header if it is complete and a block follows it. */
static void finds_members(void)
{
    uint8_t in[FULL_SIZE + 2 + 8] = {0};

    full_header(in);
    in[FULL_SIZE] = 3; /* an empty block with fixed codes */
    for (size_t len = 0; len <= FULL_SIZE; len++)
        CHECK_EQ(gz_member_header(in, len), 0);
    CHECK_EQ(gz_member_header(in, FULL_SIZE + 2), FULL_SIZE);
    in[FULL_SIZE] = 7; /* no block has this type */
    CHECK_EQ(gz_member_header(in, FULL_SIZE + 2), 0);
    in[FULL_SIZE] = 3;
    in[1] = 0x9e;
    CHECK_EQ(gz_member_header(in, FULL_SIZE + 2), 0);
}

int main(void)
{
    RUN(with_name);
    RUN(without_name);
    RUN(other_levels);
    RUN(names_and_times);
    RUN(comments);
    RUN(trailers);
    RUN(parses_all_fields);
    RUN(parses_what_there_is);
    RUN(cuts_names);
    RUN(finds_wrong_headers);
    RUN(finds_members);
    return unit_done();
}
