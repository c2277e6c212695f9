/*
 * shelves.h - what nobody uses, kept for the next thread that needs one
 *
 * There is a shard for each processor (or for several): a thread takes what was used on its own last,
 * which may still be in its cache, and threads on different ones do not wait for each other.  A thread
 * that finds nothing there looks at the other shelves.  So hardly more is kept than was in use at a time.
 */
#ifndef GZLZSS_BASE_OBJECT_CACHE_H
#define GZLZSS_BASE_OBJECT_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* More processors than this share shelves. */
#define OBJECT_SHARDS 64

/* The first member of what is kept. */
struct cached_object {
    struct cached_object *next;
};

/* Bytes between what different processors write, so that they have no cache line in common. */
#define OBJECT_SHARD_APART 64

struct object_shard {
    pthread_mutex_t lock; /* to change `first` */
    _Atomic(struct cached_object *) first;
    char apart[OBJECT_SHARD_APART];
};

struct object_cache {
    struct object_shard shards[OBJECT_SHARDS];
};

void object_cache_init(struct object_cache *s);

/* Frees all that is there, each by `give_back`. */
void object_cache_free(struct object_cache *s, void (*give_back)(struct cached_object *kept));

/* Takes something; NULL if there is nothing. */
struct cached_object *object_cache_take(struct object_cache *s);

void object_cache_put(struct object_cache *s, struct cached_object *kept);

/* The number of the shard that is this thread's at the moment, below OBJECT_SHARDS. */
unsigned object_cache_shard(void);

#endif
