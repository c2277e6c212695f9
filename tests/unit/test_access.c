/*
 * test_access.c - reading at any place: kinds of files, indexes good and damaged, threads
 *
 * FUZZ_SECONDS=N in the environment: damages indexes for N seconds, in new ways on each run.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "access/builder.h"
#include "access/layout.h"
#include "access/points.h"
#include "access/reader.h"
#include "access/trail.h"
#include "inflate/raw.h"
#include "tests/unit/inputs.h"
#include "tests/unit/streams.h"

#define SIZE ((size_t)1500 * 1000)

static uint8_t *data;

/* --- Files ---------------------------------------------------------------------------------- */

static const uint8_t plain_header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

static void add_le32(struct bytes *b, uint32_t value)
{
    const uint8_t bytes[] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                             (uint8_t)(value >> 24)};

    add(b, bytes, sizeof(bytes));
}

/* Adds in[0..len) as DEFLATE data.  If `segment` is not 0, a mark follows each `segment` bytes.  If
 * is_stored is true, the data is not compressed. */
static void add_deflate(struct bytes *b, const uint8_t *in, size_t len, size_t segment,
                        bool is_stored)
{
    /* The second of the two empty blocks of a mark. */
    static const uint8_t empty[] = {0, 0, 0, 0xff, 0xff};
    uint8_t *out = unit_need(malloc(2 * len + 1000));
    z_stream s = {0};

    if (deflateInit2(&s, is_stored ? 0 : 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    do {
        const size_t n = segment > 0 && len > segment ? segment : len;

        s.next_in = (uint8_t *)in;
        s.avail_in = (uInt)n;
        s.next_out = out;
        s.avail_out = (uInt)(2 * len + 1000);
        deflate(&s, n < len ? Z_FULL_FLUSH : Z_FINISH);
        add(b, out, (size_t)(s.next_out - out));
        if (n < len)
            add(b, empty, sizeof(empty));
        in += n;
        len -= n;
    } while (len > 0);
    deflateEnd(&s);
    free(out);
}

static void add_trailer(struct bytes *b, const uint8_t *in, size_t len)
{
    add_le32(b, (uint32_t)crc32(0, in, (uInt)len));
    add_le32(b, (uint32_t)len);
}

static void add_member(struct bytes *b, const uint8_t *in, size_t len, size_t segment)
{
    add(b, plain_header, sizeof(plain_header));
    add_deflate(b, in, len, segment, false);
    add_trailer(b, in, len);
}

/* Adds a member of BGZF. */
static void add_bgzf(struct bytes *b, const uint8_t *in, size_t len)
{
    uint8_t header[] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 'B', 'C', 2, 0, 0, 0};
    const size_t start = b->len;
    size_t size;

    add(b, header, sizeof(header));
    add_deflate(b, in, len, 0, false);
    add_trailer(b, in, len);
    size = b->len - start - 1;
    b->data[start + 16] = (uint8_t)size;
    b->data[start + 17] = (uint8_t)(size >> 8);
}

enum kind { ONE_MEMBER, MEMBERS, MARKS, BGZF, KINDS };

static struct bytes make_file(enum kind kind)
{
    struct bytes b = {0};

    switch (kind) {
    case ONE_MEMBER:
        add_member(&b, data, SIZE, 0);
        break;
    case MEMBERS:
        add_member(&b, data, 400 * 1000, 0);
        add_member(&b, data, 0, 0);
        add_member(&b, data + 400 * 1000, 700 * 1000, 65536);
        add_member(&b, data + 1100 * 1000, SIZE - 1100 * 1000, 0);
        break;
    case MARKS:
        add_member(&b, data, SIZE, 65536);
        break;
    default:
        for (size_t at = 0; at < SIZE; at += 60000)
            add_bgzf(&b, data + at, SIZE - at < 60000 ? SIZE - at : 60000);
        add_bgzf(&b, data, 0);
    }
    return b;
}

static struct access_source source_of(const struct bytes *b)
{
    return (struct access_source){.fd = -1, .memory = b->data, .size = b->len};
}

/* --- Reading -------------------------------------------------------------------------------- */

/* True if a read from `offset` on gives the right bytes. */
static bool reads_right(struct access_reader *r, uint64_t offset, size_t len)
{
    const size_t behind = offset < SIZE ? SIZE - (size_t)offset : 0;
    const size_t expected = len < behind ? len : behind;
    uint8_t *buf = unit_need(malloc(len + 1));
    size_t done = 0;
    bool is = access_read(r, buf, len, offset, &done, NULL) == GZ_OK && done == expected &&
              (expected == 0 || memcmp(buf, data + offset, expected) == 0);

    free(buf);
    return is;
}

static size_t random_length(uint64_t *state)
{
    return unit_below(state, 2) == 0 ? unit_below(state, 100) : unit_below(state, 200 * 1000);
}

static void read_at_random(struct access_reader *r, uint64_t seed, int times)
{
    uint64_t state = seed, size = 0;

    for (int i = 0; i < times; i++)
        CHECK(reads_right(r, unit_below(&state, SIZE + 100), random_length(&state)));
    CHECK_EQ(access_size(r, &size, NULL), GZ_OK);
    CHECK_EQ(size, SIZE);
    CHECK(reads_right(r, SIZE - 10, 20));
    CHECK(reads_right(r, UINT64_MAX - 5, 20));
}

static const enum access_hints kind_hints[] = {
    [ONE_MEMBER] = ACCESS_NOTHING,
    [MEMBERS] = ACCESS_NOTHING,
    [MARKS] = ACCESS_MARKS,
    [BGZF] = ACCESS_BGZF,
};

static void test_kinds(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes file = make_file((enum kind)kind);
        const struct access_source source = source_of(&file);
        struct access_reader *r = unit_need(access_open(&source));

        read_at_random(r, 1, 100);
        CHECK_EQ(access_look(r, NULL), kind_hints[kind]);
        access_close(r);
        drop(&file);
    }
}

