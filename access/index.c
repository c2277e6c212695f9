/*
 * index.c - index files (index.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "access/index.h"
#include "access/window.h"
#include "inflate/raw.h"

/* --- Numbers -------------------------------------------------------------------------------- */

static uint64_t get(const uint8_t *bytes, size_t len, bool is_big)
{
    uint64_t value = 0;

    for (size_t i = 0; i < len; i++)
        value = value << 8 | bytes[is_big ? i : len - 1 - i];
    return value;
}

static void set(uint8_t *bytes, size_t len, bool is_big, uint64_t value)
{
    for (size_t i = 0; i < len; i++) {
        bytes[is_big ? len - 1 - i : i] = (uint8_t)value;
        value >>= 8;
    }
}

/* --- Reading -------------------------------------------------------------------------------- */

/* An index that is being read. */
struct reading {
    const struct access_source *source;
    uint64_t file_size;
    struct access_points *points;
    uint64_t at; /* the next byte of the index */
    bool is_big; /* numbers are big-endian */
    enum access_index_status status;
    /* The next bytes: buffer[buffer_from..buffer_to) are those from `at` on. */
    uint8_t buffer[2048];
    size_t buffer_from, buffer_to;
};

/* Returns the next `len` bytes, 64 at most, and moves r to the bytes after them.  Returns NULL if
 * the index has fewer bytes, or after an error. */
static const uint8_t *next(struct reading *r, size_t len)
{
    const uint8_t *bytes;

    if (r->buffer_to - r->buffer_from < len) {
        const ssize_t n = access_source_read(r->source, r->buffer, sizeof(r->buffer), r->at);

        if (n < (ssize_t)len && r->status == ACCESS_INDEX_OK)
            r->status = n < 0 ? ACCESS_INDEX_READ_ERROR : ACCESS_INDEX_DAMAGED;
        r->buffer_from = 0;
        r->buffer_to = n > 0 ? (size_t)n : 0;
    }
    if (r->status != ACCESS_INDEX_OK)
        return NULL;
    bytes = r->buffer + r->buffer_from;
    r->buffer_from += len;
    r->at += len;
    return bytes;
}

static uint64_t next_number(struct reading *r, size_t len)
{
    const uint8_t *bytes = next(r, len);

    return bytes != NULL ? get(bytes, len, r->is_big) : 0;
}

static void skip(struct reading *r, uint64_t len)
{
    if (len <= r->buffer_to - r->buffer_from)
        r->buffer_from += (size_t)len;
    else
        r->buffer_from = r->buffer_to = 0;
    r->at += len;
}

static void fail(struct reading *r, enum access_index_status status)
{
    if (r->status == ACCESS_INDEX_OK)
        r->status = status;
}

/* Adds a point.  Byte `byte` of the file is the first whole byte of the point's data.  The highest
 * `bits` bits of the previous byte belong to the data, too. */
static void add(struct reading *r, struct access_point *p, uint64_t byte, uint64_t bits)
{
    const struct access_points *points = r->points;
    const struct access_point *last = points->count > 0 ? &points->list[points->count - 1] : NULL;

    if (r->status != ACCESS_INDEX_OK)
        return;
    if (byte > r->file_size) {
        fail(r, ACCESS_INDEX_OTHER);
        return;
    }
    p->bit = 8 * byte - bits;
    p->is_hint = p->bit > 0;
    if (bits > 7 || (bits > 0 && byte == 0) || p->stored > 2 * INF_WINDOW ||
        (last != NULL && (p->out < last->out || p->bit <= last->bit)))
        fail(r, ACCESS_INDEX_DAMAGED);
    /* indexed_gzip writes a last point at the end of the file, from which nothing is decoded. */
    else if (byte < r->file_size && !access_points_add(r->points, p))
        fail(r, ACCESS_INDEX_NO_MEMORY);
}

/* Whether an index of bgzip with `count` members has `size` bytes. */
static bool is_bgzip_size(uint64_t count, uint64_t size)
{
    return size >= 8 && (size - 8) % 16 == 0 && count == (size - 8) / 16;
}

static void read_bgzip(struct reading *r)
{
    const uint64_t count = next_number(r, 8);

    if (!is_bgzip_size(count, r->source->size)) {
        fail(r, ACCESS_INDEX_UNKNOWN);
        return;
    }
    for (uint64_t i = 0; i < count && r->status == ACCESS_INDEX_OK; i++) {
        struct access_point p = {.is_header = true, .line = ACCESS_NO_LINE};
        const uint64_t byte = next_number(r, 8);

        p.out = next_number(r, 8);
        add(r, &p, byte, 0);
    }
}

/* gztool's magic numbers, for indexes without and with lines.  Eight zeros precede them. */
#define GZTOOL_MAGIC "gzipindx"
#define GZTOOL_MAGIC_LINES "gzipindX"

