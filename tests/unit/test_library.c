/*
 * test_library.c - the library, as a program uses it: errors, streams, cancelling, threads, fork
 *
 * library.bats compares the library's output with the command's.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "tests/unit/inputs.h"

#include "lib/object.h"
#include "pipeline/crew/state.h"

#define SEGMENT ((size_t)32 << 10)

static uint8_t *input;
static const size_t input_size = 40 * SEGMENT + 1234;

static gzlzss *object(int level, int threads)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *z;

    o.level = level;
    o.threads = threads;
    o.backend = GZLZSS_CPU;
    o.segment_size = SEGMENT;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    return unit_need(z);
}

/* True if zlib decompresses the member to in[0..len). */
static bool is_member_of(const uint8_t *member, size_t member_len, const uint8_t *in, size_t len)
{
    uint8_t *out = unit_need(malloc(len + 1));
    z_stream s = {.next_in = (uint8_t *)member,
                  .avail_in = (uInt)member_len,
                  .next_out = out,
                  .avail_out = (uInt)len + 1};
    bool is;

    if (inflateInit2(&s, 15 + 16) != Z_OK)
        abort();
    is = inflate(&s, Z_FINISH) == Z_STREAM_END && s.total_out == len && s.avail_in == 0 &&
         memcmp(out, in, len) == 0;
    inflateEnd(&s);
    free(out);
    return is;
}

/* Compresses in[0..len) with the library, into a buffer of gzlzss_bound bytes. */
static uint8_t *compressed(gzlzss *z, const uint8_t *in, size_t len, size_t *out_len)
{
    uint8_t *out;

    *out_len = gzlzss_bound(z, len);
    out = unit_need(malloc(*out_len));
    CHECK_EQ(gzlzss_compress(z, out, out_len, in, len, NULL), GZLZSS_OK);
    return out;
}

/* --- Verification --------------------------------------------------------------------------- */

/* Lets the object encode segment n of each call, counted from 1, wrongly; 0: none. */
static void spoil(gzlzss *z, uint64_t n)
{
    pthread_mutex_lock(&z->pipeline->mutex);
    z->pipeline->config.test_bad_segment = n;
    pthread_mutex_unlock(&z->pipeline->mutex);
}

/* Compresses the input's first `len` bytes by a stream that is flushed twice.  The output goes to
 * out[0..*out_len), where *out_len is the room before. */
static gzlzss_status by_flushes(gzlzss *z, size_t len, uint8_t *out, size_t *out_len)
{
    static const gzlzss_directive then[] = {GZLZSS_FLUSH, GZLZSS_FLUSH, GZLZSS_END};
    gzlzss_out made = {out, *out_len, 0};
    gzlzss_status status = GZLZSS_OK;
    gzlzss_stream *s;

    CHECK_EQ(gzlzss_compress_stream(&s, z, NULL), GZLZSS_OK);
    for (size_t i = 0; i < 3 && status == GZLZSS_OK; i++) {
        gzlzss_in in = {input, i < 2 ? len / 4 * (i + 1) : len, len / 4 * i};

        status = gzlzss_stream_run(s, &made, &in, then[i]);
    }
    gzlzss_stream_free(s);
    *out_len = made.used;
    return status;
}

/* Compresses the input's first `len` bytes: by a call, or by a stream, which needs memory for the
 * flushes, too.  Returns the output, which the caller frees. */
static uint8_t *in_some_way(gzlzss *z, size_t len, bool streams, size_t *out_len,
                            gzlzss_status *status)
{
    uint8_t *out;

    *out_len = gzlzss_bound(z, len) + 1000;
    out = unit_need(malloc(*out_len));
    *status = streams ? by_flushes(z, len, out, out_len)
                      : gzlzss_compress(z, out, out_len, input, len, NULL);
    return out;
}

/* An object that verifies gives the same bytes as one that does not.  If a segment is encoded
 * wrongly, the call or stream fails.  The object that does not verify notices nothing. */
static void verify_like(gzlzss *verifies, gzlzss *trusts, size_t len, bool streams)
{
    const gzlzss_status good = streams ? GZLZSS_STREAM_END : GZLZSS_OK;
    gzlzss_status status;
    size_t expected_len, out_len;
    uint8_t *expected = in_some_way(trusts, len, streams, &expected_len, &status), *out;

    CHECK_EQ(status, good);
    out = in_some_way(verifies, len, streams, &out_len, &status);
    CHECK_EQ(status, good);
    CHECK_EQ(out_len, expected_len);
    CHECK(memcmp(out, expected, out_len) == 0);
    free(out);
    free(expected);
    /* The last size has a second segment or piece in every format.  An input of a byte has no bytes
     * before a stream's first flush. */
    for (uint64_t n = 1; n <= 2 && len > (n == 2 ? 3 * SEGMENT : streams ? 1 : 0); n++) {
        spoil(verifies, n);
        free(in_some_way(verifies, len, streams, &out_len, &status));
        CHECK_EQ(status, GZLZSS_ERROR_INTERNAL);
        spoil(verifies, 0);
        spoil(trusts, n);
        free(in_some_way(trusts, len, streams, &out_len, &status));
        CHECK_EQ(status, good);
        spoil(trusts, 0);
    }
}

static void test_verify(void)
{
    static const struct {
        int level, rsyncable;
        gzlzss_format format;
    } kinds[] = {{0, 0, GZLZSS_GZIP}, {1, 0, GZLZSS_GZIP},  {6, 0, GZLZSS_GZIP},
                 {6, 1, GZLZSS_GZIP}, {12, 0, GZLZSS_GZIP}, {0, 0, GZLZSS_RAW},
                 {6, 0, GZLZSS_ZLIB}, {6, 0, GZLZSS_RAW},   {0, 0, GZLZSS_BGZF},
                 {6, 0, GZLZSS_BGZF}, {6, 0, GZLZSS_ZIP},   {6, 1, GZLZSS_RAW}};
    static const size_t sizes[] = {0, 1, 5000, SEGMENT + 1, 3 * SEGMENT, 12 * SEGMENT + 99};

    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        gzlzss_options o = GZLZSS_OPTIONS_INIT;
        gzlzss *verifies, *trusts;

        o.level = kinds[k].level;
        o.rsyncable = kinds[k].rsyncable;
        o.format = kinds[k].format;
        o.threads = 1 + k % 3;
        o.backend = GZLZSS_CPU;
        o.segment_size = SEGMENT;
        CHECK_EQ(gzlzss_new(&trusts, &o), GZLZSS_OK);
        o.verify = 1;
        CHECK_EQ(gzlzss_new(&verifies, &o), GZLZSS_OK);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            verify_like(verifies, trusts, sizes[i], false);
            verify_like(verifies, trusts, sizes[i], true);
        }
        gzlzss_free(verifies);
        gzlzss_free(trusts);
    }
}

/* --- Memory --------------------------------------------------------------------------------- */

static void test_sizes(void)
{
    static const size_t sizes[] = {
        0, 1, 2, 100, 4096, SEGMENT - 1, SEGMENT, SEGMENT + 1, 5 * SEGMENT, 40 * SEGMENT + 1234};

    for (int level = 0; level <= GZLZSS_LEVEL_MAX; level += level == 1 ? 5 : level == 0 ? 1 : 6)
        for (int threads = 1; threads <= 4; threads += 3) {
            gzlzss *z = object(level, threads);

            for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                const size_t len = sizes[i];
                size_t out_len, back_len = len;
                uint8_t *out = compressed(z, input, len, &out_len);
                uint8_t *back = unit_need(malloc(len + 1));

                CHECK(is_member_of(out, out_len, input, len));
                CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, out_len, NULL), GZLZSS_OK);
                CHECK_EQ(back_len, len);
                CHECK(memcmp(back, input, len) == 0);
                free(back);
                free(out);
            }
            gzlzss_free(z);
        }
}

/* The compressed size of random data is just below gzlzss_bound. */
static void test_bound(void)
{
    const size_t len = 3 * SEGMENT + 77;
    uint8_t *random = unit_need(malloc(len));
    uint64_t state = 3;

    for (size_t i = 0; i < len; i++)
        random[i] = (uint8_t)unit_rand(&state);
    for (int way = 0; way < 4; way++)
        for (size_t n = 0; n <= len; n = n == 0 ? 1 : 4 * n + 1) {
            gzlzss_options o = GZLZSS_OPTIONS_INIT;
            gzlzss *z;
            size_t out_len;
            uint8_t *out;

            o.threads = 2;
            o.segment_size = SEGMENT;
            o.rsyncable = way % 2;
            o.level = way / 2 == 0 ? GZLZSS_LEVEL_DEFAULT : GZLZSS_LEVEL_STORED;
            CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
            out = compressed(z, random, n, &out_len);
            CHECK(is_member_of(out, out_len, random, n));
            free(out);
            CHECK_EQ(gzlzss_bound(z, SIZE_MAX), SIZE_MAX);
            CHECK(gzlzss_bound(z, SIZE_MAX / 2) > SIZE_MAX / 2);
            gzlzss_free(z);
        }
    free(random);
}

static void test_room(void)
{
    static const size_t sizes[] = {0, 1000, 40 * SEGMENT};
    gzlzss *z = object(6, 3);

    for (unsigned i = 0; i < 3; i++) {
        size_t len, all;
        uint8_t *out = compressed(z, input, sizes[i], &all);
        uint8_t *back = unit_need(malloc(sizes[i] + 1));

        for (int less = 0; less < 3; less++) {
            len = all - 1 - (size_t)less * (all / 3);
            CHECK_EQ(gzlzss_compress(z, out, &len, input, sizes[i], NULL), GZLZSS_ERROR_ROOM);
            CHECK_EQ(len, 0);
        }
        len = all;
        CHECK_EQ(gzlzss_compress(z, out, &len, input, sizes[i], NULL), GZLZSS_OK);
        CHECK_EQ(len, all);
        if (sizes[i] > 0) {
            size_t back_len = sizes[i] - 1;

            CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, len, NULL), GZLZSS_ERROR_ROOM);
            CHECK_EQ(back_len, sizes[i] - 1);
            CHECK(memcmp(back, input, back_len) == 0);
        }
        free(back);
        free(out);
    }
    gzlzss_free(z);
}

/* A match finder of a paper, with parameters that change the result.  A build without these match
 * finders gives an error. */
static void test_matcher(void)
{
    static const char *const matchers[] = {NULL, "culzss", "culzss,window=16"};
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    const size_t len = 300000;
    size_t lens[3] = {0, 0, 0};

    o.backend = GZLZSS_CPU;
    for (size_t i = 0; i < 3; i++) {
        uint8_t *out;
        gzlzss *z;

        o.matcher = matchers[i];
#ifndef HAVE_PAPERS
        if (i > 0) {
            CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
            continue;
        }
#endif
        CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
        lens[i] = gzlzss_bound(z, len);
        out = unit_need(malloc(lens[i]));
        CHECK_EQ(gzlzss_compress(z, out, &lens[i], input, len, NULL), GZLZSS_OK);
        CHECK(is_member_of(out, lens[i], input, len));
        free(out);
        gzlzss_free(z);
    }
#ifdef HAVE_PAPERS
    CHECK(lens[0] < lens[1] && lens[1] < lens[2]);
#endif
}

