/*
 * stretches.c - the list of stretches, and memory for what comes of them (api.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "inflate/find.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/expansion.h"

/* A stretch, which makes about STRETCH_OUT, has no less or more input than this; at first, as much as
 * this. */
#define STRETCH_MIN ((uint64_t)32 << 10)
#define STRETCH_MAX ((uint64_t)1 << 20)
#define STRETCH_FIRST ((uint64_t)256 << 10)

/* Where what is not known of a window has to be decoded as symbols, the work doubles: with fewer
 * threads than these, only what starts at marks and members is decoded ahead. */
#define SYMBOLS_THREADS 3

/* Where there are marks, none is expected to be further from the next than this. */
#define MARKS_DISTANCE ((uint64_t)5 << 20)

/* After so many stretches in a row of which none was of use, besides two for each thread, so much
 * input is left out, and each time twice as much up to a limit. */
#define VAIN_MAX 16
#define PAUSE_FIRST ((uint64_t)16 << 20)
#define PAUSE_MAX ((uint64_t)256 << 20)

/* Where data compresses much better than on average, a stretch makes more than its share of output, or
 * than there is room for: its rest becomes a stretch of its own.  A rest is cut at the next mark after
 * so much input, and what follows that is the next rest: so other workers need not wait to learn
 * where they can go on. */
#define REST_MIN ((uint64_t)4 << 10)

/* Stretches are no further than this ahead of the consumer, or than that for each thread: what is
 * read of a pipe is kept. */
#define LEAD_MIN ((uint64_t)32 << 20)
#define LEAD_THREAD ((uint64_t)2 << 20)

/* One whose consumer waits for room in its output for so many seconds has stalled. */
#define STALLED 0.1

/* Room for a stretch's output that is free. */
struct room {
    struct room *next;
};

/* --- Memory --------------------------------------------------------------------------------- */

uint8_t *take_room(struct pipeline *p)
{
    struct room *r = p->expanding->rooms;

    if (r != NULL) {
        p->expanding->rooms = r->next;
        return (uint8_t *)r;
    }
    if (!has_free_room(p))
        return NULL;
    r = malloc(ROOM_BEFORE + ROOM_SIZE);
    if (r == NULL && p->expanding->rooms_made < p->expanding->rooms_max)
        p->expanding->rooms_max = p->expanding->rooms_made; /* there will be no more */
    p->expanding->rooms_made += r != NULL;
    return (uint8_t *)r;
}

bool has_free_room(const struct pipeline *p)
{
    return p->expanding->rooms != NULL ||
           p->expanding->rooms_made < p->expanding->rooms_max + p->expanding->rooms_lent;
}

static void give_room(struct pipeline *p, uint8_t *room)
{
    struct room *r = (struct room *)room;

    if (r == NULL)
        return;
    if (p->expanding->rooms_made > p->expanding->rooms_max + p->expanding->rooms_lent) {
        free(r);
        p->expanding->rooms_made--;
        return;
    }
    r->next = p->expanding->rooms;
    p->expanding->rooms = r;
}

bool expand_init(struct pipeline *p, int rooms_max)
{
    p->expanding = calloc(1, sizeof(*p->expanding));
    if (p->expanding != NULL)
        p->expanding->rooms_max = rooms_max;
    return p->expanding != NULL;
}

void expand_free_rooms(struct pipeline *p)
{
    struct expanding *x = p->expanding;

    for (struct room *r = x->rooms, *next; r != NULL; r = next) {
        next = r->next;
        free(r);
        x->rooms_made--;
    }
    x->rooms = NULL;
}

void expand_free(struct pipeline *p)
{
    if (p->expanding == NULL)
        return;
    expand_free_rooms(p);
    free(p->expanding->finder);
    free(p->expanding);
}

/* --- The list of stretches ------------------------------------------------------------------ */

