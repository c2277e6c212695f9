/*
 * state.h - the data that the pipeline's files share: how a segment moves, and who owns what
 *
 * A job takes one input to one output.  All jobs are in one list, in the order of their submission.
 * A job first waits.  When a thread begins it, the caller opens the job's files.  From then on the
 * job's input is a row of segments, numbered from 0.  Each segment goes through four steps:
 *
 *     claim and read     a thread takes the segment's number and reads its bytes
 *     match              a worker finds matches on the CPU, or a GPU does
 *     encode             a worker turns matches and literals into DEFLATE
 *     write              the writer appends the result to the job's output
 *
 * With config.verify, a worker also decodes the result again: before it is written, or, if the job
 * has reads_back, after it was read back from the file (read_back.c).
 *
 * The first three steps run for many segments at a time, of any jobs, in any order.  Writing goes
 * in order within each job: a segment waits until all segments before it are finished.
 *
 * Threads
 *
 *   workers    do the first of these that is possible (work_once in work.c):
 *              1. read a segment for a GPU.  While segments wait to be encoded, only a quarter of
 *                 the workers do this;
 *              2. read back a segment that was written, and verify it;
 *              3. encode a segment that a GPU has matched, which frees the GPU's batch;
 *              4. read ahead from a pipe, while a GPU is brought up;
 *              5. claim a segment of the earliest job that has one, match it on the CPU and encode
 *                 it;
 *              6. begin a job; if the job is small, do all of it;
 *              7. match chunks of a segment that another worker has claimed;
 *              8. decompress: accept, resolve or write what was decoded ahead, or decode a region.
 *              With config.caller_works, the calling thread is the first worker while it waits for
 *              a job.
 *   feeders    each have one batch of a GPU.  A feeder fills its batch with segments of any jobs,
 *              lets the GPU match them, and hands them to the workers.  Once workers have encoded
 *              all of them, and there is enough to do, it fills the batch again.  Feeders mostly
 *              wait.
 *   a writer   is the worker that finishes the next segment of a job's output.  It writes this
 *              segment and all finished segments after it, while other workers go on.
 *
 * The pipeline starts a thread only when there is work for it.  In the command, an input of 100 KB
 * needs no further thread.  A thread stays until the pipeline is freed, or until it lacks memory.
 *
 * Who owns a slot
 *
 * A slot describes one claimed segment until the segment is written.  All slots together may hold a
 * limited number of bytes (slots.c).  This bounds the memory of all jobs, and makes readers wait
 * for writers.  A slot has one owner at a time:
 *
 *     claimed by a worker:   the worker -> the writer
 *     claimed by a feeder:   the feeder -> queue `unread` -> a worker that reads it -> the feeder
 *                            -> queue `ready` -> a worker that encodes it -> the writer
 *
 * A feeder itself reads input that can only be read in order; such a slot skips `unread`.  The
 * writer owns every slot that is `done`.  It frees the slot, or hands it to read_back.c, where a
 * worker frees it.  No job can starve others of slots, because some thread always works on the
 * first claimed segment of every job.
 *
 * Who owns a buffer
 *
 *     input bytes         the worker's own buffer, or a GPU batch.  The batch is free again once
 *                         all its segments are encoded.
 *     bytes that wait     memory of their own, for bytes that are read ahead of a pipe or pushed by
 *                         the caller.  It belongs to the thread that reads or pushes, then to the
 *                         thread that copies the bytes to where they are matched (ahead.h).
 *     matches             the worker's matcher, or the GPU batch.  Other workers that match chunks
 *                         of the worker's segment (struct match_split) write their results into
 *                         this matcher, too.
 *     output              the worker that is about to encode, then the slot, then the list of spare
 *                         buffers (slots.c).
 *
 * If the input is in the memory of the feeder's own GPU, the feeder only passes the segments'
 * addresses to the GPU.  The GPU copies the segments to its working memory, and to the batch's
 * memory on the host.  If that fails, workers read these segments (`is_away`) before any segment of
 * the batch is encoded.  If the input is in another GPU's memory, workers copy it (copiers.c).
 *
 * With --rsyncable, each segment is a piece of the input: it ends at a place that its content
 * determines (source.h).  A piece is read together with the 32 KiB before it, as its matches may
 * refer to them.  One thread at a time reads pieces, in order, and only the CPU matches them.
 *
 * Failure
 *
 * If a job fails, nobody claims more of it.  The owners of its slots drop them, and then the job
 * ends; other jobs go on.  If a GPU fails, its feeders hand their segments to the workers
 * unmatched, and end.
 *
 * The lock
 *
 * One lock, the pipeline's mutex, protects all of this, with these exceptions:
 *
 * - The owner of a slot, buffer or batch uses it without the lock.  So does the writer with its
 *   fields (write.c).
 * - Any thread may read segments that can be read in any order.  All others are read only by the
 *   thread that has set the job's `reading`.
 * - gpu_pool.c, copiers.c, small.c's object cache and input.c have locks of their own.
 * - For decompression, see expansion.h.
 *
 * Adding a field
 *
 * Each member of struct pipeline has one owner, the file that is named beside it.  Only that file
 * reads or writes the fields inside; other files call its functions.  So put a new field into the
 * struct of the file that changes it, and give that file a function for other files.
 * build-aux/layers.sh checks this.
 *
 * The files
 *
 * A file may use the folders and files above it in this list:
 *
 *   crew/      policy       decisions, from measured numbers
 *              gpu_pool     brings up GPUs
 *              measures     counts work and measures its speed
 *              slots        claimed segments, and the memory that they hold
 *              workers      starts workers, lets them sleep, gives them memory
 *              jobs         the list of jobs: how they are submitted, begin, fail and end
 *   compress/  source       cuts an input into segments (pipe_reader reads a fast pipe; copiers
 *                           copy from GPU memory)
 *              ahead        segments that wait in memory: read ahead of a pipe, or pushed
 *              flush        compresses small input between two flushes, in the calling thread
 *              compression  opens, cancels and closes a job: its source, and what it has ahead
 *              feeding      counts GPU batches; keeps the segments that wait for them
 *              facts        gathers the facts for the policy
 *              claim        claims and reads segments
 *              push         takes input that the caller gives
 *              parts        lets several workers match one segment
 *              verify       decodes an encoded segment again
 *              read_back    reads written segments back from the file, and verifies them
 *              write        writes a job's output, in order
 *              store        stores a segment at level 0
 *              segment      matches and encodes a segment; does all of a small job
 *              gpu_feed     fills GPU batches
 *              small        compresses small inputs in memory, in the calling thread alone
 *   expand/                 decompresses with many threads (expansion.h)
 *   work                    says what a worker does next
 *   pipeline                the functions for other code (pipeline.h)
 */
