/*
 * copiers.c - copies from and to the memory of GPUs, for all threads of a pipeline (copiers.h)
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "pipeline/compress/copiers.h"

/* The most copiers of a device.  More would not be faster, as few threads fill the bus, and making
 * a copier takes 1 ms. */
#define COPIERS_MOST 4

struct one_copier {
    struct one_copier *next;
    int device;
    bool is_busy;              /* a thread makes it or uses it */
    struct gpu_copier *copier; /* belongs to that thread */
};

struct copiers {
    pthread_mutex_t lock;
    pthread_cond_t is_free; /* a copier is no longer busy, or could not be made */
    struct one_copier *first;
};

struct copiers *copiers_new(void)
{
    struct copiers *c = calloc(1, sizeof(*c));

    if (c != NULL) {
        pthread_mutex_init(&c->lock, NULL);
        pthread_cond_init(&c->is_free, NULL);
    }
    return c;
}

bool copiers_are_used(const struct copiers *c)
{
    return c != NULL && c->first != NULL;
}

void copiers_free(struct copiers *c)
{
    if (c == NULL)
        return;
    for (struct one_copier *i = c->first, *next; i != NULL; i = next) {
        next = i->next;
        gpu_free_copier(i->copier);
        free(i);
    }
    pthread_cond_destroy(&c->is_free);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Finds a copier of the device that is not busy.  Sets *count to the number of the device's
 * copiers. */
static struct one_copier *find_free(const struct copiers *c, int device, int *count)
{
    struct one_copier *found = NULL;

    *count = 0;
    for (struct one_copier *i = c->first; i != NULL; i = i->next)
        if (i->device == device) {
            ++*count;
            if (!i->is_busy)
                found = i;
        }
    return found;
}

/* Adds a busy copier to the list, which the caller then makes.  Returns NULL if memory is short. */
static struct one_copier *add(struct copiers *c, int device)
{
    struct one_copier *i = calloc(1, sizeof(*i));

    if (i != NULL) {
        *i = (struct one_copier){.next = c->first, .device = device, .is_busy = true};
        c->first = i;
    }
    return i;
}

/* Removes a copier that could not be made. */
static void drop(struct copiers *c, struct one_copier *dropped)
{
    struct one_copier **link = &c->first;

    while (*link != dropped)
        link = &(*link)->next;
    *link = dropped->next;
    free(dropped);
    pthread_cond_broadcast(&c->is_free);
}

/* Takes a copier of this device, makes one, or waits for one.  Returns NULL, with errno set, if it
 * cannot make one. */
static struct one_copier *take(struct copiers *c, int device)
{
    char error[GPU_ERROR_SIZE];
    struct one_copier *i;
    int count;

    pthread_mutex_lock(&c->lock);
    while ((i = find_free(c, device, &count)) == NULL && count >= COPIERS_MOST)
        pthread_cond_wait(&c->is_free, &c->lock);
    if (i != NULL)
        i->is_busy = true;
    else
        i = add(c, device);
    pthread_mutex_unlock(&c->lock);
    if (i == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    if (i->copier == NULL)
        i->copier = gpu_new_copier(device, error);
    if (i->copier != NULL)
        return i;
    pthread_mutex_lock(&c->lock);
    drop(c, i);
    pthread_mutex_unlock(&c->lock);
    errno = EIO;
    return NULL;
}

/* Lets other threads take the copier.  Sets errno unless the copy was `ok`.  Returns `ok`. */
static bool give(struct copiers *c, struct one_copier *i, bool ok)
{
    pthread_mutex_lock(&c->lock);
    i->is_busy = false;
    pthread_cond_broadcast(&c->is_free);
    pthread_mutex_unlock(&c->lock);
    if (!ok)
        errno = EIO;
    return ok;
}

bool copiers_copy(struct copiers *c, int device, void *to, const void *from, size_t len)
{
    char error[GPU_ERROR_SIZE];
    struct one_copier *i;

    if (len == 0)
        return true;
    i = take(c, device);
    return i != NULL && give(c, i, gpu_copy(i->copier, to, from, len, error));
}

bool copiers_put(struct copiers *c, int device, void *to, const struct iovec *parts, int count)
{
    char error[GPU_ERROR_SIZE];
    struct one_copier *const i = take(c, device);

    return i != NULL && give(c, i, gpu_put(i->copier, to, parts, count, error));
}
