/*
 * fuzz_ahead.c - decoding from the middle of any data gives the same result as with zlib
 *
 * A fuzz target (target.h).  The input's first byte selects a test for the other bytes.
 * One test decodes blocks to symbols (inflate/symbols.h), and compares them with the output of zlib
 * with a window.  The other finds places where a block or a member may start (inflate/find.h), and
 * compares them with a plain test of each place.
 */
#include "config.h"

#include <zlib.h>

#include "inflate/blockheader.h"
#include "inflate/find.h"
#include "inflate/symbols.h"
#include "tests/fuzz/target.h"

/* A few bytes of input can decode to gigabytes; stop at this size. */
#define OUT_MAX ((size_t)1 << 17)

static uint8_t window[INF_WINDOW];

static void *need(void *p)
{
    REQUIRE(p != NULL);
    return p;
}

/* Returns a copy of the data with `pad` bytes of noise after it. */
static uint8_t *padded(const uint8_t *data, size_t len, size_t pad)
{
    uint8_t *copy = need(malloc(len + pad));

    if (len > 0)
        memcpy(copy, data, len);
    for (size_t i = 0; i < pad; i++)
        copy[len + i] = (uint8_t)(len * 31 + i * 101);
    return copy;
}

/* Lets zlib decode the block that starts at the next bit of z's input.  Returns the result that
 * inf_symbols_block should return, except for INF_MORE.  Sets *place and *n to the values that
 * inf_symbols_block should set. */
static enum inf_result by_zlib(z_stream *z, const uint8_t *in, uint64_t *place, size_t *n)
{
    const int ret = inflate(z, Z_BLOCK);

    if (ret == Z_DATA_ERROR)
        return INF_BAD;
    REQUIRE(ret == Z_OK || ret == Z_STREAM_END || ret == Z_BUF_ERROR);
    if ((z->data_type & 128) == 0)
        return z->avail_out == 0 ? INF_MORE : INF_CUT;
    *place = 8 * (uint64_t)(z->next_in - in) - (unsigned)(z->data_type & 7);
    *n = OUT_MAX - z->avail_out;
    return (z->data_type & 64) != 0 ? INF_END : INF_BLOCK;
}

static void try_symbols(const uint8_t *data, size_t len)
{
    uint8_t *const in = padded(data, len, INF_SYMBOLS_PAD);
    uint16_t *const all = need(malloc((INF_WINDOW + OUT_MAX + 300) * sizeof(*all)));
    uint16_t *const out = all + INF_WINDOW;
    uint8_t *const want = need(malloc(OUT_MAX)), *const bytes = need(malloc(OUT_MAX + 300));
    struct inf_symbols *const d = need(inf_symbols_new());
    z_stream z = {.next_in = in, .avail_in = (uInt)len, .next_out = want, .avail_out = OUT_MAX};
    enum inf_result result = INF_BLOCK;
    uint64_t place = 0;
    size_t n = 0;

    REQUIRE(inflateInit2(&z, -MAX_WBITS) == Z_OK);
    REQUIRE(inflateSetDictionary(&z, window, sizeof(window)) == Z_OK);
    inf_symbols_begin(out);
    while (result == INF_BLOCK) {
        uint64_t right_place = place;
        size_t right_n = n;
        const enum inf_result right = by_zlib(&z, in, &right_place, &right_n);

        result = inf_symbols_block(d, in, len, &place, out, &n, OUT_MAX + 300);
        if (right == INF_MORE || result == INF_MORE)
            break;
        /* Near the input's end, an error and missing input may be taken for each other, because
         * zlib reads up to 49 bytes before it rejects a header whose code lengths have no code. */
        REQUIRE(result == right || (right == INF_BAD && result == INF_CUT) ||
                (right == INF_CUT && result == INF_BAD && len - place / 8 <= 50));
        REQUIRE(place == right_place || right == INF_END);
        REQUIRE(n == right_n);
    }
    inf_resolve(d, out, n, window, bytes);
    /* zlib stops at OUT_MAX, and the last block may go on after it. */
    REQUIRE(memcmp(bytes, want, n < OUT_MAX ? n : OUT_MAX) == 0);
    inflateEnd(&z);
    inf_symbols_free(d);
    free(bytes);
    free(want);
    free(all);
    free(in);
}

static void try_finding(const uint8_t *data, size_t len)
{
    uint8_t *const in = padded(data, len, 16);
    struct inf_finder finder;
    struct inf_block block;

    inf_finder_init(&finder);
    for (uint64_t bit = 0, found = 0; found != INF_NOWHERE; bit = found + 1) {
        found = inf_find_dynamic(&finder, in, len, bit, 8 * (uint64_t)len);
        for (; bit < 8 * (uint64_t)len && bit < found; bit++) {
            const unsigned skip = (unsigned)(bit % 8);
            const bool is_good =
                inf_check_block((uint64_t)in[bit / 8] >> skip, 8 - skip, in + bit / 8 + 1,
                                len - bit / 8 - 1, &block) == INF_BLOCK_GOOD;

            REQUIRE(!is_good || block.type != INF_BLOCK_DYNAMIC || block.final ||
                    bit + 17 + 57 > 8 * (uint64_t)len);
        }
    }
    for (size_t from = 0, at; from < len; from = at + INF_HINT_SIZE) {
        at = inf_find_hint(in, from, len);
        REQUIRE(at >= from && at <= len);
        for (size_t i = from; i < at && i + INF_SYNC_SIZE <= len; i++)
            REQUIRE(!inf_is_sync(in + i) &&
                    !(in[i] == 0x1f && in[i + 1] == 0x8b && in[i + 2] == 8));
    }
    free(in);
}

void fuzz_ahead(const uint8_t *data, size_t len)
{
    if (len == 0)
        return;
    for (size_t i = 0; i < sizeof(window); i++)
        window[i] = (uint8_t)(i * 7 + i / 256);
    if (data[0] % 2 == 0)
        try_symbols(data + 1, len - 1);
    else
        try_finding(data + 1, len - 1);
}
