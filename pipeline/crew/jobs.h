/*
 * jobs.h - the list of jobs: how they are submitted, begin, fail and end
 *
 * A job goes through these states, in this order:
 *
 *   WAITING    job_submit has put the job into the list;
 *   BEGINNING  job_prepare calls the request's `begin`, without the lock;
 *   OPEN       after job_open, workers and feeders claim its segments;
 *   ENDING     once all is claimed and no thread works on the job, job_settle calls the
 *              request's `end`, without the lock, and takes the job off the list.
 *
 * A job is removed at once if its `begin` returns false, or if it is cancelled while it waits.
 *
 * Some functions release the lock meanwhile, as their comments say.  After calling them, read all
 * facts about jobs again: any job may be gone, except one that the caller itself keeps open.
 */
#ifndef GZLZSS_JOBS_H
#define GZLZSS_JOBS_H

#include "pipeline/crew/state.h"

/* Makes p->jobs.  `direction` opens and closes jobs.  At most begun_max jobs may have begun and not
 * ended.  If begun_max is 0, there is no limit. */
void jobs_init(struct pipeline *p, const struct direction *direction, unsigned begun_max);

/* Frees the structs of jobs that are over.  No job may be left. */
void jobs_free(struct pipeline *p);

/* --- A job's life --- */

/* Puts a job at the end of the list.  Returns NULL if memory is short. */
struct job *job_submit(struct pipeline *p, struct pipeline_job *request);

/* Begins a waiting job: calls its `begin` and opens it.  If `begin` returns false or opening fails,
 * removes the job.  Releases the lock meanwhile; *j may be gone afterwards. */
void job_begin(struct job *j);

/* The first step of job_begin, for a thread that does all of a small job itself.  Calls `begin` and
 * makes the state for compression.  Releases the lock, and returns without it.  Returns false if
 * `begin` returns false or memory is short.  After false, the thread must call job_begin_prepared,
 * which removes the job.  After true, it must call job_begin_prepared or job_open. */
bool job_prepare(struct job *j);

/* The second step of job_begin.  The caller holds the lock again.  is_prepared is the result of
 * job_prepare.  If is_prepared is false, the job is removed. */
void job_begin_prepared(struct job *j, bool is_prepared);

/* Opens a prepared job.  The calling thread has already claimed some of the job's input, and must
 * call job_settle later. */
void job_open(struct job *j);

/* Makes the job fail with this status and error_number, unless it has failed before. */
void job_fail(struct job *j, enum pipeline_status status, int error_number);

/* Ends the job if all of it is claimed and no thread works on it.  In that case, the lock is
 * released meanwhile, *j is gone afterwards, and the result is true.  Otherwise, the lock is held
 * all the time, and the result is false. */
bool job_settle(struct job *j);

/* Cancels a job, which may also be over, or not yet submitted.  Releases the lock meanwhile. */
void job_cancel(struct pipeline_job *request);

/* Cancels all jobs that are neither over nor ending.  Releases the lock meanwhile. */
void jobs_cancel(struct pipeline *p);

/* Halves the number of jobs that may have begun and not ended, but not below 1.  If there is no
 * limit, or if the limit is above `threads`, halves `threads` instead.  Returns the new limit. */
unsigned jobs_limit(struct pipeline *p, unsigned threads);

/* --- What is left to claim --- */

/* Whether the job's next segment can be read in any order, so that any thread can read it right
 * now. */
bool job_next_is_any(const struct job *j);

/* The number of segments that the job certainly has. */
uint64_t job_known_segments(const struct job *j);

/* Updates the counts of bytes and segments left to claim.  `came` is the number of bytes that are
 * newly certain to come, and `claimed` is the number of bytes that were claimed.  Call this
 * function if either number is above 0, and after the job has opened, failed or ended. */
void job_count_left(struct job *j, uint64_t came, uint64_t claimed);

/* The level at which the job is compressed: its own, or else the pipeline's. */
const struct lz_level *job_level(const struct job *j);

/* The earliest job that has a segment to claim and read right now, or NULL. */
struct job *jobs_to_claim(struct pipeline *p);

/* The earliest job that has a segment to claim and read right now, and whose segments a GPU may
 * match; or NULL. */
struct job *jobs_to_claim_for_gpu(struct pipeline *p);

/* The job that the policy judges, or NULL.  It is the earliest job with something left to claim,
 * but not a job with a level of its own, and not a pushed job that has nothing to claim now. */
struct job *jobs_to_weigh(const struct pipeline *p);

/* The earliest job that may begin now, or NULL. */
struct job *jobs_to_begin(struct pipeline *p);

/* The first job in the list, or NULL. */
struct job *jobs_first(const struct pipeline *p);

/* The first job that has something left to claim, or NULL. */
struct job *jobs_first_unclaimed(const struct pipeline *p);

/* The number of bytes, in all jobs, that are certain to come and are not claimed yet. */
uint64_t jobs_left(const struct pipeline *p);

/* The part of jobs_left that belongs to open jobs. */
uint64_t jobs_left_begun(const struct pipeline *p);

/* Segments of open jobs that are known and not claimed. */
uint64_t jobs_segments_left(const struct pipeline *p);

/* Jobs in state JOB_WAITING. */
uint64_t jobs_waiting(const struct pipeline *p);

/* Whether another worker could find something to do, that is, a segment to claim or a job to
 * begin. */
bool jobs_leave_work(struct pipeline *p);

/* Whether no job waits, and the caller has announced no more jobs. */
bool jobs_are_last(const struct pipeline *p);

/* A count that goes up whenever nothing is left to claim.  If the count has changed since a
 * decision was made, that decision is out of date, and must be made again for the jobs that came
 * since then. */
uint64_t jobs_emptied(const struct pipeline *p);

/* Sets the policy's facts about jobs: left, expected and longest. */
void jobs_tell(const struct pipeline *p, struct policy_facts *f);

#endif
