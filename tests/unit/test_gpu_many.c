/*
 * test_gpu_many.c - a GPU decompresses many small inputs that zlib has compressed, side by side
 *
 * tests/unit/test_gpu_many runs the kernels on an emulated device, and tests/gpu/test_gpu_many,
 * which `make check-gpu` builds from the same source, on a real one.
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "gpu/inflate.h"
#include "tests/unit/device.h"
#include "tests/unit/encoders.h"
#include "tests/unit/inputs.h"

#define KIB ((size_t)1 << 10)

/* zlib's window bits for each format. */
static const int window_bits[] = {
    [CONTAINER_GZIP] = 15 + 16, [CONTAINER_ZLIB] = 15, [CONTAINER_RAW] = -15};

/* An input: its compressed bytes, and its data. */
struct input {
    uint8_t *packed, *data;
    size_t packed_len, len;
    size_t room;     /* for the output */
    bool is_left;    /* the GPU must leave the input to the CPU */
    bool may_be_any; /* the damage may not matter, so zlib's result decides */
};

static const struct input_kind words = {"words", WORDS, 0}, noise = {"noise", RANDOM, 0},
                               zeros = {"zeros", ZEROS, 0}, many = {"many", FEW_VALUES, 200};

/* Makes an input of len bytes of the given kind.  Level 10 stands for fixed codes. */
static void make_input(struct input *i, size_t len, const struct input_kind *kind, int level,
                       uint64_t seed, enum container format)
{
    z_stream z = {0};
    const size_t room = compressBound((uLong)len) + 1000;

    *i = (struct input){.packed = unit_need(malloc(room)),
                        .data = unit_need(malloc(len + 1)),
                        .len = len,
                        .room = len};
    fill_kind(i->data, len, kind, LONGEST_TOKEN, seed);
    if (deflateInit2(&z, level > 9 ? 6 : level, Z_DEFLATED, window_bits[format], 8,
                     level > 9 ? Z_FIXED : Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    z.next_in = i->data;
    z.avail_in = (uInt)len;
    z.next_out = i->packed;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    i->packed_len = z.total_out;
    (void)deflateEnd(&z);
}

/* True if zlib reads all compressed bytes of the input, and decompresses them to the input's
 * data. */
static bool is_right(const struct input *i, enum container format)
{
    uint8_t *out = unit_need(malloc(i->len + 1));
    z_stream z = {.next_in = i->packed,
                  .avail_in = (uInt)i->packed_len,
                  .next_out = out,
                  .avail_out = (uInt)i->len + 1};
    bool is;

    CHECK_EQ(inflateInit2(&z, window_bits[format]), Z_OK);
    is = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0 && z.total_out == i->len &&
         (format == CONTAINER_RAW || memcmp(out, i->data, i->len) == 0);
    /* Raw DEFLATE has no checksum, so zlib's output counts as right. */
    if (is && format == CONTAINER_RAW)
        memcpy(i->data, out, i->len);
    (void)inflateEnd(&z);
    free(out);
    return is;
}

/* --- Calls ------------------------------------------------------------------------------------ */

enum { GUARD = 32 };

/* Where inputs are. */
enum place { HOST, DEVICE, BLOCK /* all in one block of the device's memory */ };

struct calls {
    uint64_t in, out;
    int count, most;
};

static bool goes_on(void *ctx, uint64_t in, uint64_t out)
{
    struct calls *c = ctx;

    CHECK(in >= c->in && out >= c->out);
    c->in = in;
    c->out = out;
    return ++c->count < c->most;
}

/* Decompresses inputs[0..count), and compares outputs and results. */
static void check_inputs(struct gpu_inflate *g, const struct input *inputs, size_t count,
                         enum container format, enum place place)
{
    struct gpu_inflate_input *work = unit_need(calloc(count + 1, sizeof(*work)));
    struct calls calls = {.most = 1000000};
    char error[GPU_ERROR_SIZE] = "";
    size_t packed = 0, at = 0, made = 0;
    uint8_t *block, *out = NULL;

    for (size_t i = 0; i < count; i++)
        packed += inputs[i].packed_len;
    block = place == HOST ? unit_need(malloc(packed + 1)) : device_alloc(packed);
    device_hide(block, place == HOST ? packed : 0);
    for (size_t i = 0; i < count; i++) {
        const struct input *from = &inputs[i];
        uint8_t *copy = block + at;

        if (place == DEVICE)
            copy = device_alloc(from->packed_len);
        if (place == HOST)
            memcpy(copy, from->packed, from->packed_len);
        else
            device_put(copy, from->packed, from->packed_len);
        at += from->packed_len;
        work[i].in = copy;
        work[i].in_len = from->packed_len;
        work[i].in_block = place == BLOCK ? block : NULL;
        work[i].room = from->room;
        work[i].out = device_alloc(from->room + GUARD);
        out = unit_need(realloc(out, from->room + GUARD));
        memset(out, 0xa5, from->room + GUARD);
        device_put(work[i].out, out, from->room + GUARD);
    }
    CHECK_EQ(gpu_inflate_many(g, work, count, format, goes_on, &calls, error), GPU_INFLATE_DONE);
    for (size_t i = 0; i < count; i++) {
        const struct input *from = &inputs[i];
        bool is_right_one = !from->is_left;

        if (from->may_be_any)
            is_right_one = work[i].result == GPU_INFLATE_DONE && is_right(from, format);
        CHECK_EQ(work[i].result, is_right_one ? GPU_INFLATE_DONE : GPU_INFLATE_LEFT);
        CHECK_EQ(work[i].made, is_right_one ? from->len : 0);
        made += work[i].made;
        out = unit_need(realloc(out, from->room + GUARD));
        device_get(out, work[i].out, from->room + GUARD);
        CHECK(!is_right_one || memcmp(out, from->data, from->len) == 0);
        for (size_t k = 0; k < GUARD; k++)
            CHECK_EQ(out[from->room + k], 0xa5);
        device_free(work[i].out);
        if (place == DEVICE)
            device_free((void *)(uintptr_t)work[i].in);
    }
    CHECK_EQ(calls.in, packed);
    CHECK_EQ(calls.out, made);
    device_hide(NULL, 0);
    if (place == HOST)
        free(block);
    else
        device_free(block);
    free(out);
    free(work);
}

static void drop_inputs(struct input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(inputs[i].packed);
        free(inputs[i].data);
    }
}

/* An engine whose batches hold all inputs, and one whose batches hold only a few. */
static const struct gpu_inflate_options some[] = {
    {.batch = (size_t)1 << 20, .symbols = (size_t)2 << 20},
    {.batch = (size_t)40 << 10, .symbols = (size_t)300 << 10, .longer = 5000}};

static struct gpu_inflate *open_device(const struct gpu_inflate_options *options)
{
    char error[GPU_ERROR_SIZE];

    return unit_need(gpu_inflate_open(0, options, error));
}

/* --- Tests ------------------------------------------------------------------------------------ */

/* Tests inputs of all sizes, kinds and levels, in all formats and in all places. */
static void test_sizes(void)
{
    static const struct input_kind *const kinds[] = {&words, &noise, &many, &zeros};
    enum { COUNT = 60 };

    for (size_t k = 0; k < sizeof(some) / sizeof(*some); k++) {
        struct gpu_inflate *g = open_device(&some[k]);

        for (int format = CONTAINER_GZIP; format <= CONTAINER_RAW; format++) {
            struct input inputs[COUNT];

            for (size_t i = 0; i < COUNT; i++) {
                const size_t len = i < 10 ? i : i % 7 == 0 ? 31 * KIB + i : (i * i * 7) % 9000;

                make_input(&inputs[i], len, kinds[i % 4], (int)(i % 11), i, (enum container)format);
                inputs[i].room += i % 3;
            }
            check_inputs(g, inputs, COUNT, (enum container)format, (enum place)(format % 3));
            drop_inputs(inputs, COUNT);
        }
        gpu_inflate_close(g);
    }
}

/* Tests inputs of many blocks among small ones, and one that is longer than a batch. */
static void test_long_inputs(void)
{
    for (size_t k = 0; k < sizeof(some) / sizeof(*some); k++) {
        struct gpu_inflate *g = open_device(&some[k]);

        for (int format = CONTAINER_GZIP; format <= CONTAINER_RAW; format++) {
            struct input inputs[5];

            for (size_t i = 0; i < 5; i++)
                make_input(&inputs[i], i % 2 == 0 ? 1000 * i + 1 : 110 * KIB * i, &words, 6, i,
                           (enum container)format);
            for (size_t i = 0; i < 5; i++)
                inputs[i].is_left = inputs[i].packed_len > some[k].batch - 32;
            check_inputs(g, inputs, 5, (enum container)format, BLOCK);
            drop_inputs(inputs, 5);
        }
        gpu_inflate_close(g);
    }
}

/* The GPU leaves bad inputs to the CPU.  Good inputs are before and after each bad input. */
static void test_left(void)
{
    enum { COUNT = 40 };
    uint64_t random = 3;

    for (size_t k = 0; k < sizeof(some) / sizeof(*some); k++) {
        struct gpu_inflate *g = open_device(&some[k]);

        for (int format = CONTAINER_GZIP; format <= CONTAINER_RAW; format++) {
            struct input inputs[COUNT];

            for (size_t i = 0; i < COUNT; i++) {
                struct input *bad = &inputs[i];

                make_input(bad, 3000 + 100 * i, i % 4 == 1 ? &many : &words, 6, i,
                           (enum container)format);
                if (i % 2 == 0)
                    continue;
                switch (i % 5) {
                case 0: /* too little room */
                    bad->room--;
                    bad->is_left = true;
                    break;
                case 1: /* a byte after the data */
                    bad->packed[bad->packed_len++] = 0;
                    bad->is_left = true;
                    break;
                case 2: /* cut off */
                    bad->packed_len = 1 + (size_t)unit_below(&random, bad->packed_len - 1);
                    bad->is_left = true;
                    break;
                default: /* flipped bits */
                    for (size_t n = 0; n < i % 3 + 1; n++)
                        bad->packed[unit_below(&random, bad->packed_len)] ^=
                            (uint8_t)(1u << unit_below(&random, 8));
                    bad->may_be_any = true;
                }
            }
            check_inputs(g, inputs, COUNT, (enum container)format, DEVICE);
            drop_inputs(inputs, COUNT);
        }
        gpu_inflate_close(g);
    }
}

/* Makes an input of stored blocks.  The end of each block looks like the ends of many blocks. */
static void make_markers(struct input *i, size_t len, enum container format)
{
    static const uint8_t marker[] = {0, 0, 0xff, 0xff};

    make_input(i, len, &words, 0, 1, format);
    for (size_t at = 20; at + 40 < i->packed_len; at += 4)
        memcpy(i->packed + at, marker, 4);
    i->may_be_any = format == CONTAINER_RAW;
    i->is_left = format != CONTAINER_RAW;
}

/* Tests an input that looks as if it had more blocks than a batch has room for.  The inputs beside
 * it are decompressed nevertheless. */
static void test_markers(void)
{
    enum { COUNT = 9 };
    struct gpu_inflate *g = open_device(&some[0]);

    for (int way = 0; way < 6; way++) {
        const enum container format = (enum container)(way % 3);
        struct input inputs[COUNT];

        for (size_t i = 0; i < COUNT; i++) {
            /* If no input is long, the device searches for blocks only if an input is bad. */
            if (i == 4 || (way < 3 && i == 5))
                make_markers(&inputs[i], way < 3 ? 25 * KIB : 60 * KIB, format);
            else
                make_input(&inputs[i], 900 * i, &words, 6, i, format);
        }
        check_inputs(g, inputs, COUNT, format, BLOCK);
        drop_inputs(inputs, COUNT);
    }
    gpu_inflate_close(g);
}

/* Tests more inputs than a batch can have.  Most inputs are empty: they have a fixed block without
 * codes. */
static void test_tiny_inputs(void)
{
    enum { COUNT = 1300 };
    struct gpu_inflate *g = open_device(&some[1]);
    struct input *inputs = unit_need(calloc(COUNT, sizeof(*inputs)));

    for (size_t i = 0; i < COUNT; i++)
        make_input(&inputs[i], i % 100 == 0 ? 100 : i % 3 == 0, &words, 6, i, CONTAINER_RAW);
    check_inputs(g, inputs, COUNT, CONTAINER_RAW, BLOCK);
    drop_inputs(inputs, COUNT);
    free(inputs);
    gpu_inflate_close(g);
}

/* Makes an input of stored blocks that has packed_len compressed bytes. */
static void make_of_size(struct input *i, size_t packed_len)
{
    size_t len = packed_len;

    for (;;) {
        make_input(i, len, &noise, 0, 1, CONTAINER_RAW);
        if (i->packed_len <= packed_len)
            break;
        len -= i->packed_len - packed_len;
        drop_inputs(i, 1);
    }
    CHECK_EQ(i->packed_len, packed_len);
}

/* The longest input for which a batch has room, at any address, is 32 bytes shorter than the
 * batch. */
static void test_longest(void)
{
    struct gpu_inflate *g = open_device(&some[1]);

    for (size_t shift = 0; shift < 20; shift++) {
        struct input inputs[4];

        /* Make the other inputs start at any distance from a multiple of 16. */
        make_input(&inputs[0], shift, &noise, 0, 1, CONTAINER_RAW);
        make_of_size(&inputs[1], some[1].batch - 32);
        make_of_size(&inputs[2], some[1].batch - 31);
        make_of_size(&inputs[3], some[1].batch - 32);
        inputs[2].is_left = true;
        check_inputs(g, inputs, 4, CONTAINER_RAW, BLOCK);
        drop_inputs(inputs, 4);
    }
    gpu_inflate_close(g);
}

/* Returns a raw stream of one match of 258 bytes, which reaches back to before the output. */
static struct bytes make_far_match(void)
{
    /* A fixed block; code 285, from its highest bit on; distance 29; extra bits; the block's
     * end. */
    static const char fields[] = "1"
                                 "10"
                                 "11000101"
                                 "11101"
                                 "0000000000000"
                                 "0000000";
    struct bytes stream = {0};
    struct bits b = {.to = &stream};

    for (size_t i = 0; fields[i] != '\0'; i++)
        put_bits(&b, fields[i] == '1', 1);
    end_bits(&b);
    return stream;
}

/* A match that reaches back too far must not get bytes of an earlier call, which may be another
 * user's data. */
static void test_earlier_bytes(void)
{
    struct gpu_inflate *g = open_device(&some[0]);
    struct bytes far = make_far_match();
    struct gpu_inflate_input work[2] = {{0}};
    char error[GPU_ERROR_SIZE] = "";
    uint8_t out[258];
    struct input secret;

    make_input(&secret, 50 * KIB, &noise, 6, 1, CONTAINER_RAW);
    work[0].in = secret.packed;
    work[0].in_len = secret.packed_len;
    work[0].room = secret.len;
    work[0].out = device_alloc(secret.len);
    work[1].in = far.data;
    work[1].in_len = far.len;
    work[1].room = sizeof(out);
    work[1].out = device_alloc(sizeof(out));
    memset(out, 0, sizeof(out));
    device_put(work[1].out, out, sizeof(out));
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(gpu_inflate_many(g, &work[i], 1, CONTAINER_RAW, NULL, NULL, error),
                 GPU_INFLATE_DONE);
        CHECK_EQ(work[i].result, i == 0 ? GPU_INFLATE_DONE : GPU_INFLATE_LEFT);
    }
    device_get(out, work[1].out, sizeof(out));
    for (size_t i = 0; i < sizeof(out); i++)
        CHECK_EQ(out[i], 0);
    device_free(work[0].out);
    device_free(work[1].out);
    drop_inputs(&secret, 1);
    drop(&far);
    gpu_inflate_close(g);
}

