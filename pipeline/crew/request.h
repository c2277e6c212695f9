/*
 * request.h - the requests of a pipeline's caller: a configuration, and jobs
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

#include "base/container.h"
#include "pipeline/crew/gpu_pool.h"
#include "pipeline/crew/policy.h"

/* The most threads that a caller may ask for. */
#define PIPELINE_THREADS_MAX 1024

struct pipeline_config {
    /* LZ_LEVEL_STORED to LZ_LEVEL_MAX.  LZ_LEVEL_STORED uses no GPU, whatever `backend` is. */
    int level;
    /* If own_level.finder is not NULL, own_level is used instead of the level's row in the table of
     * levels.  A match finder without a GPU twin (lz_has_twin) uses no GPU. */
    struct lz_level own_level;
    int threads; /* 1 or more; the pipeline uses fewer if memory is short */
    /* True: one thread makes all calls, and works as the crew's first worker while it waits for a
     * job.  False: a thread that waits for a job sleeps, so that work for other callers never
     * delays it. */
    bool caller_works;
    size_t segment_size; /* LZ_SEGMENT_MIN to LZ_SEGMENT_MAX, a multiple of 256 */
    /* The format that compression writes.  With CONTAINER_BGZF, segment_size is BGZF_DATA_MAX at
     * most, and `rsyncable` is not set. */
    enum container container;
    enum backend backend;
    struct gpus_config gpus; /* the GPUs that the pipeline may use */
    /* The engine that decompresses.  CPU: the cores.  AUTO: the cores, and also a GPU for a large
     * file.  GPU: a GPU for every file.  Even then, the cores decompress pipes, and the data that
     * the GPU leaves to them. */
    enum backend expand_backend;
    /* Limits of the process, in bytes: the memory that it may use, and the address space that it
     * may map.  0: no limit.  A low limit makes the pipeline use fewer threads. */
    uint64_t memory, address_space;
    /* Whether segments are pieces, which end at places that the input's content determines
     * (source.h).  If so, segment_size is ignored.  Not allowed with BACKEND_GPU. */
    bool rsyncable;
    /* Whether the output is verified: decoded again, and compared with the input by check value and
     * length.  This happens in memory before a segment is written, or, for a job with reads_back,
     * in the file. */
    bool verify;
    unsigned open_jobs; /* the most jobs that may have begun and not ended; 0: no limit */
    /* For tests.  If is_test is set, an input of test_gpu_min bytes wants one GPU, and each further
     * test_gpu_min bytes want one more.  If test_gpu_min is 0, even the smallest input wants GPUs,
     * and the pipeline waits until they are up.  A pipe gets a GPU even if the CPU keeps up with
     * the pipe. */
    bool is_test;
    uint64_t test_gpu_min;
    size_t test_gpu_batch; /* for tests: compressed bytes in a batch of a GPU that decompresses;
                            * 0: the usual number */
    /* For tests of config.verify: segment test_bad_segment of each job, counted from 1, is encoded
     * wrongly.  0: none. */
    uint64_t test_bad_segment;
};

/* The shortest piece with `rsyncable`, in bytes; only the last piece of an input may be shorter.
 * Changing this number changes the output (tests/data/rsyncable.sha256). */
#define PIPELINE_PIECE_MIN ((size_t)4 << 10)

/* Numbers about the compression of one job.  Times are seconds, summed over all threads. */
struct pipeline_stats {
    uint64_t in_bytes,     /* bytes of input */
        out_bytes;         /* bytes of output, with header and trailer */
    uint64_t cpu_segments; /* segments that the CPU engine matched */
    uint64_t gpu_segments; /* segments that the GPU engine matched */
    /* Segments counted in gpu_segments whose matches failed the encoder's check, so that the CPU
     * matched them again. */
    uint64_t redone_segments;
    uint64_t split_segments; /* segments counted in cpu_segments that several threads could match */
    /* `read` and `write` include the time spent waiting for the other end of a pipe. */
    double read, match, encode, write;
    double verify;                  /* 0 without config.verify */
    uint64_t counters[LZ_COUNTERS]; /* counts of the CPU's match finder (lzss.h) */
    /* Times of all batches, each multiplied by this job's share of the batch's bytes. */
    struct gpu_times gpu;
    /* Whether the input was a pipe that was large enough for a GPU, but the CPU kept up with it. */
    bool cpu_kept_up;
    bool wanted_gpus; /* GPUs were worth bringing up at some time */
};

/* Sums over all jobs of a pipeline so far. */
struct pipeline_totals {
    uint64_t jobs;         /* jobs whose input was opened */
    uint64_t cpu_segments, /* segments that the CPU engine matched */
        gpu_segments;      /* segments that the GPU engine matched */
    /* The bytes known to come when the pipeline first wanted GPUs; 0 if it never wanted any. */
    uint64_t gpu_bytes;
};

enum pipeline_status {
    PIPELINE_OK,
    PIPELINE_READ_ERROR,
    PIPELINE_WRITE_ERROR,
    PIPELINE_NO_MEMORY,
    PIPELINE_WRONG, /* a bug: matches of the CPU engine failed the encoder's check */
    PIPELINE_CANCELLED,
    /* With config.verify: the output does not decode to the input (error_number is 0), or it could
     * not be read back (error_number is an errno). */
    PIPELINE_NOT_VERIFIED,
};

/* The error_number of a job whose input file became shorter while it was read.  PIPELINE_SHORTER is
 * not an errno, since read(2) may set any errno for other reasons.  For example, on Lustre, ENODATA
 * means that a file was moved to tape. */
#define PIPELINE_SHORTER (-1)

