/*
 * test_push.c - the decoder for pieces does what zlib does, wherever input and output are cut
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "inflate/push.h"
#include "tests/unit/blocks.h"
#include "tests/unit/paths.h"

/* The number of streams that zlib found good, and the number of all other streams. */
static unsigned good, bad;

/* Room for any stream's output. */
#define ROOM ((size_t)1 << 20)

/* The sizes of pieces: 0 means all that is left, and otherwise up to so many bytes. */
struct sizes {
    unsigned in, out;
};

/* The decoder's side and zlib's, which get the same input. */
struct sides {
    struct inf_push *push;
    z_stream z;
    uint8_t *ours, *theirs;
    size_t made; /* bytes at `ours` */
    enum inf_result result;
    int zlib_result;
};

/* Returns the size of the next piece, of which at most `left` bytes are there. */
static size_t next_size(unsigned most, size_t left, uint64_t *state)
{
    const size_t n = most == 0 ? left : most == 1 ? 1 : below(state, most + 1);

    return n < left ? n : left;
}

/* Decodes in[0..len) to s->ours, in pieces whose memory ends with the piece, so that a sanitizer
 * sees any access beyond it.  Stops when the input is used up and there is no more output.  Returns
 * the bytes used. */
static size_t push_input(struct sides *s, const uint8_t *in, size_t len, unsigned out_most,
                         size_t room, uint64_t *state)
{
    size_t used = 0;
    uint8_t *copy = unit_need(malloc(len > 0 ? len : 1));

    if (len > 0)
        memcpy(copy, in, len);
    for (;;) {
        const size_t n = next_size(out_most, room - s->made, state);
        uint8_t *out = unit_need(malloc(n > 0 ? n : 1));
        struct inf_piece piece = {
            .in = copy, .len = len, .used = used, .out = out, .room = n, .made = 0};

        s->result = inf_push(s->push, &piece);
        CHECK(piece.used >= used && piece.used <= len && piece.made <= n);
        used = piece.used;
        if (piece.made > 0)
            memcpy(s->ours + s->made, out, piece.made);
        s->made += piece.made;
        CHECK(inf_push_keep(s->push, out, piece.made));
        free(out);
        if (s->result != INF_MORE || (n > 0 && piece.made < n) || s->made == room)
            break;
    }
    free(copy);
    return used;
}

/* Gives zlib the same input. */
static void zlib_input(struct sides *s, const uint8_t *in, size_t len)
{
    s->z.next_in = (Bytef *)in;
    s->z.avail_in = (uInt)len;
    if (s->zlib_result == Z_OK || s->zlib_result == Z_BUF_ERROR)
        s->zlib_result = inflate(&s->z, Z_SYNC_FLUSH);
}

/* Compares the two sides after both got the same input.  One side may notice an error some bytes
 * before the other does. */
static bool is_same(const struct sides *s, size_t room)
{
    const size_t theirs = room - s->z.avail_out;

    if (s->made != theirs || (theirs > 0 && memcmp(s->ours, s->theirs, theirs) != 0))
        return false;
    return (s->result == INF_END) == (s->zlib_result == Z_STREAM_END);
}

/* Whether an error that one side has noticed is an error to the other side, too, if more input
 * follows. */
static bool is_same_error(struct sides *s, size_t room, uint64_t *state)
{
    static const uint8_t more[400];

    if (s->result == INF_BAD)
        zlib_input(s, more, sizeof(more));
    else if (s->zlib_result == Z_DATA_ERROR)
        push_input(s, more, sizeof(more), 0, room, state);
    return s->made == room || (s->result == INF_BAD) == (s->zlib_result == Z_DATA_ERROR);
}

/* Decodes in[0..len) with both, and compares what they give after each piece of input. */
static bool check(const uint8_t *in, size_t len, size_t room, struct sizes sizes, uint64_t *state)
{
    static uint8_t ours[ROOM], theirs[ROOM];
    struct sides s = {.push = unit_need(inf_push_new()), .ours = ours, .theirs = theirs};
    bool is = true;
    size_t at = 0, left = 0;

    s.z.next_out = s.theirs;
    s.z.avail_out = (uInt)room;
    if (inflateInit2(&s.z, -15) != Z_OK)
        abort();
    while (is && at < len && s.result == INF_MORE && s.made < room) {
        const size_t n = next_size(sizes.in, len - at, state);
        const size_t used = push_input(&s, in + at, n, sizes.out, room, state);

        zlib_input(&s, in + at, n);
        if (s.made < room || s.result == INF_END)
            is = is_same(&s, room);
        left = n - used;
        CHECK(left == 0 || s.result != INF_MORE || s.made == room);
        CHECK(s.result != INF_END || left == s.z.avail_in);
        at += n;
    }
    is = is && is_same_error(&s, room, state);
    good += s.result == INF_END;
    bad += s.result != INF_END;
    inflateEnd(&s.z);
    inf_push_free(s.push);
    return is;
}

