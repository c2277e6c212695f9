/*
 * pipeline.c - compression of one input into one gzip member, by many threads and perhaps a GPU
 *
 * How data flows.  The input is a row of segments, numbered from 0.  Each is claimed (its number is
 * taken and its bytes are read), matched, encoded, and written, and every step but the last can be
 * done for many segments at a time, in any order:
 *
 *   worker threads   claim a segment, match it with the CPU engine and encode it; or encode one the
 *                    GPU has matched, which comes first, since it frees the GPU's memory; or read
 *                    one for the GPU, which a few of them do before anything else; or, while a GPU
 *                    is brought up, read ahead what can only be read in order, as from a pipe.
 *   feeders          threads that each claim a batch of segments for a GPU, have it read by the
 *                    workers and matched, hand it to the workers, and begin again when these are
 *                    done with it.  They wait for most of the time.  A GPU has several, so that
 *                    reading, copying and matching go on at the same time; there are none where
 *                    there is no GPU.  What can only be read in order, a feeder reads itself, but for
 *                    what was read ahead.
 *   the writer       is whichever worker finishes the segment that is next in the output: it writes
 *                    that and all finished ones after it, while others work on.
 *
 * Where there are fewer segments than threads, as in a small input, at the end of a large one or
 * where a pipe is slow, workers also match some chunks of a segment that another one has claimed,
 * who then encodes it.
 *
 * The caller's thread is the first worker.  Others are started only when there is something for them
 * to work on, so that an input of some 100 KB costs no thread.
 *
 * Who owns what.  A slot holds what is known of a claimed segment until it is written; segment i
 * has slot i % slot_count, so it can be claimed only when the one slot_count before it is written:
 * that bounds the memory and makes readers wait for the writer.  A slot belongs to the thread that
 * claimed it.  A feeder's waits in the queue `unread` for a worker to read it, and, once the segment
 * is matched, in the queue `ready`; the worker that takes it there owns it.  Once `done`, a slot is
 * the writer's.  Input bytes are in the worker's own buffer, or in the GPU batch's, which is free
 * again when all its segments are encoded; what was read ahead is in memory of its own, a place of
 * which belongs to the thread that reads, and then to the one that copies it to where it is matched.
 * A worker's matcher is its own, but for the room for results: while others match chunks of its
 * segment (struct split), each writes those of the chunks that it took.
 * Everything in struct job is under the pipeline's lock, except a slot, a buffer or a batch in its
 * owner's hands, what is the writer's (see Writing), and the source, of which any thread may read
 * the segments that can be read in any order, and the rest only the thread that has set `reading`.
 *
 * With --rsyncable, segments are pieces of the input that end where its content says so
 * (source.h).  Each is read behind the window before it, from which its matches may come; they are
 * read in order, by one worker at a time, and matched by the CPU alone.
 *
 * If anything fails, `failed` is set and all threads stop taking up work; what lies in the queues, or
 * is being read into a batch, is left as it is until all have ended.  If the GPU fails, that
 * is not a failure: its segments go to the workers unmatched, and its feeders end.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/hugepages.h"
#include "base/io.h"
#include "base/thread.h"
#include "compat/crc.h"
#include "compat/gzip.h"
#include "huffman/huffman.h"
#include "src/cleanup.h"
#include "src/gpus.h"
#include "src/pipeline.h"
#include "src/progress.h"
#include "src/source.h"

/*
 * Bytes of a batch of segments for a GPU, and in all its batches.  Larger ones fill a large GPU
 * better, which the slow levels need (level 12, H100: 0.60 GB/s with 16 MiB x 8, 0.78 with 32 x 4);
 * more of them let reading, copies, kernels and encoding overlap.  Both cost pinned memory, 2.5
 * bytes for every byte of a batch, which takes 0.25 s for a GB to get.
 */
#define BATCH_SIZE ((size_t)16 << 20)
#define BATCH_SIZE_SLOW ((size_t)32 << 20)
#define BATCHES_SIZE ((size_t)128 << 20)

_Static_assert(BATCHES_SIZE / BATCH_SIZE <= GPUS_BATCHES, "a GPU's batches");

/*
 * With BACKEND_AUTO, a GPU is brought up where the CPU alone would take longer than this, which is
 * what it takes to bring one up (see gpu_min).  How fast the CPU is is guessed from what a core of an
 * H100 machine (Intel Xeon, 16 cores, all at work) does at each level on source code, in MB/s, until
 * it is known from the first segments.  (There, the CPU took as long as the two together for 150 to
 * 200 MB at level 6, 100 at level 9 and 600 to 800 at level 1; this says 237, 166 and 770.)
 */
#define GPU_SECONDS 0.28

/* In so many seconds, a GPU comes up and brings back a first batch, even at the slow levels. */
#define GPU_BATCH_SECONDS (2 * GPU_SECONDS)

static const double core_speed[LZ_LEVEL_MAX + 1] = {
    [1] = 172, [2] = 105, [3] = 102, [4] = 83,   [5] = 60, [6] = 53,
    [7] = 43,  [8] = 40,  [9] = 37,  [10] = 6.3, [11] = 5, [12] = 4.2,
};

/* A pipe is thought to hold so many times what it has given. */
#define PIPE_HOPE 4

/* Bytes of a pipe that are read ahead while a GPU is brought up, at most: what a fast one gives in
 * that time. */
#ifndef AHEAD_SIZE
#define AHEAD_SIZE ((size_t)512 << 20)
#endif

/* A GPU is of no use to a pipe that keeps the cores busy for less than that share of the last one to
 * two times so many seconds. */
#define BOTTLENECK_SHARE 0.75
#ifndef BOTTLENECK_SECONDS
#define BOTTLENECK_SECONDS 1.0
#endif

/* The first level that counts as slow: a core takes most of a second for a segment, and a GPU is as
 * fast as many cores. */
#define SLOW_LEVEL 10

/* One core in so many is left alone while a GPU is brought up. */
#define OPENING_SHARE 8

/* While there is something to encode, one worker in so many may read for GPUs.  More do not read
 * faster than memory is, and fewer may let a GPU wait. */
#define READING_SHARE 4

/* From so many threads on, a pipe is read by a pipe_reader: with fewer, reading is not what others
 * wait for, and that only costs (4 % at level 1 on the 2-core EPYC). */
#ifndef PIPE_READER_FROM
#define PIPE_READER_FROM 8
#endif

/* GPUs that are so many times as fast as all workers are left to it.  (At first they seem half as
 * fast as they are, as what they matched waits for cores to finish segments of their own.) */
#define GPU_IS_FASTER 2

/* That share of the workers' time counts as all of it. */
#define BUSY 0.9

/* A further GPU is brought up for each so many bytes more, since that takes time, too, and the
 * cores have to follow with encoding: with two H200 and 32 cores, 4 GB at level 9 took 1.6 s, and
 * 1.4 s with one. */
#define BYTES_PER_FURTHER_GPU ((uint64_t)8 << 30)

/* A segment is matched by several workers if it would take one so many seconds: to start others takes
 * some of them.  Others take so many chunks of it at a time, since they have to go through the one
 * before these first: that costs a tenth of what it takes to match one at level 6, and a third at
 * level 1. */
#define SPLIT_SECONDS 0.005
#define PART_MIN 2
#define PART_MAX 8

/* Segments that are claimed by workers at a time, at most, below the levels with passes: each takes 5 to 7
 * MiB.  More threads than these match parts of them, for which they need 1 MiB. */
#define CLAIMERS 32

/* Segments that are done and wait for others before them, at most: each takes up to 2 MiB. */
#define WAITING_MAX 16

/* The share of the memory that there may be, and of the addresses, which the workers' may take: the rest is
 * for the page cache, without which writing is slow, for libraries, and for GPUs' drivers. */
#define MEMORY_SHARE 2
#define ADDRESSES_SHARE 2

/* A worker's memory beside some buffers of a segment's size: what bench/memory.sh shows. */
#define WORKER_SIZE ((size_t)3 << 19)
#define WORKER_SIZE_SLOW ((size_t)52 << 20)

/* With less memory than this, no GPU is brought up by itself: its driver takes some 300 MB of it, the
 * batches as much, and what is read ahead of a pipe 512 MiB. */
