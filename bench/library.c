/*
 * library.c - compares libgzlzss with zlib, libdeflate and ISA-L, on buffers in memory
 *
 *   bench/library [-t THREADS] [-l LEVEL,...] [-s SIZE,...] [-r ROUNDS] [-m MILLISECONDS]
 *                 [-f FORMAT] FILE
 *
 * FORMAT is gzip, zlib or raw. Defaults: gzip; as many threads as processors; levels 1 and 6;
 * buffers of 4096, 65536, 1048576 and 100000000 bytes of FILE; 5 rounds of 200 ms each (a call that
 * takes longer is a round by itself). `-t 1` leaves out "all" and "shared".
 *
 * Prints how many microseconds a call takes: the median over the rounds, in which the libraries
 * take turns. The libraries are called in three ways:
 *
 *     one     one thread calls. libgzlzss's object has one thread, too, and no GPU.
 *     all     THREADS threads call at the same time, each with a buffer of its own. For libgzlzss,
 *             they share one object, which has THREADS threads. The printed time is the wall time
 *             divided by the number of calls of all threads.
 *     shared  one thread calls, and libgzlzss's object has THREADS threads. No other library can
 *             do this.
 *
 * Also prints the compressed size of the buffers, as a percentage of their size. All libraries make
 * and read the same format. Each library's objects are made once and used for all calls. zlib
 * decompresses each library's output once, and the program compares the result with the input. When
 * decompression is timed, all libraries decompress what libdeflate has compressed. ISA-L has only
 * levels 0 to 3: it runs at level 1 when the other libraries do, and otherwise at level 3.
 *
 * Needs libdeflate and ISA-L (in Debian, libdeflate-dev and libisal-dev).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "bench/program.h"
#include "include/gzlzss.h"

#define THREADS_MAX 256
#define ROUNDS_MAX 50
#define LIST_MAX 8

/* The threads together work through this many bytes of input before they start again with the first
 * buffer. This size must be larger than the processor's caches: otherwise, the measured speed is
 * too high. */
#define CYCLE_SIZE ((size_t)64 << 20)

/* The format that all libraries make and read: GZLZSS_GZIP, GZLZSS_ZLIB or GZLZSS_RAW. */
static gzlzss_format format = GZLZSS_GZIP;

/* zlib's window bits for each format. */
static const int window_bits[] = {31, 15, -15};

/* --- The libraries -------------------------------------------------------------------------- */

/* A library. `open` makes an object. If is_shared, all threads use the same object; otherwise, each
 * thread has its own. */
struct library {
    const char *name;
    void *(*open)(int level, int threads);
    void (*close)(void *z);
    /* Both functions return the number of bytes of output, or 0 after an error. */
    size_t (*compress)(void *z, void *out, size_t room, const void *in, size_t len);
    size_t (*decompress)(void *z, void *out, size_t room, const void *in, size_t len);
    bool is_shared;
};

static void *gzlzss_open(int level, int threads)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *z;

    o.level = level;
    o.threads = threads;
    o.backend = GZLZSS_CPU;
    o.format = format;
    if (gzlzss_new(&z, &o) != GZLZSS_OK)
        die("gzlzss_new failed");
    return z;
}

static void gzlzss_close(void *z)
{
    gzlzss_free(z);
}

static size_t gzlzss_deflate(void *z, void *out, size_t room, const void *in, size_t len)
{
    return gzlzss_compress(z, out, &room, in, len, NULL) == GZLZSS_OK ? room : 0;
}

static size_t gzlzss_inflate(void *z, void *out, size_t room, const void *in, size_t len)
{
    return gzlzss_decompress(z, out, &room, in, len, NULL) == GZLZSS_OK ? room : 0;
}

struct zlib {
    z_stream deflate, inflate;
};

static void *zlib_open(int level, int threads)
{
    struct zlib *z = need(calloc(1, sizeof(*z)));

    (void)threads;
    if (deflateInit2(&z->deflate, level > 9 ? 9 : level, Z_DEFLATED, window_bits[format], 8,
                     Z_DEFAULT_STRATEGY) != Z_OK ||
        inflateInit2(&z->inflate, window_bits[format]) != Z_OK)
        die("zlib failed");
    return z;
}

