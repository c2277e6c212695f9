/*
 * grow.c - an output in memory that grows as it is written (grow.h)
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

/* Calls the program's function, or realloc(). */
static void *resize(struct grow *g, size_t size)
{
    return g->resize != NULL ? g->resize(g->ctx, g->bytes, size) : realloc(g->bytes, size);
}

/* Makes room for `size` bytes in all.  The memory grows by at least half, so that each byte is
 * copied at most three times on average.  If the system does not give that much, the memory grows
 * only to `size`. */
static bool make_room(struct grow *g, size_t size)
{
    size_t more = g->room == 0 ? g->first : g->room + g->room / 2;
    void *memory;

    if (more < size)
        more = size;
    memory = resize(g, more);
    if (memory == NULL && more > size) {
        more = size;
        memory = resize(g, more);
    }
    if (memory == NULL) {
        errno = ENOMEM;
        return false;
    }
    g->bytes = memory;
    g->room = more;
    return true;
}

bool grow_put(struct grow *g, const void *bytes, size_t len)
{
    if (len == 0)
        return true;
    if (len > SIZE_MAX / 2 - g->len) {
        errno = ENOMEM;
        return false;
    }
    if (g->len + len > g->room && !make_room(g, g->len + len))
        return false;
    memcpy(g->bytes + g->len, bytes, len);
    g->len += len;
    return true;
}

uint8_t *grow_next(const struct grow *g, size_t *room)
{
    *room = g->room - g->len;
    return *room > 0 ? g->bytes + g->len : NULL;
}

void grow_fit(struct grow *g)
{
    void *memory;

    if (g->len == 0 || g->len == g->room)
        return;
    memory = resize(g, g->len);
    if (memory == NULL)
        return;
    g->bytes = memory;
    g->room = g->len;
}
