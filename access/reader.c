/*
 * reader.c - reads the decompressed data of a .gz at any place (reader.h)
 *
 * A thread that reads takes a cursor out of the reader, decodes without the lock, and puts the
 * cursor back.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "access/builder.h"
#include "access/cursor.h"
#include "access/cursors.h"
#include "access/layout.h"
#include "access/reader.h"
#include "access/window.h"

struct access_reader {
    struct access_source source, index; /* index.size is 0 if there is none */
    bool is_strict;
    /* Protects the members below. */
    pthread_mutex_t lock;
    struct access_points points;
    enum access_hints hints;
    bool is_looking;           /* a thread looks for hints, without the lock */
    pthread_cond_t has_looked; /* signalled when is_looking becomes false */
    /* The length of the data.  If `knows_size` is false, no decoding has come to the end, and this
     * length is only a hint, or UINT64_MAX.  size_is_hint: decoding has come to the end, but began
     * at a hint. */
    uint64_t size;
    bool knows_size, size_is_hint;
    /* Whether the data before the first hint was decoded and compared, or cannot be decoded. */
    bool is_start_checked;
    /* The first member has at least this many bytes of data. */
    uint64_t first_member;
    uint64_t lines;
    struct access_cursors cursors; /* cursors that no read uses; all are proven */
};

/* Makes the condition `has_looked`, whose waits are by the monotonic clock. */
static bool open_condition(struct access_reader *r)
{
    pthread_condattr_t by_clock;
    bool ok = pthread_condattr_init(&by_clock) == 0;

    if (!ok)
        return false;
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    ok = pthread_cond_init(&r->has_looked, &by_clock) == 0;
    pthread_condattr_destroy(&by_clock);
    return ok;
}

struct access_reader *access_open(const struct access_source *source)
{
    const struct access_point start = access_start();
    struct access_reader *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    if (!open_condition(r)) {
        free(r);
        return NULL;
    }
    r->source = *source;
    r->source.watch = NULL; /* each call has its own */
    r->points.most = ACCESS_POINTS_MEMORY;
    r->size = UINT64_MAX;
    r->lines = ACCESS_NO_LINE;
    pthread_mutex_init(&r->lock, NULL);
    if (access_points_add(&r->points, &start))
        return r;
    access_close(r);
    return NULL;
}

void access_close(struct access_reader *r)
{
    if (r == NULL)
        return;
    access_cursors_clear(&r->cursors);
    access_points_clear(&r->points);
    pthread_cond_destroy(&r->has_looked);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void access_set_strict(struct access_reader *r, bool is_strict)
{
    r->is_strict = is_strict;
}

/* Nanoseconds after which a thread that waits for another one asks again whether it shall go on. */
#define WAIT_NS 20000000

/* --- Hints ---------------------------------------------------------------------------------- */

/* Moves the points in *found to r, except the start, which r has already.  Empties *found. */
static bool take_points(struct access_reader *r, struct access_points *found)
{
    bool ok = true;

    for (size_t i = 0; i < found->count; i++) {
        struct access_point p = found->list[i];

        found->list[i].bytes = NULL; /* the window belongs to r now */
        if (p.bit > 0)
            ok = access_points_add(&r->points, &p) && ok;
    }
    access_points_clear(found);
    return ok;
}

enum access_index_status access_use_index(struct access_reader *r,
                                          const struct access_source *index)
{
    struct access_points found = {.most = ACCESS_POINTS_MEMORY};
    struct access_index about;
    enum access_index_status status = access_index_read(index, r->source.size, &found, &about);

    if (status != ACCESS_INDEX_OK)
        return status;
    if (!take_points(r, &found))
        return ACCESS_INDEX_NO_MEMORY;
    r->index = *index;
    r->index.watch = NULL;
    r->hints = ACCESS_INDEX;
    r->size = about.size;
    r->lines = about.lines;
    return ACCESS_INDEX_OK;
}

/* Looks for hints in the file, without the lock.  Returns ACCESS_UNKNOWN if `watch` has ended the
 * search. */
static enum access_hints find_hints(const struct access_reader *r, struct access_points *found,
                                    uint64_t *size, const struct access_watch *watch)
{
    struct access_source source = r->source;
    enum access_hints hints = ACCESS_NOTHING;

    source.watch = watch;
    if (access_bgzf_list(&source, ACCESS_APART / 4, found, size) == ACCESS_LAYOUT_FOUND) {
        hints = ACCESS_BGZF;
    } else {
        access_points_clear(found);
        if (access_marks_list(&source, found, size) == ACCESS_LAYOUT_FOUND)
            hints = ACCESS_MARKS;
    }
    return hints == ACCESS_NOTHING && !access_goes_on(watch) ? ACCESS_UNKNOWN : hints;
}

/* Waits until no other thread looks for hints.  The caller has the lock.  Returns false if `watch`
 * has ended the wait. */
static bool wait_for_look(struct access_reader *r, const struct access_watch *watch)
{
    while (r->is_looking) {
        struct timespec until;

        if (!access_goes_on(watch))
            return false;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += WAIT_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&r->has_looked, &r->lock, &until);
    }
    return true;
}

