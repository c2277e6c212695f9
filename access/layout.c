/*
 * layout.c - where a file's members or segments start, without decoding it (layout.h)
 */
#include "config.h"

#include <stdlib.h>

#include "access/cursor.h"
#include "access/layout.h"
#include "base/bgzf.h"
#include "base/bytes.h"
#include "inflate/find.h"

/* --- BGZF ----------------------------------------------------------------------------------- */

/* BGZF_SIZED is the number of bytes of a header up to the end of the member's size.
 * BGZF_MEMBER_MIN is the number of bytes of the shortest member: a header of BGZF_SIZED bytes, an
 * empty block of two bytes, and a trailer. */
#define BGZF_SIZED (BGZF_START + 2)
#define BGZF_MEMBER_MIN (BGZF_SIZED + 2 + GZ_TRAILER_SIZE)

enum access_layout access_bgzf_walk(const struct access_source *file,
                                    bool (*found)(void *ctx, uint64_t at, uint64_t out), void *ctx,
                                    uint64_t *size)
{
    /* The last four bytes of a member's trailer, which are the length of its data; and the next
     * member's header. */
    uint8_t bytes[4 + BGZF_SIZED] = {0};
    uint64_t at = 0, next = 0;

    *size = 0;
    if (access_source_read(file, bytes + 4, BGZF_SIZED, 0) < 0)
        return ACCESS_LAYOUT_READ_ERROR;
    for (; at < file->size; at = next) {
        const unsigned len = bytes[4 + BGZF_START] + 256u * bytes[4 + BGZF_START + 1] + 1;
        ssize_t n;

        if (!bgzf_starts(bytes + 4) || len < BGZF_MEMBER_MIN || len > file->size - at)
            return ACCESS_LAYOUT_NONE;
        next = at + len;
        n = access_source_read(file, bytes, sizeof(bytes), next - 4);
        if (n < 4)
            return n < 0 ? ACCESS_LAYOUT_READ_ERROR : ACCESS_LAYOUT_NONE;
        if ((at == 0 || load32(bytes) > 0) && !found(ctx, at, *size))
            return ACCESS_LAYOUT_NO_MEMORY;
        *size += load32(bytes);
    }
    return at > 0 ? ACCESS_LAYOUT_FOUND : ACCESS_LAYOUT_NONE;
}

/* Members that become points. */
struct members {
    struct access_points *points;
    uint64_t apart;
    uint64_t from; /* the next point is at this byte of output or after it */
};

static bool note_member(void *ctx, uint64_t at, uint64_t out)
{
    struct members *m = ctx;
    const struct access_point p = {.bit = 8 * at,
                                   .out = out,
                                   .line = at == 0 ? 0 : ACCESS_NO_LINE,
                                   .is_header = true,
                                   .is_hint = at > 0};

    if (out < m->from)
        return true;
    m->from = out + m->apart;
    return access_points_add(m->points, &p);
}

enum access_layout access_bgzf_list(const struct access_source *file, uint64_t apart,
                                    struct access_points *points, uint64_t *size)
{
    struct members m = {.points = points, .apart = apart};

    return access_bgzf_walk(file, note_member, &m, size);
}

/* --- Marks ---------------------------------------------------------------------------------- */

/* The number that four bytes of memory give when loaded as a uint32_t. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BYTES(a, b, c, d) \
    ((uint32_t)(d) | (uint32_t)(c) << 8 | (uint32_t)(b) << 16 | (uint32_t)(a) << 24)
#else
#define BYTES(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#endif

/* Bytes of one read.  The bytes of a larger read leave the second-level cache before they are
 * searched. */
#define SCAN_SIZE ((size_t)256 << 10)

/* If the first FIRST_MARK_MAX bytes of the file have no mark, the file is taken to have no marks at
 * all, because compressed segments of 2 or 4 MiB are not that long. */
#define FIRST_MARK_MAX ((uint64_t)5 << 20)

/* The most bytes at the end of the file in which access_marks_tail looks for marks. */
#define TAIL_MAX ((uint64_t)64 << 20)

/* access_marks_tail takes a file to have no marks in two cases: it finds more than TAIL_MARKS_MAX
 * marks, or a segment between two marks has fewer than TAIL_SEGMENT_MIN bytes of output.
 * Decoding a segment takes 5 us even if it is empty, so a file that is full of marks would take a
 * minute. */
#define TAIL_MARKS_MAX ((uint64_t)1 << 20)
#define TAIL_SEGMENT_MIN 1024

/* Bytes that find_block examines together. */
#define BLOCK ((size_t)128)

