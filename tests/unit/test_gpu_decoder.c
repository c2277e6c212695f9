/*
 * test_gpu_decoder.c - the consumer, the GPU decoder's threads and the helpers work together
 *
 * zlib stands in for the GPU (gpu/inflate.h, "In steps"), so that a sanitizer for threads sees all
 * threads, and so that the engine can be slow, fail or leave data to the CPU wherever the test
 * wants.  The kernels have tests of their own (test_gpu_inflate.c).
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "compat/gunzip.h"
#include "gpu/inflate.h"
#include "pipeline/expand/expansion.h"
#include "pipeline/pipeline.h"
#include "tests/unit/inputs.h"

/* --- An engine that is zlib --- */

enum { BATCH = 150000, OVERLAP = 100000, GROUP = 400000, RUNS_MAX = 1000, PARTS_MAX = 2000 };

/* Where the engine fails, or leaves data to the CPU. */
enum stage { OPEN, PUT, BEGIN, FIND, NEXT, TAKE, NEVER };

static struct {
    enum stage stage;
    enum gpu_inflate_result result; /* GPU_INFLATE_FAILED or GPU_INFLATE_LEFT */
    long after;                     /* the number of calls at this stage that succeed first */
    atomic_long calls[NEVER];
    bool is_slow;
    bool copies_wrongly; /* at stage TAKE: one byte of a copy is wrong, instead of failing */
    /* gpu_inflate_open waits until this much output was written. */
    size_t open_after;
    atomic_size_t written;
    atomic_int bad_begins; /* calls of gpu_inflate_begin where a member has ended */
} fate = {.stage = NEVER};

/* Where each member's last block ends, in bytes of the file; set only by tests that need it. */
static struct {
    uint64_t *ends;
    size_t count;
} members;

/* True if a member's last block ends at bit `bit`, or in the byte of that bit. */
static bool is_member_end(uint64_t bit)
{
    for (size_t i = 0; i < members.count; i++)
        if ((bit + 7) / 8 == members.ends[i])
            return true;
    return false;
}

struct gpu_inflate {
    uint8_t stage[GPU_INFLATE_STAGE], slices[2][GPU_INFLATE_SLICE];
    unsigned slice;
    uint8_t inputs[GPU_INFLATE_INPUTS][BATCH + 2 * OVERLAP];
    uint8_t outputs[GPU_INFLATE_OUTPUTS][GROUP + (1 << 20)];
    struct gpu_inflate_run runs[GPU_INFLATE_OUTPUTS][RUNS_MAX];
    struct gpu_inflate_part parts[GPU_INFLATE_OUTPUTS][PARTS_MAX];
    uint64_t in_len, bit;
    uint8_t window[32768];
    uint32_t known;
    const uint8_t *in; /* the input buffer that is decoded */
    uint64_t start, end;
    bool has_ended, is_bad;
};

/* True if this call of the stage must succeed. */
static bool is_good(enum stage stage, char *error)
{
    const long call = atomic_fetch_add(&fate.calls[stage], 1);

    if (fate.is_slow)
        nanosleep(&(struct timespec){0, 300000}, NULL);
    if (stage != fate.stage || call < fate.after)
        return true;
    snprintf(error, GPU_ERROR_SIZE, "zlib is tired");
    return false;
}

int gpu_count(char error[GPU_ERROR_SIZE])
{
    (void)error;
    return 1;
}

struct gpu_inflate *gpu_inflate_open(int device, const struct gpu_inflate_options *options,
                                     char error[GPU_ERROR_SIZE])
{
    CHECK_EQ(device, 0);
    CHECK(options->in_steps);
    while (atomic_load(&fate.written) < fate.open_after)
        nanosleep(&(struct timespec){0, 100000}, NULL);
    return is_good(OPEN, error) ? unit_need(calloc(1, sizeof(struct gpu_inflate))) : NULL;
}

void gpu_inflate_close(struct gpu_inflate *g)
{
    free(g);
}

enum gpu_inflate_result gpu_inflate(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                    uint8_t *out, size_t room, size_t *out_len,
                                    gpu_inflate_goes_on *goes_on, void *ctx,
                                    char error[GPU_ERROR_SIZE])
{
    (void)g, (void)in, (void)in_len, (void)out, (void)room, (void)goes_on, (void)ctx, (void)error;
    *out_len = 0;
    abort();
}

const char *gpu_inflate_name(const struct gpu_inflate *g)
{
    (void)g;
    return "zlib";
}

