/*
 * device_pointers.cu - measures how fast data in a GPU's memory is compressed to a .gz
 *
 *   bench/device_pointers [-n MB]... [-r RUNS] [-t THREADS] [-l LEVEL]... [-w WAY]... FILE
 *
 * Fills the GPU's memory with FILE, repeated if it is shorter. For each size MB in megabytes
 * (default 1000) and each LEVEL (default 1 and 6), measures these ways (default: all of them), each
 * with a new object of the library:
 *
 *   device      gzlzss_cuda_compress, from the GPU's memory to pinned memory
 *   to-device   gzlzss_cuda_compress, from the GPU's memory to the GPU's memory
 *   pinned      copies the input to pinned memory, then calls gzlzss_compress
 *   pageable    copies the input to memory from malloc, then calls gzlzss_compress
 *   cpu         like pinned, by an object that uses the CPU alone
 *   gpu         like device, by an object whose matches come from the GPU alone
 *   copy        only copies the input to pinned memory, for comparison
 *
 * Prints a line LEVEL,WAY,BYTES,OUT_BYTES,SECONDS,GB/s,FIRST for each level and way. SECONDS is the
 * median of RUNS runs (default 5). FIRST is the time in seconds of making the object and of its
 * first call, which starts threads and perhaps the GPU's engine; that call is not one of the RUNS.
 * The CUDA context exists before. All host memory is allocated and touched before the first run.
 * The ways except copy must give the same output. To measure nvCOMP in the same way, use
 * bench/nvcomp_copies.cu.
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

enum { MAX_RUNS = 1000, MAX_LEVELS = GZLZSS_LEVEL_MAX, MAX_SIZES = 16 };

#define USAGE \
    "usage: device_pointers [-n MB]... [-r RUNS] [-t THREADS] [-l LEVEL]... [-w WAY]... FILE"

/* The object and the memory of a measurement. */
struct setting {
    gzlzss *z;
    uint8_t *device_in, *device_out;
    uint8_t *pinned_in, *pinned_out;
    uint8_t *pageable_in, *pageable_out;
    size_t len, room;
    cudaStream_t stream;
};

enum way { DEVICE, TO_DEVICE, PINNED, PAGEABLE, CPU, GPU, COPY, WAYS };

static const char *const names[] = {"device", "to-device", "pinned", "pageable",
                                    "cpu",    "gpu",       "copy"};