/* Decodes a stream in pieces of many sizes. */
static bool check_sizes(const uint8_t *in, size_t len, size_t room, uint64_t *state)
{
    static const struct sizes sizes[] = {{0, 0},     {1, 0},       {0, 1},          {1, 1},
                                         {7, 300},   {40, 3},      {300, 700},      {3000, 70000},
                                         {17, 1000}, {60000, 400}, {100000, 100000}};
    bool is = true;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        if (!CHECK(check(in, len, room, sizes[i], state))) {
            printf("# %zu bytes in pieces of %u and %u\n", len, sizes[i].in, sizes[i].out);
            is = false;
        }
    return is;
}

/* Checks a stream: whole, with bytes after it, cut, and damaged. */
static void check_stream(const struct bytes *raw, uint64_t *state)
{
    const size_t room = ROOM;
    uint8_t *copy = unit_need(malloc(raw->len + 9));

    check_sizes(raw->data, raw->len, room, state);
    memcpy(copy, raw->data, raw->len);
    memset(copy + raw->len, 0x55, 9);
    check_sizes(copy, raw->len + 9, room, state);
    check_sizes(raw->data, below(state, (unsigned)raw->len), room, state);
    for (unsigned i = 0; i < 4; i++) {
        const unsigned at = below(state, (unsigned)raw->len);
        const struct sizes sizes = {1 + below(state, 500), 1 + below(state, 3000)};

        copy[at] ^= (uint8_t)(1u << below(state, 8));
        CHECK(check(copy, raw->len, room, sizes, state));
        if (i % 2 != 0)
            copy[at] = raw->data[at];
    }
    free(copy);
}

/* Tests streams of random blocks, good ones and others. */
static void random_blocks(void)
{
    uint64_t state = 11;

    for (unsigned i = 0; i < 200; i++) {
        struct bytes raw = {0};
        struct stream s = {.bits = {.to = &raw}, .spoil = i % 3 == 0, .random = &state};
        const unsigned blocks = 1 + below(&state, 5);

        for (unsigned k = 1; k <= blocks; k++)
            put_block(&s, k == blocks, below(&state, i % 10 == 0 ? 3000 : 200));
        end_bits(&s.bits);
        check_stream(&raw, &state);
        drop(&raw);
    }
}

