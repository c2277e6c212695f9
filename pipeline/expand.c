/*
 * expand.c - decompression by many threads (expand.h)
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat/crc.h"
#include "compat/gzip.h"
#include "inflate/find.h"
#include "inflate/raw.h"
#include "inflate/symbols.h"
#include "pipeline/crew.h"
#include "pipeline/expand.h"

/* A stretch of the input has what makes about so much output, */
#define STRETCH_OUT ((uint64_t)2 << 20)
/* and no less or more input than this; at first, as much as this. */
#define STRETCH_MIN ((uint64_t)32 << 10)
#define STRETCH_MAX ((uint64_t)1 << 20)
#define STRETCH_FIRST ((uint64_t)256 << 10)

/* Input of fewer bytes is decoded by one thread. */
#define EXPAND_MIN ((uint64_t)512 << 10)

/* Where what is not known of a window has to be decoded as symbols, the work doubles: with fewer
 * threads than these, only what starts at marks and members is decoded ahead. */
#define SYMBOLS_THREADS 3

/* Room for what comes of a stretch: before it is the window, as symbols. */
#define ROOM_BEFORE (INF_WINDOW * sizeof(uint16_t))
#define ROOM_SIZE ((size_t)6 << 20)

/* Where there are marks, none is expected to be further from the next than this. */
#define MARKS_DISTANCE ((uint64_t)5 << 20)

/* After so many stretches in a row that were of no use, so much input is left out, and each time
 * twice as much. */
#define VAIN_MAX 64
#define PAUSE_FIRST ((uint64_t)8 << 20)

/* A worker's memory for input: a block has to fit in, if it is decoded to symbols. */
#define VIEW_SIZE ((size_t)512 << 10)
#define VIEW_PAD ((size_t)16)
#define SCAN_SIZE ((size_t)128 << 10)

/* How much of the next input is looked at together with what may be a start. */
#define SCAN_AFTER ((size_t)1 << 10)

/* Room for a stretch's output that is free. */
struct room {
    struct room *next;
};

/* A run of blocks that was decoded. */
struct piece {
    struct stretch *stretch;
    uint64_t start, end; /* bits of the input */
    bool ended;          /* with the final block of its stream */
    size_t symbols;      /* first so many symbols, from the room's start on, */
    uint8_t *bytes;      /* then bytes */
    size_t len;
    uint32_t crc;         /* of these */
    uint32_t symbols_crc; /* of the symbols, once they are bytes */
    enum { PIECE_READY, PIECE_UNRESOLVED, PIECE_RESOLVING } state;
    struct piece *next_out; /* in the line of those to be written */
};

struct stretch {
    struct stretch *next;
    uint64_t from, to; /* bytes of the input */
    enum { NOT_SOUGHT, SEEKING, FOUND, NOT_FOUND } sought;
    enum { AT_MARK, AT_MEMBER, ANYWHERE } kind;
    uint64_t start; /* the bit, if found */
    enum { WAITING, DECODING, DECODED } state;
    _Atomic bool useless; /* the consumer is past it */
    uint8_t *room;
    struct piece **pieces;
    size_t count, size;
    size_t waiting; /* pieces in line to be written */
};

/* Input that a worker looks at. */
struct view {
    uint8_t *in;     /* VIEW_SIZE bytes, with INF_BACK before and VIEW_PAD behind */
    uint64_t offset; /* of in[0] in the input */
    size_t len;
    bool ends;
};

struct expand_tools {
    struct inf_raw *raw;
    struct inf_symbols *symbols;
    struct view view;
    uint8_t *scan; /* SCAN_SIZE and VIEW_PAD */
};

struct expansion {
    struct pipeline *p;
    struct expansion *next;
    struct gz_ahead ahead;
    int fd;
    uint64_t base, size; /* where in the file the input starts, and its bytes */
    uint64_t cursor;     /* the consumer's next read */
    int (*write)(void *ctx, const void *buf, size_t len);
    void *write_ctx;
    size_t fixed_stretch; /* for tests */