/* Tests calls without inputs and with empty inputs, and a call that is stopped. */
static void test_none(void)
{
    struct gpu_inflate *g = open_device(&some[1]);
    struct gpu_inflate_input work[40] = {{0}};
    struct calls calls = {.most = 2};
    char error[GPU_ERROR_SIZE] = "";
    struct input input;

    check_inputs(g, NULL, 0, CONTAINER_GZIP, HOST);
    make_input(&input, 20 * KIB, &noise, 1, 1, CONTAINER_ZLIB);
    for (size_t i = 0; i < 40; i++)
        work[i] = (struct gpu_inflate_input){.in = input.packed,
                                             .in_len = input.packed_len,
                                             .out = device_alloc(input.len),
                                             .room = input.len};
    CHECK_EQ(gpu_inflate_many(g, work, 40, CONTAINER_ZLIB, goes_on, &calls, error),
             GPU_INFLATE_STOPPED);
    CHECK_EQ(work[0].result, GPU_INFLATE_DONE);
    CHECK_EQ(work[39].result, GPU_INFLATE_LEFT);
    CHECK_EQ(work[39].made, 0);
    for (size_t i = 0; i < 40; i++)
        device_free(work[i].out);
    work[0].in_len = 0;
    CHECK_EQ(gpu_inflate_many(g, work, 1, CONTAINER_RAW, NULL, NULL, error), GPU_INFLATE_DONE);
    CHECK_EQ(work[0].result, GPU_INFLATE_LEFT);
    drop_inputs(&input, 1);
    gpu_inflate_close(g);
}

