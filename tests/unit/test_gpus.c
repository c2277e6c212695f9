/*
 * test_gpus.c - the pipeline with emulated GPUs, on a machine without any
 *
 * gpu/gpu.h says what the GPU engine does and how it may fail.  This file has another engine with
 * that interface, which lets the CPU engine find the matches.  The other engine can have several
 * devices, and can be slow, short of memory, wrong, or broken.  The pipeline shares work as with
 * real GPUs, and the output must always be the same.  tests/gpu/check.sh tests real GPUs.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "compat/gzip.h"
#include "huffman/huffman.h"
#include "pipeline/pipeline.h"
#include "tests/unit/inputs.h"

#define SEGMENT ((size_t)32 << 10)

/* --- Memory --- */

/* If true, there is no memory for another worker.  The pipeline is compiled to call
 * test_encoder_new instead of huff_encoder_new. */
static atomic_bool is_short;

#undef huff_encoder_new
struct huff_encoder *huff_encoder_new(void);

struct huff_encoder *test_encoder_new(void)
{
    return atomic_load(&is_short) ? NULL : huff_encoder_new();
}

/* --- The engine --- */

/* How the engine should behave. */
static struct {
    int devices;
    int broken_devices; /* how many of the devices, from the last on, cannot be opened */
    /* Milliseconds until the first device is up; each later one takes twice as long as the one
     * before. */
    int open_ms;
    size_t capacity;   /* segments in a batch */
    int batches;       /* the most batches that the pipeline may allocate */
    int batches_got;   /* how many batches get memory */
    long good_batches; /* after this number, submissions fail; -1: never */
    bool fails_late;   /* submissions do not fail at once, but when their result is collected */
    bool is_wrong;
    long good_copies;    /* after this number, copies from a GPU's memory fail; -1: never */
    bool waits_for_pipe; /* a GPU comes up only once `pipe` has at most `left` bytes */
    int left;            /* the number of bytes for waits_for_pipe */
    int pipe;            /* the descriptor for waits_for_pipe */
} told;

/* How many GPUs were tried and opened, and how many batches and copies there were. */
static atomic_long tried, opened, submitted, copied;
static atomic_uint opened_devices; /* bit n: device n was opened */
static atomic_int planned;         /* batches that the last GPU was opened for */

/* Engines that were not closed yet. */
static atomic_long open_engines;

static void be_good(int devices)
{
    memset(&told, 0, sizeof(told));
    told.devices = devices;
    told.capacity = 4;
    told.batches = 8;
    told.batches_got = 8;
    told.good_batches = -1;
    told.good_copies = -1;
    atomic_store(&copied, 0);
    atomic_store(&opened_devices, 0);
    atomic_store(&tried, 0);
    atomic_store(&opened, 0);
    atomic_store(&submitted, 0);
}

struct gpu_engine {
    const struct lz_level *level;
    size_t segment_size;
    int device;
    atomic_int batches;
    atomic_int open_batches;
};

/* A batch's data that is not in struct gpu_batch. */
struct own {
    struct lz_matcher *matcher;
    struct lz_sequence *sequences;
};

static void pause_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&t, NULL);
}

/* Waits until the pipe has at most `left` bytes and nothing more is written to it.  Then checks for
 * a while that these bytes stay in it. */
static void wait_for_pipe(int fd, int left)
{
    struct pollfd p = {.fd = fd};
    int bytes = 0;

    for (int ms = 0; ms < 20000; ms++) {
        if (poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0 && ioctl(fd, FIONREAD, &bytes) == 0 &&
            bytes <= left)
            break;
        pause_ms(1);
    }
    pause_ms(3);
    CHECK((p.revents & POLLHUP) != 0 && ioctl(fd, FIONREAD, &bytes) == 0);
    CHECK_EQ(bytes, left);
}

/* Waits until `count` GPUs were brought up in the background, or have failed to come up.  After
 * that, no thread reads the engine's settings. */
static void wait_tried(long count)
{
    for (int ms = 0; ms < 20000 && atomic_load(&tried) < count; ms++)
        pause_ms(1);
    CHECK_EQ(atomic_load(&tried), count);
}

bool gpu_is_installed(char error[GPU_ERROR_SIZE])
{
    (void)error;
    return true;
}

int gpu_count(char error[GPU_ERROR_SIZE])
{
    snprintf(error, GPU_ERROR_SIZE, "%s", told.devices == 0 ? "none here" : "");
    return told.devices;
}

struct gpu_engine *gpu_open(int device, const struct lz_level *level, size_t segment_size,
                            size_t batch_size, int batches, const struct gpu_options *options,
                            char error[GPU_ERROR_SIZE])
{
    struct gpu_engine *g;

    (void)options;
    CHECK(batch_size > 0 && batches > 0);
    pause_ms(told.open_ms << device);
    if (told.waits_for_pipe)
        wait_for_pipe(told.pipe, told.left);
    if (device >= told.devices - told.broken_devices) {
        snprintf(error, GPU_ERROR_SIZE, "device %d is broken", device);
        atomic_fetch_add(&tried, 1);
        return NULL;
    }
    g = unit_need(calloc(1, sizeof(*g)));
    g->level = level;
    g->segment_size = segment_size;
    g->device = device;
    atomic_store(&planned, batches);
    atomic_fetch_or(&opened_devices, 1U << device);
    atomic_fetch_add(&opened, 1);
    atomic_fetch_add(&open_engines, 1);
    atomic_fetch_add(&tried, 1);
    return g;
}

/* True while the thread's current context is saved.  A program's thread frees a pipeline's GPUs, so
 * that thread must save and restore its context. */
static _Thread_local bool is_saved;

void gpu_close(struct gpu_engine *g)
{
    CHECK(is_saved);
    CHECK_EQ(atomic_load(&g->open_batches), 0);
    atomic_fetch_sub(&open_engines, 1);
    free(g);
}

const char *gpu_name(const struct gpu_engine *g)
{
    return g->device == 0 ? "first" : "other";
}

int gpu_batches(const struct gpu_engine *g)
{
    (void)g;
    return told.batches;
}

struct gpu_batch *gpu_new_batch(struct gpu_engine *g, char error[GPU_ERROR_SIZE])
{
    struct gpu_batch *b;
    struct own *own;

    if (atomic_fetch_add(&g->batches, 1) >= told.batches_got) {
        snprintf(error, GPU_ERROR_SIZE, "no memory");
        return NULL;
    }
    b = unit_need(calloc(1, sizeof(*b)));
    own = unit_need(calloc(1, sizeof(*own)));
    b->device = own;
    b->capacity = told.capacity * g->segment_size;
    b->input = unit_need(malloc(b->capacity + LZ_INPUT_PAD));
    memset(b->input, 0, b->capacity + LZ_INPUT_PAD);
    b->chunk_room = (unsigned)(told.capacity * LZ_CHUNKS(g->segment_size));
    b->segments = unit_need(malloc(b->chunk_room * sizeof(*b->segments)));
    b->chunks = unit_need(malloc(b->chunk_room * sizeof(*b->chunks)));
    own->matcher = unit_need(lz_matcher_new(g->level, g->segment_size));
    own->sequences = unit_need(malloc(b->capacity / LZ_MIN_MATCH * sizeof(*own->sequences)));
    atomic_fetch_add(&g->open_batches, 1);
    return b;
}

void gpu_free_batch(struct gpu_engine *g, struct gpu_batch *b)
{
    struct own *own;

    if (b == NULL)
        return;
    own = b->device;
    lz_matcher_free(own->matcher);
    free(own->sequences);
    free(own);
    free(b->chunks);
    free(b->segments);
    free(b->input);
    free(b);
    atomic_fetch_sub(&g->open_batches, 1);
}

/* --- Its memory --- */

/* Bytes in a GPU's memory are masked here, so that code that reads them directly, without a copy,
 * gets wrong bytes. */
#define MASK 0x5a

static void unmask(uint8_t *to, const uint8_t *from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = from[i] ^ MASK;
}

struct gpu_copier {
    int device;
    atomic_bool is_in_use;
};

/* Copiers that are not freed yet. */
static atomic_long copiers;

struct gpu_copier *gpu_new_copier(int device, char error[GPU_ERROR_SIZE])
{
    struct gpu_copier *c;

    if (device >= told.devices) {
        snprintf(error, GPU_ERROR_SIZE, "there is no device %d", device);
        return NULL;
    }
    c = unit_need(calloc(1, sizeof(*c)));
    c->device = device;
    atomic_fetch_add(&copiers, 1);
    return c;
}

void gpu_free_copier(struct gpu_copier *c)
{
    CHECK(is_saved);
    CHECK(!atomic_load(&c->is_in_use));
    free(c);
    atomic_fetch_sub(&copiers, 1);
}