#ifndef GZLZSS_STATE_H
#define GZLZSS_STATE_H

#include <pthread.h>

#include "base/object_cache.h"
#include "huffman/huffman.h"
#include "inflate/whole.h"
#include "lzss/lzss.h"
#include "pipeline/crew/request.h"

/* --- Segments ------------------------------------------------------------------------------- */

/* A claimed segment, from its claim until it is written or dropped. */
struct slot {
    struct job *job;
    uint64_t index; /* the segment's number in the job */
    uint8_t *in;    /* the segment's bytes, or memory for them */
    /* If the segment was read ahead or pushed: its bytes, until they are copied to `in`.  Else
     * NULL. */
    struct ahead *ahead;
    bool is_away;          /* the bytes are in GPU memory, and the GPU copies them to `in` */
    size_t before;         /* bytes of `in` that come before the segment: 0 or LZ_CHUNK_SIZE */
    size_t len;            /* the segment's bytes, without `before` */
    bool last;             /* the input ends with this segment */
    struct feeder *feeder; /* the feeder whose batch has `in`; NULL: a worker's buffer has it */
    unsigned place;        /* the segment's number in that batch */
    const struct lz_chunk *chunks; /* sequences found by the GPU, or NULL */
    uint8_t *out;                  /* output buffer; set before encoding, given back after
                                    * writing */
    size_t out_len;
    uint32_t check; /* the check value of this segment alone */
    /* With config.verify, what the output must decode to: `check`, or the CRC-32 if the format has
     * no check value. */
    uint32_t sum;
    /* If the segment is read back: where its output begins in the file, and where its input ends
     * in the job's input, in bytes. */
    uint64_t out_at, in_end;
    bool done; /* the segment is encoded or dropped: the writer owns the slot */

