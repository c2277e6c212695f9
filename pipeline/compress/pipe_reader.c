/*
 * pipe_reader.c - reads a pipe while the other end writes into it (pipe_reader.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "pipeline/compress/pipe_reader.h"

/* With fewer bytes in the pipe than this, read() takes less time than the system calls of a
 * pipe_reader. */
#ifndef PIPE_READER_WORTH
#define PIPE_READER_WORTH (64 << 10)
#endif

/* Bytes that the reader's own pipe holds, and so the most bytes that are read at a time.  With four
 * times as many (the most that Linux allows every user by default), reading is no faster; with half
 * as many, it is slower. */
#define PIPE_SIZE (256 << 10)

struct pipe_reader {
    int fd;
    bool is_useless; /* the reader has failed: use read() from now on */
    bool is_open;    /* the descriptors below are open */
    int pipe[2];
    int null; /* /dev/null, which discards the bytes that are dropped */
};

struct pipe_reader *pipe_reader_new(int fd)
{
    struct pipe_reader *r = calloc(1, sizeof(*r));

    if (r != NULL)
        r->fd = fd;
    return r;
}

static void close_reader(struct pipe_reader *r)
{
    close(r->pipe[0]);
    close(r->pipe[1]);
    close(r->null);
    r->is_open = false;
}

void pipe_reader_free(struct pipe_reader *r)
{
    if (r != NULL && r->is_open)
        close_reader(r);
    free(r);
}

#ifdef SPLICE_F_NONBLOCK

/* Opens /dev/null.  Returns -1 if that fails, or if the name belongs to another kind of file. */
static int open_null(void)
{
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode)))
        return fd;
    close(fd);
    return -1;
}

/* Opens the reader's own pipe and /dev/null.  Returns false if the system gives no pipe, or only a
 * small one.  A user who has many pipes gets only small ones. */
static bool open_reader(struct pipe_reader *r)
{
    r->null = open_null();
    if (r->null < 0)
        return false;
    if (pipe2(r->pipe, O_CLOEXEC) != 0) {
        close(r->null);
        return false;
    }
    r->is_open = true;
    if (fcntl(r->pipe[1], F_SETPIPE_SZ, PIPE_SIZE) >= 0 ||
        fcntl(r->pipe[1], F_GETPIPE_SZ) >= PIPE_READER_WORTH)
        return true;
    close_reader(r);
    return false;
}

/* Reads `len` bytes from a pipe that has them.  Returns false, with errno set, if reading fails. */
static bool copy(int fd, uint8_t *to, size_t len)
{
    while (len > 0) {
        const ssize_t n = io_read(fd, to, len);

        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return false;
        to += n;
        len -= (size_t)n;
    }
    return true;
}

/* Drops `len` bytes from the pipe, which must have them.  Returns how many bytes it has dropped:
 * fewer than `len` if the system refuses. */
static size_t drop(const struct pipe_reader *r, size_t len)
{
    size_t dropped = 0;

    while (dropped < len) {
        const ssize_t n = splice(r->fd, NULL, r->null, NULL, len - dropped, SPLICE_F_NONBLOCK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        dropped += (size_t)n;
    }
    return dropped;
}

/* Whether the pipe has enough bytes for tee(), and the reader can be used. */
static bool is_worth_it(struct pipe_reader *r)
{
    int there;

    if (r->is_useless || ioctl(r->fd, FIONREAD, &there) != 0 || there < PIPE_READER_WORTH)
        return false;
    r->is_useless = !r->is_open && !open_reader(r);
    return !r->is_useless;
}

ssize_t pipe_reader_read(struct pipe_reader *r, uint8_t *buf, size_t len)
{
    size_t dropped;
    ssize_t n;

    if (len < PIPE_READER_WORTH || !is_worth_it(r))
        return io_read(r->fd, buf, len);
    do
        n = tee(r->fd, r->pipe[1], len, SPLICE_F_NONBLOCK);
    while (n < 0 && errno == EINTR);
    if (n <= 0 || !copy(r->pipe[0], buf, (size_t)n)) {
        /* The bytes are still in the pipe, so read() gets them. */
        r->is_useless = true;
        return io_read(r->fd, buf, len);
    }
    dropped = drop(r, (size_t)n);
    r->is_useless = dropped < (size_t)n;
    /* If not all bytes could be dropped, the last of the copied bytes are still in the pipe.  Read
     * these again, to the same place. */
    return copy(r->fd, buf + dropped, (size_t)n - dropped) ? n : -1;
}

#else

ssize_t pipe_reader_read(struct pipe_reader *r, uint8_t *buf, size_t len)
{
    return io_read(r->fd, buf, len);
}

#endif
