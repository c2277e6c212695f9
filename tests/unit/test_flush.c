/*
 * test_flush.c - compressing streams that are flushed (GZLZSS_FLUSH and GZLZSS_FULL_FLUSH)
 *
 * After each flush, zlib must be able to decode the output up to there to the whole input up to
 * there.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <zlib.h>

#include "include/gzlzss.h"
#include "tests/unit/unit.h"

#define SEGMENT ((size_t)64 << 10)
#define INPUT_SIZE ((size_t)6 << 20)

static uint8_t *input;

static gzlzss *object(gzlzss_options o)
{
    gzlzss *z;

    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    return unit_need(z);
}

static gzlzss_options options(int level, int threads)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;

    o.level = level;
    o.threads = threads;
    o.backend = GZLZSS_CPU;
    o.segment_size = SEGMENT;
    return o;
}

/* --- A stream, and zlib on the other side --------------------------------------------------- */

struct line {
    gzlzss_stream *s;
    z_stream inflater;
    size_t pushed, decoded; /* bytes of input pushed, and those that zlib has decoded */
    bool is_right;          /* all bytes that zlib has decoded equal the input */
    int ended;              /* inflate's last result */
    uint8_t *out;           /* all output, unless NULL */
    size_t out_len;
};

/* Opens a stream, and keeps up to `keeps` bytes of its output. */
static void line_open(struct line *l, gzlzss *z, size_t keeps)
{
    *l = (struct line){.is_right = true, .ended = Z_OK};
    CHECK_EQ(gzlzss_compress_stream(&l->s, z, NULL), GZLZSS_OK);
    if (inflateInit2(&l->inflater, 15 + 16) != Z_OK)
        abort();
    if (keeps > 0)
        l->out = unit_need(malloc(keeps));
}

static void line_close(struct line *l)
{
    gzlzss_stream_free(l->s);
    inflateEnd(&l->inflater);
    free(l->out);
}

/* Lets zlib decode bytes[0..len), and compares the result with the input. */
static void decode(struct line *l, const uint8_t *bytes, size_t len)
{
    uint8_t back[4096];

    if (l->out != NULL)
        memcpy(l->out + l->out_len, bytes, len);
    l->out_len += len;
    l->inflater.next_in = (Bytef *)bytes;
    l->inflater.avail_in = (uInt)len;
    do {
        size_t n;

        l->inflater.next_out = back;
        l->inflater.avail_out = sizeof(back);
        l->ended = inflate(&l->inflater, Z_SYNC_FLUSH);
        n = sizeof(back) - l->inflater.avail_out;
        l->is_right =
            l->is_right &&
            (l->ended == Z_OK || l->ended == Z_STREAM_END || (l->ended == Z_BUF_ERROR && n == 0)) &&
            memcmp(back, input + l->decoded, n) == 0;
        l->decoded += n;
    } while (l->inflater.avail_out == 0);
}

/* Runs the stream with `len` further bytes of input, through an output buffer of `room` bytes,
 * until the stream has done what the directive asks.  Returns the stream's last status. */
static gzlzss_status run(struct line *l, size_t len, gzlzss_directive directive, size_t room)
{
    uint8_t *buffer = unit_need(malloc(room));
    gzlzss_in in = {input + l->pushed, len, 0};
    gzlzss_out out;
    gzlzss_status status;

    do {
        out = (gzlzss_out){buffer, room, 0};
        status = gzlzss_stream_run(l->s, &out, &in, directive);
        decode(l, buffer, out.used);
    } while (status == GZLZSS_OK &&
             (out.used == out.size || (directive == GZLZSS_END && status == GZLZSS_OK)));
    l->pushed += in.used;
    CHECK(status < 0 || in.used == in.size);
    free(buffer);
    return status;
}

/* True if zlib has decoded all bytes that were pushed. */
static bool is_current(const struct line *l)
{
    return l->is_right && l->decoded == l->pushed;
}

static void end(struct line *l)
{
    CHECK_EQ(run(l, 0, GZLZSS_END, 1000), GZLZSS_STREAM_END);
    CHECK(is_current(l));
    CHECK_EQ(l->ended, Z_STREAM_END);
    CHECK_EQ(l->inflater.avail_in, 0);
}

/* --- Tests ---------------------------------------------------------------------------------- */

/* Returns a random length below `most`.  Small lengths are frequent. */
static size_t some_length(uint64_t *state, size_t most)
{
    return unit_below(state, 1 + unit_below(state, 1 + unit_below(state, most)));
}

