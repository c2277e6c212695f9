/*
 * feeding.c - GPU batches: how many are at work, and which segments wait (feeding.h)
 */
#include "config.h"

#include <stdlib.h>

#include "base/clock.h"
#include "pipeline/compress/compression.h"
#include "pipeline/compress/feeding.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/slots.h"

/* Seconds after which what has not grown by a batch is weighed again. */
#define WEIGHING_PAUSE 0.001

/* Of the bytes, or chunks, of a batch, this share is worth one beside those that are in use. */
#define BATCH_SHARE 8

/* Slots, in the order in which they came. */
struct queue {
    struct slot *first, *last;
};

struct feeding {
    bool is_on;             /* GPUs get part of what was left */
    uint64_t on_since;      /* when jobs had been emptied so often; */
    uint64_t weighed_left;  /* what was left when that was last weighed, */
    uint64_t weighed_since; /* likewise, */
    double weighed_at;      /* and the time */
    int gpus;               /* that feeders were started for, or could not be */
    int started[GPUS_MAX];  /* feeders of each GPU */
    int alive;              /* feeders that have not ended; */
    int idle;               /* of these, those that wait for something to put into a batch, */
    int busy;               /* and those that fill one, or have it matched */
    int readers;            /* workers that read for a feeder */
    struct queue unread, ready;
    struct feeder *feeders; /* GPUS_BATCHES for every GPU there may be */
};

bool feeding_init(struct pipeline *p)
{
    p->feeding = calloc(1, sizeof(*p->feeding));
    if (p->feeding == NULL)
        return false;
    /* Each is set when it is started. */
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

/* --- Whether GPUs are fed ------------------------------------------------------------------- */

bool feeding_is_on(const struct pipeline *p)
{
    const struct feeding *f = p->feeding;

    /* Jobs that come after nothing was left are weighed anew. */
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

/* Whether what can be claimed is worth a batch: any of it, if no other batch is being filled or
 * matched, or nothing more comes.  Otherwise small jobs wait until they are many: a batch costs some
 * 100 us and more, however little is in it. */
static bool is_batch(const struct pipeline *p)
{
    const struct job *j = jobs_to_weigh(p);

    return p->feeding->busy == 0 || jobs_are_last(p) ||
           jobs_left(p) >= p->batch_size / BATCH_SHARE ||
           jobs_segments_left(p) + jobs_waiting(p) >= p->batch_size / LZ_CHUNK_SIZE / BATCH_SHARE ||
           /* More may come of a pipe than is known. */
           (j != NULL && j->state == JOB_OPEN && !source_is_file(&j->compression->source));
}

bool feeders_may_fill(struct pipeline *p)
{
    return feeding_is_on(p) && slots_have_room(p, p->batch_size, 0) && is_batch(p) &&
           (jobs_to_claim(p) != NULL || jobs_to_begin(p) != NULL);
}

void feeders_call(struct pipeline *p)
{
    if (p->feeding != NULL && p->feeding->idle > 0 && feeders_may_fill(p))
        wake_one(p, CAN_FEED);
}

/* --- Segments that wait --------------------------------------------------------------------- */

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