/* Looks for hints if nobody has.  The caller has the lock, which is not held meanwhile. */
static void look(struct access_reader *r, const struct access_watch *watch)
{
    struct access_points found = {.most = ACCESS_POINTS_MEMORY};
    enum access_hints hints;
    uint64_t size;

    if (!wait_for_look(r, watch) || r->hints != ACCESS_UNKNOWN)
        return;
    r->is_looking = true;
    pthread_mutex_unlock(&r->lock);
    hints = find_hints(r, &found, &size, watch);
    pthread_mutex_lock(&r->lock);
    r->is_looking = false;
    pthread_cond_broadcast(&r->has_looked);
    if (r->hints != ACCESS_UNKNOWN) {
        access_points_clear(&found);
        return;
    }
    r->hints = hints;
    if (hints == ACCESS_BGZF || hints == ACCESS_MARKS) {
        take_points(r, &found);
        if (!r->knows_size)
            r->size = size;
    }
    /* The search has decoded the first segment. */
    r->is_start_checked |= hints == ACCESS_MARKS;
}

enum access_hints access_look(struct access_reader *r, const struct access_watch *watch)
{
    enum access_hints hints;

    pthread_mutex_lock(&r->lock);
    look(r, watch);
    hints = r->hints;
    pthread_mutex_unlock(&r->lock);
    return hints;
}

bool access_had_wrong_hints(struct access_reader *r)
{
    bool had;

    pthread_mutex_lock(&r->lock);
    had = r->hints == ACCESS_WRONG_HINTS;
    pthread_mutex_unlock(&r->lock);
    return had;
}

/* Drops the hints, which are wrong, and all that was found out by decoding from them.  The caller
 * has the lock. */
static void drop_hints(struct access_reader *r)
{
    access_points_drop_hints(&r->points);
    access_cursors_drop_hints(&r->cursors);
    r->hints = ACCESS_WRONG_HINTS;
    r->lines = ACCESS_NO_LINE;
    if (!r->knows_size || r->size_is_hint)
        r->size = UINT64_MAX;
    r->knows_size &= !r->size_is_hint;
    r->size_is_hint = false;
}

/* --- Cursors -------------------------------------------------------------------------------- */

/* Sets *from to a point at `offset` or before it, and *cursor to a cursor between that point and
 * `offset`.  The cursor is one that waits there or, if there is none or `anew` is true, one that
 * begins at *from.  The caller has the lock. */
static enum gz_status get_cursor(struct access_reader *r, uint64_t offset, bool anew,
                                 struct access_cursor **cursor, struct access_point *from)
{
    const size_t i = access_points_until(&r->points, offset) - 1;
    const struct access_point *p = &r->points.list[i];
    uint8_t *window;
    ssize_t len;
    bool ok;

