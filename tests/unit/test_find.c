/*
 * test_find.c - the search for places where a block may start finds the same places as the simplest
 * search
 *
 * FUZZ_SECONDS=N in the environment: runs N seconds, with new random headers in noise on each run.
 */
#include "config.h"

#include "inflate/blockheader.h"
#include "inflate/find.h"
#include "tests/unit/blocks.h"
#include "tests/unit/streams.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <time.h>

/* --- Marks ---------------------------------------------------------------------------------- */

static const uint8_t sync_bytes[INF_SYNC_SIZE] = {0, 0, 0xff, 0xff};
static const uint8_t mark_bytes[INF_MARK_SIZE] = {0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0xff};
static const uint8_t gzip_bytes[3] = {0x1f, 0x8b, 8};

static void marks(void)
{
    uint8_t in[INF_MARK_SIZE];

    memcpy(in, mark_bytes, sizeof in);
    CHECK(inf_is_mark(in));
    CHECK(inf_is_sync(in));
    for (size_t i = 0; i < sizeof in; i++)
        for (unsigned flip = 1; flip < 256; flip++) {
            in[i] ^= (uint8_t)flip;
            CHECK(!inf_is_mark(in));
            CHECK_EQ(inf_is_sync(in), i >= INF_SYNC_SIZE);
            in[i] ^= (uint8_t)flip;
        }
}

/* True if one of the patterns starts at in[at], and in[0..size) contains all of the pattern. */
static bool starts_at(const uint8_t *in, size_t size, size_t at)
{
    return (at + sizeof sync_bytes <= size &&
            memcmp(in + at, sync_bytes, sizeof sync_bytes) == 0) ||
           (at + sizeof gzip_bytes <= size && memcmp(in + at, gzip_bytes, sizeof gzip_bytes) == 0);
}

/* Checks the result of inf_find_hint for in[from..to).  The whole input has `size` bytes. */
static bool check_hint(const uint8_t *in, size_t size, size_t from, size_t to)
{
    const size_t hint = inf_find_hint(in, from, to);
    bool ok = CHECK(hint >= from && hint <= to);

    for (size_t at = from; at < hint && ok; at++)
        ok = CHECK(!starts_at(in, size, at));
    if (!ok)
        printf("# %zu in %zu..%zu\n", hint, from, to);
    return ok;
}

/* Goes from hint to hint, as the callers of inf_find_hint do, and counts the patterns. */
static size_t count_by_hints(const uint8_t *in, size_t size, size_t to)
{
    size_t found = 0;

    for (size_t at = 0; (at = inf_find_hint(in, at, to)) < to; at += INF_HINT_SIZE)
        for (size_t i = at; i < at + INF_HINT_SIZE && i < to; i++)
            found += starts_at(in, size, i);
    return found;
}

static void planted_hints(void)
{
    enum { SIZE = 600 };
    static const struct {
        const uint8_t *bytes;
        size_t len;
    } patterns[] = {{sync_bytes, sizeof sync_bytes},
                    {mark_bytes, sizeof mark_bytes},
                    {gzip_bytes, sizeof gzip_bytes}};

    for (size_t p = 0; p < 3; p++)
        for (size_t at = 0; at <= 300; at++)
            for (unsigned filling = 0; filling < 3; filling++) {
                uint8_t in[SIZE];
                memset(in, filling == 0 ? 0x55 : filling == 1 ? 0 : 0xff, sizeof in);
                memcpy(in + at, patterns[p].bytes, patterns[p].len);
                for (size_t from = 0; from <= 9; from++)
                    for (size_t to = SIZE - 300; to <= SIZE; to += to < 320 ? 1 : 17)
                        if (!check_hint(in, SIZE, from, to))
                            return;
                /* A hint must be near the pattern. */
                const size_t hint = inf_find_hint(in, 0, SIZE);
                if (filling == 0)
                    CHECK(hint <= at && at <= hint + INF_HINT_SIZE);
                size_t all = 0;
                for (size_t i = 0; i < SIZE; i++)
                    all += starts_at(in, SIZE, i);
                CHECK(all != 0);
                CHECK_EQ(count_by_hints(in, SIZE, SIZE), all);
            }
}

/* Input without patterns must be skipped, except its last bytes. */
static void no_hints(void)
{
    uint8_t in[2000];

    for (unsigned filling = 0; filling < 0xff; filling++) {
        memset(in, (int)filling, sizeof in);
        for (size_t to = 0; to <= sizeof in; to += 13) {
            const size_t hint = inf_find_hint(in, to / 7, to);
            CHECK(hint <= to && to - hint < INF_HINT_SIZE + 2);
        }
        CHECK_EQ(inf_find_hint(in, filling, filling), filling);
    }
}

