/*
 * test_cuda.c - the library's functions for a GPU's memory, without a GPU
 *
 * In place of gpu/ is memory that is called a GPU's here.  It is masked, so that code that reads it
 * without a copy gets other bytes.  No engine can be opened; test_gpus.c tests engines.
 * tests/gpu/test_device_pointers.cu tests real memory.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu.h"
#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "tests/unit/inputs.h"

#define SEGMENT ((size_t)32 << 10)
#define MASK 0x5a

/* --- A GPU's memory --- */

static uint8_t *memory; /* all of it: device 3's, or the first half device 2's */
static size_t memory_size;

static struct {
    bool is_unknown;         /* the driver does not know the memory */
    enum gpu_wait result;    /* the result of waiting for a stream, */
    void *stream;            /* and for which one was waited, */
    int device;              /* with which device */
    atomic_long good_copies; /* after this number, copies fail */
} told;

static bool is_on_gpu(const void *p)
{
    const uint8_t *byte = p;

    return byte >= memory && byte < memory + memory_size;
}

static int device_of(const void *p)
{
    return (const uint8_t *)p < memory + memory_size / 2 ? 2 : 3;
}

/* The program's threads: in these, copies are made only while the current context is saved. */
static _Thread_local bool is_program, is_saved;

bool gpu_find_memory(const void *p, struct gpu_memory *m, char error[GPU_ERROR_SIZE])
{
    CHECK(is_program);
    snprintf(error, GPU_ERROR_SIZE, "nobody knows");
    *m = (struct gpu_memory){is_on_gpu(p), is_on_gpu(p) ? device_of(p) : 0,
                             is_on_gpu(p) ? NULL : (void *)p};
    return !told.is_unknown;
}

enum gpu_wait gpu_wait_stream(void *stream, int device, bool (*goes_on)(void *ctx), void *ctx,
                              char error[GPU_ERROR_SIZE])
{
    CHECK(is_program);
    told.stream = stream;
    told.device = device;
    snprintf(error, GPU_ERROR_SIZE, "it failed");
    CHECK(goes_on(ctx));
    return told.result;
}

void gpu_save_thread(struct gpu_thread *t)
{
    CHECK(is_program && !is_saved);
    is_saved = true;
    *t = (struct gpu_thread){t, 1};
}

void gpu_restore_thread(const struct gpu_thread *t)
{
    CHECK(is_saved && t->context == t);
    is_saved = false;
}

struct gpu_copier {
    int device;
};

static atomic_long copiers;

struct gpu_copier *gpu_new_copier(int device, char error[GPU_ERROR_SIZE])
{
    struct gpu_copier *c = unit_need(calloc(1, sizeof(*c)));

    (void)error;
    CHECK(!is_program || is_saved);
    c->device = device;
    atomic_fetch_add(&copiers, 1);
    return c;
}

void gpu_free_copier(struct gpu_copier *c)
{
    CHECK(!is_program || is_saved);
    atomic_fetch_sub(&copiers, 1);
    free(c);
}

bool gpu_copy(struct gpu_copier *c, void *to, const void *from, size_t len,
              char error[GPU_ERROR_SIZE])
{
    const bool is_one = is_on_gpu(to) != is_on_gpu(from);

    CHECK(!is_program || is_saved);
    CHECK(len > 0);
    CHECK(is_one);
    CHECK_EQ(c->device, device_of(is_on_gpu(to) ? to : from));
    if (atomic_fetch_sub(&told.good_copies, 1) <= 0) {
        snprintf(error, GPU_ERROR_SIZE, "a copy failed");
        return false;
    }
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i] ^ MASK;
    return true;
}

/* --- No engine --- */

int gpu_count(char error[GPU_ERROR_SIZE])
{
    snprintf(error, GPU_ERROR_SIZE, "none here");
    return 0;
}

