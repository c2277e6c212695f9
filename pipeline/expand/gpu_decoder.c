/*
 * gpu_decoder.c - a GPU that decodes for the consumer (gpu_decoder.h)
 *
 * Three threads work side by side on a decompression (gpu/inflate.h):
 *
 *   the loader    reads the input into the device's two input buffers, in turn
 *   the decoder   decodes one input buffer after the other, to two output buffers, in turn
 *   the consumer  writes one output buffer after the other
 *
 * A thread waits only if the buffer that it needs next is not ready.  Since the work began, the
 * loader has filled `loaded` input buffers, and the decoder has decoded `used` of them; the decoder
 * has filled `decoded` output buffers, and the consumer has written `taken` of them.  Buffer number
 * n is buffer n % 2 of the device.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bgzf.h"
#include "base/thread.h"
#include "compat/crc.h"
#include "gpu/inflate.h"
#include "pipeline/crew/gpu_pool.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/gpu_decoder.h"

/* Bringing up a GPU takes BRING_UP_SECONDS; a thread decodes THREAD_RATE bytes of a .gz a second.
 * Bring up a GPU if the cores would need more time for the input than the GPU needs to come up. */
#define BRING_UP_SECONDS 0.28
#define THREAD_RATE 130e6

/* Hand over to a GPU that is up only if at least this many bytes of input are left, since handing
 * over takes a few ms. */
#define HAND_OVER_MIN ((uint64_t)4 << 20)

/* After the GPU has left data to the CPU, hand over again RETRY_FIRST bytes of input later.  Double
 * that distance each time, up to RETRY_MAX.  Go back to RETRY_FIRST once the GPU has decoded more
 * than RETRY_GOOD bytes of input without a break. */
#define RETRY_FIRST ((uint64_t)64 << 10)
#define RETRY_MAX ((uint64_t)1 << 30)
#define RETRY_GOOD ((uint64_t)32 << 20)

/* A thread computes the CRCs of this many parts at a time.  With fewer, threads wait for the lock
 * more often; with more, some threads have nothing to do. */
#define PARTS_AT_A_TIME 8

/* The most bytes of output of a group (gpu/inflate.h) in tests with small batches. */
#define TEST_SYMBOLS ((size_t)16 << 20)

enum decoder_state {
    DECODER_OPENING,
    DECODER_IDLE,
    DECODER_BUSY, /* the decoder works for decompression `e` */
    DECODER_FAILED
};

/* Parts of a copy of output, whose CRCs the consumer and idle workers compute. */
struct check {
    const struct gpu_inflate_part *parts;
    const uint8_t *bytes; /* the copy of parts [first, end) */
    size_t first, end;
    size_t next;       /* the next part of which no thread computes the CRC yet */
    unsigned computed; /* threads that compute now */
    bool is_wrong;     /* a CRC is not the GPU's */
};

struct gpu_decoder {
    struct pipeline *p;
    pthread_t decoder, loader;
    bool has_loader;
    pthread_cond_t changed; /* wakes these two threads; used with the pipeline's lock */
    enum decoder_state state;
    bool is_to_end;
    struct gpu_inflate *engine;
    char trouble[GPU_ERROR_SIZE]; /* why the device cannot be used; empty: it can */

    /* The decompression that the decoder serves.  If NULL, any decompression may start the
     * decoder. */
    struct expansion *e;

    /* While the decoder is busy: */
    uint64_t bit; /* bit of the input where decoding began */
    uint32_t known;
    uint8_t window[INF_WINDOW];
    uint64_t in_len, loaded, used, decoded, taken;
    bool is_loading, cannot_load;
    bool is_cancelled; /* the consumer wants no more output */
    bool has_ended;    /* the decoder thread decodes no more for `e` */
    struct gpu_inflate_output outputs[GPU_INFLATE_OUTPUTS];

