/*
 * fuzz_stream.c - the library's stream calls, in any order and with pieces of any size
 *
 * Two fuzz targets (target.h), for the two directions.  The input's first bytes choose the format,
 * the level, and a script of calls: how much input and room each call gets, and its directive.  The
 * rest is the data.  zlib must read what was compressed, at each flush and at the end.  What was
 * decompressed must be what one call decompresses from memory, with the same status.
 */
#include "config.h"

#include <zlib.h>

#include "tests/fuzz/objects.h"

/* A few bytes of input can decode to gigabytes; stop at this size. */
#define OUT_MAX ((size_t)1 << 20)

/* Calls after which the script ends, and the rest of the data comes in one piece. */
#define SCRIPT_MAX 24

/* A call that gives nothing new must end at some time. */
#define CALLS_MAX 100000

struct stream {
    gzlzss *z;
    gzlzss_stream *s;
    gzlzss_call call;
    gzlzss_in in;
    uint8_t *bytes; /* the output: bytes[0..len), of `room` */
    size_t len, room, calls;
    gzlzss_status status;
};

/* One call of the script. */
struct step {
    size_t in, out;
    gzlzss_directive directive;
    bool is_cancelled;
};

static struct step read_step(struct fuzz_input *script)
{
    static const size_t sizes[] = {0, 1, 2, 7, 100, 1000, 32767, 70000};
    const unsigned first = fuzz_choose(script, 256), second = fuzz_choose(script, 256);
    static const gzlzss_directive directives[] = {GZLZSS_CONTINUE, GZLZSS_CONTINUE, GZLZSS_FLUSH,
                                                  GZLZSS_FULL_FLUSH};

    return (struct step){.in = sizes[first % 8] + first / 64,
                         .out = sizes[first / 8 % 8] + second / 128,
                         .directive = directives[second % 4],
                         .is_cancelled = second == 255};
}

/* Runs the stream once, with up to `in` more bytes of input and `out` bytes of room.  True if the
 * directive is fulfilled. */
static bool run(struct stream *s, size_t in, size_t out, gzlzss_directive directive)
{
    gzlzss_in piece = {.bytes = NULL};
    gzlzss_out to = {.size = out};

    REQUIRE(s->calls++ < CALLS_MAX);
    piece.size = in < s->in.size - s->in.used ? in : s->in.size - s->in.used;
    if (piece.size > 0)
        piece.bytes = (const uint8_t *)s->in.bytes + s->in.used;
    if (s->room - s->len < out)
        s->bytes = fuzz_need(realloc(s->bytes, s->room = 2 * s->room + out));
    to.bytes = out > 0 ? s->bytes + s->len : NULL;
    s->status = gzlzss_stream_run(s->s, &to, &piece, directive);
    REQUIRE(to.used <= to.size && piece.used <= piece.size);
    s->len += to.used;
    s->in.used += piece.used;
    if (s->status != GZLZSS_OK)
        return true;
    REQUIRE(to.used == to.size || piece.used == piece.size);
    return directive != GZLZSS_END && piece.used == piece.size && to.used < to.size;
}

/* Fulfils the directive, for the bytes that were not taken before, too. */
static void run_until(struct stream *s, size_t in, gzlzss_directive directive)
{
    const size_t end = in < s->in.size - s->in.used ? s->in.used + in : s->in.size;

    while (s->len <= OUT_MAX && !run(s, end - s->in.used, 1 << 16, directive))
        ;
}

/* Begins a stream whose input is in[0..len). */
static void open_stream(struct stream *s, const struct fuzz_input *in,
                        gzlzss_status (*open)(gzlzss_stream **s, gzlzss *z, gzlzss_call *call))
{
    s->in = (gzlzss_in){.bytes = in->data, .size = in->len};
    s->room = 1 << 16;
    s->bytes = fuzz_need(malloc(s->room));
    REQUIRE(open(&s->s, s->z, &s->call) == GZLZSS_OK);
}

static void close_stream(struct stream *s)
{
    gzlzss_stream_free(s->s);
    free(s->bytes);
}

/* --- Compression ---------------------------------------------------------------------------- */