/* Pushes and flushes at random places, with output buffers of random sizes. */
static void push_at_random(struct line *l, uint64_t *state, int count, size_t most)
{
    for (int i = 0; i < count; i++) {
        const size_t n = some_length(state, most), left = INPUT_SIZE - l->pushed;
        const size_t room = 1 + some_length(state, 3000);
        const unsigned what = (unsigned)unit_below(state, 8);

        CHECK_EQ(run(l, n < left ? n : left,
                     what == 0   ? GZLZSS_CONTINUE
                     : what == 1 ? GZLZSS_FULL_FLUSH
                                 : GZLZSS_FLUSH,
                     room),
                 GZLZSS_OK);
        if (!CHECK(l->is_right && (what == 0 || is_current(l))))
            return;
    }
}

/* Tests 10,000 pushes and flushes in all, and some more for rarer options. */
static void test_random(void)
{
    static const struct {
        int level, count;
        bool rsyncable;
        const char *matcher;
    } kinds[] = {{6, 4000, false, NULL}, {1, 1500, false, NULL},  {2, 500, false, NULL},
                 {4, 1000, false, NULL}, {9, 2000, false, NULL},  {0, 500, false, NULL},
                 {10, 300, false, NULL}, {12, 200, false, NULL},  {6, 300, true, NULL},
                 {0, 200, true, NULL},   {6, 100, false, "lzss"}, {6, 300, false, NULL}};
    uint64_t state = 1;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        gzlzss_options o = options(kinds[i].level, 1 + (int)(i % 3));
        gzlzss *z;
        struct line l;

        o.rsyncable = kinds[i].rsyncable;
        o.matcher = kinds[i].matcher;
        /* The last kind has the default segment size, and pushes of up to 300,000 bytes. */
        if (i + 1 == sizeof(kinds) / sizeof(*kinds))
            o.segment_size = 0;
        if (gzlzss_new(&z, &o) != GZLZSS_OK) {
            CHECK(o.matcher != NULL); /* a build without papers */
            continue;
        }
        line_open(&l, z, 0);
        push_at_random(&l, &state, UNIT_SANITIZED ? kinds[i].count / 4 : kinds[i].count,
                       o.segment_size == 0 ? 300000
                       : i % 2 == 0        ? 3000
                                           : 100000);
        end(&l);
        line_close(&l);
        gzlzss_free(z);
    }
}

/* The output depends on the places of the flushes, but not on threads, on how the input is pushed,
 * or on other streams. */
static void test_one_output(void)
{
    static const size_t places[] = {1,     2,      300,    301,    5000,   32768,  32769, 65536,
                                    65537, 100000, 270000, 270100, 700000, 900000, 900001};
    enum { PLACES = sizeof(places) / sizeof(*places) };

    for (int level = 0; level <= 12; level += level == 0 || level == 9 ? 1 : 4) {
        gzlzss *one = object(options(level, 1)), *many = object(options(level, 4));
        struct line a, b;

        line_open(&a, one, 2 * INPUT_SIZE);
        line_open(&b, many, 2 * INPUT_SIZE);
        for (unsigned i = 0; i < PLACES; i++) {
            const gzlzss_directive flush = i % 5 == 4 ? GZLZSS_FULL_FLUSH : GZLZSS_FLUSH;

            CHECK_EQ(run(&a, places[i] - a.pushed, flush, 100000), GZLZSS_OK);
            while (b.pushed < places[i]) {
                const size_t left = places[i] - b.pushed, n = left < 7777 ? left : 7777;

                CHECK_EQ(run(&b, n, GZLZSS_CONTINUE, 50), GZLZSS_OK);
            }
            CHECK_EQ(run(&b, 0, flush, 77), GZLZSS_OK);
            CHECK(is_current(&a) && is_current(&b));
            CHECK_EQ(a.out_len, b.out_len);
        }
        end(&a);
        end(&b);
        CHECK(a.out_len == b.out_len && memcmp(a.out, b.out, a.out_len) == 0);
        line_close(&a);
        line_close(&b);
        gzlzss_free(one);
        gzlzss_free(many);
    }
}

/* More streams than there are tables take turns.  Each stream finds that another stream has its
 * tables, and fills other tables. */
