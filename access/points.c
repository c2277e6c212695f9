/*
 * points.c - places in a .gz from which decoding may begin (points.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "access/points.h"
#include "inflate/symbols.h"

/* --- The list ------------------------------------------------------------------------------- */

static uint64_t memory_of(const struct access_points *points)
{
    return points->bytes + points->count * sizeof(struct access_point);
}

/* Removes the point from the account, and frees its window. */
static void drop(struct access_points *points, struct access_point *p)
{
    if (p->bytes == NULL)
        return;
    points->bytes -= p->stored;
    free(p->bytes);
}

/* Drops every second point.  Keeps the first. */
static void halve(struct access_points *points)
{
    size_t kept = 0;

    for (size_t i = 0; i < points->count; i++) {
        if (i % 2 == 0)
            points->list[kept++] = points->list[i];
        else
            drop(points, &points->list[i]);
    }
    points->count = kept;
    points->halvings++;
}

static bool make_room(struct access_points *points)
{
    const size_t room = points->room > 0 ? 2 * points->room : 64;
    struct access_point *list;

    if (points->count < points->room)
        return true;
    list = realloc(points->list, room * sizeof(*list));
    if (list == NULL)
        return false;
    points->list = list;
    points->room = room;
    return true;
}

bool access_points_add(struct access_points *points, const struct access_point *p)
{
    size_t i = points->count;

    if (!make_room(points)) {
        free(p->bytes);
        return false;
    }
    while (i > 0 && (points->list[i - 1].out > p->out ||
                     (points->list[i - 1].out == p->out && points->list[i - 1].bit > p->bit)))
        i--;
    memmove(points->list + i + 1, points->list + i, (points->count - i) * sizeof(*p));
    points->list[i] = *p;
    points->count++;
    if (p->bytes != NULL)
        points->bytes += p->stored;
    if (points->most > 0 && points->count > 1 && memory_of(points) > points->most)
        halve(points);
    return true;
}

