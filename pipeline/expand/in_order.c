/*
 * in_order.c - accepts, resolves and writes runs, in order (in_order.h)
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "compat/check.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/gpu_decoder.h"
#include "pipeline/expand/in_order.h"
#include "pipeline/expand/regions.h"

void in_order_begin(struct expansion *e, struct gz_place *place)
{
    const size_t known = place->len < INF_WINDOW ? (size_t)place->len : INF_WINDOW;

    memcpy(e->in_order.window + INF_WINDOW - known, place->end - known, known);
    e->in_order.out = place->before + place->len;
    e->place = place;
    e->read_to = e->cursor;
}

void in_order_end(struct expansion *e, struct gz_place *place)
{
    e->place = NULL;
    /* At the end of a member, the window has no meaning.  Do not copy it for each of the short
     * members of BGZF. */
    if (!place->ended)
        memcpy(place->end - INF_WINDOW, e->in_order.window, INF_WINDOW);
}

void in_order_hold(struct expansion *e)
{
    e->in_order.is_accepting = true;
}

void in_order_release(struct expansion *e)
{
    e->in_order.is_accepting = false;
}

uint8_t *in_order_window(struct expansion *e)
{
    return e->in_order.window;
}

/* Updates line_from.  Called when the line has changed. */
static void note_line(struct expansion *e)
{
    const struct run_line *l = &e->in_order;
    const struct decoded_run *run = l->written != NULL ? l->written : l->first;

    e->line_from = run != NULL ? run->start / 8 : UINT64_MAX;
}

/* --- Accepting ------------------------------------------------------------------------------ */

/* Returns whether a run starts at the consumer's place.  Sets *run if the result is
 * RUN_IS_THERE. */
static enum coming what_comes(struct expansion *e, struct decoded_run **run)
{
    const struct gz_place *place = e->place;
    const struct region *r = regions_at(e, place->bit, run);

    if (place->ended || r == NULL)
        return NO_RUN_COMES;
    /* A run's symbols may refer to any byte of a whole window.  If fewer bytes come before the run,
     * do not accept it. */
    if (*run != NULL)
        return (*run)->symbols > 0 && place->len < INF_WINDOW ? NO_RUN_COMES : RUN_IS_THERE;
    if (r->state == REGION_DECODING || r->state == REGION_ABANDONED ||
        (r->state == REGION_SEARCHING && input_has(e->input, r->to)))
        return RUN_COMES;
    return RUN_MAY_COME;
}

enum coming in_order_coming(struct expansion *e)
{
    struct decoded_run *run;

    if (e->in_order.is_accepting)
        return RUN_COMES;
    return e->in_order.has_failed ? NO_RUN_COMES : what_comes(e, &run);
}

/* Accepts the run, which starts at the consumer's place, and appends it to the line.  Gives up the
 * lock. */
static void accept(struct expansion *e, struct expand_tools *t, struct decoded_run *run)
{
    struct run_line *l = &e->in_order;
    struct gz_place *place = e->place;
    struct region *r = run->region;

    unlock(e->p);
    if (e->watch.at != NULL)
        e->watch.at(e->watch.ctx, place->bit, place->before + place->len, l->window + INF_WINDOW,
                    place->len < INF_WINDOW ? (size_t)place->len : INF_WINDOW);
    /* Nothing needs a window after the end of a member. */
    if (!run->ends_stream)
        e->engine->next_window(t, &r->task, run, l->window, l->next_window);
    /* Keep the window for `resolve`, in place of the symbols that stood for the unknown window. */
    if (run->symbols > 0)
        memcpy(r->task.buffer, l->window, INF_WINDOW);
    if (!run->ends_stream)
        memcpy(l->window, l->next_window, INF_WINDOW);
    lock(e->p);
    run->state = run->symbols > 0 ? RUN_UNRESOLVED : RUN_READY;
    if (run->state == RUN_UNRESOLVED)
        crew_call(e->p);
    if (l->first == NULL)
        l->first = run;
    else
        l->last->next_out = run;
    l->last = run;
    note_line(e);
    r->runs_in_line++;
    regions_count_run(e, run);
    place->bit = run->end;
    place->len += run->symbols + run->len;
    place->made += run->symbols + run->len;
    place->ended = run->ends_stream;
    if (place->bit / 8 > e->cursor)
        e->cursor = place->bit / 8;
}