static void zlib_close(void *argument)
{
    struct zlib *z = argument;

    deflateEnd(&z->deflate);
    inflateEnd(&z->inflate);
    free(z);
}

static void set(z_stream *s, void *out, size_t room, const void *in, size_t len)
{
    s->next_in = (Bytef *)(uintptr_t)in;
    s->avail_in = (uInt)len;
    s->next_out = out;
    s->avail_out = (uInt)room;
}

static size_t zlib_deflate(void *argument, void *out, size_t room, const void *in, size_t len)
{
    struct zlib *z = argument;

    deflateReset(&z->deflate);
    set(&z->deflate, out, room, in, len);
    return deflate(&z->deflate, Z_FINISH) == Z_STREAM_END ? room - z->deflate.avail_out : 0;
}

static size_t zlib_inflate(void *argument, void *out, size_t room, const void *in, size_t len)
{
    struct zlib *z = argument;

    inflateReset(&z->inflate);
    set(&z->inflate, out, room, in, len);
    return inflate(&z->inflate, Z_FINISH) == Z_STREAM_END ? room - z->inflate.avail_out : 0;
}

struct deflater {
    struct libdeflate_compressor *c;
    struct libdeflate_decompressor *d;
};

static void *libdeflate_open(int level, int threads)
{
    struct deflater *z = need(malloc(sizeof(*z)));

    (void)threads;
    z->c = need(libdeflate_alloc_compressor(level));
    z->d = need(libdeflate_alloc_decompressor());
    return z;
}

static void libdeflate_close(void *argument)
{
    struct deflater *z = argument;

    libdeflate_free_compressor(z->c);
    libdeflate_free_decompressor(z->d);
    free(z);
}

static size_t libdeflate_deflate(void *z, void *out, size_t room, const void *in, size_t len)
{
    struct libdeflate_compressor *c = ((struct deflater *)z)->c;

    return format == GZLZSS_GZIP   ? libdeflate_gzip_compress(c, in, len, out, room)
           : format == GZLZSS_ZLIB ? libdeflate_zlib_compress(c, in, len, out, room)
                                   : libdeflate_deflate_compress(c, in, len, out, room);
}

static size_t libdeflate_inflate(void *z, void *out, size_t room, const void *in, size_t len)
{
    struct libdeflate_decompressor *d = ((struct deflater *)z)->d;
    enum libdeflate_result result;
    size_t n;

    if (format == GZLZSS_GZIP)
        result = libdeflate_gzip_decompress(d, in, len, out, room, &n);
    else if (format == GZLZSS_ZLIB)
        result = libdeflate_zlib_decompress(d, in, len, out, room, &n);
    else
        result = libdeflate_deflate_decompress(d, in, len, out, room, &n);
    return result == LIBDEFLATE_SUCCESS ? n : 0;
}

struct isal {
    struct isal_zstream deflate;
    struct inflate_state inflate;
    uint32_t level;
    uint8_t memory[ISAL_DEF_LVL3_DEFAULT];
};

static void *isal_open(int level, int threads)
{
    struct isal *z = need(malloc(sizeof(*z)));

    (void)threads;
    z->level = level == 1 ? 1 : 3;
    return z;
}

static size_t isal_compress(void *argument, void *out, size_t room, const void *in, size_t len)
{
    struct isal *z = argument;

    isal_deflate_stateless_init(&z->deflate);
    z->deflate.level = z->level;
    z->deflate.level_buf = z->memory;
    z->deflate.level_buf_size = z->level == 1 ? ISAL_DEF_LVL1_DEFAULT : ISAL_DEF_LVL3_DEFAULT;
    z->deflate.gzip_flag = format == GZLZSS_GZIP   ? IGZIP_GZIP
                           : format == GZLZSS_ZLIB ? IGZIP_ZLIB
                                                   : IGZIP_DEFLATE;
    z->deflate.end_of_stream = 1;
    z->deflate.next_in = (uint8_t *)(uintptr_t)in;
    z->deflate.avail_in = (uint32_t)len;
    z->deflate.next_out = out;
    z->deflate.avail_out = (uint32_t)room;
    return isal_deflate_stateless(&z->deflate) == COMP_OK ? z->deflate.total_out : 0;
}

