/*
 * test_waits.c - the library waits for descriptors, even if poll is interrupted or fails, and for a
 * stream's caller
 *
 * The sources that wait are compiled for this test with a replacement of poll, and with little
 * patience, so that a stream gives up decoded data if its caller is away for a few milliseconds.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/io.h"
#include "include/gzlzss.h"
#include "pipeline/expand/input.h"
#include "pipeline/compress/source.h"
#include "tests/unit/inputs.h"

/* How many calls of poll succeed, how many fail after that, and with which errno. */
static atomic_int passes, fails, fails_with;

/* Replaces poll in the tested sources, and in this file. */
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

/* If poll always fails, nothing may be read or written, since that might wait for ever. */
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
        /* Two successful calls of poll come first: one for the file's bytes, and one for the file's
         * end. */
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

/* If poll is interrupted, calls go on.  Calls can also be cancelled while they wait. */
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

/* A worker waits for a pipe only for a moment, even if signals keep coming. */
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

/* Tests a descriptor with O_NONBLOCK, which does not wait by itself. */
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

/* --- Streams whose callers are away now and then ---------------------------------------------- */

/* Plain data and its compressed form, which gives decoded runs of all kinds. */
struct packed {
    uint8_t *plain, *bytes;
    size_t plain_len, len, room;
};

/* Adds a member with plain[from..to), and a flush after every `flush` bytes.  If `marks` is true,
 * the flushes are gzlzss's marks. */
static void add_member(struct packed *p, size_t from, size_t to, size_t flush, bool marks)
{
    z_stream z = {0};

    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    while (from < to) {
        const size_t n = to - from < flush ? to - from : flush;

        z.next_in = p->plain + from;
        z.avail_in = (uInt)n;
        z.next_out = p->bytes + p->len;
        z.avail_out = (uInt)(p->room - p->len);
        from += n;
        if (from == to) {
            CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
        } else if (marks) {
            CHECK_EQ(deflate(&z, Z_SYNC_FLUSH), Z_OK);
            CHECK_EQ(deflate(&z, Z_FULL_FLUSH), Z_OK);
        } else {
            CHECK_EQ(deflate(&z, Z_NO_FLUSH), Z_OK);
        }
        p->len = (size_t)(z.next_out - p->bytes);
    }
    deflateEnd(&z);
}

enum { ONE_MEMBER, MARKS, SMALL_MEMBERS, MEMBERS, UNEVEN, KINDS };

static void make_packed(struct packed *p, int kind)
{
    const size_t len = (size_t)14 << 20;
    uint64_t state = (uint64_t)kind + 1;

    *p = (struct packed){.plain_len = len, .room = 2 * len};
    p->plain = unit_need(malloc(len));
    p->bytes = unit_need(malloc(p->room));
    fill_tokens(p->plain, len, 60, 9, &state);
    /* Make parts of the data compress a hundred times as well. */
    for (size_t at = len / 3; kind == UNEVEN && at < len; at += len / 3)
        memset(p->plain + at, 0, len / 6 < len - at ? len / 6 : len - at);
    switch (kind) {
    case SMALL_MEMBERS:
        for (size_t at = 0; at < len; at += 60000)
            add_member(p, at, at + 60000 < len ? at + 60000 : len, SIZE_MAX / 2, false);
        break;
    case MEMBERS:
        for (size_t at = 0; at < len; at += 3000000)
            add_member(p, at, at + 3000000 < len ? at + 3000000 : len, SIZE_MAX / 2, false);
        break;
    case MARKS:
        add_member(p, 0, len, (size_t)700 << 10, true);
        break;
    default:
        add_member(p, 0, len, SIZE_MAX / 2, false);
    }
}

/* A stream, its progress, and how far it goes before its caller is away. */
struct client {
    const struct packed *p;
    gzlzss_stream *s;
    size_t at, done, until;
    gzlzss_status status;
};

/* Microseconds for which a caller is away.  During SHORT, workers only get ahead of the caller.
 * During LONG, the stream gives up the data that they have decoded. */
enum { SHORT = 1000 * STREAM_PATIENCE / 2, LONG = 1000 * STREAM_PATIENCE * 3 / 2 };

/* Runs a stream once, with some room for output, and with some or all of the input. */
static void go_on(struct client *c, uint8_t *out, uint64_t *state)
{
    static const size_t rooms[] = {0, 1, 5000, 200000, 2000000};
    const size_t room = rooms[unit_below(state, 5)], left = c->p->len - c->at;
    const size_t give = unit_below(state, 2) == 0 ? left : unit_below(state, 500000);
    gzlzss_in in = {c->p->bytes + c->at, give < left ? give : left, 0};
    gzlzss_out o = {out, room, 0};

    c->status = gzlzss_stream_run(c->s, &o, &in, in.size == left ? GZLZSS_END : GZLZSS_CONTINUE);
    CHECK(c->done + o.used <= c->p->plain_len);
    CHECK(memcmp(out, c->p->plain + c->done, o.used) == 0);
    c->at += in.used;
    c->done += o.used;
}

