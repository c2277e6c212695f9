/*
 * expand.c - decompression by many threads (api.h)
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "compat/crc.h"
#include "compat/stream.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/expansion.h"

/* The consumer has read no more than this that it has not decoded (GZ_IN_SIZE and what may be left
 * when it reads on), and never goes back to what it has decoded. */
#define READ_AND_NOT_USED ((uint64_t)512 << 10)

_Static_assert(READ_AND_NOT_USED >= GZ_IN_SIZE + GZ_IN_REST + GZ_IN_BACK, "what was read");

/* Where it is not known yet whether a stretch has a start, the consumer looks for that again only
 * after so much input.  With more, it passes more of the starts that are found meanwhile; with less,
 * short blocks take longer, as it waits for the lock at each. */
#define LOOK_AGAIN ((uint64_t)4 << 10)

/* What the consumer does ahead in tests, each time. */
#define TEST_STEPS 4

/* --- What is done in order ------------------------------------------------------------------- */

/* While the consumer is at pieces (run_ahead), these are accepted, resolved and written by whoever
 * comes by: if it did all of that, others would wait for it while it decodes a stretch or writes. */

/* The stretch that has a piece that starts at that bit, or will have; then *piece is the piece, or
 * NULL.  NULL: there is none. */
static struct stretch *stretch_at(struct expansion *e, uint64_t bit, struct piece **piece)
{
    *piece = NULL;
    /* They are in order, and nothing starts before its stretch. */
    for (struct stretch *k = e->first; k != NULL && 8 * k->from <= bit; k = k->next) {
        if (k->state == DECODED) {
            while (k->passed < k->count && k->pieces[k->passed]->start < bit)
                k->passed++;
            if (k->passed < k->count && k->pieces[k->passed]->start == bit) {
                *piece = k->pieces[k->passed];
                return k;
            }
        } else if (k->sought == FOUND
                       ? k->start == bit
                       : k->sought == SEEKING && bit >= 8 * k->from && bit < 8 * k->to) {
            return k;
        }
    }
    return NULL;
}

/* What comes where the consumer is. */
enum coming {
    PIECE_IS_THERE,
    PIECE_COMES,    /* somebody is at it */
    PIECE_MAY_COME, /* somebody could be */
    NO_PIECE_COMES,
};

/* What comes, and the piece if it is there; the consumer is at pieces. */
static enum coming what_comes(struct expansion *e, struct piece **piece)
{
    const struct gz_place *place = e->place;
    const struct stretch *k = stretch_at(e, place->bit, piece);

    if (place->ended || k == NULL)
        return NO_PIECE_COMES;
    /* What is decoded to symbols may refer to all of a window. */
    if (*piece != NULL)
        return (*piece)->symbols > 0 && place->len < INF_WINDOW ? NO_PIECE_COMES : PIECE_IS_THERE;
    if (k->state == DECODING || (k->sought == SEEKING && input_has(e->input, k->to)))
        return PIECE_COMES;
    return PIECE_MAY_COME;
}

/* Makes what comes before the piece's end the next window. */
static void move_window(struct expansion *e, struct expand_tools *t, const struct piece *piece)
{
    const uint16_t *symbols = (const uint16_t *)(const void *)(piece->stretch->room + ROOM_BEFORE);
    const size_t bytes = piece->len < INF_WINDOW ? piece->len : INF_WINDOW;
    const size_t rest = INF_WINDOW - bytes;
    const size_t some = piece->symbols < rest ? piece->symbols : rest;

    memcpy(e->next_window, e->window + INF_WINDOW - (rest - some), rest - some);
    inf_resolve(t->symbols, symbols + piece->symbols - some, some, e->window,
                e->next_window + rest - some);
    memcpy(e->next_window + rest, piece->bytes + piece->len - bytes, bytes);
}

/* Takes over the piece, which starts where the consumer is: it is in line to be written.  Gives up
 * the lock. */
