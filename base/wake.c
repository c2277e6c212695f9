/*
 * wake.c - waits for a descriptor, until another thread ends the wait (wake.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/io.h"
#include "base/wake.h"

bool wake_open(struct wake *w)
{
    if (pipe2(w->ends, O_CLOEXEC | O_NONBLOCK) == 0)
        return true;
    *w = wake_none();
    return false;
}

bool wake_is_open(const struct wake *w)
{
    return w->ends[0] >= 0;
}

void wake_close(const struct wake *w)
{
    if (!wake_is_open(w))
        return;
    close(w->ends[0]);
    close(w->ends[1]);
}

void wake_call(const struct wake *w)
{
    /* The write fails only if the pipe is full.  Then the bytes in the pipe already end all
     * waits. */
    (void)!write(w->ends[1], "", 1);
}

void wake_clear(const struct wake *w)
{
    char bytes[64];

    while (read(w->ends[0], bytes, sizeof(bytes)) > 0)
        ;
}

int wake_wait(const struct wake *w, int fd, short events, int ms)
{
    struct pollfd p[2] = {{.fd = fd, .events = events}, {.fd = w->ends[0], .events = POLLIN}};
    const int found = poll(p, 2, ms);

    if (found < 0)
        return io_is_transient(errno) ? 0 : -1;
    return (p[0].revents != 0 ? WAKE_READY : 0) | (p[1].revents != 0 ? WAKE_CALLED : 0);
}
