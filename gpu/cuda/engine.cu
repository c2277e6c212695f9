/*
 * engine.cu - the GPU engine: memory, streams and batches (gpu.h says how to use it)
 *
 * All memory of a batch is allocated when the batch is made. Nothing grows with the input.
 *
 * The engine owns the streams: one for copies in both directions, a few for finding, and a few for
 * parsing. Each new batch is assigned one finding stream and one parsing stream, in rotation, so
 * one batch's copies run beside other batches' kernels. Batches do not have streams of their own,
 * because there would be more streams than hardware queues. In a hardware queue, work of any stream
 * waits for all work before it. A parse is one walk along a chunk by one warp: it takes long, but
 * occupies little of the device. Parsing streams have the higher priority, so that a parse starts
 * as soon as possible beside another batch's search.
 *
 * The number of a batch's sequences is known only when its kernels are done. So gpu_collect, not
 * gpu_submit, queues the copy of the sequences, and copies no more than there are.
 *
 * The bytes of a segment may already be in a GPU's memory (gpu_batch_set_source). The finding
 * stream then first copies them into the batch's device memory. At 1.5 TB/s, that takes a hundredth
 * of the time for matching. The kernels cannot read the bytes in place, because they also read some
 * bytes after a segment, and the program's memory may end there. A separate stream copies the bytes
 * to the host for the encoder; no batch's kernels wait for it.
 *
 * If a batch codes (struct gpu_batch), the kernels of huffman/ follow those for parsing, in a third
 * stream, and the outputs cross the bus in place of the sequences. A batch gets the memory for that
 * when it first codes.
 */
#include <atomic>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hugepages.h"
#include "gpu/cuda/huffman/coder.cuh"
#include "gpu/cuda/internal.cuh"
#include "lzss/optimal.h"

/* The smallest page size. make_host_memory touches each page once before the memory is pinned. */
#define SMALL_PAGE 4096

/* Events in a batch's streams. The times between events are the batch's times. Events also make one
 * stream wait for another: `finding` waits for COPIED_IN, and `parsing` for FOUND. BROUGHT happens
 * when the host has the bytes that only a GPU had. */
enum {
    BEGIN,
    COPIED_IN,
    BROUGHT,
    FINDING,
    FOUND,
    MATCHED,
    CODED,
    RESULTS_OUT,
    COPY_OUT,
    DONE,
    EVENTS
};

/* FINDERS: streams for finding. A third stream for fast finders costs 3 % with FEW_QUEUES
 * (queues.c), and gains 3 % with 6 queues or more. Slow finders are equally fast with one, two or
 * three streams.
 *
 * PARSERS: streams for parsing. With two, level 1 is a tenth slower. Slow finders, whose walks take
 * most of the time, use SLOW_PARSERS streams, one for each of the command's batches. Finders that
 * have no `find` (struct gpu_finder) use PARSERS_MAX streams, because only the long walks of many
 * batches together fill the device.
 *
 * If you raise any of these numbers, look at gpu_queues, too, because streams that share a hardware
 * queue wait for each other. */
#define FINDERS 2
#define PARSERS_MAX 8
#define SLOW_PARSERS 4
#define PARSERS 3

/* CODERS: streams for Huffman coding. Some of its kernels have one warp for a segment or a block,
 * and take long but little of the device, so several batches are coded side by side. These streams
 * are made last, and share the others' hardware queues. */
#define CODERS 8

/* Seconds for which a feeder asks whether its batch is done before it sleeps. The cores are needed
 * for encoding, and a batch takes milliseconds. */
#define SPIN 0

/* The data of a batch that only the engine uses. */
struct device_batch {
    cudaStream_t finding, parsing, coding; /* three of the engine's streams */
    cudaEvent_t events[EVENTS];
    gpu_view view;
    uint8_t *host; /* pinned memory: the input, then the arrays host_sequences to host_used */
    /* Whether `host` comes from hugepages_alloc, and was pinned by cudaHostRegister. Otherwise, it
     * comes from cudaMallocHost. */
    bool is_registered;
    struct lz_sequence *host_sequences;
    struct gpu_span *host_spans;
    struct gpu_result *host_results;
    uint32_t *host_used;
    bool is_brought; /* some segments' bytes come from a GPU's memory (gpu_batch_set_source) */
    struct coder_memory coder; /* for Huffman coding; all zeros until the batch first codes */
    size_t output_room;        /* bytes at host_sequences, which also take the outputs */
};

