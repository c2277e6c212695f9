/*
 * inflaters.c - the GPUs on which an object decompresses (inflaters.h)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "gpu/gpu.h"
#include "lib/inflaters.h"

/* Seconds for which a device is not tried again after its engine could not be opened.  With less,
 * calls lose more time with attempts while the device's memory is short.  With more, calls use the
 * CPU for longer after the memory has become free. */
#ifndef INFLATERS_PAUSE
#define INFLATERS_PAUSE 1.0
#endif

/* A call that waits.  The struct is on the stack of the call's thread. */
struct turn {
    struct turn *next;
};

struct inflater {
    struct inflater *next;
    int device;
    /* The device's engine, or NULL if it is not open.  Only the call that has the inflater uses
     * this field. */
    struct gpu_inflate *engine;

    /* Protected by the lock: */

    /* Whether a call has the inflater. */
    bool is_taken;
    /* The calls that wait, in the order in which they came. */
    struct turn *waiting;
    bool has_failed;
    /* If the engine could not be opened, no call tries again before this time (clock_seconds). */
    double not_before;
};

void inflaters_init(struct inflaters *s)
{
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->first = NULL;
    s->trouble[0] = '\0';
}

void inflaters_free(struct inflaters *s)
{
    bool has_engines = false;
    struct gpu_thread program;

    /* If no device has an engine, do not look for CUDA's driver, because that takes time. */
    for (const struct inflater *i = s->first; i != NULL; i = i->next)
        has_engines |= i->engine != NULL;
    if (has_engines)
        gpu_save_thread(&program);
    for (struct inflater *i = s->first, *next; i != NULL; i = next) {
        next = i->next;
        if (i->engine != NULL)
            gpu_inflate_close(i->engine);
        free(i);
    }
    if (has_engines)
        gpu_restore_thread(&program);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

/* Returns the device's inflater, or makes one.  Returns NULL if memory is short.  The lock is
 * held. */
static struct inflater *find(struct inflaters *s, int device)
{
    struct inflater *i = s->first;

    while (i != NULL && i->device != device)
        i = i->next;
    if (i != NULL)
        return i;
    i = calloc(1, sizeof(*i));
    if (i == NULL)
        return NULL;
    i->device = device;
    i->next = s->first;
    s->first = i;
    return i;
}

/* Whether the device may be tried now.  The lock is held. */
static bool is_usable(const struct inflater *i)
{
    return !i->has_failed && (i->not_before == 0 || clock_seconds() >= i->not_before);
}

/* Waits until no call has the inflater and no earlier call waits for it.  Returns whether this call
 * may use the inflater now.  The lock is held. */
static bool wait_for_turn(struct inflaters *s, struct inflater *i, bool (*goes_on)(void *ctx),
                          void *ctx)
{
    struct turn turn = {NULL}, **link = &i->waiting;
    bool may_use;

    while (*link != NULL)
        link = &(*link)->next;
    *link = &turn;
    while ((may_use = is_usable(i) && goes_on(ctx)) && (i->is_taken || i->waiting != &turn))
        pthread_cond_wait(&s->changed, &s->lock);
    for (link = &i->waiting; *link != &turn;)
        link = &(*link)->next;
    *link = turn.next;
    if (!may_use)
        pthread_cond_broadcast(&s->changed);
    return may_use;
}

struct inflater *inflaters_take(struct inflaters *s, int device, bool (*goes_on)(void *ctx),
                                void *ctx)
{
    static const struct gpu_inflate_options usual;
    char error[GPU_ERROR_SIZE];
    struct inflater *i;

    pthread_mutex_lock(&s->lock);
    i = find(s, device);
    if (i != NULL && !wait_for_turn(s, i, goes_on, ctx))
        i = NULL;
    if (i != NULL)
        i->is_taken = true;
    pthread_mutex_unlock(&s->lock);
    if (i == NULL || i->engine != NULL)
        return i;
    i->engine = gpu_inflate_open(device, &usual, error);
    if (i->engine != NULL)
        return i;
    pthread_mutex_lock(&s->lock);
    i->is_taken = false;
    i->not_before = clock_seconds() + INFLATERS_PAUSE;
    snprintf(s->trouble, sizeof(s->trouble), "%s", error);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

struct gpu_inflate *inflater_engine(const struct inflater *i)
{
    return i->engine;
}

void inflaters_release(struct inflaters *s, struct inflater *i, const char *failure)
{
    /* A device that has failed is not used again, so the engine's memory can be freed. */
    if (failure != NULL) {
        gpu_inflate_close(i->engine);
        i->engine = NULL;
    }
    pthread_mutex_lock(&s->lock);
    i->is_taken = false;
    if (failure != NULL) {
        i->has_failed = true;
        snprintf(s->trouble, sizeof(s->trouble), "%s", failure);
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void inflaters_wake(struct inflaters *s)
{
    pthread_mutex_lock(&s->lock);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void inflaters_trouble(struct inflaters *s, char why[GPU_ERROR_SIZE])
{
    pthread_mutex_lock(&s->lock);
    snprintf(why, GPU_ERROR_SIZE, "%s", s->trouble);
    pthread_mutex_unlock(&s->lock);
}