/* Takes `len` bytes of output, or all that are left, with room for `room` bytes at a time. */
static void take(struct client *c, uint8_t *out, size_t len, size_t room)
{
    const size_t until = c->done + len;

    while (c->done < until && c->status == GZLZSS_OK) {
        gzlzss_in in = {c->p->bytes + c->at, c->p->len - c->at, 0};
        gzlzss_out o = {out, room, 0};

        c->status = gzlzss_stream_run(c->s, &o, &in, GZLZSS_END);
        CHECK(c->done + o.used <= c->p->plain_len);
        CHECK(memcmp(out, c->p->plain + c->done, o.used) == 0);
        c->at += in.used;
        c->done += o.used;
    }
}

/* Workers get ahead of a caller.  When the caller takes a few bytes, the stream accepts all decoded
 * runs.  Then the caller stays away for long, and the stream gives up these runs. */
static void test_line_is_taken_back(void)
{
    static const int threads[] = {3, 8};
    uint8_t *out = unit_need(malloc(2000000));
    uint64_t state = 9;

    for (int kind = 0; kind < KINDS; kind++) {
        struct packed p;

        make_packed(&p, kind);
        for (int i = UNIT_SANITIZED ? 1 : 0; i < 2; i++) {
            gzlzss_options o = GZLZSS_OPTIONS_INIT;
            gzlzss *z;

            o.threads = threads[i];
            o.backend = GZLZSS_CPU;
            CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
            for (int round = 0; round < (UNIT_SANITIZED ? 1 : 3); round++) {
                struct client c = {.p = &p};

                CHECK_EQ(gzlzss_decompress_stream(&c.s, z, NULL), GZLZSS_OK);
                take(&c, out, 2500000, 100000);
                for (int turn = 0; turn < 2; turn++) {
                    usleep(SHORT);
                    take(&c, out, 1 + unit_below(&state, 600000), 1 + unit_below(&state, 90000));
                    usleep(LONG);
                    take(&c, out, unit_below(&state, 5000000), 100000);
                }
                if (round % 2 == 0) {
                    take(&c, out, SIZE_MAX / 2, 100000);
                    CHECK_EQ(c.status, GZLZSS_STREAM_END);
                    CHECK_EQ(c.done, p.plain_len);
                }
                gzlzss_stream_free(c.s);
            }
            gzlzss_free(z);
        }
        free(p.plain);
        free(p.bytes);
    }
    free(out);
}

/* Streams give up decoded data at any moment.  Their output must still be right. */
static void test_callers_are_away(void)
{
    static const int threads[] = {2, 3, 8};
    static struct packed packed[KINDS];
    uint8_t *out = unit_need(malloc(2000000));
    uint64_t state = 5;

    for (int kind = 0; kind < KINDS; kind++)
        make_packed(&packed[kind], kind);
    for (int i = 0; i < 3; i += UNIT_SANITIZED ? 2 : 1) {
        gzlzss_options o = GZLZSS_OPTIONS_INIT;
        struct client clients[KINDS];
        int over = 0;
        gzlzss *z;

        o.threads = threads[i];
        o.backend = GZLZSS_CPU;
        CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
        for (int kind = 0; kind < KINDS; kind++) {
            clients[kind] = (struct client){.p = &packed[kind], .until = 4000000};
            CHECK_EQ(gzlzss_decompress_stream(&clients[kind].s, z, NULL), GZLZSS_OK);
        }
        while (over < KINDS) {
            struct client *c = &clients[unit_below(&state, KINDS)];

            if (c->status != GZLZSS_OK)
                continue;
            go_on(c, out, &state);
            over += c->status != GZLZSS_OK;
            if (c->done >= c->until) {
                usleep(unit_below(&state, 2) == 0 ? SHORT : LONG);
                c->until += 1 + unit_below(&state, 4000000);
            }
        }
        for (int kind = 0; kind < KINDS; kind++) {
            CHECK_EQ(clients[kind].status, GZLZSS_STREAM_END);
            CHECK_EQ(clients[kind].done, packed[kind].plain_len);
            gzlzss_stream_free(clients[kind].s);
        }
        gzlzss_free(z);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        free(packed[kind].plain);
        free(packed[kind].bytes);
    }
    free(out);
}

int main(void)
{
    /* A read that waits although it must not would wait for ever.  The alarm then ends the test. */
    alarm(120);
    RUN(test_library_fails);
    RUN(test_library_goes_on);
    RUN(test_library_is_cancelled);
    RUN(test_patience);
    RUN(test_source);
    RUN(test_io);
    RUN(test_line_is_taken_back);
    RUN(test_callers_are_away);
    return unit_done();
}
