/*
 * splicer.c - reading a pipe faster than one thread copies (splicer.h)
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
#include "src/splicer.h"

#ifdef SPLICE_F_NONBLOCK

/* Bytes of a pipe of ours: what Linux gives anyone by default. */
#define PIPE_SIZE (1 << 20)

/* Fewer bytes are copied sooner than another thread is woken. */
#define WORTH_MOVING (64 << 10)

struct copier {
    struct splicer *splicer;
    pthread_t thread;
    pthread_cond_t has_work;
    int pipe[2];
    uint8_t *to; /* where the bytes in the pipe belong, */
    size_t len;  /* and how many these are: 0 if it has nothing to do */
    struct splicer_ticket *ticket;
};

struct splicer {
    int fd;
    int most;              /* copiers */
    pthread_mutex_t lock;  /* of what follows, and of tickets */
    pthread_cond_t copied; /* all of a ticket */
    struct copier copiers[SPLICER_MOST];
    int count; /* of these */
    bool ending;
};

struct splicer *splicer_new(int fd, int threads)
{
    struct splicer *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->fd = fd;
    r->most = threads;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->copied, NULL);
    return r;
}

static void close_pipe(const struct copier *c)
{
    close(c->pipe[0]);
    close(c->pipe[1]);
}

void splicer_free(struct splicer *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->ending = true;
    for (int i = 0; i < r->count; i++)
        pthread_cond_signal(&r->copiers[i].has_work);
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < r->count; i++) {
        struct copier *c = &r->copiers[i];

        pthread_join(c->thread, NULL);
        pthread_cond_destroy(&c->has_work);
        close_pipe(c);
    }
    pthread_cond_destroy(&r->copied);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* Reads `len` bytes, which are there, from the pipe.  Returns 0, or an errno. */
static int copy(int fd, uint8_t *to, size_t len)
{
    while (len > 0) {
        const ssize_t n = io_read(fd, to, len);

        if (n <= 0)
            return n < 0 ? errno : EIO;
        to += n;
        len -= (size_t)n;
    }
    return 0;
}

/* All that a copier does. */
static void *copier_main(void *argument)
{
    struct copier *c = argument;
    struct splicer *r = c->splicer;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        int error;

        while (c->len == 0 && !r->ending)
            pthread_cond_wait(&c->has_work, &r->lock);
        if (c->len == 0)
            break;
        pthread_mutex_unlock(&r->lock);
        error = copy(c->pipe[0], c->to, c->len);
        pthread_mutex_lock(&r->lock);
        if (error != 0)
            c->ticket->error = error;
        c->len = 0;
        if (--c->ticket->pieces == 0)
            pthread_cond_broadcast(&r->copied);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* False if there can be none, or just a small one, as others of the same user have many. */
static bool open_pipe(struct copier *c)
{
    if (pipe2(c->pipe, O_CLOEXEC) != 0)
        return false;
    if (fcntl(c->pipe[1], F_SETPIPE_SZ, PIPE_SIZE) >= 0 ||
        fcntl(c->pipe[1], F_GETPIPE_SZ) >= WORTH_MOVING)
        return true;
    close_pipe(c);
    return false;
}

/* One more copier, with the lock held; NULL if there can be none. */
static struct copier *start_copier(struct splicer *r)
{
    struct copier *c = &r->copiers[r->count];

    if (r->count == r->most)
        return NULL;
    if (open_pipe(c)) {
        c->splicer = r;
        pthread_cond_init(&c->has_work, NULL);
        if (cleanup_start_thread(&c->thread, copier_main, c)) {
            r->count++;
            return c;
        }
        pthread_cond_destroy(&c->has_work);
        close_pipe(c);
    }
    /* Nor later. */
    r->most = r->count;
    return NULL;
}

/* A copier that has nothing to do; NULL if there is none. */
static struct copier *idle_copier(struct splicer *r)
{
    struct copier *c = NULL;

    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->count && c == NULL; i++)
        if (r->copiers[i].len == 0)
            c = &r->copiers[i];
    if (c == NULL)
        c = start_copier(r);
    pthread_mutex_unlock(&r->lock);
    return c;
}

size_t splicer_take(struct splicer *r, uint8_t *buf, size_t len, struct splicer_ticket *ticket)
{
    struct copier *c;
    ssize_t n;
    int there;

    if (len < WORTH_MOVING || ioctl(r->fd, FIONREAD, &there) != 0 || there < WORTH_MOVING)
        return 0;
    c = idle_copier(r);
    if (c == NULL)
        return 0;
    n = splice(r->fd, NULL, c->pipe[1], NULL, len < PIPE_SIZE ? len : PIPE_SIZE, SPLICE_F_NONBLOCK);
    if (n <= 0)
        return 0;
    pthread_mutex_lock(&r->lock);
    c->to = buf;
    c->len = (size_t)n;
    c->ticket = ticket;
    ticket->pieces++;
    pthread_cond_signal(&c->has_work);
    pthread_mutex_unlock(&r->lock);
    return (size_t)n;
}

int splicer_wait(struct splicer *r, const struct splicer_ticket *ticket)
{
    pthread_mutex_lock(&r->lock);
    while (ticket->pieces > 0)
        pthread_cond_wait(&r->copied, &r->lock);
    pthread_mutex_unlock(&r->lock);
    return ticket->error;
}

#else

struct splicer *splicer_new(int fd, int threads)
{
    (void)fd;
    (void)threads;
    return NULL;
}

void splicer_free(struct splicer *r)
{
    (void)r;
}

size_t splicer_take(struct splicer *r, uint8_t *buf, size_t len, struct splicer_ticket *ticket)
{
    (void)r;
    (void)buf;
    (void)len;
    (void)ticket;
    return 0;
}

int splicer_wait(struct splicer *r, const struct splicer_ticket *ticket)
{
    (void)r;
    (void)ticket;
    return 0;
}

#endif