size_t gpu_inflate_batch_size(const struct gpu_inflate *g)
{
    (void)g;
    return BATCH;
}

size_t gpu_inflate_input_size(const struct gpu_inflate *g)
{
    (void)g;
    return BATCH + 2 * OVERLAP;
}

uint8_t *gpu_inflate_stage(const struct gpu_inflate *g)
{
    return (uint8_t *)(uintptr_t)g->stage;
}

bool gpu_inflate_put(struct gpu_inflate *g, unsigned input, size_t at, size_t len,
                     char error[GPU_ERROR_SIZE])
{
    memcpy(g->inputs[input] + at, g->stage, len);
    return is_good(PUT, error);
}

enum gpu_inflate_result gpu_inflate_begin(struct gpu_inflate *g, uint64_t in_len, uint64_t bit,
                                          const uint8_t *window, uint32_t known, bool is_bgzf,
                                          char error[GPU_ERROR_SIZE])
{
    CHECK(!is_bgzf);
    if (is_member_end(bit))
        atomic_fetch_add(&fate.bad_begins, 1);
    g->in_len = in_len;
    g->bit = bit;
    g->known = known;
    g->has_ended = g->is_bad = false;
    memcpy(g->window, window, sizeof(g->window));
    return is_good(BEGIN, error) ? GPU_INFLATE_DONE : GPU_INFLATE_FAILED;
}

enum gpu_inflate_result gpu_inflate_find(struct gpu_inflate *g, unsigned input, uint64_t start,
                                         size_t len, char error[GPU_ERROR_SIZE])
{
    g->in = g->inputs[input];
    g->start = start;
    g->end = start + len;
    return is_good(FIND, error) ? GPU_INFLATE_DONE : fate.result;
}

/* Decodes blocks of a member to out[0..*len).  Stops at the end of the member or of the batch, or
 * at the end of the first block with which the output has at least `room` bytes.  Returns zlib's
 * last status. */
static int decode_member(struct gpu_inflate *g, uint8_t *out, size_t room, size_t *len)
{
    const uint64_t byte = g->bit / 8, limit = g->end == g->in_len ? g->in_len : g->start + BATCH;
    const int bits = (int)((8 - g->bit % 8) % 8);
    z_stream z = {0};
    int status = Z_OK;
    uint64_t good = g->bit;

    CHECK_EQ(inflateInit2(&z, -15), Z_OK);
    if (g->known > 0)
        CHECK_EQ(inflateSetDictionary(&z, g->window + 32768 - g->known, g->known), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)(g->in + (byte - g->start));
    z.avail_in = (uInt)(g->end - byte);
    if (bits > 0) {
        CHECK_EQ(inflatePrime(&z, bits, *z.next_in >> (8 - bits)), Z_OK);
        z.next_in++;
        z.avail_in--;
    }
    z.next_out = out;
    z.avail_out = GROUP + (1 << 20);
    *len = 0;
    while (status == Z_OK && good < 8 * limit && *len < room) {
        status = inflate(&z, Z_BLOCK);
        if ((status != Z_OK && status != Z_STREAM_END) ||
            (z.avail_in == 0 && (z.data_type & 128) == 0 && status == Z_OK))
            break;
        if ((z.data_type & 128) == 0 && status == Z_OK)
            continue;
        good = 8 * (g->end - z.avail_in) - (uint64_t)(z.data_type & 63);
        *len = z.total_out;
        if (status == Z_OK && (z.data_type & 64) != 0) /* let zlib notice the end */
            status = inflate(&z, Z_BLOCK);
    }
    if (status == Z_STREAM_END)
        good = 8 * (g->end - z.avail_in);
    (void)inflateEnd(&z);
    g->bit = good;
    return status;
}

/* Describes a run's output out[0..len) as parts. */
static void add_parts(struct gpu_inflate *g, unsigned output, struct gpu_inflate_output *o,
                      const uint8_t *out, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        const uint64_t start = o->part_count > 0 ? o->parts[o->part_count - 1].end : 0;

        n = len - at < GPU_INFLATE_PART ? len - at : GPU_INFLATE_PART;
        CHECK(o->part_count < PARTS_MAX);
        g->parts[output][o->part_count++] =
            (struct gpu_inflate_part){start + n, (uint32_t)crc32(0, out + at, (uInt)n)};
    }
}

