/*
 * state.h - what the files of the pipeline share: the story of a segment, and who owns what
 *
 * A job takes one input to one output.  Jobs are in a list, in the order of their submission.  A job
 * waits; it begins (the caller opens its files); then its input is a row of segments, numbered from
 * 0.  Each segment is claimed (a thread takes its number and reads its bytes), matched, encoded and
 * written.  All steps but the last are done for many segments at a time, of any jobs, in any order:
 *
 *   workers    do the first of these that is possible (work_once in work.c):
 *              1. read a segment for a GPU; few do so while there is something to encode;
 *              2. encode a segment that a GPU has matched, which frees the GPU's memory;
 *              3. read ahead from a pipe, while a GPU is brought up;
 *              4. claim a segment, of the earliest job that has one, match it with the CPU engine
 *                 and encode it;
 *              5. begin a job; or do all of it, if it is small;
 *              6. match chunks of a segment that another worker has claimed;
 *              7. for a file that is being decompressed, accept, resolve or write what was decoded,
 *                 or decode a region of it.
 *              A thread that waits for a job may be the first worker meanwhile, one at a time.
 *   feeders    are threads that each have a batch of a GPU.  They fill it with segments, of any
 *              jobs, have it matched, and hand the segments to the workers.  When all of these are
 *              encoded, and there is enough to do, they begin again.  They mostly wait.
 *   a writer   is the worker that finishes the segment that is next in a job's output.  It writes
 *              this segment and all finished ones after it, while others work on.
 *
 * Threads are started only when there is something for them to work on, so that an input of some
 * 100 KB costs none.  They stay until the pipeline is freed.
 *
 * Who owns what.  A slot holds the facts about a claimed segment until the segment is written.  All
 * slots together hold a limited number of bytes, for all jobs: that bounds the memory, and makes
 * readers wait for writers.  A slot belongs to the thread that claimed it.  A feeder itself reads
 * what can only be read in order; its other slots wait in the queue `unread` until a worker reads
 * them.  After matching, all wait in the queue `ready`; the worker that takes one from there owns
 * it.  Once `done`, a slot is the writer's.  No job can starve the others of slots: the first
 * claimed segment of every job is always being worked on.
 *
 * Input bytes are in the worker's own buffer or in a GPU batch, which is free again when all its
 * segments are encoded.  An output buffer belongs to a worker, then to the slot that it encodes,
 * then to the pipeline.  Segments that are read ahead, or pushed, are in memory of their own: it
 * belongs to the thread that reads or pushes, then to the thread that copies it to where it is matched.  A
 * worker's matcher is its own, except for the memory for results: while others match chunks of its
 * segment (struct match_split), each writes the results of the chunks that it took.
 *
 * If an input is in a GPU's memory, a feeder only says where its segments are.  The GPU copies them
 * from there, also into the batch's memory on the host.  If that fails, workers read these segments
 * (they are `is_away`) before any of the batch is encoded.
 *
 * With --rsyncable, segments are pieces of the input that end where its content says so (source.h).
 * Each is read together with the window before it, which its matches may refer to.  Pieces are read
 * in order, by one worker at a time, and matched by the CPU alone.
 *
 * If a job fails, nothing more of it is claimed, the owners drop what is claimed, and the job ends;
 * others go on.  If a GPU fails, its segments go to the workers unmatched, and its feeders end.
 *
 * One lock protects all of this, except for
 *
 * - slots, buffers and batches in their owner's hands, and what is the writer's (write.c);
 * - sources: any thread may read the segments that can be read in any order; only the thread that
 *   has set `reading` may read the others;
 * - what expansion.h says of decompression; and gpu_pool.c, copiers.c and input.c, which have locks
 *   of their own.
 *
 * Each member of struct pipeline has an owner: the file that is named beside it.  Only that file
 * reads or writes the fields inside; other files call its functions (build-aux/layers.sh checks it).
 *
 * Three rooms, and what is above them.  A file may use the rooms and files before it:
 *
 *   crew/      policy      decisions, from measured numbers
 *              gpu_pool    bringing up GPUs
 *              measures    what was done, and how fast
 *              slots       claimed segments, and the memory they hold
 *              workers     starting workers, and their memory
 *              jobs        the list of jobs: how they are submitted, begin, fail and end
 *   compress/  source      an input's segments (pipe_reader: of a fast pipe; copiers: in a GPU's memory)
 *              ahead       segments that wait in memory: read ahead of a pipe, or pushed
 *              compression what the compression of a job needs: the job's source and what is read ahead
 *              feeding     GPU batches: how many are at work, and which segments wait
 *              facts       all that the policy is told
 *              claim       claiming and reading
 *              push        input that the caller gives
 *              parts       segments that several workers match
 *              write       a job's output, in order
 *              store       a segment of level 0
 *              segment     matching and encoding one, and small jobs
 *              gpu_feed filling GPU batches
 *              small       small inputs in memory, by the calling thread alone
 *   expand/    decompression by many threads (expansion.h)
 *   work       what a worker does next
 *   pipeline   what others call (pipeline.h)
 */
