/*
 * builder.c - makes an index of a .gz while the file is decoded (builder.h)
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "access/builder.h"
#include "access/layout.h"
#include "access/relay.h"
#include "access/window.h"
#include "base/bytes.h"
#include "inflate/find.h"
#include "inflate/raw.h"

/* The least distance of points without windows, in bytes of output.  Such points take little
 * room. */
#define CHEAP_APART (ACCESS_INDEX_APART / 8)

/* The bytes of a BGZF member in the file and in the output, each less 1. */
struct member {
    uint16_t packed, data;
};

struct access_builder {
    struct access_source file;
    bool has_file, is_bgzf;
    int error;                 /* the errno if the file could not be read; there will be no index */
    uint64_t members;          /* members with data, if the file is BGZF */
    struct member *written;    /* access_builder_new_bgzf: the members except the last */
    size_t room;               /* members for which `written` has room */
    uint64_t at, out;          /* where the last member starts */
    bool is_short;             /* memory was short, so points are missing */
    struct access_relay relay; /* for access_builder_ahead */
    /* Protects the members below. */
    pthread_mutex_t lock;
    struct access_points points;
    uint64_t counted; /* bytes of output whose line feeds were counted */
    uint64_t lines;   /* line feeds in the `counted` bytes */
    size_t known;     /* points whose number of line feeds is known */
};

static bool count_member(void *ctx, uint64_t at, uint64_t out)
{
    (void)at;
    (void)out;
    ++*(uint64_t *)ctx;
    return true;
}

struct access_builder *access_builder_new(const struct access_source *file)
{
    struct access_builder *b = calloc(1, sizeof(*b));
    enum access_layout layout;
    uint64_t size;

    if (b == NULL)
        return NULL;
    pthread_mutex_init(&b->lock, NULL);
    b->points.most = ACCESS_INDEX_MEMORY;
    b->has_file = file != NULL;
    if (file == NULL)
        return b;
    b->file = *file;
    layout = access_bgzf_walk(file, count_member, &b->members, &size);
    b->is_bgzf = layout == ACCESS_LAYOUT_FOUND;
    b->error = layout == ACCESS_LAYOUT_READ_ERROR ? errno : 0;
    return b;
}

struct access_builder *access_builder_new_bgzf(void)
{
    struct access_builder *b = access_builder_new(NULL);

    if (b != NULL) {
        b->is_bgzf = true;
        b->members = 1;
    }
    return b;
}

void access_builder_member(struct access_builder *b, uint64_t at, uint64_t out)
{
    const size_t n = (size_t)b->members - 1;

    if (!b->is_short && n == b->room) {
        const size_t room = n > 0 ? 2 * n : 1024;
        struct member *more = room > ACCESS_INDEX_MEMORY / sizeof(*more)
                                  ? NULL
                                  : realloc(b->written, room * sizeof(*more));

        b->is_short = more == NULL;
        if (more != NULL) {
            b->written = more;
            b->room = room;
        }
    }
    if (b->is_short)
        return;
    b->written[n] =
        (struct member){.packed = (uint16_t)(at - b->at - 1), .data = (uint16_t)(out - b->out - 1)};
    b->members++;
    b->at = at;
    b->out = out;
}

