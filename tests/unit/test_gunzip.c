/*
 * test_gunzip.c - decompression of gzip streams that are good, odd, truncated or damaged, also with
 * small reads
 *
 * Members are made from zlib's raw deflate and the tests' own headers and trailers.  If a comment
 * says so, the expected results for odd members were observed with GNU gzip 1.12.
 *
 * UNIT_SLOW=1 in the environment adds a member of more than 4 GiB.
 */
#include "config.h"

#include "compat/crc.h"
#include "compat/gunzip.h"
#include "compat/gzip.h"
#include "tests/unit/encoders.h"
#include "tests/unit/streams.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

/* --- Making members ------------------------------------------------------------------------- */

static void add_trailer(struct bytes *b, const void *data, size_t len)
{
    uint8_t trailer[GZ_TRAILER_SIZE];
    gz_write_trailer(trailer, gz_crc32(0, data, len), len);
    add(b, trailer, sizeof trailer);
}

static void add_member(struct bytes *b, const void *data, size_t len, int level)
{
    uint8_t header[GZ_HEADER_SIZE + 16];
    add(b, header, gz_write_header(header, level % 2 == 0 ? "some.name" : NULL, 12345, level));
    add_deflate(b, data, len, level, Z_DEFAULT_STRATEGY);
    add_trailer(b, data, len);
}

/* Appends data that compresses: a few words again and again, with some noise. */
static void add_text(struct bytes *b, size_t len, uint64_t seed)
{
    static const char *const words[] = {"literal ", "match ", "distance ", "window ",
                                        "hash ",    "chain ", "lazy\n",    "segment "};
    size_t end = b->len + len;
    while (b->len < end) {
        uint64_t r = unit_rand(&seed);
        const char *word = words[r % 8];
        if (r >> 60 == 0)
            add(b, &r, sizeof r);
        else
            add(b, word, strlen(word));
    }
    b->len = end;
}

/* Makes three small members.  Appends their uncompressed data to *data. */
static void three_members(struct bytes *gz, struct bytes *data)
{
    add(data, "hello", 5);
    add_member(gz, "hello", 5, 6);
    add_member(gz, "", 0, 9);
    size_t start = data->len;
    add_text(data, 300, 7);
    add_member(gz, data->data + start, 300, 1);
}

/* "hello", as GNU gzip -n writes it. */
#define HELLO                      \
    "\x1f\x8b\x08\0\0\0\0\0\0\x03" \
    "\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0"

/* --- Tests ---------------------------------------------------------------------------------- */

