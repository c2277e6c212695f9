/*
 * source.c - the input of a compression, segment by segment (source.h)
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/source.h"

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

ssize_t read_some(int fd, void *buf, size_t len)
{
    ssize_t n;

    do
        n = read(fd, buf, len);
    while (n < 0 && try_again(fd, POLLIN));
    return n;
}

bool write_all(int fd, const void *buf, size_t len)
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

void source_init(struct source *s, int fd, size_t segment_size)
{
    struct stat st;
    off_t position;

    *s = (struct source){.fd = fd, .segment_size = segment_size};
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    position = lseek(fd, 0, SEEK_CUR);
    if (position < 0 || st.st_size - position <= (off_t)segment_size)
        return;
    s->base = (uint64_t)position;
    s->any_order = (uint64_t)(st.st_size - position - 1) / segment_size;
}

/* Reads up to `len` bytes, fewer only at the end: from `offset` on if the source is a large file,
 * else from where it is.  Returns how many, or -1 with errno set. */
static ssize_t read_full(const struct source *s, uint64_t offset, uint8_t *buf, size_t len)
{
    size_t have = 0;

    while (have < len) {
        ssize_t n;

        if (s->any_order > 0) {
            n = pread(s->fd, buf + have, len - have, (off_t)(s->base + offset + have));
            if (n < 0 && errno == EINTR)
                continue;
        } else {
            n = read_some(s->fd, buf + have, len - have);
        }
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

bool source_read_at(const struct source *s, uint64_t first, size_t count, uint8_t *buf)
{
    size_t len = count * s->segment_size;
    ssize_t n = read_full(s, first * s->segment_size, buf, len);

    if (n >= 0 && (size_t)n < len) {
        errno = ENODATA;
        return false;
    }
    return n >= 0;
}

bool source_read_next(struct source *s, uint8_t *buf, size_t *len, bool *last)
{
    uint64_t offset = (s->any_order + s->in_order) * s->segment_size;
    size_t have = 0;
    ssize_t n;

    if (s->have_peeked)
        buf[have++] = s->peeked;
    n = read_full(s, offset + have, buf + have, s->segment_size - have);
    if (n < 0)
        return false;
    have += (size_t)n;
    n = 0;
    if (have == s->segment_size) {
        n = read_full(s, offset + have, &s->peeked, 1);
        if (n < 0)
            return false;
    }
    s->have_peeked = n == 1;
    s->in_order++;
    *len = have;
    *last = !s->have_peeked;
    if (*last)
        s->end = offset + have;
    return true;
}

void source_finish(const struct source *s)
{
    /* If it does not work, nothing is lost that anyone was promised. */
    if (s->any_order > 0)
        (void)lseek(s->fd, (off_t)(s->base + s->end), SEEK_SET);
}
