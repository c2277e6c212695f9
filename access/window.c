/*
 * window.c - the windows of points (window.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "access/cursor.h"
#include "access/window.h"
#include "inflate/symbols.h"

/* The most bytes that a packed window may have.  zlib makes fewer of INF_WINDOW bytes. */
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
    const uint8_t *stored = p->bytes;
    uint8_t *loaded = NULL;
    ssize_t len = -1;

    if (p->form == ACCESS_NO_WINDOW)
        return 0;
    if (p->stored > most)
        return -1;
    if (stored == NULL) {
        if (index == NULL || (loaded = malloc(p->stored)) == NULL)
            return -1;
        if (access_source_read(index, loaded, p->stored, p->at) == p->stored)
            stored = loaded;
    }
    if (stored != NULL) {
        if (p->form == ACCESS_RAW) {
            memcpy(end - p->stored, stored, p->stored);
            len = p->stored;
        } else {
            len = unpack(stored, p->stored, end);
        }
    }
    free(loaded);
    return len;
}

/* Bytes of the file after the point that are decoded to find out which bytes of the window the data
 * copies. */
#define NEEDED_IN ((size_t)512 << 10)

/* Room for the symbols to which these bytes are decoded. */
#define NEEDED_SYMBOLS ((size_t)1 << 20)

/* Bytes of output after the point that may refer to the window.  The last match that can reach the
 * window starts at the last of the first INF_WINDOW bytes, and may go on for 257 bytes. */
#define NEEDED_OUT (INF_WINDOW + 257)

/* Whether decoding from the point needs no window.  (The symbols in clear_unneeded would tell, too,
 * but not if a block is very long, as blocks after a mark may be.) */
static bool needs_none(const struct access_source *file, const struct access_point *p)
{
    struct access_cursor *c = access_cursor_new(file);
    bool ok = c != NULL && access_cursor_begin(c, p, NULL, 0);

    while (ok && !c->is_at_header && c->out - p->out < NEEDED_OUT)
        ok = access_cursor_step(c) == GZ_OK;
    access_cursor_free(c);
    return ok;
}

/* Decodes from bit `bit` of the file to symbols[0..NEEDED_OUT), or up to the data's end, and
 * returns the number of symbols.  Returns 0 if decoding fails before it gets there. */
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

/* Clears the bytes of window[0..INF_WINDOW) that the data from bit `bit` of the file on does not
 * copy.  Clears none if it is not possible to find out which these are. */
static void clear_unneeded(uint8_t *window, const struct access_source *file, uint64_t bit)
{
    uint16_t *const symbols = malloc((INF_WINDOW + NEEDED_SYMBOLS) * sizeof(*symbols));
    uint8_t *const in = malloc(NEEDED_IN + INF_SYMBOLS_PAD), *const needed = calloc(INF_WINDOW, 1);
    struct inf_symbols *const d = inf_symbols_new();

    if (symbols != NULL && in != NULL && needed != NULL && d != NULL) {
        uint16_t *const out = symbols + INF_WINDOW;
        const size_t n = decode_symbols(d, file, bit, in, out);

        for (size_t i = 0; i < n; i++)
            if (out[i] >= INF_UNKNOWN)
                needed[out[i] - INF_UNKNOWN] = 1;
        for (size_t i = 0; n > 0 && i < INF_WINDOW; i++)
            if (needed[i] == 0)
                window[i] = 0;
    }
    inf_symbols_free(d);
    free(needed);
    free(in);
    free(symbols);
}

bool access_window_pack(struct access_point *p, const struct access_source *file,
                        const uint8_t *window, size_t len)
{
    uint8_t *whole, *bytes, *exact;
    uLongf stored = PACKED_MAX;
    bool ok = false;

    if (file != NULL && needs_none(file, p)) {
        p->form = ACCESS_NO_WINDOW;
        return true;
    }
    whole = calloc(INF_WINDOW, 1);
    bytes = malloc(PACKED_MAX);
    if (whole != NULL && bytes != NULL) {
        memcpy(whole + INF_WINDOW - len, window, len);
        if (file != NULL)
            clear_unneeded(whole, file, p->bit);
        ok = compress2(bytes, &stored, whole + INF_WINDOW - len, (uLong)len, Z_BEST_COMPRESSION) ==
             Z_OK;
    }
    free(whole);
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