#define GPU_HOST_MEMORY ((uint64_t)2 << 30)

/* A worker's own memory; it carries nothing from one input to the next, but is kept, as getting it
 * costs more than a small input does. */
struct tools {
    struct lz_matcher *matcher;
    struct huff_encoder *encoder;
    uint8_t *in;  /* from new_input */
    uint8_t *out; /* for the next segment that the worker encodes; NULL if a slot has it */
    struct tools *next;
};

struct pipeline {
    struct pipeline_config config;
    const struct lz_level *level;
    size_t batch_size;        /* for GPUs */
    uint64_t gpu_min;         /* bytes of input from which BACKEND_AUTO wants a GPU, */
    uint64_t further_gpu_min; /* and so many more for each further one; */
    double bottleneck_share;  /* BOTTLENECK_SHARE, but 0 in tests */
    bool wait_for_gpu; /* a test wants BACKEND_AUTO to share even the smallest input with the GPU */
    struct gpus *gpus; /* NULL with BACKEND_CPU */
    char gpu_names[GPU_ERROR_SIZE]; /* once they have been used, else empty */
    char trouble[GPU_ERROR_SIZE];   /* for pipeline_gpu_trouble */

    pthread_mutex_t lock;    /* of what follows, and of the job */
    pthread_cond_t can_work; /* anything that a worker may wait for, */
    pthread_cond_t can_feed; /* a feeder, */
    pthread_cond_t can_join; /* and the owner of a segment that others match, too */
    struct tools *tools;     /* that nobody uses */
};

/* What is known of a claimed segment. */
struct slot {
    uint64_t index; /* the segment's number */
    const uint8_t *in;
    const uint8_t *ahead;  /* where the bytes are until they are read into `in`, if read ahead */
    size_t before;         /* bytes of in that come before the segment: 0 or LZ_CHUNK_SIZE */
    size_t len;            /* of the segment */
    bool last;             /* the input ends with it */
    struct feeder *feeder; /* in whose batch `in` is, or NULL */
    const struct lz_chunk *chunks; /* found by the GPU, or NULL */
    uint8_t *out;                  /* taken when it is encoded, given back when it is written */
    size_t out_len;
    uint32_t crc; /* of the segment alone */
    bool done;    /* encoded: it is the writer's */
};

struct job;

/* A segment that several workers match: the owner from the front on, others parts from the end.  What
 * they find is in the owner's matcher.  in, len and matcher are the owner's, and do not change while
 * others are busy; the rest is under the lock. */
struct split {
    const uint8_t *in;
    size_t len;
    struct lz_matcher *matcher; /* the owner's; NULL: nothing is split */
    unsigned next, end;         /* the chunks that nobody has taken: from `next`, before `end` */
    unsigned busy;              /* workers that match some */
    double seconds;             /* that these took, all together */
    struct split *link;         /* the next in the list */
};

struct worker {
    struct job *job;
    pthread_t thread; /* but for the first, which is the caller's */
    struct tools *tools;
    struct split split;
    uint64_t redone; /* segments */
};

/* A thread, and a GPU's batch that it has to itself. */
struct feeder {
    struct job *job;
    pthread_t thread;
    int gpu, number; /* the batch is number `number` of this GPU */
    struct gpu_batch *batch;
    unsigned most;    /* segments that fit in it, */
    uint8_t *in;      /* from here on */
    uint64_t first;   /* those in it: this one, */
    unsigned count;   /* and so many in all */
    unsigned unread;  /* of these, how many workers have not read yet, */
    unsigned pending; /* or not encoded; 0: the batch is free */
};

/* How many segments GPUs had matched, or were claimed, at some time. */
struct pace {
    double time;
    uint64_t segments;
};

#define PACES 16

/* Slots, in the order in which they came. */
struct queue {
    struct slot **ring;  /* of `slot_count` entries */
    uint64_t first, end; /* of what is in it, counted on without end */
};

/* A segment that was read ahead. */
struct ahead {
    bool is_here; /* until it was copied to where it is worked on */
    size_t len;
    bool last;
};

/* The compression of one input. */
struct job {
    struct pipeline *pipeline;
    const struct lz_level *level;
    size_t segment_size;
    struct source source;
    int out_fd;
    const uint8_t *header;
    size_t header_len;
    struct progress *progress; /* the writer's */

    enum pipeline_status status; /* PIPELINE_OK unless failed */
    int error_number;
    bool failed;

    struct slot *slots; /* segment i has slots[i % slot_count] */
    uint64_t slot_count;
    uint64_t slots_in_use; /* at most: what there are GPUs for */
    uint8_t **spare;       /* output buffers that no slot has; room for one of every slot */
    uint64_t spare_count;
    uint64_t next_claim, next_write; /* segments: all before these are claimed, and written */
    uint64_t total;                  /* segments in all, UINT64_MAX until the last was read */
    uint64_t any_order; /* all before this can be claimed now, and then be read in any order */
    bool reading;       /* a thread is reading in order */
    bool writing;       /* a thread is the writer */

    struct ahead *ahead; /* of segment i, if read ahead, at i % ahead_most; NULL: none may be */
    uint8_t *ahead_in;   /* likewise, the bytes of each; NULL when there are none */
    uint64_t ahead_most;
    uint64_t ahead_count;   /* of these that are here, or being read */
    bool ahead_ends;        /* for want of memory */
    struct pace claimed[2]; /* for cpu_is_bottleneck: more than BOTTLENECK_SECONDS ago, if there was
                               so much time, and since then */

    struct worker *workers; /* as many as there may be threads */
    int threads, started;   /* workers that may be, and that were, started */
    int claimers;           /* only the first so many claim segments, unless some have left */
    int working, leaving; /* workers that have not left, and that are about to free their memory */
    bool have_left;       /* some have, for want of memory */

    struct feeder *feeders;    /* GPUS_BATCHES for every GPU there may be */
    int gpu_feeders[GPUS_MAX]; /* how many of these were started */
    int feeding;               /* feeders that have not ended */
    int gpus_fed;              /* GPUs that feeders were started for */
    unsigned batch_segments;   /* segments that fit in a batch, unless memory is short */
    unsigned feeder_segments;  /* that feeders have claimed and not handed over */
    int readers;               /* workers that read for a feeder */

    /* How fast things go, for cpu_may_match, beside what is in `stats`: */
    struct pace paces[PACES]; /* the latest, a ring, */
    uint64_t pace_count;      /* of which there were so many */
    uint64_t gpu_matched;     /* segments, by GPUs, encoded or not */
    double match_seconds;     /* of the CPU, for the segments that no GPU matched */
    int matching;             /* workers that match a segment of their own */

    struct split *splits; /* those with chunks that nobody has taken */
    int waiting;          /* workers that have nothing to do */
    int claiming;         /* workers that claim a segment, which may then be split */

    struct queue unread, ready;

    uint32_t crc; /* of all that was written */
    struct pipeline_stats stats;
};

static void free_tools(struct tools *t)
{
    if (t == NULL)
        return;
    lz_matcher_free(t->matcher);
    huff_encoder_free(t->encoder);
    free(t->in);
    free(t->out);
    free(t);
}

/* Memory for a segment, and LZ_INPUT_PAD zeros; NULL if there is none. */
static uint8_t *new_input(size_t segment_size)
{
    uint8_t *in = malloc(segment_size + LZ_INPUT_PAD);

    if (in != NULL)
        memset(in + segment_size, 0, LZ_INPUT_PAD);
    return in;
}

/* NULL if memory is short. */
static struct tools *new_tools(const struct pipeline *p)
{
    const size_t size = p->config.segment_size;
    struct tools *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->matcher = lz_matcher_new(p->level, size);
    t->encoder = huff_encoder_new();
    t->in = new_input(size);
    if (t->matcher == NULL || t->encoder == NULL || t->in == NULL) {
        free_tools(t);
        return NULL;
    }
    return t;
}

/* --- Threads, and GPUs ---
 *
 * Functions that take a struct job are called with the pipeline's lock held, unless they say
 * otherwise; those that take a struct pipeline lock it themselves. */