/* Tests inputs, and compares with GNU gzip 1.12's response to each input. */
static void as_gnu_gzip(void)
{
#define CASE(bytes, out_len, members, status)             \
    {                                                     \
        bytes, sizeof bytes - 1, out_len, members, status \
    }
    static const struct {
        const char *in;
        size_t in_len, out_len;
        unsigned members;
        enum gz_status status;
    } cases[] = {
        CASE("", 0, 0, GZ_TRUNCATED),
        CASE("\x1f", 0, 0, GZ_TRUNCATED),
        CASE("a", 0, 0, GZ_TRUNCATED),
        CASE("\0", 0, 0, GZ_NOT_GZIP),
        CASE("\0\0\0\0", 0, 0, GZ_NOT_GZIP),
        CASE("xyz", 0, 0, GZ_NOT_GZIP),
        CASE("\x1f\x8c", 0, 0, GZ_NOT_GZIP),
        CASE("\0\0" HELLO, 0, 0, GZ_NOT_GZIP),
        CASE("\x1f\x8b", 0, 0, GZ_TRUNCATED),
        CASE("\x1f\x9e", 0, 0, GZ_TRUNCATED),
        CASE("\x1f\x8b\x08", 0, 0, GZ_TRUNCATED),
        CASE("\x1f\x8b\x09", 0, 0, GZ_UNKNOWN_METHOD),
        CASE("\x1f\x8b\x08\x20", 0, 0, GZ_ENCRYPTED),
        CASE("\x1f\x8b\x08\x40", 0, 0, GZ_RESERVED_FLAGS),
        CASE("\x1f\x8b\x08\x80", 0, 0, GZ_RESERVED_FLAGS),
        CASE("\x1f\x8b\x08\0\0\0\0\0\0\x03\x07\0\0\0\0\0\0\0\0", 0, 0, GZ_BAD_DATA),

        CASE(HELLO, 5, 1, GZ_OK),
        CASE(HELLO HELLO, 10, 2, GZ_OK),
        CASE("\x1f\x9e\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0", 5,
             1, GZ_OK),
        CASE(HELLO "\0", 5, 1, GZ_OK),
        CASE(HELLO "\0\0\0", 5, 1, GZ_OK),
        CASE(HELLO HELLO "\0\0\0", 10, 2, GZ_OK),
        CASE(HELLO "x", 5, 1, GZ_TRUNCATED),
        CASE(HELLO "\x1f", 5, 1, GZ_TRUNCATED),
        CASE(HELLO "\x1f\x8b", 5, 1, GZ_TRUNCATED),
        CASE(HELLO "\x1f\x8b\x08", 5, 1, GZ_TRUNCATED),
        CASE(HELLO "\x1f\x8bxyzzy1234567890", 5, 1, GZ_UNKNOWN_METHOD),
        CASE(HELLO "\x1f\x8b\x08\xff", 5, 1, GZ_ENCRYPTED),
        CASE(HELLO "\x1f\x8b\x08\0\0\0\0\0\0\x03\x07\0\0\0\0\0\0\0\0", 5, 1, GZ_BAD_DATA),
        CASE(HELLO "xy", 5, 1, GZ_TRAILING_GARBAGE),
        CASE(HELLO "x\0", 5, 1, GZ_TRAILING_GARBAGE),
        CASE(HELLO "\x1f\0", 5, 1, GZ_TRAILING_GARBAGE),
        CASE(HELLO "PK\x03\x04", 5, 1, GZ_TRAILING_GARBAGE),
        CASE(HELLO "\0x", 5, 1, GZ_TRAILING_GARBAGE),
        CASE(HELLO "\0\x1f", 5, 1, GZ_TRAILING_GARBAGE),
        CASE(HELLO "\0\0\0x", 5, 1, GZ_TRAILING_GARBAGE),
        CASE(HELLO "\0" HELLO, 5, 1, GZ_TRAILING_GARBAGE),
        CASE(HELLO "\0\0\0" HELLO, 5, 1, GZ_TRAILING_GARBAGE),
    };
#undef CASE
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t read_max = 0; read_max < 4; read_max++) {
            struct job job = {.read_max = read_max};
            bool ok = CHECK_EQ(run(&job, cases[i].in, cases[i].in_len), cases[i].status);
            ok = CHECK_EQ(job.out.len, cases[i].out_len) && ok;
            ok = CHECK_EQ(job.info.members, cases[i].members) && ok;
            if (cases[i].status == GZ_OK || cases[i].status == GZ_TRAILING_GARBAGE)
                ok = CHECK_EQ(job.info.in_bytes, cases[i].members * (sizeof HELLO - 1)) && ok;
            if (!ok)
                printf("# in case %zu, reads of %zu\n", i, read_max);
            drop(&job.out);
        }
    }
}

/* Tests sizes around those of the buffers, with all levels, strategies and block types. */
static void round_trips(void)
{
    static const size_t sizes[] = {0,      1,      2,      255,    32767,  32768,
                                   32769,  65535,  65536,  65537,  131072, 262143,
                                   262144, 262145, 400000, 524288, 524289, 3000 * 1000};
    struct bytes data = {0}, noise = {0};
    uint64_t seed = 1;
    add_text(&data, 3000 * 1000, 1);
    while (noise.len < data.len) {
        uint64_t r = unit_rand(&seed);
        add(&noise, &r, sizeof r);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int kind = 0; kind < 6; kind++) {
            struct bytes gz = {0};
            uint8_t header[GZ_HEADER_SIZE];
            const struct bytes *from = kind == 1 ? &noise : &data;
            add(&gz, header, gz_write_header(header, NULL, 77, 6));
            add_deflate(&gz, from->data, sizes[i], kind == 0 ? 0 : 6,
                        kind == 2   ? Z_FIXED
                        : kind == 3 ? Z_HUFFMAN_ONLY
                        : kind == 4 ? Z_RLE
                                    : Z_DEFAULT_STRATEGY);
            add_trailer(&gz, from->data, sizes[i]);
            for (int way = 0; way < 3; way++) {
                struct job job = {.random = way == 1 ? &seed : NULL,
                                  .read_max = way == 2 ? 4096 : 0};
                const struct bytes want = {.data = from->data, .len = sizes[i]};
                CHECK_EQ(run(&job, gz.data, gz.len), GZ_OK);
                CHECK(same(&job.out, &want));
                CHECK_EQ(job.info.in_bytes, gz.len);
                CHECK_EQ(job.info.members, 1);
                CHECK_EQ(job.info.mtime, 77);
                drop(&job.out);
            }
            drop(&gz);
        }
    }
    drop(&noise);
    drop(&data);
}

/* Tests many members of all sizes, one after another.  A back end that reads ahead must give back
 * exactly the bytes that it did not use, with reads of every size. */
