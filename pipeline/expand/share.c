/*
 * share.c - which calls of the library workers help (share.h)
 */
#include "config.h"

#include "pipeline/crew/workers.h"
#include "pipeline/expand/share.h"

/* If several calls are helped, there are at least this many helpers for each.  A single helper
 * decodes symbols, and resolves them, in about the time that it saves. */
#define HELPERS_MIN 2

/* Returns how many helpers there may be. */
static int helpers_max(const struct pipeline *p)
{
    return crew_threads(p) - p->expansions->consumers;
}

void share_begin(struct expansion *e)
{
    lock(e->p);
    e->share.is_counted = true;
    e->p->expansions->consumers++;
    share_decide(e);
    unlock(e->p);
}

void share_end(struct expansion *e)
{
    if (!e->share.is_counted)
        return;
    e->p->expansions->consumers--;
    e->p->expansions->shared -= e->share.is_helped;
    e->share.is_counted = e->share.is_helped = false;
}

void share_decide(struct expansion *e)
{
    struct expansions *all = e->p->expansions;
    const bool was_helped = e->share.is_helped;
    const int others = all->shared - was_helped;

    if (!e->share.is_counted)
        return;
    e->share.is_helped = all->consumers == 1 || helpers_max(e->p) >= HELPERS_MIN * (others + 1);
    all->shared = others + e->share.is_helped;
    if (e->share.is_helped && !was_helped && e->has_begun)
        crew_call(e->p);
}

bool share_helps(const struct expansion *e)
{
    return !e->share.is_counted || e->share.is_helped;
}

bool share_has_room(const struct pipeline *p)
{
    const struct expansions *all = p->expansions;

    return all->consumers <= 1 || all->helpers < helpers_max(p);
}