#ifndef GZLZSS_STATE_H
#define GZLZSS_STATE_H

#include <pthread.h>

#include "base/object_cache.h"
#include "huffman/huffman.h"
#include "lzss/lzss.h"
#include "pipeline/crew/request.h"

/* --- Segments ------------------------------------------------------------------------------- */

/* A claimed segment, until it is written. */
struct slot {
    struct job *job;
    uint64_t index;        /* the segment's number in the job */
    uint8_t *in;           /* where its bytes are, or will be */
    struct ahead *ahead;   /* read ahead or pushed: where they are until they are copied to `in` */
    bool is_away;          /* they are in GPU memory; the GPU copies them */
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

    size_t weight; /* bytes that it adds to the slots' `held` */

    struct slot *next_in_job;   /* the next claimed segment of the job, */
    struct slot *next_in_batch; /* the feeder's next, */
    struct slot *next;          /* and the next in a queue, or among free slots */
};

/* An output buffer that nobody uses. */
struct spare {
    struct spare *next;
};

/* All slots (slots.c). */
struct slots {
    struct slot *free;
    uint64_t held, held_max;  /* bytes that all slots hold, and the most that they may; */
    uint64_t held_by_workers; /* the part of held_max that keeps the workers busy */
    struct spare *spare;      /* output buffers that no slot has */
};

/* --- Workers -------------------------------------------------------------------------------- */

/* A worker's memory.  It carries nothing from one segment to the next. */
struct worker_tools {
    struct cached_object kept; /* while nobody uses it, for small.c */
    struct lz_matcher *matcher;
    struct huff_encoder *encoder;
    uint8_t *in;  /* a segment and LZ_INPUT_PAD */
    uint8_t *out; /* for the next segment that the worker encodes; NULL if a slot has it */
};

/* A segment that several workers match: the owner from the front on, others parts from the end.
 * The results go to the owner's matcher.  in, len and matcher are the owner's, and do not change
 * while others are busy; the lock protects the rest. */
struct match_split {
    const uint8_t *in;
    size_t len;
    struct lz_matcher *matcher;     /* the owner's; NULL: nothing is split */
    unsigned next, end;             /* chunks that nobody has taken: from `next`, before `end` */
    unsigned busy;                  /* workers that match some */
    double seconds;                 /* their time, summed, */
    uint64_t counters[LZ_COUNTERS]; /* and their counts */
    struct match_split *link;       /* the next in the list */
};

struct worker {
    struct pipeline *pipeline;
    pthread_t thread; /* but for the first, if that is the caller */
    struct worker_tools *tools;
    bool lacks_memory;           /* it got none the last time that it needed some */
    struct match_split split;    /* parts.c's */
    struct expand_tools *expand; /* its memory to decompress, or NULL; expand/'s */
};

/* The crew (workers.c). */
struct crew {
    void *(*main)(void *worker); /* what a worker's thread does */
    struct worker *workers;      /* as many as there may be threads */
    int threads, started;        /* workers there may be; those started, the first from the start */
    int claimers;        /* only so many claim segments, the first ones, unless some have left */
    int equipped;        /* workers that have tools */
    int getting;         /* workers that are about to get some */
    int leaving;         /* workers that are about to free theirs */
    bool have_left;      /* some have, for want of memory */
    double start_again;  /* no thread is started before then, as the system had none; 0: at once */
    int waiting, called; /* workers with nothing to do; of these, those that were woken */
    int matching;        /* workers that match a segment of their own */
    bool ends;           /* all threads are to end */
};

/* --- Jobs ----------------------------------------------------------------------------------- */

enum job_state {
    JOB_WAITING,
    JOB_BEGINNING, /* a thread is at it */
    JOB_OPEN,
    JOB_ENDING, /* likewise */
};

/* A job that is not over. */
struct job {
    struct pipeline *pipeline;
    struct pipeline_job *request; /* the caller's */
    struct job *previous, *next;
    enum job_state state;
    bool failed;  /* nothing more of it is claimed; request->status and ->error_number say why */
    bool reading; /* a thread reads in order, */
    bool writing; /* a thread is the writer, */
    bool pushing; /* or a thread pushes: the job cannot end meanwhile */

    /* Set by compression.c when the job begins: */
    struct compression *compression;
    uint64_t input_size; /* bytes; 0: not known */

    uint64_t next_claim; /* segments: all before this one are claimed; */
    uint64_t total;      /* all there are, UINT64_MAX until the last was read; */
    uint64_t any_order;  /* those before this one can be claimed now, and read in any order */
    uint64_t left, left_begun, left_segments; /* what the job adds to those of struct jobs */

    struct slot *slots, *last_slot; /* claimed and not written, in the order of their numbers */
    struct pipeline_stats stats;
};