static void many_members(void)
{
    struct bytes gz = {0}, data = {0};
    uint64_t seed = 2;
    for (int i = 0; i < 200; i++) {
        size_t start = data.len, len = unit_below(&seed, i % 50 == 0 ? 70000 : 300);
        add_text(&data, len, unit_rand(&seed));
        add_member(&gz, data.data + start, len, (int)unit_below(&seed, 10));
    }
    for (size_t read_max = 0; read_max < 20; read_max++) {
        struct job job = {.read_max = read_max};
        CHECK_EQ(run(&job, gz.data, gz.len), GZ_OK);
        CHECK(same(&job.out, &data));
        CHECK_EQ(job.info.members, 200);
        CHECK_EQ(job.info.in_bytes, gz.len);
        drop(&job.out);
    }
    for (int i = 0; i < 20; i++) {
        struct job job = {.random = &seed, .read_max = (size_t)1 << i};
        CHECK_EQ(run(&job, gz.data, gz.len), GZ_OK);
        CHECK(same(&job.out, &data));
        drop(&job.out);
    }
    drop(&data);
    drop(&gz);
}

/* Tests members whose data ends exactly at the output buffer's end, or a few bytes before or after
 * it, then a small member.  The decoder finds the end of the first member in input that was read
 * before, and makes no output at that point. */
static void members_end_with_buffer(void)
{
    struct bytes data = {0};
    add_text(&data, 300000, 3);
    for (size_t len = 262144 - 6; len <= 262144 + 6; len++) {
        for (int level = 0; level <= 6; level += 3) {
            struct bytes gz = {0}, want = {0};
            add(&want, data.data, len);
            add(&want, "hello", 5);
            add_member(&gz, data.data, len, level);
            add(&gz, HELLO, sizeof HELLO - 1);
            for (size_t read_max = 0; read_max < 3; read_max++) {
                struct job job = {.read_max = read_max, .max_from = gz.len - 60};
                CHECK_EQ(run(&job, gz.data, gz.len), GZ_OK);
                CHECK(same(&job.out, &want));
                CHECK_EQ(job.info.members, 2);
                drop(&job.out);
            }
            drop(&gz);
            drop(&want);
        }
    }
    drop(&data);
}

/* A file that is cut off anywhere except between members is reported as truncated.  Its output is a
 * prefix of the data. */
static void every_truncation(void)
{
    struct bytes gz = {0}, data = {0}, ends = {0};
    add_member(&ends, "hello", 5, 6);
    const size_t first = ends.len;
    add_member(&ends, "", 0, 9);
    const size_t second = ends.len;
    three_members(&gz, &data);
    for (size_t len = 0; len <= gz.len; len++) {
        for (size_t read_max = 0; read_max < 2; read_max++) {
            struct job job = {.read_max = read_max};
            bool whole = len == first || len == second || len == gz.len;
            CHECK_EQ(run(&job, gz.data, len), whole ? GZ_OK : GZ_TRUNCATED);
            CHECK(job.out.len <= data.len);
            CHECK(job.out.len == 0 || memcmp(job.out.data, data.data, job.out.len) == 0);
            CHECK_EQ(job.info.members, (len >= first) + (len >= second) + (len >= gz.len));
            drop(&job.out);
        }
    }
    drop(&ends);
    drop(&data);
    drop(&gz);
}

static void every_trailer_bit(void)
{
    struct bytes gz = {0};
    add_member(&gz, "hello", 5, 6);
    const size_t end = gz.len;
    add(&gz, HELLO, sizeof HELLO - 1);
    for (size_t i = end - GZ_TRAILER_SIZE; i < end; i++) {
        for (int flip = 1; flip < 256; flip++) {
            struct job job = {0};
            gz.data[i] ^= (uint8_t)flip;
            CHECK_EQ(run(&job, gz.data, gz.len), i < end - 4 ? GZ_BAD_CRC : GZ_BAD_LENGTH);
            CHECK_EQ(job.out.len, 5);
            CHECK_EQ(job.info.members, 0);
            gz.data[i] ^= (uint8_t)flip;
            drop(&job.out);
        }
    }
    drop(&gz);
}