    size_t weight; /* bytes that this slot adds to `held` in struct slots */

    struct slot *next_in_job;   /* the job's next claimed segment */
    struct slot *next_in_batch; /* the next segment in the feeder's batch */
    struct slot *next;          /* the next slot in a queue, or in the list of free slots */
};

/* An output buffer that no worker and no slot has. */
struct spare {
    struct spare *next;
};

/* All slots (slots.c). */
struct slots {
    struct slot *free;
    uint64_t held,            /* bytes that all slots hold */
        held_max;             /* the most bytes that all slots may hold */
    uint64_t held_by_workers; /* the part of held_max that keeps all workers busy */
    struct spare *spare;      /* spare output buffers */
};

/* --- Workers -------------------------------------------------------------------------------- */

/* A worker's memory for matching and encoding.  Nothing in it is kept from one segment to the
 * next. */
struct worker_tools {
    struct cached_object kept; /* links the tools in small.c's cache, while no thread uses them */
    const struct lz_level *level;
    struct lz_matcher *matcher;
    struct huff_encoder *encoder;
    struct inf_whole *decoder; /* verifies the output; NULL without config.verify */
    uint8_t *in;               /* room for a segment and LZ_INPUT_PAD bytes */
    bool can_be_huge;          /* `in` can be in huge pages, which were not asked for yet */
    uint8_t *out;              /* output buffer for the next segment; NULL once a slot has it */
};

/* A segment that several workers match.  Its owner takes chunks from the front, helpers take chunks
 * from the end, and all results go to the owner's matcher.  The owner sets in, len and matcher;
 * they do not change while helpers are busy.  The lock protects the other fields. */
struct match_split {
    const uint8_t *in;
    size_t len;
    struct lz_matcher *matcher;     /* the owner's matcher; NULL: this worker shares no segment */
    unsigned next,                  /* the first chunk that no worker has taken */
        end;                        /* the chunk after the last one that no worker has taken */
    unsigned busy;                  /* workers that match chunks of the segment now */
    double seconds;                 /* matching time of all workers, summed */
    uint64_t counters[LZ_COUNTERS]; /* the match finder's counts of all workers, summed */
    struct match_split *link;       /* the next split segment in parts.c's list */
};

struct worker {
    struct pipeline *pipeline;
    pthread_t thread; /* unset for the first worker if that is the caller */
    struct worker_tools *tools;
    bool lacks_memory;           /* the worker's last attempt to get memory failed */
    struct match_split split;    /* the segment that the worker shares; owned by parts.c */
    struct expand_tools *expand; /* memory for decompression; owned by expand/ */
};

/* The crew (workers.c). */
struct crew {
    void *(*main)(void *worker); /* the function of a worker's thread */
    struct worker *workers;      /* an array of `threads` workers */
    int threads,                 /* the most workers; goes down if threads or memory are short */
        started; /* workers started; with caller_works, the caller counts as started */
    /* The first `claimers` workers may claim segments.  Once have_left is set, all workers may. */
    int claimers;
    int equipped;   /* workers that have tools */
    int getting;    /* workers that are getting tools now, without the lock */
    int leaving;    /* workers that are freeing their tools now, without the lock */
    bool have_left; /* a worker got no memory, and has ended or waits */
    /* The time before which no thread is started, because the last start failed.  0 if no start has
     * failed. */
    double start_again;
    int waiting,  /* workers with nothing to do */
        called;   /* workers counted in `waiting` that crew_call woke and that do not run yet */
    int matching; /* workers that match a segment of their own */
    bool ends;    /* all threads must end */
};

