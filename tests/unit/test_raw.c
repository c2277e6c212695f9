/*
 * test_raw.c - raw DEFLATE, good and bad, gives the same output and the same verdict as with zlib
 *
 * Streams are made of random blocks (tests/unit/blocks.h) or by zlib; many are damaged or
 * truncated.  zlib's inflate() defines the output, the verdict, and where the data ends.  The code
 * under test may use ISA-L or zlib, with one read or many.  ISA-L must decode good data without
 * help from zlib.  test_raw_small is the same test with compat/stream.h's buffers so small that
 * everything that can be divided between two reads or writes is divided.
 *
 * FUZZ_SECONDS=N in the environment: runs N seconds for each kind of stream, with new random
 * streams on each run.
 */
#include "config.h"

#include "base/isal.h"
#include "compat/gzip.h"
#include "compat/stream.h"
#include "tests/unit/blocks.h"
#include "tests/unit/hand_overs.h"
#include "tests/unit/streams.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <time.h>
#include <zlib.h>

/* --- zlib's verdict ------------------------------------------------------------------------- */

enum { OUT_MAX = 3 << 20 };

struct outcome {
    enum gz_status status; /* GZ_OK, GZ_BAD_DATA or GZ_TRUNCATED */
    size_t used, made;     /* with GZ_OK: bytes of input used, and bytes of output */
};

/* Decodes raw DEFLATE into out[0..OUT_MAX).  Returns false if the output does not fit.  If
 * has_no_length_code is true, the verdict is GNU gzip's; otherwise, it is zlib's. */
static bool by_zlib(const struct bytes *raw, uint8_t *out, struct outcome *o)
{
    static z_stream z;

    if (z.state == NULL && inflateInit2(&z, -15) != Z_OK)
        abort();
    inflateReset(&z);
    z.next_in = raw->data;
    z.avail_in = (uInt)raw->len;
    z.next_out = out;
    z.avail_out = OUT_MAX;
    uint64_t block = 0; /* the first bit of the last block */
    int ret;
    do {
        ret = inflate(&z, Z_BLOCK);
        if (ret == Z_OK && (z.data_type & 128) != 0)
            block = 8 * (uint64_t)(raw->len - z.avail_in) - (z.data_type & 7);
    } while (ret == Z_OK && (z.avail_in != 0 || (z.data_type & 128) != 0) && z.avail_out != 0);
    o->status = ret == Z_STREAM_END ? GZ_OK : ret == Z_DATA_ERROR ? GZ_BAD_DATA : GZ_TRUNCATED;
    if (o->status == GZ_TRUNCATED && has_no_length_code(raw->data, raw->len, block))
        o->status = GZ_BAD_DATA;
    o->used = raw->len - z.avail_in;
    o->made = OUT_MAX - z.avail_out;
    return z.avail_out != 0;
}

/* --- Comparison ----------------------------------------------------------------------------- */

/* How many streams of each kind there were. */
static struct {
    unsigned long n, good, bad, truncated;
    uint64_t bytes;
} seen;

static void show_seen(void)
{
    printf("# %lu streams: %lu good, %lu bad, %lu cut off; %llu bytes\n", seen.n, seen.good,
           seen.bad, seen.truncated, (unsigned long long)seen.bytes);
    memset(&seen, 0, sizeof seen);
}

/* Decodes the file, with reads as *job says, and compares the results with zlib's. */
static bool compare_read(const struct bytes *file, const uint8_t *out, const struct outcome *want,
                         struct job *job)
{
    hand_overs = 0;
    const enum gz_status status = run(job, file->data, file->len);
    bool ok = CHECK_EQ(status, want->status);

    ok = CHECK_EQ(job->out.len, want->made) && ok;
    if (ok && want->made != 0)
        ok = CHECK(memcmp(job->out.data, out, want->made) == 0);
    if (want->status == GZ_OK) {
        ok = CHECK_EQ(job->info.deflate_bytes, want->used) && ok;
        ok = CHECK_EQ(hand_overs, 0) && ok;
    }
    drop(&job->out);
    return ok;
}