    /* Where the consumer is in the output buffer that it writes: */
    size_t run;                      /* the run that the consumer writes next */
    uint64_t at;                     /* where that run's output starts in the buffer, in bytes */
    const uint8_t *slice;            /* a copy of bytes [slice_start, slice_end) on the host */
    uint64_t slice_start, slice_end; /* slice_end is 0 if there is no copy */
    size_t slice_parts;              /* parts of the buffer that were copied so far */
    uint8_t tail[INF_WINDOW];        /* the last bytes that were written */
    struct check check;
};

/* --- The loader ----------------------------------------------------------------------------- */

/* Returns the byte of the input at which input buffer number i begins. */
static uint64_t input_start(const struct gpu_decoder *d, uint64_t i)
{
    return d->bit / 8 / 4 * 4 + i * gpu_inflate_batch_size(d->engine);
}

static size_t input_length(const struct gpu_decoder *d, uint64_t i)
{
    const uint64_t left = d->in_len - input_start(d, i);
    const size_t size = gpu_inflate_input_size(d->engine);

    return left < size ? (size_t)left : size;
}

static bool may_load(const struct gpu_decoder *d)
{
    return d->state == DECODER_BUSY && !d->is_cancelled && !d->has_ended && !d->cannot_load &&
           d->loaded < d->used + GPU_INFLATE_INPUTS && input_start(d, d->loaded) < d->in_len;
}

/* Loads the next input buffer.  Gives up the lock meanwhile.  Returns false if the work was
 * cancelled or has ended, or if loading failed. */
static bool load(struct gpu_decoder *d)
{
    const uint64_t start = input_start(d, d->loaded);
    const unsigned buffer = (unsigned)(d->loaded % GPU_INFLATE_INPUTS);
    const size_t len = input_length(d, d->loaded);
    char error[GPU_ERROR_SIZE] = "";
    bool ok = true;

    for (size_t at = 0, n; at < len && ok && !d->is_cancelled && !d->has_ended; at += n) {
        struct input *in = d->e->input;

        n = len - at < GPU_INFLATE_STAGE ? len - at : GPU_INFLATE_STAGE;
        unlock(d->p);
        /* If the file has become shorter, stop here, because the consumer reports it. */
        ok = input_read_at(in, start + at, gpu_inflate_stage(d->engine), n) == n &&
             gpu_inflate_put(d->engine, buffer, at, n, error);
        lock(d->p);
    }
    if (error[0] != '\0')
        snprintf(d->trouble, sizeof(d->trouble), "%s", error);
    return ok && !d->is_cancelled && !d->has_ended;
}

static void *loader_main(void *argument)
{
    struct gpu_decoder *d = argument;

    lock(d->p);
    while (!d->is_to_end) {
        if (!may_load(d)) {
            pthread_cond_wait(&d->changed, &d->p->mutex);
            continue;
        }
        d->is_loading = true;
        if (load(d))
            d->loaded++;
        else
            d->cannot_load = true;
        d->is_loading = false;
        pthread_cond_broadcast(&d->changed);
    }
    unlock(d->p);
    return NULL;
}

/* --- The decoder ---------------------------------------------------------------------------- */

/* Decodes the next input buffer.  Gives up the lock meanwhile.  Returns whether to go on with a
 * further input buffer. */
static bool decode_input(struct gpu_decoder *d, char error[GPU_ERROR_SIZE])
{
    const uint64_t i = d->used;
    enum gpu_inflate_result result;
    bool is_used_up = false;

    /* A truncated file may end where a block ends.  Then no input is left. */
    if (input_start(d, i) >= d->in_len)
        return false;
    while (d->loaded <= i && !d->cannot_load && !d->is_cancelled)
        pthread_cond_wait(&d->changed, &d->p->mutex);
    if (d->loaded <= i || d->is_cancelled)
        return false;
    unlock(d->p);
    result = gpu_inflate_find(d->engine, (unsigned)(i % GPU_INFLATE_INPUTS), input_start(d, i),
                              input_length(d, i), error);
    lock(d->p);
    while (result == GPU_INFLATE_DONE && !is_used_up) {
        const unsigned buffer = (unsigned)(d->decoded % GPU_INFLATE_OUTPUTS);

        while (d->decoded == d->taken + GPU_INFLATE_OUTPUTS && !d->is_cancelled)
            pthread_cond_wait(&d->changed, &d->p->mutex);
        if (d->is_cancelled)
            return false;
        unlock(d->p);
        result = gpu_inflate_next(d->engine, buffer, &d->outputs[buffer], error);
        lock(d->p);
        is_used_up = result == GPU_INFLATE_DONE && d->outputs[buffer].count == 0;
        if (result != GPU_INFLATE_DONE || is_used_up)
            continue;
        d->decoded++;
        wake_all(d->p, CAN_EXPAND);
    }
    d->used++;
    if (result == GPU_INFLATE_FAILED)
        snprintf(d->trouble, sizeof(d->trouble), "%s", error);
    return result == GPU_INFLATE_DONE && !gpu_inflate_has_ended(d->engine);
}

