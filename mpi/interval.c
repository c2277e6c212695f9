/*
 * interval.c - decodes an interval of a .gz, from one mark to another (interval.h)
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "compat/crc.h"
#include "compat/gzip.h"
#include "inflate/steps.h"
#include "inflate/find.h"
#include "mpi/interval.h"

/* Bytes of input, and of output, that are decoded at a time.  As in compat/stream.h, larger buffers
 * do not fit into the second-level cache, and smaller buffers cost more system calls. */
#define IN_SIZE ((size_t)256 << 10)
#define OUT_SIZE ((size_t)256 << 10)

/* Bytes that are kept before the reading position: a mark, and the bytes by which a decoder may
 * step back. */
#define BACK ((size_t)32)

/* Bytes after the input and the output that a decoder may load or overwrite. */
#define SLACK ((size_t)64)

/* The longest header that is accepted, in bytes, with name and comment. */
#define HEADER_MAX ((size_t)4096)

/* No compressed segment has more bytes than this, because -b goes up to 32 MiB.  So if an interval
 * goes on this far after `to`, the file has no marks there. */
#define OVERRUN_MAX ((uint64_t)40 << 20)

_Static_assert(BACK >= INF_MARK_SIZE + 2 * INF_BACK, "what is kept is enough");
_Static_assert(IN_SIZE > INF_REST && IN_SIZE > HEADER_MAX, "what is left of the input fits");

struct interval_tools {
    struct inf_raw *raw;
    /* BACK + IN_SIZE + SLACK bytes. */
    uint8_t *in;
    /* INF_WINDOW + OUT_SIZE + SLACK bytes: the window comes first, then output. */
    uint8_t *out;
    /* Decodes from `in` to `out`.  b.in_base counts bytes of the file. */
    struct inf_buffers b;
};

struct interval_tools *interval_tools_new(void)
{
    struct interval_tools *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->raw = inf_open(false);
    t->in = malloc(BACK + IN_SIZE + SLACK);
    t->out = malloc(INF_WINDOW + OUT_SIZE + SLACK);
    if (t->raw != NULL && t->in != NULL && t->out != NULL)
        return t;
    interval_tools_free(t);
    return NULL;
}

void interval_tools_free(struct interval_tools *t)
{
    if (t == NULL)
        return;
    inf_close(t->raw);
    free(t->in);
    free(t->out);
    free(t);
}

/* --- Input ---------------------------------------------------------------------------------- */

/* The position in the file of the next byte to look at. */
static uint64_t position(const struct interval_tools *t)
{
    return t->b.in_base + t->b.at;
}

static void go_to(struct interval_tools *t, uint64_t position)
{
    t->b.in_base = position;
    t->b.at = t->b.in_len = 0;
}

/* Whether the buffer has all of the file from the position on. */
static bool has_rest(const struct interval_tools *t, const struct interval *p)
{
    return t->b.in_base + t->b.in_len >= p->size;
}

/* Reads the bytes around the position, from BACK bytes before it on.  Returns false if reading
 * fails.  Then p->error is an errno, or 0 if the file is shorter than it was. */
static bool read_around(struct interval_tools *t, struct interval *p)
{
    const uint64_t at = position(t);
    const size_t back = at < BACK ? (size_t)at : BACK;
    const uint64_t left = p->size > at ? p->size - at : 0;
    const size_t expected = back + (left < IN_SIZE ? (size_t)left : IN_SIZE);
    /* Near the start of the file, there are fewer than BACK bytes before the position.  Decoders
     * load the missing bytes, too, so they are set to 0. */
    const size_t missing = BACK - back;
    ssize_t n;

    go_to(t, at);
    memset(t->in, 0, missing);
    n = io_read_at(p->fd, t->in + missing, expected, at - back);
    if (n < 0 || (size_t)n < expected) {
        p->error = n < 0 ? errno : 0;
        return false;
    }
    t->b.in_base = at - BACK; /* may be below 0, modulo 2^64 */
    t->b.at = BACK;
    t->b.in_len = missing + (size_t)n;
    t->b.in_ends = has_rest(t, p);
    memset(t->in + t->b.in_len, 0, SLACK);
    return true;
}