bool gpu_copy(struct gpu_copier *c, void *to, const void *from, size_t len,
              char error[GPU_ERROR_SIZE])
{
    const bool is_good = told.good_copies < 0 || atomic_fetch_add(&copied, 1) < told.good_copies;

    CHECK(!atomic_exchange(&c->is_in_use, true));
    CHECK(len > 0);
    if (is_good)
        unmask(to, from, len);
    else
        snprintf(error, GPU_ERROR_SIZE, "a copy failed");
    atomic_store(&c->is_in_use, false);
    return is_good;
}

/* No output is in a GPU's memory. */
bool gpu_put(struct gpu_copier *c, void *to, const struct iovec *parts, int count,
             char error[GPU_ERROR_SIZE])
{
    (void)c;
    (void)to;
    (void)parts;
    (void)count;
    (void)error;
    CHECK(false);
    return false;
}

void gpu_save_thread(struct gpu_thread *t)
{
    CHECK(!is_saved);
    is_saved = true;
    *t = (struct gpu_thread){.context = t, .capture = 1};
}

void gpu_restore_thread(const struct gpu_thread *t)
{
    CHECK(is_saved && t->context == t);
    is_saved = false;
}

/* --- Its batches --- */

/* True if this submission should fail, because told.good_batches submissions came before. */
static bool is_broken(char error[GPU_ERROR_SIZE])
{
    if (told.good_batches < 0 || atomic_load(&submitted) <= told.good_batches)
        return false;
    snprintf(error, GPU_ERROR_SIZE, "broken");
    return true;
}

bool gpu_submit(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE])
{
    CHECK(b->length > 0 && b->length <= b->capacity);
    (void)g;
    atomic_fetch_add(&submitted, 1);
    return told.fails_late || !is_broken(error);
}

bool gpu_collect(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE])
{
    struct own *own = b->device;
    struct lz_sequence *out = own->sequences;
    unsigned chunk = 0;

    (void)g;
    if (told.fails_late && is_broken(error))
        return false;
    for (unsigned i = 0; i < b->count; i++)
        if (b->segments[i].from != NULL)
            unmask(b->input + b->segments[i].start, b->segments[i].from, b->segments[i].length);
    for (unsigned i = 0; i < b->count; i++) {
        struct gpu_segment *s = &b->segments[i];
        const struct lz_chunk *found =
            lz_match_segment(own->matcher, b->input + s->start, s->length);

        s->chunk = chunk;
        for (size_t c = 0; c < LZ_CHUNKS(s->length); c++, chunk++) {
            memcpy(out, found[c].sequences, found[c].count * sizeof(*out));
            if (told.is_wrong && found[c].count > 0)
                out[found[c].count / 2].distance ^= 1;
            b->chunks[chunk].sequences = out;
            b->chunks[chunk].count = found[c].count;
            out += found[c].count;
        }
    }
    return true;
}

/* --- The tests --- */

/* How many bytes of input make a GPU worth using.  NO_MINIMUM: the pipeline decides. */
#define NO_MINIMUM UINT64_MAX
static uint64_t gpu_min = NO_MINIMUM;

/* The level and the segment size of the tests. */
static int level = 1;
static size_t segment_size = SEGMENT;

/* The input, and the output that one CPU thread makes of it. */
static uint8_t *input;
static size_t input_size;
static uint8_t *expected;
static size_t expected_size;

/* The number of segments that several threads have matched since a test set this variable to 0. */
static uint64_t split_segments;

static struct pipeline_config config(enum backend backend, int threads)
{
    struct pipeline_config c = {
        .level = level,
        .threads = threads,
        .caller_works = true,
        .segment_size = segment_size,
        .backend = backend,
    };

    return c;
}

/* Returns a file with the input's first `size` bytes.  The file's offset is at the start. */
static FILE *file_with(size_t size)
{
    FILE *file = unit_need(tmpfile());

    if (size > input_size || fwrite(input, 1, size, file) != size || fflush(file) != 0)
        abort();
    rewind(file);
    return file;
}

/* How a pipe is filled. */
enum filling {
    NO_PIPE,
    FILL,           /* while it is read */
    FILL_KEEP_OPEN, /* like FILL, but the pipe stays open, so the reader expects more */
    FILL_FAST,      /* before it is read, if the pipe can hold that much */
    FILL_LATE,      /* after a while */
    FILL_SLOW       /* so that the reader mostly waits */
};

struct filler {
    int fd;
    size_t size;
    enum filling way;
    int out; /* FILL_SLOW: where the output is written */
};

static off_t size_of(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        abort();
    return st.st_size;
}

/* Waits until a file is larger than `size`, and then five times as long again. */
static void wait_long(int out, off_t size)
{
    const double began = clock_seconds();

    for (int ms = 0; ms < 20000 && size_of(out) <= size; ms++)
        pause_ms(1);
    pause_ms((int)(5e3 * (clock_seconds() - began)) + 1);
}

static void *fill(void *argument)
{
    const struct filler *f = argument;

    if (f->way == FILL_LATE)
        pause_ms(300);
    for (size_t done = 0; done < f->size;) {
        /* First write a byte more than a segment.  Without that byte, the segment might be the
         * last, so no thread would take the segment yet. */
        const size_t most = f->way != FILL_SLOW ? f->size : done == 0 ? SEGMENT + 1 : SEGMENT;
        const off_t before = f->way == FILL_SLOW ? size_of(f->out) : 0;
        ssize_t n = write(f->fd, input + done, f->size - done < most ? f->size - done : most);

        if (n < 0)
            break;
        done += (size_t)n;
        if (f->way == FILL_SLOW && done < f->size)
            wait_long(f->out, before);
    }
    if (f->way != FILL_KEEP_OPEN)
        close(f->fd);
    return NULL;
}

/* Starts filling a pipe.  Returns the descriptor to read from. */
static int start_filling(struct filler *f, pthread_t *thread)
{
    int ends[2];

    if (pipe(ends) != 0)
        abort();
    f->fd = ends[1];
    if (f->way == FILL_FAST) {
#ifdef F_SETPIPE_SZ
        (void)fcntl(f->fd, F_SETPIPE_SZ, 1 << 20);
        if (fcntl(f->fd, F_GETPIPE_SZ) < (int)f->size)
#endif
            f->way = FILL;
    }
    if (pthread_create(thread, NULL, fill, f) != 0)
        abort();
    for (int bytes = 0; f->way == FILL_FAST && (size_t)bytes < f->size; pause_ms(1))
        if (ioctl(ends[0], FIONREAD, &bytes) != 0)
            abort();
    return ends[0];
}

/* Runs one job, without others beside it. */
static enum pipeline_status run(struct pipeline *p, int in, int out, const uint8_t *header,
                                size_t header_len, struct pipeline_stats *stats, int *error)
{
    struct pipeline_job job = {
        .in_fd = in, .out_fd = out, .header = header, .header_len = header_len};
    const enum pipeline_status status = pipeline_run(p, &job);

    *stats = job.stats;
    *error = job.error_number;
    return status;
}

/* Compresses the input's first `size` bytes, from a file or a pipe.  Returns the output, which the
 * caller frees, and its size in *out_size. */
static uint8_t *compress(struct pipeline *p, size_t size, enum filling way, size_t *out_size,
                         struct pipeline_stats *stats)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};
    FILE *in = file_with(size), *out = unit_need(tmpfile());
    struct filler filler = {.size = size, .way = way, .out = fileno(out)};
    pthread_t thread;
    const int fd = way != NO_PIPE ? start_filling(&filler, &thread) : fileno(in);
    int error = 0;
    uint8_t *written;

    if (way != NO_PIPE && told.waits_for_pipe)
        told.pipe = dup(fd);
    memset(stats, 0, sizeof(*stats));
    CHECK_EQ(run(p, fd, fileno(out), header, sizeof(header), stats, &error), PIPELINE_OK);
    if (way != NO_PIPE) {
        pthread_join(thread, NULL);
        close(fd);
    }
    CHECK_EQ(stats->in_bytes, size);
    *out_size = (size_t)lseek(fileno(out), 0, SEEK_END);
    CHECK_EQ(stats->out_bytes, *out_size);
    written = unit_need(malloc(*out_size + 1));
    CHECK_EQ(pread(fileno(out), written, *out_size, 0), *out_size);
    fclose(in);
    fclose(out);
    return written;
}

/* Checks that the whole input gives the expected output. */
static void check_input(struct pipeline *p, enum filling way, struct pipeline_stats *stats)
{
    size_t size;
    uint8_t *written = compress(p, input_size, way, &size, stats);

    CHECK_EQ(size, expected_size);
    CHECK(size == expected_size && memcmp(written, expected, size) == 0);
    CHECK_EQ(stats->cpu_segments + stats->gpu_segments,
             (input_size + segment_size - 1) / segment_size);
    split_segments += stats->split_segments;
    free(written);
}