struct gpu_engine {
    char name[256];
    const struct lz_level *level;
    size_t segment_size;
    uint32_t shared_size; /* bytes of dynamic shared memory that a block may have */
    size_t capacity;      /* input bytes of a batch */
    int batches;          /* most batches that fit (gpu_batches) */
    int device;
    cudaStream_t copying;  /* input to the device, sequences to the host */
    cudaStream_t bringing; /* bytes that only a GPU has, to the host */
    cudaStream_t finding[FINDERS];
    cudaStream_t parsing[PARSERS_MAX]; /* streams of higher priority */
    unsigned parsers;                  /* streams in `parsing` */
    cudaStream_t coding[CODERS];       /* NULL if the level is not coded */
    struct gpu_watch watch;
    std::atomic<unsigned> made; /* batches made so far; chooses the next batch's streams */

    bool hangs; /* for tests: a kernel takes some 20 s */
    long flip;  /* for tests: gpu_options */
    /* For tests: is_wrong gives wrong sequences. When submissions_left is 0, the next submission
     * fails; a negative number means no limit. */
    bool is_wrong;
    std::atomic<long> submissions_left;
};

static bool failed(cudaError_t status, const char *what, char error[GPU_ERROR_SIZE])
{
    if (status == cudaSuccess)
        return false;
    snprintf(error, GPU_ERROR_SIZE, "%.100s: %.100s", what, gpu_error_text(status));
    return true;
}

/* Returns how many chunks a batch of `capacity` input bytes may have: the number of chunks if all
 * its segments have full size. A chunk takes 64 KiB to 1.5 MiB of device memory, however short it
 * is, so a batch of short segments is full before its bytes are used up. The device still has the
 * same number of blocks to work on side by side, each for a shorter time. */
static size_t chunks_for(size_t capacity, size_t segment_size)
{
    return capacity / segment_size * LZ_CHUNKS(segment_size);
}

/* Returns the bytes of device memory that a batch takes, with 1 MiB added for rounding. */
static size_t device_bytes(size_t capacity, size_t segment_size, const struct lz_level *level)
{
    const struct gpu_finder *finder = gpu_twin(level);

    return capacity + GPU_INPUT_PAD +
           chunks_for(capacity, segment_size) *
               (LZ_CHUNK_SIZE * sizeof(uint16_t) + sizeof(struct gpu_span) +
                sizeof(struct gpu_result) + finder->scratch(level)) +
           capacity / finder->bytes_a_sequence * sizeof(struct lz_sequence) + (1 << 20);
}

/*
 * Returns the capacity for batches of about `batch_size` bytes: a whole number of segments, at
 * least one. Batches take at most half of the `available` device memory, since other programs use
 * the device, too. If they would take more, the capacity is halved, again and again, down to one
 * segment; then *batches is lowered, down to 1. A single batch may take more than half.
 */
static size_t fit_batches(int *batches, size_t batch_size, size_t segment_size,
                          const struct lz_level *level, size_t available)
{
    size_t capacity =
        batch_size < segment_size ? segment_size : batch_size / segment_size * segment_size;

    while (*batches > 1 &&
           (size_t)*batches * device_bytes(capacity, segment_size, level) > available / 2) {
        if (capacity > segment_size)
            capacity = (capacity / 2 + segment_size - 1) / segment_size * segment_size;
        else
            --*batches;
    }
    return capacity;
}

