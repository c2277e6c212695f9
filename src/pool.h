/*
 * pool.h - jobs done side by side by several threads, and finished in order by the main thread
 */
#ifndef GZLZSS_POOL_H
#define GZLZSS_POOL_H

#include <stdbool.h>
#include <stddef.h>

/* What jobs are is the caller's affair, as is their memory. */
struct pool_calls {
    /* Makes what a thread needs for itself, in that thread.  If it returns NULL, the thread ends;
     * the main thread, which cannot, passes NULL on to `work`. */
    void *(*open)(void *ctx);
    void (*close)(void *own); /* frees it, unless it is NULL */
    /* Does a job, in any thread, beside other jobs. */
    void (*work)(void *own, void *job);
    /* Finishes it, in the main thread, after all jobs submitted before it; the job may be freed. */
    void (*finish)(void *ctx, void *job);
    void *ctx;
};

struct pool;

/* A pool for `threads` threads, 1 or more, the calling one included, which works too while it has
 * to wait.  The others are started when there is work for them.  No more than `most` jobs, 1 or more,
 * are in it at a time.  *calls is copied.  NULL if memory is short.  All functions are for the thread
 * that made the pool, the "main thread". */
struct pool *pool_new(int threads, size_t most, const struct pool_calls *calls);

/* Adds a job.  Waits until there is room for one, and may do and finish others meanwhile. */
void pool_submit(struct pool *p, void *job);

/* Returns once all jobs that were submitted are finished. */
void pool_drain(struct pool *p);

/* Calls `visit` with each job that is not finished, until it returns true; returns whether it did.
 * Other threads may be at work on the job. */
bool pool_any(struct pool *p, bool (*visit)(void *job, const void *with), const void *with);

/* Ends the threads; p may be NULL.  There must be no jobs left: pool_drain comes before. */
void pool_free(struct pool *p);

#endif
