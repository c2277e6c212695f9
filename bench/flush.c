/*
 * flush.c - compares gzlzss with zlib on streams that are flushed often
 *
 *   bench/flush [-l LEVEL,...] [-s SIZE,...] [-m BYTES] [-r ROUNDS] [-t THREADS] [-f] FILE
 *
 * Defaults: levels 1, 6 and 9; a flush after every 100, 1000, 10000 and 100000 bytes; the first
 * 4000000 bytes of FILE; 5 rounds; 1 thread.  -f: full flushes instead of sync flushes.
 *
 * For each size and level, and for each of the two libraries, prints a time and a size.  The time
 * is that of a whole stream, divided by the number of flushes, in microseconds.  The size is the
 * compressed size as a percentage of the input.  The times are medians over the rounds, in which
 * the libraries take turns.  zlib decompresses each library's output once, and the program compares
 * the result with the input.
 *
 * For each level, a final line gives the memory that a stream keeps between two flushes.  To
 * measure this memory, the program makes 1000 streams, flushes each after 1000 bytes and again
 * after 40000 bytes, and divides the growth of the resident set by 1000.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "bench/program.h"
#include "include/gzlzss.h"

#define LIST_MAX 8
#define ROUNDS_MAX 100
#define STREAMS 1000

/* --- The two libraries ---------------------------------------------------------------------- */

/* The bytes of the two pieces that measure_memory gives each stream. */
#define FIRST_PIECE ((size_t)1000)
#define SECOND_PIECE ((size_t)39000)

/* An input that is flushed after every `step` bytes, and room for its compressed bytes. */
struct work {
    const uint8_t *in;
    size_t len, step;
    bool is_full;
    uint8_t *out;
    size_t room;
};

/* Runs the stream until it has done what the directive asks. */
static void run(gzlzss_stream *s, gzlzss_out *out, const uint8_t *bytes, size_t len,
                gzlzss_directive directive)
{
    gzlzss_in in = {bytes, len, 0};
    const gzlzss_status wanted = directive == GZLZSS_END ? GZLZSS_STREAM_END : GZLZSS_OK;

    if (gzlzss_stream_run(s, out, &in, directive) != wanted || out->used == out->size)
        die("gzlzss failed");
}

/* Compresses with gzlzss.  Returns the bytes of output. */
static size_t by_gzlzss(gzlzss *z, const struct work *w)
{
    const gzlzss_directive flush = w->is_full ? GZLZSS_FULL_FLUSH : GZLZSS_FLUSH;
    gzlzss_out out = {w->out, w->room, 0};
    gzlzss_stream *s;

    if (gzlzss_compress_stream(&s, z, NULL) != GZLZSS_OK)
        die("no stream");
    for (size_t at = 0, n; at < w->len; at += n) {
        n = w->len - at < w->step ? w->len - at : w->step;
        run(s, &out, w->in + at, n, flush);
    }
    run(s, &out, NULL, 0, GZLZSS_END);
    gzlzss_stream_free(s);
    return out.used;
}

