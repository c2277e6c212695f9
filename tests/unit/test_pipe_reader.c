/*
 * test_pipe_reader.c - the bytes of a pipe arrive complete and in order, in whichever way the pipe
 * is read (pipeline/compress/pipe_reader.h)
 *
 * pipeline/compress/pipe_reader.c is compiled here with other names for two system calls, so that a
 * test can make them fail.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pipeline/compress/pipe_reader.h"
#include "tests/unit/unit.h"

#define KIB 1024

/* How many calls of tee() succeed, and how many bytes splice() moves, before the calls fail. */
static int tee_calls;
static size_t splice_bytes;

static void let_all_work(void)
{
    tee_calls = 1000000;
    splice_bytes = SIZE_MAX;
}

ssize_t tee(int in, int out, size_t len, unsigned flags)
{
    if (tee_calls == 0) {
        errno = EINVAL;
        return -1;
    }
    tee_calls--;
    return syscall(SYS_tee, in, out, len, flags);
}

ssize_t splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t len, unsigned flags)
{
    ssize_t n;

    if (splice_bytes == 0) {
        errno = EINVAL;
        return -1;
    }
    if (len > splice_bytes)
        len = splice_bytes;
    n = syscall(SYS_splice, in, in_offset, out, out_offset, len, flags);
    if (n > 0)
        splice_bytes -= (size_t)n;
    return n;
}

/* Returns `size` random bytes. */
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

/* A pipe with room for MOST bytes, as the command makes one. */
enum { MOST = 1024 * KIB };

static void open_pipe(int fds[2])
{
    if (pipe(fds) != 0 || fcntl(fds[0], F_SETPIPE_SZ, MOST) < 0)
        abort();
}