/* Tests all 32 combinations of the flags FTEXT, FHCRC, FEXTRA, FNAME, FCOMMENT. */
static void header_fields(void)
{
    for (unsigned flags = 0; flags < 32; flags++) {
        struct bytes gz = {0};
        uint8_t extra[1000], crc[2];
        const uint8_t fixed[] = {0x1f, 0x8b, 8, (uint8_t)flags, 0x78, 0x56, 0x34, 0x12, 0, 3};
        memset(extra, 0, sizeof extra); /* zeros in the extra field do not end it */
        add(&gz, fixed, sizeof fixed);
        if ((flags & 4) != 0) {
            const uint8_t size[2] = {sizeof extra & 0xff, sizeof extra >> 8};
            add(&gz, size, 2);
            add(&gz, extra, sizeof extra);
        }
        if ((flags & 8) != 0)
            add(&gz, "a name", 7);
        if ((flags & 16) != 0)
            add(&gz, "and a comment", 14);
        const uint32_t want = gz_crc32(0, gz.data, gz.len);
        crc[0] = (uint8_t)want;
        crc[1] = (uint8_t)(want >> 8);
        if ((flags & 2) != 0)
            add(&gz, crc, 2);
        const size_t header = gz.len;
        add_deflate(&gz, "hello", 5, 6, Z_DEFAULT_STRATEGY);
        add_trailer(&gz, "hello", 5);

        for (size_t read_max = 0; read_max < 3; read_max++) {
            struct job job = {.read_max = read_max};
            CHECK_EQ(run(&job, gz.data, gz.len), GZ_OK);
            CHECK_EQ(job.out.len, 5);
            CHECK_EQ(job.info.mtime, 0x12345678);
            CHECK_EQ(job.info.in_bytes, gz.len);
            CHECK_EQ(job.extras, (flags & 4) != 0);
            CHECK_EQ(job.extra, (flags & 4) != 0 ? sizeof extra : 0);
            drop(&job.out);
        }
        for (size_t len = 2; len < header; len++) {
            struct job job = {0};
            CHECK_EQ(run(&job, gz.data, len), GZ_TRUNCATED);
            CHECK_EQ(job.out.len, 0);
        }
        if ((flags & 2) != 0) {
            /* With a header CRC, a change to the time stamp, or to the bytes after it, must be
             * noticed. */
            for (size_t i = 4; i < header; i++) {
                /* Do not change the extra field's length or the zero at a field's end, since such a
                 * change would move the later fields. */
                if (i >= GZ_HEADER_SIZE && i < header - 2 &&
                    (gz.data[i] == 0 || ((flags & 4) != 0 && i < GZ_HEADER_SIZE + 2)))
                    continue;
                struct job job = {0};
                gz.data[i] ^= 0x80;
                CHECK_EQ(run(&job, gz.data, gz.len), GZ_BAD_HEADER_CRC);
                gz.data[i] ^= 0x80;
                drop(&job.out);
            }
        }
        drop(&gz);
    }
}

/* Tests fields that are longer than the buffer, or end where the buffer ends.  The fields are
 * unchanged, or have one changed bit. */
static void long_header_fields(void)
{
    static const size_t sizes[] = {1,      2,      100000, 262123, 262131, 262132, 262133,
                                   262134, 262135, 262136, 262137, 262144, 524288, 3000000};
    uint64_t seed = 13;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t size = sizes[i], extra = size < 65535 ? size : 65535;
        struct bytes gz = {0};
        const uint8_t extra_size[2] = {(uint8_t)extra, (uint8_t)(extra >> 8)};

        add(&gz, "\x1f\x8b\x08\x1e\0\0\0\0\0\3", 10); /* all fields, and their CRC */
        add(&gz, extra_size, 2);
        for (size_t k = 0; k < extra; k++)
            add(&gz, "e", 1);
        for (size_t k = 1; k < size; k++)
            add(&gz, k % 2 == 0 ? "n" : "m", 1);
        add(&gz, "\0", 1);
        for (size_t k = 1; k < size; k++)
            add(&gz, "c", 1);
        add(&gz, "\0", 1);
        const uint32_t want = gz_crc32(0, gz.data, gz.len);
        add(&gz, (const uint8_t[]){(uint8_t)want, (uint8_t)(want >> 8)}, 2);
        const size_t header = gz.len;
        add(&gz, &HELLO[10], sizeof HELLO - 1 - 10);
        add(&gz, HELLO, sizeof HELLO - 1);
        for (int way = 0; way < 3; way++) {
            struct job job = {.random = way == 1 ? &seed : NULL, .read_max = way == 2 ? 1000 : 0};
            CHECK_EQ(run(&job, gz.data, gz.len), GZ_OK);
            CHECK_EQ(job.out.len, 10);
            CHECK_EQ(job.info.members, 2);
            CHECK_EQ(job.info.in_bytes, gz.len);
            CHECK_EQ(job.extra, extra);
            CHECK_EQ(job.info.name_cut, size > GZ_NAME_SIZE);
            CHECK_EQ(strlen(job.info.name), size <= GZ_NAME_SIZE ? size - 1 : GZ_NAME_SIZE - 1);
            drop(&job.out);
        }
        for (int k = 0; k < 10; k++) {
            const size_t at = 12 + (size_t)unit_below(&seed, header - 12);
            struct job job = {0}, cut = {0};
            if (gz.data[at] == 0) /* changing a zero would move a field's end */
                continue;
            gz.data[at] ^= 4;
            CHECK_EQ(run(&job, gz.data, gz.len), GZ_BAD_HEADER_CRC);
            CHECK(job.info.header_crc[0] != job.info.header_crc[1]);
            gz.data[at] ^= 4;
            CHECK_EQ(run(&cut, gz.data, at), GZ_TRUNCATED);
            drop(&job.out);
            drop(&cut.out);
        }
        drop(&gz);
    }
}