static bool is_bgzf(struct input *in)
{
    uint8_t start[BGZF_START];

    return input_read_at(in, 0, start, sizeof(start)) == sizeof(start) && bgzf_starts(start);
}

/* Decodes for one decompression.  Returns once the consumer needs no more output.  Gives up the
 * lock meanwhile. */
static void decode_all(struct gpu_decoder *d)
{
    struct input *in = d->e->input;
    char error[GPU_ERROR_SIZE] = "";
    bool ok;

    unlock(d->p);
    ok = gpu_inflate_begin(d->engine, d->in_len, d->bit, d->window, d->known, is_bgzf(in), error) ==
         GPU_INFLATE_DONE;
    lock(d->p);
    if (!ok)
        snprintf(d->trouble, sizeof(d->trouble), "%s", error);
    else
        while (decode_input(d, error))
            pthread_cond_broadcast(&d->changed);
    d->has_ended = true;
    pthread_cond_broadcast(&d->changed);
    while (d->is_loading)
        pthread_cond_wait(&d->changed, &d->p->mutex);
    wake_all(d->p, CAN_EXPAND);
    /* Wait until the consumer has called decoder_stop. */
    while (!d->is_cancelled)
        pthread_cond_wait(&d->changed, &d->p->mutex);
    d->state = d->trouble[0] != '\0' ? DECODER_FAILED : DECODER_IDLE;
    wake_all(d->p, CAN_EXPAND);
}

/* Opens the engine.  Returns NULL, with a message, if the engine cannot be opened.  Called without
 * the lock. */
static struct gpu_inflate *bring_up(const struct pipeline_config *all, char error[GPU_ERROR_SIZE])
{
    const struct gpus_config *config = &all->gpus;
    const int device = config->count > 0 ? config->numbers[0] : 0;
    const struct gpu_inflate_options options = {
        .in_steps = true,
        .is_wrong = config->options.is_wrong,
        .fails = config->options.fails,
        .good_calls = config->options.good_batches,
        .hangs = config->options.hangs,
        .miscopies = config->options.miscopies,
        .seconds = config->options.seconds,
        .batch = all->test_gpu_batch,
        .symbols = all->test_gpu_batch > 0 ? TEST_SYMBOLS : 0,
    };
    const int count = gpu_count(error);

    if (count == 0)
        return NULL;
    if (device >= count) {
        snprintf(error, GPU_ERROR_SIZE, "there is no CUDA device %d: the last is %d", device,
                 count - 1);
        return NULL;
    }
    return gpu_inflate_open(device, &options, error);
}

static void *decoder_main(void *argument)
{
    struct gpu_decoder *d = argument;
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_inflate *engine = bring_up(&d->p->config, error);

    lock(d->p);
    d->engine = engine;
    if (engine != NULL && thread_start(&d->loader, loader_main, d)) {
        d->has_loader = true;
        d->state = DECODER_IDLE;
    } else {
        d->state = DECODER_FAILED;
        snprintf(d->trouble, sizeof(d->trouble), "%s",
                 engine == NULL ? error : "cannot start a thread");
    }
    wake_all(d->p, CAN_EXPAND);
    while (!d->is_to_end) {
        if (d->state == DECODER_BUSY)
            decode_all(d);
        else
            pthread_cond_wait(&d->changed, &d->p->mutex);
    }
    unlock(d->p);
    return NULL;
}

