/*
 * jobs.h - the list of jobs: how they are submitted, begin, fail and end
 *
 * A job goes through these states, in this order:
 *
 *   WAITING    job_submit has put it into the list;
 *   BEGINNING  job_prepare calls the request's `begin`, without the lock;
 *   OPEN       job_open: its segments can be claimed;
 *   ENDING     job_settle, once all is claimed and nobody has anything of it: it calls the
 *              request's `end`, without the lock, and takes the job from the list.
 *
 * A job whose `begin` returns false, or that is cancelled while it waits, is removed at once.
 */
#ifndef GZLZSS_JOBS_H
#define GZLZSS_JOBS_H

#include "pipeline/crew/state.h"

/* Jobs are cut into segments as this direction says; begun_max may have begun at a time, 0: any
 * number. */
void jobs_init(struct pipeline *p, const struct direction *direction, unsigned begun_max);

/* Frees the memory of jobs that are over. */
void jobs_free(struct pipeline *p);

/* --- A job's life --- */

/* Puts a job into the list; NULL if memory is short. */
struct job *job_submit(struct pipeline *p, struct pipeline_job *request);

/* Begins that job.  The lock is free meanwhile. */
void job_begin(struct job *j);

/* The two steps of job_begin, for a thread that does all of a small job.  job_prepare frees the
 * lock and does not take it again; it returns false if the job was over before it began.
 * job_begin_prepared does the rest. */
bool job_prepare(struct job *j);
void job_begin_prepared(struct job *j, bool is_prepared);

/* Opens a prepared job of which the caller has claimed something; job_settle has to follow. */
void job_open(struct job *j);

/* Makes the job fail, for this reason if there was none before. */
void job_fail(struct job *j, enum pipeline_status status, int error_number);

/* Ends the job if all is done.  The lock is free meanwhile then; true: *j is gone. */
bool job_settle(struct job *j);

/* Cancels a job, which may be over, or yet to be submitted; the lock is free meanwhile. */
void job_cancel(struct pipeline_job *request);

/* Cancels all jobs that are not over or ending; the lock is free meanwhile. */
void jobs_cancel(struct pipeline *p);

/* Halves how many jobs may have begun at a time, down to one; returns that number. */
unsigned jobs_limit(struct pipeline *p, unsigned threads);

/* --- What is left to claim --- */

/* Whether the next segment is one of those that can be read in any order. */
bool job_next_is_any(const struct job *j);

/* Segments that there are for certain. */
uint64_t job_known_segments(const struct job *j);

/* Counts what is left to claim: `came` more bytes are known of, `claimed` bytes were claimed.
 * To be called then, and when the job fails or ends. */
void job_count_left(struct job *j, uint64_t came, uint64_t claimed);

/* The earliest job of which a segment can be claimed right now, or NULL. */
struct job *jobs_to_claim(struct pipeline *p);

/* The earliest one that is not claimed, or NULL; but none whose input is pushed, and of which there
 * is nothing now. */
struct job *jobs_to_weigh(const struct pipeline *p);

/* The earliest one that can begin, or NULL. */
struct job *jobs_to_begin(struct pipeline *p);

/* The first job, and the first of which something is left to claim, or NULL. */
struct job *jobs_first(const struct pipeline *p);
struct job *jobs_first_unclaimed(const struct pipeline *p);

/* Bytes that nobody has claimed and that are certain to come: in all, and of jobs that have begun. */
uint64_t jobs_left(const struct pipeline *p);
uint64_t jobs_left_begun(const struct pipeline *p);

/* Segments that are known and not claimed, and jobs that wait. */
uint64_t jobs_segments_left(const struct pipeline *p);
uint64_t jobs_waiting(const struct pipeline *p);

/* Whether anything is left for another worker: a segment, or a job. */
bool jobs_leave_work(struct pipeline *p);

/* Whether no more jobs wait or are said to come. */
bool jobs_are_last(const struct pipeline *p);

/* How often nothing was left to claim: what was decided for the jobs before that is decided anew. */
uint64_t jobs_emptied(const struct pipeline *p);

/* Sets what the policy is told of jobs. */
void jobs_tell(const struct pipeline *p, struct policy_facts *f);

#endif
