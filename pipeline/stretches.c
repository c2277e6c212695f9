/*
 * stretches.c - stretches of the input, decoded ahead (expand.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "compat/crc.h"
#include "compat/gzip.h"
#include "inflate/find.h"
#include "pipeline/crew.h"
#include "pipeline/expand.h"
#include "pipeline/expansion.h"

/* A stretch of the input has what makes about so much output, */
#define STRETCH_OUT ((uint64_t)2 << 20)
/* and no less or more input than this; at first, as much as this. */
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

/* Pieces of a stretch, at most: it can have a great many members that are empty. */
#define PIECES_MAX 1000

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

void expand_free_tools(struct expand_tools *t)
{
    if (t == NULL)
        return;
    inf_close(t->raw);
    inf_symbols_free(t->symbols);
    if (t->view.in != NULL)
        free(t->view.in - INF_BACK);
    free(t->scan);
    free(t);
}

struct expand_tools *new_tools(void)
{
    struct expand_tools *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->raw = inf_open();
    t->symbols = inf_symbols_new();
    t->view.in = calloc(1, INF_BACK + VIEW_SIZE + VIEW_PAD);
    if (t->view.in != NULL)
        t->view.in += INF_BACK;
    t->scan = malloc(SCAN_SIZE + VIEW_PAD);
    if (t->raw == NULL || t->symbols == NULL || t->view.in == NULL || t->scan == NULL) {
        expand_free_tools(t);
        return NULL;
    }
    return t;
}

uint8_t *take_room(struct pipeline *p)
{
    struct room *r = p->rooms;

    if (r != NULL) {
        p->rooms = r->next;
        return (uint8_t *)r;
    }
    if (!has_free_room(p))
        return NULL;
    r = malloc(ROOM_BEFORE + ROOM_SIZE);
    if (r == NULL && p->rooms_made < p->rooms_max)
        p->rooms_max = p->rooms_made; /* there will be no more */
    p->rooms_made += r != NULL;
    return (uint8_t *)r;
}

bool has_free_room(const struct pipeline *p)
{
    return p->rooms != NULL || p->rooms_made < p->rooms_max + p->rooms_lent;
}

static void give_room(struct pipeline *p, uint8_t *room)
{
    struct room *r = (struct room *)room;

    if (r == NULL)
        return;
    if (p->rooms_made > p->rooms_max + p->rooms_lent) {
        free(r);
        p->rooms_made--;
        return;
    }
    r->next = p->rooms;
    p->rooms = r;
}