/* The writer of the pipe: writes `size` bytes, up to `most` at a time, and closes the pipe. */
struct other_end {
    int fd;
    const uint8_t *data;
    size_t size, most;
    uint8_t *buffers; /* the buffers of give_pages */
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

/* Reads `len` bytes, or fewer at the pipe's end.  Returns how many. */
static size_t read_all(struct pipe_reader *r, uint8_t *buf, size_t len)
{
    size_t have = 0;

    while (have < len) {
        const ssize_t n = pipe_reader_read(r, buf + have, len - have);

        if (!CHECK(n >= 0) || n == 0)
            break;
        have += (size_t)n;
    }
    return have;
}

/* Checks that the reader gets the bytes that `write` writes. */
static void check_stream(struct other_end *end, void *(*write)(void *))
{
    enum { PIECE = 2 * 1024 * KIB - 1 };
    uint8_t *got = unit_need(malloc(PIECE));
    struct pipe_reader *r;
    uint8_t byte;
    int fds[2];

    open_pipe(fds);
    end->fd = fds[1];
    r = unit_need(pipe_reader_new(fds[0]));
    if (pthread_create(&end->thread, NULL, write, end) != 0)
        abort();
    for (size_t at = 0; at < end->size;) {
        const size_t len = end->size - at < PIECE ? end->size - at : PIECE;

        memset(got, 0, len);
        if (!CHECK_EQ(read_all(r, got, len), len))
            break;
        CHECK(memcmp(end->data + at, got, len) == 0);
        at += len;
    }
    if (unit_state.failed_checks == 0)
        CHECK_EQ(pipe_reader_read(r, &byte, 1), 0);
    /* If a check failed, the writer may still be waiting. */
    close(fds[0]);
    pthread_join(end->thread, NULL);
    pipe_reader_free(r);
    free(got);
}

static void test_stream(void)
{
    enum { SIZE = 24 * 1024 * KIB };
    uint8_t *data = new_data(SIZE);
    static const size_t mosts[] = {3000, 128 * KIB, 1024 * KIB};

    for (size_t i = 0; i < sizeof(mosts) / sizeof(mosts[0]); i++) {
        struct other_end end = {.data = data, .size = SIZE, .most = mosts[i]};

        check_stream(&end, write_all);
    }
    free(data);
}

/* Another writer, which has two buffers of the pipe's size, and puts their pages into the pipe by
 * vmsplice().  When all of one buffer is in the pipe, the pipe has no byte of the other buffer,
 * which may then be overwritten. */
static void *give_pages(void *argument)
{
    const struct other_end *e = argument;

    for (size_t at = 0; at < e->size; at += MOST) {
        uint8_t *buffer = e->buffers + at / MOST % 2 * MOST;
        struct iovec v = {buffer, MOST};

        memcpy(buffer, e->data + at, MOST);
        while (v.iov_len > 0) {
            const ssize_t n = vmsplice(e->fd, &v, 1, 0);

            if (n <= 0) {
                close(e->fd);
                return NULL;
            }
            v.iov_base = (uint8_t *)v.iov_base + n;
            v.iov_len -= (size_t)n;
        }
    }
    close(e->fd);
    return NULL;
}

static void test_pages(void)
{
    enum { SIZE = 64 * MOST };
    uint8_t *data = new_data(SIZE), *buffers = unit_need(aligned_alloc(4 * KIB, 2 * MOST));
    struct other_end end = {.data = data, .size = SIZE, .buffers = buffers};

    check_stream(&end, give_pages);
    free(data);
    free(buffers);
}

/* Returns how many descriptors of this process are open. */
static int count_descriptors(void)
{
    DIR *dir = unit_need(opendir("/proc/self/fd"));
    int count = 0;

    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* If the pipe has many bytes, they go through a second pipe.  If the pipe has few bytes, they do
 * not.  No read waits for more bytes than there are. */
static void test_much_and_little(void)
{
    uint8_t *data = new_data(MOST), *got = unit_need(calloc(1, MOST));
    struct pipe_reader *r;
    int fds[2], before;

    open_pipe(fds);
    before = count_descriptors();
    r = unit_need(pipe_reader_new(fds[0]));
    CHECK_EQ(write(fds[1], data, 1000), 1000);
    CHECK_EQ(pipe_reader_read(r, got, MOST), 1000);
    CHECK_EQ(count_descriptors(), before);

    CHECK_EQ(write(fds[1], data, MOST), MOST);
    CHECK_EQ(pipe_reader_read(r, got, 1000), 1000);
    CHECK_EQ(count_descriptors(), before);
    CHECK_EQ(read_all(r, got + 1000, MOST - 1000), MOST - 1000);
    CHECK(memcmp(data, got, MOST) == 0);
    CHECK_EQ(count_descriptors(), before + 3);

    close(fds[1]);
    CHECK_EQ(pipe_reader_read(r, got, MOST), 0);
    pipe_reader_free(r);
    CHECK_EQ(count_descriptors(), before - 1);
    close(fds[0]);
    free(data);
    free(got);
}

/* Checks that a new reader reads everything in a full pipe, and leaves no descriptor open.  If
 * `left` is not negative, only that many more descriptors can be opened. */
static void check_full_pipe(int left)
{
    uint8_t *data = new_data(MOST), *got = unit_need(calloc(1, MOST));
    struct rlimit before, limit;
    struct pipe_reader *r;
    int fds[2], open_before;

    open_pipe(fds);
    open_before = count_descriptors();
    CHECK_EQ(write(fds[1], data, MOST), MOST);
    r = unit_need(pipe_reader_new(fds[0]));
    if (getrlimit(RLIMIT_NOFILE, &before) != 0)
        abort();
    limit = before;
    if (left >= 0)
        limit.rlim_cur = (rlim_t)(fds[1] + 1 + left);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        abort();
    /* During this read, a system call may fail.  The other bytes must then come by read(). */
    CHECK_EQ(read_all(r, got, MOST), MOST);
    if (setrlimit(RLIMIT_NOFILE, &before) != 0)
        abort();
    CHECK(memcmp(data, got, MOST) == 0);
    CHECK_EQ(write(fds[1], data, 64 * KIB), 64 * KIB);
    CHECK_EQ(read_all(r, got, 64 * KIB), 64 * KIB);
    CHECK(memcmp(data, got, 64 * KIB) == 0);
    pipe_reader_free(r);
    CHECK_EQ(count_descriptors(), open_before);
    close(fds[0]);
    close(fds[1]);
    free(data);
    free(got);
}

static void test_few_descriptors(void)
{
    for (int left = 0; left <= 3; left++)
        check_full_pipe(left);
}

/* The system calls fail at once, between two pieces, and in the middle of dropping bytes from the
 * pipe. */
static void test_failing_calls(void)
{
    for (int i = 0; i < 3; i++) {
        tee_calls = i;
        check_full_pipe(-1);
    }
    let_all_work();
    for (int i = 0; i < 8; i++) {
        splice_bytes = (size_t)i * 100 * 1000;
        check_full_pipe(-1);
    }
    let_all_work();
}

/* True if this user may have as many pipes of MOST bytes as a test needs. */
static bool can_have_pipes(void)
{
    enum { COUNT = 2 };
    int fds[COUNT][2], count = 0;
    bool ok = true;

    for (; ok && count < COUNT; count++) {
        if (pipe(fds[count]) != 0)
            abort();
        ok = fcntl(fds[count][0], F_SETPIPE_SZ, MOST) >= 0;
    }
    while (count-- > 0) {
        close(fds[count][0]);
        close(fds[count][1]);
    }
    return ok;
}

int main(void)
{
    if (!can_have_pipes()) {
        printf("1..0 # SKIP this user may not have pipes of a MiB, or no more of them\n");
        return EXIT_SUCCESS;
    }
    signal(SIGPIPE, SIG_IGN);
    let_all_work();
    RUN(test_stream);
    RUN(test_pages);
    RUN(test_much_and_little);
    RUN(test_few_descriptors);
    RUN(test_failing_calls);
    return unit_done();
}
