/*
 * gpu_stage.c - measures the GPU stage alone, in steady state
 *
 *   bench/gpu_stage FILE LEVEL [BATCH_MIB [BATCHES [SEGMENT_KIB [DEVICES [SHARED [code]]]]]]
 *
 * LEVEL is a level from 1 on, or a method as in --matcher. The defaults are batches of 16 MiB, 8
 * batches, segments of 2048 KiB, and one device, number 0. With DEVICES, the program uses the first
 * DEVICES devices, and gives BATCHES batches to each of them. With SHARED, blocks have only that
 * many bytes of shared memory, as on smaller devices: 101000 (compute capability 8.6), 64000 (7.5);
 * 0: all. With the word `code`, the GPU also codes: the stage ends with DEFLATE blocks.
 *
 * The stage begins with input in pinned memory, and ends with sequences in pinned memory. Each
 * batch has a thread, which submits the batch to the GPU and collects the result, again and again.
 * The measurement takes some seconds, after a warm-up; in this time, the program reads, encodes and
 * writes nothing. Each device matches the first BATCH_MIB x BATCHES mebibytes of FILE; a shorter
 * FILE is repeated. Choose this amount several times as large as the GPU's cache: otherwise, you
 * measure mainly the cache.
 *
 * Prints the throughput of the whole stage. Also prints, by the device's clock, the mean times that
 * the copies and the kernels of one batch take. Since batches overlap, the sum of these times is
 * more than the whole time divided by the number of batches. Also prints the number of sequences,
 * or of bytes of output, and a hash of them, which is the same for all programs that find the same.
 */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bench/level.h"
#include "bench/program.h"
#include "gpu/gpu.h"

/* The seconds of the warm-up and of the measurement. With a longer measurement, the result varies
 * less from run to run. */
#define WARM_UP 0.5
#define SECONDS 1.5

enum { MAX_BATCHES = 64, MAX_DEVICES = 16 };

/* One batch, and its thread. */
struct turn {
    struct gpu_engine *engine;
    struct gpu_batch *batch;
    pthread_t thread;
    atomic_ullong bytes; /* bytes matched so far */
    struct gpu_times sum;
    unsigned long rounds;
    bool codes; /* the GPU codes */
};

static atomic_bool stop;

static void *take_turns(void *argument)
{
    struct turn *t = argument;
    char error[GPU_ERROR_SIZE];

    while (!atomic_load(&stop)) {
        t->batch->codes = t->codes;
        if (!gpu_submit(t->engine, t->batch, error) || !gpu_collect(t->engine, t->batch, error))
            die(error);
        t->sum.copy_in += t->batch->times.copy_in;
        t->sum.kernels += t->batch->times.kernels;
        t->sum.copy_out += t->batch->times.copy_out;
        t->rounds++;
        atomic_fetch_add(&t->bytes, t->batch->length);
    }
    return NULL;
}

static void sleep_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&t, NULL);
}

static unsigned long long sum_bytes(struct turn *turns, int count)
{
    unsigned long long sum = 0;

    for (int i = 0; i < count; i++)
        sum += atomic_load(&turns[i].bytes);
    return sum;
}

/* Fills a batch with segments of the file, which is read again and again. */
static void fill(struct gpu_batch *b, size_t segment_size, FILE *f)
{
    while (gpu_batch_fits(b, segment_size)) {
        unsigned index;
        uint8_t *in = gpu_batch_add(b, segment_size, &index);
        size_t len = 0;

        while (len < segment_size) {
            const size_t more = fread(in + len, 1, segment_size - len, f);

            if (more == 0 && (ferror(f) || ftell(f) <= 0))
                die("cannot read the input, or there is nothing in it");
            if (more == 0)
                rewind(f);
            len += more;
        }
        gpu_batch_set_length(b, index, len);
    }
}

/* What a batch's sequences are: their number, and a hash of their fields (FNV-1a). */
struct found {
    size_t sequences;
    uint64_t hash;
};

static void add_sequences(struct found *f, const struct gpu_batch *b, size_t segment_size)
{
    size_t left = b->length;

    for (unsigned i = 0; i < b->count; i++) {
        const size_t len = left < segment_size ? left : segment_size;

        for (size_t c = 0; c < LZ_CHUNKS(len); c++) {
            const struct lz_chunk *chunk = &gpu_batch_chunks(b, i)[c];

            f->sequences += chunk->count;
            for (size_t k = 0; k < chunk->count; k++) {
                const struct lz_sequence *s = &chunk->sequences[k];

                f->hash = (f->hash ^ s->literals) * UINT64_C(0x100000001b3);
                f->hash = (f->hash ^ s->length) * UINT64_C(0x100000001b3);
                f->hash = (f->hash ^ s->distance) * UINT64_C(0x100000001b3);
            }
        }
        left -= len;
    }
}