/*
 * Allocates a batch's host memory, and pins it. Pinning costs time for each page. So the memory is
 * in huge pages, if the system has them, and is touched before it is pinned. For 320 MiB, this took
 * 0.08 s, while cudaMallocHost took 0.15 s. With 16 busy threads on the host, this took 0.08 s,
 * while cudaMallocHost took 0.33 s (H100). The process also ends 0.08 s sooner. All of a batch's
 * host memory is one block, so that it is pinned in one call. Add new arrays to this block.
 */
static cudaError_t make_host_memory(struct device_batch *d, size_t capacity, size_t chunks,
                                    size_t sequences)
{
    const size_t input_size = gpu_round_up(capacity + LZ_INPUT_PAD, 64);
    const size_t sequences_size = gpu_round_up(sequences * sizeof(*d->host_sequences), 64);
    const size_t spans_size = gpu_round_up(chunks * sizeof(*d->host_spans), 64);
    const size_t results_size = gpu_round_up(chunks * sizeof(*d->host_results), 64);
    const size_t size = gpu_round_up(
        input_size + sequences_size + spans_size + results_size + sizeof(*d->host_used), HUGE_PAGE);
    uint8_t *next;
    cudaError_t status = cudaSuccess;

    d->host = hugepages_alloc(size);
    if (d->host == NULL)
        return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < size; i += SMALL_PAGE)
        d->host[i] = 0;
    d->is_registered = cudaHostRegister(d->host, size, cudaHostRegisterPortable) == cudaSuccess;
    if (!d->is_registered) {
        /* Some systems can pin only memory that they allocated for this purpose. */
        (void)cudaGetLastError();
        free(d->host);
        d->host = NULL;
        status = cudaMallocHost(&d->host, size);
    }
    if (status != cudaSuccess)
        return status;
    next = d->host + input_size;
    d->host_sequences = (struct lz_sequence *)next;
    d->output_room = sequences_size;
    next += sequences_size;
    d->host_spans = (struct gpu_span *)next;
    next += spans_size;
    d->host_results = (struct gpu_result *)next;
    next += results_size;
    d->host_used = (uint32_t *)next;
    return status;
}

static cudaError_t make_batch(struct gpu_engine *g, struct gpu_batch *b)
{
    const size_t capacity = g->capacity;
    const unsigned number = g->made++;
    struct device_batch *d = (struct device_batch *)calloc(1, sizeof(*d));
    size_t chunks = chunks_for(capacity, g->segment_size);
    const struct gpu_finder *finder = gpu_twin(g->level);
    size_t sequences = capacity / finder->bytes_a_sequence;
    size_t scratch = finder->scratch(g->level);
    uint8_t *input = NULL;
    struct gpu_span *spans = NULL;
    cudaError_t status = cudaErrorMemoryAllocation;

    b->device = d;
    b->segments = (struct gpu_segment *)malloc(chunks * sizeof(*b->segments));
    b->chunks = (struct lz_chunk *)malloc(chunks * sizeof(*b->chunks));
    if (d == NULL || b->segments == NULL || b->chunks == NULL)
        return status;
    b->capacity = capacity;
    b->chunk_room = (unsigned)chunks;
    d->view.capacity = (uint32_t)sequences;
    d->view.shared_size = g->shared_size;

    d->finding = g->finding[number % FINDERS];
    d->parsing = g->parsing[number % g->parsers];
    d->coding = g->coding[number % CODERS];

    status = cudaSuccess;
    for (int i = 0; i < EVENTS && status == cudaSuccess; i++)
        status = cudaEventCreateWithFlags(&d->events[i], cudaEventBlockingSync);
    if (status == cudaSuccess)
        status = cudaMalloc(&input, capacity + GPU_INPUT_PAD);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(input, 0, capacity + GPU_INPUT_PAD, g->copying);
    d->view.input = input;
    if (status == cudaSuccess)
        status = cudaMalloc(&spans, chunks * sizeof(*spans));
    d->view.spans = spans;
    if (status == cudaSuccess)
        status = cudaMalloc(&d->view.tags, chunks * LZ_CHUNK_SIZE * sizeof(*d->view.tags));
    if (status == cudaSuccess && scratch > 0)
        status = cudaMalloc(&d->view.scratch, chunks * scratch);
    if (status == cudaSuccess)
        status = cudaMalloc(&d->view.sequences, sequences * sizeof(*d->view.sequences));
    if (status == cudaSuccess)
        status = cudaMalloc(&d->view.used, sizeof(*d->view.used));
    if (status == cudaSuccess)
        status = cudaMalloc(&d->view.results, chunks * sizeof(*d->view.results));
    if (status == cudaSuccess)
        status = make_host_memory(d, capacity, chunks, sequences);
    b->input = d->host;
    return status;
}