static size_t isal_decompress(void *argument, void *out, size_t room, const void *in, size_t len)
{
    struct isal *z = argument;

    isal_inflate_init(&z->inflate);
    z->inflate.crc_flag = format == GZLZSS_GZIP   ? ISAL_GZIP
                          : format == GZLZSS_ZLIB ? ISAL_ZLIB
                                                  : ISAL_DEFLATE;
    z->inflate.next_in = (uint8_t *)(uintptr_t)in;
    z->inflate.avail_in = (uint32_t)len;
    z->inflate.next_out = out;
    z->inflate.avail_out = (uint32_t)room;
    return isal_inflate_stateless(&z->inflate) == ISAL_DECOMP_OK ? z->inflate.total_out : 0;
}

static const struct library libraries[] = {
    {"gzlzss", gzlzss_open, gzlzss_close, gzlzss_deflate, gzlzss_inflate, true},
    {"zlib", zlib_open, zlib_close, zlib_deflate, zlib_inflate, false},
    {"libdeflate", libdeflate_open, libdeflate_close, libdeflate_deflate, libdeflate_inflate,
     false},
    {"ISA-L", isal_open, free, isal_compress, isal_decompress, false},
};

#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

/* --- Measuring ------------------------------------------------------------------------------ */

/* The buffers that the threads go through, and their compressed forms. */
struct buffers {
    const uint8_t *data;
    size_t size, count;
    uint8_t **gz;
    size_t *gz_len;
    size_t room; /* size of an output buffer that is large enough for both directions */
};

struct caller {
    const struct library *library;
    const struct buffers *b;
    void *z;
    bool decompresses;
    size_t first, step; /* this thread's first buffer, and the step to its next one */
    double seconds;     /* time after which it stops */
    pthread_barrier_t *start;
    uint8_t *out;
    /* The results: the number of calls, the time when the first call began, and the time when the
     * last call ended. */
    size_t calls;
    double begin, end;
};

/* Calls the library for one buffer after another. */
static void *caller_main(void *argument)
{
    struct caller *c = argument;
    const struct buffers *b = c->b;

    c->calls = 0;
    pthread_barrier_wait(c->start);
    c->begin = clock_seconds();
    do {
        const size_t i = (c->first + c->calls * c->step) % b->count;
        size_t n;

        if (c->decompresses)
            n = c->library->decompress(c->z, c->out, b->room, b->gz[i], b->gz_len[i]);
        else
            n = c->library->compress(c->z, c->out, b->room, b->data + i * b->size, b->size);
        if (n == 0 || (c->decompresses && n != b->size))
            die("a call failed");
        c->calls++;
        c->end = clock_seconds();
    } while (c->end - c->begin < c->seconds);
    return NULL;
}

/* One way of calling a library, with its results of all rounds. */
struct way {
    const struct library *library;
    int callers, threads; /* numbers of threads: that call, and of the object */
    struct caller *c;
    double us[ROUNDS_MAX];
};

static void way_open(struct way *w, const struct buffers *b, int level, bool decompresses)
{
    w->c = need(calloc((size_t)w->callers, sizeof(*w->c)));
    for (int i = 0; i < w->callers; i++) {
        struct caller *c = &w->c[i];

        c->library = w->library;
        c->b = b;
        c->z = w->library->is_shared && i > 0 ? w->c[0].z : w->library->open(level, w->threads);
        c->decompresses = decompresses;
        c->first = (size_t)i;
        c->step = (size_t)w->callers;
        c->out = need(malloc(b->room));
        memset(c->out, 1, b->room);
    }
}

static void way_close(struct way *w)
{
    for (int i = 0; i < w->callers; i++) {
        if (!w->library->is_shared || i == 0)
            w->library->close(w->c[i].z);
        free(w->c[i].out);
    }
    free(w->c);
}

/* Returns the microseconds for a call: the time from the first thread's start to the last thread's
 * end, divided by the number of calls of all threads. */
