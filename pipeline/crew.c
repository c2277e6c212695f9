/*
 * crew.c - workers (crew.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "pipeline/crew.h"
#include "pipeline/jobs.h"

/* A pipeline that lives long tries again to start a thread after so many seconds. */
#define START_AGAIN 1.0

void crew_call(struct pipeline *p)
{
    if (p->waiting > p->called) {
        p->called++;
        /* Some workers may not claim segments; a signal could wake only such a one. */
        if (p->threads > p->claimers)
            pthread_cond_broadcast(&p->can_work);
        else
            pthread_cond_signal(&p->can_work);
    } else if (p->started < p->threads && !p->ends &&
               (p->start_again == 0 || clock_seconds() > p->start_again)) {
        struct worker *w = &p->workers[p->started];

        w->pipeline = p;
        /* If the system has no more threads to give, those there are do the work. */
        if (thread_start(&w->thread, p->worker_main, w))
            p->started++;
        else if (p->config.caller_works)
            p->threads = p->started;
        else
            p->start_again = clock_seconds() + START_AGAIN;
    }
}

void crew_wait(struct worker *w)
{
    struct pipeline *p = w->pipeline;

    p->waiting++;
    pthread_cond_wait(&p->can_work, &p->lock);
    p->waiting--;
    if (p->called > 0)
        p->called--;
}

void tools_free(struct tools *t)
{
    if (t == NULL)
        return;
    lz_matcher_free(t->matcher);
    huff_encoder_free(t->encoder);
    free(t->in);
    free(t->out);
    free(t);
}

struct tools *tools_new(const struct lz_level *level, size_t size)
{
    const bool is_stored = lz_is_stored(level);
    struct tools *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    if (!is_stored) {
        t->matcher = lz_matcher_new(level, size);
        t->encoder = huff_encoder_new();
    }
    t->in = malloc(size + LZ_INPUT_PAD);
    if ((!is_stored && (t->matcher == NULL || t->encoder == NULL)) || t->in == NULL) {
        tools_free(t);
        return NULL;
    }
    memset(t->in + size, 0, LZ_INPUT_PAD);
    return t;
}

bool crew_is_equipped(const struct worker *w)
{
    return w->tools != NULL && w->tools->out != NULL;
}

/* Fails a job that has something to do: there is no memory, and no other worker to wait for. */
static bool fail_for_memory(struct pipeline *p)
{
    struct job *j = is_empty(&p->ready) ? jobs_to_claim(p) : p->ready.first->job;

    if (j == NULL)
        return false;
    job_fail(j, PIPELINE_NO_MEMORY, 0);
    job_settle(j);
    return true;
}

bool crew_equip(struct worker *w)
{
    struct pipeline *p = w->pipeline;
    struct tools *t;

    if (w->tools == NULL) {
        p->getting++;
        unlock(p);
        t = tools_new(p->level, p->segment_size);
        lock(p);
        p->getting--;
        w->tools = t;
        p->equipped += t != NULL;
    }
    if (w->tools != NULL && w->tools->out == NULL) {
        if (p->spare != NULL) {
            w->tools->out = (uint8_t *)p->spare;
            p->spare = p->spare->next;
        } else {
            w->tools->out = malloc(huff_bound(p->segment_size));
        }
    }
    w->lacks_memory = !crew_is_equipped(w);
    if (!w->lacks_memory)
        return true;
    p->have_left = true;
    if (w != p->workers)
        return false;
    if (p->equipped - (w->tools != NULL) + p->getting + p->leaving == 0)
        return fail_for_memory(p);
    /* Those that have memory may be asleep. */
    pthread_cond_broadcast(&p->can_work);
    return false;
}

void crew_leave(struct worker *w)
{
    struct pipeline *p = w->pipeline;
    struct tools *t = w->tools;

    w->tools = NULL;
    p->equipped -= t != NULL;
    /* No others take its place. */
    p->threads = p->started;
    p->leaving++;
    unlock(p);
    tools_free(t);
    lock(p);
    p->leaving--;
    wake_all(p);
}
