/*
 * test_gpu_inflate.c - a GPU decompresses what zlib compresses, and leaves the rest to the CPU
 *
 * tests/unit/test_gpu_inflate runs the kernels on an emulated device
 * (tests/emulation/cuda_runtime.h), and tests/gpu/test_gpu_inflate, which `make check-gpu` builds
 * from the same source, on a real one.
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "gpu/inflate.h"
#include "tests/unit/device.h"
#include "tests/unit/encoders.h"
#include "tests/unit/inputs.h"

#define KIB ((size_t)1 << 10)

/* --- Files ------------------------------------------------------------------------------------ */

/* A .gz and its data. */
struct file {
    uint8_t *gz, *data;
    size_t gz_len, len;
};

/* The parameters of a member. */
struct way {
    int level, strategy;
    size_t flush_every; /* bytes; 0: never */
    int flush;
};

static void append(struct file *f, const uint8_t *data, size_t len, const struct way *way)
{
    z_stream z = {0};
    size_t done = 0;
    int result = Z_OK;

    if (deflateInit2(&z, way->level, Z_DEFLATED, 15 + 16, 8, way->strategy) != Z_OK)
        abort();
    const size_t room = compressBound((uLong)len) + len / 8 + 1000 +
                        (way->flush_every > 0 ? len / way->flush_every * 20 : 0);

    f->gz = unit_need(realloc(f->gz, f->gz_len + room));
    f->data = unit_need(realloc(f->data, f->len + len + 1));
    memcpy(f->data + f->len, data, len);
    z.next_out = f->gz + f->gz_len;
    z.avail_out = (uInt)room;
    z.next_in = (Bytef *)(uintptr_t)data;
    while (result != Z_STREAM_END) {
        size_t n = len - done;

        if (way->flush_every > 0 && n > way->flush_every)
            n = way->flush_every;
        z.avail_in = (uInt)n;
        done += n;
        result = deflate(&z, done == len ? Z_FINISH : way->flush);
        if (result != Z_OK && result != Z_STREAM_END)
            abort();
    }
    f->gz_len += z.total_out;
    f->len += len;
    (void)deflateEnd(&z);
}

static void append_kind(struct file *f, size_t len, const struct input_kind *kind, uint64_t seed,
                        const struct way *way)
{
    uint8_t *data = unit_need(malloc(len + 1));

    fill_kind(data, len, kind, LONGEST_TOKEN, seed);
    append(f, data, len, way);
    free(data);
}

static void drop_file(struct file *f)
{
    free(f->gz);
    free(f->data);
    *f = (struct file){0};
}

static const struct input_kind words = {"words", WORDS, 0}, tokens = {"tokens", TOKENS, 200},
                               noise = {"noise", RANDOM, 0}, zeros = {"zeros", ZEROS, 0},
                               few = {"few", FEW_VALUES, 4}, many = {"many", FEW_VALUES, 200},
                               alike = {"alike", FEW_VALUES, 128};
static const struct way usual = {6, Z_DEFAULT_STRATEGY, 0, 0};

/* --- Blocks of flat codes --------------------------------------------------------------------- */

/* A Huffman code, whose first bit is the highest. */
static void put_code(struct bits *b, uint32_t code, unsigned n)
{
    while (n-- > 0)
        put_bits(b, code >> n & 1, 1);
}

/* Appends the header of a final block in which bytes have 8 bits, but 255 and the end have 9. */
static void put_flat_header(struct bits *w)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9};

    put_bits(w, 1, 1);
    put_bits(w, 2, 2);
    put_bits(w, 0, 5 + 5);
    put_bits(w, 7 - 4, 4);
    for (size_t i = 0; i < sizeof(order); i++)
        put_bits(w, order[i] == 17 || order[i] == 18 || order[i] == 7 ? 0 : 2, 3);
    /* The codes of 0, 8, 9 and 16 are 00, 01, 10 and 11. */
    put_code(w, 1, 2);
    for (unsigned i = 0; i < 42; i++) {
        put_code(w, 3, 2);
        put_bits(w, 3, 2);
    }
    put_code(w, 1, 2);
    put_code(w, 1, 2);
    put_code(w, 2, 2);
    put_code(w, 2, 2);
    put_code(w, 0, 2);
}