struct gpu_engine *gpu_open(int device, const struct lz_level *level, size_t segment_size,
                            size_t batch_size, int batches, const struct gpu_options *options,
                            char error[GPU_ERROR_SIZE])
{
    (void)device;
    (void)level;
    (void)segment_size;
    (void)batch_size;
    (void)batches;
    (void)options;
    snprintf(error, GPU_ERROR_SIZE, "none here");
    return NULL;
}

void gpu_close(struct gpu_engine *g)
{
    CHECK(g == NULL);
}

const char *gpu_name(const struct gpu_engine *g)
{
    CHECK(g == NULL);
    return "";
}

int gpu_batches(const struct gpu_engine *g)
{
    CHECK(g == NULL);
    return 0;
}

struct gpu_batch *gpu_new_batch(struct gpu_engine *g, char error[GPU_ERROR_SIZE])
{
    (void)error;
    CHECK(g == NULL);
    return NULL;
}

void gpu_free_batch(struct gpu_engine *g, struct gpu_batch *b)
{
    CHECK(g == NULL && b == NULL);
}

bool gpu_submit(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE])
{
    (void)error;
    CHECK(g == NULL && b == NULL);
    return false;
}

bool gpu_collect(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE])
{
    return gpu_submit(g, b, error);
}

/* --- The tests --- */

static uint8_t *input;
static const size_t input_size = 140 * SEGMENT + 1234;

static void be_good(void)
{
    told.is_unknown = false;
    told.result = GPU_WAIT_DONE;
    told.stream = NULL;
    atomic_store(&told.good_copies, 1L << 40);
}

static gzlzss *object_of(int level, int threads, bool rsyncable)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *z = NULL;

    o.level = level;
    o.threads = threads;
    o.segment_size = SEGMENT;
    o.rsyncable = rsyncable;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    return unit_need(z);
}

static gzlzss *object(int threads, bool rsyncable)
{
    return object_of(1, threads, rsyncable);
}

static void free_object(gzlzss *z)
{
    gzlzss_free(z);
    CHECK_EQ(atomic_load(&copiers), 0);
}

/* Moves bytes to a GPU's memory, or from there. */
static void mask(uint8_t *to, const uint8_t *from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = from[i] ^ MASK;
}

/* Where a test has input and output in that memory: each in its own half. */
static uint8_t *gpu_in(void)
{
    return memory + 3;
}

static uint8_t *gpu_out(void)
{
    return memory + memory_size / 2 + 5;
}

static uint8_t *compressed(gzlzss *z, size_t len, size_t *out_len)
{
    uint8_t *out;

    *out_len = gzlzss_bound(z, len);
    out = unit_need(malloc(*out_len));
    CHECK_EQ(gzlzss_compress(z, out, out_len, input, len, NULL), GZLZSS_OK);
    return out;
}

static const size_t sizes[] = {0, 1, 1000, SEGMENT, 5 * SEGMENT + 1, 140 * SEGMENT + 1234};

