/*
 * jobs.c - the list of jobs (jobs.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pipeline/jobs.h"
#include "pipeline/pushed.h"

/* Bytes of a pipe that are read ahead while a GPU is brought up, at most: what a fast one gives in
 * that time. */
#ifndef AHEAD_SIZE
#define AHEAD_SIZE ((size_t)512 << 20)
#endif

/* From so many threads on, a pipe is read by a pipe_reader: with fewer, reading is not what others
 * wait for, and that only costs (4 % at level 1 on the 2-core EPYC). */
#ifndef PIPE_READER_FROM
#define PIPE_READER_FROM 8
#endif

/* --- What is left to claim --- */

bool job_is_claimed(const struct job *j)
{
    return j->failed || j->next_claim == j->total;
}

bool job_next_is_any(const struct job *j)
{
    return j->next_claim < j->any_order;
}

bool job_can_read(const struct job *j)
{
    return j->state == JOB_OPEN && !job_is_claimed(j) &&
           (job_next_is_any(j) || (!j->reading && !j->of->is_pushed));
}

uint64_t job_known_segments(const struct job *j)
{
    return job_next_is_any(j) ? j->any_order : j->next_claim;
}

/* The job's share in left_segments. */
static uint64_t segments_left(const struct job *j)
{
    return j->state != JOB_OPEN || job_is_claimed(j) ? 0 : job_known_segments(j) - j->next_claim;
}

void job_count_left(struct job *j, uint64_t came, uint64_t claimed)
{
    struct pipeline *p = j->pipeline;
    const uint64_t left = j->left + came, old = j->left, old_begun = j->left_begun;
    const uint64_t segments = segments_left(j), old_segments = j->left_segments;

    j->left = job_is_claimed(j) || left < claimed ? 0 : left - claimed;
    j->left_begun = j->state == JOB_OPEN ? j->left : 0;
    j->left_segments = segments;
    p->left += j->left - old;
    p->left_begun += j->left_begun - old_begun;
    p->left_segments += segments - old_segments;
    while (p->unclaimed != NULL && job_is_claimed(p->unclaimed))
        p->unclaimed = p->unclaimed->next;
    if (p->unclaimed == NULL) {
        /* Jobs that come later are weighed anew. */
        p->feeding = false;
        p->weighed_left = 0;
        p->longest = 0;
        p->pace_count = 0;
    }
}

struct job *jobs_to_claim(struct pipeline *p)
{
    /* Small jobs, and decompression, never leave others anything to claim; and the lock is not to be
     * held for a look at each of them. */
    if (p->open == 0)
        return NULL;
    for (struct job *j = p->unclaimed; j != NULL && j->state != JOB_WAITING; j = j->next)
        if (job_can_read(j))
            return j;
    return NULL;
}

struct job *jobs_to_weigh(const struct pipeline *p)
{
    struct job *j = p->unclaimed;

    while (j != NULL &&
           (job_is_claimed(j) || (j->state == JOB_OPEN && j->of->is_pushed && !job_next_is_any(j))))
        j = j->next;
    return j;
}

struct job *jobs_to_begin(struct pipeline *p)
{
    return p->config.open_jobs > 0 && p->begun >= p->config.open_jobs ? NULL : p->next_waiting;
}

/* --- For feeders --- */

/* Of the bytes, or chunks, of a batch, this share is worth one beside those that are in use. */
#define BATCH_SHARE 8

/* Whether what can be claimed is worth a batch: any of it, if no other batch is being filled or
 * matched, or nothing more comes.  Otherwise small jobs wait until they are many: a batch costs some
 * 100 us and more, however little is in it. */
static bool is_batch(const struct pipeline *p)
{
    const struct job *j = jobs_to_weigh(p);

    return p->feeders_busy == 0 || (p->expected == 0 && p->waiting_jobs == 0) ||
           p->left >= p->batch_size / BATCH_SHARE ||
           p->left_segments + p->waiting_jobs >= p->batch_size / LZ_CHUNK_SIZE / BATCH_SHARE ||
           /* More may come of a pipe than is known. */
           (j != NULL && j->state == JOB_OPEN && !source_is_file(&j->source));
}

bool jobs_fill_batch(struct pipeline *p)
{
    return p->feeding && has_room(p, p->batch_size, 0) && is_batch(p) &&
           (jobs_to_claim(p) != NULL || jobs_to_begin(p) != NULL);
}

void jobs_call_feeder(struct pipeline *p)
{
    if (p->feeders_idle > 0 && jobs_fill_batch(p))
        pthread_cond_signal(&p->can_feed);
}

/* --- Slots --- */

bool has_room(const struct pipeline *p, uint64_t bytes, uint64_t reserve)
{
    return p->held + bytes + reserve <= p->held_max;
}

