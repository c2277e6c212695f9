/*
 * source.h - bytes that are read at any place: a regular file, or memory
 */
#ifndef GZLZSS_ACCESS_SOURCE_H
#define GZLZSS_ACCESS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/io.h"

/* Tells work on a source whether it shall go on. */
struct access_watch {
    bool (*goes_on)(void *ctx); /* sets errno if it returns false */
    void *ctx;
    /* If not NULL, access_read sets it to the byte of the file up to which it has decoded. */
    uint64_t *in;
};

struct access_source {
    int fd;                /* a regular file; -1: the bytes are in memory */
    const uint8_t *memory; /* memory[0..size), if fd is -1 */
    uint64_t size;         /* in bytes */
    /* Asked before each read, so that every loop over a source can be ended; or NULL. */
    const struct access_watch *watch;
    /* Whether a member may come after zeros that follow another member. */
    bool skip_zeros;
};

/* Whether the work that `watch`, which may be NULL, belongs to shall go on.  If not, sets errno. */
static inline bool access_goes_on(const struct access_watch *watch)
{
    return watch == NULL || watch->goes_on(watch->ctx);
}

/* Reads `len` bytes from byte `at` on, or fewer at the end.  Returns the number of bytes read, or
 * -1 with errno set, also if s->watch ends the work.  Any number of threads may read. */
static inline ssize_t access_source_read(const struct access_source *s, void *buf, size_t len,
                                         uint64_t at)
{
    const uint64_t left = at < s->size ? s->size - at : 0;
    const size_t n = len < left ? len : (size_t)left;

    if (!access_goes_on(s->watch))
        return -1;
    if (s->fd >= 0)
        return io_read_at(s->fd, buf, n, at);
    if (n > 0)
        memcpy(buf, s->memory + at, n);
    return (ssize_t)n;
}

#endif
