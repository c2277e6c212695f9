/*
 * pipeline.c - makes and frees a pipeline, submits jobs and waits for them (pipeline.h)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bgzf.h"
#include "base/limits.h"
#include "base/thread.h"
#include "pipeline/compress/compression.h"
#include "pipeline/compress/flush.h"
#include "pipeline/compress/gpu_feed.h"
#include "pipeline/compress/parts.h"
#include "pipeline/compress/push.h"
#include "pipeline/compress/read_back.h"
#include "pipeline/compress/small.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/measures.h"
#include "pipeline/crew/slots.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/gpu_decoder.h"
#include "pipeline/pipeline.h"
#include "pipeline/work.h"

/*
 * BATCH_SIZE is the bytes of segments in a GPU batch.  At the slow levels, BATCH_SIZE_SLOW replaces
 * BATCH_SIZE.  BATCHES_SIZE is the bytes in all batches of a GPU together.  Larger batches fill a
 * large GPU better, which the slow levels need (level 12 on an H100: 0.60 GB/s with 8 batches of 16
 * MiB, 0.78 GB/s with 4 of 32 MiB).  More batches let reading, copies, kernels and encoding
 * overlap.  Larger batches and more batches take more pinned memory: 2.5 bytes for each byte of a
 * batch.  Allocating 1 GB of pinned memory takes 0.25 s.  If you raise BATCHES_SIZE / BATCH_SIZE,
 * raise GPUS_BATCHES, too.
 *
 * Few threads encode more slowly than a GPU matches, except at the slow levels.  They do not need
 * all batches, but would wait until the memory of all of them is pinned.  So a GPU has
 * BATCHES_LEAST batches, and one more for every two threads.
 */
#define BATCH_SIZE ((size_t)16 << 20)
#define BATCH_SIZE_SLOW ((size_t)32 << 20)
#define BATCHES_SIZE ((size_t)128 << 20)
#define BATCHES_LEAST 3

_Static_assert(BATCHES_SIZE / BATCH_SIZE <= GPUS_BATCHES, "a GPU's batches");

/* The most workers that claim segments, if other workers can match parts of these segments.  A
 * worker that claims takes 5 to 7 MiB of memory; one that only matches parts takes 1 MiB. */
#define CLAIMERS 32

/* The most encoded segments that may wait for an earlier segment.  Each takes up to 2 MiB. */
#define WAITING_MAX 16

/* Workers take at most half of the memory, and at most half of the address space, that the process
 * may have.  The rest is for libraries, for GPU drivers, and for the page cache, without which
 * writing is slow. */
#define MEMORY_SHARE 2
#define ADDRESSES_SHARE 2

/* Bytes of memory that a worker takes, as bench/memory.sh prints them.  A worker's buffers for a
 * whole segment are not counted.  At the slow levels, a worker takes WORKER_SIZE_SLOW bytes, but
 * can work with WORKER_LEAST_SLOW.  If segments are small, WORKER_LEAST_SMALL and 4 times the
 * segment size are enough at the slow levels.  At all other levels, a worker takes WORKER_SIZE.  If
 * a change makes a matcher take more memory, run bench/memory.sh and raise these. */
#define WORKER_SIZE ((size_t)3 << 19)
#define WORKER_SIZE_SLOW ((size_t)52 << 20)
#define WORKER_LEAST_SLOW ((size_t)24 << 20)
#define WORKER_LEAST_SMALL ((size_t)8 << 20)

/* If memory is limited, workers use at most three quarters of the limit, since the system also
 * counts other memory of the process. */
#define MEMORY_NEEDED(memory) ((memory) / 4 * 3)

/* With less memory than this, a GPU is brought up only if the backend is BACKEND_GPU.  A GPU's
 * driver takes some 300 MB, its batches take as much again, and reading ahead of a pipe takes 512
 * MiB. */
#define GPU_HOST_MEMORY ((uint64_t)2 << 30)

/* --- A pipeline --- */

/* Wakes the workers, which then decide again what to match.  The GPU pool calls this when a GPU has
 * come up or could not be brought up. */
static void gpus_changed(void *ctx)
{
    struct pipeline *p = ctx;

    lock(p);
    wake_all(p, CAN_WORK);
    unlock(p);
}