/* --- Bringing up ---------------------------------------------------------------------------- */

/* Starts the decoder's thread, if there is none.  Returns NULL if memory or threads are short. */
static struct gpu_decoder *start_decoder(struct pipeline *p)
{
    struct gpu_decoder *d = p->expansions->decoder;

    if (d != NULL)
        return d;
    d = calloc(1, sizeof(*d));
    if (d == NULL)
        return NULL;
    d->p = p;
    pthread_cond_init(&d->changed, NULL);
    if (!thread_start(&d->decoder, decoder_main, d)) {
        pthread_cond_destroy(&d->changed);
        free(d);
        return NULL;
    }
    p->expansions->decoder = d;
    return d;
}

/* Waits until the device is up or has failed. */
static void wait_for_device(const struct gpu_decoder *d)
{
    while (d->state == DECODER_OPENING)
        await(d->p, CAN_EXPAND);
}

bool decoder_need(struct pipeline *p, char error[GPU_ERROR_SIZE])
{
    struct gpu_decoder *d;
    bool is_up;

    lock(p);
    d = start_decoder(p);
    if (d != NULL)
        wait_for_device(d);
    is_up = d != NULL && d->state != DECODER_FAILED;
    snprintf(error, GPU_ERROR_SIZE, "%s", d != NULL ? d->trouble : "out of memory");
    unlock(p);
    return is_up;
}

bool decoder_is_worth_it(const struct pipeline *p, struct input *in)
{
    const struct pipeline_config *config = &p->config;
    const uint64_t size = input_size(in);
    char why[GPU_ERROR_SIZE];

    if (config->expand_backend == BACKEND_CPU || !input_is_file(in))
        return false;
    if (config->expand_backend == BACKEND_GPU)
        return true;
    if (config->is_test)
        return size >= config->test_gpu_min;
    return (double)size > BRING_UP_SECONDS * THREAD_RATE * crew_threads(p) &&
           !gpus_are_missing(why);
}

void decoder_consider(struct expansion *e)
{
    const struct pipeline_config *config = &e->p->config;
    struct gpu_decoder *d;

    if (e->gpu_from == UINT64_MAX || !decoder_is_worth_it(e->p, e->input))
        return;
    lock(e->p);
    d = start_decoder(e->p);
    if (d != NULL &&
        (config->expand_backend == BACKEND_GPU || (config->is_test && config->test_gpu_min == 0)))
        wait_for_device(d);
    unlock(e->p);
}

/* --- The consumer --------------------------------------------------------------------------- */

bool decoder_is_ready(const struct expansion *e, uint64_t bit)
{
    const struct gpu_decoder *d = e->p->expansions->decoder;
    const uint64_t least = e->p->config.is_test ? 1 : HAND_OVER_MIN;

    return d != NULL && d->state == DECODER_IDLE && d->e == NULL && input_is_file(e->input) &&
           bit >= e->gpu_from && bit / 8 + least <= input_size(e->input);
}

bool decoder_is_at_work(const struct expansion *e)
{
    const struct gpu_decoder *d = e->p->expansions->decoder;

    return d != NULL && d->e == e;
}

void decoder_start(struct expansion *e, const struct gz_place *place, const uint8_t *window)
{
    struct gpu_decoder *d = e->p->expansions->decoder;

    d->e = e;
    d->bit = place->bit;
    d->known = place->len < INF_WINDOW ? (uint32_t)place->len : INF_WINDOW;
    memcpy(d->window, window, INF_WINDOW);
    d->in_len = input_size(e->input);
    d->loaded = d->used = d->decoded = d->taken = 0;
    d->is_loading = d->cannot_load = d->is_cancelled = d->has_ended = false;
    d->run = d->slice_parts = 0;
    d->at = d->slice_end = 0;
    memcpy(d->tail, window, INF_WINDOW);
    d->state = DECODER_BUSY;
    pthread_cond_broadcast(&d->changed);
}

