/*
 * pool.c - jobs done side by side, finished in order (pool.h)
 *
 * Jobs are in a ring, oldest first.  A thread takes the oldest that nobody has; the main thread
 * does so too whenever it would have to wait: because the ring is full, or for all to be finished.
 * Only the main thread puts jobs into the ring, finishes them and takes them out, so that a job
 * stays in its place until it is finished.
 *
 * A job is numbered by when it came, from 0; job i is in entry i % size.  The ring holds the jobs
 * first..end, of which first..next have been taken, and some of these are done.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"
#include "src/pool.h"

/* Entries of the ring for every thread: so far the others may run ahead of a job that takes long.
 * More of them keep more outputs unfinished, which a signal undoes. */
#define ENTRIES_PER_THREAD 16

enum state { WAITING, TAKEN, DONE };

struct entry {
    void *job;
    enum state state;
};

struct pool {
    struct pool_calls calls;
    void *own; /* the main thread's, from calls.open; may be NULL */
    pthread_t *threads;
    int thread_count; /* how many there may be beside the main thread, */
    int started;      /* and how many there are */

    pthread_mutex_t lock; /* of what follows; the main thread reads its own part of it without */
    pthread_cond_t work_came, work_done;
    int idle;         /* threads that wait for work_came */
    bool main_waits;  /* for work_done */
    bool ends;        /* no more work will come */
    size_t size;      /* of the ring */
    size_t first;     /* the oldest job's number; the main thread's */
    size_t next, end; /* the next to be taken, and the next to come, which is the main thread's */
    struct entry ring[];
};

/* Where job i is. */
static struct entry *entry(struct pool *p, size_t i)
{
    return &p->ring[i % p->size];
}

/* Does the oldest job that nobody has taken; called with the lock, which it gives up meanwhile. */
static void do_next(struct pool *p, void *own)
{
    struct entry *e = entry(p, p->next++);

    e->state = TAKEN;
    pthread_mutex_unlock(&p->lock);
    p->calls.work(own, e->job);
    pthread_mutex_lock(&p->lock);
    e->state = DONE;
}

static void *thread_main(void *argument)
{
    struct pool *p = argument;
    void *own = p->calls.open(p->calls.ctx);

    pthread_mutex_lock(&p->lock);
    while (own != NULL) {
        while (p->next == p->end && !p->ends) {
            p->idle++;
            pthread_cond_wait(&p->work_came, &p->lock);
            p->idle--;
        }
        if (p->next == p->end)
            break;
        do_next(p, own);
        if (p->main_waits)
            pthread_cond_signal(&p->work_done);
    }
    pthread_mutex_unlock(&p->lock);
    if (own != NULL)
        p->calls.close(own);
    return NULL;
}

/* Finishes the oldest job, after doing others as long as it is not done; called with the lock,
 * which it gives up meanwhile. */
static void finish_oldest(struct pool *p)
{
    struct entry *e = entry(p, p->first);

    while (e->state != DONE) {
        if (p->next != p->end) {
            do_next(p, p->own);
        } else {
            p->main_waits = true;
            pthread_cond_wait(&p->work_done, &p->lock);
            p->main_waits = false;
        }
    }
    pthread_mutex_unlock(&p->lock);
    p->calls.finish(p->calls.ctx, e->job);
    pthread_mutex_lock(&p->lock);
    p->first++;
}

struct pool *pool_new(int threads, size_t most, const struct pool_calls *calls)
{
    const size_t wanted = (size_t)threads * ENTRIES_PER_THREAD;
    const size_t size = wanted < most ? wanted : most;
    struct pool *p = calloc(1, sizeof(*p) + size * sizeof(p->ring[0]));

    if (p == NULL)
        return NULL;
    p->calls = *calls;
    p->size = size;
    p->thread_count = threads - 1;
    p->threads = calloc((size_t)threads, sizeof(p->threads[0]));
    if (p->threads == NULL) {
        free(p);
        return NULL;
    }
    p->own = calls->open(calls->ctx);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work_came, NULL);
    pthread_cond_init(&p->work_done, NULL);
    return p;
}

void pool_submit(struct pool *p, void *job)
{
    pthread_mutex_lock(&p->lock);
    if (p->end - p->first == p->size)
        finish_oldest(p);
    *entry(p, p->end++) = (struct entry){.job = job, .state = WAITING};
    if (p->idle > 0) {
        pthread_cond_signal(&p->work_came);
    } else if (p->started < p->thread_count) {
        if (thread_start(&p->threads[p->started], thread_main, p))
            p->started++;
        else
            p->thread_count = p->started; /* those there are do the work */
    }
    while (p->first != p->end && entry(p, p->first)->state == DONE)
        finish_oldest(p);
    pthread_mutex_unlock(&p->lock);
}

void pool_drain(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->first != p->end)
        finish_oldest(p);
    pthread_mutex_unlock(&p->lock);
}

bool pool_any(struct pool *p, bool (*visit)(void *job, const void *with), const void *with)
{
    /* Nobody but this thread changes which jobs there are. */
    for (size_t i = p->first; i != p->end; i++)
        if (visit(entry(p, i)->job, with))
            return true;
    return false;
}

void pool_free(struct pool *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->ends = true;
    pthread_cond_broadcast(&p->work_came);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->started; i++)
        pthread_join(p->threads[i], NULL);
    if (p->own != NULL)
        p->calls.close(p->own);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work_came);
    pthread_cond_destroy(&p->work_done);
    free(p->threads);
    free(p);
}
