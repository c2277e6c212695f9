/*
 * test_whole.c - the decoder from memory to memory does what zlib does, with good and bad data
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "inflate/whole.h"
#include "tests/unit/blocks.h"
#include "tests/unit/paths.h"

static struct inf_whole *whole;

/* The number of streams that zlib found good, and the number of all other streams. */
static unsigned good, bad;

/* The number of slices that have ended within a block. */
static unsigned slices;

/* Decodes in[0..len) with zlib.  Returns whether the data is good.  Allocates *out. */
static bool by_zlib(const uint8_t *in, size_t len, size_t room, uint8_t **out, size_t *used,
                    size_t *made)
{
    z_stream z = {.next_in = (Bytef *)in, .avail_in = (uInt)len, .avail_out = (uInt)room};
    bool ok;

    *out = unit_need(malloc(room + 1));
    z.next_out = *out;
    if (inflateInit2(&z, -15) != Z_OK)
        abort();
    ok = inflate(&z, Z_FINISH) == Z_STREAM_END;
    *used = len - z.avail_in;
    *made = room - z.avail_out;
    inflateEnd(&z);
    return ok;
}

/* --- Stretches ------------------------------------------------------------------------------ */

/* The context of stop_sometimes. */
struct stops {
    const struct inf_stretch *s;
    uint64_t state;
    size_t last;      /* the end of the last slice or block */
    unsigned slices;  /* number of slices that have ended within a block */
    bool has_stopped; /* the last call has returned false */
    bool in_blocks;   /* whether to stop within blocks, too */
};

static bool stop_sometimes(void *ctx, size_t made, bool at_block)
{
    struct stops *t = ctx;

    CHECK(made >= t->last && made <= t->s->room);
    CHECK(!at_block || t->s->made == made);
    t->last = made;
    t->slices += !at_block;
    t->has_stopped = (at_block || t->in_blocks) && one_in(&t->state, 3);
    return !t->has_stopped;
}

/* Decodes in[0..len) in stretches, each of which begins with its own decoder.  Compares the result
 * with zlib's: want[0..want_made), all of it if `ok` is true.  Returns the number of slices. */
static unsigned check_stretches(const uint8_t *in, size_t len, uint8_t *out, size_t room, bool ok,
                                const uint8_t *want, size_t want_used, size_t want_made)
{
    struct inf_whole *other = unit_need(inf_whole_new());
    struct inf_stretch s = {
        .in = in, .len = len, .out = out, .room = room, .goes_on = stop_sometimes};
    struct stops t = {.s = &s, .state = 5 + len};
    enum inf_result result;
    bool is_other = false;

    s.ctx = &t;
    do {
        t.has_stopped = false;
        t.last = s.made;
        t.in_blocks = !t.in_blocks;
        result = inf_whole_stretch(is_other ? other : whole, &s);
        is_other = !is_other;
        CHECK(s.made <= want_made && (s.made == 0 || memcmp(out, want, s.made) == 0));
        CHECK((result == INF_BLOCK) == (t.has_stopped && result != INF_END));
    } while (result == INF_BLOCK);
    CHECK((result == INF_END) == ok);
    CHECK(!ok || (s.made == want_made && (s.place + 7) / 8 == want_used));
    inf_whole_free(other);
    return t.slices;
}

/* --- Checks --------------------------------------------------------------------------------- */

/* Decodes in[0..len), in memory that ends with the input and with the room, so that a sanitizer
 * sees any access beyond them.  Returns whether the result equals zlib's. */
static bool check(const uint8_t *in, size_t len, size_t room)
{
    uint8_t *copy = unit_need(malloc(len > 0 ? len : 1)), *out = unit_need(malloc(room + 1)), *want;
    size_t used = 0, made = 0, want_used, want_made;
    const bool ok = by_zlib(in, len, room, &want, &want_used, &want_made);
    enum inf_result result;
    bool is;

    memcpy(copy, in, len);
    if (room > 0)
        out = unit_need(realloc(out, room));
    result = inf_whole(whole, copy, len, out, room, &used, &made);
    is = ok ? result == INF_END && used == want_used && made == want_made &&
                  memcmp(out, want, made) == 0
            : result != INF_END;
    CHECK(is);
    slices += check_stretches(copy, len, out, room, ok, want, want_used, want_made);
    good += ok;
    bad += !ok;
    free(want);
    free(out);
    free(copy);
    return is;
}

/* Checks a stream: whole, with bytes after it, cut, damaged, and with other amounts of room for
 * output. */
