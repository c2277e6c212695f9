/*
 * regions.c - the list of stretches, and memory for what comes of them (api.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
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

/* To look for a header takes about as long as to decode what is looked at.  So no more of the input is
 * looked at in vain, in stretches that have none, than SEARCH_MIN, and SEARCH_THREAD for each thread,
 * and as much as was decoded ahead and was of use, and a small part of all.  With less, too little is
 * found where blocks are large; with more, where there is nothing to be found takes longer. */
#define SEARCH_MIN ((uint64_t)512 << 10)
#define SEARCH_THREAD ((uint64_t)32 << 10)
#define SEARCH_OF_ALL 32

/* Where data compresses much better than on average, a stretch makes more than its share of output, or
 * than there is room for: its rest becomes a stretch of its own.  A rest is cut at the next mark after
 * so much input, and what follows that is the next rest: so other workers need not wait to learn
 * where they can go on. */
#define REST_MIN ((uint64_t)4 << 10)

/* Stretches are no further than this ahead of the consumer, or than that for each thread: what is
 * read of a pipe is kept. */
#define LEAD_MIN ((uint64_t)32 << 20)
#define LEAD_THREAD ((uint64_t)2 << 20)

/* Room for a stretch's output that is free. */
struct room {
    struct room *next;
};

/* --- Memory --------------------------------------------------------------------------------- */

bool has_free_room(const struct expansion *e)
{
    const struct expanding *all = e->p->expanding;

    if (e->is_slow && (uint64_t)e->rooms >= e->taken / STRETCH_OUT)
        return false;
    return all->rooms != NULL || all->rooms_made < all->rooms_max;
}

uint8_t *take_room(struct expansion *e)
{
    struct expanding *all = e->p->expanding;
    struct room *r = all->rooms;

    if (!has_free_room(e))
        return NULL;
    if (r != NULL) {
        all->rooms = r->next;
    } else {
        r = malloc(ROOM_BEFORE + ROOM_SIZE);
        if (r == NULL)
            all->rooms_max = all->rooms_made; /* there will be no more */
        all->rooms_made += r != NULL;
    }
    e->rooms += r != NULL;
    return (uint8_t *)r;
}

static void give_room(struct expansion *e, struct stretch *k)
{
    struct expanding *all = e->p->expanding;
    struct room *r = (struct room *)k->room;

    if (r == NULL)
        return;
    e->rooms--;
    k->room = NULL;
    if (k->room_is_own) {
        free(r);
    } else {
        r->next = all->rooms;
        all->rooms = r;
    }
    k->room_is_own = false;
}

struct room *take_free_rooms(struct pipeline *p)
{
    struct expanding *all = p->expanding;
    struct room *rooms = all->rooms;

    for (const struct room *r = rooms; r != NULL; r = r->next)
        all->rooms_made--;
    all->rooms = NULL;
    return rooms;
}

void free_rooms(struct room *rooms)
{
    for (struct room *next; rooms != NULL; rooms = next) {
        next = rooms->next;
        /* malloc may keep what is freed. */
        pages_give_back(rooms, (const uint8_t *)rooms + ROOM_BEFORE + ROOM_SIZE);
        free(rooms);
    }
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
    free_rooms(take_free_rooms(p));
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
    /* Where little may be pushed, all threads have a part of it. */
    if (e->is_pushed && size > e->lead / (uint64_t)crew_threads(e->p))
        size = e->lead / (uint64_t)crew_threads(e->p);
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
    give_room(e, k);
    for (size_t i = 0; i < k->count; i++)
        free(k->pieces[i]);
    free(k->pieces);
    k->pieces = NULL;
    k->count = k->size = k->passed = 0;
    k->is_full = k->ends_at_mark = false;
}

void free_stretch(struct expansion *e, struct stretch *k)
{
    forget(e, k);
    free(k);
}

void decode_later(struct expansion *e, struct stretch *k)
{
    /* Where nothing came of it, nothing would. */
    if (k->count > 0)
        k->state = WAITING;
    forget(e, k);
}

void give_up_rooms(struct expansion *e)
{
    for (struct stretch *k = e->first; k != NULL; k = k->next)
        if (k->state == DECODED && k->waiting == 0) {
            decode_later(e, k);
        } else if (k->state == DECODED && k->room != NULL && !k->room_is_own) {
            k->room_is_own = true;
            e->p->expanding->rooms_made--;
        }
}

uint64_t written_to(const struct expansion *e)
{
    const struct piece *piece = e->written != NULL ? e->written : e->first_out;

    return piece != NULL ? piece->start / 8 : e->cursor;
}

void count_lead(struct expansion *e)
{
    const uint64_t written = written_to(e);
    const uint64_t ahead = e->pushed > written && !e->closing ? e->pushed - written : 0;
    const uint64_t lent = e->has_begun && ahead > PUSH_LEAD ? ahead - PUSH_LEAD : 0;

    e->p->expanding->lead_lent += lent - e->lead_lent;
    e->lead_lent = lent;
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
            if (k->from < wanted && !(e->has_given_up && k->waiting > 0))
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
    count_lead(e);
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
    e->search_max =
        SEARCH_MIN + (uint64_t)crew_threads(p) * SEARCH_THREAD + e->in + e->cursor / SEARCH_OF_ALL;
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
