/*
 * cursor.c - decodes a .gz from any point on, step by step (cursor.h)
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "access/cursor.h"
#include "base/bytes.h"
#include "compat/crc.h"

/* Bytes of input and of output that are decoded at a time, as in compat/stream.h. */
#define IN_SIZE ((size_t)256 << 10)
#define OUT_SIZE ((size_t)256 << 10)

/* Bytes that are kept before the reading position, since a decoder may step back. */
#define BACK INF_BACK

/* Bytes after the input and the output that a decoder may load or overwrite. */
#define SLACK ((size_t)64)

_Static_assert(IN_SIZE > INF_REST, "what is left of the input fits");

struct access_cursor *access_cursor_new(const struct access_source *source)
{
    struct access_cursor *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->source = source;
    c->b.raw = inf_open(source->size < INF_SMALL);
    c->in = malloc(BACK + IN_SIZE + SLACK);
    c->memory = malloc(INF_WINDOW + OUT_SIZE + SLACK);
    if (c->b.raw != NULL && c->in != NULL && c->memory != NULL)
        return c;
    access_cursor_free(c);
    return NULL;
}

void access_cursor_free(struct access_cursor *c)
{
    if (c == NULL)
        return;
    inf_close(c->b.raw);
    free(c->in);
    free(c->memory);
    free(c);
}

struct access_point access_start(void)
{
    return (struct access_point){.is_header = true};
}

/* --- Input ---------------------------------------------------------------------------------- */

/* The byte of the file that comes next. */
static uint64_t position(const struct access_cursor *c)
{
    return c->b.in_base + c->b.at;
}

/* Reads the bytes around the position into the buffer. */
static enum gz_status read_around(struct access_cursor *c)
{
    const uint64_t at = position(c);
    const size_t back = at < BACK ? (size_t)at : BACK;
    /* Near the file's start, zeros take the place of bytes before it, as a decoder may load
     * them. */
    const size_t missing = BACK - back;
    const ssize_t n = access_source_read(c->source, c->in + missing, back + IN_SIZE, at - back);

    if (n < 0)
        return GZ_READ_ERROR;
    if ((size_t)n < back)
        return GZ_TRUNCATED; /* the file has become shorter */
    memset(c->in, 0, missing);
    memset(c->in + missing + n, 0, SLACK);
    c->b.in_base = at - BACK; /* may be below 0, modulo 2^64 */
    c->b.at = BACK;
    c->b.in_len = missing + (size_t)n;
    /* If the file has become shorter, it ends before source->size. */
    c->b.in_ends = (size_t)n < back + IN_SIZE || at - back + (uint64_t)n >= c->source->size;
    return GZ_OK;
}

/* Makes at least one byte of input available.  *has becomes false at the end of the file. */
static enum gz_status need_input(struct access_cursor *c, bool *has)
{
    enum gz_status status = GZ_OK;

    if (c->b.at == c->b.in_len)
        status = read_around(c);
    *has = status == GZ_OK && c->b.at < c->b.in_len;
    return status;
}

/* --- Places --------------------------------------------------------------------------------- */

static void come_to_place(struct access_cursor *c, uint64_t bit, bool is_header)
{
    c->is_at_place = true;
    c->is_at_header = is_header;
    c->bit = bit;
}

/* Prepares for decoding the data of a member, whose first block starts at the position. */
static void begin_member(struct access_cursor *c)
{
    inf_reset(c->b.raw);
    c->b.window = 0;
    c->state = CURSOR_DATA;
    c->knows_member = true;
    c->crc = 0;
    c->len = 0;
}

bool access_cursor_begin(struct access_cursor *c, const struct access_point *p,
                         const uint8_t *window, size_t len)
{
    struct inf_raw *const raw = c->b.raw;

    c->b = (struct inf_buffers){
        .raw = raw, .in = c->in, .out = c->memory + INF_WINDOW, .out_size = OUT_SIZE};
    c->b.in_base = p->bit / 8;
    c->out = p->out;
    c->piece_len = 0;
    c->stop_at = UINT64_MAX;
    c->has_ended = c->has_garbage = false;
    c->state = p->is_header ? CURSOR_HEADER : CURSOR_DATA;
    c->knows_member = p->has_crc;
    c->crc = p->crc;
    c->len = p->len;
    c->is_proven = !p->is_hint || p->is_checked;
    c->is_hint = p->is_hint;
    c->began = p->out;
    come_to_place(c, p->bit, p->is_header);
    if (p->is_header)
        return true;
    c->b.window = len;
    if (len > 0)
        memcpy(c->b.out - len, window, len);
    if (read_around(c) != GZ_OK || c->b.at == c->b.in_len) {
        /* The first step reads again, and returns the error. */
        c->b.at = c->b.in_len = 0;
        c->b.in_base = p->bit / 8;
        return true;
    }
    return inf_begin(&c->b, (unsigned)(p->bit % 8));
}

const uint8_t *access_cursor_window(const struct access_cursor *c, size_t *len)
{
    *len = c->b.window;
    return c->b.out + c->b.out_len - c->b.window;
}

/* --- Headers and trailers ------------------------------------------------------------------- */

/* The kinds of data that may follow a member or begin a file. */
enum next { NEXT_MEMBER, NEXT_OLDER, NEXT_NOTHING, NEXT_GARBAGE };

/* Skips zeros, and sets *next to the kind of the data after them. */
static enum gz_status look_ahead(struct access_cursor *c, enum next *next)
{
    const bool may_skip = c->source->skip_zeros && position(c) > 0;
    bool has, is_allowed = true;
    enum gz_status status;