/* What a job whose input is cut into segments needs of its room. */
struct direction {
    /* Makes the job's state; without the lock.  False if memory is short: nothing is left of it. */
    bool (*open)(struct job *j);
    /* Wakes a thread that waits for input: it fails. */
    void (*cancel)(struct job *j);
    /* Frees that state, and completes request->stats and ->crc; without the lock. */
    void (*close)(struct job *j);
};

/* The list of jobs (jobs.c). */
struct jobs {
    const struct direction *direction;
    struct job *first, *last;
    struct job *unclaimed;    /* all before this one are claimed, or have failed */
    struct job *next_waiting; /* the first that waits, or NULL */
    struct job *free;         /* jobs that are over, to be used again */
    unsigned open;            /* jobs in state JOB_OPEN */
    unsigned begun;           /* jobs that neither wait nor are over, */
    unsigned begun_max;       /* and the most there may be; 0: no limit */
    uint64_t waiting;
    uint64_t left;          /* bytes that nobody has claimed and that are certain to come; */
    uint64_t left_begun;    /* of these, the bytes of jobs that have begun, */
    uint64_t left_segments; /* and the segments of these that are known and not claimed */
    uint64_t longest;       /* bytes of the largest input since nothing was left */
    uint64_t submitted, submitted_size; /* jobs, and their bytes */
    uint64_t expected;                  /* jobs that the caller said will come */
    uint64_t emptied;                   /* how often nothing was left */
};

/* --- Measures ------------------------------------------------------------------------------- */

/* A count of bytes (matched by GPUs, or claimed) at some time. */
struct pace {
    double time;
    uint64_t bytes;
};

#define PACES 16

/* What was done, and how fast (measures.c). */
struct measures {
    struct pipeline_totals totals;
    struct policy_work match, encode, read, write;
    struct pace paces[PACES]; /* the latest of the GPUs, a ring; */
    uint64_t pace_count;      /* how many there were in all */
    uint64_t gpu_matched;     /* bytes, encoded or not */
};

/* --- A pipeline ----------------------------------------------------------------------------- */

/* Anything that a thread may wait for. */
enum event {
    CAN_WORK,   /* a worker may find something to do */
    CAN_FEED,   /* a feeder whose batch is free may find something to fill it with */
    CAN_FREE,   /* a feeder's batch was read, or encoded */
    CAN_JOIN,   /* the last part of a segment was matched */
    CAN_EXPAND, /* anything happened in a decompression */
    EVENTS
};

struct pipeline {
    /* Set by pipeline_new, and the same ever after: */
    struct pipeline_config config;
    const struct lz_level *level;
    size_t segment_size;
    size_t matcher_more;     /* see lz_matcher_limit */
    size_t batch_size;       /* for GPUs */
    double core_guess;       /* see policy.h */
    bool wait_for_gpu;       /* before anything is done */
    uint64_t further_gpu;    /* POLICY_FURTHER_GPU, but for tests */
    double pipe_share;       /* POLICY_PIPE_SHARE, but for tests */
    struct gpu_pool *gpus;   /* NULL with BACKEND_CPU */
    struct copiers *copiers; /* copies from GPU memory */

    pthread_mutex_t mutex; /* of what follows, and of all jobs */
    pthread_cond_t events[EVENTS];

    struct measures measures; /* measures.c */
    struct slots slots;       /* slots.c */
    struct crew crew;         /* workers.c */
    struct jobs jobs;         /* jobs.c */

    /* Of the rooms above, each defined in its file: */
    struct feeding *feeding;               /* feeding.c; NULL with BACKEND_CPU */
    struct parts *parts;                   /* parts.c */
    struct spare_segments *spare_segments; /* ahead.c: memory for what is pushed */
    struct object_cache *small;  /* small.c: tools that nobody uses; NULL if the caller works */
    struct expansions *expansions; /* expand/ */
};

/* Functions that take a struct pipeline, job, worker or feeder are called with the lock held,
 * unless they say otherwise. */

static inline void lock(struct pipeline *p)
{
    pthread_mutex_lock(&p->mutex);
}

static inline void unlock(struct pipeline *p)
{
    pthread_mutex_unlock(&p->mutex);
}

/* Waits for an event; the lock is free meanwhile. */
static inline void await(struct pipeline *p, enum event e)
{
    pthread_cond_wait(&p->events[e], &p->mutex);
}

/* Wakes one thread that waits for the event, or all. */
static inline void wake_one(struct pipeline *p, enum event e)
{
    pthread_cond_signal(&p->events[e]);
}

static inline void wake_all(struct pipeline *p, enum event e)
{
    pthread_cond_broadcast(&p->events[e]);
}

/* Wakes workers and feeders: anything may have happened. */
static inline void wake_crew(struct pipeline *p)
{
    wake_all(p, CAN_WORK);
    wake_all(p, CAN_FEED);
    wake_all(p, CAN_FREE);
}

/* Wakes the thread that waits for this job. */
static inline void wake_caller(const struct pipeline_job *request)
{
    if (request->waits != NULL)
        pthread_cond_broadcast(request->waits);
}

#endif