static void lock(const struct job *j)
{
    pthread_mutex_lock(&j->pipeline->lock);
}

static void unlock(const struct job *j)
{
    pthread_mutex_unlock(&j->pipeline->lock);
}

/* Whatever a thread is waiting for may have happened. */
static void wake_all(const struct job *j)
{
    pthread_cond_broadcast(&j->pipeline->can_work);
    pthread_cond_broadcast(&j->pipeline->can_feed);
}

/* Makes all threads end, for this reason if there was none before. */
static void fail(struct job *j, enum pipeline_status status, int error_number)
{
    if (!j->failed) {
        j->failed = true;
        j->status = status;
        j->error_number = error_number;
        source_cancel(&j->source);
    }
    wake_all(j);
}

static bool is_empty(const struct queue *q)
{
    return q->first == q->end;
}

static void push(const struct job *j, struct queue *q, struct slot *s)
{
    q->ring[q->end++ % j->slot_count] = s;
}

static struct slot *pop(const struct job *j, struct queue *q)
{
    return q->ring[q->first++ % j->slot_count];
}

static void *worker_main(void *argument);
static void *feeder_main(void *argument);

/* Whether all segments are claimed. */
static bool all_claimed(const struct job *j)
{
    return j->next_claim == j->total;
}

/* Starts another worker if one more may run. */
static void more_workers(struct job *j)
{
    if (j->failed || j->started == j->threads)
        return;
    /* If the system has no more threads to give, those there are do the work. */
    if (thread_start(&j->workers[j->started].thread, worker_main, &j->workers[j->started])) {
        j->started++;
        j->working++;
    } else {
        j->threads = j->started;
    }
}

/* Whether there will be feeders: a GPU is being brought up, or has come up this moment. */
static bool gpu_is_coming(const struct job *j)
{
    struct gpus *gpus = j->pipeline->gpus;

    return j->stats.wanted_gpus &&
           (gpus_state(gpus) == GPUS_OPENING || j->gpus_fed < gpus_count(gpus));
}

/* Starts one more feeder for a GPU, if there may be one more. */
static void start_feeder(struct job *j, int gpu)
{
    const int number = j->gpu_feeders[gpu];
    struct feeder *f = &j->feeders[gpu * GPUS_BATCHES + number];

    if (j->failed || all_claimed(j) || number == GPUS_BATCHES)
        return;
    *f = (struct feeder){.job = j, .gpu = gpu, .number = number};
    if (thread_start(&f->thread, feeder_main, f)) {
        j->gpu_feeders[gpu]++;
        j->feeding++;
    } else if (number == 0) {
        gpus_fail(j->pipeline->gpus, gpu, "cannot start a thread");
    }
}

/* Starts the first feeder for each GPU that has come up since the last time; it starts more. */
static void start_feeders(struct job *j)
{
    struct gpus *gpus = j->pipeline->gpus;

    for (const int count = gpus_count(gpus); j->gpus_fed < count; j->gpus_fed++) {
        j->slots_in_use += GPUS_BATCHES * (uint64_t)j->batch_segments;
        if (j->slots_in_use > j->slot_count)
            j->slots_in_use = j->slot_count;
        if (gpus_engine(gpus, j->gpus_fed) != NULL)
            start_feeder(j, j->gpus_fed);
    }
}

/* Starts bringing up GPUs in the background, as many as are good for an input of so many bytes, of
 * which there may be more. */
static void want_gpus(struct pipeline *p, uint64_t bytes)
{
    uint64_t count = p->further_gpu_min == 0 ? GPUS_MAX : 1 + bytes / p->further_gpu_min;

    gpus_want(p->gpus, count < GPUS_MAX ? (int)count : GPUS_MAX);
}

/* A GPU has come up, or never will. */
static void gpus_changed(void *ctx)
{
    struct pipeline *p = ctx;

    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->can_work);
    pthread_mutex_unlock(&p->lock);
}

/* --- Claiming --- */

/* Slots that keep the workers busy: those that they work on, and those that wait until one that takes
 * longer is written. */
static uint64_t slots_for_workers(const struct job *j)
{
    const uint64_t waiting = j->claimers < WAITING_MAX ? (uint64_t)j->claimers : WAITING_MAX;

    return (uint64_t)j->claimers + waiting + 2;
}

/* Whether the worker may claim segments, rather than help with those of others. */
static bool is_claimer(const struct worker *w)
{
    return w - w->job->workers < w->job->claimers || w->job->have_left;
}

/* Whether `count` more segments may be claimed and leave `reserve` slots free for others. */
static bool has_room(const struct job *j, uint64_t count, uint64_t reserve)
{
    return j->next_claim + count + reserve <= j->next_write + j->slots_in_use;
}

/* Makes segment `index`, whose bytes are in[before..before + len), its slot's. */
static void fill_slot(struct job *j, uint64_t index, const uint8_t *in, size_t before, size_t len,
                      bool last)
{
    struct slot *s = &j->slots[index % j->slot_count];

    s->index = index;
    s->in = in;
    s->before = before;
    s->len = len;
    s->last = last;
    s->ahead = NULL;
    s->feeder = NULL;
    s->chunks = NULL;
    s->done = false;
}

/* To read without the lock: returns when that began. */
static double begin_reading(const struct job *j)
{
    unlock(j);
    return clock_seconds();
}

/* It was read, or not, with errno set.  False if the job has failed, by that or meanwhile. */
static bool end_reading(struct job *j, double began, bool ok)
{
    const int error = errno;
    const double seconds = clock_seconds() - began;

    lock(j);
    j->stats.read += seconds;
    if (!ok)
        fail(j, PIPELINE_READ_ERROR, error);
    return !j->failed;
}

/* Sets the bytes behind in[0..len), so that what is read there beside them is the same each time,
 * though nothing depends on it. */
static void pad(uint8_t *in, size_t len)
{
    memset(in + len, 0, LZ_INPUT_PAD);
}

/* Reads a claimed segment that can be read in any order into buf, or copies it there if it was read
 * ahead; gives up the lock meanwhile.  False if the job has failed. */
static bool read_any(struct job *j, struct slot *s, uint8_t *buf)
{
    const double began = begin_reading(j);
    bool ok = true;

    if (s->ahead == NULL) {
        ok = source_read_at(&j->source, s->index, buf);
    } else {
        memcpy(buf, s->ahead, s->len);
        if (s->last)
            pad(buf, s->len);
    }
    ok = end_reading(j, began, ok);
    if (s->ahead != NULL) {
        s->ahead = NULL;
        j->ahead[s->index % j->ahead_most].is_here = false;
        j->ahead_count--;
        /* There is room for one more. */
        pthread_cond_signal(&j->pipeline->can_work);
    }
    return ok;
}

/*
 * These claim up to `count` segments, of which the first can be read right now, to be at buf, one
 * after another.  They return how many there were.
 */

/* Of the segments that can be read in any order: read_any is still to come. */
static unsigned claim_any(struct job *j, unsigned count, uint8_t *buf)
{
    const uint64_t first = j->next_claim;

    if (count > j->any_order - first)
        count = (unsigned)(j->any_order - first);
    j->next_claim += count;
    for (uint64_t i = first; i < first + count; i++, buf += j->segment_size) {
        if (j->ahead == NULL) {
            fill_slot(j, i, buf, 0, j->segment_size, false);
        } else {
            const uint64_t place = i % j->ahead_most;

            fill_slot(j, i, buf, 0, j->ahead[place].len, j->ahead[place].last);
            j->slots[i % j->slot_count].ahead = j->ahead_in + place * j->segment_size;
        }
    }
    if (all_claimed(j))
        wake_all(j);
    return count;
}

/* Of the others: they are read, without the lock; 0 if the job has failed.  With --rsyncable, of
 * which feeders never see anything, count is 1. */