static void read_gztool(struct reading *r, struct access_index *index, bool has_lines)
{
    uint64_t count;

    r->is_big = true;
    skip(r, 16);
    if (has_lines)
        next_number(r, 4);
    count = next_number(r, 8);
    if (next_number(r, 8) != count)
        fail(r, ACCESS_INDEX_DAMAGED); /* gztool has not finished the index */
    for (uint64_t i = 0; i < count && r->status == ACCESS_INDEX_OK; i++) {
        struct access_point p = {.line = ACCESS_NO_LINE, .out = next_number(r, 8)};
        const uint64_t byte = next_number(r, 8), bits = next_number(r, 4);

        p.stored = (uint32_t)next_number(r, 4);
        p.form = p.stored > 0 ? ACCESS_PACKED : ACCESS_NO_WINDOW;
        p.at = r->at;
        skip(r, p.stored);
        if (has_lines)
            p.line = next_number(r, 8) - 1;
        add(r, &p, byte, bits);
    }
    index->size = next_number(r, 8);
    if (has_lines)
        index->lines = next_number(r, 8);
    if (r->at != r->source->size)
        fail(r, ACCESS_INDEX_DAMAGED);
}

#define INDEXED_GZIP_MAGIC "GZIDX"

static void read_indexed_gzip(struct reading *r, struct access_index *index)
{
    uint64_t version, spacing, window, count, windows;

    skip(r, 5);
    version = next_number(r, 1);
    if (next_number(r, 1) != 0 || version > 1)
        fail(r, ACCESS_INDEX_UNKNOWN);
    index->file_size = next_number(r, 8);
    index->size = next_number(r, 8);
    spacing = next_number(r, 4);
    window = next_number(r, 4);
    count = next_number(r, 4);
    (void)spacing;
    if (index->file_size != r->file_size)
        fail(r, ACCESS_INDEX_OTHER);
    if (window != INF_WINDOW)
        fail(r, ACCESS_INDEX_UNKNOWN);
    windows = r->at + count * (version > 0 ? 18 : 17);
    for (uint64_t i = 0; i < count && r->status == ACCESS_INDEX_OK; i++) {
        struct access_point p = {.line = ACCESS_NO_LINE, .at = windows};
        const uint64_t byte = next_number(r, 8);
        uint64_t bits;

        p.out = next_number(r, 8);
        bits = next_number(r, 1);
        if (version > 0 ? next_number(r, 1) != 0 : i > 0) {
            p.form = ACCESS_RAW;
            p.stored = INF_WINDOW;
            windows += INF_WINDOW;
        }
        add(r, &p, byte, bits);
    }
    if (windows != r->source->size)
        fail(r, ACCESS_INDEX_DAMAGED);
}

/* Bytes at the start of an index that tell its format. */
#define MAGIC_SIZE 16

/* Returns the format of an index that begins with the bytes magic[0..MAGIC_SIZE).  ACCESS_BGZIP
 * means that it is none of the others. */
static enum access_format format_of(const uint8_t *magic)
{
    static const uint8_t zeros[8];

    if (memcmp(magic, INDEXED_GZIP_MAGIC, 5) == 0)
        return ACCESS_INDEXED_GZIP;
    if (memcmp(magic, zeros, 8) == 0 && memcmp(magic + 8, GZTOOL_MAGIC, 7) == 0 &&
        (magic[15] == 'x' || magic[15] == 'X'))
        return ACCESS_GZTOOL;
    return ACCESS_BGZIP;
}

bool access_index_begins(const struct access_source *source)
{
    uint8_t magic[MAGIC_SIZE] = {0};

    return access_source_read(source, magic, sizeof(magic), 0) >= 8 &&
           (format_of(magic) != ACCESS_BGZIP || is_bgzip_size(get(magic, 8, false), source->size));
}

enum access_index_status access_index_read(const struct access_source *source, uint64_t file_size,
                                           struct access_points *points, struct access_index *index)
{
    const struct access_point start = {.is_header = true};
    struct reading r = {.source = source, .file_size = file_size, .points = points};
    uint8_t magic[MAGIC_SIZE] = {0};

    *index = (struct access_index){.format = ACCESS_BGZIP,
                                   .file_size = UINT64_MAX,
                                   .size = UINT64_MAX,
                                   .lines = ACCESS_NO_LINE};
    if (access_source_read(source, magic, sizeof(magic), 0) < 0)
        return ACCESS_INDEX_READ_ERROR;
    if (source->size < 8)
        return ACCESS_INDEX_UNKNOWN;
    if (!access_points_add(points, &start))
        return ACCESS_INDEX_NO_MEMORY;
    index->format = format_of(magic);
    if (index->format == ACCESS_INDEXED_GZIP)
        read_indexed_gzip(&r, index);
    else if (index->format == ACCESS_GZTOOL)
        read_gztool(&r, index, magic[15] == 'X');
    else
        read_bgzip(&r);
    if (r.status == ACCESS_INDEX_OK && points->count > 0 && index->size != UINT64_MAX &&
        points->list[points->count - 1].out > index->size)
        r.status = ACCESS_INDEX_DAMAGED;
    if (r.status != ACCESS_INDEX_OK)
        access_points_clear(points);
    return r.status;
}

/* --- Writing -------------------------------------------------------------------------------- */

/* An index that is being written. */
struct writing {
    const struct access_points *points;
    const struct access_source *source;
    const struct access_index *index;
    bool (*put)(void *ctx, const void *bytes, size_t len);
    void *ctx;
};

