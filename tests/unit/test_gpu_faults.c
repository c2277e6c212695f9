/*
 * test_gpu_faults.c - the GPU engines when calls of CUDA fail, copies go wrong, and kernels never
 * end
 *
 * The device is emulated; tests/emulation/faults.cu has the faults.  tests/faults/gpu.sh tests the
 * command in the same way.  This test also frees the engines, which the command does not do after a
 * GPU has failed, and has the calls that only the library makes.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/clock.h"
#include "gpu/gpu.h"
#include "gpu/inflate.h"
#include "tests/unit/device.h"
#include "tests/unit/inputs.h"
#include "tests/unit/unit.h"

/* tests/emulation/faults.cu */
void emulated_set_fault(const char *text);

/* Leak checkers: what a lost device may still write to is not freed, on purpose. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:make_host_memory\n";
}

enum { LEN = 150000, SEGMENT = 64 << 10, ROOM = 200000 };

/* The most seconds of a wait in these tests. */
#define SECONDS 0.02

static uint8_t data[LEN], gz[ROOM];
static size_t gz_len;

static void make_data(void)
{
    static const struct input_kind words = {"words", WORDS, 0};
    z_stream z = {.next_in = data, .avail_in = LEN, .next_out = gz, .avail_out = ROOM};

    fill_kind(data, LEN, &words, LONGEST_TOKEN, 7);
    CHECK_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    gz_len = z.total_out;
    (void)deflateEnd(&z);
}

/* Matches a batch at level 1, and frees everything.  Returns whether the GPU has matched it. */
static bool match(char error[GPU_ERROR_SIZE])
{
    const struct gpu_options options = {.seconds = SECONDS};
    struct gpu_engine *g = gpu_open(0, lz_level(1), SEGMENT, SEGMENT, 1, &options, error);
    struct gpu_batch *b = g != NULL ? gpu_new_batch(g, error) : NULL;
    unsigned index;
    bool ok = false;

    if (b != NULL) {
        memcpy(unit_need(gpu_batch_add(b, SEGMENT, &index)), data, SEGMENT);
        ok = gpu_submit(g, b, error) && gpu_collect(g, b, error);
        for (uint32_t c = 0; ok && c < LZ_CHUNKS(SEGMENT); c++)
            CHECK(gpu_batch_chunks(b, index)[c].count <= LZ_CHUNK_SIZE);
    }
    if (g != NULL) {
        gpu_free_batch(g, b);
        gpu_close(g);
    }
    return ok;
}

/* What the engine for decompression does. */
enum work { WHOLE, COUNT, NEW, MANY, STEPS, WORKS };

static uint8_t *out;

static uint8_t *allocate(void *ctx, size_t size)
{
    (void)ctx;
    CHECK_EQ(size, LEN);
    return out;
}

/* Decompresses the first batch of the sample in steps. */
static enum gpu_inflate_result inflate_in_steps(struct gpu_inflate *g, char error[GPU_ERROR_SIZE])
{
    static const uint8_t window[32768];
    struct gpu_inflate_output *o = unit_need(calloc(1, sizeof(*o)));
    enum gpu_inflate_result result = GPU_INFLATE_FAILED;

    memcpy(gpu_inflate_stage(g), gz, gz_len);
    if (gpu_inflate_put(g, 0, 0, gz_len, error))
        result = gpu_inflate_begin(g, gz_len, 80, window, 0, false, error);
    if (result == GPU_INFLATE_DONE)
        result = gpu_inflate_find(g, 0, 0, gz_len, error);
    if (result == GPU_INFLATE_DONE)
        result = gpu_inflate_next(g, 0, o, error);
    if (result == GPU_INFLATE_DONE) {
        const uint8_t *bytes = gpu_inflate_take(g, 0, 0, (size_t)o->length, 0, error);

        CHECK(o->length <= LEN);
        result = bytes == NULL ? GPU_INFLATE_FAILED : result;
        if (bytes != NULL)
            memcpy(out, bytes, (size_t)o->length);
    }
    free(o);
    return result;
}

static enum gpu_inflate_result do_work(struct gpu_inflate *g, enum work work,
                                       char error[GPU_ERROR_SIZE])
{
    struct gpu_inflate_input input = {.in = gz, .in_len = gz_len, .out = out, .room = LEN};
    enum gpu_inflate_result result;
    uint64_t size = 0;
    size_t made = 0;

    switch (work) {
    case WHOLE:
        return gpu_inflate(g, gz, gz_len, out, LEN, &made, NULL, NULL, error);
    case COUNT:
        result = gpu_inflate_count(g, gz, gz_len, &size, NULL, NULL, error);
        CHECK_EQ(size, result == GPU_INFLATE_DONE ? LEN : 0);
        return result;
    case NEW:
        return gpu_inflate_new(g, gz, gz_len, allocate, &made, NULL, NULL, error);
    case MANY:
        result = gpu_inflate_many(g, &input, 1, CONTAINER_GZIP, NULL, NULL, error);
        return result == GPU_INFLATE_DONE ? input.result : result;
    default:
        return inflate_in_steps(g, error);
    }
}