/* Makes a pipeline; ends the test if that fails. */
static struct pipeline *new_pipeline(const struct pipeline_config *c)
{
    struct pipeline_config in_test = *c;
    char error[GPU_ERROR_SIZE] = "";

    in_test.is_test = gpu_min != NO_MINIMUM;
    in_test.test_gpu_min = gpu_min;
    return unit_need(pipeline_new(&in_test, error));
}

/* Frees a pipeline.  Checks that all its GPUs are freed, too, even one that was still coming up. */
static void free_pipeline(struct pipeline *p)
{
    pipeline_free(p);
    CHECK_EQ(atomic_load(&open_engines), 0);
    CHECK_EQ(atomic_load(&copiers), 0);
}

/* Compresses the input with every number of threads, every engine and every way to read it.
 * Returns the number of segments that a GPU matched.  Sets *redone to the number of segments that
 * the CPU matched again, because a GPU's sequences were wrong. */
static uint64_t check_all_ways(uint64_t *redone)
{
    uint64_t by_gpu = 0;

    *redone = 0;
    for (int threads = 1; threads <= 4; threads += 3)
        for (int way = 0; way < 4; way++) {
            const struct pipeline_config c =
                config(way / 2 == 0 ? BACKEND_GPU : BACKEND_AUTO, threads);
            struct pipeline *p = new_pipeline(&c);
            struct pipeline_stats stats;

            check_input(p, way % 2 != 0 ? FILL : NO_PIPE, &stats);
            by_gpu += stats.gpu_segments;
            *redone += stats.redone_segments;
            if (told.good_batches < 0 && told.batches_got > 0 && !told.is_wrong &&
                c.backend == BACKEND_GPU)
                CHECK_EQ(stats.cpu_segments, 0);
            free_pipeline(p);
        }
    return by_gpu;
}

static void test_one(void)
{
    uint64_t redone;

    be_good(1);
    CHECK(check_all_ways(&redone) > 0);
    CHECK_EQ(redone, 0);
}

static void test_several(void)
{
    uint64_t redone;

    be_good(3);
    CHECK(check_all_ways(&redone) > 0);
    CHECK_EQ(atomic_load(&opened), 3 * 8);
    be_good(3);
    told.open_ms = 3;
    CHECK(check_all_ways(&redone) > 0);
}

static void test_small_batches(void)
{
    uint64_t redone;

    for (size_t capacity = 1; capacity <= 64; capacity = capacity * 3 + 1) {
        be_good(2);
        told.capacity = capacity;
        CHECK(check_all_ways(&redone) > 0);
    }
    be_good(1);
    told.batches = 2;
    CHECK(check_all_ways(&redone) > 0);
}

static void test_short_memory(void)
{
    uint64_t redone;

    be_good(1);
    told.batches_got = 1;
    CHECK(check_all_ways(&redone) > 0);
    /* No batch gets memory: the CPU does everything. */
    be_good(1);
    told.batches_got = 0;
    CHECK_EQ(check_all_ways(&redone), 0);
}

static void test_wrong(void)
{
    uint64_t redone;

    be_good(2);
    told.is_wrong = true;
    CHECK(check_all_ways(&redone) > 0);
    CHECK(redone > 0);
}

/* A GPU that is wrong again and again is not asked any more, neither for the rest of a job nor for
 * later jobs. */
static void test_wrong_again(void)
{
    for (int threads = 1; threads <= 4; threads++) {
        const struct pipeline_config c = config(BACKEND_GPU, threads);
        char why[GPU_ERROR_SIZE];
        struct pipeline_stats stats;
        struct pipeline *p;

        be_good(1);
        told.is_wrong = true;
        p = new_pipeline(&c);
        check_input(p, NO_PIPE, &stats);
        CHECK(stats.redone_segments >= GPUS_WRONG_MAX);
        pipeline_gpu_trouble(p, why);
        CHECK(strstr(why, "wrong") != NULL);
        for (int i = 0; i < 3; i++) {
            check_input(p, NO_PIPE, &stats);
            CHECK_EQ(stats.gpu_segments, 0);
        }
        free_pipeline(p);
    }
}

static void test_failing(void)
{
    uint64_t redone;

    for (int late = 0; late < 2; late++)
        for (int good = 0; good <= 9; good += 3)
            for (int devices = 1; devices <= 2; devices++) {
                if (UNIT_SANITIZED && (late + good + devices) % 2 == 0)
                    continue;
                be_good(devices);
                told.good_batches = good;
                told.fails_late = late != 0;
                check_all_ways(&redone);
            }
}

/* Sets `expected`. */
static void expect(void)
{
    const struct pipeline_config c = config(BACKEND_CPU, 1);
    struct pipeline *p = new_pipeline(&c);
    struct pipeline_stats stats;

    free(expected);
    expected = compress(p, input_size, NO_PIPE, &expected_size, &stats);
    free_pipeline(p);
}

/* Each segment takes so long that several threads match it.  Several threads match a segment
 * without a GPU, and after all GPUs have failed.  With two GPUs that come late and are wrong, the
 * output is the same. */
static void test_parts(void)
{
    struct pipeline_config c;
    struct pipeline_stats stats;
    struct pipeline *p;
    uint64_t redone;

    level = 9;
    segment_size = 7 * SEGMENT; /* takes 5.6 ms at this level, and is at most AHEAD_SIZE */
    expect();
    be_good(0);
    c = config(BACKEND_CPU, 4);
    p = new_pipeline(&c);
    split_segments = 0;
    for (int i = 0; i < 9; i++)
        check_input(p, i % 3 == 2 ? FILL : NO_PIPE, &stats);
    CHECK(split_segments > 0);
    free_pipeline(p);

    for (int late = 0; late < 2; late++) {
        split_segments = 0;
        for (int good = 0; good < 2; good++) {
            be_good(1);
            told.capacity = 1;
            told.good_batches = good;
            told.fails_late = late != 0;
            check_all_ways(&redone);
        }
        CHECK(split_segments > 0);
    }
    be_good(2);
    told.open_ms = 15;
    told.is_wrong = true;
    check_all_ways(&redone);
    CHECK(redone > 0);

    level = 1;
    segment_size = SEGMENT;
    expect();
}

enum failure { CUT, FULL, CLOSED };

/* Makes a job fail. */
struct spoiler {
    enum failure failure; /* CUT or CLOSED */
    int fd;               /* CUT: the file to truncate; CLOSED: the pipe with the output */
    size_t size;          /* CUT: the file's new size; CLOSED: bytes to read before closing */
    long ns;              /* nanoseconds to wait before truncating or closing */
};

static void *spoil(void *argument)
{
    const struct spoiler *s = argument;
    struct timespec t = {0, s->ns};
    uint8_t buf[1000];

    nanosleep(&t, NULL);
    if (s->failure == CUT && ftruncate(s->fd, (off_t)s->size) != 0)
        abort();
    if (s->failure == CUT)
        return NULL;
    for (size_t done = 0; done < s->size; done += sizeof(buf))
        if (read(s->fd, buf, sizeof(buf)) <= 0)
            break;
    close(s->fd);
    return NULL;
}

/* Compresses the input from byte 1000 on, so that the data differs from other jobs' data, and makes
 * the job fail.  Returns false if the job succeeded, because the file was truncated too early or
 * too late. */
static bool fail_job(struct pipeline *p, enum failure failure, bool from_pipe, uint64_t *state)
{
    uint8_t start[1000];
    struct pipeline_stats stats = {0};
    FILE *file = file_with(input_size);
    struct filler filler = {.size = input_size, .way = FILL};
    struct spoiler spoiler = {.failure = failure, .fd = fileno(file)};
    pthread_t filling, spoiling;
    const int in = from_pipe ? start_filling(&filler, &filling) : fileno(file);
    int out[2] = {-1, -1}, error = 0;
    enum pipeline_status status;

    if (read(in, start, sizeof(start)) != sizeof(start))
        abort();
    if (failure == CLOSED) {
        if (pipe(out) != 0)
            abort();
#ifdef F_SETPIPE_SZ
        /* Make the pipe small, because with large pages, the pipe might hold all of the output. */
        (void)fcntl(out[1], F_SETPIPE_SZ, 1 << 16);
#endif
        spoiler.fd = out[0];
    } else {
        out[1] = open(failure == FULL ? "/dev/full" : "/dev/null", O_WRONLY);
    }
    spoiler.size = sizeof(start) + unit_below(state, expected_size / 2);
    spoiler.ns = (long)unit_below(state, 3000000);
    if (failure != FULL && pthread_create(&spoiling, NULL, spoil, &spoiler) != 0)
        abort();
    status = run(p, in, out[1], start, 10, &stats, &error);
    if (failure != FULL)
        pthread_join(spoiling, NULL);
    if (from_pipe) {
        /* Now the pipe has no reader, so the filler ends. */
        close(in);
        pthread_join(filling, NULL);
    }
    close(out[1]);
    fclose(file);
    if (failure == CUT && status == PIPELINE_OK) {
        CHECK(stats.in_bytes + sizeof(start) >= spoiler.size);
        CHECK(stats.in_bytes + sizeof(start) <= input_size);
        return false;
    }
    CHECK_EQ(status, failure == CUT ? PIPELINE_READ_ERROR : PIPELINE_WRITE_ERROR);
    CHECK_EQ(error, failure == CUT ? PIPELINE_SHORTER : failure == FULL ? ENOSPC : EPIPE);
    return true;
}