/* Puts raw DEFLATE into an otherwise good gzip member, and compares the decoder's results with
 * zlib's. */
static bool compare(const struct bytes *raw, uint64_t *state)
{
    static uint8_t out[OUT_MAX];
    struct bytes file = {0};
    struct outcome want;
    uint8_t header[GZ_HEADER_SIZE], trailer[GZ_TRAILER_SIZE];
    bool ok = true;

    if (!by_zlib(raw, out, &want))
        return true;
    add(&file, header, gz_write_header(header, NULL, 0, 6));
    add(&file, raw->data, want.status == GZ_OK ? want.used : raw->len);
    if (want.status == GZ_OK) {
        gz_write_trailer(trailer, gz_crc32(0, out, want.made), want.made);
        add(&file, trailer, sizeof trailer);
        /* The decoder may load bits past the end of the data, so try different bytes there. */
        for (uint64_t n = unit_below(state, 4); n != 0; n--)
            add(&file, "\0\0", 2);
    }
    seen.n++;
    seen.good += want.status == GZ_OK;
    seen.bad += want.status == GZ_BAD_DATA;
    seen.truncated += want.status == GZ_TRUNCATED;
    seen.bytes += want.made;

    uint64_t random = unit_rand(state);
    for (unsigned way = 0; way < 3 && ok; way++) {
        struct job job = {.read_max = way == 1 ? 1 + unit_below(state, 40) : 0,
                          .random = way == 2 ? &random : NULL};
        /* Small reads of large files would take too long. */
        if (way == 1 && file.len > 5000)
            job.read_max = 1 + unit_below(state, 5000);
        ok = compare_read(&file, out, &want, &job);
        if (!ok)
            printf("# reads of %zu%s\n", job.read_max, way == 2 ? ", random" : "");
    }
    if (!ok) {
        printf("# zlib: status %d, %zu bytes in, %zu bytes out; %zu bytes:", (int)want.status,
               want.used, want.made, raw->len);
        for (size_t i = 0; i < raw->len && i < 400; i++)
            printf("%s%02x", i % 32 == 0 ? "\n# " : "", raw->data[i]);
        printf("\n");
    }
    drop(&file);
    return ok;
}

/* Flips some bits of a stream, often near its start, or truncates it, or does nothing. */
static void damage_stream(struct bytes *raw, uint64_t *state)
{
    const size_t end = one_in(state, 2) && raw->len > 100 ? 100 : raw->len;

    if (raw->len == 0)
        return;
    switch (unit_below(state, 4)) {
    case 0:
        raw->len = unit_below(state, raw->len + 1);
        break;
    case 1:
        for (uint64_t n = 1 + unit_below(state, 3); n != 0; n--)
            raw->data[unit_below(state, end)] ^= (uint8_t)(1u << unit_below(state, 8));
        break;
    default:
        break;
    }
}

/* Runs one kind of stream `times` times, or for FUZZ_SECONDS. */
static void repeat(bool (*one)(uint64_t *state), unsigned long times)
{
    const char *seconds = getenv("FUZZ_SECONDS");
    const time_t start = time(NULL), limit = seconds != NULL ? atoi(seconds) : 0;
    uint64_t state = limit != 0 ? (uint64_t)start * 1000 + times : times;

    for (unsigned long n = 0; limit != 0 ? time(NULL) - start < limit : n < times; n++) {
        const uint64_t before = state;
        if (!one(&state)) {
            printf("# state %#llx\n", (unsigned long long)before);
            break;
        }
    }
    show_seen();
}

/* --- Kinds of streams ----------------------------------------------------------------------- */

/* Tests a stream of blocks of all types: at most `max` blocks, with at most `max_symbols` symbols
 * each. */
