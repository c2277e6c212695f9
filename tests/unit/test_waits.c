/*
 * test_waits.c - what waits for descriptors, where poll is interrupted or fails
 *
 * Sources that wait are compiled for this test, with another poll.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "include/gzlzss.h"
#include "pipeline/expand/input.h"
#include "pipeline/compress/source.h"
#include "tests/unit/unit.h"

/* How many calls of poll do what they should, how many fail then, and their errno. */
static atomic_int passes, fails, fails_with;

/* Instead of poll, in the sources that are tested, and here. */
int test_poll(struct pollfd *p, nfds_t count, int ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

    if (atomic_load(&passes) > 0) {
        atomic_fetch_sub(&passes, 1);
    } else if (atomic_load(&fails) > 0) {
        atomic_fetch_sub(&fails, 1);
        usleep(1000);
        errno = atomic_load(&fails_with);
        return -1;
    }
    return ppoll(p, count, ms < 0 ? NULL : &t, NULL);
}

static void fail(int count, int error)
{
    atomic_store(&fails_with, error);
    atomic_store(&fails, count);
}

static const int transient[] = {EINTR, EAGAIN};
enum { TRANSIENT = sizeof(transient) / sizeof(*transient), ALWAYS = 1000000 };

static void open_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        abort();
}

static void close_pipe(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

static gzlzss *object(void)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *z;

    o.threads = 2;
    o.backend = GZLZSS_CPU;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    return unit_need(z);
}

/* Where poll fails for good, nothing is read or written, which might wait for ever. */
static void test_library_fails(void)
{
    static const int errors[] = {EINVAL, ENOMEM};
    gzlzss *z = object();
    int ends[2], null = open("/dev/null", O_RDWR);

    open_pipe(ends);
    for (int i = 0; i < 2; i++)
        for (int expands = 0; expands < 2; expands++) {
            gzlzss_call call = GZLZSS_CALL_INIT;
            const bool is_memory = errors[i] == ENOMEM;

            fail(ALWAYS, errors[i]);
            CHECK_EQ(expands ? gzlzss_decompress_fd(z, null, ends[0], &call)
                             : gzlzss_compress_fd(z, null, ends[0], &call),
                     is_memory ? GZLZSS_ERROR_MEMORY : GZLZSS_ERROR_READ);
            CHECK_EQ(call.error_number, is_memory ? 0 : errors[i]);
            fail(0, 0);
        }
    for (int i = 0; i < 2; i++) {
        const bool is_memory = errors[i] == ENOMEM;
        gzlzss_call call = GZLZSS_CALL_INIT;
        FILE *file = unit_need(tmpfile());

        CHECK_EQ(fwrite("text", 1, 4, file), 4);
        rewind(file);
        /* Two looks at the file come before: for its bytes, and for its end. */
        atomic_store(&passes, 2);
        fail(ALWAYS, errors[i]);
        CHECK_EQ(gzlzss_compress_fd(z, ends[1], fileno(file), &call),
                 is_memory ? GZLZSS_ERROR_MEMORY : GZLZSS_ERROR_WRITE);
        CHECK_EQ(call.error_number, is_memory ? 0 : errors[i]);
        fail(0, 0);
        fclose(file);
    }
    close(null);
    close_pipe(ends);
    gzlzss_free(z);
}

/* Interrupted, they go on; and they can be cancelled. */
static void test_library_goes_on(void)
{
    gzlzss *z = object();

    for (int i = 0; i < TRANSIENT; i++) {
        uint8_t packed[100], text[10];
        int in[2], out[2], back[2];
        ssize_t n;

        open_pipe(in);
        open_pipe(out);
        open_pipe(back);
        CHECK_EQ(write(in[1], "text", 4), 4);
        close(in[1]);
        fail(5, transient[i]);
        CHECK_EQ(gzlzss_compress_fd(z, out[1], in[0], NULL), GZLZSS_OK);
        close(out[1]);
        fail(5, transient[i]);
        CHECK_EQ(gzlzss_decompress_fd(z, back[1], out[0], NULL), GZLZSS_OK);
        n = read(back[0], text, sizeof(text));
        CHECK(n == 4 && memcmp(text, "text", 4) == 0);
        CHECK_EQ(read(out[0], packed, sizeof(packed)), 0);
        close(in[0]);
        close(out[0]);
        close_pipe(back);
    }
    gzlzss_free(z);
}