    *next = NEXT_NOTHING;
    while ((status = need_input(c, &has)) == GZ_OK && has) {
        if (c->b.in[c->b.at] != 0) {
            /* By default, a member after zeros is garbage (compat/gunzip.h). */
            *next = is_allowed && c->b.in[c->b.at] == 0x1f ? NEXT_MEMBER : NEXT_GARBAGE;
            break;
        }
        is_allowed = may_skip;
        c->b.at++;
    }
    if (status != GZ_OK || *next != NEXT_MEMBER)
        return status;
    if (c->b.at + 1 == c->b.in_len)
        status = read_around(c);
    if (status == GZ_OK && c->b.at + 1 < c->b.in_len && c->b.in[c->b.at + 1] != 0x8b)
        *next = NEXT_OLDER;
    else if (c->b.at + 1 >= c->b.in_len)
        *next = NEXT_GARBAGE;
    return status;
}

/* Parses a member's header. */
static enum gz_status parse_header(struct access_cursor *c)
{
    const uint8_t *const magic = c->b.in + c->b.at;
    enum gz_status status = GZ_TRUNCATED;
    struct gz_header h;
    bool has = true;

    gz_header_begin(&h, magic);
    c->b.at += sizeof(h.magic);
    while (status == GZ_TRUNCATED) {
        const enum gz_status error = need_input(c, &has);
        size_t used;

        if (error != GZ_OK || !has)
            return error != GZ_OK ? error : GZ_TRUNCATED;
        status = gz_header_parse(&h, c->b.in + c->b.at, c->b.in_len - c->b.at, &used);
        c->b.at += used;
    }
    return status;
}

/* Reads the first header, or the bytes after a member: another header, zeros, garbage or
 * nothing. */
static enum gz_status step_header(struct access_cursor *c)
{
    const bool is_start = position(c) == 0;
    enum next next;
    enum gz_status status = look_ahead(c, &next);

    if (status != GZ_OK)
        return status;
    if (next == NEXT_OLDER || (is_start && next != NEXT_MEMBER))
        return GZ_NOT_GZIP;
    if (next != NEXT_MEMBER) {
        c->has_ended = true;
        c->has_garbage = next == NEXT_GARBAGE;
        return GZ_OK;
    }
    status = parse_header(c);
    if (status != GZ_OK)
        return status;
    begin_member(c);
    come_to_place(c, 8 * position(c), false);
    return GZ_OK;
}

/* Reads a member's trailer, and compares it with the decoded data. */
static enum gz_status step_trailer(struct access_cursor *c)
{
    uint8_t trailer[GZ_TRAILER_SIZE];

    for (size_t i = 0; i < sizeof(trailer); i++) {
        bool has;
        const enum gz_status status = need_input(c, &has);

        if (status != GZ_OK || !has)
            return status != GZ_OK ? status : GZ_TRUNCATED;
        trailer[i] = c->b.in[c->b.at++];
    }
    if (c->knows_member && load32(trailer) != c->crc)
        return GZ_BAD_CRC;
    c->stored_len = load32(trailer + 4);
    if (c->knows_member && c->stored_len != (uint32_t)c->len)
        return GZ_BAD_LENGTH;
    c->state = CURSOR_HEADER;
    come_to_place(c, 8 * position(c), true);
    return GZ_OK;
}

/* --- Data ----------------------------------------------------------------------------------- */

/* Hands the output of the last step to the caller. */
static void hand_over(struct access_cursor *c)
{
    c->piece_len = c->b.made;
    c->piece = c->b.out + c->b.out_len - c->b.made;
    c->out += c->b.made;
    c->len += c->b.made;
    if (c->knows_member)
        c->crc = gz_crc32(c->crc, c->piece, c->piece_len);
}

/* Decodes the next piece of a member's data. */
static enum gz_status step_data(struct access_cursor *c)
{
    enum inf_step step;

    if (c->b.out_len == OUT_SIZE)
        inf_slide(&c->b);
    if (c->b.at < BACK) { /* nothing was read yet */
        const enum gz_status status = read_around(c);

        if (status != GZ_OK)
            return status;
    }
    c->b.stops = c->stop_at != UINT64_MAX;
    c->b.stops_from = c->stop_at;
    step = inf_step(&c->b);
    hand_over(c);
    switch (step) {
    case INF_STEP_INPUT:
        return read_around(c);
    case INF_STEP_FULL:
        return GZ_OK;
    case INF_STEP_BLOCK:
        come_to_place(c, c->b.bit, false);
        return GZ_OK;
    case INF_STEP_END:
        c->state = CURSOR_TRAILER;
        return GZ_OK;
    case INF_STEP_CUT_OFF:
        return GZ_TRUNCATED;
    case INF_STEP_BAD:
        return GZ_BAD_DATA;
    case INF_STEP_NO_MEMORY:
        return GZ_NO_MEMORY;
    }
    return GZ_BAD_DATA;
}

enum gz_status access_cursor_step(struct access_cursor *c)
{
    c->is_at_place = false;
    c->piece_len = 0;
    if (c->has_ended)
        return GZ_OK;
    switch (c->state) {
    case CURSOR_HEADER:
        return step_header(c);
    case CURSOR_DATA:
        return step_data(c);
    case CURSOR_TRAILER:
        return step_trailer(c);
    }
    return GZ_BAD_DATA;
}