/* All threads begin at a mark once it is checked.  No data is known before the mark, so data that
 * refers to bytes there is refused, as by one thread. */
static void test_trail_from_a_mark(void)
{
    const uint64_t offset = SIZE / 2;
    struct bytes file = make_file(MARKS);
    const struct access_source source = source_of(&file);
    struct access_reader *r = unit_need(access_open(&source));
    uint8_t window[INF_WINDOW];
    struct gz_place place = {.bit = 8 * sizeof(plain_header), .end = window + INF_WINDOW};
    struct access_trail *t;
    struct gz_ahead ahead;
    uint64_t from;

    CHECK_EQ(access_look(r, NULL), ACCESS_MARKS);
    access_check(r, offset, NULL);
    t = unit_need(access_trail_new(r, offset));
    CHECK(access_trail_out(t) <= offset && access_trail_out(t) > offset - 2 * 65536);
    ahead = access_trail_ahead(t, NULL, NULL, NULL);
    CHECK(ahead.has(ahead.ctx, place.bit, &from) && ahead.run(ahead.ctx, &place));
    CHECK(place.is_jump);
    CHECK_EQ(place.len, 0);
    access_trail_free(t);
    access_close(r);
    drop(&file);
}

/* Reads in order must not decode the file from its start each time, which would take minutes
 * here. */
static void test_in_order(void)
{
    struct bytes file = make_file(ONE_MEMBER);
    const struct access_source source = source_of(&file);
    struct access_reader *r = unit_need(access_open(&source));

    for (size_t at = 0; at < SIZE; at += 17)
        if (!CHECK(reads_right(r, at, 17)))
            break;
    access_close(r);
    drop(&file);
}

static void *read_in_thread(void *r)
{
    uint64_t state = (uintptr_t)&state;
    bool ok = true;

    for (int i = 0; i < 50; i++)
        ok = reads_right(r, unit_below(&state, SIZE), random_length(&state)) && ok;
    return ok ? r : NULL;
}

static void test_threads(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes file = make_file((enum kind)kind);
        const struct access_source source = source_of(&file);
        struct access_reader *r = unit_need(access_open(&source));
        pthread_t threads[6];

        for (int i = 0; i < 6; i++)
            if (pthread_create(&threads[i], NULL, read_in_thread, r) != 0)
                abort();
        for (int i = 0; i < 6; i++) {
            void *result;

            pthread_join(threads[i], &result);
            CHECK(result == r);
        }
        access_close(r);
        drop(&file);
    }
}

/* --- Damaged and odd files ------------------------------------------------------------------ */

static void test_damaged(void)
{
    struct bytes file = make_file(ONE_MEMBER);
    const struct access_source whole = source_of(&file),
                               part = {.fd = -1, .memory = file.data, .size = file.len / 2};
    struct access_reader *r = unit_need(access_open(&part));
    uint8_t buf[1000];
    size_t done;

    CHECK(reads_right(r, 1000, 1000));
    CHECK_EQ(access_read(r, buf, sizeof(buf), SIZE - 1000, &done, NULL), GZ_TRUNCATED);
    CHECK(reads_right(r, 500 * 1000, 1000));
    access_close(r);

    file.data[file.len - 8] ^= 1;
    r = unit_need(access_open(&whole));
    CHECK_EQ(access_read(r, buf, sizeof(buf), SIZE - 1000, &done, NULL), GZ_OK);
    CHECK_EQ(access_read(r, buf, sizeof(buf), SIZE - 500, &done, NULL), GZ_BAD_CRC);
    access_close(r);

    file.data[0] = 'x';
    r = unit_need(access_open(&whole));
    CHECK_EQ(access_read(r, buf, sizeof(buf), 0, &done, NULL), GZ_NOT_GZIP);
    access_close(r);
    drop(&file);
}

/* How many bytes zlib makes of a .gz that is cut off. */
static size_t inflated_len(const struct bytes *file)
{
    uint8_t *out = unit_need(malloc(SIZE));
    z_stream s = {.next_in = file->data,
                  .avail_in = (uInt)file->len,
                  .next_out = out,
                  .avail_out = (uInt)SIZE};
    int result = inflateInit2(&s, 31);

    while (result == Z_OK)
        result = inflate(&s, Z_SYNC_FLUSH);
    CHECK_EQ(result, Z_BUF_ERROR);
    inflateEnd(&s);
    free(out);
    return (size_t)s.total_out;
}