static void add_output(struct found *f, const struct gpu_batch *b)
{
    for (unsigned i = 0; i < b->count; i++) {
        struct gpu_output o;

        if (!gpu_batch_output(b, i, &o))
            die("a segment has no output");
        f->sequences += o.length;
        f->hash = (f->hash ^ o.out_crc) * UINT64_C(0x100000001b3);
    }
}

int main(int argc, char **argv)
{
    const size_t batch_size = (size_t)(argc > 3 ? atoi(argv[3]) : 16) << 20;
    const int batches = argc > 4 ? atoi(argv[4]) : 8;
    const size_t segment_size = (size_t)(argc > 5 ? atoi(argv[5]) : 2048) << 10;
    const int devices = argc > 6 ? atoi(argv[6]) : 1;
    const bool codes = argc > 8 && strcmp(argv[8], "code") == 0;
    const struct gpu_options options = {.shared = argc > 7 ? (size_t)atoi(argv[7]) : 0};
    static struct turn turns[MAX_DEVICES * MAX_BATCHES];
    struct gpu_engine *engines[MAX_DEVICES];
    char error[GPU_ERROR_SIZE], queues[16];
    struct gpu_times sum = {0, 0, 0};
    struct lz_level level;
    unsigned long rounds = 0;
    unsigned long long bytes;
    struct found found = {0, UINT64_C(0xcbf29ce484222325)};
    double start, opened, seconds;
    int count = 0;
    FILE *f;

    if (argc < 3 || batches < 1 || batches > MAX_BATCHES || devices < 1 || devices > MAX_DEVICES)
        die("usage: gpu_stage FILE LEVEL [BATCH_MIB [BATCHES [SEGMENT_KIB [DEVICES [SHARED "
            "[code]]]]]]");
    level = level_of(argv[2]);
    f = fopen(argv[1], "rb");
    if (f == NULL)
        die("cannot open the input");
    snprintf(queues, sizeof(queues), "%d", gpu_queues(&level));
    if (strcmp(queues, "0") != 0)
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", queues, 0);
    if (gpu_count(error) < devices)
        die("there are not so many devices");
    start = clock_seconds();
    for (int d = 0; d < devices; d++) {
        rewind(f);
        engines[d] = gpu_open(d, &level, segment_size, batch_size, batches, &options, error);
        if (engines[d] == NULL)
            die(error);
        for (int i = 0; i < gpu_batches(engines[d]); i++) {
            struct turn *t = &turns[count++];

            t->engine = engines[d];
            t->codes = codes;
            t->batch = gpu_new_batch(engines[d], error);
            if (t->batch == NULL)
                die(error);
            fill(t->batch, segment_size, f);
        }
    }
    opened = clock_seconds() - start;
    fclose(f);

    for (int i = 0; i < count; i++)
        if (pthread_create(&turns[i].thread, NULL, take_turns, &turns[i]) != 0)
            die("cannot start a thread");
    sleep_for(WARM_UP);
    start = clock_seconds();
    bytes = sum_bytes(turns, count);
    sleep_for(SECONDS);
    bytes = sum_bytes(turns, count) - bytes;
    seconds = clock_seconds() - start;
    atomic_store(&stop, true);

    for (int i = 0; i < count; i++) {
        struct turn *t = &turns[i];

        pthread_join(t->thread, NULL);
        sum.copy_in += t->sum.copy_in;
        sum.kernels += t->sum.kernels;
        sum.copy_out += t->sum.copy_out;
        rounds += t->rounds;
        if (codes)
            add_output(&found, t->batch);
        else
            add_sequences(&found, t->batch, segment_size);
        gpu_free_batch(t->engine, t->batch);
    }
    printf("%d x %s, level %s, %zu MiB x %d: %.2f GB/s; up, with input, in %.3f s; per batch, ms: "
           "copy in %.3f, kernels %.3f, copy out %.3f; %zu %s, %016" PRIx64 "\n",
           devices, gpu_name(engines[0]), argv[2], batch_size >> 20, count / devices,
           (double)bytes / seconds * 1e-9, opened, sum.copy_in / (double)rounds * 1e3,
           sum.kernels / (double)rounds * 1e3, sum.copy_out / (double)rounds * 1e3, found.sequences,
           codes ? "bytes" : "sequences", found.hash);
    for (int d = 0; d < devices; d++)
        gpu_close(engines[d]);
    return 0;
}
