/*
 * device_pointers.cu - measures how fast data in a GPU's memory is compressed to a .gz
 *
 *   bench/device_pointers [-n MB] [-r RUNS] [-t THREADS] [-l LEVEL]... FILE
 *
 * Fills the GPU's memory with MB megabytes (default 1000): FILE, repeated if it is shorter. For
 * each LEVEL (default 1 and 6), makes an object of the library, and measures these ways:
 *
 *   device      gzlzss_cuda_compress, from the GPU's memory to pinned memory
 *   to-device   gzlzss_cuda_compress, from the GPU's memory to the GPU's memory
 *   pinned      copies the input to pinned memory, then calls gzlzss_compress
 *   pageable    copies the input to memory from malloc, then calls gzlzss_compress
 *   copy        only copies the input to pinned memory, for comparison
 *
 * Prints a line LEVEL,WAY,BYTES,OUT_BYTES,SECONDS,GB/s for each level and way. The first run is not
 * timed; SECONDS is the median of the next RUNS runs (default 5). All host memory is allocated and
 * touched before the first run. The first four ways must give the same output. To measure nvCOMP in
 * the same way, use bench/nvcomp_copies.cu.
 */
#include <algorithm>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "device.cuh"

enum { MAX_RUNS = 100, MAX_LEVELS = GZLZSS_LEVEL_MAX };

/* The object and the memory of a measurement. */
struct setting {
    gzlzss *z;
    uint8_t *device_in, *device_out;
    uint8_t *pinned_in, *pinned_out;
    uint8_t *pageable_in, *pageable_out;
    size_t len, room;
    cudaStream_t stream;
};

enum way { DEVICE, TO_DEVICE, PINNED, PAGEABLE, COPY, WAYS };

static const char *const names[] = {"device", "to-device", "pinned", "pageable", "copy"};

/* Does the work once, in the way `way`. Sets *out to the output, and returns its size in bytes. */
static size_t run(const struct setting *s, enum way way, const uint8_t **out)
{
    size_t len = s->room;
    gzlzss_status status = GZLZSS_OK;

    switch (way) {
    case DEVICE:
        *out = s->pinned_out;
        status =
            gzlzss_cuda_compress(s->z, s->pinned_out, &len, s->device_in, s->len, s->stream, NULL);
        break;
    case TO_DEVICE:
        *out = s->device_out;
        status =
            gzlzss_cuda_compress(s->z, s->device_out, &len, s->device_in, s->len, s->stream, NULL);
        break;
    case PINNED:
    case PAGEABLE: {
        uint8_t *in = way == PINNED ? s->pinned_in : s->pageable_in;
        uint8_t *to = way == PINNED ? s->pinned_out : s->pageable_out;

        *out = to;
        check(cudaMemcpyAsync(in, s->device_in, s->len, cudaMemcpyDeviceToHost, s->stream));
        check(cudaStreamSynchronize(s->stream));
        status = gzlzss_compress(s->z, to, &len, in, s->len, NULL);
        break;
    }
    default:
        *out = s->pinned_in;
        len = s->len;
        check(
            cudaMemcpyAsync(s->pinned_in, s->device_in, s->len, cudaMemcpyDeviceToHost, s->stream));
        check(cudaStreamSynchronize(s->stream));
        break;
    }
    if (status != GZLZSS_OK)
        die(gzlzss_status_text(status));
    return len;
}

static void measure(const struct setting *s, int level, int runs, uint8_t *first, size_t *first_len)
{
    *first_len = 0;
    for (int way = 0; way < WAYS; way++) {
        double seconds[MAX_RUNS];
        const uint8_t *out = NULL;
        size_t len = 0;

        /* The first run does not count: it starts threads and the GPU. */
        for (int i = -1; i < runs; i++) {
            const double began = now();

            len = run(s, (enum way)way, &out);
            if (i >= 0)
                seconds[i] = now() - began;
        }
        if (way == DEVICE) {
            memcpy(first, out, len);
            *first_len = len;
        } else if (way != COPY) {
            uint8_t *copy = (uint8_t *)malloc(len);

            if (copy == NULL)
                die("out of memory");
            check(cudaMemcpy(copy, out, len, cudaMemcpyDefault));
            if (len != *first_len || memcmp(copy, first, len) != 0)
                die("the outputs differ");
            free(copy);
        }
        std::sort(seconds, seconds + runs);
        printf("%d,%s,%zu,%zu,%.6f,%.3f\n", level, names[way], s->len, len, seconds[runs / 2],
               (double)s->len / 1e9 / seconds[runs / 2]);
        fflush(stdout);
    }
}

/* Fills `out` with the file's bytes, repeated as often as needed. */
static void fill(const char *name, uint8_t *out, size_t len)
{
    FILE *file = fopen(name, "rb");
    size_t have = 0, n;

    if (file == NULL)
        die("the file cannot be opened");
    while (have < len && (n = fread(out + have, 1, len - have, file)) > 0)
        have += n;
    fclose(file);
    if (have == 0)
        die("the file is empty");
    for (size_t i = have; i < len; i++)
        out[i] = out[i - have];
}

static uint8_t *touched(size_t len)
{
    uint8_t *p = (uint8_t *)malloc(len);

    if (p == NULL)
        die("out of memory");
    memset(p, 1, len);
    return p;
}

int main(int argc, char **argv)
{
    gzlzss_options options = GZLZSS_OPTIONS_INIT;
    int levels[MAX_LEVELS] = {1, 6}, count = 2, given = 0, runs = 5, option;
    struct setting s;
    size_t first_len;
    uint8_t *first;

    memset(&s, 0, sizeof(s));
    s.len = 1000000000;
    while ((option = getopt(argc, argv, "n:r:t:l:")) != -1) {
        if (option == 'n')
            s.len = strtoul(optarg, NULL, 10) * 1000000;
        else if (option == 'r')
            runs = atoi(optarg);
        else if (option == 't')
            options.threads = atoi(optarg);
        else if (option == 'l' && given < MAX_LEVELS)
            levels[given++] = atoi(optarg);
        else
            die("usage: device_pointers [-n MB] [-r RUNS] [-t THREADS] [-l LEVEL]... FILE");
    }
    if (optind != argc - 1 || s.len == 0 || runs < 1 || runs > MAX_RUNS)
        die("usage: device_pointers [-n MB] [-r RUNS] [-t THREADS] [-l LEVEL]... FILE");
    count = given > 0 ? given : count;
    check(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    check(cudaMalloc(&s.device_in, s.len));
    check(cudaMallocHost(&s.pinned_in, s.len));
    s.pageable_in = touched(s.len);
    fill(argv[optind], s.pageable_in, s.len);
    check(cudaMemcpy(s.device_in, s.pageable_in, s.len, cudaMemcpyHostToDevice));
    for (int i = 0; i < count; i++) {
        options.level = levels[i];
        if (gzlzss_new(&s.z, &options) != GZLZSS_OK)
            die("no object could be made");
        s.room = gzlzss_bound(s.z, s.len);
        check(cudaMalloc(&s.device_out, s.room));
        check(cudaMallocHost(&s.pinned_out, s.room));
        s.pageable_out = touched(s.room);
        first = touched(s.room);
        measure(&s, levels[i], runs, first, &first_len);
        char why[256];
        gzlzss_no_gpu(s.z, why, sizeof(why));
        if (why[0] != '\0')
            fprintf(stderr, "device_pointers: no GPU: %s\n", why);
        gzlzss_free(s.z);
        cudaFree(s.device_out);
        cudaFreeHost(s.pinned_out);
        free(s.pageable_out);
        free(first);
    }
    return 0;
}
