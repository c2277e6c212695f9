/*
 * pipeline.h - compresses and decompresses, with one crew of threads and perhaps GPUs
 *
 * A job takes one input to one output.  A pipeline serves any number of jobs at a time.  If
 * config.caller_works is set, one thread must make all calls.  Otherwise, any thread may submit
 * jobs and wait for them.  pipeline/crew/state.h tells how a pipeline works.
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

/* A crew of threads, its memory, and GPUs. */
struct pipeline;

/*
 * Sets config->memory and config->address_space to the limits that the system sets for this process
 * (base/limits.h).  If config->threads is 0, also sets config->threads to the number of threads
 * that can run at the same time, PIPELINE_THREADS_MAX at most.  Reads files in /proc and /sys.
 */
void pipeline_limit(struct pipeline_config *config);

/* The number of threads that a pipeline has with this configuration: config->threads, or fewer if
 * memory or address space is limited. */
int pipeline_threads(const struct pipeline_config *config);

/* The fewest bytes of memory with which one thread can compress in this configuration.  If the
 * process has less memory, make no pipeline, because under a control group's memory limit, the
 * system would kill the process. */
uint64_t pipeline_least_memory(const struct pipeline_config *config);

/* Makes a pipeline with a copy of *config.  If config->backend is BACKEND_GPU, also brings up GPUs
 * and waits for them.  Returns NULL, with the reason in `error`, if memory or threads are short, or
 * if BACKEND_GPU finds no usable GPU. */
struct pipeline *pipeline_new(const struct pipeline_config *config, char error[GPU_ERROR_SIZE]);

/* Ends the crew, waits for GPUs that are being brought up, closes all GPUs, and frees p.  All jobs
 * must be over. */
void pipeline_free(struct pipeline *p);

/* Replaces pipeline_free in a program that is about to end.  Leaves threads asleep, and leaves all
 * memory to the system, because it would take 1 to 2 ms to wake 16 threads and wait until they have
 * freed their memory and ended.  That is a tenth of the time that an input of 1 MB takes.  Returns
 * false if a GPU was used or is being brought up.  After false, the program must end in a way that
 * waits for no thread and runs no exit handlers, as _exit does. */
bool pipeline_leave(struct pipeline *p);

/* Starts a job.  Returns false, and does nothing, if memory is short.  A job that was cancelled
 * before this call fails at once. */
bool pipeline_submit(struct pipeline *p, struct pipeline_job *job);

/* Waits until this job is over.  Other jobs may be over before it.  Only one thread at a time may
 * wait for a job. */
void pipeline_wait(struct pipeline *p, struct pipeline_job *job);

/* Whether a job is over.  Once true, the job belongs to the caller again. */
bool pipeline_is_over(const struct pipeline_job *job);

/* Makes all jobs that are neither over nor ending fail with PIPELINE_CANCELLED. */
void pipeline_cancel(struct pipeline *p);

/* Makes one job fail with PIPELINE_CANCELLED, unless it is over or ending.  A job that is not
 * submitted yet fails when it is submitted. */
void pipeline_cancel_job(struct pipeline *p, struct pipeline_job *job);

/* Halves the number of jobs that may have begun and not ended, but not below 1, and returns the new
 * number.  Call this if memory or descriptors are short. */
unsigned pipeline_limit_jobs(struct pipeline *p);

/* Copies the pipeline's sums so far to *totals.  Any thread may call this. */
void pipeline_totals(struct pipeline *p, struct pipeline_totals *totals);

/* Whether a job may have this level as its own.  The level must need no more memory than the
 * pipeline's level.  If the pipeline's configuration has an own_level, no job may have a level of
 * its own. */
bool pipeline_takes_level(const struct pipeline *p, const struct lz_level *level);

/* Submits a job without `begin`, waits for it, and returns its status. */
enum pipeline_status pipeline_run(struct pipeline *p, struct pipeline_job *job);

