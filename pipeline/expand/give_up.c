/*
 * give_up.c - a stream whose caller is away for long keeps little memory (api.h)
 *
 * What was decoded ahead can be decoded again, as long as its input is there.  So only this stays:
 *
 * - the input that was pushed and is not decoded (PUSH_LEAD bounds it);
 * - the rest of the piece that the consumer is writing.
 *
 * Pieces that were accepted behind that piece are taken out of the line again, and the consumer's place
 * goes back to where they start.  All pieces that are not in line are freed.  Their rooms go to other
 * decompressions, or to the system if none is at work.  A room that stays loses the pages that nobody
 * needs.
 *
 * When the caller comes back, one stretch may be decoded ahead for each STRETCH_OUT bytes that it takes.
 * So what is given up the next time is never more than what was of use, also with a caller that takes a
 * little now and then.  A caller that takes all it can get has all threads again after some ten ms.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/expansion.h"

/* --- Pieces in line ------------------------------------------------------------------------- */

/* The last piece that has to stay: the one that is being written, or one behind it if these are shorter than
 * a window.  NULL: one of them is not bytes yet, or a thread is resolving one in line. */
static struct piece *last_to_keep(const struct expansion *e)
{
    struct piece *last = e->written;
    size_t known = last->symbols + last->len;

    for (struct piece *piece = e->first_out; piece != NULL; piece = piece->next_out) {
        if (piece->state == PIECE_RESOLVING || (known < INF_WINDOW && piece->state != PIECE_READY))
            return NULL;
        if (known < INF_WINDOW) {
            last = piece;
            known += piece->symbols + piece->len;
        }
    }
    return last;
}

/* Moves a window on by these bytes. */
static void move_on(uint8_t *window, const uint8_t *bytes, size_t len)
{
    const size_t n = len < INF_WINDOW ? len : INF_WINDOW;

    memmove(window, window + n, INF_WINDOW - n);
    if (n > 0)
        memcpy(window + INF_WINDOW - n, bytes + len - n, n);
}

static void move_over(struct expansion *e, const struct piece *piece)
{
    move_on(e->window, piece->stretch->room + ROOM_BEFORE, piece->symbols);
    move_on(e->window, piece->bytes, piece->len);
}

/* Makes e->window the window at the end of piece `last`.  The pieces from the one that is being written to
 * that one have at least a window of bytes. */
static void find_window(struct expansion *e, const struct piece *last)
{
    move_over(e, e->written);
    for (const struct piece *piece = e->first_out; last != e->written; piece = piece->next_out) {
        move_over(e, piece);
        if (piece == last)
            break;
    }
}

/* Takes a piece out of the line, as if it had never been accepted. */
static void take_out(struct expansion *e, struct piece *piece)
{
    const size_t len = piece->symbols + piece->len;

    piece->in_line = false;
    piece->next_out = NULL;
    piece->stretch->waiting--;
    e->in -= (piece->end - piece->start) / 8;
    e->out -= len;
    e->stats.pieces--;
    e->stats.bytes -= len;
    e->place->len -= len;
    e->place->made -= len;
}

/* Takes all pieces out of the line but those that have to stay; false if that is not possible now. */
static bool shorten_line(struct expansion *e)
{
    struct piece *last, *piece;

    /* A piece, and its window, are in the hands of the thread that accepts. */
    if (e->accepting)
        return false;
    if (e->place == NULL || e->written == NULL || e->first_out == NULL)
        return true;
    last = last_to_keep(e);
    if (last == NULL)
        return false;
    piece = last == e->written ? e->first_out : last->next_out;
    if (piece == NULL)
        return true;
    find_window(e, last);
    if (last == e->written)
        e->first_out = NULL;
    else
        last->next_out = NULL;
    e->last_out = last;
    for (struct piece *next; piece != NULL; piece = next) {
        next = piece->next_out;
        take_out(e, piece);
    }
    e->place->bit = last->end;
    e->place->ended = last->ended;
    e->cursor = e->place->bit / 8 > e->read_to ? e->place->bit / 8 : e->read_to;
    for (struct stretch *k = e->first; k != NULL; k = k->next)
        k->passed = 0;
    return true;
}

/* --- Rooms ---------------------------------------------------------------------------------- */

/* Gives back the pages from *at to what stays, part[0..len), and moves *at behind that. */
static void keep_part(uint8_t **at, uint8_t *part, size_t len)
{
    if (len == 0)
        return;
    pages_give_back(*at, part);
    *at = part + len;
}

static bool is_within(const uint8_t *p, const uint8_t *part, size_t len)
{
    return p >= part && p < part + len;
}

/* Gives back the pages of stretch k's room, but for pieces in line.  Of the piece that is being written,
 * rest[0..len) stays, and what `write` gets after that. */
static void keep_pieces(const struct expansion *e, struct stretch *k, const uint8_t *rest,
                        size_t len)
{
    uint8_t *at = k->room;

    /* The consumer will decode what is behind them. */
    while (k->count > 0 && !k->pieces[k->count - 1]->in_line)
        free(k->pieces[--k->count]);
    for (size_t i = 0; i < k->count; i++) {
        const struct piece *piece = k->pieces[i];
        uint8_t *const symbols = k->room + ROOM_BEFORE;

        if (!piece->in_line)
            continue;
        if (piece != e->written) {
            keep_part(&at, symbols, piece->symbols);
            keep_part(&at, piece->bytes, piece->len);
        } else if (is_within(rest, symbols, piece->symbols)) {
            keep_part(&at, symbols + (rest - symbols), len);
            keep_part(&at, piece->bytes, piece->len);
        } else if (is_within(rest, piece->bytes, piece->len)) {
            keep_part(&at, piece->bytes + (rest - piece->bytes), len);
        } else {
            return;
        }
    }
    pages_give_back(at, k->room + ROOM_BEFORE + ROOM_SIZE);
}

/* --- All ------------------------------------------------------------------------------------ */

/* Whether any decompression has use for free rooms. */
static bool is_any_active(const struct pipeline *p)
{
    for (const struct expansion *e = p->expanding->expansions; e != NULL; e = e->next)
        if (!e->closing && !e->has_given_up)
            return true;
    return false;
}

bool expansion_give_up(struct expansion *e, const void *rest, size_t len)
{
    struct pipeline *p = e->p;
    struct room *rooms = NULL;

    if (!e->has_begun)
        return true;
    lock(p);
    if (!shorten_line(e)) {
        unlock(p);
        return false;
    }
    e->has_given_up = true;
    e->is_slow |= e->is_stalled;
    e->taken = 0;
    for (struct stretch *k = e->first; k != NULL; k = k->next)
        if (k->waiting > 0)
            keep_pieces(e, k, rest, len);
    give_up_rooms(e);
    drop_past(e, e->place != NULL ? e->place->bit : 8 * e->passed);
    if (!is_any_active(p))
        rooms = take_free_rooms(p);
    /* Others may have waited for room. */
    crew_call(p);
    unlock(p);
    free_rooms(rooms);
    pages_give_back(e->tools->view.in, e->tools->view.in + VIEW_SIZE);
    pages_give_back(e->tools->scan, e->tools->scan + SCAN_SIZE);
    return true;
}