    struct stretch *first, *last;
    uint64_t next_from;
    unsigned vain;      /* stretches since the last that was of use, */
    uint64_t pause;     /* and then so much is left out */
    uint64_t last_mark;    /* the last that was found */
    bool has_marks;        /* one of these was good */
    uint64_t in, out;      /* bytes of accepted pieces */
    struct piece *first_out, *last_out;
    unsigned busy; /* workers */
    bool closing;
    struct expand_tools *tools; /* the consumer's */
    uint8_t window[INF_WINDOW], next_window[INF_WINDOW];
    struct pipeline_expansion_stats stats;
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

static struct expand_tools *new_tools(void)
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

/* Takes room for a stretch's output; NULL if there is none now. */
static uint8_t *take_room(struct pipeline *p)
{
    struct room *r = p->rooms;

    if (r != NULL) {
        p->rooms = r->next;
        return (uint8_t *)r;
    }
    if (p->rooms_made >= p->threads + p->threads / 2 + 2)
        return NULL;
    r = malloc(ROOM_BEFORE + ROOM_SIZE);
    p->rooms_made += r != NULL;
    return (uint8_t *)r;
}

static bool has_free_room(const struct pipeline *p)
{
    return p->rooms != NULL || p->rooms_made < p->threads + p->threads / 2 + 2;
}

static void give_room(struct pipeline *p, uint8_t *room)
{
    struct room *r = (struct room *)room;

    if (r == NULL)
        return;
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

/* Reads from that byte of the input on; fewer bytes only where it ends, or cannot be read. */
static size_t read_at(const struct expansion *e, uint64_t offset, uint8_t *to, size_t len)
{
    size_t done = 0;

    while (done < len) {
        const ssize_t n = pread(e->fd, to + done, len - done, (off_t)(e->base + offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

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
    n = read_at(e, v->offset + v->len, v->in + v->len, VIEW_SIZE - v->len);
    v->ends = n < VIEW_SIZE - v->len;
    v->len += n;
    memset(v->in + v->len, 0, VIEW_PAD);
    return n > 0;
}

/* --- Starts --------------------------------------------------------------------------------- */

/* Bytes of the gzip header (RFC 1952) that in[0..len) starts with; 0 if it does not seem to be one,
 * or not all of it is there. */
static size_t member_header(const uint8_t *in, size_t len)
{
    enum { HEADER_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, RESERVED = 0xe0, FIXED = 10 };
    struct inf_block block;
    size_t at = FIXED;

    if (len < FIXED + 1 || in[0] != 0x1f || in[1] != 0x8b || in[2] != 8 || (in[3] & RESERVED) != 0)
        return 0;
    if ((in[3] & EXTRA) != 0) {
        if (len < at + 2)
            return 0;
        at += 2 + (size_t)(in[at] | in[at + 1] << 8);
    }
    for (int flag = NAME; flag <= COMMENT; flag *= 2) {
        const uint8_t *zero;

        if ((in[3] & flag) == 0)
            continue;
        zero = at < len ? memchr(in + at, 0, len - at) : NULL;
        if (zero == NULL)
            return 0;
        at = (size_t)(zero - in) + 1;
    }
    if ((in[3] & HEADER_CRC) != 0)
        at += 2;
    if (at >= len || inf_check_block(0, 0, in + at, len - at, &block) == INF_BLOCK_BAD)
        return 0;
    return at;
}

/* What was found in some input: places in it, or SIZE_MAX. */
struct finds {
    size_t mark, member, sync; /* the last unless one of the others was found */
};

/* Looks for the first places in in[from..to) where something starts; in has `len` bytes.  What
 * comes before `from` may be part of it. */
static void find_hints(const uint8_t *in, size_t from, size_t to, size_t len, struct finds *f)
{
    *f = (struct finds){SIZE_MAX, SIZE_MAX, SIZE_MAX};
    for (size_t at = 0; (at = inf_find_hint(in, at, to)) < to; at += INF_HINT_SIZE) {
        for (size_t i = at; i < at + INF_HINT_SIZE && i < to; i++) {
            if (in[i] == 0x1f && i >= from) {
                const size_t header = member_header(in + i, len - i);

                if (header > 0) {
                    f->member = i + header;
                    return;
                }
            } else if (in[i] == 0 && i + INF_SYNC_SIZE < to && inf_is_sync(in + i)) {
                if (i + INF_MARK_SIZE >= from && i + INF_MARK_SIZE < to && inf_is_mark(in + i)) {
                    f->mark = i + INF_MARK_SIZE;
                    return;
                }
                if (f->sync == SIZE_MAX && i + INF_SYNC_SIZE >= from)
                    f->sync = i + INF_SYNC_SIZE;
            }
        }
    }
}

/* Looks for a start in the stretch: a mark or member, else another. */
static bool find_start(const struct expansion *e, struct expand_tools *t, struct stretch *k,
                       bool marks_only)
{
    const size_t before = k->from < INF_MARK_SIZE ? (size_t)k->from : INF_MARK_SIZE;
    uint64_t any = INF_NOWHERE, sync = INF_NOWHERE;

    for (uint64_t from = k->from, n; from < k->to; from += n) {
        const uint64_t offset = from - before;
        size_t len, end;
        struct finds f;

        /* scan[before..end) is what is looked at. */
        n = k->to - from < SCAN_SIZE - before - SCAN_AFTER ? k->to - from
                                                           : SCAN_SIZE - before - SCAN_AFTER;
        len = read_at(e, offset, t->scan, before + (size_t)n + SCAN_AFTER);
        end = before + (size_t)n < len ? before + (size_t)n : len;
        if (len <= before)
            return false;
        memset(t->scan + len, 0, VIEW_PAD);
        find_hints(t->scan, before, end, len, &f);
        if (f.mark != SIZE_MAX || f.member != SIZE_MAX) {
            k->kind = f.mark != SIZE_MAX ? AT_MARK : AT_MEMBER;
            k->start = 8 * (offset + (f.mark != SIZE_MAX ? f.mark : f.member));
            return true;
        }
        if (marks_only)
            continue;
        if (sync == INF_NOWHERE && f.sync != SIZE_MAX)
            sync = 8 * (offset + f.sync);
        if (any == INF_NOWHERE && sync == INF_NOWHERE) {
            any = inf_find_dynamic(&e->p->finder, t->scan, len, 8 * before, 8 * (uint64_t)end);
            if (any != INF_NOWHERE)
                any += 8 * offset;
        }
    }
    k->kind = ANYWHERE;
    k->start = sync != INF_NOWHERE ? sync : any;
    return k->start != INF_NOWHERE;
}

/* Looks for the stretch's start; the lock is given up meanwhile. */
static void seek_start(struct expansion *e, struct expand_tools *t, struct stretch *k)
{
    struct pipeline *p = e->p;
    const bool marks_only = p->threads < SYMBOLS_THREADS ||
                            (e->has_marks && k->from < e->last_mark + MARKS_DISTANCE);
    bool found;

    k->sought = SEEKING;
    unlock(p);
    found = find_start(e, t, k, marks_only);
    lock(p);
    k->sought = found ? FOUND : NOT_FOUND;
    if (found && k->kind == AT_MARK && k->start / 8 > e->last_mark)
        e->last_mark = k->start / 8;
    pthread_cond_broadcast(&p->can_expand);
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

/* Adds the next stretch; NULL if there is none, or memory is short. */
static struct stretch *add_stretch(struct expansion *e)
{
    const uint64_t size = stretch_size(e);
    struct stretch *k;

    if (e->next_from < e->cursor) /* the consumer has all before that */
        e->next_from = e->cursor;
    if (++e->vain > VAIN_MAX) {
        e->vain = 0;
        e->pause = e->pause == 0 ? PAUSE_FIRST : 2 * e->pause;
        e->next_from += e->pause;
    }
    if (e->next_from >= e->size || e->closing)
        return NULL;
    k = calloc(1, sizeof(*k));
    if (k == NULL)
        return NULL;
    k->from = e->next_from;
    k->to = k->from + size < e->size ? k->from + size : e->size;
    e->next_from = k->to;
    if (e->first == NULL)
        e->first = k;
    else
        e->last->next = k;
    e->last = k;
    return k;
}

/* Frees a stretch that nobody works on and that is in no list. */
static void free_stretch(struct expansion *e, struct stretch *k)
{
    give_room(e->p, k->room);
    for (size_t i = 0; i < k->count; i++)
        free(k->pieces[i]);
    free(k->pieces);
    free(k);
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

/* Takes off the list what the consumer, which is at that bit, cannot use any more. */
static void drop_past(struct expansion *e, uint64_t bit)
{
    struct stretch **link = &e->first, *last = NULL;

    while (*link != NULL) {
        struct stretch *k = *link;
        const bool past = is_past(k, bit);

        if (past && k->state == DECODING)
            k->useless = true;
        if (past && k->waiting == 0 && k->state != DECODING && k->sought != SEEKING) {
            *link = k->next;
            free_stretch(e, k);
        } else {
            last = k;
            link = &k->next;
        }
    }
    e->last = last;
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
            seek_start(e, t, next);
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
        if (result != INF_BLOCK && result != INF_END)
            return false;
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

            if (left < 2 * INF_WINDOW)
                return false;
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

        if (io.out_len == 0)
            return false;
        result = inf_run(a->t->raw, &io);
        used = io.used;
        crc = gz_crc32(crc, io.out, io.made);
        made += io.made;
        if (result == INF_BLOCK || result == INF_END) {
            piece->len = made;
            piece->crc = crc;
            piece->ended = result == INF_END;
            piece->end = result == INF_END
                             ? 8 * (v->offset + at + (uint64_t)used)
                             : 8 * (v->offset + at - INF_BACK) + io.place;
            if (result == INF_END)
                return true;
            if (stops_at(a->e, a->t, a->k, piece->end))
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
    if (header == 0)
        return false;
    const uint64_t start = 8 * (v->offset + at + header);
    if (stops_at(a->e, a->t, a->k, start))
        return false;
    a->piece = add_piece(a->k, start, bytes);
    return a->piece != NULL;
}

/* Decodes a stretch whose start was found; without the lock. */
static void decode_stretch(struct expansion *e, struct expand_tools *t, struct stretch *k)
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

/* --- Workers -------------------------------------------------------------------------------- */

/* Makes bytes of a piece's symbols; gives up the lock. */
static void resolve(struct expansion *e, struct piece *piece)
{
    struct pipeline *p = e->p;
    uint8_t *const out = piece->stretch->room + ROOM_BEFORE;

    piece->state = PIECE_RESOLVING;
    unlock(p);
    inf_resolve((const uint16_t *)(const void *)out, piece->symbols, piece->stretch->room, out);
    piece->symbols_crc = gz_crc32(0, out, piece->symbols);
    lock(p);
    piece->state = PIECE_READY;
    pthread_cond_broadcast(&p->can_expand);
}

/* The next piece in line that is to be resolved, or NULL. */
static struct piece *unresolved(const struct expansion *e)
{
    struct piece *piece = e->first_out;

    while (piece != NULL && piece->state != PIECE_UNRESOLVED)
        piece = piece->next_out;
    return piece;
}

/* The next stretch to work on, or NULL. */
static struct stretch *next_stretch(struct expansion *e)
{
    if (!has_free_room(e->p))
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
    struct piece *piece;
    struct stretch *k;

    if (e->closing)
        return false;
    piece = unresolved(e);
    if (piece != NULL) {
        e->busy++;
        if (unresolved(e) != piece)
            crew_call(p);
        resolve(e, piece);
        e->busy--;
        return true;
    }
    k = next_stretch(e);
    if (k == NULL)
        return false;
    e->busy++;
    if (e->next_from < e->size)
        crew_call(p);
    if (k->sought == NOT_SOUGHT)
        seek_start(e, t, k);
    if (k->sought == FOUND && k->state == WAITING && !e->closing && !k->useless)
        k->room = take_room(p);
    if (k->room != NULL && k->state == WAITING) {
        k->state = DECODING;
        unlock(p);
        decode_stretch(e, t, k);
        lock(p);
        k->state = DECODED;
    }
    e->busy--;
    pthread_cond_broadcast(&p->can_expand);
    return true;
}

bool expand_some(struct worker *w)
{
    struct pipeline *p = w->pipeline;

    for (struct expansion *e = p->expansions; e != NULL; e = e->next) {
        if (e->closing)
            continue;
        if (w->expand == NULL) {
            /* NULL: without memory, others do it. */
            w->expand = new_tools();
            if (w->expand == NULL)
                return false;
        }
        if (expand_one(e, w->expand))
            return true;
    }
    return false;
}

/* --- The consumer --------------------------------------------------------------------------- */

/* The stretch that has a piece that starts at that bit, or will have; then *piece is the piece, or
 * NULL.  NULL: there is none. */
static struct stretch *stretch_at(struct expansion *e, uint64_t bit, struct piece **piece)
{
    *piece = NULL;
    for (struct stretch *k = e->first; k != NULL; k = k->next) {
        if (k->state == DECODED) {
            for (size_t i = 0; i < k->count; i++)
                if (k->pieces[i]->start == bit) {
                    *piece = k->pieces[i];
                    return k;
                }
        } else if (k->sought == FOUND ? k->start == bit
                                      : k->sought == SEEKING && bit >= 8 * k->from &&
                                            bit < 8 * k->to) {
            return k;
        }
    }
    return NULL;
}

static bool has_ahead(void *ctx, uint64_t bit)
{
    struct expansion *e = ctx;
    struct piece *piece;
    bool has;

    lock(e->p);
    drop_past(e, bit);
    for (;;) {
        const struct stretch *k = stretch_at(e, bit, &piece);

        has = k != NULL && (k->state == DECODING || piece != NULL);
        /* It is soon known. */
        if (k == NULL || k->sought != SEEKING)
            break;
        pthread_cond_wait(&e->p->can_expand, &e->p->lock);
    }
    unlock(e->p);
    return has;
}

/* Waits until the stretch is decoded, and works meanwhile. */
static void wait_for(struct expansion *e, const struct stretch *k)
{
    while (k->state == DECODING)
        if (!expand_one(e, e->tools))
            pthread_cond_wait(&e->p->can_expand, &e->p->lock);
}

/* Makes what comes before the piece's end the next window. */
static void move_window(struct expansion *e, const struct piece *piece)
{
    const uint16_t *symbols =
        (const uint16_t *)(const void *)(piece->stretch->room + ROOM_BEFORE);
    const size_t bytes = piece->len < INF_WINDOW ? piece->len : INF_WINDOW;
    const size_t rest = INF_WINDOW - bytes;
    const size_t some = piece->symbols < rest ? piece->symbols : rest;

    memcpy(e->next_window, e->window + INF_WINDOW - (rest - some), rest - some);
    inf_resolve(symbols + piece->symbols - some, some, e->window, e->next_window + rest - some);
    memcpy(e->next_window + rest, piece->bytes + piece->len - bytes, bytes);
}

/* Takes a piece over: it is in line to be written. */
static void accept(struct expansion *e, struct piece *piece, struct gz_place *place)
{
    struct stretch *k = piece->stretch;

    unlock(e->p);
    move_window(e, piece);
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
}

/* Writes the first piece in line, which is ready; gives up the lock.  False if that failed. */
static bool write_first(struct expansion *e, struct gz_place *place)
{
    struct piece *piece = e->first_out;
    bool ok = true;
    int error = 0;

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
    piece->stretch->waiting--;
    errno = error;
    return ok;
}

/* Writes what is in line; with `all`, waits for what is not ready, and works meanwhile.  False if
 * that failed. */
static bool write_out(struct expansion *e, struct gz_place *place, bool all)
{
    while (e->first_out != NULL) {
        if (e->first_out->state == PIECE_READY) {
            if (!write_first(e, place))
                return false;
            continue;
        }
        if (!all)
            break;
        if (unresolved(e) != NULL)
            resolve(e, unresolved(e));
        else
            pthread_cond_wait(&e->p->can_expand, &e->p->lock);
    }
    return true;
}

static bool run_ahead(void *ctx, struct gz_place *place)
{
    struct expansion *e = ctx;
    struct pipeline *p = e->p;
    const size_t known = place->len < INF_WINDOW ? (size_t)place->len : INF_WINDOW;
    bool ok = true;
    int error;

    memcpy(e->window + INF_WINDOW - known, place->end - known, known);
    lock(p);
    while (ok && !place->ended) {
        struct piece *piece;
        struct stretch *k = stretch_at(e, place->bit, &piece);

        if (k != NULL && k->sought == SEEKING) {
            pthread_cond_wait(&p->can_expand, &p->lock);
            continue;
        }
        if (k != NULL && k->state == WAITING && has_free_room(p) && expand_one(e, e->tools))
            continue;
        if (k == NULL || (piece == NULL && k->state != DECODING))
            break;
        if (piece == NULL) {
            ok = write_out(e, place, false);
            if (ok)
                wait_for(e, k);
            continue;
        }
        /* What is decoded to symbols may refer to all of a window. */
        if (piece->symbols > 0 && place->len < INF_WINDOW)
            break;
        accept(e, piece, place);
        if (place->bit / 8 > e->cursor)
            e->cursor = place->bit / 8;
        ok = write_out(e, place, false);
        drop_past(e, place->bit);
    }
    ok = ok && write_out(e, place, true);
    error = errno;
    drop_past(e, place->bit);
    unlock(p);
    memcpy(place->end - INF_WINDOW, e->window, INF_WINDOW);
    errno = error;
    return ok;
}

static void seek_ahead(void *ctx, uint64_t byte)
{
    struct expansion *e = ctx;

    lock(e->p);
    e->cursor = byte;
    unlock(e->p);
}

/* --- What others call ----------------------------------------------------------------------- */

struct expansion *pipeline_expand(struct pipeline *p, int fd, size_t stretch,
                                  int (*write)(void *ctx, const void *buf, size_t len), void *ctx)
{
    const off_t base = lseek(fd, 0, SEEK_CUR);
    struct expansion *e;
    uint8_t magic[2];
    struct stat st;

    if (p->threads < 2 || base < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size < base ||
        ((uint64_t)(st.st_size - base) < EXPAND_MIN && stretch == 0) ||
        pread(fd, magic, sizeof(magic), base) != (ssize_t)sizeof(magic) || magic[0] != 0x1f ||
        magic[1] != 0x8b)
        return NULL;
    e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    e->tools = new_tools();
    if (e->tools == NULL) {
        free(e);
        return NULL;
    }
    e->p = p;
    e->fd = fd;
    e->base = (uint64_t)base;
    e->size = (uint64_t)(st.st_size - base);
    e->fixed_stretch = stretch;
    e->write = write;
    e->write_ctx = ctx;
    e->ahead = (struct gz_ahead){has_ahead, run_ahead, seek_ahead, e};
    e->next_from = stretch_size(e);
    lock(p);
    if (!p->has_finder) {
        inf_finder_init(&p->finder);
        p->has_finder = true;
    }
    e->next = p->expansions;
    p->expansions = e;
    crew_call(p);
    unlock(p);
    return e;
}

const struct gz_ahead *expansion_ahead(const struct expansion *e)
{
    return &e->ahead;
}

ssize_t expansion_read(struct expansion *e, void *buf, size_t len)
{
    ssize_t n;

    do
        n = pread(e->fd, buf, len, (off_t)(e->base + e->cursor));
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        lock(e->p);
        e->cursor += (uint64_t)n;
        unlock(e->p);
    }
    return n;
}

uint64_t expansion_position(const struct expansion *e)
{
    return e->cursor;
}

void expansion_close(struct expansion *e, struct pipeline_expansion_stats *stats)
{
    struct pipeline *p = e->p;
    struct expansion **link = &p->expansions;

    lock(p);
    e->closing = true;
    for (struct stretch *k = e->first; k != NULL; k = k->next)
        k->useless = true;
    pthread_cond_broadcast(&p->can_expand);
    while (e->busy > 0)
        pthread_cond_wait(&p->can_expand, &p->lock);
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    for (struct stretch *k = e->first, *next; k != NULL; k = next) {
        next = k->next;
        free_stretch(e, k);
    }
    unlock(p);
    /* As if all had been read in order. */
    (void)lseek(e->fd, (off_t)(e->base + e->cursor), SEEK_SET);
    *stats = e->stats;
    expand_free_tools(e->tools);
    free(e);
}
