/*
 * pipeline.c - compression of one input into one gzip member, by many threads and perhaps a GPU
 *
 * How data flows.  The input is a row of segments, numbered from 0.  Each is claimed (its number is
 * taken and its bytes are read), matched, encoded, and written, and every step but the last can be
 * done for many segments at a time, in any order:
 *
 *   worker threads   claim a segment, match it with the CPU engine and encode it; or encode one the
 *                    GPU has matched, which comes first, since it frees the GPU's memory.
 *   the feeder       a thread that claims a batch of segments for the GPU, submits it, and hands
 *                    matched batches to the workers.  It runs only if there is a GPU to feed.
 *   the writer       is whichever worker finishes the segment that is next in the output: it writes
 *                    that and all finished ones after it, while others work on.
 *
 * The caller's thread is the first worker.  Others are started only when there is another segment
 * to work on, so that a small input costs no thread.
 *
 * Who owns what.  A slot holds what is known of a claimed segment until it is written; segment i
 * has slot i % slot_count, so it can be claimed only when the one slot_count before it is written:
 * that bounds the memory and makes readers wait for the writer.  A slot belongs to the thread that
 * claimed it; a matched segment's slot waits in the queue `ready`, then belongs to the worker that
 * takes it there; once `done`, to the writer.  Input bytes are in the worker's own buffer, or in
 * the GPU batch's, which is free again when all its segments are encoded.  Everything in struct job
 * is under its lock, except a slot, a buffer or a batch in its owner's hands, and the source, of
 * which any thread may read the segments that can be read in any order, and the rest only the
 * thread that has set `reading`.
 *
 * With --rsyncable, segments are pieces of the input that end where its content says so
 * (source.h).  Each is read behind the window before it, from which its matches may come; they are
 * read in order, by one worker at a time, and matched by the CPU alone.
 *
 * If anything fails, `failed` is set and all threads stop taking up work.  If the GPU fails, that
 * is not a failure: its segments go to the workers unmatched, and the feeder ends.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "compat/crc.h"
#include "compat/gzip.h"
#include "huffman/huffman.h"
#include "src/cleanup.h"
#include "src/clock.h"
#include "src/io.h"
#include "src/pipeline.h"
#include "src/progress.h"
#include "src/source.h"

/*
 * Batches of segments for the GPU.  Larger batches fill a large GPU better; more batches let
 * copies, kernels and encoding overlap.  Both cost pinned memory: 2.5 bytes for every byte of a
 * batch, 160 MiB in all, which takes 0.06 s to get.  On an H200, level 1, the GPU stage
 * reaches 16.8 GB/s with 16 MiB x 4, 16.9 with 32 MiB x 4 and 15.2 with 48 MiB x 3.
 */
#define BATCH_SIZE ((size_t)16 << 20)
#define BATCHES 4

/*
 * With BACKEND_AUTO, a GPU is brought up for inputs of this many bytes for each thread.  Bringing
 * it up and closing it down takes 0.4 s, in which the CPU gets a good deal done by itself, the more
 * the faster the level.  With 16 threads and an H200, seconds without and with the GPU beside the
 * CPU: level 1, 1.4 GB of source: 0.48 and 0.60; level 6, the same: 1.35 and 0.90; level 6, 0.43 GB
 * of source: 0.40 and 0.50; level 6, 0.46 GB of machine code: 0.74 and 0.54.
 *
 * At the slow levels a GPU is as fast as many cores, and a core takes most of a second for a
 * segment that it starts on: once the GPU is there, the CPU leaves matching to it.  With 16 threads
 * and an H100, level 10, 0.2 GB of source: 2.20 s without a GPU, 1.6 sharing to the end, 0.86 all
 * by the GPU; 64 MB: 0.87, 1.06, 0.62.
 */
#define GPU_MIN_BYTES_PER_THREAD ((uint64_t)64 << 20)
#define GPU_MIN_BYTES_PER_THREAD_FAST ((uint64_t)256 << 20)
#define GPU_MIN_BYTES_PER_THREAD_SLOW ((uint64_t)8 << 20)
#define FAST_LEVEL 4  /* the last that counts as fast */
#define SLOW_LEVEL 10 /* the first that counts as slow */