static void accept(struct expansion *e, struct expand_tools *t, struct piece *piece)
{
    struct gz_place *place = e->place;
    struct stretch *k = piece->stretch;

    unlock(e->p);
    move_window(e, t, piece);
    if (piece->symbols > 0)
        memcpy(k->room, e->window, INF_WINDOW);
    memcpy(e->window, e->next_window, INF_WINDOW);
    lock(e->p);
    if (piece->symbols > 0) {
        piece->state = PIECE_UNRESOLVED;
        crew_call(e->p);
    }
    if (e->first_out == NULL)
        e->first_out = piece;
    else
        e->last_out->next_out = piece;
    e->last_out = piece;
    piece->in_line = true;
    k->waiting++;
    e->has_marks |= k->kind == AT_MARK;
    e->in += (piece->end - piece->start) / 8;
    e->out += piece->symbols + piece->len;
    e->vain = 0;
    e->pause = 0;
    e->stats.pieces++;
    e->stats.bytes += piece->symbols + piece->len;
    place->bit = piece->end;
    place->len += piece->symbols + piece->len;
    place->made += piece->symbols + piece->len;
    place->ended = piece->ended;
    if (place->bit / 8 > e->cursor)
        e->cursor = place->bit / 8;
}

/* Accepts all pieces that are there; gives up the lock. */
static void accept_all(struct expansion *e, struct expand_tools *t)
{
    struct piece *piece;

    e->accepting = true;
    while (!e->failed && !e->is_stalled && what_comes(e, &piece) == PIECE_IS_THERE)
        accept(e, t, piece);
    e->accepting = false;
    drop_past(e, e->place->bit);
    wake_all(e->p, CAN_EXPAND);
}

/* The next piece in line that is to be resolved, or NULL. */
static struct piece *unresolved(const struct expansion *e)
{
    struct piece *piece = e->first_out;

    while (piece != NULL && piece->state != PIECE_UNRESOLVED)
        piece = piece->next_out;
    return piece;
}

/* Makes bytes of a piece's symbols; gives up the lock. */
static void resolve(struct expansion *e, struct expand_tools *t, struct piece *piece)
{
    struct pipeline *p = e->p;
    uint8_t *const out = piece->stretch->room + ROOM_BEFORE;

    piece->state = PIECE_RESOLVING;
    if (unresolved(e) != NULL)
        crew_call(p);
    unlock(p);
    inf_resolve(t->symbols, (const uint16_t *)(const void *)out, piece->symbols,
                piece->stretch->room, out);
    piece->symbols_crc = gz_crc32(0, out, piece->symbols);
    lock(p);
    piece->state = PIECE_READY;
    wake_all(p, CAN_EXPAND);
}

/* Writes the first piece in line, which is ready; gives up the lock. */
static void write_first(struct expansion *e)
{
    struct gz_place *place = e->place;
    struct piece *piece = e->first_out;
    bool ok = true;
    int error;

    e->writing = true;
    e->written = piece;
    e->first_out = piece->next_out;
    unlock(e->p);
    if (piece->symbols > 0) {
        ok = e->write(e->write_ctx, piece->stretch->room + ROOM_BEFORE, piece->symbols) == 0;
        place->crc = gz_crc32_combine(place->crc, piece->symbols_crc, piece->symbols);
    }
    if (ok && piece->len > 0) {
        ok = e->write(e->write_ctx, piece->bytes, piece->len) == 0;
        place->crc = gz_crc32_combine(place->crc, piece->crc, piece->len);
    }
    error = errno;
    lock(e->p);
    e->writing = false;
    e->written = NULL;
    piece->in_line = false;
    if (!ok) {
        e->failed = true;
        e->error = error;
    }
    piece->stretch->waiting--;
    drop_past(e, place->bit);
    wake_all(e->p, CAN_EXPAND);
}

/* Does one of the things that are done in order; gives up the lock.  False: there is none now. */
static bool go_on_in_order(struct expansion *e, struct expand_tools *t)
{
    const bool is_consumer = t == e->tools;
    struct piece *piece;

    if (e->place == NULL || e->failed)
        return false;
    /* What has been accepted keeps its memory until it is written. */
    if (!e->accepting && !e->is_stalled && what_comes(e, &piece) == PIECE_IS_THERE) {
        accept_all(e, t);
        return true;
    }
    if (!e->writing && e->first_out != NULL && e->first_out->state == PIECE_READY &&
        (is_consumer || !e->is_pushed)) {
        write_first(e);
        return true;
    }
    piece = unresolved(e);
    if (piece != NULL)
        resolve(e, t, piece);
    return piece != NULL;
}

/* --- Workers -------------------------------------------------------------------------------- */

/* The next stretch to work on, or NULL. */
static struct stretch *next_stretch(struct expansion *e)
{
    if (e->has_given_up || !has_free_room(e))
        return NULL;
    for (struct stretch *k = e->first; k != NULL; k = k->next)
        if (k->state == WAITING && !k->useless && (k->sought == NOT_SOUGHT || k->sought == FOUND))
            return k;
    return add_stretch(e);
}