/* Reading or writing fails while feeders are at work.  After that, the pipeline must work as if it
 * were new. */
static void test_io_failures(void)
{
    static const int threads[] = {1, 3, 5, 9};
    const bool have_full = access("/dev/full", W_OK) == 0;
    uint64_t state = 1;
    int failed_cuts = 0;

    signal(SIGPIPE, SIG_IGN);
    for (int round = 0; round < 4 * 3; round++) {
        /* Every number of threads, each with a GPU that is good, one that fails at once, and one
         * that fails late. */
        const struct pipeline_config c =
            config(round / 2 % 2 == 0 ? BACKEND_GPU : BACKEND_AUTO, threads[round % 4]);
        const int fault = round % 3;
        struct pipeline *p;

        /* With few batches, reading takes as long as the whole job. */
        be_good(1 + round % 2);
        told.batches_got = 1 + round / 4;
        told.good_batches = fault == 0 ? -1 : (long)unit_below(&state, 40);
        told.fails_late = fault == 2;
        p = new_pipeline(&c);
        for (int way = 0; way < 6; way++) {
            const enum failure failure = way / 2;
            const bool from_pipe = way % 2 != 0;
            struct pipeline_stats stats;

            if (failure == CUT)
                failed_cuts += fail_job(p, CUT, false, &state);
            else if (failure == CLOSED || have_full)
                fail_job(p, failure, from_pipe, &state);
            check_input(p, from_pipe ? FILL : NO_PIPE, &stats);
        }
        free_pipeline(p);
    }
    CHECK(failed_cuts > 0);
}

static void test_not_there(void)
{
    struct pipeline_config c = config(BACKEND_GPU, 2);
    char error[GPU_ERROR_SIZE] = "";
    struct pipeline_stats stats;
    struct pipeline *p;

    be_good(0);
    CHECK(pipeline_new(&c, error) == NULL);
    CHECK(strcmp(error, "none here") == 0);
    be_good(2);
    told.broken_devices = 2;
    CHECK(pipeline_new(&c, error) == NULL);
    CHECK(strstr(error, "is broken") != NULL);
    be_good(2);
    c.gpus.count = 2;
    c.gpus.numbers[1] = 2;
    CHECK(pipeline_new(&c, error) == NULL);
    CHECK(strcmp(error, "there is no CUDA device 2: the last is 1") == 0);

    /* A job that does not require a GPU works without one. */
    c.backend = BACKEND_AUTO;
    p = new_pipeline(&c);
    check_input(p, NO_PIPE, &stats);
    CHECK_EQ(stats.gpu_segments, 0);
    pipeline_gpu_trouble(p, error);
    CHECK(strcmp(error, "there is no CUDA device 2: the last is 1") == 0);
    pipeline_gpu_names(p, error);
    CHECK(strcmp(error, "") == 0);
    free_pipeline(p);

    /* One good GPU of two is enough. */
    be_good(2);
    told.broken_devices = 1;
    c = config(BACKEND_GPU, 2);
    p = new_pipeline(&c);
    check_input(p, NO_PIPE, &stats);
    CHECK(stats.gpu_segments > 0 && stats.cpu_segments == 0);
    pipeline_gpu_names(p, error);
    CHECK(strcmp(error, "first") == 0);
    free_pipeline(p);
}

/* Returns how many of `size` bytes stay in the pipe after the workers have claimed the first
 * segment, and have read ahead as many bytes as they may. */
static int left_by_read_ahead(size_t size, int threads)
{
    const size_t read = SEGMENT + (threads > 1 ? AHEAD_SIZE : 0);

    /* One byte more is read, to know that the segment before it is not the last. */
    return size <= read ? 0 : (int)(size - read - 1);
}

/* Compresses `size` bytes from a pipe at level 12, where workers match nothing while a GPU comes
 * up.  The GPU comes up only after the workers have read ahead as many bytes as they may.  Returns
 * the number of segments that the GPU matched. */
static uint64_t check_read_ahead(size_t size, int threads)
{
    struct pipeline_config c = config(BACKEND_CPU, threads);
    size_t alone_size, written_size;
    uint8_t *alone, *written;
    struct pipeline_stats stats;
    struct pipeline *p;

    c.level = 12;
    p = new_pipeline(&c);
    alone = compress(p, size, NO_PIPE, &alone_size, &stats);
    free_pipeline(p);
    told.waits_for_pipe = true;
    told.left = left_by_read_ahead(size, threads);
    c.backend = BACKEND_AUTO;
    p = new_pipeline(&c);
    written = compress(p, size, FILL, &written_size, &stats);
    CHECK_EQ(written_size, alone_size);
    CHECK(written_size == alone_size && memcmp(written, alone, alone_size) == 0);
    wait_tried(1);
    close(told.pipe);
    free(written);
    free(alone);
    free_pipeline(p);
    return stats.gpu_segments;
}

static void test_read_ahead(void)
{
    /* Sizes at which the bytes that are not read ahead fit in the pipe. */
    static const size_t sizes[] = {5 * SEGMENT - 1, 6 * SEGMENT, 7 * SEGMENT, 7 * SEGMENT + 1,
                                   7 * SEGMENT + 4000};

    /* After one segment, the pipeline wants the GPU.  The GPU takes at least one batch of the
     * segments that were read ahead. */
    gpu_min = 1;
    /* If there is only one worker, nothing is read ahead. */
    be_good(1);
    CHECK_EQ(check_read_ahead(SEGMENT + 4000, 1), 1);
    for (int threads = 2; threads <= 9; threads += 7) {
        be_good(1);
        CHECK_EQ(check_read_ahead(2 * SEGMENT, threads), 1);
        be_good(1);
        CHECK_EQ(check_read_ahead(2 * SEGMENT + 1, threads), 2);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            be_good(1);
            CHECK(check_read_ahead(sizes[i], threads) >= 4);
        }
        /* No GPU comes up, or it has no memory, or it fails with segments that were read ahead. */
        for (int way = 0; way < 4; way++) {
            be_good(1);
            told.broken_devices = way == 0;
            told.batches_got = way == 1 ? 0 : 8;
            told.good_batches = way >= 2 ? 0 : -1;
            told.fails_late = way == 3;
            CHECK_EQ(check_read_ahead(7 * SEGMENT + 4000, threads), 0);
        }
        /* The pipeline assumes that a pipe will give several times the bytes that it has given so
         * far, so it wants the GPU after three segments.  Then the pipe ends early, but the GPU
         * must still match the segments that wait for it. */
        gpu_min = 327680;
        be_good(1);
        CHECK_EQ(check_read_ahead(5 * SEGMENT, threads), 2);
        gpu_min = 1;
    }
    gpu_min = 0;
}

/* Workers also match segments that other threads have read ahead.  The same memory is used again
 * and again. */
static void test_match_what_is_read_ahead(void)
{
    gpu_min = 1;
    for (int threads = 2; threads <= 9; threads += 7) {
        const struct pipeline_config c = config(BACKEND_AUTO, threads);
        struct pipeline_stats stats;
        struct pipeline *p;

        be_good(1);
        told.waits_for_pipe = true;
        p = new_pipeline(&c);
        check_input(p, FILL, &stats);
        wait_tried(1);
        close(told.pipe);
        free_pipeline(p);
    }
    gpu_min = 0;
}

/* Closes a full pipe after all bytes of another pipe, which stays open, were read. */
struct closer {
    pthread_t filling; /* fills the other pipe */
    int in, out;
};

static void *close_when_drained(void *argument)
{
    const struct closer *c = argument;
    int bytes = 1;

    pthread_join(c->filling, NULL);
    for (int ms = 0; ms < 20000 && bytes > 0; ms++) {
        pause_ms(1);
        CHECK(ioctl(c->in, FIONREAD, &bytes) == 0);
    }
    pause_ms(3);
    close(c->out);
    return NULL;
}

/* A write fails while a worker waits for more bytes of the pipe, which it would read ahead.  At
 * level 12, no thread matches the bytes that were read before. */