static uint64_t stretch_size(const struct expansion *e)
{
    uint64_t size;

    if (e->fixed_stretch > 0)
        return e->fixed_stretch;
    if (e->out == 0)
        return STRETCH_FIRST;
    size = (uint64_t)((double)STRETCH_OUT * (double)e->in / (double)e->out);
    return size < STRETCH_MIN ? STRETCH_MIN : size > STRETCH_MAX ? STRETCH_MAX : size;
}

static uint64_t lead_max(const struct pipeline *p)
{
    const uint64_t lead = (uint64_t)crew_threads(p) * LEAD_THREAD;

    return lead < LEAD_MIN ? LEAD_MIN : lead;
}

struct stretch *add_stretch(struct expansion *e)
{
    const uint64_t size = stretch_size(e), end = input_size(e->input);
    /* What the consumer has read, it will have decoded soon. */
    const uint64_t passed = e->fixed_stretch > 0 ? e->passed : e->cursor;
    struct stretch *k;

    if (e->next_from < passed)
        e->next_from = passed;
    if (e->next_from == 0) /* where the consumer begins */
        e->next_from = size;
    if (e->next_from >= end || e->next_from > e->cursor + lead_max(e->p) || e->closing)
        return NULL;
    if (++e->vain > VAIN_MAX + 2 * (unsigned)crew_threads(e->p)) {
        e->vain = 0;
        e->pause = e->pause == 0 ? PAUSE_FIRST : e->pause < PAUSE_MAX ? 2 * e->pause : PAUSE_MAX;
        e->next_from += e->pause;
        return NULL;
    }
    k = calloc(1, sizeof(*k));
    if (k == NULL)
        return NULL;
    k->from = e->next_from;
    k->to = size < end - k->from ? k->from + size : end;
    e->next_from = k->to;
    if (e->first == NULL)
        e->first = k;
    else
        e->last->next = k;
    e->last = k;
    return k;
}

/* Frees what was decoded of it. */
static void forget(struct expansion *e, struct stretch *k)
{
    give_room(e->p, k->room);
    for (size_t i = 0; i < k->count; i++)
        free(k->pieces[i]);
    free(k->pieces);
    k->room = NULL;
    k->pieces = NULL;
    k->count = k->size = k->passed = 0;
    k->is_full = k->ends_at_mark = false;
}

void free_stretch(struct expansion *e, struct stretch *k)
{
    forget(e, k);
    free(k);
}

/* The furthest stretch whose pieces nobody is at, or NULL. */
static struct stretch *furthest_decoded(const struct expansion *e)
{
    struct stretch *furthest = NULL;

    for (struct stretch *k = e->first; k != NULL; k = k->next)
        if (k->state == DECODED && k->waiting == 0 && k->room != NULL)
            furthest = k;
    return furthest;
}

bool take_back_room(const struct expansion *e)
{
    struct pipeline *p = e->p;
    const double now = clock_seconds();

    p->expanding->rooms_lent = 0;
    for (struct expansion *other = p->expanding->expansions; other != NULL; other = other->next) {
        struct stretch *k;

        if (other == e || other->closing || other->accepting || other->stalled_at == 0 ||
            now - other->stalled_at < STALLED)
            continue;
        k = furthest_decoded(other);
        if (k != NULL) {
            /* It can be decoded again. */
            forget(other, k);
            k->state = WAITING;
            return true;
        }
        for (k = other->first; k != NULL; k = k->next)
            p->expanding->rooms_lent += k->room != NULL;
    }
    return has_free_room(p);
}

/* Whether the consumer, which is at that bit, cannot use the stretch any more. */
static bool is_past(const struct stretch *k, uint64_t bit)
{
    if (k->state == DECODED)
        return k->count == 0 || k->pieces[k->count - 1]->start < bit;
    if (k->sought == FOUND)
        return k->start < bit;
    return 8 * k->to <= bit;
}