/* Does some work for one file. */
static bool expand_one(struct expansion *e, struct expand_tools *t)
{
    struct pipeline *p = e->p;
    struct stretch *k;
    bool has_all, has_done;

    if (e->closing)
        return false;
    e->busy++;
    has_done = go_on_in_order(e, t);
    e->busy--;
    if (has_done)
        return true;
    k = next_stretch(e);
    has_all = k != NULL && input_has(e->input, k->to);
    /* The consumer does not wait for a pipe, but for what others decode; and nobody for the caller. */
    if (k == NULL || ((t == e->tools || e->is_pushed) && !has_all))
        return false;
    e->busy++;
    if (has_all)
        crew_call(p);
    if (k->sought == NOT_SOUGHT) {
        seek_start(e, t, k);
        has_done = k->sought != NOT_SOUGHT;
    }
    if (k->sought == FOUND && k->state == WAITING && !e->closing && !k->useless)
        k->room = take_room(e);
    if (k->room != NULL && k->state == WAITING) {
        k->state = DECODING;
        unlock(p);
        decode_stretch(e, t, k);
        lock(p);
        k->state = DECODED;
        if (e->has_given_up)
            decode_later(e, k);
        else if (k->is_full && !k->useless && !e->closing)
            add_rest(e, t, k);
        has_done = true;
    }
    e->busy--;
    wake_all(p, CAN_EXPAND);
    return has_done;
}

/* Makes a worker's tools; gives up the lock.  False: without memory, others do the work. */
static bool get_tools(struct worker *w)
{
    struct expand_tools *t;

    unlock(w->pipeline);
    t = new_tools();
    lock(w->pipeline);
    w->expand = t;
    return t != NULL;
}

bool expand_some(struct worker *w)
{
    struct pipeline *p = w->pipeline;

    for (struct expansion *e = p->expanding->expansions; e != NULL; e = e->next) {
        if (e->closing)
            continue;
        /* Meanwhile, *e may be gone. */
        if (w->expand == NULL)
            return get_tools(w);
        if (expand_one(e, w->expand))
            return true;
    }
    return false;
}

/* --- The consumer --------------------------------------------------------------------------- */

/* Whether it takes less to take a piece over than to decode it: otherwise it would be written by
 * itself. */
static bool is_worth_it(const struct expansion *e, const struct piece *piece)
{
    return piece->symbols + piece->len >= PIECE_MIN || e->fixed_stretch > 0;
}

/* The first bit behind `bit`, where the consumer is, at which something starts, or may yet be found to. */
static uint64_t next_start(const struct expansion *e, uint64_t bit)
{
    const uint64_t soon = bit + (e->fixed_stretch > 0 ? 1 : 8 * LOOK_AGAIN);
    const uint64_t passed = e->fixed_stretch > 0 ? e->passed : e->cursor; /* as in add_stretch */

    for (const struct stretch *k = e->first; k != NULL; k = k->next) {
        if (k->state == DECODED) {
            for (size_t i = k->passed; i < k->count; i++)
                if (k->pieces[i]->start > bit)
                    return k->pieces[i]->start;
        } else if (k->sought == FOUND && k->start > bit) {
            return k->start;
        } else if ((k->sought == NOT_SOUGHT || k->sought == SEEKING) && 8 * k->to > bit) {
            return 8 * k->from > bit ? 8 * k->from : soon;
        }
    }
    return 8 * (e->next_from > passed ? e->next_from : passed);
}

static bool has_ahead(void *ctx, uint64_t bit, uint64_t *from)
{
    struct expansion *e = ctx;
    struct piece *piece;
    bool has;

    if (!e->has_begun) {
        *from = 8 * e->cursor; /* workers begin behind what has been read */
        return false;
    }
    lock(e->p);
    e->passed = bit / 8;
    drop_past(e, bit);
    /* In tests, as if there had been workers with nothing else to do. */
    for (int i = 0; e->fixed_stretch > 0 && i < TEST_STEPS && expand_one(e, e->tools); i++)
        ;
    for (;;) {
        const struct stretch *k = stretch_at(e, bit, &piece);

        has = k != NULL && (k->state == DECODING || (piece != NULL && is_worth_it(e, piece)));
        /* It is soon known, unless a pipe gives nothing now. */
        if (k == NULL || k->sought != SEEKING || !input_has(e->input, k->to))
            break;
        await(e->p, CAN_EXPAND);
    }
    *from = next_start(e, bit);
    unlock(e->p);
    return has;
}