static unsigned claim_in_order(struct job *j, unsigned count, uint8_t *buf)
{
    const uint64_t first = j->next_claim;
    size_t before = 0, len = 0; /* of the last one read */
    bool ok = true, last = false;
    unsigned got = 0;
    double began;

    j->reading = true;
    began = begin_reading(j);
    while (ok && !last && got < count) {
        ok = j->pipeline->config.rsyncable
                 ? source_next_piece(&j->source, buf, &before, &len, &last)
                 : source_read_next(&j->source, buf + got * j->segment_size, &len, &last);
        got++;
    }
    if (ok)
        pad(buf + (got - 1) * j->segment_size, before + len);
    ok = end_reading(j, began, ok);
    j->reading = false;
    j->next_claim += got;
    if (last)
        j->total = j->next_claim;
    wake_all(j);
    if (!ok)
        return 0;
    for (unsigned i = 0; i + 1 < got; i++)
        fill_slot(j, first + i, buf + i * j->segment_size, 0, j->segment_size, false);
    fill_slot(j, first + got - 1, buf + (got - 1) * j->segment_size, before, len, last);
    return got;
}

/* Whether the next segment is one of those that can be read in any order. */
static bool next_is_any(const struct job *j)
{
    return j->next_claim < j->any_order;
}

/* Segments that there are for certain. */
static uint64_t known_segments(const struct job *j)
{
    return next_is_any(j) ? j->any_order : j->next_claim;
}

/* Whether it is known how many segments there are, unless the file grows. */
static bool end_is_known(const struct job *j)
{
    return j->source.random_access > 0 || j->total != UINT64_MAX;
}

/* Claims the next segment and reads it; NULL if the job has failed. */
static struct slot *claim_one(struct job *j, struct tools *t)
{
    struct slot *s = &j->slots[j->next_claim % j->slot_count];

    if (!next_is_any(j))
        return claim_in_order(j, 1, t->in) == 1 ? s : NULL;
    claim_any(j, 1, t->in);
    return read_any(j, s, t->in) ? s : NULL;
}

/* Whether to read another segment ahead: while a GPU is brought up, since a pipe can give more than
 * the workers can match.  Not earlier: what lies in memory for a while has left the caches when it
 * is matched, so that without a GPU, this costs more than it gains.  And for a single worker, reading
 * ahead is nothing but matching later. */
static bool may_read_ahead(const struct job *j)
{
    if (j->ahead == NULL || j->ahead_ends || j->total != UINT64_MAX || j->reading)
        return false;
    return j->threads > 1 && !j->ahead[known_segments(j) % j->ahead_most].is_here &&
           gpu_is_coming(j);
}

/* Reads a segment ahead, which may_read_ahead. */
static void read_ahead(struct job *j)
{
    const uint64_t index = known_segments(j);
    const uint64_t place = index % j->ahead_most;
    struct ahead *a = &j->ahead[place];
    uint8_t *in;
    double began;
    bool ok;

    /* One piece of memory: to get and give back one for every segment takes long beside a GPU that
     * is brought up, which has much to do with the memory, too. */
    if (j->ahead_in == NULL)
        j->ahead_in = hugepages_alloc(j->ahead_most * j->segment_size);
    if (j->ahead_in == NULL) {
        /* It can do without. */
        j->ahead_ends = true;
        return;
    }
    in = j->ahead_in + place * j->segment_size;
    j->reading = true;
    j->ahead_count++;
    began = begin_reading(j);
    ok = source_read_next(&j->source, in, &a->len, &a->last);
    ok = end_reading(j, began, ok);
    j->reading = false;
    if (!ok)
        return;
    a->is_here = true;
    j->any_order = index + 1;
    if (a->last)
        j->total = j->any_order;
    else
        more_workers(j);
    wake_all(j);
}

/* Frees the memory of what was read ahead, unless some of it is there or more may come.  True if it
 * did: it gives up the lock then, as that may take long. */
static bool leave_ahead(struct job *j)
{
    uint8_t *in = j->ahead_in;

    if (in == NULL || j->ahead_count > 0 || gpu_is_coming(j))
        return false;
    j->ahead_in = NULL;
    unlock(j);
    free(in);
    lock(j);
    return true;
}

/* Whether the next segment can be claimed right now, as far as reading goes. */
static bool can_read(const struct job *j)
{
    return !all_claimed(j) && (next_is_any(j) || !j->reading);
}

static double average(double seconds, uint64_t segments)
{
    return segments == 0 ? 0 : seconds / (double)segments;
}

/* Seconds that the CPU takes to match a segment: what it took on average, or before any, what the
 * table says. */
static double match_time(const struct job *j)
{
    if (j->stats.cpu_segments == 0)
        return (double)j->segment_size / (core_speed[j->pipeline->config.level] * 1e6);
    return average(j->match_seconds, j->stats.cpu_segments);
}

/* Seconds that it took to encode one, on average; 0 before any. */
static double encode_time(const struct job *j)
{
    return average(j->stats.encode, j->stats.cpu_segments + j->stats.gpu_segments);
}

/* Seconds that threads are busy with a segment that a GPU matches.  Reading and writing may be
 * waiting, too; but then matching more would only make for more of it. */
static double handling_time(const struct job *j)
{
    return average(j->stats.read, j->ahead != NULL ? known_segments(j) : j->next_claim) +
           encode_time(j) + average(j->stats.write, j->next_write);
}

/* How long the CPU alone will take for what is not claimed yet and certain to come, by what it took
 * for segments so far; 0 if it has not done any. */
static double cpu_seconds_left(const struct job *j)
{
    if (j->stats.cpu_segments == 0)
        return 0;
    return (match_time(j) + encode_time(j)) * (double)(known_segments(j) - j->next_claim) /
           j->threads;
}

/* Whether the CPU is what this has been waiting for lately, by the time that it took for segments so
 * far, and not an end of a pipe, which a GPU would not make faster. */
static bool cpu_is_bottleneck(struct job *j)
{
    const struct pace now = {clock_seconds(), j->next_claim};
    const double segments = (double)(now.segments - j->claimed[0].segments);
    const double seconds = now.time - j->claimed[0].time;

    if (now.time - j->claimed[1].time > BOTTLENECK_SECONDS) {
        j->claimed[0] = j->claimed[1];
        j->claimed[1] = now;
    }
    return segments * (match_time(j) + encode_time(j)) / j->threads >=
           j->pipeline->bottleneck_share * seconds;
}

/* Whether this input, of so many bytes for certain, is worth bringing up GPUs. */
static bool is_worth_gpus(struct job *j, uint64_t bytes)
{
    const struct pipeline *p = j->pipeline;
    bool is_bottleneck;

    if (p->config.backend == BACKEND_GPU)
        return true;
    if (end_is_known(j))
        return bytes >= p->gpu_min || cpu_seconds_left(j) > GPU_SECONDS;
    is_bottleneck = cpu_is_bottleneck(j);
    if (PIPE_HOPE * bytes < p->gpu_min)
        return false;
    j->stats.cpu_kept_up = !is_bottleneck;
    return is_bottleneck;
}

/* Brings up GPUs once the input is known to be worth it, and feeds those that are up. */
static void consider_gpus(struct job *j)
{
    struct pipeline *p = j->pipeline;
    const uint64_t bytes = known_segments(j) * j->segment_size;

    /* Once the workers end, run_job looks at what feeders there are. */
    if (p->gpus == NULL || j->failed || all_claimed(j))
        return;
    j->stats.wanted_gpus = j->stats.wanted_gpus || is_worth_gpus(j, bytes);
    if (j->stats.wanted_gpus)
        want_gpus(p, bytes);
    /* One that is up is good for less. */
    if (j->stats.wanted_gpus || bytes >= p->batch_size)
        start_feeders(j);
}

/* Segments a second that the GPUs have matched lately; 0 if that is not known yet.  A GPU has all
 * of its batches in hand at first, so a single one comes late: only when all have come back, it is
 * at its pace. */
static double gpu_rate(const struct job *j)
{
    const struct pace *newest = &j->paces[(j->pace_count - 1) % PACES];
    const struct pace *oldest = &j->paces[j->pace_count > PACES ? j->pace_count % PACES : 0];

    if (j->pace_count <= (uint64_t)j->feeding)
        return 0;
    return (double)(newest->segments - oldest->segments) / (clock_seconds() - oldest->time);
}