/* Returns the first place in in[from..to] where a block of BLOCK bytes begins that may hold the
 * start of a mark; `to` if there is none.  in[0..to + INF_MARK_SIZE) is readable.
 *
 * The loop compares words of four bytes, every fourth byte from byte 3 of the block on.  Wherever a
 * mark starts, its first seven bytes contain one of these words whole.  That word has one of four
 * values. */
static size_t find_block(const uint8_t *in, size_t from, size_t to)
{
    enum { WORDS = BLOCK / 4 };

    for (; from + BLOCK <= to; from += BLOCK) {
        uint32_t words[WORDS], any = 0;

        memcpy(words, in + from + 3, sizeof(words));
        for (size_t i = 0; i < WORDS; i++) {
            const uint32_t word = words[i];

            any |= (uint32_t)(word == BYTES(0x00, 0x00, 0xff, 0xff)) |
                   (uint32_t)(word == BYTES(0x00, 0xff, 0xff, 0x00)) |
                   (uint32_t)(word == BYTES(0xff, 0xff, 0x00, 0x00)) |
                   (uint32_t)(word == BYTES(0xff, 0x00, 0x00, 0x00));
        }
        if (any != 0)
            return from;
    }
    return from < to ? from : to;
}

/* Calls `found` with the end of each mark that ends in bytes [from, to) of the file, until `found`
 * returns false.  `buffer` has room for SCAN_SIZE bytes.  Returns false if reading fails. */
static bool scan(const struct access_source *file, uint8_t *buffer, uint64_t from, uint64_t to,
                 bool (*found)(void *ctx, uint64_t end), void *ctx)
{
    uint64_t begin = from < INF_MARK_SIZE ? 0 : from - INF_MARK_SIZE;

    while (begin + INF_MARK_SIZE < to) {
        const uint64_t left = to - 1 - begin;
        const ssize_t n =
            access_source_read(file, buffer, left < SCAN_SIZE ? (size_t)left : SCAN_SIZE, begin);
        size_t last;

        if (n < 0)
            return false;
        if ((size_t)n < INF_MARK_SIZE)
            return true;
        last = (size_t)n - INF_MARK_SIZE + 1;
        for (size_t i = 0; (i = find_block(buffer, i, last)) < last; i += BLOCK)
            for (size_t k = i; k < i + BLOCK && k < last; k++)
                if (inf_is_mark(buffer + k) && !found(ctx, begin + k + INF_MARK_SIZE))
                    return true;
        begin += last;
    }
    return true;
}

/* The state of a search for marks. */
struct marks {
    const struct access_source *file;
    uint8_t *buffer; /* of SCAN_SIZE bytes */
    struct access_cursor *cursor;
    struct access_points *points;
    uint64_t *ends; /* ends[0..count): the ends of marks, in access_marks_tail */
    size_t room;
    uint64_t count;       /* marks found */
    uint64_t first, last; /* the ends of the first and of the last mark */
    uint64_t segment;     /* bytes of output of each segment */
    bool is_short;        /* memory is short */
    bool is_odd;          /* the marks are not those between segments */
};

static bool open_marks(struct marks *m, const struct access_source *file)
{
    *m = (struct marks){.file = file};
    m->buffer = malloc(SCAN_SIZE);
    m->cursor = access_cursor_new(file);
    return m->buffer != NULL && m->cursor != NULL;
}

static void close_marks(struct marks *m)
{
    free(m->buffer);
    free(m->ends);
    access_cursor_free(m->cursor);
}

/* Decodes a segment that should start at the point `from` and end at bit `to`, where a mark ends.
 * If `to` is UINT64_MAX, the segment should end with a trailer at the end of the file.  Sets *len
 * to the segment's bytes of output.  Returns false if the segment does not end where it should. */
static bool measure(struct marks *m, struct access_point from, uint64_t to, uint64_t *len)
{
    struct access_cursor *c = m->cursor;

    from.out = 0;
    if (!access_cursor_begin(c, &from, NULL, 0))
        return false;
    c->stop_at = to;
    while (access_cursor_step(c) == GZ_OK && !c->has_ended) {
        *len = c->out;
        if (c->is_at_header)
            return c->bit == 8 * m->file->size && to == UINT64_MAX;
        if (c->is_at_place && c->bit >= to)
            return c->bit == to;
    }
    return false;
}

static bool note_first(void *ctx, uint64_t end)
{
    struct marks *m = ctx;

    m->first = end;
    return false;
}

static bool note_point(void *ctx, uint64_t end)
{
    struct marks *m = ctx;
    const struct access_point p = {
        .bit = 8 * end, .out = ++m->count * m->segment, .line = ACCESS_NO_LINE, .is_hint = true};

    m->last = end;
    m->is_short = !access_points_add(m->points, &p);
    return !m->is_short;
}