size_t access_points_until(const struct access_points *points, uint64_t out)
{
    size_t from = 0, to = points->count;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;

        if (points->list[middle].out <= out)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void access_points_drop_hints(struct access_points *points)
{
    size_t kept = 0;

    for (size_t i = 0; i < points->count; i++) {
        if (points->list[i].is_hint)
            drop(points, &points->list[i]);
        else
            points->list[kept++] = points->list[i];
    }
    points->count = kept;
}

void access_points_clear(struct access_points *points)
{
    for (size_t i = 0; i < points->count; i++)
        drop(points, &points->list[i]);
    free(points->list);
    points->list = NULL;
    points->count = points->room = 0;
    points->halvings = 0;
}

/* --- Windows -------------------------------------------------------------------------------- */

/* The most bytes that a packed window may have: more than zlib makes of INF_WINDOW bytes. */
#define PACKED_MAX (INF_WINDOW + 1024)

/* Unpacks bytes[0..len) to the bytes before `end`.  Returns as access_window_get does. */
static ssize_t unpack(const uint8_t *bytes, size_t len, uint8_t *end)
{
    uint8_t *const window = malloc(INF_WINDOW);
    uLongf made = INF_WINDOW;
    int result = Z_MEM_ERROR;

    if (window != NULL)
        result = uncompress(window, &made, bytes, (uLong)len);
    if (result == Z_OK)
        memcpy(end - made, window, made);
    free(window);
    return result == Z_OK ? (ssize_t)made : -1;
}

ssize_t access_window_get(const struct access_point *p, const struct access_source *index,
                          uint8_t *end)
{
    const size_t most = p->form == ACCESS_RAW ? INF_WINDOW : PACKED_MAX;
    uint8_t *stored = p->bytes;
    ssize_t len = -1;

    if (p->form == ACCESS_NO_WINDOW)
        return 0;
    if (p->stored > most)
        return -1;
    if (stored == NULL && (index == NULL || (stored = malloc(p->stored)) == NULL))
        return -1;
    if (p->bytes != NULL || access_source_read(index, stored, p->stored, p->at) == p->stored) {
        if (p->form == ACCESS_RAW) {
            memcpy(end - p->stored, stored, p->stored);
            len = p->stored;
        } else {
            len = unpack(stored, p->stored, end);
        }
    }
    if (stored != p->bytes)
        free(stored);
    return len;
}

/* Bytes of the file after the point that are looked at to find out which bytes of the window they
 * copy. */
#define NEEDED_IN ((size_t)128 << 10)

/* Room for the symbols that are decoded for this. */
#define NEEDED_SYMBOLS ((size_t)512 << 10)

/* Output after the point that may refer to the window: a match that starts before the window's last
 * byte is out of reach may go on for 257 bytes. */
#define NEEDED_OUT (INF_WINDOW + 257)

/* Decodes from bit `bit` of the file to symbols[0..NEEDED_OUT), or up to the data's end, and
 * returns the number of symbols.  Returns 0 if that is not possible. */
static size_t decode_symbols(struct inf_symbols *d, const struct access_source *file, uint64_t bit,
                             uint8_t *in, uint16_t *symbols)
{
    const ssize_t len = access_source_read(file, in, NEEDED_IN, bit / 8);
    enum inf_result result = INF_BLOCK;
    uint64_t place = bit % 8;
    size_t n = 0;

    if (len <= 0)
        return 0;
    memset(in + len, 0, INF_SYMBOLS_PAD);
    inf_symbols_begin(symbols);
    while (result == INF_BLOCK && n < NEEDED_OUT)
        result = inf_symbols_block(d, in, (size_t)len, &place, symbols, &n, NEEDED_SYMBOLS);
    return result == INF_END || n >= NEEDED_OUT ? n : 0;
}

/* Sets those bytes of window[0..INF_WINDOW) to 0 that the data from bit `bit` of the file on does
 * not copy.  Leaves the window alone if it is not possible to find out.  Returns whether the data
 * may copy any byte. */
static bool clear_unneeded(uint8_t *window, const struct access_source *file, uint64_t bit)
{
    uint16_t *const symbols = malloc((INF_WINDOW + NEEDED_SYMBOLS) * sizeof(*symbols));
    uint8_t *const in = malloc(NEEDED_IN + INF_SYMBOLS_PAD), *const needed = calloc(INF_WINDOW, 1);
    struct inf_symbols *const d = inf_symbols_new();
    bool is_known = false, has_needed = false;

    if (symbols != NULL && in != NULL && needed != NULL && d != NULL) {
        uint16_t *const out = symbols + INF_WINDOW;
        const size_t n = decode_symbols(d, file, bit, in, out);

        is_known = n > 0;
        for (size_t i = 0; i < n; i++) {
            if (out[i] >= INF_UNKNOWN) {
                needed[out[i] - INF_UNKNOWN] = 1;
                has_needed = true;
            }
        }
        for (size_t i = 0; is_known && i < INF_WINDOW; i++)
            if (needed[i] == 0)
                window[i] = 0;
    }
    inf_symbols_free(d);
    free(needed);
    free(in);
    free(symbols);
    return !is_known || has_needed;
}

bool access_window_pack(struct access_point *p, const struct access_source *file,
                        const uint8_t *window, size_t len)
{
    uint8_t *const whole = calloc(INF_WINDOW, 1), *bytes = malloc(PACKED_MAX), *exact;
    uLongf stored = PACKED_MAX;
    bool ok = false, is_needed = true;

    if (whole != NULL && bytes != NULL) {
        memcpy(whole + INF_WINDOW - len, window, len);
        if (file != NULL)
            is_needed = clear_unneeded(whole, file, p->bit);
        ok = compress2(bytes, &stored, whole + INF_WINDOW - len, (uLong)len, Z_BEST_COMPRESSION) ==
             Z_OK;
    }
    free(whole);
    if (ok && !is_needed) {
        free(bytes);
        p->form = ACCESS_NO_WINDOW;
        return true;
    }
    exact = ok ? realloc(bytes, stored) : NULL;
    if (exact == NULL) {
        free(bytes);
        return false;
    }
    p->form = ACCESS_PACKED;
    p->stored = (uint32_t)stored;
    p->bytes = exact;
    return true;
}