/*
 * Whether a worker may match the next segment, rather than leave it to the GPUs.  It may not where
 * that would cost more than it gains:
 *
 * - where the GPUs are at least twice as fast as all workers together;
 * - where what the GPUs match keeps all cores busy with encoding, reading and writing;
 * - where the GPUs will be through with all that is left before the worker is through with one
 *   segment: in the end everyone would wait for that one.  At the slow levels that is so for most
 *   inputs, and even while a GPU is brought up;
 * - on every core, while a GPU is brought up, which takes a core itself, and time from all if it
 *   has to fight for one.  Reading ahead takes one, too.
 */
static bool cpu_may_match(const struct job *j)
{
    const struct pipeline *p = j->pipeline;
    const bool is_slow = p->config.level >= SLOW_LEVEL;
    const double left = (double)(known_segments(j) - j->next_claim);
    const double match_seconds = match_time(j);
    double rate;

    if (j->feeding == 0 && !gpu_is_coming(j))
        return true;
    if (p->config.backend == BACKEND_GPU)
        return false;
    if (p->wait_for_gpu)
        return true;
    if (j->feeding == 0)
        return !is_slow && j->matching + (j->ahead != NULL && j->reading) <
                               j->threads - j->threads / OPENING_SHARE;
    rate = gpu_rate(j);
    /* Soon to be known, and likely to be high. */
    if (rate == 0)
        return false;
    if (rate * match_seconds > GPU_IS_FASTER * j->threads)
        return false;
    if (rate * handling_time(j) > BUSY * j->threads)
        return false;
    /* How much is left is not known: a lot. */
    return !end_is_known(j) || left > rate * match_seconds;
}

/* --- Segments that several workers match --- */

/* Whether workers that have nothing else to do are to help with this segment, which one has read.  Of
 * a file, there are none such before nearly all segments are claimed; of a pipe, which one reads at
 * a time, there may be at any time. */
static bool can_split(const struct job *j, const struct slot *s)
{
    const double seconds = (double)s->len / (core_speed[j->pipeline->config.level] * 1e6);

    /* What has passes goes through many chunks together.  With a GPU, workers that wait do so for a
     * reason. */
    return s->before == 0 && s->chunks == NULL && seconds >= SPLIT_SECONDS && j->threads > 1 &&
           j->level->passes == 0 && j->feeding == 0 && !gpu_is_coming(j) &&
           (j->threads > j->claimers || known_segments(j) - j->next_claim < (uint64_t)j->threads);
}

/* How many of the segment's chunks that nobody has taken, of which there is one at least, its owner is
 * to take, or who helps: half of its share, so that all end at about the same time, where others may
 * come. */
static unsigned part_of(const struct job *j, const struct split *p, bool is_owner)
{
    const unsigned left = p->end - p->next;
    const unsigned others = p->busy + (unsigned)(j->waiting + j->threads - j->started);
    const unsigned share = left / (2 * (others + 1)), least = is_owner ? 1 : PART_MIN;
    const unsigned part = share < least ? least : share > PART_MAX ? PART_MAX : share;

    return part < left ? part : left;
}

/* Matches chunks of the segment that nobody has taken, of which there is one at least: the owner the
 * first, who goes on with its tables, others some from the end.  Gives up the lock meanwhile. */
static void match_some(struct worker *w, struct split *p)
{
    struct job *j = w->job;
    const bool is_owner = p == &w->split;
    const unsigned count = part_of(j, p, is_owner);
    const unsigned first = is_owner ? p->next : p->end - count;
    double seconds;

    if (is_owner)
        p->next += count;
    else
        p->end -= count;
    p->busy++;
    if (p->next == p->end) {
        struct split **link = &j->splits;

        while (*link != p)
            link = &(*link)->link;
        *link = p->link;
    }
    /* One that is started for less than a part comes too late. */
    if (p->end - p->next >= PART_MIN)
        more_workers(j);
    if (j->splits == NULL && all_claimed(j))
        pthread_cond_broadcast(&j->pipeline->can_work);
    unlock(j);
    seconds = -clock_seconds();
    lz_match_chunks(w->tools->matcher, j->level, p->in, p->len, first, count, p->matcher);
    seconds += clock_seconds();
    lock(j);
    p->seconds += seconds;
    if (--p->busy == 0 && p->next == p->end)
        pthread_cond_broadcast(&j->pipeline->can_join);
}

/* Lets others help the worker with the segment that it has claimed, if that may be of use. */
static void offer_parts(struct worker *w, const struct slot *s)
{
    struct job *j = w->job;

    if (!can_split(j, s))
        return;
    w->split = (struct split){
        .in = s->in,
        .len = s->len,
        .matcher = w->tools->matcher,
        .end = (unsigned)LZ_CHUNKS(s->len),
        .link = j->splits,
    };
    j->splits = &w->split;
    j->stats.split_segments++;
    more_workers(j);
    pthread_cond_broadcast(&j->pipeline->can_work);
}

/* Matches what chunks of the worker's segment nobody has taken, and waits for the others; called
 * without the lock. */
static void finish_parts(struct worker *w)
{
    struct job *j = w->job;
    struct split *p = &w->split;

    lock(j);
    while (p->next < p->end)
        match_some(w, p);
    while (p->busy > 0)
        pthread_cond_wait(&j->pipeline->can_join, &j->pipeline->lock);
    unlock(j);
    p->matcher = NULL;
}

/* Reads a segment for a feeder. */
static void read_for_feeder(struct job *j)
{
    struct slot *s = pop(j, &j->unread);
    struct feeder *f = s->feeder;

    if (!is_empty(&j->unread))
        more_workers(j);
    j->readers++;
    read_any(j, s, f->in + (s->index - f->first) * j->segment_size);
    j->readers--;
    if (--f->unread == 0)
        pthread_cond_broadcast(&j->pipeline->can_feed);
}

/* The next segment for a worker to encode, after waiting for one if need be; NULL if there will be
 * none. */
static struct slot *next_segment(struct job *j, struct worker *w)
{
    for (;;) {
        /* Slots that workers must leave free: a whole batch for a feeder, which would never see one
         * if they took every slot that comes free; without feeders, all but what keeps the threads
         * busy. */
        const uint64_t reserve =
            j->feeding > 0 ? j->batch_segments : j->slots_in_use - slots_for_workers(j);

        if (j->failed)
            return NULL;
        consider_gpus(j);
        if (leave_ahead(j))
            continue;
        if (is_empty(&j->ready) && all_claimed(j) && j->feeder_segments == 0 && j->splits == NULL &&
            j->claiming == 0)
            return NULL;
        /* Some workers see to it that the GPU has something to do; as long as there is something to
         * encode, not more, since reading may be waiting. */
        if (!is_empty(&j->unread) &&
            (is_empty(&j->ready) || READING_SHARE * j->readers < j->threads)) {
            read_for_feeder(j);
            continue;
        }
        if (!is_empty(&j->ready)) {
            struct slot *s = pop(j, &j->ready);

            if (!is_empty(&j->ready))
                more_workers(j);
            return s;
        }
        if (may_read_ahead(j)) {
            read_ahead(j);
            continue;
        }
        if (can_read(j) && has_room(j, 1, reserve) && is_claimer(w) && cpu_may_match(j)) {
            struct slot *s;

            j->claiming++;
            s = claim_one(j, w->tools);
            if (s != NULL) {
                if (!all_claimed(j))
                    more_workers(j);
                j->matching++;
                offer_parts(w, s);
            }
            /* Those that waited for parts have waited in vain. */
            if (--j->claiming == 0 && j->splits == NULL && all_claimed(j))
                pthread_cond_broadcast(&j->pipeline->can_work);
            return s;
        }
        if (j->splits != NULL) {
            match_some(w, j->splits);
            continue;
        }
        j->waiting++;
        pthread_cond_wait(&j->pipeline->can_work, &j->pipeline->lock);
        j->waiting--;
    }
}

/* --- Writing ---
 *
 * next_write, the CRC and the sums of bytes are the writer's: nobody else changes them, and nobody
 * else reads them without the lock. */

/* Segments written at a time: many, since taking the lock again after each would take longer than
 * writing it where many threads want it; with what goes before and behind them, as many as any
 * system's writev() takes. */
#define WRITE_MOST 14