/* The part of an output that a job writes.  In BGZF, members take the place of DEFLATE data. */
enum pipeline_extent {
    PIPELINE_WHOLE, /* header, DEFLATE data, trailer */
    PIPELINE_RANGE, /* DEFLATE data that the caller continues; no trailer */
    PIPELINE_TAIL,  /* DEFLATE data with its end; no trailer */
};

/* What follows the bytes of a pipeline_push. */
enum pipeline_push {
    PIPELINE_PUSH_MORE,       /* more bytes, at some time */
    PIPELINE_PUSH_FLUSH,      /* more bytes follow; all bytes pushed so far shall be decodable
                               * now */
    PIPELINE_PUSH_FULL_FLUSH, /* as PIPELINE_PUSH_FLUSH; later bytes shall not refer to earlier
                               * ones */
    PIPELINE_PUSH_END,        /* nothing: the input ends */
};

/*
 * A job.  The caller sets the fields from `begin` to `header_len` and zeros the others.  From
 * pipeline_submit until pipeline_is_over returns true, the job belongs to the pipeline.
 *
 * A compression reads its input, and writes the header, the data as DEFLATE, and the trailer.  The
 * bytes written depend only on the input, the format, the level or own_level, the segment size and
 * `rsyncable`.
 *
 * The input comes from one of three places: the memory `in`, which may be a GPU's; the descriptor
 * in_fd, from its position to its end; or the calls of pipeline_push.  The output goes to `put` or
 * to out_fd.  The pipeline closes neither descriptor.  If the job fails, the caller removes the
 * partial output.
 */
struct pipeline_job {
    /* Any thread calls `begin` when it is the job's turn; earlier jobs come first.  May be NULL.
     * `begin` may set any field below that the caller sets.  It returns false if nothing is left to
     * do, because the job failed, or because `begin` has done all the work itself, as decompression
     * does. */
    bool (*begin)(struct pipeline_job *job);
    /* Any thread calls `end` after the last write, whether the job failed or not, unless `begin`
     * returned false.  May be NULL. */
    void (*end)(struct pipeline_job *job);
    /* The pipeline calls `wrote` after each write.  The arguments are the bytes of input and output
     * so far, and the engines that worked: "cpu", "gpu" or "cpu+gpu".  Any thread may call it, but
     * only one at a time for each job.  May be NULL. */
    void (*wrote)(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine);
    /* The pipeline calls `segment` in order for each segment except the last, after that segment
     * was written.  The arguments are the bytes of input and output so far.  Any thread may call
     * it, but only one at a time for each job.  May be NULL. */
    void (*segment)(struct pipeline_job *job, uint64_t in, uint64_t out);
    void *ctx; /* for the caller's use in these functions */

    /* The job's own level, which pipeline_takes_level has allowed; NULL: the pipeline's level.  A
     * job with its own level is compressed by the CPU alone, and no threads share a segment. */
    const struct lz_level *level;

    uint64_t size; /* for the policy: bytes of input, as known before `begin`; 0: not known */
    /* For the policy: jobs that the caller will submit after this one; 0: not known. */
    uint64_t more;
    const uint8_t *in; /* the input; NULL: the input comes from in_fd, or is pushed */
    size_t in_len;     /* bytes of `in`; 1 or more with PIPELINE_RANGE */
    bool is_on_gpu;    /* `in` is memory of a GPU */
    bool uses_gpu;     /* for the policy: `in` or the output is memory of a GPU */
    int device;        /* that GPU's CUDA device; the GPU of `in` if both are on GPUs */
    bool is_pushed;    /* pipeline_push gives the input */
    bool has_ended;    /* pipeline_push has given all input; set by the pipeline */
    bool is_flushed;   /* the last pipeline_push has completed a flush; set by the pipeline */
    int in_fd, out_fd;
    /* If not NULL, the pipeline calls `put` instead of writing to out_fd.  `put` must write all
     * parts, or return false with errno set.  Any thread may call it, but only one at a time. */
    bool (*put)(struct pipeline_job *job, struct iovec *parts, int count);
    /* With config.verify: read the output back from out_fd to verify it.  out_fd must be a regular
     * file that is open for reading, too.  The output must begin at byte 0 of the file.  `extent`
     * must be PIPELINE_WHOLE, and is_pushed must not be set. */
    bool reads_back;
    enum pipeline_extent extent; /* PIPELINE_WHOLE if is_pushed */
    const uint8_t *header;       /* bytes written before the data, made by gz_write_start */
    size_t header_len;

    /* The result, set before `end` is called.  error_number says more about PIPELINE_READ_ERROR and
     * PIPELINE_WRITE_ERROR.  It is PIPELINE_SHORTER or an errno.  If the input is in a GPU's memory
     * and the GPU failed, it is EIO. */
    enum pipeline_status status;
    int error_number;
    struct pipeline_stats stats; /* valid after PIPELINE_OK */
    uint32_t check;              /* the input's check value; valid after PIPELINE_OK */

    /* Whether the job was cancelled.  A `begin` that takes long may look at this, and fail. */
    _Atomic bool is_cancelled;

    /* Used by the pipeline alone: */
    struct job *own;
    pthread_cond_t *waits;
    _Atomic bool is_over;
};

/* Returns the bytes that a segment has by default with this configuration's level and format. */
size_t pipeline_segment_default(const struct pipeline_config *config);

/* Returns the row of a level in a format.  BGZF has rows of its own (LZ_ROW_BGZF): its segments are
 * short, so a level finds fewer matches in them than in other formats.  With the usual rows, the
 * output would be larger than that of bgzip at the same level.  BGZF's levels from 9 on are the
 * same. */
const struct lz_level *pipeline_row(enum container container, int level);

/* The level of a configuration: own_level if that has a finder, else the row of `level`. */
const struct lz_level *pipeline_level(const struct pipeline_config *config);

#endif