/* From either memory to either, by any number of threads, there and back. */
static void test_memory(void)
{
    struct CUstream_st *stream = (struct CUstream_st *)&told;

    be_good();
    for (int way = 0; way < 32; way++) {
        const bool from_gpu = way % 2 != 0, to_gpu = way / 2 % 2 != 0;
        gzlzss *z = object_of(way < 16 ? 1 : GZLZSS_LEVEL_STORED, way / 4 % 2 != 0 ? 4 : 1,
                              way / 8 % 2 != 0);
        /* A sanitizer makes the largest input slow, so a third of the ways take it. */
        const size_t count = sizeof(sizes) / sizeof(*sizes) - (UNIT_SANITIZED && way % 3 != 0);

        for (unsigned i = 0; i < count; i++) {
            const size_t size = sizes[i];
            gzlzss_call call = GZLZSS_CALL_INIT;
            size_t expected_len, len, room, back_len;
            uint8_t *expected = compressed(z, size, &expected_len);
            uint8_t *out = unit_need(malloc(expected_len)), *back = unit_need(malloc(size + 1));
            uint8_t *to = to_gpu ? gpu_out() : out;

            mask(gpu_in(), input, size);
            memset(gpu_out(), 0, expected_len + 1);
            len = expected_len;
            CHECK_EQ(
                gzlzss_cuda_compress(z, to, &len, from_gpu ? gpu_in() : input, size, stream, &call),
                GZLZSS_OK);
            CHECK(told.stream == stream);
            CHECK_EQ(told.device, from_gpu ? 2 : to_gpu ? 3 : -1);
            CHECK_EQ(len, expected_len);
            CHECK_EQ(call.in_bytes, size);
            CHECK_EQ(call.out_bytes, len);
            if (to_gpu)
                mask(out, gpu_out(), len);
            CHECK(memcmp(out, expected, len) == 0);
            CHECK_EQ(gpu_out()[expected_len], 0);

            room = expected_len - 1;
            CHECK_EQ(
                gzlzss_cuda_compress(z, to, &room, from_gpu ? gpu_in() : input, size, NULL, NULL),
                GZLZSS_ERROR_ROOM);
            CHECK_EQ(room, 0);

            /* And back: the first half is replaced by its decompressed data. */
            mask(gpu_in(), expected, expected_len);
            memset(gpu_out(), 0, size + 1);
            to = to_gpu ? gpu_out() : back;
            back_len = size;
            CHECK_EQ(gzlzss_cuda_decompress(z, to, &back_len, from_gpu ? gpu_in() : expected,
                                            expected_len, stream, &call),
                     GZLZSS_OK);
            CHECK_EQ(back_len, size);
            CHECK_EQ(call.out_bytes, size);
            if (to_gpu)
                mask(back, gpu_out(), size);
            CHECK(memcmp(back, input, size) == 0);
            CHECK_EQ(gpu_out()[size], 0);
            if (size > 0) {
                back_len = size - 1;
                CHECK_EQ(gzlzss_cuda_decompress(z, to, &back_len, from_gpu ? gpu_in() : expected,
                                                expected_len, NULL, NULL),
                         GZLZSS_ERROR_ROOM);
                CHECK_EQ(back_len, size - 1);
                back_len = size;
                CHECK_EQ(gzlzss_cuda_decompress(z, to, &back_len, from_gpu ? gpu_in() : expected,
                                                expected_len - 1, NULL, NULL),
                         GZLZSS_ERROR_TRUNCATED);
                CHECK_EQ(back_len, size);
            }
            free(back);
            free(out);
            free(expected);
        }
        free_object(z);
    }
}

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

/* To a file and to a pipe. */
static void test_descriptors(void)
{
    be_good();
    for (int way = 0; way < 8; way++) {
        const bool from_gpu = way % 2 != 0;
        gzlzss *z = object(way / 2 % 2 != 0 ? 4 : 1, way / 4 != 0);

        for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            gzlzss_call call = GZLZSS_CALL_INIT;
            size_t expected_len;
            uint8_t *expected = compressed(z, sizes[i], &expected_len);
            uint8_t *out = unit_need(malloc(expected_len + 1));
            const uint8_t *in = from_gpu ? gpu_in() : input;
            struct drain d = {.bytes = out, .room = expected_len + 1};
            FILE *file = unit_need(tmpfile());

            mask(gpu_in(), input, sizes[i]);
            CHECK_EQ(gzlzss_cuda_compress_fd(z, fileno(file), in, sizes[i], NULL, &call),
                     GZLZSS_OK);
            CHECK_EQ(call.out_bytes, expected_len);
            CHECK_EQ(pread(fileno(file), out, expected_len + 1, 0), expected_len);
            CHECK(memcmp(out, expected, expected_len) == 0);
            fclose(file);

            if (pipe(d.ends) != 0 || pthread_create(&d.thread, NULL, drain, &d) != 0)
                abort();
            CHECK_EQ(gzlzss_cuda_compress_fd(z, d.ends[1], in, sizes[i], NULL, &call), GZLZSS_OK);
            close(d.ends[1]);
            pthread_join(d.thread, NULL);
            CHECK_EQ(call.out_bytes, expected_len);
            CHECK_EQ(d.len, expected_len);
            CHECK(memcmp(out, expected, expected_len) == 0);

            /* Nobody reads it. */
            close(d.ends[0]);
            if (pipe(d.ends) != 0)
                abort();
            close(d.ends[0]);
            CHECK_EQ(gzlzss_cuda_compress_fd(z, d.ends[1], in, sizes[i], NULL, &call),
                     GZLZSS_ERROR_WRITE);
            CHECK_EQ(call.error_number, EPIPE);
            close(d.ends[1]);
            free(out);
            free(expected);
        }
        free_object(z);
    }
}