/* Does the work once, in the way `way`. Sets *out to the output, and returns its size in bytes. */
static size_t run(const struct setting *s, enum way way, const uint8_t **out)
{
    size_t len = s->room;
    gzlzss_status status = GZLZSS_OK;

    switch (way) {
    case DEVICE:
    case GPU:
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
    case PAGEABLE:
    case CPU: {
        uint8_t *in = way == PAGEABLE ? s->pageable_in : s->pinned_in;
        uint8_t *to = way == PAGEABLE ? s->pageable_out : s->pinned_out;

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

static uint8_t *touched(size_t len)
{
    uint8_t *p = (uint8_t *)malloc(len);

    if (p == NULL)
        die("out of memory");
    memset(p, 1, len);
    return p;
}

/* Dies unless the output out[0..len), in memory of the host or the GPU, is `first`. */
static void compare(const uint8_t *out, size_t len, const uint8_t *first, size_t first_len)
{
    uint8_t *copy = touched(len);

    check(cudaMemcpy(copy, out, len, cudaMemcpyDefault));
    if (len != first_len || memcmp(copy, first, len) != 0)
        die("the outputs differ");
    free(copy);
}

/* Measures one way with a new object. Keeps the output of the first way in `first`, and compares
 * the outputs of the other ways with it. */
static void measure(struct setting *s, enum way way, const gzlzss_options *options, int runs,
                    uint8_t *first, size_t *first_len)
{
    gzlzss_options own = *options;
    double seconds[MAX_RUNS], first_seconds = 0, began = now();
    const uint8_t *out = NULL;
    char why[256];
    size_t len = 0;

    own.backend = way == CPU ? GZLZSS_CPU : way == GPU ? GZLZSS_GPU : options->backend;
    if (gzlzss_new(&s->z, &own) != GZLZSS_OK)
        die("no object could be made");
    len = run(s, way, &out);
    first_seconds = now() - began;
    for (int i = 0; i < runs; i++) {
        began = now();
        len = run(s, way, &out);
        seconds[i] = now() - began;
    }
    if (way != COPY && *first_len == 0) {
        check(cudaMemcpy(first, out, len, cudaMemcpyDefault));
        *first_len = len;
    } else if (way != COPY) {
        compare(out, len, first, *first_len);
    }
    std::sort(seconds, seconds + runs);
    printf("%d,%s,%zu,%zu,%.6f,%.3f,%.6f\n", options->level, names[way], s->len, len,
           seconds[runs / 2], (double)s->len / 1e9 / seconds[runs / 2], first_seconds);
    fflush(stdout);
    gzlzss_no_gpu(s->z, why, sizeof(why));
    if (why[0] != '\0' && way != CPU && way != COPY)
        fprintf(stderr, "device_pointers: no GPU: %s\n", why);
    gzlzss_free(s->z);
}

/* Measures the ways for one size and level. */
static void measure_ways(struct setting *s, const gzlzss_options *options, const bool ways[WAYS],
                         int runs, uint8_t *first)
{
    size_t first_len = 0;

    for (int way = 0; way < WAYS; way++)
        if (ways[way])
            measure(s, (enum way)way, options, runs, first, &first_len);
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

/* Returns the way with this name. */
static int find_way(const char *name)
{
    int way = 0;

    while (way < WAYS && strcmp(names[way], name) != 0)
        way++;
    if (way == WAYS)
        die(USAGE);
    return way;
}

/* Allocates the memory, with room for the output of `len` bytes at any level. */
static void allocate(struct setting *s, size_t len)
{
    if (gzlzss_new(&s->z, NULL) != GZLZSS_OK)
        die("no object could be made");
    s->room = gzlzss_bound(s->z, len);
    gzlzss_free(s->z);
    check(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    check(cudaMalloc(&s->device_in, len));
    check(cudaMalloc(&s->device_out, s->room));
    check(cudaMallocHost(&s->pinned_in, len));
    check(cudaMallocHost(&s->pinned_out, s->room));
    s->pageable_in = touched(len);
    s->pageable_out = touched(s->room);
}

int main(int argc, char **argv)
{
    gzlzss_options options = GZLZSS_OPTIONS_INIT;
    int levels[MAX_LEVELS] = {1, 6}, level_count = 0, size_count = 0, runs = 5, option;
    size_t sizes[MAX_SIZES] = {1000000000}, most = 0;
    bool ways[WAYS] = {false}, has_ways = false;
    struct setting s;
    uint8_t *first;

    memset(&s, 0, sizeof(s));
    while ((option = getopt(argc, argv, "n:r:t:l:w:")) != -1) {
        if (option == 'n' && size_count < MAX_SIZES)
            sizes[size_count++] = strtoul(optarg, NULL, 10) * 1000000;
        else if (option == 'r')
            runs = atoi(optarg);
        else if (option == 't')
            options.threads = atoi(optarg);
        else if (option == 'l' && level_count < MAX_LEVELS)
            levels[level_count++] = atoi(optarg);
        else if (option == 'w')
            has_ways = ways[find_way(optarg)] = true;
        else
            die(USAGE);
    }
    size_count = size_count > 0 ? size_count : 1;
    level_count = level_count > 0 ? level_count : 2;
    for (int way = 0; way < WAYS; way++)
        ways[way] |= !has_ways;
    for (int i = 0; i < size_count; i++)
        most = std::max(most, sizes[i]);
    if (optind != argc - 1 || most == 0 || runs < 1 || runs > MAX_RUNS)
        die(USAGE);
    allocate(&s, most);
    fill(argv[optind], s.pageable_in, most);
    check(cudaMemcpy(s.device_in, s.pageable_in, most, cudaMemcpyHostToDevice));
    first = touched(s.room);
    for (int i = 0; i < size_count; i++)
        for (int k = 0; k < level_count; k++) {
            s.len = sizes[i];
            options.level = levels[k];
            measure_ways(&s, &options, ways, runs, first);
        }
    return 0;
}
