/*
 * serve.c - a pipeline, and the jobs that it is given (pipeline.h)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "pipeline/crew.h"
#include "pipeline/expand.h"
#include "pipeline/feed.h"
#include "pipeline/here.h"
#include "pipeline/jobs.h"
#include "pipeline/push.h"
#include "pipeline/pushed.h"
#include "pipeline/work.h"

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

/* Segments that are claimed by workers at a time, at most, if others can match parts of them: each
 * takes 5 to 7 MiB.  More threads than these match parts of them, for which they need 1 MiB. */
#define CLAIMERS 32

/* Segments that are done and wait for others before them, at most: each takes up to 2 MiB. */
#define WAITING_MAX 16

/* Workers take one half, at most, of the memory and of the addresses that there may be.  The
 * rest is for the page cache, without which writing is slow, for libraries, and for GPUs'
 * drivers. */
#define MEMORY_SHARE 2
#define ADDRESSES_SHARE 2

/* A worker's memory beside some buffers of a segment's size: what bench/memory.sh shows. */
#define WORKER_SIZE ((size_t)3 << 19)
#define WORKER_SIZE_SLOW ((size_t)52 << 20)

/* With less memory than this, no GPU is brought up by itself: its driver takes some 300 MB of it,
 * the batches as much, and what is read ahead of a pipe 512 MiB. */
#define GPU_HOST_MEMORY ((uint64_t)2 << 30)

/* --- A pipeline --- */

/* A GPU has come up, or never will. */
static void gpus_changed(void *ctx)
{
    struct pipeline *p = ctx;

    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->can_work);
    pthread_mutex_unlock(&p->lock);
}

/* Readies the pipeline's GPUs to come up; with BACKEND_GPU, brings them up.  False, with the
 * reason in error, if that fails. */
static bool init_gpus(struct pipeline *p, char error[GPU_ERROR_SIZE])
{
    const bool is_test = p->config.is_test;

    /* Each is set when it is started. */
    p->feeders = malloc(GPUS_MAX * GPUS_BATCHES * sizeof(*p->feeders));
    p->gpus = gpus_new(&p->config.gpus, p->level, p->segment_size, p->batch_size,
                       (int)(BATCHES_SIZE / p->batch_size), gpus_changed, p);
    if (p->feeders == NULL || p->gpus == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        return false;
    }
    p->further_gpu = is_test ? p->config.test_gpu_min : POLICY_FURTHER_GPU;
    p->pipe_share = is_test ? 0 : POLICY_PIPE_SHARE;
    p->wait_for_gpu = p->config.backend == BACKEND_GPU || (is_test && p->config.test_gpu_min == 0);
    if (p->config.backend == BACKEND_AUTO)
        return true;
    gpus_want(p->gpus, policy_gpus(0, p->further_gpu, GPUS_MAX), -1);
    gpus_wait(p->gpus);
    gpus_trouble(p->gpus, error);
    return gpus_state(p->gpus) == GPUS_READY;
}

const struct lz_level *pipeline_level(const struct pipeline_config *config)
{
    return config->own_level.finder != NULL ? &config->own_level : lz_level(config->level);
}

int pipeline_threads(const struct pipeline_config *config)
{
    const struct lz_level *level = pipeline_level(config);
    const size_t size = config->segment_size;
    /* What is read, and up to two outputs: data that cannot be compressed fills these. */
    const uint64_t filled = 3 * size + (level->finder->is_slow ? WORKER_SIZE_SLOW : WORKER_SIZE);
    const uint64_t mapped = lz_matcher_size(level, size) + size + 2 * huff_bound(size) +
                            THREAD_STACK_SIZE + WORKER_SIZE;
    uint64_t threads = (uint64_t)config->threads;

    if (config->memory > 0 && config->memory / MEMORY_SHARE / filled < threads)
        threads = config->memory / MEMORY_SHARE / filled;
    if (config->address_space > 0 && config->address_space / ADDRESSES_SHARE / mapped < threads)
        threads = config->address_space / ADDRESSES_SHARE / mapped;
    return threads > 0 ? (int)threads : 1;
}

