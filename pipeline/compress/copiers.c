/*
 * copiers.c - copies from and to the memory of GPUs, for all threads of a pipeline (copiers.h)
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "pipeline/compress/copiers.h"

struct idle_copier {
    struct idle_copier *next;
    int device;
    struct gpu_copier *copier;
};

struct copiers {
    pthread_mutex_t lock;
    struct idle_copier *idle;
};

struct copiers *copiers_new(void)
{
    struct copiers *c = calloc(1, sizeof(*c));

    if (c != NULL)
        pthread_mutex_init(&c->lock, NULL);
    return c;
}

bool copiers_are_used(const struct copiers *c)
{
    return c != NULL && c->idle != NULL;
}

void copiers_free(struct copiers *c)
{
    if (c == NULL)
        return;
    for (struct idle_copier *i = c->idle, *next; i != NULL; i = next) {
        next = i->next;
        gpu_free_copier(i->copier);
        free(i);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Takes an idle copier of this device, or makes one.  Returns NULL, with errno set, if it cannot
 * make one. */
static struct idle_copier *take_idle_copier(struct copiers *c, int device)
{
    char error[GPU_ERROR_SIZE];
    struct idle_copier **link, *i;

    pthread_mutex_lock(&c->lock);
    for (link = &c->idle; *link != NULL && (*link)->device != device;)
        link = &(*link)->next;
    i = *link;
    if (i != NULL)
        *link = i->next;
    pthread_mutex_unlock(&c->lock);
    if (i != NULL)
        return i;
    i = calloc(1, sizeof(*i));
    if (i == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    i->device = device;
    i->copier = gpu_new_copier(device, error);
    if (i->copier != NULL)
        return i;
    free(i);
    errno = EIO;
    return NULL;
}

bool copiers_copy(struct copiers *c, int device, void *to, const void *from, size_t len)
{
    char error[GPU_ERROR_SIZE];
    struct idle_copier *i;
    bool ok;

    if (len == 0)
        return true;
    i = take_idle_copier(c, device);
    if (i == NULL)
        return false;
    ok = gpu_copy(i->copier, to, from, len, error);
    pthread_mutex_lock(&c->lock);
    i->next = c->idle;
    c->idle = i;
    pthread_mutex_unlock(&c->lock);
    if (!ok)
        errno = EIO;
    return ok;
}
