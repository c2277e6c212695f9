/*
 * test_cuda.c - the library's functions for a GPU's memory, without a GPU
 *
 * This file replaces gpu/.  Host memory, whose bytes are masked, takes the place of a GPU's
 * memory.  So code that reads these bytes without a copy gets wrong bytes.  The engine for
 * decompression is zlib, which removes the mask.  Opening an engine for compression fails;
 * test_gpus.c tests compression.  tests/gpu/test_device_pointers.cu tests real memory.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "gpu/gpu.h"
#include "gpu/inflate.h"
#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "tests/unit/inputs.h"

#define SEGMENT ((size_t)32 << 10)
#define MASK 0x5a

/* --- A GPU's memory --- */

/* Masks the bytes, or removes their mask.  ThreadSanitizer leaves this function out, since it would
 * spend most of its time here. */
__attribute__((noinline, no_sanitize("thread"))) static void flip(uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] ^= MASK;
}

/* Copies bytes to a GPU's memory, or from there.  memcpy shows ThreadSanitizer what is read and
 * written. */
static void mask(uint8_t *to, const uint8_t *from, size_t len)
{
    if (len > 0)
        memcpy(to, from, len);
    flip(to, len);
}

/* True if a GPU's memory has these bytes. */
static bool is_masked(const uint8_t *on_gpu, const uint8_t *bytes, size_t len)
{
    uint8_t *copy = unit_need(malloc(len + 1));
    bool is_equal;

    mask(copy, on_gpu, len);
    is_equal = len == 0 || memcmp(copy, bytes, len) == 0;
    free(copy);
    return is_equal;
}

static uint8_t *memory; /* of both GPUs: the first half is device 2's, the second device 3's */
static size_t memory_size;

static struct {
    bool is_unknown;         /* the driver does not know the memory */
    enum gpu_wait result;    /* the result of waiting for a stream */
    _Atomic(void *) stream;  /* the stream of the last wait */
    atomic_int device;       /* the device of the last wait */
    int current;             /* the current device */
    bool has_no_blocks;      /* the driver does not report allocations */
    atomic_long asked;       /* how often the driver was asked about memory */
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

/* is_program: this thread belongs to the program, so the thread may copy only while is_saved is
 * true.  is_saved: the program's context is saved. */
static _Thread_local bool is_program, is_saved;

bool gpu_find_memory(const void *p, struct gpu_memory *m, char error[GPU_ERROR_SIZE])
{
    CHECK(is_program);
    snprintf(error, GPU_ERROR_SIZE, "nobody knows");
    *m = (struct gpu_memory){is_on_gpu(p), is_on_gpu(p) ? device_of(p) : 0,
                             is_on_gpu(p) ? NULL : (void *)p, NULL, 0};
    if (is_on_gpu(p) && !told.has_no_blocks) {
        m->block = device_of(p) == 2 ? memory : memory + memory_size / 2;
        m->block_size = memory_size / 2;
    }
    atomic_fetch_add(&told.asked, 1);
    return !told.is_unknown;
}

int gpu_current_device(void)
{
    CHECK(is_program);
    return told.current;
}

enum gpu_wait gpu_wait_stream(void *stream, int device, bool (*goes_on)(void *ctx), void *ctx,
                              char error[GPU_ERROR_SIZE])
{
    CHECK(is_program);
    told.stream = stream;
    told.device = device;
    snprintf(error, GPU_ERROR_SIZE, "it failed");

    /* goes_on may return false: test_threads cancels a call that may be anywhere. */
    return goes_on(ctx) ? told.result : GPU_WAIT_STOPPED;
}

void gpu_save_thread(struct gpu_thread *t)
{
    CHECK(is_program && !is_saved);
    is_saved = true;
    *t = (struct gpu_thread){.context = t, .capture = 1};
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
    mask(to, from, len);
    return true;
}

bool gpu_put(struct gpu_copier *c, void *to, const struct iovec *parts, int count,
             char error[GPU_ERROR_SIZE])
{
    uint8_t *next = to;

    CHECK(count > 0);
    for (int i = 0; i < count; next += parts[i++].iov_len)
        if (parts[i].iov_len > 0 && !gpu_copy(c, next, parts[i].iov_base, parts[i].iov_len, error))
            return false;
    return true;
}

/* --- An engine that decompresses: zlib --- */

enum fate { WORKS, LEAVES, FAILS };

static struct {
    _Atomic enum fate fate;   /* how a call ends */
    atomic_size_t after;      /* LEAVES and FAILS: the call ends after this many bytes of input */
    atomic_bool cannot_open;  /* no engine can be opened */
    size_t batch;             /* bytes of input of a batch */
    bool counts;              /* gpu_inflate_new can count, whatever the fate */
    size_t counts_too_few;    /* gpu_inflate_new counts this many bytes too few */
    void (*in_call)(void);    /* each call first calls this; may be NULL */
    atomic_long opens, calls; /* how often an engine was opened, and called */
    atomic_long open;         /* engines that are open */
} zlib;

struct gpu_inflate {
    int device;
    atomic_bool is_busy;
};

struct gpu_inflate *gpu_inflate_open(int device, const struct gpu_inflate_options *options,
                                     char error[GPU_ERROR_SIZE])
{
    struct gpu_inflate *g;

    CHECK(!is_program || is_saved);
    CHECK(options->batch == 0 && options->symbols == 0 && !options->fails && !options->is_wrong);
    atomic_fetch_add(&zlib.opens, 1);
    if (atomic_load(&zlib.cannot_open)) {
        snprintf(error, GPU_ERROR_SIZE, "too little memory");
        return NULL;
    }
    g = unit_need(calloc(1, sizeof(*g)));
    g->device = device;
    atomic_fetch_add(&zlib.open, 1);
    return g;
}

void gpu_inflate_close(struct gpu_inflate *g)
{
    CHECK(!is_program || is_saved);
    CHECK(!g->is_busy);
    atomic_fetch_sub(&zlib.open, 1);
    free(g);
}

/* Decompresses members up to in[in_len), a batch at a time.  If out is NULL, only counts the
 * output's bytes. */
static enum gpu_inflate_result inflate_all(const uint8_t *in, size_t in_len, uint8_t *out,
                                           size_t room, size_t *out_len,
                                           gpu_inflate_goes_on *goes_on, void *ctx)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in};
    enum gpu_inflate_result result = GPU_INFLATE_STOPPED;
    uint8_t *piece = unit_need(malloc(zlib.batch));
    size_t made = 0, read = 0;
    int status = Z_OK;

    CHECK_EQ(inflateInit2(&z, 15 + 16), Z_OK);
    while (result == GPU_INFLATE_STOPPED) {
        const size_t left = in_len - read;
        size_t n;

        z.avail_in = (uInt)(left < zlib.batch ? left : zlib.batch);
        z.next_out = piece;
        z.avail_out = (uInt)zlib.batch;
        n = z.avail_in;
        status = inflate(&z, Z_NO_FLUSH);
        read += n - z.avail_in;
        n = zlib.batch - z.avail_out;
        if ((status != Z_OK && status != Z_STREAM_END) || n > room - made ||
            (status == Z_OK && read == in_len && n == 0)) {
            result = GPU_INFLATE_LEFT;
            break;
        }
        if (out != NULL)
            mask(out + made, piece, n);
        made += n;
        if (atomic_load(&zlib.fate) != WORKS && read >= atomic_load(&zlib.after))
            result = atomic_load(&zlib.fate) == LEAVES ? GPU_INFLATE_LEFT : GPU_INFLATE_FAILED;
        else if (!goes_on(ctx, read, made))
            break;
        else if (status == Z_STREAM_END && read == in_len)
            result = GPU_INFLATE_DONE;
        else if (status == Z_STREAM_END)
            CHECK_EQ(inflateReset(&z), Z_OK);
    }
    (void)inflateEnd(&z);
    free(piece);
    if (result == GPU_INFLATE_DONE || result == GPU_INFLATE_STOPPED)
        *out_len = made;
    return result;
}