/* All bytes before an error can be read, wherever reads begin. */
static void test_up_to_an_error(void)
{
    struct bytes file = make_file(ONE_MEMBER);
    struct access_source source;
    struct access_reader *r;
    uint8_t buf[100];
    size_t end, done;

    file.len = file.len * 2 / 3;
    source = source_of(&file);
    end = inflated_len(&file);
    r = unit_need(access_open(&source));
    for (size_t back = 1; back < sizeof(buf); back += 30) {
        CHECK(reads_right(r, end - back, back));
        CHECK(reads_right(r, end - 40000, 40000));
        CHECK_EQ(access_read(r, buf, back + 1, end - back, &done, NULL), GZ_TRUNCATED);
        CHECK_EQ(access_read(r, buf, 1, end, &done, NULL), GZ_TRUNCATED);
    }
    access_close(r);
    drop(&file);
}

static bool counts_down(void *ctx)
{
    int *left = ctx;

    return --*left > 0;
}

/* A file that has become shorter since it was opened is truncated, and no read waits for more. */
static void test_shorter(void)
{
    struct bytes file = make_file(ONE_MEMBER);
    FILE *f = unit_need(tmpfile());
    const struct access_source source = {.fd = fileno(f), .size = file.len};
    struct access_reader *r = unit_need(access_open(&source));
    int left = 10000;
    const struct access_watch watch = {.goes_on = counts_down, .ctx = &left};
    uint8_t byte;
    size_t done;

    CHECK(fwrite(file.data, 1, file.len / 2, f) == file.len / 2 && fflush(f) == 0);
    CHECK_EQ(access_read(r, &byte, 1, SIZE - 1, &done, &watch), GZ_TRUNCATED);
    CHECK(reads_right(r, 1000, 1000));
    access_close(r);
    fclose(f);
    drop(&file);
}

/* Bytes after the last member are not data, and neither is a member after zeros. */
static void test_garbage(void)
{
    struct bytes file = make_file(MEMBERS), members = make_file(MEMBERS);
    const struct bytes after[] = {
        {(uint8_t *)"", 0, 0}, {members.data, members.len, 0}, {(uint8_t *)"garbage", 7, 0}};
    const size_t len = file.len;
    struct access_source source;
    struct access_reader *r;

    for (size_t i = 0; i < sizeof(after) / sizeof(*after); i++) {
        file.len = len;
        add(&file, "\0\0\0\0", 4);
        add(&file, after[i].data, after[i].len);
        source = source_of(&file);
        r = unit_need(access_open(&source));
        read_at_random(r, 4, 10);
        access_close(r);
    }
    drop(&members);
    drop(&file);
}