void gpu_free_batch(struct gpu_engine *g, struct gpu_batch *b)
{
    if (b == NULL)
        return;

    struct device_batch *d = (struct device_batch *)b->device;

    free(b->segments);
    free(b->chunks);
    free(b);
    if (d == NULL)
        return;
    if (gpu_is_lost(&g->watch)) {
        free(d);
        return;
    }
    (void)gpu_use_device(g->device);
    /* A member that was never allocated is NULL, which these calls accept. Errors no longer
     * matter. */
    if (d->is_registered) {
        cudaHostUnregister(d->host);
        free(d->host);
    } else {
        cudaFreeHost(d->host);
    }
    coder_free(&d->coder);
    cudaFree(d->view.results);
    cudaFree(d->view.used);
    cudaFree(d->view.sequences);
    cudaFree(d->view.scratch);
    cudaFree(d->view.tags);
    cudaFree((void *)d->view.spans);
    cudaFree((void *)d->view.input);
    for (int i = 0; i < EVENTS; i++)
        if (d->events[i] != NULL)
            cudaEventDestroy(d->events[i]);
    free(d);
}

/* Returns size, or limit if that is less. Limit 0 means none (gpu_options). */
static size_t limited(size_t size, size_t limit)
{
    return limit > 0 && limit < size ? limit : size;
}

/* Makes the device current for this process and thread. If the device allows only one process at a
 * time, waits up to 0.5 s for an earlier process to release it (src/leave.h). */
static cudaError_t take_device(int device)
{
    const struct timespec pause = {0, 20000000L};
    cudaError_t status = gpu_use_device(device);

    for (int i = 0; i < 25 && status == cudaErrorDevicesUnavailable; i++) {
        nanosleep(&pause, NULL);
        status = gpu_use_device(device);
    }
    return status;
}

/* Creates the engine's streams. One stream serves copies in both directions. This is enough, since
 * copies out take only a third of the time of copies in. */
static cudaError_t make_streams(struct gpu_engine *g)
{
    int lowest, highest;
    cudaError_t status = cudaDeviceGetStreamPriorityRange(&lowest, &highest);

    g->parsers = gpu_twin(g->level)->find == NULL ? PARSERS_MAX
                 : g->level->finder->is_slow      ? SLOW_PARSERS
                                                  : PARSERS;
    if (status == cudaSuccess)
        status = cudaStreamCreateWithPriority(&g->copying, cudaStreamNonBlocking, lowest);
    for (unsigned i = 0; i < FINDERS && status == cudaSuccess; i++)
        status = cudaStreamCreateWithPriority(&g->finding[i], cudaStreamNonBlocking, lowest);
    for (unsigned i = 0; i < g->parsers && status == cudaSuccess; i++)
        status = cudaStreamCreateWithPriority(&g->parsing[i], cudaStreamNonBlocking, highest);
    /* This stream must come last, because streams take the device's queues in the order of
     * creation, so the other streams share the queues as if this one did not exist. */
    if (status == cudaSuccess)
        status = cudaStreamCreateWithPriority(&g->bringing, cudaStreamNonBlocking, lowest);
    for (unsigned i = 0; i < CODERS && gpu_codes(g) && status == cudaSuccess; i++)
        status = cudaStreamCreateWithPriority(&g->coding[i], cudaStreamNonBlocking, lowest);
    return status;
}

