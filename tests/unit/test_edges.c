/*
 * test_edges.c - decoding at the edges of what the formats allow: distances up to 32768 wherever
 * input and output are cut, and members whose length passes 4 GiB
 *
 * zlib and this project's encoder write no distances above 32506 and 32767, so the streams are made
 * by hand; zlib decodes them, too.  Data of 4 GiB would take too long, so decoders begin at a place
 * near there.
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

/* The decoder's struct is known only in its file. */
#include "lib/decoder.c"

#include "access/cursor.h"
#include "access/reader.h"
#include "access/window.h"
#include "base/deflate.h"
#include "compat/gunzip.h"
#include "inflate/symbols.h"
#include "inflate/whole.h"
#include "tests/unit/encoders.h"
#include "tests/unit/paths.h"
#include "tests/unit/streams.h"
#include "tests/unit/unit.h"

/* --- Streams -------------------------------------------------------------------------------- */

/* Bytes of output of a stream, at least. */
#define OUT_MIN ((size_t)150000)
#define OUT_MAX ((size_t)200000)

static void put_fixed_code(struct bits *bits, unsigned symbol)
{
    const unsigned length = symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
    const unsigned code = symbol < 144   ? 0x30 + symbol
                          : symbol < 256 ? 0x190 + symbol - 144
                          : symbol < 280 ? symbol - 256
                                         : 0xc0 + symbol - 280;

    for (unsigned i = length; i > 0; i--)
        put_bits(bits, code >> (i - 1) & 1, 1);
}

static void put_match(struct bits *bits, unsigned length, unsigned distance)
{
    const unsigned l = deflate_length_symbol(length), d = deflate_distance_symbol(distance);

    put_fixed_code(bits, l);
    put_bits(bits, deflate_length_extra(length, deflate_length_extra_bits(l)),
             deflate_length_extra_bits(l));
    for (unsigned i = 5; i > 0; i--)
        put_bits(bits, d >> (i - 1) & 1, 1);
    put_bits(bits, deflate_distance_extra(distance, deflate_distance_extra_bits(d)),
             deflate_distance_extra_bits(d));
}

/* DEFLATE data, and what it decodes to. */
struct made {
    struct bytes raw;
    struct bits bits;
    uint8_t *out;
    size_t len;
    uint64_t blocks[100]; /* the bits where blocks start, and the bytes of output before them */
    size_t before[100];
    unsigned count;
};

static void begin_block(struct made *m, bool is_last, unsigned type)
{
    m->blocks[m->count] = 8 * (uint64_t)m->raw.len + m->bits.n;
    m->before[m->count++] = m->len;
    put_bits(&m->bits, is_last, 1);
    put_bits(&m->bits, type, 2);
}

/* Adds a stored block of `len` random bytes; not the last block. */
static void add_stored(struct made *m, size_t len, uint64_t *state)
{
    begin_block(m, false, DEFLATE_STORED);
    end_bits(&m->bits);
    put_bits(&m->bits, len, 16);
    put_bits(&m->bits, ~len & 0xffff, 16);
    for (size_t i = 0; i < len; i++) {
        m->out[m->len] = (uint8_t)unit_rand(state);
        put_bits(&m->bits, m->out[m->len++], 8);
    }
}

static void add_literal(struct made *m, uint8_t byte)
{
    put_fixed_code(&m->bits, byte);
    m->out[m->len++] = byte;
}

static void add_match(struct made *m, unsigned length, unsigned distance)
{
    put_match(&m->bits, length, distance);
    for (; length > 0; length--, m->len++)
        m->out[m->len] = m->out[m->len - distance];
}

static void made_free(struct made *m)
{
    drop(&m->raw);
    free(m->out);
}

/* Makes a stream whose first match, of 258 bytes at distance 32768, starts at byte 32768.  Nearly
 * all that follows are matches at distances from 32500 to 32768, so that some cross each place. */