/* Reads must be right even if marks are at irregular distances, or inside stored data. */
static void test_odd_marks(void)
{
    static const size_t ends[][5] = {{65536, 130000, 260000, 300000, 1000 * 1000},
                                     {65536, 131072, 196608, 250000, 327680},
                                     {1024, 2048, 1000000, 1001024, 1002048}};

    for (int i = 0; i < 3; i++) {
        struct bytes file = {0};
        struct access_source source;
        struct access_reader *r;
        z_stream s = {0};
        uint8_t *out = unit_need(malloc(2 * SIZE));
        size_t at = 0;

        add(&file, plain_header, sizeof(plain_header));
        if (deflateInit2(&s, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            abort();
        for (int k = 0; k <= 5; k++) {
            const size_t end = k < 5 ? ends[i][k] : SIZE;

            s.next_in = data + at;
            s.avail_in = (uInt)(end - at);
            s.next_out = out;
            s.avail_out = 2 * SIZE;
            deflate(&s, k < 5 ? Z_FULL_FLUSH : Z_FINISH);
            add(&file, out, (size_t)(s.next_out - out));
            if (k < 5)
                add(&file, "\0\0\0\xff\xff", 5);
            at = end;
        }
        deflateEnd(&s);
        free(out);
        add_trailer(&file, data, SIZE);
        source = source_of(&file);
        r = unit_need(access_open(&source));
        read_at_random(r, 6, 30);
        CHECK(access_look(r, NULL) != ACCESS_MARKS);
        access_close(r);
        drop(&file);
    }
}

/* The data is itself a .gz with marks, which the outer file contains without compression.  Reads
 * must not take the inner file's marks for marks of the outer file. */
static void test_inner_marks(void)
{
    struct bytes inner = make_file(MARKS), outer = {0};
    struct access_source source;
    struct access_reader *r;
    uint8_t buf[1000];
    uint64_t bit, len;
    size_t done;

    add(&outer, plain_header, sizeof(plain_header));
    add_deflate(&outer, inner.data, inner.len, 0, true);
    add_trailer(&outer, inner.data, inner.len);
    source = source_of(&outer);
    CHECK_EQ(access_marks_tail(&source, 1000, &bit, &len), ACCESS_LAYOUT_NONE);
    r = unit_need(access_open(&source));
    for (size_t at = 0; at + sizeof(buf) < inner.len; at += 50000) {
        CHECK_EQ(access_read(r, buf, sizeof(buf), at, &done, NULL), GZ_OK);
        CHECK(done == sizeof(buf) && memcmp(buf, inner.data + at, done) == 0);
    }
    access_close(r);
    drop(&inner);
    drop(&outer);
}

static void test_tail(void)
{
    struct bytes file = make_file(MARKS);
    const struct access_source source = source_of(&file);
    const size_t segments = SIZE / 65536;
    uint64_t bit, len;

    CHECK_EQ(access_marks_tail(&source, 1000, &bit, &len), ACCESS_LAYOUT_FOUND);
    CHECK_EQ(len, SIZE - segments * 65536);
    CHECK_EQ(access_marks_tail(&source, 300 * 1000, &bit, &len), ACCESS_LAYOUT_FOUND);
    CHECK_EQ(len, SIZE - (segments - 4) * 65536);
    CHECK_EQ(access_marks_tail(&source, SIZE, &bit, &len), ACCESS_LAYOUT_NONE);
    drop(&file);
}

/* --- Indexes -------------------------------------------------------------------------------- */

static bool put(void *ctx, const void *bytes, size_t len)
{
    add(ctx, bytes, len);
    return true;
}

/* Returns the index of a file, in the given format. */
static struct bytes make_index(const struct bytes *file, enum access_format format)
{
    const struct access_source source = source_of(file);
    struct access_reader *r = unit_need(access_open(&source));
    struct bytes index = {0};
    uint64_t size;

    CHECK_EQ(access_size(r, &size, NULL), GZ_OK);
    CHECK(access_export(r, format, put, &index, NULL));
    access_close(r);
    return index;
}

static const enum access_format formats[] = {ACCESS_GZTOOL, ACCESS_INDEXED_GZIP};

static void test_indexes(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes file = make_file((enum kind)kind);
        const struct access_source source = source_of(&file);

        for (int i = 0; i < 2; i++) {
            struct bytes index = make_index(&file, formats[i]), again;
            const struct access_source index_source = source_of(&index);
            struct access_reader *r = unit_need(access_open(&source));

            CHECK_EQ(access_use_index(r, &index_source), ACCESS_INDEX_OK);
            read_at_random(r, 2, 50);
            CHECK_EQ(access_look(r, NULL), ACCESS_INDEX);
            access_close(r);

            /* A reader with an index must write the same index. */
            r = unit_need(access_open(&source));
            again = (struct bytes){0};
            CHECK_EQ(access_use_index(r, &index_source), ACCESS_INDEX_OK);
            CHECK(access_export(r, formats[i], put, &again, NULL));
            CHECK(same(&again, &index));
            access_close(r);
            drop(&again);
            drop(&index);
        }
        drop(&file);
    }
}

/* The context of the callbacks with which compat/ decodes a file, while a builder makes an index
 * with line numbers. */
struct built_io {
    struct access_builder *b;
    const struct bytes *file;
    size_t at;
    struct bytes out;
};

static int write_built(void *ctx, const void *buf, size_t len)
{
    struct built_io *io = ctx;

    access_builder_wrote(io->b, buf, len);
    add(&io->out, buf, len);
    return 0;
}

static ssize_t read_built(void *ctx, void *buf, size_t len)
{
    struct built_io *io = ctx;
    const size_t left = io->file->len - io->at, n = len < left ? len : left;

    memcpy(buf, io->file->data + io->at, n);
    io->at += n;
    return (ssize_t)n;
}

static void test_lines(void)
{
    for (int kind = 0; kind < MARKS + 1; kind++) {
        struct bytes file = make_file((enum kind)kind), index = {0};
        const struct access_source source = source_of(&file);
        struct built_io io = {.file = &file};
        struct gz_info info;
        struct access_source index_source;
        struct access_reader *r;
        struct gz_ahead ahead;
        struct gz_io gz = {.read = read_built, .write = write_built, .ctx = &io};

        io.b = unit_need(access_builder_new(&source));
        ahead = access_builder_ahead(io.b, NULL);
        gz.ahead = &ahead;
        CHECK_EQ(gz_decompress(&gz, &info), GZ_OK);
        CHECK(io.out.len == SIZE && memcmp(io.out.data, data, SIZE) == 0);
        CHECK(access_builder_write(io.b, ACCESS_GZTOOL, file.len, SIZE, put, &index));
        access_builder_free(io.b);
        index_source = source_of(&index);
        r = unit_need(access_open(&source));
        CHECK_EQ(access_use_index(r, &index_source), ACCESS_INDEX_OK);
        for (uint64_t line = 1; line < 1000; line += 90) {
            struct access_stretch t;
            uint64_t lines = 0;

            CHECK(access_find_line(r, line, &t));
            CHECK(t.lines_from < line && t.lines_to >= line && t.to <= SIZE);
            for (size_t i = 0; i < t.to && i < SIZE; i++) {
                if (i == t.from)
                    CHECK_EQ(lines, t.lines_from);
                lines += data[i] == '\n';
            }
            CHECK_EQ(lines, t.lines_to);
        }
        read_at_random(r, 3, 20);
        access_close(r);
        drop(&io.out);
        drop(&index);
        drop(&file);
    }
}

/* Returns how many bytes of an index, from its start on, can be checked.  In indexed_gzip's format,
 * the windows after these bytes have no checksum. */
static size_t checkable(const struct bytes *index, enum access_format format)
{
    return format == ACCESS_INDEXED_GZIP ? 35 + 18 * (size_t)index->data[31] : index->len;
}

/* Returns a damaged copy of the index: bits are flipped, bytes are set, or the copy is cut off or
 * has bytes added at its end. */
static struct bytes damaged(const struct bytes *index, size_t most, uint64_t *state)
{
    struct bytes copy = {0};

    add(&copy, index->data, index->len);
    switch (unit_below(state, 8)) {
    case 0:
        copy.len = unit_below(state, copy.len);
        break;
    case 1:
        add(&copy, index->data, 1 + unit_below(state, index->len));
        break;
    default:
        for (uint64_t n = 1 + unit_below(state, 3); n > 0; n--) {
            uint8_t *at = &copy.data[unit_below(state, most)];

            *at = unit_below(state, 2) == 0 ? (uint8_t)unit_rand(state)
                                            : *at ^ (uint8_t)(1 << unit_below(state, 8));
        }
    }
    return copy;
}

/* How many damaged indexes were used, were dropped after some reads, and were refused at once. */
struct fates {
    int used, dropped, refused;
};

/* Reads with damaged copies of the index.  All bytes must be right. */
static void read_by_damaged(const struct bytes *file, const struct bytes *index, size_t most,
                            int times, uint64_t *state, struct fates *fates)
{
    const struct access_source source = source_of(file);

    for (int i = 0; i < times; i++) {
        struct bytes bad = damaged(index, most, state);
        const struct access_source bad_source = source_of(&bad);
        struct access_reader *r = unit_need(access_open(&source));

        if (access_use_index(r, &bad_source) == ACCESS_INDEX_OK)
            fates->used++;
        else
            fates->refused++;
        for (int n = 0; n < 5; n++)
            CHECK(reads_right(r, unit_below(state, SIZE), 1000));
        if (unit_below(state, 8) == 0)
            read_at_random(r, unit_rand(state), 1);
        fates->dropped += access_look(r, NULL) == ACCESS_WRONG_HINTS;
        access_close(r);
        drop(&bad);
    }
}

/* A damaged index must never lead to wrong bytes. */
static void test_damaged_indexes(void)
{
    const char *seconds = getenv("FUZZ_SECONDS");
    const time_t end = time(NULL) + (seconds != NULL ? atoi(seconds) : 0);
    uint64_t state = seconds != NULL ? (uint64_t)time(NULL) : 9;
    struct fates fates = {0};

    do {
        for (int kind = 0; kind < KINDS; kind++) {
            struct bytes file = make_file((enum kind)kind);

            for (int i = 0; i < 2; i++) {
                struct bytes index = make_index(&file, formats[i]);
                const size_t most = kind == BGZF ? index.len : checkable(&index, formats[i]);

                read_by_damaged(&file, &index, most, UNIT_SANITIZED ? 30 : 100, &state, &fates);
                drop(&index);
            }
            drop(&file);
        }
    } while (time(NULL) < end);
    CHECK(fates.used > 0 && fates.dropped > 0 && fates.refused > 0);
}

/* While gztool makes an index, the index has two counts of its points that differ.  Such an index
 * is refused. */
static void test_unfinished_index(void)
{
    struct bytes file = make_file(MARKS), index = make_index(&file, ACCESS_GZTOOL);
    const struct access_source source = source_of(&file), index_source = source_of(&index);
    struct access_reader *r = unit_need(access_open(&source));

    memset(index.data + 24, 0, 8);
    CHECK_EQ(access_use_index(r, &index_source), ACCESS_INDEX_DAMAGED);
    access_close(r);
    drop(&index);
    drop(&file);
}

/* An index that belongs to another file of the same length must not lead to wrong bytes. */
static void test_other_index(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes file = make_file((enum kind)kind), other, index;
        struct access_source source = source_of(&file), index_source;
        struct access_reader *r;

        for (int i = 0; i < 2; i++) {
            index = make_index(&file, formats[i]);
            index_source = source_of(&index);
            memmove(data, data + 1, SIZE - 1);
            other = make_file((enum kind)kind);
            /* Make the other file as long as the first file. */
            while (other.len < file.len)
                add(&other, "", 1);
            source = source_of(&other);
            r = unit_need(access_open(&source));
            access_use_index(r, &index_source);
            read_at_random(r, 5, 30);
            access_close(r);
            drop(&other);
            drop(&index);
            drop(&file);
            file = make_file((enum kind)kind);
        }
        drop(&file);
    }
}

