/*
 * decode.c - a stretch of the input is decoded, block by block (api.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "compat/crc.h"
#include "compat/gzip.h"
#include "inflate/find.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/expansion.h"

/* Pieces of a stretch, at most: it can have a great many members that are empty. */
#define PIECES_MAX 1000

/* A stretch that makes less than a quarter of what it takes, after so much input, is left to the
 * consumer: it has a great many blocks that are empty, or nearly, and they take less than to accept
 * what comes of them. */
#define VAIN_INPUT ((uint64_t)16 << 10)

/* --- A thread's memory ---------------------------------------------------------------------- */

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
    t->raw = inf_open(false);
    t->symbols = inf_symbols_new();
    t->view.in = malloc(INF_BACK + VIEW_SIZE + VIEW_PAD);
    if (t->view.in != NULL) {
        memset(t->view.in, 0, INF_BACK);
        t->view.in += INF_BACK;
    }
    t->scan = malloc(SCAN_SIZE + VIEW_PAD);
    if (t->raw == NULL || t->symbols == NULL || t->view.in == NULL || t->scan == NULL) {
        expand_free_tools(t);
        return NULL;
    }
    return t;
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
            await(p, CAN_EXPAND);
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

/* Whether so little comes of the piece, whose end is set, that the rest is left to the consumer. */
static bool is_vain(const struct piece *piece, size_t made)
{
    const uint64_t in = (piece->end - piece->start) / 8;

    return in >= VAIN_INPUT && made < in / 4;
}

/* Whether so little comes of each member, up to `end`, that the consumer does not take them over. */
static bool are_vain(const struct at *a, const uint8_t *end)
{
    const size_t made = (size_t)(end - (a->k->room + ROOM_BEFORE));

    return (a->piece->end - a->k->start) / 8 >= VAIN_INPUT && made / a->k->count < PIECE_MIN &&
           a->e->fixed_stretch == 0;
}

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
        if (is_vain(piece, n) || stops_at(a->e, a->t, a->k, piece->end))
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

/* Where the room for bytes ends.  The symbols before them become half as many bytes. */
static const uint8_t *end_of_room(const struct at *a)
{
    const size_t most = PUSHED_OUT + a->k->pieces[0]->symbols;

    return a->k->room + ROOM_BEFORE + (a->e->is_pushed && most < ROOM_SIZE ? most : ROOM_SIZE);
}

/* Decodes bytes from the piece's end, with so much of a window before them, to where it is to
 * end.  True: the data ends there, and is whole. */
static bool decode_bytes(const struct at *a, size_t window)
{
    struct view *v = &a->t->view;
    struct piece *piece = a->piece;
    const uint8_t *const room_end = end_of_room(a);
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
            if (is_vain(piece, piece->symbols + made) ||
                is_enough(v, a->k, piece->end, piece->bytes + made) ||
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
    header = at < v->len ? gz_member_header(v->in + at, v->len - at) : 0;
    if (header == 0) {
        if (!view_more(a->e, v, &at))
            return false;
        header = gz_member_header(v->in + at, v->len - at);
    }
    a->k->is_full = header > 0 && a->k->count >= PIECES_MAX;
    if (header == 0 || a->k->is_full || are_vain(a, bytes))
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