void drop_past(struct expansion *e, uint64_t bit)
{
    struct stretch **link = &e->first, *last = NULL;
    uint64_t wanted = bit / 8;
    int rooms = 0;

    /* They are in order, and nothing starts before its stretch. */
    while (*link != NULL && 8 * (*link)->from <= bit) {
        struct stretch *k = *link;
        const bool past = is_past(k, bit);

        if (past && k->state == DECODING)
            k->useless = true;
        if (past && k->waiting == 0 && k->state != DECODING && k->sought != SEEKING) {
            *link = k->next;
            rooms += k->room != NULL;
            free_stretch(e, k);
        } else {
            if (k->from < wanted)
                wanted = k->from;
            last = k;
            link = &k->next;
        }
    }
    if (*link == NULL)
        e->last = last;
    for (; rooms > 0; rooms--)
        crew_call(e->p);
    /* A mark may begin before the stretch. */
    input_forget(e->input, wanted > INF_MARK_SIZE ? wanted - INF_MARK_SIZE : 0);
}

/* Adds a stretch of what stretch k has from byte `from` on; NULL if memory is short. */
static struct stretch *cut_off(struct expansion *e, struct stretch *k, uint64_t from)
{
    struct stretch *rest = calloc(1, sizeof(*rest));

    if (rest == NULL)
        return NULL;
    rest->from = from;
    rest->to = k->to;
    rest->is_rest = true;
    rest->next = k->next;
    k->to = from;
    k->next = rest;
    if (e->last == k)
        e->last = rest;
    crew_call(e->p);
    return rest;
}

/* Cuts a rest, whose start was found, at the next mark; the lock is given up meanwhile. */
static void cut_rest(struct expansion *e, struct expand_tools *t, struct stretch *k)
{
    struct stretch next = {.from = k->start / 8 + REST_MIN, .to = k->to};
    bool found;

    unlock(e->p);
    found = next.from < next.to && find_start(e, t, &next, true);
    lock(e->p);
    /* (A member's header would be before its start.) */
    if (found && next.kind == AT_MARK && next.start / 8 < k->to && !e->closing)
        cut_off(e, k, next.start / 8);
}

void add_rest(struct expansion *e, struct expand_tools *t, struct stretch *k)
{
    const struct piece *last = k->count > 0 ? k->pieces[k->count - 1] : NULL;
    const bool is_at_mark = k->ends_at_mark;
    struct stretch *rest;

    if (last == NULL || last->end / 8 >= k->to)
        return;
    rest = cut_off(e, k, last->end / 8);
    /* Behind a member, the next one is to be sought. */
    if (rest == NULL || last->ended || (!is_at_mark && crew_threads(e->p) < SYMBOLS_THREADS))
        return;
    rest->kind = is_at_mark ? AT_MARK : ANYWHERE;
    rest->start = last->end;
    rest->sought = SEEKING;
    if (is_at_mark)
        cut_rest(e, t, rest);
    rest->sought = FOUND;
    wake_all(e->p, CAN_EXPAND);
}

void seek_start(struct expansion *e, struct expand_tools *t, struct stretch *k)
{
    struct pipeline *p = e->p;
    const bool marks_only = crew_threads(p) < SYMBOLS_THREADS ||
                            (e->has_marks && k->from < e->last_mark + MARKS_DISTANCE);
    bool found;

    k->sought = SEEKING;
    unlock(p);
    found = find_start(e, t, k, marks_only);
    lock(p);
    if (found && k->kind != ANYWHERE && k->is_rest)
        cut_rest(e, t, k);
    /* Of a pipe that gives nothing now, it is sought later. */
    k->sought = found ? FOUND : input_has(e->input, k->to) ? NOT_FOUND : NOT_SOUGHT;
    if (found && k->kind == AT_MARK && k->start / 8 > e->last_mark)
        e->last_mark = k->start / 8;
    wake_all(p, CAN_EXPAND);
}