/* Does the work and frees everything.  If the engine is not opened, returns GPU_INFLATE_LEFT. */
static enum gpu_inflate_result decompress(enum work work, char error[GPU_ERROR_SIZE])
{
    const struct gpu_inflate_options options = {
        .seconds = SECONDS, .batch = 60000, .symbols = 1 << 20, .in_steps = work == STEPS};
    struct gpu_inflate *g = gpu_inflate_open(0, &options, error);
    enum gpu_inflate_result result = GPU_INFLATE_LEFT;

    memset(out, 0, LEN);
    if (g != NULL)
        result = do_work(g, work, error);
    if (result == GPU_INFLATE_DONE && work != COUNT && work != STEPS)
        CHECK(memcmp(out, data, LEN) == 0);
    gpu_inflate_close(g);
    return result;
}

/* Sets the fault KIND:NUMBER. */
static void set_fault(const char *kind, long number)
{
    char text[64];

    snprintf(text, sizeof(text), "%s:%ld", kind, number);
    emulated_set_fault(text);
}

/* A kernel never ends: each call returns in time, says so, and frees nothing that the kernel may
 * use.  (The emulated device stops the program if a call would wait for the kernel.) */
static void test_kernels_hang(void)
{
    char error[GPU_ERROR_SIZE];
    long kernels;

    for (kernels = 0;; kernels++) {
        const double start = clock_seconds();

        set_fault("hang", kernels);
        if (match(error))
            break;
        CHECK(strstr(error, "does not answer") != NULL);
        CHECK(clock_seconds() - start < 10);
    }
    CHECK(kernels >= 2);
    for (enum work work = 0; work < WORKS; work++) {
        enum gpu_inflate_result result;

        for (kernels = 0;; kernels++) {
            set_fault("hang", kernels);
            result = decompress(work, error);
            if (result == GPU_INFLATE_DONE)
                break;
            CHECK_EQ(result, work == STEPS ? GPU_INFLATE_FAILED : GPU_INFLATE_LOST);
            CHECK(strstr(error, "does not answer") != NULL);
        }
        CHECK(kernels >= 3);
    }
    emulated_set_fault(NULL);
}

/* After a loss, an engine fails at once, and nothing else of the process waits for the device until
 * its work has ended: neither an engine that would wait for 100 s, nor a copier, which would wait
 * for a minute. */
static void test_lost_for_good(void)
{
    const struct gpu_inflate_options options = {.seconds = SECONDS, .batch = 60000};
    const struct gpu_inflate_options patient = {.seconds = 100, .batch = 60000};
    char error[GPU_ERROR_SIZE];
    struct gpu_inflate *g = unit_need(gpu_inflate_open(0, &options, error));
    struct gpu_inflate *other = unit_need(gpu_inflate_open(0, &patient, error));
    struct gpu_copier *copier;
    double start;

    set_fault("hang", 0);
    CHECK_EQ(do_work(g, WHOLE, error), GPU_INFLATE_LOST);
    start = clock_seconds();
    CHECK_EQ(do_work(g, WHOLE, error), GPU_INFLATE_LOST);
    CHECK_EQ(do_work(other, WHOLE, error), GPU_INFLATE_LOST);
    CHECK(gpu_new_copier(0, error) == NULL);
    CHECK(strstr(error, "does not answer") != NULL);
    CHECK(clock_seconds() - start < 50);
    gpu_inflate_close(other);
    gpu_inflate_close(g);
    emulated_set_fault(NULL);
    copier = unit_need(gpu_new_copier(0, error));
    gpu_free_copier(copier);
}

/* Calls fail, once or from then on: the result is a failure, or right. */
static void test_calls_fail(void)
{
    static const char *const kinds[] = {"memory", "short", "launch"};
    char error[GPU_ERROR_SIZE];

    for (size_t k = 0; k < 3; k++) {
        for (long number = 0; number < 120; number += 1 + number / 30) {
            set_fault(kinds[k], number);
            error[0] = '\0';
            CHECK(match(error) || error[0] != '\0');
        }
        for (enum work work = 0; work < WORKS; work++)
            for (long number = (long)work; number < 150; number += 7) {
                set_fault(kinds[k], number);
                error[0] = '\0';
                CHECK(decompress(work, error) == GPU_INFLATE_DONE || error[0] != '\0');
            }
    }
    emulated_set_fault(NULL);
}

/* Copies go wrong: nothing outside of arrays is used (a sanitizer sees that), and the output in the
 * GPU's memory is right or refused. */
static void test_copies_go_wrong(void)
{
    static const char *const kinds[] = {"truncated", "missing", "wrong", "random"};
    char error[GPU_ERROR_SIZE];

    for (size_t k = 0; k < 4; k++) {
        for (long number = 0; number < 6; number++) {
            set_fault(kinds[k], number);
            (void)match(error);
        }
        for (enum work work = 0; work < WORKS; work++)
            for (long number = 0; number < 16; number++) {
                if (work == COUNT) /* nothing compares the size */
                    continue;
                set_fault(kinds[k], number);
                (void)decompress(work, error);
            }
    }
    emulated_set_fault(NULL);
}

int main(void)
{
    out = device_alloc(LEN);
    make_data();
    RUN(test_kernels_hang);
    RUN(test_lost_for_good);
    RUN(test_calls_fail);
    RUN(test_copies_go_wrong);
    device_free(out);
    return unit_done();
}
