/*
 * job.h - what the files of the pipeline share; the story of a segment, and who owns what
 *
 * A job takes one input to one output.  Jobs are in a list, in the order in which they came.  A job
 * waits; it begins (the caller opens its files); then its input is a row of segments, numbered from
 * 0.  Each segment is claimed (its number is taken and its bytes are read), matched, encoded and
 * written.  All steps but the last are done for many segments at a time, of any jobs, in any order:
 *
 *   workers    do the first of these that is possible (work_once in work.c):
 *              1. read a segment for a GPU; few do so while there is something to encode;
 *              2. encode a segment that a GPU has matched, which frees the GPU's memory;
 *              3. read ahead from a pipe, while a GPU is brought up;
 *              4. claim a segment, of the earliest job that has one, match it with the CPU engine
 *                 and encode it;
 *              5. begin a job; or do all of it, if it is small (do_small);
 *              6. match chunks of a segment that another worker has claimed (parts.c);
 *              7. for a file that is being decompressed, accept, resolve or write what was decoded,
 *                 or decode a stretch of it (expand.c).
 *              A thread that waits for a job is the first worker meanwhile, one at a time.
 *   feeders    are threads that each have a batch of a GPU.  They fill it with segments, of any
 *              jobs, have it matched, and hand the segments to the workers.  When all of these are
 *              encoded, and there is enough to do (jobs_fill_batch), they begin again (feed.c).
 *              They mostly wait.
 *   a writer   is the worker that finishes the segment that is next in a job's output.  It writes
 *              this segment and all finished ones after it, while others work on (write.c).
 *
 * Threads are started only when there is something for them to work on, so that an input of some
 * 100 KB costs none.  They stay until the pipeline is freed.
 *
 * Who owns what.  A slot has what is known of a claimed segment until it is written.  All slots
 * together hold a limited number of bytes, for all jobs: that bounds the memory, and makes readers
 * wait for writers.  A slot belongs to the thread that claimed it.  A feeder reads what can only
 * be read in order itself; its other slots wait in the queue `unread` until a worker reads them.
 * After matching, all wait in the queue `ready`; the worker that takes one from there owns it.
 * Once `done`, a slot is the writer's.  No job can keep others from slots for ever: the first
 * claimed segment of every job is always being worked on.
 *
 * Input bytes are in the worker's own buffer or in a GPU batch, which is free again when all its
 * segments are encoded.  An output buffer belongs to a worker, then to the slot that it encodes,
 * then to the pipeline (`spare`).  Segments that are read ahead, or pushed, are in memory of their
 * own: the place of one belongs to the thread that reads it, or pushes, then to the thread that copies
 * it to where it is matched.  A worker's matcher is its own, except for the room for results: while
 * others match chunks of its segment (struct split), each writes the results of the chunks that it took.
 *
 * If an input is in a GPU's memory, a feeder only says where its segments are.  The GPU takes them
 * from there, and copies them into the batch's memory on the host, too.  If that fails, workers read
 * these segments (they are `is_away`) before any of the batch is encoded.
 *
 * One lock protects all of this, except for
 *
 * - slots, buffers and batches in their owner's hands, and what is the writer's (write.c);
 * - sources: any thread may read the segments that can be read in any order; only the thread that
 *   has set `reading` may read the others;
 * - what expansion.h says of decompression; and gpus.c, copiers.c and input.c, which have locks of
 *   their own.
 *
 * With --rsyncable, segments are pieces of the input that end where its content says so (source.h).
 * Each is read together with the window before it, which its matches may refer to.  Pieces are read
 * in order, by one worker at a time, and matched by the CPU alone.
 *
 * If a job fails, nothing more of it is claimed, its owners drop what is claimed, and the job ends;
 * others go on.  If a GPU fails, its segments go to the workers unmatched, and its feeders end.
 *
 * The files, each of which may use those above it:
 *
 *   policy      decisions, from measured numbers
 *   source      an input's segments (pipe_reader: of a fast pipe; copiers: in a GPU's memory)
 *   gpus        bringing up GPUs
 *   pushed      memory for what the caller pushes
 *   jobs        the list of jobs; how they begin, fail and end; facts for the policy; when a feeder
 *               fills a batch
 *   crew        starting workers, and their memory
 *   write       a job's output, in order
 *   claim       claiming and reading
 *   push        input that the caller gives
 *   parts       segments that several workers match
 *   store       a segment of level 0
 *   feed        batches for GPUs
 *   expand      decompression by many threads
 *   work        what a worker does
 *   here        small inputs, by the calling thread alone
 *   serve       what others call (pipeline.h)
 */