static const char no_thread[] = "cannot start a thread";

enum gpu_state { GPU_ABSENT, GPU_OPENING, GPU_READY, GPU_FAILED };

/* A worker's own memory; it carries nothing from one input to the next, but is kept, as getting it
 * costs more than a small input does. */
struct tools {
    struct lz_matcher *matcher;
    struct huff_encoder *encoder;
    uint8_t *in; /* a segment, and LZ_INPUT_PAD zeros */
    struct tools *next;
};

struct pipeline {
    struct pipeline_config config;
    const struct lz_level *level;
    uint64_t gpu_min;  /* bytes of input from which BACKEND_AUTO wants a GPU */
    bool wait_for_gpu; /* a test wants BACKEND_AUTO to share even the smallest input with the GPU */
    uint8_t *out;      /* an output buffer of the input before, or NULL */
    pthread_mutex_t lock;  /* of what follows, which other threads change */
    struct tools *tools;   /* that nobody uses */
    pthread_cond_t opened; /* state is not GPU_OPENING any more */
    enum gpu_state state;
    struct gpu_engine *gpu;       /* if state is GPU_READY, or was */
    bool gpu_used;                /* for any input */
    char trouble[GPU_ERROR_SIZE]; /* why state is GPU_FAILED */
};

/* Segments that the GPU matches in one go. */
struct batch {
    struct gpu_batch *gpu;
    uint64_t first;   /* segments in it: this one, */
    unsigned count;   /* and so many in all */
    unsigned pending; /* of these, how many are not encoded yet; 0: the batch is free */
};

/* What is known of a claimed segment. */
struct slot {
    uint64_t index; /* the segment's number */
    const uint8_t *in;
    size_t before;       /* bytes of in that come before the segment: 0 or LZ_CHUNK_SIZE */
    size_t len;          /* of the segment */
    bool last;           /* the input ends with it */
    struct batch *batch; /* whose memory `in` is in, or NULL */
    const struct lz_chunk *chunks; /* found by the GPU, or NULL */
    uint8_t *out;                  /* taken when it is encoded, given back when it is written */
    size_t out_len;
    uint32_t crc; /* of the segment alone */
    bool done;    /* encoded: it is the writer's */
};

struct job;

struct worker {
    struct job *job;
    pthread_t thread; /* but for the first, which is the caller's */
    struct tools *tools;
    double read, match, encode; /* seconds, as in struct pipeline_stats */
    uint64_t redone;            /* segments */
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

    pthread_mutex_t lock;
    pthread_cond_t changed;      /* anything that a thread may wait for */
    enum pipeline_status status; /* PIPELINE_OK unless failed */
    int error_number;
    bool failed;

    struct slot *slots; /* segment i has slots[i % slot_count] */
    uint64_t slot_count;
    uint8_t **spare; /* output buffers that no slot has; room for one of every slot */
    uint64_t spare_count;
    uint64_t next_claim, next_write; /* segments: all before these are claimed, and written */
    uint64_t total;                  /* segments in all, UINT64_MAX until the last was read */
    bool reading;                    /* a thread is reading in order */
    bool writing;                    /* a thread is the writer */

    struct worker *workers; /* as many as there may be threads */
    int threads, started;   /* workers that may be, and that were, started */
    bool cpu_matches;       /* workers may claim segments */

    bool feeding; /* the feeder runs */
    pthread_t feeder;
    struct batch batches[BATCHES];
    int batch_count;
    unsigned batch_segments;         /* segments that fit in a batch */
    unsigned feeder_segments;        /* segments the feeder has claimed and not handed over */
    struct slot **ready;             /* a ring of `slot_count` entries */
    uint64_t ready_first, ready_end; /* of what is in it, counted on without end */

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
    free(t);
}

/* NULL if memory is short. */
static struct tools *take_tools(struct pipeline *p)
{
    const size_t size = p->config.segment_size;
    struct tools *t;