/* Finished segments that are next in the output: WRITE_MOST at most, and no more than half of the
 * slots, so that others can go on while they are written. */
static unsigned count_finished(const struct job *j)
{
    const unsigned most =
        j->slots_in_use / 2 < WRITE_MOST ? (unsigned)(j->slots_in_use / 2) : WRITE_MOST;
    unsigned i = 0;

    for (; i < most; i++) {
        const struct slot *s = &j->slots[(j->next_write + i) % j->slot_count];

        if (!s->done || s->index != j->next_write + i)
            break;
    }
    return i;
}

/* Writes the next `count` segments, at least one, which are finished, with the header before the
 * first and the trailer after the last; called without the lock, by the writer. */
static bool write_segments(struct job *j, unsigned count, uint64_t *in_bytes, uint64_t *out_bytes)
{
    uint8_t trailer[GZ_TRAILER_SIZE];
    struct iovec parts[WRITE_MOST + 2];
    int n = 0;

    if (j->next_write == 0)
        parts[n++] = (struct iovec){(void *)j->header, j->header_len};
    *in_bytes = *out_bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct slot *s = &j->slots[(j->next_write + i) % j->slot_count];

        j->crc = s->index == 0 ? s->crc : gz_crc32_combine(j->crc, s->crc, s->len);
        *in_bytes += s->len;
        parts[n++] = (struct iovec){s->out, s->out_len};
        if (s->last) {
            gz_write_trailer(trailer, j->crc, j->stats.in_bytes + *in_bytes);
            parts[n++] = (struct iovec){trailer, sizeof(trailer)};
        }
    }
    for (int i = 0; i < n; i++)
        *out_bytes += parts[i].iov_len;
    return io_write_parts(j->out_fd, parts, n);
}

/* What has been working. */
static const char *engines(const struct job *j)
{
    return j->stats.gpu_segments == 0 ? "cpu" : j->stats.cpu_segments == 0 ? "gpu" : "cpu+gpu";
}

/* Writes all finished segments that are next in the output, unless another thread does so. */
static void write_finished(struct job *j)
{
    if (j->writing)
        return;
    j->writing = true;
    while (!j->failed) {
        const unsigned count = count_finished(j);
        uint64_t in_bytes, out_bytes;
        double seconds;
        bool ok;
        int error;

        if (count == 0)
            break;
        unlock(j);
        seconds = -clock_seconds();
        ok = write_segments(j, count, &in_bytes, &out_bytes);
        error = errno;
        seconds += clock_seconds();
        lock(j);
        j->stats.write += seconds;
        if (!ok) {
            cleanup_signal_for(error);
            fail(j, PIPELINE_WRITE_ERROR, error);
            break;
        }
        j->stats.in_bytes += in_bytes;
        j->stats.out_bytes += out_bytes;
        progress_update(j->progress, j->stats.in_bytes, j->stats.out_bytes, engines(j));
        for (unsigned i = 0; i < count; i++, j->next_write++) {
            struct slot *s = &j->slots[j->next_write % j->slot_count];

            s->done = false;
            j->spare[j->spare_count++] = s->out;
            s->out = NULL;
            /* There is room for one more segment. */
            pthread_cond_signal(&j->pipeline->can_work);
        }
        /* Not all that wait may claim one: a signal could reach only such. */
        if (j->threads > j->claimers)
            pthread_cond_broadcast(&j->pipeline->can_work);
        pthread_cond_broadcast(&j->pipeline->can_feed);
    }
    j->writing = false;
}

/* --- Workers --- */

/* Matches the segment, unless that was done in parts, and encodes it; false if the matches are none.
 * *matched: the time between. */
static bool match_and_encode(struct worker *w, struct slot *s, bool in_parts, double *matched)
{
    const struct lz_level *level = w->job->level;
    const size_t len = s->before + s->len;
    const struct lz_chunk *chunks;

    if (s->before == 0) {
        if (in_parts)
            chunks = lz_chunks(w->tools->matcher);
        else
            chunks = lz_match_segment(w->tools->matcher, level, s->in, len);
        *matched = clock_seconds();
        return huff_encode_segment(w->tools->encoder, s->in, len, chunks, level->split, s->last,
                                   s->out, &s->out_len);
    }
    chunks = lz_match_after(w->tools->matcher, level, s->in, len);
    *matched = clock_seconds();
    return huff_encode_after(w->tools->encoder, s->in, len, chunks, level->split, s->last, s->out,
                             &s->out_len);
}

/* Matches the segment, unless a GPU did, and encodes it; called without the lock, by its owner.
 * *match, *encode: the seconds that these took, all threads together. */
static enum pipeline_status encode_segment(struct worker *w, struct slot *s, double *match,
                                           double *encode)
{
    struct job *j = w->job;
    const bool in_parts = w->split.matcher != NULL;
    double start = clock_seconds(), matched = start;
    bool ok;

    *match = *encode = 0;
    /* Before anything that can fail: others read the segment. */
    if (in_parts)
        finish_parts(w);
    if (s->chunks == NULL) {
        ok = match_and_encode(w, s, in_parts, &matched);
    } else {
        ok = huff_encode_segment(w->tools->encoder, s->in, s->len, s->chunks, j->level->split,
                                 s->last, s->out, &s->out_len);
        if (!ok) {
            /* The GPU was wrong.  The CPU is not. */
            w->redone++;
            ok = match_and_encode(w, s, false, &matched);
        }
    }
    s->crc = gz_crc32(0, s->in + s->before, s->len);
    *match = in_parts ? w->split.seconds : matched - start;
    *encode = clock_seconds() - matched;
    return ok ? PIPELINE_OK : PIPELINE_WRONG;
}

/* Sees to it that the worker has the memory that it needs for a segment.  False if there is none to be had:
 * then it has to leave, which is no failure as long as others work.  Gives up the lock for a while. */
static bool get_memory(struct worker *w)
{
    struct job *j = w->job;
    struct pipeline *p = j->pipeline;

    for (;;) {
        if (w->tools == NULL && p->tools != NULL) {
            w->tools = p->tools;
            p->tools = w->tools->next;
        } else if (w->tools == NULL) {
            unlock(j);
            w->tools = new_tools(p);
            lock(j);
        }
        if (w->tools != NULL && w->tools->out == NULL)
            w->tools->out = j->spare_count > 0 ? j->spare[--j->spare_count]
                                               : malloc(huff_bound(j->segment_size));
        if (w->tools != NULL && w->tools->out != NULL)
            return true;
        if (j->failed)
            return false;
        if (j->working > 1) {
            j->have_left = true;
            return false;
        }
        /* There is nothing left to write that could give a buffer back: others would have written it. */
        if (j->leaving == 0) {
            fail(j, PIPELINE_NO_MEMORY, 0);
            return false;
        }
        pthread_cond_wait(&p->can_work, &p->lock);
    }
}

/* The end of a worker.  Its memory is kept for the next input, unless there is too little.  Gives up the
 * lock for a while. */
static void leave_work(struct worker *w)
{
    struct job *j = w->job;
    struct pipeline *p = j->pipeline;

    j->stats.redone_segments += w->redone;
    j->working--;
    if (!j->have_left && w->tools != NULL) {
        w->tools->next = p->tools;
        p->tools = w->tools;
        return;
    }
    /* No others take its place. */
    j->threads = j->started;
    j->leaving++;
    unlock(j);
    free_tools(w->tools);
    lock(j);
    j->leaving--;
    wake_all(j);
}

/* All that a worker does; called without the lock. */
static void work(struct worker *w)
{
    struct job *j = w->job;
    struct slot *s;

    lock(j);
    while (get_memory(w) && (s = next_segment(j, w)) != NULL) {
        enum pipeline_status status;
        double match, encode;

        s->out = w->tools->out;
        w->tools->out = NULL;
        unlock(j);
        status = encode_segment(w, s, &match, &encode);
        lock(j);
        if (status != PIPELINE_OK)
            fail(j, status, 0);
        if (s->chunks != NULL) {
            j->stats.gpu_segments++;
        } else {
            j->stats.cpu_segments++;
            j->match_seconds += match;
            j->matching -= s->feeder == NULL;
        }
        j->stats.match += match;
        j->stats.encode += encode;
        if (s->feeder != NULL && --s->feeder->pending == 0)
            pthread_cond_broadcast(&j->pipeline->can_feed);
        s->done = true;
        write_finished(j);
    }
    leave_work(w);
    unlock(j);
}