/* Finds the first mark, and decodes the segment before it. */
static enum access_layout first_segment(struct marks *m)
{
    const uint64_t to = m->file->size < FIRST_MARK_MAX ? m->file->size : FIRST_MARK_MAX;

    if (!scan(m->file, m->buffer, 0, to, note_first, m))
        return ACCESS_LAYOUT_READ_ERROR;
    if (m->first == 0 || !measure(m, access_start(), 8 * m->first, &m->segment) ||
        m->segment == 0 || m->segment % 1024 != 0)
        return ACCESS_LAYOUT_NONE;
    return ACCESS_LAYOUT_FOUND;
}

/* Makes a point of each mark.  Checks that the number of marks agrees with the length of the data
 * and with the length of the last segment. */
static enum access_layout all_segments(struct marks *m, uint64_t *size)
{
    const struct access_point start = access_start();
    uint8_t stored[4];
    uint64_t before, left, len;

    if (!access_points_add(m->points, &start))
        return ACCESS_LAYOUT_NO_MEMORY;
    if (!scan(m->file, m->buffer, m->first, m->file->size, note_point, m) ||
        access_source_read(m->file, stored, sizeof(stored), m->file->size - sizeof(stored)) < 0)
        return ACCESS_LAYOUT_READ_ERROR;
    if (m->is_short)
        return ACCESS_LAYOUT_NO_MEMORY;
    before = m->count * m->segment;
    left = (uint32_t)(load32(stored) - (uint32_t)before);
    if (left == 0 || left > m->segment ||
        !measure(m, (struct access_point){.bit = 8 * m->last, .is_hint = true}, UINT64_MAX, &len) ||
        len != left)
        return ACCESS_LAYOUT_NONE;
    *size = before + left;
    return ACCESS_LAYOUT_FOUND;
}

enum access_layout access_marks_list(const struct access_source *file, struct access_points *points,
                                     uint64_t *size)
{
    enum access_layout result = ACCESS_LAYOUT_NO_MEMORY;
    struct marks m;

    if (open_marks(&m, file)) {
        m.points = points;
        result = first_segment(&m);
        if (result == ACCESS_LAYOUT_FOUND)
            result = all_segments(&m, size);
    }
    close_marks(&m);
    if (result != ACCESS_LAYOUT_FOUND)
        access_points_clear(points);
    return result;
}

static bool note_end(void *ctx, uint64_t end)
{
    struct marks *m = ctx;

    m->is_odd = m->count == TAIL_MARKS_MAX;
    if (m->is_odd)
        return false;
    if (m->count == m->room) {
        const size_t room = m->room > 0 ? 2 * m->room : 64;
        uint64_t *const ends = realloc(m->ends, room * sizeof(*ends));

        m->is_short = ends == NULL;
        if (ends == NULL)
            return false;
        m->ends = ends;
        m->room = room;
    }
    m->ends[m->count++] = end;
    return true;
}

/* Decodes the segments after the marks in m->ends, from the last segment back, until they have
 * `want` bytes of output. */
static enum access_layout collect(struct marks *m, uint64_t want, uint64_t *bit, uint64_t *len)
{
    uint64_t to = UINT64_MAX, one;

    for (*len = 0; m->count > 0; m->count--) {
        const struct access_point from = {.bit = 8 * m->ends[m->count - 1], .is_hint = true};

        m->is_odd = !measure(m, from, to, &one) || (to != UINT64_MAX && one < TAIL_SEGMENT_MIN);
        if (m->is_odd)
            return ACCESS_LAYOUT_NONE;
        *bit = to = from.bit;
        *len += one;
        if (*len >= want)
            return ACCESS_LAYOUT_FOUND;
    }
    return ACCESS_LAYOUT_NONE;
}

enum access_layout access_marks_tail(const struct access_source *file, uint64_t want, uint64_t *bit,
                                     uint64_t *len)
{
    enum access_layout result = ACCESS_LAYOUT_NO_MEMORY;
    struct marks m;

    if (open_marks(&m, file)) {
        result = ACCESS_LAYOUT_NONE;
        for (uint64_t back = FIRST_MARK_MAX; result == ACCESS_LAYOUT_NONE; back *= 2) {
            const uint64_t most = back < TAIL_MAX ? back : TAIL_MAX;
            const uint64_t from = most < file->size ? file->size - most : 0;

            m.count = 0;
            if (!scan(file, m.buffer, from, file->size, note_end, &m))
                result = ACCESS_LAYOUT_READ_ERROR;
            else if (m.is_short)
                result = ACCESS_LAYOUT_NO_MEMORY;
            else if (!m.is_odd)
                result = collect(&m, want, bit, len);
            if (m.is_odd || m.ends == NULL || from == 0 || back >= TAIL_MAX)
                break;
        }
    }
    close_marks(&m);
    return result;
}
