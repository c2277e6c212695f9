/*
 * shelves.c - what nobody uses, kept for the next thread that needs one (shelves.h)
 */
#include "config.h"

#include <sched.h>

#include "base/shelves.h"

unsigned shelves_here(void)
{
#ifdef HAVE_SCHED_GETCPU
    const int processor = sched_getcpu();

    return processor < 0 ? 0 : (unsigned)processor % SHELVES;
#else
    return 0;
#endif
}

void shelves_init(struct shelves *s)
{
    for (unsigned i = 0; i < SHELVES; i++) {
        pthread_mutex_init(&s->of[i].lock, NULL);
        atomic_init(&s->of[i].first, NULL);
    }
}

void shelves_free(struct shelves *s, void (*give_back)(struct shelved *kept))
{
    for (unsigned i = 0; i < SHELVES; i++) {
        struct shelved *kept = atomic_load(&s->of[i].first), *next;

        for (; kept != NULL; kept = next) {
            next = kept->next;
            give_back(kept);
        }
        pthread_mutex_destroy(&s->of[i].lock);
    }
}

static struct shelved *take(struct shelf *shelf)
{
    struct shelved *kept;

    if (atomic_load_explicit(&shelf->first, memory_order_relaxed) == NULL)
        return NULL;
    pthread_mutex_lock(&shelf->lock);
    kept = atomic_load(&shelf->first);
    if (kept != NULL)
        atomic_store(&shelf->first, kept->next);
    pthread_mutex_unlock(&shelf->lock);
    return kept;
}

struct shelved *shelves_take(struct shelves *s)
{
    const unsigned here = shelves_here();

    for (unsigned i = 0; i < SHELVES; i++) {
        struct shelved *kept = take(&s->of[(here + i) % SHELVES]);

        if (kept != NULL)
            return kept;
    }
    return NULL;
}

void shelves_leave(struct shelves *s, struct shelved *kept)
{
    struct shelf *shelf = &s->of[shelves_here()];

    pthread_mutex_lock(&shelf->lock);
    kept->next = atomic_load(&shelf->first);
    atomic_store(&shelf->first, kept);
    pthread_mutex_unlock(&shelf->lock);
}