/* Compresses with zlib.  Returns the bytes of output. */
static size_t by_zlib(int level, const struct work *w)
{
    z_stream s = {.next_out = w->out, .avail_out = (uInt)w->room};

    if (deflateInit2(&s, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        die("no stream of zlib");
    for (size_t at = 0, n; at < w->len; at += n) {
        n = w->len - at < w->step ? w->len - at : w->step;
        s.next_in = (Bytef *)w->in + at;
        s.avail_in = (uInt)n;
        if (deflate(&s, w->is_full ? Z_FULL_FLUSH : Z_SYNC_FLUSH) != Z_OK || s.avail_out == 0)
            die("zlib failed");
    }
    if (deflate(&s, Z_FINISH) != Z_STREAM_END)
        die("zlib failed");
    deflateEnd(&s);
    return s.total_out;
}

/* Ends the program unless zlib decompresses the output to the input. */
static void check(const struct work *w, size_t out_len)
{
    uint8_t *back = need(malloc(w->len + 1));
    z_stream s = {.next_in = w->out,
                  .avail_in = (uInt)out_len,
                  .next_out = back,
                  .avail_out = (uInt)w->len + 1};

    if (inflateInit2(&s, 15 + 16) != Z_OK || inflate(&s, Z_FINISH) != Z_STREAM_END ||
        s.total_out != w->len || memcmp(back, w->in, w->len) != 0)
        die("wrong output");
    inflateEnd(&s);
    free(back);
}

/* --- Measuring ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return values[count / 2];
}

static void measure(gzlzss *z, int level, const struct work *w, int rounds)
{
    const double flushes = (double)((w->len + w->step - 1) / w->step);
    double ours[ROUNDS_MAX], zlibs[ROUNDS_MAX], our_time, zlib_time;
    size_t our_size = 0, zlib_size = 0;

    for (int i = 0; i < rounds; i++) {
        double start = clock_seconds();

        our_size = by_gzlzss(z, w);
        ours[i] = clock_seconds() - start;
        if (i == 0)
            check(w, our_size);
        start = clock_seconds();
        zlib_size = by_zlib(level, w);
        zlibs[i] = clock_seconds() - start;
        if (i == 0)
            check(w, zlib_size);
    }
    our_time = median(ours, rounds);
    zlib_time = median(zlibs, rounds);
    printf("%5d %7zu %10.2f %10.2f %7.2f %8.2f %8.2f %8.4f\n", level, w->step,
           our_time / flushes * 1e6, zlib_time / flushes * 1e6, our_time / zlib_time,
           100 * (double)our_size / (double)w->len, 100 * (double)zlib_size / (double)w->len,
           (double)our_size / (double)zlib_size);
    fflush(stdout);
}

/* Returns the size of the resident set in bytes. */
static double resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (f == NULL || fscanf(f, "%*u %lu", &pages) != 1)
        die("no /proc/self/statm");
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Prints how much memory each of many idle streams keeps. */
static void measure_memory(gzlzss *z, int level, const struct work *w)
{
    static gzlzss_stream *ours[STREAMS];
    static z_stream zlibs[STREAMS];
    double before = resident(), our_bytes, zlib_bytes;

    for (int i = 0; i < STREAMS; i++) {
        gzlzss_out out = {w->out, w->room, 0};

        if (gzlzss_compress_stream(&ours[i], z, NULL) != GZLZSS_OK)
            die("no stream");
        run(ours[i], &out, w->in, FIRST_PIECE, GZLZSS_FLUSH);
        run(ours[i], &out, w->in + FIRST_PIECE, SECOND_PIECE, GZLZSS_FLUSH);
    }
    our_bytes = resident() - before;
    before = resident();
    for (int i = 0; i < STREAMS; i++) {
        z_stream *s = &zlibs[i];

        s->next_out = w->out;
        s->avail_out = (uInt)w->room;
        s->next_in = (Bytef *)w->in;
        s->avail_in = (uInt)FIRST_PIECE;
        if (deflateInit2(s, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            die("no stream of zlib");
        deflate(s, Z_SYNC_FLUSH);
        s->avail_in = (uInt)SECOND_PIECE;
        deflate(s, Z_SYNC_FLUSH);
    }
    zlib_bytes = resident() - before;
    printf("level %d, %d idle streams: %.0f KB each, zlib %.0f KB\n", level, STREAMS,
           our_bytes / STREAMS / 1e3, zlib_bytes / STREAMS / 1e3);
    for (int i = 0; i < STREAMS; i++) {
        gzlzss_stream_free(ours[i]);
        deflateEnd(&zlibs[i]);
    }
}

/* Reads a list of numbers, separated by commas; each number must be at least 1.  Returns the count
 * of the numbers. */
static int read_list(const char *text, size_t *list)
{
    int count = 0;

    for (char *end; count < LIST_MAX; text = end + 1) {
        list[count] = strtoul(text, &end, 10);
        if (list[count++] == 0)
            die("a number in a list must be 1 or more");
        if (*end != ',')
            break;
    }
    return count;
}

/* Reads the first w->len bytes of a file, and allocates memory for the output.  If the file is
 * shorter, reads all of it. */
static void read_work(struct work *w, const char *path)
{
    uint8_t *in = need(malloc(w->len));
    FILE *f = fopen(path, "rb");

    if (f == NULL)
        die("cannot open the file");
    w->len = fread(in, 1, w->len, f);
    fclose(f);
    if (w->len < FIRST_PIECE + SECOND_PIECE)
        die("the file is too short");
    w->in = in;
    w->room = 2 * w->len + (1 << 20);
    w->out = need(malloc(w->room));
    /* Touch the output's memory now: otherwise, it would count later as memory of a stream. */
    memset(w->out, 0, w->room);
}

int main(int argc, char **argv)
{
    size_t levels[LIST_MAX] = {1, 6, 9}, steps[LIST_MAX] = {100, 1000, 10000, 100000};
    int level_count = 3, step_count = 4, rounds = 5, threads = 1, c;
    struct work w = {.len = 4000000};

    while ((c = getopt(argc, argv, "l:s:m:r:t:f")) != -1) {
        switch (c) {
        case 'l':
            level_count = read_list(optarg, levels);
            break;
        case 's':
            step_count = read_list(optarg, steps);
            break;
        case 'm':
            w.len = strtoul(optarg, NULL, 10);
            break;
        case 'r':
            rounds = atoi(optarg);
            break;
        case 't':
            threads = atoi(optarg);
            break;
        case 'f':
            w.is_full = true;
            break;
        default:
            return 1;
        }
    }
    if (optind != argc - 1 || rounds < 1 || rounds > ROUNDS_MAX || threads < 1)
        die("usage: flush [-l LEVEL,...] [-s SIZE,...] [-m BYTES] [-r ROUNDS] [-t THREADS] [-f] "
            "FILE");
    read_work(&w, argv[optind]);
    printf("           microseconds a flush            size, %%\n");
    printf("level   bytes     gzlzss       zlib   ratio   gzlzss     zlib    ratio\n");
    for (int l = 0; l < level_count; l++) {
        gzlzss_options o = GZLZSS_OPTIONS_INIT;
        gzlzss *z;

        o.level = (int)levels[l];
        o.threads = threads;
        o.backend = GZLZSS_CPU;
        if (gzlzss_new(&z, &o) != GZLZSS_OK)
            die("no object");
        for (int i = 0; i < step_count; i++) {
            w.step = steps[i];
            measure(z, o.level > 9 ? 9 : o.level, &w, rounds);
        }
        measure_memory(z, o.level > 9 ? 9 : o.level, &w);
        gzlzss_free(z);
    }
    free(w.out);
    free((void *)w.in);
    return 0;
}
