/*
 * test_source.c - the inputs of compression: opening a pipe makes it larger; whether an input is
 * known to be long
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "pipeline/compress/source.h"
#include "tests/unit/unit.h"

#ifdef F_SETPIPE_SZ

/* source.c is compiled to ask for pipes of this size, since a user may have no pipe larger than 1
 * MiB. */
#ifndef PIPE_SIZE
#error "the size is given by Makefile.am"
#endif

/* Makes a pipe of `size` bytes, and opens it as an input.  Returns the pipe's size after that, or
 * -1 if this user cannot have a pipe of `size` bytes. */
static int size_of(int size)
{
    struct source s;
    int fds[2], found = -1;

    if (!CHECK(pipe(fds) == 0))
        return -1;
    if (fcntl(fds[0], F_SETPIPE_SZ, size) == size) {
        source_init(&s, fds[0], 1 << 20, false);
        found = fcntl(fds[0], F_GETPIPE_SZ);
        source_finish(&s);
    }
    close(fds[0]);
    close(fds[1]);
    return found;
}

static void pipes(void)
{
    /* If a user has many pipes, the system makes only small ones. */
    if (size_of(2 * PIPE_SIZE) < 0) {
        printf("# this user can have no larger pipe\n");
        return;
    }
    CHECK_EQ(size_of(PIPE_SIZE / 2), PIPE_SIZE);
    CHECK_EQ(size_of(PIPE_SIZE), PIPE_SIZE);
    CHECK_EQ(size_of(2 * PIPE_SIZE), 2 * PIPE_SIZE);
}

#endif

/* An input that is not a pipe stays as it is. */
static void others(void)
{
    struct source s;
    const int fd = open("/dev/null", O_RDONLY);
    uint8_t byte;
    size_t len;
    bool last;

    source_init(&s, fd, 1, false);
    CHECK(source_read_next(&s, &byte, &len, &last));
    CHECK(len == 0 && last);
    source_finish(&s);
    close(fd);
}

/* Whether a file of `size` bytes is known to be longer than a segment of 1000 bytes, read from byte
 * `from` on. */
static bool file_is_long(off_t size, off_t from)
{
    FILE *const file = tmpfile();
    const int fd = fileno(unit_need(file));
    struct source s;
    bool is_long;

    CHECK(ftruncate(fd, size) == 0 && lseek(fd, from, SEEK_SET) == from);
    source_init(&s, fd, 1000, false);
    is_long = source_is_long(&s);
    source_finish(&s);
    fclose(file);
    return is_long;
}

static void long_inputs(void)
{
    static const uint8_t bytes[1001];
    struct source s;
    int fds[2];

    CHECK(!file_is_long(0, 0) && !file_is_long(1000, 0) && !file_is_long(1001, 1));
    CHECK(file_is_long(1001, 0) && file_is_long(3000, 1000));
    source_init_memory(&s, bytes, 1000, 1000);
    CHECK(!source_is_long(&s));
    source_init_memory(&s, bytes, 1001, 1000);
    CHECK(source_is_long(&s));
    source_init_pushed(&s, 1000);
    CHECK(!source_is_long(&s));
    if (!CHECK(pipe(fds) == 0))
        return;
    source_init(&s, fds[0], 1000, false);
    CHECK(!source_is_long(&s));
    source_finish(&s);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
#ifdef F_SETPIPE_SZ
    RUN(pipes);
#endif
    RUN(others);
    RUN(long_inputs);
    return unit_done();
}