/* Appends a literal of a block of flat codes. */
static void put_literal(struct bits *b, struct file *f, uint8_t byte)
{
    f->data[f->len++] = byte;
    if (byte < 255)
        put_code(b, byte, 8);
    else
        put_code(b, 0x1fe, 9);
}

/* Appends a member of one block of `len` random literals. */
static void append_flat(struct file *f, size_t len, uint64_t seed)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    struct bytes gz = {0};
    struct bits w = {.to = &gz};
    const size_t start = f->len;

    f->data = unit_need(realloc(f->data, f->len + len + 1));
    add(&gz, header, sizeof(header));
    put_flat_header(&w);
    for (size_t i = 0; i < len; i++)
        put_literal(&w, f, (uint8_t)unit_below(&seed, 256));
    put_code(&w, 0x1ff, 9);
    end_bits(&w);
    add_le(&gz, crc32(0, f->data + start, (uInt)len), 4);
    add_le(&gz, len, 4);
    f->gz = unit_need(realloc(f->gz, f->gz_len + gz.len));
    memcpy(f->gz + f->gz_len, gz.data, gz.len);
    f->gz_len += gz.len;
    drop(&gz);
}

/* --- Decompression ---------------------------------------------------------------------------- */

/* Decompresses in[0..len) to `room` bytes of memory, and compares the output with f->data.  The
 * input's address in the device's memory is `shift` above a multiple of 256. */
static enum gpu_inflate_result inflate_bytes(struct gpu_inflate *g, const uint8_t *in, size_t len,
                                             const struct file *f, size_t room, size_t shift)
{
    enum { GUARD = 64 };
    uint8_t *device_in = device_alloc(len + shift), *device_out = device_alloc(room + GUARD);
    uint8_t *out = unit_need(malloc(room + GUARD));
    char error[GPU_ERROR_SIZE] = "";
    enum gpu_inflate_result result;
    size_t out_len = 77;

    memset(out, 0xa5, room + GUARD);
    device_put(device_out, out, room + GUARD);
    device_put(device_in + shift, in, len);
    result = gpu_inflate(g, device_in + shift, len, device_out, room, &out_len, NULL, NULL, error);
    device_get(out, device_out, room + GUARD);
    if (result == GPU_INFLATE_DONE)
        CHECK(out_len == f->len && memcmp(out, f->data, f->len) == 0);
    else
        CHECK_EQ(out_len, 0);
    CHECK((error[0] != '\0') == (result != GPU_INFLATE_DONE));
    for (size_t i = 0; i < GUARD; i++)
        CHECK_EQ(out[room + i], 0xa5);
    device_free(device_in);
    device_free(device_out);
    free(out);
    return result;
}

static struct gpu_inflate *open_device(struct gpu_inflate_options options)
{
    char error[GPU_ERROR_SIZE];

    return unit_need(gpu_inflate_open(0, &options, error));
}

/* Memory that gpu_inflate_new asks for. */
struct memory {
    uint8_t *bytes;
    size_t size;
    int asked;
    bool is_short;
};

static uint8_t *allocate(void *ctx, size_t size)
{
    struct memory *m = ctx;

    m->asked++;
    m->size = size;
    m->bytes = m->is_short ? NULL : device_alloc(size);
    return m->bytes;
}

/* The size is known before there is output, and memory is asked for once. */
static void check_new(struct gpu_inflate *g, const struct file *f)
{
    uint8_t *device_in = device_alloc(f->gz_len), *out = unit_need(malloc(f->len + 1));
    char error[GPU_ERROR_SIZE] = "";
    struct memory m = {0}, none = {.is_short = true};
    uint64_t size = 77;
    size_t made = 77;

    device_put(device_in, f->gz, f->gz_len);
    CHECK_EQ(gpu_inflate_count(g, device_in, f->gz_len, &size, NULL, NULL, error),
             GPU_INFLATE_DONE);
    CHECK_EQ(size, f->len);
    CHECK_EQ(gpu_inflate_new(g, device_in, f->gz_len, allocate, &made, NULL, &m, error),
             GPU_INFLATE_DONE);
    CHECK(m.asked == 1 && m.size == f->len && made == f->len);
    device_get(out, m.bytes, f->len);
    CHECK(memcmp(out, f->data, f->len) == 0);
    device_free(m.bytes);
    if (f->len > 0) {
        CHECK_EQ(gpu_inflate_new(g, device_in, f->gz_len, allocate, &made, NULL, &none, error),
                 GPU_INFLATE_STOPPED);
        CHECK(none.asked == 1 && made == 0);
    }
    device_free(device_in);
    free(out);
}

