/*
 * io.c - reads and writes all bytes, in spite of signals and non-blocking descriptors (io.h)
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
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

ssize_t io_read_at(int fd, void *buf, size_t len, uint64_t offset)
{
    uint8_t *const bytes = buf;
    size_t done = 0;

    while (done < len) {
        const ssize_t n = pread(fd, bytes + done, len - done, (off_t)(offset + done));

        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0)
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