void slot_weigh(struct slot *s, size_t weight)
{
    s->job->pipeline->held += weight - s->weight;
    s->weight = weight;
}

struct slot *slot_new(struct job *j, size_t weight)
{
    struct pipeline *p = j->pipeline;
    struct slot *s = p->free_slots;

    if (s != NULL)
        p->free_slots = s->next;
    else
        s = malloc(sizeof(*s));
    if (s == NULL)
        return NULL;
    *s = (struct slot){.job = j};
    slot_weigh(s, weight);
    if (j->slots == NULL)
        j->slots = s;
    else
        j->last_slot->next_in_job = s;
    j->last_slot = s;
    return s;
}

/* Frees a slot that is no longer in the job's list. */
static void slot_free(struct slot *s)
{
    struct pipeline *p = s->job->pipeline;
    struct spare *spare = (struct spare *)s->out;

    slot_weigh(s, 0);
    if (spare != NULL) {
        spare->next = p->spare;
        p->spare = spare;
    }
    s->next = p->free_slots;
    p->free_slots = s;
}

void slot_free_first(struct job *j)
{
    struct slot *s = j->slots;

    j->slots = s->next_in_job;
    slot_free(s);
}

/* Frees what is done of a job that has failed, unless the writer has it. */
static void drop_done(struct job *j)
{
    struct slot **link = &j->slots;

    if (j->writing)
        return;
    j->last_slot = NULL;
    while (*link != NULL) {
        struct slot *s = *link;

        if (s->done) {
            *link = s->next_in_job;
            slot_free(s);
        } else {
            j->last_slot = s;
            link = &s->next_in_job;
        }
    }
    wake_all(j->pipeline);
}

void slot_done(struct slot *s)
{
    s->done = true;
    if (s->job->failed)
        drop_done(s->job);
}

/* --- Beginning and ending --- */

void job_fail(struct job *j, enum pipeline_status status, int error_number)
{
    if (!j->failed) {
        j->failed = true;
        j->of->status = status;
        j->of->error_number = error_number;
        if (j->state == JOB_OPEN)
            source_cancel(&j->source);
        job_count_left(j, 0, 0);
    }
    drop_done(j);
    wake_all(j->pipeline);
}

/* Segments that may be read ahead, or pushed: of the latter, as many as keep all at work. */
static uint64_t most_ahead(const struct job *j)
{
    const struct pipeline *p = j->pipeline;
    const uint64_t for_gpus = p->gpus != NULL ? PUSH_FOR_GPUS : 0;

    return j->of->is_pushed ? (uint64_t)p->claimers + PUSH_SPARE + for_gpus / p->segment_size
                            : AHEAD_SIZE / p->segment_size;
}

/* Readies the source, and memory for what is read ahead of it; called without the lock.  False if
 * memory is short: then nothing is left of it. */
static bool open_source(struct job *j)
{
    const struct pipeline *p = j->pipeline;

    const bool in_pieces = p->config.rsyncable;
    const size_t size = in_pieces ? LZ_SEGMENT_MAX : p->segment_size;

    if (j->of->is_pushed)
        source_init_pushed(&j->source, size);
    else if (j->of->in != NULL && j->of->is_on_gpu)
        source_init_gpu_memory(&j->source, j->of->in, j->of->in_len, size, &j->pipeline->copiers,
                               j->of->device);
    else if (j->of->in != NULL)
        source_init_memory(&j->source, j->of->in, j->of->in_len, size);
    else
        source_init(&j->source, j->of->in_fd, size,
                    p->config.threads >= PIPE_READER_FROM && !in_pieces);
    if (in_pieces && !source_begin_pieces(&j->source)) {
        source_finish(&j->source);
        return false;
    }
    j->any_order = j->source.random_access;
    j->ahead_most = most_ahead(j);
    if (!j->of->is_pushed && p->gpus != NULL && !source_is_file(&j->source)) {
        j->ahead = calloc(j->ahead_most, sizeof(*j->ahead));
        if (j->ahead == NULL) {
            source_finish(&j->source);
            return false;
        }
    }
    j->claimed[0].time = j->claimed[1].time = clock_seconds();
    return true;
}

struct job *job_new(struct pipeline *p)
{
    struct job *j = p->free_jobs;

    if (j != NULL)
        p->free_jobs = j->next;
    else
        j = malloc(sizeof(*j));
    if (j != NULL)
        *j = (struct job){.pipeline = p, .total = UINT64_MAX};
    return j;
}

/* Takes a job, of which no thread has anything, from the list; *j is gone. */
static void job_remove(struct job *j)
{
    struct pipeline *p = j->pipeline;
    struct pipeline_job *of = j->of;

    j->failed = true;
    job_count_left(j, 0, 0);
    if (j->previous != NULL)
        j->previous->next = j->next;
    else
        p->first = j->next;
    if (j->next != NULL)
        j->next->previous = j->previous;
    else
        p->last = j->previous;
    p->begun--;
    of->own = NULL;
    wake_caller(of);
    /* From now on, *of may be gone. */
    of->is_over = true;
    j->next = p->free_jobs;
    p->free_jobs = j;
}