enum gpu_inflate_result gpu_inflate(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                    uint8_t *out, size_t room, size_t *out_len,
                                    gpu_inflate_goes_on *goes_on, void *ctx,
                                    char error[GPU_ERROR_SIZE])
{
    const uint8_t *bytes = in;
    uint8_t *unmasked = NULL;
    enum gpu_inflate_result result;

    CHECK(!is_program || is_saved);
    CHECK(!atomic_exchange(&g->is_busy, true));
    CHECK(is_on_gpu(out));
    CHECK_EQ(g->device, device_of(out));
    atomic_fetch_add(&zlib.calls, 1);
    *out_len = 0;
    if (zlib.in_call != NULL)
        zlib.in_call();
    if (is_on_gpu(in)) {
        unmasked = unit_need(malloc(in_len));
        mask(unmasked, in, in_len);
        bytes = unmasked;
    }
    result = inflate_all(bytes, in_len, out, room, out_len, goes_on, ctx);
    CHECK(!is_program || is_saved);
    snprintf(error, GPU_ERROR_SIZE, "zlib is tired");
    free(unmasked);
    atomic_store(&g->is_busy, false);
    return result;
}

/* Begins a call of the engine.  Returns a copy of the call's input, which the caller frees. */
static uint8_t *enter(struct gpu_inflate *g, const uint8_t *in, size_t in_len)
{
    uint8_t *bytes = unit_need(malloc(in_len + 1));

    CHECK(!is_program || is_saved);
    CHECK(!atomic_exchange(&g->is_busy, true));
    atomic_fetch_add(&zlib.calls, 1);
    if (is_on_gpu(in))
        mask(bytes, in, in_len);
    else if (in_len > 0)
        memcpy(bytes, in, in_len);
    return bytes;
}

/* Ends a call that `enter` began. */
static void leave(struct gpu_inflate *g, char error[GPU_ERROR_SIZE])
{
    CHECK(!is_program || is_saved);
    snprintf(error, GPU_ERROR_SIZE, "zlib is tired");
    atomic_store(&g->is_busy, false);
}

/* Replaces the caller's function in the first pass, since only the second pass counts as
 * progress. */
static bool goes_on_silently(void *ctx, uint64_t in, uint64_t out)
{
    (void)ctx;
    (void)in;
    (void)out;
    return true;
}

enum gpu_inflate_result gpu_inflate_count(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                          uint64_t *size, gpu_inflate_goes_on *goes_on, void *ctx,
                                          char error[GPU_ERROR_SIZE])
{
    uint8_t *const bytes = enter(g, in, in_len);
    size_t made = 0;
    enum gpu_inflate_result result = GPU_INFLATE_STOPPED;

    *size = 0;
    if (goes_on(ctx, 0, 0))
        result = inflate_all(bytes, in_len, NULL, SIZE_MAX, &made, goes_on_silently, NULL);
    if (result == GPU_INFLATE_DONE)
        *size = made;
    free(bytes);
    leave(g, error);
    return result;
}

enum gpu_inflate_result gpu_inflate_new(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                        gpu_inflate_allocate *allocate, size_t *out_len,
                                        gpu_inflate_goes_on *goes_on, void *ctx,
                                        char error[GPU_ERROR_SIZE])
{
    uint8_t *const bytes = enter(g, in, in_len);
    const enum fate fate = atomic_exchange(&zlib.fate, zlib.counts ? WORKS : zlib.fate);
    enum gpu_inflate_result result;
    size_t made = 0;

    *out_len = 0;
    result = inflate_all(bytes, in_len, NULL, SIZE_MAX, &made, goes_on_silently, NULL);
    atomic_store(&zlib.fate, fate);
    if (result == GPU_INFLATE_DONE) {
        uint8_t *const out = allocate(ctx, made - zlib.counts_too_few);

        CHECK(out == NULL || (is_on_gpu(out) && g->device == device_of(out)));
        result = out == NULL ? GPU_INFLATE_STOPPED
                             : inflate_all(bytes, in_len, out, made - zlib.counts_too_few, out_len,
                                           goes_on, ctx);
    }
    free(bytes);
    leave(g, error);
    return result;
}

static int window_bits(enum container format)
{
    return format == CONTAINER_GZIP ? 15 + 16 : format == CONTAINER_ZLIB ? 15 : -15;
}

/* Decompresses one of many inputs. */
static void inflate_one(struct gpu_inflate_input *i, enum container format)
{
    uint8_t *const in = unit_need(malloc(i->in_len + 1)), *const out = unit_need(malloc(i->room));
    z_stream z = {.next_in = in, .avail_in = (uInt)i->in_len, .next_out = out};

    if (is_on_gpu(i->in))
        mask(in, i->in, i->in_len);
    else
        memcpy(in, i->in, i->in_len);
    z.avail_out = (uInt)i->room;
    CHECK_EQ(inflateInit2(&z, window_bits(format)), Z_OK);
    if (inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0) {
        i->made = z.total_out;
        i->result = GPU_INFLATE_DONE;
        mask(i->out, out, i->made);
    }
    (void)inflateEnd(&z);
    free(in);
    free(out);
}

enum gpu_inflate_result gpu_inflate_many(struct gpu_inflate *g, struct gpu_inflate_input *inputs,
                                         size_t count, enum container format,
                                         gpu_inflate_goes_on *goes_on, void *ctx,
                                         char error[GPU_ERROR_SIZE])
{
    enum gpu_inflate_result result = GPU_INFLATE_DONE;
    uint64_t read = 0, made = 0;

    free(enter(g, NULL, 0));
    for (size_t i = 0; i < count; i++) {
        inputs[i].result = GPU_INFLATE_LEFT;
        inputs[i].made = 0;
    }
    for (size_t i = 0; i < count && result == GPU_INFLATE_DONE; i++) {
        CHECK(is_on_gpu(inputs[i].out) && device_of(inputs[i].out) == g->device);
        CHECK(inputs[i].in_block == NULL || inputs[i].in_block <= (const void *)inputs[i].in);
        if (atomic_load(&zlib.fate) == FAILS && i >= atomic_load(&zlib.after))
            result = GPU_INFLATE_FAILED;
        else if (atomic_load(&zlib.fate) == WORKS || i < atomic_load(&zlib.after))
            inflate_one(&inputs[i], format);
        read += inputs[i].in_len;
        made += inputs[i].made;
        if (!goes_on(ctx, read, made))
            result = GPU_INFLATE_STOPPED;
    }
    leave(g, error);
    return result;
}

/* --- No engine that compresses --- */

bool gpu_is_installed(char error[GPU_ERROR_SIZE])
{
    (void)error;
    return true;
}

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
    told.current = 3;
    told.has_no_blocks = false;
    zlib.counts = false;
    zlib.counts_too_few = 0;
    atomic_store(&told.good_copies, 1L << 40);
    atomic_store(&zlib.fate, WORKS);
    atomic_store(&zlib.after, 0);
    atomic_store(&zlib.cannot_open, false);
    zlib.batch = 100000;
    zlib.in_call = NULL;
    atomic_store(&zlib.opens, 0);
    atomic_store(&zlib.calls, 0);
}

static gzlzss *object_with(const gzlzss_options *o)
{
    gzlzss *z = NULL;

    CHECK_EQ(gzlzss_new(&z, o), GZLZSS_OK);
    return unit_need(z);
}

static gzlzss *object_of(int level, int threads, bool rsyncable)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;

    o.level = level;
    o.threads = threads;
    o.segment_size = SEGMENT;
    o.rsyncable = rsyncable;
    return object_with(&o);
}

static gzlzss *object(int threads, bool rsyncable)
{
    return object_of(1, threads, rsyncable);
}

static void free_object(gzlzss *z)
{
    gzlzss_free(z);
    CHECK_EQ(atomic_load(&copiers), 0);
    CHECK_EQ(atomic_load(&zlib.open), 0);
}

/* The places of a test's input and output in GPU memory, each in its own half. */
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

/* Compresses and decompresses, from host or GPU memory to host or GPU memory.  The number `way`
 * selects these places, a number of threads and a level. */
