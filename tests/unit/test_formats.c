/*
 * test_formats.c - the library's formats: zlib, raw DEFLATE, BGZF and zip, by every kind of call
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "tests/unit/unit.h"

#define KIB ((size_t)1 << 10)
#define DATA_SIZE ((size_t)3000 * KIB)

static uint8_t *data;

static const gzlzss_format formats[] = {GZLZSS_GZIP, GZLZSS_ZLIB, GZLZSS_RAW, GZLZSS_BGZF,
                                        GZLZSS_ZIP};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static gzlzss *object(gzlzss_format format, int level)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *z;

    o.format = format;
    o.level = level;
    o.threads = 3;
    o.backend = GZLZSS_CPU;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    return unit_need(z);
}

/* Bytes that a call has written. */
struct bytes {
    uint8_t *p;
    size_t len;
};

static struct bytes compressed(gzlzss *z, size_t len, gzlzss_call *call)
{
    struct bytes b = {.len = gzlzss_bound(z, len) + 100};

    b.p = unit_need(malloc(b.len));
    CHECK_EQ(gzlzss_compress(z, b.p, &b.len, data, len, call), GZLZSS_OK);
    return b;
}

/* --- By other programs' code --- */

/* True if zlib, with these window bits, decompresses all members in in[0..in_len) to
 * data[0..len). */
static bool zlib_reads(int window_bits, const uint8_t *in, size_t in_len, size_t len)
{
    uint8_t *out = unit_need(malloc(len + 1));
    z_stream s = {.next_in = (Bytef *)in,
                  .avail_in = (uInt)in_len,
                  .next_out = out,
                  .avail_out = (uInt)len + 1};
    size_t made;
    int status;

    if (inflateInit2(&s, window_bits) != Z_OK)
        abort();
    do {
        status = inflate(&s, Z_FINISH);
        if (status == Z_STREAM_END && s.avail_in > 0)
            inflateReset(&s);
    } while (status == Z_STREAM_END && s.avail_in > 0);
    made = (size_t)(s.next_out - out);
    inflateEnd(&s);
    status = status == Z_STREAM_END && made == len && (len == 0 || memcmp(out, data, len) == 0);
    free(out);
    return status;
}

/* True if the output is in the given format, and decompresses to data[0..len).
 * tests/containers.bats lets other programs read zip files. */
static bool is_right(gzlzss_format format, const struct bytes *b, size_t len)
{
    switch (format) {
    case GZLZSS_GZIP:
    case GZLZSS_BGZF:
        return zlib_reads(15 + 16, b->p, b->len, len);
    case GZLZSS_ZLIB:
        return zlib_reads(15, b->p, b->len, len);
    case GZLZSS_RAW:
        return zlib_reads(-15, b->p, b->len, len);
    case GZLZSS_ZIP:
        return memcmp(b->p, "PK\3\4", 4) == 0;
    }
    return false;
}

/* --- Tests --- */

static const size_t sizes[] = {0, 1, 4096, 65280, 65281, 200 * KIB, DATA_SIZE};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void test_memory(void)
{
    uint8_t *back = unit_need(malloc(DATA_SIZE));

    for (size_t f = 0; f < FORMATS; f++)
        for (int level = 0; level <= 10; level += level == 0 ? 1 : level == 1 ? 5 : 4) {
            gzlzss *z = object(formats[f], level);

            for (size_t i = 0; i < SIZES; i++) {
                gzlzss_call call = GZLZSS_CALL_INIT;
                struct bytes b = compressed(z, sizes[i], NULL);
                size_t len = sizes[i];

                CHECK(b.len <= gzlzss_bound(z, sizes[i]));
                CHECK(is_right(formats[f], &b, sizes[i]));
                CHECK_EQ(gzlzss_decompress(z, back, &len, b.p, b.len, &call), GZLZSS_OK);
                CHECK_EQ(len, sizes[i]);
                CHECK(memcmp(back, data, len) == 0);
                if (formats[f] != GZLZSS_ZIP)
                    CHECK_EQ(call.in_bytes, b.len);
                free(b.p);
            }
            gzlzss_free(z);
        }
    free(back);
}