static void make_far(struct made *m, uint64_t *state)
{
    static const unsigned lengths[] = {3, 4, 5, 8, 17, 64, 257, 258};
    bool is_last = false;

    *m = (struct made){.out = unit_need(malloc(OUT_MAX))};
    m->bits.to = &m->raw;
    add_stored(m, DEFLATE_WINDOW_SIZE, state);
    while (!is_last) {
        const size_t end = m->len + 1 + unit_below(state, 6000);

        is_last = m->len >= OUT_MIN;
        begin_block(m, is_last, DEFLATE_FIXED);
        do {
            const unsigned dice = (unsigned)unit_below(state, 8);

            add_match(m, lengths[unit_below(state, 8)],
                      DEFLATE_WINDOW_SIZE - (dice < 5   ? 0
                                             : dice < 7 ? (unsigned)unit_below(state, 4)
                                                        : (unsigned)unit_below(state, 268)));
            for (unsigned i = (unsigned)unit_below(state, 3); i > 0; i--)
                add_literal(m, (uint8_t)unit_rand(state));
        } while (m->len < end);
        put_fixed_code(&m->bits, DEFLATE_END_OF_BLOCK);
    }
    end_bits(&m->bits);
}

/* Makes a .gz of DEFLATE data.  The trailer has this CRC and this length. */
static struct bytes gz_of(const struct bytes *raw, uint32_t crc, uint64_t len)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    struct bytes gz = {0};

    add(&gz, header, sizeof(header));
    add(&gz, raw->data, raw->len);
    for (unsigned i = 0; i < 8; i++) {
        const uint8_t byte = (uint8_t)(i < 4 ? crc >> (8 * i) : len >> (8 * (i - 4)));

        add(&gz, &byte, 1);
    }
    return gz;
}

static uint32_t crc_of(const uint8_t *bytes, size_t len)
{
    return (uint32_t)crc32(0, bytes, (uInt)len);
}

#define HEADER_SIZE 10

/* --- Distances ------------------------------------------------------------------------------ */

/* Sizes of pieces: around a window and a match, tiny, and all at once. */
static const size_t sizes[] = {1, 2, 257, 258, 259, 5000, 32767, 32768, 32769, 65536, OUT_MAX};

#define SIZES (sizeof(sizes) / sizeof(*sizes))

static uint8_t back[OUT_MAX];

static bool is_right(const struct made *m, size_t len)
{
    return CHECK_EQ(len, m->len) && CHECK(memcmp(back, m->out, len) == 0);
}

static void check_zlib(const struct made *m)
{
    z_stream z = {.next_in = m->raw.data,
                  .avail_in = (uInt)m->raw.len,
                  .next_out = back,
                  .avail_out = OUT_MAX};

    if (inflateInit2(&z, -15) != Z_OK)
        abort();
    CHECK_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
    is_right(m, z.total_out);
    inflateEnd(&z);
}

static void check_whole(const struct made *m)
{
    struct inf_whole *w = unit_need(inf_whole_new());
    size_t used, made = 0;

    memset(back, 0, sizeof(back));
    CHECK_EQ(inf_whole(w, m->raw.data, m->raw.len, back, OUT_MAX, &used, &made), INF_END);
    is_right(m, made);
    inf_whole_free(w);
}

/* Decodes with pieces of input and output of these sizes.  Each piece of output has memory of its
 * own. */
static void check_push(const struct made *m, size_t in_most, size_t out_most)
{
    struct inf_push *push = unit_need(inf_push_new());
    enum inf_result result = INF_MORE;
    size_t used = 0, made = 0;

    while (result == INF_MORE && made < OUT_MAX) {
        const size_t left = m->raw.len - used, room = OUT_MAX - made;
        struct inf_piece piece = {.in = m->raw.data + used,
                                  .len = left < in_most ? left : in_most,
                                  .room = room < out_most ? room : out_most};

        piece.out = unit_need(malloc(piece.room));
        result = inf_push(push, &piece);
        memcpy(back + made, piece.out, piece.made);
        CHECK(inf_push_keep(push, piece.out, piece.made));
        free(piece.out);
        if (result == INF_MORE && piece.used == 0 && piece.made == 0)
            break;
        used += piece.used;
        made += piece.made;
    }
    CHECK_EQ(result, INF_END);
    is_right(m, made);
    inf_push_free(push);
}