struct gpu_engine *gpu_open(int device, const struct lz_level *level, size_t segment_size,
                            size_t batch_size, int batches, const struct gpu_options *options,
                            char error[GPU_ERROR_SIZE])
{
    char label[32];
    struct gpu_engine *g;
    cudaDeviceProp properties;
    size_t available, total;

    /* Waiting threads should sleep, because the cores are needed for encoding. But if the calling
     * program uses CUDA, too, its context keeps the flags that it has. */
    const bool is_ours = !gpu_context_is_active(device);

    snprintf(label, sizeof(label), "CUDA device %d", device);
    if (gpu_twin(level) == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "the GPU engine was built without this match finder");
        return NULL;
    }
    if (failed(take_device(device), label, error) ||
        (is_ours && failed(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), label, error)) ||
        failed(cudaGetDeviceProperties(&properties, device), label, error) ||
        failed(gpu_code_fits_device(), properties.name, error) ||
        failed(gpu_twin(level)->load(), properties.name, error) ||
        failed(cudaMemGetInfo(&available, &total), properties.name, error))
        return NULL;

    g = new (std::nothrow) gpu_engine();
    if (g == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        return NULL;
    }
    snprintf(g->name, sizeof(g->name), "%s", properties.name);
    g->level = level;
    g->device = device;
    g->segment_size = segment_size;
    g->shared_size =
        (uint32_t)limited(properties.sharedMemPerBlockOptin - GPU_SHARED_STATIC, options->shared);
    g->batches = batches;
    g->capacity = fit_batches(&g->batches, batch_size, segment_size, level,
                              limited(available, options->memory));
    gpu_watch_init(&g->watch, device, g->capacity, options->seconds, SPIN);
    g->is_wrong = options->is_wrong;
    g->hangs = options->hangs;
    g->flip = options->flip;
    g->submissions_left = options->fails ? options->good_batches : -1;
    if (failed(make_streams(g), g->name, error)) {
        gpu_close(g);
        return NULL;
    }
    return g;
}

void gpu_close(struct gpu_engine *g)
{
    if (gpu_is_lost(&g->watch)) {
        delete g;
        return;
    }
    (void)gpu_use_device(g->device);
    if (g->copying != NULL)
        cudaStreamDestroy(g->copying);
    for (unsigned i = 0; i < FINDERS; i++)
        if (g->finding[i] != NULL)
            cudaStreamDestroy(g->finding[i]);
    for (unsigned i = 0; i < g->parsers; i++)
        if (g->parsing[i] != NULL)
            cudaStreamDestroy(g->parsing[i]);
    if (g->bringing != NULL)
        cudaStreamDestroy(g->bringing);
    for (unsigned i = 0; i < CODERS; i++)
        if (g->coding[i] != NULL)
            cudaStreamDestroy(g->coding[i]);
    delete g;
}

struct gpu_batch *gpu_new_batch(struct gpu_engine *g, char error[GPU_ERROR_SIZE])
{
    struct gpu_batch *b = (struct gpu_batch *)calloc(1, sizeof(*b));
    cudaError_t status = b == NULL ? cudaErrorMemoryAllocation : gpu_use_device(g->device);

    if (gpu_is_lost(&g->watch))
        status = cudaErrorLaunchTimeout;
    if (status == cudaSuccess)
        status = make_batch(g, b);
    if (!failed(status, g->name, error))
        return b;
    gpu_free_batch(g, b);
    (void)cudaGetLastError();
    return NULL;
}

const char *gpu_name(const struct gpu_engine *g)
{
    return g->name;
}

int gpu_batches(const struct gpu_engine *g)
{
    return g->batches;
}

bool gpu_codes(const struct gpu_engine *g)
{
    return g->level->split != HUFF_BEST;
}

/* Gets a batch ready for Huffman coding if it wants that. If it cannot be, it does not code. The
 * kernels are loaded here, not when the engine opens, as most engines never code. */