static void test_failure_while_reading_ahead(void)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};

    signal(SIGPIPE, SIG_IGN);
    gpu_min = 1;
    for (int threads = 2; threads <= 9; threads += 7) {
        struct pipeline_config c = config(BACKEND_AUTO, threads);
        struct filler filler = {.size = 4 * SEGMENT, .way = FILL_KEEP_OPEN};
        struct closer closer;
        struct pipeline_stats stats = {0};
        struct pipeline *p;
        pthread_t closing;
        int out[2], error = 0;

        be_good(1);
        told.open_ms = 300;
        c.level = 12;
        p = new_pipeline(&c);
        if (pipe(out) != 0 || fcntl(out[1], F_SETFL, O_NONBLOCK) != 0)
            abort();
        while (write(out[1], header, 1) == 1)
            ;
        if (fcntl(out[1], F_SETFL, 0) != 0)
            abort();
        closer.out = out[0];
        closer.in = start_filling(&filler, &closer.filling);
        if (pthread_create(&closing, NULL, close_when_drained, &closer) != 0)
            abort();
        CHECK_EQ(run(p, closer.in, out[1], header, sizeof(header), &stats, &error),
                 PIPELINE_WRITE_ERROR);
        CHECK_EQ(error, EPIPE);
        pthread_join(closing, NULL);
        close(out[1]);
        close(filler.fd);
        close(closer.in);
        wait_tried(1);
        free_pipeline(p);
    }
    gpu_min = 0;
}

/* While the CPU keeps up with a pipe, no GPU is used.  Once the CPU falls behind, a GPU is used. */
static void test_pipe_is_limit(void)
{
    /* One thread, at the slowest level, so that the input is large enough for a GPU. */
    struct pipeline_config c = config(BACKEND_AUTO, 1);

    c.level = 12;
    gpu_min = NO_MINIMUM;
    for (enum filling way = FILL_FAST; way <= FILL_SLOW; way++) {
        struct pipeline_stats stats;
        struct pipeline *p;
        size_t size;

        be_good(1);
        p = new_pipeline(&c);
        free(compress(p, input_size, way, &size, &stats));
        wait_tried(way == FILL_SLOW ? 0 : 1);
        CHECK_EQ(stats.gpu_segments > 0, way != FILL_SLOW);
        if (way == FILL_SLOW)
            CHECK(stats.cpu_kept_up);
        free_pipeline(p);
    }
    gpu_min = 0;
}

/* True if 16 threads want a GPU for a file of `size` zeros. */
static bool wants_gpu(int at_level, off_t size)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};
    struct pipeline_config c = {.level = at_level,
                                .threads = 16,
                                .segment_size = lz_level(at_level)->segment_default,
                                .backend = BACKEND_AUTO};
    struct pipeline *p = new_pipeline(&c);
    FILE *in = unit_need(tmpfile()), *out = unit_need(tmpfile());
    struct pipeline_stats stats = {0};
    int error;

    CHECK(ftruncate(fileno(in), size) == 0);
    CHECK_EQ(run(p, fileno(in), fileno(out), header, sizeof(header), &stats, &error), PIPELINE_OK);
    wait_tried(stats.wanted_gpus);
    fclose(in);
    fclose(out);
    free_pipeline(p);
    return stats.wanted_gpus;
}

/* At a slow level, a GPU is wanted from a segment and a byte on; at a fast level, only from a
 * larger size on. */
static void test_least_size(void)
{
    gpu_min = NO_MINIMUM;
    for (int i = 9; i <= LZ_LEVEL_MAX; i++) {
        const off_t segment = (off_t)4 << 20;

        be_good(1);
        CHECK_EQ(wants_gpu(i, segment + 1), lz_level(i)->finder->is_slow);
        be_good(1);
        CHECK(!wants_gpu(i, segment));
    }
    gpu_min = 0;
}

/* With few threads, a GPU gets fewer batches, except at the slow levels. */
static void test_batches(void)
{
    static const int threads[] = {1, 2, 4, 10, 16}, batches[] = {3, 4, 5, 8, 8};

    for (int i = 0; i < (int)(sizeof(threads) / sizeof(threads[0])); i++)
        for (int is_slow = 0; is_slow < 2; is_slow++) {
            struct pipeline_config c = config(BACKEND_GPU, threads[i]);

            c.level = is_slow ? LZ_LEVEL_MAX : 1;
            be_good(1);
            free_pipeline(new_pipeline(&c));
            CHECK_EQ(atomic_load(&planned), is_slow ? 4 : batches[i]);
        }
}

/* Tests small inputs and large ones in turn, while one GPU after another comes up. */
static void test_many_inputs(void)
{
    static const size_t sizes[] = {0,           1,           SEGMENT - 1, SEGMENT,
                                   SEGMENT + 1, 9 * SEGMENT, 500001,      3 * SEGMENT};
    enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    uint8_t *alone[COUNT];
    size_t alone_size[COUNT];
    struct pipeline_config c = config(BACKEND_CPU, 2);
    struct pipeline *p = new_pipeline(&c);
    struct pipeline_stats stats;

    for (int i = 0; i < COUNT; i++)
        alone[i] = compress(p, sizes[i], NO_PIPE, &alone_size[i], &stats);
    free_pipeline(p);
    for (int threads = 1; threads <= 4; threads += 3)
        for (int open_ms = 0; open_ms <= 20; open_ms += 10)
            for (int backend = BACKEND_AUTO; backend <= BACKEND_GPU; backend++) {
                if (UNIT_SANITIZED && (threads / 3 + open_ms / 10 + backend) % 2 == 0)
                    continue;
                be_good(4);
                told.open_ms = open_ms;
                /* With this minimum, GPUs come up one by one while the CPU works. */
                if (threads == 1)
                    gpu_min = 500000;
                c = config(backend, threads);
                p = new_pipeline(&c);
                for (int i = 0; i < COUNT; i++) {
                    size_t size;
                    uint8_t *written =
                        compress(p, sizes[i], i % 2 != 0 ? FILL : NO_PIPE, &size, &stats);

                    CHECK_EQ(size, alone_size[i]);
                    CHECK(size == alone_size[i] && memcmp(written, alone[i], size) == 0);
                    free(written);
                    check_input(p, i % 2 == 0 ? FILL : NO_PIPE, &stats);
                }
                /* Wait for one GPU for every 500000 bytes, or for all GPUs. */
                wait_tried(backend == BACKEND_CPU ? 0 : threads == 1 ? 2 : 4);
                free_pipeline(p);
                gpu_min = 0;
            }
    for (int i = 0; i < COUNT; i++)
        free(alone[i]);
}

/* If there is no memory for even one worker, a job fails, even if a GPU has matched some of it.
 * The next job, with memory, succeeds. */
static void test_no_memory(void)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};

    for (int threads = 1; threads <= 4; threads += 3)
        for (int backend = BACKEND_AUTO; backend <= BACKEND_GPU; backend++) {
            const struct pipeline_config c = config((enum backend)backend, threads);
            struct pipeline_stats stats;
            struct pipeline *p;
            FILE *in = file_with(input_size), *out = unit_need(tmpfile());
            int error = 0;

            be_good(1);
            p = new_pipeline(&c);
            atomic_store(&is_short, true);
            CHECK_EQ(run(p, fileno(in), fileno(out), header, sizeof(header), &stats, &error),
                     PIPELINE_NO_MEMORY);
            atomic_store(&is_short, false);
            check_input(p, NO_PIPE, &stats);
            fclose(in);
            fclose(out);
            free_pipeline(p);
        }
}

/* --- Many jobs at a time --- */

enum { JOBS = 24 };

/* One of the jobs that run_jobs submits. */
struct one {
    struct pipeline_job job;
    FILE *in, *out;
    size_t size;      /* compress the first `size` bytes of the input */
    bool is_nothing;  /* the job has nothing to do: `begin` returns false */
    bool ended;       /* `end` was called */
    uint64_t written; /* the last number passed to `wrote` */
};

static bool begin_one(struct pipeline_job *job)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};
    struct one *o = job->ctx;

    if (o->is_nothing)
        return false;
    job->in_fd = fileno(o->in);
    job->out_fd = fileno(o->out);
    job->header = header;
    job->header_len = sizeof(header);
    return true;
}

static void wrote_one(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine)
{
    struct one *o = job->ctx;

    CHECK(in <= o->size && out > o->written && engine[0] != '\0');
    o->written = out;
}

static void end_one(struct pipeline_job *job)
{
    struct one *o = job->ctx;

    CHECK(!o->ended);
    o->ended = true;
}

/* True if only GPUs may match, and no GPU fails. */
static bool is_gpu_alone;

/* Checks that the job's output equals the output of a job alone with the same input. */
static void check_one(const struct one *o, const uint8_t *alone, size_t alone_size)
{
    uint8_t *written = unit_need(malloc(alone_size + 1));

    CHECK(o->ended);
    CHECK_EQ(o->job.status, PIPELINE_OK);
    CHECK_EQ(o->job.stats.in_bytes, o->size);
    if (is_gpu_alone && o->size > 0)
        CHECK_EQ(o->job.stats.cpu_segments, 0);
    CHECK_EQ(o->written, alone_size);
    CHECK_EQ(pread(fileno(o->out), written, alone_size + 1, 0), alone_size);
    CHECK(memcmp(written, alone, alone_size) == 0);
    free(written);
}