/* --- Places that are all shifted ------------------------------------------------------------- */

/* The places of the points in an index, in the data. */
struct places {
    uint64_t out[200];
    size_t count;
};

/* Shifts the `len` bytes long number at `at`, which is little-endian. */
static void shift_number(uint8_t *at, int by)
{
    uint64_t value = 0;

    for (int i = 7; i >= 0; i--)
        value = value << 8 | at[i];
    value += (uint64_t)by;
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Returns an index whose places from point `from` on are `by` bytes further on in the data than
 * they are.  The length of the data is shifted, too.  Sets *right to the right places. */
static struct bytes shifted(const struct bytes *file, const struct bytes *index, size_t from,
                            int by, struct places *right)
{
    const struct access_source source = source_of(index);
    struct access_points points = {0};
    struct access_index about;
    struct bytes result = {0};

    CHECK_EQ(access_index_read(&source, file->len, &points, &about), ACCESS_INDEX_OK);
    right->count = 0;
    for (size_t i = 0; i < points.count && i < 200; i++)
        right->out[right->count++] = points.list[i].out;
    if (about.format == ACCESS_BGZIP) {
        add(&result, index->data, index->len);
        for (size_t i = from; i < points.count; i++)
            shift_number(result.data + 8 + 16 * (i - 1) + 8, by);
    } else {
        for (size_t i = from; i < points.count; i++)
            points.list[i].out += (uint64_t)by;
        about.size += (uint64_t)by;
        /* The start, which the reader adds, is in no index. */
        memmove(points.list, points.list + 1, --points.count * sizeof(*points.list));
        CHECK(access_index_write(&points, &source, &about, put, &result));
    }
    access_points_clear(&points);
    return result;
}

/* Reads by an exported index at each of its places. */
static void check_export(struct access_reader *r, const struct bytes *file)
{
    const struct access_source source = source_of(file);
    struct access_reader *other = unit_need(access_open(&source));
    struct access_points points = {0};
    struct access_index about;
    struct access_source index_source;
    struct bytes index = {0};

    CHECK(access_export(r, ACCESS_GZTOOL, put, &index, NULL));
    index_source = source_of(&index);
    CHECK_EQ(access_index_read(&index_source, file->len, &points, &about), ACCESS_INDEX_OK);
    CHECK(about.size == SIZE || about.size == UINT64_MAX);
    CHECK_EQ(access_use_index(other, &index_source), ACCESS_INDEX_OK);
    for (size_t i = 0; i < points.count; i++)
        CHECK(reads_right(other, points.list[i].out, 300));
    CHECK_EQ(access_look(other, NULL), ACCESS_INDEX);
    access_points_clear(&points);
    access_close(other);
    drop(&index);
}

/* The first point at which all places can be shifted.  Points 0 and 1 are at the start of the data,
 * but in BGZF, only point 0 is. */
static size_t first_point(enum kind kind)
{
    return kind == BGZF ? 1 : 2;
}

/* If all places are shifted by the same number of bytes, they agree with each other, but not with
 * the data from the start to the first of them. */
static void test_all_shifted(void)
{
    static const int shifts[] = {1, -1, 1000, -700};

    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes file = make_file((enum kind)kind);
        const struct access_source source = source_of(&file);

        for (int i = 0; i < 4; i++) {
            struct bytes index = make_index(&file, formats[i % 2]);
            struct places right;
            struct bytes bad = shifted(&file, &index, first_point(kind), shifts[i], &right);
            const struct access_source bad_source = source_of(&bad);
            struct access_reader *r = unit_need(access_open(&source));

            CHECK_EQ(access_use_index(r, &bad_source), ACCESS_INDEX_OK);
            CHECK(reads_right(r, right.out[right.count / 2] + 5000, 200 * 1000));
            CHECK_EQ(access_look(r, NULL), ACCESS_WRONG_HINTS);
            CHECK(access_had_wrong_hints(r));
            read_at_random(r, 7, 5);
            check_export(r, &file);
            access_close(r);
            drop(&bad);
            drop(&index);
        }
        drop(&file);
    }
}