static void check_stream(const struct bytes *raw, size_t made, uint64_t *state)
{
    uint8_t *copy = unit_need(malloc(raw->len + 9));

    check(raw->data, raw->len, made);
    check(raw->data, raw->len, made + 1000);
    memcpy(copy, raw->data, raw->len);
    memset(copy + raw->len, 0x55, 9);
    check(copy, raw->len + 9, made + below(state, 400));
    for (unsigned i = 0; i < 8; i++)
        check(raw->data, below(state, (unsigned)raw->len), made + 300);
    for (unsigned i = 0; i < 8 && made > 0; i++)
        check(raw->data, raw->len, below(state, (unsigned)made));
    for (unsigned i = 0; i < 8; i++) {
        const unsigned at = below(state, (unsigned)raw->len);

        copy[at] ^= (uint8_t)(1u << below(state, 8));
        check(copy, raw->len, made + 5000);
        if (i % 2 != 0)
            copy[at] = raw->data[at];
    }
    free(copy);
}

/* Tests streams of random blocks, good ones and others. */
static void random_blocks(void)
{
    uint64_t state = 11;

    for (unsigned i = 0; i < 1500; i++) {
        struct bytes raw = {0};
        struct stream s = {.bits = {.to = &raw}, .spoil = i % 3 == 0, .random = &state};
        const unsigned blocks = 1 + below(&state, 5);
        uint8_t *out;
        size_t used, made;

        for (unsigned k = 1; k <= blocks; k++)
            put_block(&s, k == blocks, below(&state, i % 10 == 0 ? 3000 : 200));
        end_bits(&s.bits);
        by_zlib(raw.data, raw.len, 4 << 20, &out, &used, &made);
        free(out);
        check_stream(&raw, made, &state);
        drop(&raw);
    }
}

/* Tests streams by zlib's deflate, from texts with matches of every distance and length. */
static void by_deflate(void)
{
    static uint8_t in[300000], out[310000];
    uint64_t state = 3;

    for (unsigned i = 0; i < 60; i++) {
        const size_t len = i < 20 ? below(&state, 600) : below(&state, sizeof(in));
        z_stream z = {.next_in = in, .avail_in = (uInt)len, .next_out = out};
        struct bytes raw = {0};

        for (size_t at = 0; at < len;) {
            const size_t distance = 1 + below(&state, i % 3 == 0 ? 9 : 40000);
            size_t n = 1 + below(&state, 300);

            if (distance > at || one_in(&state, 3)) {
                in[at++] = (uint8_t)(i % 2 == 0 ? unit_rand(&state) : 'a' + below(&state, 4));
                continue;
            }
            for (; n > 0 && at < len; n--, at++)
                in[at] = in[at - distance];
        }
        z.avail_out = sizeof(out);
        if (deflateInit2(&z, (int)(i % 10), Z_DEFLATED, -15, 8,
                         i % 7 == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY) != Z_OK ||
            deflate(&z, Z_FINISH) != Z_STREAM_END)
            abort();
        add(&raw, out, sizeof(out) - z.avail_out);
        deflateEnd(&z);
        check_stream(&raw, len, &state);
        drop(&raw);
    }
}

/* Cuts a short stream at every place, and decodes it with every amount of room. */
static void every_end(void)
{
    static const uint8_t text[] = "a text, a text, a text with a text in a text; abcdefghijklmnopq";
    uint8_t out[200];
    z_stream z = {.next_in = (Bytef *)text, .avail_in = sizeof(text), .next_out = out};
    size_t len;

    z.avail_out = sizeof(out);
    if (deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    len = sizeof(out) - z.avail_out;
    deflateEnd(&z);
    for (size_t cut = 0; cut <= len; cut++)
        for (size_t room = 0; room <= sizeof(text) + 1; room++)
            check(out, cut, room);
}

/* Tests blocks that are longer than several slices. */
static void long_blocks(void)
{
    const size_t len = 3 << 20;
    uint8_t *in = unit_need(malloc(len)), *out = unit_need(malloc(len));
    uint64_t state = 8;

    for (unsigned i = 0; i < 2; i++) {
        z_stream z = {.next_in = in, .avail_in = (uInt)len, .next_out = out};
        struct bytes raw = {0};

        for (size_t at = 0; at < len; at++)
            in[at] = (uint8_t)(i == 0 ? at >> 20 : at < 200 ? unit_rand(&state) : in[at - 200]);
        z.avail_out = (uInt)len;
        if (deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
            deflate(&z, Z_FINISH) != Z_STREAM_END)
            abort();
        add(&raw, out, len - z.avail_out);
        deflateEnd(&z);
        check_stream(&raw, len, &state);
        drop(&raw);
    }
    free(out);
    free(in);
}

static void counts(void)
{
    printf("# %u good streams, %u others\n", good, bad);
    CHECK(good > 3000 && bad > 10000 && slices > 100);
}

int main(void)
{
    whole = unit_need(inf_whole_new());
    RUN(random_blocks);
    RUN(by_deflate);
    RUN(every_end);
    RUN(long_blocks);
    RUN(counts);
    inf_whole_free(whole);
    return unit_done_on_paths();
}