/* Results of waiting, and memory that the driver does not know. */
static void test_waiting(void)
{
    static const gzlzss_status expected[] = {[GPU_WAIT_DONE] = GZLZSS_OK,
                                             [GPU_WAIT_FAILED] = GZLZSS_ERROR_READ,
                                             [GPU_WAIT_CAPTURED] = GZLZSS_ERROR_ARGUMENT,
                                             [GPU_WAIT_STOPPED] = GZLZSS_ERROR_CANCELLED};
    gzlzss *z = object(2, false);
    uint8_t out[100], back[100];

    for (int i = 0; i < 5; i++) {
        const gzlzss_status status = i == 4 ? GZLZSS_ERROR_GPU : expected[i];
        gzlzss_call call = GZLZSS_CALL_INIT;
        FILE *file = unit_need(tmpfile());
        size_t len = sizeof(out), packed_len = sizeof(out);
        uint8_t packed[100];

        be_good();
        mask(gpu_in(), input, 10);
        CHECK_EQ(gzlzss_compress(z, packed, &packed_len, input, 10, NULL), GZLZSS_OK);
        mask(gpu_in() + 10, packed, packed_len);
        told.result = i == 4 ? GPU_WAIT_DONE : (enum gpu_wait)i;
        told.is_unknown = i == 4;
        CHECK_EQ(gzlzss_cuda_compress(z, out, &len, gpu_in(), 10, NULL, &call), status);
        CHECK_EQ(len, status == GZLZSS_OK ? packed_len : 0);
        CHECK_EQ(call.error_number, status == GZLZSS_ERROR_READ ? EIO : 0);
        CHECK_EQ(gzlzss_cuda_compress_fd(z, fileno(file), gpu_in(), 10, NULL, &call), status);
        CHECK_EQ(lseek(fileno(file), 0, SEEK_END), status == GZLZSS_OK ? packed_len : 0);
        CHECK_EQ(call.error_number, status == GZLZSS_ERROR_READ ? EIO : 0);
        len = sizeof(back);
        CHECK_EQ(gzlzss_cuda_decompress(z, back, &len, gpu_in() + 10, packed_len, NULL, &call),
                 status);
        CHECK_EQ(len, status == GZLZSS_OK ? 10 : 0);
        CHECK_EQ(call.error_number, status == GZLZSS_ERROR_READ ? EIO : 0);
        fclose(file);
    }
    free_object(z);
}