static void test_many_streams(void)
{
    enum { STREAMS = 300, ROUNDS = UNIT_SANITIZED ? 10 : 50, STEP = 1997 };
    static struct line lines[STREAMS];
    struct line alone;
    gzlzss *z = object(options(9, 2));

    for (int i = 0; i < STREAMS; i++)
        line_open(&lines[i], z, 2 * ROUNDS * STEP);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < STREAMS; i++) {
            CHECK_EQ(run(&lines[i], STEP, GZLZSS_FLUSH, 5000), GZLZSS_OK);
            CHECK(is_current(&lines[i]));
        }
    line_open(&alone, z, 2 * ROUNDS * STEP);
    for (int round = 0; round < ROUNDS; round++)
        CHECK_EQ(run(&alone, STEP, GZLZSS_FLUSH, 5000), GZLZSS_OK);
    for (int i = 0; i < STREAMS; i++) {
        CHECK(lines[i].out_len == alone.out_len &&
              memcmp(lines[i].out, alone.out, alone.out_len) == 0);
        line_close(&lines[i]);
    }
    line_close(&alone);
    gzlzss_free(z);
}

/* Flushes every `step` bytes, far past a window and past 64 KiB, where a stream cuts off bytes that
 * no match can reach.  The segments are long, so that no mark empties the window.  zlib decodes all
 * output; its CRC and length are `crc` and `out_len`. */
static void flush_regularly(int level, size_t step, uint32_t crc, size_t out_len)
{
    gzlzss_options o = options(level, 1);
    gzlzss *z;
    struct line l;

    o.segment_size = (size_t)1 << 20;
    z = object(o);
    line_open(&l, z, INPUT_SIZE);
    while (l.pushed < 300000) {
        CHECK_EQ(run(&l, step, GZLZSS_FLUSH, 5000), GZLZSS_OK);
        if (!CHECK(is_current(&l)))
            break;
    }
    end(&l);
    CHECK_EQ(crc32(0, l.out, (uInt)l.out_len), crc);
    CHECK_EQ(l.out_len, out_len);
    line_close(&l);
    gzlzss_free(z);
}

/* The recorded CRCs and lengths change only when a level is changed on purpose. */
static void test_regular(void)
{
    static const struct {
        int level;
        size_t step;
        uint32_t crc;
        size_t out_len;
    } recorded[] = {
        {1, 777, 0xb5a9ce92, 184671},    {4, 777, 0xf9aad0c9, 186534},
        {6, 777, 0x39a37073, 187299},    {0, 3000, 0x179121a2, 301020},
        {1, 3000, 0xafac1e88, 185289},   {2, 3000, 0x880eac15, 185289},
        {3, 3000, 0x6b9f6db6, 187931},   {4, 3000, 0xa6b3183f, 187254},
        {5, 3000, 0x6c2e32f4, 187253},   {6, 3000, 0xfafa5cdf, 187741},
        {7, 3000, 0x99bf7c49, 187305},   {8, 3000, 0x9537b237, 187306},
        {9, 3000, 0x796a2162, 187306},   {10, 3000, 0x796a2162, 187306},
        {11, 3000, 0x796a2162, 187306},  {12, 3000, 0x796a2162, 187306},
        {1, 4096, 0x85095937, 188217},   {4, 4096, 0xcc0cebaf, 190042},
        {6, 4096, 0xe5d9c8d9, 190548},   {1, 10000, 0x7aefe2fd, 184185},
        {4, 10000, 0x866d2ea0, 185378},  {6, 10000, 0x6086229b, 185907},
        {1, 32767, 0x5f0f5512, 199493},  {4, 32767, 0xe59f19b3, 199608},
        {6, 32767, 0xcf90dffc, 200545},  {1, 32768, 0x8089066f, 199489},
        {4, 32768, 0x9aa46513, 199605},  {6, 32768, 0x4a4f565f, 200533},
        {1, 32769, 0x5864fc79, 199493},  {4, 32769, 0xe06e21a4, 199617},
        {6, 32769, 0x3dcaeae6, 200548},  {1, 40000, 0x3240f006, 197142},
        {4, 40000, 0xa0877914, 197131},  {6, 40000, 0x9f38a31d, 197914},
        {1, 65535, 0x7a0ec8d6, 199333},  {4, 65535, 0x5f320792, 199519},
        {6, 65535, 0xd720fd3f, 200480},  {1, 65537, 0xc8f31330, 199334},
        {4, 65537, 0x47aab2e7, 199521},  {6, 65537, 0x24859ae6, 200478},
        {1, 100000, 0xa2ef0afe, 183544}, {4, 100000, 0x018bc984, 183557},
        {6, 100000, 0x18c78ea7, 184466}, {6, 300, 0x4039c63c, 191569},
    };

    for (size_t i = 0; i < sizeof(recorded) / sizeof(*recorded); i++)
        flush_regularly(recorded[i].level, recorded[i].step, recorded[i].crc, recorded[i].out_len);
}