/* Adds the len bytes before `end` to the window, from which the oldest bytes fall out. */
static void move_window(struct gpu_inflate *g, const uint8_t *end, size_t len)
{
    const size_t n = len < 32768 ? len : 32768;

    memmove(g->window, g->window + n, 32768 - n);
    memcpy(g->window + 32768 - n, end - n, n);
    g->known = g->known + n < 32768 ? g->known + (uint32_t)n : 32768;
}

enum gpu_inflate_result gpu_inflate_next(struct gpu_inflate *g, unsigned output,
                                         struct gpu_inflate_output *o, char error[GPU_ERROR_SIZE])
{
    const uint64_t limit = g->end == g->in_len ? g->in_len : g->start + BATCH;
    size_t made = 0;

    o->count = o->part_count = 0;
    o->runs = g->runs[output];
    o->parts = g->parts[output];
    if (!is_good(NEXT, error))
        return fate.result;
    if (g->is_bad) {
        snprintf(error, GPU_ERROR_SIZE, "bad data");
        return GPU_INFLATE_LEFT;
    }
    while (g->bit < 8 * limit && made < GROUP && o->count < RUNS_MAX && !g->has_ended) {
        struct gpu_inflate_run *run = &g->runs[output][o->count];
        uint8_t *const out = g->outputs[output] + made;
        size_t len;

        run->start = g->bit;
        const int status = decode_member(g, out, GROUP - made, &len);

        g->is_bad = status != Z_OK && status != Z_STREAM_END;
        if (g->bit == run->start)
            break;
        run->end = g->bit;
        run->length = len;
        run->crc = (uint32_t)crc32(0, out, (uInt)len);
        run->ends_member = status == Z_STREAM_END;
        add_parts(g, output, o, out, len);
        o->count++;
        made += len;
        move_window(g, out + len, len);
        if (g->is_bad)
            break;
        if (!run->ends_member)
            continue;
        g->known = 0;
        g->bit += 8 * (8 + 10); /* the trailer, and zlib's header */
        g->has_ended = g->bit / 8 >= g->in_len;
    }
    o->length = made;
    memcpy(o->window, g->window, sizeof(o->window));
    return o->count > 0 || !g->is_bad ? GPU_INFLATE_DONE : GPU_INFLATE_LEFT;
}

bool gpu_inflate_has_ended(const struct gpu_inflate *g)
{
    return g->has_ended;
}

const uint8_t *gpu_inflate_take(struct gpu_inflate *g, unsigned output, uint64_t at, size_t len,
                                size_t next_len, char error[GPU_ERROR_SIZE])
{
    uint8_t *const slice = g->slices[g->slice++ % 2];

    (void)next_len;
    memcpy(slice, g->outputs[output] + at, len);
    if (is_good(TAKE, error))
        return slice;
    if (!fate.copies_wrongly)
        return NULL;
    slice[(size_t)fate.after * 997 % len] ^= 1;
    return slice;
}

struct gpu_inflate_times gpu_inflate_times(const struct gpu_inflate *g)
{
    (void)g;
    return (struct gpu_inflate_times){0};
}

/* --- The sample: members of text, by zlib --- */

enum { MEMBERS = 3, MEMBER_LEN = 1200000, LEN = MEMBERS * MEMBER_LEN };

static struct {
    uint8_t *data, *gz;
    size_t gz_len;
} sample;