static void check_decoder(const struct made *m, size_t in_most, size_t out_most)
{
    struct bytes gz = gz_of(&m->raw, crc_of(m->out, m->len), m->len);
    gzlzss_status status = GZLZSS_OK;
    gzlzss_decoder *d = NULL;
    size_t used = 0, made = 0;

    CHECK_EQ(gzlzss_decoder_new(&d, 31), GZLZSS_OK);
    while (status == GZLZSS_OK) {
        const size_t left = gz.len - used, room = OUT_MAX - made;
        gzlzss_in in = {gz.data + used, left < in_most ? left : in_most, 0};
        gzlzss_out out = {back + made, room < out_most ? room : out_most, 0};

        status = gzlzss_decoder_run(d, &out, &in);
        if (status == GZLZSS_OK && in.used == 0 && out.used == 0)
            break;
        used += in.used;
        made += out.used;
    }
    CHECK_EQ(status, GZLZSS_STREAM_END);
    is_right(m, made);
    gzlzss_decoder_free(d);
    drop(&gz);
}

/* Decodes from each block on, without the window before it, to symbols. */
static void check_symbols(const struct made *m)
{
    struct inf_symbols *d = unit_need(inf_symbols_new());
    uint16_t *symbols = unit_need(malloc((INF_WINDOW + OUT_MAX + 300) * sizeof(*symbols)));
    uint8_t *in = unit_need(calloc(m->raw.len + INF_SYMBOLS_PAD, 1));

    memcpy(in, m->raw.data, m->raw.len);
    for (unsigned i = 1; i < m->count; i += 1 + m->count / 8) {
        uint64_t place = m->blocks[i];
        enum inf_result result = INF_BLOCK;
        size_t n = 0;

        inf_symbols_begin(symbols + INF_WINDOW);
        while (result == INF_BLOCK)
            result = inf_symbols_block(d, in, m->raw.len, &place, symbols + INF_WINDOW, &n,
                                       OUT_MAX + 300);
        CHECK_EQ(result, INF_END);
        if (!CHECK_EQ(n, m->len - m->before[i]))
            continue;
        inf_resolve(d, symbols + INF_WINDOW, n, m->out + m->before[i] - INF_WINDOW, back);
        CHECK(memcmp(back, m->out + m->before[i], n) == 0);
    }
    free(in);
    free(symbols);
    inf_symbols_free(d);
}

static void check_gunzip(const struct made *m, const struct bytes *gz, size_t read_max)
{
    struct job job = {.read_max = read_max};

    CHECK_EQ(run(&job, gz->data, gz->len), GZ_OK);
    CHECK(job.out.len == m->len && memcmp(job.out.data, m->out, m->len) == 0);
    drop(&job.out);
}

/* Runs the cursor to the file's end.  Returns the last status, and the output at `back`. */
static enum gz_status run_cursor(struct access_cursor *c, size_t *made)
{
    enum gz_status status = GZ_OK;

    *made = 0;
    while (status == GZ_OK && !c->has_ended) {
        status = access_cursor_step(c);
        if (*made + c->piece_len > OUT_MAX)
            abort();
        if (c->piece_len > 0)
            memcpy(back + *made, c->piece, c->piece_len);
        *made += c->piece_len;
    }
    return status;
}

/* Decodes from each block on, with the window before it. */
static void check_cursor(const struct made *m, const struct bytes *gz)
{
    const struct access_source source = {.fd = -1, .memory = gz->data, .size = gz->len};
    struct access_cursor *c = unit_need(access_cursor_new(&source));

    for (unsigned i = 1; i < m->count; i += 1 + m->count / 8) {
        const struct access_point p = {.bit = 8 * HEADER_SIZE + m->blocks[i],
                                       .out = m->before[i],
                                       .has_crc = true,
                                       .crc = crc_of(m->out, m->before[i]),
                                       .len = m->before[i]};
        size_t made;

        CHECK(access_cursor_begin(c, &p, m->out + m->before[i] - INF_WINDOW, INF_WINDOW));
        CHECK_EQ(run_cursor(c, &made), GZ_OK);
        CHECK(made == m->len - m->before[i] && memcmp(back, m->out + m->before[i], made) == 0);
    }
    access_cursor_free(c);
}