/* A batch for a whole file.  The usual batch is 128 MiB, and setting its memory to a value takes
 * most of the emulation's time.  Only test_reaches_too_far uses a batch of the usual size. */
#define WHOLE ((size_t)2 << 20)

/* Decompresses a file in one batch and one group, and in several batches and groups. */
static void check_file(const struct file *f)
{
    static const struct gpu_inflate_options some[] = {{.batch = WHOLE, .symbols = 4 << 20},
                                                      {.batch = 40 << 10, .symbols = 300 << 10}};

    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
        struct gpu_inflate *g = open_device(some[i]);

        CHECK_EQ(inflate_bytes(g, f->gz, f->gz_len, f, f->len, i), GPU_INFLATE_DONE);
        check_new(g, f);
        gpu_inflate_close(g);
    }
}

static void test_levels(void)
{
    for (int level = 1; level <= 9; level += 4) {
        const struct way way = {level, Z_DEFAULT_STRATEGY, 0, 0};
        struct file f = {0};

        append_kind(&f, 300 * KIB + 7, level == 1 ? &tokens : &words, (uint64_t)level, &way);
        check_file(&f);
        drop_file(&f);
    }
}

static void test_strategies(void)
{
    static const struct way ways[] = {{6, Z_HUFFMAN_ONLY, 0, 0},
                                      {6, Z_RLE, 0, 0},
                                      {6, Z_FILTERED, 0, 0},
                                      {1, Z_FIXED, 0, 0},
                                      {0, Z_DEFAULT_STRATEGY, 0, 0}};

    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        struct file f = {0};

        append_kind(&f, 90 * KIB, i % 2 == 0 ? &words : &few, i, &ways[i]);
        check_file(&f);
        drop_file(&f);
    }
}

static void test_kinds(void)
{
    static const struct input_kind *const kinds[] = {&noise, &zeros, &few, &tokens};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct file f = {0};

        append_kind(&f, 200 * KIB, kinds[i], i, &usual);
        check_file(&f);
        drop_file(&f);
    }
}

/* If all codes have nearly the same length, decoders that start at different bits do not get into
 * step.  With the first limit, all units are long.  With the second, wide teams count the longest
 * block, and warps leave the other units to teams.  With the third, warps leave all units. */
static void test_codes_of_one_length(void)
{
    static const struct way way = {6, Z_HUFFMAN_ONLY, 0, 0};
    static const size_t longer[] = {1000, 40 * KIB, WHOLE};
    struct file f = {0};

    append_kind(&f, 150 * KIB, &alike, 1, &way);
    append_flat(&f, 100 * KIB, 3);
    append_kind(&f, 150 * KIB, &many, 2, &usual);
    for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); i++) {
        struct gpu_inflate *g = open_device(
            (struct gpu_inflate_options){.batch = WHOLE, .symbols = 4 << 20, .longer = longer[i]});

        CHECK_EQ(inflate_bytes(g, f.gz, f.gz_len, &f, f.len, 0), GPU_INFLATE_DONE);
        gpu_inflate_close(g);
    }
    drop_file(&f);
}

/* Runs of a few bytes that repeat, each with a copy after it: many matches of one distance, and
 * then one of another. */
static void test_runs(void)
{
    const size_t len = 280 * KIB;
    uint8_t *data = unit_need(malloc(len));
    struct file f = {0};
    uint64_t seed = 6;

    for (size_t i = 0; i < len;) {
        const size_t period = 1 + (size_t)unit_below(&seed, 7);
        const size_t run = i + period + (size_t)unit_below(&seed, 20000), copy = run + 200;

        for (size_t k = 0; i < len && i < run; i++, k++)
            data[i] = k < period ? (uint8_t)unit_rand(&seed) : data[i - period];
        for (; i < len && i < copy; i++)
            data[i] = i < 30000 ? 0 : data[i - 30000];
    }
    append(&f, data, len, &usual);
    check_file(&f);
    drop_file(&f);
    free(data);
}

