/*
 * shelves.h - what nobody uses, kept for the next thread that needs one
 *
 * There is a shelf for each processor (or for several): a thread takes what was used on its own last,
 * which may still be in its cache, and threads on different ones do not wait for each other.  A thread
 * that finds nothing there looks at the other shelves.  So hardly more is kept than was in use at a time.
 */
#ifndef GZLZSS_BASE_SHELVES_H
#define GZLZSS_BASE_SHELVES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* More processors than this share shelves. */
#define SHELVES 64

/* The first member of what is kept. */
struct shelved {
    struct shelved *next;
};

/* Bytes between what different processors write, so that they have no cache line in common. */
#define SHELVES_APART 64

struct shelf {
    pthread_mutex_t lock; /* to change `first` */
    _Atomic(struct shelved *) first;
    char apart[SHELVES_APART];
};

struct shelves {
    struct shelf of[SHELVES];
};

void shelves_init(struct shelves *s);

/* Frees all that is there, each by `give_back`. */
void shelves_free(struct shelves *s, void (*give_back)(struct shelved *kept));

/* Takes something; NULL if there is nothing. */
struct shelved *shelves_take(struct shelves *s);

void shelves_leave(struct shelves *s, struct shelved *kept);

/* The number of the shelf that is this thread's at the moment, below SHELVES. */
unsigned shelves_here(void);

#endif