/* Sets what follows from the configuration. */
static void configure(struct pipeline *p, const struct pipeline_config *config)
{
    int waiting;

    p->config = *config;
    if (config->rsyncable) {
        /* Segments are of all sizes then, which is not for batches. */
        p->config.backend = BACKEND_CPU;
        p->config.segment_size = LZ_CHUNK_SIZE + SOURCE_PIECE_MAX;
    }
    if (lz_is_stored(pipeline_level(config)))
        p->config.backend = BACKEND_CPU; /* there is nothing to find */
    if (config->backend == BACKEND_AUTO && config->memory > 0 && config->memory < GPU_HOST_MEMORY)
        p->config.backend = BACKEND_CPU;
    p->segment_size = p->config.segment_size;
    p->threads = p->config.threads = pipeline_threads(&p->config);
    p->level = pipeline_level(&p->config);
    p->core_guess = p->level->core_guess;
    p->batch_size = p->level->finder->is_slow ? BATCH_SIZE_SLOW : BATCH_SIZE;
    p->batch_size = p->batch_size < p->segment_size
                        ? p->segment_size
                        : p->batch_size / p->segment_size * p->segment_size;
    p->claimers = p->level->finder->in_parts && !config->rsyncable && p->threads > CLAIMERS
                      ? CLAIMERS
                      : p->threads;
    /* Segments that workers work on, and finished ones that wait for a slower one before them. */
    waiting = p->claimers < WAITING_MAX ? p->claimers : WAITING_MAX;
    p->held_by_workers = (uint64_t)(p->claimers + waiting + 2) * p->segment_size;
    p->held_max = p->held_by_workers;
    if (p->config.backend != BACKEND_CPU)
        p->held_max += p->batch_size;
    /* Each thread decodes one stretch, and some wait for those before them. */
    p->rooms_max = p->threads + p->threads / 2 + 2;
    if (config->memory > 0 && config->memory / MEMORY_SHARE / EXPAND_ROOM < (uint64_t)p->rooms_max)
        p->rooms_max = (int)(config->memory / MEMORY_SHARE / EXPAND_ROOM);
    if (config->address_space > 0 &&
        config->address_space / ADDRESSES_SHARE / EXPAND_ROOM < (uint64_t)p->rooms_max)
        p->rooms_max = (int)(config->address_space / ADDRESSES_SHARE / EXPAND_ROOM);
    p->worker_main = worker_main;
    p->feeder_main = feeder_main;
}

/* Starts the first worker, without whom nothing is done. */
static bool start_first(struct pipeline *p)
{
    lock(p);
    crew_call(p);
    unlock(p);
    return p->started == 1;
}

/* Memory for a pipeline that is configured so; NULL if it is short. */
static struct pipeline *allocate(const struct pipeline_config *config)
{
    struct pipeline *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    configure(p, config);
    p->workers = calloc((size_t)p->threads, sizeof(*p->workers));
    if (!config->caller_works)
        p->here = malloc(sizeof(*p->here));
    if (p->workers != NULL && (config->caller_works || p->here != NULL))
        return p;
    free(p->workers);
    free(p->here);
    free(p);
    return NULL;
}

struct pipeline *pipeline_new(const struct pipeline_config *config, char error[GPU_ERROR_SIZE])
{
    struct pipeline *p = allocate(config);

    if (p == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        return NULL;
    }
    p->workers[0].pipeline = p;
    pthread_mutex_init(&p->lock, NULL);
    if (p->here != NULL)
        shelves_init(p->here);
    pthread_cond_init(&p->can_work, NULL);
    pthread_cond_init(&p->can_feed, NULL);
    pthread_cond_init(&p->can_free, NULL);
    pthread_cond_init(&p->can_join, NULL);
    pthread_cond_init(&p->can_expand, NULL);
    copiers_init(&p->copiers);
    p->started = p->config.caller_works;
    if (p->config.backend != BACKEND_CPU && !init_gpus(p, error)) {
        pipeline_free(p);
        return NULL;
    }
    if (!p->config.caller_works && !start_first(p)) {
        snprintf(error, GPU_ERROR_SIZE, "cannot start a thread");
        pipeline_free(p);
        return NULL;
    }
    return p;
}

/* Makes all threads end, and waits for them. */
static void end_threads(struct pipeline *p)
{
    int started;

    lock(p);
    p->ends = true;
    wake_all(p);
    started = p->started;
    unlock(p);
    for (int i = p->config.caller_works; i < started; i++)
        pthread_join(p->workers[i].thread, NULL);
    for (int gpu = 0; gpu < p->gpus_fed; gpu++)
        for (int i = 0; i < p->gpu_feeders[gpu]; i++)
            pthread_join(p->feeders[gpu * GPUS_BATCHES + i].thread, NULL);
}

bool pipeline_copy(struct pipeline *p, int device, void *to, const void *from, size_t len)
{
    return copiers_copy(&p->copiers, device, to, from, len);
}

