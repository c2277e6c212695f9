/*
 * pipeline.h - jobs, each from an input to an output, done by one crew of threads and perhaps GPUs
 *
 * A pipeline serves any number of jobs at a time.  Any thread may submit jobs and wait for them.
 * state.h tells how.
 */
#ifndef GZLZSS_PIPELINE_H
#define GZLZSS_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "compat/io.h"
#include "pipeline/crew/request.h"
#include "pipeline/expand/api.h"

/* A crew, its memory, and GPUs. */
struct pipeline;

/* The threads that a pipeline has with this configuration: as many as its memory allows, or
 * fewer. */
int pipeline_threads(const struct pipeline_config *config);

/* The bytes that compression with this configuration fills at least, with one thread.  Whoever has less is not
 * to try: where memory is a control group's, the system ends the process. */
uint64_t pipeline_least_memory(const struct pipeline_config *config);

/* *config is copied.  Returns NULL, with the reason in error, if memory is short, or threads, or,
 * with BACKEND_GPU, which brings the GPU up now, if there is none that can be used. */
struct pipeline *pipeline_new(const struct pipeline_config *config, char error[GPU_ERROR_SIZE]);

/* All jobs must be over.  Ends the crew and closes the GPUs; waits for those that are still being
 * brought up. */
void pipeline_free(struct pipeline *p);

/* In place of pipeline_free, for a program that ends now: threads stay asleep, and the system frees
 * all there is.  To have each of 16 threads wake up, free its memory and end takes 1 to 2 ms, a
 * tenth of what 1 MB takes.  Returns false if a GPU was used or is still being brought up: the
 * program may then end only by a way that waits for no thread and leaves tidying up to the system,
 * as _exit does. */
bool pipeline_leave(struct pipeline *p);

/* Starts a job.  False if memory is short: nothing was done.  If it was cancelled before, it fails
 * at once. */
bool pipeline_submit(struct pipeline *p, struct pipeline_job *job);

/* Waits until this job is over; one thread at a time.  Other jobs may be over before it. */
void pipeline_wait(struct pipeline *p, struct pipeline_job *job);

/* Whether it is. */
bool pipeline_is_over(const struct pipeline_job *job);

/* Makes all jobs that are not over fail with PIPELINE_CANCELLED, but for those that are ending. */
void pipeline_cancel(struct pipeline *p);

/* The same for one, which may be over, or yet to be submitted. */
void pipeline_cancel_job(struct pipeline *p, struct pipeline_job *job);

/* For want of memory or descriptors: halves how many jobs may have begun at a time, down to one,
 * and returns that number. */
unsigned pipeline_limit_jobs(struct pipeline *p);

/* What was done so far.  Any thread. */
void pipeline_totals(struct pipeline *p, struct pipeline_totals *totals);

/* Submits a job without `begin` and waits for it; returns its status. */
enum pipeline_status pipeline_run(struct pipeline *p, struct pipeline_job *job);

/*
 * For a job that is_pushed and has no `begin`, by one thread at a time:
 *
 * pipeline_push gives it the next bytes of its input, as many as there is room for now, and returns
 * how many.  `ends`: the input ends with them; it is to be called until has_ended is set, and not
 * afterwards.  A job that fails takes no more, and is over soon.
 *
 * pipeline_wait_to_push waits until there is room, or the job is over, or enough(ctx) is true, which
 * is called with a lock held: it is asked when the job began to write, or wrote, again.
 */
size_t pipeline_push(struct pipeline *p, struct pipeline_job *job, const uint8_t *bytes, size_t len,
                     bool ends);
void pipeline_wait_to_push(struct pipeline *p, struct pipeline_job *job, bool (*enough)(void *ctx),
                           void *ctx);

/* Whether pipeline_compress_here can do all of a job that is not submitted (never with caller_works);
 * whether it has done so: it has not if memory is short.  The calling thread works alone, and gets
 * memory of its own, which the pipeline keeps for the next such call.  For an input of some KB, all
 * else takes longer. */
bool pipeline_is_for_here(const struct pipeline *p, const struct pipeline_job *job);
bool pipeline_compress_here(struct pipeline *p, struct pipeline_job *job);

/* Copies between memory of CUDA device `device` and other memory.  Any thread, but one of the
 * program's between gpu_save_thread and gpu_restore_thread.  False with errno set. */
bool pipeline_copy(struct pipeline *p, int device, void *to, const void *from, size_t len);

/* Why no GPU was used for a job, if none failed.  `asked` is what the user asked for; the
 * pipeline's own configuration may differ from it. */
void pipeline_why_no_gpu(const struct pipeline *p, const struct pipeline_config *asked,
                         const struct pipeline_stats *stats, char why[GPU_ERROR_SIZE]);

/* The GPUs' names if they have been used, else an empty string; and why one failed or could not be
 * used at some time though it might have been, else an empty string.  Any thread. */
void pipeline_gpu_names(struct pipeline *p, char names[GPU_ERROR_SIZE]);
void pipeline_gpu_trouble(struct pipeline *p, char trouble[GPU_ERROR_SIZE]);

#endif