void access_builder_free(struct access_builder *b)
{
    if (b == NULL)
        return;
    access_points_clear(&b->points);
    free(b->written);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

bool access_builder_is_bgzf(const struct access_builder *b)
{
    return b->is_bgzf;
}

/* Whether a mark comes just before the place.  If so, the point needs no window and takes little
 * room. */
static bool follows_mark(const struct access_builder *b, uint64_t bit)
{
    uint8_t mark[INF_MARK_SIZE];

    return b->has_file && bit % 8 == 0 && bit / 8 >= sizeof(mark) &&
           access_source_read(&b->file, mark, sizeof(mark), bit / 8 - sizeof(mark)) ==
               sizeof(mark) &&
           inf_is_mark(mark);
}

bool access_builder_wants(struct access_builder *b, uint64_t bit, uint64_t out, bool has_window)
{
    uint64_t behind = UINT64_MAX;
    unsigned halvings;

    pthread_mutex_lock(&b->lock);
    if (b->points.count > 0)
        behind = out - b->points.list[b->points.count - 1].out;
    halvings = b->points.halvings < 32 ? b->points.halvings : 32;
    pthread_mutex_unlock(&b->lock);
    behind >>= halvings;
    return !b->is_bgzf && (behind >= ACCESS_INDEX_APART ||
                           (behind >= CHEAP_APART && (!has_window || follows_mark(b, bit))));
}

void access_builder_note(struct access_builder *b, uint64_t bit, uint64_t out, const uint8_t *end,
                         size_t len)
{
    struct access_point p = {.bit = bit, .out = out, .line = out > 0 ? ACCESS_NO_LINE : 0};
    const struct access_source *file = b->has_file ? &b->file : NULL;

    if (!access_builder_wants(b, bit, out, len > 0))
        return;
    if (len > 0 && !access_window_pack(&p, file, end - len, len)) {
        b->is_short = true;
        return;
    }
    pthread_mutex_lock(&b->lock);
    if (!access_points_add(&b->points, &p))
        b->is_short = true;
    pthread_mutex_unlock(&b->lock);
}

static uint64_t count_lines(const uint8_t *bytes, size_t len)
{
    uint64_t lines = 0;

    for (const uint8_t *at = bytes; (at = memchr(at, '\n', len - (size_t)(at - bytes))) != NULL;) {
        lines++;
        if ((size_t)(++at - bytes) == len)
            break;
    }
    return lines;
}

void access_builder_wrote(struct access_builder *b, const uint8_t *bytes, size_t len)
{
    size_t from = 0;

    if (b->is_bgzf || len == 0)
        return;
    pthread_mutex_lock(&b->lock);
    /* Points may have been dropped.  Go back to the last point whose number of line feeds is
     * known. */
    if (b->known > b->points.count)
        b->known = b->points.count;
    for (; b->known > 0 && b->points.list[b->known - 1].line == ACCESS_NO_LINE; b->known--)
        ;
    for (; b->known < b->points.count; b->known++) {
        struct access_point *p = &b->points.list[b->known];
        const uint64_t to = p->out - b->counted;

        if (p->line != ACCESS_NO_LINE)
            continue;
        if (p->out < b->counted || to > len)
            break;
        b->lines += count_lines(bytes + from, (size_t)to - from);
        from = (size_t)to;
        p->line = b->lines;
    }
    b->lines += count_lines(bytes + from, len - from);
    b->counted += len;
    pthread_mutex_unlock(&b->lock);
}

/* --- Writing -------------------------------------------------------------------------------- */

/* The function that writes bgzip's index, and its argument. */
struct bgzip_writing {
    bool (*put)(void *ctx, const void *bytes, size_t len);
    void *ctx;
};

static bool put_pair(const struct bgzip_writing *w, uint64_t first, uint64_t second)
{
    uint8_t bytes[16];

    store64(bytes, first);
    store64(bytes + 8, second);
    return w->put(w->ctx, bytes, sizeof(bytes));
}

static bool put_member(void *ctx, uint64_t at, uint64_t out)
{
    return at == 0 || put_pair(ctx, at, out);
}

/* Writes the members that access_builder_member was told. */
static bool put_written(const struct access_builder *b, const struct bgzip_writing *w)
{
    uint64_t at = 0, out = 0;

    for (size_t i = 0; i + 1 < b->members; i++) {
        at += b->written[i].packed + (uint64_t)1;
        out += b->written[i].data + (uint64_t)1;
        if (!put_pair(w, at, out))
            return false;
    }
    return true;
}

/* Writes bgzip's index.  If the file can be read, goes through its members again, since there may
 * be too many members to keep them all. */
static bool write_bgzip(struct access_builder *b, struct bgzip_writing *w)
{
    uint8_t count[8];
    uint64_t size;

    store64(count, b->members - 1);
    if (!w->put(w->ctx, count, sizeof(count)))
        return false;
    if (!b->has_file)
        return put_written(b, w);
    return access_bgzf_walk(&b->file, put_member, w, &size) == ACCESS_LAYOUT_FOUND;
}

bool access_builder_write(struct access_builder *b, enum access_format format, uint64_t file_size,
                          uint64_t size, bool (*put)(void *ctx, const void *bytes, size_t len),
                          void *ctx)
{
    const struct access_index index = {.format = format,
                                       .file_size = file_size,
                                       .size = size,
                                       .lines = b->counted == size ? b->lines : ACCESS_NO_LINE};
    struct bgzip_writing w = {put, ctx};

    if (b->error != 0) {
        errno = b->error;
        return false;
    }
    if (b->is_short)
        return false;
    if (b->is_bgzf)
        return write_bgzip(b, &w);
    return access_index_write(&b->points, NULL, &index, put, ctx);
}

/* --- Decoding by compat/ -------------------------------------------------------------------- */

static bool has_ahead(void *ctx, uint64_t bit, uint64_t *from)
{
    struct access_builder *b = ctx;

    return access_relay_has(&b->relay, bit, from);
}

static bool run_ahead(void *ctx, struct gz_place *place)
{
    struct access_builder *b = ctx;
    const size_t len = place->len < INF_WINDOW ? (size_t)place->len : INF_WINDOW;

    access_builder_note(b, place->bit, place->before + place->len, place->end, len);
    return access_relay_run(&b->relay, place);
}

static void seek_ahead(void *ctx, uint64_t byte)
{
    struct access_builder *b = ctx;

    if (b->relay.inner != NULL)
        b->relay.inner->seek(b->relay.inner->ctx, byte);
}

struct gz_ahead access_builder_ahead(struct access_builder *b, const struct gz_ahead *inner)
{
    b->relay = (struct access_relay){.inner = inner};
    return (struct gz_ahead){has_ahead, run_ahead, seek_ahead, b};
}