#ifndef GZLZSS_PIPELINE_JOB_H
#define GZLZSS_PIPELINE_JOB_H

#include <pthread.h>

#include "base/shelves.h"
#include "huffman/huffman.h"
#include "inflate/find.h"
#include "pipeline/pipeline.h"
#include "pipeline/source.h"

/* A worker's memory.  It carries nothing from one segment to the next. */
struct tools {
    struct shelved kept;          /* of those that nobody uses, for here.c */
    struct lz_matcher *matcher;   /* NULL at level 0, */
    struct huff_encoder *encoder; /* and so is this */
    uint8_t *in;                  /* a segment and LZ_INPUT_PAD */
    uint8_t *out; /* for the next segment that the worker encodes; NULL if a slot has it */
};

struct job;
struct feeder;

/* An output buffer that nobody uses. */
struct spare {
    struct spare *next;
};

/* What is known of a claimed segment. */
struct slot {
    struct job *job;
    uint64_t index;        /* the segment's number in the job */
    uint8_t *in;           /* where its bytes are, or will be */
    const uint8_t *ahead;  /* read ahead or pushed: its bytes, until they are copied to `in` */
    struct pushed *pushed; /* pushed: the same; else NULL */
    bool is_away;          /* they are in a GPU's memory, from where it is to take them itself */
    size_t before;         /* bytes of in that come before the segment: 0 or LZ_CHUNK_SIZE */
    size_t len;            /* of the segment */
    bool last;             /* the input ends with it */
    struct feeder *feeder; /* in whose batch `in` is, or NULL; */
    unsigned place;        /* its number there */
    const struct lz_chunk *chunks; /* found by the GPU, or NULL */
    uint8_t *out;                  /* taken when it is encoded, given back when it is written */
    size_t out_len;
    uint32_t crc; /* of the segment alone */
    bool done;    /* encoded: it is the writer's */

    size_t weight; /* bytes that it adds to the pipeline's `held` */

    struct slot *next_in_job;   /* the next segment of the job that is claimed, */
    struct slot *next_in_batch; /* the feeder's next, */
    struct slot *next;          /* and the next in a queue, or of those that are free */
};

/* Slots, in the order in which they came. */
struct queue {
    struct slot *first, *last;
};

/* A segment that several workers match: the owner from the front on, others parts from the end.
 * The results go to the owner's matcher.  in, len and matcher are the owner's, and do not change
 * while others are busy; the rest is under the lock. */
struct split {
    const uint8_t *in;
    size_t len;
    struct lz_matcher *matcher; /* the owner's; NULL: nothing is split */
    unsigned next, end;         /* the chunks that nobody has taken: from `next`, before `end` */
    unsigned busy;              /* workers that match some */
    double seconds;             /* that these took, all together, */
    uint64_t counters[LZ_COUNTERS]; /* and what they counted */
    struct split *link;             /* the next in the list */
};

struct worker {
    struct pipeline *pipeline;
    pthread_t thread; /* but for the first, if that is the caller */
    struct tools *tools;
    bool lacks_memory; /* there was none the last time that it needed some */
    struct split split;
    struct expand_tools *expand; /* what it needs to decompress, or NULL */
};

/* A thread, and a GPU's batch that it has to itself. */
struct feeder {
    struct pipeline *pipeline;
    pthread_t thread;
    int gpu, number; /* the batch is number `number` of this GPU */
    struct gpu_batch *batch;
    struct slot *first, *last; /* what is in it */
    unsigned unread;           /* segments that workers have not read yet, */
    unsigned pending;          /* or not encoded; 0: the batch is free */
};

