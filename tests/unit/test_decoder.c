/*
 * test_decoder.c - decoders (include/gzlzss.h) do what zlib's inflate() does
 */
#include "config.h"

#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "include/gzlzss.h"
#include "tests/unit/unit.h"

#define ROOM 400000

static uint8_t text[300000], packed[ROOM], out[ROOM], want[ROOM];

/* Fills `text`: half of it is words, half is random. */
static void make_text(void)
{
    uint64_t state = 7;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(i % 20000 < 10000 && i > 30000 ? text[i - 1 - unit_below(&state, 9000)]
                                                           : 'a' + unit_below(&state, 20));
}

/* Compresses text[0..len) to `packed`, and returns the bytes.  A gzip header has all fields. */
static size_t pack(size_t len, int window_bits, int level, size_t dictionary)
{
    z_stream z = {.next_in = text, .avail_in = (uInt)len, .next_out = packed, .avail_out = ROOM};
    gz_header header = {.text = 1,
                        .extra = (Bytef *)"extra",
                        .extra_len = 5,
                        .name = (Bytef *)"name",
                        .comment = (Bytef *)"a comment",
                        .hcrc = 1};

    if (deflateInit2(&z, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        (window_bits > 15 && deflateSetHeader(&z, &header) != Z_OK) ||
        (dictionary > 0 &&
         deflateSetDictionary(&z, text + sizeof(text) - dictionary, (uInt)dictionary) != Z_OK) ||
        deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&z);
    return z.total_out;
}

static gzlzss_decoder *open_decoder(int window_bits)
{
    gzlzss_decoder *d = NULL;

    CHECK(gzlzss_decoder_new(&d, window_bits) == GZLZSS_OK);
    return unit_need(d);
}

/* A run of a decoder from its start. */
struct result {
    gzlzss_status status;
    size_t used, made;
};

/* Decodes packed[0..len) in pieces of at most in_most and out_most bytes to `out`. */
static struct result decode(gzlzss_decoder *d, size_t len, size_t in_most, size_t out_most)
{
    gzlzss_status status = GZLZSS_OK;
    size_t used = 0, made = 0;
    bool is_full = false;

    while (status == GZLZSS_OK && (used < len || is_full)) {
        const size_t n = len - used < in_most ? len - used : in_most;
        const size_t room = ROOM - made < out_most ? ROOM - made : out_most;
        gzlzss_in from = {packed + used, n, 0};
        gzlzss_out to = {out + made, room, 0};

        status = gzlzss_decoder_run(d, &to, &from);
        CHECK(from.used <= n && to.used <= room);
        CHECK(status != GZLZSS_OK || from.used == n || to.used == room);
        used += from.used;
        made += to.used;
        is_full = to.used == room;
    }
    return (struct result){status, used, made};
}

/* Decodes packed[0..len) by zlib in one go, to `want`. */
static struct result by_zlib(size_t len, int window_bits)
{
    z_stream z = {.next_in = packed, .avail_in = (uInt)len, .next_out = want, .avail_out = ROOM};
    int status;

    if (inflateInit2(&z, window_bits) != Z_OK)
        abort();
    status = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return (struct result){status == Z_STREAM_END   ? GZLZSS_STREAM_END
                           : status == Z_DATA_ERROR ? GZLZSS_ERROR_DATA
                           : status == Z_NEED_DICT  ? GZLZSS_NEEDS_DICTIONARY
                                                    : GZLZSS_OK,
                           z.total_in, z.total_out};
}

/* Compares a decoder's result with zlib's. */
static bool is_same(struct result ours, struct result theirs)
{
    const bool is_bad = ours.status == GZLZSS_ERROR_DATA || ours.status == GZLZSS_ERROR_FORMAT;

    /* zlib may notice an error in the data some bytes later, or not any more. */
    if (is_bad ? theirs.status == GZLZSS_STREAM_END : ours.status != theirs.status)
        return false;
    if (ours.status == GZLZSS_STREAM_END && ours.used != theirs.used)
        return false;
    return ours.made == theirs.made && memcmp(out, want, ours.made) == 0;
}

static const int kinds[] = {31, 15, -15, 47, 24, 9, -9, 32, 0, 16};

/* The window bits with which zlib makes data for kinds[i]. */
static int maker(int kind)
{
    return kind == 47 || kind == 16 || kind == 24 ? 31 : kind == 32 || kind == 0 ? 15 : kind;
}

/* Tests every kind of stream, in pieces of many sizes. */
static void streams(void)
{
    static const size_t sizes[] = {1, 2, 3, 17, 100, 4000, 65536, ROOM};
    static const size_t lens[] = {0, 1, 300, 70000, sizeof(text)};

    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
        for (size_t l = 0; l < sizeof(lens) / sizeof(*lens); l++) {
            const size_t len = pack(lens[l], maker(kinds[k]), (int)(1 + l), 0);

            memset(packed + len, 0x1f, 20);
            for (size_t i = 0; i < 64; i++) {
                gzlzss_decoder *d = open_decoder(kinds[k]);
                const struct result r = decode(d, len + 20, sizes[i % 8], sizes[i / 8]);

                CHECK(r.status == GZLZSS_STREAM_END && r.used == len && r.made == lens[l]);
                CHECK(memcmp(out, text, lens[l]) == 0);
                gzlzss_decoder_free(d);
            }
        }
}

/* Cuts a stream at every two places, with each limit on the output. */
static void splits(void)
{
    for (size_t k = 0; k < 3; k++) {
        const size_t len = pack(100, kinds[k], 6, 0);

        for (size_t a = 0; a <= len; a++)
            for (size_t b = a; b <= len; b++) {
                gzlzss_decoder *d = open_decoder(kinds[k]);
                const size_t ends[] = {0, a, b, len}, most = 1 + (a + b) % 101;
                gzlzss_status status = GZLZSS_OK;
                size_t made = 0;

                for (size_t i = 0; i < 3; i++) {
                    gzlzss_in from = {packed + ends[i], ends[i + 1] - ends[i], 0};
                    gzlzss_out to;

                    do {
                        to = (gzlzss_out){out + made, most, 0};
                        status = gzlzss_decoder_run(d, &to, &from);
                        made += to.used;
                    } while (to.used == most);
                    CHECK(from.used == from.size);
                }
                CHECK(status == GZLZSS_STREAM_END && made == 100 && memcmp(out, text, 100) == 0);
                gzlzss_decoder_free(d);
            }
    }
}

/* Changes each byte of a stream, and cuts the stream at each byte. */
static void damage(void)
{
    uint64_t state = 4;
    unsigned errors = 0;

    for (size_t k = 0; k < 8; k++) {
        const size_t len = pack(700, maker(kinds[k]), 6, 0);

        for (size_t at = 0; at < len; at++) {
            const uint8_t byte = packed[at];

            for (unsigned i = 0; i < 4; i++) {
                gzlzss_decoder *d = open_decoder(kinds[k]);
                struct result ours, theirs;

                packed[at] = i == 0 ? byte : (uint8_t)unit_rand(&state);
                theirs = by_zlib(i == 0 ? at : len, kinds[k]);
                ours = decode(d, i == 0 ? at : len, 1 + unit_below(&state, 300), ROOM);
                if (!CHECK(is_same(ours, theirs)))
                    printf("# kind %d, byte %zu of %zu, %d: %d %d, made %zu %zu\n", kinds[k], at,
                           len, i, ours.status, theirs.status, ours.made, theirs.made);
                CHECK((ours.status >= 0) == (gzlzss_decoder_error(d)[0] == '\0'));
                errors += ours.status < 0;
                gzlzss_decoder_free(d);
            }
            packed[at] = byte;
        }
    }
    CHECK(errors > 500);
}

/* The reasons for errors, in zlib's words. */
static void errors(void)
{
    static const struct {
        int kind, at, add;
        const char *error;
        gzlzss_status status;
    } cases[] = {
        {31, 0, 1, "incorrect header check", GZLZSS_ERROR_FORMAT},
        {31, 2, 1, "unknown compression method", GZLZSS_ERROR_FORMAT},
        {31, 3, 32, "unknown header flags set", GZLZSS_ERROR_FORMAT},
        {31, 9, 1, "header crc mismatch", GZLZSS_ERROR_DATA},
        {31, -8, 1, "incorrect data check", GZLZSS_ERROR_DATA},
        {31, -1, 1, "incorrect length check", GZLZSS_ERROR_DATA},
        {15, 0, 16, "invalid window size", GZLZSS_ERROR_FORMAT},
        {15, 0, 3, "unknown compression method", GZLZSS_ERROR_FORMAT},
        {15, 1, 1, "incorrect header check", GZLZSS_ERROR_FORMAT},
        {15, -1, 1, "incorrect data check", GZLZSS_ERROR_DATA},
        {-15, 0, 6, "invalid compressed data", GZLZSS_ERROR_DATA},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const size_t len = pack(1000, cases[i].kind, 6, 0);
        const size_t at = cases[i].at < 0 ? len - (size_t)-cases[i].at : (size_t)cases[i].at;
        gzlzss_decoder *d = open_decoder(cases[i].kind);

        packed[at] = (uint8_t)(cases[i].kind < 0 ? 7 : packed[at] + cases[i].add);
        if (cases[i].kind == 15 && at == 0) /* make the header's check right again */
            packed[1] = (uint8_t)(31 - packed[0] * 256 % 31);
        CHECK(decode(d, len, 13, 100).status == cases[i].status);
        if (!CHECK(strcmp(gzlzss_decoder_error(d), cases[i].error) == 0))
            printf("# %s, not %s\n", gzlzss_decoder_error(d), cases[i].error);
        CHECK(decode(d, len, 13, 100).status == cases[i].status);
        gzlzss_decoder_free(d);
    }
}

/* A wrong CRC-32 is an error before the length comes. */
static void crc_before_length(void)
{
    const size_t len = pack(1000, 31, 6, 0);
    gzlzss_decoder *d = open_decoder(31);
    struct result r;

    packed[len - 8] ^= 1;
    r = decode(d, len - 4, 100, ROOM);
    CHECK(r.status == GZLZSS_ERROR_DATA && r.used == len - 4);
    CHECK(by_zlib(len - 4, 31).status == GZLZSS_ERROR_DATA);
    gzlzss_decoder_free(d);
}

/* A header with a window that is larger than the decoder allows. */
static void windows(void)
{
    const size_t len = pack(1000, 15, 6, 0);
    gzlzss_decoder *d = open_decoder(14);

    CHECK(decode(d, len, 100, 100).status == GZLZSS_ERROR_FORMAT);
    CHECK(strcmp(gzlzss_decoder_error(d), "invalid window size") == 0);
    gzlzss_decoder_free(d);
    for (int bits = -20; bits < 60; bits++) {
        z_stream z = {.next_in = packed};
        const bool is = inflateInit2(&z, bits) == Z_OK;

        CHECK(gzlzss_decoder_new(&d, bits) == (is ? GZLZSS_OK : GZLZSS_ERROR_ARGUMENT));
        CHECK(is == (d != NULL));
        gzlzss_decoder_free(d);
        if (is)
            inflateEnd(&z);
    }
    /* UBSan notices if the range is tested too late. */
    CHECK(gzlzss_decoder_new(&d, INT_MIN) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_new(&d, INT_MAX) == GZLZSS_ERROR_ARGUMENT);
}

static void dictionaries(void)
{
    const uint8_t *end = text + sizeof(text);

    for (size_t size = 1; size <= 40000; size *= 9) {
        size_t len = pack(20000, 15, 9, size);
        gzlzss_decoder *d = open_decoder(size % 2 == 0 ? 15 : 47);
        struct result r = decode(d, len, 1, 1000);

        CHECK(r.status == GZLZSS_NEEDS_DICTIONARY && r.used == 6 && r.made == 0);
        CHECK(gzlzss_decoder_dictionary(d, end - size - 1, size) == GZLZSS_ERROR_DATA);
        CHECK(decode(d, len, 1, 1000).status == GZLZSS_NEEDS_DICTIONARY);
        CHECK(gzlzss_decoder_dictionary(d, end - size, size) == GZLZSS_OK);
        CHECK(gzlzss_decoder_dictionary(d, end - size, size) == GZLZSS_ERROR_ARGUMENT);
        memmove(packed, packed + 6, len - 6);
        r = decode(d, len - 6, 777, 1000);
        CHECK(r.status == GZLZSS_STREAM_END && r.made == 20000 && memcmp(out, text, 20000) == 0);
        gzlzss_decoder_free(d);

        len = pack(20000, -15, 9, size);
        d = open_decoder(-15);
        CHECK(decode(d, 1, 1, 1000).used == 1);
        CHECK(gzlzss_decoder_dictionary(d, end - size, size) == GZLZSS_ERROR_ARGUMENT);
        gzlzss_decoder_free(d);
        d = open_decoder(-15);
        CHECK(gzlzss_decoder_dictionary(d, end - size, size) == GZLZSS_OK);
        r = decode(d, len, 777, 1000);
        CHECK(r.status == GZLZSS_STREAM_END && r.made == 20000 && memcmp(out, text, 20000) == 0);
        CHECK(gzlzss_decoder_dictionary(d, end - size, size) == GZLZSS_ERROR_ARGUMENT);
        gzlzss_decoder_free(d);
    }
}

/* A copy goes on by itself, from each phase of a stream. */
static void copies(void)
{
    const size_t len = pack(60000, 31, 6, 0);

    for (size_t cut = 0; cut <= len; cut += cut < 60 || cut > len - 12 ? 1 : 997) {
        gzlzss_decoder *d = open_decoder(31), *copy = NULL;
        gzlzss_in in = {packed, cut, 0}, rest = {packed + cut, len - cut, 0};
        gzlzss_out to = {out, ROOM, 0}, more;

        gzlzss_decoder_run(d, &to, &in);
        CHECK(gzlzss_decoder_copy(&copy, d) == GZLZSS_OK);
        gzlzss_decoder_free(d);
        more = to;
        CHECK(gzlzss_decoder_run(copy, &more, &rest) == GZLZSS_STREAM_END);
        CHECK(more.used == 60000 && memcmp(out, text, 60000) == 0);
        gzlzss_decoder_free(copy);
    }
}

/* Idle decoders keep what the header says. */
static void memory(void)
{
    enum { DECODERS = 1000 };
    static gzlzss_decoder *d[DECODERS];
    const size_t len = pack(sizeof(text), 31, 6, 0);
    const size_t before = mallinfo2().uordblks;
    size_t idle, ended, fresh;

    for (unsigned i = 0; i < DECODERS; i++)
        d[i] = open_decoder(31);
    fresh = (mallinfo2().uordblks - before) / DECODERS;
    for (unsigned i = 0; i < DECODERS; i++) {
        gzlzss_in in = {packed, len / 4, 0};
        gzlzss_out to = {out, ROOM, 0};

        CHECK(gzlzss_decoder_run(d[i], &to, &in) == GZLZSS_OK);
    }
    idle = (mallinfo2().uordblks - before) / DECODERS;
    for (unsigned i = 0; i < DECODERS; i++) {
        gzlzss_in in = {packed + len / 4, len - len / 4, 0};
        gzlzss_out to = {out, ROOM, 0};

        CHECK(gzlzss_decoder_run(d[i], &to, &in) == GZLZSS_STREAM_END);
    }
    ended = (mallinfo2().uordblks - before) / DECODERS;
    printf("# a decoder has %zu bytes when new, %zu when idle, %zu at the end\n", fresh, idle,
           ended);
    for (unsigned i = 0; i < DECODERS; i++)
        gzlzss_decoder_free(d[i]);
#ifndef __SANITIZE_ADDRESS__
    CHECK(fresh <= 1100 && idle <= 78 << 10 && ended <= 1100);
#endif
}

/* A decoder of the parent goes on in a child process. */
static void in_child(void)
{
    const size_t len = pack(sizeof(text), 31, 6, 0);
    gzlzss_decoder *d = open_decoder(31);
    gzlzss_in in = {packed, len, 0};
    gzlzss_out to = {out, 1000, 0};
    int status = 1;
    pid_t pid;

    CHECK(gzlzss_decoder_run(d, &to, &in) == GZLZSS_OK);
    pid = fork();
    if (pid == 0) {
        to.size = ROOM;
        _exit(gzlzss_decoder_run(d, &to, &in) != GZLZSS_STREAM_END ||
              memcmp(out, text, sizeof(text)) != 0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    gzlzss_decoder_free(d);
}

static void arguments(void)
{
    gzlzss_decoder *d = open_decoder(31), *copy = d;
    gzlzss_in in = {NULL, 1, 0}, past = {packed, 1, 2};
    gzlzss_out to = {out, 10, 0}, none = {NULL, 1, 0}, full = {out, 1, 2};

    CHECK(gzlzss_decoder_new(NULL, 31) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_copy(NULL, d) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_copy(&copy, NULL) == GZLZSS_ERROR_ARGUMENT && copy == NULL);
    CHECK(gzlzss_decoder_run(NULL, &to, NULL) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_run(d, NULL, NULL) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_run(d, &to, &in) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_run(d, &to, &past) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_run(d, &none, NULL) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_run(d, &full, NULL) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_dictionary(NULL, text, 1) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_dictionary(d, text, 1) == GZLZSS_ERROR_ARGUMENT);
    CHECK(gzlzss_decoder_run(d, &to, NULL) == GZLZSS_OK && to.used == 0);
    CHECK(gzlzss_decoder_error(NULL)[0] == '\0' && gzlzss_decoder_error(d)[0] == '\0');
    gzlzss_decoder_free(d);
    gzlzss_decoder_free(NULL);
}

int main(void)
{
    make_text();
    RUN(streams);
    RUN(splits);
    RUN(damage);
    RUN(errors);
    RUN(crc_before_length);
    RUN(windows);
    RUN(dictionaries);
    RUN(copies);
    RUN(memory);
    RUN(in_child);
    RUN(arguments);
    return unit_done();
}
