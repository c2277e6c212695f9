/*
 * fuzz_expand.c - decompression by many threads gives the result of one thread
 *
 * A fuzz target (target.h).  The input's first bytes choose the format, the number of threads, the
 * size of the regions, who gives the input and how, and where the consumer waits, so that the
 * fuzzer also looks for schedules.  The rest is compressed data.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compat/crc.h"
#include "compat/gunzip.h"
#include "pipeline/pipeline.h"
#include "tests/fuzz/target.h"

/* A few bytes of input can decode to gigabytes; stop at this size. */
#define OUT_MAX ((uint64_t)2 << 20)

/* PIPE_BYTES: a pipe takes this many without a reader. */
enum {
    THREADS_MIN = 2,
    THREADS_KINDS = 4,
    REGION_LEAST = 64,
    REGION_KINDS = 8192,
    PIPE_BYTES = 65536
};

/* One decompression: its input, its schedule and its result. */
struct run {
    const uint8_t *in;
    size_t len, pos;
    unsigned waits; /* bit i: wait at call i of `write` and `read`, modulo 16 */
    unsigned calls;
    struct expansion *e; /* NULL: one thread */
    uint64_t written;
    uint32_t crc;
};

static void wait_perhaps(struct run *r)
{
    const unsigned call = r->calls++ % 16;

    if (r->e != NULL && (r->waits >> call & 1) != 0)
        for (unsigned i = 0; i <= call; i++)
            sched_yield();
}

static ssize_t read_input(void *ctx, void *buf, size_t len)
{
    struct run *r = ctx;
    const size_t n = len < r->len - r->pos ? len : r->len - r->pos;

    wait_perhaps(r);
    if (r->e != NULL)
        return expansion_read(r->e, buf, len);
    if (n > 0)
        memcpy(buf, r->in + r->pos, n);
    r->pos += n;
    return (ssize_t)n;
}

static int write_output(void *ctx, const void *buf, size_t len)
{
    struct run *r = ctx;

    wait_perhaps(r);
    if (len > OUT_MAX - r->written) {
        errno = EFBIG;
        return -1;
    }
    r->written += len;
    r->crc = gz_crc32(r->crc, buf, len);
    return 0;
}

/* All inputs share the pipelines, as the files of a program do. */
static struct pipeline *pipeline_of(int threads)
{
    static struct pipeline *all[THREADS_MIN + THREADS_KINDS];
    const struct pipeline_config config = {.level = 6,
                                           .threads = threads,
                                           .segment_size = 1 << 16,
                                           .backend = BACKEND_CPU,
                                           .expand_backend = BACKEND_CPU};
    char error[GPU_ERROR_SIZE];

    if (all[threads] == NULL)
        all[threads] = fuzz_need(pipeline_new(&config, error));
    return all[threads];
}

static enum gz_status decompress(struct run *r, enum container container, struct gz_info *info)
{
    const struct gz_io io = {.read = read_input,
                             .write = write_output,
                             .ctx = r,
                             .ahead = r->e != NULL ? expansion_ahead(r->e) : NULL,
                             .container = container};
    struct gz_stream *s = fuzz_need(gz_open(&io, info));
    struct pipeline_expansion_stats stats;
    enum gz_status status = gz_read_header(s);

    if (status == GZ_OK && r->e != NULL) {
        expansion_set_container(r->e, container);
        expansion_begin(r->e);
    }
    if (status == GZ_OK)
        status = gz_run(s);
    if (r->e != NULL)
        expansion_close(r->e, &stats);
    gz_close(s);
    return status;
}

/* Returns a descriptor with these bytes to read: of a file in memory, or of a pipe. */
static int make_input(const uint8_t *in, size_t len, bool is_pipe)
{
    int ends[2];

    if (!is_pipe) {
        ends[0] = memfd_create("input", MFD_CLOEXEC);
        REQUIRE(ends[0] >= 0 && write(ends[0], in, len) == (ssize_t)len);
        REQUIRE(lseek(ends[0], 0, SEEK_SET) == 0);
        return ends[0];
    }
    REQUIRE(pipe(ends) == 0 && write(ends[1], in, len) == (ssize_t)len && close(ends[1]) == 0);
    return ends[0];
}

void fuzz_expand(const uint8_t *data, size_t len)
{
    static const enum container containers[] = {CONTAINER_GZIP, CONTAINER_ZLIB, CONTAINER_RAW};
    struct fuzz_input in = {data, len};
    const enum container container = containers[fuzz_choose(&in, 3)];
    const unsigned threads = fuzz_choose(&in, 2 * THREADS_KINDS);
    const size_t region = REGION_LEAST + fuzz_choose16(&in) % REGION_KINDS;
    struct run one = {0}, many = {.waits = (unsigned)fuzz_choose16(&in)};
    struct gz_info info[2];
    enum gz_status status[2];
    int fd;

    one.in = many.in = in.data;
    one.len = many.len = in.len;
    status[0] = decompress(&one, container, &info[0]);
    fd = make_input(in.data, in.len, threads >= THREADS_KINDS && in.len <= PIPE_BYTES);
    many.e = fuzz_need(pipeline_expand(pipeline_of(THREADS_MIN + (int)threads % THREADS_KINDS), fd,
                                       region, write_output, &many));
    status[1] = decompress(&many, container, &info[1]);
    close(fd);
    REQUIRE(status[0] == status[1]);
    if (status[0] == GZ_WRITE_ERROR)
        return;
    REQUIRE(one.written == many.written && one.crc == many.crc);
    REQUIRE(info[0].members == info[1].members && info[0].out_bytes == info[1].out_bytes);
    REQUIRE(gz_status_is_error(status[0], true) || info[0].in_bytes == info[1].in_bytes);
}
