/*
 * feeding.c - counts GPU batches in use, and keeps the segments that wait for them (feeding.h)
 */
#include "config.h"

#include <stdlib.h>

#include "base/clock.h"
#include "pipeline/compress/compression.h"
#include "pipeline/compress/feeding.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/slots.h"

/* After this many seconds, the policy decides about GPUs again, even if the bytes left to claim
 * have not grown by a batch's bytes.  With a shorter pause, deciding takes more time under the
 * lock, as workers ask every few microseconds.  With a longer pause, a GPU starts later. */
#define WEIGHING_PAUSE 0.001

/* While other batches are in use, a feeder fills one more only if it would get at least 1/8 of a
 * batch's bytes or chunks. */
#define BATCH_SHARE 8

/* A queue of slots, in order of their arrival. */
struct queue {
    struct slot *first, *last;
};

struct feeding {
    /* Whether GPUs get part of the work left.  Valid only while jobs_emptied() equals on_since. */
    bool is_on;
    uint64_t on_since;      /* the result of jobs_emptied() when feeding began */
    uint64_t weighed_left;  /* the result of jobs_left() at the last decision about GPUs */
    uint64_t weighed_since; /* the result of jobs_emptied() at the last decision about GPUs */
    double weighed_at;      /* the time of the last decision about GPUs */
    int gpus;               /* GPUs, from number 0 on, for which starting a feeder was tried */
    int started[GPUS_MAX];  /* feeders started for each GPU */
    int alive;              /* feeders that have not ended */
    int idle;               /* feeders that wait for segments for a free batch */
    int busy;               /* feeders that fill a batch, or wait until a GPU has matched it */
    int readers;            /* workers that read a segment for a feeder now */
    struct queue unread,    /* slots that wait until a worker reads them for their feeder */
        ready;              /* slots that wait until a worker encodes them */
    struct feeder *feeders; /* an array: GPUS_BATCHES for each of GPUS_MAX GPUs */
};

bool feeding_init(struct pipeline *p)
{
    p->feeding = calloc(1, sizeof(*p->feeding));
    if (p->feeding == NULL)
        return false;
    /* feeder_new sets each feeder. */
    p->feeding->feeders = malloc(GPUS_MAX * GPUS_BATCHES * sizeof(struct feeder));
    return p->feeding->feeders != NULL;
}

void feeding_join(struct pipeline *p)
{
    const struct feeding *f = p->feeding;

    if (f == NULL)
        return;
    for (int gpu = 0; gpu < f->gpus; gpu++)
        for (int i = 0; i < f->started[gpu]; i++)
            pthread_join(f->feeders[gpu * GPUS_BATCHES + i].thread, NULL);
}

void feeding_free(struct pipeline *p)
{
    if (p->feeding != NULL)
        free(p->feeding->feeders);
    free(p->feeding);
}

/* --- Whether GPUs get work ------------------------------------------------------------------ */

bool feeding_is_on(const struct pipeline *p)
{
    const struct feeding *f = p->feeding;

    /* A decision ends when nothing is left to claim.  For later jobs, it must be made again. */
    return f != NULL && f->is_on && f->on_since == jobs_emptied(p);
}

void feeding_begin(struct pipeline *p)
{
    p->feeding->is_on = true;
    p->feeding->on_since = jobs_emptied(p);
    feeders_call(p);
}

bool feeding_has_grown(struct pipeline *p)
{
    struct feeding *f = p->feeding;
    const uint64_t emptied = jobs_emptied(p), left = jobs_left(p);
    const uint64_t weighed = f->weighed_since == emptied ? f->weighed_left : 0;
    const double now = clock_seconds();

    if (left < weighed + p->batch_size && now - f->weighed_at < WEIGHING_PAUSE)
        return false;
    f->weighed_left = left;
    f->weighed_since = emptied;
    f->weighed_at = now;
    return true;
}

bool feeding_gpu_comes(const struct pipeline *p)
{
    return feeding_is_on(p) &&
           (gpus_state(p->gpus) == GPUS_OPENING || p->feeding->gpus < gpus_count(p->gpus));
}