/* More streams than the object keeps sets of tools for (TOOLS_MOST in flush.c) are flushed and
 * freed.  Others then get the tools of freed streams, and must not write to these streams' memory,
 * which only a sanitizer sees. */
static void test_freed_owners(void)
{
    enum { STREAMS = 300, KEPT = 40, STEP = 700 };
    gzlzss *z = object(options(6, 1));
    struct line *lines = unit_need(calloc(STREAMS, sizeof(*lines)));

    for (int round = 0; round < 3; round++) {
        for (int i = round == 0 ? 0 : KEPT; i < STREAMS; i++)
            line_open(&lines[i], z, 0);
        for (int flush = 0; flush < 2; flush++)
            for (int i = 0; i < STREAMS; i++) {
                CHECK_EQ(run(&lines[i], STEP, GZLZSS_FLUSH, 3000), GZLZSS_OK);
                CHECK(is_current(&lines[i]));
            }
        /* Every second stream goes first, then the rest. */
        for (int i = KEPT; i < STREAMS; i += 2)
            line_close(&lines[i]);
        for (int i = KEPT + 1; i < STREAMS; i += 2)
            line_close(&lines[i]);
    }
    for (int i = 0; i < KEPT; i++) {
        end(&lines[i]);
        line_close(&lines[i]);
    }
    free(lines);
    gzlzss_free(z);
}

/* Tests flushes where there is nothing to flush. */
static void test_nothing_new(void)
{
    static const uint8_t block[5] = {0, 0, 0, 0xff, 0xff};

    for (int level = 0; level <= 6; level += 6)
        for (int rsyncable = 0; rsyncable <= 1; rsyncable++) {
            gzlzss_options o = options(level, 1);
            gzlzss *z;
            struct line l;
            size_t len;

            o.rsyncable = rsyncable;
            z = object(o);
            line_open(&l, z, 2 * INPUT_SIZE);
            /* A flush at the start gives the header and an empty block. */
            CHECK_EQ(run(&l, 0, GZLZSS_FLUSH, 100), GZLZSS_OK);
            CHECK_EQ(l.out_len, 10 + sizeof(block));
            CHECK(memcmp(l.out + 10, block, sizeof(block)) == 0);
            CHECK_EQ(run(&l, 0, GZLZSS_FLUSH, 100), GZLZSS_OK);
            CHECK_EQ(l.out_len, 10 + sizeof(block));
            CHECK_EQ(run(&l, 0, GZLZSS_FULL_FLUSH, 100), GZLZSS_OK);
            CHECK_EQ(l.out_len, 10 + 2 * sizeof(block));
            CHECK_EQ(run(&l, 500, GZLZSS_FLUSH, 100), GZLZSS_OK);
            len = l.out_len;
            CHECK(memcmp(l.out + len - 4, block + 1, 4) == 0);
            CHECK(memcmp(l.out + len - 9, block + 1, 4) != 0);
            CHECK_EQ(run(&l, 0, GZLZSS_FLUSH, 100), GZLZSS_OK);
            CHECK_EQ(l.out_len, len);
            /* A full flush adds a second empty block, which makes a mark. */
            CHECK_EQ(run(&l, 0, GZLZSS_FULL_FLUSH, 100), GZLZSS_OK);
            CHECK_EQ(l.out_len, len + 5);
            CHECK(memcmp(l.out + len, block, 5) == 0);
            CHECK_EQ(run(&l, 0, GZLZSS_FULL_FLUSH, 100), GZLZSS_OK);
            CHECK_EQ(run(&l, 0, GZLZSS_FLUSH, 100), GZLZSS_OK);
            CHECK_EQ(l.out_len, len + 5);
            CHECK(is_current(&l));
            end(&l);
            line_close(&l);
            /* The stream consists of a flush and the end. */
            line_open(&l, z, 2 * INPUT_SIZE);
            CHECK_EQ(run(&l, 0, GZLZSS_FULL_FLUSH, 100), GZLZSS_OK);
            end(&l);
            line_close(&l);
            gzlzss_free(z);
        }
}