static void check_memory(int first, int end, int step)
{
    struct CUstream_st *stream = (struct CUstream_st *)&told;

    for (int way = first; way < end; way += step) {
        const bool from_gpu = way % 2 != 0, to_gpu = way / 2 % 2 != 0;
        gzlzss *z = object_of(way < 16 ? 1 : GZLZSS_LEVEL_STORED, way / 4 % 2 != 0 ? 4 : 1,
                              way / 8 % 2 != 0);
        /* Under a sanitizer, the largest input takes long, so only a third of the ways use that
         * input. */
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

            /* Decompress: replace the data in the input's half of the memory by the compressed
             * data. */
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

/* A GPU decompresses data that is large enough. */
static void test_memory(void)
{
    be_good();
    check_memory(0, 32, UNIT_SANITIZED ? 5 : 1);
    CHECK(atomic_load(&zlib.calls) > 0);
}

/* The GPU leaves data to the CPU after 300,000 bytes.  Tests two ways from host to GPU memory. */
static void test_memory_left(void)
{
    be_good();
    atomic_store(&zlib.fate, LEAVES);
    atomic_store(&zlib.after, 300000);
    check_memory(2, 8, 4);
    CHECK(atomic_load(&zlib.calls) > 0);
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

/* Compresses to a file, to a pipe, and to a pipe without a reader. */
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

            /* A pipe without a reader. */
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

/* Tests each result of waiting for the stream, and memory that the driver does not know. */
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

/* Copies fail after 0 to 3 good ones. */
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
        atomic_store(&zlib.fate, LEAVES);
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
        /* No copy succeeds, so nothing is written that could fill the pipe. */
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
    /* Once copies succeed, calls succeed again. */
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
            CHECK(is_masked(gpu_out(), out, made));
        }
        packed[at] = before;
    }
    free(out);
    free(packed);
    free_object(z);
}

/* --- Decompression by a GPU --- */

/* The .gz that the calls decompress, in the host's memory and in the memory of a GPU. */
static uint8_t *packed;
static size_t packed_len;

/* Decompresses all of `packed`, from a GPU's memory or the host's, to a GPU's memory. */
static gzlzss_status unpack(gzlzss *z, bool from_gpu, size_t *len, gzlzss_call *call)
{
    memset(gpu_out(), 0, *len + 1);
    return gzlzss_cuda_decompress(z, gpu_out(), len, from_gpu ? gpu_in() : packed, packed_len, NULL,
                                  call);
}

/* Calls unpack, and checks that all goes well. */
static void check_unpack(gzlzss *z, bool from_gpu)
{
    gzlzss_call call = GZLZSS_CALL_INIT;
    size_t len = input_size;

    CHECK_EQ(unpack(z, from_gpu, &len, &call), GZLZSS_OK);
    CHECK_EQ(len, input_size);
    CHECK_EQ(call.in_bytes, packed_len);
    CHECK_EQ(call.out_bytes, input_size);
    CHECK(is_masked(gpu_out(), input, len));
    CHECK_EQ(gpu_out()[input_size], 0);
}

static void make_packed(void)
{
    gzlzss *z = object(2, false);

    packed = compressed(z, input_size, &packed_len);
    free_object(z);
}

static void get_ready(void)
{
    be_good();
    mask(gpu_in(), packed, packed_len);
}

/* Each device gets one engine, which is opened when it is needed, and kept. */
static void test_reuse(void)
{
    gzlzss *z = object(2, false);

    get_ready();
    CHECK_EQ(atomic_load(&zlib.open), 0);
    for (int i = 0; i < 6; i++)
        check_unpack(z, i % 2 != 0);
    CHECK_EQ(atomic_load(&zlib.opens), 1);
    CHECK_EQ(atomic_load(&zlib.calls), 6);
    /* Nothing was copied. */
    CHECK_EQ(atomic_load(&copiers), 0);
    /* Decompress to the other device's memory. */
    for (int i = 0; i < 2; i++) {
        size_t len = input_size;

        CHECK_EQ(gzlzss_cuda_decompress(z, gpu_in(), &len, packed, packed_len, NULL, NULL),
                 GZLZSS_OK);
        CHECK_EQ(len, input_size);
    }
    CHECK_EQ(atomic_load(&zlib.opens), 2);
    CHECK_EQ(atomic_load(&zlib.open), 2);
    free_object(z);
}

/* Tests which calls go to a GPU. */
static void test_choice(void)
{
    static const int numbers[] = {1, 3}, others[] = {0, 2};
    const size_t little = 40000; /* less than 64 KiB, however it is compressed */

    for (int i = 0; i < 7; i++) {
        gzlzss_options o = GZLZSS_OPTIONS_INIT;
        gzlzss *z;

        o.threads = 1;
        o.backend = i == 1 ? GZLZSS_CPU : GZLZSS_AUTO;
        o.devices = i == 2 || i == 6 ? numbers : i == 3 ? others : NULL;
        o.device_count = o.devices != NULL ? 2 : 0;
        if (i == 6)
            o.backend = GZLZSS_CPU;
        if (i == 4)
            o.level = GZLZSS_LEVEL_STORED;
        o.rsyncable = i == 5;
        z = object_with(&o);
        get_ready();
        check_unpack(z, true);
        CHECK_EQ(atomic_load(&zlib.calls), i != 1 && i != 3 && i != 6);
        free_object(z);
    }

    gzlzss *z = object(1, false);
    size_t small_len, len = little;
    uint8_t *small = compressed(z, little, &small_len);

    get_ready();
    CHECK_EQ(gzlzss_cuda_decompress(z, gpu_out(), &len, small, small_len, NULL, NULL), GZLZSS_OK);
    CHECK_EQ(len, little);
    CHECK_EQ(atomic_load(&zlib.opens), 0);
    /* No GPU decompresses to host memory. */
    len = input_size;
    uint8_t *out = unit_need(malloc(input_size));
    CHECK_EQ(gzlzss_cuda_decompress(z, out, &len, gpu_in(), packed_len, NULL, NULL), GZLZSS_OK);
    CHECK_EQ(atomic_load(&zlib.opens), 0);
    free(out);
    free(small);
    free_object(z);
}

/* If a GPU leaves data to the CPU, at once or later, the next call uses the GPU again.  If a GPU
 * has failed, no call uses it again.  If its engine cannot be opened, calls try again after a
 * while. */
static void test_fallbacks(void)
{
    for (int way = 0; way < 8; way++) {
        const enum fate fate = way % 2 == 0 ? LEAVES : FAILS;
        const bool is_late = way / 2 % 2 != 0, from_gpu = way / 4 != 0;
        gzlzss *z = object(3, false);
        char why[GPU_ERROR_SIZE];

        get_ready();
        atomic_store(&zlib.fate, fate);
        atomic_store(&zlib.after, is_late ? packed_len / 2 : 0);
        for (int i = 0; i < 2; i++)
            check_unpack(z, from_gpu);
        CHECK_EQ(atomic_load(&zlib.opens), 1);
        CHECK_EQ(atomic_load(&zlib.calls), fate == LEAVES ? 2 : 1);
        CHECK_EQ(atomic_load(&zlib.open), fate == LEAVES);
        gzlzss_no_gpu(z, why, sizeof(why));
        CHECK(strcmp(why, fate == LEAVES ? "" : "zlib is tired") == 0);
        atomic_store(&zlib.fate, WORKS);
        check_unpack(z, from_gpu);
        CHECK_EQ(atomic_load(&zlib.calls), fate == LEAVES ? 3 : 1);
        free_object(z);
    }

    const struct timespec pause = {0, 1000000L * 250};
    gzlzss *z = object(3, false);
    char why[GPU_ERROR_SIZE];

    get_ready();
    atomic_store(&zlib.cannot_open, true);
    check_unpack(z, true);
    CHECK_EQ(atomic_load(&zlib.opens), 1);
    gzlzss_no_gpu(z, why, sizeof(why));
    CHECK(strcmp(why, "too little memory") == 0);
    nanosleep(&pause, NULL);
    check_unpack(z, true);
    CHECK_EQ(atomic_load(&zlib.opens), 2);
    CHECK_EQ(atomic_load(&zlib.calls), 0);
    atomic_store(&zlib.cannot_open, false);
    nanosleep(&pause, NULL);
    check_unpack(z, true);
    CHECK_EQ(atomic_load(&zlib.calls), 1);
    free_object(z);
}