/* The sizes of the jobs' inputs. */
static const size_t job_sizes[] = {0,           1,       3,           100,         4096,
                                   SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT, 3 * SEGMENT + 5,
                                   9 * SEGMENT, 500001};
enum { JOB_SIZES = sizeof(job_sizes) / sizeof(job_sizes[0]) };

/* What goes wrong in a round of jobs. */
enum trouble { NO_TROUBLE, BAD_FILES, CANCEL };

/* With BAD_FILES, one job's output is on a full disk, and another job's input cannot be read. */
enum file { GOOD_FILE, FULL_DISK, UNREADABLE };

/* Submits JOBS jobs of these sizes, and waits for them in order. */
static void run_jobs(struct pipeline *p, enum trouble trouble, uint8_t *const alone[JOB_SIZES],
                     const size_t alone_size[JOB_SIZES], uint64_t *state)
{
    static struct one ones[JOBS];
    const unsigned cancel_at = trouble == CANCEL ? (unsigned)unit_below(state, JOBS) : JOBS;

    memset(ones, 0, sizeof(ones));
    for (unsigned i = 0; i < JOBS; i++) {
        struct one *o = &ones[i];
        const enum file file = trouble == BAD_FILES ? (enum file)(i % 3) : GOOD_FILE;

        o->size = job_sizes[unit_below(state, JOB_SIZES)];
        o->is_nothing = unit_below(state, 9) == 0;
        o->in = file == UNREADABLE ? unit_need(fopen("/dev/null", "w")) : file_with(o->size);
        o->out = file == FULL_DISK ? unit_need(fopen("/dev/full", "r+")) : unit_need(tmpfile());
        o->job = (struct pipeline_job){
            .begin = begin_one,
            .end = end_one,
            .wrote = wrote_one,
            .ctx = o,
            /* The announced size may be wrong, because a file may have grown or shrunk. */
            .size = unit_below(state, 4) > 0 ? o->size : job_sizes[unit_below(state, JOB_SIZES)],
            .more = JOBS - 1 - i};
        CHECK(pipeline_submit(p, &o->job));
    }
    for (unsigned i = 0; i < JOBS; i++) {
        if (i == cancel_at)
            pipeline_cancel(p);
        pipeline_wait(p, &ones[i].job);
        CHECK(pipeline_is_over(&ones[i].job));
    }
    for (unsigned i = 0; i < JOBS; i++) {
        struct one *o = &ones[i];
        const enum file file = trouble == BAD_FILES ? (enum file)(i % 3) : GOOD_FILE;
        unsigned which = 0;

        while (job_sizes[which] != o->size)
            which++;
        if (o->is_nothing || (i >= cancel_at && o->job.status == PIPELINE_CANCELLED)) {
            CHECK(!o->ended || o->job.status == PIPELINE_CANCELLED);
        } else if (file != GOOD_FILE) {
            CHECK(o->ended);
            CHECK_EQ(o->job.status, file == FULL_DISK ? PIPELINE_WRITE_ERROR : PIPELINE_READ_ERROR);
            CHECK_EQ(o->job.error_number, file == FULL_DISK ? ENOSPC : EBADF);
        } else {
            check_one(o, alone[which], alone_size[which]);
        }
        fclose(o->in);
        fclose(o->out);
    }
}

/* Tests many jobs of all sizes at a time.  Each output must be the same as when the input is
 * compressed alone, whichever threads and engines work on it.  A job that fails or is cancelled
 * harms no other job. */
static void test_many_jobs(void)
{
    static const int threads[] = {1, 2, 4, 13};
    const bool have_full = access("/dev/full", W_OK) == 0;
    uint8_t *alone[JOB_SIZES];
    size_t alone_size[JOB_SIZES];
    struct pipeline_config c = config(BACKEND_CPU, 1);
    struct pipeline *p = new_pipeline(&c);
    struct pipeline_stats stats;
    uint64_t state = 1;

    for (int i = 0; i < JOB_SIZES; i++)
        alone[i] = compress(p, job_sizes[i], NO_PIPE, &alone_size[i], &stats);
    free_pipeline(p);
    /* With a step of 5, each number of threads, each backend and each fault still occurs, but not
     * all combinations. */
    for (int round = 0; round < 4 * 3 * 4; round += UNIT_SANITIZED ? 5 : 1) {
        const int fault = round / 12;

        be_good(2);
        told.capacity = 1 + unit_below(&state, 40);
        told.open_ms = (int)unit_below(&state, 2) * 4;
        told.is_wrong = fault == 1;
        told.good_batches = fault == 2 ? (long)unit_below(&state, 5) : -1;
        told.fails_late = round % 2 != 0;
        gpu_min = fault == 3 ? 200000 : 0;
        c = config((enum backend)(round / 4 % 3), threads[round % 4]);
        c.caller_works = round % 3 != 0;
        c.open_jobs = fault == 1 ? 3 : 0;
        is_gpu_alone = c.backend == BACKEND_GPU && !told.is_wrong && told.good_batches < 0;
        p = new_pipeline(&c);
        run_jobs(p, NO_TROUBLE, alone, alone_size, &state);
        if (have_full)
            run_jobs(p, BAD_FILES, alone, alone_size, &state);
        run_jobs(p, CANCEL, alone, alone_size, &state);
        run_jobs(p, NO_TROUBLE, alone, alone_size, &state);
        free_pipeline(p);
    }
    gpu_min = 0;
    for (int i = 0; i < JOB_SIZES; i++)
        free(alone[i]);
}

/* --- Pushed input --------------------------------------------------------------------------- */

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* Pushes the input in pieces of up to `most` bytes, and checks the output. */
static void check_pushed(struct pipeline *p, size_t most, uint64_t *by_gpu)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};
    FILE *out = unit_need(tmpfile());
    struct pipeline_job job = {.is_pushed = true,
                               .in_fd = -1,
                               .out_fd = fileno(out),
                               .header = header,
                               .header_len = sizeof(header)};
    uint8_t *written = unit_need(malloc(expected_size + 1));
    uint64_t state = most;
    size_t at = 0;

    CHECK(pipeline_submit(p, &job));
    while (!job.has_ended && !pipeline_is_over(&job)) {
        size_t n = 1 + unit_below(&state, most), taken;

        n = n < input_size - at ? n : input_size - at;
        taken = pipeline_push(p, &job, input + at, n,
                              at + n == input_size ? PIPELINE_PUSH_END : PIPELINE_PUSH_MORE);
        CHECK(taken <= n);
        at += taken;
        if (taken < n)
            pipeline_wait_to_push(p, &job, never, NULL);
    }
    pipeline_wait(p, &job);
    CHECK_EQ(job.status, PIPELINE_OK);
    CHECK_EQ(at, input_size);
    CHECK_EQ(lseek(fileno(out), 0, SEEK_END), expected_size);
    CHECK_EQ(pread(fileno(out), written, expected_size, 0), expected_size);
    CHECK(memcmp(written, expected, expected_size) == 0);
    *by_gpu += job.stats.gpu_segments;
    free(written);
    fclose(out);
}

/* GPUs take pushed segments as they take segments from a pipe.  Tests a GPU that comes up late, one
 * that fails, and no GPU. */
static void test_pushed(void)
{
    for (int fault = 0; fault < 4; fault++) {
        uint64_t by_gpu = 0;

        for (int way = 0; way < 8; way++) {
            struct pipeline_config c =
                config(way % 2 == 0 ? BACKEND_GPU : BACKEND_AUTO, 1 + 2 * (way / 2 % 2));
            struct pipeline *p;

            c.caller_works = way / 4 == fault % 2;
            be_good(2);
            told.open_ms = fault == 1 ? 20 : 0;
            told.good_batches = fault == 2 ? 2 : -1;
            told.is_wrong = fault == 3;
            p = new_pipeline(&c);
            check_pushed(p, way < 4 ? 1000 : 200000, &by_gpu);
            check_pushed(p, 40000, &by_gpu);
            free_pipeline(p);
        }
        CHECK(by_gpu > 0);
    }
}

/* Pushes the input, and flushes after every `step` bytes.  Returns the output, which the caller
 * frees, and its size in *size. */