/* --- Jobs ----------------------------------------------------------------------------------- */

enum job_state {
    JOB_WAITING,
    JOB_BEGINNING, /* a thread calls the request's `begin` */
    JOB_OPEN,
    JOB_ENDING, /* a thread calls the request's `end` */
};

/* A job, from its submission until it is over. */
struct job {
    struct pipeline *pipeline;
    struct pipeline_job *request; /* what the caller asked for */
    struct job *previous, *next;
    enum job_state state;
    bool failed;  /* no thread claims more of the job; request->status and ->error_number say why */
    bool reading; /* a thread reads the job's input in order */
    bool writing; /* a thread writes the job's output */
    bool pushing; /* a thread pushes input; the job cannot end meanwhile */

    /* Set by compression.c when the job begins: */
    struct compression *compression;
    uint64_t input_size; /* bytes of input; 0: not known */

    uint64_t next_claim; /* number of the next segment to claim */
    uint64_t total;      /* number of segments; UINT64_MAX until the last was read */
    uint64_t any_order;  /* segments below this number can be claimed now, and read in any order */
    /* This job's shares of the sums with the same names in struct jobs. */
    uint64_t left, left_begun, left_segments;

    struct slot *slots, *last_slot; /* claimed segments that are not written, by number */
    uint64_t unverified;            /* written segments that read_back.c has */
    struct pipeline_stats stats;
};

/* The functions by which jobs.c opens, cancels and closes a job whose input is cut into segments
 * (in compression.c). */
struct direction {
    /* Makes the job's state (struct compression).  Called without the lock.  Returns false if
     * memory is short; then nothing is left to close. */
    bool (*open)(struct job *j);
    /* Wakes a thread that waits for the job's input.  That thread's read then fails. */
    void (*cancel)(struct job *j);
    /* Frees the job's state (struct compression), and sets request->stats and ->check.  Called
     * without the lock. */
    void (*close)(struct job *j);
};

/* The list of jobs (jobs.c). */
struct jobs {
    const struct direction *direction;
    struct job *first, *last;
    struct job *unclaimed;    /* the first job with something to claim, or NULL */
    struct job *next_waiting; /* the first job in state JOB_WAITING, or NULL */
    struct job *free;         /* structs of jobs that are over, for the next jobs */
    unsigned open;            /* jobs in state JOB_OPEN */
    unsigned begun;           /* jobs that have begun and are not over */
    unsigned begun_max;       /* the most jobs that may have begun; 0: no limit */
    uint64_t waiting;         /* jobs in state JOB_WAITING */
    uint64_t left;            /* bytes that are certain to come and are not claimed yet */
    uint64_t left_begun;      /* the part of `left` that belongs to open jobs */
    uint64_t left_segments;   /* segments of open jobs that are not claimed, as far as known */
    uint64_t longest;   /* bytes of the largest input submitted since `emptied` last changed */
    uint64_t submitted, /* jobs submitted so far */
        submitted_size; /* the sum of these jobs' sizes, in bytes, as far as known */
    uint64_t expected;  /* jobs that the caller has announced but not submitted */
    uint64_t on_gpu;    /* bytes of finished jobs with `uses_gpu` */
    uint64_t emptied;   /* goes up whenever nothing is left to claim */
};

/* --- Measures ------------------------------------------------------------------------------- */

/* A sample of progress: the bytes that were matched by GPUs, or claimed, up to a certain time. */
struct pace {
    double time;
    uint64_t bytes;
};

#define PACES 16

/* Counts of the work done, and its speed (measures.c). */
struct measures {
    struct pipeline_totals totals;
    struct policy_work match, encode, read, write;
    struct pace paces[PACES]; /* a ring: an entry for each of the last batches from a GPU */
    uint64_t pace_count;      /* batches recorded since the ring was last emptied */
    uint64_t gpu_matched;     /* bytes that GPUs have matched, encoded or not */
};