/*
 * Gives a job its next bytes of input, as many as there is room for now, and returns their number.
 * The job must have is_pushed set, and no `begin`.  `then` says what follows these bytes:
 *
 * - PIPELINE_PUSH_MORE: call this again, with further bytes or another `then`.
 * - PIPELINE_PUSH_FLUSH and PIPELINE_PUSH_FULL_FLUSH: repeat the call, with the bytes that were not
 *   taken, until the job's is_flushed is set.  Then all bytes pushed so far have been compressed
 *   and written.  If no bytes came since the last flush, a flush does nothing if the last call was
 *   such a flush, too, or a full one.  Otherwise it writes an empty block: the last call may have
 *   been a PIPELINE_PUSH_MORE without bytes, or a PIPELINE_PUSH_FLUSH before a full flush.
 * - PIPELINE_PUSH_END: repeat the call until the job's has_ended is set, and do not call this
 *   afterwards.
 *
 * A job that fails takes no more bytes, and is over soon.  Only one thread at a time may push to a
 * job.
 */
size_t pipeline_push(struct pipeline *p, struct pipeline_job *job, const uint8_t *bytes, size_t len,
                     enum pipeline_push then);

/* Waits until at least one of three conditions holds: pipeline_push can take bytes or go on with a
 * flush; the job is over; or enough(ctx) returns true.  The pipeline calls `enough` again after
 * each of the job's writes.  It holds a lock meanwhile, so `enough` must not call the pipeline.
 * Only one thread at a time may wait for a job. */
void pipeline_wait_to_push(struct pipeline *p, struct pipeline_job *job, bool (*enough)(void *ctx),
                           void *ctx);

/* Whether pipeline_compress_here can do all of this job.  The job must not have been submitted.  If
 * config.caller_works is set, the result is always false. */
bool pipeline_is_for_here(const struct pipeline *p, const struct pipeline_job *job);

/* Does all of a job in the calling thread, with memory that the pipeline keeps for the next such
 * call.  Returns false, and does nothing, if memory is short.  For an input of a few KB, handing
 * the job to another thread would take longer than compressing the input. */
bool pipeline_compress_here(struct pipeline *p, struct pipeline_job *job);

/* Copies `len` bytes between memory of CUDA device `device` and other memory.  Any thread may call
 * this.  A thread that the pipeline did not start must call it between gpu_save_thread and
 * gpu_restore_thread.  Returns false, with errno set, if it could not copy the bytes. */
bool pipeline_copy(struct pipeline *p, int device, void *to, const void *from, size_t len);

/* Copies `count` parts, 1 or more, from host memory to memory of CUDA device `device`, one after
 * another.  Otherwise as pipeline_copy. */
bool pipeline_put(struct pipeline *p, int device, void *to, const struct iovec *parts, int count);

/* If no GPU was used for a job with these stats, and no GPU failed, gives the reason why none was
 * used.  `asked` is the configuration that the user asked for; the pipeline's own may differ from
 * it. */
void pipeline_why_no_gpu(const struct pipeline *p, const struct pipeline_config *asked,
                         const struct pipeline_stats *stats, char why[GPU_ERROR_SIZE]);

/* Gives the names of the GPUs if any came up, else an empty string.  Any thread may call this. */
void pipeline_gpu_names(struct pipeline *p, char names[GPU_ERROR_SIZE]);

/* Gives the name of the GPU that decompresses, or an empty string if no GPU does.  If a GPU failed,
 * or could not be used to decompress, also gives the reason; otherwise an empty string.  Any thread
 * may call this. */
void pipeline_expand_gpu(struct pipeline *p, char name[GPU_ERROR_SIZE],
                         char trouble[GPU_ERROR_SIZE]);

/* Ends the use of the GPU that decompresses, because its output was wrong: the CPU has decompressed
 * the same input well.  Any thread may call this. */
void pipeline_blame_gpu(struct pipeline *p);

/* Gives the latest reason why a GPU failed or could not be used, else an empty string.  Any thread
 * may call this. */
void pipeline_gpu_trouble(struct pipeline *p, char trouble[GPU_ERROR_SIZE]);

#endif