static uint8_t *push_and_flush(struct pipeline *p, size_t step, size_t *size, uint64_t *by_gpu)
{
    FILE *out = unit_need(tmpfile());
    struct pipeline_job job = {.is_pushed = true, .in_fd = -1, .out_fd = fileno(out)};
    uint8_t *written;
    size_t at = 0;

    CHECK(pipeline_submit(p, &job));
    while (!job.has_ended) {
        const size_t n = step < input_size - at ? step : input_size - at;
        size_t taken = 0;

        do {
            taken += pipeline_push(p, &job, input + at + taken, n - taken,
                                   at + n == input_size ? PIPELINE_PUSH_END : PIPELINE_PUSH_FLUSH);
            if (!job.is_flushed && !job.has_ended)
                pipeline_wait_to_push(p, &job, never, NULL);
        } while (!job.is_flushed && !job.has_ended);
        CHECK_EQ(taken, n);
        at += taken;
    }
    pipeline_wait(p, &job);
    CHECK_EQ(job.status, PIPELINE_OK);
    *by_gpu += job.stats.gpu_segments;
    *size = (size_t)lseek(fileno(out), 0, SEEK_END);
    written = unit_need(malloc(*size + 1));
    CHECK_EQ(pread(fileno(out), written, *size, 0), *size);
    fclose(out);
    return written;
}

/* Flushes end segments early, which GPUs then match.  Small pieces go to the calling thread. */
static void test_flushed(void)
{
    static const size_t steps[] = {200000, 300000, 10000};

    for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        uint64_t by_gpu = 0, none = 0;
        struct pipeline_config c = config(BACKEND_CPU, 1);
        uint8_t *wanted, *written;
        struct pipeline *p;
        size_t size, wanted_size;

        c.segment_size = 256 << 10;
        p = new_pipeline(&c);
        wanted = push_and_flush(p, steps[i], &wanted_size, &none);
        free_pipeline(p);
        for (int way = 0; way < 8; way++) {
            c = config(way % 2 == 0 ? BACKEND_GPU : BACKEND_AUTO, 1 + 2 * (way / 2 % 2));
            c.segment_size = 256 << 10;
            c.caller_works = way / 4 == 0;
            be_good(2);
            p = new_pipeline(&c);
            written = push_and_flush(p, steps[i], &size, &by_gpu);
            CHECK(size == wanted_size && memcmp(written, wanted, size) == 0);
            free(written);
            free_pipeline(p);
        }
        CHECK_EQ(none, 0);
        CHECK_EQ(by_gpu > 0, steps[i] > 128 << 10);
        free(wanted);
    }
}

/* --- Levels of jobs ------------------------------------------------------------------------- */

enum { LEVEL_JOBS = 6 };

/* Runs jobs side by side.  Every second job has a level of its own.  Checks all outputs.  Counts
 * the segments of the other jobs that a GPU matched, and adds the number to *by_gpu. */
static void run_level_jobs(struct pipeline *p, const struct lz_level *own,
                           const uint8_t *own_output, size_t own_size, uint64_t *by_gpu)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};
    struct pipeline_job jobs[LEVEL_JOBS];
    FILE *out[LEVEL_JOBS];

    for (int i = 0; i < LEVEL_JOBS; i++) {
        out[i] = unit_need(tmpfile());
        jobs[i] = (struct pipeline_job){.in = input,
                                        .in_len = input_size,
                                        .size = input_size,
                                        .level = i % 2 == 0 ? own : NULL,
                                        .in_fd = -1,
                                        .out_fd = fileno(out[i]),
                                        .header = header,
                                        .header_len = sizeof(header)};
        CHECK(pipeline_submit(p, &jobs[i]));
    }
    for (int i = 0; i < LEVEL_JOBS; i++) {
        const uint8_t *wanted = i % 2 == 0 ? own_output : expected;
        const size_t size = i % 2 == 0 ? own_size : expected_size;
        uint8_t *written = unit_need(malloc(size + 1));

        pipeline_wait(p, &jobs[i]);
        CHECK_EQ(jobs[i].status, PIPELINE_OK);
        CHECK_EQ(pread(fileno(out[i]), written, size + 1, 0), size);
        CHECK(memcmp(written, wanted, size) == 0);
        if (i % 2 == 0)
            CHECK_EQ(jobs[i].stats.gpu_segments, 0);
        *by_gpu += jobs[i].stats.gpu_segments;
        free(written);
        fclose(out[i]);
    }
}

/* A GPU leaves jobs with a level of their own to the CPU, and matches the others. */
static void test_own_level(void)
{
    const struct lz_level *own = lz_level(2);
    struct pipeline_config c = config(BACKEND_CPU, 1);
    struct pipeline_stats stats;
    struct pipeline *p;
    uint64_t by_gpu = 0;
    uint8_t *output;
    size_t size;

    c.level = 2;
    p = new_pipeline(&c);
    output = compress(p, input_size, NO_PIPE, &size, &stats);
    free_pipeline(p);
    for (int way = 0; way < 8; way++) {
        c = config(way % 2 == 0 ? BACKEND_GPU : BACKEND_AUTO, 1 + 2 * (way / 2 % 2));
        c.caller_works = way / 4 == 0;
        be_good(2);
        p = new_pipeline(&c);
        CHECK(pipeline_takes_level(p, own) && !pipeline_takes_level(p, lz_level(10)));
        run_level_jobs(p, own, output, size, &by_gpu);
        free_pipeline(p);
    }
    CHECK(by_gpu > 0);
    free(output);
}

/* A GPU is not wanted for a job with a level of its own, however large it is. */
static void test_own_level_wants_no_gpu(void)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};
    const struct pipeline_config c = {.level = LZ_LEVEL_MAX,
                                      .threads = 2,
                                      .segment_size = (size_t)1 << 20,
                                      .backend = BACKEND_AUTO};

    gpu_min = NO_MINIMUM;
    for (int has_own = 1; has_own >= 0; has_own--) {
        FILE *in = unit_need(tmpfile()), *out = unit_need(tmpfile());
        struct pipeline_job job = {.size = (uint64_t)4 << 20,
                                   .level = has_own ? lz_level(9) : NULL,
                                   .in_fd = fileno(in),
                                   .out_fd = fileno(out),
                                   .header = header,
                                   .header_len = sizeof(header)};
        struct pipeline *p;

        be_good(1);
        p = new_pipeline(&c);
        CHECK(ftruncate(fileno(in), (off_t)job.size) == 0);
        CHECK_EQ(pipeline_run(p, &job), PIPELINE_OK);
        CHECK_EQ(job.stats.wanted_gpus, !has_own);
        wait_tried(job.stats.wanted_gpus);
        free_pipeline(p);
        fclose(in);
        fclose(out);
    }
    gpu_min = 0;
}

/* --- Input in a GPU's memory ---------------------------------------------------------------- */

/* The input in a GPU's memory, masked. */
static uint8_t *on_gpu;

/* A job whose input is the first `size` bytes of a GPU's memory, and its output. */
struct gpu_job {
    struct pipeline_job job;
    FILE *out;
    size_t size;
};

static void submit_on_gpu(struct pipeline *p, struct gpu_job *g, size_t size, int device)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8};

    g->out = unit_need(tmpfile());
    g->size = size;
    g->job = (struct pipeline_job){.in = on_gpu,
                                   .in_len = size,
                                   .size = size,
                                   .is_on_gpu = true,
                                   .uses_gpu = true,
                                   .device = device,
                                   .in_fd = -1,
                                   .out_fd = fileno(g->out),
                                   .header = header,
                                   .header_len = sizeof(header)};
    CHECK(!pipeline_is_for_here(p, &g->job));
    CHECK(pipeline_submit(p, &g->job));
}

/* Waits for the job, and checks that its output is alone[0..alone_size). */
static void check_on_gpu(struct pipeline *p, struct gpu_job *g, const uint8_t *alone,
                         size_t alone_size)
{
    uint8_t *written = unit_need(malloc(alone_size + 1));

    pipeline_wait(p, &g->job);
    CHECK_EQ(g->job.status, PIPELINE_OK);
    CHECK_EQ(g->job.stats.in_bytes, g->size);
    CHECK_EQ(pread(fileno(g->out), written, alone_size + 1, 0), alone_size);
    CHECK(memcmp(written, alone, alone_size) == 0);
    free(written);
    fclose(g->out);
}

/* The inputs are in a GPU's memory.  Jobs of all sizes are submitted together.  In some rounds, a
 * job with its input in host memory follows.  Rounds differ in the engine and in what fails. */