static void check_reader(const struct made *m, const struct bytes *gz)
{
    const struct access_source source = {.fd = -1, .memory = gz->data, .size = gz->len};
    struct access_reader *r = unit_need(access_open(&source));
    uint64_t state = 3;

    for (int i = 0; i < 40; i++) {
        const size_t at = unit_below(&state, m->len), n = 1 + unit_below(&state, m->len - at);
        size_t done = 0;

        CHECK_EQ(access_read(r, back, n, at, &done, NULL), GZ_OK);
        CHECK(done == n && memcmp(back, m->out + at, n) == 0);
    }
    access_close(r);
}

static void test_distances(void)
{
    uint64_t state = 5;
    struct bytes gz;
    struct made m;

    make_far(&m, &state);
    check_zlib(&m);
    check_whole(&m);
    for (size_t i = 0; i < SIZES; i++)
        for (size_t k = 0; k < SIZES; k += i == 0 ? SIZES - 1 : 5) {
            check_push(&m, sizes[k], sizes[i]);
            check_decoder(&m, sizes[k], sizes[i]);
        }
    check_symbols(&m);
    gz = gz_of(&m.raw, crc_of(m.out, m.len), m.len);
    for (size_t i = 0; i < SIZES; i += 3)
        check_gunzip(&m, &gz, sizes[i]);
    check_cursor(&m, &gz);
    check_reader(&m, &gz);
    drop(&gz);
    made_free(&m);
}

/* A distance that reaches one byte before the data is an error to every decoder. */
static void test_before_the_start(void)
{
    uint64_t state = 6;
    struct made m = {.out = unit_need(malloc(OUT_MAX))};
    struct inf_whole *w = unit_need(inf_whole_new());
    struct inf_push *push = unit_need(inf_push_new());
    struct inf_piece piece = {.room = OUT_MAX, .out = back};
    size_t used, made;

    m.bits.to = &m.raw;
    add_stored(&m, DEFLATE_WINDOW_SIZE - 1, &state);
    begin_block(&m, true, DEFLATE_FIXED);
    put_match(&m.bits, 3, DEFLATE_WINDOW_SIZE);
    put_fixed_code(&m.bits, DEFLATE_END_OF_BLOCK);
    end_bits(&m.bits);
    CHECK_EQ(inf_whole(w, m.raw.data, m.raw.len, back, OUT_MAX, &used, &made), INF_BAD);
    /* The block begins in a piece of its own. */
    piece.in = m.raw.data;
    piece.len = m.raw.len - 5;
    CHECK_EQ(inf_push(push, &piece), INF_MORE);
    CHECK(inf_push_keep(push, back, piece.made));
    piece.made = 0;
    piece.len = m.raw.len;
    CHECK_EQ(inf_push(push, &piece), INF_BAD);
    inf_push_free(push);
    inf_whole_free(w);
    made_free(&m);
}

/* --- 4 GiB ---------------------------------------------------------------------------------- */

/* Lengths of a member's data before a place near the edge, and past it. */
static const uint64_t lengths[] = {UINT64_C(0xffffffff), UINT64_C(1) << 32,
                                   (UINT64_C(1) << 32) - 50000, (UINT64_C(5) << 32) + 7};

#define LENGTHS (sizeof(lengths) / sizeof(*lengths))

/* The CRC of the data before the place: any number. */
#define CRC_BEFORE UINT32_C(0x12345678)

/* Makes a .gz whose data, from block 1 on, comes after `before` bytes with this CRC.  If `wrong`
 * is not 0, the trailer's length is wrong by so much. */
static struct bytes huge_gz(const struct made *m, uint64_t before, unsigned wrong)
{
    const size_t len = m->len - m->before[1];
    const uint32_t crc = (uint32_t)crc32(CRC_BEFORE, m->out + m->before[1], (uInt)len);

    return gz_of(&m->raw, crc, before + len + wrong);
}

static void check_huge_decoder(const struct made *m, const struct bytes *gz, uint64_t before,
                               bool is_good)
{
    const size_t start = HEADER_SIZE + (size_t)(m->blocks[1] / 8);
    gzlzss_in in = {gz->data, start, 0};
    gzlzss_out out = {back, OUT_MAX, 0};
    gzlzss_decoder *d = NULL;

    CHECK_EQ(gzlzss_decoder_new(&d, 31), GZLZSS_OK);
    CHECK_EQ(gzlzss_decoder_run(d, &out, &in), GZLZSS_OK);
    CHECK_EQ(out.used, m->before[1]);
    d->value = CRC_BEFORE;
    d->out_len = before;
    in.size = gz->len;
    CHECK_EQ(gzlzss_decoder_run(d, &out, &in), is_good ? GZLZSS_STREAM_END : GZLZSS_ERROR_DATA);
    CHECK(is_good == (strcmp(gzlzss_decoder_error(d), "incorrect length check") != 0));
    gzlzss_decoder_free(d);
}