void pipeline_free(struct pipeline *p)
{
    struct gpu_thread program;
    bool has_gpus;

    end_threads(p);
    /* Without one, CUDA's driver is not even looked for, which takes longer than a small file. */
    has_gpus = copiers_are_used(&p->copiers) || (p->gpus != NULL && !gpus_leave(p->gpus));
    if (has_gpus)
        gpu_save_thread(&program);
    copiers_free(&p->copiers);
    gpus_free(p->gpus);
    if (has_gpus)
        gpu_restore_thread(&program);
    if (p->config.caller_works) {
        lock(p);
        crew_leave(&p->workers[0]);
        unlock(p);
        expand_free_tools(p->workers[0].expand);
    }
    for (struct job *j = p->free_jobs, *next; j != NULL; j = next) {
        next = j->next;
        free(j);
    }
    for (struct spare *s = p->spare, *next; s != NULL; s = next) {
        next = s->next;
        free(s);
    }
    for (struct slot *s = p->free_slots, *next; s != NULL; s = next) {
        next = s->next;
        free(s);
    }
    pushed_free_spare(p);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->can_work);
    pthread_cond_destroy(&p->can_feed);
    pthread_cond_destroy(&p->can_free);
    pthread_cond_destroy(&p->can_join);
    pthread_cond_destroy(&p->can_expand);
    expand_free_rooms(p);
    here_free(p);
    free(p->finder);
    free(p->feeders);
    free(p->workers);
    free(p);
}

bool pipeline_leave(struct pipeline *p)
{
    if (p->gpus != NULL && !gpus_leave(p->gpus))
        return false;
    /* Without threads, there is little to free; and then a leak checker has nothing to find. */
    if (p->started == 1)
        pipeline_free(p);
    return true;
}

/* --- Jobs --- */

/* Brings up the GPUs that are wanted, and waits for them. */
static void wait_for_gpus(struct pipeline *p)
{
    lock(p);
    consider_gpus(p);
    unlock(p);
    gpus_wait(p->gpus);
}

/* Makes a job fail that is not over; *j may be gone. */
static void fail_cancelled(struct job *j)
{
    j->of->is_cancelled = true;
    if (j->state == JOB_WAITING)
        job_drop(j);
    else if (j->state != JOB_ENDING)
        job_fail(j, PIPELINE_CANCELLED, 0);
}

/* Cancels a job, which may be over; gives up the lock. */
static void cancel(struct pipeline_job *of)
{
    of->is_cancelled = true;
    if (of->own != NULL)
        fail_cancelled(of->own);
    if (of->own != NULL)
        job_settle(of->own);
}

bool pipeline_submit(struct pipeline *p, struct pipeline_job *of)
{
    struct job *j;

    lock(p);
    j = job_new(p);
    if (j == NULL) {
        unlock(p);
        return false;
    }
    of->own = j;
    of->is_over = false;
    of->status = PIPELINE_OK;
    of->error_number = 0;
    j->of = of;
    j->previous = p->last;
    if (p->last != NULL)
        p->last->next = j;
    else
        p->first = j;
    p->last = j;
    if (p->unclaimed == NULL)
        p->unclaimed = j;
    if (p->next_waiting == NULL)
        p->next_waiting = j;
    p->waiting_jobs++;
    p->submitted++;
    p->submitted_size += of->size;
    p->expected = of->more;
    if (of->size > p->longest)
        p->longest = of->size;
    job_count_left(j, of->size, 0);
    /* Who was called, and is on the way, calls another if there is more to do then: it takes this
     * thread longer to wake one than to submit a small job. */
    if (of->begin == NULL)
        job_begin(j);
    if (of->begin == NULL ? !p->config.caller_works : p->called == 0)
        crew_call(p);
    if (of->is_cancelled)
        cancel(of);
    jobs_call_feeder(p);
    unlock(p);
    if (p->wait_for_gpu)
        wait_for_gpus(p);
    return true;
}

/* Waits for the job until is_true(ctx), which is called with the lock held.  Whatever makes it true
 * calls wake_caller. */
static void wait_until(struct pipeline *p, struct pipeline_job *of, bool (*is_true)(void *ctx),
                       void *ctx)
{
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    struct worker *first = &p->workers[0];

    of->waits = p->config.caller_works ? &p->can_work : &changed;
    while (!is_true(ctx)) {
        if (!p->config.caller_works)
            pthread_cond_wait(&changed, &p->lock);
        else if (!work_once(first) && !is_true(ctx))
            crew_wait(first);
    }
    of->waits = NULL;
    pthread_cond_destroy(&changed);
}

static bool is_over(void *ctx)
{
    const struct pipeline_job *of = ctx;

    return of->is_over;
}

void pipeline_wait(struct pipeline *p, struct pipeline_job *of)
{
    if (of->is_over)
        return;
    lock(p);
    wait_until(p, of, is_over, of);
    unlock(p);
}

size_t pipeline_push(struct pipeline *p, struct pipeline_job *of, const uint8_t *bytes, size_t len,
                     bool ends)
{
    size_t taken = 0;

    lock(p);
    if (of->own != NULL)
        taken = job_push(of->own, bytes, len, ends);
    unlock(p);
    return taken;
}