static bool put_number(const struct writing *w, size_t len, bool is_big, uint64_t value)
{
    uint8_t bytes[8];

    set(bytes, len, is_big, value);
    return w->put(w->ctx, bytes, len);
}

/* whole_byte returns the first whole byte of a point's data.  bits_before returns how many bits of
 * the previous byte belong to the data, too. */
static uint64_t whole_byte(const struct access_point *p)
{
    return (p->bit + 7) / 8;
}

static unsigned bits_before(const struct access_point *p)
{
    return (unsigned)(8 * whole_byte(p) - p->bit);
}

/* Writes a point's window in zlib's format. */
static bool put_packed(const struct writing *w, const struct access_point *p)
{
    uint8_t *window;
    struct access_point packed = *p;
    ssize_t len;
    bool ok = false;

    if (p->form == ACCESS_NO_WINDOW)
        return put_number(w, 4, true, 0);
    if (p->form == ACCESS_PACKED && p->bytes != NULL)
        return put_number(w, 4, true, p->stored) && w->put(w->ctx, p->bytes, p->stored);
    window = malloc(INF_WINDOW);
    if (window == NULL)
        return false;
    len = access_window_get(p, w->source, window + INF_WINDOW);
    if (len >= 0 && access_window_pack(&packed, NULL, window + INF_WINDOW - len, (size_t)len)) {
        ok = put_number(w, 4, true, packed.stored) && w->put(w->ctx, packed.bytes, packed.stored);
        free(packed.bytes);
    }
    free(window);
    return ok;
}

/* Whether the number of line feeds before each point is known. */
static bool has_lines(const struct writing *w)
{
    bool has = w->index->lines != ACCESS_NO_LINE;

    for (size_t i = 0; has && i < w->points->count; i++)
        has = w->points->list[i].line != ACCESS_NO_LINE;
    return has;
}

static bool write_gztool(const struct writing *w)
{
    const bool lines = has_lines(w);
    const uint8_t zeros[8] = {0};
    bool ok = w->put(w->ctx, zeros, sizeof(zeros)) &&
              w->put(w->ctx, lines ? GZTOOL_MAGIC_LINES : GZTOOL_MAGIC, 8) &&
              (!lines || put_number(w, 4, true, 0)) && put_number(w, 8, true, w->points->count) &&
              put_number(w, 8, true, w->points->count);

    for (size_t i = 0; ok && i < w->points->count; i++) {
        const struct access_point *p = &w->points->list[i];

        ok = put_number(w, 8, true, p->out) && put_number(w, 8, true, whole_byte(p)) &&
             put_number(w, 4, true, bits_before(p)) && put_packed(w, p) &&
             (!lines || put_number(w, 8, true, p->line + 1));
    }
    return ok && put_number(w, 8, true, w->index->size) &&
           (!lines || put_number(w, 8, true, w->index->lines));
}

/* Writes the windows of all points, each as INF_WINDOW bytes. */
static bool put_windows(const struct writing *w)
{
    uint8_t *const window = malloc(INF_WINDOW);
    bool ok = window != NULL;

    for (size_t i = 0; ok && i < w->points->count; i++) {
        const struct access_point *p = &w->points->list[i];

        if (p->form == ACCESS_NO_WINDOW)
            continue;
        memset(window, 0, INF_WINDOW);
        ok = access_window_get(p, w->source, window + INF_WINDOW) >= 0 &&
             w->put(w->ctx, window, INF_WINDOW);
    }
    free(window);
    return ok;
}

/* The usual distance of points, in bytes of output, that the index gives to indexed_gzip.  After
 * the last point of the index, indexed_gzip makes points of its own at this distance. */
#define INDEXED_GZIP_SPACING ((uint64_t)4 << 20)

static bool write_indexed_gzip(const struct writing *w)
{
    const uint8_t version[2] = {1, 0};
    bool ok = w->put(w->ctx, INDEXED_GZIP_MAGIC, 5) && w->put(w->ctx, version, 2) &&
              put_number(w, 8, false, w->index->file_size) &&
              put_number(w, 8, false, w->index->size) &&
              put_number(w, 4, false, INDEXED_GZIP_SPACING) &&
              put_number(w, 4, false, INF_WINDOW) && put_number(w, 4, false, w->points->count);

    for (size_t i = 0; ok && i < w->points->count; i++) {
        const struct access_point *p = &w->points->list[i];

        ok = put_number(w, 8, false, whole_byte(p)) && put_number(w, 8, false, p->out) &&
             put_number(w, 1, false, bits_before(p)) &&
             put_number(w, 1, false, p->form != ACCESS_NO_WINDOW);
    }
    return ok && put_windows(w);
}

bool access_index_write(const struct access_points *points, const struct access_source *source,
                        const struct access_index *index,
                        bool (*put)(void *ctx, const void *bytes, size_t len), void *ctx)
{
    const struct writing w = {points, source, index, put, ctx};

    return index->format == ACCESS_INDEXED_GZIP ? write_indexed_gzip(&w) : write_gztool(&w);
}
