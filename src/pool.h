/*
 * pool.h - jobs done side by side by several threads, and finished in order by the main thread
 */
#ifndef GZLZSS_POOL_H
#define GZLZSS_POOL_H

/* What jobs are is the caller's affair. */
struct pool_calls {
    /* What a thread needs for itself, made by the thread that will use it; NULL if it cannot be had,
     * and then the thread does without, or is not needed. */
    void *(*open)(void *ctx);
    void (*close)(void *own);
    /* Does a job, in any thread; `own` may be NULL. */
    void (*work)(void *own, void *job);
    /* Finishes it, in the main thread, after all jobs submitted before it. */
    void (*finish)(void *ctx, void *job);
    void *ctx;
};

struct pool;

/* A pool for `threads` threads, this one included, which works too while it has to wait.  Threads
 * are started when there is work for them.  NULL if memory is short. */
struct pool *pool_new(int threads, const struct pool_calls *calls);
void pool_free(struct pool *p); /* after pool_drain */

/* Adds a job.  Takes as long as it takes to have room for one: jobs may be finished, or done, by
 * this call. */
void pool_submit(struct pool *p, void *job);

/* Finishes all jobs that were submitted. */
void pool_drain(struct pool *p);

/* Calls visit for each job that is not finished, until it returns true; returns whether it did. */
#include <stdbool.h>
bool pool_any(struct pool *p, bool (*visit)(void *job, const void *with), const void *with);

#endif