/* What pipeline_wait_to_push waits for. */
struct wait_to_push {
    const struct pipeline_job *of;
    bool (*enough)(void *ctx);
    void *ctx;
};

static bool can_push(void *ctx)
{
    const struct wait_to_push *w = ctx;

    return w->of->is_over || (!w->of->has_ended && job_can_be_pushed(w->of->own)) ||
           w->enough(w->ctx);
}

void pipeline_wait_to_push(struct pipeline *p, struct pipeline_job *of, bool (*enough)(void *ctx),
                           void *ctx)
{
    struct wait_to_push w = {of, enough, ctx};

    lock(p);
    wait_until(p, of, can_push, &w);
    unlock(p);
}

bool pipeline_is_over(const struct pipeline_job *of)
{
    return of->is_over;
}

/* Ends one of the jobs that have failed, if it can end now; gives up the lock then. */
static bool settle_one(struct pipeline *p)
{
    for (struct job *j = p->first; j != NULL; j = j->next)
        if (j->failed && job_settle(j))
            return true;
    return false;
}

void pipeline_cancel_job(struct pipeline *p, struct pipeline_job *of)
{
    lock(p);
    cancel(of);
    unlock(p);
}

void pipeline_cancel(struct pipeline *p)
{
    lock(p);
    for (struct job *j = p->first, *next; j != NULL; j = next) {
        next = j->next;
        fail_cancelled(j);
    }
    while (settle_one(p))
        ;
    unlock(p);
}

unsigned pipeline_limit_jobs(struct pipeline *p)
{
    unsigned limit;

    lock(p);
    limit = (unsigned)p->threads;
    if (p->config.open_jobs > 0 && p->config.open_jobs < limit)
        limit = p->config.open_jobs;
    p->config.open_jobs = (limit + 1) / 2;
    limit = p->config.open_jobs;
    unlock(p);
    return limit;
}

void pipeline_totals(struct pipeline *p, struct pipeline_totals *totals)
{
    lock(p);
    *totals = p->totals;
    unlock(p);
}

enum pipeline_status pipeline_run(struct pipeline *p, struct pipeline_job *job)
{
    if (!pipeline_submit(p, job))
        return PIPELINE_NO_MEMORY;
    pipeline_wait(p, job);
    return job->status;
}

/* --- What is told about GPUs --- */

void pipeline_gpu_names(struct pipeline *p, char names[GPU_ERROR_SIZE])
{
    names[0] = '\0';
    if (p->gpus != NULL)
        gpus_names(p->gpus, names);
}

void pipeline_gpu_trouble(struct pipeline *p, char trouble[GPU_ERROR_SIZE])
{
    trouble[0] = '\0';
    if (p->gpus != NULL)
        gpus_trouble(p->gpus, trouble);
}

void pipeline_why_no_gpu(const struct pipeline *p, const struct pipeline_config *asked,
                         const struct pipeline_stats *stats, char why[GPU_ERROR_SIZE])
{
    if (lz_is_stored(pipeline_level(asked))) {
        snprintf(why, GPU_ERROR_SIZE, "level 0 finds no matches");
        return;
    }
#ifndef HAVE_CUDA
    (void)p;
    (void)asked;
    (void)stats;
    snprintf(why, GPU_ERROR_SIZE, "this gzlzss was built without CUDA");
#else
    const struct policy_facts facts = {.threads = asked->threads,
                                       .core_guess = pipeline_level(asked)->core_guess,
                                       .segment_size = asked->segment_size};

    if (asked->backend == BACKEND_CPU)
        snprintf(why, GPU_ERROR_SIZE, "not wanted");
    else if (gpus_are_missing(why))
        return;
    else if (asked->rsyncable)
        snprintf(why, GPU_ERROR_SIZE, "not with --rsyncable");
    else if (p->config.memory > 0 && p->config.memory < GPU_HOST_MEMORY)
        snprintf(why, GPU_ERROR_SIZE, "with less than %d GiB of memory, only by --backend=gpu",
                 (int)(GPU_HOST_MEMORY >> 30));
    else if (stats->cpu_kept_up)
        snprintf(why, GPU_ERROR_SIZE, "the CPU kept up with the input");
    else if (stats->wanted_gpus)
        snprintf(why, GPU_ERROR_SIZE, "the CPU was done before the GPU was up");
    else
        snprintf(why, GPU_ERROR_SIZE,
                 "below about %.0f MB the CPU is faster (level %d, %d thread%s)",
                 (double)policy_gpu_min(&facts, UINT64_MAX) / 1e6, asked->level, asked->threads,
                 asked->threads == 1 ? "" : "s");
#endif
}
