/*
 * work.c - what a worker does (work.h)
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "compat/crc.h"
#include "pipeline/claim.h"
#include "pipeline/crew.h"
#include "pipeline/expand.h"
#include "pipeline/feed.h"
#include "pipeline/jobs.h"
#include "pipeline/parts.h"
#include "pipeline/store.h"
#include "pipeline/work.h"
#include "pipeline/write.h"

/* --- A segment --- */

/* What became of a segment. */
struct result {
    bool ok;                        /* false: the CPU's matches did not pass the check */
    bool is_redone;                 /* the GPU's did not */
    double match, encode;           /* seconds, of all threads together */
    uint64_t counters[LZ_COUNTERS]; /* what the CPU's match finder counted */
};

/* Pieces of --rsyncable refer to what comes before them, other segments do not. */
static enum huff_end end_of(const struct slot *s)
{
    return s->last && s->job->of->extent != PIPELINE_RANGE ? HUFF_LAST
           : s->job->pipeline->config.rsyncable            ? HUFF_SYNC
                                                           : HUFF_MARK;
}

/* Matches the segment, unless that was done in parts, and encodes it; false if the matches do
 * not pass the check.  *matched: the time between. */
static bool match_and_encode(struct worker *w, struct slot *s, bool in_parts, double *matched)
{
    const struct lz_level *level = w->pipeline->level;
    const size_t len = s->before + s->len;
    const struct lz_chunk *chunks;

    if (s->before == 0) {
        if (in_parts)
            chunks = lz_chunks(w->tools->matcher);
        else
            chunks = lz_match_segment(w->tools->matcher, level, s->in, len);
        *matched = clock_seconds();
        return huff_encode_segment(w->tools->encoder, s->in, len, chunks, level->split, end_of(s),
                                   s->out, &s->out_len);
    }
    chunks = lz_match_after(w->tools->matcher, level, s->in, len);
    *matched = clock_seconds();
    return huff_encode_after(w->tools->encoder, s->in, len, chunks, level->split, end_of(s), s->out,
                             &s->out_len);
}

/* Matches the segment, unless a GPU did, and encodes it, or stores it at level 0; called without the
 * lock, by its owner. */
static void encode(struct worker *w, struct slot *s, struct result *r)
{
    const bool in_parts = w->split.matcher != NULL;
    double start = clock_seconds(), matched = start;

    *r = (struct result){0};
    if (lz_is_stored(w->pipeline->level)) {
        s->out_len = store_segment(s->in + s->before, s->len, end_of(s), s->out, &s->crc);
        r->ok = true;
        r->encode = clock_seconds() - start;
        return;
    }
    /* Before anything that can fail: others read the segment. */
    if (in_parts)
        finish_parts(w);
    if (s->chunks != NULL) {
        r->ok = huff_encode_segment(w->tools->encoder, s->in, s->len, s->chunks,
                                    w->pipeline->level->split, end_of(s), s->out, &s->out_len);
        /* The GPU was wrong.  The CPU is not. */
        r->is_redone = !r->ok;
    }
    if (s->chunks == NULL || r->is_redone)
        r->ok = match_and_encode(w, s, in_parts, &matched);
    s->crc = gz_crc32(0, s->in + s->before, s->len);
    if (in_parts)
        memcpy(r->counters, w->split.counters, sizeof(r->counters));
    else
        lz_take_counters(w->tools->matcher, r->counters);
    r->match = in_parts ? w->split.seconds : matched - start;
    r->encode = clock_seconds() - matched;
}

/* Adds a segment to what was measured. */
static void measure(struct pipeline *p, const struct slot *s, const struct result *r)
{
    struct pipeline_stats *stats = &s->job->stats;

    if (s->chunks != NULL) {
        stats->gpu_segments++;
        p->totals.gpu_segments++;
        stats->redone_segments += r->is_redone;
    } else {
        stats->cpu_segments++;
        p->totals.cpu_segments++;
        p->match.bytes += (double)s->len;
        p->match.seconds += r->match;
    }
    for (size_t i = 0; i < LZ_COUNTERS; i++)
        stats->counters[i] += r->counters[i];
    stats->match += r->match;
    stats->encode += r->encode;
    p->encode.bytes += (double)s->len;
    p->encode.seconds += r->encode;
}

/* Does the rest of the work on a segment that is the worker's; the job may be gone afterwards. */
static void finish_segment(struct worker *w, struct slot *s)
{
    struct pipeline *p = w->pipeline;
    struct job *j = s->job;
    const bool is_own = s->feeder == NULL;
    struct result r;

    if (!j->failed || w->split.matcher != NULL) {
        s->out = w->tools->out;
        w->tools->out = NULL;
        unlock(p);
        encode(w, s, &r);
        lock(p);
        if (r.ok)
            measure(p, s, &r);
        else
            job_fail(j, PIPELINE_WRONG, 0);
    }
    p->matching -= is_own;
    if (!is_own)
        leave_batch(s->feeder);
    slot_done(s);
    write_finished(j);
    job_settle(j);
}

/* --- Small jobs --- */

/* With more than this, a job is worth several workers, or its time hides what the lock takes. */
#define SMALL ((uint64_t)LZ_CHUNK_SIZE)

/* Whether one worker had best do all of a job that waits. */
static bool is_small(const struct job *j)
{
    return j->of->begin != NULL && j->of->size > 0 && j->of->size <= SMALL &&
           !j->pipeline->config.rsyncable;
}

/* Does a whole job, which is small, from its beginning to its end.  No other thread has a part in
 * it.  So the lock is free all the time but for a moment, which matters: with some ten workers, and
 * a file of 4 KB each 10 us, they would mostly wait for it. */