struct waiter {
    gzlzss *z;
    int in_fd, out_fd;
    gzlzss_status status;
    atomic_bool is_over;
    pthread_t thread;
};

static void *wait_main(void *argument)
{
    struct waiter *w = argument;

    w->status = gzlzss_compress_fd(w->z, w->out_fd, w->in_fd, NULL);
    w->is_over = true;
    return NULL;
}

static void test_library_is_cancelled(void)
{
    gzlzss *z = object();

    for (int i = 0; i < TRANSIENT; i++) {
        struct waiter w = {.z = z};
        int ends[2];

        open_pipe(ends);
        w.in_fd = ends[0];
        w.out_fd = open("/dev/null", O_WRONLY);
        fail(ALWAYS, transient[i]);
        pthread_create(&w.thread, NULL, wait_main, &w);
        while (!w.is_over) {
            gzlzss_cancel(z, NULL);
            usleep(1000);
        }
        pthread_join(w.thread, NULL);
        CHECK_EQ(w.status, GZLZSS_ERROR_CANCELLED);
        fail(0, 0);
        close(w.out_fd);
        close_pipe(ends);
    }
    gzlzss_free(z);
}

/* A worker waits for a pipe for a moment, also while signals keep coming. */
static void test_patience(void)
{
    for (int i = 0; i < TRANSIENT; i++) {
        const double start = clock_seconds();
        uint8_t bytes[100];
        struct input *in;
        int ends[2];

        open_pipe(ends);
        in = unit_need(input_open(ends[0]));
        fail(ALWAYS, transient[i]);
        CHECK_EQ(input_read_at(in, 0, bytes, sizeof(bytes)), 0);
        fail(0, 0);
        CHECK(clock_seconds() - start < 20);
        CHECK_EQ(write(ends[1], "text", 4), 4);
        fail(3, transient[i]);
        CHECK_EQ(input_read(in, 0, bytes, sizeof(bytes)), 4);
        input_close(in, 0);
        close_pipe(ends);
    }
}

static void test_source(void)
{
    uint8_t bytes[2000];
    struct source s;
    size_t len = 0;
    bool last;
    int ends[2];

    open_pipe(ends);
    source_init(&s, ends[0], 1024, false);
    fail(ALWAYS, EINVAL);
    CHECK(!source_read_next(&s, bytes, &len, &last));
    CHECK_EQ(errno, EINVAL);
    for (int i = 0; i < TRANSIENT; i++) {
        fail(3, transient[i]);
        CHECK_EQ(write(ends[1], bytes, 1025), 1025);
        CHECK(source_read_next(&s, bytes, &len, &last));
        CHECK(len == 1024 && !last);
    }
    source_finish(&s);
    close_pipe(ends);
}

/* Writes after a moment. */
static void *write_main(void *argument)
{
    usleep(20000);
    CHECK_EQ(write(*(int *)argument, "text", 4), 4);
    return NULL;
}

/* A descriptor that does not wait by itself. */
static void test_io(void)
{
    for (int i = 0; i < TRANSIENT; i++) {
        uint8_t bytes[10];
        pthread_t thread;
        int ends[2];

        open_pipe(ends);
        CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
        fail(2, EINVAL);
        CHECK_EQ(io_read(ends[0], bytes, sizeof(bytes)), -1);
        CHECK_EQ(errno, EINVAL);
        fail(3, transient[i]);
        pthread_create(&thread, NULL, write_main, &ends[1]);
        CHECK_EQ(io_read(ends[0], bytes, sizeof(bytes)), 4);
        pthread_join(thread, NULL);
        fail(0, 0);
        close_pipe(ends);
    }
}

int main(void)
{
    /* What reads though it must not waits for ever. */
    alarm(120);
    RUN(test_library_fails);
    RUN(test_library_goes_on);
    RUN(test_library_is_cancelled);
    RUN(test_patience);
    RUN(test_source);
    RUN(test_io);
    return unit_done();
}
