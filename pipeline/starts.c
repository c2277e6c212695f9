/*
 * starts.c - where what is decoded ahead may start (expand.h)
 */
#include "config.h"

#include <string.h>

#include "inflate/blockheader.h"
#include "inflate/find.h"
#include "pipeline/expansion.h"

/* How much of the next input is looked at together with what may be a start. */
#define SCAN_AFTER ((size_t)1 << 10)

size_t member_header(const uint8_t *in, size_t len)
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

bool find_start(const struct expansion *e, struct expand_tools *t, struct stretch *k,
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
            any = inf_find_dynamic(&e->p->finder, t->scan, len, 8 * before, 8 * (uint64_t)end);
            if (any != INF_NOWHERE)
                any += 8 * offset;
        }
    }
    k->kind = ANYWHERE;
    k->start = sync != INF_NOWHERE ? sync : any;
    return k->start != INF_NOWHERE;
}