static void do_small(struct worker *w, struct job *j)
{
    struct pipeline *p = w->pipeline;
    struct slot *s = slot_new(j, p->segment_size);
    bool is_prepared, is_one, was_read = false;
    struct written written = {0};
    struct result r = {0};
    double read = 0;
    int error = 0;

    if (s == NULL) {
        job_begin(j);
        return;
    }
    s->in = w->tools->in;
    s->out = w->tools->out;
    p->matching++;
    is_prepared = job_prepare(j);
    /* It may be larger by now than it was said to be. */
    is_one = is_prepared && !job_next_is_any(j);
    if (is_one) {
        read = -clock_seconds();
        was_read = read_in_order(s);
        error = errno;
        read += clock_seconds();
    }
    /* Or it has grown to more than a segment. */
    if (was_read && s->last) {
        encode(w, s, &r);
        if (r.ok)
            write_segments(j, &s, 1, "cpu", &written);
    }
    lock(p);
    p->matching--;
    s->out = NULL;
    if (!is_one) {
        slot_free_first(j);
        job_begin_prepared(j, is_prepared);
        return;
    }
    job_open(j);
    count_read(j, read, s->len, was_read, error);
    if (!j->failed)
        claim_read(s);
    if (!j->failed && !s->last) {
        p->matching++;
        finish_segment(w, s);
        return;
    }
    if (!j->failed && !r.ok)
        job_fail(j, PIPELINE_WRONG, 0);
    if (!j->failed && !written.ok)
        job_fail(j, PIPELINE_WRITE_ERROR, written.error);
    if (!j->failed) {
        measure(p, s, &r);
        count_written(j, 1, &written);
    }
    slot_free_first(j);
    job_settle(j);
}

/* --- What comes first --- */

/* Whether the worker may claim segments, rather than help with those of others. */
static bool is_claimer(const struct worker *w)
{
    return w - w->pipeline->workers < w->pipeline->claimers || w->pipeline->have_left;
}

/* Bytes that workers must leave free.  With feeders, a whole batch: a feeder would never get so
 * many if workers took all that comes free.  Without, all but what keeps the threads busy. */
static uint64_t reserve(const struct pipeline *p)
{
    return feeders_at_work(p) > 0 ? p->batch_size : p->held_max - p->held_by_workers;
}

/* Whether a worker may claim a segment now, if there is one. */
static bool may_claim(struct worker *w)
{
    struct pipeline *p = w->pipeline;
    struct policy_facts facts;

    if (!is_claimer(w) || !has_room(p, p->segment_size, reserve(p)))
        return false;
    /* Without GPUs, there is nothing to weigh. */
    if (!p->feeding)
        return true;
    get_facts(p, &facts);
    return (p->wait_for_gpu && p->config.backend != BACKEND_GPU) || policy_cpu_may_match(&facts);
}

/* Claims the job's next segment and works on it. */
static void claim_and_finish(struct worker *w, struct job *j)
{
    struct pipeline *p = w->pipeline;
    struct slot *s;

    s = claim_one(j, w->tools->in);
    if (s == NULL)
        return;
    if (p->left_segments + p->waiting_jobs > 0 || jobs_to_claim(p) != NULL)
        crew_call(p);
    p->matching++;
    offer_parts(w, s);
    finish_segment(w, s);
}

/* Whether it is time for another job to begin: the jobs that have begun leave nothing to claim,
 * or less than feeders could take, which is two batches.  (In a batch, each takes a chunk or
 * more.) */
static bool may_begin(const struct pipeline *p, const struct job *to_claim)
{
    return to_claim == NULL || (feeders_at_work(p) > 0 && p->left_begun < 2 * p->batch_size &&
                                p->left_segments < 2 * p->batch_size / LZ_CHUNK_SIZE);
}

bool work_once(struct worker *w)
{
    struct pipeline *p = w->pipeline;
    const bool is_equipped = crew_is_equipped(w);
    struct job *j;

    consider_gpus(p);
    if (leave_ahead(p) || read_for_feeder(p))
        return true;
    if (!is_empty(&p->ready)) {
        struct slot *s;

        /* What is of a job that has failed is only dropped. */
        if (!is_equipped && !p->ready.first->job->failed)
            return crew_equip(w);
        s = pop(&p->ready);
        if (!is_empty(&p->ready))
            crew_call(p);
        p->matching += s->feeder == NULL;
        finish_segment(w, s);
        return true;
    }
    j = job_to_read_ahead(p);
    if (j != NULL) {
        read_ahead(j);
        return true;
    }
    j = jobs_to_claim(p);
    if (j != NULL && may_claim(w)) {
        if (!is_equipped)
            return crew_equip(w);
        claim_and_finish(w, j);
        return true;
    }
    if (may_begin(p, j) && (j = jobs_to_begin(p)) != NULL) {
        if (p->waiting_jobs > 1)
            crew_call(p);
        if (is_small(j) && is_equipped && may_claim(w)) {
            do_small(w, j);
            jobs_call_feeder(p);
            return true;
        }
        job_begin(j);
        /* Who may not claim what has begun calls somebody who may. */
        if (!is_claimer(w))
            crew_call(p);
        jobs_call_feeder(p);
        return true;
    }
    if (p->splits != NULL) {
        if (!is_equipped)
            return crew_equip(w);
        match_some(w, p->splits);
        return true;
    }
    return p->expansions != NULL && expand_some(w);
}

void *worker_main(void *argument)
{
    struct worker *w = argument;
    struct pipeline *p = w->pipeline;

    lock(p);
    while (!p->ends) {
        if (work_once(w))
            continue;
        /* The first waits until there is memory, or others have done its work. */
        if (p->ends || (w->lacks_memory && w != p->workers))
            break;
        crew_wait(w);
    }
    crew_leave(w);
    unlock(p);
    expand_free_tools(w->expand);
    return NULL;
}