/* Whether a thread may begin to accept runs.  Two of the conditions need a reason.  While `write`
 * waits for room, no thread may accept, because an accepted run keeps its memory until it is
 * written.  If a GPU is ready, no thread may accept, because the GPU takes over once the line is
 * empty. */
static bool may_accept(const struct expansion *e)
{
    return !e->in_order.is_accepting && !e->in_order.has_failed && !e->is_stalled &&
           !decoder_is_at_work(e) && !decoder_is_ready(e, e->place->bit);
}

/* Accepts runs until no decoded run starts at the place.  Gives up the lock. */
static void accept_all(struct expansion *e, struct expand_tools *t)
{
    struct run_line *l = &e->in_order;
    struct decoded_run *run;

    while (may_accept(e) && what_comes(e, &run) == RUN_IS_THERE) {
        l->is_accepting = true;
        accept(e, t, run);
        l->is_accepting = false;
    }
    regions_drop_past(e, e->place->bit);
    wake_all(e->p, CAN_EXPAND);
}

/* --- Resolving and writing ------------------------------------------------------------------ */

/* Returns the first run in the line that nobody has begun to resolve, or NULL. */
static struct decoded_run *next_unresolved(const struct expansion *e)
{
    struct decoded_run *run = e->in_order.first;

    while (run != NULL && run->state != RUN_UNRESOLVED)
        run = run->next_out;
    return run;
}

/* Turns a run's symbols into bytes.  Gives up the lock. */
static void resolve(struct expansion *e, struct expand_tools *t, struct decoded_run *run)
{
    struct pipeline *p = e->p;
    const struct decode_task *task = &run->region->task;

    run->state = RUN_RESOLVING;
    if (next_unresolved(e) != NULL)
        crew_call(p);
    unlock(p);
    e->engine->resolve(t, task, run, task->buffer);
    lock(p);
    run->state = RUN_READY;
    wake_all(p, CAN_EXPAND);
}

/* Writes bytes of a run, except those that were written before (place->skip).  Adds all of the
 * run's bytes to the check value of the place.  Returns false, with errno set, if writing
 * failed. */
static bool write_bytes(const struct expansion *e, const uint8_t *bytes, size_t len, uint32_t check)
{
    const uint64_t left = e->place->skip.left;
    const size_t skip = left < len ? (size_t)left : len;

    if (len == 0)
        return true;
    if (skip < len && e->write(e->write_ctx, bytes + skip, len - skip) != 0)
        return false;
    gz_skip_over(&e->place->skip, bytes, skip);
    e->place->check = gz_check_combine(e->check, e->place->check, check, len);
    return true;
}

/* Writes the first run in the line, which is RUN_READY.  Gives up the lock. */
static void write_first(struct expansion *e)
{
    struct run_line *l = &e->in_order;
    struct decoded_run *run = l->first;
    bool ok;
    int error;

    l->is_writing = true;
    l->written = run;
    l->first = run->next_out;
    unlock(e->p);
    if (e->watch.before_write != NULL)
        e->watch.before_write(e->watch.ctx, l->out, e->place->check);
    l->out += run->symbols + run->len;
    ok = write_bytes(e, run->region->task.buffer + BUFFER_BEFORE, run->symbols,
                     run->symbols_check) &&
         write_bytes(e, run->bytes, run->len, run->check);
    error = errno;
    lock(e->p);
    l->is_writing = false;
    l->written = NULL;
    run->state = RUN_WRITTEN;
    note_line(e);
    if (!ok) {
        l->has_failed = true;
        l->error = error;
    }
    run->region->runs_in_line--;
    regions_drop_past(e, e->place->bit);
    wake_all(e->p, CAN_EXPAND);
}

/* Whether the calling thread may write the first run in the line now.  `t` are that thread's
 * tools. */
static bool may_write(const struct expansion *e, const struct expand_tools *t)
{
    const struct run_line *l = &e->in_order;
    const bool is_consumer = t == e->tools;

    return !l->is_writing && l->first != NULL && l->first->state == RUN_READY &&
           (is_consumer || !e->is_pushed);
}

