/*
 * pipe_reader.c - reading a pipe faster than one thread can (pipe_reader.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/cleanup.h"
#include "src/io.h"
#include "src/pipe_reader.h"

/* Fewer bytes are read sooner than it takes to begin; and a thread that helps gets no fewer. */
#ifndef PIPE_READER_WORTH
#define PIPE_READER_WORTH ((size_t)64 << 10)
#endif

/* Bytes of our pipe, what Linux gives anyone by default, and so of one of a thread that helps. */
#define PIPE_SIZE (1 << 20)
#define HELPER_PIPE_SIZE (PIPE_SIZE / (PIPE_READER_MOST + 1))

struct helper {
    struct pipe_reader *reader;
    pthread_t thread;
    pthread_cond_t has_work;
    int pipe[2];
    uint8_t *to; /* where the bytes in the pipe belong, */
    size_t len;  /* and how many these are: 0 if it has nothing to do */
};

struct pipe_reader {
    int fd;
    bool is_open;    /* what follows */
    bool is_useless; /* it could not be, or failed: there is only read() */
    int pipe[2];
    int null; /* /dev/null, which takes what is dropped */

    pthread_mutex_t lock;  /* of what follows */
    pthread_cond_t copied; /* by all helpers */
    struct helper helpers[PIPE_READER_MOST];
    int most;  /* of these that there may be, */
    int count; /* that there are, */
    int busy;  /* and that copy */
    bool failed;
    bool ending;
};

struct pipe_reader *pipe_reader_new(int fd, int threads)
{
    struct pipe_reader *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->fd = fd;
    r->most = threads;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->copied, NULL);
    return r;
}

static void close_pipe(const int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

void pipe_reader_free(struct pipe_reader *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->ending = true;
    for (int i = 0; i < r->count; i++)
        pthread_cond_signal(&r->helpers[i].has_work);
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < r->count; i++) {
        struct helper *h = &r->helpers[i];

        pthread_join(h->thread, NULL);
        pthread_cond_destroy(&h->has_work);
        close_pipe(h->pipe);
    }
    if (r->is_open) {
        close_pipe(r->pipe);
        close(r->null);
    }
    pthread_cond_destroy(&r->copied);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

#ifdef SPLICE_F_NONBLOCK

/* A pipe for up to so many bytes; false if there can be none, or only a small one, as where the user
 * has many. */
static bool open_pipe(int fds[2], int size)
{
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    if (fcntl(fds[1], F_SETPIPE_SZ, size) >= 0 ||
        fcntl(fds[1], F_GETPIPE_SZ) >= (int)PIPE_READER_WORTH)
        return true;
    close_pipe(fds);
    return false;
}

/* All but the helpers; false if it cannot be. */
static bool open_reader(struct pipe_reader *r)
{
    r->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (r->null < 0)
        return false;
    if (!open_pipe(r->pipe, PIPE_SIZE)) {
        close(r->null);
        return false;
    }
    r->is_open = true;
    return true;
}

/* Reads `len` bytes, which are there, from a pipe; returns false with errno set. */
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

/* All that a helper does. */
static void *helper_main(void *argument)
{
    struct helper *h = argument;
    struct pipe_reader *r = h->reader;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        bool ok;

        while (h->len == 0 && !r->ending)
            pthread_cond_wait(&h->has_work, &r->lock);
        if (h->len == 0)
            break;
        pthread_mutex_unlock(&r->lock);
        ok = copy(h->pipe[0], h->to, h->len);
        pthread_mutex_lock(&r->lock);
        r->failed = r->failed || !ok;
        h->len = 0;
        if (--r->busy == 0)
            pthread_cond_signal(&r->copied);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* Starts one more; false if there can be none. */
static bool start_helper(struct pipe_reader *r)
{
    struct helper *h = &r->helpers[r->count];

    if (r->count == r->most)
        return false;
    if (open_pipe(h->pipe, HELPER_PIPE_SIZE)) {
        h->reader = r;
        pthread_cond_init(&h->has_work, NULL);
        if (cleanup_start_thread(&h->thread, helper_main, h)) {
            r->count++;
            return true;
        }
        pthread_cond_destroy(&h->has_work);
        close_pipe(h->pipe);
    }
    /* Nor later. */
    r->most = r->count;
    return false;
}

/* Has the helper copy the next bytes in our pipe, up to `len`; returns how many. */
static size_t give(struct helper *h, uint8_t *to, size_t len)
{
    struct pipe_reader *r = h->reader;
    const ssize_t n = splice(r->pipe[0], NULL, h->pipe[1], NULL, len, SPLICE_F_NONBLOCK);

    if (n <= 0)
        return 0;
    pthread_mutex_lock(&r->lock);
    h->to = to;
    h->len = (size_t)n;
    r->busy++;
    pthread_cond_signal(&h->has_work);
    pthread_mutex_unlock(&r->lock);
    return (size_t)n;
}

/* Copies the `len` bytes that are in our pipe. */
static bool copy_side_by_side(struct pipe_reader *r, uint8_t *buf, size_t len)
{
    size_t parts = len / PIPE_READER_WORTH, given = 0;
    bool ok;

    if (parts > (size_t)r->most + 1)
        parts = (size_t)r->most + 1;
    for (size_t i = 0; i + 1 < parts && (i < (size_t)r->count || start_helper(r)); i++)
        given += give(&r->helpers[i], buf + given, len / parts);
    ok = copy(r->pipe[0], buf + given, len - given);
    pthread_mutex_lock(&r->lock);
    while (r->busy > 0)
        pthread_cond_wait(&r->copied, &r->lock);
    ok = ok && !r->failed;
    pthread_mutex_unlock(&r->lock);
    return ok;
}

/* Takes `len` bytes, which are there, from the pipe; returns how many of them it could. */
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

ssize_t pipe_reader_read(struct pipe_reader *r, uint8_t *buf, size_t len)
{
    size_t dropped;
    ssize_t n;
    int there;

    if (r->is_useless || len < PIPE_READER_WORTH || ioctl(r->fd, FIONREAD, &there) != 0 ||
        (size_t)there < PIPE_READER_WORTH)
        return io_read(r->fd, buf, len);
    r->is_useless = !r->is_open && !open_reader(r);
    if (r->is_useless)
        return io_read(r->fd, buf, len);
    n = tee(r->fd, r->pipe[1], len, SPLICE_F_NONBLOCK);
    if (n <= 0 || !copy_side_by_side(r, buf, (size_t)n)) {
        /* They are still where they were. */
        r->is_useless = true;
        return io_read(r->fd, buf, len);
    }
    dropped = drop(r, (size_t)n);
    r->is_useless = dropped < (size_t)n;
    /* What is there still is what was copied: to read it changes nothing. */
    return copy(r->fd, buf + dropped, (size_t)n - dropped) ? n : -1;
}

#else

ssize_t pipe_reader_read(struct pipe_reader *r, uint8_t *buf, size_t len)
{
    return io_read(r->fd, buf, len);
}

#endif