/* The first member's time stamp counts as the file's. */
static void first_time_stamp(void)
{
    struct job job = {0};
    struct bytes gz = {0};
    add(&gz, HELLO, sizeof HELLO - 1);
    add_member(&gz, "x", 1, 6);
    CHECK_EQ(run(&job, gz.data, gz.len), GZ_OK);
    CHECK_EQ(job.info.mtime, 0);
    drop(&job.out);
    drop(&gz);
}

static void read_errors(void)
{
    struct bytes gz = {0}, data = {0};
    three_members(&gz, &data);
    add(&gz, "\0\0\0", 3);
    for (size_t at = 0; at <= gz.len; at++) {
        for (size_t read_max = 0; read_max < 2; read_max++) {
            struct job job = {.read_fail = at + 1, .read_max = read_max};
            CHECK_EQ(run(&job, gz.data, gz.len), GZ_READ_ERROR);
            CHECK_EQ(job.error, EIO);
            drop(&job.out);
        }
    }
    /* The magic number of zip has more bytes than the others. */
    for (size_t at = 0; at < 4; at++) {
        struct job job = {.read_fail = at + 1, .read_max = 1};
        CHECK_EQ(run(&job, (const uint8_t *)"PK\3\4", 4), GZ_READ_ERROR);
        CHECK_EQ(job.error, EIO);
        drop(&job.out);
    }
    /* The read error is reported, not the later error in writing the rest. */
    struct job job = {.read_fail = gz.len, .write_fail = 1};
    CHECK_EQ(run(&job, gz.data, gz.len), GZ_READ_ERROR);
    CHECK_EQ(job.error, EIO);
    drop(&data);
    drop(&gz);
}

static void write_errors(void)
{
    struct bytes gz = {0}, data = {0};
    add_text(&data, 1000 * 1000, 8);
    add_member(&gz, data.data, data.len, 6);
    for (size_t at = 0; at < data.len; at += 100 * 1000) {
        struct job job = {.write_fail = at + 1};
        CHECK_EQ(run(&job, gz.data, gz.len), GZ_WRITE_ERROR);
        CHECK_EQ(job.error, ENOSPC);
        CHECK(job.out.len <= at);
        drop(&job.out);
    }
    /* The output is so short that the decoder writes it only at the end, where writing fails.
     * Garbage after the member makes no difference. */
    struct job small = {.write_fail = 1};
    CHECK_EQ(run(&small, HELLO, sizeof HELLO - 1), GZ_WRITE_ERROR);
    CHECK_EQ(small.error, ENOSPC);
    small = (struct job){.write_fail = 1};
    CHECK_EQ(run(&small, HELLO "garbage", sizeof HELLO + 6), GZ_WRITE_ERROR);
    CHECK_EQ(small.error, ENOSPC);
    drop(&data);
    drop(&gz);
}

/* Tells the decoder that reading would always wait. */
static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

/* Decodes again, with a used decoder whose reads always seem to wait.  The result must be the
 * same. */
static void check_again(struct gz_stream **s, const struct bytes *in, const struct job *job,
                        enum gz_status expected)
{
    struct job again = {.in = in->data, .in_len = in->len, .read_max = job->read_max};
    const struct gz_io io = {
        .read = job_read, .write = job_write, .waits = always, .extra = job_extra, .ctx = &again};
    if (*s != NULL)
        CHECK(gz_reopen(*s, &io, &again.info));
    else
        *s = unit_need(gz_open(&io, &again.info));
    CHECK_EQ(gz_run(*s), expected);
    CHECK(same(&again.out, &job->out));
    CHECK_EQ(again.info.out_bytes, job->info.out_bytes);
    CHECK_EQ(again.info.in_bytes, job->info.in_bytes);
    CHECK_EQ(again.info.members, job->info.members);
    drop(&again.out);
}

static void random_damage(void)
{
    struct gz_stream *s = NULL;
    struct bytes gz = {0}, data = {0}, text = {0};
    uint64_t seed = 9;
    three_members(&gz, &data);
    add_text(&text, 20000, 10);
    add(&data, text.data, text.len);
    add_member(&gz, text.data, text.len, 6);
    int passed = 0;
    for (int i = 0; i < 6000; i++) {
        struct bytes bad = {0};
        /* In half of the rounds, use only the first, small members.  They have so few bytes that
         * each is damaged in some round. */
        add(&bad, gz.data, i % 2 == 0 ? gz.len : 200);
        for (uint64_t n = 1 + unit_below(&seed, 4); n > 0; n--)
            bad.data[unit_below(&seed, bad.len)] ^= (uint8_t)(1u << unit_below(&seed, 8));
        struct job job = {.read_max = unit_below(&seed, 40)};
        enum gz_status status = run(&job, bad.data, bad.len);
        CHECK(*gz_status_message(status) != '\0');
        if (status == GZ_OK) {
            /* The damage is only in bytes that do not affect the data, or one bit was flipped
             * twice. */
            CHECK(same(&job.out, &data));
            passed++;
        }
        check_again(&s, &bad, &job, status);
        drop(&job.out);
        drop(&bad);
    }
    gz_close(s);
    CHECK(passed < 600);
    drop(&text);
    drop(&data);
    drop(&gz);
}