void decoder_stop(struct expansion *e)
{
    struct gpu_decoder *d = e->p->expansions->decoder;

    if (!decoder_is_at_work(e))
        return;
    d->is_cancelled = true;
    pthread_cond_broadcast(&d->changed);
    /* decoder_is_at_work stays true until this function returns.  So no helper accepts a run while
     * this function waits, and the consumer's place stays as it is. */
    while (d->state == DECODER_BUSY)
        await(e->p, CAN_EXPAND);
    d->e = NULL;
    wake_all(e->p, CAN_EXPAND);
}

/* Waits until the next run of output is known, and returns it.  Returns NULL if no more run will
 * come. */
static const struct gpu_inflate_run *next_run(struct gpu_decoder *d)
{
    const struct gpu_inflate_output *o = &d->outputs[d->taken % GPU_INFLATE_OUTPUTS];

    while (d->taken == d->decoded && !d->has_ended)
        await(d->p, CAN_EXPAND);
    return d->taken < d->decoded ? &o->runs[d->run] : NULL;
}

/* Ends the decoder's work at bit `bit`, where the CPU continues.  Sets e->gpu_from to the first bit
 * at which the consumer may hand over again. */
static void hand_back(struct expansion *e, uint64_t bit)
{
    const struct gpu_decoder *d = e->p->expansions->decoder;

    if (bit / 8 > d->bit / 8 + RETRY_GOOD || e->gpu_retry == 0)
        e->gpu_retry = RETRY_FIRST;
    else if (e->gpu_retry < RETRY_MAX)
        e->gpu_retry *= 2;
    e->gpu_from = bit + 8 * (e->p->config.is_test ? 0 : e->gpu_retry) + 1;
    decoder_stop(e);
}

bool decoder_has(struct expansion *e, uint64_t bit)
{
    const struct gpu_inflate_run *run = next_run(e->p->expansions->decoder);

    if (run != NULL && run->start == bit)
        return true;
    hand_back(e, bit);
    return false;
}

/* --- The CRCs of what came to the host --- */

/* Returns the byte of the output buffer at which part i starts. */
static uint64_t part_start(const struct gpu_inflate_part *parts, size_t i)
{
    return i > 0 ? parts[i - 1].end : 0;
}

/* Whether the copies of parts [from, to) have the GPU's CRCs. */
static bool are_right(const struct check *c, size_t from, size_t to)
{
    const uint64_t start = part_start(c->parts, c->first);
    bool ok = true;

    for (size_t i = from; i < to; i++) {
        const uint64_t at = part_start(c->parts, i);

        ok &=
            gz_crc32(0, c->bytes + (at - start), (size_t)(c->parts[i].end - at)) == c->parts[i].crc;
    }
    return ok;
}

/* Computes the CRCs of some parts.  Gives up the lock meanwhile.  Returns false if a thread has
 * taken each part already. */
static bool check_some(struct pipeline *p, struct check *c)
{
    const size_t from = c->next;
    const size_t to = c->end - from < PARTS_AT_A_TIME ? c->end : from + PARTS_AT_A_TIME;
    bool ok;

    if (from == c->end)
        return false;
    c->next = to;
    c->computed++;
    if (to < c->end)
        crew_call(p);
    unlock(p);
    ok = are_right(c, from, to);
    lock(p);
    c->is_wrong |= !ok;
    if (--c->computed == 0 && c->next == c->end)
        wake_all(p, CAN_EXPAND);
    return true;
}

bool decoder_check_some(struct pipeline *p)
{
    struct gpu_decoder *d = p->expansions->decoder;

    return d != NULL && check_some(p, &d->check);
}

/* Whether the copy of parts [first, end) of an output buffer has the GPU's CRCs.  The consumer will
 * compare these CRCs with the trailers.  So no byte is written that was copied wrongly.  Called
 * without the lock. */
static bool is_right(struct gpu_decoder *d, const struct gpu_inflate_part *parts, size_t first,
                     size_t end)
{
    struct check *c = &d->check;
    bool ok;

    lock(d->p);
    *c = (struct check){parts, d->slice, first, end, first, 0, false};
    while (check_some(d->p, c))
        ;
    while (c->computed > 0)
        await(d->p, CAN_EXPAND);
    ok = !c->is_wrong;
    unlock(d->p);
    return ok;
}