static bool run_ahead(void *ctx, struct gz_place *place)
{
    struct expansion *e = ctx;
    struct pipeline *p = e->p;
    const size_t known = place->len < INF_WINDOW ? (size_t)place->len : INF_WINDOW;

    memcpy(e->window + INF_WINDOW - known, place->end - known, known);
    lock(p);
    e->place = place;
    e->read_to = e->cursor;
    for (;;) {
        enum coming coming = PIECE_COMES;
        struct piece *piece;

        if (go_on_in_order(e, e->tools))
            continue;
        if (!e->accepting)
            coming = e->failed ? NO_PIECE_COMES : what_comes(e, &piece);
        if ((coming == PIECE_COMES || coming == PIECE_MAY_COME) && expand_one(e, e->tools))
            continue;
        if (coming != PIECE_COMES && !e->accepting && !e->writing &&
            (e->failed || e->first_out == NULL))
            break;
        await(p, CAN_EXPAND);
    }
    e->place = NULL;
    drop_past(e, place->bit);
    unlock(p);
    memcpy(place->end - INF_WINDOW, e->window, INF_WINDOW);
    errno = e->error;
    return !e->failed;
}

static void seek_ahead(void *ctx, uint64_t byte)
{
    struct expansion *e = ctx;

    lock(e->p);
    e->cursor = byte;
    unlock(e->p);
}

/* Whether the input, as far as it is known, is. */
static bool is_large(const struct expansion *e)
{
    const uint64_t size = input_size(e->input);

    return (size == UINT64_MAX ? e->cursor : size) >= PIPELINE_EXPAND_MIN;
}

/* Makes the finder that all expansions share, if it is not there yet; false if memory is short. */
static bool need_finder(struct pipeline *p)
{
    struct inf_finder *made;
    bool has;

    lock(p);
    has = p->expanding->finder != NULL;
    unlock(p);
    if (has)
        return true;
    made = malloc(sizeof(*made));
    if (made == NULL)
        return false;
    inf_finder_init(made);
    lock(p);
    /* Another thread may have made one meanwhile. */
    if (p->expanding->finder == NULL) {
        p->expanding->finder = made;
        made = NULL;
    }
    unlock(p);
    free(made);
    return true;
}

/* Lets workers take part, once it is certain that this is worth starting them. */
static void consider_beginning(struct expansion *e)
{
    struct pipeline *p = e->p;

    if (e->has_begun || !e->may_begin || (e->fixed_stretch == 0 && !is_large(e)))
        return;
    e->tools = new_tools();
    if (e->tools == NULL || !need_finder(p)) {
        e->may_begin = false;
        return;
    }
    lock(p);
    e->has_begun = true;
    e->next = p->expanding->expansions;
    p->expanding->expansions = e;
    crew_call(p);
    unlock(p);
}

/* --- What others call ----------------------------------------------------------------------- */

/* Of that input, which may be NULL, and is closed if nothing comes of it. */
static struct expansion *expand(struct pipeline *p, struct input *in, size_t stretch,
                                int (*write)(void *ctx, const void *buf, size_t len), void *ctx)
{
    struct expansion *e = NULL;

    if (in != NULL && (input_size(in) >= PIPELINE_EXPAND_MIN || stretch > 0))
        e = calloc(1, sizeof(*e));
    if (e == NULL) {
        if (in != NULL)
            input_close(in, 0);
        return NULL;
    }
    e->input = in;
    e->p = p;
    e->fixed_stretch = stretch;
    e->write = write;
    e->write_ctx = ctx;
    e->ahead = (struct gz_ahead){has_ahead, run_ahead, seek_ahead, e};
    return e;
}

/* Whether there are others to decode parts. */
static bool has_others(struct pipeline *p)
{
    bool has;

    lock(p);
    has = crew_threads(p) > 1;
    unlock(p);
    return has;
}

struct expansion *pipeline_expand(struct pipeline *p, int fd, size_t stretch,
                                  int (*write)(void *ctx, const void *buf, size_t len), void *ctx)
{
    return expand(p, has_others(p) ? input_open(fd) : NULL, stretch, write, ctx);
}

struct expansion *pipeline_expand_memory(struct pipeline *p, const uint8_t *in, size_t len,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx)
{
    return expand(p, has_others(p) ? input_open_memory(in, len) : NULL, 0, write, ctx);
}