/* Appends a member of BGZF: its header's extra field has the member's size. */
static void append_bgzf(struct file *f, size_t len, uint64_t seed)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 4,   0,   0, 0, 0, 0,
                                     0xff, 6,    0, 'B', 'C', 2, 0, 0, 0};
    const size_t start = f->gz_len;

    append_kind(f, len, &words, seed, &usual);
    /* zlib's header has 10 bytes. */
    f->gz = unit_need(realloc(f->gz, f->gz_len + sizeof(header)));
    memmove(f->gz + start + sizeof(header), f->gz + start + 10, f->gz_len - start - 10);
    memcpy(f->gz + start, header, sizeof(header));
    f->gz_len += sizeof(header) - 10;
    f->gz[start + 16] = (uint8_t)(f->gz_len - start - 1);
    f->gz[start + 17] = (uint8_t)((f->gz_len - start - 1) >> 8);
}

static void test_bgzf(void)
{
    struct file f = {0};

    for (uint64_t i = 0; i < 6; i++)
        append_bgzf(&f, 60 * KIB + (size_t)i, i);
    append_bgzf(&f, 0, 0);
    check_file(&f);
    /* After members of BGZF comes a member of many blocks. */
    append_kind(&f, 250 * KIB, &words, 9, &usual);
    check_file(&f);
    drop_file(&f);
}

/* True if zlib accepts the members in gz[0..len), and they give data[0..data_len). */
static bool is_right(const uint8_t *gz, size_t len, const uint8_t *data, size_t data_len)
{
    uint8_t *out = unit_need(malloc(data_len + 1));
    z_stream z = {.next_in = (Bytef *)(uintptr_t)gz, .avail_in = (uInt)len, .next_out = out};
    bool is_good = true;

    z.avail_out = (uInt)data_len + 1;
    CHECK_EQ(inflateInit2(&z, 15 + 16), Z_OK);
    while (is_good && z.avail_in > 0) {
        is_good = inflate(&z, Z_FINISH) == Z_STREAM_END;
        if (is_good && z.avail_in > 0)
            CHECK_EQ(inflateReset(&z), Z_OK);
    }
    is_good = is_good && (size_t)(z.next_out - out) == data_len && memcmp(out, data, data_len) == 0;
    (void)inflateEnd(&z);
    free(out);
    return is_good;
}

/* Flipped bits and cuts: the GPU must make zlib's output, or leave the file to the CPU. */
static void test_damage(void)
{
    struct file f = {0};
    struct gpu_inflate *g = open_device(
        (struct gpu_inflate_options){.batch = 40 << 10, .symbols = 300 << 10, .longer = 8000});
    uint64_t seed = 5;
    uint8_t *bad;

    append_kind(&f, 120 * KIB, &words, 1,
                &(struct way){6, Z_DEFAULT_STRATEGY, 30 * KIB, Z_FULL_FLUSH});
    append_kind(&f, 60 * KIB, &many, 2, &usual);
    bad = unit_need(malloc(f.gz_len));
    for (int i = 0; i < (UNIT_SANITIZED ? 20 : 100); i++) {
        const size_t at = (size_t)unit_below(&seed, f.gz_len);
        size_t len = f.gz_len;

        memcpy(bad, f.gz, f.gz_len);
        bad[at] ^= (uint8_t)(1 << i % 8);
        if (i % 4 == 3)
            len = at;
        if (inflate_bytes(g, bad, len, &f, f.len, 0) == GPU_INFLATE_DONE)
            CHECK(is_right(bad, len, f.data, f.len));
    }
    free(bad);
    gpu_inflate_close(g);
    drop_file(&f);
}