void expand_free_rooms(struct pipeline *p)
{
    for (struct room *r = p->rooms, *next; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
}

/* --- Input ---------------------------------------------------------------------------------- */

static void view_begin(struct view *v, uint64_t offset)
{
    v->offset = offset;
    v->len = 0;
    v->ends = false;
}

/* Reads on, and keeps what is from in[keep] on, and a few bytes before.  *keep becomes where it is
 * then.  False if there is no more. */
static bool view_more(const struct expansion *e, struct view *v, size_t *keep)
{
    const size_t from = *keep > INF_BACK ? *keep - INF_BACK : 0;
    size_t n;

    if (v->ends)
        return false;
    memmove(v->in, v->in + from, v->len - from);
    v->offset += from;
    v->len -= from;
    *keep -= from;
    if (v->len == VIEW_SIZE)
        return false;
    n = input_read_at(e->input, v->offset + v->len, v->in + v->len, VIEW_SIZE - v->len);
    v->ends = n < VIEW_SIZE - v->len;
    v->len += n;
    memset(v->in + v->len, 0, VIEW_PAD);
    return n > 0;
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
    const uint64_t lead = (uint64_t)p->threads * LEAD_THREAD;

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
    if (++e->vain > VAIN_MAX + 2 * (unsigned)e->p->threads) {
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

    p->rooms_lent = 0;
    for (struct expansion *other = p->expansions; other != NULL; other = other->next) {
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
            p->rooms_lent += k->room != NULL;
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
    if (rest == NULL || last->ended || (!is_at_mark && e->p->threads < SYMBOLS_THREADS))
        return;
    rest->kind = is_at_mark ? AT_MARK : ANYWHERE;
    rest->start = last->end;
    rest->sought = SEEKING;
    if (is_at_mark)
        cut_rest(e, t, rest);
    rest->sought = FOUND;
    pthread_cond_broadcast(&e->p->can_expand);
}

void seek_start(struct expansion *e, struct expand_tools *t, struct stretch *k)
{
    struct pipeline *p = e->p;
    const bool marks_only =
        p->threads < SYMBOLS_THREADS || (e->has_marks && k->from < e->last_mark + MARKS_DISTANCE);
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
    pthread_cond_broadcast(&p->can_expand);
}

/* --- Decoding ------------------------------------------------------------------------------- */

/* Whether what is decoded for `k` is to end at that bit, where a block starts: somebody else has
 * begun there, or will. */
static bool stops_at(struct expansion *e, struct expand_tools *t, struct stretch *k, uint64_t bit)
{
    struct pipeline *p = e->p;
    bool stops = false;

    if (k->useless)
        return true;
    if (bit / 8 < k->to)
        return false;
    lock(p);
    for (struct stretch *next = k->next; !stops;) {
        if (next == NULL)
            next = add_stretch(e);
        if (next == NULL || e->closing || k->useless)
            break;
        if (next->sought == NOT_SOUGHT) {
            /* A pipe may give nothing for long. */
            if (!input_has(e->input, next->to))
                break;
            seek_start(e, t, next);
            if (next->sought == NOT_SOUGHT)
                break;
        } else if (next->sought == SEEKING) {
            pthread_cond_wait(&p->can_expand, &p->lock);
            next = k->next; /* that one may be gone */
        } else if (next->sought == FOUND && next->start >= bit) {
            stops = next->start == bit;
            break;
        } else if (next->sought == NOT_FOUND && bit < 8 * next->to) {
            break;
        } else {
            next = next->next;
        }
    }
    stops = stops || e->closing || k->useless;
    unlock(p);
    return stops;
}

/* Whether so much was made for `k`, up to `out`, that the rest, from that bit on, is to be a stretch of
 * its own, since it starts at a mark. */
static bool is_enough(const struct view *v, struct stretch *k, uint64_t bit, const uint8_t *out)
{
    const uint64_t place = bit / 8 - v->offset;

    if (bit % 8 != 0 || bit / 8 >= k->to || place < INF_MARK_SIZE ||
        out < k->room + ROOM_BEFORE + STRETCH_OUT || !inf_is_mark(v->in + place - INF_MARK_SIZE))
        return false;
    k->is_full = k->ends_at_mark = true;
    return true;
}

/* Adds a piece that starts at that bit; NULL if memory is short. */
static struct piece *add_piece(struct stretch *k, uint64_t start, uint8_t *bytes)
{
    struct piece *piece;

    if (k->count == k->size) {
        const size_t size = k->size > 0 ? 2 * k->size : 4;
        struct piece **pieces = realloc(k->pieces, size * sizeof(*pieces));

        if (pieces == NULL)
            return NULL;
        k->pieces = pieces;
        k->size = size;
    }
    piece = calloc(1, sizeof(*piece));
    if (piece == NULL)
        return NULL;
    piece->stretch = k;
    piece->start = piece->end = start;
    piece->bytes = bytes;
    k->pieces[k->count++] = piece;
    return piece;
}

/* Where a worker is. */
struct at {
    struct expansion *e;
    struct expand_tools *t;
    struct stretch *k;
    struct piece *piece;
};

/* Decodes symbols from the piece's start to where it is to end, or a window of bytes is known.
 * True: it goes on from there with bytes. */
static bool decode_symbols(const struct at *a)
{
    struct view *v = &a->t->view;
    struct piece *piece = a->piece;
    uint16_t *const out = (uint16_t *)(void *)(a->k->room + ROOM_BEFORE);
    const size_t room = ROOM_SIZE / sizeof(*out);
    size_t n = 0;

    inf_symbols_begin(out);
    view_begin(v, piece->start / 8);
    for (;;) {
        uint64_t place = piece->end - 8 * v->offset;
        const enum inf_result result =
            inf_symbols_block(a->t->symbols, v->in, v->len, &place, out, &n, room);

        if (result == INF_CUT) {
            size_t keep = (size_t)((piece->end - 8 * v->offset) / 8);

            if (!view_more(a->e, v, &keep))
                return false;
            continue;
        }
        if (result != INF_BLOCK && result != INF_END) {
            a->k->is_full = result == INF_MORE;
            return false;
        }
        piece->symbols = n;
        piece->bytes = (uint8_t *)(out + n);
        piece->end = 8 * v->offset + place;
        if (result == INF_END) {
            piece->end = (piece->end + 7) / 8 * 8;
            piece->ended = true;
            return false;
        }
        if (stops_at(a->e, a->t, a->k, piece->end))
            return false;
        if (n >= INF_WINDOW && inf_is_known(out + n)) {
            const size_t left = ROOM_SIZE - n * sizeof(*out);

            if (left < 2 * INF_WINDOW) {
                a->k->is_full = true;
                return false;
            }
            for (size_t i = 0; i < INF_WINDOW; i++)
                piece->bytes[i] = (uint8_t)out[n - INF_WINDOW + i];
            piece->bytes += INF_WINDOW;
            return true;
        }
    }
}

/* Decodes bytes from the piece's end, with so much of a window before them, to where it is to
 * end.  True: the data ends there, and is whole. */
static bool decode_bytes(const struct at *a, size_t window)
{
    struct view *v = &a->t->view;
    struct piece *piece = a->piece;
    const uint8_t *const room_end = a->k->room + ROOM_BEFORE + ROOM_SIZE;
    const unsigned skip = (unsigned)(piece->end % 8);
    size_t at, made = 0;
    uint32_t crc = 0;

    if (piece->end / 8 < v->offset || piece->end / 8 >= v->offset + v->len)
        view_begin(v, piece->end / 8);
    at = (size_t)(piece->end / 8 - v->offset);
    if (at == v->len && !view_more(a->e, v, &at))
        return false;
    inf_reset(a->t->raw);
    if (!inf_start(a->t->raw, v->in[at], skip, piece->bytes - window, window))
        return false;
    at += skip > 0;
    for (;;) {
        struct inf_io io = {.in = v->in + at,
                            .in_len = v->len - at,
                            .in_ends = v->ends,
                            .out = piece->bytes + made,
                            .out_len = (size_t)(room_end - (piece->bytes + made)),
                            .window = window + made < INF_WINDOW ? window + made : INF_WINDOW,
                            .stops = true};
        enum inf_result result = INF_MORE;
        ptrdiff_t used;

        if (io.out_len == 0) {
            a->k->is_full = true;
            return false;
        }
        result = inf_run(a->t->raw, &io);
        used = io.used;
        crc = gz_crc32(crc, io.out, io.made);
        made += io.made;
        if (result == INF_BLOCK || result == INF_END) {
            piece->len = made;
            piece->crc = crc;
            piece->ended = result == INF_END;
            piece->end = result == INF_END ? 8 * (v->offset + at + (uint64_t)used)
                                           : 8 * (v->offset + at - INF_BACK) + io.place;
            if (result == INF_END)
                return true;
            if (is_enough(v, a->k, piece->end, piece->bytes + made) ||
                stops_at(a->e, a->t, a->k, piece->end))
                return false;
        } else if (result != INF_MORE && result != INF_CUT) {
            return false;
        }
        at = (size_t)((ptrdiff_t)at + used);
        if (result == INF_CUT || (result == INF_MORE && io.made < io.out_len)) {
            if (!view_more(a->e, v, &at))
                return false;
        }
    }
}

/* Goes on behind a member that has ended with the next; false if none follows, or somebody else has
 * it. */
static bool next_member(struct at *a)
{
    struct view *v = &a->t->view;
    const struct piece *last = a->piece;
    const uint64_t trailer_end = last->end / 8 + GZ_TRAILER_SIZE;
    uint8_t *const bytes = last->bytes + last->len;
    size_t at, header;

    if (trailer_end < v->offset || trailer_end > v->offset + v->len)
        view_begin(v, trailer_end);
    at = (size_t)(trailer_end - v->offset);
    header = at < v->len ? member_header(v->in + at, v->len - at) : 0;
    if (header == 0) {
        if (!view_more(a->e, v, &at))
            return false;
        header = member_header(v->in + at, v->len - at);
    }
    a->k->is_full = header > 0 && a->k->count >= PIECES_MAX;
    if (header == 0 || a->k->is_full)
        return false;
    const uint64_t start = 8 * (v->offset + at + header);
    if (stops_at(a->e, a->t, a->k, start))
        return false;
    a->piece = add_piece(a->k, start, bytes);
    return a->piece != NULL;
}

void decode_stretch(struct expansion *e, struct expand_tools *t, struct stretch *k)
{
    struct at a = {e, t, k, add_piece(k, k->start, k->room + ROOM_BEFORE)};
    size_t window = 0;

    if (a.piece == NULL)
        return;
    view_begin(&t->view, k->start / 8);
    if (k->kind == ANYWHERE) {
        if (!decode_symbols(&a) && !a.piece->ended)
            goto end;
        window = INF_WINDOW;
    }
    if (a.piece->ended || decode_bytes(&a, window)) {
        while (next_member(&a) && decode_bytes(&a, 0))
            ;
    }
end:
    /* A piece without a whole block is none. */
    if (k->count > 0 && k->pieces[k->count - 1]->end == k->pieces[k->count - 1]->start)
        free(k->pieces[--k->count]);
}