static void hints_in_noise(void)
{
    uint64_t state = 21;

    for (unsigned n = 0; n < 3000; n++) {
        uint8_t in[1000];
        /* Noise of all bytes, or of the bytes in the patterns. */
        const uint8_t few[8] = {0, 0xff, 0x1f, 0x8b, 8, 1, 2, 3};
        const bool any = one_in(&state, 2);
        const unsigned kinds = 2 + below(&state, 7);
        for (size_t i = 0; i < sizeof in; i++)
            in[i] = any ? (uint8_t)unit_rand(&state) : few[below(&state, kinds)];
        for (unsigned k = below(&state, 4); k != 0; k--)
            memcpy(in + below(&state, sizeof in - 9), mark_bytes, sizeof mark_bytes);
        const size_t to = below(&state, sizeof in + 1), from = below(&state, (unsigned)to + 1);
        /* Memory of exactly this size lets a sanitizer see reads past the end. */
        uint8_t *copy = unit_need(malloc(to + 1));
        memcpy(copy, in, to);
        copy = unit_need(realloc(copy, to != 0 ? to : 1));
        const size_t hint = inf_find_hint(copy, from, to);
        CHECK_EQ(inf_find_hint(in, from, to), hint);
        free(copy);
        if (!check_hint(in, sizeof in, from, to))
            return;
        size_t all = 0;
        for (size_t i = 0; i < to; i++)
            all += starts_at(in, sizeof in, i);
        CHECK_EQ(count_by_hints(in, sizeof in, to), all);
    }
}

/* --- Dynamic blocks ------------------------------------------------------------------------- */

static struct inf_finder finder;

/* The first bit of the headers that `finder` finds: 1 for final blocks. */
static unsigned final_bit;

static unsigned bit_of(const uint8_t *in, uint64_t place)
{
    return in[place / 8] >> place % 8 & 1;
}

/* True if the header of a dynamic block starts at bit `place`, and the block is of the kind that
 * `finder` finds: final, or not final. */
static bool is_start(const uint8_t *in, size_t len, uint64_t place)
{
    struct inf_block block;

    if (place + 3 > 8 * (uint64_t)len || bit_of(in, place) != final_bit ||
        bit_of(in, place + 1) != 0 || bit_of(in, place + 2) != 1)
        return false;
    const uint8_t *rest = in + place / 8 + 1;
    return inf_check_block((uint64_t)in[place / 8] >> place % 8, 8 - (unsigned)(place % 8), rest,
                           len - (size_t)(rest - in), &block) == INF_BLOCK_GOOD;
}

/* Does the same as inf_find_dynamic(), by trying each bit. */
static uint64_t by_trying(const uint8_t *in, size_t len, uint64_t from, uint64_t to)
{
    for (; from < to && from < 8 * (uint64_t)len; from++)
        if (is_start(in, len, from))
            return from;
    return INF_NOWHERE;
}

/* Calls inf_find_dynamic() on a copy of the input.  The copy's memory has room for the input and
 * exactly the 8 further bytes that inf_find_dynamic() may read. */
static uint64_t find(const uint8_t *in, size_t len, uint64_t from, uint64_t to)
{
    static unsigned filling;
    static const uint8_t fillings[] = {0, 0xff, 0x55, 0x24};
    uint8_t *copy = unit_need(malloc(len + 8));

    if (len != 0)
        memcpy(copy, in, len);
    memset(copy + len, fillings[filling++ % 4], 8);
    const uint64_t found = inf_find_dynamic(&finder, copy, len, from, to);
    free(copy);
    return found;
}

static bool compare(const uint8_t *in, size_t len, uint64_t from, uint64_t to)
{
    const bool ok = CHECK_EQ(find(in, len, from, to), by_trying(in, len, from, to));

    if (!ok)
        printf("# from bit %llu to %llu of %zu bytes\n", (unsigned long long)from,
               (unsigned long long)to, len);
    return ok;
}

/* Checks that both searches find the same places, one place after another.  Returns the number of
 * places. */
static size_t compare_all(const uint8_t *in, size_t len)
{
    const uint64_t end = 8 * (uint64_t)len;
    size_t found = 0;

    for (uint64_t from = 0;; from++, found++) {
        const uint64_t want = by_trying(in, len, from, end);
        if (!CHECK_EQ(inf_find_dynamic(&finder, in, len, from, end), want)) {
            printf("# from bit %llu of %zu bytes\n", (unsigned long long)from, len);
            break;
        }
        from = want;
        if (want == INF_NOWHERE)
            break;
    }
    return found;
}