/* A count of bytes (matched by GPUs, or claimed) at some time. */
struct pace {
    double time;
    uint64_t bytes;
};

#define PACES 16

/* A segment that was read ahead. */
struct ahead {
    bool is_here; /* until it was copied to where it is worked on */
    size_t len;
    bool last;
};

enum job_state {
    JOB_WAITING,
    JOB_BEGINNING, /* a thread is at it */
    JOB_OPEN,
    JOB_ENDING, /* likewise */
};

/* A job that is not over.  All of it is under the pipeline's lock, except as told above. */
struct job {
    struct pipeline *pipeline;
    struct pipeline_job *of; /* the caller's */
    struct job *previous, *next;
    enum job_state state;
    bool failed; /* nothing more of it is claimed; of->status and of->error_number say why */

    struct source source;
    uint64_t next_claim; /* segments: all before this are claimed; */
    uint64_t total;      /* so many in all, UINT64_MAX until the last was read; */
    uint64_t any_order;  /* all before this can be claimed now, and then be read in any order */
    uint64_t written;    /* segments */
    bool reading;        /* a thread is reading in order */
    bool writing;        /* a thread is the writer */
    struct slot *slots, *last_slot; /* claimed and not written, in the order of their numbers */
    uint64_t left, left_begun, left_segments; /* what the job adds to the pipeline's */

    struct ahead *ahead;    /* of segment i, if read ahead, at i % ahead_most; NULL: none may be */
    uint8_t *ahead_in;      /* likewise, the bytes of each; NULL when there are none */
    uint64_t ahead_most;    /* the most segments that are read ahead, or pushed, at a time */
    uint64_t ahead_count;   /* how many are now, or are being read */
    bool ahead_ends;        /* for want of memory */
    bool pushing;           /* a thread is in job_push */
    struct pushed *filling; /* the segment that it fills, or NULL */
    struct pushed *first_pushed, *last_pushed; /* the full ones that are not copied yet, in order */
    struct pushed *next_pushed;                /* the first of these that is not claimed, or NULL */
    struct pace
        claimed[2]; /* more than POLICY_PIPE_SECONDS ago, if there was so much time, and since
                               then */

    uint32_t crc; /* of all that was written; the writer's, as are the sums of bytes in `stats` */
    struct pipeline_stats stats;
};

/* Memory for what decompression makes of one part of an input (expansion.h). */
#define EXPAND_ROOM ((size_t)6 << 20)

struct pipeline {
    struct pipeline_config config;
    const struct lz_level *level;
    size_t segment_size;
    size_t batch_size;    /* for GPUs */
    double core_guess;    /* see policy.h */
    bool wait_for_gpu;    /* before anything is done */
    uint64_t further_gpu; /* POLICY_FURTHER_GPU, but for tests */
    double pipe_share;    /* POLICY_PIPE_SHARE, but for tests */
    struct gpus *gpus;    /* NULL with BACKEND_CPU */
    void *(*worker_main)(void *worker);
    void *(*feeder_main)(void *feeder);

    pthread_mutex_t lock;    /* of what follows, and of all jobs */
    pthread_cond_t can_work; /* anything that a worker may wait for, */
    pthread_cond_t can_feed; /* a feeder with a batch that is free, */
    pthread_cond_t can_free; /* one whose batch workers read or encode, */
    pthread_cond_t can_join; /* and the owner of a segment that others match, too */
    bool ends;               /* all threads are to end */

    /* Jobs: */
    struct job *first, *last; /* those that are not over */
    struct job *unclaimed;    /* all before this are claimed, or have failed */
    struct job *next_waiting; /* the first that waits, or NULL */
    unsigned open;            /* in state JOB_OPEN */
    struct job *free_jobs;    /* that are over, to be used again */
    unsigned begun;           /* that are not waiting, nor over */
    uint64_t waiting_jobs;
    uint64_t left;          /* bytes that nobody has claimed and are certain to come */
    uint64_t left_begun;    /* of these, what is of jobs that have begun, */
    uint64_t left_segments; /* and of these, the segments that are known and not claimed */
    uint64_t longest;       /* the largest input of those since nothing was left */
    uint64_t submitted, submitted_size; /* jobs, and their bytes */
    uint64_t expected;                  /* jobs that are said to come */