/* Random bytes after a good header test the back end's own checks. */
static void random_deflate(void)
{
    uint64_t seed = 11;
    for (int i = 0; i < 6000; i++) {
        uint8_t gz[400] = {0};
        size_t len = GZ_HEADER_SIZE + unit_below(&seed, sizeof gz - GZ_HEADER_SIZE);
        gz_write_header(gz, NULL, 0, 6);
        for (size_t k = GZ_HEADER_SIZE; k < len; k++)
            gz[k] = (uint8_t)unit_rand(&seed);
        struct job job = {.read_max = unit_below(&seed, 40)};
        enum gz_status status = run(&job, gz, len);
        CHECK(status == GZ_BAD_DATA || status == GZ_TRUNCATED || status == GZ_BAD_CRC);
        drop(&job.out);
    }
}

/* After gz_read_header, the header is known, and nothing is written yet. */
static void header_first(void)
{
    struct bytes file = {0};
    struct gz_info info;
    add_member(&file, "hello", 5, 6);

    for (size_t read_max = 0; read_max < 3; read_max++) {
        struct job job = {.in = file.data, .in_len = file.len, .read_max = read_max};
        const struct gz_io io = {.read = job_read, .write = job_write, .ctx = &job};
        struct gz_stream *s = unit_need(gz_open(&io, &info));
        CHECK_EQ(job.in_pos, 0);
        CHECK_EQ(gz_read_header(s), GZ_OK);
        CHECK_EQ(gz_read_header(s), GZ_OK);
        CHECK_EQ(info.format, GZ_FORMAT_GZIP);
        CHECK_EQ(info.mtime, 12345);
        CHECK(info.has_name && !info.name_cut && strcmp(info.name, "some.name") == 0);
        CHECK_EQ(info.in_bytes, GZ_HEADER_SIZE + 10);
        CHECK_EQ(info.header_bytes, GZ_HEADER_SIZE + 10 + GZ_TRAILER_SIZE);
        CHECK_EQ(job.out.len, 0);
        CHECK_EQ(gz_run(s), GZ_OK);
        CHECK_EQ(job.out.len, 5);
        CHECK(info.has_crc && info.crc == gz_crc32(0, "hello", 5));
        gz_close(s);
        drop(&job.out);
    }
    drop(&file);
    gz_close(NULL);
}

/* An error in the header is found before anything is written.  gz_read_header and gz_run both
 * report it. */
static void header_is_wrong(void)
{
    static const struct {
        const char *file;
        size_t len;
        enum gz_status status;
    } cases[] = {
        {"", 0, GZ_TRUNCATED},
        {"a", 1, GZ_TRUNCATED},
        {"ab", 2, GZ_NOT_GZIP},
        {"\x1f\x8b\x07", 3, GZ_UNKNOWN_METHOD},
        {"\x1f\x8b\x08\x20", 4, GZ_ENCRYPTED},
        {"\x1f\x8b\x08\x80", 4, GZ_RESERVED_FLAGS},
        {"\x1f\x8b\x08\x00", 4, GZ_TRUNCATED},
        {"\x1f\x8b\x08\x02\0\0\0\0\0\0\0\0", 12, GZ_BAD_HEADER_CRC},
        {"PK\3\4", 4, GZ_BAD_ZIP},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct job job = {.in = (const uint8_t *)cases[i].file, .in_len = cases[i].len};
        const struct gz_io io = {.read = job_read, .write = job_write, .ctx = &job};
        struct gz_info info;
        struct gz_stream *s = unit_need(gz_open(&io, &info));
        CHECK_EQ(gz_read_header(s), cases[i].status);
        CHECK_EQ(gz_run(s), cases[i].status);
        CHECK_EQ(job.out.len, 0);
        CHECK_EQ(info.members, 0);
        gz_close(s);
    }
}

/* Only the name of the first member counts.  A name that is too long is cut. */
static void names(void)
{
    for (size_t len = 0; len < 3 * GZ_NAME_SIZE;
         len += len < 5 || len > GZ_NAME_SIZE - 5 ? 1 : 300) {
        struct bytes file = {0};
        add(&file, "\x1f\x8b\x08\x08\0\0\0\0\0\3", 10);
        for (size_t i = 0; i < len; i++)
            add(&file, i == 2 ? "/" : "n", 1);
        add(&file, "\0", 1);
        add(&file, &HELLO[10], sizeof HELLO - 1 - 10);
        add_member(&file, "more", 4, 6);
        struct job job = {.read_max = len % 3};
        CHECK_EQ(run(&job, file.data, file.len), GZ_OK);
        CHECK(job.info.has_name);
        CHECK_EQ(job.info.name_cut, len >= GZ_NAME_SIZE);
        CHECK_EQ(strlen(job.info.name), len < GZ_NAME_SIZE ? len : GZ_NAME_SIZE - 1);
        CHECK(len < 3 || memcmp(job.info.name, "nn/", 3) == 0);
        CHECK_EQ(job.info.member_bytes, 4);
        CHECK_EQ(job.info.header_bytes, 0);
        CHECK_EQ(job.info.crc, gz_crc32(0, "more", 4));
        drop(&job.out);
        drop(&file);
    }
    struct job job = {0};
    CHECK_EQ(run(&job, HELLO, sizeof HELLO - 1), GZ_OK);
    CHECK(!job.info.has_name);
    drop(&job.out);
}