/* Returns the bytes from the position on, and sets *len to their number: `least` or more, or as
 * many as the file still has.  If reading fails, returns NULL and sets p->error as read_around
 * does. */
static const uint8_t *look(struct interval_tools *t, struct interval *p, size_t least, size_t *len)
{
    const bool has_all = t->b.at >= INF_BACK && (t->b.in_len - t->b.at >= least || has_rest(t, p));

    if (!has_all && !read_around(t, p))
        return NULL;
    *len = t->b.in_len - t->b.at;
    return t->in + t->b.at;
}

/* The result if `look` has failed.  A file that is cut off is INTERVAL_ODD, as gunzip's own code
 * has the messages for it. */
static enum interval_result unreadable(const struct interval *p)
{
    return p->error != 0 ? INTERVAL_READ_ERROR : INTERVAL_ODD;
}

/* Returns the end of the first mark that ends in bytes [from, to) of the file, or `to` if no mark
 * ends there.  Returns UINT64_MAX if reading failed. */
static uint64_t find_mark(struct interval_tools *t, int fd, uint64_t from, uint64_t to)
{
    go_to(t, 0);
    for (uint64_t at = from < INF_MARK_SIZE ? INF_MARK_SIZE : from; at < to;) {
        /* Marks that end at `at` or later begin at `begin` or later. */
        const uint64_t begin = at - INF_MARK_SIZE;
        const uint64_t left = to - 1 - begin;
        const ssize_t n = io_read_at(fd, t->in, left < IN_SIZE ? (size_t)left : IN_SIZE, begin);
        size_t end;

        if (n < 0)
            return UINT64_MAX;
        if ((size_t)n < INF_MARK_SIZE)
            break;
        end = (size_t)n - INF_MARK_SIZE + 1;
        for (size_t i = 0; (i = inf_find_hint(t->in, i, end)) < end; i += INF_HINT_SIZE)
            for (size_t k = i; k < i + INF_HINT_SIZE && k < end; k++)
                if (inf_is_mark(t->in + k))
                    return begin + k + INF_MARK_SIZE;
        at = begin + (uint64_t)n + 1;
    }
    return to;
}

bool interval_has_mark(struct interval_tools *t, int fd, uint64_t from, uint64_t to)
{
    return find_mark(t, fd, from, to) < to;
}

/* --- Headers -------------------------------------------------------------------------------- */

/* Returns the size in bytes of the gzip header with which in[0..len) begins.  Returns 0 if the
 * header is wrong, or if it has an extra field or a CRC, for which gunzip's own code has
 * messages. */
static size_t header_size(const uint8_t *in, size_t len)
{
    if (len < GZ_HEADER_SIZE || (in[GZ_FLAGS_AT] & (GZ_FLAG_EXTRA | GZ_FLAG_HEADER_CRC)) != 0)
        return 0;
    return gz_member_header(in, len);
}

/* --- Decoding ------------------------------------------------------------------------------- */

