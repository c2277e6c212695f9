/*
 * test_splicer.c - what comes through a pipe arrives whole and in order, copied by however many
 * threads, and where they cannot be had (src/splicer.h)
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/splicer.h"
#include "tests/unit/unit.h"

#define KIB 1024

/* Bytes that differ wherever they are. */
static uint8_t *new_data(size_t size)
{
    uint8_t *data = unit_need(malloc(size));
    uint64_t state = size;

    for (size_t i = 0; i + 8 <= size; i += 8) {
        const uint64_t x = unit_rand(&state);

        memcpy(data + i, &x, 8);
    }
    return data;
}

/* A pipe with room for what is waited for, also where no page of it is full. */
static void open_pipe(int fds[2])
{
    if (pipe(fds) != 0 || fcntl(fds[0], F_SETPIPE_SZ, 1024 * KIB) < 0)
        abort();
}

/* The other end: writes `size` bytes, up to `most` at a time, and closes the pipe. */
struct other_end {
    int fd;
    const uint8_t *data;
    size_t size, most;
    pthread_t thread;
};

static void *write_all(void *argument)
{
    const struct other_end *e = argument;
    uint64_t state = e->most;
    size_t done = 0;

    while (done < e->size) {
        size_t len = 1 + unit_below(&state, e->most);
        ssize_t n;

        if (len > e->size - done)
            len = e->size - done;
        n = write(e->fd, e->data + done, len);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    close(e->fd);
    return NULL;
}

static void start_other_end(struct other_end *e)
{
    if (pthread_create(&e->thread, NULL, write_all, e) != 0)
        abort();
}

/* Waits until there are so many bytes in the pipe. */
static void wait_for(int fd, int bytes)
{
    for (int there = 0; there < bytes; usleep(100))
        if (ioctl(fd, FIONREAD, &there) != 0)
            abort();
}

/* Reads `len` bytes to buf, by the splicer where it takes some; how many of them it took. */
static size_t read_by(struct splicer *r, int fd, uint8_t *buf, size_t len,
                      struct splicer_ticket *ticket)
{
    size_t taken = 0, have = 0;

    while (have < len) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        size_t n;

        poll(&p, 1, -1);
        n = splicer_take(r, buf + have, len - have, ticket);
        taken += n;
        if (n == 0) {
            const ssize_t got = read(fd, buf + have, len - have);

            if (got <= 0)
                break;
            n = (size_t)got;
        }
        have += n;
    }
    CHECK_EQ(have, len);
    return taken;
}

/* Everything, as `threads` copy it, written up to `most` bytes at a time. */
static void check_stream(int threads, size_t most)
{
    enum { SIZE = 24 * 1024 * KIB, PIECE = 2 * 1024 * KIB - 1 };
    uint8_t *data = new_data(SIZE), *got = unit_need(calloc(1, SIZE));
    struct other_end end = {.data = data, .size = SIZE, .most = most};
    struct splicer *r;
    size_t taken = 0;
    int fds[2];
    char byte;

    open_pipe(fds);
    end.fd = fds[1];
    r = unit_need(splicer_new(fds[0], threads));
    start_other_end(&end);
    wait_for(fds[0], 64 * KIB);
    for (size_t at = 0; at < SIZE;) {
        const size_t len = SIZE - at < PIECE ? SIZE - at : PIECE;
        struct splicer_ticket ticket = {0};

        taken += read_by(r, fds[0], got + at, len, &ticket);
        CHECK_EQ(splicer_wait(r, &ticket), 0);
        CHECK(memcmp(data + at, got + at, len) == 0);
        at += len;
    }
    /* At least what lay there in the beginning. */
    CHECK(taken >= 64 * KIB);
    CHECK_EQ(read(fds[0], &byte, 1), 0);
    pthread_join(end.thread, NULL);
    splicer_free(r);
    close(fds[0]);
    free(data);
    free(got);
}

static void test_stream(void)
{
    check_stream(1, 128 * KIB);
    check_stream(SPLICER_MOST, 128 * KIB);
    check_stream(SPLICER_MOST, 3000);
    check_stream(2, 1024 * KIB);
}