/* --- Writing --- */

/* Returns how many of the parts from part `first` on fit in a slice. */
static size_t parts_of_slice(const struct gpu_inflate_output *o, size_t first)
{
    const uint64_t start = part_start(o->parts, first);
    size_t end = first;

    while (end < o->part_count && o->parts[end].end - start <= GPU_INFLATE_SLICE)
        end++;
    return end - first;
}

/* Copies the next slice of the output buffer to the host.  One copy serves many short members.
 * Returns false, with a message, if the device fails or the copy is wrong.  Called without the
 * lock. */
static bool next_slice(struct gpu_decoder *d, char error[GPU_ERROR_SIZE])
{
    const unsigned buffer = (unsigned)(d->taken % GPU_INFLATE_OUTPUTS);
    const struct gpu_inflate_output *o = &d->outputs[buffer];
    const size_t first = d->slice_parts, end = first + parts_of_slice(o, first);
    const size_t next = end + parts_of_slice(o, end);
    const uint64_t at = part_start(o->parts, first), to = part_start(o->parts, end);

    d->slice = gpu_inflate_take(d->engine, buffer, at, (size_t)(to - at),
                                (size_t)(part_start(o->parts, next) - to), error);
    if (d->slice == NULL)
        return false;
    d->slice_parts = end;
    d->slice_start = at;
    d->slice_end = to;
    if (is_right(d, o->parts, first, end))
        return true;
    snprintf(error, GPU_ERROR_SIZE, "a copy from its memory was wrong");
    return false;
}

/* Returns bytes of the output buffer, from byte `at` on.  *n becomes their number, at most `most`.
 * Returns NULL, with a message, if the device fails.  Called without the lock. */
static const uint8_t *get_bytes(struct gpu_decoder *d, uint64_t at, uint64_t most, size_t *n,
                                char error[GPU_ERROR_SIZE])
{
    if (at >= d->slice_end && !next_slice(d, error))
        return NULL;
    *n = (size_t)(d->slice_end - at < most ? d->slice_end - at : most);
    return d->slice + (at - d->slice_start);
}

/* Appends bytes[0..len) to tail[], which loses as many bytes at its start. */
static void keep_tail(uint8_t *tail, const uint8_t *bytes, size_t len)
{
    const size_t n = len < INF_WINDOW ? len : INF_WINDOW;

    memmove(tail, tail + n, INF_WINDOW - n);
    memcpy(tail + INF_WINDOW - n, bytes + len - n, n);
}

/* Called if the device has failed after the first `len` bytes of a run were written.  The CPU
 * decodes the run again, and compares the CRC of these bytes. */
static void leave_run(struct expansion *e, struct gz_place *place, uint64_t len)
{
    const struct gpu_decoder *d = e->p->expansions->decoder;
    const struct gpu_inflate_output *o = &d->outputs[d->taken % GPU_INFLATE_OUTPUTS];

    place->skip.left = len;
    place->skip.crc = 0;
    for (size_t i = 0; i < o->part_count && o->parts[i].end <= d->at + len; i++)
        if (o->parts[i].end > d->at)
            place->skip.crc = gz_crc32_combine(place->skip.crc, o->parts[i].crc,
                                               o->parts[i].end - part_start(o->parts, i));
    e->stats.gpu_bytes += len;
}

/* Writes a run's output.  Gives up the lock meanwhile.  Returns false if writing fails.  Then
 * *error is the errno of `write`, or 0 if the device has failed. */
static bool write_run(struct expansion *e, const struct gpu_inflate_run *run,
                      struct gz_place *place, int *error)
{
    struct gpu_decoder *d = e->p->expansions->decoder;
    uint64_t at = 0;
    char why[GPU_ERROR_SIZE] = "";

