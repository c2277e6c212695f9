/*
 * io.c - reads and writes all bytes, in spite of signals and non-blocking descriptors (io.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

bool io_is_transient(int error)
{
    return error == EINTR || error == EAGAIN || error == EWOULDBLOCK;
}

/* Whether to repeat a call that failed with errno.  If the descriptor was not ready, first waits
 * until it is. */
static bool try_again(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};

    if (errno == EINTR)
        return true;
    if (!io_is_transient(errno))
        return false;
    return poll(&p, 1, -1) > 0 || io_is_transient(errno);
}

ssize_t io_read(int fd, void *buf, size_t len)
{
    ssize_t n;

    do
        n = read(fd, buf, len);
    while (n < 0 && try_again(fd, POLLIN));
    return n;
}

ssize_t io_read_some_at(int fd, void *buf, size_t len, uint64_t offset)
{
    ssize_t n;

    do
        n = pread(fd, buf, len, (off_t)offset);
    while (n < 0 && try_again(fd, POLLIN));
    return n;
}

ssize_t io_read_at(int fd, void *buf, size_t len, uint64_t offset)
{
    uint8_t *const bytes = buf;
    size_t done = 0;

    while (done < len) {
        const ssize_t n = io_read_some_at(fd, bytes + done, len - done, offset + done);

        if (n == 0)
            break;
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

bool io_write(int fd, const void *buf, size_t len)
{
    struct iovec part = {(void *)buf, len}; /* writev only reads it */

    return io_write_parts(fd, &part, 1);
}

bool io_write_parts(int fd, struct iovec *parts, int count)
{
    for (;;) {
        ssize_t n;

        while (count > 0 && parts[0].iov_len == 0) {
            parts++;
            count--;
        }
        if (count == 0)
            return true;
        n = writev(fd, parts, count);
        if (n < 0) {
            if (try_again(fd, POLLOUT))
                continue;
            return false;
        }
        for (int i = 0; n > 0 && i < count; i++) {
            size_t done = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;

            parts[i].iov_base = (uint8_t *)parts[i].iov_base + done;
            parts[i].iov_len -= done;
            n -= (ssize_t)done;
        }
    }
}

/* --- Other calls --- */

/* Sets `result` to what `call` returns, and repeats the call after a signal. */
#define REPEAT(result, call) \
    do                       \
        (result) = (call);   \
    while ((result) != 0 && errno == EINTR)

int io_open(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, flags);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int io_open_at(int directory, const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = openat(directory, path, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int io_link_at(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
    int result;

    REPEAT(result, linkat(from_directory, from, to_directory, to, flags));
    return result;
}

int io_rename_at(int from_directory, const char *from, int to_directory, const char *to)
{
    int result;

    REPEAT(result, renameat(from_directory, from, to_directory, to));
    return result;
}

int io_unlink_at(int directory, const char *path)
{
    int result;

    REPEAT(result, unlinkat(directory, path, 0));
    return result;
}

int io_set_length(int fd, uint64_t length)
{
    int result;

    REPEAT(result, ftruncate(fd, (off_t)length));
    return result;
}

int io_set_mode(int fd, mode_t mode)
{
    int result;

    REPEAT(result, fchmod(fd, mode));
    return result;
}

int io_set_owner(int fd, uid_t user, gid_t group)
{
    int result;

    REPEAT(result, fchown(fd, user, group));
    return result;
}

int io_set_times(int fd, const struct timespec times[2])
{
    int result;

    REPEAT(result, futimens(fd, times));
    return result;
}

int io_synchronize(int fd)
{
    int result;

    REPEAT(result, fsync(fd));
    return result;
}

int io_close(int fd)
{
    return close(fd) != 0 && errno != EINTR ? -1 : 0;
}