static void make_sample(void)
{
    static const struct input_kind words = {"words", WORDS, 0};
    const size_t room = LEN + 100000;

    sample.data = unit_need(malloc(LEN));
    sample.gz = unit_need(malloc(room));
    fill_kind(sample.data, LEN, &words, LONGEST_TOKEN, 7);
    for (size_t i = 0; i < MEMBERS; i++) {
        z_stream z = {0};

        CHECK_EQ(deflateInit2(&z, 1 + (int)i, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in = sample.data + i * MEMBER_LEN;
        z.avail_in = MEMBER_LEN;
        z.next_out = sample.gz + sample.gz_len;
        z.avail_out = (uInt)(room - sample.gz_len);
        CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
        sample.gz_len += z.total_out;
        (void)deflateEnd(&z);
    }
}

/* --- A decompression --- */

struct run {
    struct expansion *expansion;
    uint8_t *out;
    size_t made;
    size_t room; /* writing fails after this many bytes */
    uint64_t gpu_bytes;
    enum gz_status status;
};

static ssize_t read_input(void *ctx, void *buf, size_t len)
{
    return expansion_read(((struct run *)ctx)->expansion, buf, len);
}

static int write_output(void *ctx, const void *buf, size_t len)
{
    struct run *r = ctx;

    if (len > r->room - r->made) {
        errno = ENOSPC;
        return -1;
    }
    if (buf != NULL)
        memcpy(r->out + r->made, buf, len);
    r->made += len;
    atomic_store(&fate.written, r->made);
    return 0;
}

/* Decompresses a file of these bytes with the pipeline. */
static void decompress(struct pipeline *p, const uint8_t *gz, size_t len, bool discards,
                       struct run *r)
{
    struct gz_io io = {.read = read_input, .write = write_output, .ctx = r};
    struct pipeline_expansion_stats stats;
    struct gz_info info;
    FILE *f = unit_need(tmpfile());
    struct gz_stream *s;

    CHECK_EQ(fwrite(gz, 1, len, f), len);
    CHECK_EQ(fflush(f), 0);
    CHECK_EQ(lseek(fileno(f), 0, SEEK_SET), 0);
    r->made = 0;
    r->expansion = unit_need(pipeline_expand(p, fileno(f), 0, write_output, r));
    io.ahead = expansion_ahead(r->expansion);
    s = unit_need(gz_open(&io, &info));
    CHECK_EQ(gz_read_header(s), GZ_OK);
    if (discards)
        expansion_discard(r->expansion);
    expansion_begin(r->expansion);
    r->status = gz_run(s);
    gz_close(s);
    expansion_close(r->expansion, &stats);
    r->gpu_bytes = stats.gpu_bytes;
    fclose(f);
}

static struct pipeline *make_pipeline_with(int threads, uint64_t gpu_min)
{
    const struct pipeline_config config = {.level = 1,
                                           .threads = threads,
                                           .caller_works = true,
                                           .segment_size = 1 << 20,
                                           .backend = BACKEND_CPU,
                                           .expand_backend = BACKEND_AUTO,
                                           .is_test = true,
                                           .test_gpu_min = gpu_min};
    char error[GPU_ERROR_SIZE];

    return unit_need(pipeline_new(&config, error));
}

/* Makes a pipeline that waits for the GPU. */
static struct pipeline *make_pipeline(int threads)
{
    return make_pipeline_with(threads, 0);
}

/* Decompresses the sample, all of which must come out right. */
static void expect_all(struct pipeline *p, struct run *r)
{
    decompress(p, sample.gz, sample.gz_len, false, r);
    CHECK_EQ(r->status, GZ_OK);
    CHECK_EQ(r->made, LEN);
    CHECK(memcmp(r->out, sample.data, LEN) == 0);
}

static void set_fate(enum stage stage, enum gpu_inflate_result result, long after)
{
    fate.stage = stage;
    fate.result = result;
    fate.after = after;
    for (int i = 0; i < NEVER; i++)
        atomic_store(&fate.calls[i], 0);
}

static struct run new_run(void)
{
    return (struct run){.out = unit_need(malloc(LEN)), .room = LEN};
}

/* One decoder serves several files, one after another. */
static void test_all(void)
{
    struct run r = new_run();

    set_fate(NEVER, GPU_INFLATE_DONE, 0);
    for (int threads = 1; threads <= 4; threads++) {
        struct pipeline *p = make_pipeline(threads);

        fate.is_slow = threads == 3;
        for (int i = 0; i < 3; i++) {
            expect_all(p, &r);
            CHECK_EQ(r.gpu_bytes, LEN);
        }
        decompress(p, sample.gz, sample.gz_len, true, &r);
        CHECK_EQ(r.status, GZ_OK);
        CHECK_EQ(r.made, LEN);
        CHECK_EQ(r.gpu_bytes, LEN);
        pipeline_free(p);
    }
    fate.is_slow = false;
    free(r.out);
}

/* Whatever fails, and wherever the GPU gives up, the output is the same. */
static void test_failures(void)
{
    struct run r = new_run();
    uint64_t some = 0;

    for (enum stage stage = OPEN; stage < NEVER; stage++)
        for (int left = 0; left < (stage == FIND || stage == NEXT ? 2 : 1); left++)
            for (long after = 0; after < 6; after++) {
                struct pipeline *p = make_pipeline(1 + (int)after % 3);

                set_fate(stage, left ? GPU_INFLATE_LEFT : GPU_INFLATE_FAILED, after);
                expect_all(p, &r);
                some += r.gpu_bytes > 0 && r.gpu_bytes < LEN;
                expect_all(p, &r);
                pipeline_free(p);
            }
    CHECK(some >= 10);
    set_fate(NEVER, GPU_INFLATE_DONE, 0);
    free(r.out);
}

/* A wrong copy to the host is never written.  The CPU does the rest, and the GPU is not used any
 * more. */
static void test_wrong_copies(void)
{
    struct run r = new_run();

    fate.copies_wrongly = true;
    for (long after = 0; after < 6; after++) {
        struct pipeline *p = make_pipeline(1 + (int)after % 4);
        char name[GPU_ERROR_SIZE], trouble[GPU_ERROR_SIZE];

        set_fate(TAKE, GPU_INFLATE_FAILED, after);
        expect_all(p, &r);
        CHECK(r.gpu_bytes < LEN);
        pipeline_expand_gpu(p, name, trouble);
        CHECK(strstr(trouble, "wrong") != NULL);
        expect_all(p, &r);
        CHECK_EQ(r.gpu_bytes, 0);
        pipeline_free(p);
    }
    fate.copies_wrongly = false;
    set_fate(NEVER, GPU_INFLATE_DONE, 0);
    free(r.out);
}

/* An error in the input must be found at the same place as without a GPU. */
static void test_damage(void)
{
    struct run r = new_run();
    uint8_t *bad = unit_need(malloc(sample.gz_len));
    struct pipeline *p = make_pipeline(2);
    uint64_t seed = 3;

    for (int i = 0; i < 12; i++) {
        /* A file that is cut still has to be large enough for the pipeline. */
        const size_t least = i % 3 == 2 ? PIPELINE_EXPAND_MIN : 1000;
        const size_t at = least + (size_t)unit_below(&seed, sample.gz_len - least);

        memcpy(bad, sample.gz, sample.gz_len);
        bad[at] ^= (uint8_t)(1 << i % 8);
        decompress(p, bad, i % 3 == 2 ? at : sample.gz_len, false, &r);
        CHECK(r.status != GZ_OK);
        CHECK(memcmp(r.out, sample.data, r.made < at ? r.made : at) == 0);
    }
    pipeline_free(p);
    free(bad);
    free(r.out);
}

/* Writing fails, at any time. */
static void test_full(void)
{
    struct run r = new_run();
    struct pipeline *p = make_pipeline(3);

    for (r.room = 0; r.room < LEN; r.room += LEN / 7) {
        decompress(p, sample.gz, sample.gz_len, false, &r);
        CHECK_EQ(r.status, GZ_WRITE_ERROR);
    }
    r.room = LEN;
    expect_all(p, &r);
    pipeline_free(p);
    free(r.out);
}

/* The members are short, and the GPU is up only after some of them are decompressed.  The GPU takes
 * over where a block starts, never where a member has just ended. */
static void test_late(void)
{
    enum { COUNT = 200, EACH = LEN / COUNT };
    uint8_t *gz = unit_need(malloc(LEN + 100 * COUNT));
    struct run r = new_run();
    size_t len = 0, helped = 0;

    members.ends = unit_need(calloc(COUNT, sizeof(*members.ends)));
    for (size_t i = 0; i < COUNT; i++) {
        z_stream z = {.next_in = sample.data + i * EACH, .avail_in = EACH, .next_out = gz + len};

        z.avail_out = (uInt)(LEN + 100 * COUNT - len);
        CHECK_EQ(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
        len += z.total_out;
        members.ends[i] = len - 8;
        (void)deflateEnd(&z);
    }
    members.count = COUNT;
    set_fate(NEVER, GPU_INFLATE_DONE, 0);
    for (size_t i = 1; i <= 20; i++) {
        struct pipeline *p = make_pipeline_with(1 + (int)i % 4, 1);

        fate.written = 0;
        fate.open_after = i * (LEN / 40);
        decompress(p, gz, len, i % 2 == 0, &r);
        CHECK_EQ(r.status, GZ_OK);
        CHECK_EQ(r.made, LEN);
        CHECK(i % 2 == 0 || memcmp(r.out, sample.data, LEN) == 0);
        helped += r.gpu_bytes > 0;
        pipeline_free(p);
    }
    CHECK(helped > 0);
    CHECK_EQ(fate.bad_begins, 0);
    fate.open_after = 0;
    members.count = 0;
    free(members.ends);
    free(gz);
    free(r.out);
}

int main(void)
{
    make_sample();
    RUN(test_all);
    RUN(test_failures);
    RUN(test_wrong_copies);
    RUN(test_damage);
    RUN(test_full);
    RUN(test_late);
    free(sample.data);
    free(sample.gz);
    return unit_done();
}
