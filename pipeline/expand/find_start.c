/*
 * find_start.c - where what is decoded ahead may start (api.h)
 */
#include "config.h"

#include <stdatomic.h>
#include <string.h>

#include "compat/gzip.h"
#include "inflate/find.h"
#include "pipeline/expand/expansion.h"

/* How much of the next input is looked at together with what may be a start. */
#define SCAN_AFTER ((size_t)1 << 10)

/* A header is looked for in so much input at a time. */
#define SEARCH_STEP ((size_t)16 << 10)

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
                const size_t header = gz_member_header(in + i, len - i);

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

/* The first bit of in[from..to) where the header of a dynamic block starts, or INF_NOWHERE; in has `len`
 * bytes.  Ends if too much was looked at in vain; *looked grows by what was. */
static uint64_t search(struct expansion *e, const uint8_t *in, size_t from, size_t to, size_t len,
                       uint64_t *looked)
{
    uint64_t place = INF_NOWHERE;

    for (size_t at = from, n; at < to && place == INF_NOWHERE; at += n) {
        n = to - at < SEARCH_STEP ? to - at : SEARCH_STEP;
        if (atomic_load(&e->searched) >= atomic_load(&e->search_max))
            break;
        *looked += n;
        place = inf_find_dynamic(e->p->expanding->finder, in, len, 8 * (uint64_t)at,
                                 8 * (uint64_t)(at + n));
    }
    return place;
}

bool find_start(struct expansion *e, struct expand_tools *t, struct stretch *k, bool marks_only)
{
    const size_t before = k->from < INF_MARK_SIZE ? (size_t)k->from : INF_MARK_SIZE;
    uint64_t any = INF_NOWHERE, sync = INF_NOWHERE, looked = 0;

    for (uint64_t from = k->from, n; from < k->to; from += n) {
        const uint64_t offset = from - before;
        size_t len, end;
        struct finds f;

        /* scan[before..end) is what is looked at. */
        n = k->to - from < SCAN_SIZE - before - SCAN_AFTER ? k->to - from
                                                           : SCAN_SIZE - before - SCAN_AFTER;
        len = input_read_at(e->input, offset, t->scan, before + (size_t)n + SCAN_AFTER);
        end = before + (size_t)n < len ? before + (size_t)n : len;
        if (len <= before)
            break;
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
            any = search(e, t->scan, before, end, len, &looked);
            if (any != INF_NOWHERE)
                any += 8 * offset;
        }
    }
    if (any == INF_NOWHERE && sync == INF_NOWHERE)
        atomic_fetch_add(&e->searched, looked);
    k->kind = ANYWHERE;
    k->start = sync != INF_NOWHERE ? sync : any;
    return k->start != INF_NOWHERE;
}