static double way_run(struct way *w, double seconds)
{
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t start;
    double begin = 0, end = 0;
    size_t calls = 0;

    pthread_barrier_init(&start, NULL, (unsigned)w->callers);
    for (int i = 0; i < w->callers; i++) {
        w->c[i].seconds = seconds;
        w->c[i].start = &start;
        if (pthread_create(&threads[i], NULL, caller_main, &w->c[i]) != 0)
            die("no more threads");
    }
    for (int i = 0; i < w->callers; i++) {
        pthread_join(threads[i], NULL);
        if (i == 0 || w->c[i].begin < begin)
            begin = w->c[i].begin;
        if (i == 0 || w->c[i].end > end)
            end = w->c[i].end;
        calls += w->c[i].calls;
    }
    pthread_barrier_destroy(&start);
    return (end - begin) * 1e6 / (double)calls;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* --- The table ------------------------------------------------------------------------------ */

struct settings {
    int threads, rounds;
    double seconds;
};

/* Checks a library's output for the first 64 buffers, or for all if there are fewer. Returns the
 * size of this output, divided by the size of its input. */
static double check(const struct library *l, const struct buffers *b, int level)
{
    const size_t count = b->count < 64 ? b->count : 64;
    uint8_t *out = need(malloc(b->room)), *back = need(malloc(b->room));
    void *z = l->open(level, 1), *zlib = zlib_open(6, 1);
    size_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t n = l->compress(z, out, b->room, b->data + i * b->size, b->size);

        if (n == 0 || zlib_inflate(zlib, back, b->room, out, n) != b->size ||
            memcmp(back, b->data + i * b->size, b->size) != 0)
            die("what a library made is wrong");
        if (l->decompress(z, back, b->room, out, n) != b->size ||
            memcmp(back, b->data + i * b->size, b->size) != 0)
            die("what a library decompressed is wrong");
        sum += n;
    }
    l->close(z);
    zlib_close(zlib);
    free(out);
    free(back);
    return (double)sum / (double)(count * b->size);
}

/* Measures all libraries, which take turns in each round. Prints a row of the table. */
static void measure(const struct settings *s, const struct buffers *b, int level, bool decompresses,
                    const char *how)
{
    const bool is_shared = strcmp(how, "shared") == 0;
    const int callers = strcmp(how, "all") == 0 ? s->threads : 1;
    const size_t count = is_shared ? 1 : LIBRARIES;
    struct way ways[LIBRARIES];
    double us[LIBRARIES] = {0};

    for (size_t i = 0; i < count; i++) {
        ways[i] = (struct way){.library = &libraries[i],
                               .callers = callers,
                               .threads = strcmp(how, "one") == 0 ? 1 : s->threads};
        way_open(&ways[i], b, level, decompresses);
    }
    for (int round = -1; round < s->rounds; round++) /* the first round does not count */
        for (size_t i = 0; i < count; i++) {
            const double t = way_run(&ways[i], round < 0 ? 0 : s->seconds);

            if (round >= 0)
                ways[i].us[round] = t;
        }
    printf("%-10s %2d %10zu %-6s", decompresses ? "decompress" : "compress", level, b->size, how);
    for (size_t i = 0; i < count; i++) {
        qsort(ways[i].us, (size_t)s->rounds, sizeof(double), compare);
        us[i] = ways[i].us[s->rounds / 2];
        printf(" %12.2f", us[i]);
        way_close(&ways[i]);
    }
    if (!is_shared)
        printf(" %10.2f", us[0] / us[2]);
    else
        printf(" %12s %12s %12s %10s", "-", "-", "-", "-");
    printf(" %10.1f\n", (double)b->size / us[0]);
    fflush(stdout);
}

static void buffers_open(struct buffers *b, const uint8_t *data, size_t len, size_t size, int level,
                         int threads)
{
    void *z = libdeflate_open(level, 1);
    size_t least = (size_t)threads, most = CYCLE_SIZE / size;

    b->data = data;
    b->size = size;
    b->room = size + size / 8 + 65536;
    b->count = len / size;
    if (b->count == 0)
        die("FILE is smaller than a buffer");
    if (most < least)
        most = least;
    if (b->count > most)
        b->count = most;
    b->gz = need(calloc(b->count, sizeof(*b->gz)));
    b->gz_len = need(calloc(b->count, sizeof(*b->gz_len)));
    for (size_t i = 0; i < b->count; i++) {
        b->gz[i] = need(malloc(b->room));
        b->gz_len[i] = libdeflate_deflate(z, b->gz[i], b->room, data + i * size, size);
        b->gz[i] = need(realloc(b->gz[i], b->gz_len[i]));
    }
    libdeflate_close(z);
}