static void prepare_coder(struct gpu_engine *g, struct gpu_batch *b)
{
    struct device_batch *d = (struct device_batch *)b->device;

    b->codes = b->codes && gpu_codes(g);
    if (!b->codes)
        return;
    if (d->coder.device == NULL &&
        (gpu_is_lost(&g->watch) || gpu_use_device(g->device) || coder_load() ||
         coder_make(&d->coder, b->chunk_room, d->view.capacity))) {
        (void)cudaGetLastError();
        b->codes = false;
        return;
    }
    coder_begin(&d->coder, g->level->split);
    for (unsigned i = 0; i < b->count; i++)
        coder_add(&d->coder, b->segments[i].start, b->segments[i].length, b->segments[i].is_last);
}

/* Numbers the chunks of a batch's segments, and fills in the table of spans. */
static void lay_out(struct gpu_batch *b)
{
    struct device_batch *d = (struct device_batch *)b->device;
    uint32_t chunks = 0;

    for (unsigned i = 0; i < b->count; i++) {
        struct gpu_segment *s = &b->segments[i];
        const uint32_t in_segment = LZ_CHUNKS(s->length);

        s->chunk = chunks;
        for (uint32_t c = 0; c < in_segment; c++) {
            const uint32_t left = in_segment - c;
            struct gpu_span *span = &d->host_spans[chunks++];

            span->start = s->start + c * LZ_CHUNK_SIZE;
            span->end = s->start + LZ_CHUNK_END(c * LZ_CHUNK_SIZE, s->length);
            span->history = c > 0 ? LZ_WINDOW_SIZE : 0;
            span->group = (uint16_t)(c % LZ_OPTIMAL_GROUP > 0  ? 0
                                     : left < LZ_OPTIMAL_GROUP ? left
                                                               : LZ_OPTIMAL_GROUP);
            span->before = (uint16_t)c;
        }
    }
    d->view.chunks = chunks;
}

/* A range of a batch's input that one copy can fill. */
struct area {
    size_t start, length; /* where the area starts in the batch's input, and its bytes */
    const uint8_t *from;  /* source, in a GPU's memory; NULL: the batch's input on the host */
};

/* Whether segment s, which is not empty, continues the area. A copy of host input may include the
 * gaps between segments. A copy of a program's memory must read only the segments themselves. */
static bool goes_on(const struct area *a, const struct gpu_segment *s)
{
    if (a->from == NULL || s->from == NULL)
        return a->from == s->from;
    return s->start == a->start + a->length && s->from == a->from + a->length;
}

/* Finds the next area, from segment *next on; empty segments are skipped. Sets *next to the first
 * segment after the area. Returns false if there are no more areas. */
static bool next_area(const struct gpu_batch *b, unsigned *next, struct area *a)
{
    *a = {0, 0, NULL};
    for (; *next < b->count; ++*next) {
        const struct gpu_segment *s = &b->segments[*next];

        if (s->length == 0)
            continue;
        if (a->length > 0 && !goes_on(a, s))
            break;
        if (a->length == 0)
            *a = {s->start, 0, s->from};
        a->length = s->start + s->length - a->start;
    }
    return a->length > 0;
}

/* Queues copies to the device of the segments that the host has. */
static cudaError_t copy_in(struct gpu_engine *g, struct gpu_batch *b)
{
    struct device_batch *d = (struct device_batch *)b->device;
    cudaError_t status = cudaSuccess;
    struct area a;

    d->is_brought = false;
    for (unsigned next = 0; status == cudaSuccess && next_area(b, &next, &a);) {
        if (a.from == NULL)
            status = cudaMemcpyAsync((uint8_t *)d->view.input + a.start, b->input + a.start,
                                     a.length, cudaMemcpyHostToDevice, g->copying);
        else
            d->is_brought = true;
    }
    return status;
}

/* Queues copies of the segments that only a GPU has: to the batch's device memory, before the
 * kernels, and to the host, beside the kernels. */