    *error = 0;
    unlock(e->p);
    for (size_t n; at < run->length && *error == 0; at += n) {
        const uint8_t *bytes = NULL;

        n = run->length - at < SIZE_MAX ? (size_t)(run->length - at) : SIZE_MAX;
        if (!e->discards)
            bytes = get_bytes(d, d->at + at, run->length - at, &n, why);
        if (bytes == NULL && !e->discards)
            break;
        if (e->write(e->write_ctx, bytes, n) != 0)
            *error = errno != 0 ? errno : EIO;
        /* After a member's end, nothing copies from its output. */
        if (bytes != NULL && !run->ends_member)
            keep_tail(d->tail, bytes, n);
    }
    lock(e->p);
    if (why[0] == '\0')
        return *error == 0;
    snprintf(d->trouble, sizeof(d->trouble), "%s", why);
    leave_run(e, place, at);
    return false;
}

/* Moves the place to the end of a run. */
static void pass_run(struct expansion *e, const struct gpu_inflate_run *run, struct gz_place *place)
{
    place->bit = run->end;
    place->len += run->length;
    place->made += run->length;
    place->check = gz_crc32_combine(place->check, run->crc, run->length);
    place->ended = run->ends_member;
    if (place->bit / 8 > e->cursor)
        e->cursor = place->bit / 8;
    e->stats.gpu_bytes += run->length;
}

/* Moves the consumer on to the next run.  After the last run of an output buffer, copies the window
 * at the buffer's end to window[], and gives the buffer back to the decoder.  If the output came to
 * the host, the window is from there, because nobody has checked the GPU's copy of it. */
static void take_run(struct gpu_decoder *d, const struct gpu_inflate_run *run, bool discards,
                     uint8_t *window)
{
    const struct gpu_inflate_output *o = &d->outputs[d->taken % GPU_INFLATE_OUTPUTS];

    d->at += run->length;
    if (++d->run < o->count)
        return;
    memcpy(window, discards ? o->window : d->tail, INF_WINDOW);
    d->run = d->slice_parts = 0;
    d->at = d->slice_end = 0;
    d->taken++;
    pthread_cond_broadcast(&d->changed);
}

bool decoder_write(struct expansion *e, struct gz_place *place, uint8_t *window, int *error)
{
    struct gpu_decoder *d = e->p->expansions->decoder;

    while (!place->ended) {
        const struct gpu_inflate_run *run = next_run(d);

        if (run == NULL || run->start != place->bit) {
            hand_back(e, place->bit);
            return true;
        }
        if (!write_run(e, run, place, error)) {
            decoder_stop(e);
            return *error == 0;
        }
        pass_run(e, run, place);
        take_run(d, run, e->discards, window);
    }
    return true;
}

/* --- The end -------------------------------------------------------------------------------- */

bool decoder_is_used(const struct pipeline *p)
{
    return p->expansions != NULL && p->expansions->decoder != NULL;
}

void decoder_blame(struct pipeline *p)
{
    struct gpu_decoder *d;

    lock(p);
    d = p->expansions->decoder;
    if (d != NULL) {
        snprintf(d->trouble, sizeof(d->trouble), "its output was wrong");
        /* If the decoder is busy, decode_all does this at its end. */
        if (d->state == DECODER_IDLE)
            d->state = DECODER_FAILED;
    }
    unlock(p);
}

void decoder_free(struct pipeline *p)
{
    struct gpu_decoder *d = p->expansions->decoder;

    if (d == NULL)
        return;
    lock(p);
    d->is_to_end = true;
    pthread_cond_broadcast(&d->changed);
    unlock(p);
    pthread_join(d->decoder, NULL);
    if (d->has_loader)
        pthread_join(d->loader, NULL);
    gpu_inflate_close(d->engine);
    pthread_cond_destroy(&d->changed);
    free(d);
}

void decoder_describe(struct pipeline *p, char name[GPU_ERROR_SIZE], char trouble[GPU_ERROR_SIZE])
{
    const struct gpu_decoder *d;

    lock(p);
    d = p->expansions->decoder;
    snprintf(name, GPU_ERROR_SIZE, "%s",
             d != NULL && d->engine != NULL ? gpu_inflate_name(d->engine) : "");
    snprintf(trouble, GPU_ERROR_SIZE, "%s", d != NULL ? d->trouble : "");
    unlock(p);
}