static bool made_of_blocks(uint64_t *state, unsigned max, unsigned max_symbols)
{
    struct bytes raw = {0};
    struct stream s = {.bits = {.to = &raw}, .spoil = one_in(state, 2), .random = state};

    for (uint64_t n = unit_below(state, max); n != 0; n--)
        put_block(&s, false, max_symbols);
    put_block(&s, !one_in(state, 10), max_symbols);
    end_bits(&s.bits);
    damage_stream(&raw, state);
    const bool ok = compare(&raw, state);
    drop(&raw);
    return ok;
}

static bool small_stream(uint64_t *state)
{
    return made_of_blocks(state, 4, 30);
}

/* Tests a stream of some hundred kilobytes, longer than the window, with blocks that end at any
 * place in the buffers. */
static bool large_stream(uint64_t *state)
{
    return made_of_blocks(state, 60, one_in(state, 2) ? 400 : 4000);
}

/* Tests many blocks of a few bytes, which may refer to all bytes before them. */
static bool short_blocks(uint64_t *state)
{
    return made_of_blocks(state, 4000, 1 + below(state, 40));
}

/* Tests a stream that zlib makes, with a random level and strategy, and some flushes. */
static bool by_deflate(uint64_t *state)
{
    struct bytes raw = {0}, data = {0};
    const size_t len = unit_below(state, one_in(state, 10) ? 600000 : 3000);
    const unsigned kind = below(state, 4);

    while (data.len < len) {
        const uint64_t r = unit_rand(state);
        uint8_t word[8] = {0};
        for (unsigned i = 0; i < sizeof word; i++)
            word[i] = (uint8_t)(r >> 8 * i & (kind == 0 ? 0xff : kind == 1 ? 0x1f : 3));
        add(&data, word, kind == 3 ? 1 : sizeof word);
    }
    z_stream z = {0};
    if (deflateInit2(&z, (int)below(state, 10), Z_DEFLATED, -15, 1 + (int)below(state, 9),
                     (int)below(state, 5)) != Z_OK)
        abort();
    for (size_t done = 0; done < data.len || done == 0;) {
        uint8_t out[4096];
        size_t n = 1 + unit_below(state, one_in(state, 2) ? 300 : 60000);
        n = data.len - done < n ? data.len - done : n;
        const bool last = done + n == data.len;
        const int flush = last ? Z_FINISH : (int)below(state, 6);
        z.next_in = data.data + done;
        z.avail_in = (uInt)n;
        do {
            z.next_out = out;
            z.avail_out = sizeof out;
            deflate(&z, flush == Z_FINISH && !last ? Z_BLOCK : flush);
            add(&raw, out, sizeof out - z.avail_out);
        } while (z.avail_out == 0);
        done += n;
        if (last)
            break;
    }
    deflateEnd(&z);
    damage_stream(&raw, state);
    const bool ok = compare(&raw, state);
    drop(&raw);
    drop(&data);
    return ok;
}

/* Tests noise.  The noise mostly starts with bits that are no block's header, and otherwise with a
 * block with fixed codes. */
static bool noise(uint64_t *state)
{
    uint8_t data[300];
    struct bytes raw = {0};

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)unit_rand(state);
    if (one_in(state, 2))
        data[0] = (uint8_t)((data[0] & 0xf8) | 2 | (data[0] & 1));
    add(&raw, data, unit_below(state, sizeof data));
    const bool ok = compare(&raw, state);
    drop(&raw);
    return ok;
}

static void small_streams(void)
{
    repeat(small_stream, 6000);
}

static void large_streams(void)
{
    repeat(large_stream, 50);
}

static void streams_of_short_blocks(void)
{
    repeat(short_blocks, 12);
}

static void streams_by_deflate(void)
{
    repeat(by_deflate, 250);
}

static void streams_of_noise(void)
{
    repeat(noise, 4000);
}

/* --- By hand -------------------------------------------------------------------------------- */