static void test_arguments(void)
{
    struct {
        gzlzss_options o;
        uint64_t more;
    } later = {GZLZSS_OPTIONS_INIT, 0};
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss_call call = GZLZSS_CALL_INIT;
    uint8_t out[100];
    size_t len = sizeof(out);
    uint32_t crc;
    gzlzss *z;

    CHECK_EQ(gzlzss_new(NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    o.level = GZLZSS_LEVEL_MAX + 1;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    CHECK(z == NULL);
    o.level = -1;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o.level = GZLZSS_LEVEL_STORED;
    o.matcher = "culzss";
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o.matcher = NULL;
    /* Level 0 leaves nothing for a GPU to do, so this works without one. */
    o.backend = GZLZSS_GPU;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    gzlzss_free(z);
    o.backend = GZLZSS_AUTO;
    o.level = 6;
    o.threads = -1;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o.threads = 1025;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o.threads = 1;
    o.matcher = "nothing";
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o.matcher = "help";
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    /* A program built with an older header does not have this field; other data may follow its
     * struct. */
    o.size = offsetof(gzlzss_options, matcher);
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    gzlzss_free(z);
    o.size = sizeof(o);
    o.matcher = NULL;
    o.segment_size = 32767;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o.segment_size = (SEGMENT << 10) + 1024;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o.segment_size = SEGMENT + 1;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o.segment_size = 0;
    o.device_count = 1;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o.device_count = 0;
    o.backend = GZLZSS_GPU;
    o.rsyncable = 1;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    o = (gzlzss_options)GZLZSS_OPTIONS_INIT;
    o.size = 0;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_ERROR_ARGUMENT);
    /* A program may be built with a newer header.  Fields that the library does not know must be
     * zero. */
    later.o.size = sizeof(later);
    later.more = 1;
    CHECK_EQ(gzlzss_new(&z, &later.o), GZLZSS_ERROR_ARGUMENT);
    CHECK(z == NULL);
    later.more = 0;
    CHECK_EQ(gzlzss_new(&z, &later.o), GZLZSS_OK);

    CHECK_EQ(gzlzss_compress(NULL, out, &len, input, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress(z, out, NULL, input, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    len = sizeof(out);
    CHECK_EQ(gzlzss_compress(z, NULL, &len, input, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(len, 0);
    len = sizeof(out);
    CHECK_EQ(gzlzss_compress(z, out, &len, NULL, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(len, 0);
    CHECK_EQ(gzlzss_compress_range(z, out, &len, input, 1, 0, &crc, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_range(z, out, &len, input, 0, 0, &crc, NULL), GZLZSS_ERROR_ARGUMENT);
    call.size = 1;
    CHECK_EQ(gzlzss_compress(z, out, &len, input, 1, &call), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_stream_run(NULL, NULL, NULL, GZLZSS_CONTINUE), GZLZSS_ERROR_ARGUMENT);
    len = sizeof(out);
    CHECK_EQ(gzlzss_compress(z, out, &len, NULL, 0, NULL), GZLZSS_OK);
    CHECK_EQ(len, 20);
    len = 9;
    CHECK_EQ(gzlzss_header(z, out, &len, NULL), GZLZSS_ERROR_ROOM);
    gzlzss_free(z);
    for (int a = GZLZSS_STREAM_END; a >= GZLZSS_ERROR_INTERNAL; a--)
        for (int b = a - 1; b >= GZLZSS_ERROR_INTERNAL - 1; b--)
            CHECK(strcmp(gzlzss_status_text((gzlzss_status)a),
                         gzlzss_status_text((gzlzss_status)b)) != 0);
}

/* The header's version string, the library's, and the header's version numbers agree. */
static void test_version(void)
{
    char numbers[40];

    snprintf(numbers, sizeof(numbers), "%d.%d.%d", GZLZSS_VERSION_MAJOR, GZLZSS_VERSION_MINOR,
             GZLZSS_VERSION_PATCH);
    CHECK(strcmp(gzlzss_version(), GZLZSS_VERSION_STRING) == 0);
    CHECK(strcmp(gzlzss_version(), numbers) == 0);
}

/* Every function takes NULL for every pointer. */
static void test_null(void)
{
    gzlzss *z = object(6, 1);
    gzlzss_stream *s;
    uint8_t out[100];
    char text[10] = "x";
    size_t len = sizeof(out);
    uint32_t crc;

    gzlzss_free(NULL);
    gzlzss_stream_free(NULL);
    gzlzss_cancel(NULL, NULL);
    CHECK_EQ(gzlzss_bound(NULL, 100), SIZE_MAX);
    CHECK_EQ(gzlzss_segment_size(NULL), 0);
    gzlzss_trailer(NULL, 1, 1);
    gzlzss_no_gpu(NULL, NULL, 10);
    gzlzss_no_gpu(z, NULL, 10);
    gzlzss_no_gpu(NULL, text, sizeof(text));
    CHECK_EQ(text[0], 0);
    CHECK_EQ(gzlzss_header(NULL, out, &len, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(len, 0);
    CHECK_EQ(gzlzss_header(z, NULL, &len, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_header(z, out, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_decompress(NULL, out, &len, out, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_decompress(z, out, NULL, out, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    len = sizeof(out);
    CHECK_EQ(gzlzss_decompress(z, NULL, &len, out, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_decompress(z, out, &len, NULL, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_range(NULL, out, &len, out, 1, 1, &crc, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_range(z, out, NULL, out, 1, 1, &crc, NULL), GZLZSS_ERROR_ARGUMENT);
    len = sizeof(out);
    CHECK_EQ(gzlzss_compress_range(z, NULL, &len, out, 1, 1, &crc, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_range(z, out, &len, NULL, 1, 1, &crc, NULL), GZLZSS_ERROR_ARGUMENT);
    len = sizeof(out);
    CHECK_EQ(gzlzss_compress_range(z, out, &len, out, 1, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_fd(NULL, 1, 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_decompress_fd(NULL, 1, 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_stream(NULL, z, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_stream(&s, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK(s == NULL);
    CHECK_EQ(gzlzss_decompress_stream(NULL, z, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_decompress_stream(&s, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK(s == NULL);
    for (int way = 0; way < 2; way++) {
        gzlzss_out o = {out, sizeof(out), 0}, no_out = {NULL, 1, 0};
        gzlzss_in no_in = {NULL, 1, 0};

        CHECK_EQ(way == 0 ? gzlzss_compress_stream(&s, z, NULL)
                          : gzlzss_decompress_stream(&s, z, NULL),
                 GZLZSS_OK);
        CHECK_EQ(gzlzss_stream_run(s, NULL, NULL, GZLZSS_CONTINUE), GZLZSS_ERROR_ARGUMENT);
        CHECK_EQ(gzlzss_stream_run(s, &no_out, NULL, GZLZSS_CONTINUE), GZLZSS_ERROR_ARGUMENT);
        CHECK_EQ(gzlzss_stream_run(s, &o, &no_in, GZLZSS_CONTINUE), GZLZSS_ERROR_ARGUMENT);
        CHECK_EQ(gzlzss_stream_run(s, &o, NULL, GZLZSS_CONTINUE), GZLZSS_OK);
        gzlzss_stream_free(s);
    }
    gzlzss_free(z);
}

static void test_header(void)
{
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss *z = object(9, 1);
    uint8_t out[100], header[100];
    size_t len = sizeof(out), header_len = sizeof(header);

    call.name = "a name";
    call.mtime = 0x12345678;
    CHECK_EQ(gzlzss_compress(z, out, &len, "x", 1, &call), GZLZSS_OK);
    CHECK_EQ(len, 10 + 7 + 3 + 8);
    CHECK_EQ(out[3], 8);
    CHECK_EQ(out[4], 0x78);
    CHECK_EQ(out[7], 0x12);
    CHECK(memcmp(out + 10, "a name", 7) == 0);
    CHECK_EQ(call.in_bytes, 1);
    CHECK_EQ(call.out_bytes, len);
    CHECK_EQ(gzlzss_header(z, header, &header_len, &call), GZLZSS_OK);
    CHECK_EQ(header_len, 17);
    CHECK(memcmp(out, header, 17) == 0);
    gzlzss_free(z);
}

/* --- Damaged data --------------------------------------------------------------------------- */

static void test_damage(void)
{
    gzlzss *z = object(6, 3);
    uint8_t *back = unit_need(malloc(input_size));

    for (int large = 0; large < 2; large++) {
        const size_t n = large ? input_size : 3000;
        size_t len, back_len;
        uint8_t *out = compressed(z, input, n, &len);

        back_len = n;
        CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, len - 1, NULL), GZLZSS_ERROR_TRUNCATED);
        CHECK_EQ(back_len, n);
        back_len = n;
        CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, 0, NULL), GZLZSS_ERROR_TRUNCATED);
        CHECK_EQ(back_len, 0);
        back_len = n;
        CHECK_EQ(gzlzss_decompress(z, back, &back_len, input, 100, NULL), GZLZSS_ERROR_FORMAT);
        out[len - 8] ^= 1;
        back_len = n;
        CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, len, NULL), GZLZSS_ERROR_DATA);
        CHECK_EQ(back_len, n);
        out[len - 8] ^= 1;
        out = realloc(out, len + 3);
        memcpy(out + len, "abc", 3);
        back_len = n;
        CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, len + 3, NULL), GZLZSS_ERROR_TRAILING);
        CHECK_EQ(back_len, n);
        free(out);
    }
    free(back);
    gzlzss_free(z);
}

/* What the library says about a gzip stream with a changed byte; `at` counts from the end if it is
 * negative. */
static void try_message(gzlzss *z, uint8_t *out, size_t len, long at, const char *message)
{
    uint8_t *const byte = at < 0 ? out + len + at : out + at;
    uint8_t *back = unit_need(malloc(input_size));
    gzlzss_call call = GZLZSS_CALL_INIT;
    size_t back_len = input_size;

    *byte ^= 4;
    CHECK(gzlzss_decompress(z, back, &back_len, out, len, &call) < GZLZSS_OK);
    CHECK(call.message != NULL && strcmp(call.message, message) == 0);
    /* A program that was compiled before the member came must keep its memory. */
    call.message = "mine";
    call.size = offsetof(gzlzss_call, message);
    back_len = input_size;
    CHECK(gzlzss_decompress(z, back, &back_len, out, len, &call) < GZLZSS_OK);
    CHECK(strcmp(call.message, "mine") == 0);
    *byte ^= 4;
    call = (gzlzss_call)GZLZSS_CALL_INIT;
    call.message = "old";
    back_len = input_size;
    CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, len, &call), GZLZSS_OK);
    CHECK(call.message == NULL);
    free(back);
}

static void test_messages(void)
{
    gzlzss *z = object(6, 3);

    for (int large = 0; large < 2; large++) {
        size_t len;
        uint8_t *out = compressed(z, input, large ? input_size : 3000, &len);

        try_message(z, out, len, 2, "unknown compression method");
        try_message(z, out, len, -8, "incorrect data check");
        try_message(z, out, len, -1, "incorrect length check");
        free(out);
    }
    gzlzss_free(z);
}

/* Decompresses in[0..len) by gzlzss_decompress. */
static gzlzss_status by_memory(gzlzss *z, uint8_t *out, size_t *out_len, const uint8_t *in,
                               size_t len, gzlzss_call *call)
{
    return gzlzss_decompress(z, out, out_len, in, len, call);
}

/* Decompresses in[0..len) through files.  *out_len is as for gzlzss_decompress. */
static gzlzss_status by_file(gzlzss *z, uint8_t *out, size_t *out_len, const uint8_t *in,
                             size_t len, gzlzss_call *call)
{
    FILE *from = unit_need(tmpfile()), *to = unit_need(tmpfile());
    gzlzss_status status;
    ssize_t n;

    CHECK_EQ(fwrite(in, 1, len, from), len);
    fflush(from);
    rewind(from);
    status = gzlzss_decompress_fd(z, fileno(to), fileno(from), call);
    n = pread(fileno(to), out, *out_len, 0);
    *out_len = n < 0 ? 0 : (size_t)n;
    fclose(to);
    fclose(from);
    return status;
}

/* Decompresses in[0..len) by a stream, which gets 1000 bytes at a time. */
static gzlzss_status by_stream(gzlzss *z, uint8_t *out, size_t *out_len, const uint8_t *in,
                               size_t len, gzlzss_call *call)
{
    gzlzss_out o = {out, *out_len, 0};
    gzlzss_status status = GZLZSS_OK;
    gzlzss_stream *s;

    CHECK_EQ(gzlzss_decompress_stream(&s, z, call), GZLZSS_OK);
    for (size_t at = 0; status == GZLZSS_OK;) {
        const size_t n = len - at < 1000 ? len - at : 1000;
        gzlzss_in i = {in + at, n, 0};

        status = gzlzss_stream_run(s, &o, &i, at + n == len ? GZLZSS_END : GZLZSS_CONTINUE);
        at += i.used;
    }
    gzlzss_stream_free(s);
    *out_len = o.used;
    return status == GZLZSS_STREAM_END ? GZLZSS_OK : status;
}

/* If the bytes after a member are no member, calls report that, and in_bytes tells where the last
 * member ends. */
static void test_behind_members(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        gzlzss_status status;
    } behind[] = {{"", 0, GZLZSS_OK},
                  {"\0", 1, GZLZSS_OK},
                  {"\0\0\0", 3, GZLZSS_OK},
                  {"x", 1, GZLZSS_ERROR_TRAILING},
                  {"P", 1, GZLZSS_ERROR_TRAILING},
                  {"xy", 2, GZLZSS_ERROR_TRAILING},
                  {"x\0", 2, GZLZSS_ERROR_TRAILING},
                  {"\0x", 2, GZLZSS_ERROR_TRAILING},
                  {"\x1fx", 2, GZLZSS_ERROR_TRAILING},
                  {"xyz", 3, GZLZSS_ERROR_TRAILING},
                  {"\0\x1f\x8b\x08", 4, GZLZSS_ERROR_TRAILING},
                  /* A truncated member. */
                  {"\x1f", 1, GZLZSS_ERROR_TRUNCATED},
                  {"\x1f\x8b", 2, GZLZSS_ERROR_TRUNCATED},
                  {"\x1f\x8b\x08", 3, GZLZSS_ERROR_TRUNCATED}};
    typedef gzlzss_status (*decompresses)(gzlzss *, uint8_t *, size_t *, const uint8_t *, size_t,
                                          gzlzss_call *);
    static const decompresses ways[] = {by_memory, by_file, by_stream};
    const size_t large = 4 * input_size;
    uint8_t *plain = unit_need(malloc(large)), *back = unit_need(malloc(2 * large));
    gzlzss *z = object(1, 3);

    for (size_t i = 0; i < 4; i++)
        memcpy(plain + i * input_size, input, input_size);
    for (int two = 0; two < 2; two++)
        for (int is_large = 0; is_large < 2; is_large++) {
            const size_t n = is_large ? large : 5000;
            size_t len;
            uint8_t *packed = compressed(z, plain, n, &len);

            packed = unit_need(realloc(packed, 2 * len + 4));
            memcpy(packed + len, packed, len);
            len *= 1 + (size_t)two;
            /* After a large member, try only every third case. */
            for (size_t i = 0; i < sizeof(behind) / sizeof(*behind); i += is_large ? 3 : 1)
                for (int way = 0; way < 3; way++) {
                    gzlzss_call call = GZLZSS_CALL_INIT;
                    const size_t all = len + behind[i].len;
                    size_t back_len = 2 * large;

                    memcpy(packed + len, behind[i].bytes, behind[i].len);
                    CHECK_EQ(ways[way](z, back, &back_len, packed, all, &call), behind[i].status);
                    CHECK_EQ(back_len, n * (1 + (size_t)two));
                    CHECK(memcmp(back, plain, n) == 0);
                    if (behind[i].status != GZLZSS_ERROR_TRUNCATED)
                        CHECK_EQ(call.in_bytes, len);
                    CHECK_EQ(call.out_bytes, back_len);
                }
            free(packed);
        }
    free(back);
    free(plain);
    gzlzss_free(z);
}

/* Decompresses in[0..len) by a reader. */
static gzlzss_status by_reader(gzlzss *z, uint8_t *out, size_t *out_len, const uint8_t *in,
                               size_t len, gzlzss_call *call)
{
    uint64_t size = 0;
    gzlzss_status status;
    gzlzss_reader *r;

    CHECK_EQ(gzlzss_reader_memory(&r, z, in, len, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_OK);
    status = gzlzss_reader_read(r, out, out_len, 0, call);
    CHECK_EQ(size, *out_len);
    gzlzss_reader_free(r);
    return status;
}

/* With skip_zeros, a member may come after zeros that follow another member.  Without it, such a
 * member is trailing garbage, which a reader ignores. */
static void test_zeros_between_members(void)
{
    static const size_t zeros[] = {1, 512, 300000};
    gzlzss_status (*const ways[])(gzlzss *, uint8_t *, size_t *, const uint8_t *, size_t,
                                  gzlzss_call *) = {by_memory, by_file, by_stream, by_reader};
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *strict = object(1, 3), *z;
    size_t len;
    uint8_t *const packed = compressed(strict, input, input_size, &len);
    uint8_t *const both = unit_need(malloc(2 * len + 600001));
    uint8_t *const back = unit_need(malloc(3 * input_size));

    o.threads = 3;
    o.skip_zeros = 1;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    for (size_t i = 0; i < sizeof(zeros) / sizeof(*zeros); i++)
        for (size_t way = 0; way < 4; way++) {
            const size_t all = 2 * (len + zeros[i]);
            size_t back_len = 3 * input_size;

            memset(both, 0, all + 1);
            memcpy(both, packed, len);
            memcpy(both + len + zeros[i], packed, len);
            CHECK_EQ(ways[way](z, back, &back_len, both, all, NULL), GZLZSS_OK);
            CHECK_EQ(back_len, 2 * input_size);
            CHECK(memcmp(back, input, input_size) == 0);
            CHECK(memcmp(back + input_size, input, input_size) == 0);
            back_len = 3 * input_size;
            CHECK_EQ(ways[way](strict, back, &back_len, both, all, NULL),
                     ways[way] == by_reader ? GZLZSS_OK : GZLZSS_ERROR_TRAILING);
            CHECK_EQ(back_len, input_size);
            /* Other bytes after zeros are garbage. */
            both[all] = 'x';
            back_len = 3 * input_size;
            CHECK_EQ(ways[way](z, back, &back_len, both, all + 1, NULL),
                     ways[way] == by_reader ? GZLZSS_OK : GZLZSS_ERROR_TRAILING);
            CHECK_EQ(back_len, 2 * input_size);
        }
    /* With skip_zeros, a lone first byte of a member is garbage, too. */
    both[len] = 0x1f;
    for (size_t way = 0; way < 4; way++) {
        size_t back_len = 3 * input_size;

        CHECK_EQ(ways[way](z, back, &back_len, both, len + 1, NULL),
                 ways[way] == by_reader ? GZLZSS_OK : GZLZSS_ERROR_TRAILING);
        CHECK_EQ(back_len, input_size);
        back_len = 3 * input_size;
        CHECK_EQ(ways[way](strict, back, &back_len, both, len + 1, NULL),
                 ways[way] == by_reader ? GZLZSS_OK : GZLZSS_ERROR_TRUNCATED);
    }
    free(back);
    free(both);
    free(packed);
    gzlzss_free(z);
    gzlzss_free(strict);
}

/* After a read, in_bytes is about the place in the input. */
static void test_place_of_a_read(void)
{
    const size_t large = 16 * input_size;
    uint8_t *const plain = unit_need(malloc(large));
    gzlzss *z = object(1, 1);
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss_reader *r;
    uint8_t *packed, byte;
    size_t len;

    for (size_t i = 0; i < 16; i++)
        memcpy(plain + i * input_size, input, input_size);
    packed = compressed(z, plain, large, &len);
    CHECK_EQ(gzlzss_reader_memory(&r, z, packed, len, NULL), GZLZSS_OK);
    for (size_t i = 3; i <= 4; i--) {
        size_t n = 1;

        CHECK_EQ(gzlzss_reader_read(r, &byte, &n, large / 4 * i, &call), GZLZSS_OK);
        CHECK(call.in_bytes >= len / 4 * i && call.in_bytes < len / 4 * i + len / 8);
    }
    gzlzss_reader_free(r);
    free(packed);
    free(plain);
    gzlzss_free(z);
}

/* --- Large buffers, many calls --------------------------------------------------------------- */

/* A call on a large buffer, and the expected results. */
struct large {
    uint8_t *in;
    size_t len, room;
    uint8_t *out;
    size_t out_len;
    gzlzss_status status;
};

#define LARGES 8

/* Compresses plain[0..n) with zlib, as one gzip member. */
static uint8_t *by_zlib(const uint8_t *plain, size_t n, size_t *len)
{
    z_stream s = {.next_in = (uint8_t *)plain, .avail_in = (uInt)n};
    uint8_t *out = unit_need(malloc(n + 1000));

    s.next_out = out;
    s.avail_out = (uInt)n + 1000;
    if (deflateInit2(&s, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&s, Z_FINISH) != Z_STREAM_END)
        abort();
    *len = s.total_out;
    deflateEnd(&s);
    return out;
}

/* Makes the calls: two good members of different kinds; both in one input; the second one with a
 * damaged CRC, damaged in the middle, cut off, with garbage after it, and with too little room.
 * A stream of an object with one thread gives the expected results. */
static void make_larges(struct large *l, const uint8_t *plain, size_t n)
{
    gzlzss *z = object(6, 1);
    size_t own_len, len;
    uint8_t *own = compressed(z, plain, n, &own_len), *other = by_zlib(plain, n, &len);

    for (int i = 0; i < LARGES; i++) {
        l[i] = (struct large){.in = unit_need(malloc(own_len + len + 3)), .room = 2 * n + 10};
        memcpy(l[i].in, i == 0 || i == 2 ? own : other, i == 0 || i == 2 ? own_len : len);
        l[i].len = i == 0 || i == 2 ? own_len : len;
        if (i == 2) {
            memcpy(l[i].in + l[i].len, other, len);
            l[i].len += len;
        }
    }
    l[3].in[len - 5] ^= 1;
    memset(l[4].in + len / 2, 0xff, 300);
    l[5].len -= len / 3;
    memcpy(l[6].in + len, "abc", 3);
    l[6].len += 3;
    l[7].room = n - 1;
    for (int i = 0; i < LARGES; i++) {
        l[i].out = unit_need(malloc(2 * n + 10));
        l[i].out_len = 2 * n + 10;
        l[i].status = by_stream(z, l[i].out, &l[i].out_len, l[i].in, l[i].len, NULL);
    }
    l[7].status = GZLZSS_ERROR_ROOM;
    l[7].out_len = n - 1;
    free(other);
    free(own);
    gzlzss_free(z);
}

/* Makes a call, and returns whether it has the expected results. */
static bool call_large(gzlzss *z, const struct large *l, bool grows)
{
    uint8_t *out = grows ? NULL : unit_need(malloc(l->room));
    size_t len = l->room;
    gzlzss_status status;
    bool is;

    if (grows)
        status = gzlzss_decompress_new(z, (void **)&out, &len, NULL, NULL, l->in, l->len, NULL);
    else
        status = gzlzss_decompress(z, out, &len, l->in, l->len, NULL);
    is = status == l->status && len == l->out_len && memcmp(out, l->out, len) == 0;
    free(out);
    return is;
}

struct large_caller {
    gzlzss *z;
    const struct large *calls;
    int number;
    pthread_t thread;
};

/* Makes calls of each kind.  Uses no CHECK, because CHECK counts failures without a lock. */
static void *large_main(void *argument)
{
    struct large_caller *c = argument;
    bool ok = true;

    for (int i = 0; i < LARGES; i++) {
        const struct large *l = &c->calls[(c->number + i) % LARGES];

        ok &= call_large(c->z, l, false);
        ok &= l->status == GZLZSS_ERROR_ROOM || call_large(c->z, l, true);
    }
    return ok ? c : NULL;
}

/* Large calls have the same results alone and beside others, whether workers help or not. */
static void test_large_calls(void)
{
    const size_t n = 2 * input_size;
    uint8_t *plain = unit_need(malloc(n));
    struct large calls[LARGES];

    memcpy(plain, input, input_size);
    memcpy(plain + input_size, input, input_size);
    make_larges(calls, plain, n);
    /* Sanitizers see the most where workers help some of many calls. */
    for (int threads = UNIT_SANITIZED ? 3 : 1; threads <= 3; threads += 2)
        for (int callers = UNIT_SANITIZED ? 4 : 1; callers <= 4; callers += 3) {
            struct large_caller c[4];
            gzlzss *z = object(6, threads);

            for (int i = 0; i < callers; i++) {
                c[i] = (struct large_caller){.z = z, .calls = calls, .number = i};
                pthread_create(&c[i].thread, NULL, large_main, &c[i]);
            }
            for (int i = 0; i < callers; i++) {
                void *ok;

                pthread_join(c[i].thread, &ok);
                CHECK(ok != NULL);
            }
            gzlzss_free(z);
        }
    for (int i = 0; i < LARGES; i++) {
        free(calls[i].in);
        free(calls[i].out);
    }
    free(plain);
}

/* --- Levels of calls ------------------------------------------------------------------------ */

/* Compresses input[0..len) by a stream that is flushed twice.  Returns the number of bytes of
 * output. */
static size_t by_flushed_stream(gzlzss *z, gzlzss_call *call, size_t len, uint8_t *out, size_t room)
{
    gzlzss_out o = {out, room, 0};
    gzlzss_stream *s;

    CHECK_EQ(gzlzss_compress_stream(&s, z, call), GZLZSS_OK);
    for (int i = 0; i < 3; i++) {
        gzlzss_in in = {input + len / 3 * (size_t)i, i < 2 ? len / 3 : len - len / 3 * 2, 0};

        CHECK_EQ(gzlzss_stream_run(s, &o, &in, i < 2 ? GZLZSS_FLUSH : GZLZSS_END),
                 i < 2 ? GZLZSS_OK : GZLZSS_STREAM_END);
    }
    gzlzss_stream_free(s);
    return o.used;
}

/* Checks that calls with `level` on z give the same bytes as an object of that level. */
static void check_level(gzlzss *z, int level)
{
    static const size_t sizes[] = {0, 100, 5000, 5 * SEGMENT, 40 * SEGMENT};
    gzlzss *usual = object(level, 2);
    gzlzss_call call = GZLZSS_CALL_INIT;

    call.level = level == GZLZSS_LEVEL_STORED ? GZLZSS_CALL_STORED : level;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const size_t len = sizes[i], room = gzlzss_bound(z, len) + 100;
        uint8_t *a = unit_need(malloc(room)), *b = unit_need(malloc(room));
        size_t a_len = room, b_len = room;
        uint32_t a_crc, b_crc;

        CHECK_EQ(gzlzss_compress(z, a, &a_len, input, len, &call), GZLZSS_OK);
        CHECK_EQ(gzlzss_compress(usual, b, &b_len, input, len, NULL), GZLZSS_OK);
        CHECK(a_len == b_len && memcmp(a, b, a_len) == 0);
        a_len = b_len = room;
        CHECK_EQ(gzlzss_compress_range(z, a, &a_len, input, len, 1, &a_crc, &call), GZLZSS_OK);
        CHECK_EQ(gzlzss_compress_range(usual, b, &b_len, input, len, 1, &b_crc, NULL), GZLZSS_OK);
        CHECK(a_len == b_len && memcmp(a, b, a_len) == 0 && a_crc == b_crc);
        a_len = b_len = room;
        CHECK_EQ(gzlzss_header(z, a, &a_len, &call), GZLZSS_OK);
        CHECK_EQ(gzlzss_header(usual, b, &b_len, NULL), GZLZSS_OK);
        CHECK(a_len == b_len && memcmp(a, b, a_len) == 0);
        a_len = by_flushed_stream(z, &call, len, a, room);
        b_len = by_flushed_stream(usual, NULL, len, b, room);
        CHECK(a_len == b_len && memcmp(a, b, a_len) == 0);
        free(a);
        free(b);
    }
    gzlzss_free(usual);
}

struct leveller {
    gzlzss *z;
    int level;
};

static void *level_main(void *argument)
{
    const struct leveller *l = argument;

    check_level(l->z, l->level);
    return NULL;
}

static void test_call_levels(void)
{
    static const int levels[] = {9, 6, 1, 0, 7, 9, 2, 3};
    enum { THREADS = 4 };
    static const struct {
        int object, call;
        bool is_taken;
    } pairs[] = {{6, 7, false},  {6, 3, true},   {3, 6, true},   {2, 3, false},
                 {0, 1, false},  {9, 10, false}, {10, 12, true}, {9, 13, false},
                 {9, -2, false}, {6, 6, true},   {0, -1, true},  {12, -1, true}};
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss_call call = GZLZSS_CALL_INIT;
    struct leveller levellers[THREADS];
    pthread_t threads[THREADS];
    uint8_t out[1000];
    size_t len, usual_len = sizeof(out);
    gzlzss *z = object(9, 3);
    gzlzss_stream *s;

    for (unsigned i = 0; i < sizeof(levels) / sizeof(*levels); i++)
        check_level(z, levels[i]);
    /* Several threads at a time. */
    for (int i = 0; i < THREADS; i++) {
        levellers[i] = (struct leveller){z, 2 * i};
        if (pthread_create(&threads[i], NULL, level_main, &levellers[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* A program compiled with an older header has no `level`. */
    CHECK_EQ(gzlzss_compress(z, out, &usual_len, input, 300, NULL), GZLZSS_OK);
    call.size = offsetof(gzlzss_call, level);
    call.level = 1000;
    len = sizeof(out);
    CHECK_EQ(gzlzss_compress(z, out, &len, input, 300, &call), GZLZSS_OK);
    CHECK_EQ(len, usual_len);
    gzlzss_free(z);

    call = (gzlzss_call)GZLZSS_CALL_INIT;
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        const gzlzss_status wanted = pairs[i].is_taken ? GZLZSS_OK : GZLZSS_ERROR_ARGUMENT;

        z = object(pairs[i].object, 1);
        call.level = pairs[i].call;
        len = sizeof(out);
        CHECK_EQ(gzlzss_compress(z, out, &len, input, 300, &call), wanted);
        CHECK_EQ(len > 0, pairs[i].is_taken);
        len = sizeof(out);
        CHECK_EQ(gzlzss_header(z, out, &len, &call), wanted);
        CHECK_EQ(gzlzss_compress_stream(&s, z, &call), wanted);
        gzlzss_stream_free(s);
        gzlzss_free(z);
    }
    o.matcher = "lzss";
    o.backend = GZLZSS_CPU;
    if (gzlzss_new(&z, &o) == GZLZSS_OK) {
        call.level = 1;
        len = sizeof(out);
        CHECK_EQ(gzlzss_compress(z, out, &len, input, 300, &call), GZLZSS_ERROR_ARGUMENT);
        gzlzss_free(z);
    }
}

/* --- Streams -------------------------------------------------------------------------------- */

/* Runs the stream on in[0..len).  Each call gets up to `most` bytes of input, and room for `most`
 * bytes of output.  Returns the stream's output. */
static uint8_t *streamed(gzlzss_stream *s, const uint8_t *in, size_t len, size_t most,
                         size_t *out_len)
{
    const size_t room = 2 * len + input_size;
    uint8_t *bytes = unit_need(malloc(room));
    gzlzss_status status = GZLZSS_OK;
    uint64_t state = most;
    size_t at = 0;

    *out_len = 0;
    while (status == GZLZSS_OK) {
        const size_t give = 1 + unit_below(&state, most), n = len - at < give ? len - at : give;
        const size_t free_room = room - *out_len, size = unit_below(&state, most + 1);
        gzlzss_in i = {in + at, n, 0};
        gzlzss_out o = {bytes + *out_len, size < free_room ? size : free_room, 0};

        status = gzlzss_stream_run(s, &o, &i, at + n == len ? GZLZSS_END : GZLZSS_CONTINUE);
        CHECK(i.used <= n && o.used <= o.size);
        /* With GZLZSS_OK, a call must have used all input or filled all output. */
        CHECK(status != GZLZSS_OK || i.used == n || o.used == o.size);
        at += i.used;
        *out_len += o.used;
    }
    CHECK_EQ(status, GZLZSS_STREAM_END);
    CHECK_EQ(at, len);
    return bytes;
}

static void test_streams(void)
{
    static const size_t sizes[] = {0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 40 * SEGMENT + 1234};
    static const size_t mosts[] = {1000, 100000, 1000000};

    for (int way = 0; way < 4; way++)
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
            for (unsigned m = 0; m < 3; m++) {
                gzlzss_options o = GZLZSS_OPTIONS_INIT;
                size_t len, expected_len, back_len;
                uint8_t *out, *expected, *back;
                gzlzss_stream *s;
                gzlzss *z;

                o.level = way == 3 ? 12 : 6;
                o.threads = way == 0 ? 1 : 3;
                o.segment_size = SEGMENT;
                o.rsyncable = way == 2;
                CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
                expected = compressed(z, input, sizes[i], &expected_len);
                CHECK_EQ(gzlzss_compress_stream(&s, z, NULL), GZLZSS_OK);
                out = streamed(s, input, sizes[i], mosts[m], &len);
                CHECK_EQ(len, expected_len);
                CHECK(len == expected_len && memcmp(out, expected, len) == 0);
                gzlzss_stream_free(s);
                CHECK_EQ(gzlzss_decompress_stream(&s, z, NULL), GZLZSS_OK);
                back = streamed(s, out, len, mosts[m], &back_len);
                CHECK_EQ(back_len, sizes[i]);
                CHECK(back_len == sizes[i] && memcmp(back, input, back_len) == 0);
                gzlzss_stream_free(s);
                free(back);
                free(out);
                free(expected);
                gzlzss_free(z);
            }
}

/* Tests streams that are freed early, at any point, and damaged or truncated input. */
static void test_stream_ends_early(void)
{
    gzlzss *z = object(6, 3);
    uint8_t bytes[5000];
    size_t len;
    uint8_t *out = compressed(z, input, input_size, &len);

    for (size_t n = 0; n <= input_size; n += input_size / 5) {
        gzlzss_in in = {input, n, 0}, packed = {out, n < len ? n : len, 0};
        gzlzss_out o = {bytes, sizeof(bytes), 0};
        gzlzss_stream *s;

        CHECK_EQ(gzlzss_compress_stream(&s, z, NULL), GZLZSS_OK);
        CHECK_EQ(gzlzss_stream_run(s, &o, &in, GZLZSS_CONTINUE), GZLZSS_OK);
        gzlzss_stream_free(s);
        o.used = 0;
        CHECK_EQ(gzlzss_decompress_stream(&s, z, NULL), GZLZSS_OK);
        CHECK_EQ(gzlzss_stream_run(s, &o, &packed, GZLZSS_CONTINUE), GZLZSS_OK);
        gzlzss_stream_free(s);
    }
    for (int damage = 0; damage < 2; damage++) {
        gzlzss_in in = {out, damage ? len : len / 2, 0};
        gzlzss_out o = {bytes, sizeof(bytes), 0};
        gzlzss_status status = GZLZSS_OK;
        gzlzss_stream *s;

        out[len - 5] ^= 1;
        CHECK_EQ(gzlzss_decompress_stream(&s, z, NULL), GZLZSS_OK);
        while (status == GZLZSS_OK) {
            o.used = 0;
            status = gzlzss_stream_run(s, &o, &in, GZLZSS_END);
        }
        CHECK_EQ(status, damage ? GZLZSS_ERROR_DATA : GZLZSS_ERROR_TRUNCATED);
        CHECK_EQ(gzlzss_stream_run(s, &o, &in, GZLZSS_END), status);
        gzlzss_stream_free(s);
        out[len - 5] ^= 1;
    }
    free(out);
    gzlzss_free(z);
}

/* If the caller takes no output, the memory of a stream does not grow with the input. */
static void test_stream_is_bounded(void)
{
    const size_t len = (size_t)64 << 20;
    uint8_t *random = unit_need(malloc(len));
    gzlzss_in in = {random, len, 0};
    gzlzss_out out = {NULL, 0, 0};
    gzlzss *z = object(1, 3);
    uint64_t state = 9;
    gzlzss_stream *s;

    for (size_t i = 0; i < len; i += 8) {
        const uint64_t r = unit_rand(&state);

        memcpy(random + i, &r, 8);
    }
    CHECK_EQ(gzlzss_compress_stream(&s, z, NULL), GZLZSS_OK);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(gzlzss_stream_run(s, &out, &in, GZLZSS_CONTINUE), GZLZSS_OK);
    CHECK(in.used > 0 && in.used < len / 2);
    gzlzss_stream_free(s);
    gzlzss_free(z);
    free(random);
}

/* Sets *mapped to the number of bytes that the process has mapped, and *resident to the number that
 * are in memory.  Returns false if the system does not tell these numbers. */
static bool memory_now(size_t *mapped, size_t *resident)
{
    FILE *f = fopen("/proc/self/statm", "r");
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const bool ok = f != NULL && fscanf(f, "%zu %zu", mapped, resident) == 2;

    if (f != NULL)
        fclose(f);
    *mapped *= page;
    *resident *= page;
    return ok;
}

/* Streams that got little input keep little memory, with any size of segments, and even if GPUs may
 * be used. */
static void test_idle_streams(void)
{
    enum { STREAMS = 300 };
    static gzlzss_stream *s[STREAMS];
    static const size_t segments[] = {0, SEGMENT, (size_t)32 << 20};

    for (int way = 0; way < 4; way++) {
        gzlzss_options o = GZLZSS_OPTIONS_INIT;
        size_t mapped = 0, resident = 0, mapped_then = 0, resident_then = 0;
        gzlzss *z;

        o.threads = 2;
        o.segment_size = segments[way % 3];
        o.rsyncable = way == 3;
        CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
        if (!memory_now(&mapped, &resident))
            break;
        for (int i = 0; i < STREAMS; i++) {
            gzlzss_in in = {"abc", 3, 0};
            gzlzss_out out = {NULL, 0, 0};

            CHECK_EQ(gzlzss_compress_stream(&s[i], z, NULL), GZLZSS_OK);
            CHECK_EQ(gzlzss_stream_run(s[i], &out, &in, GZLZSS_CONTINUE), GZLZSS_OK);
            CHECK_EQ(in.used, 3);
        }
        CHECK(memory_now(&mapped_then, &resident_then));
        /* The system may map more memory at a time than these streams need, and a sanitizer keeps
         * more memory. */
        CHECK(mapped_then < mapped + ((size_t)100 << 20) + (size_t)STREAMS * (32 << 10));
        CHECK(resident_then < resident + (size_t)STREAMS * (32 << 10) || UNIT_SANITIZED);
        for (int i = 0; i < STREAMS; i++)
            gzlzss_stream_free(s[i]);
        gzlzss_free(z);
    }
}

/* Takes all output that a stream has ready. */
static void take_all(gzlzss_stream *s)
{
    static uint8_t taken[1 << 16];
    gzlzss_out out = {taken, sizeof(taken), 0};

    do {
        out.used = 0;
        CHECK_EQ(gzlzss_stream_run(s, &out, NULL, GZLZSS_CONTINUE), GZLZSS_OK);
    } while (out.used == out.size);
}

/* When busy streams become idle, each keeps memory for at most a segment.  The rest goes to other
 * streams, or back to the system. */
static void test_streams_give_back(void)
{
    enum { STREAMS = 12 };
    /* The limit: a segment and a quarter for each stream, and 24 MiB for the object and its
     * threads. */
    const size_t segment = (size_t)2 << 20, len = 8 * segment;
    const size_t enough = STREAMS * (segment + segment / 4) + ((size_t)24 << 20);
    uint8_t *zeros = unit_need(calloc(1, len));
    size_t mapped = 0, resident = 0, resident_then = 0;
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss_stream *s[STREAMS];
    bool has_memory = false;
    gzlzss *z;

    o.level = 1;
    o.threads = 2;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    for (int i = 0; i < STREAMS; i++) {
        gzlzss_in in = {zeros, len, 0};
        gzlzss_out out = {NULL, 0, 0};

        CHECK_EQ(gzlzss_compress_stream(&s[i], z, NULL), GZLZSS_OK);
        while (in.used < in.size) {
            CHECK_EQ(gzlzss_stream_run(s[i], &out, &in, GZLZSS_CONTINUE), GZLZSS_OK);
            take_all(s[i]);
        }
        if (i == 0)
            has_memory = memory_now(&mapped, &resident);
    }
    /* Wait, since the threads may still compress. */
    for (int waits = 0; waits < 1000 && has_memory; waits++) {
        for (int i = 0; i < STREAMS; i++)
            take_all(s[i]);
        if (!memory_now(&mapped, &resident_then) || resident_then <= resident + enough)
            break;
        usleep(10000);
    }
    CHECK(resident_then <= resident + enough);
    for (int i = 0; i < STREAMS; i++)
        gzlzss_stream_free(s[i]);
    gzlzss_free(z);
    free(zeros);
}

/* With any memory limit, a stream gives the right output or reports that memory is short. */
static void test_short_memory(void)
{
    const size_t segment = (size_t)16 << 20, len = 2 * segment + 1, room = 1 << 20;
    uint8_t *zeros = unit_need(calloc(1, len)), *out = unit_need(malloc(room));
    int made = 0, short_of_memory = 0;
    size_t mapped, resident;
    struct rlimit before, limit;

    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    for (size_t more = 0; more < 16 * segment && memory_now(&mapped, &resident); more += segment) {
        gzlzss_options o = GZLZSS_OPTIONS_INIT;
        gzlzss_in in = {zeros, len, 0};
        gzlzss_out to = {out, room, 0};
        gzlzss_stream *s = NULL;
        gzlzss *z = NULL;
        gzlzss_status status;

        o.level = 1;
        o.threads = 2;
        o.segment_size = segment;
        limit = before;
        limit.rlim_cur = mapped + more;
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        status = gzlzss_new(&z, &o);
        if (status == GZLZSS_OK)
            status = gzlzss_compress_stream(&s, z, NULL);
        while (status == GZLZSS_OK)
            status = gzlzss_stream_run(s, &to, &in, GZLZSS_END);
        gzlzss_stream_free(s);
        gzlzss_free(z);
        CHECK(setrlimit(RLIMIT_AS, &before) == 0);
        made += status == GZLZSS_STREAM_END;
        short_of_memory += status == GZLZSS_ERROR_MEMORY;
        CHECK(status == GZLZSS_ERROR_MEMORY ||
              (status == GZLZSS_STREAM_END && is_member_of(out, to.used, zeros, len)));
    }
    CHECK(made > 0 && short_of_memory > 0);
    free(out);
    free(zeros);
}

/* --- Cancelling ----------------------------------------------------------------------------- */

static int stop_at(void *ctx, uint64_t in, uint64_t out)
{
    const uint64_t *at = ctx;

    (void)out;
    return in >= *at;
}

static void test_progress(void)
{
    gzlzss *z = object(6, 3);
    uint64_t at = 5 * SEGMENT;
    gzlzss_call call = GZLZSS_CALL_INIT;
    size_t len = gzlzss_bound(z, input_size), back_len = input_size;
    uint8_t *out = unit_need(malloc(len)), *back = unit_need(malloc(input_size));
    gzlzss_stream *s;
    gzlzss_in in = {input, input_size, 0};
    gzlzss_out o = {out, len, 0};

    call.progress = stop_at;
    call.ctx = &at;
    CHECK_EQ(gzlzss_compress(z, out, &len, input, input_size, &call), GZLZSS_ERROR_CANCELLED);
    CHECK_EQ(len, 0);
    CHECK_EQ(gzlzss_compress_stream(&s, z, &call), GZLZSS_OK);
    CHECK_EQ(gzlzss_stream_run(s, &o, &in, GZLZSS_END), GZLZSS_ERROR_CANCELLED);
    gzlzss_stream_free(s);
    at = UINT64_MAX;
    len = gzlzss_bound(z, input_size);
    CHECK_EQ(gzlzss_compress(z, out, &len, input, input_size, &call), GZLZSS_OK);
    CHECK_EQ(call.in_bytes, input_size);
    CHECK_EQ(call.out_bytes, len);
    CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, len, &call), GZLZSS_OK);
    CHECK_EQ(call.in_bytes, len);
    CHECK_EQ(call.out_bytes, input_size);
    at = 1;
    back_len = input_size;
    CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, len, &call), GZLZSS_ERROR_CANCELLED);
    free(back);
    free(out);
    gzlzss_free(z);
}

/* A call that nobody helps can be cancelled. */
static void test_cancel_large(void)
{
    const size_t n = 5 * input_size;
    gzlzss *z = object(6, 1);
    gzlzss_call call = GZLZSS_CALL_INIT;
    uint64_t at = n / 10;
    uint8_t *plain = unit_need(malloc(n)), *packed;
    size_t len, back_len = n;

    for (size_t i = 0; i < 5; i++)
        memcpy(plain + i * input_size, input, input_size);
    packed = by_zlib(plain, n, &len);
    call.progress = stop_at;
    call.ctx = &at;
    CHECK_EQ(gzlzss_decompress(z, plain, &back_len, packed, len, &call), GZLZSS_ERROR_CANCELLED);
    CHECK(back_len < n && call.in_bytes < len && call.out_bytes < n);
    free(packed);
    free(plain);
    gzlzss_free(z);
}

/* A thread that waits for a pipe. */
struct waiter {
    gzlzss *z;
    int in_fd, out_fd;
    bool expands;
    gzlzss_call call;
    gzlzss_status status;
    atomic_bool is_over;
    pthread_t thread;
};

static void *wait_main(void *argument)
{
    struct waiter *w = argument;

    w->status = w->expands ? gzlzss_decompress_fd(w->z, w->out_fd, w->in_fd, &w->call)
                           : gzlzss_compress_fd(w->z, w->out_fd, w->in_fd, &w->call);
    w->is_over = true;
    return NULL;
}

/* What a waiter waits for. */
enum waits_for { EMPTY_PIPE, FULL_PIPE, FULL_PIPE_FROM_FILE, WAITS };

/* Starts a waiter, whose input or output is an end of `ends`. */
static void start_waiter(struct waiter *w, enum waits_for what, const uint8_t *packed, size_t len,
                         int ends[2])
{
    FILE *file = tmpfile();

    if (pipe(ends) != 0 || file == NULL)
        abort();
    CHECK_EQ(fwrite(w->expands ? packed : input, 1, w->expands ? len : input_size, file),
             w->expands ? len : input_size);
    fflush(file);
    rewind(file);
    w->in_fd = dup(fileno(file));
    w->out_fd = open("/dev/null", O_WRONLY);
    fclose(file);
    if (what == EMPTY_PIPE)
        dup2(ends[0], w->in_fd);
    else
        dup2(ends[1], w->out_fd);
    pthread_create(&w->thread, NULL, wait_main, w);
}

static void end_waiter(struct waiter *w, const int ends[2])
{
    pthread_join(w->thread, NULL);
    CHECK_EQ(w->status, GZLZSS_ERROR_CANCELLED);
    close(ends[0]);
    close(ends[1]);
    close(w->in_fd);
    close(w->out_fd);
}

/* More calls wait for pipes than there are threads.  Other calls must still proceed, even calls of
 * the same thread.  The waiting calls can be cancelled, one by one or all together. */
static void test_waiting(void)
{
    for (int threads = 1; threads <= 3; threads += 2)
        for (int all = 0; all < 2; all++) {
            gzlzss *z = object(1, threads);
            struct waiter w[2 * WAITS];
            int ends[2 * WAITS][2];
            size_t len, other_len, back_len = input_size;
            uint8_t *out = compressed(z, input, input_size, &len), *other;
            uint8_t *back = unit_need(malloc(input_size));

            for (int i = 0; i < 2 * WAITS; i++) {
                w[i] = (struct waiter){.z = z, .expands = i % 2 == 1, .call = GZLZSS_CALL_INIT};
                start_waiter(&w[i], (enum waits_for)(i / 2), out, len, ends[i]);
            }
            for (int i = 0; i < 5; i++) {
                usleep(2000);
                other = compressed(z, input, input_size, &other_len);
                CHECK(other_len == len && memcmp(out, other, len) == 0);
                free(other);
            }
            CHECK_EQ(gzlzss_decompress(z, back, &back_len, out, len, NULL), GZLZSS_OK);
            for (int i = 0; i < 2 * WAITS; i++) {
                CHECK(!w[i].is_over);
                /* The call may not have begun yet, so cancel until it is over. */
                while (!w[i].is_over) {
                    gzlzss_cancel(z, all ? NULL : &w[i].call);
                    usleep(1000);
                }
                CHECK(all || i == 2 * WAITS - 1 || !w[i + 1].is_over);
                end_waiter(&w[i], ends[i]);
                if (all)
                    break;
            }
            for (int i = 1; all && i < 2 * WAITS; i++) {
                while (!w[i].is_over)
                    gzlzss_cancel(z, NULL);
                end_waiter(&w[i], ends[i]);
            }
            free(back);
            free(out);
            gzlzss_free(z);
        }
}

/* A stream that waits for room in its output does not hinder another stream.  One thread uses both
 * streams in turn. */
static void test_turns(void)
{
    for (int threads = 1; threads <= 4; threads += 3) {
        const size_t large = 4 * input_size, step = 500000;
        gzlzss *z = object(1, threads);
        uint8_t *in = unit_need(malloc(large)), *back = unit_need(malloc(large));
        size_t len, done = 0;
        uint8_t *out;
        gzlzss_in packed = {NULL, 0, 0};
        gzlzss_status status = GZLZSS_OK;
        gzlzss_stream *s;

        for (size_t i = 0; i < 4; i++)
            memcpy(in + i * input_size, input, input_size);
        out = compressed(z, in, large, &len);
        packed.bytes = out;
        packed.size = len;
        CHECK_EQ(gzlzss_decompress_stream(&s, z, NULL), GZLZSS_OK);
        while (status == GZLZSS_OK) {
            gzlzss_out o = {back + done, large - done < step ? large - done : step, 0};
            gzlzss_in plain = {input, 5 * SEGMENT, 0};
            size_t other_len;
            gzlzss_stream *other;

            status = gzlzss_stream_run(s, &o, &packed, GZLZSS_END);
            CHECK(status != GZLZSS_OK || o.used == o.size);
            done += o.used;
            free(compressed(z, input, 5 * SEGMENT, &other_len));
            CHECK_EQ(gzlzss_compress_stream(&other, z, NULL), GZLZSS_OK);
            o = (gzlzss_out){NULL, 0, 0};
            CHECK_EQ(gzlzss_stream_run(other, &o, &plain, GZLZSS_END), GZLZSS_OK);
            gzlzss_stream_free(other);
        }
        CHECK_EQ(status, GZLZSS_STREAM_END);
        CHECK(done == large && memcmp(back, in, large) == 0);
        gzlzss_stream_free(s);
        free(out);
        free(in);
        free(back);
        gzlzss_free(z);
    }
}

/* Runs a decompressing stream until it has given `until` bytes of output.  `len` is the length of
 * its whole output. */
static void run_until(gzlzss_stream *s, gzlzss_in *in, uint8_t *out, size_t *done, size_t until,
                      size_t len)
{
    gzlzss_status status = GZLZSS_OK;

    while (status == GZLZSS_OK && *done < until) {
        gzlzss_out o = {out + *done, until - *done, 0};

        status = gzlzss_stream_run(s, &o, in, GZLZSS_END);
        *done += o.used;
    }
    CHECK_EQ(*done, until);
    while (status == GZLZSS_OK && until == len) {
        gzlzss_out none = {NULL, 0, 0};

        status = gzlzss_stream_run(s, &none, in, GZLZSS_END);
    }
    CHECK_EQ(status, until < len ? GZLZSS_OK : GZLZSS_STREAM_END);
}

/* Waits up to 10 s until the process has at most `most` bytes in memory.  Returns true if that
 * happens, or if the system does not tell the number of bytes. */
static bool memory_falls_to(size_t most)
{
    size_t mapped, resident;

    for (int waits = 0; waits < 1000; waits++) {
        if (!memory_now(&mapped, &resident) || resident <= most)
            return true;
        usleep(10000);
    }
    printf("# %zu KiB in memory, not %zu\n", resident >> 10, most >> 10);
    return false;
}

/* A stream that stalls gives up data that was decoded for it, and then keeps at most 8 MiB, as
 * gzlzss.h promises.  Another stream can use the memory, and the stalled streams can go on
 * later. */
static void test_stalled(void)
{
    enum { STREAMS = 4, THREADS = 8 };
    const size_t len = 8 * input_size, most_each = (size_t)8 << 20;
    /* The object's threads use memory that belongs to no stream: their stacks, and code that runs
     * for the first time.  With musl, 0.8 MB was measured. */
#ifdef __GLIBC__
    const size_t threads = THREADS * ((size_t)64 << 10);
#else
    const size_t threads = THREADS * ((size_t)512 << 10);
#endif
    gzlzss *z = object(1, THREADS);
    uint8_t *plain = unit_need(malloc(len)), *packed, *out[STREAMS];
    gzlzss_call calls[STREAMS];
    gzlzss_stream *s[STREAMS];
    gzlzss_in in[STREAMS];
    size_t packed_len, done[STREAMS] = {0}, mapped = 0, resident = 0;

    for (size_t i = 0; i < 8; i++)
        memcpy(plain + i * input_size, input, input_size);
    packed = compressed(z, plain, len, &packed_len);
    for (int i = 0; i < STREAMS; i++) {
        out[i] = unit_need(malloc(len));
        /* Touch the caller's buffer now, so that it does not count as the stream's memory. */
        memset(out[i], 1, len);
        in[i] = (gzlzss_in){packed, packed_len, 0};
        calls[i] = (gzlzss_call)GZLZSS_CALL_INIT;
        CHECK_EQ(gzlzss_decompress_stream(&s[i], z, &calls[i]), GZLZSS_OK);
    }
    memory_now(&mapped, &resident);
    for (size_t part = 1; part <= 2; part++)
        for (int i = 0; i < STREAMS; i++) {
            const size_t stalled = part == 1 ? (size_t)i + 1 : STREAMS;

            run_until(s[i], &in[i], out[i], &done[i], part * len / 2, len);
            usleep(120000);
            CHECK(memory_falls_to(resident + threads + stalled * most_each) || UNIT_SANITIZED);
        }
    for (int i = 0; i < STREAMS; i++) {
        CHECK(memcmp(out[i], plain, len) == 0);
        /* Bytes that were decoded, given up for the memory, and decoded again count once. */
        CHECK_EQ(calls[i].in_bytes, packed_len);
        CHECK_EQ(calls[i].out_bytes, len);
        gzlzss_stream_free(s[i]);
        free(out[i]);
    }
    free(packed);
    free(plain);
    gzlzss_free(z);
}

/* Compresses in[0..len) with zlib, to one member without gzlzss's marks. */
static uint8_t *compressed_by_zlib(const uint8_t *in, size_t len, size_t *out_len)
{
    uint8_t *out = unit_need(malloc(len));
    z_stream s = {
        .next_in = (uint8_t *)in, .avail_in = (uInt)len, .next_out = out, .avail_out = (uInt)len};

    if (deflateInit2(&s, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&s, Z_FINISH) != Z_STREAM_END)
        abort();
    *out_len = s.total_out;
    deflateEnd(&s);
    return out;
}

/* While its caller takes no output or gives no input, a stream keeps little memory, even if it has
 * decompressed much before.  Later, the stream goes on. */
static void test_idle_decompression(void)
{
    enum { STREAMS = UNIT_SANITIZED ? 2 : 20 };
    const size_t len = 16 * input_size;
    uint8_t *plain = unit_need(malloc(len)), *out = unit_need(malloc(len)), *packed;
    gzlzss_stream *s[STREAMS];
    gzlzss_in in[STREAMS];
    size_t packed_len, done[STREAMS];
    gzlzss *z;

    for (size_t i = 0; i < 16; i++)
        memcpy(plain + i * input_size, input, input_size);
    packed = compressed_by_zlib(plain, len, &packed_len);
    for (int has_input = 0; has_input < 2; has_input++) {
        /* The most memory, in bytes: for each stream, and for all threads of the object
         * together. */
        const size_t each = (size_t)(has_input ? 7 : 4) << 20, all = (size_t)40 << 20;
        size_t mapped = 0, resident = 0, resident_then = 0;
        bool is_known;

        z = object(1, 8);
        is_known = memory_now(&mapped, &resident);
        for (int i = 0; i < STREAMS; i++) {
            const size_t until = has_input ? 5 * input_size : len;

            done[i] = 0;
            in[i] = (gzlzss_in){packed, has_input ? packed_len : packed_len / 2, 0};
            CHECK_EQ(gzlzss_decompress_stream(&s[i], z, NULL), GZLZSS_OK);
            while (done[i] < until) {
                const size_t room = until - done[i] < 100000 ? until - done[i] : 100000;
                gzlzss_out o = {out, room, 0};

                CHECK_EQ(gzlzss_stream_run(s[i], &o, &in[i], GZLZSS_FLUSH), GZLZSS_OK);
                CHECK(memcmp(out, plain + done[i], o.used) == 0);
                done[i] += o.used;
                if (o.used < o.size)
                    break;
            }
        }
        for (int waits = 0; waits < (UNIT_SANITIZED ? 20 : 1000) && is_known; waits++) {
            usleep(10000);
            if (!memory_now(&mapped, &resident_then) ||
                resident_then <= resident + all + STREAMS * each)
                break;
        }
        CHECK(resident_then <= resident + all + STREAMS * each || UNIT_SANITIZED);
        for (int i = 0; i < STREAMS; i++) {
            in[i].size = packed_len;
            if (i % 10 == 0) {
                memcpy(out, plain, done[i]);
                run_until(s[i], &in[i], out, &done[i], len, len);
                CHECK(memcmp(out, plain, len) == 0);
            }
            gzlzss_stream_free(s[i]);
        }
        gzlzss_free(z);
    }
    free(packed);
    free(out);
    free(plain);
}

/* A flush gives all bytes that the input so far decompresses to.  zlib has flushed the member after
 * each part. */
static void test_flush(void)
{
    enum { PART = 1000, PARTS = 800 };
    gzlzss *z = object(6, 3);
    uint8_t *out = unit_need(malloc(2 * (PART + 100)));
    uint8_t *back = unit_need(malloc(PART + 1));
    z_stream deflater = {0};
    gzlzss_in none = {NULL, 0, 0};
    gzlzss_out o = {back, PART + 1, 0};
    gzlzss_stream *s;

    if (deflateInit2(&deflater, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    CHECK_EQ(gzlzss_decompress_stream(&s, z, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_stream_run(s, &o, NULL, GZLZSS_FLUSH), GZLZSS_OK);
    for (size_t i = 0; i < PARTS; i++) {
        const size_t at = i * PART % (input_size - PART);
        gzlzss_in in = {out, 0, 0};

        deflater.next_in = input + at;
        deflater.avail_in = PART;
        deflater.next_out = out;
        deflater.avail_out = 2 * (PART + 100);
        CHECK_EQ(deflate(&deflater, i + 1 == PARTS ? Z_FINISH : Z_SYNC_FLUSH),
                 i + 1 == PARTS ? Z_STREAM_END : Z_OK);
        in.size = (size_t)(deflater.next_out - out);
        o.used = 0;
        CHECK_EQ(gzlzss_stream_run(s, &o, &in, GZLZSS_FLUSH), GZLZSS_OK);
        CHECK_EQ(in.used, in.size);
        CHECK(o.used == PART && memcmp(back, input + at, PART) == 0);
    }
    o.used = 0;
    CHECK_EQ(gzlzss_stream_run(s, &o, &none, GZLZSS_END), GZLZSS_STREAM_END);
    CHECK_EQ(o.used, 0);
    gzlzss_stream_free(s);
    deflateEnd(&deflater);
    free(back);
    free(out);
    gzlzss_free(z);
}

/* --- Descriptors ---------------------------------------------------------------------------- */

static atomic_int signals;

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals, 1);
}

/* A closed pipe and a bad descriptor give errors, not signals. */
static void test_descriptors(void)
{
    const struct sigaction count = {.sa_handler = count_signal};
    struct sigaction before, after;
    sigset_t mask, mask_after;
    FILE *file = tmpfile();
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss *z = object(1, 2);
    int ends[2];

    CHECK_EQ(fwrite(input, 1, input_size, file), input_size);
    fflush(file);
    rewind(file);
    sigaction(SIGPIPE, &count, &before);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (pipe(ends) != 0)
        abort();
    close(ends[0]);
    CHECK_EQ(gzlzss_compress_fd(z, ends[1], fileno(file), &call), GZLZSS_ERROR_WRITE);
    CHECK_EQ(call.error_number, EPIPE);
    close(ends[1]);
    CHECK_EQ(atomic_load(&signals), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    CHECK_EQ(sigismember(&mask_after, SIGPIPE), 0);
    sigaction(SIGPIPE, &before, &after);
    CHECK(after.sa_handler == count_signal);
    CHECK_EQ(gzlzss_compress_fd(z, 1, -1, &call), GZLZSS_ERROR_READ);
    CHECK_EQ(call.error_number, EBADF);
    CHECK_EQ(gzlzss_decompress_fd(z, 1, -1, &call), GZLZSS_ERROR_READ);
    CHECK_EQ(call.error_number, EBADF);
    rewind(file);
    CHECK_EQ(gzlzss_compress_fd(z, -1, fileno(file), &call), GZLZSS_ERROR_WRITE);
    CHECK_EQ(call.error_number, EBADF);
    fclose(file);
    gzlzss_free(z);
}

/* Bytes before and after the data of a call, in its files. */
#define AROUND ((off_t)1000)

/* Makes a file with AROUND other bytes before in[0..len).  The descriptor's offset is at the
 * data. */
static FILE *file_with(const void *in, size_t len)
{
    FILE *file = tmpfile();
    char other[AROUND];

    memset(other, 'x', sizeof(other));
    CHECK(file != NULL && fwrite(other, 1, sizeof(other), file) == sizeof(other) &&
          fwrite(in, 1, len, file) == len && fflush(file) == 0);
    CHECK_EQ(lseek(fileno(file), AROUND, SEEK_SET), AROUND);
    return file;
}

/* Whether the file has `len` bytes after the first AROUND ones, which are still the others. */
static bool has_after(FILE *file, const uint8_t *bytes, size_t len)
{
    uint8_t *back = unit_need(malloc(len + 1));
    bool has = pread(fileno(file), back, 1, AROUND - 1) == 1 && back[0] == 'x';

    has = has && pread(fileno(file), back, len + 1, AROUND) == (ssize_t)len &&
          memcmp(back, bytes, len) == 0;
    free(back);
    return has;
}

/* Calls from and to descriptors that are not at their files' starts read and write from there on,
 * and leave both just after the data (gzlzss.3). */
static void test_descriptors_in_the_middle(void)
{
    static const size_t lens[] = {0, 100, 3 * SEGMENT + 5, 40 * SEGMENT};

    for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            gzlzss *z = object(6, threads);
            size_t len;
            uint8_t *packed = compressed(z, input, lens[i], &len);
            FILE *in = file_with(input, lens[i]), *out = file_with("", 0), *back = file_with("", 0);
            gzlzss_call call = GZLZSS_CALL_INIT;

            CHECK_EQ(gzlzss_compress_fd(z, fileno(out), fileno(in), &call), GZLZSS_OK);
            CHECK_EQ(call.in_bytes, lens[i]);
            CHECK_EQ(lseek(fileno(in), 0, SEEK_CUR), AROUND + (off_t)lens[i]);
            CHECK_EQ(lseek(fileno(out), 0, SEEK_CUR), AROUND + (off_t)len);
            CHECK(has_after(out, packed, len));
            CHECK_EQ(lseek(fileno(out), AROUND, SEEK_SET), AROUND);
            CHECK_EQ(gzlzss_decompress_fd(z, fileno(back), fileno(out), &call), GZLZSS_OK);
            CHECK_EQ(call.out_bytes, lens[i]);
            CHECK_EQ(lseek(fileno(out), 0, SEEK_CUR), AROUND + (off_t)len);
            CHECK_EQ(lseek(fileno(back), 0, SEEK_CUR), AROUND + (off_t)lens[i]);
            CHECK(has_after(back, input, lens[i]));
            fclose(in);
            fclose(out);
            fclose(back);
            free(packed);
            gzlzss_free(z);
        }
}

enum { TASKS_MAX = 64 };

/* Sets `tasks` to the process's threads.  Returns how many there are; 0: unknown. */
static int list_tasks(long tasks[TASKS_MAX])
{
    DIR *directory = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL && count < TASKS_MAX)
        if (entry->d_name[0] != '.')
            tasks[count++] = atol(entry->d_name);
    if (directory != NULL)
        closedir(directory);
    return count;
}

static bool is_in(const long *tasks, int count, long task)
{
    for (int i = 0; i < count; i++)
        if (tasks[i] == task)
            return true;
    return false;
}

/* Returns the signals that a thread blocks now; bit n - 1 is signal n.  0: unknown. */
static uint64_t blocked_now(long task)
{
    unsigned long long mask = 0;
    char path[64], line[256];
    FILE *status;

    snprintf(path, sizeof(path), "/proc/self/task/%ld/status", task);
    status = fopen(path, "r");
    while (status != NULL && fgets(line, sizeof(line), status) != NULL)
        if (sscanf(line, "SigBlk: %llx", &mask) == 1)
            break;
    if (status != NULL)
        fclose(status);
    return mask;
}

/* Returns the signals that a thread blocks after its start.  (At its start, it blocks all.) */
static uint64_t blocked_by(long task)
{
    const uint64_t segv = UINT64_C(1) << (SIGSEGV - 1);
    uint64_t mask = blocked_now(task);

    for (int waits = 0; waits < 1000 && (mask & segv) != 0; waits++) {
        usleep(1000);
        mask = blocked_now(task);
    }
    return mask;
}

static _Atomic(long) signalled_task;

static void note_task(int number)
{
    (void)number;
    atomic_store(&signalled_task, syscall(SYS_gettid));
}

/* The object's threads block all signals except those of faults and of profilers. */
static void test_signals(void)
{
    static const int taken[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    static const int blocked[] = {SIGHUP,  SIGINT,  SIGTERM, SIGPIPE, SIGALRM,
                                  SIGUSR1, SIGCHLD, SIGXFSZ, SIGQUIT};
    const struct sigaction note = {.sa_handler = note_task};
    long before[TASKS_MAX], tasks[TASKS_MAX];
    const int count_before = list_tasks(before);
    gzlzss *z = object(1, 3);
    gzlzss_stream *s;
    size_t len;
    uint8_t *out = compressed(z, input, input_size, &len);
    int count, checked = 0;

    /* The tasks are the workers and the thread of a stream. */
    CHECK_EQ(gzlzss_decompress_stream(&s, z, NULL), GZLZSS_OK);
    count = list_tasks(tasks);
    for (int i = 0; i < count; i++) {
        const uint64_t mask = blocked_by(tasks[i]);

        if (is_in(before, count_before, tasks[i]) || mask == 0)
            continue;
        checked++;
        for (size_t k = 0; k < sizeof(blocked) / sizeof(*blocked); k++)
            CHECK((mask >> (blocked[k] - 1) & 1) == 1);
        for (size_t k = 0; k < sizeof(taken) / sizeof(*taken); k++) {
            struct sigaction old;

            CHECK((mask >> (taken[k] - 1) & 1) == 0);
            if ((mask >> (taken[k] - 1) & 1) == 1)
                continue;
            atomic_store(&signalled_task, 0);
            sigaction(taken[k], &note, &old);
            CHECK(syscall(SYS_tgkill, getpid(), tasks[i], taken[k]) == 0);
            for (int waits = 0; waits < 10000 && atomic_load(&signalled_task) == 0; waits++)
                usleep(1000);
            CHECK_EQ(atomic_load(&signalled_task), tasks[i]);
            sigaction(taken[k], &old, NULL);
        }
    }
    CHECK(count == 0 || checked >= 2);
    gzlzss_stream_free(s);
    free(out);
    gzlzss_free(z);
}

/* --- Many threads, and processes ------------------------------------------------------------- */

struct caller {
    gzlzss *z;
    const uint8_t *expected; /* the expected output for the whole input */
    size_t expected_len;
    int number;
    pthread_t thread;
};

/* Makes calls of all kinds.  Uses no CHECK, because CHECK counts failures without a lock. */
static void *call_main(void *argument)
{
    struct caller *c = argument;
    const size_t room = gzlzss_bound(c->z, input_size);
    uint8_t *out = unit_need(malloc(room)), *back = unit_need(malloc(input_size));
    bool ok = true;

    for (int i = 0; i < 6; i++) {
        const size_t n = (c->number + i) % 3 == 0 ? input_size : 4000 + (size_t)c->number;
        size_t len = room, back_len = input_size;

        ok &= gzlzss_compress(c->z, out, &len, input, n, NULL) == GZLZSS_OK;
        ok &= n < input_size || (len == c->expected_len && memcmp(out, c->expected, len) == 0);
        ok &= gzlzss_decompress(c->z, back, &back_len, out, len, NULL) == GZLZSS_OK;
        ok &= back_len == n && memcmp(back, input, n) == 0;
        if ((c->number + i) % 4 == 0) {
            gzlzss_in in = {input, input_size, 0};
            gzlzss_out o = {out, room, 0};
            gzlzss_stream *s;

            ok &= gzlzss_compress_stream(&s, c->z, NULL) == GZLZSS_OK;
            ok &= gzlzss_stream_run(s, &o, &in, GZLZSS_END) == GZLZSS_STREAM_END;
            ok &= o.used == c->expected_len && memcmp(out, c->expected, o.used) == 0;
            gzlzss_stream_free(s);
        }
    }
    free(back);
    free(out);
    return ok ? c : NULL;
}

static void test_threads(void)
{
    for (int threads = 1; threads <= 4; threads += 3) {
        gzlzss *z = object(6, threads);
        struct caller callers[8];
        size_t expected_len;
        uint8_t *expected = compressed(z, input, input_size, &expected_len);

        for (int i = 0; i < 8; i++) {
            callers[i] = (struct caller){z, expected, expected_len, i, 0};
            pthread_create(&callers[i].thread, NULL, call_main, &callers[i]);
        }
        for (int i = 0; i < 8; i++) {
            void *ok;

            pthread_join(callers[i].thread, &ok);
            CHECK(ok != NULL);
        }
        free(expected);
        gzlzss_free(z);
    }
}

/* After fork, the child makes an object of its own, and the parent's object works on.
 * (ThreadSanitizer does not let the child start threads.) */
static void test_fork(void)
{
    gzlzss *z = object(6, 3);
    size_t len, child_len = gzlzss_bound(z, input_size);
    uint8_t *out = compressed(z, input, input_size, &len);
    pid_t child;
    int status;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        bool ok = gzlzss_compress(z, out, &child_len, input, 10, NULL) == GZLZSS_ERROR_FORKED;

        gzlzss_free(z);
#ifndef __SANITIZE_THREAD__
        gzlzss *own = object(6, 3);

        child_len = len;
        ok &= gzlzss_compress(own, out, &child_len, input, input_size, NULL) == GZLZSS_OK;
        ok &= child_len == len;
        gzlzss_free(own);
#endif
        _exit(ok ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    child_len = len;
    CHECK_EQ(gzlzss_compress(z, out, &child_len, input, input_size, NULL), GZLZSS_OK);
    free(out);
    gzlzss_free(z);
}

/* Allocates memory for gzlzss_cuda_decompress_new: returns ctx, which is the memory. */
static void *give_room(void *ctx, size_t size)
{
    (void)size;
    return ctx;
}

/* In the child, makes all possible calls with the parent's objects.  No call may wait, and each
 * call that returns a status must report that the object belongs to another process. */
static bool use_in_child(gzlzss *z, gzlzss_stream **streams, size_t count)
{
    uint8_t bytes[100];
    uint32_t crc;
    bool ok = gzlzss_segment_size(z) == SEGMENT && gzlzss_bound(z, 100) > 100;
    size_t len = sizeof(bytes);
    gzlzss_stream *s;
    gzlzss_item item = {input, 10, bytes, sizeof(bytes), GZLZSS_OK};
    uint64_t size;
    char why[100];
    void *out;

    for (size_t i = 0; i < count; i++) {
        gzlzss_in in = {input, 100, 0};
        gzlzss_out to = {bytes, sizeof(bytes), 0};

        ok &= gzlzss_stream_run(streams[i], &to, &in, GZLZSS_CONTINUE) == GZLZSS_ERROR_FORKED;
        ok &= gzlzss_stream_run(streams[i], &to, NULL, GZLZSS_END) == GZLZSS_ERROR_FORKED;
        ok &= in.used == 0 && to.used == 0;
        gzlzss_stream_free(streams[i]);
    }
    gzlzss_cancel(z, NULL);
    ok &= gzlzss_header(z, bytes, &len, NULL) == GZLZSS_OK;
    len = sizeof(bytes);
    ok &= gzlzss_compress(z, bytes, &len, input, 10, NULL) == GZLZSS_ERROR_FORKED;
    len = sizeof(bytes);
    ok &= gzlzss_decompress(z, bytes, &len, input, 10, NULL) == GZLZSS_ERROR_FORKED;
    len = sizeof(bytes);
    ok &= gzlzss_compress_range(z, bytes, &len, input, 10, 1, &crc, NULL) == GZLZSS_ERROR_FORKED;
    ok &= gzlzss_compress_fd(z, 1, 0, NULL) == GZLZSS_ERROR_FORKED;
    ok &= gzlzss_decompress_fd(z, 1, 0, NULL) == GZLZSS_ERROR_FORKED;
    len = sizeof(bytes);
    ok &= gzlzss_cuda_compress(z, bytes, &len, input, 10, NULL, NULL) == GZLZSS_ERROR_FORKED;
    len = sizeof(bytes);
    ok &= gzlzss_cuda_decompress(z, bytes, &len, input, 10, NULL, NULL) == GZLZSS_ERROR_FORKED;
    ok &= gzlzss_cuda_decompressed_size(z, &size, input, 10, NULL, NULL) == GZLZSS_ERROR_FORKED;
    ok &= gzlzss_cuda_decompress_new(z, &out, &len, give_room, bytes, input, 10, NULL, NULL) ==
          GZLZSS_ERROR_FORKED;
    ok &= gzlzss_cuda_decompress_batch(z, &item, 1, GZLZSS_GZIP, NULL, NULL) == GZLZSS_ERROR_FORKED;
    ok &= gzlzss_cuda_compress_fd(z, 1, input, 10, NULL, NULL) == GZLZSS_ERROR_FORKED;
    ok &= gzlzss_compress_stream(&s, z, NULL) == GZLZSS_ERROR_FORKED && s == NULL;
    ok &= gzlzss_decompress_stream(&s, z, NULL) == GZLZSS_ERROR_FORKED && s == NULL;
    gzlzss_no_gpu(z, why, sizeof(why));
    gzlzss_free(z);
    return ok;
}

/* Forks a child that runs use_in_child, and checks that it succeeds.  If a call waits, SIGALRM ends
 * the child. */
static void check_child(gzlzss *z, gzlzss_stream **streams, size_t count)
{
    pid_t child;
    int status;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(30);
        _exit(use_in_child(z, streams, count) ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A thread that makes calls of all kinds, one after another. */
struct busy {
    gzlzss *z;
    const uint8_t *packed;
    size_t packed_len;
    atomic_bool ends;
    pthread_t thread;
};

static void *busy_main(void *argument)
{
    struct busy *b = argument;
    uint8_t *out = unit_need(malloc(input_size)), *back = unit_need(malloc(input_size));
    bool ok = true;

    while (!b->ends) {
        gzlzss_in in = {b->packed, b->packed_len, 0};
        gzlzss_out o = {back, input_size, 0};
        size_t len = input_size, back_len = input_size;
        gzlzss_status status = GZLZSS_OK;
        gzlzss_stream *s;

        ok &= gzlzss_compress(b->z, out, &len, input, input_size, NULL) == GZLZSS_OK;
        ok &= gzlzss_decompress(b->z, back, &back_len, out, len, NULL) == GZLZSS_OK;
        ok &= gzlzss_decompress_stream(&s, b->z, NULL) == GZLZSS_OK;
        while (status == GZLZSS_OK)
            status = gzlzss_stream_run(s, &o, &in, GZLZSS_END);
        ok &= status == GZLZSS_STREAM_END;
        gzlzss_stream_free(s);
    }
    free(back);
    free(out);
    return ok ? b : NULL;
}

/* A program forks at any moment: with an idle object; with streams whose threads wait for input or
 * for room; while other threads make calls. */
static void test_fork_anywhere(void)
{
    enum { STREAMS = 4, BUSY = 2, ROUNDS = 40 };
    gzlzss *z = object(6, 3);
    struct busy busy[BUSY];
    gzlzss_stream *streams[STREAMS];
    uint8_t bytes[1000];
    size_t len;
    uint8_t *packed = compressed(z, input, input_size, &len);

    check_child(z, NULL, 0);
    for (int round = 0; round < (UNIT_SANITIZED ? ROUNDS / 4 : ROUNDS); round++) {
        for (int i = 0; i < STREAMS; i++) {
            gzlzss_in in = {i < 2 ? input : packed, i < 2 ? (size_t)i * 3 * SEGMENT : len, 0};
            gzlzss_out out = {bytes, sizeof(bytes), 0};

            CHECK_EQ(i < 2 ? gzlzss_compress_stream(&streams[i], z, NULL)
                           : gzlzss_decompress_stream(&streams[i], z, NULL),
                     GZLZSS_OK);
            /* The first decompressing stream waits for input, the second for room. */
            if (i == 2)
                in.size = 100;
            CHECK_EQ(
                gzlzss_stream_run(streams[i], &out, &in, i == 2 ? GZLZSS_FLUSH : GZLZSS_CONTINUE),
                GZLZSS_OK);
        }
        for (int i = 0; i < BUSY; i++) {
            busy[i] = (struct busy){.z = z, .packed = packed, .packed_len = len};
            if (round % 2 == 1)
                pthread_create(&busy[i].thread, NULL, busy_main, &busy[i]);
        }
        if (round % 4 == 3)
            usleep(1000);
        check_child(z, streams, STREAMS);
        for (int i = 0; i < BUSY && round % 2 == 1; i++) {
            void *ok;

            busy[i].ends = true;
            pthread_join(busy[i].thread, &ok);
            CHECK(ok != NULL);
        }
        for (int i = 0; i < STREAMS; i++)
            gzlzss_stream_free(streams[i]);
    }
    free(packed);
    gzlzss_free(z);
}

/* --- Memory of GPUs ------------------------------------------------------------------------- */

/* A pipe, and a thread that reads all of it. */
struct drain {
    pthread_t thread;
    int ends[2];
    uint8_t *bytes;
    size_t room, len;
};

static void *drain(void *argument)
{
    struct drain *d = argument;
    ssize_t n;

    while ((n = read(d->ends[0], d->bytes + d->len, d->room - d->len)) > 0)
        d->len += (size_t)n;
    return NULL;
}

static void start_draining(struct drain *d, size_t room)
{
    *d = (struct drain){.bytes = unit_need(malloc(room)), .room = room};
    if (pipe(d->ends) != 0 || pthread_create(&d->thread, NULL, drain, d) != 0)
        abort();
}

/* Closes the pipe, and checks that its bytes are expected[0..len). */
static void end_draining(struct drain *d, const uint8_t *bytes, size_t len)
{
    close(d->ends[1]);
    pthread_join(d->thread, NULL);
    close(d->ends[0]);
    CHECK_EQ(d->len, len);
    CHECK(d->len == len && memcmp(d->bytes, bytes, len) == 0);
    free(d->bytes);
}

/* Without a GPU: wrong arguments give an error in any build.  Without CUDA, calls give an error;
 * with CUDA, all memory counts as the host's.  tests/gpu/test_device_pointers.cu tests a GPU's
 * memory. */
static void test_cuda(void)
{
    static const size_t sizes[] = {0, 1, SEGMENT, 4 * SEGMENT + 1, 40 * SEGMENT + 1234};
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss *z = object(6, 2);
    uint8_t out[100];
    size_t len = sizeof(out);

    CHECK_EQ(gzlzss_cuda_compress(NULL, out, &len, input, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_cuda_compress(z, out, NULL, input, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    len = sizeof(out);
    CHECK_EQ(gzlzss_cuda_compress(z, NULL, &len, input, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(len, 0);
    len = sizeof(out);
    CHECK_EQ(gzlzss_cuda_compress(z, out, &len, NULL, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_cuda_decompress(NULL, out, &len, input, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_cuda_decompress(z, out, NULL, input, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    len = sizeof(out);
    CHECK_EQ(gzlzss_cuda_decompress(z, NULL, &len, input, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(len, 0);
    CHECK_EQ(gzlzss_cuda_decompress(z, out, &len, NULL, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_cuda_compress_fd(NULL, 1, input, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_cuda_compress_fd(z, 1, NULL, 1, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    call.size = 1;
    CHECK_EQ(gzlzss_cuda_compress(z, out, &len, input, 1, NULL, &call), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_cuda_compress_fd(z, 1, input, 1, NULL, &call), GZLZSS_ERROR_ARGUMENT);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const size_t size = sizes[i];
        size_t expected_len, room;
        uint8_t *expected = compressed(z, input, size, &expected_len);
        uint8_t *made = unit_need(malloc(expected_len));
        FILE *file = unit_need(tmpfile());
        gzlzss_status status, file_status, pipe_status;
        gzlzss_item item;
        uint64_t counted;
        void *given;
        struct drain d;

        len = expected_len;
        status = gzlzss_cuda_compress(z, made, &len, input, size, NULL, NULL);
        file_status = gzlzss_cuda_compress_fd(z, fileno(file), input, size, NULL, NULL);
        start_draining(&d, expected_len + 1);
        pipe_status = gzlzss_cuda_compress_fd(z, d.ends[1], input, size, NULL, NULL);
        CHECK_EQ(status, file_status);
        CHECK_EQ(status, pipe_status);
#ifdef HAVE_CUDA
        CHECK_EQ(status, GZLZSS_OK);
        CHECK_EQ(len, expected_len);
        CHECK(memcmp(made, expected, len) == 0);
        end_draining(&d, expected, expected_len);
        CHECK_EQ(lseek(fileno(file), 0, SEEK_END), expected_len);
        CHECK_EQ(pread(fileno(file), made, len, 0), len);
        CHECK(memcmp(made, expected, len) == 0);
        room = size;
        made = unit_need(realloc(made, size + 1));
        CHECK_EQ(gzlzss_cuda_decompress(z, made, &room, expected, expected_len, NULL, NULL),
                 GZLZSS_OK);
        CHECK_EQ(room, size);
        CHECK(memcmp(made, input, size) == 0);
        memset(made, 0, size);
        CHECK_EQ(gzlzss_cuda_decompressed_size(z, &counted, expected, expected_len, NULL, NULL),
                 GZLZSS_OK);
        CHECK_EQ(counted, size);
        CHECK_EQ(gzlzss_cuda_decompress_new(z, &given, &room, give_room, made, expected,
                                            expected_len, NULL, NULL),
                 GZLZSS_OK);
        CHECK(given == made && room == size && memcmp(made, input, size) == 0);
        memset(made, 0, size);
        item = (gzlzss_item){expected, expected_len, made, size, GZLZSS_ERROR_DATA};
        CHECK_EQ(gzlzss_cuda_decompress_batch(z, &item, 1, GZLZSS_GZIP, NULL, NULL), GZLZSS_OK);
        CHECK(item.status == GZLZSS_OK && item.out_len == size && memcmp(made, input, size) == 0);
        made = unit_need(realloc(made, expected_len));
        room = expected_len - 1;
        CHECK_EQ(gzlzss_cuda_compress(z, made, &room, input, size, NULL, NULL), GZLZSS_ERROR_ROOM);
        CHECK_EQ(room, 0);
#else
        char why[GPU_ERROR_SIZE];

        room = expected_len;
        CHECK_EQ(gzlzss_cuda_decompress(z, made, &room, expected, expected_len, NULL, NULL),
                 GZLZSS_ERROR_GPU);
        CHECK_EQ(room, 0);
        CHECK_EQ(gzlzss_cuda_decompressed_size(z, &counted, expected, expected_len, NULL, NULL),
                 GZLZSS_ERROR_GPU);
        CHECK_EQ(gzlzss_cuda_decompress_new(z, &given, &room, give_room, made, expected,
                                            expected_len, NULL, NULL),
                 GZLZSS_ERROR_GPU);
        CHECK(given == NULL && counted == 0);
        item = (gzlzss_item){expected, expected_len, made, size, GZLZSS_OK};
        CHECK_EQ(gzlzss_cuda_decompress_batch(z, &item, 1, GZLZSS_GZIP, NULL, NULL),
                 GZLZSS_ERROR_GPU);
        CHECK(item.status == GZLZSS_ERROR_GPU && item.out_len == 0);
        CHECK_EQ(status, GZLZSS_ERROR_GPU);
        gzlzss_no_gpu(z, why, sizeof(why));
        CHECK(strncmp(why, "no GPU engine is installed (", 28) == 0);
        CHECK_EQ(len, 0);
        CHECK_EQ(lseek(fileno(file), 0, SEEK_END), 0);
        end_draining(&d, expected, 0);
#endif
        fclose(file);
        free(made);
        free(expected);
    }
#ifdef HAVE_CUDA
    /* Without a driver, no stream can exist. */
    if (access("/dev/nvidiactl", F_OK) != 0 && access("/dev/dxg", F_OK) != 0) {
        len = sizeof(out);
        CHECK_EQ(gzlzss_cuda_compress(z, out, &len, input, 1, (struct CUstream_st *)out, NULL),
                 GZLZSS_ERROR_READ);
    }
    /* A pipe without a reader. */
    {
        int ends[2];
        gzlzss_call told = GZLZSS_CALL_INIT;

        CHECK(pipe(ends) == 0);
        close(ends[0]);
        CHECK_EQ(gzlzss_cuda_compress_fd(z, ends[1], input, input_size, NULL, &told),
                 GZLZSS_ERROR_WRITE);
        CHECK_EQ(told.error_number, EPIPE);
        close(ends[1]);
    }
#endif
    gzlzss_free(z);
}

/* The functions that initialize structs, for callers without macros: with the size of this header's
 * structs, of an older header's, and of a later one's. */
static void test_init(void)
{
    const gzlzss_options options = GZLZSS_OPTIONS_INIT;
    const gzlzss_call call = GZLZSS_CALL_INIT;
    struct {
        gzlzss_options known;
        long more[4];
    } o;
    struct {
        gzlzss_call known;
        long more[4];
    } c;
    const size_t old = offsetof(gzlzss_options, format), old_call = offsetof(gzlzss_call, level);
    gzlzss *z;

    memset(&o, 0xff, sizeof(o));
    gzlzss_options_init(&o.known, sizeof(o));
    CHECK_EQ(o.known.size, sizeof(o));
    CHECK(o.known.level == options.level && o.known.backend == options.backend &&
          o.known.format == options.format);
    CHECK(o.known.threads == 0 && o.known.segment_size == 0 && o.known.rsyncable == 0 &&
          o.known.devices == NULL && o.known.device_count == 0 && o.known.matcher == NULL &&
          o.known.verify == 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(o.more[i], 0);
    CHECK_EQ(gzlzss_new(&z, &o.known), GZLZSS_OK);
    memset(&c, 0xff, sizeof(c));
    gzlzss_call_init(&c.known, sizeof(c));
    CHECK_EQ(c.known.size, sizeof(c));
    CHECK(c.known.name == NULL && c.known.progress == NULL && c.known.level == call.level);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(c.more[i], 0);
    memset(&c, 0xff, sizeof(c));
    gzlzss_call_init(&c.known, old_call);
    CHECK_EQ(c.known.size, old_call);
    CHECK_EQ(c.known.out_bytes, 0);
    CHECK_EQ(c.known.level, -1);
    gzlzss_free(z);

    memset(&o, 0xff, sizeof(o));
    gzlzss_options_init(&o.known, old);
    CHECK_EQ(o.known.size, old);
    CHECK_EQ(o.known.level, options.level);
    CHECK_EQ(o.known.verify, -1);
    CHECK_EQ(gzlzss_new(&z, &o.known), GZLZSS_OK);
    gzlzss_free(z);
    o.known.level = 77;
    gzlzss_options_init(&o.known, 3);
    CHECK_EQ(o.known.level, 77);
    gzlzss_options_init(NULL, sizeof(o));
    gzlzss_call_init(NULL, sizeof(c));
}

int main(void)
{
    uint64_t state = 17;

    input = unit_need(malloc(input_size));
    fill_tokens(input, input_size, 60, 9, &state);
    RUN(test_verify);
    RUN(test_sizes);
    RUN(test_version);
    RUN(test_init);
    RUN(test_bound);
    RUN(test_room);
    RUN(test_matcher);
    RUN(test_arguments);
    RUN(test_null);
    RUN(test_header);
    RUN(test_damage);
    RUN(test_messages);
    RUN(test_behind_members);
    RUN(test_zeros_between_members);
    RUN(test_place_of_a_read);
    RUN(test_large_calls);
    RUN(test_cancel_large);
    RUN(test_streams);
    RUN(test_stream_ends_early);
    RUN(test_stream_is_bounded);
    RUN(test_idle_streams);
    /* A sanitizer keeps freed memory, and maps more memory. */
    if (!UNIT_SANITIZED) {
        RUN(test_streams_give_back);
        RUN(test_short_memory);
    }
    RUN(test_progress);
    RUN(test_waiting);
    RUN(test_turns);
    RUN(test_stalled);
    RUN(test_idle_decompression);
    RUN(test_call_levels);
    RUN(test_flush);
    RUN(test_descriptors);
    RUN(test_descriptors_in_the_middle);
    RUN(test_signals);
    RUN(test_threads);
    RUN(test_fork);
    RUN(test_fork_anywhere);
    RUN(test_cuda);
    free(input);
    return unit_done();
}