static void *worker_main(void *argument)
{
    work(argument);
    return NULL;
}

/* --- Feeders --- */

/* Hands the feeder's segments to the workers: matched, or not if the GPU failed. */
static void hand_over(struct feeder *f, bool matched)
{
    struct job *j = f->job;

    for (unsigned i = 0; i < f->count; i++) {
        struct slot *s = &j->slots[(f->first + i) % j->slot_count];

        s->chunks = matched ? gpu_batch_chunks(f->batch, i) : NULL;
        push(j, &j->ready, s);
        more_workers(j);
    }
    j->feeder_segments -= f->count;
    if (matched) {
        j->gpu_matched += f->count;
        j->paces[j->pace_count++ % PACES] = (struct pace){clock_seconds(), j->gpu_matched};
        j->stats.gpu.copy_in += f->batch->times.copy_in;
        j->stats.gpu.kernels += f->batch->times.kernels;
        j->stats.gpu.copy_out += f->batch->times.copy_out;
    }
    pthread_cond_broadcast(&j->pipeline->can_work);
}

/* Claims the feeder's segments and has them read.  If the job has failed, they may not have been, or
 * workers may be at it still. */
static void claim_batch(struct feeder *f)
{
    struct job *j = f->job;
    const bool is_any = next_is_any(j);

    /* Segments of this size, whole KiB, lie one after another. */
    gpu_batch_clear(f->batch);
    for (unsigned i = 0, index; i < f->most; i++) {
        uint8_t *in = gpu_batch_add(f->batch, j->segment_size, &index);

        if (i == 0)
            f->in = in;
    }
    f->first = j->next_claim;
    /* Counted before they are read: workers must not think that all is done. */
    j->feeder_segments += f->most;
    f->count = is_any ? claim_any(j, f->most, f->in) : claim_in_order(j, f->most, f->in);
    j->feeder_segments -= f->most - f->count;
    f->pending = f->count;
    for (unsigned i = f->count; i < f->most; i++)
        gpu_batch_set_length(f->batch, i, 0);
    for (unsigned i = 0; i < f->count; i++) {
        struct slot *s = &j->slots[(f->first + i) % j->slot_count];

        s->feeder = f;
        gpu_batch_set_length(f->batch, i, s->len);
        if (is_any)
            push(j, &j->unread, s);
    }
    start_feeder(j, f->gpu);
    if (!is_any)
        return;
    f->unread = f->count;
    more_workers(j);
    pthread_cond_broadcast(&j->pipeline->can_work);
    while (f->unread > 0 && !j->failed)
        pthread_cond_wait(&j->pipeline->can_feed, &j->pipeline->lock);
}

/* Claims segments, has them matched, and hands them over; returns false if the GPU failed. */
static bool feed(struct feeder *f, struct gpu_engine *engine, char error[GPU_ERROR_SIZE])
{
    struct job *j = f->job;
    bool ok;

    claim_batch(f);
    if (j->failed || f->batch->length == 0) {
        /* Nothing to match, or of no use. */
        hand_over(f, false);
        return true;
    }
    unlock(j);
    ok = gpu_submit(engine, f->batch, error) && gpu_collect(engine, f->batch, error);
    lock(j);
    hand_over(f, ok);
    return ok;
}

/* All that a feeder does. */
static void *feeder_main(void *argument)
{
    struct feeder *f = argument;
    struct job *j = f->job;
    struct gpus *gpus = j->pipeline->gpus;
    char error[GPU_ERROR_SIZE] = "";
    bool ok;

    f->batch = gpus_batch(gpus, f->gpu, f->number, error);
    /* Without the first batch, the GPU is of no use; without others, only slower. */
    ok = f->batch != NULL || f->number > 0;
    if (f->batch != NULL)
        f->most = (unsigned)(f->batch->capacity / j->segment_size);
    lock(j);
    while (ok && f->batch != NULL && !j->failed && !all_claimed(j)) {
        struct gpu_engine *engine = gpus_engine(gpus, f->gpu);

        if (engine == NULL)
            break;
        if (f->pending == 0 && can_read(j) && has_room(j, f->most, 0)) {
            ok = feed(f, engine, error);
            consider_gpus(j);
        } else {
            pthread_cond_wait(&j->pipeline->can_feed, &j->pipeline->lock);
        }
    }
    if (!ok)
        gpus_fail(gpus, f->gpu, error);
    j->feeding--;
    /* The workers may be on their own from now on. */
    if (!all_claimed(j))
        more_workers(j);
    wake_all(j);
    unlock(j);
    return NULL;
}

/* --- One input --- */

/* Slots for what all the GPUs that there may be can hold, but no more than a file has segments: a
 * small one has to do without much ado. */
static uint64_t slots_for_gpus(const struct job *j)
{
    const uint64_t most = GPUS_MAX * GPUS_BATCHES * (uint64_t)j->batch_segments;

    return source_is_file(&j->source) && j->source.random_access < most ? j->source.random_access
                                                                        : most;
}

/* Makes what a job needs beside its source; false if memory is short.  free_job has to follow. */
static bool init_job(struct job *j)
{
    struct pipeline *p = j->pipeline;

    j->batch_segments =
        (unsigned)(p->batch_size < j->segment_size ? 1 : p->batch_size / j->segment_size);
    j->claimers = j->level->passes == 0 && !p->config.rsyncable && j->threads > CLAIMERS
                      ? CLAIMERS
                      : j->threads;
    j->slot_count = j->slots_in_use = slots_for_workers(j);
    if (p->gpus != NULL) {
        j->slots_in_use += j->batch_segments;
        j->slot_count = j->slots_in_use + slots_for_gpus(j);
        j->feeders = calloc(GPUS_MAX * GPUS_BATCHES, sizeof(*j->feeders));
        if (j->feeders == NULL)
            return false;
    }
    j->any_order = j->source.random_access;
    if (p->gpus != NULL && !source_is_file(&j->source)) {
        j->ahead_most = AHEAD_SIZE / j->segment_size;
        j->ahead = calloc(j->ahead_most, sizeof(*j->ahead));
        if (j->ahead == NULL)
            return false;
    }
    j->slots = calloc(j->slot_count, sizeof(*j->slots));
    j->spare = calloc(j->slot_count, sizeof(*j->spare));
    j->unread.ring = calloc(j->slot_count, sizeof(*j->unread.ring));
    j->ready.ring = calloc(j->slot_count, sizeof(*j->ready.ring));
    j->workers = calloc((size_t)j->threads, sizeof(*j->workers));
    if (j->slots == NULL || j->spare == NULL || j->unread.ring == NULL || j->ready.ring == NULL ||
        j->workers == NULL)
        return false;
    for (int i = 0; i < j->threads; i++)
        j->workers[i].job = j;
    return true;
}

/* Does the work, this thread being the first worker, and waits for all others. */
static void run_job(struct job *j)
{
    struct pipeline *p = j->pipeline;

    lock(j);
    /* This thread, before a feeder starts others. */
    j->started = j->working = 1;
    consider_gpus(j);
    if (p->wait_for_gpu) {
        unlock(j);
        gpus_wait(p->gpus);
        lock(j);
        consider_gpus(j);
    }
    unlock(j);
    work(&j->workers[0]);
    /* A worker may be started while another is waited for, but none once all have ended. */
    for (int i = 1;; i++) {
        bool is_started;

        lock(j);
        is_started = i < j->started;
        unlock(j);
        if (!is_started)
            break;
        pthread_join(j->workers[i].thread, NULL);
    }
    /* Workers end once all is claimed, or the job has failed; no feeder is started after that. */
    for (int gpu = 0; gpu < j->gpus_fed; gpu++)
        for (int i = 0; i < j->gpu_feeders[gpu]; i++)
            pthread_join(j->feeders[gpu * GPUS_BATCHES + i].thread, NULL);
    if (j->stats.gpu_segments > 0)
        gpus_names(p->gpus, p->gpu_names);
}