int feeding_next_gpu(struct pipeline *p)
{
    return p->feeding->gpus < gpus_count(p->gpus) ? p->feeding->gpus++ : -1;
}

/* --- Feeders -------------------------------------------------------------------------------- */

struct feeder *feeder_new(struct pipeline *p, int gpu)
{
    const int number = p->feeding->started[gpu];
    struct feeder *f = &p->feeding->feeders[gpu * GPUS_BATCHES + number];

    if (number == GPUS_BATCHES)
        return NULL;
    *f = (struct feeder){.pipeline = p, .gpu = gpu, .number = number};
    return f;
}

void feeder_began(const struct feeder *f)
{
    f->pipeline->feeding->started[f->gpu]++;
    f->pipeline->feeding->alive++;
}

void feeder_ended(const struct feeder *f)
{
    f->pipeline->feeding->alive--;
}

int feeders_alive(const struct pipeline *p)
{
    return p->feeding == NULL ? 0 : p->feeding->alive;
}

int feeders_at_work(const struct pipeline *p)
{
    return feeding_is_on(p) ? p->feeding->alive : 0;
}

void feeder_is_busy(const struct feeder *f)
{
    f->pipeline->feeding->busy++;
}

void feeder_is_done(const struct feeder *f)
{
    f->pipeline->feeding->busy--;
}

void feeder_release(struct feeder *f)
{
    if (--f->pending == 0)
        wake_all(f->pipeline, CAN_FREE);
}

void feeder_wait(const struct feeder *f)
{
    f->pipeline->feeding->idle++;
    await(f->pipeline, CAN_FEED);
    f->pipeline->feeding->idle--;
}

/* Whether the segments that can be claimed are worth a batch.  Any number of segments is worth a
 * batch if no other batch is being filled or matched, or if no more jobs come.  Otherwise small
 * jobs wait until there are many of them, because a batch costs 100 us or more, however little is
 * in it. */
static bool is_batch(const struct pipeline *p)
{
    const struct job *j = jobs_to_weigh(p);

    return p->feeding->busy == 0 || jobs_are_last(p) ||
           jobs_left(p) >= p->batch_size / BATCH_SHARE ||
           jobs_segments_left(p) + jobs_waiting(p) >= p->batch_size / LZ_CHUNK_SIZE / BATCH_SHARE ||
           /* A pipe may give more bytes than are known now. */
           (j != NULL && j->state == JOB_OPEN && !source_is_file(&j->compression->source));
}

bool feeders_may_fill(struct pipeline *p)
{
    return feeding_is_on(p) && slots_have_room(p, p->batch_size, 0) && is_batch(p) &&
           (jobs_to_claim_for_gpu(p) != NULL || jobs_to_begin(p) != NULL);
}

void feeders_call(struct pipeline *p)
{
    if (p->feeding != NULL && p->feeding->idle > 0 && feeders_may_fill(p))
        wake_one(p, CAN_FEED);
}

/* --- Waiting segments ----------------------------------------------------------------------- */

static void append(struct queue *q, struct slot *s)
{
    s->next = NULL;
    if (q->first == NULL)
        q->first = s;
    else
        q->last->next = s;
    q->last = s;
}

static struct slot *take_first(struct queue *q)
{
    struct slot *s = q->first;

    if (s != NULL)
        q->first = s->next;
    return s;
}

void unread_put(struct slot *s)
{
    append(&s->job->pipeline->feeding->unread, s);
}

bool unread_is_empty(const struct pipeline *p)
{
    return p->feeding == NULL || p->feeding->unread.first == NULL;
}

struct slot *unread_take(struct pipeline *p)
{
    p->feeding->readers++;
    return take_first(&p->feeding->unread);
}

void unread_is_read(struct pipeline *p)
{
    p->feeding->readers--;
}

int unread_readers(const struct pipeline *p)
{
    return p->feeding->readers;
}

void ready_put(struct slot *s)
{
    append(&s->job->pipeline->feeding->ready, s);
}

struct slot *ready_first(const struct pipeline *p)
{
    return p->feeding == NULL ? NULL : p->feeding->ready.first;
}

struct slot *ready_take(struct pipeline *p)
{
    return p->feeding == NULL ? NULL : take_first(&p->feeding->ready);
}