/* Every format may follow a member of gzip's or pack's format; nothing may follow the other
 * formats. */
static void mixed_formats(void)
{
    struct bytes parts[5] = {{0}};
    add_member(&parts[0], "hello", 5, 6);
    encode_pack(&parts[1], (const uint8_t *)"hello", 5, 24);
    encode_lzw(&parts[2], (const uint8_t *)"hello", 5, &(struct lzw_options){16, true, 0});
    encode_lzh(&parts[3], (const uint8_t *)"hello", 5, 100);
    encode_zip(&parts[4], (const uint8_t *)"hello", 5, 8, 0);
    for (unsigned i = 0; i < 25; i++) {
        const unsigned first = i / 5, second = i % 5;
        struct bytes file = {0};
        add(&file, parts[first].data, parts[first].len);
        add(&file, parts[second].data, parts[second].len);
        for (size_t read_max = 0; read_max < 4; read_max++) {
            struct job job = {.read_max = read_max};
            enum gz_status status = run(&job, file.data, file.len);
            if (first < 2 && second < 4) {
                CHECK_EQ(status, GZ_OK);
                CHECK(job.out.len == 10 && memcmp(job.out.data, "hellohello", 10) == 0);
                CHECK_EQ(job.info.members, 2);
                CHECK_EQ(job.info.header_bytes, 0);
            } else if (first < 2) {
                CHECK_EQ(status, GZ_TRAILING_GARBAGE);
                CHECK_EQ(job.out.len, 5);
                CHECK_EQ(job.info.in_bytes, parts[first].len);
            } else if (first > 2) {
                CHECK_EQ(status, second == 4 && first == 4 ? GZ_MORE_ENTRIES : GZ_OK);
                CHECK_EQ(job.out.len, 5);
                CHECK_EQ(job.info.in_bytes, parts[first].len);
            } else {
                CHECK_EQ(status, GZ_CORRUPT);
            }
            drop(&job.out);
        }
        drop(&file);
    }
    for (unsigned i = 0; i < 5; i++)
        drop(&parts[i]);
}

static void messages(void)
{
    for (int status = GZ_OK; status <= GZ_NO_MEMORY; status++)
        CHECK(strcmp(gz_status_message((enum gz_status)status), "unknown error") != 0);
    CHECK(strcmp(gz_status_message(GZ_TRUNCATED), "unexpected end of file") == 0);
    CHECK(strcmp(gz_status_message(GZ_NOT_GZIP), "not in gzip format") == 0);
}

/* --- A member of more than 4 GiB ------------------------------------------------------------ */

/* The member's data is TIMES copies of a piece, which is a period of 30000 random bytes, repeated.
 * Each copy but the first begins with a match to the copy before.  So all compressed copies after
 * the first are equal, and struct big has them only once. */
enum { PERIOD = 30000, PIECE = 2000 * PERIOD, TIMES = 80 };

struct big {
    struct bytes head, again, tail; /* the stream: head, again (TIMES - 1 times), tail */
    uint64_t pos, end;
    uint8_t *piece;
    uint64_t out_len;
    bool wrong;
};

static ssize_t big_read(void *ctx, void *buf, size_t len)
{
    struct big *big = ctx;
    uint64_t in_again = big->pos - big->head.len;
    const struct bytes *from = &big->again;
    size_t at = (size_t)(in_again % big->again.len);
    if (big->pos < big->head.len) {
        from = &big->head;
        at = (size_t)big->pos;
    } else if (in_again >= (uint64_t)big->again.len * (TIMES - 1)) {
        from = &big->tail;
        at = (size_t)(in_again - (uint64_t)big->again.len * (TIMES - 1));
    }
    size_t n = from->len - at < len ? from->len - at : len;
    if (n != 0)
        memcpy(buf, from->data + at, n);
    big->pos += n;
    return (ssize_t)n;
}

static int big_write(void *ctx, const void *buf, size_t len)
{
    struct big *big = ctx;
    for (size_t done = 0; done < len;) {
        size_t at = (size_t)((big->out_len + done) % PIECE);
        size_t n = PIECE - at < len - done ? PIECE - at : len - done;
        if (memcmp((const uint8_t *)buf + done, big->piece + at, n) != 0)
            big->wrong = true;
        done += n;
    }
    big->out_len += len;
    return 0;
}

