/*
 * jobs.c - the list of jobs: how they are submitted, begin, fail and end (jobs.h)
 */
#include "config.h"

#include <stdlib.h>

#include "pipeline/crew/jobs.h"
#include "pipeline/crew/measures.h"
#include "pipeline/crew/slots.h"

void jobs_init(struct pipeline *p, const struct direction *direction, unsigned begun_max)
{
    p->jobs = (struct jobs){.direction = direction, .begun_max = begun_max};
}

void jobs_free(struct pipeline *p)
{
    for (struct job *j = p->jobs.free, *next; j != NULL; j = next) {
        next = j->next;
        free(j);
    }
}

/* --- What is left to claim ------------------------------------------------------------------ */

/* Whether nothing of the job is left to claim. */
static bool job_is_claimed(const struct job *j)
{
    return j->failed || j->next_claim == j->total;
}

bool job_next_is_any(const struct job *j)
{
    return j->next_claim < j->any_order;
}

/* Whether a thread can claim and read the job's next segment right now. */
static bool job_can_read(const struct job *j)
{
    return j->state == JOB_OPEN && !job_is_claimed(j) &&
           (job_next_is_any(j) || (!j->reading && !j->request->is_pushed));
}

uint64_t job_known_segments(const struct job *j)
{
    return job_next_is_any(j) ? j->any_order : j->next_claim;
}

/* This job's share of jobs->left_segments. */
static uint64_t segments_left(const struct job *j)
{
    return j->state != JOB_OPEN || job_is_claimed(j) ? 0 : job_known_segments(j) - j->next_claim;
}

void job_count_left(struct job *j, uint64_t came, uint64_t claimed)
{
    struct jobs *jobs = &j->pipeline->jobs;
    const uint64_t left = j->left + came, old = j->left, old_begun = j->left_begun;
    const uint64_t segments = segments_left(j), old_segments = j->left_segments;

    j->left = job_is_claimed(j) || left < claimed ? 0 : left - claimed;
    j->left_begun = j->state == JOB_OPEN ? j->left : 0;
    j->left_segments = segments;
    jobs->left += j->left - old;
    jobs->left_begun += j->left_begun - old_begun;
    jobs->left_segments += segments - old_segments;
    while (jobs->unclaimed != NULL && job_is_claimed(jobs->unclaimed))
        jobs->unclaimed = jobs->unclaimed->next;
    if (jobs->unclaimed == NULL) {
        /* Nothing is left to claim.  Forget the numbers about earlier jobs, because the policy must
         * judge later jobs without them. */
        jobs->emptied++;
        jobs->longest = 0;
        measures_forget_pace(j->pipeline);
    }
}

const struct lz_level *job_level(const struct job *j)
{
    return j->request->level != NULL ? j->request->level : j->pipeline->level;
}

/* Does the work of jobs_to_claim, or of jobs_to_claim_for_gpu if for_gpu is set. */
static struct job *to_claim(struct pipeline *p, bool for_gpu)
{
    /* If no job is open, do not search the list.  The search holds the lock, and the list may have
     * many jobs that leave nothing to claim, such as small jobs and decompressions. */
    if (p->jobs.open == 0)
        return NULL;
    for (struct job *j = p->jobs.unclaimed; j != NULL && j->state != JOB_WAITING; j = j->next)
        if (job_can_read(j) && !(for_gpu && j->request->level != NULL))
            return j;
    return NULL;
}

struct job *jobs_to_claim(struct pipeline *p)
{
    return to_claim(p, false);
}

struct job *jobs_to_claim_for_gpu(struct pipeline *p)
{
    return to_claim(p, true);
}

struct job *jobs_to_weigh(const struct pipeline *p)
{
    struct job *j = p->jobs.unclaimed;

    while (j != NULL && (job_is_claimed(j) || j->request->level != NULL ||
                         (j->state == JOB_OPEN && j->request->is_pushed && !job_next_is_any(j))))
        j = j->next;
    return j;
}