/* Appends text made of a few words. */
static void add_text(struct bytes *b, size_t len, uint64_t *state)
{
    while (b->len < len) {
        char word[32];
        const int n =
            snprintf(word, sizeof word, "word%u, ", below(state, one_in(state, 2) ? 9 : 999));
        add(b, word, (size_t)n);
    }
}

static void compressed(void)
{
    uint64_t state = 22;
    struct bytes text = {0};
    size_t found = 0;

    add_text(&text, 60000, &state);
    for (int mem_level = 1; mem_level <= 9; mem_level += 2) {
        struct bytes raw = {0};
        uint8_t out[4096];
        z_stream z = {.next_in = text.data, .avail_in = (uInt)text.len};
        if (deflateInit2(&z, mem_level, Z_DEFLATED, -15, mem_level, mem_level == 5 ? 2 : 0) != Z_OK)
            abort();
        do {
            z.next_out = out;
            z.avail_out = sizeof out;
            deflate(&z, Z_FINISH);
            add(&raw, out, sizeof out - z.avail_out);
        } while (z.avail_out == 0);
        deflateEnd(&z);
        add(&raw, "trailing", 8);
        found += compare_all(raw.data, raw.len - 8);
        drop(&raw);
    }
    CHECK(found > 50);
    drop(&text);
}

static void other_data(void)
{
    enum { SIZE = 100000 };
    static uint8_t in[SIZE + 8];
    uint64_t state = 23;

    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)unit_rand(&state);
    compare_all(in, SIZE);
    for (unsigned filling = 0; filling < 256; filling += filling % 51 == 0 ? 1 : 5) {
        memset(in, (int)filling, sizeof in);
        compare_all(in, 2000);
        for (size_t len = 0; len < 30; len++)
            compare_all(in, len);
    }
}

/* A header, good or spoiled, with noise around it. */
struct planted {
    struct bytes b;
    uint64_t place, end; /* where the header starts and ends, in bits */
};

static struct planted plant(bool spoil, uint64_t *state)
{
    struct planted p = {0};
    struct codes c;
    struct header h;
    struct bits bits = {.to = &p.b};

    for (unsigned n = below(state, 60); n != 0; n--)
        put_bits(&bits, unit_rand(state), 1 + below(state, 8));
    p.place = 8 * p.b.len + bits.n;
    random_codes(&c, spoil, state);
    random_header(&h, &c, spoil, state);
    put_header(&bits, one_in(state, 20), &h);
    p.end = 8 * p.b.len + bits.n;
    for (unsigned n = below(state, 30); n != 0; n--)
        put_bits(&bits, unit_rand(state), 8);
    end_bits(&bits);
    return p;
}

/* Tests searches that start and end at each bit near a header, and searches in input that is cut
 * off after each byte. */
static void around_a_header(void)
{
    uint64_t state = 24;
    unsigned good = 0;

    for (unsigned n = 0; n < 30; n++) {
        const struct planted p = plant(false, &state);
        const uint64_t low = p.place < 40 ? 0 : p.place - 40;
        bool ok = true;
        good += is_start(p.b.data, p.b.len, p.place);
        for (uint64_t from = low; from < p.place + 20 && ok; from++)
            for (uint64_t to = low; to < p.place + 100 && ok; to += to < p.place + 20 ? 1 : 7)
                ok = compare(p.b.data, p.b.len, from, to);
        for (size_t len = 0; len <= p.b.len && ok; len++) {
            ok = compare(p.b.data, len, 0, 8 * (uint64_t)len);
            ok = compare(p.b.data, len, p.place, p.place + 1) && ok;
            if (8 * (uint64_t)len < p.end)
                ok = CHECK(find(p.b.data, len, p.place, p.place + 1) == INF_NOWHERE) && ok;
        }
        free(p.b.data);
    }
    CHECK(good > 20);
}