/* Requires that the output so far gives zlib all input so far. */
static void check_flush(const struct stream *s, gzlzss_format format)
{
    z_stream z = {.next_in = s->bytes, .avail_in = (uInt)s->len};
    uint8_t *plain = fuzz_need(malloc(s->in.used + 1));
    size_t total = 0;
    int result = Z_OK;

    REQUIRE(inflateInit2(&z, fuzz_bits_of(format)) == Z_OK);
    while (result == Z_OK || result == Z_STREAM_END) {
        z.next_out = plain + total;
        z.avail_out = (uInt)(s->in.used + 1 - total);
        if (result == Z_STREAM_END)
            REQUIRE(inflateReset(&z) == Z_OK);
        result = z.avail_in > 0 ? inflate(&z, Z_SYNC_FLUSH) : Z_BUF_ERROR;
        total = (size_t)(z.next_out - plain);
    }
    REQUIRE(result == Z_BUF_ERROR && total == s->in.used);
    REQUIRE(total == 0 || memcmp(plain, s->in.bytes, total) == 0);
    (void)inflateEnd(&z);
    free(plain);
}

void fuzz_stream_compress(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {data, len}, script;
    const gzlzss_format format = (gzlzss_format)fuzz_choose(&in, FUZZ_LIBRARY_FORMATS);
    const bool rsyncable = fuzz_choose(&in, 2) == 1 && format != GZLZSS_BGZF;
    const unsigned level = fuzz_choose(&in, 11);
    struct stream s = {.z = fuzz_object(format, rsyncable), .call = GZLZSS_CALL_INIT};
    struct step step;

    script = fuzz_take(&in, fuzz_choose(&in, 2 * SCRIPT_MAX));
    s.call.level = level == 10 ? GZLZSS_CALL_STORED : (int)level;
    s.call.name = level % 3 == 1 ? "name" : NULL;
    open_stream(&s, &in, gzlzss_compress_stream);
    while (script.len > 0 && s.status == GZLZSS_OK) {
        step = read_step(&script);
        if (step.is_cancelled)
            gzlzss_cancel(s.z, &s.call);
        if (run(&s, step.in, step.out, GZLZSS_CONTINUE) && s.status != GZLZSS_OK)
            break;
        if (step.directive == GZLZSS_CONTINUE)
            continue;
        run_until(&s, 0, step.directive);
        if (s.status == GZLZSS_OK && format != GZLZSS_ZIP)
            check_flush(&s, format);
    }
    if (s.status == GZLZSS_OK)
        run_until(&s, SIZE_MAX, GZLZSS_END);
    REQUIRE(s.status == GZLZSS_STREAM_END || s.status == GZLZSS_ERROR_CANCELLED);
    if (s.status == GZLZSS_STREAM_END)
        fuzz_require_plain(format, s.bytes, s.len, in.data, in.len);
    close_stream(&s);
}

/* --- Decompression -------------------------------------------------------------------------- */

/* Requires that decompressing the whole input in one call gives the stream's result. */
static void check_whole(const struct stream *s)
{
    size_t n = OUT_MAX;
    uint8_t *out = fuzz_need(malloc(OUT_MAX));
    gzlzss_call call = GZLZSS_CALL_INIT;
    const gzlzss_status status = gzlzss_decompress(s->z, out, &n, s->in.bytes, s->in.size, &call);

    REQUIRE(status == (s->status == GZLZSS_STREAM_END ? GZLZSS_OK : s->status) ||
            status == GZLZSS_ERROR_ROOM);
    if (status == GZLZSS_OK || status == GZLZSS_ERROR_TRAILING) {
        REQUIRE(n == s->len && (n == 0 || memcmp(out, s->bytes, n) == 0));
        REQUIRE(call.in_bytes == s->call.in_bytes);
    }
    free(out);
}

void fuzz_stream_decompress(const uint8_t *data, size_t len)
{
    static const gzlzss_format formats[] = {GZLZSS_GZIP, GZLZSS_ZLIB, GZLZSS_RAW};
    struct fuzz_input in = {data, len}, script;
    struct stream s = {.z = fuzz_object(formats[fuzz_choose(&in, 3)], false),
                       .call = GZLZSS_CALL_INIT};
    struct step step;

    script = fuzz_take(&in, fuzz_choose(&in, 2 * SCRIPT_MAX));
    open_stream(&s, &in, gzlzss_decompress_stream);
    while (script.len > 0 && s.status == GZLZSS_OK && s.len <= OUT_MAX) {
        step = read_step(&script);
        if (step.is_cancelled)
            gzlzss_cancel(s.z, &s.call);
        run(&s, step.in, step.out, step.directive);
    }
    if (s.status == GZLZSS_OK)
        run_until(&s, SIZE_MAX, GZLZSS_END);
    if (s.status != GZLZSS_OK && s.status != GZLZSS_ERROR_CANCELLED)
        check_whole(&s);
    close_stream(&s);
}
