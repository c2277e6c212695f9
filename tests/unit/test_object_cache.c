/*
 * test_object_cache.c - an object that was put into the cache is taken out again, by one thread
 * only
 */
#include "config.h"

#include <sched.h>
#include <stdbool.h>

#include "base/object_cache.h"
#include "tests/unit/unit.h"

#define THREADS 4
#define ROUNDS 20000

struct thing {
    struct cached_object kept;
    atomic_int users;
};

static atomic_int made, freed, seen_twice;

static struct thing *make(void)
{
    struct thing *t = calloc(1, sizeof(*t));

    if (t == NULL)
        abort();
    atomic_fetch_add(&made, 1);
    return t;
}

static void give_back(struct cached_object *kept)
{
    atomic_fetch_add(&freed, 1);
    free(kept);
}

/* Sets the first and the last processor that this thread may use.  Returns false if the thread
 * cannot be bound to a single processor. */
static bool find_processors(int processors[2])
{
#ifdef HAVE_SCHED_GETCPU
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return false;
    processors[0] = -1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) {
            if (processors[0] < 0)
                processors[0] = i;
            processors[1] = i;
        }
    return processors[0] >= 0;
#else
    (void)processors;
    return false;
#endif
}

/* Moves the thread to a processor.  Returns whether the thread is on that processor. */
static bool move_to(int processor)
{
#ifdef HAVE_SCHED_GETCPU
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0 && sched_getcpu() == processor;
#else
    (void)processor;
    return false;
#endif
}

static void test_take(void)
{
    struct object_cache s;
    struct thing *a = make(), *b = make();
    struct cached_object *first, *second;

    object_cache_init(&s);
    CHECK(object_cache_take(&s) == NULL);
    object_cache_put(&s, &a->kept);
    object_cache_put(&s, &b->kept);
    first = object_cache_take(&s);
    second = object_cache_take(&s);
    CHECK(first != NULL && second != NULL && first != second);
    CHECK(object_cache_take(&s) == NULL);
    object_cache_put(&s, &a->kept);
    object_cache_put(&s, &b->kept);
    freed = 0;
    object_cache_free(&s, give_back);
    CHECK_EQ(freed, 2);
}

/* On one processor, the object that was put in last is taken first.  A thread on another processor
 * also finds that object, if the other processor's own objects are taken. */
static void test_processors(void)
{
    struct object_cache s;
    struct thing *things[3] = {make(), make(), make()};
    struct cached_object *const a = &things[0]->kept, *const b = &things[1]->kept;
    int processors[2];

    object_cache_init(&s);
    if (find_processors(processors) && move_to(processors[0])) {
        const unsigned here = object_cache_shard();

        object_cache_put(&s, a);
        object_cache_put(&s, b);
        CHECK(object_cache_take(&s) == b);
        CHECK(object_cache_take(&s) == a);
        object_cache_put(&s, a);
        if (move_to(processors[1]) && object_cache_shard() != here) {
            object_cache_put(&s, &things[2]->kept);
            CHECK(object_cache_take(&s) == &things[2]->kept);
            CHECK(object_cache_take(&s) == a);
            CHECK(object_cache_take(&s) == NULL);
            object_cache_put(&s, &things[2]->kept);
            object_cache_put(&s, a);
            move_to(processors[0]);
            CHECK(object_cache_take(&s) != NULL);
            CHECK(object_cache_take(&s) != NULL);
        } else {
            CHECK(object_cache_take(&s) == a);
        }
        CHECK(object_cache_take(&s) == NULL);
    }
    for (int i = 0; i < 3; i++)
        object_cache_put(&s, &things[i]->kept);
    freed = 0;
    object_cache_free(&s, give_back);
    CHECK_EQ(freed, 3);
}

static void *use(void *argument)
{
    struct object_cache *s = argument;

    for (int i = 0; i < ROUNDS; i++) {
        struct thing *t = (struct thing *)object_cache_take(s);

        if (t == NULL)
            t = make();
        if (atomic_fetch_add(&t->users, 1) != 0)
            atomic_fetch_add(&seen_twice, 1);
        if (i % 64 == 0)
            sched_yield();
        atomic_fetch_sub(&t->users, 1);
        object_cache_put(s, &t->kept);
    }
    return NULL;
}

static void test_threads(void)
{
    struct object_cache s;
    pthread_t threads[THREADS];

    made = freed = 0;
    object_cache_init(&s);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, use, &s), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(seen_twice, 0);
    object_cache_free(&s, give_back);
    /* Some objects were used again. */
    CHECK(made > 0 && made < ROUNDS);
    CHECK_EQ(freed, made);
}

int main(void)
{
    RUN(test_take);
    RUN(test_threads);
    RUN(test_processors);
    return unit_done();
}