/* Data that cannot be compressed takes no more than gzlzss_bound. */
static void test_bound(void)
{
    uint8_t *noise = unit_need(malloc(200 * KIB));
    uint64_t seed = 9;

    for (size_t i = 0; i < 200 * KIB; i++)
        noise[i] = (uint8_t)unit_rand(&seed);
    for (size_t f = 0; f < FORMATS; f++)
        for (int level = 0; level <= 6; level += 6) {
            gzlzss *z = object(formats[f], level);

            for (size_t len = 0; len <= 200 * KIB; len += 50 * KIB) {
                size_t out_len = gzlzss_bound(z, len);
                uint8_t *out = unit_need(malloc(out_len));

                CHECK_EQ(gzlzss_compress(z, out, &out_len, noise, len, NULL), GZLZSS_OK);
                free(out);
            }
            gzlzss_free(z);
        }
    free(noise);
}

static bool same(const struct bytes *a, const struct bytes *b)
{
    return a->len == b->len && memcmp(a->p, b->p, a->len) == 0;
}

/* Runs a stream over all of its input, in steps of `step` bytes. */
static void run(gzlzss_stream *s, struct bytes *to, const uint8_t *from, size_t len, size_t step)
{
    gzlzss_out out = {to->p, to->len, 0};
    gzlzss_status status = GZLZSS_OK;

    for (size_t at = 0; status == GZLZSS_OK; at += step) {
        const bool ends = at + step >= len;
        gzlzss_in in = {from + at, ends ? len - at : step, 0};

        status = gzlzss_stream_run(s, &out, &in, ends ? GZLZSS_END : GZLZSS_CONTINUE);
    }
    CHECK_EQ(status, GZLZSS_STREAM_END);
    to->len = out.used;
    gzlzss_stream_free(s);
}

static void test_streams(void)
{
    for (size_t f = 0; f < FORMATS; f++) {
        gzlzss *z = object(formats[f], 6);
        gzlzss_call call = GZLZSS_CALL_INIT;
        gzlzss_stream *s;
        struct bytes b, pushed, back;

        call.name = "a name";
        call.mtime = 981173106;
        b = compressed(z, DATA_SIZE, &call);
        pushed.len = b.len + 1;
        pushed.p = unit_need(malloc(pushed.len));
        CHECK_EQ(gzlzss_compress_stream(&s, z, &call), GZLZSS_OK);
        run(s, &pushed, data, DATA_SIZE, 77777);
        CHECK(same(&b, &pushed));
        back.len = DATA_SIZE;
        back.p = unit_need(malloc(back.len));
        CHECK_EQ(gzlzss_decompress_stream(&s, z, NULL), GZLZSS_OK);
        run(s, &back, b.p, b.len, 9999);
        CHECK(back.len == DATA_SIZE && memcmp(back.p, data, DATA_SIZE) == 0);
        free(back.p);
        free(pushed.p);
        free(b.p);
        gzlzss_free(z);
    }
}