struct job *jobs_to_begin(struct pipeline *p)
{
    const struct jobs *jobs = &p->jobs;

    return jobs->begun_max > 0 && jobs->begun >= jobs->begun_max ? NULL : jobs->next_waiting;
}

struct job *jobs_first(const struct pipeline *p)
{
    return p->jobs.first;
}

struct job *jobs_first_unclaimed(const struct pipeline *p)
{
    return p->jobs.unclaimed;
}

uint64_t jobs_left(const struct pipeline *p)
{
    return p->jobs.left;
}

uint64_t jobs_left_begun(const struct pipeline *p)
{
    return p->jobs.left_begun;
}

uint64_t jobs_segments_left(const struct pipeline *p)
{
    return p->jobs.left_segments;
}

uint64_t jobs_waiting(const struct pipeline *p)
{
    return p->jobs.waiting;
}

bool jobs_leave_work(struct pipeline *p)
{
    return p->jobs.left_segments + p->jobs.waiting > 0 || jobs_to_claim(p) != NULL;
}

bool jobs_are_last(const struct pipeline *p)
{
    return p->jobs.expected == 0 && p->jobs.waiting == 0;
}

uint64_t jobs_emptied(const struct pipeline *p)
{
    return p->jobs.emptied;
}

void jobs_tell(const struct pipeline *p, struct policy_facts *f)
{
    const struct jobs *jobs = &p->jobs;
    const uint64_t more =
        jobs->submitted == 0 ? 0 : jobs->expected * (jobs->submitted_size / jobs->submitted);

    f->left = jobs->left;
    f->expected = jobs->left + more;
    f->longest = jobs->longest;
    f->earlier = jobs->on_gpu;
}

/* --- Submission ----------------------------------------------------------------------------- */

/* Puts a job at the end of the list. */
static void append(struct job *j)
{
    struct jobs *jobs = &j->pipeline->jobs;

    j->previous = jobs->last;
    if (jobs->last != NULL)
        jobs->last->next = j;
    else
        jobs->first = j;
    jobs->last = j;
    if (jobs->unclaimed == NULL)
        jobs->unclaimed = j;
    if (jobs->next_waiting == NULL)
        jobs->next_waiting = j;
}

struct job *job_submit(struct pipeline *p, struct pipeline_job *request)
{
    struct jobs *jobs = &p->jobs;
    struct job *j = jobs->free;

    if (j != NULL)
        jobs->free = j->next;
    else
        j = malloc(sizeof(*j));
    if (j == NULL)
        return NULL;
    *j = (struct job){.pipeline = p, .request = request, .total = UINT64_MAX};
    request->own = j;
    request->is_over = false;
    request->status = PIPELINE_OK;
    request->error_number = 0;
    append(j);
    jobs->waiting++;
    jobs->submitted++;
    jobs->submitted_size += request->size;
    jobs->expected = request->more;
    if (request->size > jobs->longest)
        jobs->longest = request->size;
    job_count_left(j, request->size, 0);
    return j;
}

/* --- The end of a job ------------------------------------------------------------------------ */

/* Removes a job from the list.  No thread may be working on it.  *j is gone afterwards. */
static void job_remove(struct job *j)
{
    struct jobs *jobs = &j->pipeline->jobs;
    struct pipeline_job *request = j->request;

    /* A GPU could not have helped a job with a level of its own. */
    if (request->uses_gpu && request->level == NULL && request->status == PIPELINE_OK)
        jobs->on_gpu += request->in_len;
    j->failed = true;
    job_count_left(j, 0, 0);
    if (j->previous != NULL)
        j->previous->next = j->next;
    else
        jobs->first = j->next;
    if (j->next != NULL)
        j->next->previous = j->previous;
    else
        jobs->last = j->previous;
    jobs->begun--;
    request->own = NULL;
    wake_caller(request);
    /* Once is_over is set, the caller may free *request. */
    request->is_over = true;
    j->next = jobs->free;
    jobs->free = j;
}