    pthread_mutex_lock(&p->lock);
    t = p->tools;
    if (t != NULL)
        p->tools = t->next;
    pthread_mutex_unlock(&p->lock);
    if (t != NULL)
        return t;
    t = calloc(1, sizeof(*t));
    if (t == NULL)
        return NULL;
    t->matcher = lz_matcher_new(p->level, size);
    t->encoder = huff_encoder_new();
    t->in = malloc(size + LZ_INPUT_PAD);
    if (t->matcher == NULL || t->encoder == NULL || t->in == NULL) {
        free_tools(t);
        return NULL;
    }
    memset(t->in + size, 0, LZ_INPUT_PAD);
    return t;
}

static void return_tools(struct pipeline *p, struct tools *t)
{
    if (t == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    t->next = p->tools;
    p->tools = t;
    pthread_mutex_unlock(&p->lock);
}

/* --- Threads, and the GPU ---
 *
 * Functions that take a struct job are called with its lock held, unless they say otherwise; those
 * that take a struct pipeline lock it themselves. */

/* Makes all threads end, for this reason if there was none before. */
static void fail(struct job *j, enum pipeline_status status, int error_number)
{
    if (!j->failed) {
        j->failed = true;
        j->status = status;
        j->error_number = error_number;
        source_cancel(&j->source);
    }
    pthread_cond_broadcast(&j->changed);
}

static void *worker_main(void *argument);
static void *feeder_main(void *argument);

/* Starts another worker if one more may run. */
static void more_workers(struct job *j)
{
    if (j->failed || j->started == j->threads)
        return;
    /* If the system has no more threads to give, those there are do the work. */
    if (cleanup_start_thread(&j->workers[j->started].thread, worker_main, &j->workers[j->started]))
        j->started++;
    else
        j->threads = j->started;
}

/* The GPU is not to be used any more, or not at all. */
static void gpu_failed(struct pipeline *p, const char *why)
{
    pthread_mutex_lock(&p->lock);
    p->state = GPU_FAILED;
    snprintf(p->trouble, sizeof(p->trouble), "%s", why);
    pthread_mutex_unlock(&p->lock);
}

/* Starts the feeder if there is a GPU ready to be fed. */
static void start_feeder(struct job *j)
{
    struct pipeline *p = j->pipeline;
    bool is_ready;

    if (j->feeding || p->config.backend == BACKEND_CPU)
        return;
    pthread_mutex_lock(&p->lock);
    is_ready = p->state == GPU_READY;
    pthread_mutex_unlock(&p->lock);
    if (!is_ready)
        return;
    j->batch_count = gpu_batches(p->gpu);
    for (int i = 0; i < j->batch_count; i++)
        j->batches[i] = (struct batch){.gpu = gpu_batch(p->gpu, i)};
    j->batch_segments = (unsigned)(j->batches[0].gpu->capacity / j->segment_size);
    j->feeding = cleanup_start_thread(&j->feeder, feeder_main, j);
    if (!j->feeding)
        gpu_failed(p, no_thread);
    else if (p->config.level >= SLOW_LEVEL && !p->wait_for_gpu)
        j->cpu_matches = false;
}

static void *open_gpu(void *argument)
{
    struct pipeline *p = argument;
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_engine *gpu =
        gpu_open(p->config.device, p->level, p->config.segment_size, BATCH_SIZE, BATCHES, error);

    pthread_mutex_lock(&p->lock);
    p->gpu = gpu;
    p->state = gpu != NULL ? GPU_READY : GPU_FAILED;
    memcpy(p->trouble, error, sizeof(error));
    pthread_cond_broadcast(&p->opened);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Starts bringing up the GPU in the background, if that was not done yet. */
static void start_opening(struct pipeline *p)
{
    pthread_t thread;

    pthread_mutex_lock(&p->lock);
    if (p->state == GPU_ABSENT) {
        p->state = GPU_OPENING;
        if (cleanup_start_thread(&thread, open_gpu, p)) {
            pthread_detach(thread);
        } else {
            p->state = GPU_FAILED;
            snprintf(p->trouble, sizeof(p->trouble), "%s", no_thread);
        }
    }
    pthread_mutex_unlock(&p->lock);
}

static void wait_until_opened(struct pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->state == GPU_OPENING)
        pthread_cond_wait(&p->opened, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

/* --- Claiming --- */

/* Whether all segments are claimed. */
static bool all_claimed(const struct job *j)
{
    return j->next_claim == j->total;
}

/* Whether `count` more segments may be claimed and leave `reserve` slots free. */
static bool has_room(const struct job *j, uint64_t count, uint64_t reserve)
{
    return j->next_claim + count + reserve <= j->next_write + j->slot_count;
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
    s->batch = NULL;
    s->chunks = NULL;
    s->done = false;
}

/*
 * Both claim up to `count` segments and read them into buf, one after another; they give up the
 * lock while they read.  They return how many there were, 0 if the job has failed.  The caller has
 * seen that not all are claimed.
 */

/* Of the segments that can be read in any order; there is at least one. */
static unsigned claim_any(struct job *j, unsigned count, uint8_t *buf, double *seconds)
{
    const uint64_t first = j->next_claim;
    double start;
    bool ok;
    int error;

    if (count > j->source.random_access - first)
        count = (unsigned)(j->source.random_access - first);
    j->next_claim += count;
    pthread_mutex_unlock(&j->lock);
    start = clock_seconds();
    ok = source_read_at(&j->source, first, count, buf);
    error = errno;
    *seconds += clock_seconds() - start;
    pthread_mutex_lock(&j->lock);
    if (!ok)
        fail(j, PIPELINE_READ_ERROR, error);
    if (j->failed)
        return 0;
    for (unsigned i = 0; i < count; i++)
        fill_slot(j, first + i, buf + i * j->segment_size, 0, j->segment_size, false);
    return count;
}

/* Of the others, which no other thread must be reading; with --rsyncable, of which the feeder never
 * sees anything, count is 1. */
static unsigned claim_in_order(struct job *j, unsigned count, uint8_t *buf, double *seconds)
{
    const uint64_t first = j->next_claim;
    size_t before = 0, len = 0; /* of the last one read */
    bool ok = true, last = false;
    unsigned got = 0;
    int error = 0;
    double start;

    j->reading = true;
    pthread_mutex_unlock(&j->lock);
    start = clock_seconds();
    while (ok && !last && got < count) {
        ok = j->pipeline->config.rsyncable
                 ? source_next_piece(&j->source, buf, &before, &len, &last)
                 : source_read_next(&j->source, buf + got * j->segment_size, &len, &last);
        error = errno;
        got++;
    }
    *seconds += clock_seconds() - start;
    pthread_mutex_lock(&j->lock);
    j->reading = false;
    j->next_claim += got;
    if (last)
        j->total = j->next_claim;
    pthread_cond_broadcast(&j->changed);
    if (!ok)
        fail(j, PIPELINE_READ_ERROR, error);
    if (j->failed)
        return 0;
    for (unsigned i = 0; i + 1 < got; i++)
        fill_slot(j, first + i, buf + i * j->segment_size, 0, j->segment_size, false);
    fill_slot(j, first + got - 1, buf + (got - 1) * j->segment_size, before, len, last);
    return got;
}

static unsigned claim(struct job *j, unsigned count, uint8_t *buf, double *seconds)
{
    return j->next_claim < j->source.random_access ? claim_any(j, count, buf, seconds)
                                                   : claim_in_order(j, count, buf, seconds);
}

/* Whether the next segment can be claimed right now, as far as reading goes. */
static bool can_read(const struct job *j)
{
    return !all_claimed(j) && (j->next_claim < j->source.random_access || !j->reading);
}

/* Brings up and feeds a GPU once the input is known to be large enough. */
static void consider_gpu(struct job *j)
{
    struct pipeline *p = j->pipeline;
    uint64_t known =
        j->next_claim > j->source.random_access ? j->next_claim : j->source.random_access;

    if (p->config.backend == BACKEND_CPU || j->feeding)
        return;
    if (p->config.backend == BACKEND_AUTO && known * j->segment_size >= p->gpu_min)
        start_opening(p);
    start_feeder(j);
}

/* The next segment for a worker to encode, after waiting for one if need be; NULL if there will be
 * none. */
static struct slot *next_segment(struct job *j, struct worker *w)
{
    for (;;) {
        /* Slots that workers must leave free: a whole batch for the feeder, which would never see
         * one if they took every slot that comes free; without it, all but what keeps the threads
         * busy. */
        uint64_t reserve =
            j->feeding ? j->batch_segments : j->slot_count - (2 * (uint64_t)j->threads + 2);

        if (j->failed)
            return NULL;
        if (j->ready_first != j->ready_end) {
            struct slot *s = j->ready[j->ready_first++ % j->slot_count];

            if (j->ready_first != j->ready_end)
                more_workers(j);
            return s;
        }
        if (all_claimed(j) && j->feeder_segments == 0)
            return NULL;
        if (j->cpu_matches && can_read(j) && has_room(j, 1, reserve)) {
            uint64_t index = j->next_claim;

            if (claim(j, 1, w->tools->in, &w->read) == 0)
                return NULL;
            if (!all_claimed(j))
                more_workers(j);
            consider_gpu(j);
            return &j->slots[index % j->slot_count];
        }
        pthread_cond_wait(&j->changed, &j->lock);
    }
}

/* --- Writing --- */

/* Writes one finished segment, with the header before the first and the trailer after the last;
 * called without the lock, by the writer. */
static bool write_segment(struct job *j, const struct slot *s, uint64_t *bytes)
{
    uint8_t trailer[GZ_TRAILER_SIZE];
    struct iovec parts[3];
    int n = 0;

    if (s->index == 0)
        parts[n++] = (struct iovec){(void *)j->header, j->header_len};
    parts[n++] = (struct iovec){s->out, s->out_len};
    if (s->last) {
        gz_write_trailer(trailer, j->crc, j->stats.in_bytes);
        parts[n++] = (struct iovec){trailer, sizeof(trailer)};
    }
    *bytes = 0;
    for (int i = 0; i < n; i++)
        *bytes += parts[i].iov_len;
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
        struct slot *s = &j->slots[j->next_write % j->slot_count];
        uint64_t bytes;
        double start;
        bool ok;
        int error;

        if (!s->done || s->index != j->next_write)
            break;
        j->crc = s->index == 0 ? s->crc : gz_crc32_combine(j->crc, s->crc, s->len);
        j->stats.in_bytes += s->len;
        pthread_mutex_unlock(&j->lock);
        start = clock_seconds();
        ok = write_segment(j, s, &bytes);
        error = errno;
        pthread_mutex_lock(&j->lock);
        j->stats.write += clock_seconds() - start;
        if (!ok) {
            cleanup_signal_for(error);
            fail(j, PIPELINE_WRITE_ERROR, error);
            break;
        }
        j->stats.out_bytes += bytes;
        progress_update(j->progress, j->stats.in_bytes, j->stats.out_bytes, engines(j));
        s->done = false;
        j->spare[j->spare_count++] = s->out;
        s->out = NULL;
        j->next_write++;
        pthread_cond_broadcast(&j->changed);
    }
    j->writing = false;
}

/* --- Workers --- */

/* Matches and encodes the segment; false if the matches are none.  *matched: the time between. */
static bool match_and_encode(struct worker *w, struct slot *s, double *matched)
{
    const struct lz_level *level = w->job->level;
    const size_t len = s->before + s->len;
    const struct lz_chunk *chunks;

    if (s->before == 0) {
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

/* Matches the segment, unless the GPU did, and encodes it; called without the lock, by its owner.
 */
static enum pipeline_status encode_segment(struct worker *w, struct slot *s)
{
    struct job *j = w->job;
    double start = clock_seconds(), matched = start;
    bool ok;

    if (s->out == NULL) {
        s->out = malloc(huff_bound(j->segment_size));
        if (s->out == NULL)
            return PIPELINE_NO_MEMORY;
    }
    if (s->chunks == NULL) {
        ok = match_and_encode(w, s, &matched);
    } else {
        ok = huff_encode_segment(w->tools->encoder, s->in, s->len, s->chunks, j->level->split,
                                 s->last, s->out, &s->out_len);
        if (!ok) {
            /* The GPU was wrong.  The CPU is not. */
            w->redone++;
            ok = match_and_encode(w, s, &matched);
        }
    }
    s->crc = gz_crc32(0, s->in + s->before, s->len);
    w->match += matched - start;
    w->encode += clock_seconds() - matched;
    return ok ? PIPELINE_OK : PIPELINE_WRONG;
}

/* All that a worker does; called without the lock. */
static void work(struct worker *w)
{
    struct job *j = w->job;
    struct slot *s;

    w->tools = take_tools(j->pipeline);
    pthread_mutex_lock(&j->lock);
    if (w->tools == NULL) {
        /* The first worker has to work; with fewer others, things only take longer. */
        if (w == &j->workers[0])
            fail(j, PIPELINE_NO_MEMORY, 0);
        else
            j->threads = j->started;
    }
    while (w->tools != NULL && (s = next_segment(j, w)) != NULL) {
        enum pipeline_status status;

        if (j->spare_count > 0)
            s->out = j->spare[--j->spare_count];
        pthread_mutex_unlock(&j->lock);
        status = encode_segment(w, s);
        pthread_mutex_lock(&j->lock);
        if (status != PIPELINE_OK)
            fail(j, status, 0);
        if (s->chunks != NULL)
            j->stats.gpu_segments++;
        else
            j->stats.cpu_segments++;
        if (s->batch != NULL && --s->batch->pending == 0)
            pthread_cond_broadcast(&j->changed);
        s->done = true;
        write_finished(j);
    }
    j->stats.read += w->read;
    j->stats.match += w->match;
    j->stats.encode += w->encode;
    j->stats.redone_segments += w->redone;
    pthread_mutex_unlock(&j->lock);
    return_tools(j->pipeline, w->tools);
}

static void *worker_main(void *argument)
{
    work(argument);
    return NULL;
}

/* --- The feeder --- */

/* Hands a batch's segments to the workers: matched, or not if the GPU failed. */
static void hand_over(struct job *j, struct batch *b, bool matched)
{
    for (unsigned i = 0; i < b->count; i++) {
        struct slot *s = &j->slots[(b->first + i) % j->slot_count];

        s->chunks = matched ? b->gpu->chunks + i * LZ_CHUNKS(j->segment_size) : NULL;
        j->ready[j->ready_end++ % j->slot_count] = s;
        more_workers(j);
    }
    j->feeder_segments -= b->count;
    if (matched) {
        j->stats.gpu.copy_in += b->gpu->times.copy_in;
        j->stats.gpu.kernels += b->gpu->times.kernels;
        j->stats.gpu.copy_out += b->gpu->times.copy_out;
    }
    pthread_cond_broadcast(&j->changed);
}

/* Claims and submits segments for batch b; returns false if the GPU failed. */
static bool feed_batch(struct job *j, struct batch *b, double *read, char error[GPU_ERROR_SIZE])
{
    bool ok;

    b->first = j->next_claim;
    /* Counted before they are read: workers must not think that all is done. */
    j->feeder_segments += j->batch_segments;
    b->count = claim(j, j->batch_segments, b->gpu->input, read);
    j->feeder_segments -= j->batch_segments - b->count;
    b->pending = b->count;
    b->gpu->length = 0;
    for (unsigned i = 0; i < b->count; i++) {
        struct slot *s = &j->slots[(b->first + i) % j->slot_count];

        s->batch = b;
        b->gpu->length += s->len;
    }
    if (b->count == 0 || b->gpu->length == 0) {
        /* Nothing to match: the job failed, or the input is empty. */
        hand_over(j, b, false);
        return true;
    }
    pthread_mutex_unlock(&j->lock);
    ok = gpu_submit(j->pipeline->gpu, b->gpu, error);
    pthread_mutex_lock(&j->lock);
    return ok;
}

/* A batch that is free: neither under way nor in the workers' hands; NULL if there is none. */
static struct batch *free_batch(struct job *j)
{
    for (int i = 0; i < j->batch_count; i++)
        if (j->batches[i].pending == 0)
            return &j->batches[i];
    return NULL;
}

/* Ends what the feeder still has under way, `ok` telling whether the GPU works; returns whether it
 * does in the end. */
static bool end_feeding(struct job *j, struct batch *const *in_flight, int count, bool ok,
                        char error[GPU_ERROR_SIZE])
{
    if (!j->failed) {
        for (int i = 0; i < count; i++)
            hand_over(j, in_flight[i], false);
        return ok;
    }
    /* Nobody wants the batches, but the next input will: they must not be under way then. */
    pthread_mutex_unlock(&j->lock);
    for (int i = 0; ok && i < count; i++)
        ok = gpu_collect(j->pipeline->gpu, in_flight[i]->gpu, error);
    pthread_mutex_lock(&j->lock);
    return ok;
}

/* All that the feeder does. */
static void feed(struct job *j, char error[GPU_ERROR_SIZE])
{
    struct batch *in_flight[BATCHES]; /* submitted and not collected, oldest first */
    int count = 0;
    double read = 0;
    bool ok = true;

    while (ok && !j->failed) {
        struct batch *b = free_batch(j);

        if (b != NULL && can_read(j) && has_room(j, j->batch_segments, 0)) {
            ok = feed_batch(j, b, &read, error);
            if (b->count > 0 && b->gpu->length > 0)
                in_flight[count++] = b;
        } else if (count > 0) {
            pthread_mutex_unlock(&j->lock);
            ok = gpu_collect(j->pipeline->gpu, in_flight[0]->gpu, error);
            pthread_mutex_lock(&j->lock);
            if (ok) {
                hand_over(j, in_flight[0], true);
                memmove(&in_flight[0], &in_flight[1], (size_t)--count * sizeof(in_flight[0]));
            }
        } else if (all_claimed(j)) {
            break;
        } else {
            pthread_cond_wait(&j->changed, &j->lock);
        }
    }
    j->stats.read += read;
    if (!end_feeding(j, in_flight, count, ok, error)) {
        gpu_failed(j->pipeline, error);
        j->cpu_matches = true;
        more_workers(j);
        pthread_cond_broadcast(&j->changed);
    }
}

static void *feeder_main(void *argument)
{
    struct job *j = argument;
    char error[GPU_ERROR_SIZE] = "";

    pthread_mutex_lock(&j->lock);
    feed(j, error);
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

/* --- One input --- */

/* Makes what a job needs beside its source; false if memory is short.  free_job has to follow. */
static bool init_job(struct job *j)
{
    struct pipeline *p = j->pipeline;

    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    j->slot_count = 2 * (uint64_t)j->threads + 2;
    if (p->config.backend != BACKEND_CPU)
        j->slot_count += (BATCHES + 1) * (BATCH_SIZE / j->segment_size + 1);
    j->slots = calloc(j->slot_count, sizeof(*j->slots));
    j->spare = calloc(j->slot_count, sizeof(*j->spare));
    j->ready = calloc(j->slot_count, sizeof(*j->ready));
    j->workers = calloc((size_t)j->threads, sizeof(*j->workers));
    if (j->slots == NULL || j->spare == NULL || j->ready == NULL || j->workers == NULL)
        return false;
    for (int i = 0; i < j->threads; i++)
        j->workers[i].job = j;
    if (p->out != NULL)
        j->spare[j->spare_count++] = p->out;
    p->out = NULL;
    return true;
}

/* Does the work, this thread being the first worker, and waits for all others. */
static void run_job(struct job *j)
{
    struct pipeline *p = j->pipeline;

    if (p->wait_for_gpu) {
        start_opening(p);
        wait_until_opened(p);
    }
    pthread_mutex_lock(&j->lock);
    start_feeder(j);
    if (!j->feeding)
        j->cpu_matches = true;
    j->started = 1;
    pthread_mutex_unlock(&j->lock);
    work(&j->workers[0]);
    /* A worker may be started while another is waited for, but none once all have ended. */
    for (int i = 1;; i++) {
        bool is_started;

        pthread_mutex_lock(&j->lock);
        is_started = i < j->started;
        pthread_mutex_unlock(&j->lock);
        if (!is_started)
            break;
        pthread_join(j->workers[i].thread, NULL);
    }
    if (j->feeding)
        pthread_join(j->feeder, NULL);
    if (j->stats.gpu_segments > 0)
        p->gpu_used = true;
}

/* Frees what init_job made, but for an output buffer that the next input may want, and the source.
 */
static void free_job(struct job *j)
{
    struct pipeline *p = j->pipeline;

    source_finish(&j->source);
    for (uint64_t i = 0; j->slots != NULL && i < j->slot_count; i++)
        free(j->slots[i].out);
    if (j->spare_count > 0)
        p->out = j->spare[--j->spare_count];
    for (uint64_t i = 0; i < j->spare_count; i++)
        free(j->spare[i]);
    free(j->slots);
    free(j->spare);
    free(j->ready);
    free(j->workers);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->changed);
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
        .cpu_matches = p->config.backend != BACKEND_GPU,
    };

    if (!p->config.rsyncable)
        source_init(&j.source, in_fd, j.segment_size);
    else if (!source_init_pieces(&j.source, in_fd))
        return PIPELINE_NO_MEMORY;
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

struct pipeline *pipeline_new(const struct pipeline_config *config, char error[GPU_ERROR_SIZE])
{
    struct pipeline *p = calloc(1, sizeof(*p));
    const char *min = getenv("GZLZSS_TEST_GPU_MIN");

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
    p->level = lz_level(config->level);
    p->gpu_min =
        (uint64_t)config->threads * (config->level <= FAST_LEVEL  ? GPU_MIN_BYTES_PER_THREAD_FAST
                                     : config->level < SLOW_LEVEL ? GPU_MIN_BYTES_PER_THREAD
                                                                  : GPU_MIN_BYTES_PER_THREAD_SLOW);
    p->wait_for_gpu = config->backend == BACKEND_GPU;
    if (p->config.backend == BACKEND_AUTO && min != NULL) {
        p->gpu_min = strtoull(min, NULL, 10);
        p->wait_for_gpu = p->gpu_min == 0;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->opened, NULL);
    if (config->backend == BACKEND_GPU) {
        start_opening(p);
        wait_until_opened(p);
        if (p->state != GPU_READY) {
            snprintf(error, GPU_ERROR_SIZE, "%s", p->trouble);
            pipeline_free(p);
            return NULL;
        }
    }
    return p;
}

bool pipeline_free(struct pipeline *p)
{
    bool opening;

    pthread_mutex_lock(&p->lock);
    opening = p->state == GPU_OPENING;
    pthread_mutex_unlock(&p->lock);
    if (opening)
        return false;
    if (p->gpu != NULL)
        gpu_close(p->gpu);
    for (struct tools *t = p->tools, *next; t != NULL; t = next) {
        next = t->next;
        free_tools(t);
    }
    free(p->out);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->opened);
    free(p);
    return true;
}

const char *pipeline_gpu_name(const struct pipeline *p)
{
    return p->gpu_used ? gpu_name(p->gpu) : NULL;
}

const char *pipeline_gpu_trouble(struct pipeline *p)
{
    bool failed;

    pthread_mutex_lock(&p->lock);
    failed = p->state == GPU_FAILED;
    pthread_mutex_unlock(&p->lock);
    return failed ? p->trouble : "";
}

const char *pipeline_why_no_gpu(const struct pipeline_config *config)
{
#ifndef HAVE_CUDA
    (void)config;
    return "this gzlzss was built without CUDA";
#else
    return config->rsyncable                ? "not with --rsyncable"
           : config->backend == BACKEND_CPU ? "not wanted"
                                            : "the input is too small to be worth it";
#endif
}
