/*
 * fuzz_decompress.c - every input is decompressed or refused, with the same result for large reads,
 * for small reads, and for the whole input in memory
 *
 * The format's magic number is put before the input, so that the decoder runs on every input.  A
 * sanitizer checks the use of memory.  This program checks that one read and many small reads give
 * the same result, that the numbers in struct gz_info fit together, and that the output of gzip's,
 * zlib's and the raw format is zlib's.
 *
 * There is a fuzz target (target.h) for each format.  tests/fuzz/mutate.c uses the same code
 * without clang.
 */
#include "config.h"

#include <errno.h>

#include "compat/crc.h"
#include "compat/gunzip.h"
#include "compat/whole.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/target.h"

/* A few bytes of input can decode to gigabytes.  Stop after the buffers were written twice. */
#define OUT_MAX ((uint64_t)600000)

struct source {
    const uint8_t *magic;
    size_t magic_len;
    const uint8_t *data;
    size_t len, pos;
    size_t read_max; /* the most bytes for a read; 0: no limit */
    bool ended;
    uint64_t written;
    uint32_t crc;
};

static ssize_t read_source(void *ctx, void *buf, size_t len)
{
    struct source *s = ctx;
    size_t n = 0;

    REQUIRE(!s->ended);
    if (s->read_max != 0 && len > s->read_max)
        len = s->read_max;
    for (; n < len && s->pos < s->magic_len + s->len; n++, s->pos++)
        ((uint8_t *)buf)[n] =
            s->pos < s->magic_len ? s->magic[s->pos] : s->data[s->pos - s->magic_len];
    s->ended = n == 0;
    return (ssize_t)n;
}

static int write_nowhere(void *ctx, const void *buf, size_t len)
{
    struct source *s = ctx;

    if (s->written + len > OUT_MAX) {
        errno = EFBIG;
        return -1;
    }
    s->written += len;
    s->crc = gz_crc32(s->crc, buf, len);
    return 0;
}

const char *fuzz_magic(enum fuzz_format format)
{
    static const char *const magic[FUZZ_FORMATS] = {
        [FUZZ_GZIP] = "\x1f\x8b",  [FUZZ_LZW] = "\x1f\x9d",
        [FUZZ_PACK] = "\x1f\x1e",  [FUZZ_LZH] = "\x1f\xa0",
        [FUZZ_ZIP] = "PK\x03\x04", [FUZZ_ZLIB] = "\x78\x9c",
        [FUZZ_RAW] = "",           [FUZZ_ANY] = ""};
    return magic[format];
}

/* Returns the container that a caller names for data of this format. */
static enum container container_of(enum fuzz_format format)
{
    return format == FUZZ_ZLIB  ? CONTAINER_ZLIB
           : format == FUZZ_RAW ? CONTAINER_RAW
                                : CONTAINER_GZIP;
}

/* Returns the magic number and the input, one after the other, in memory that the caller frees. */
static uint8_t *whole_input(const struct source *s)
{
    const size_t len = s->magic_len + s->len;
    uint8_t *in = fuzz_need(malloc(len > 0 ? len : 1));

    if (s->magic_len > 0)
        memcpy(in, s->magic, s->magic_len);
    if (s->len > 0)
        memcpy(in + s->magic_len, s->data, s->len);
    return in;
}

/* Decompresses the whole input in memory, without reads.  If that succeeds, the result must equal
 * the result of the decompression from `s`. */
static void check_whole(enum container container, const struct source *s, enum gz_status status,
                        const uint8_t *in)
{
    uint8_t *out = fuzz_need(malloc(OUT_MAX));
    struct inf_whole *w = fuzz_need(inf_whole_new());
    size_t made;

    if (gz_whole(w, container, in, s->magic_len + s->len, out, OUT_MAX, &made))
        REQUIRE(status == GZ_OK && made == s->written && gz_crc32(0, out, made) == s->crc);
    inf_whole_free(w);
    free(out);
}

/* If zlib finds the whole input good, the result must be zlib's.  An input that is good for us and
 * bad for zlib is in an older format, or padded. */
static void check_zlib(enum container container, const struct source *s, enum gz_status status,
                       const uint8_t *in)
{
    const int bits = container == CONTAINER_ZLIB  ? FUZZ_BITS_ZLIB
                     : container == CONTAINER_RAW ? FUZZ_BITS_RAW
                                                  : FUZZ_BITS_GZIP;
    struct fuzz_plain p = fuzz_inflate(in, s->magic_len + s->len, bits, OUT_MAX);

    if (p.is_good)
        REQUIRE(status == GZ_OK && s->written == p.len && s->crc == gz_crc32(0, p.bytes, p.len));
    else if (status == GZ_OK && container != CONTAINER_GZIP)
        REQUIRE(p.members == 1 && s->written == p.len);
    free(p.bytes);
}

void fuzz_one(enum fuzz_format format, const uint8_t *input, size_t len)
{
    struct source sources[2] = {{0}};
    struct gz_info info[2];
    enum gz_status status[2];
    struct gz_complaint list[GZ_COMPLAINTS_MAX];
    const enum container container = container_of(format);
    uint8_t *in;

    for (int i = 0; i < 2; i++) {
        struct source *s = &sources[i];
        *s = (struct source){
            .magic = (const uint8_t *)fuzz_magic(format), .data = input, .len = len};
        s->magic_len = strlen(fuzz_magic(format));
        s->read_max = i == 0 ? 0 : 1 + len % 5;
        const struct gz_io io = {.read = read_source,
                                 .write = write_nowhere,
                                 .ctx = s,
                                 .copy_unknown = len % 7 == 0 && container == CONTAINER_GZIP,
                                 .container = container};
        status[i] = gz_decompress(&io, &info[i]);
        REQUIRE(info[i].out_bytes == s->written);
        REQUIRE(info[i].in_bytes <= info[i].read_bytes);
        REQUIRE(info[i].read_bytes <= s->magic_len + s->len);
        REQUIRE(gz_complaints(status[i], &info[i], false, list) <= GZ_COMPLAINTS_MAX);
    }
    const bool wrong = gz_status_is_error(status[0], true);
    REQUIRE(status[0] == status[1]);
    REQUIRE(sources[0].written == sources[1].written && sources[0].crc == sources[1].crc);
    REQUIRE(info[0].members == info[1].members);
    REQUIRE(wrong || info[0].in_bytes == info[1].in_bytes);
    in = whole_input(&sources[0]);
    check_whole(container, &sources[0], status[0], in);
    check_zlib(container, &sources[0], status[0], in);
    free(in);
}

#define FUZZ_FORMAT_TARGET(name, format)              \
    void fuzz_##name(const uint8_t *data, size_t len) \
    {                                                 \
        fuzz_one(format, data, len);                  \
    }

FUZZ_FORMAT_TARGET(gzip, FUZZ_GZIP)
FUZZ_FORMAT_TARGET(lzw, FUZZ_LZW)
FUZZ_FORMAT_TARGET(pack, FUZZ_PACK)
FUZZ_FORMAT_TARGET(lzh, FUZZ_LZH)
FUZZ_FORMAT_TARGET(zip, FUZZ_ZIP)
FUZZ_FORMAT_TARGET(zlib, FUZZ_ZLIB)
FUZZ_FORMAT_TARGET(raw, FUZZ_RAW)
FUZZ_FORMAT_TARGET(any, FUZZ_ANY)
