/*
 * gpu_pool.c - brings up the GPUs that a pipeline may use (gpu_pool.h)
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/thread.h"
#include "pipeline/crew/gpu_pool.h"

struct one_gpu {
    struct gpu_engine *engine;
    int number; /* the CUDA device's number */
    bool failed;
    int wrong;                               /* segments with wrong matches */
    struct gpu_batch *batches[GPUS_BATCHES]; /* each is NULL until gpus_batch makes it */
};

struct gpu_pool {
    struct gpus_config config; /* config.count may be 0 until the visible devices are counted */
    const struct lz_level *level;
    size_t segment_size, batch_size;
    int batches;
    void (*changed)(void *ctx);
    void *ctx;

    pthread_mutex_t lock;   /* protects the fields below */
    pthread_cond_t settled; /* signalled when `opening` becomes 0 */
    bool counted;           /* the visible devices have been counted */
    int wanted;             /* GPUs wanted in all */
    int near;               /* the CUDA device to bring up next, or -1 */
    /* Number of GPUs for which a thread was started.  After a failed start, this is GPUS_MAX, so
     * that no more threads are started. */
    int started;
    int taken;   /* the started threads have taken config.numbers[0..taken) */
    int opening; /* threads that are bringing up a GPU */
    /* Threads that are bringing up a GPU, or that have not called `changed` yet. */
    int running;
    pthread_t threads[GPUS_MAX]; /* all threads that were started, to join them */
    int threads_started;         /* threads[0..threads_started) were started */
    int threads_joined;          /* threads[0..threads_joined) were joined */
    struct one_gpu gpus[GPUS_MAX];
    int ready;  /* gpus[0..ready) have come up */
    int failed; /* GPUs that have come up and have failed since */
    char trouble[GPU_ERROR_SIZE];
};

struct gpu_pool *gpus_new(const struct gpus_config *config, const struct lz_level *level,
                          size_t segment_size, size_t batch_size, int batches,
                          void (*changed)(void *ctx), void *ctx)
{
    struct gpu_pool *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return NULL;
    g->config = *config;
    g->near = -1;
    g->level = level;
    g->segment_size = segment_size;
    g->batch_size = batch_size;
    g->batches = batches;
    g->changed = changed;
    g->ctx = ctx;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->settled, NULL);
    return g;
}

/* Joins all threads that bring up GPUs, and all threads that those threads start meanwhile. */
static void join_threads(struct gpu_pool *g)
{
    for (bool is_last = false; !is_last;) {
        pthread_mutex_lock(&g->lock);
        is_last = g->threads_joined == g->threads_started;
        pthread_mutex_unlock(&g->lock);
        if (!is_last)
            pthread_join(g->threads[g->threads_joined++], NULL);
    }
}

bool gpus_leave(struct gpu_pool *g)
{
    bool is_used;

    pthread_mutex_lock(&g->lock);
    is_used = g->running > 0 || g->ready > 0;
    pthread_mutex_unlock(&g->lock);
    /* If no GPU is used, the pool's threads have ended or end at once.  So joining them does not
     * wait for a driver. */
    if (!is_used)
        join_threads(g);
    return !is_used;
}

void gpus_free(struct gpu_pool *g)
{
    if (g == NULL)
        return;
    join_threads(g);
    for (int i = 0; i < g->ready; i++) {
        for (int b = 0; b < GPUS_BATCHES; b++)
            gpu_free_batch(g->gpus[i].engine, g->gpus[i].batches[b]);
        gpu_close(g->gpus[i].engine);
    }
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->settled);
    free(g);
}

bool gpus_are_missing(char why[GPU_ERROR_SIZE])
{
    return !gpu_is_installed(why) || (access("/dev/nvidiactl", F_OK) != 0 &&
                                      access("/dev/dxg", F_OK) != 0 && gpu_count(why) == 0);
}

/* --- Bringing up GPUs.  Called with the pool's lock held --- */

/* Counts the visible GPUs.  Returns false, with the reason in `trouble`, if there are none, or if a
 * GPU that was asked for does not exist.  Releases the lock meanwhile. */
static bool count_visible(struct gpu_pool *g)
{
    char error[GPU_ERROR_SIZE] = "";
    int visible;

    pthread_mutex_unlock(&g->lock);
    visible = gpu_count(error);
    pthread_mutex_lock(&g->lock);
    g->counted = true;
    for (int i = 0; i < g->config.count; i++)
        if (visible > 0 && g->config.numbers[i] >= visible) {
            snprintf(error, sizeof(error), "there is no CUDA device %d: the last is %d",
                     g->config.numbers[i], visible - 1);
            visible = 0;
        }
    if (visible == 0) {
        snprintf(g->trouble, sizeof(g->trouble), "%s", error);
        g->config.count = 0;
    } else if (g->config.count == 0) {
        g->config.count = visible < GPUS_MAX ? visible : GPUS_MAX;
        for (int i = 0; i < g->config.count; i++)
            g->config.numbers[i] = i;
    }
    return visible > 0;
}

static void *open_next(void *argument);

/* Makes device `number` the next to bring up.  Returns false if the device may not be used, or if a
 * thread has taken it already. */
static bool put_next(struct gpu_pool *g, int number)
{
    for (int i = g->taken; i < g->config.count; i++)
        if (g->config.numbers[i] == number) {
            g->config.numbers[i] = g->config.numbers[g->taken];
            g->config.numbers[g->taken] = number;
            return true;
        }
    return false;
}