/* A stream that is cut off after any of its bytes is truncated or bad, as with zlib. */
static void every_end(void)
{
    uint64_t state = 5;
    for (unsigned n = 0; n < 12; n++) {
        struct bytes raw = {0};
        struct stream s = {.bits = {.to = &raw}, .spoil = n % 2 != 0, .random = &state};
        put_dynamic(&s, false, 20);
        put_fixed(&s, false, 20);
        put_dynamic(&s, true, 20);
        end_bits(&s.bits);
        const size_t len = raw.len;
        for (raw.len = 0; raw.len < len; raw.len++)
            if (!compare(&raw, &state))
                break;
        drop(&raw);
    }
    show_seen();
}

/* Tests an error, or the end of the input, in a block that began long before, after enough output
 * to fill the buffers. */
static void late_ends(void)
{
    uint64_t state = 6;
    for (unsigned n = 0; n < 30; n++) {
        struct bytes raw = {0};
        struct stream s = {.bits = {.to = &raw}, .random = &state};
        put_dynamic(&s, false, 3000);
        put_fixed(&s, false, 1 + 4000 * (n % 20));
        const size_t len = raw.len;
        put_fixed(&s, true, 10);
        end_bits(&s.bits);
        if (n % 3 != 0)
            raw.len = len - unit_below(&state, len / 2);
        for (unsigned i = 0; n % 3 == 1 && i < 200; i++)
            add_byte(&raw, unit_rand(&state) & 0xff);
        compare(&raw, &state);
        drop(&raw);
    }
    show_seen();
}

/* Compares results for streams that are cut off in their last 16 bits.  These bits have all
 * possible values, so they may be several symbols or a part of one.  `before` literals come before
 * them.  With enough literals, ISA-L decodes several symbols at a time. */
static void last_bits_after(unsigned before, bool with_distance, uint64_t *state)
{
    struct header h = {.litlens = 258, .distances = 1, .listed = LENGTH_CODES};

    /* The code of 'a' has 1 bit, and the code of length 3 has 2 bits.  The codes of 'b' and of the
     * end of the block have 3 bits. */
    add_step(&h, 18, 97 - 11);
    add_step(&h, 1, 0);
    add_step(&h, 3, 0);
    add_step(&h, 18, 138 - 11);
    add_step(&h, 18, 19 - 11);
    add_step(&h, 3, 0);
    add_step(&h, 2, 0);
    add_step(&h, with_distance, 0);
    for (unsigned i = 0; i <= 3; i++)
        h.length_lengths[i] = 3;
    h.length_lengths[18] = 1;
    for (unsigned tail = 0; tail < 256; tail++) {
        struct bytes raw = {0};
        struct bits bits = {.to = &raw};
        put_header(&bits, true, &h);
        put_bits(&bits, 0, 8 - bits.n);
        for (unsigned i = 0; i < before; i++)
            add_byte(&raw, 0);
        add_byte(&raw, tail);
        if (!compare(&raw, state))
            printf("# with %#x behind %u\n", tail, before);
        drop(&raw);
    }
}

static void last_bits(void)
{
    uint64_t state = 7;
    for (unsigned i = 0; i < 4; i++)
        last_bits_after(i / 2 * 5000, i % 2 != 0, &state);
    show_seen();
}

/* --- Errors in reading ---------------------------------------------------------------------- */

static int write_and_set_errno(void *ctx, const void *buf, size_t len)
{
    const int result = job_write(ctx, buf, len);

    errno = EDOM;
    return result;
}

/* A read fails, and then writing the rest of the data fails, too.  errno must have the read's
 * error.  The test uses compress's format, since only that format's decoder still has much to write
 * then. */