/* Frees what init_job made, and the source. */
static void free_job(struct job *j)
{
    source_finish(&j->source);
    /* Most slots are for GPUs that are not there, and were never touched: that is to stay so. */
    for (uint64_t i = 0; i < j->next_claim && i < j->slot_count; i++)
        free(j->slots[i].out);
    free(j->ahead);
    free(j->ahead_in);
    for (uint64_t i = 0; i < j->spare_count; i++)
        free(j->spare[i]);
    free(j->slots);
    free(j->spare);
    free(j->unread.ring);
    free(j->ready.ring);
    free(j->workers);
    free(j->feeders);
}

enum pipeline_status pipeline_compress(struct pipeline *p, int in_fd, int out_fd,
                                       const uint8_t *header, size_t header_len,
                                       struct progress *progress, struct pipeline_stats *stats,
                                       int *error_number)
{
    struct job j = {
        .pipeline = p,
        .level = p->level,
        .segment_size = p->config.segment_size,
        .out_fd = out_fd,
        .header = header,
        .header_len = header_len,
        .progress = progress,
        .total = UINT64_MAX,
        .threads = p->config.threads,
        .claimed[0].time = clock_seconds(),
    };

    if (!p->config.rsyncable)
        source_init(&j.source, in_fd, j.segment_size, j.threads >= PIPE_READER_FROM);
    else if (!source_init_pieces(&j.source, in_fd))
        return PIPELINE_NO_MEMORY;
    j.claimed[1] = j.claimed[0];
    if (init_job(&j)) {
        run_job(&j);
        *stats = j.stats;
        *error_number = j.error_number;
    } else {
        j.status = PIPELINE_NO_MEMORY;
    }
    free_job(&j);
    return j.status;
}

/* From how many bytes on a GPU pays: where the cores would take longer than it does to bring one up.
 * However many they are, they take as long as one of them does for a segment; so where that is long,
 * and a GPU will have brought a batch back by then, a whole segment is enough. */
static uint64_t gpu_min(const struct pipeline_config *config)
{
    const double speed = core_speed[config->level] * 1e6;
    const uint64_t bytes = (uint64_t)(GPU_SECONDS * config->threads * speed);

    return (double)config->segment_size / speed > GPU_BATCH_SECONDS && config->segment_size < bytes
               ? config->segment_size
               : bytes;
}

/* Makes the pipeline's GPUs ready to come up; false, with the reason in error, if they cannot, or
 * none does that is asked for. */
static bool init_gpus(struct pipeline *p, char error[GPU_ERROR_SIZE])
{
    const char *min = getenv("GZLZSS_TEST_GPU_MIN");

    p->gpus = gpus_new(&p->config.gpus, p->level, p->config.segment_size, p->batch_size,
                       (int)(BATCHES_SIZE / p->batch_size), gpus_changed, p);
    if (p->gpus == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        return false;
    }
    p->gpu_min = gpu_min(&p->config);
    p->further_gpu_min = BYTES_PER_FURTHER_GPU;
    p->bottleneck_share = BOTTLENECK_SHARE;
    p->wait_for_gpu = p->config.backend == BACKEND_GPU;
    if (min != NULL) {
        p->gpu_min = p->further_gpu_min = strtoull(min, NULL, 10);
        p->bottleneck_share = 0;
        p->wait_for_gpu |= p->gpu_min == 0;
    }
    if (p->config.backend == BACKEND_AUTO)
        return true;
    want_gpus(p, 0);
    gpus_wait(p->gpus);
    gpus_trouble(p->gpus, error);
    return gpus_state(p->gpus) == GPUS_READY;
}

int pipeline_threads(const struct pipeline_config *config)
{
    const struct lz_level *level = lz_level(config->level);
    const size_t size = config->segment_size;
    /* What is read, and up to two outputs: data that cannot be compressed fills these. */
    const uint64_t filled = 3 * size + (level->passes > 0 ? WORKER_SIZE_SLOW : WORKER_SIZE);
    const uint64_t mapped = lz_matcher_size(level, size) + size + 2 * huff_bound(size) +
                            PIPELINE_STACK_SIZE + WORKER_SIZE;
    uint64_t threads = (uint64_t)config->threads;

    if (config->memory > 0 && config->memory / MEMORY_SHARE / filled < threads)
        threads = config->memory / MEMORY_SHARE / filled;
    if (config->address_space > 0 && config->address_space / ADDRESSES_SHARE / mapped < threads)
        threads = config->address_space / ADDRESSES_SHARE / mapped;
    return threads > 0 ? (int)threads : 1;
}

struct pipeline *pipeline_new(const struct pipeline_config *config, char error[GPU_ERROR_SIZE])
{
    struct pipeline *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        return NULL;
    }
    p->config = *config;
    if (config->rsyncable) {
        /* Segments are of all sizes then, which is not for batches. */
        p->config.backend = BACKEND_CPU;
        p->config.segment_size = LZ_CHUNK_SIZE + SOURCE_PIECE_MAX;
    }
    p->config.threads = pipeline_threads(&p->config);
    p->level = lz_level(config->level);
    if (p->config.backend == BACKEND_AUTO && config->memory > 0 && config->memory < GPU_HOST_MEMORY)
        p->config.backend = BACKEND_CPU;
    p->batch_size = config->level >= SLOW_LEVEL ? BATCH_SIZE_SLOW : BATCH_SIZE;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->can_work, NULL);
    pthread_cond_init(&p->can_feed, NULL);
    pthread_cond_init(&p->can_join, NULL);
    if (p->config.backend != BACKEND_CPU && !init_gpus(p, error)) {
        pipeline_free(p);
        return NULL;
    }
    return p;
}

bool pipeline_free(struct pipeline *p)
{
    /* Threads that bring up GPUs use what is left otherwise. */
    if (p->gpus != NULL && !gpus_free(p->gpus))
        return false;
    for (struct tools *t = p->tools, *next; t != NULL; t = next) {
        next = t->next;
        free_tools(t);
    }
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->can_work);
    pthread_cond_destroy(&p->can_feed);
    pthread_cond_destroy(&p->can_join);
    free(p);
    return true;
}

const char *pipeline_gpu_name(const struct pipeline *p)
{
    return p->gpu_names[0] != '\0' ? p->gpu_names : NULL;
}

const char *pipeline_gpu_trouble(struct pipeline *p)
{
    p->trouble[0] = '\0';
    if (p->gpus != NULL)
        gpus_trouble(p->gpus, p->trouble);
    return p->trouble;
}

void pipeline_why_no_gpu(const struct pipeline *p, const struct pipeline_config *asked,
                         const struct pipeline_stats *stats, char why[GPU_ERROR_SIZE])
{
#ifndef HAVE_CUDA
    (void)p;
    (void)asked;
    (void)stats;
    snprintf(why, GPU_ERROR_SIZE, "this gzlzss was built without CUDA");
#else
    if (asked->backend == BACKEND_CPU)
        snprintf(why, GPU_ERROR_SIZE, "not wanted");
    else if (gpus_are_missing(why))
        return;
    else if (asked->rsyncable)
        snprintf(why, GPU_ERROR_SIZE, "not with --rsyncable");
    else if (p->config.memory > 0 && p->config.memory < GPU_HOST_MEMORY)
        snprintf(why, GPU_ERROR_SIZE, "with less than %d GiB of memory, only by --backend=gpu",
                 (int)(GPU_HOST_MEMORY >> 30));
    else if (p->config.backend == BACKEND_CPU)
        snprintf(why, GPU_ERROR_SIZE, "small files are worked on side by side");
    else if (stats->cpu_kept_up)
        snprintf(why, GPU_ERROR_SIZE, "the CPU kept up with the input");
    else if (stats->wanted_gpus)
        snprintf(why, GPU_ERROR_SIZE, "the CPU was done before it was up");
    else
        snprintf(why, GPU_ERROR_SIZE,
                 "below about %.0f MB the CPU is faster (level %d, %d thread%s)",
                 (double)gpu_min(asked) / 1e6, asked->level, asked->threads,
                 asked->threads == 1 ? "" : "s");
#endif
}
