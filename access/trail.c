/*
 * trail.c - points that a reader gets while compat/ decodes its input (trail.h)
 *
 * The window before a run is known when the run is accepted.  The CRC of the data before it is
 * known only when the run is written.  In between, the run's point waits in a list.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "access/relay.h"
#include "access/trail.h"
#include "inflate/raw.h"

/* A point whose CRC is not known yet. */
struct waiting {
    struct waiting *next;
    struct access_point point;
    uint8_t window[INF_WINDOW];
};

struct access_trail {
    struct access_reader *r;
    struct access_point from;
    uint8_t window[INF_WINDOW]; /* the window of `from` */
    uint64_t in;                /* access_trail_in */
    struct access_relay relay;
    void (*seek)(void *ctx, uint64_t byte);
    void *ctx;
    bool has_jumped; /* decoding has come to `from` */
    /* The byte of the reader's output at which the current member's data starts.  In the member of
     * `from`, that may be unknown.  knows_member is then false, and the value has no meaning. */
    uint64_t member;
    bool knows_member;
    uint64_t leave_at; /* the next point is noted at this byte of the reader's output or later */
    /* Protects the members below. */
    pthread_mutex_t lock;
    uint64_t apart;                /* the distance of points, in bytes of output */
    struct waiting *first, **last; /* the list of waiting points, and the link at its end */
};

struct access_trail *access_trail_new(struct access_reader *r, uint64_t offset)
{
    struct access_trail *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->r = r;
    t->from = access_proven_point(r, offset, t->window);
    t->apart = ACCESS_APART;
    t->last = &t->first;
    t->has_jumped = t->knows_member = t->from.is_header;
    t->member = t->from.out;
    t->in = t->from.is_header ? t->from.bit / 8 : 0;
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

void access_trail_free(struct access_trail *t)
{
    if (t == NULL)
        return;
    for (struct waiting *next, *w = t->first; w != NULL; w = next) {
        next = w->next;
        free(w);
    }
    pthread_mutex_destroy(&t->lock);
    free(t);
}

uint64_t access_trail_in(const struct access_trail *t)
{
    return t->in;
}

uint64_t access_trail_out(const struct access_trail *t)
{
    return t->from.out;
}

/* --- Points --------------------------------------------------------------------------------- */

/* Returns the point at bit `bit` of the decompression's input and byte `out` of its output. */
static struct access_point point_at(const struct access_trail *t, uint64_t bit, uint64_t out)
{
    const uint64_t at = t->from.out + out;

    return (struct access_point){.bit = 8 * t->in + bit,
                                 .out = at,
                                 .line = ACCESS_NO_LINE,
                                 .is_hint = t->from.is_hint,
                                 .has_crc = t->knows_member,
                                 .len = t->knows_member ? at - t->member : 0};
}

void access_trail_note(struct access_trail *t, uint64_t bit, uint64_t out, const uint8_t *end,
                       size_t len)
{
    const struct access_point p = point_at(t, bit, out);
    struct waiting *w;

    if (p.out < t->leave_at)
        return;
    w = malloc(sizeof(*w));
    if (w == NULL)
        return; /* later reads take longer */
    w->next = NULL;
    w->point = p;
    w->point.stored = (uint32_t)len;
    if (len > 0)
        memcpy(w->window, end - len, len);
    pthread_mutex_lock(&t->lock);
    t->leave_at = p.out + t->apart;
    *t->last = w;
    t->last = &w->next;
    pthread_mutex_unlock(&t->lock);
}

/* Takes the waiting point at byte `out` of the reader's output out of the list.  Drops those before
 * it, whose runs were never written.  Returns NULL if no point is there. */
static struct waiting *take_waiting(struct access_trail *t, uint64_t out)
{
    struct waiting *w;

    pthread_mutex_lock(&t->lock);
    while ((w = t->first) != NULL && w->point.out < out) {
        t->first = w->next;
        free(w);
    }
    if (w != NULL && w->point.out > out)
        w = NULL;
    if (w != NULL)
        t->first = w->next;
    if (t->first == NULL)
        t->last = &t->first;
    pthread_mutex_unlock(&t->lock);
    return w;
}

void access_trail_leave(struct access_trail *t, uint64_t out, uint32_t check)
{
    struct waiting *w = take_waiting(t, t->from.out + out);
    uint64_t apart;

    if (w == NULL)
        return;
    w->point.crc = check;
    apart = access_leave_point(t->r, &w->point, w->window, w->point.stored) - w->point.out;
    pthread_mutex_lock(&t->lock);
    if (apart > t->apart)
        t->apart = apart;
    pthread_mutex_unlock(&t->lock);
    free(w);
}

/* --- Decoding by compat/ -------------------------------------------------------------------- */

static bool has_ahead(void *ctx, uint64_t bit, uint64_t *from)
{
    struct access_trail *t = ctx;

    *from = UINT64_MAX;
    return !t->has_jumped || access_relay_has(&t->relay, bit, from);
}

/* Moves the place to the first point.  Without that point's CRC, the member is not checked. */
static void jump(struct access_trail *t, struct gz_place *place)
{
    t->has_jumped = true;
    place->bit = t->from.bit;
    place->is_jump = !t->from.has_crc;
    place->check = t->from.crc;
    /* Without the CRC, only the window counts: data that refers to bytes before it is wrong. */
    place->len = t->from.has_crc ? t->from.len : t->from.stored;
    memcpy(place->end - INF_WINDOW, t->window, INF_WINDOW);
    t->member = t->from.out - place->len;
    t->knows_member = t->from.has_crc;
}

static bool run_ahead(void *ctx, struct gz_place *place)
{
    struct access_trail *t = ctx;
    const size_t len = place->len < INF_WINDOW ? (size_t)place->len : INF_WINDOW;
    const uint64_t member = t->from.out + place->before;

    if (!t->has_jumped) {
        jump(t, place);
        return true;
    }
    if (member != t->member) {
        t->member = member;
        t->knows_member = true;
    }
    access_trail_note(t, place->bit, place->before + place->len, place->end, len);
    access_trail_leave(t, place->before + place->len, place->check);
    return access_relay_run(&t->relay, place);
}

static void seek_ahead(void *ctx, uint64_t byte)
{
    struct access_trail *t = ctx;

    if (t->relay.inner != NULL)
        t->relay.inner->seek(t->relay.inner->ctx, byte);
    else
        t->seek(t->ctx, byte);
}

struct gz_ahead access_trail_ahead(struct access_trail *t, const struct gz_ahead *inner,
                                   void (*seek)(void *ctx, uint64_t byte), void *ctx)
{
    t->relay = (struct access_relay){.inner = inner};
    t->seek = seek;
    t->ctx = ctx;
    return (struct gz_ahead){has_ahead, run_ahead, seek_ahead, t};
}