/* Places that are shifted from some point on are found only by a read that passes this point, or
 * comes to a trailer.  From then on, nothing that was found by them may be left. */
static void test_later_shifted(void)
{
    static const int shifts[] = {1, -1, 1000};

    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes file = make_file((enum kind)kind);
        const struct access_source source = source_of(&file);

        for (int i = 0; i < 3; i++) {
            struct bytes index = make_index(&file, formats[i % 2]);
            struct places right;
            struct bytes bad = shifted(&file, &index, 5, shifts[i], &right);
            const struct access_source bad_source = source_of(&bad);
            struct access_reader *r = unit_need(access_open(&source));
            uint8_t *buf = unit_need(malloc(SIZE));
            uint64_t size, last;
            size_t done;

            CHECK_EQ(access_use_index(r, &bad_source), ACCESS_INDEX_OK);
            /* These reads may give wrong bytes, and leave points, cursors and a length. */
            for (size_t k = 6; k < right.count; k += 3)
                CHECK_EQ(access_read(r, buf, 150 * 1000, right.out[k] + 10, &done, NULL), GZ_OK);
            CHECK_EQ(access_size(r, &size, NULL), GZ_OK);
            CHECK(kind != ONE_MEMBER || size == SIZE);
            CHECK_EQ(access_read(r, buf, 50 * 1000, right.out[7] + 10, &done, NULL), GZ_OK);
            last = right.out[7] + 10 + done;
            /* This read passes the point. */
            CHECK(reads_right(r, right.out[4] + 10, (size_t)(right.out[5] - right.out[4]) + 50));
            CHECK_EQ(access_look(r, NULL), ACCESS_WRONG_HINTS);
            CHECK(reads_right(r, last + 20, 100));
            for (size_t k = 6; k < right.count; k++)
                CHECK(reads_right(r, right.out[k] + 3000, 20 * 1000));
            read_at_random(r, 8, 5);
            check_export(r, &file);
            free(buf);
            access_close(r);
            drop(&bad);
            drop(&index);
        }
        drop(&file);
    }
}