bool in_order_step(struct expansion *e, struct expand_tools *t)
{
    struct decoded_run *run;

    if (e->place == NULL || e->in_order.has_failed)
        return false;
    if (may_accept(e) && what_comes(e, &run) == RUN_IS_THERE) {
        accept_all(e, t);
        return true;
    }
    if (may_write(e, t)) {
        write_first(e);
        return true;
    }
    run = next_unresolved(e);
    if (run != NULL)
        resolve(e, t, run);
    return run != NULL;
}

bool in_order_is_idle(const struct expansion *e)
{
    const struct run_line *l = &e->in_order;

    return !l->is_accepting && !l->is_writing && (l->has_failed || l->first == NULL);
}

bool in_order_has_failed(const struct expansion *e, int *error)
{
    if (e->in_order.has_failed)
        *error = e->in_order.error;
    return e->in_order.has_failed;
}

const struct decoded_run *in_order_written(const struct expansion *e)
{
    return e->in_order.written;
}

/* --- Shortening the line -------------------------------------------------------------------- */

/* Returns the last run that must stay in the line.  The run that is being written and the runs
 * after it, up to that last run, have a whole window of bytes.  Returns NULL if one of these runs
 * is not all bytes yet, or if a thread is resolving any run. */
static struct decoded_run *last_to_keep(const struct run_line *l)
{
    struct decoded_run *last = l->written;
    size_t known = last->symbols + last->len;

    for (struct decoded_run *run = l->first; run != NULL; run = run->next_out) {
        if (run->state == RUN_RESOLVING || (known < INF_WINDOW && run->state != RUN_READY))
            return NULL;
        if (known < INF_WINDOW) {
            last = run;
            known += run->symbols + run->len;
        }
    }
    return last;
}

/* Appends bytes[0..len) to a window, which loses as many bytes at its start. */
static void move_on(uint8_t *window, const uint8_t *bytes, size_t len)
{
    const size_t n = len < INF_WINDOW ? len : INF_WINDOW;

    memmove(window, window + n, INF_WINDOW - n);
    if (n > 0)
        memcpy(window + INF_WINDOW - n, bytes + len - n, n);
}

static void move_over(struct run_line *l, const struct decoded_run *run)
{
    move_on(l->window, run->region->task.buffer + BUFFER_BEFORE, run->symbols);
    move_on(l->window, run->bytes, run->len);
}

/* Sets the line's window to the window at the end of run `last`.  Together, the run that is being
 * written and the runs after it, up to `last`, must have at least INF_WINDOW bytes. */
static void move_window_to(struct run_line *l, const struct decoded_run *last)
{
    move_over(l, l->written);
    for (const struct decoded_run *run = l->first; last != l->written; run = run->next_out) {
        move_over(l, run);
        if (run == last)
            break;
    }
}

/* Takes a run out of the line, as if it had never been accepted. */
static void take_out(struct expansion *e, struct decoded_run *run)
{
    const size_t len = run->symbols + run->len;

    run->state = RUN_DECODED;
    run->next_out = NULL;
    run->region->runs_in_line--;
    regions_uncount_run(e, run);
    e->place->len -= len;
    e->place->made -= len;
}

bool in_order_shorten(struct expansion *e)
{
    struct run_line *l = &e->in_order;
    struct decoded_run *last, *run;

    /* A thread that is accepting uses a run and the window. */
    if (l->is_accepting)
        return false;
    if (e->place == NULL || l->written == NULL || l->first == NULL)
        return true;
    last = last_to_keep(l);
    if (last == NULL)
        return false;
    run = last == l->written ? l->first : last->next_out;
    if (run == NULL)
        return true;
    move_window_to(l, last);
    if (last == l->written)
        l->first = NULL;
    else
        last->next_out = NULL;
    l->last = last;
    for (struct decoded_run *next; run != NULL; run = next) {
        next = run->next_out;
        take_out(e, run);
    }
    e->place->bit = last->end;
    e->place->ended = last->ends_stream;
    e->cursor = e->place->bit / 8 > e->read_to ? e->place->bit / 8 : e->read_to;
    for (struct region *r = regions_first(e); r != NULL; r = r->next)
        r->next_run = 0;
    return true;
}