static void check_huge_cursor(const struct made *m, const struct bytes *gz, uint64_t before,
                              bool is_good)
{
    const struct access_source source = {.fd = -1, .memory = gz->data, .size = gz->len};
    const struct access_point p = {.bit = 8 * HEADER_SIZE + m->blocks[1],
                                   .out = before,
                                   .has_crc = true,
                                   .crc = CRC_BEFORE,
                                   .len = before};
    struct access_cursor *c = unit_need(access_cursor_new(&source));
    size_t made;

    CHECK(access_cursor_begin(c, &p, m->out + m->before[1] - INF_WINDOW, INF_WINDOW));
    CHECK_EQ(run_cursor(c, &made), is_good ? GZ_OK : GZ_BAD_LENGTH);
    CHECK_EQ(c->out, before + m->len - m->before[1]);
    access_cursor_free(c);
}

/* As if another thread had decoded block 0 to `before` bytes. */
struct huge_ahead {
    struct job job;
    const struct made *m;
    uint64_t before;
};

static bool huge_has(void *ctx, uint64_t bit, uint64_t *from)
{
    (void)ctx;
    *from = UINT64_MAX;
    return bit == 8 * HEADER_SIZE;
}

static bool huge_run(void *ctx, struct gz_place *place)
{
    const struct huge_ahead *a = ctx;

    memcpy(place->end - INF_WINDOW, a->m->out, INF_WINDOW);
    place->bit = 8 * HEADER_SIZE + a->m->blocks[1];
    place->len = a->before;
    place->check = CRC_BEFORE;
    place->made = a->before;
    return true;
}

static void huge_seek(void *ctx, uint64_t byte)
{
    ((struct huge_ahead *)ctx)->job.in_pos = (size_t)byte;
}

static void check_huge_gunzip(const struct made *m, const struct bytes *gz, uint64_t before,
                              bool is_good)
{
    struct huge_ahead a = {.job = {.in = gz->data, .in_len = gz->len}, .m = m, .before = before};
    const struct gz_ahead ahead = {huge_has, huge_run, huge_seek, &a};
    const struct gz_io io = {.read = job_read, .write = job_write, .ctx = &a.job, .ahead = &ahead};

    CHECK_EQ(gz_decompress(&io, &a.job.info), is_good ? GZ_OK : GZ_BAD_LENGTH);
    CHECK_EQ(a.job.info.out_bytes, before + m->len - m->before[1]);
    drop(&a.job.out);
}

static void test_huge(void)
{
    uint64_t state = 8;
    struct made m;

    make_far(&m, &state);
    CHECK_EQ(m.blocks[1] % 8, 0);
    for (size_t i = 0; i < LENGTHS; i++)
        for (unsigned wrong = 0; wrong <= 1; wrong++) {
            struct bytes gz = huge_gz(&m, lengths[i], wrong);

            check_huge_decoder(&m, &gz, lengths[i], wrong == 0);
            check_huge_cursor(&m, &gz, lengths[i], wrong == 0);
            check_huge_gunzip(&m, &gz, lengths[i], wrong == 0);
            drop(&gz);
        }
    made_free(&m);
}

/* --- Bytes that were written already -------------------------------------------------------- */

/* As if a GPU had failed after it had written the first bytes of block 1. */
struct failed_ahead {
    struct job job;
    const struct made *m;
    struct gz_skip skip;
};

static bool failed_run(void *ctx, struct gz_place *place)
{
    const struct failed_ahead *a = ctx;

    memcpy(place->end - INF_WINDOW, a->m->out, INF_WINDOW);
    place->bit = 8 * HEADER_SIZE + a->m->blocks[1];
    place->len = place->made = a->m->before[1];
    place->check = crc_of(a->m->out, a->m->before[1]);
    place->skip = a->skip;
    return true;
}