static void headers_at_random(void)
{
    const char *seconds = getenv("FUZZ_SECONDS");
    const time_t start = time(NULL), limit = seconds != NULL ? atoi(seconds) : 0;
    uint64_t state = limit != 0 ? (uint64_t)start : 25;
    unsigned long n = 0, good = 0, bad = 0;
    bool ok = true;

    for (; ok && (limit != 0 ? time(NULL) - start < limit : n < 8000); n++) {
        struct planted p = plant(!one_in(&state, 3), &state);
        if (one_in(&state, 3))
            p.b.len = below(&state, (unsigned)p.b.len + 1);
        good += is_start(p.b.data, p.b.len, p.place);
        bad += !is_start(p.b.data, p.b.len, p.place);
        ok = compare(p.b.data, p.b.len, p.place, p.place + 1);
        const unsigned bits = 8 * (unsigned)p.b.len + 1;
        ok = compare(p.b.data, p.b.len, below(&state, bits), below(&state, bits + 50)) && ok;
        free(p.b.data);
    }
    printf("# %lu headers, %lu good, %lu not\n", n, good, bad);
    CHECK(good > n / 6 && bad > n / 6);
}

static void final_blocks(void)
{
    uint64_t state = 26;
    unsigned good = 0;

    inf_finder_init_final(&finder);
    final_bit = 1;
    for (unsigned n = 0; n < 4000; n++) {
        const struct planted p = plant(false, &state);

        good += is_start(p.b.data, p.b.len, p.place);
        if (!compare(p.b.data, p.b.len, 0, 8 * (uint64_t)p.b.len))
            n = 4000;
        free(p.b.data);
    }
    CHECK(good > 100);
    final_bit = 0;
    inf_finder_init(&finder);
}

/* --- Stored blocks -------------------------------------------------------------------------- */

/* Whether in[2..4) are the complement of in[0..2). */
static bool is_complement(const uint8_t *in)
{
    return in[0] + in[2] == 255 && in[1] + in[3] == 255;
}

/* What inf_find_stored finds, by the simplest search. */
static size_t model_stored(const uint8_t *in, size_t len, size_t from, size_t to)
{
    for (size_t at = from; at < to && at + 4 <= len; at++) {
        const size_t length = in[at] + 256u * in[at + 1], end = at + 4 + length;

        if (length > 0 && is_complement(in + at) && end < to && end + 5 <= len && in[end] == 0 &&
            (in[end + 1] | in[end + 2]) != 0 && is_complement(in + end + 1))
            return end;
    }
    return SIZE_MAX;
}

/* Writes the header of a stored block of `length` bytes to `to`. */
static void put_stored_header(uint8_t *to, size_t length)
{
    const uint8_t header[] = {0, (uint8_t)length, (uint8_t)(length >> 8), (uint8_t)~length,
                              (uint8_t)(~length >> 8)};

    memcpy(to, header, sizeof header);
}

/* Stored blocks of any lengths in noise, one or several in a row, searched from any place. */
static void stored_blocks(void)
{
    enum { ROOM = 3000 };
    uint8_t *in = unit_need(malloc(ROOM));
    uint64_t state = 7;
    unsigned found = 0, none = 0;

    for (unsigned n = 0; n < 20000; n++) {
        const size_t len = 600 + unit_below(&state, ROOM - 600);
        const size_t from = unit_below(&state, 300), to = len - unit_below(&state, 300);
        size_t at = unit_below(&state, 400), place;

        for (size_t i = 0; i < len; i++)
            in[i] = (uint8_t)unit_below(&state, n % 3 == 0 ? 2 : 256);
        for (unsigned blocks = unit_below(&state, 5); blocks > 0 && at + 5 <= len; blocks--) {
            const size_t length = unit_below(&state, n % 2 == 0 ? 700 : 4);

            put_stored_header(in + at, length);
            at += 5 + length;
        }
        place = inf_find_stored(in, len, from, to);
        if (!CHECK_EQ(place, model_stored(in, len, from, to)))
            break;
        found += place != SIZE_MAX;
        none += place == SIZE_MAX;
    }
    CHECK(found > 2000 && none > 2000);
    /* The second block's header lacks its last byte. */
    memset(in, 1, ROOM);
    put_stored_header(in, 3);
    put_stored_header(in + 8, 3);
    CHECK_EQ(inf_find_stored(in, 13, 0, 13), 8);
    CHECK_EQ(inf_find_stored(in, 12, 0, 12), SIZE_MAX);
    free(in);
}

int main(void)
{
    inf_finder_init(&finder);
    RUN(headers_at_random);
    if (getenv("FUZZ_SECONDS") != NULL)
        return unit_done();
    RUN(marks);
    RUN(planted_hints);
    RUN(no_hints);
    RUN(hints_in_noise);
    RUN(stored_blocks);
    RUN(compressed);
    RUN(other_data);
    RUN(around_a_header);
    RUN(final_blocks);
    return unit_done();
}