static void buffers_close(struct buffers *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->gz[i]);
    free(b->gz);
    free(b->gz_len);
}

static void measure_size(const struct settings *s, const uint8_t *data, size_t len, size_t size,
                         int level)
{
    static const char *const hows[] = {"one", "all", "shared"};
    struct buffers b;

    buffers_open(&b, data, len, size, level, s->threads);
    for (int d = 0; d < 2; d++)
        for (int how = 0; how < (s->threads == 1 ? 1 : 3); how++)
            measure(s, &b, level, d == 1, hows[how]);
    printf("%-10s %2d %10zu %-6s", "% left", level, size, "");
    for (size_t i = 0; i < LIBRARIES; i++)
        printf(" %12.2f", 100 * check(&libraries[i], &b, level));
    printf("\n");
    fflush(stdout);
    buffers_close(&b);
}

/* Reads numbers that are separated by commas. Returns their count. */
static int read_list(const char *text, size_t *list)
{
    int count = 0;
    char *end;

    do {
        list[count++] = strtoul(text, &end, 10);
        if (list[count - 1] == 0)
            die("a list is wrong");
        text = end + 1;
    } while (*end == ',' && count < LIST_MAX);
    if (*end != '\0')
        die("a list is wrong");
    return count;
}

static uint8_t *read_file(const char *name, size_t *len)
{
    const int fd = open(name, O_RDONLY);
    struct stat st;
    uint8_t *bytes;

    if (fd < 0 || fstat(fd, &st) != 0)
        die(strerror(errno));
    bytes = need(malloc((size_t)st.st_size + 1));
    *len = 0;
    for (;;) {
        const ssize_t n = read(fd, bytes + *len, (size_t)st.st_size - *len);

        if (n < 0)
            die(strerror(errno));
        if (n == 0)
            break;
        *len += (size_t)n;
    }
    close(fd);
    return bytes;
}

int main(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct settings s = {.threads = (int)(processors < THREADS_MAX ? processors : THREADS_MAX),
                         .rounds = 5,
                         .seconds = 0.2};
    size_t levels[LIST_MAX] = {1, 6}, sizes[LIST_MAX] = {4096, 65536, 1048576, 100000000}, len;
    int level_count = 2, size_count = 4, option;
    uint8_t *data;

    while ((option = getopt(argc, argv, "t:l:s:r:m:f:")) != -1) {
        if (option == 't')
            s.threads = atoi(optarg);
        else if (option == 'l')
            level_count = read_list(optarg, levels);
        else if (option == 's')
            size_count = read_list(optarg, sizes);
        else if (option == 'r')
            s.rounds = atoi(optarg);
        else if (option == 'm')
            s.seconds = atof(optarg) / 1000;
        else if (option == 'f' && strcmp(optarg, "zlib") == 0)
            format = GZLZSS_ZLIB;
        else if (option == 'f' && strcmp(optarg, "raw") == 0)
            format = GZLZSS_RAW;
        else if (option != 'f' || strcmp(optarg, "gzip") != 0)
            return 2;
    }
    if (optind != argc - 1 || s.threads < 1 || s.threads > THREADS_MAX || s.rounds < 1 ||
        s.rounds > ROUNDS_MAX)
        die("usage: library [-t THREADS] [-l LEVEL,...] [-s SIZE,...] [-r ROUNDS] [-m MS]\n"
            "               [-f gzip|zlib|raw] FILE");
    data = read_file(argv[optind], &len);
    printf("microseconds a call; %d threads; zlib %s, libdeflate %s, ISA-L %d.%d; %s\n", s.threads,
           zlibVersion(), LIBDEFLATE_VERSION_STRING, ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION,
           gzlzss_version());
    printf("%-10s %2s %10s %-6s %12s %12s %12s %12s %10s %10s\n", "", "L", "bytes", "calls",
           "gzlzss", "zlib", "libdeflate", "ISA-L", "/libdefl.", "MB/s");
    for (int l = 0; l < level_count; l++)
        for (int i = 0; i < size_count; i++)
            measure_size(&s, data, len, sizes[i], (int)levels[l]);
    free(data);
    return 0;
}