/* A read from the start passes all places, and so finds wrong ones.  It gives the right bytes. */
static void test_shifted_in_order(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes file = make_file((enum kind)kind), index = make_index(&file, ACCESS_GZTOOL);
        const struct access_source source = source_of(&file);
        struct places right;
        struct bytes bad = shifted(&file, &index, 5, 100, &right);
        const struct access_source bad_source = source_of(&bad);
        struct access_reader *r = unit_need(access_open(&source));
        size_t at = 0;

        CHECK_EQ(access_use_index(r, &bad_source), ACCESS_INDEX_OK);
        for (; at < right.out[5] + 200 * 1000; at += 5000)
            CHECK(reads_right(r, at, 5000));
        CHECK_EQ(access_look(r, NULL), ACCESS_WRONG_HINTS);
        access_close(r);
        drop(&bad);
        drop(&index);
        drop(&file);
    }
}

/* If a member of BGZF says a wrong length, the places of all later members are shifted. */
static void test_shifted_members(void)
{
    struct bytes file = make_file(BGZF);
    const struct access_source source = source_of(&file);
    struct access_reader *r = unit_need(access_open(&source));
    size_t len = file.data[16] + 256u * file.data[17] + 1, done;
    uint8_t byte;

    file.data[len - 4] ^= 5;
    CHECK_EQ(access_look(r, NULL), ACCESS_BGZF);
    CHECK_EQ(access_read(r, &byte, 1, SIZE / 2, &done, NULL), GZ_BAD_LENGTH);
    CHECK_EQ(access_look(r, NULL), ACCESS_WRONG_HINTS);
    access_close(r);
    drop(&file);
}

/* --- Ends of work ---------------------------------------------------------------------------- */

/* A watch that ends the work when it is asked for the last time.  Meanwhile, it reads. */
struct stop {
    int left;
    struct access_reader *reader; /* or NULL */
};

static bool stops(void *ctx)
{
    struct stop *s = ctx;

    if (s->reader != NULL)
        CHECK(reads_right(s->reader, 10, 100));
    errno = ECANCELED;
    return --s->left > 0;
}

/* Searches for hints can be ended, and let other reads go on. */
static void test_stopped_look(void)
{
    for (int kind = MARKS; kind <= BGZF; kind++) {
        struct bytes file = make_file((enum kind)kind);
        struct access_source source = source_of(&file);
        struct access_reader *r;
        uint8_t *zeros = unit_need(calloc((size_t)8 << 20, 1));
        int asked;

        for (int left = 1; left < 6; left++) {
            struct stop s = {left, NULL};
            const struct access_watch watch = {stops, &s, NULL};

            r = unit_need(access_open(&source));
            s.reader = r;
            CHECK_EQ(access_look(r, &watch), ACCESS_UNKNOWN);
            CHECK_EQ(access_look(r, NULL), kind_hints[kind]);
            access_close(r);
        }
        /* The longer the file, the more often the search asks. */
        if (kind == MARKS) {
            struct stop s = {1000, NULL};
            const struct access_watch watch = {stops, &s, NULL};

            add(&file, zeros, (size_t)8 << 20);
            source = source_of(&file);
            r = unit_need(access_open(&source));
            CHECK_EQ(access_look(r, &watch), ACCESS_NOTHING);
            asked = 1000 - s.left;
            CHECK(asked >= 8 * 4);
            access_close(r);
        }
        free(zeros);
        drop(&file);
    }
}

/* An export, and the reading of an index, can be ended. */
static void test_stopped_export(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes file = make_file((enum kind)kind), index = {0};
        const struct access_source source = source_of(&file);
        struct access_source index_source;
        struct access_reader *r = unit_need(access_open(&source)), *other;
        uint64_t size;
        int asked;

        CHECK_EQ(access_size(r, &size, NULL), GZ_OK);
        for (int left = 1; left < 8; left++) {
            struct stop s = {left, r};
            const struct access_watch watch = {stops, &s, NULL};

            errno = 0;
            CHECK(!access_export(r, ACCESS_INDEXED_GZIP, put, &index, &watch));
            CHECK_EQ(errno, ECANCELED);
        }
        drop(&index);
        index = make_index(&file, ACCESS_INDEXED_GZIP);
        for (int left = 1; left < 3; left++) {
            struct stop s = {left, NULL};
            const struct access_watch watch = {stops, &s, NULL};

            index_source = source_of(&index);
            index_source.watch = &watch;
            other = unit_need(access_open(&source));
            errno = 0;
            CHECK_EQ(access_use_index(other, &index_source), ACCESS_INDEX_READ_ERROR);
            CHECK_EQ(errno, ECANCELED);
            CHECK(reads_right(other, SIZE / 2, 100));
            access_close(other);
        }
        /* An index that was read does not ask after that. */
        {
            struct stop s = {100000, NULL};
            const struct access_watch watch = {stops, &s, NULL};

            index_source.watch = &watch;
            other = unit_need(access_open(&source));
            CHECK_EQ(access_use_index(other, &index_source), ACCESS_INDEX_OK);
            asked = s.left;
            CHECK(reads_right(other, SIZE / 2, 100));
            CHECK_EQ(s.left, asked);
            access_close(other);
        }
        drop(&index);
        access_close(r);
        drop(&file);
    }
}