/* Compresses in[0..len) by zlib. */
static void deflate_to(struct bytes *raw, const uint8_t *in, size_t len, int level, int strategy)
{
    const size_t room = len + len / 8 + 1000;
    uint8_t *out = unit_need(malloc(room));
    z_stream z = {.next_in = (Bytef *)in, .avail_in = (uInt)len, .next_out = out};

    z.avail_out = (uInt)room;
    if (deflateInit2(&z, level, Z_DEFLATED, -15, 8, strategy) != Z_OK ||
        deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    add(raw, out, room - z.avail_out);
    deflateEnd(&z);
    free(out);
}

/* Writes a text with matches of every distance and length. */
static void make_text(uint8_t *in, size_t len, unsigned i, uint64_t *state)
{
    for (size_t at = 0; at < len;) {
        const size_t distance = 1 + below(state, i % 3 == 0 ? 9 : 40000);
        size_t n = 1 + below(state, 300);

        if (distance > at || one_in(state, 3)) {
            in[at++] = (uint8_t)(i % 2 == 0 ? unit_rand(state) : 'a' + below(state, 4));
            continue;
        }
        for (; n > 0 && at < len; n--, at++)
            in[at] = in[at - distance];
    }
}

/* Tests streams by zlib's deflate, with windows that are full. */
static void by_deflate(void)
{
    static uint8_t in[300000];
    uint64_t state = 3;

    for (unsigned i = 0; i < 24; i++) {
        const size_t len = i < 8 ? below(&state, 600) : below(&state, sizeof(in));
        struct bytes raw = {0};

        make_text(in, len, i, &state);
        deflate_to(&raw, in, len, (int)(i % 10), i % 7 == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY);
        check_stream(&raw, &state);
        drop(&raw);
    }
}

/* Cuts a short stream at every two places, with every limit on each output. */
static void every_split(void)
{
    static const uint8_t text[] = "a text, a text, a text with a text in a text; abcdefghijklmnopq";
    uint64_t state = 5;

    for (int strategy = 0; strategy < 2; strategy++) {
        struct bytes raw = {0};

        deflate_to(&raw, text, sizeof(text), 9, strategy == 0 ? Z_DEFAULT_STRATEGY : Z_FIXED);
        for (size_t a = 0; a <= raw.len; a++)
            for (size_t b = a; b <= raw.len; b++) {
                struct sides s = {.push = unit_need(inf_push_new()),
                                  .ours = unit_need(malloc(sizeof(text)))};
                const unsigned most = 1 + (unsigned)(a + b) % 70;
                const size_t ends[] = {0, a, b, raw.len};

                for (unsigned i = 0; i < 3 && s.made < sizeof(text); i++)
                    push_input(&s, raw.data + ends[i], ends[i + 1] - ends[i], most, sizeof(text),
                               &state);
                CHECK(s.made == sizeof(text) && memcmp(s.ours, text, s.made) == 0);
                inf_push_free(s.push);
                free(s.ours);
            }
        drop(&raw);
    }
}

/* A copy goes on by itself, and so does the original. */
static void copies(void)
{
    static uint8_t in[100000], out[100000];
    struct bytes raw = {0};
    uint64_t state = 9;

    make_text(in, sizeof(in), 1, &state);
    deflate_to(&raw, in, sizeof(in), 6, Z_DEFAULT_STRATEGY);
    for (unsigned i = 0; i < 40; i++) {
        const size_t cut = i == 0 ? 0 : below(&state, (unsigned)raw.len);
        struct inf_push *p = unit_need(inf_push_new()), *copy;
        struct inf_piece piece = {.in = raw.data, .len = cut, .out = out, .room = sizeof(out)}, two;

        CHECK(inf_push(p, &piece) == INF_MORE && piece.used == cut);
        CHECK(inf_push_keep(p, out, piece.made));
        copy = unit_need(inf_push_copy(p));
        two = (struct inf_piece){.in = raw.data + cut,
                                 .len = raw.len - cut,
                                 .out = out + piece.made,
                                 .room = sizeof(out) - piece.made};
        CHECK(inf_push(p, &two) == INF_END && memcmp(out, in, sizeof(in)) == 0);
        inf_push_free(p);
        memset(out + piece.made, 0, sizeof(out) - piece.made);
        two.used = two.made = 0;
        CHECK(inf_push(copy, &two) == INF_END && memcmp(out, in, sizeof(in)) == 0);
        inf_push_free(copy);
    }
    drop(&raw);
}

/* A dictionary is the window before the data's first byte. */
static void dictionary(void)
{
    static uint8_t in[70000], out[70000];
    uint64_t state = 2;

    make_text(in, sizeof(in), 1, &state);
    for (size_t dictionary = 1; dictionary <= 32768; dictionary *= 8) {
        z_stream z = {.next_in = in + 32768, .avail_in = 20000, .next_out = out};
        struct inf_push *p = unit_need(inf_push_new());
        static uint8_t back[20001];
        struct inf_piece piece = {.in = out, .out = back, .room = sizeof(back)};

        z.avail_out = sizeof(out);
        if (deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
            deflateSetDictionary(&z, in + 32768 - dictionary, (uInt)dictionary) != Z_OK ||
            deflate(&z, Z_FINISH) != Z_STREAM_END)
            abort();
        piece.len = sizeof(out) - z.avail_out;
        deflateEnd(&z);
        CHECK(inf_push_keep(p, in + 32768 - dictionary, dictionary));
        CHECK(inf_push(p, &piece) == INF_END && piece.made == 20000);
        CHECK(memcmp(back, in + 32768, 20000) == 0);
        inf_push_free(p);
    }
}

static void counts(void)
{
    printf("# %u good streams, %u others\n", good, bad);
    CHECK(good > 2000 && bad > 2000);
}

int main(void)
{
    RUN(random_blocks);
    RUN(by_deflate);
    RUN(every_split);
    RUN(copies);
    RUN(dictionary);
    RUN(counts);
    return unit_done_on_paths();
}