/* The steps of a stream: a digit to the base 4 is one of these. */
enum step { STEP_BYTES, STEP_CONTINUE, STEP_FLUSH, STEP_FULL, STEPS };

/* Tells for each step whether zlib gives output, as bits of the result. */
static unsigned steps_by_zlib(unsigned steps, int count)
{
    static const int flushes[] = {Z_NO_FLUSH, Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH};
    z_stream s = {.next_in = (Bytef *)input};
    uint8_t out[5000];
    unsigned gives = 0;

    if (deflateInit2(&s, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    for (int i = 0; i < count; i++, steps /= STEPS) {
        s.avail_in = steps % STEPS == STEP_BYTES ? 300 : 0;
        s.next_out = out;
        s.avail_out = sizeof(out);
        /* Z_BUF_ERROR is the result if there is nothing to do. */
        (void)deflate(&s, flushes[steps % STEPS]);
        gives |= (unsigned)(s.avail_out < sizeof(out)) << i;
    }
    deflateEnd(&s);
    return gives;
}

/* The last `len` bytes of the output. */
static bool ends_with(const struct line *l, const void *bytes, size_t len)
{
    return l->out_len >= len && memcmp(l->out + l->out_len - len, bytes, len) == 0;
}

/* Flushes give output where zlib gives some, and it ends with the bytes that a WebSocket cuts off.
 * Between two flushes without a full one there is no mark, since matches may cross the place. */
static void try_steps(gzlzss *z, unsigned steps, int count, bool looks_back)
{
    static const gzlzss_directive directives[] = {GZLZSS_CONTINUE, GZLZSS_CONTINUE, GZLZSS_FLUSH,
                                                  GZLZSS_FULL_FLUSH};
    const unsigned gives = steps_by_zlib(steps, count);
    bool may_cross = false;
    struct line l;

    line_open(&l, z, 5000);
    for (int i = 0; i < count; i++, steps /= STEPS) {
        const enum step step = steps % STEPS;
        const size_t before = l.out_len;

        CHECK_EQ(run(&l, step == STEP_BYTES ? 300 : 0, directives[step], 5000), GZLZSS_OK);
        may_cross = looks_back && ((may_cross && step != STEP_FULL) || step == STEP_BYTES);
        if (step < STEP_FLUSH)
            continue;
        CHECK_EQ(l.out_len > before, gives >> i & 1);
        CHECK(ends_with(&l, "\0\0\377\377", 4));
        CHECK(!may_cross || !ends_with(&l, "\0\0\377\377\0\0\0\377\377", 9));
        CHECK(is_current(&l));
    }
    end(&l);
    line_close(&l);
}

static void test_as_zlib(void)
{
    for (int level = 0; level <= 6; level += 6)
        for (int rsyncable = 0; rsyncable <= 1; rsyncable++) {
            gzlzss_options o = options(level, 1);
            gzlzss *z;

            o.rsyncable = rsyncable;
            o.verify = true;
            z = object(o);
            for (unsigned steps = 0; steps < STEPS * STEPS * STEPS * STEPS; steps++)
                try_steps(z, steps, 4, true);
            gzlzss_free(z);
        }
}

/* In BGZF, a flush without new bytes writes nothing: an empty member would end the file. */
static void test_nothing_new_in_bgzf(void)
{
    gzlzss_options o = options(6, 1);
    struct line l;
    size_t len;
    gzlzss *z;

    o.format = GZLZSS_BGZF;
    o.segment_size = 0;
    z = object(o);
    line_open(&l, z, 10000);
    CHECK_EQ(run(&l, 500, GZLZSS_FLUSH, 5000), GZLZSS_OK);
    len = l.out_len;
    CHECK_EQ(run(&l, 0, GZLZSS_CONTINUE, 100), GZLZSS_OK);
    CHECK_EQ(run(&l, 0, GZLZSS_FLUSH, 100), GZLZSS_OK);
    CHECK_EQ(run(&l, 0, GZLZSS_FULL_FLUSH, 100), GZLZSS_OK);
    CHECK_EQ(l.out_len, len);
    CHECK_EQ(run(&l, 0, GZLZSS_END, 100), GZLZSS_STREAM_END);
    CHECK_EQ(l.out_len, len + 28);
    line_close(&l);
    gzlzss_free(z);
}

/* Tests flushes where there is nothing to flush, with a paper's method, for which each piece is a
 * segment. */
static void test_nothing_new_by_paper(void)
{
    gzlzss_options o = options(6, 1);
    struct line l;
    gzlzss *z;

    o.matcher = "lzss";
    if (gzlzss_new(&z, &o) != GZLZSS_OK)
        return; /* a build without papers */
    line_open(&l, z, 10000);
    CHECK_EQ(run(&l, 0, GZLZSS_FULL_FLUSH, 100), GZLZSS_OK);
    CHECK_EQ(l.out_len, 15);
    CHECK_EQ(run(&l, 500, GZLZSS_FLUSH, 100), GZLZSS_OK);
    CHECK(is_current(&l));
    CHECK_EQ(run(&l, 0, GZLZSS_FULL_FLUSH, 100), GZLZSS_OK);
    end(&l);
    line_close(&l);
    for (unsigned steps = 0; steps < STEPS * STEPS * STEPS; steps++)
        try_steps(z, steps, 3, false);
    gzlzss_free(z);
}

/* A caller gives up a flush, and goes on with other input.  The next flush writes all input. */
static void test_given_up(void)
{
    for (int rsyncable = 0; rsyncable <= 1; rsyncable++)
        for (size_t len = 1000; len <= 1000000; len *= 10) {
            gzlzss_options o = options(6, 2);
            gzlzss_out none = {NULL, 0, 0};
            struct line l;
            gzlzss *z;

            o.rsyncable = rsyncable;
            z = object(o);
            line_open(&l, z, 0);
            for (int i = 0; i < 4; i++) {
                gzlzss_in in = {input + l.pushed, len, 0};

                CHECK_EQ(gzlzss_stream_run(l.s, &none, &in, GZLZSS_FLUSH), GZLZSS_OK);
                l.pushed += in.used;
                CHECK_EQ(run(&l, 777, GZLZSS_CONTINUE, 5000), GZLZSS_OK);
            }
            CHECK_EQ(run(&l, 100, GZLZSS_FLUSH, 5000), GZLZSS_OK);
            CHECK(is_current(&l));
            end(&l);
            line_close(&l);
            gzlzss_free(z);
        }
}

/* True if zlib decodes a stream's bytes out[0..out_len) alone, without earlier output, to
 * input[at..at + len). */
static bool stands_alone(const uint8_t *out, size_t out_len, size_t at, size_t len)
{
    uint8_t *back = unit_need(malloc(len + 1));
    z_stream s = {.next_in = (Bytef *)out,
                  .avail_in = (uInt)out_len,
                  .next_out = back,
                  .avail_out = (uInt)len + 1};
    bool is;

    if (inflateInit2(&s, -15) != Z_OK)
        abort();
    is = inflate(&s, Z_SYNC_FLUSH) == Z_OK && s.total_out == len && s.avail_in == 0 &&
         memcmp(back, input + at, len) == 0;
    inflateEnd(&s);
    free(back);
    return is;
}

/* No match reaches back before a full flush, or before a segment's start.  Matches reach back
 * before a sync flush. */
static void test_windows(void)
{
    static const uint8_t mark[9] = {0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0xff};
    const size_t steps[] = {500, 3000, 20000, SEGMENT + 1000};

    for (int level = 0; level <= 12; level += level == 9 ? 1 : 3)
        for (unsigned k = 0; k < sizeof(steps) / sizeof(*steps); k++)
            for (int rsyncable = 0; rsyncable <= 1; rsyncable++) {
                gzlzss_options o = options(level, 2);
                gzlzss *z;
                struct line l;
                size_t at, start, since = 0;
                int referring = 0;

                o.rsyncable = rsyncable;
                z = object(o);
                line_open(&l, z, 2 * INPUT_SIZE);
                for (int i = 0; i < 12; i++) {
                    at = l.pushed;
                    start = l.out_len;
                    CHECK_EQ(run(&l, steps[k], GZLZSS_FULL_FLUSH, 9000), GZLZSS_OK);
                    if (i > 0)
                        CHECK(stands_alone(l.out + start, l.out_len - start, at, steps[k]));
                    CHECK(memcmp(l.out + l.out_len - 9, mark, 9) == 0);
                }
                for (int i = 0; i < 30 && !rsyncable; i++) {
                    const size_t room = l.out_len;
                    bool ends, alone;

                    at = l.pushed;
                    CHECK_EQ(run(&l, steps[k], GZLZSS_FLUSH, 9000), GZLZSS_OK);
                    alone = stands_alone(l.out + room, l.out_len - room, at, steps[k]);
                    CHECK(alone || since > 0);
                    referring += !alone;
                    since += steps[k];
                    /* A mark ends a segment that is full. */
                    ends = memcmp(l.out + l.out_len - 9, mark, 9) == 0;
                    CHECK_EQ(ends, since >= SEGMENT && steps[k] < SEGMENT);
                    if (since >= SEGMENT)
                        since = 0;
                }
                /* Random bytes have no matches, so not all pieces reach back. */
                CHECK(rsyncable ||
                      (level > 0 && steps[k] < SEGMENT ? referring > 8 : referring == 0));
                end(&l);
                line_close(&l);
                gzlzss_free(z);
            }
}

/* Tests flushes at, just before and just after the end of a segment and of a piece. */
static void test_edges(void)
{
    static const size_t sizes[] = {32 << 10, 64 << 10, 128 << 10, 256 << 10};

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (int more = -1; more <= 1; more++)
            for (int full = 0; full <= 1; full++) {
                const gzlzss_directive flush = full ? GZLZSS_FULL_FLUSH : GZLZSS_FLUSH;
                gzlzss_options o = options(6, 2);
                struct line l;
                gzlzss *z;

                o.segment_size = 128 << 10;
                z = object(o);
                line_open(&l, z, 0);
                for (int k = 0; k < 3; k++) {
                    CHECK_EQ(run(&l, sizes[i] + (size_t)more, flush, 4000), GZLZSS_OK);
                    CHECK(is_current(&l));
                    CHECK_EQ(run(&l, 10, flush, 4000), GZLZSS_OK);
                    CHECK(is_current(&l));
                }
                CHECK_EQ(run(&l, sizes[i] + (size_t)more, GZLZSS_END, 4000), GZLZSS_STREAM_END);
                CHECK(is_current(&l));
                CHECK_EQ(run(&l, 0, flush, 4000), GZLZSS_STREAM_END);
                line_close(&l);
                gzlzss_free(z);
            }
}

/* The data after the last flush can refer to the data before the flush, and the calling thread
 * compresses it.  So ending a stream takes no more bytes than flushing it. */
static void test_end(void)
{
    for (int level = 0; level <= 12; level += 3) {
        gzlzss *z = object(options(level, 1));
        struct line l;
        size_t len;

        line_open(&l, z, 0);
        CHECK_EQ(run(&l, 5000, GZLZSS_FLUSH, 4000), GZLZSS_OK);
        len = l.out_len;
        l.pushed = l.decoded = 0; /* the same bytes again */
        CHECK_EQ(run(&l, 5000, GZLZSS_END, 4000), GZLZSS_STREAM_END);
        CHECK(is_current(&l) && l.ended == Z_STREAM_END);
        CHECK(level == 0 || l.out_len - len < 1000);
        line_close(&l);
        line_open(&l, z, 0);
        CHECK_EQ(run(&l, 5000, GZLZSS_FLUSH, 4000), GZLZSS_OK);
        len = l.out_len;
        end(&l);
        CHECK_EQ(l.out_len, len + 10);
        line_close(&l);
        gzlzss_free(z);
    }
}

/* The buffer gets full in the middle of a flush.  Nothing may be lost or repeated. */
static void test_no_room(void)
{
    gzlzss *z = object(options(6, 2));
    gzlzss_in in = {input, 1000, 0};
    gzlzss_out none = {NULL, 0, 0};
    struct line l;

    line_open(&l, z, 0);
    CHECK_EQ(gzlzss_stream_run(l.s, &none, &in, GZLZSS_FLUSH), GZLZSS_OK);
    CHECK_EQ(in.used, 1000);
    CHECK_EQ(gzlzss_stream_run(l.s, &none, &in, GZLZSS_FLUSH), GZLZSS_OK);
    l.pushed = 1000;
    CHECK_EQ(run(&l, 0, GZLZSS_FLUSH, 1), GZLZSS_OK);
    CHECK(is_current(&l));
    end(&l);
    line_close(&l);
    gzlzss_free(z);
}

struct canceller {
    gzlzss *z;
    gzlzss_call call;
    atomic_bool stops;
};

static void *cancel_main(void *argument)
{
    struct canceller *c = argument;

    while (!atomic_load(&c->stops))
        gzlzss_cancel(c->z, &c->call);
    return NULL;
}

static void test_cancel(void)
{
    struct canceller c = {.z = object(options(6, 2)), .call = GZLZSS_CALL_INIT};

    for (int i = 0; i < 200; i++) {
        uint8_t bytes[5000];
        gzlzss_stream *s;
        pthread_t thread;
        gzlzss_status status = GZLZSS_OK;

        CHECK_EQ(gzlzss_compress_stream(&s, c.z, &c.call), GZLZSS_OK);
        atomic_store(&c.stops, false);
        if (pthread_create(&thread, NULL, cancel_main, &c) != 0)
            abort();
        while (status == GZLZSS_OK) {
            gzlzss_in in = {input, 100 + 1000 * (size_t)i, 0};
            gzlzss_out out = {bytes, sizeof(bytes), 0};

            status = gzlzss_stream_run(s, &out, &in, GZLZSS_FLUSH);
        }
        CHECK_EQ(status, GZLZSS_ERROR_CANCELLED);
        atomic_store(&c.stops, true);
        pthread_join(thread, NULL);
        gzlzss_stream_free(s);
    }
    gzlzss_free(c.z);
}

static int count_flushes(void *ctx, uint64_t in, uint64_t out)
{
    uint64_t *seen = ctx;

    CHECK(in >= seen[0] && out > seen[1]);
    seen[0] = in;
    seen[1] = out;
    return in > 5000;
}

/* `progress` hears of each flush, and can end the stream. */
static void test_progress(void)
{
    uint64_t seen[2] = {0, 0};
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss *z = object(options(6, 1));
    uint8_t bytes[5000];
    gzlzss_stream *s;

    call.progress = count_flushes;
    call.ctx = seen;
    CHECK_EQ(gzlzss_compress_stream(&s, z, &call), GZLZSS_OK);
    for (size_t i = 1; i <= 6; i++) {
        gzlzss_in in = {input, 1000, 0};
        gzlzss_out out = {bytes, sizeof(bytes), 0};

        CHECK_EQ(gzlzss_stream_run(s, &out, &in, GZLZSS_FLUSH),
                 i == 6 ? GZLZSS_ERROR_CANCELLED : GZLZSS_OK);
        CHECK_EQ(seen[0], 1000 * i);
    }
    gzlzss_stream_free(s);
    gzlzss_free(z);
}

struct pusher {
    gzlzss *z;
    uint64_t seed;
    bool is_right;
};

static void *push_main(void *argument)
{
    struct pusher *p = argument;
    struct line l;

    line_open(&l, p->z, 0);
    push_at_random(&l, &p->seed, UNIT_SANITIZED ? 60 : 300, 20000);
    p->is_right = run(&l, 0, GZLZSS_END, 1000) == GZLZSS_STREAM_END && is_current(&l);
    line_close(&l);
    return NULL;
}

/* Several threads flush streams of one object. */
static void test_threads(void)
{
    enum { THREADS = 6 };
    gzlzss *z = object(options(6, 3));
    struct pusher pushers[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        pushers[i] = (struct pusher){.z = z, .seed = (uint64_t)i};
        if (pthread_create(&threads[i], NULL, push_main, &pushers[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(pushers[i].is_right);
    }
    gzlzss_free(z);
}

/* Makes text of words, with stretches of random bytes and stretches of one repeated byte. */
static void make_input(void)
{
    uint64_t state = 7;
    size_t at = 0;

    input = unit_need(malloc(INPUT_SIZE));
    while (at < INPUT_SIZE) {
        const unsigned kind = (unsigned)unit_below(&state, 200);
        size_t n = 1 + unit_below(&state, kind < 2 ? 3000 : 12);
        uint64_t word = unit_below(&state, 3000);

        for (; n > 0 && at < INPUT_SIZE; n--, at++)
            input[at] = kind == 0   ? (uint8_t)unit_rand(&state)
                        : kind == 1 ? (uint8_t)kind
                        : n == 1    ? ' '
                                    : (uint8_t)('a' + unit_rand(&word) % 26);
    }
}

int main(void)
{
    make_input();
    RUN(test_random);
    RUN(test_one_output);
    RUN(test_many_streams);
    RUN(test_regular);
    RUN(test_freed_owners);
    RUN(test_nothing_new);
    RUN(test_as_zlib);
    RUN(test_nothing_new_in_bgzf);
    RUN(test_nothing_new_by_paper);
    RUN(test_given_up);
    RUN(test_windows);
    RUN(test_edges);
    RUN(test_end);
    RUN(test_no_room);
    RUN(test_cancel);
    RUN(test_progress);
    RUN(test_threads);
    free(input);
    return unit_done();
}