static void test_gpu_memory(void)
{
    static const int threads[] = {1, 2, 13};
    uint8_t *alone[JOB_SIZES];
    size_t alone_size[JOB_SIZES];
    struct pipeline_config c = config(BACKEND_CPU, 1);
    struct pipeline *p = new_pipeline(&c);
    struct pipeline_stats stats;
    uint64_t by_gpu = 0, redone = 0, by_cpu_after_failure = 0;

    for (int i = 0; i < JOB_SIZES; i++)
        alone[i] = compress(p, job_sizes[i], NO_PIPE, &alone_size[i], &stats);
    free_pipeline(p);
    for (int round = 0; round < 3 * 3 * 5; round++) {
        const int fault = round / 9;
        struct gpu_job jobs[JOB_SIZES];

        if (UNIT_SANITIZED && round % 4 % 3 != 0)
            continue;
        be_good(2);
        told.is_wrong = fault == 1;
        told.good_batches = fault == 2 || fault == 3 ? round % 4 : -1;
        told.fails_late = fault == 3;
        told.open_ms = fault == 4 ? 5 : 0;
        /* With fault 4, the GPU comes up while the CPU works. */
        gpu_min = fault == 4 ? 200000 : 0;
        c = config((enum backend)(round / 3 % 3), threads[round % 3]);
        c.caller_works = round % 2 == 0;
        p = new_pipeline(&c);
        for (int again = 0; again < 2; again++) {
            for (int i = 0; i < JOB_SIZES; i++)
                submit_on_gpu(p, &jobs[i], job_sizes[i], i % 2);
            for (int i = 0; i < JOB_SIZES; i++) {
                check_on_gpu(p, &jobs[i], alone[i], alone_size[i]);
                by_gpu += jobs[i].job.stats.gpu_segments;
                redone += jobs[i].job.stats.redone_segments;
                if (fault == 3 && c.backend == BACKEND_GPU)
                    by_cpu_after_failure += jobs[i].job.stats.cpu_segments;
                if (fault == 0 && c.backend == BACKEND_GPU && job_sizes[i] > 0)
                    CHECK_EQ(jobs[i].job.stats.cpu_segments, 0);
            }
            /* Between these jobs, run a job with its input in host memory. */
            if (c.caller_works)
                check_input(p, again == 0 ? NO_PIPE : FILL, &stats);
        }
        free_pipeline(p);
    }
    gpu_min = 0;
    CHECK(by_gpu > 0 && redone > 0 && by_cpu_after_failure > 0);
    for (int i = 0; i < JOB_SIZES; i++)
        free(alone[i]);
}

/* Without a copy by a worker, a GPU takes all segments in its own memory, except the last
 * segment. */
static void test_gpu_memory_is_not_read(void)
{
    for (int threads = 1; threads <= 4; threads += 3) {
        const struct pipeline_config c = config(BACKEND_GPU, threads);
        struct gpu_job job;
        struct pipeline *p;

        be_good(1);
        told.good_copies = 1;
        p = new_pipeline(&c);
        submit_on_gpu(p, &job, input_size, 0);
        check_on_gpu(p, &job, expected, expected_size);
        CHECK_EQ(atomic_load(&copied), 1);
        free_pipeline(p);
    }
}

/* A GPU does not read another GPU's memory: the worker that submits the batch copies the bytes. */
static void test_memory_of_another_gpu(void)
{
    struct pipeline_config c = config(BACKEND_GPU, 3);
    struct gpu_job job;
    struct pipeline *p;

    for (int near = 0; near < 2; near++) {
        be_good(2);
        told.good_copies = 1000;
        c.gpus.count = 1;
        c.gpus.numbers[0] = 1;
        p = new_pipeline(&c);
        submit_on_gpu(p, &job, input_size, near);
        check_on_gpu(p, &job, expected, expected_size);
        CHECK_EQ(job.job.stats.cpu_segments, 0);
        CHECK_EQ(atomic_load(&copied), near != 0 ? 1 : (input_size + SEGMENT - 1) / SEGMENT);
        free_pipeline(p);
    }
}

/* GPU memory that cannot be read is an error.  The next job must work as usual. */
static void test_unreadable_gpu_memory(void)
{
    for (int round = 0; round < 12; round++) {
        const struct pipeline_config c = config((enum backend)(round % 3), 1 + round / 3);
        struct gpu_job jobs[2];
        struct pipeline *p;

        /* Make the GPU's batches fail, too, since copies are needed only if the CPU matches. */
        be_good(1);
        told.good_batches = 0;
        told.fails_late = round % 2 == 0;
        told.good_copies = round;
        p = new_pipeline(&c);
        submit_on_gpu(p, &jobs[0], input_size, 0);
        submit_on_gpu(p, &jobs[1], 0, 0);
        pipeline_wait(p, &jobs[0].job);
        CHECK_EQ(jobs[0].job.status, PIPELINE_READ_ERROR);
        CHECK_EQ(jobs[0].job.error_number, EIO);
        fclose(jobs[0].out);
        /* An empty input needs no copy. */
        pipeline_wait(p, &jobs[1].job);
        CHECK_EQ(jobs[1].job.status, PIPELINE_OK);
        fclose(jobs[1].out);
        atomic_store(&copied, -1000);
        submit_on_gpu(p, &jobs[0], input_size, 0);
        check_on_gpu(p, &jobs[0], expected, expected_size);
        /* A device that does not exist. */
        submit_on_gpu(p, &jobs[0], SEGMENT, 7);
        pipeline_wait(p, &jobs[0].job);
        CHECK_EQ(jobs[0].job.status, PIPELINE_READ_ERROR);
        fclose(jobs[0].out);
        free_pipeline(p);
    }
}

/* Jobs that are too small to be worth a GPU bring it up together, for later jobs. */
static void test_gpu_for_later_jobs(void)
{
    struct pipeline_config c = config(BACKEND_AUTO, 2);
    struct gpu_job job;
    struct pipeline *p;

    gpu_min = 500000;
    be_good(1);
    p = new_pipeline(&c);
    for (int i = 0; i < 3; i++) {
        /* GPUs are weighed at most once in a millisecond. */
        pause_ms(5);
        submit_on_gpu(p, &job, 200000, 0);
        pipeline_wait(p, &job.job);
        CHECK_EQ(job.job.status, PIPELINE_OK);
        fclose(job.out);
    }
    wait_tried(1);
    CHECK_EQ(atomic_load(&opened_devices), 1);
    submit_on_gpu(p, &job, input_size, 0);
    check_on_gpu(p, &job, expected, expected_size);
    CHECK(job.job.stats.gpu_segments > 0);
    free_pipeline(p);
    gpu_min = 0;
}

/* The GPU that has the input in its memory comes up before other GPUs.  But it does not come up if
 * the configuration leaves it out. */
static void test_gpu_near_memory(void)
{
    struct pipeline_config c = config(BACKEND_AUTO, 2);
    struct gpu_job job;
    struct pipeline *p;

    gpu_min = 500000;
    be_good(4);
    p = new_pipeline(&c);
    submit_on_gpu(p, &job, 600000, 2);
    pipeline_wait(p, &job.job);
    CHECK_EQ(job.job.status, PIPELINE_OK);
    fclose(job.out);
    wait_tried(2);
    CHECK_EQ(atomic_load(&opened_devices), 1 << 2 | 1 << 1);
    submit_on_gpu(p, &job, 600000, 3);
    pipeline_wait(p, &job.job);
    fclose(job.out);
    wait_tried(3);
    CHECK_EQ(atomic_load(&opened_devices), 1 << 3 | 1 << 2 | 1 << 1);
    free_pipeline(p);

    be_good(4);
    c.gpus.count = 2;
    c.gpus.numbers[0] = 3;
    c.gpus.numbers[1] = 1;
    p = new_pipeline(&c);
    for (int i = 0; i < 3; i++) {
        submit_on_gpu(p, &job, 600000, 0);
        pipeline_wait(p, &job.job);
        CHECK_EQ(job.job.status, PIPELINE_OK);
        fclose(job.out);
    }
    wait_tried(2);
    CHECK_EQ(atomic_load(&opened_devices), 1 << 3 | 1 << 1);
    free_pipeline(p);
    gpu_min = 0;
}

int main(void)
{
    uint64_t state = 1;

    input_size = 640 * 1024 + 12345;
    input = unit_need(malloc(input_size + LZ_INPUT_PAD));
    fill_tokens(input, input_size, 60, 9, &state);
    expect();
    gpu_min = 0;
    RUN(test_one);
    RUN(test_several);
    RUN(test_small_batches);
    RUN(test_short_memory);
    RUN(test_wrong);
    RUN(test_wrong_again);
    RUN(test_failing);
    RUN(test_parts);
    RUN(test_io_failures);
    RUN(test_not_there);
    RUN(test_read_ahead);
    RUN(test_match_what_is_read_ahead);
    RUN(test_failure_while_reading_ahead);
    RUN(test_pipe_is_limit);
    RUN(test_least_size);
    RUN(test_batches);
    RUN(test_many_inputs);
    RUN(test_no_memory);
    RUN(test_many_jobs);
    RUN(test_pushed);
    RUN(test_flushed);
    RUN(test_own_level);
    RUN(test_own_level_wants_no_gpu);
    on_gpu = unit_need(malloc(input_size));
    unmask(on_gpu, input, input_size);
    RUN(test_gpu_memory);
    RUN(test_gpu_memory_is_not_read);
    RUN(test_memory_of_another_gpu);
    RUN(test_gpu_for_later_jobs);
    RUN(test_unreadable_gpu_memory);
    RUN(test_gpu_near_memory);
    free(on_gpu);
    free(expected);
    free(input);
    return unit_done();
}