static void add_piece(struct bytes *b, z_stream *z, const uint8_t *piece)
{
    static uint8_t out[1 << 16];
    z->next_in = (Bytef *)piece;
    z->avail_in = PIECE;
    do {
        z->next_out = out;
        z->avail_out = sizeof out;
        deflate(z, Z_SYNC_FLUSH);
        add(b, out, sizeof out - z->avail_out);
    } while (z->avail_out == 0);
}

static void over_4_gib(void)
{
    struct big big = {.piece = malloc(PIECE)};
    const struct gz_io io = {.read = big_read, .write = big_write, .ctx = &big};
    struct gz_info info;
    uint8_t header[GZ_HEADER_SIZE], trailer[GZ_TRAILER_SIZE];
    uint64_t seed = 12;
    z_stream z = {0};

    if (big.piece == NULL || deflateInit2(&z, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    for (size_t i = 0; i < PIECE; i++)
        big.piece[i] = i < PERIOD ? (uint8_t)unit_rand(&seed) : big.piece[i - PERIOD];
    add(&big.head, header, gz_write_header(header, NULL, 0, 1));
    add_piece(&big.head, &z, big.piece);
    add_piece(&big.again, &z, big.piece);
    deflateEnd(&z);
    add(&big.tail, "\x03\0", 2); /* a final block without data */
    const uint32_t piece_crc = gz_crc32(0, big.piece, PIECE);
    uint32_t crc = 0;
    for (int i = 0; i < TIMES; i++)
        crc = gz_crc32_combine(crc, piece_crc, PIECE);
    gz_write_trailer(trailer, crc, (uint64_t)PIECE * TIMES);
    add(&big.tail, trailer, sizeof trailer);

    CHECK_EQ(gz_decompress(&io, &info), GZ_OK);
    CHECK(!big.wrong);
    CHECK_EQ(info.out_bytes, (uint64_t)PIECE * TIMES);
    CHECK_EQ(info.in_bytes, big.pos);
    CHECK_EQ(big.out_len, info.out_bytes);
    drop(&big.head);
    drop(&big.again);
    drop(&big.tail);
    free(big.piece);
}

/* Bytes that io.ahead writes at the member's start, before it hands back. */
struct written {
    const uint8_t *bytes;
    size_t len;
    struct job *job;
    bool is_done;
};

static bool has_first(void *ctx, uint64_t bit, uint64_t *from)
{
    (void)bit;
    *from = UINT64_MAX;
    return !((const struct written *)ctx)->is_done;
}

static bool write_first(void *ctx, struct gz_place *place)
{
    struct written *w = ctx;

    w->is_done = true;
    add(&w->job->out, w->bytes, w->len);
    place->skip = (struct gz_skip){.left = w->len, .crc = gz_crc32(0, w->bytes, w->len)};
    return true;
}

static void seek_first(void *ctx, uint64_t byte)
{
    (void)ctx;
    (void)byte;
}

/* Bytes that were written ahead are not written again, and are compared with those that the decoder
 * makes. */
static void written_ahead(void)
{
    struct bytes gz = {0}, data = {0};

    add_text(&data, 300000, 3);
    add_member(&gz, data.data, data.len, 6);
    for (size_t len = 1; len < data.len; len += 49999)
        for (int wrong = 0; wrong < 2; wrong++) {
            struct job job = {.in = gz.data, .in_len = gz.len};
            struct written w = {data.data, len, &job, false};
            const struct gz_ahead ahead = {has_first, write_first, seek_first, &w};
            const struct gz_io io = {
                .read = job_read, .write = job_write, .ctx = &job, .ahead = &ahead};

            data.data[len / 2] ^= (uint8_t)wrong;
            CHECK_EQ(gz_decompress(&io, &job.info), wrong ? GZ_BAD_CRC : GZ_OK);
            CHECK(same(&job.out, &data));
            data.data[len / 2] ^= (uint8_t)wrong;
            drop(&job.out);
        }
    drop(&gz);
    drop(&data);
}

int main(void)
{
    RUN(written_ahead);
    RUN(as_gnu_gzip);
    RUN(round_trips);
    RUN(many_members);
    RUN(members_end_with_buffer);
    RUN(every_truncation);
    RUN(every_trailer_bit);
    RUN(header_fields);
    RUN(long_header_fields);
    RUN(first_time_stamp);
    RUN(read_errors);
    RUN(write_errors);
    RUN(random_damage);
    RUN(random_deflate);
    RUN(header_first);
    RUN(header_is_wrong);
    RUN(names);
    RUN(mixed_formats);
    RUN(messages);
    if (getenv("UNIT_SLOW") != NULL)
        RUN(over_4_gib);
    return unit_done();
}
