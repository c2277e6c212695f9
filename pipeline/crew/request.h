/*
 * request.h - what a caller asks of a pipeline: its configuration, and jobs
 *
 * pipeline.h has the functions that take these.
 */
#ifndef GZLZSS_REQUEST_H
#define GZLZSS_REQUEST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "pipeline/crew/gpu_pool.h"
#include "pipeline/crew/policy.h"

struct pipeline_config {
    int level; /* up to LZ_LEVEL_MAX; LZ_LEVEL_STORED uses no GPU, whatever `backend` is */
    /* Takes the place of the level's row in its table, unless it has no finder. */
    struct lz_level own_level;
    int threads; /* 1 or more; the pipeline has fewer where memory is short */
    /* One thread makes all calls, and is the crew's first worker while it waits for a job.
     * Otherwise a thread that waits for a job sleeps: other callers' work must never keep it. */
    bool caller_works;
    size_t segment_size; /* LZ_SEGMENT_MIN to LZ_SEGMENT_MAX, a multiple of 1024 */
    enum backend backend;
    struct gpus_config gpus; /* the GPUs that may be used */
    /* Bytes that the process may fill, and bytes that it may map; 0: no limit.  A low limit gives the
     * pipeline fewer threads. */
    uint64_t memory, address_space;
    /* Segments end where the input's content says so (source.h); segment_size is ignored.  Not with
     * BACKEND_GPU. */
    bool rsyncable;
    unsigned open_jobs; /* jobs that may have begun and not ended, at most; 0: no limit */
    /* For tests: a GPU is wanted from test_gpu_min bytes on, and one more for each test_gpu_min bytes
     * more.  With 0, the smallest input wants GPUs and waits for them.  A pipe gets a GPU even if the
     * CPU keeps up with the pipe. */
    bool is_test;
    uint64_t test_gpu_min;
};

/* Bytes of the shortest piece with `rsyncable`, but for an input's last. */
#define PIPELINE_PIECE_MIN ((size_t)4 << 10)

/* What a compression did.  Seconds are summed over all threads. */
struct pipeline_stats {
    uint64_t in_bytes, out_bytes;      /* out_bytes: of the whole member */
    uint64_t cpu_segments;             /* matched by the CPU engine */
    uint64_t gpu_segments;             /* matched by the GPU engine; */
    uint64_t redone_segments;          /* this many of them did not pass the check */
    uint64_t split_segments;           /* of cpu_segments, those offered to several threads */
    double read, match, encode, write; /* `read` and `write` include waiting for the other end */
    uint64_t counters[LZ_COUNTERS];    /* counts of the CPU's match finder (lzss.h) */
    struct gpu_times gpu; /* of each batch, the share that this job's bytes have in it */
    bool cpu_kept_up;     /* a pipe was large enough for a GPU, but the CPU kept up with it */
    bool wanted_gpus;     /* at some time, GPUs were worth bringing up */
};

/* What a pipeline did for all its jobs so far. */
struct pipeline_totals {
    uint64_t jobs; /* whose input was read */
    uint64_t cpu_segments, gpu_segments;
    /* Bytes that were known to come when GPUs were first wanted; 0: they never were. */
    uint64_t gpu_bytes;
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

/* Which part of a gzip member a job writes. */
enum pipeline_extent {
    PIPELINE_MEMBER, /* all of it */
    PIPELINE_RANGE,  /* DEFLATE data that more segments follow; no trailer */
    PIPELINE_TAIL,   /* DEFLATE data up to its end; no trailer */
};

/*
 * A job.  The caller sets the first fields and zeros the rest.  From pipeline_submit until
 * pipeline_is_over returns true, the job belongs to the pipeline.
 *
 * A compression reads its input and writes the header, the data as DEFLATE, and the trailer.  The
 * bytes written depend only on the input, the level or own_level, the segment size and `rsyncable`.
 * The input is the memory `in`, which may be a GPU's, or the rest of in_fd, or what pipeline_push
 * gives.  The output goes to `put` or to out_fd.  The pipeline closes neither descriptor; the caller
 * removes a partial output.
 */
struct pipeline_job {
    /* Called when the job's turn comes, earlier jobs first, by any thread.  May be NULL.  It sets the
     * fields below.  False: nothing is left to do, as it failed, or did all the work itself, as
     * decompression does. */
    bool (*begin)(struct pipeline_job *job);
    /* Called after the last write, whether the job failed or not, if `begin` returned true; by any
     * thread.  May be NULL. */
    void (*end)(struct pipeline_job *job);
    /* Called with the bytes of input and output so far and the engines that worked: "cpu", "gpu",
     * "cpu+gpu".  By any thread, but one at a time for one job.  May be NULL. */
    void (*wrote)(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine);
    void *ctx; /* for the caller's use in these */

    uint64_t size;     /* of the input, before it has begun; for the policy; 0: not known */
    uint64_t more;     /* jobs that will be submitted after this one, if known; for the policy */
    const uint8_t *in; /* NULL: the input is in_fd's, or pushed */
    size_t in_len;     /* with PIPELINE_RANGE, 1 or more */
    bool is_on_gpu;    /* `in` is memory of a GPU: */
    int device;        /* of this CUDA device */
    bool is_pushed;    /* pipeline_push gives the input, */
    bool has_ended;    /* and has given the last of it; set by the pipeline */
    int in_fd, out_fd;
    /* Writes all parts in place of out_fd; false with errno set.  By any thread, one at a time.  May be
     * NULL. */
    bool (*put)(struct pipeline_job *job, struct iovec *parts, int count);
    enum pipeline_extent extent; /* PIPELINE_MEMBER if is_pushed */
    const uint8_t *header;
    size_t header_len;

    /* The result, set before `end` is called.  With PIPELINE_READ_ERROR and PIPELINE_WRITE_ERROR,
     * error_number is an errno, EIO if a GPU whose memory is the input failed; or PIPELINE_SHORTER. */
    enum pipeline_status status;
    int error_number;
    struct pipeline_stats stats; /* valid after PIPELINE_OK, */
    uint32_t crc;                /* like this CRC-32 of the input */

    /* Whether the job was cancelled: a `begin` that takes long may look at it, and fail. */
    _Atomic bool is_cancelled;

    /* The pipeline's: */
    struct job *own;
    pthread_cond_t *waits;
    _Atomic bool is_over;
};

/* The level that a configuration compresses with: its own_level, or the level's row. */
const struct lz_level *pipeline_level(const struct pipeline_config *config);

#endif