static uint32_t get_u32(const uint8_t *in)
{
    return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* The CRC and the number of those bytes of the current member that were decoded in this
 * interval. */
struct member {
    uint32_t crc;
    uint64_t len;
};

/* Hands over the output of the last step, and makes room for more. */
static bool put_output(struct interval_tools *t, struct interval *p, struct member *m)
{
    const size_t made = t->b.made;
    const uint8_t *bytes = t->b.out + t->b.out_len - made;

    m->crc = gz_crc32(m->crc, bytes, made);
    m->len += made;
    p->out += made;
    if (made > 0 && p->take != NULL && !p->take(p->ctx, bytes, made)) {
        p->error = errno;
        return false;
    }
    if (t->b.out_len == OUT_SIZE)
        inf_slide(&t->b);
    return true;
}

/* Reads a trailer, and the header of the next member.  *ends becomes true if the file ends after
 * the trailer, else false. */
static enum interval_result next_member(struct interval_tools *t, struct interval *p,
                                        struct member *m, bool *ends)
{
    size_t len, header;
    const uint8_t *in = look(t, p, GZ_TRAILER_SIZE + HEADER_MAX, &len);

    if (in == NULL)
        return unreadable(p);
    if (len < GZ_TRAILER_SIZE)
        return INTERVAL_ODD;
    if (p->ends == 0) {
        p->head_crc = m->crc;
        p->head_len = m->len;
        p->stored_crc = get_u32(in);
        p->stored_len = get_u32(in + 4);
    } else if (get_u32(in) != m->crc || get_u32(in + 4) != (uint32_t)m->len) {
        return INTERVAL_ODD;
    } else {
        p->last_len = m->len;
    }
    p->ends++;
    *m = (struct member){0};
    inf_reset(t->raw);
    t->b.window = 0;
    *ends = position(t) + GZ_TRAILER_SIZE == p->size;
    header = *ends ? 0 : header_size(in + GZ_TRAILER_SIZE, len - GZ_TRAILER_SIZE);
    if (!*ends && header == 0)
        return INTERVAL_ODD;
    t->b.at += GZ_TRAILER_SIZE + header;
    return INTERVAL_GOOD;
}

/* Whether the interval ends at bit `bit` of the file, where a block starts. */
static bool ends_at(const struct interval_tools *t, const struct interval *p, uint64_t bit)
{
    const uint64_t at = bit / 8;

    return bit % 8 == 0 && at >= p->to && at > p->start &&
           inf_is_mark(t->in + (at - t->b.in_base) - INF_MARK_SIZE);
}

/* Decodes from p->start to the interval's end. */
static enum interval_result decode(struct interval_tools *t, struct interval *p, struct member *m)
{
    bool ends = false;

    if (!read_around(t, p))
        return unreadable(p);
    while (!ends) {
        const enum inf_step step = inf_step(&t->b);
        enum interval_result next;

        if (!put_output(t, p, m))
            return INTERVAL_WRITE_ERROR;
        switch (step) {
        case INF_STEP_BLOCK:
            if (ends_at(t, p, t->b.bit)) {
                go_to(t, t->b.bit / 8);
                return INTERVAL_GOOD;
            }
            break;
        case INF_STEP_END:
            next = next_member(t, p, m, &ends);
            if (next != INTERVAL_GOOD)
                return next;
            break;
        case INF_STEP_INPUT:
            if (!read_around(t, p))
                return unreadable(p);
            break;
        case INF_STEP_FULL:
            break;
        case INF_STEP_CUT_OFF:
        case INF_STEP_BAD:
            return INTERVAL_ODD;
        case INF_STEP_NO_MEMORY:
            return INTERVAL_NO_MEMORY;
        }
        if (!ends && position(t) > p->to + OVERRUN_MAX)
            return INTERVAL_ODD;
    }
    return INTERVAL_GOOD;
}

enum interval_result interval_decode(struct interval_tools *t, struct interval *p)
{
    struct member m = {0};
    enum interval_result result;

    if (!p->was_decoded)
        p->start = p->begins_at_from ? p->from : find_mark(t, p->fd, p->from, p->to);
    if (p->start == UINT64_MAX) {
        p->error = errno;
        return INTERVAL_READ_ERROR;
    }
    if (p->start >= p->to)
        return INTERVAL_NONE;
    p->out = p->ends = p->last_len = 0;
    t->b = (struct inf_buffers){.raw = t->raw,
                                .in = t->in,
                                .out = t->out + INF_WINDOW,
                                .out_size = OUT_SIZE,
                                .stops = true};
    go_to(t, p->start);
    if (!inf_begin(&t->b, 0))
        return INTERVAL_NO_MEMORY;
    result = decode(t, p, &m);
    p->end = position(t);
    if (p->ends == 0) {
        p->head_crc = m.crc;
        p->head_len = m.len;
        p->tail_crc = 0;
        p->tail_len = 0;
    } else {
        p->tail_crc = m.crc;
        p->tail_len = m.len;
    }
    return result;
}
