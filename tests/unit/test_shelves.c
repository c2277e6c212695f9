/*
 * test_shelves.c - what is left on shelves is taken again, by one thread each
 */
#include "config.h"

#include <sched.h>
#include <stdbool.h>

#include "base/shelves.h"
#include "tests/unit/unit.h"

#define THREADS 4
#define ROUNDS 20000

struct thing {
    struct shelved kept;
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

static void give_back(struct shelved *kept)
{
    atomic_fetch_add(&freed, 1);
    free(kept);
}

/* Goes to another processor, if it may; false if it may not. */
static bool move_to(int processor)
{
#ifdef HAVE_SCHED_GETCPU
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
#else
    (void)processor;
    return false;
#endif
}

static void test_last_in_first_out(void)
{
    struct shelves s;
    struct thing *a = make(), *b = make();

    shelves_init(&s);
    CHECK(shelves_take(&s) == NULL);
    /* Wherever this thread is meanwhile. */
    for (int i = 0; i < 2; i++) {
        struct shelved *first, *second;

        move_to(0);
        shelves_leave(&s, &a->kept);
        shelves_leave(&s, &b->kept);
        move_to(i);
        first = shelves_take(&s);
        second = shelves_take(&s);
        CHECK(first == &b->kept);
        CHECK(second == &a->kept);
        CHECK(shelves_take(&s) == NULL);
    }
    shelves_leave(&s, &a->kept);
    move_to(0);
    shelves_leave(&s, &b->kept);
    freed = 0;
    shelves_free(&s, give_back);
    CHECK_EQ(freed, 2);
}

static void *use(void *argument)
{
    struct shelves *s = argument;

    for (int i = 0; i < ROUNDS; i++) {
        struct thing *t = (struct thing *)shelves_take(s);

        if (t == NULL)
            t = make();
        if (atomic_fetch_add(&t->users, 1) != 0)
            atomic_fetch_add(&seen_twice, 1);
        if (i % 64 == 0)
            sched_yield();
        atomic_fetch_sub(&t->users, 1);
        shelves_leave(s, &t->kept);
    }
    return NULL;
}

static void test_threads(void)
{
    struct shelves s;
    pthread_t threads[THREADS];

    made = freed = 0;
    shelves_init(&s);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, use, &s), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(seen_twice, 0);
    shelves_free(&s, give_back);
    CHECK(made > 0);
    CHECK_EQ(freed, made);
}

int main(void)
{
    RUN(test_threads);
    RUN(test_last_in_first_out);
    return unit_done();
}