/* Tests flushes of all kinds, after which blocks of all kinds start. */
static void test_flushes(void)
{
    static const int flushes[] = {Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_BLOCK, Z_PARTIAL_FLUSH};

    for (size_t i = 0; i < sizeof(flushes) / sizeof(*flushes); i++) {
        const struct way way = {6, Z_DEFAULT_STRATEGY, 10 * KIB, flushes[i]};
        struct file f = {0};

        append_kind(&f, 150 * KIB, &words, i, &way);
        append_kind(&f, 50 * KIB, &noise, i, &way);
        check_file(&f);
        drop_file(&f);
    }
}

static void test_members(void)
{
    struct file f = {0};

    for (unsigned i = 0; i < 20; i++)
        append_kind(&f, i * i * 200,
                    i % 3 == 0   ? &words
                    : i % 3 == 1 ? &noise
                                 : &tokens,
                    i, &usual);
    check_file(&f);
    drop_file(&f);
}

static void test_small_files(void)
{
    for (size_t len = 0; len < 300; len = 3 * len + 1) {
        struct file f = {0};

        append_kind(&f, len, &words, len, &usual);
        check_file(&f);
        drop_file(&f);
    }
}

/* The GPU leaves input to the CPU if it is damaged, cut off or followed by other bytes, or if its
 * output has no room. */