/* Makes a job that waits one that has begun. */
static void stop_waiting(struct job *j)
{
    struct pipeline *p = j->pipeline;

    j->state = JOB_BEGINNING;
    p->waiting_jobs--;
    p->begun++;
    /* Jobs without `begin` do not wait for those before them. */
    while (p->next_waiting != NULL && p->next_waiting->state != JOB_WAITING)
        p->next_waiting = p->next_waiting->next;
}

bool job_prepare(struct job *j)
{
    struct pipeline *p = j->pipeline;

    stop_waiting(j);
    unlock(p);
    if (j->of->begin != NULL && !j->of->begin(j->of))
        return false;
    if (open_source(j))
        return true;
    j->of->status = PIPELINE_NO_MEMORY;
    if (j->of->end != NULL)
        j->of->end(j->of);
    return false;
}

void job_open(struct job *j)
{
    struct pipeline *p = j->pipeline;

    j->state = JOB_OPEN;
    p->open++;
    p->totals.jobs++;
    if (j->source.size > p->longest)
        p->longest = j->source.size;
    job_count_left(j, j->source.size, j->left);
    if (j->failed)
        source_cancel(&j->source);
}

void job_begin_prepared(struct job *j, bool is_prepared)
{
    if (!is_prepared) {
        job_remove(j);
        return;
    }
    job_open(j);
    if (j->failed)
        job_settle(j);
}

void job_begin(struct job *j)
{
    const bool is_prepared = job_prepare(j);

    lock(j->pipeline);
    job_begin_prepared(j, is_prepared);
}

void job_drop(struct job *j)
{
    stop_waiting(j);
    j->of->status = PIPELINE_CANCELLED;
    job_remove(j);
}

bool job_settle(struct job *j)
{
    struct pipeline *p = j->pipeline;

    if (j->state != JOB_OPEN || !job_is_claimed(j) || j->slots != NULL || j->reading ||
        j->writing || j->pushing)
        return false;
    j->state = JOB_ENDING;
    p->open--;
    unlock(p);
    source_finish(&j->source);
    free(j->ahead);
    free(j->ahead_in);
    pushed_free(j);
    j->of->stats = j->stats;
    j->of->crc = j->crc;
    if (j->of->end != NULL)
        j->of->end(j->of);
    lock(p);
    job_remove(j);
    return true;
}

/* --- Facts --- */

bool gpu_is_coming(struct pipeline *p)
{
    return p->feeding && (gpus_state(p->gpus) == GPUS_OPENING || p->gpus_fed < gpus_count(p->gpus));
}

int feeders_at_work(const struct pipeline *p)
{
    return p->feeding ? p->feeders_alive : 0;
}

/* Bytes a second that the GPUs have matched lately; 0 if that is not known yet.  At first, a GPU
 * gets all of its batches at once, and the first one comes back late.  So the rate is known only
 * when more batches than there are feeders have come back. */
static double gpu_rate(const struct pipeline *p)
{
    const struct pace *newest = &p->paces[(p->pace_count - 1) % PACES];
    const struct pace *oldest = &p->paces[p->pace_count > PACES ? p->pace_count % PACES : 0];

    if (p->pace_count <= (uint64_t)p->feeders_alive)
        return 0;
    return (double)(newest->bytes - oldest->bytes) / (clock_seconds() - oldest->time);
}

void get_facts(struct pipeline *p, struct policy_facts *f)
{
    const struct job *j = jobs_to_weigh(p);
    const bool is_open = j != NULL && j->state == JOB_OPEN;
    const uint64_t more = p->submitted == 0 ? 0 : p->expected * (p->submitted_size / p->submitted);

    *f = (struct policy_facts){
        .backend = p->config.backend,
        .threads = p->threads,
        .core_guess = p->core_guess,
        .is_slow = p->level->finder->is_slow,
        .in_parts = p->level->finder->in_parts,
        .segment_size = p->segment_size,
        .match = p->match,
        .encode = p->encode,
        .read = p->read,
        .write = p->write,
        .gpu_rate = gpu_rate(p),
        .left = p->left,
        .expected = p->left + more,
        .longest = p->longest,
        .is_pipe = is_open && !source_is_file(&j->source) && j->total == UINT64_MAX,
        .is_on_gpu = is_open && j->of->is_on_gpu,
        .given = is_open ? job_known_segments(j) * p->segment_size : 0,
        .gpu_is_coming = gpu_is_coming(p),
        .feeding = feeders_at_work(p),
        .matching = p->matching,
        .reads_ahead = is_open && j->ahead != NULL && j->reading,
    };
}
