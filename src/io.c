/*
 * io.c - read and write as everyone means them (io.h)
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "src/io.h"

/* Whether a call that failed should be tried again; waits until the descriptor is ready. */
static bool try_again(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};

    if (errno == EINTR)
        return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return false;
    return poll(&p, 1, -1) > 0 || errno == EINTR;
}

ssize_t io_read(int fd, void *buf, size_t len)
{
    ssize_t n;

    do
        n = read(fd, buf, len);
    while (n < 0 && try_again(fd, POLLIN));
    return n;
}

bool io_write(int fd, const void *buf, size_t len)
{
    const uint8_t *next = buf;

    while (len > 0) {
        ssize_t n = write(fd, next, len);

        if (n < 0) {
            if (try_again(fd, POLLOUT))
                continue;
            return false;
        }
        next += n;
        len -= (size_t)n;
    }
    return true;
}