    /* If the length of the data is not known, no later place can show whether the last point is
     * right.  So begin one point earlier. */
    if (i > 0 && i + 1 == r->points.count && r->size == UINT64_MAX && p->is_hint && !p->is_checked)
        p--;
    *from = *p;
    *cursor = anew ? NULL : access_cursors_take(&r->cursors, offset, p->out);
    if (*cursor != NULL)
        return GZ_OK;
    *cursor = access_cursors_make(&r->cursors, &r->source);
    window = *cursor != NULL ? malloc(INF_WINDOW) : NULL;
    if (window == NULL)
        return GZ_NO_MEMORY;
    len = access_window_get(p, &r->index, window + INF_WINDOW);
    ok = len >= 0 && access_cursor_begin(*cursor, p, window + INF_WINDOW - len, (size_t)len);
    free(window);
    if (!ok && len >= 0)
        return GZ_NO_MEMORY;
    return ok ? GZ_OK : GZ_BAD_DATA;
}

/* --- Steps ---------------------------------------------------------------------------------- */

/* A read under way. */
struct reading {
    struct access_reader *r;
    const struct access_watch *watch; /* or NULL */
    struct access_cursor *c;
    struct access_source source; /* the reader's, with the read's watch; the cursor reads it */
    struct access_point from;    /* where the cursor began, if it is not proven */
    bool has_next;               /* there is a later point, or hint (find_next) */
    struct access_point next;    /* with has_next: the nearest one */
    uint64_t size;               /* the length of the data, as hints tell it, or UINT64_MAX */
    uint64_t leave_at;           /* the next point is left at this byte of output, or later */
    bool has_failed;             /* the cursor has come to an error, and cannot go on */
};

/* Sets g->next and g->size, the hints with which compare() checks the cursor.  The caller has the
 * lock.  A cursor that is not proven is compared with the nearest point, any other with the nearest
 * hint. */
static void find_next(struct reading *g)
{
    const struct access_points *points = &g->r->points;
    const struct access_cursor *c = g->c;
    size_t i = access_points_until(points, c->is_proven ? c->out : g->from.out);

    g->size = g->r->size;
    while (i < points->count &&
           (c->is_proven ? !points->list[i].is_hint : points->list[i].bit <= g->from.bit))
        i++;
    g->has_next = i < points->count;
    if (g->has_next)
        g->next = points->list[i];
}

/* Sets is_checked in the points at byte `out` of the output and bit `bit`.  The caller has the
 * lock. */
static void check_point(struct access_points *points, uint64_t bit, uint64_t out)
{
    for (size_t i = access_points_until(points, out); i > 0; i--) {
        struct access_point *p = &points->list[i - 1];

        if (p->out < out)
            break;
        p->is_checked |= p->bit == bit;
    }
}

/* Notes that the hint from which the cursor began is right. */
static void prove(struct reading *g)
{
    g->c->is_proven = true;
    pthread_mutex_lock(&g->r->lock);
    check_point(&g->r->points, g->from.bit, g->from.out);
    find_next(g);
    pthread_mutex_unlock(&g->r->lock);
}

/* Notes that the proven cursor has come to the hint g->next. */
static void pass_hint(struct reading *g)
{
    struct access_reader *r = g->r;
    const struct access_cursor *c = g->c;

    pthread_mutex_lock(&r->lock);
    check_point(&r->points, g->next.bit, g->next.out);
    if (!c->is_hint) {
        r->is_start_checked = true;
        if (c->knows_member && c->len == c->out && c->out > r->first_member)
            r->first_member = c->out;
    }
    find_next(g);
    pthread_mutex_unlock(&r->lock);
}

/* Leaves a point where the cursor is, for later reads. */
static void leave_point(struct reading *g)
{
    const struct access_cursor *c = g->c;
    const struct access_point p = {.bit = c->bit,
                                   .out = c->out,
                                   .line = ACCESS_NO_LINE,
                                   .is_hint = c->is_hint,
                                   .has_crc = c->knows_member,
                                   .crc = c->crc,
                                   .len = c->len};
    size_t len;
    const uint8_t *window = access_cursor_window(c, &len);

    g->leave_at = access_leave_point(g->r, &p, window, len);
}

