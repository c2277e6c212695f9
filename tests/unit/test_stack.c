/*
 * test_stack.c - the library called on threads with a small stack
 */
#include "config.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "include/gzlzss.h"
#include "tests/unit/inputs.h"

/* The size that man/gzlzss.3 promises, and room for the C library's data at the stack's end. */
#define STACK_SIZE ((size_t)24 << 10)

/* Large enough for several threads to decompress it. */
#define INPUT_SIZE ((size_t)4 << 20)

static uint8_t *input;

struct call {
    gzlzss *z;
    const uint8_t *in;
    size_t in_len;
    uint8_t *out;
    size_t out_len; /* the size of the buffer; after the call, the bytes written */
    gzlzss_status status;
};

static void *compress_main(void *argument)
{
    struct call *c = argument;

    c->status = gzlzss_compress(c->z, c->out, &c->out_len, c->in, c->in_len, NULL);
    return NULL;
}

static void *decompress_main(void *argument)
{
    struct call *c = argument;

    c->status = gzlzss_decompress(c->z, c->out, &c->out_len, c->in, c->in_len, NULL);
    return NULL;
}

/* Runs a stream until its end or an error, and frees the stream. */
static void run_stream(struct call *c, gzlzss_stream *s)
{
    gzlzss_in in = {c->in, c->in_len, 0};
    gzlzss_out out = {c->out, c->out_len, 0};

    do
        c->status = gzlzss_stream_run(s, &out, &in, GZLZSS_END);
    while (c->status == GZLZSS_OK);
    gzlzss_stream_free(s);
    c->out_len = out.used;
    if (c->status == GZLZSS_STREAM_END)
        c->status = GZLZSS_OK;
}

static void *compress_stream_main(void *argument)
{
    struct call *c = argument;
    gzlzss_stream *s;

    c->status = gzlzss_compress_stream(&s, c->z, NULL);
    if (c->status == GZLZSS_OK)
        run_stream(c, s);
    return NULL;
}

static void *decompress_stream_main(void *argument)
{
    struct call *c = argument;
    gzlzss_stream *s;

    c->status = gzlzss_decompress_stream(&s, c->z, NULL);
    if (c->status == GZLZSS_OK)
        run_stream(c, s);
    return NULL;
}

/* Compresses and decompresses through descriptors. */
static void *files_main(void *argument)
{
    struct call *c = argument;
    FILE *const files[3] = {tmpfile(), tmpfile(), tmpfile()};
    int fds[3];

    for (int i = 0; i < 3; i++)
        fds[i] = files[i] != NULL ? fileno(files[i]) : -1;
    c->status = GZLZSS_ERROR_WRITE;
    if (write(fds[0], c->in, c->in_len) == (ssize_t)c->in_len) {
        lseek(fds[0], 0, SEEK_SET);
        c->status = gzlzss_compress_fd(c->z, fds[1], fds[0], NULL);
        lseek(fds[1], 0, SEEK_SET);
    }
    if (c->status == GZLZSS_OK)
        c->status = gzlzss_decompress_fd(c->z, fds[2], fds[1], NULL);
    lseek(fds[2], 0, SEEK_SET);
    c->out_len = (size_t)read(fds[2], c->out, c->out_len);
    for (int i = 0; i < 3; i++)
        if (files[i] != NULL)
            fclose(files[i]);
    return NULL;
}

/* Makes a new object on the small stack, too, since gzlzss_new looks up the system's limits. */
static void *new_main(void *argument)
{
    struct call *c = argument;
    gzlzss_options o = GZLZSS_OPTIONS_INIT;

    o.threads = 3;
    o.level = 12;
    o.backend = GZLZSS_CPU;
    c->status = gzlzss_new(&c->z, &o);
    return NULL;
}

/* Makes a call on a thread with a stack of STACK_SIZE. */
static void call(struct call *c, void *(*body)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;

    c->status = GZLZSS_ERROR_INTERNAL;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, STACK_SIZE) == 0);
    if (CHECK(pthread_create(&thread, &attributes, body, c) == 0))
        CHECK(pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
    CHECK_EQ(c->status, GZLZSS_OK);
}

/* Compresses and decompresses `len` bytes. */
static void round_trip(size_t len, void *(*compress)(void *), void *(*decompress)(void *))
{
    struct call c = {0};
    uint8_t *packed, *back = unit_need(malloc(INPUT_SIZE));

    call(&c, new_main);
    if (c.z == NULL)
        return;
    c.out_len = gzlzss_bound(c.z, len);
    packed = unit_need(malloc(c.out_len));
    c.in = input;
    c.in_len = len;
    c.out = packed;
    call(&c, compress);
    c.in = packed;
    c.in_len = c.out_len;
    c.out = back;
    c.out_len = INPUT_SIZE;
    call(&c, decompress);
    CHECK_EQ(c.out_len, len);
    CHECK(memcmp(back, input, len) == 0);
    gzlzss_free(c.z);
    free(packed);
    free(back);
}

/* Calls in which only the calling thread works, and calls in which other threads work, too. */
static void memory(void)
{
    round_trip(10000, compress_main, decompress_main);
    round_trip(INPUT_SIZE, compress_main, decompress_main);
}

static void streams(void)
{
    round_trip(10000, compress_stream_main, decompress_stream_main);
    round_trip(INPUT_SIZE, compress_stream_main, decompress_stream_main);
}

static void files(void)
{
    struct call c = {.in = input, .in_len = INPUT_SIZE, .out_len = INPUT_SIZE};

    call(&c, new_main);
    if (c.z == NULL)
        return;
    c.out = unit_need(malloc(INPUT_SIZE));
    call(&c, files_main);
    CHECK_EQ(c.out_len, INPUT_SIZE);
    CHECK(memcmp(c.out, input, INPUT_SIZE) == 0);
    gzlzss_free(c.z);
    free(c.out);
}

int main(void)
{
    uint64_t state = 1;

    /* Sanitizers need a larger stack. */
    if (UNIT_SANITIZED)
        return unit_done();
    input = unit_need(malloc(INPUT_SIZE));
    /* Data that compresses fast, but not to a small size. */
    for (size_t i = 0; i < INPUT_SIZE; i++)
        input[i] = (uint8_t)unit_below(&state, i % 8192 < 4096 ? 200 : 256);
    RUN(memory);
    RUN(streams);
    RUN(files);
    free(input);
    return unit_done();
}