/* Pieces of several tickets, waited for in another order than they were taken in. */
static void test_tickets(void)
{
    enum { SIZE = 256 * KIB, COUNT = 3 };
    uint8_t *data = new_data(SIZE * COUNT), *got = unit_need(calloc(COUNT, SIZE));
    struct other_end end = {.data = data, .size = SIZE * COUNT, .most = SIZE};
    struct splicer_ticket tickets[COUNT] = {{0}};
    struct splicer *r;
    int fds[2];

    open_pipe(fds);
    end.fd = fds[1];
    r = unit_need(splicer_new(fds[0], COUNT));
    start_other_end(&end);
    for (int i = 0; i < COUNT; i++) {
        wait_for(fds[0], 64 * KIB);
        CHECK(read_by(r, fds[0], got + i * SIZE, SIZE, &tickets[i]) > 0);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        CHECK_EQ(splicer_wait(r, &tickets[i]), 0);
        CHECK(memcmp(data + i * SIZE, got + i * SIZE, SIZE) == 0);
    }
    pthread_join(end.thread, NULL);
    splicer_free(r);
    close(fds[0]);
    free(data);
    free(got);
}

/* A pipe with that many bytes in it, whose other end is open. */
static void open_filled(int fds[2], const uint8_t *data, size_t size)
{
    open_pipe(fds);
    if (write(fds[1], data, size) != (ssize_t)size)
        abort();
}

static void close_both(const int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

/* Few bytes, or none, are not taken, and nobody waits for more. */
static void test_few(void)
{
    uint8_t *data = new_data(64 * KIB), *got = unit_need(calloc(1, 64 * KIB));
    struct splicer_ticket ticket = {0};
    struct splicer *r;
    int fds[2];

    open_filled(fds, data, 1000);
    r = unit_need(splicer_new(fds[0], 2));
    CHECK_EQ(splicer_take(r, got, 64 * KIB, &ticket), 0);
    CHECK_EQ(read(fds[0], got, 64 * KIB), 1000);
    CHECK_EQ(splicer_take(r, got, 64 * KIB, &ticket), 0);
    close(fds[1]);
    CHECK_EQ(splicer_take(r, got, 64 * KIB, &ticket), 0);
    CHECK_EQ(splicer_wait(r, &ticket), 0);
    splicer_free(r);
    close(fds[0]);

    /* As many as are wanted, if there are more. */
    open_filled(fds, data, 64 * KIB);
    r = unit_need(splicer_new(fds[0], 2));
    CHECK_EQ(splicer_take(r, got, 1000, &ticket), 0);
    CHECK_EQ(read(fds[0], got, 1000), 1000);
    splicer_free(r);
    close_both(fds);
    free(data);
    free(got);
}

/* Without descriptors for pipes, all is still there to be read. */
static void test_no_descriptors(void)
{
    uint8_t *data = new_data(64 * KIB), *got = unit_need(calloc(1, 64 * KIB));
    struct splicer_ticket ticket = {0};
    struct rlimit before, limit;
    struct splicer *r;
    int fds[2];

    open_filled(fds, data, 64 * KIB);
    r = unit_need(splicer_new(fds[0], 2));
    if (getrlimit(RLIMIT_NOFILE, &before) != 0)
        abort();
    limit = before;
    limit.rlim_cur = (rlim_t)fds[1] + 1;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        abort();
    CHECK_EQ(splicer_take(r, got, 64 * KIB, &ticket), 0);
    if (setrlimit(RLIMIT_NOFILE, &before) != 0)
        abort();
    /* It does not try again. */
    CHECK_EQ(splicer_take(r, got, 64 * KIB, &ticket), 0);
    CHECK_EQ(splicer_wait(r, &ticket), 0);
    CHECK_EQ(read(fds[0], got, 64 * KIB), 64 * KIB);
    CHECK(memcmp(data, got, 64 * KIB) == 0);
    splicer_free(r);
    close_both(fds);
    free(data);
    free(got);
}

int main(void)
{
    RUN(test_stream);
    RUN(test_tickets);
    RUN(test_few);
    RUN(test_no_descriptors);
    return unit_done();
}