void job_fail(struct job *j, enum pipeline_status status, int error_number)
{
    if (!j->failed) {
        j->failed = true;
        j->request->status = status;
        j->request->error_number = error_number;
        if (j->state == JOB_OPEN)
            j->pipeline->jobs.direction->cancel(j);
        job_count_left(j, 0, 0);
    }
    slots_drop_done(j);
    wake_crew(j->pipeline);
}

bool job_settle(struct job *j)
{
    struct pipeline *p = j->pipeline;

    if (j->state != JOB_OPEN || !job_is_claimed(j) || j->slots != NULL || j->unverified > 0 ||
        j->reading || j->writing || j->pushing)
        return false;
    j->state = JOB_ENDING;
    p->jobs.open--;
    unlock(p);
    p->jobs.direction->close(j);
    if (j->request->end != NULL)
        j->request->end(j->request);
    lock(p);
    job_remove(j);
    return true;
}

/* --- The beginning of a job ------------------------------------------------------------------ */

/* Moves a waiting job to state JOB_BEGINNING, and counts it as begun. */
static void stop_waiting(struct job *j)
{
    struct jobs *jobs = &j->pipeline->jobs;

    j->state = JOB_BEGINNING;
    jobs->waiting--;
    jobs->begun++;
    /* Jobs without `begin` may have begun before earlier jobs, so skip all jobs that have begun. */
    while (jobs->next_waiting != NULL && jobs->next_waiting->state != JOB_WAITING)
        jobs->next_waiting = jobs->next_waiting->next;
}

bool job_prepare(struct job *j)
{
    struct pipeline *p = j->pipeline;

    stop_waiting(j);
    unlock(p);
    if (j->request->begin != NULL && !j->request->begin(j->request))
        return false;
    if (p->jobs.direction->open(j))
        return true;
    j->request->status = PIPELINE_NO_MEMORY;
    if (j->request->end != NULL)
        j->request->end(j->request);
    return false;
}

void job_open(struct job *j)
{
    struct jobs *jobs = &j->pipeline->jobs;

    j->state = JOB_OPEN;
    jobs->open++;
    measure_job(j->pipeline);
    if (j->input_size > jobs->longest)
        jobs->longest = j->input_size;
    job_count_left(j, j->input_size, j->left);
    if (j->failed)
        jobs->direction->cancel(j);
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

/* --- Cancellation --------------------------------------------------------------------------- */

/* Removes a waiting job, which then never begins. */
static void drop(struct job *j)
{
    stop_waiting(j);
    j->request->status = PIPELINE_CANCELLED;
    job_remove(j);
}

/* Makes a job fail as cancelled, unless it is ending.  *j may be gone afterwards. */
static void fail_cancelled(struct job *j)
{
    j->request->is_cancelled = true;
    if (j->state == JOB_WAITING)
        drop(j);
    else if (j->state != JOB_ENDING)
        job_fail(j, PIPELINE_CANCELLED, 0);
}

void job_cancel(struct pipeline_job *request)
{
    request->is_cancelled = true;
    if (request->own != NULL)
        fail_cancelled(request->own);
    if (request->own != NULL)
        job_settle(request->own);
}

/* Ends one failed job that can end now.  Returns false if there is no such job.  Releases the lock
 * meanwhile. */
static bool settle_one(struct pipeline *p)
{
    for (struct job *j = p->jobs.first; j != NULL; j = j->next)
        if (j->failed && job_settle(j))
            return true;
    return false;
}

void jobs_cancel(struct pipeline *p)
{
    for (struct job *j = p->jobs.first, *next; j != NULL; j = next) {
        next = j->next;
        fail_cancelled(j);
    }
    while (settle_one(p))
        ;
}

unsigned jobs_limit(struct pipeline *p, unsigned threads)
{
    struct jobs *jobs = &p->jobs;
    const unsigned limit =
        jobs->begun_max > 0 && jobs->begun_max < threads ? jobs->begun_max : threads;

    jobs->begun_max = (limit + 1) / 2;
    return jobs->begun_max;
}
