/*
 * pipeline.h - jobs, each from an input to an output, done by one crew of threads and perhaps GPUs
 *
 * A pipeline serves any number of jobs at a time.  Any thread may submit jobs and wait for them.
 * How it is done is told in job.h.
 */
#ifndef GZLZSS_PIPELINE_H
#define GZLZSS_PIPELINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/uio.h>

#include "compat/io.h"
#include "pipeline/gpus.h"
#include "pipeline/policy.h"

struct pipeline_config {
    int level; /* LZ_LEVEL_STORED, with which no GPU is used, whatever `backend` is; or up to LZ_LEVEL_MAX */
    /* What takes the place of the level's row in its table; no finder in it: nothing does. */
    struct lz_level own_level;
    int threads;         /* 1 or more; there are fewer where memory is short */
    bool caller_works;   /* one thread makes all calls, and works as the crew's first while it waits
                            for a job; otherwise, who waits sleeps: what others have asked for may
                            never keep it */
    size_t segment_size; /* LZ_SEGMENT_MIN to LZ_SEGMENT_MAX, a multiple of 1024 */
    enum backend backend;
    struct gpus_config gpus; /* with which GPUs */
    /* Bytes that the process may fill, and have mapped; 0: any number.  The pipeline has fewer
     * threads if that is little. */
    uint64_t memory, address_space;
    bool rsyncable; /* segments end where the input says so (source.h), whatever segment_size is;
                       not with BACKEND_GPU */
    unsigned open_jobs; /* jobs that may have begun and not ended, at most; 0: any number */
    /* For tests: a GPU is wanted from test_gpu_min bytes on, and one more for as many again.  With
     * 0, the smallest input wants GPUs, and waits for them.  A pipe gets one even if the CPU keeps
     * up with it. */
    bool is_test;
    uint64_t test_gpu_min;
};

/* What a compression did; seconds are added up over all threads. */
struct pipeline_stats {
    uint64_t in_bytes, out_bytes; /* out_bytes: the whole member */
    uint64_t cpu_segments;        /* matched by the CPU engine */
    uint64_t gpu_segments;        /* matched by the GPU engine */
    uint64_t redone_segments;     /* of these, how many did not pass the check */
    uint64_t split_segments;      /* matched by the CPU, by several threads if these were free */
    double read, match, encode, write; /* `read` and `write` include waiting for the other end */
    uint64_t counters[LZ_COUNTERS];    /* what the CPU's match finder counted (lzss.h) */
    struct gpu_times gpu;              /* a batch's, for the bytes of it that were this job's */
    bool cpu_kept_up; /* with a pipe that might have been worth a GPU, so that it was not */
    bool wanted_gpus; /* at some time, they were worth bringing up */
};

/* What a pipeline did for all its jobs so far. */
struct pipeline_totals {
    uint64_t jobs; /* whose input was read */
    uint64_t cpu_segments, gpu_segments;
    uint64_t
        gpu_bytes; /* that were known to come when GPUs were wanted first; 0: they never were */
};

enum pipeline_status {
    PIPELINE_OK,
    PIPELINE_READ_ERROR,
    PIPELINE_WRITE_ERROR,
    PIPELINE_NO_MEMORY,
    PIPELINE_WRONG, /* a bug: the CPU engine found matches that are none */
    PIPELINE_CANCELLED,
};

/* In the place of an errno: the file became shorter while it was read.  (Any errno may be what read(2)
 * gives: ENODATA is Lustre's for a file that was moved to tape.) */
#define PIPELINE_SHORTER (-1)

/* What a job's output is of the gzip member. */
enum pipeline_extent {
    PIPELINE_MEMBER, /* all of it */
    PIPELINE_RANGE,  /* DEFLATE data that other segments follow: without a trailer */
    PIPELINE_TAIL,   /* the same that none follow */
};

/*
 * A job.  The caller sets what comes first and zeros the rest; from pipeline_submit until
 * pipeline_is_over says so, it is the pipeline's.
 *
 * Compression reads its input and writes: the header, the data as DEFLATE, the trailer.  The bytes
 * written depend on the input, the level or own_level, the segment size and `rsyncable` alone.  The input is the
 * memory `in`, which may be a GPU's, or what is left of in_fd, or what pipeline_push gives.  The
 * output goes to `put` or to out_fd.  Neither descriptor is closed, and a partial output is the caller's to remove.
 */
struct pipeline_job {
    /* Called when the job's turn comes, earlier jobs first, by any thread.  May be NULL.  It sets
     * what follows.  False: nothing is left to do, as it failed, or did all of the
     * work itself (decompression does). */
    bool (*begin)(struct pipeline_job *job);
    /* Called after the last write, whatever became of the job, if begin returned true; by any
     * thread.  May be NULL. */
    void (*end)(struct pipeline_job *job);
    /* Called with the bytes of input and of output so far, and what has been at work: "cpu", "gpu",
     * "cpu+gpu".  By any thread, but for one job by one at a time.  May be NULL. */
    void (*wrote)(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine);
    void *ctx; /* for the caller's use in these */