/* The most batches of a GPU. */
static int batches(const struct pipeline *p)
{
    const int most = (int)(BATCHES_SIZE / p->batch_size);
    const int wanted = BATCHES_LEAST + p->config.threads / 2;

    return wanted < most && !p->level->finder->is_slow ? wanted : most;
}

/* Makes the GPU pool and the feeders' state.  With BACKEND_GPU, also brings up GPUs and waits for
 * them.  Returns false, with the reason in `error`, if any of these steps fails. */
static bool init_gpus(struct pipeline *p, char error[GPU_ERROR_SIZE])
{
    const bool is_test = p->config.is_test;

    p->gpus = gpus_new(&p->config.gpus, p->level, p->segment_size, p->batch_size, batches(p),
                       gpus_changed, p);
    if (p->gpus == NULL || !feeding_init(p)) {
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

/* If the backend is BACKEND_AUTO, frees everything that is only for GPUs, so that the pipeline goes
 * on with the CPU alone.  For any other backend, returns false. */
static bool do_without_gpus(struct pipeline *p)
{
    if (p->config.backend != BACKEND_AUTO)
        return false;
    gpus_free(p->gpus);
    feeding_free(p);
    p->gpus = NULL;
    p->feeding = NULL;
    slots_shrink(p);
    p->config.backend = BACKEND_CPU;
    return true;
}

/* A block of the encoder takes at most 5 bytes more than its data.  Each block, except the last
 * block of a chunk, has at least HUFF_SPLIT_MIN bytes of data (huff_bound). */
_Static_assert(BGZF_DATA_MAX +
                       5 * (BGZF_DATA_MAX / HUFF_SPLIT_MIN + BGZF_DATA_MAX / LZ_CHUNK_SIZE + 1) +
                       BGZF_AROUND <=
                   BGZF_SIZE_MAX,
               "data that cannot be compressed fits into a member of BGZF");

const struct lz_level *pipeline_row(enum container container, int level)
{
    if (container != CONTAINER_BGZF || level == LZ_LEVEL_STORED)
        return lz_level(level);
    return lz_level(LZ_ROW_BGZF + (level < LZ_LEVELS_BGZF ? level : LZ_LEVELS_BGZF) - 1);
}

const struct lz_level *pipeline_level(const struct pipeline_config *config)
{
    return config->own_level.finder != NULL ? &config->own_level
                                            : pipeline_row(config->container, config->level);
}

size_t pipeline_segment_default(const struct pipeline_config *config)
{
    return config->container == CONTAINER_BGZF ? BGZF_DATA_MAX
                                               : pipeline_level(config)->segment_default;
}

void pipeline_limit(struct pipeline_config *config)
{
    struct limits l;

    limits_read(&l, "");
    if (config->threads == 0)
        config->threads = l.threads < PIPELINE_THREADS_MAX ? l.threads : PIPELINE_THREADS_MAX;
    config->memory = l.memory;
    config->address_space = l.address_space;
}

uint64_t pipeline_least_memory(const struct pipeline_config *config)
{
    const uint64_t size =
        config->rsyncable ? LZ_CHUNK_SIZE + SOURCE_PIECE_MAX : config->segment_size;
    const uint64_t small = 4 * size + WORKER_LEAST_SMALL;
    const uint64_t slow = small < WORKER_LEAST_SLOW ? small : WORKER_LEAST_SLOW;

    /* The input and output buffers of a worker take 2 * size bytes. */
    return 2 * size + (pipeline_level(config)->finder->is_slow ? slow : WORKER_SIZE);
}

/* Returns the bytes that a matcher may allocate while it works, or WORKER_SIZE_SLOW if that is
 * less.  A matcher seldom allocates more than WORKER_SIZE_SLOW. */
static uint64_t usual_more(const struct lz_level *level, size_t size)
{
    const uint64_t more = lz_matcher_more(level, size);

    return more < WORKER_SIZE_SLOW ? more : WORKER_SIZE_SLOW;
}

int pipeline_threads(const struct pipeline_config *config)
{
    const struct lz_level *level = pipeline_level(config);
    const size_t size = config->segment_size;
    /* A worker has a buffer of `size` bytes for input, and up to two such buffers for output.  Data
     * that cannot be compressed fills all of them. */
    const uint64_t filled = 3 * size + (level->finder->is_slow ? WORKER_SIZE_SLOW : WORKER_SIZE);
    const uint64_t mapped = lz_matcher_size(level, size) + usual_more(level, size) + size +
                            2 * huff_bound(size) + THREAD_STACK_SIZE + WORKER_SIZE;
    uint64_t threads = (uint64_t)config->threads;

    if (config->memory > 0 && config->memory / MEMORY_SHARE / filled < threads)
        threads = config->memory / MEMORY_SHARE / filled;
    if (config->address_space > 0 && config->address_space / ADDRESSES_SHARE / mapped < threads)
        threads = config->address_space / ADDRESSES_SHARE / mapped;
    return threads > 0 ? (int)threads : 1;
}

/* The most bytes that each worker's matcher may allocate while it works. */
static size_t most_more(const struct pipeline *p)
{
    const size_t most = lz_matcher_more(p->level, p->segment_size);
    const uint64_t share = MEMORY_NEEDED(p->config.memory) / (uint64_t)p->config.threads;
    const uint64_t least = pipeline_least_memory(&p->config);

    if (p->config.memory == 0 || share >= least + most)
        return most;
    return share > least ? (size_t)(share - least) : 0;
}

/* Whether memory or address space is too short for BACKEND_AUTO to bring up a GPU. */
static bool is_little_for_gpu(const struct pipeline_config *config)
{
    return (config->memory > 0 && config->memory < GPU_HOST_MEMORY) ||
           (config->address_space > 0 && config->address_space < GPU_HOST_MEMORY);
}

/* Sets all members that depend only on the configuration. */
static void configure(struct pipeline *p, const struct pipeline_config *config)
{
    p->config = *config;
    if (config->rsyncable) {
        /* Pieces have various sizes, which GPU batches do not support. */
        p->config.backend = BACKEND_CPU;
        p->config.segment_size = LZ_CHUNK_SIZE + SOURCE_PIECE_MAX;
    }
    if (!lz_has_twin(pipeline_level(config)))
        p->config.backend = BACKEND_CPU;
    if (config->backend == BACKEND_AUTO && is_little_for_gpu(config))
        p->config.backend = BACKEND_CPU;
    if (config->expand_backend == BACKEND_AUTO && is_little_for_gpu(config))
        p->config.expand_backend = BACKEND_CPU;
    p->segment_size = p->config.segment_size;
    p->config.threads = pipeline_threads(&p->config);
    p->level = pipeline_level(&p->config);
    p->matcher_more = most_more(p);
    p->core_guess = p->level->core_guess;
    p->batch_size = p->level->finder->is_slow ? BATCH_SIZE_SLOW : BATCH_SIZE;
    p->batch_size = p->batch_size < p->segment_size
                        ? p->segment_size
                        : p->batch_size / p->segment_size * p->segment_size;
}

/* The number of workers that may claim segments. */
static int claimers(const struct pipeline *p)
{
    return p->level->finder->in_parts && !p->config.rsyncable && p->config.threads > CLAIMERS
               ? CLAIMERS
               : p->config.threads;
}

/* The bytes of all segments on which workers work, and of all encoded segments that wait for an
 * earlier segment. */
static uint64_t workers_bytes(const struct pipeline *p)
{
    const int claim = claimers(p), wait = claim < WAITING_MAX ? claim : WAITING_MAX;

    return (uint64_t)(claim + wait + 2) * p->segment_size;
}

/* The number of output buffers for decompression: one for each thread that decodes a region, and
 * some for decoded regions that wait for earlier regions. */
static int expand_buffers(const struct pipeline_config *config)
{
    const int wanted = config->threads + config->threads / 2 + 2;
    uint64_t most = (uint64_t)wanted;

    if (config->memory > 0 && config->memory / MEMORY_SHARE / EXPAND_BUFFER < most)
        most = config->memory / MEMORY_SHARE / EXPAND_BUFFER;
    if (config->address_space > 0 && config->address_space / ADDRESSES_SHARE / EXPAND_BUFFER < most)
        most = config->address_space / ADDRESSES_SHARE / EXPAND_BUFFER;
    return (int)most;
}

/* Starts the first worker.  Returns false if the system gives no thread.  After false, the pipeline
 * is useless, because no job would ever end. */
static bool start_first(struct pipeline *p)
{
    bool has_started;

    lock(p);
    crew_call(p);
    has_started = crew_is_alone(p);
    unlock(p);
    return has_started;
}

/* Makes the members that other files own.  Returns false if memory is short. */
static bool init_members(struct pipeline *p)
{
    const uint64_t held = workers_bytes(p);

    slots_init(p, p->config.backend == BACKEND_CPU ? held : held + p->batch_size, held);
    jobs_init(p, &compression, p->config.open_jobs);
    p->copiers = copiers_new();
    return p->copiers != NULL && crew_init(p, p->config.threads, claimers(p), worker_main) &&
           ahead_init_spare(p) && flush_init(p) && parts_init(p) &&
           (!p->config.verify || read_back_init(p)) && expand_init(p, expand_buffers(&p->config)) &&
           (p->config.caller_works || small_init(p));
}

struct pipeline *pipeline_new(const struct pipeline_config *config, char error[GPU_ERROR_SIZE])
{
    struct pipeline *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        return NULL;
    }
    configure(p, config);
    pthread_mutex_init(&p->mutex, NULL);
    for (int i = 0; i < EVENTS; i++)
        pthread_cond_init(&p->events[i], NULL);
    if (!init_members(p)) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        pipeline_free(p);
        return NULL;
    }
    if (p->config.backend != BACKEND_CPU && !init_gpus(p, error) && !do_without_gpus(p)) {
        pipeline_free(p);
        return NULL;
    }
    if (p->config.expand_backend == BACKEND_GPU && !decoder_need(p, error)) {
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

bool pipeline_copy(struct pipeline *p, int device, void *to, const void *from, size_t len)
{
    return copiers_copy(p->copiers, device, to, from, len);
}

bool pipeline_put(struct pipeline *p, int device, void *to, const struct iovec *parts, int count)
{
    return copiers_put(p->copiers, device, to, parts, count);
}

/* Closes the GPUs and frees the copiers. */
static void free_gpus(struct pipeline *p)
{
    /* If no GPU was used, do not look for CUDA's driver, because finding it takes longer than
     * compressing a small file. */
    const bool has_gpus = copiers_are_used(p->copiers) || (p->gpus != NULL && !gpus_leave(p->gpus));
    struct gpu_thread program;

    if (has_gpus)
        gpu_save_thread(&program);
    copiers_free(p->copiers);
    gpus_free(p->gpus);
    if (has_gpus)
        gpu_restore_thread(&program);
}

/* Frees a worker's memory other than its tools. */
static void leave(struct worker *w)
{
    expand_free_tools(w->expand);
}

void pipeline_free(struct pipeline *p)
{
    lock(p);
    crew_end(p);
    unlock(p);
    crew_join(p);
    feeding_join(p);
    free_gpus(p);
    crew_free(p, leave);
    jobs_free(p);
    slots_free(p);
    ahead_free_spare(p);
    flush_exit(p);
    parts_free(p);
    read_back_free(p);
    small_free(p);
    expand_free(p);
    feeding_free(p);
    for (int i = 0; i < EVENTS; i++)
        pthread_cond_destroy(&p->events[i]);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

bool pipeline_leave(struct pipeline *p)
{
    if ((p->gpus != NULL && !gpus_leave(p->gpus)) || decoder_is_used(p))
        return false;
    /* If no further thread was started, freeing everything takes little time, and then a leak
     * checker finds no leak. */
    if (crew_is_alone(p))
        pipeline_free(p);
    return true;
}

void pipeline_expand_gpu(struct pipeline *p, char name[GPU_ERROR_SIZE],
                         char trouble[GPU_ERROR_SIZE])
{
    decoder_describe(p, name, trouble);
}

void pipeline_blame_gpu(struct pipeline *p)
{
    decoder_blame(p);
}

/* --- Jobs --- */

/* Brings up the GPUs that are wanted, and waits for them.  Called without the lock. */
static void wait_for_gpus(struct pipeline *p)
{
    lock(p);
    consider_gpus(p);
    unlock(p);
    gpus_wait(p->gpus);
}

bool pipeline_submit(struct pipeline *p, struct pipeline_job *request)
{
    struct job *j;

    lock(p);
    j = job_submit(p, request);
    if (j == NULL) {
        unlock(p);
        return false;
    }
    if (request->begin == NULL)
        job_begin(j);
    /* A job without `begin` calls a worker unless the caller is a worker.  A job with `begin` calls
     * a worker unless one was called and does not run yet.  That worker calls another one if there
     * is more work, and calling another one here would take longer than submitting a small job. */
    if (request->begin == NULL ? !p->config.caller_works : !crew_is_called(p))
        crew_call(p);
    if (request->is_cancelled)
        job_cancel(request);
    feeders_call(p);
    unlock(p);
    if (p->wait_for_gpu)
        wait_for_gpus(p);
    return true;
}

/* Waits until is_true(ctx) returns true.  is_true is called with the lock held, and must look only
 * at this job.  Code that changes its result to true must call wake_caller. */
static void wait_until(struct pipeline *p, struct pipeline_job *request, bool (*is_true)(void *ctx),
                       void *ctx)
{
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    struct worker *first = crew_first(p);

    request->waits = p->config.caller_works ? &p->events[CAN_WORK] : &changed;
    while (!is_true(ctx)) {
        if (!p->config.caller_works)
            pthread_cond_wait(&changed, &p->mutex);
        else if (!work_once(first) && !is_true(ctx))
            crew_wait(first);
    }
    request->waits = NULL;
    pthread_cond_destroy(&changed);
}

static bool is_over(void *ctx)
{
    const struct pipeline_job *request = ctx;

    return request->is_over;
}

void pipeline_wait(struct pipeline *p, struct pipeline_job *request)
{
    if (request->is_over)
        return;
    lock(p);
    wait_until(p, request, is_over, request);
    unlock(p);
}

size_t pipeline_push(struct pipeline *p, struct pipeline_job *request, const uint8_t *bytes,
                     size_t len, enum pipeline_push then)
{
    size_t taken = 0;

    lock(p);
    if (request->own != NULL)
        taken = job_push(request->own, bytes, len, then);
    unlock(p);
    return taken;
}

/* The arguments of can_push. */
struct wait_to_push {
    const struct pipeline_job *request;
    bool (*enough)(void *ctx);
    void *ctx;
};

static bool can_push(void *ctx)
{
    const struct wait_to_push *w = ctx;

    return w->request->is_over || (!w->request->has_ended && job_can_be_pushed(w->request->own)) ||
           w->enough(w->ctx);
}

void pipeline_wait_to_push(struct pipeline *p, struct pipeline_job *request,
                           bool (*enough)(void *ctx), void *ctx)
{
    struct wait_to_push w = {request, enough, ctx};

    lock(p);
    wait_until(p, request, can_push, &w);
    unlock(p);
}

bool pipeline_is_over(const struct pipeline_job *request)
{
    return request->is_over;
}

void pipeline_cancel_job(struct pipeline *p, struct pipeline_job *request)
{
    lock(p);
    job_cancel(request);
    unlock(p);
}

void pipeline_cancel(struct pipeline *p)
{
    lock(p);
    jobs_cancel(p);
    unlock(p);
}

unsigned pipeline_limit_jobs(struct pipeline *p)
{
    unsigned limit;

    lock(p);
    limit = jobs_limit(p, (unsigned)crew_threads(p));
    unlock(p);
    return limit;
}

void pipeline_totals(struct pipeline *p, struct pipeline_totals *totals)
{
    lock(p);
    measures_totals(p, totals);
    unlock(p);
}

bool pipeline_is_for_here(const struct pipeline *p, const struct pipeline_job *request)
{
    return small_fits(p, request);
}

bool pipeline_compress_here(struct pipeline *p, struct pipeline_job *request)
{
    return small_compress(p, request);
}

/* Returns the most bytes that a worker's matcher takes. */
static size_t matcher_memory(const struct lz_level *level, size_t segment_size)
{
    return lz_matcher_size(level, segment_size) + lz_matcher_more(level, segment_size);
}

bool pipeline_takes_level(const struct pipeline *p, const struct lz_level *level)
{
    return p->config.own_level.finder == NULL &&
           matcher_memory(level, p->segment_size) <= matcher_memory(p->level, p->segment_size);
}

enum pipeline_status pipeline_run(struct pipeline *p, struct pipeline_job *job)
{
    if (!pipeline_submit(p, job))
        return PIPELINE_NO_MEMORY;
    pipeline_wait(p, job);
    return job->status;
}

/* --- Information about GPUs --- */

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
    if (!lz_has_twin(pipeline_level(asked))) {
        snprintf(why, GPU_ERROR_SIZE, "only the CPU can find matches in this way");
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
    else if (is_little_for_gpu(&p->config))
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