static void test_left(void)
{
    struct gpu_inflate *g =
        open_device((struct gpu_inflate_options){.batch = WHOLE, .symbols = 1 << 20});
    struct file f = {0};
    uint64_t random = 5;

    append_kind(&f, 100 * KIB, &words, 1, &usual);
    CHECK_EQ(inflate_bytes(g, f.gz, f.gz_len, &f, f.len, 0), GPU_INFLATE_DONE);
    CHECK_EQ(inflate_bytes(g, f.gz, f.gz_len, &f, f.len - 1, 0), GPU_INFLATE_LEFT);
    CHECK_EQ(inflate_bytes(g, f.gz, 0, &f, f.len, 0), GPU_INFLATE_LEFT);
    for (unsigned i = 0; i < (UNIT_SANITIZED ? 10 : 60); i++)
        CHECK_EQ(inflate_bytes(g, f.gz, unit_below(&random, f.gz_len), &f, f.len, 0),
                 GPU_INFLATE_LEFT);
    /* A flipped bit can be one of the few in the header that do not matter. */
    for (unsigned i = 0; i < (UNIT_SANITIZED ? 20 : 200); i++) {
        const size_t bit = 80 + unit_below(&random, 8 * f.gz_len - 80);

        f.gz[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        CHECK_EQ(inflate_bytes(g, f.gz, f.gz_len, &f, f.len, 0), GPU_INFLATE_LEFT);
        f.gz[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    /* A wrong length in the trailer is found before there is output; a wrong CRC is not. */
    for (size_t i = 1; i < 9; i += 4) {
        struct memory m = {0};
        size_t made = 77;
        char error[GPU_ERROR_SIZE] = "";

        f.gz[f.gz_len - i] ^= 1;
        uint8_t *device_in = device_alloc(f.gz_len);

        device_put(device_in, f.gz, f.gz_len);
        CHECK_EQ(gpu_inflate_new(g, device_in, f.gz_len, allocate, &made, NULL, &m, error),
                 GPU_INFLATE_LEFT);
        CHECK(made == 0 && m.asked == (i > 4));
        device_free(m.bytes);
        device_free(device_in);
        f.gz[f.gz_len - i] ^= 1;
    }
    f.gz = unit_need(realloc(f.gz, f.gz_len + 100));
    memset(f.gz + f.gz_len, 0, 100);
    CHECK_EQ(inflate_bytes(g, f.gz, f.gz_len + 100, &f, f.len, 0), GPU_INFLATE_LEFT);
    gpu_inflate_close(g);
    drop_file(&f);
}

/* A match reaches back to before the start of its member.  The CRC would be right if the match
 * copied bytes of the member before. */
static void test_reaches_too_far(void)
{
    struct gpu_inflate *g = open_device((struct gpu_inflate_options){.symbols = 1 << 20});
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    const uint8_t abc[] = "abc";
    struct bytes match = {0};
    struct bits b = {.to = &match};
    struct file f = {0};

    /* A final, fixed block: a match of 3 bytes at distance 3, and the end. */
    add(&match, header, sizeof(header));
    put_bits(&b, 3, 3);
    put_code(&b, 1, 7);
    put_code(&b, 2, 5);
    put_code(&b, 0, 7);
    end_bits(&b);
    add_le(&match, crc32(0, abc, 3), 4);
    add_le(&match, 3, 4);
    append(&f, abc, 3, &usual);
    f.gz = unit_need(realloc(f.gz, f.gz_len + match.len));
    memcpy(f.gz + f.gz_len, match.data, match.len);
    f.data = unit_need(realloc(f.data, 6));
    memcpy(f.data + 3, abc, 3);
    f.len = 6;
    CHECK_EQ(inflate_bytes(g, f.gz, f.gz_len + match.len, &f, f.len, 0), GPU_INFLATE_LEFT);
    gpu_inflate_close(g);
    drop(&match);
    drop_file(&f);
}

/* --- A member inside of a block --------------------------------------------------------------- */

static size_t count_bits(const struct bits *b)
{
    return 8 * b->to->len + b->n;
}

static uint8_t reversed(uint8_t byte)
{
    uint8_t result = 0;

    for (unsigned i = 0; i < 8; i++)
        result |= (uint8_t)((byte >> i & 1) << (7 - i));
    return result;
}

/* Makes a member's header and a fixed block of long matches.  The outer block has these bytes as
 * literals. */
static void make_inner(struct bits *b)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

    add(b->to, header, sizeof(header));
    put_bits(b, 2, 3);          /* not final, fixed */
    put_code(b, 0x30 + 'a', 8); /* a literal */
    while (count_bits(b) < 80 + 128 * 80) {
        put_code(b, 0xc5, 8); /* length 258 */
        put_code(b, 0, 5);    /* distance 1 */
    }
    put_code(b, 0, 7); /* the end */
    put_bits(b, 6, 3); /* an invalid block type */
    end_bits(b);
}

/* The most bytes of output of an outer block. */
#define OUTER_MAX (16 * KIB)

/* Makes a member with one final block, in whose data another member seems to start.  The headers of
 * `before` further members come before the inner member.  The device decodes the inner member, too,
 * but none of its output may get into the output of the block. */
static void make_outer(struct file *f, unsigned before)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    struct bytes raw = {0}, inner = {0};
    struct bits w = {.to = &raw}, inner_bits = {.to = &inner};
    size_t start;

    make_inner(&inner_bits);
    f->data = unit_need(calloc(1, OUTER_MAX));
    put_flat_header(&w);
    while (count_bits(&w) % 8 != 0)
        put_literal(&w, f, 255);
    while (count_bits(&w) < 204 * 128 || count_bits(&w) % 128 != 0)
        put_literal(&w, f, 'a');
    for (; before > 0; before--)
        for (size_t i = 0; i < sizeof(header); i++)
            put_literal(&w, f, reversed(header[i]));
    start = count_bits(&w) + 80;
    for (size_t i = 0; i < inner.len; i++)
        put_literal(&w, f, reversed(inner.data[i]));
    while (count_bits(&w) < start + 250 * 128)
        put_literal(&w, f, 'b');
    put_code(&w, 0x1ff, 9);
    end_bits(&w);
    struct bytes gz = {0};

    add(&gz, header, sizeof(header));
    add(&gz, raw.data, raw.len);
    add_le(&gz, crc32(0, f->data, (uInt)f->len), 4);
    add_le(&gz, f->len, 4);
    f->gz = gz.data;
    f->gz_len = gz.len;
    drop(&raw);
    drop(&inner);
}

/* Decompresses copies of the member as several inputs.  One of the inputs is bad, so that the
 * device searches for blocks in all of them. */
static void check_as_inputs(struct gpu_inflate *g, const struct file *f)
{
    enum { COUNT = 4, BAD = 2, HEADER = 10, TRAILER = 8 };
    struct gpu_inflate_input inputs[COUNT];
    const size_t in_len = f->gz_len - HEADER - TRAILER;
    uint8_t *const bad = unit_need(malloc(in_len)), *const out = unit_need(malloc(f->len));
    uint8_t *const device_in = device_alloc(2 * in_len);
    char error[GPU_ERROR_SIZE] = "";

    memcpy(bad, f->gz + HEADER, in_len);
    bad[0] |= 6;
    device_put(device_in, f->gz + HEADER, in_len);
    device_put(device_in + in_len, bad, in_len);
    for (size_t i = 0; i < COUNT; i++)
        inputs[i] = (struct gpu_inflate_input){.in = device_in + (i == BAD ? in_len : 0),
                                               .in_len = in_len,
                                               .out = device_alloc(f->len),
                                               .room = f->len};
    CHECK_EQ(gpu_inflate_many(g, inputs, COUNT, CONTAINER_RAW, NULL, NULL, error),
             GPU_INFLATE_DONE);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_EQ(inputs[i].result, i == BAD ? GPU_INFLATE_LEFT : GPU_INFLATE_DONE);
        device_get(out, inputs[i].out, f->len);
        CHECK(i == BAD || (inputs[i].made == f->len && memcmp(out, f->data, f->len) == 0));
        device_free(inputs[i].out);
    }
    device_free(device_in);
    free(bad);
    free(out);
}