/* `skip` bytes after block 0 were written already, and had this CRC. */
static enum gz_status decode_after(const struct made *m, const struct bytes *gz, size_t skip,
                                   uint32_t crc)
{
    struct failed_ahead a = {
        .job = {.in = gz->data, .in_len = gz->len}, .m = m, .skip = {.left = skip, .crc = crc}};
    const struct gz_ahead ahead = {huge_has, failed_run, huge_seek, &a};
    const struct gz_io io = {.read = job_read, .write = job_write, .ctx = &a.job, .ahead = &ahead};
    const enum gz_status status = gz_decompress(&io, &a.job.info);
    const size_t from = m->before[1] + skip;

    CHECK(a.job.out.len == m->len - from &&
          (a.job.out.len == 0 || memcmp(a.job.out.data, m->out + from, m->len - from) == 0));
    drop(&a.job.out);
    return status;
}

/* They are not written again, but count for the member's CRC, and are compared. */
static void test_skipped(void)
{
    static const size_t skips[] = {1, 5000, 32768, 65536, 100000};
    uint64_t state = 11;
    struct bytes gz;
    struct made m;

    make_far(&m, &state);
    gz = gz_of(&m.raw, crc_of(m.out, m.len), m.len);
    for (size_t i = 0; i < sizeof(skips) / sizeof(*skips); i++) {
        const uint32_t crc = crc_of(m.out + m.before[1], skips[i]);

        CHECK_EQ(decode_after(&m, &gz, skips[i], crc), GZ_OK);
        CHECK_EQ(decode_after(&m, &gz, skips[i], crc ^ 1), GZ_BAD_CRC);
    }
    drop(&gz);
    made_free(&m);
}

/* --- Windows of points ---------------------------------------------------------------------- */

/* Makes a stream, and the window of its second block.  `fill` bytes after that block's start, in a
 * third block, 32767 bytes after it at most, a match copies the last byte of the window. */
static void check_last_copy(size_t fill)
{
    uint64_t state = 10;
    struct made m = {.out = unit_need(malloc(OUT_MAX))};
    struct access_point p = {.has_crc = false};
    uint8_t window[INF_WINDOW];
    struct bytes gz;
    struct access_source source;

    m.bits.to = &m.raw;
    add_stored(&m, DEFLATE_WINDOW_SIZE, &state);
    add_stored(&m, fill, &state);
    begin_block(&m, true, DEFLATE_FIXED);
    for (size_t i = fill; i < DEFLATE_WINDOW_SIZE - 1; i++)
        add_literal(&m, (uint8_t)unit_rand(&state));
    add_match(&m, 258, DEFLATE_WINDOW_SIZE);
    put_fixed_code(&m.bits, DEFLATE_END_OF_BLOCK);
    end_bits(&m.bits);
    gz = gz_of(&m.raw, crc_of(m.out, m.len), m.len);
    source = (struct access_source){.fd = -1, .memory = gz.data, .size = gz.len};
    p.bit = 8 * HEADER_SIZE + m.blocks[1];
    p.out = DEFLATE_WINDOW_SIZE;
    CHECK(access_window_pack(&p, &source, m.out, DEFLATE_WINDOW_SIZE));
    CHECK_EQ(p.form, ACCESS_PACKED);
    CHECK_EQ(access_window_get(&p, NULL, window + INF_WINDOW), INF_WINDOW);
    CHECK(m.out[DEFLATE_WINDOW_SIZE - 1] != 0);
    CHECK_EQ(window[INF_WINDOW - 1], m.out[DEFLATE_WINDOW_SIZE - 1]);
    /* Nothing else is copied, and random bytes are rarely all zeros. */
    CHECK_EQ(window[INF_WINDOW - 2] | window[INF_WINDOW - 3], 0);
    free(p.bytes);
    drop(&gz);
    made_free(&m);
}

static void test_window_of_a_point(void)
{
    check_last_copy(DEFLATE_WINDOW_SIZE - 1);
    check_last_copy(DEFLATE_WINDOW_SIZE - 2);
    check_last_copy(DEFLATE_WINDOW_SIZE - 200);
    check_last_copy(1000);
}

int main(void)
{
    RUN(test_distances);
    RUN(test_before_the_start);
    RUN(test_huge);
    RUN(test_skipped);
    RUN(test_window_of_a_point);
    return unit_done_on_paths();
}