    uint64_t size; /* of the input, before it has begun; for the policy; 0: not known */
    uint64_t more; /* jobs that will be submitted after this one, as far as is known; likewise */
    const uint8_t *in; /* NULL: the input is in_fd's, or pushed */
    size_t in_len;     /* with PIPELINE_RANGE, 1 or more */
    bool is_on_gpu;    /* `in` is memory of a GPU's: */
    int device;        /* this CUDA device's */
    bool is_pushed;    /* pipeline_push gives the input, */
    bool has_ended;    /* and gave the last of it; set by the pipeline */
    int in_fd, out_fd;
    /* Writes all of these in place of out_fd, or returns false with errno set.  By any thread, one
     * at a time.  May be NULL. */
    bool (*put)(struct pipeline_job *job, struct iovec *parts, int count);
    enum pipeline_extent extent; /* PIPELINE_MEMBER if is_pushed */
    const uint8_t *header;
    size_t header_len;

    /* Set before `end` is called: what became of it.  With PIPELINE_READ_ERROR and
     * PIPELINE_WRITE_ERROR, error_number is an errno, EIO if a GPU whose memory is the input failed;
     * or PIPELINE_SHORTER. */
    enum pipeline_status status;
    int error_number;
    struct pipeline_stats stats; /* valid after PIPELINE_OK, */
    uint32_t crc;                /* and so is this, of the input */

    /* Whether pipeline_cancel was called: a `begin` that takes long may look at it, and fail. */
    _Atomic bool is_cancelled;

    struct job *own;       /* the pipeline's, */
    pthread_cond_t *waits; /* and so is this, */
    _Atomic bool is_over;  /* and this */
};

/* What the configuration's segments are matched and encoded by: its own_level, or the level's row. */
const struct lz_level *pipeline_level(const struct pipeline_config *config);

/* A crew, its memory, and GPUs. */
struct pipeline;

/* The threads that a pipeline has with this configuration: as many as its memory allows, or
 * fewer. */
int pipeline_threads(const struct pipeline_config *config);

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

/* --- Decompression --- */

/*
 * The crew decodes parts of a .gz ahead of the thread that decompresses it, which is one of the
 * crew's: in a job's `begin`, or the thread that made the pipeline.
 */
struct expansion;

struct pipeline_expansion_stats {
    uint64_t pieces; /* parts that were decoded ahead and taken over, */
    uint64_t bytes;  /* and the output that they made */
};

/* Input of fewer bytes is decoded by one thread. */
#define PIPELINE_EXPAND_MIN ((uint64_t)512 << 10)

/* For the file or pipe fd, from its position on; `write` is what the decompression writes with: any
 * thread calls it, one at a time, and it may have all signals blocked.  A worker may wait in it, and
 * for the pipe, some ms.
 * `stretch` is 0 but in tests: the bytes of input in each part.  NULL if one thread is as good, for
 * an input that is small or is neither a file nor a pipe, or if memory is short. */
struct expansion *pipeline_expand(struct pipeline *p, int fd, size_t stretch,
                                  int (*write)(void *ctx, const void *buf, size_t len), void *ctx);

/* The same for the input in[0..len), which stays as it is until expansion_close. */
struct expansion *pipeline_expand_memory(struct pipeline *p, const uint8_t *in, size_t len,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx);

/*
 * The same for what expansion_push gives; NULL only if memory is short.  `write` is called by the
 * thread that decompresses alone, since it may have to wait.
 *
 * expansion_push gives the next bytes of the input, as many as there is room for now, and returns
 * how many; `ends`: the input ends with them.  By one thread at a time, until expansion_close.
 * expansion_has_input says whether expansion_read would not wait for it.
 */
struct expansion *pipeline_expand_pushed(struct pipeline *p,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx);
size_t expansion_push(struct expansion *e, const uint8_t *bytes, size_t len, bool ends);
bool expansion_has_input(struct expansion *e);

/* `write` waits, or does no more.  What was decoded ahead for one that waits long may be given up, so
 * that others get its memory. */
void expansion_set_stalled(struct expansion *e, bool is_stalled);

/* The input is gzip's: others may take part. */
void expansion_begin(struct expansion *e);

/* What gunzip.h's decompression needs: gz_io's `ahead`, and `read`. */
const struct gz_ahead *expansion_ahead(const struct expansion *e);
ssize_t expansion_read(struct expansion *e, void *buf, size_t len);

/* Bytes of the input that were read, or taken over. */
uint64_t expansion_position(struct expansion *e);

/* Ends it, and leaves the file positioned as reading it in order would have. */
void expansion_close(struct expansion *e, struct pipeline_expansion_stats *stats);

/* Why no GPU was used for a job, if none failed.  `asked` is what the user asked for; the
 * pipeline's own configuration may differ from it. */
void pipeline_why_no_gpu(const struct pipeline *p, const struct pipeline_config *asked,
                         const struct pipeline_stats *stats, char why[GPU_ERROR_SIZE]);

/* The GPUs' names if they have been used, else an empty string; and why one failed or could not be
 * used at some time though it might have been, else an empty string.  Any thread. */
void pipeline_gpu_names(struct pipeline *p, char names[GPU_ERROR_SIZE]);
void pipeline_gpu_trouble(struct pipeline *p, char trouble[GPU_ERROR_SIZE]);

#endif