/* Tests a device that fails at each call, and one that makes a wrong byte. */
static void test_failures(void)
{
    enum gpu_inflate_result result = GPU_INFLATE_FAILED;
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_inflate_options options = some[0];
    struct gpu_inflate_input work = {0};
    struct input input;
    long good_calls = 0;

    make_input(&input, 20 * KIB, &words, 6, 1, CONTAINER_ZLIB);
    work.in = input.packed;
    work.in_len = input.packed_len;
    work.out = device_alloc(input.len);
    work.room = input.len;
    options.fails = true;
    for (; result == GPU_INFLATE_FAILED && good_calls < 1000; good_calls++) {
        options.good_calls = good_calls;
        struct gpu_inflate *g = open_device(&options);

        result = gpu_inflate_many(g, &work, 1, CONTAINER_ZLIB, NULL, NULL, error);
        CHECK_EQ(work.result, result == GPU_INFLATE_DONE ? GPU_INFLATE_DONE : GPU_INFLATE_LEFT);
        CHECK_EQ(work.made, result == GPU_INFLATE_DONE ? input.len : 0);
        gpu_inflate_close(g);
    }
    CHECK_EQ(result, GPU_INFLATE_DONE);
    CHECK(good_calls > 10);
    options.fails = false;
    options.is_wrong = true;

    struct gpu_inflate *g = open_device(&options);

    CHECK_EQ(gpu_inflate_many(g, &work, 1, CONTAINER_ZLIB, NULL, NULL, error), GPU_INFLATE_DONE);
    CHECK_EQ(work.result, GPU_INFLATE_LEFT);
    gpu_inflate_close(g);
    device_free(work.out);
    drop_inputs(&input, 1);
}

/* With the argument `quick`, runs only tests that do not take long under compute-sanitizer. */
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "quick") == 0) {
        RUN(test_long_inputs);
        return unit_done();
    }
    RUN(test_sizes);
    RUN(test_long_inputs);
    RUN(test_left);
    RUN(test_markers);
    RUN(test_tiny_inputs);
    RUN(test_longest);
    RUN(test_earlier_bytes);
    RUN(test_none);
    RUN(test_failures);
    return unit_done();
}
