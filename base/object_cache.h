/*
 * object_cache.h - keeps unused objects, so that the next thread that needs an object can have one
 *
 * The cache has several shards, each a list of objects.  A thread uses the shard of the processor
 * on which it runs.  So the thread gets the object that was last used on its processor, which may
 * still be in that processor's cache.  And threads on different processors do not wait for each
 * other.  A thread that finds its shard empty takes an object from another shard.  So the cache
 * holds hardly more objects than were in use at the same time.
 */
#ifndef GZLZSS_BASE_OBJECT_CACHE_H
#define GZLZSS_BASE_OBJECT_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The number of shards.  If there are more processors, several share a shard. */
#define OBJECT_SHARDS 64

/* The first member of every object that is kept. */
struct cached_object {
    struct cached_object *next;
};

/* Bytes of padding that keep shards in different cache lines, because different processors write to
 * them. */
#define OBJECT_SHARD_APART 64

struct object_shard {
    /* Held to change `first`. */
    pthread_mutex_t lock;
    _Atomic(struct cached_object *) first;
    char apart[OBJECT_SHARD_APART];
};

struct object_cache {
    struct object_shard shards[OBJECT_SHARDS];
};

void object_cache_init(struct object_cache *s);

/* Frees the cache, and calls `give_back` for each object in it.  Call this only when no other
 * thread uses the cache. */
void object_cache_free(struct object_cache *s, void (*give_back)(struct cached_object *kept));

/* Takes an object out of the cache; NULL if there is none. */
struct cached_object *object_cache_take(struct object_cache *s);

/* Puts an object into the cache. */
void object_cache_put(struct object_cache *s, struct cached_object *kept);

/* The number of the shard, below OBJECT_SHARDS, of the processor on which this thread runs. */
unsigned object_cache_shard(void);

#endif