/* Tests a stream that is flushed in each way, with and without bytes before the flush. */
static void test_flushes(void)
{
    static const gzlzss_directive directives[] = {GZLZSS_CONTINUE,   GZLZSS_FLUSH,
                                                  GZLZSS_FLUSH,      GZLZSS_FULL_FLUSH,
                                                  GZLZSS_FULL_FLUSH, GZLZSS_END};
    static const size_t steps[] = {1000, 0, 70 * KIB, 300, 0, 400 * KIB};

    for (size_t f = 0; f < FORMATS; f++)
        for (size_t empty = 0; empty < 2; empty++) {
            gzlzss *z = object(formats[f], 6);
            const size_t room = 1 << 20;
            struct bytes b = {unit_need(malloc(room)), 0};
            uint8_t *back = unit_need(malloc(room));
            gzlzss_out out = {b.p, room, 0};
            size_t at = 0, len = room;
            gzlzss_stream *s;

            CHECK_EQ(gzlzss_compress_stream(&s, z, NULL), GZLZSS_OK);
            for (size_t i = 0; i < 6; i++) {
                const size_t step = empty && i < 5 ? 0 : steps[(i + f) % 6];
                gzlzss_in in = {data + at, step, 0};

                CHECK_EQ(gzlzss_stream_run(s, &out, &in, directives[i]),
                         i < 5 ? GZLZSS_OK : GZLZSS_STREAM_END);
                CHECK_EQ(in.used, step);
                at += step;
            }
            gzlzss_stream_free(s);
            b.len = out.used;
            CHECK(is_right(formats[f], &b, at));
            CHECK_EQ(gzlzss_decompress(z, back, &len, b.p, b.len, NULL), GZLZSS_OK);
            CHECK(len == at && memcmp(back, data, at) == 0);
            free(back);
            free(b.p);
            gzlzss_free(z);
        }
}

