/*
 * object_cache.c - keeps unused objects for threads that need one later (object_cache.h)
 */
#include "config.h"

#include <sched.h>

#include "base/object_cache.h"

unsigned object_cache_shard(void)
{
#ifdef HAVE_SCHED_GETCPU
    const int processor = sched_getcpu();

    return processor < 0 ? 0 : (unsigned)processor % OBJECT_SHARDS;
#else
    return 0;
#endif
}

void object_cache_init(struct object_cache *s)
{
    for (unsigned i = 0; i < OBJECT_SHARDS; i++) {
        pthread_mutex_init(&s->shards[i].lock, NULL);
        atomic_init(&s->shards[i].first, NULL);
    }
}

void object_cache_free(struct object_cache *s, void (*give_back)(struct cached_object *kept))
{
    for (unsigned i = 0; i < OBJECT_SHARDS; i++) {
        struct cached_object *kept = atomic_load(&s->shards[i].first), *next;

        for (; kept != NULL; kept = next) {
            next = kept->next;
            give_back(kept);
        }
        pthread_mutex_destroy(&s->shards[i].lock);
    }
}

/* Takes the object that was put into the shard last; NULL if there is none. */
static struct cached_object *take_object(struct object_shard *shard)
{
    struct cached_object *kept;

    if (atomic_load_explicit(&shard->first, memory_order_relaxed) == NULL)
        return NULL;
    pthread_mutex_lock(&shard->lock);
    kept = atomic_load(&shard->first);
    if (kept != NULL)
        atomic_store(&shard->first, kept->next);
    pthread_mutex_unlock(&shard->lock);
    return kept;
}

struct cached_object *object_cache_take(struct object_cache *s)
{
    const unsigned first = object_cache_shard();

    for (unsigned i = 0; i < OBJECT_SHARDS; i++) {
        struct cached_object *kept = take_object(&s->shards[(first + i) % OBJECT_SHARDS]);

        if (kept != NULL)
            return kept;
    }
    return NULL;
}

void object_cache_put(struct object_cache *s, struct cached_object *kept)
{
    struct object_shard *shard = &s->shards[object_cache_shard()];

    pthread_mutex_lock(&shard->lock);
    kept->next = atomic_load(&shard->first);
    atomic_store(&shard->first, kept);
    pthread_mutex_unlock(&shard->lock);
}