static cudaError_t bring(struct gpu_engine *g, struct gpu_batch *b)
{
    struct device_batch *d = (struct device_batch *)b->device;
    cudaError_t status = cudaSuccess;
    struct area a;

    if (!d->is_brought)
        return status;
    for (unsigned next = 0; status == cudaSuccess && next_area(b, &next, &a);) {
        if (a.from == NULL)
            continue;
        status = cudaMemcpyAsync((uint8_t *)d->view.input + a.start, a.from, a.length,
                                 cudaMemcpyDefault, d->finding);
        if (status == cudaSuccess)
            status = cudaMemcpyAsync(b->input + a.start, a.from, a.length, cudaMemcpyDefault,
                                     g->bringing);
    }
    return status == cudaSuccess ? cudaEventRecord(d->events[BROUGHT], g->bringing) : status;
}

/* Called after a failure: waits until nothing reads the program's memory any more, unless the
 * device does not answer. Returns false. */
static bool give_up(struct gpu_engine *g, struct device_batch *d)
{
    if (d->is_brought) {
        (void)gpu_await_stream(&g->watch, d->finding);
        (void)gpu_await_stream(&g->watch, g->bringing);
    }
    return false;
}

bool gpu_submit(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE])
{
    struct device_batch *d = (struct device_batch *)b->device;
    const struct gpu_finder *finder = gpu_twin(g->level);
    cudaStream_t last;

    lay_out(b);
    d->is_brought = false;
    prepare_coder(g, b);
    last = b->codes ? d->coding : d->parsing;
    if (d->view.chunks == 0)
        return true;
    if (gpu_is_lost(&g->watch))
        return !failed(cudaErrorLaunchTimeout, g->name, error);
    if (g->submissions_left >= 0 && g->submissions_left-- <= 0) {
        g->submissions_left = 0;
        snprintf(error, GPU_ERROR_SIZE, "failing because a test asked for it");
        return false;
    }

    /* If the copy of the results does not arrive, no chunk has found room. Otherwise, the results
     * of an earlier batch would count, or zeros, by which all bytes are literals: that passes the
     * encoder's check. */
    *d->host_used = 0;
    memset(d->host_results, 0xff, d->view.chunks * sizeof(*d->host_results));

    /* CUDA keeps a current device for each thread, and a batch's calls may come from different
     * threads. */
    if (failed(gpu_use_device(g->device), g->name, error) ||
        failed(cudaEventRecord(d->events[BEGIN], g->copying), g->name, error) ||
        failed(copy_in(g, b), g->name, error) ||
        failed(cudaMemcpyAsync((void *)d->view.spans, d->host_spans,
                               d->view.chunks * sizeof(*d->view.spans), cudaMemcpyHostToDevice,
                               g->copying),
               g->name, error) ||
        failed(cudaEventRecord(d->events[COPIED_IN], g->copying), g->name, error) ||
        failed(cudaStreamWaitEvent(d->finding, d->events[COPIED_IN], 0), g->name, error) ||
        failed(bring(g, b), g->name, error) ||
        failed(cudaEventRecord(d->events[FINDING], d->finding), g->name, error) ||
        failed(cudaMemsetAsync(d->view.used, 0, sizeof(*d->view.used), d->finding), g->name,
               error) ||
        (finder->find != NULL &&
         failed(finder->find(d->view, g->level, d->finding), g->name, error)) ||
        (g->hangs && failed(gpu_stay_busy(d->finding), g->name, error)) ||
        failed(cudaEventRecord(d->events[FOUND], d->finding), g->name, error) ||
        failed(cudaStreamWaitEvent(d->parsing, d->events[FOUND], 0), g->name, error) ||
        failed(finder->parse(d->view, g->level, d->parsing), g->name, error) ||
        failed(gpu_tags_to_sequences(d->view, d->parsing), g->name, error) ||
        failed(cudaEventRecord(d->events[MATCHED], d->parsing), g->name, error) ||
        (b->codes && (failed(cudaStreamWaitEvent(last, d->events[MATCHED], 0), g->name, error) ||
                      failed(coder_queue(&d->coder, d->view, g->flip, last), g->name, error) ||
                      failed(cudaEventRecord(d->events[CODED], last), g->name, error))) ||
        failed(cudaMemcpyAsync(d->host_used, d->view.used, sizeof(*d->view.used),
                               cudaMemcpyDeviceToHost, last),
               g->name, error) ||
        failed(cudaMemcpyAsync(d->host_results, d->view.results,
                               d->view.chunks * sizeof(*d->view.results), cudaMemcpyDeviceToHost,
                               last),
               g->name, error) ||
        failed(cudaEventRecord(d->events[RESULTS_OUT], last), g->name, error))
        return give_up(g, d);
    return true;
}