/* Copies that fail, sooner or later. */
static void test_failing_copies(void)
{
    gzlzss *z = object(3, false);
    size_t packed_len, len;
    uint8_t *packed = compressed(z, input_size, &packed_len);
    uint8_t *out = unit_need(malloc(input_size));
    int ends[2];

    for (int good = 0; good < 4; good++) {
        gzlzss_call call = GZLZSS_CALL_INIT;

        be_good();
        mask(gpu_in(), input, input_size);
        atomic_store(&told.good_copies, good);
        len = packed_len;
        CHECK_EQ(gzlzss_cuda_compress(z, out, &len, gpu_in(), input_size, NULL, &call),
                 GZLZSS_ERROR_READ);
        CHECK_EQ(call.error_number, EIO);
        CHECK_EQ(len, 0);
        atomic_store(&told.good_copies, good);
        len = packed_len;
        CHECK_EQ(gzlzss_cuda_compress(z, gpu_out(), &len, input, input_size, NULL, &call),
                 GZLZSS_ERROR_WRITE);
        CHECK_EQ(call.error_number, EIO);
        CHECK_EQ(len, 0);
        if (pipe(ends) != 0)
            abort();
        /* Write nothing that fills the pipe. */
        atomic_store(&told.good_copies, 0);
        CHECK_EQ(gzlzss_cuda_compress_fd(z, ends[1], gpu_in(), input_size, NULL, &call),
                 GZLZSS_ERROR_READ);
        CHECK_EQ(call.error_number, EIO);
        close(ends[0]);
        close(ends[1]);

        mask(gpu_in(), packed, packed_len);
        atomic_store(&told.good_copies, good / 4);
        len = input_size;
        CHECK_EQ(gzlzss_cuda_decompress(z, out, &len, gpu_in(), packed_len, NULL, &call),
                 GZLZSS_ERROR_READ);
        CHECK_EQ(call.error_number, EIO);
        atomic_store(&told.good_copies, good);
        len = input_size;
        CHECK_EQ(gzlzss_cuda_decompress(z, gpu_out(), &len, packed, packed_len, NULL, &call),
                 GZLZSS_ERROR_WRITE);
        CHECK_EQ(call.error_number, EIO);
    }
    /* And then all is well again. */
    be_good();
    mask(gpu_in(), input, input_size);
    len = packed_len;
    CHECK_EQ(gzlzss_cuda_compress(z, out, &len, gpu_in(), input_size, NULL, NULL), GZLZSS_OK);
    CHECK(len == packed_len && memcmp(out, packed, len) == 0);
    free(out);
    free(packed);
    free_object(z);
}

/* Damaged input gives the errors of gzlzss_decompress. */
static void test_damage(void)
{
    gzlzss *z = object(2, false);
    size_t packed_len;
    uint8_t *packed = compressed(z, 5 * SEGMENT + 1, &packed_len), *out;
    uint64_t state = 9;

    be_good();
    packed = unit_need(realloc(packed, packed_len + 1));
    packed[packed_len] = 'x';
    out = unit_need(malloc(6 * SEGMENT));
    for (int i = 0; i < 60; i++) {
        const size_t at = unit_below(&state, packed_len), len = packed_len + (i % 4 == 0);
        const uint8_t before = packed[at];
        size_t made = 6 * SEGMENT, expected_made = 6 * SEGMENT;
        gzlzss_status expected;

        if (i % 4 != 0)
            packed[at] ^= (uint8_t)(1U << unit_below(&state, 8));
        mask(gpu_in(), packed, len);
        expected = gzlzss_decompress(z, out, &expected_made, packed, len, NULL);
        CHECK_EQ(gzlzss_cuda_decompress(z, gpu_out(), &made, gpu_in(), len, NULL, NULL), expected);
        if (expected == GZLZSS_OK || expected == GZLZSS_ERROR_TRAILING) {
            CHECK_EQ(made, expected_made);
            for (size_t k = 0; k < made; k++)
                if (!CHECK_EQ(gpu_out()[k] ^ MASK, out[k]))
                    break;
        }
        packed[at] = before;
    }
    free(out);
    free(packed);
    free_object(z);
}

int main(void)
{
    uint64_t state = 5;

    is_program = true;
    input = unit_need(malloc(input_size));
    fill_tokens(input, input_size, 60, 9, &state);
    memory_size = 4 * input_size;
    memory = unit_need(malloc(memory_size));
    RUN(test_memory);
    RUN(test_descriptors);
    RUN(test_waiting);
    RUN(test_failing_copies);
    RUN(test_damage);
    free(memory);
    free(input);
    return unit_done();
}