/* Makes a file with the bytes of *b, and opens the file. */
static int file_of(const struct bytes *b)
{
    char name[] = "formats-XXXXXX";
    const int fd = mkstemp(name);

    if (fd < 0 || write(fd, b->p, b->len) != (ssize_t)b->len || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    unlink(name);
    return fd;
}

static bool has(int fd, const struct bytes *b)
{
    struct bytes read = {unit_need(malloc(b->len + 1)), 0};
    bool is;

    read.len = (size_t)pread(fd, read.p, b->len + 1, 0);
    is = same(&read, b);
    free(read.p);
    close(fd);
    return is;
}

static void test_descriptors(void)
{
    const struct bytes all = {data, DATA_SIZE}, nothing = {data, 0};

    for (size_t f = 0; f < FORMATS; f++) {
        gzlzss *z = object(formats[f], 6);
        struct bytes b = compressed(z, DATA_SIZE, NULL);
        int in = file_of(&all), out = file_of(&nothing);

        CHECK_EQ(gzlzss_compress_fd(z, out, in, NULL), GZLZSS_OK);
        CHECK(has(out, &b));
        close(in);
        in = file_of(&b);
        out = file_of(&nothing);
        CHECK_EQ(gzlzss_decompress_fd(z, out, in, NULL), GZLZSS_OK);
        CHECK(has(out, &all));
        close(in);
        free(b.p);
        gzlzss_free(z);
    }
}

static void test_ranges(void)
{
    for (size_t f = 0; f < FORMATS; f++) {
        gzlzss *z = object(formats[f], 6);
        const size_t segment = gzlzss_segment_size(z), cut = DATA_SIZE * 3 / 4 / segment * segment;
        struct bytes b = compressed(z, DATA_SIZE, NULL),
                     parts = {unit_need(malloc(b.len + KIB)), 0};
        size_t len = b.len + KIB;
        uint32_t first = 0, second = 0;

        if (formats[f] == GZLZSS_ZIP) {
            CHECK_EQ(gzlzss_header(z, parts.p, &len, NULL), GZLZSS_ERROR_ARGUMENT);
            len = b.len;
            CHECK_EQ(gzlzss_compress_range(z, parts.p, &len, data, segment, 0, &first, NULL),
                     GZLZSS_ERROR_ARGUMENT);
            len = b.len;
            CHECK_EQ(gzlzss_end(z, parts.p, &len, 0, 0), GZLZSS_ERROR_ARGUMENT);
        } else {
            CHECK_EQ(gzlzss_header(z, parts.p, &len, NULL), GZLZSS_OK);
            parts.len = len;
            len = b.len;
            CHECK_EQ(
                gzlzss_compress_range(z, parts.p + parts.len, &len, data, cut, 0, &first, NULL),
                GZLZSS_OK);
            parts.len += len;
            len = b.len - parts.len + KIB;
            CHECK_EQ(gzlzss_compress_range(z, parts.p + parts.len, &len, data + cut,
                                           DATA_SIZE - cut, 1, &second, NULL),
                     GZLZSS_OK);
            parts.len += len;
            if (formats[f] == GZLZSS_GZIP) {
                CHECK_EQ(gzlzss_crc32_combine(first, second, DATA_SIZE - cut),
                         gzlzss_check_combine(z, first, second, DATA_SIZE - cut));
                CHECK_EQ(gzlzss_crc32(0, data, cut), first);
                CHECK_EQ(gzlzss_crc32(first, data + cut, DATA_SIZE - cut),
                         gzlzss_check_combine(z, first, second, DATA_SIZE - cut));
                CHECK_EQ(gzlzss_crc32(first, NULL, 0), first);
            }
            first = gzlzss_check_combine(z, first, second, DATA_SIZE - cut);
            len = 28;
            CHECK_EQ(gzlzss_end(z, parts.p + parts.len, &len, first, DATA_SIZE), GZLZSS_OK);
            parts.len += len;
            CHECK(same(&parts, &b));
        }
        free(parts.p);
        free(b.p);
        gzlzss_free(z);
    }
}

static void test_end_arguments(void)
{
    gzlzss *z = object(GZLZSS_ZLIB, 1);
    uint8_t out[28];
    size_t len = 3;

    CHECK_EQ(gzlzss_end(z, out, &len, 1, 0), GZLZSS_ERROR_ROOM);
    CHECK_EQ(len, 0);
    CHECK_EQ(gzlzss_end(z, out, NULL, 1, 0), GZLZSS_ERROR_ARGUMENT);
    len = 28;
    CHECK_EQ(gzlzss_end(NULL, out, &len, 1, 0), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_check_combine(NULL, 1, 2, 3), 0);
    gzlzss_free(z);
}

static void test_options(void)
{
    static const struct {
        int format;
        size_t segment_size;
        int rsyncable;
        gzlzss_status status;
    } cases[] = {
        {GZLZSS_BGZF, 0, 0, GZLZSS_OK},
        {GZLZSS_BGZF, 63 * KIB, 0, GZLZSS_OK},
        {GZLZSS_BGZF, 64 * KIB, 0, GZLZSS_ERROR_ARGUMENT},
        {GZLZSS_BGZF, 0, 1, GZLZSS_ERROR_ARGUMENT},
        {GZLZSS_ZLIB, 64 * KIB, 0, GZLZSS_OK},
        {GZLZSS_ZLIB, 0, 1, GZLZSS_OK},
        {GZLZSS_ZIP + 1, 0, 0, GZLZSS_ERROR_ARGUMENT},
        {-1, 0, 0, GZLZSS_ERROR_ARGUMENT},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        gzlzss_options o = GZLZSS_OPTIONS_INIT;
        gzlzss *z;

        o.format = (gzlzss_format)cases[i].format;
        o.segment_size = cases[i].segment_size;
        o.rsyncable = cases[i].rsyncable;
        o.threads = 1;
        CHECK_EQ(gzlzss_new(&z, &o), cases[i].status);
        gzlzss_free(z);
    }
}

/* Tests the error that each format gives for wrong input. */
static void test_wrong(void)
{
    const uint8_t with_dictionary[] = {0x78, 0xbb, 0, 0, 0, 1, 3, 0, 0, 0, 0, 1};
    gzlzss *zlib = object(GZLZSS_ZLIB, 6), *raw = object(GZLZSS_RAW, 6);
    uint8_t *back = unit_need(malloc(DATA_SIZE));

    for (size_t i = 1; i < SIZES; i++) {
        struct bytes b = compressed(zlib, sizes[i], NULL), r = compressed(raw, sizes[i], NULL);
        size_t len = DATA_SIZE;

        b.p[b.len] = 7;
        CHECK_EQ(gzlzss_decompress(zlib, back, &len, b.p, b.len + 1, NULL), GZLZSS_ERROR_TRAILING);
        CHECK_EQ(len, sizes[i]);
        len = DATA_SIZE;
        CHECK_EQ(gzlzss_decompress(zlib, back, &len, b.p, b.len - 1, NULL), GZLZSS_ERROR_TRUNCATED);
        len = DATA_SIZE;
        b.p[b.len - 1] ^= 1;
        CHECK_EQ(gzlzss_decompress(zlib, back, &len, b.p, b.len, NULL), GZLZSS_ERROR_DATA);
        len = DATA_SIZE;
        b.p[0] ^= 1;
        CHECK_EQ(gzlzss_decompress(zlib, back, &len, b.p, b.len, NULL), GZLZSS_ERROR_FORMAT);
        r.p[r.len] = 7;
        len = DATA_SIZE;
        CHECK_EQ(gzlzss_decompress(raw, back, &len, r.p, r.len + 1, NULL), GZLZSS_ERROR_TRAILING);
        CHECK_EQ(len, sizes[i]);
        len = DATA_SIZE;
        CHECK_EQ(gzlzss_decompress(raw, back, &len, r.p, r.len - 1, NULL), GZLZSS_ERROR_TRUNCATED);
        len = sizes[i] - 1;
        CHECK_EQ(gzlzss_decompress(raw, back, &len, r.p, r.len, NULL), GZLZSS_ERROR_ROOM);
        free(r.p);
        free(b.p);
    }
    for (size_t len = 0; len <= sizeof(with_dictionary); len++) {
        size_t out_len = DATA_SIZE;

        CHECK_EQ(gzlzss_decompress(zlib, back, &out_len, with_dictionary, len, NULL),
                 len < 2 ? GZLZSS_ERROR_TRUNCATED : GZLZSS_ERROR_FORMAT);
    }
    free(back);
    gzlzss_free(zlib);
    gzlzss_free(raw);
}

/* A batch has a format of its own, whatever the object's is. */
static void test_batch(void)
{
    uint8_t *back = unit_need(malloc(DATA_SIZE));

    for (size_t f = 0; f < FORMATS; f++) {
        gzlzss *of_object = object(formats[f], 1), *z = object(GZLZSS_GZIP, 6);
        struct bytes b = compressed(z, 5000, NULL);
        gzlzss_item item = {b.p, b.len, back, DATA_SIZE, GZLZSS_OK};
        const gzlzss_status status =
            gzlzss_cuda_decompress_batch(of_object, &item, 1, GZLZSS_GZIP, NULL, NULL);

        if (status != GZLZSS_ERROR_GPU) {
            CHECK_EQ(status, GZLZSS_OK);
            CHECK(item.out_len == 5000 && memcmp(back, data, 5000) == 0);
        }
        free(b.p);
        gzlzss_free(z);
        gzlzss_free(of_object);
    }
    free(back);
}

/* Makes data that is like text: words of a small vocabulary. */
static void make_data(void)
{
    uint64_t seed = 1;

    data = unit_need(malloc(DATA_SIZE));
    for (size_t i = 0; i < DATA_SIZE;) {
        uint64_t word = unit_below(&seed, 500) * 7919 + 1;

        for (; word > 0 && i < DATA_SIZE; word /= 26)
            data[i++] = (uint8_t)('a' + word % 26);
        if (i < DATA_SIZE)
            data[i++] = ' ';
    }
}

int main(void)
{
    make_data();
    RUN(test_memory);
    RUN(test_bound);
    RUN(test_streams);
    RUN(test_flushes);
    RUN(test_descriptors);
    RUN(test_ranges);
    RUN(test_end_arguments);
    RUN(test_options);
    RUN(test_wrong);
    RUN(test_batch);
    free(data);
    return unit_done();
}