/* Returns the seconds between two events of a batch; 0 if they are unknown. */
static double seconds(const struct device_batch *d, int from, int to)
{
    float ms = 0;

    if (cudaEventElapsedTime(&ms, d->events[from], d->events[to]) != cudaSuccess)
        ms = 0;
    return ms / 1e3;
}

bool gpu_batch_output(const struct gpu_batch *b, unsigned index, struct gpu_output *o)
{
    const struct device_batch *d = (const struct device_batch *)b->device;

    *o = {NULL, 0, 0, 0, false};
    return b->codes && coder_result(&d->coder, index, (const uint8_t *)d->host_sequences, o);
}

/* Queues the copy of a batch's results to the host: of its outputs, or of `used` sequences. */
static cudaError_t copy_out(struct gpu_engine *g, const struct gpu_batch *b, uint32_t used)
{
    struct device_batch *d = (struct device_batch *)b->device;
    const size_t packed = b->codes ? coder_packed(&d->coder) : 0;

    if (!b->codes)
        return cudaMemcpyAsync(d->host_sequences, d->view.sequences,
                               used * sizeof(*d->host_sequences), cudaMemcpyDeviceToHost,
                               g->copying);
    if (packed > d->output_room)
        return cudaErrorInvalidValue;
    return cudaMemcpyAsync(d->host_sequences, d->coder.c.packed, packed, cudaMemcpyDeviceToHost,
                           g->copying);
}

bool gpu_collect(struct gpu_engine *g, struct gpu_batch *b, char error[GPU_ERROR_SIZE])
{
    /* A chunk that found no space for its sequences gets this sequence, which fails the caller's
     * check. */
    static const struct lz_sequence invalid = {0, 0, 0};
    struct device_batch *d = (struct device_batch *)b->device;
    uint32_t used;

    memset(&b->times, 0, sizeof(b->times));
    if (d->view.chunks == 0)
        return true;
    if (failed(gpu_use_device(g->device), g->name, error) ||
        failed(gpu_await_event(&g->watch, d->events[RESULTS_OUT]), g->name, error))
        return give_up(g, d);
    used = *d->host_used < d->view.capacity ? *d->host_used : d->view.capacity;
    if (failed(cudaEventRecord(d->events[COPY_OUT], g->copying), g->name, error) ||
        failed(copy_out(g, b, used), g->name, error) ||
        failed(cudaEventRecord(d->events[DONE], g->copying), g->name, error) ||
        failed(gpu_await_event(&g->watch, d->events[DONE]), g->name, error) ||
        (d->is_brought && failed(gpu_await_event(&g->watch, d->events[BROUGHT]), g->name, error)))
        return give_up(g, d);

    for (uint32_t c = 0; c < d->view.chunks && !b->codes; c++) {
        const struct gpu_result r = d->host_results[c];

        if (r.count == GPU_NO_ROOM) {
            b->chunks[c].sequences = &invalid;
            b->chunks[c].count = 1;
            continue;
        }
        if (r.offset > used || r.count > used - r.offset) {
            snprintf(error, GPU_ERROR_SIZE, "%.100s: its results are impossible", g->name);
            return false;
        }
        b->chunks[c].sequences = d->host_sequences + r.offset;
        b->chunks[c].count = r.count;
        if (g->is_wrong && r.count > 0)
            d->host_sequences[r.offset + r.count / 2].distance ^= 1;
    }
    b->times.copy_in = seconds(d, BEGIN, COPIED_IN);
    b->times.kernels = seconds(d, FINDING, b->codes ? CODED : MATCHED);
    b->times.copy_out = seconds(d, COPY_OUT, DONE);
    return true;
}
