/*
 * find_start.c - where a region may start (find_start.h)
 *
 * Marks and members come first, because a worker that starts there decodes bytes at once.  An empty
 * stored block, which zlib writes for a flush, is nearly as certain a start.  So is a stored block
 * after another one, which is found and decoded very fast.  To find the header of a dynamic block,
 * inf_find_dynamic tries every bit (inflate/find.h).  That takes about as long as decoding the same
 * bytes.
 */
#include "config.h"

#include <stdatomic.h>
#include <string.h>

#include "compat/gzip.h"
#include "inflate/find.h"
#include "pipeline/expand/find_start.h"

/* Bytes that are read after the scanned bytes, so that a header that begins in the scanned bytes is
 * in memory as a whole. */
#define SCAN_AFTER ((size_t)1 << 10)

/* Bytes that are searched for a block's header between two looks at search_max. */
#define SEARCH_STEP ((size_t)16 << 10)

/* Places that were found in memory, as indices of bytes.  SIZE_MAX: none. */
struct finds {
    size_t mark;   /* end of a mark */
    size_t member; /* end of a member's header */
    size_t sync;   /* end of an empty stored block; only used if there is no mark and no member */
};

/* Looks for a mark, a member header or an empty stored block in in[from..to), and stops at the
 * first mark or member header.  `in` has `len` bytes.  A mark or an empty block may begin before
 * `from` if it ends at or after `from`. */
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

/* Returns the bit of in[from..to) where a stored block starts after another one, or INF_NOWHERE.
 * `in` has `len` bytes. */
static uint64_t find_stored(const uint8_t *in, size_t from, size_t to, size_t len)
{
    const size_t place = inf_find_stored(in, len, from, to);

    return place == SIZE_MAX ? INF_NOWHERE : 8 * (uint64_t)place;
}

/* Returns the first bit of in[from..to) where the header of a dynamic block starts, or
 * INF_NOWHERE.  `in` has `len` bytes.  Stops early once *s->searched has reached *s->search_max.
 * Adds the number of bytes searched to *looked. */
static uint64_t find_header(const struct start_search *s, const uint8_t *in, size_t from, size_t to,
                            size_t len, uint64_t *looked)
{
    uint64_t place = INF_NOWHERE;

    for (size_t at = from, n; at < to && place == INF_NOWHERE; at += n) {
        n = to - at < SEARCH_STEP ? to - at : SEARCH_STEP;
        if (atomic_load(s->searched) >= atomic_load(s->search_max))
            break;
        *looked += n;
        place = inf_find_dynamic(s->finder, in, len, 8 * (uint64_t)at, 8 * (uint64_t)(at + n));
    }
    return place;
}

bool find_start(const struct start_search *s, struct expand_tools *t, uint64_t from, uint64_t to,
                enum start_kind *kind, uint64_t *start)
{
    const size_t before = from < INF_MARK_SIZE ? (size_t)from : INF_MARK_SIZE;
    const size_t scan_max = SCAN_SIZE - before - SCAN_AFTER;
    uint64_t header = INF_NOWHERE, sync = INF_NOWHERE, looked = 0;

    for (uint64_t n; from < to; from += n) {
        const uint64_t offset = from - before;
        size_t len, end;
        struct finds f;

        /* Look for a start in scan[before..end). */
        n = to - from < scan_max ? to - from : scan_max;
        len = input_read_at(s->input, offset, t->scan, before + (size_t)n + SCAN_AFTER);
        end = before + (size_t)n < len ? before + (size_t)n : len;
        if (len <= before)
            break;
        memset(t->scan + len, 0, VIEW_PAD);
        find_hints(t->scan, before, end, len, &f);
        if (f.mark != SIZE_MAX || f.member != SIZE_MAX) {
            *kind = f.mark != SIZE_MAX ? START_AT_MARK : START_AT_MEMBER;
            *start = 8 * (offset + (f.mark != SIZE_MAX ? f.mark : f.member));
            return true;
        }
        if (s->marks_only)
            continue;
        if (sync == INF_NOWHERE && f.sync != SIZE_MAX)
            sync = 8 * (offset + f.sync);
        if (header == INF_NOWHERE && sync == INF_NOWHERE) {
            header = find_stored(t->scan, before, end, len);
            if (header == INF_NOWHERE)
                header = find_header(s, t->scan, before, end, len, &looked);
            if (header != INF_NOWHERE)
                header += 8 * offset;
        }
    }
    if (header == INF_NOWHERE && sync == INF_NOWHERE)
        atomic_fetch_add(s->searched, looked);
    *kind = START_IN_DATA;
    *start = sync != INF_NOWHERE ? sync : header;
    return *start != INF_NOWHERE;
}