struct expansion *pipeline_expand_pushed(struct pipeline *p,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx)
{
    struct expansion *e = expand(p, input_open_pushed(), 0, write, ctx);

    if (e != NULL)
        e->is_pushed = true;
    return e;
}

/* Frees a worker's memory for decompression; workers use it only for expansions. */
static void take_tools(struct worker *w)
{
    expand_free_tools(w->expand);
    w->expand = NULL;
}

void pipeline_give_back(struct pipeline *p)
{
    lock(p);
    expand_free_rooms(p);
    if (p->expanding->expansions == NULL)
        crew_visit(p, take_tools);
    unlock(p);
}

void expansion_begin(struct expansion *e)
{
    e->may_begin = has_others(e->p);
    consider_beginning(e);
}

const struct gz_ahead *expansion_ahead(const struct expansion *e)
{
    return &e->ahead;
}

ssize_t expansion_read(struct expansion *e, void *buf, size_t len)
{
    const ssize_t n = input_read(e->input, e->cursor, buf, len);

    if (n > 0) {
        lock(e->p);
        e->cursor += (uint64_t)n;
        e->has_given_up = false;
        count_lead(e);
        if (e->cursor > READ_AND_NOT_USED)
            drop_past(e, 8 * (e->cursor - READ_AND_NOT_USED));
        /* They may have waited for a pipe that gave nothing. */
        if (e->has_begun)
            crew_call(e->p);
        unlock(e->p);
        consider_beginning(e);
    }
    return n;
}

/* How far ahead of written_to it may be pushed now. */
static uint64_t find_lead(const struct expansion *e)
{
    const struct pipeline *p = e->p;
    const uint64_t all = PUSH_LEAD_MORE + (uint64_t)crew_threads(p) * PUSH_LEAD_THREAD;
    const uint64_t others = p->expanding->lead_lent - e->lead_lent;

    if (!e->has_begun)
        return 2 * PIPELINE_EXPAND_MIN;
    return PUSH_LEAD + (e->is_slow || others > all ? 0 : all - others);
}

size_t expansion_push(struct expansion *e, const uint8_t *bytes, size_t len, bool ends)
{
    struct pipeline *p = e->p;
    uint64_t limit;
    size_t n;

    lock(p);
    e->lead = find_lead(e);
    limit = written_to(e) + e->lead;
    unlock(p);
    n = input_push(e->input, bytes, len, limit, ends);
    lock(p);
    e->pushed += n;
    count_lead(e);
    if (e->has_begun)
        crew_call(p);
    unlock(p);
    return n;
}

void expansion_set_stalled(struct expansion *e, bool is_stalled)
{
    lock(e->p);
    e->is_stalled = is_stalled;
    if (!is_stalled)
        e->has_given_up = false;
    unlock(e->p);
}

void expansion_wrote(struct expansion *e, size_t len)
{
    const uint64_t enough = (uint64_t)e->p->expanding->rooms_max * STRETCH_OUT;

    lock(e->p);
    e->taken += len;
    if (e->is_slow) {
        e->is_slow = e->taken < enough;
        crew_call(e->p);
    }
    unlock(e->p);
}

bool expansion_has_input(struct expansion *e)
{
    return input_has(e->input, expansion_position(e) + 1);
}

uint64_t expansion_position(struct expansion *e)
{
    uint64_t position;

    lock(e->p);
    position = e->cursor;
    unlock(e->p);
    return position;
}

void expansion_close(struct expansion *e, struct pipeline_expansion_stats *stats)
{
    struct pipeline *p = e->p;
    struct expansion **link = &p->expanding->expansions;

    lock(p);
    e->closing = true;
    for (struct stretch *k = e->first; k != NULL; k = k->next)
        k->useless = true;
    input_cancel(e->input);
    wake_all(p, CAN_EXPAND);
    while (e->busy > 0)
        await(p, CAN_EXPAND);
    while (*link != NULL && *link != e)
        link = &(*link)->next;
    if (*link != NULL)
        *link = e->next;
    count_lead(e);
    for (struct stretch *k = e->first, *next; k != NULL; k = next) {
        next = k->next;
        free_stretch(e, k);
    }
    /* Others may have waited for room. */
    if (p->expanding->expansions != NULL)
        crew_call(p);
    unlock(p);
    /* As if all had been read in order. */
    input_close(e->input, e->cursor);
    *stats = e->stats;
    expand_free_tools(e->tools);
    free(e);
}
