/*
 * jobs.h - the list of jobs: how they are submitted, begin, fail and end
 *
 * A job goes through these states, in this order:
 *
 *   WAITING    job_submit has put the job into the list;
 *   BEGINNING  job_prepare calls the request's `begin`, without the lock;
 *   OPEN       after job_open, workers and feeders claim its segments;
 *   ENDING     once all is claimed and no thread has anything of the job, job_settle calls the
 *              request's `end`, without the lock, and takes the job off the list.
 *
 * A job is removed at once if its `begin` returns false, or if it is cancelled while it waits.
 *
 * Most functions give up the lock where their comment says so.  Afterwards, look again at all that
 * you knew about jobs: any job but one that you keep open yourself may be gone.
 */
#ifndef GZLZSS_JOBS_H
#define GZLZSS_JOBS_H

#include "pipeline/crew/state.h"

/* Makes p->jobs.  `direction` opens and closes jobs; at most begun_max jobs may have begun at a
 * time, 0: any number. */
void jobs_init(struct pipeline *p, const struct direction *direction, unsigned begun_max);

/* Frees the structs of jobs that are over.  No job may be left. */
void jobs_free(struct pipeline *p);

/* --- A job's life --- */

/* Puts a job at the end of the list.  NULL if memory is short. */
struct job *job_submit(struct pipeline *p, struct pipeline_job *request);

/* Begins a job that waits: calls its `begin` and opens it, or removes it if it was over before it
 * began.  Releases the lock meanwhile; *j may be gone afterwards. */
void job_begin(struct job *j);

/* The first step of job_begin, for a thread that does all of a small job.  Calls `begin` and makes
 * the state for compression.  Releases the lock and returns without it.  False if the job was over
 * before it began. */
bool job_prepare(struct job *j);

/* The second step of job_begin, with the lock held again.  is_prepared is what job_prepare
 * returned; if false, the job is removed. */
void job_begin_prepared(struct job *j, bool is_prepared);

/* Opens a prepared job of which the calling thread has already claimed something.  The thread must
 * call job_settle later. */
void job_open(struct job *j);

/* Makes the job fail for this reason, unless it has failed before. */
void job_fail(struct job *j, enum pipeline_status status, int error_number);

/* Ends the job if all of it is claimed and no thread has anything of it.  Releases the lock in that
 * case, and returns true: *j is gone. */
bool job_settle(struct job *j);

/* Cancels a job.  It may be over, or not yet submitted.  Releases the lock meanwhile. */
void job_cancel(struct pipeline_job *request);

/* Cancels all jobs that are neither over nor ending.  Releases the lock meanwhile. */
void jobs_cancel(struct pipeline *p);

/* Halves the number of jobs that may have begun at a time, down to 1, starting from `threads` at
 * most.  Returns the new number. */
unsigned jobs_limit(struct pipeline *p, unsigned threads);

/* --- What is left to claim --- */

/* Whether the job's next segment can be read in any order (and so by any thread, now). */
bool job_next_is_any(const struct job *j);

/* How many segments the job has for certain. */
uint64_t job_known_segments(const struct job *j);

/* Updates the counts of what is left to claim: `came` more bytes are certain to come, `claimed`
 * bytes were claimed.  Call it after either, and after the job has opened, failed or ended. */
void job_count_left(struct job *j, uint64_t came, uint64_t claimed);

/* The earliest job that has a segment to claim and read right now, or NULL. */
struct job *jobs_to_claim(struct pipeline *p);

/* The job that the policy weighs: the earliest job that is not claimed, or NULL.  Leaves out jobs
 * whose input is pushed and that have nothing to claim now. */
struct job *jobs_to_weigh(const struct pipeline *p);

/* The earliest job that may begin now, or NULL. */
struct job *jobs_to_begin(struct pipeline *p);

/* The first job in the list, or NULL. */
struct job *jobs_first(const struct pipeline *p);

/* The first job that has something left to claim, or NULL. */
struct job *jobs_first_unclaimed(const struct pipeline *p);

/* Bytes of all jobs that are certain to come and not claimed. */
uint64_t jobs_left(const struct pipeline *p);

/* The part of jobs_left that belongs to open jobs. */
uint64_t jobs_left_begun(const struct pipeline *p);

/* Segments of open jobs that are known and not claimed. */
uint64_t jobs_segments_left(const struct pipeline *p);

/* Jobs in state JOB_WAITING. */
uint64_t jobs_waiting(const struct pipeline *p);

/* Whether another worker could find something to do: a segment to claim, or a job to begin. */
bool jobs_leave_work(struct pipeline *p);

/* Whether no job waits, and the caller announced no more. */
bool jobs_are_last(const struct pipeline *p);

/* A count that goes up whenever nothing is left to claim.  A decision made at another count is out
 * of date: weigh the jobs that came since anew. */
uint64_t jobs_emptied(const struct pipeline *p);

/* Sets the policy's facts about jobs: left, expected and longest. */
void jobs_tell(const struct pipeline *p, struct policy_facts *f);

#endif