/* Whether the length in the trailer that the cursor has passed can be right.  The cursor began at a
 * hint in the middle of the member.  So the place where the member starts is known modulo 2^32.  It
 * must be the start of the data, or between the end of what is known of the first member and the
 * hint. */
static bool fits_trailer(struct reading *g)
{
    const struct access_cursor *c = g->c;
    uint64_t from = (uint32_t)(c->out - c->stored_len), least;

    if (!c->is_at_place || !c->is_at_header || !c->is_hint || c->knows_member || from == 0)
        return true;
    pthread_mutex_lock(&g->r->lock);
    least = g->r->first_member;
    pthread_mutex_unlock(&g->r->lock);
    if (from < least)
        from += ((least - from + UINT32_MAX) >> 32) << 32;
    return from <= c->began;
}

/* Compares the place where the cursor is with the hints.  Returns false if the hints are wrong. */
static bool compare(struct reading *g)
{
    const struct access_cursor *c = g->c;

    if (!fits_trailer(g))
        return false;
    if (c->has_ended) {
        if (g->has_next || (g->size != UINT64_MAX && g->size != c->out))
            return false;
        if (!c->is_proven)
            prove(g);
        return true;
    }
    if (!c->is_at_place || !g->has_next || c->bit < g->next.bit)
        return !g->has_next || c->out <= g->next.out;
    if (c->bit != g->next.bit || c->out != g->next.out)
        return false;
    if (c->is_proven)
        pass_hint(g);
    else
        prove(g);
    return true;
}