/* Starts threads for the GPUs that are wanted.  Before the visible GPUs are counted, starts only
 * one thread, which counts them. */
static void start_opening(struct gpu_pool *g)
{
    const int most = !g->counted ? 1 : g->wanted < g->config.count ? g->wanted : g->config.count;

    for (; g->started < most; g->started++) {
        if (!thread_start(&g->threads[g->threads_started], open_next, g)) {
            snprintf(g->trouble, sizeof(g->trouble), "cannot start a thread");
            g->started = GPUS_MAX;
            break;
        }
        g->threads_started++;
        g->opening++;
        g->running++;
    }
}

static void *open_next(void *argument)
{
    struct gpu_pool *g = argument;
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_engine *engine = NULL;

    pthread_mutex_lock(&g->lock);
    if (g->counted || count_visible(g)) {
        int number;

        if (put_next(g, g->near))
            g->near = -1;
        number = g->config.numbers[g->taken++];
        start_opening(g);
        pthread_mutex_unlock(&g->lock);
        engine = gpu_open(number, g->level, g->segment_size, g->batch_size, g->batches,
                          &g->config.options, error);
        pthread_mutex_lock(&g->lock);
        if (engine != NULL) {
            g->gpus[g->ready].number = number;
            g->gpus[g->ready++].engine = engine;
        } else {
            snprintf(g->trouble, sizeof(g->trouble), "%s", error);
        }
    }
    if (--g->opening == 0)
        pthread_cond_broadcast(&g->settled);
    pthread_mutex_unlock(&g->lock);
    g->changed(g->ctx);
    pthread_mutex_lock(&g->lock);
    g->running--;
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

void gpus_want(struct gpu_pool *g, int count, int near)
{
    pthread_mutex_lock(&g->lock);
    if (count > g->wanted)
        g->wanted = count;
    if (near >= 0 && !g->counted)
        g->near = near;
    else if (near >= 0 && g->near != near && put_next(g, near)) {
        g->near = near;
        if (g->wanted <= g->started)
            g->wanted = g->started + 1;
    }
    start_opening(g);
    pthread_mutex_unlock(&g->lock);
}

void gpus_wait(struct gpu_pool *g)
{
    pthread_mutex_lock(&g->lock);
    while (g->opening > 0)
        pthread_cond_wait(&g->settled, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

/* --- GPUs that are up --- */

enum gpus_state gpus_state(struct gpu_pool *g)
{
    enum gpus_state state;

    pthread_mutex_lock(&g->lock);
    state = g->ready > g->failed ? GPUS_READY
            : g->opening > 0     ? GPUS_OPENING
            : g->started > 0     ? GPUS_FAILED
                                 : GPUS_UNWANTED;
    pthread_mutex_unlock(&g->lock);
    return state;
}

int gpus_count(struct gpu_pool *g)
{
    int count;

    pthread_mutex_lock(&g->lock);
    count = g->ready;
    pthread_mutex_unlock(&g->lock);
    return count;
}

struct gpu_engine *gpus_engine(struct gpu_pool *g, int i)
{
    struct gpu_engine *engine;

    pthread_mutex_lock(&g->lock);
    engine = g->gpus[i].failed ? NULL : g->gpus[i].engine;
    pthread_mutex_unlock(&g->lock);
    return engine;
}

int gpus_device(struct gpu_pool *g, int i)
{
    int number;

    pthread_mutex_lock(&g->lock);
    number = g->gpus[i].number;
    pthread_mutex_unlock(&g->lock);
    return number;
}

struct gpu_batch *gpus_batch(struct gpu_pool *g, int i, int b, char error[GPU_ERROR_SIZE])
{
    /* This needs no lock: the engine of a GPU that is up never changes, and no other thread touches
     * this batch. */
    struct one_gpu *gpu = &g->gpus[i];

    if (b < gpu_batches(gpu->engine) && gpu->batches[b] == NULL)
        gpu->batches[b] = gpu_new_batch(gpu->engine, error);
    return gpu->batches[b];
}

void gpus_fail(struct gpu_pool *g, int i, const char *why)
{
    pthread_mutex_lock(&g->lock);
    if (!g->gpus[i].failed) {
        g->gpus[i].failed = true;
        g->failed++;
        snprintf(g->trouble, sizeof(g->trouble), "%s", why);
    }
    pthread_mutex_unlock(&g->lock);
}

bool gpus_wrong(struct gpu_pool *g, int i)
{
    bool is_last;

    pthread_mutex_lock(&g->lock);
    is_last = ++g->gpus[i].wrong == GPUS_WRONG_MAX;
    pthread_mutex_unlock(&g->lock);
    if (is_last)
        gpus_fail(g, i, "it gave wrong matches again and again");
    return is_last;
}

void gpus_trouble(struct gpu_pool *g, char why[GPU_ERROR_SIZE])
{
    pthread_mutex_lock(&g->lock);
    snprintf(why, GPU_ERROR_SIZE, "%s", g->trouble);
    pthread_mutex_unlock(&g->lock);
}

void gpus_names(struct gpu_pool *g, char names[GPU_ERROR_SIZE])
{
    pthread_mutex_lock(&g->lock);
    if (g->ready > 1)
        snprintf(names, GPU_ERROR_SIZE, "%.200s and %d more", gpu_name(g->gpus[0].engine),
                 g->ready - 1);
    else
        snprintf(names, GPU_ERROR_SIZE, "%s", g->ready > 0 ? gpu_name(g->gpus[0].engine) : "");
    pthread_mutex_unlock(&g->lock);
}