/* Whatever is wrong (too little room, damage, a cut, other bytes after the members), the result is
 * the one that the CPU gives. */
static void test_verdicts(void)
{
    gzlzss *z = object(2, false);
    uint8_t *bytes = unit_need(malloc(packed_len + 10));

    memset(bytes + packed_len, 'x', 10);
    for (int i = 0; i < 10; i++) {
        const size_t room = i == 0 ? input_size - 1 : i == 1 ? input_size / 3 : input_size + 7;
        const size_t in_len = i == 2   ? packed_len - 1
                              : i == 3 ? packed_len / 2
                              : i == 4 ? packed_len + 10
                              : i == 5 ? packed_len + 1
                                       : packed_len;
        size_t len = room, expected_len = room;
        gzlzss_call call = GZLZSS_CALL_INIT, expected_call = GZLZSS_CALL_INIT;
        uint8_t *out = unit_need(malloc(room));
        gzlzss_status expected;

        memcpy(bytes, packed, packed_len);
        if (i == 6)
            bytes[packed_len - 6] ^= 1; /* the CRC */
        if (i == 7)
            bytes[packed_len - 1] ^= 1; /* the length */
        if (i == 8)
            bytes[packed_len / 2] ^= 64;
        if (i == 9)
            bytes[0] = 'P';
        get_ready();
        mask(gpu_in(), bytes, in_len);
        memset(gpu_out(), 0, input_size + 8);
        expected = gzlzss_decompress(z, out, &expected_len, bytes, in_len, &expected_call);
        CHECK(expected != GZLZSS_OK);
        CHECK_EQ(gzlzss_cuda_decompress(z, gpu_out(), &len, gpu_in(), in_len, NULL, &call),
                 expected);
        CHECK_EQ(atomic_load(&zlib.calls), 1);
        if (expected == GZLZSS_ERROR_ROOM || expected == GZLZSS_ERROR_TRAILING) {
            CHECK_EQ(len, expected_len);
            CHECK(is_masked(gpu_out(), out, len));
        }
        if (expected == GZLZSS_ERROR_TRAILING)
            CHECK_EQ(call.in_bytes, expected_call.in_bytes);
        CHECK_EQ(call.out_bytes, len);
        CHECK_EQ(gpu_out()[room], 0);
        free(out);
    }
    free(bytes);
    free_object(z);
}

/* Tests several members, and one of another format. */
static void test_formats(void)
{
    static const uint8_t lzw[] = {0x1f, 0x9d, 0x90, 0x61, 0xc4, 0x0c};
    gzlzss *z = object(2, false);
    const size_t many = 2 * packed_len;
    size_t len = 2 * input_size;
    uint8_t *bytes = unit_need(calloc(many, 1));

    memcpy(bytes, packed, packed_len);
    memcpy(bytes + packed_len, packed, packed_len);
    get_ready();
    CHECK_EQ(gzlzss_cuda_decompress(z, memory, &len, bytes, many, NULL, NULL), GZLZSS_OK);
    CHECK_EQ(len, 2 * input_size);
    CHECK(is_masked(memory, input, input_size));
    CHECK(is_masked(memory + input_size, input, input_size));
    CHECK_EQ(atomic_load(&zlib.calls), 1);

    /* Make data in the format of compress(1): three bytes, and then only codes of zero. */
    memset(bytes, 0, many);
    memcpy(bytes, lzw, sizeof(lzw));
    len = input_size;
    size_t expected_len = input_size;
    uint8_t *out = unit_need(malloc(input_size));
    const gzlzss_status expected = gzlzss_decompress(z, out, &expected_len, bytes, 70000, NULL);
    CHECK_EQ(gzlzss_cuda_decompress(z, gpu_out(), &len, bytes, 70000, NULL, NULL), expected);
    CHECK_EQ(len, expected_len);
    free(out);
    free(bytes);
    free_object(z);
}

/* Data in zlib's format, or raw, is decompressed by gpu_inflate_many, as a single input. */
static void check_format(gzlzss_format format)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    size_t bytes_len, len = input_size;
    uint64_t size;
    uint8_t *bytes;
    gzlzss *z;

    o.format = format;
    o.threads = 1;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    bytes_len = gzlzss_bound(z, input_size);
    bytes = unit_need(malloc(bytes_len));
    CHECK_EQ(gzlzss_compress(z, bytes, &bytes_len, input, input_size, NULL), GZLZSS_OK);
    CHECK(bytes_len > (64 << 10)); /* less would be the CPU's work */
    get_ready();
    mask(gpu_in(), bytes, bytes_len);
    CHECK_EQ(gzlzss_cuda_decompress(z, gpu_out(), &len, gpu_in(), bytes_len, NULL, NULL),
             GZLZSS_OK);
    CHECK_EQ(len, input_size);
    CHECK(is_masked(gpu_out(), input, input_size));
    CHECK_EQ(atomic_load(&zlib.calls), 1);
    /* The CPU counts the size, and finds which error the data has. */
    CHECK_EQ(gzlzss_cuda_decompressed_size(z, &size, gpu_in(), bytes_len, NULL, NULL), GZLZSS_OK);
    CHECK_EQ(size, input_size);
    CHECK_EQ(atomic_load(&zlib.calls), 1);
    len = input_size;
    CHECK_EQ(gzlzss_cuda_decompress(z, gpu_out(), &len, gpu_in(), bytes_len - 1, NULL, NULL),
             GZLZSS_ERROR_TRUNCATED);
    CHECK_EQ(atomic_load(&zlib.calls), 2);
    free(bytes);
    free_object(z);
}

static void test_other_formats(void)
{
    check_format(GZLZSS_ZLIB);
    check_format(GZLZSS_RAW);
}

/* What `progress` was told. */
struct told_bytes {
    uint64_t in, out;
    long calls, stop_at; /* `progress` ends the work at call `stop_at`; 0: never */
    bool went_back;
};

static int progress(void *ctx, uint64_t in, uint64_t out)
{
    struct told_bytes *t = ctx;

    /* The program's own context is current. */
    CHECK(!is_program || !is_saved);
    t->went_back |= in < t->in || out < t->out;
    t->in = in;
    t->out = out;
    return ++t->calls == t->stop_at;
}

/* `progress` is called for all batches, with numbers that never fall, and can end the call. */
static void test_progress(void)
{
    gzlzss *z = object(2, false);

    for (int i = 0; i < 4; i++) {
        struct told_bytes t = {.stop_at = i == 1 ? 3 : i == 3 ? 9 : 0};
        gzlzss_call call = GZLZSS_CALL_INIT;
        size_t len = input_size;

        get_ready();
        if (i >= 2)
            atomic_store(&zlib.fate, LEAVES);
        atomic_store(&zlib.after, packed_len / 2);
        zlib.batch = packed_len / 10;
        call.progress = progress;
        call.ctx = &t;
        CHECK_EQ(unpack(z, i % 2 != 0, &len, &call),
                 t.stop_at != 0 ? GZLZSS_ERROR_CANCELLED : GZLZSS_OK);
        CHECK(t.calls >= 3);
        CHECK(!t.went_back);
        CHECK_EQ(call.out_bytes, len);
        if (i == 1)
            CHECK(t.calls == 3 && len == t.out && len < input_size && call.in_bytes == t.in);
        if (t.stop_at == 0)
            CHECK(len == input_size && t.out == input_size && call.in_bytes == packed_len);
    }
    free_object(z);
}

/* --- Sizes, and memory that the program allocates --- */