/* --- A pipeline ----------------------------------------------------------------------------- */

/* The events for which a thread may wait.  wake_crew signals the first three. */
enum event {
    CAN_WORK,   /* a worker may find something to do */
    CAN_FEED,   /* a feeder may find segments for its free batch */
    CAN_FREE,   /* workers have read, or encoded, all of a feeder's batch */
    CAN_JOIN,   /* workers have matched all chunks of a split segment */
    CAN_EXPAND, /* something changed in a decompression */
    EVENTS
};

struct pipeline {
    /* Set by pipeline_new, never changed afterwards: */
    struct pipeline_config config;
    const struct lz_level *level;
    size_t segment_size;
    size_t matcher_more;     /* bytes that a matcher may allocate while it works */
    size_t batch_size;       /* bytes of segments in a GPU batch; a multiple of segment_size */
    double core_guess;       /* bytes a second that a core is assumed to match (policy.h) */
    bool wait_for_gpu;       /* pipeline_submit waits until the GPUs are up */
    uint64_t further_gpu;    /* bytes of input for each further GPU: POLICY_FURTHER_GPU, except in
                              * tests */
    double pipe_share;       /* share of busy cores: POLICY_PIPE_SHARE, except in tests */
    struct gpu_pool *gpus;   /* NULL if config.backend is BACKEND_CPU */
    struct copiers *copiers; /* copies from and to GPU memory */

    pthread_mutex_t mutex; /* protects all jobs and the members below */
    pthread_cond_t events[EVENTS];

    struct measures measures; /* measures.c */
    struct slots slots;       /* slots.c */
    struct crew crew;         /* workers.c */
    struct jobs jobs;         /* jobs.c */

    /* Members of compress/ and expand/.  Each struct is defined in the file that is named here: */
    struct feeding *feeding;               /* feeding.c; NULL if backend is BACKEND_CPU */
    struct parts *parts;                   /* parts.c */
    struct read_backs *read_backs;         /* read_back.c; NULL without config.verify */
    struct spare_segments *spare_segments; /* ahead.c: memory for pushed segments */
    struct flushes *flushes;               /* flush.c: tables of streams that are flushed */
    /* small.c: tools that no thread uses; NULL if config.caller_works is set. */
    struct small *small;
    struct expansions *expansions; /* expand/ */
};

/* Every function that takes a struct pipeline, job, worker or feeder is called with the lock held,
 * unless its comment says otherwise. */

static inline void lock(struct pipeline *p)
{
    pthread_mutex_lock(&p->mutex);
}

static inline void unlock(struct pipeline *p)
{
    pthread_mutex_unlock(&p->mutex);
}

/* Waits for an event.  Releases the lock meanwhile. */
static inline void await(struct pipeline *p, enum event e)
{
    pthread_cond_wait(&p->events[e], &p->mutex);
}

/* Whether the process may map as much address space as it likes. */
static inline bool crew_maps_freely(const struct pipeline *p)
{
    return p->config.address_space == 0 || p->config.address_space == UINT64_MAX;
}

/* Wakes one thread that waits for the event. */
static inline void wake_one(struct pipeline *p, enum event e)
{
    pthread_cond_signal(&p->events[e]);
}

/* Wakes all threads that wait for the event. */
static inline void wake_all(struct pipeline *p, enum event e)
{
    pthread_cond_broadcast(&p->events[e]);
}

/* Wakes all workers and feeders, after a change that may let any of them go on. */
static inline void wake_crew(struct pipeline *p)
{
    wake_all(p, CAN_WORK);
    wake_all(p, CAN_FEED);
    wake_all(p, CAN_FREE);
}

/* Wakes the thread that waits for this job, if one does. */
static inline void wake_caller(const struct pipeline_job *request)
{
    if (request->waits != NULL)
        pthread_cond_broadcast(request->waits);
}

#endif
