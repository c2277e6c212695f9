/*
 * jobs.h - the list of jobs: how they begin, fail and end; slots; facts for the policy; and when a
 * feeder fills a batch
 */
#ifndef GZLZSS_JOBS_H
#define GZLZSS_JOBS_H

#include "pipeline/job.h"

/* Places for pushed segments, beside one for each worker that claims. */
#define PUSH_SPARE 2

/* Where there may be GPUs, bytes of pushed segments that wait for them besides, at most: those of a
 * GPU's batches. */
#define PUSH_FOR_GPUS ((uint64_t)128 << 20)

/* Whether nothing of it is left to claim. */
bool job_is_claimed(const struct job *j);

/* Whether the next segment can be claimed right now, as far as reading goes. */
bool job_can_read(const struct job *j);

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

/* A job that is in no list yet; NULL if memory is short. */
struct job *job_new(struct pipeline *p);

/* Begins that job.  Gives up the lock meanwhile. */
void job_begin(struct job *j);

/* The steps of that.  job_prepare gives up the lock and does not take it again; it returns false if
 * the job was over before it began.  job_begin_prepared does the rest; of what was prepared,
 * job_open does it if the caller has claimed something of the job, and ends it when that is done. */
bool job_prepare(struct job *j);
void job_begin_prepared(struct job *j, bool is_prepared);
void job_open(struct job *j);

/* Makes the job fail, for this reason if there was none before. */
void job_fail(struct job *j, enum pipeline_status status, int error_number);

/* Ends a job that is waiting, and will never begin. */
void job_drop(struct job *j);

/* Ends the job if all is done.  Gives up the lock then and returns true; *j is gone. */
bool job_settle(struct job *j);

/* A slot for a segment of the job.  It counts as `weight` bytes until slot_weigh sets how many
 * it holds.  NULL if memory is short. */
struct slot *slot_new(struct job *j, size_t weight);
void slot_weigh(struct slot *s, size_t weight);

/* The segment is encoded, or will never be; the slot is the writer's. */
void slot_done(struct slot *s);

/* Frees the first slot of the job's, which is done. */
void slot_free_first(struct job *j);

/* Whether `bytes` more may be claimed and leave room for `reserve`. */
bool has_room(const struct pipeline *p, uint64_t bytes, uint64_t reserve);

/* Whether a feeder whose batch is free should fill it now. */
bool jobs_fill_batch(struct pipeline *p);

/* Wakes a feeder that waits for something to put into its batch, if there is enough now. */
void jobs_call_feeder(struct pipeline *p);

/* Whether there will be feeders: a GPU is being brought up, or is up and has none yet. */
bool gpu_is_coming(struct pipeline *p);

/* Batches that feeders have for what is left now. */
int feeders_at_work(const struct pipeline *p);

/* What is known now. */
void get_facts(struct pipeline *p, struct policy_facts *f);

#endif