/* Bytes after a member, and names in its header, may be many.  A read that passes them asks. */
static void test_stopped_read(void)
{
    uint8_t *many = unit_need(calloc((size_t)8 << 20, 1));

    for (int is_name = 0; is_name < 2; is_name++) {
        struct bytes file = {0};
        struct access_source source;
        struct access_reader *r;
        struct stop s = {1000, NULL};
        const struct access_watch watch = {stops, &s, NULL};
        uint64_t size;

        memset(many, is_name ? 'n' : 0, (size_t)8 << 20);
        add_member(&file, data, 1000, 0);
        if (is_name) {
            add(&file, plain_header, sizeof(plain_header));
            file.data[file.len - sizeof(plain_header) + 3] = 8;
        }
        add(&file, many, (size_t)8 << 20);
        if (is_name) {
            add(&file, "", 1);
            add_deflate(&file, data + 1000, 1000, 0, false);
            add_trailer(&file, data + 1000, 1000);
        }
        source = source_of(&file);
        r = unit_need(access_open(&source));
        s.left = 1000;
        CHECK_EQ(access_size(r, &size, &watch), GZ_OK);
        CHECK_EQ(size, is_name ? 2000 : 1000);
        CHECK(1000 - s.left >= 8 * 4);
        access_close(r);
        r = unit_need(access_open(&source));
        s.left = 20;
        CHECK_EQ(access_size(r, &size, &watch), GZ_READ_ERROR);
        CHECK_EQ(errno, ECANCELED);
        CHECK(reads_right(r, 0, 500));
        access_close(r);
        drop(&file);
    }
    free(many);
}

/* --- Bounded memory --------------------------------------------------------------------------- */

/* Adds points, each with a window of 100 bytes, to a list that may have the memory of 16 of them.
 * The list must keep the first point, the order, and the windows that belong to the points. */
static void test_halving(void)
{
    const size_t each = 100 + sizeof(struct access_point);
    struct access_points points = {.most = 16 * each};
    unsigned before = 0;

    for (unsigned i = 0; i < 200; i++) {
        struct access_point p = {.bit = 80 * i, .out = 1000 * i, .form = ACCESS_RAW, .stored = 100};

        p.bytes = unit_need(malloc(p.stored));
        memset(p.bytes, (int)i, p.stored);
        CHECK(access_points_add(&points, &p));
        CHECK(points.bytes == points.count * 100);
        CHECK(points.count <= 16 && points.halvings >= before);
        before = points.halvings;
    }
    CHECK(points.halvings > 2 && points.count > 4);
    CHECK_EQ(points.list[0].out, 0);
    for (size_t i = 0; i < points.count; i++) {
        const struct access_point *p = &points.list[i];

        CHECK(i == 0 || p[-1].out < p->out);
        CHECK_EQ(p->bit / 80, p->out / 1000);
        CHECK_EQ(p->bytes[99], p->out / 1000);
    }
    access_points_clear(&points);
    CHECK(points.count == 0 && points.bytes == 0 && points.halvings == 0);
}

int main(void)
{
    uint64_t state = 1;

    data = unit_need(malloc(SIZE));
    fill_words(data, SIZE, &state);
    for (size_t i = 0; i < SIZE; i += 1 + unit_below(&state, 1000))
        data[i] = '\n';
    for (size_t i = 0; i < SIZE; i += 1 + unit_below(&state, 30))
        data[i] = (uint8_t)unit_rand(&state);
    RUN(test_halving);
    RUN(test_kinds);
    RUN(test_trail_from_a_mark);
    RUN(test_in_order);
    RUN(test_threads);
    RUN(test_damaged);
    RUN(test_up_to_an_error);
    RUN(test_shorter);
    RUN(test_garbage);
    RUN(test_odd_marks);
    RUN(test_inner_marks);
    RUN(test_tail);
    RUN(test_indexes);
    RUN(test_lines);
    RUN(test_damaged_indexes);
    RUN(test_unfinished_index);
    RUN(test_other_index);
    RUN(test_all_shifted);
    RUN(test_later_shifted);
    RUN(test_shifted_in_order);
    RUN(test_shifted_members);
    RUN(test_stopped_look);
    RUN(test_stopped_export);
    RUN(test_stopped_read);
    free(data);
    return unit_done();
}
