/*
 * work.c - decides what a worker does next (work.h)
 *
 * work_once tries the kinds of work in order of urgency; the opening comment of
 * pipeline/crew/state.h lists them.  To give workers a new kind of work, insert it into work_once
 * according to its urgency, and call crew_call wherever such work becomes possible.
 */
#include "config.h"

#include "pipeline/compress/claim.h"
#include "pipeline/compress/compression.h"
#include "pipeline/compress/facts.h"
#include "pipeline/compress/gpu_feed.h"
#include "pipeline/compress/parts.h"
#include "pipeline/compress/read_back.h"
#include "pipeline/compress/segment.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/slots.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/work.h"

/* --- Memory --- */

/* The job whose work comes next, or NULL if no job has work left. */
static struct job *next_job(struct pipeline *p)
{
    if (read_back_first(p) != NULL)
        return read_back_first(p)->job;
    return ready_first(p) != NULL ? ready_first(p)->job : jobs_to_claim(p);
}

/* Makes a job that has work left fail for lack of memory.  Call this if no worker has memory to do
 * that work.  Returns false if no job has work left. */
static bool fail_for_memory(struct pipeline *p)
{
    struct job *j = next_job(p);

    if (j == NULL)
        return false;
    job_fail(j, PIPELINE_NO_MEMORY, 0);
    job_settle(j);
    return true;
}

/* Gets the worker its memory for a level.  Releases the lock meanwhile.  If memory is short for
 * this worker and no other worker has memory, makes a job fail.  Returns true if the worker has its
 * memory or a job has failed.  Returns false if this worker can do nothing now. */
static bool equip(struct worker *w, const struct lz_level *level)
{
    switch (crew_equip(w, level)) {
    case CREW_EQUIPPED:
        return true;
    case CREW_NOBODY:
        return fail_for_memory(w->pipeline);
    default:
        return false;
    }
}

/* --- The order of work --- */

/* Returns how many bytes of the slots' limit workers must leave free.  If feeders are at work,
 * these are a batch's bytes, because a feeder would never get that many if workers took all bytes
 * that become free.  If no feeder is at work, these are all bytes except those that keep the
 * workers busy. */
static uint64_t reserve(const struct pipeline *p)
{
    return feeders_at_work(p) > 0 ? p->batch_size : slots_beyond_workers(p);
}

/* Whether the worker may claim the next segment of the job, if the job has one. */
static bool may_claim(struct worker *w, const struct job *j)
{
    struct pipeline *p = w->pipeline;
    struct policy_facts facts;

    if (!crew_is_claimer(w) || !slots_have_room(p, p->segment_size, reserve(p)))
        return false;
    /* Without GPUs, workers match everything.  With GPUs, workers match the jobs that have a level
     * of their own, because GPUs match only at the pipeline's level. */
    if (!feeding_is_on(p) || j->request->level != NULL)
        return true;
    facts_get(p, &facts);
    return (p->wait_for_gpu && p->config.backend != BACKEND_GPU) || policy_cpu_may_match(&facts);
}

/* Claims the job's next segment, matches it and encodes it. */
static void claim_and_finish(struct worker *w, struct job *j)
{
    struct pipeline *p = w->pipeline;
    struct slot *s;

    /* With an input that fills the buffer, huge pages save time: the system provides and translates
     * small pages one by one.  For a shorter input, they would only take more memory. */
    if (source_is_long(&j->compression->source))
        tools_ask_for_huge_pages(w->tools, p->segment_size);
    s = claim_one(j, w->tools->in);
    if (s == NULL)
        return;
    if (jobs_leave_work(p))
        crew_call(p);
    crew_begin_matching(p);
    offer_parts(w, s);
    finish_segment(w, s);
}

/* Whether it is time to begin another job.  It is if open jobs have nothing to claim.  With
 * feeders, it is also time if open jobs have fewer bytes to claim than two batches hold, and fewer
 * segments than two batches have chunks, because each segment takes at least one chunk. */
static bool may_begin(const struct pipeline *p, const struct job *to_claim)
{
    return to_claim == NULL || (feeders_at_work(p) > 0 && jobs_left_begun(p) < 2 * p->batch_size &&
                                jobs_segments_left(p) < 2 * p->batch_size / LZ_CHUNK_SIZE);
}

bool work_once(struct worker *w)
{
    struct pipeline *p = w->pipeline;
    const bool is_equipped = crew_is_equipped(w, p->level);
    struct job *j;

    consider_gpus(p);
    if (leave_ahead(p) || read_for_feeder(p))
        return true;
    if (read_back_first(p) != NULL) {
        if (!is_equipped && !read_back_first(p)->job->failed)
            return equip(w, p->level);
        read_back_do(w);
        return true;
    }
    if (ready_first(p) != NULL) {
        struct slot *s;

        /* A failed job's segment is only dropped, which needs no memory. */
        if (!is_equipped && !ready_first(p)->job->failed)
            return equip(w, p->level);
        s = ready_take(p);
        if (ready_first(p) != NULL)
            crew_call(p);
        finish_segment(w, s);
        return true;
    }
    j = job_to_read_ahead(p);
    if (j != NULL) {
        read_ahead(j);
        return true;
    }
    j = jobs_to_claim(p);
    if (j != NULL && may_claim(w, j)) {
        if (!crew_is_equipped(w, job_level(j)))
            return equip(w, job_level(j));
        claim_and_finish(w, j);
        return true;
    }
    if (may_begin(p, j) && (j = jobs_to_begin(p)) != NULL) {
        if (jobs_waiting(p) > 1)
            crew_call(p);
        if (is_small(j) && is_equipped && may_claim(w, j)) {
            do_small(w, j);
            feeders_call(p);
            return true;
        }
        job_begin(j);
        /* A worker that may not claim segments wakes one that may. */
        if (!crew_is_claimer(w))
            crew_call(p);
        feeders_call(p);
        return true;
    }
    if (parts_to_match(p) != NULL) {
        if (!is_equipped)
            return equip(w, p->level);
        match_some(w, parts_to_match(p));
        return true;
    }
    return expand_some(w);
}

void *worker_main(void *argument)
{
    struct worker *w = argument;
    struct pipeline *p = w->pipeline;
    struct expand_tools *t;

    lock(p);
    while (!crew_ends(p)) {
        if (work_once(w))
            continue;
        /* A worker that lacks memory ends, unless it is the first worker.  The first worker waits
         * until there is memory, or until other workers have done its work. */
        if (crew_ends(p) || (crew_lacks_memory(w) && w != crew_first(p)))
            break;
        crew_wait(w);
    }
    crew_leave(w);
    /* Once w->expand is NULL, pipeline_give_back does not touch these tools any more. */
    t = w->expand;
    w->expand = NULL;
    unlock(p);
    expand_free_tools(t);
    return NULL;
}