static void reading_fails_first(void)
{
    static const uint8_t zeros[60000];
    const struct lzw_options options = {.max_bits = 16, .block = true};
    struct bytes file = {0};

    encode_lzw(&file, zeros, sizeof zeros, &options);
    for (size_t end = 3; end < file.len; end++) {
        struct job job = {.in = file.data, .in_len = file.len, .read_fail = 1 + end};
        const struct gz_io io = {.read = job_read, .write = write_and_set_errno, .ctx = &job};

        CHECK_EQ(gz_decompress(&io, &job.info), GZ_READ_ERROR);
        if (!CHECK_EQ(errno, EIO))
            printf("# after %zu bytes\n", end);
        drop(&job.out);
    }
    drop(&file);
}

/* --- Decoding ahead ------------------------------------------------------------------------- */

/* The state of a decoder that runs ahead (struct gz_ahead), but that never has decoded data.  It
 * asks to be called again `distance` bits later. */
struct asked {
    uint64_t distance, from; /* do not call before bit `from` */
    unsigned times;          /* how often it was called */
    bool too_early;
};

static bool has_nothing(void *ctx, uint64_t bit, uint64_t *from)
{
    struct asked *asked = ctx;

    asked->times++;
    asked->too_early |= bit < asked->from;
    asked->from = bit + asked->distance;
    *from = asked->from;
    return false;
}

static unsigned times_asked(const struct bytes *file, uint64_t distance)
{
    struct asked asked = {.distance = distance};
    const struct gz_ahead ahead = {.has = has_nothing, .ctx = &asked};
    struct job job = {.in = file->data, .in_len = file->len};
    const struct gz_io io = {.read = job_read, .write = job_write, .ctx = &job, .ahead = &ahead};

    CHECK_EQ(gz_decompress(&io, &job.info), GZ_OK);
    CHECK(!asked.too_early);
    drop(&job.out);
    return asked.times;
}

/* The decoder must call has_nothing at the start of each block.  has_nothing may answer with a
 * later place.  The decoder must then call it only for blocks that start at that place or later. */
static void asked_no_more_than_needed(void)
{
    enum { BLOCKS = 3000, DISTANCE = 2000 };
    struct bytes raw = {0}, file = {0};
    uint64_t state = 8;
    struct stream s = {.bits = {.to = &raw}, .random = &state};
    uint8_t header[GZ_HEADER_SIZE], trailer[GZ_TRAILER_SIZE] = {0};

    for (unsigned i = 1; i < BLOCKS; i++)
        if (i % 1000 < 500)
            put_fixed(&s, false, 0);
        else
            put_stored(&s, false, 0);
    put_fixed(&s, true, 0);
    end_bits(&s.bits);
    for (unsigned member = 0; member < 2; member++) {
        add(&file, header, gz_write_header(header, NULL, 0, 6));
        add(&file, raw.data, raw.len);
        add(&file, trailer, sizeof trailer);
    }
    CHECK_EQ(times_asked(&file, 0), 2 * BLOCKS);
    const unsigned times = times_asked(&file, DISTANCE);
    CHECK(times > 8 * file.len / DISTANCE / 2);
    CHECK(times <= 8 * file.len / DISTANCE + 1);
    CHECK_EQ(times_asked(&file, UINT64_MAX / 2), 1);
    drop(&file);
    drop(&raw);
}

#if defined(HAVE_ISAL) && !defined(NO_ISAL)
/* Checks that ISA-L is used.  Without it, all tests here would test only zlib. */
static void isal_is_there(void)
{
    CHECK(isal_open() != NULL);
}
#endif

int main(void)
{
#if defined(HAVE_ISAL) && !defined(NO_ISAL)
    RUN(isal_is_there);
#endif
    RUN(small_streams);
    RUN(large_streams);
    RUN(streams_of_short_blocks);
    RUN(streams_by_deflate);
    RUN(streams_of_noise);
    if (getenv("FUZZ_SECONDS") != NULL)
        return unit_done();
    RUN(every_end);
    RUN(late_ends);
    RUN(last_bits);
    RUN(reading_fails_first);
    RUN(asked_no_more_than_needed);
    return unit_done();
}