    /* Slots: */
    struct slot *free_slots;
    uint64_t held, held_max;     /* bytes that all slots hold, and the most that they may; */
    uint64_t held_by_workers;    /* of that, what keeps these busy */
    struct spare *spare;         /* output buffers that no slot has */
    struct pushed *spare_pushed; /* memory for the next whole segments that are pushed */
    unsigned spare_pushed_count;
    struct queue unread, ready;

    /* Workers: */
    struct worker *workers; /* as many as there may be threads */
    int threads, started;   /* workers there may be; those started, the first from the start */
    int claimers;           /* only the first so many claim segments, unless some have left */
    int equipped;           /* workers that have tools */
    int getting;            /* that are about to get some */
    int leaving;            /* that are about to free theirs */
    bool have_left;         /* some have, for want of memory */
    double start_again;     /* not before then, as the system had no thread to give; 0: at once */
    int waiting, called;    /* that have nothing to do; of these, those that were woken */
    int matching;           /* that match a segment of their own */
    int readers;            /* that read for a feeder */
    struct split *splits;   /* segments with chunks that nobody has taken */

    struct shelves *here; /* struct tools that nobody uses, for here.c; NULL if the caller works */
    struct copiers copiers; /* they have a lock of their own */

    /* Decompression (expand.c): */
    pthread_cond_t can_expand;    /* anything may have happened there */
    struct expansion *expansions; /* files at it */
    struct room *rooms;           /* memory for output that is free */
    int rooms_made, rooms_max;
    int rooms_lent;            /* more than that, while expansions have stalled */
    struct inf_finder *finder; /* NULL before the first of them has begun */

    /* GPUs: */
    struct feeder *feeders;    /* GPUS_BATCHES for every GPU there may be */
    int gpu_feeders[GPUS_MAX]; /* how many of these were started */
    int feeders_alive;         /* that have not ended; */
    int feeders_idle;          /* of these, those that wait for something to put into a batch, */
    int feeders_busy;          /* and those that fill one, or have it matched */
    int gpus_fed;              /* GPUs that feeders were started for */
    bool feeding;              /* what is left now is for GPUs, too */
    uint64_t weighed_left;     /* what was left when that was last weighed, */
    double weighed_at;         /* and the time */

    /* What was done, and measured: */
    struct pipeline_totals totals;
    struct policy_work match, encode, read, write;
    struct pace paces[PACES]; /* the latest, a ring, */
    uint64_t pace_count;      /* of which there were so many */
    uint64_t gpu_matched;     /* bytes, by GPUs, encoded or not */
};

/* Functions that take a struct pipeline, job, worker or feeder are called with the lock held,
 * unless they say otherwise. */

static inline void lock(struct pipeline *p)
{
    pthread_mutex_lock(&p->lock);
}

static inline void unlock(struct pipeline *p)
{
    pthread_mutex_unlock(&p->lock);
}

/* Whatever the thread that waits for this job is waiting for may have happened. */
static inline void wake_caller(const struct pipeline_job *of)
{
    if (of->waits != NULL)
        pthread_cond_broadcast(of->waits);
}

/* Whatever a thread of the pipeline is waiting for may have happened. */
static inline void wake_all(struct pipeline *p)
{
    pthread_cond_broadcast(&p->can_work);
    pthread_cond_broadcast(&p->can_feed);
    pthread_cond_broadcast(&p->can_free);
}

static inline bool is_empty(const struct queue *q)
{
    return q->first == NULL;
}

static inline void push(struct queue *q, struct slot *s)
{
    s->next = NULL;
    if (q->first == NULL)
        q->first = s;
    else
        q->last->next = s;
    q->last = s;
}

static inline struct slot *pop(struct queue *q)
{
    struct slot *s = q->first;

    q->first = s->next;
    return s;
}

#endif