/* Notes that the cursor has come to the end of the data. */
static void note_end(struct reading *g)
{
    struct access_reader *r = g->r;
    const struct access_cursor *c = g->c;

    pthread_mutex_lock(&r->lock);
    if (!c->is_hint || (r->hints != ACCESS_WRONG_HINTS && (!r->knows_size || r->size_is_hint))) {
        r->size = c->out;
        r->knows_size = true;
        r->size_is_hint = c->is_hint;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Drops the hints, since a cursor that does not depend on them has come to other places. */
static void drop_passed_hints(struct reading *g)
{
    pthread_mutex_lock(&g->r->lock);
    drop_hints(g->r);
    pthread_mutex_unlock(&g->r->lock);
    g->has_next = false;
    g->size = UINT64_MAX;
}

/* Does a step.  Sets *wrong to whether the hints turned out to be wrong. */
static enum gz_status step(struct reading *g, bool *wrong)
{
    struct access_cursor *c = g->c;
    enum gz_status status;

    if (!access_goes_on(g->watch))
        return GZ_READ_ERROR;
    c->stop_at = c->is_proven && c->out >= g->leave_at ? 0 : g->has_next ? g->next.bit : UINT64_MAX;
    status = access_cursor_step(c);
    if (status != GZ_OK) {
        /* The data may be damaged, or the hint may be wrong.  Decoding from the start tells. */
        *wrong = c->is_hint && status != GZ_READ_ERROR && status != GZ_NO_MEMORY;
        return status;
    }
    if (!compare(g)) {
        *wrong = c->is_hint;
        if (*wrong)
            return GZ_BAD_DATA;
        drop_passed_hints(g);
    }
    if (c->is_proven && c->is_at_place && !c->is_at_header)
        leave_point(g);
    if (c->is_proven && c->has_ended)
        note_end(g);
    return GZ_OK;
}

/* Takes bytes from the cursor: skips the bytes before `offset`, and copies up to `len` bytes.
 * Returns the number of bytes copied. */
static size_t take(struct access_cursor *c, uint8_t *buf, size_t len, uint64_t offset)
{
    const uint64_t at = access_cursor_place(c), behind = offset > at ? offset - at : 0;
    const size_t skip = behind < c->piece_len ? (size_t)behind : c->piece_len;
    const size_t left = c->piece_len - skip, n = left < len ? left : len;

    if (n > 0 && buf != NULL)
        memcpy(buf, c->piece + skip, n);
    /* If the cursor has made no piece yet, c->piece is NULL; then add nothing to it. */
    if (skip + n > 0)
        c->piece += skip + n;
    c->piece_len -= skip + n;
    return n;
}

/* Reads on with g's cursor.  If buf is NULL, the bytes are only counted. */
static enum gz_status run(struct reading *g, uint8_t *buf, size_t len, uint64_t offset,
                          size_t *done, bool *wrong)
{
    enum gz_status status = GZ_OK;

    *done = 0;
    *wrong = false;
    while (*done < len && status == GZ_OK) {
        const size_t n = take(g->c, buf != NULL ? buf + *done : NULL, len - *done, offset + *done);

        *done += n;
        if (*done == len || (g->c->has_ended && g->c->piece_len == 0))
            break;
        if (g->c->piece_len == 0)
            status = step(g, wrong);
    }
    g->has_failed = status != GZ_OK;
    /* The last step may have decoded bytes before it came to the error. */
    if (g->has_failed && g->c->is_proven) {
        *done += take(g->c, buf != NULL ? buf + *done : NULL, len - *done, offset + *done);
        if (*done == len)
            status = GZ_OK;
    }
    /* Decode on until the point from which the cursor began is checked, because the caller must not
     * get any bytes before this check. */
    while (status == GZ_OK && !g->c->is_proven) {
        g->c->piece_len = 0;
        status = step(g, wrong);
    }
    if (!g->c->is_proven)
        *done = 0;
    return status;
}

/* Lets the read's cursor ask the read's watch. */
static void begin_reading(struct reading *g)
{
    g->source = g->r->source;
    g->source.watch = g->watch;
    g->c->source = &g->source;
    find_next(g);
}

/* Keeps the read's cursor for later reads, or frees it.  Returns false if the cursor began at a
 * hint, and another thread has found meanwhile that the hints are wrong.  The caller has the
 * lock. */
static bool end_reading(struct reading *g, bool is_good)
{
    const bool is_stale = g->c != NULL && g->c->is_hint && g->r->hints == ACCESS_WRONG_HINTS;

    if (g->c != NULL)
        g->c->source = &g->r->source;
    if (is_good && !is_stale && !g->has_failed && g->c->is_proven)
        access_cursors_put(&g->r->cursors, g->c);
    else
        access_cursor_free(g->c);
    g->c = NULL;
    return !is_stale;
}

/* Whether a read at `offset` begins at a hint, and the data before the first hint must be decoded
 * and compared before that.  If so, sets *first to the byte of output at which the first hint is.
 * The caller has the lock. */
static bool needs_start(const struct access_reader *r, uint64_t offset, uint64_t *first)
{
    const struct access_points *points = &r->points;
    const struct access_point *p = &points->list[access_points_until(points, offset) - 1];
    size_t i = 0;

    if (r->is_start_checked || !p->is_hint || p->out == 0 ||
        access_cursors_have(&r->cursors, offset, p->out))
        return false;
    while (!points->list[i].is_hint || points->list[i].out == 0)
        i++;
    *first = points->list[i].out;
    return *first <= ACCESS_START_MAX;
}

/* Before the first read that begins at a hint: decodes the data before the first hint, and compares
 * its place.  If the data is damaged, a read that needs it will find that.  Sets *wrong to whether
 * the hints are wrong. */
static enum gz_status check_start(struct access_reader *r, uint64_t offset, bool *wrong,
                                  const struct access_watch *watch)
{
    const struct access_point start = access_start();
    struct reading g = {.r = r, .watch = watch, .from = start};
    enum gz_status status = GZ_NO_MEMORY;
    uint64_t first;
    size_t done;
    int error;

    *wrong = false;
    pthread_mutex_lock(&r->lock);
    if (!needs_start(r, offset, &first)) {
        pthread_mutex_unlock(&r->lock);
        return GZ_OK;
    }
    g.c = access_cursors_make(&r->cursors, &r->source);
    if (g.c != NULL && access_cursor_begin(g.c, &start, NULL, 0)) {
        begin_reading(&g);
        status = GZ_OK;
    }
    pthread_mutex_unlock(&r->lock);
    if (status == GZ_OK)
        status = run(&g, NULL, 1, first, &done, wrong);
    error = errno;
    pthread_mutex_lock(&r->lock);
    end_reading(&g, status == GZ_OK);
    /* The places of BGZF's members are sums of such lengths. */
    if (status == GZ_BAD_LENGTH && r->hints == ACCESS_BGZF)
        drop_hints(r);
    *wrong = r->hints == ACCESS_WRONG_HINTS;
    r->is_start_checked |= status != GZ_READ_ERROR && status != GZ_NO_MEMORY;
    pthread_mutex_unlock(&r->lock);
    errno = error;
    return status == GZ_READ_ERROR || status == GZ_NO_MEMORY ? status : GZ_OK;
}

/* Reads from the best point or cursor.  If `len` is 0, only checks the best point. */
static enum gz_status read_once(struct access_reader *r, uint8_t *buf, size_t len, uint64_t offset,
                                size_t *done, bool *wrong, const struct access_watch *watch)
{
    struct reading g = {.r = r, .watch = watch};
    enum gz_status status = check_start(r, offset, wrong, watch);
    int error;

    *done = 0;
    if (status != GZ_OK || *wrong)
        return status != GZ_OK ? status : GZ_BAD_DATA;
    pthread_mutex_lock(&r->lock);
    status = get_cursor(r, offset, len == 0, &g.c, &g.from);
    *wrong = status == GZ_BAD_DATA;
    if (status == GZ_OK)
        begin_reading(&g);
    pthread_mutex_unlock(&r->lock);
    if (status == GZ_OK)
        status = run(&g, buf, len, offset, done, wrong);
    error = errno;
    if (g.c != NULL && watch != NULL && watch->in != NULL)
        *watch->in = g.c->b.in_base + g.c->b.at;
    pthread_mutex_lock(&r->lock);
    if (!end_reading(&g, status == GZ_OK) && status != GZ_READ_ERROR && status != GZ_NO_MEMORY) {
        status = GZ_BAD_DATA;
        *wrong = true;
    }
    if (*wrong) {
        drop_hints(r);
        *done = 0;
    }
    pthread_mutex_unlock(&r->lock);
    errno = error;
    return status;
}

bool access_is_far(struct access_reader *r, uint64_t offset, uint64_t len)
{
    const struct access_point *p;
    bool is_far;

    pthread_mutex_lock(&r->lock);
    p = &r->points.list[access_points_until(&r->points, offset) - 1];
    is_far = offset - p->out > len && !access_cursors_have(&r->cursors, offset, offset - len);
    pthread_mutex_unlock(&r->lock);
    return is_far;
}

/* A read looks for hints first if its offset is more than ACCESS_FAR bytes of output after the last
 * point, because decoding so many bytes takes longer than looking for hints. */
#ifndef ACCESS_FAR /* tests choose other sizes */
#define ACCESS_FAR ((uint64_t)4 << 20)
#endif

static enum gz_status read_at(struct access_reader *r, uint8_t *buf, size_t len, uint64_t offset,
                              size_t *done, const struct access_watch *watch)
{
    enum gz_status status;
    bool wrong;

    if (access_is_far(r, offset, ACCESS_FAR))
        access_look(r, watch);
    do
        status = read_once(r, buf, len, offset, done, &wrong, watch);
    while (wrong && !r->is_strict);
    return status;
}

enum gz_status access_read(struct access_reader *r, void *buf, size_t len, uint64_t offset,
                           size_t *done, const struct access_watch *watch)
{
    *done = 0;
    return len > 0 ? read_at(r, buf, len, offset, done, watch) : GZ_OK;
}

/* Whether the last point at `offset` or before it is a hint that no read has checked. */
static bool is_unchecked(struct access_reader *r, uint64_t offset)
{
    const struct access_point *p;
    bool is;

    pthread_mutex_lock(&r->lock);
    p = &r->points.list[access_points_until(&r->points, offset) - 1];
    is = p->is_hint && !p->is_checked;
    pthread_mutex_unlock(&r->lock);
    return is;
}

void access_check(struct access_reader *r, uint64_t offset, const struct access_watch *watch)
{
    size_t done;
    bool wrong;

    if (is_unchecked(r, offset))
        (void)read_once(r, NULL, 0, offset, &done, &wrong, watch);
}

/* Whether p and the points before and after it cannot all be right.  The caller has the lock. */
static bool contradicts(const struct access_points *points, const struct access_point *p)
{
    const size_t after = access_points_until(points, p->out);
    size_t before = after;

    while (before > 0 && points->list[before - 1].out == p->out)
        before--;
    return (before > 0 && points->list[before - 1].bit >= p->bit) ||
           (after < points->count && points->list[after].bit <= p->bit);
}

uint64_t access_leave_point(struct access_reader *r, const struct access_point *p,
                            const uint8_t *window, size_t len)
{
    struct access_point copy = *p;
    uint64_t apart, leave_at;

    copy.is_checked = copy.is_hint;
    copy.form = len > 0 ? ACCESS_RAW : ACCESS_NO_WINDOW;
    copy.stored = (uint32_t)len;
    copy.bytes = NULL;
    pthread_mutex_lock(&r->lock);
    apart = ACCESS_APART << (r->points.halvings < 32 ? r->points.halvings : 32);
    if (contradicts(&r->points, p))
        drop_hints(r);
    leave_at = r->points.list[access_points_until(&r->points, p->out) - 1].out + apart;
    if (p->out >= leave_at && (!p->is_hint || r->hints != ACCESS_WRONG_HINTS)) {
        leave_at = p->out + apart;
        copy.bytes = len > 0 ? malloc(len) : NULL;
        if (copy.bytes != NULL || len == 0) {
            if (len > 0)
                memcpy(copy.bytes, window, len);
            access_points_add(&r->points, &copy); /* if this fails, later reads take longer */
        }
    }
    pthread_mutex_unlock(&r->lock);
    return leave_at;
}

struct access_point access_proven_point(struct access_reader *r, uint64_t offset, uint8_t *window)
{
    struct access_point p;
    ssize_t len;
    size_t i;

    memset(window, 0, INF_WINDOW);
    pthread_mutex_lock(&r->lock);
    i = access_points_until(&r->points, offset);
    do {
        p = r->points.list[--i];
        len =
            p.is_hint && !p.is_checked ? -1 : access_window_get(&p, &r->index, window + INF_WINDOW);
    } while (i > 0 && len < 0);
    pthread_mutex_unlock(&r->lock);
    p.bytes = NULL;
    p.stored = (uint32_t)len; /* the start has no window, so `len` is not below 0 */
    return p;
}

uint64_t access_size_hint(struct access_reader *r, const struct access_watch *watch)
{
    uint64_t size;

    access_look(r, watch);
    pthread_mutex_lock(&r->lock);
    size = r->size;
    if (size == UINT64_MAX && r->hints == ACCESS_INDEX)
        size = r->points.list[r->points.count - 1].out;
    pthread_mutex_unlock(&r->lock);
    return size;
}

enum gz_status access_size(struct access_reader *r, uint64_t *size,
                           const struct access_watch *watch)
{
    enum gz_status status = GZ_OK;
    size_t done;
    bool knows;

    access_look(r, watch);
    for (;;) {
        pthread_mutex_lock(&r->lock);
        knows = r->knows_size;
        *size = r->size;
        pthread_mutex_unlock(&r->lock);
        /* Another thread may find that the size came from wrong hints.  It then takes the size
         * back, and this thread reads again. */
        if (knows || status != GZ_OK)
            return status;
        /* This read decodes from the last point up to the end, and notes the size. */
        status = read_at(r, NULL, 1, UINT64_MAX - 1, &done, watch);
    }
}

bool access_find_line(struct access_reader *r, uint64_t line, struct access_stretch *found)
{
    *found = (struct access_stretch){0};
    pthread_mutex_lock(&r->lock);
    found->to = r->size;
    found->lines_to = r->lines;
    for (size_t i = 0; i < r->points.count; i++) {
        const struct access_point *p = &r->points.list[i];

        if (p->line == ACCESS_NO_LINE)
            continue;
        if (p->line >= line && i > 0) {
            found->to = p->out;
            found->lines_to = p->line;
            break;
        }
        found->from = p->out;
        found->lines_from = p->line;
    }
    pthread_mutex_unlock(&r->lock);
    return found->to != UINT64_MAX && found->lines_to != ACCESS_NO_LINE;
}

/* --- Export --------------------------------------------------------------------------------- */

/* Gives the builder the point at the first block, after the first member's header. */
static bool note_first_block(const struct access_source *source, struct access_builder *b)
{
    struct access_cursor *c = access_cursor_new(source);
    const struct access_point start = access_start();
    const bool ok = c != NULL && access_cursor_begin(c, &start, NULL, 0) &&
                    access_cursor_step(c) == GZ_OK && c->is_at_place;

    if (ok)
        access_builder_note(b, c->bit, 0, NULL, 0);
    access_cursor_free(c);
    return ok;
}

/* Copies the first point that the builder wants after the place *p to *p, and its window to the
 * bytes before `end`; *len becomes the window's length, or -1 after an error.  Returns false if
 * there is no such point. */
static bool next_wanted(struct access_reader *r, struct access_builder *b, struct access_point *p,
                        uint8_t *end, ssize_t *len)
{
    const struct access_points *points = &r->points;
    bool is = false;

    pthread_mutex_lock(&r->lock);
    for (size_t i = access_points_until(points, p->out); !is && i < points->count; i++) {
        const struct access_point *next = &points->list[i];

        is = !next->is_header &&
             access_builder_wants(b, next->bit, next->out, next->form != ACCESS_NO_WINDOW);
        if (is) {
            *len = access_window_get(next, &r->index, end);
            *p = *next;
        }
    }
    pthread_mutex_unlock(&r->lock);
    return is;
}

/* Gives the builder all points.  To pack a window takes a millisecond.  So other threads can read
 * meanwhile, and `watch` is asked for each point. */
static bool note_points(struct access_reader *r, struct access_builder *b,
                        const struct access_watch *watch)
{
    uint8_t *const window = malloc(INF_WINDOW);
    struct access_point p = {.out = 0};
    bool ok = window != NULL;
    ssize_t len;

    while (ok && next_wanted(r, b, &p, window + INF_WINDOW, &len)) {
        ok = len >= 0 && access_goes_on(watch);
        if (ok)
            access_builder_note(b, p.bit, p.out, window + INF_WINDOW, (size_t)len);
    }
    free(window);
    return ok;
}

bool access_export(struct access_reader *r, enum access_format format,
                   bool (*put)(void *ctx, const void *bytes, size_t len), void *ctx,
                   const struct access_watch *watch)
{
    struct access_source source = r->source;
    struct access_builder *b;
    uint64_t size;
    bool ok;

    source.watch = watch;
    errno = ENOMEM;
    b = access_builder_new(&source);
    ok = b != NULL;
    if (ok && !access_builder_is_bgzf(b))
        ok = note_first_block(&source, b) && note_points(r, b, watch);
    pthread_mutex_lock(&r->lock);
    size = r->size;
    pthread_mutex_unlock(&r->lock);
    errno = ok ? ENOMEM : errno;
    ok = ok && access_builder_write(b, format, r->source.size, size, put, ctx);
    access_builder_free(b);
    return ok;
}