static void check_outer(const struct file *f)
{
    static const size_t longer[] = {0, 1, 2500, 5000};
    uint8_t out[OUTER_MAX];
    z_stream z = {0};

    /* zlib must accept the member. */
    CHECK_EQ(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = f->gz;
    z.avail_in = (uInt)f->gz_len;
    z.next_out = out;
    z.avail_out = sizeof(out);
    CHECK_EQ(inflate(&z, Z_FINISH), Z_STREAM_END);
    CHECK(z.total_out == f->len && memcmp(out, f->data, f->len) == 0);
    (void)inflateEnd(&z);
    for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); i++) {
        struct gpu_inflate *g = open_device(
            (struct gpu_inflate_options){.batch = WHOLE, .symbols = 4 << 20, .longer = longer[i]});

        CHECK_EQ(inflate_bytes(g, f->gz, f->gz_len, f, f->len, 0), GPU_INFLATE_DONE);
        check_as_inputs(g, f);
        gpu_inflate_close(g);
    }
}

/* Members that seem to start use 8 maps in turn (GPU_MAPS in gpu/cuda/inflate/pieces.cuh).  So
 * every eighth of them shares a map with the member that contains them. */
static void test_member_in_a_block(void)
{
    static const unsigned before[] = {0, 6, 7, 8, 15};

    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
        struct file f = {0};

        make_outer(&f, before[i]);
        check_outer(&f);
        drop_file(&f);
    }
}

/* Tests a device that fails at each call, and one that makes a wrong byte. */
static void test_failures(void)
{
    struct file f = {0};
    enum gpu_inflate_result result = GPU_INFLATE_FAILED;
    long good_calls = 0;

    append_kind(&f, 60 * KIB, &words, 1, &usual);
    for (; result == GPU_INFLATE_FAILED && good_calls < 1000; good_calls++) {
        struct gpu_inflate *g = open_device((struct gpu_inflate_options){
            .batch = 40 << 10, .symbols = 1 << 20, .fails = true, .good_calls = good_calls});

        result = inflate_bytes(g, f.gz, f.gz_len, &f, f.len, 0);
        gpu_inflate_close(g);
    }
    CHECK_EQ(result, GPU_INFLATE_DONE);
    CHECK(good_calls > 10);

    struct gpu_inflate *g =
        open_device((struct gpu_inflate_options){.symbols = 1 << 20, .is_wrong = true});

    CHECK_EQ(inflate_bytes(g, f.gz, f.gz_len, &f, f.len, 0), GPU_INFLATE_LEFT);
    gpu_inflate_close(g);
    drop_file(&f);
}

/* With the argument `quick`, runs only tests that do not take long under compute-sanitizer. */
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "quick") == 0) {
        RUN(test_flushes);
        RUN(test_reaches_too_far);
        return unit_done();
    }
    RUN(test_levels);
    RUN(test_strategies);
    RUN(test_kinds);
    RUN(test_codes_of_one_length);
    RUN(test_runs);
    RUN(test_bgzf);
    RUN(test_damage);
    RUN(test_flushes);
    RUN(test_members);
    RUN(test_small_files);
    RUN(test_left);
    RUN(test_reaches_too_far);
    RUN(test_member_in_a_block);
    RUN(test_failures);
    return unit_done();
}