/* A GPU or the CPU counts the size, also that of damaged data. */
static void test_size(void)
{
    gzlzss *z = object(2, false);

    for (int i = 0; i < 8; i++) {
        const bool by_cpu = i % 2 != 0, is_bad = i / 2 % 2 != 0, from_gpu = i / 4 != 0;
        gzlzss_call call = GZLZSS_CALL_INIT;
        size_t len = input_size;
        uint64_t size = 77;
        gzlzss_status expected;
        uint8_t *out = unit_need(malloc(input_size));

        const size_t in_len = is_bad ? packed_len / 2 : packed_len;

        get_ready();
        atomic_store(&zlib.fate, by_cpu ? LEAVES : WORKS);
        told.current = 5;
        expected = gzlzss_decompress(z, out, &len, packed, in_len, NULL);
        CHECK_EQ(gzlzss_cuda_decompressed_size(z, &size, from_gpu ? gpu_in() : packed, in_len, NULL,
                                               &call),
                 expected);
        CHECK_EQ(expected, is_bad ? GZLZSS_ERROR_TRUNCATED : GZLZSS_OK);
        CHECK(is_bad ? size < input_size : size == input_size);
        CHECK_EQ(call.out_bytes, size);
        CHECK(is_bad || call.in_bytes == packed_len);
        CHECK_EQ(atomic_load(&zlib.calls), 1);
        free(out);
    }
    /* An input without bytes, and wrong arguments. */
    uint64_t size = 77;

    get_ready();
    CHECK_EQ(gzlzss_cuda_decompressed_size(z, &size, packed, 0, NULL, NULL),
             GZLZSS_ERROR_TRUNCATED);
    CHECK_EQ(size, 0);
    CHECK_EQ(gzlzss_cuda_decompressed_size(z, NULL, packed, 9, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_cuda_decompressed_size(z, &size, NULL, 9, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_cuda_decompressed_size(NULL, &size, packed, 9, NULL, NULL),
             GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(atomic_load(&zlib.calls), 0);
    free_object(z);
}

/* The memory that the program "allocates". */
struct program_memory {
    uint8_t *memory;
    size_t asked[3];
    int calls;
};

static void *allocate(void *ctx, size_t size)
{
    struct program_memory *m = ctx;

    /* The program's own context is current. */
    CHECK(!is_saved);
    m->asked[m->calls++] = size;
    return m->memory;
}

/* The output is in memory of the engine's GPU, of another GPU or of the host.  A GPU does all of
 * the work, a part of it, or nothing. */
static void test_new(void)
{
    uint8_t *host = unit_need(malloc(input_size));

    for (int i = 0; i < 24; i++) {
        gzlzss *z = object(2, false);
        const int where = i % 3, way = i / 3 % 4;
        const bool from_gpu = i / 12 != 0;
        struct program_memory m = {.memory = where == 0   ? memory + 3 + packed_len
                                             : where == 1 ? gpu_out()
                                                          : host};
        gzlzss_call call = GZLZSS_CALL_INIT;
        size_t len = 77;
        void *out = NULL;

        get_ready();
        memset(m.memory, 0, input_size);
        told.current = 2;
        /* Depending on `way`, the GPU does all of the work, does nothing, or counts the bytes and
         * then leaves the data to the CPU or fails. */
        if (way > 0)
            atomic_store(&zlib.fate, way == 3 ? FAILS : LEAVES);
        zlib.counts = way >= 2;
        CHECK_EQ(gzlzss_cuda_decompress_new(z, &out, &len, allocate, &m,
                                            from_gpu ? gpu_in() : packed, packed_len, NULL, &call),
                 GZLZSS_OK);
        CHECK(out == m.memory && len == input_size);
        CHECK(m.calls == 1 && m.asked[0] == input_size);
        CHECK(where == 2 ? memcmp(host, input, len) == 0 : is_masked(m.memory, input, len));
        CHECK(call.in_bytes == packed_len && call.out_bytes == input_size);
        CHECK_EQ(atomic_load(&zlib.calls), 1);
        free_object(z);
    }
    free(host);
}

/* The program has no memory, the count is wrong, the data is damaged, or there is no output. */
static void test_new_errors(void)
{
    gzlzss *z = object(2, false);
    size_t len = 77, empty_len;
    void *out = packed;
    struct program_memory none = {0}, few = {.memory = gpu_out()}, bad = few;

    for (int i = 0; i < 2; i++) {
        get_ready();
        atomic_store(&zlib.fate, i == 0 ? WORKS : LEAVES);
        CHECK_EQ(gzlzss_cuda_decompress_new(z, &out, &len, allocate, &none, packed, packed_len,
                                            NULL, NULL),
                 GZLZSS_ERROR_MEMORY);
        CHECK(out == NULL && len == 0 && none.calls == i + 1);
    }
    /* If the GPU has counted too few bytes, the program is asked again. */
    get_ready();
    zlib.counts_too_few = 100;
    CHECK_EQ(
        gzlzss_cuda_decompress_new(z, &out, &len, allocate, &few, packed, packed_len, NULL, NULL),
        GZLZSS_OK);
    CHECK(out == gpu_out() && len == input_size && few.calls == 2 && few.asked[1] == input_size);
    CHECK(is_masked(gpu_out(), input, len));
    /* If data is cut off, the output has the bytes before the cut. */
    get_ready();
    memset(gpu_out(), 0, input_size);
    CHECK_EQ(gzlzss_cuda_decompress_new(z, &out, &len, allocate, &bad, packed, packed_len / 2, NULL,
                                        NULL),
             GZLZSS_ERROR_TRUNCATED);
    CHECK(out == gpu_out() && len > 0 && len < input_size && len <= bad.asked[0] && bad.calls == 1);
    CHECK(is_masked(gpu_out(), input, len));
    /* An output of 0 bytes needs no memory, so `allocate` may return NULL. */
    uint8_t *empty = compressed(z, 0, &empty_len);

    none.calls = 0;
    CHECK_EQ(
        gzlzss_cuda_decompress_new(z, &out, &len, allocate, &none, empty, empty_len, NULL, NULL),
        GZLZSS_OK);
    CHECK(out == NULL && len == 0 && none.calls == 1 && none.asked[0] == 0);
    CHECK_EQ(gzlzss_cuda_decompress_new(z, &out, &len, NULL, NULL, empty, empty_len, NULL, NULL),
             GZLZSS_ERROR_ARGUMENT);
    free(empty);
    free_object(z);
}

/* `progress` can end the call in the second pass. */
static void test_new_progress(void)
{
    gzlzss *z = object(2, false);

    for (int i = 0; i < 2; i++) {
        struct told_bytes t = {.stop_at = 3};
        struct program_memory m = {.memory = gpu_out()};
        gzlzss_call call = GZLZSS_CALL_INIT;
        size_t len = 77;
        void *out = NULL;

        get_ready();
        if (i > 0)
            atomic_store(&zlib.fate, LEAVES);
        zlib.batch = packed_len / 10;
        call.progress = progress;
        call.ctx = &t;
        CHECK_EQ(gzlzss_cuda_decompress_new(z, &out, &len, allocate, &m, packed, packed_len, NULL,
                                            &call),
                 GZLZSS_ERROR_CANCELLED);
        CHECK(t.calls == 3 && !t.went_back && len < input_size && out == gpu_out());
    }
    free_object(z);
}

/* --- Many inputs --- */

enum { ITEMS = 30 };

/* An item's bytes, compressed by zlib. */
struct sample {
    uint8_t *packed;
    size_t packed_len;
    const uint8_t *bytes;
    size_t len;
};

static void make_sample(struct sample *s, const uint8_t *bytes, size_t len, int bits)
{
    z_stream z = {0};
    const size_t room = compressBound((uLong)len) + 100;

    *s = (struct sample){unit_need(malloc(room)), 0, bytes, len};
    CHECK_EQ(deflateInit2(&z, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)len;
    z.next_out = s->packed;
    z.avail_out = (uInt)room;
    CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    s->packed_len = z.total_out;
    (void)deflateEnd(&z);
}

/* Items of one format, in a GPU's memory or the host's. */
struct batch {
    struct sample samples[ITEMS];
    gzlzss_item items[ITEMS];
    uint8_t *host_out;
    size_t packed_len, len; /* bytes of all inputs, and of all outputs */
};

/* Makes items whose inputs and outputs are in the places `in` and `out`.  0: device 2.  1: device
 * 3.  2: the host.  3: these three in turn. */
static void make_batch(struct batch *b, gzlzss_format format, int in, int out)
{
    uint8_t *host_out = b->host_out = unit_need(malloc(ITEMS * 5000));
    uint8_t *device_in[2] = {memory, memory + memory_size / 2};
    uint8_t *device_out[2] = {memory + memory_size / 4, memory + 3 * (memory_size / 4)};

    b->packed_len = b->len = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        struct sample *s = &b->samples[i];
        gzlzss_item *item = &b->items[i];
        const size_t from = in < 3 ? (size_t)in : i % 3, to = out < 3 ? (size_t)out : i % 3;

        make_sample(s, input + 1000 * i, i < 3 ? i : 150 * i,
                    window_bits(format == GZLZSS_GZIP   ? CONTAINER_GZIP
                                : format == GZLZSS_ZLIB ? CONTAINER_ZLIB
                                                        : CONTAINER_RAW));
        *item = (gzlzss_item){s->packed, s->packed_len, host_out, s->len + i % 2, GZLZSS_OK};
        if (from < 2) {
            mask(device_in[from], s->packed, s->packed_len);
            item->in = device_in[from];
            device_in[from] += s->packed_len;
        }
        if (to < 2) {
            item->out = device_out[to];
            device_out[to] += s->len + 1;
        }
        host_out += s->len + 1;
        b->packed_len += s->packed_len;
        b->len += s->len;
    }
}

static void drop_batch(struct batch *b)
{
    for (size_t i = 0; i < ITEMS; i++)
        free(b->samples[i].packed);
    free(b->host_out);
}

/* True if an item's output is right. */
static bool is_item_right(const struct batch *b, size_t i)
{
    const gzlzss_item *item = &b->items[i];
    const struct sample *s = &b->samples[i];

    if (item->status != GZLZSS_OK || item->out_len != s->len)
        return false;
    return is_on_gpu(item->out) ? is_masked(item->out, s->bytes, s->len)
                                : s->len == 0 || memcmp(item->out, s->bytes, s->len) == 0;
}

/* Tests items in all formats, with inputs and outputs in all places, by a GPU and by the CPU. */
static void test_batches(void)
{
    for (int way = 0; way < 3 * 4 * 4 * 4; way++) {
        const gzlzss_format format = (gzlzss_format)(way % 3);
        const int in = way / 3 % 4, out = way / 12 % 4, fate = way / 48;
        gzlzss *z = object(2, false);
        gzlzss_call call = GZLZSS_CALL_INIT;
        struct told_bytes t = {0};
        struct batch b;

        be_good();
        make_batch(&b, format, in, out);
        atomic_store(&zlib.fate, fate == 0 ? WORKS : fate == 1 ? LEAVES : FAILS);
        atomic_store(&zlib.after, fate == 3 ? 5 : 0);
        told.has_no_blocks = way % 5 == 0;
        call.progress = progress;
        call.ctx = &t;
        CHECK_EQ(gzlzss_cuda_decompress_batch(z, b.items, ITEMS, format, NULL, &call), GZLZSS_OK);
        for (size_t i = 0; i < ITEMS; i++)
            CHECK(is_item_right(&b, i));
        CHECK(call.in_bytes == b.packed_len && call.out_bytes == b.len);
        CHECK(t.calls > 0 && !t.went_back);
        CHECK_EQ(atomic_load(&zlib.calls), out != 2);
        drop_batch(&b);
        free_object(z);
    }
}

/* The driver is asked a few times, not once for each item. */
static void test_locating(void)
{
    gzlzss *z = object(2, false);
    struct batch b;

    be_good();
    make_batch(&b, GZLZSS_ZLIB, 0, 1);
    atomic_store(&told.asked, 0);
    CHECK_EQ(gzlzss_cuda_decompress_batch(z, b.items + 1, ITEMS - 1, GZLZSS_ZLIB, NULL, NULL),
             GZLZSS_OK);
    CHECK(atomic_load(&told.asked) < 10);
    drop_batch(&b);
    free_object(z);
}

/* The call waits for the stream in the context of the first GPU memory among all items. */
static void test_batch_waiting(void)
{
    gzlzss *z = object(2, false);

    for (int way = 0; way < 4; way++) {
        const int expected = way == 0 ? 2 : way == 3 ? -1 : 3;
        struct batch b;

        be_good();
        make_batch(&b, GZLZSS_ZLIB, way == 0 ? 0 : 2, way == 1 ? 1 : 2);
        b.items[0].in = b.samples[0].packed;
        b.items[0].out = b.host_out;
        b.items[1].in_len = b.items[1].out_len = 0;
        if (way == 2)
            b.items[ITEMS - 1].out = gpu_out();
        CHECK_EQ(gzlzss_cuda_decompress_batch(z, b.items, ITEMS, GZLZSS_ZLIB, NULL, NULL),
                 GZLZSS_ERROR_TRUNCATED);
        CHECK_EQ(told.device, expected);
        drop_batch(&b);
    }
    free_object(z);
}

/* Copies fail.  An item whose output cannot be copied gets the error and no bytes. */
static void test_batch_copies(void)
{
    gzlzss *z = object(2, false);

    for (int way = 0; way < 2; way++) {
        gzlzss_call call = GZLZSS_CALL_INIT;
        struct batch b;

        be_good();
        make_batch(&b, GZLZSS_RAW, way == 0 ? 2 : 0, way == 0 ? 1 : 2);
        atomic_store(&zlib.fate, LEAVES);
        atomic_store(&told.good_copies, 3);
        CHECK_EQ(gzlzss_cuda_decompress_batch(z, b.items, ITEMS, GZLZSS_RAW, NULL, &call),
                 way == 0 ? GZLZSS_ERROR_WRITE : GZLZSS_ERROR_READ);
        CHECK_EQ(call.error_number, EIO);
        for (size_t i = 0; i < ITEMS; i++) {
            /* Item 0 has no output that must be copied. */
            const bool is_good = i < (way == 0 ? 4 : 3);

            CHECK_EQ(b.items[i].status, is_good    ? GZLZSS_OK
                                        : way == 0 ? GZLZSS_ERROR_WRITE
                                                   : GZLZSS_ERROR_READ);
            CHECK_EQ(b.items[i].out_len, is_good ? b.samples[i].len : 0);
        }
        drop_batch(&b);
    }
    free_object(z);
}

/* The room is about 4 GiB or larger.  If the data is cut off, ISA-L decodes most of it, and zlib
 * decodes the last bytes before the cut. */
static void test_large_room(void)
{
    static const size_t rooms[] = {UINT32_MAX, (size_t)UINT32_MAX + 1, (size_t)UINT32_MAX + 300};
    gzlzss *z = object(2, false);

    be_good();
    /* For such a large room, a sanitizer's tables would take too much memory. */
    for (int way = 0; way < 3 * 3 * 2 && !UNIT_SANITIZED; way++) {
        const gzlzss_format format = (gzlzss_format)(way % 3);
        const bool is_cut = way / 9 != 0;
        struct batch b;
        gzlzss_item *item = &b.items[7];

        make_batch(&b, format, 2, 2);
        /* The call writes only the output's bytes, so the room need not exist. */
        item->out_len = rooms[way / 3 % 3];
        if (is_cut)
            item->in_len -= item->in_len / 3;
        (void)gzlzss_cuda_decompress_batch(z, item, 1, format, NULL, NULL);
        /* The system may refuse so much memory. */
        if (item->status != GZLZSS_ERROR_MEMORY) {
            CHECK_EQ(item->status, is_cut ? GZLZSS_ERROR_TRUNCATED : GZLZSS_OK);
            CHECK(is_cut ? item->out_len < b.samples[7].len : is_item_right(&b, 7));
        }
        drop_batch(&b);
    }
    free_object(z);
}

/* Tests damaged items.  In gzip's format, the result must be the one that gzlzss_decompress gives.
 * In other formats, the result must be the one that zlib gives. */
static void test_item_verdicts(void)
{
    gzlzss *z = object(2, false);
    uint64_t state = 11;

    for (int way = 0; way < (UNIT_SANITIZED ? 30 : 300); way++) {
        const gzlzss_format format = (gzlzss_format)(way % 3);
        uint8_t out[20001];
        struct sample s;
        gzlzss_item item;
        z_stream zs = {0};
        size_t room;

        be_good();
        make_sample(&s, input + way, unit_below(&state, sizeof(out) - 1),
                    format == GZLZSS_GZIP   ? 31
                    : format == GZLZSS_ZLIB ? 15
                                            : -15);
        for (uint64_t i = unit_below(&state, 4); i > 0; i--)
            s.packed[unit_below(&state, s.packed_len)] ^= (uint8_t)(1U << unit_below(&state, 8));
        if (way % 4 == 0)
            s.packed_len -= unit_below(&state, s.packed_len);
        item = (gzlzss_item){s.packed, s.packed_len, gpu_out(), s.len + way % 5 - 1, GZLZSS_OK};
        if (s.len == 0)
            item.out_len = 0;
        room = item.out_len;
        atomic_store(&zlib.fate, LEAVES);
        (void)gzlzss_cuda_decompress_batch(z, &item, 1, format, NULL, NULL);
        if (format == GZLZSS_GZIP) {
            size_t len = room;

            CHECK_EQ(item.status, gzlzss_decompress(z, out, &len, s.packed, s.packed_len, NULL));
            CHECK_EQ(item.out_len, len);
            CHECK(is_masked(gpu_out(), out, len));
        } else {
            bool is_good;

            CHECK_EQ(inflateInit2(&zs, format == GZLZSS_ZLIB ? 15 : -15), Z_OK);
            zs.next_in = s.packed;
            zs.avail_in = (uInt)s.packed_len;
            zs.next_out = out;
            zs.avail_out = (uInt)room + 1;
            is_good =
                inflate(&zs, Z_FINISH) == Z_STREAM_END && zs.avail_in == 0 && zs.total_out <= room;
            CHECK_EQ(item.status == GZLZSS_OK, is_good);
            if (is_good)
                CHECK(item.out_len == zs.total_out && is_masked(gpu_out(), out, item.out_len));
            (void)inflateEnd(&zs);
        }
        free(s.packed);
    }
    free_object(z);
}

/* Bad items are among good ones.  Each bad item has its own status, and all good items are
 * right. */
static void test_bad_items(void)
{
    gzlzss *z = object(2, false);

    for (int way = 0; way < 3 * 3; way++) {
        const gzlzss_format format = (gzlzss_format)(way % 3);
        const bool is_raw = format == GZLZSS_RAW;
        gzlzss_status expected[ITEMS] = {GZLZSS_OK};
        struct batch b;
        uint8_t *last;

        be_good();
        atomic_store(&zlib.fate, way / 3 == 0 ? WORKS : LEAVES);
        make_batch(&b, format, 2, way / 3 == 2 ? 2 : 1);
        b.items[10].out_len = b.samples[10].len - 1;
        expected[10] = GZLZSS_ERROR_ROOM;
        b.items[12].in_len -= is_raw ? 3 : 1;
        expected[12] = GZLZSS_ERROR_TRUNCATED;
        b.items[14].in_len = 0;
        expected[14] = GZLZSS_ERROR_TRUNCATED;
        b.samples[16].packed[b.samples[16].packed_len] = 7;
        b.items[16].in_len++;
        expected[16] = GZLZSS_ERROR_TRAILING;
        last = b.samples[18].packed + b.samples[18].packed_len - 1;
        *last ^= is_raw ? 0 : 1;
        expected[18] = is_raw ? GZLZSS_OK : GZLZSS_ERROR_DATA;
        b.samples[20].packed[is_raw ? 0 : format == GZLZSS_ZLIB ? 2 : 10] |= 6;
        expected[20] = GZLZSS_ERROR_DATA;
        if (!is_raw) {
            b.samples[22].packed[0] = 'P';
            expected[22] = GZLZSS_ERROR_FORMAT;
        }
        CHECK_EQ(gzlzss_cuda_decompress_batch(z, b.items, ITEMS, format, NULL, NULL),
                 GZLZSS_ERROR_ROOM);
        for (size_t i = 0; i < ITEMS; i++) {
            CHECK_EQ(b.items[i].status, expected[i]);
            CHECK(expected[i] != GZLZSS_OK || is_item_right(&b, i));
        }
        CHECK_EQ(b.items[10].out_len, b.samples[10].len - 1);
        CHECK_EQ(b.items[14].out_len, 0);
        CHECK_EQ(b.items[16].out_len, b.samples[16].len);
        drop_batch(&b);
    }
    free_object(z);
}

/* Tests calls that `progress` ends, with a GPU and with the CPU, and calls with wrong arguments. */
static void test_batch_ends(void)
{
    gzlzss *z = object(2, false);
    struct batch b;

    for (int i = 0; i < 2; i++) {
        struct told_bytes t = {.stop_at = 7};
        gzlzss_call call = GZLZSS_CALL_INIT;

        be_good();
        make_batch(&b, GZLZSS_RAW, 0, i == 0 ? 1 : 2);
        call.progress = progress;
        call.ctx = &t;
        CHECK_EQ(gzlzss_cuda_decompress_batch(z, b.items, ITEMS, GZLZSS_RAW, NULL, &call),
                 GZLZSS_ERROR_CANCELLED);
        for (size_t k = 0; k < ITEMS; k++)
            CHECK(b.items[k].status == GZLZSS_ERROR_CANCELLED ? b.items[k].out_len == 0
                                                              : is_item_right(&b, k));
        CHECK_EQ(b.items[0].status, i == 0 ? GZLZSS_ERROR_CANCELLED : GZLZSS_OK);
        CHECK_EQ(b.items[4].status, GZLZSS_OK);
        CHECK_EQ(b.items[ITEMS - 1].status, GZLZSS_ERROR_CANCELLED);
        drop_batch(&b);
    }
    be_good();
    make_batch(&b, GZLZSS_RAW, 0, 1);
    CHECK_EQ(gzlzss_cuda_decompress_batch(z, NULL, 0, GZLZSS_RAW, NULL, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_cuda_decompress_batch(z, NULL, 1, GZLZSS_RAW, NULL, NULL),
             GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_cuda_decompress_batch(z, b.items, ITEMS, (gzlzss_format)3, NULL, NULL),
             GZLZSS_ERROR_ARGUMENT);
    b.items[9].in = NULL;
    CHECK_EQ(gzlzss_cuda_decompress_batch(z, b.items, ITEMS, GZLZSS_RAW, NULL, NULL),
             GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(atomic_load(&zlib.calls), 0);
    told.result = GPU_WAIT_CAPTURED;
    CHECK_EQ(gzlzss_cuda_decompress_batch(z, b.items, 3, GZLZSS_RAW, NULL, NULL),
             GZLZSS_ERROR_ARGUMENT);
    drop_batch(&b);
    free_object(z);
}

/* A gate that keeps a call in the engine.  With it, tests check that calls from several threads
 * take turns, and that a call that waits can be cancelled. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_inside, may_leave;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Lets a call stay in the engine until the gate opens. */
static void stay(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.is_inside = true;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.may_leave)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void wait_until_inside(void)
{
    pthread_mutex_lock(&gate.lock);
    while (!gate.is_inside)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void open_gate(bool is_open)
{
    pthread_mutex_lock(&gate.lock);
    gate.may_leave = is_open;
    gate.is_inside = false;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

/* What a caller calls. */
enum function { DECOMPRESS, NEW, SIZE, BATCH, FUNCTIONS };

struct caller {
    pthread_t thread;
    enum function function;
    gzlzss *z;
    uint8_t *out; /* memory of a GPU for `input` */
    int rounds;
    gzlzss_call call;
    gzlzss_status status; /* the status of the last round */
    size_t wrong;
    atomic_bool has_ended;
};

static void *allocate_for_caller(void *ctx, size_t size)
{
    struct caller *c = ctx;

    CHECK_EQ(size, input_size / 4);
    return c->out;
}

/* Calls the function once, for `packed`.  Returns the status. */
static gzlzss_status call_once(struct caller *c)
{
    const size_t room = input_size / 4;
    size_t len = room;
    uint64_t size = room;
    gzlzss_item item = {packed, packed_len, c->out, room, GZLZSS_OK};
    gzlzss_status status;
    void *out;

    switch (c->function) {
    case NEW:
        status = gzlzss_cuda_decompress_new(c->z, &out, &len, allocate_for_caller, c, packed,
                                            packed_len, NULL, &c->call);
        break;
    case SIZE:
        status = gzlzss_cuda_decompressed_size(c->z, &size, packed, packed_len, NULL, &c->call);
        break;
    case BATCH:
        status = gzlzss_cuda_decompress_batch(c->z, &item, 1, GZLZSS_GZIP, NULL, &c->call);
        CHECK_EQ(item.status, status);
        len = item.out_len;
        break;
    default:
        status = gzlzss_cuda_decompress(c->z, c->out, &len, packed, packed_len, NULL, &c->call);
    }
    if (status == GZLZSS_OK)
        c->wrong +=
            len != room || size != room || (c->function != SIZE && !is_masked(c->out, input, len));
    return status;
}

static void *call_often(void *argument)
{
    struct caller *c = argument;

    is_program = true;
    for (int i = 0; i < c->rounds; i++) {
        c->status = call_once(c);
        CHECK(!is_saved);
    }
    atomic_store(&c->has_ended, true);
    return NULL;
}

static void start(struct caller *c, gzlzss *z, int number, int rounds, enum function function)
{
    *c = (struct caller){.function = function,
                         .z = z,
                         .out = memory + (size_t)number * (input_size / 4 + 100),
                         .rounds = rounds,
                         .call = GZLZSS_CALL_INIT,
                         .status = GZLZSS_ERROR_INTERNAL};
    if (pthread_create(&c->thread, NULL, call_often, c) != 0)
        abort();
}

static void test_threads(void)
{
    enum { CALLERS = 12 };
    const size_t whole = packed_len;
    struct caller callers[CALLERS];
    gzlzss *z = object(2, false);

    /* A smaller input, so that there is room for all outputs. */
    uint8_t *const large = packed;
    packed = compressed(z, input_size / 4, &packed_len);
    CHECK(packed_len >= (size_t)64 << 10);
    for (int way = 0; way < 4; way++) {
        be_good();
        if (way == 2)
            atomic_store(&zlib.fate, LEAVES);
        if (way == 3)
            atomic_store(&zlib.fate, FAILS);
        atomic_store(&zlib.cannot_open, way == 1);
        for (int i = 0; i < CALLERS; i++)
            start(&callers[i], z, i, UNIT_SANITIZED ? 2 : 5, (enum function)(i % FUNCTIONS));
        for (int i = 0; i < CALLERS; i++) {
            pthread_join(callers[i].thread, NULL);
            CHECK_EQ(callers[i].status, GZLZSS_OK);
            CHECK_EQ(callers[i].wrong, 0);
        }
        free_object(z);
        z = object(2, false);
    }

    /* Three calls on one device: one is in the engine, and one of two that wait is cancelled. */
    be_good();
    open_gate(false);
    zlib.in_call = stay;
    start(&callers[0], z, 0, 1, DECOMPRESS);
    wait_until_inside();
    start(&callers[1], z, 1, 1, DECOMPRESS);
    start(&callers[2], z, 2, 1, DECOMPRESS);
    /* A call on the other device does not wait. */
    while (!atomic_load(&callers[1].has_ended)) {
        const struct timespec moment = {0, 1000000};

        /* The call may not have begun yet. */
        gzlzss_cancel(z, &callers[1].call);
        nanosleep(&moment, NULL);
    }
    pthread_join(callers[1].thread, NULL);
    CHECK_EQ(callers[1].status, GZLZSS_ERROR_CANCELLED);
    CHECK_EQ(atomic_load(&zlib.calls), 1);
    CHECK(!atomic_load(&callers[0].has_ended) && !atomic_load(&callers[2].has_ended));
    start(&callers[3], z, 8, 1, DECOMPRESS);
    while (atomic_load(&zlib.calls) < 2) {
        const struct timespec moment = {0, 1000000};

        nanosleep(&moment, NULL);
    }
    open_gate(true);
    for (int i = 0; i < 4; i++) {
        if (i == 1)
            continue;
        pthread_join(callers[i].thread, NULL);
        CHECK_EQ(callers[i].status, GZLZSS_OK);
        CHECK_EQ(callers[i].wrong, 0);
    }
    CHECK_EQ(atomic_load(&zlib.calls), 3);
    CHECK_EQ(atomic_load(&zlib.opens), 2);

    /* Calls of the other functions on the same device can be cancelled, too. */
    told.current = 2;
    for (int i = NEW; i < FUNCTIONS; i++) {
        open_gate(false);
        start(&callers[0], z, 0, 1, DECOMPRESS);
        wait_until_inside();
        start(&callers[1], z, 1, 1, (enum function)i);
        while (!atomic_load(&callers[1].has_ended)) {
            const struct timespec moment = {0, 1000000};

            gzlzss_cancel(z, &callers[1].call);
            nanosleep(&moment, NULL);
        }
        pthread_join(callers[1].thread, NULL);
        CHECK_EQ(callers[1].status, GZLZSS_ERROR_CANCELLED);
        open_gate(true);
        pthread_join(callers[0].thread, NULL);
        CHECK_EQ(callers[0].status, GZLZSS_OK);
    }

    /* Both the call in the engine and the one that waits are cancelled. */
    open_gate(false);
    start(&callers[0], z, 0, 1, DECOMPRESS);
    wait_until_inside();
    start(&callers[1], z, 1, 1, DECOMPRESS);
    while (!atomic_load(&callers[1].has_ended)) {
        const struct timespec moment = {0, 1000000};

        gzlzss_cancel(z, NULL);
        nanosleep(&moment, NULL);
    }
    open_gate(true);
    for (int i = 0; i < 2; i++) {
        pthread_join(callers[i].thread, NULL);
        CHECK_EQ(callers[i].status, GZLZSS_ERROR_CANCELLED);
    }
    free_object(z);
    free(packed);
    packed = large;
    packed_len = whole;
}

/* After fork, a child calls no function of gpu/. */
static void test_fork(void)
{
    gzlzss *z = object(2, false);
    int status = 0;
    pid_t child;

    get_ready();
    check_unpack(z, true);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        size_t len = input_size;
        bool is_right;

        /* From here on, a check fails if the library asks gpu/ about the program's memory. */
        is_program = false;
        gzlzss_item item = {packed, packed_len, gpu_out(), input_size, GZLZSS_OK};

        is_right = unpack(z, true, &len, NULL) == GZLZSS_ERROR_FORKED && len == 0;
        is_right &= gzlzss_cuda_decompress_batch(z, &item, 1, GZLZSS_GZIP, NULL, NULL) ==
                        GZLZSS_ERROR_FORKED &&
                    item.status == GZLZSS_ERROR_FORKED && item.out_len == 0;
        gzlzss_free(z);
        is_right &= atomic_load(&zlib.open) == 1 && atomic_load(&zlib.calls) == 1;
        _exit(is_right ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
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
    make_packed();
    RUN(test_memory);
    RUN(test_memory_left);
    RUN(test_descriptors);
    RUN(test_waiting);
    RUN(test_failing_copies);
    RUN(test_damage);
    RUN(test_reuse);
    RUN(test_choice);
    RUN(test_fallbacks);
    RUN(test_verdicts);
    RUN(test_formats);
    RUN(test_other_formats);
    RUN(test_progress);
    RUN(test_size);
    RUN(test_new);
    RUN(test_new_errors);
    RUN(test_new_progress);
    RUN(test_batches);
    RUN(test_locating);
    RUN(test_batch_waiting);
    RUN(test_batch_copies);
    RUN(test_large_room);
    RUN(test_item_verdicts);
    RUN(test_bad_items);
    RUN(test_batch_ends);
    RUN(test_threads);
    RUN(test_fork);
    free(packed);
    free(memory);
    free(input);
    return unit_done();
}
