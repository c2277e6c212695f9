/*
 * gpu_stage.c - how fast the GPU stage alone is, in steady state
 *
 *   bench/gpu_stage FILE LEVEL [BATCH_MIB [BATCHES [SEGMENT_KIB]]]
 *
 * Default: 4 batches of 16 MiB, of segments of 1024 KiB (which the command has only with -b 1024).
 *
 * Input in pinned memory to sequences in pinned memory, all batches in flight in turn, over and
 * over for some seconds after a warm-up; nothing is read, encoded or written meanwhile.
 * What is matched is the first BATCH_MIB x BATCHES of FILE: to measure more than the GPU's cache,
 * make that several times its size.
 *
 * Prints the throughput of the whole stage, and the medians of what the device's clock says
 * of one batch's copies and kernels (which overlap with other batches').
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "src/clock.h"

/* How long to measure at least. */
#define SECONDS 2.0

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

static int die(const char *what)
{
    fprintf(stderr, "gpu_stage: %s\n", what);
    return 1;
}

int main(int argc, char **argv)
{
    enum { MAX_TIMES = 1 << 20 };
    char error[GPU_ERROR_SIZE];
    size_t batch_size = (size_t)(argc > 3 ? atoi(argv[3]) : 16) << 20;
    int batches = argc > 4 ? atoi(argv[4]) : 4;
    size_t segment_size = (size_t)(argc > 5 ? atoi(argv[5]) : 1024) << 10;
    struct gpu_engine *g;
    const struct lz_level *level;
    size_t sequences = 0, bytes = 0, times = 0;
    double *copy_in, *kernels, *copy_out;
    double start, end, opened;
    FILE *f;

    if (argc < 3 || atoi(argv[2]) < LZ_LEVEL_MIN || atoi(argv[2]) > LZ_LEVEL_MAX)
        return die("usage: gpu_stage FILE LEVEL [BATCH_MIB [BATCHES [SEGMENT_KIB]]]");
    level = lz_level(atoi(argv[2]));
    f = fopen(argv[1], "rb");
    if (f == NULL)
        return die("cannot open the input");
    start = clock_seconds();
    g = gpu_open(0, level, segment_size, batch_size, batches, error);
    if (g == NULL)
        return die(error);
    opened = clock_seconds() - start;
    batches = gpu_batches(g);
    for (int i = 0; i < batches; i++) {
        struct gpu_batch *b = gpu_batch(g, i);

        b->length = fread(b->input, 1, b->capacity, f);
        if (b->length == 0)
            return die("the input is too small");
    }
    fclose(f);
    copy_in = malloc(MAX_TIMES * sizeof(double));
    kernels = malloc(MAX_TIMES * sizeof(double));
    copy_out = malloc(MAX_TIMES * sizeof(double));
    if (copy_in == NULL || kernels == NULL || copy_out == NULL)
        return die("out of memory");

    start = clock_seconds();
    end = start;
    for (int round = 0; round < 6 || end - start < SECONDS; round++) {
        for (int i = 0; i < batches; i++) {
            struct gpu_batch *b = gpu_batch(g, i);

            if (round > 0) {
                if (!gpu_collect(g, b, error))
                    return die(error);
                /* The first rounds warm up. */
                if (round > 3 && times < MAX_TIMES) {
                    bytes += b->length;
                    copy_in[times] = b->times.copy_in;
                    kernels[times] = b->times.kernels;
                    copy_out[times++] = b->times.copy_out;
                }
            }
            if (!gpu_submit(g, b, error))
                return die(error);
        }
        if (round == 3)
            start = clock_seconds();
        end = clock_seconds();
    }
    for (int i = 0; i < batches; i++) {
        struct gpu_batch *b = gpu_batch(g, i);

        if (!gpu_collect(g, b, error))
            return die(error);
        for (size_t c = 0, left = b->length; left > 0;) {
            size_t segment = left < segment_size ? left : segment_size;

            for (size_t end_of_segment = c + LZ_CHUNKS(segment); c < end_of_segment; c++)
                sequences += b->chunks[c].count;
            left -= segment;
        }
    }
    printf("%s, level %s, %zu MiB x %d: %.2f GB/s; opened in %.3f s; per batch, ms: copy in %.3f, "
           "kernels %.3f, copy out %.3f; %zu sequences\n",
           gpu_name(g), argv[2], batch_size >> 20, batches, (double)bytes / (end - start) * 1e-9,
           opened, median(copy_in, times) * 1e3, median(kernels, times) * 1e3,
           median(copy_out, times) * 1e3, sequences);
    free(copy_in);
    free(kernels);
    free(copy_out);
    gpu_close(g);
    return 0;
}
