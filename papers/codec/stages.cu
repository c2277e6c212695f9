/*
 * stages.cu - the papers' formats on a GPU: the steps, which queue kernels and copies (gpu.h)
 *
 * Segments are as long as on the CPU (paper_segment), so the tags are the CPU's.
 */
#include <stdio.h>
#include <string.h>

#include <cub/device/device_scan.cuh>

#include "papers/codec/state.cuh"
#include "papers/gpulz.cuh"

static const char *const form_names[] = {"threads", "warps", "fused"};

const char *paper_gpu_form_name(enum paper_gpu_form form)
{
    return form_names[form];
}

bool paper_gpu_can_code(const struct paper_gpu *g, enum paper_gpu_form form)
{
    return form == PAPER_GPU_THREADS ||
           (form == PAPER_GPU_WARPS && codec_has_warps_to_encode(g->format->family)) ||
           (form == PAPER_GPU_FUSED && g->format->family == CODEC_GPULZ);
}

bool paper_gpu_can_decode(const struct paper_gpu *g, enum paper_gpu_form form)
{
    return form == PAPER_GPU_THREADS ||
           (form == PAPER_GPU_WARPS && codec_has_warps(g->format->family));
}

/* --- Times ------------------------------------------------------------------------------------ */

/* Begins a step. */
static cudaError_t begin(struct paper_gpu *g)
{
    const cudaError_t status = gpu_use_device(g->device);

    g->work_count = 0;
    return status == cudaSuccess ? cudaEventRecord(g->events[0], g->stream) : status;
}

/* Notes that the work queued since the last mark belongs to `name`. */
static cudaError_t mark(struct paper_gpu *g, const char *name, bool is_copy = false)
{
    if (g->work_count == TIMES_MAX)
        g->work_count--;
    g->work[g->work_count++] = {name, is_copy};
    return cudaEventRecord(g->events[g->work_count], g->stream);
}

/* Adds seconds to the step's time for work of this name, or appends such a time. first: number of
 * the step's first time. */
static void add_time(struct paper_gpu_times *t, unsigned first, const struct work &w,
                     double seconds)
{
    unsigned i = first;

    while (i < t->count && strcmp(t->times[i].name, w.name) != 0)
        i++;
    if (i == PAPER_GPU_TIMES)
        return;
    if (i == t->count)
        t->times[t->count++] = {w.name, w.is_copy, 0};
    t->times[i].seconds += seconds;
}

/* Ends a step: waits until the device is done, and appends the step's times. */
static cudaError_t end(struct paper_gpu *g)
{
    const unsigned first = g->times.count;
    cudaError_t status = cudaStreamSynchronize(g->stream);

    for (unsigned i = 0; i < g->work_count && status == cudaSuccess; i++) {
        float ms = 0;

        status = cudaEventElapsedTime(&ms, g->events[i], g->events[i + 1]);
        add_time(&g->times, first, g->work[i], ms / 1e3);
    }
    return status;
}

const struct paper_gpu_times *paper_gpu_get_times(const struct paper_gpu *g)
{
    return &g->times;
}

void paper_gpu_forget_times(struct paper_gpu *g)
{
    g->times.count = 0;
}

/* --- Matching --------------------------------------------------------------------------------- */

#define SPAN_THREADS 256

/* Fills in the table of an input's chunks of LZ_CHUNK_SIZE bytes. segment_chunks: their number in a
 * segment. */
static __global__ void __launch_bounds__(SPAN_THREADS)
    make_spans(gpu_span *spans, uint32_t chunks, uint32_t len, uint32_t segment_chunks)
{
    const uint32_t c = blockIdx.x * SPAN_THREADS + threadIdx.x;
    gpu_span span;

    if (c >= chunks)
        return;
    span.start = c * LZ_CHUNK_SIZE;
    span.end = min(len, span.start + LZ_CHUNK_SIZE);
    span.history = c % segment_chunks > 0 ? LZ_WINDOW_SIZE : 0;
    span.group = 0; /* no method of a paper has groups */
    span.before = (uint16_t)(c % segment_chunks);
    spans[c] = span;
}

/* Returns the match finder's view of `chunks` chunks of LZ_CHUNK_SIZE bytes, from number `first`
 * on. */
static gpu_view view_of(const struct paper_gpu *g, uint32_t first, uint32_t chunks)
{
    gpu_view v = {};

    v.input = g->v.plain;
    v.spans = g->spans + first;
    v.chunks = chunks;
    v.shared_size = g->shared_size;
    v.tags = g->tags + (size_t)first * LZ_CHUNK_SIZE;
    v.scratch = g->scratch;
    return v;
}

static cudaError_t match_batch(struct paper_gpu *g, const gpu_view &v)
{
    const struct gpu_finder *finder = gpu_twin(g->level);
    cudaError_t status = cudaSuccess;

    if (finder->find != NULL) {
        status = finder->find(v, g->level, g->stream);
        if (status == cudaSuccess)
            status = mark(g, "find");
    }
    if (status == cudaSuccess)
        status = finder->parse(v, g->level, g->stream);
    return status == cudaSuccess ? mark(g, "parse") : status;
}

/* Queues the kernel that fills in the table of `chunks` chunks of LZ_CHUNK_SIZE bytes. chunks: at
 * least 1. */
static cudaError_t queue_spans(struct paper_gpu *g, uint32_t chunks)
{
    const uint32_t blocks = (chunks + SPAN_THREADS - 1) / SPAN_THREADS;
    const uint32_t segment = g->segment / LZ_CHUNK_SIZE;

    make_spans<<<blocks, SPAN_THREADS, 0, g->stream>>>(g->spans, chunks, g->v.plain_len, segment);
    return cudaGetLastError();
}

/* Queues the kernels that find the matches of all plain bytes. */
static cudaError_t match_all(struct paper_gpu *g)
{
    const uint32_t chunks = (uint32_t)LZ_CHUNKS(g->v.plain_len);
    cudaError_t status = begin(g);

    if (status != cudaSuccess || chunks == 0)
        return status;
    status = queue_spans(g, chunks);
    for (uint32_t first = 0; first < chunks && status == cudaSuccess; first += g->batch)
        status = match_batch(g, view_of(g, first, min(g->batch, chunks - first)));
    return status;
}

bool paper_gpu_match(struct paper_gpu *g, char error[GPU_ERROR_SIZE])
{
    return !codec_failed(g, match_all(g), error) && !codec_failed(g, end(g), error);
}

/* --- Copies ----------------------------------------------------------------------------------- */

/* Does one copy as a step. */
static bool copy(struct paper_gpu *g, const char *name, void *to, const void *from, size_t len,
                 char error[GPU_ERROR_SIZE])
{
    return !codec_failed(g, begin(g), error) &&
           !codec_failed(g, cudaMemcpyAsync(to, from, len, cudaMemcpyDefault, g->stream), error) &&
           !codec_failed(g, mark(g, name, true), error) && !codec_failed(g, end(g), error);
}

/* Sets the numbers of the view that depend on the number of plain bytes. */
static void set_plain(struct paper_gpu *g, size_t len)
{
    g->v.plain_len = (uint32_t)len;
    g->v.chunks = (uint32_t)((len + g->v.shape.chunk - 1) / g->v.shape.chunk);
}

bool paper_gpu_put_plain(struct paper_gpu *g, const uint8_t *in, size_t len,
                         char error[GPU_ERROR_SIZE])
{
    set_plain(g, len);
    return copy(g, "copy in", g->v.plain, in, len, error);
}

bool paper_gpu_take_tags(struct paper_gpu *g, uint16_t *tags, char error[GPU_ERROR_SIZE])
{
    return copy(g, "tags out", tags, g->tags, g->v.plain_len * sizeof(*tags), error);
}

bool paper_gpu_take_coded(struct paper_gpu *g, uint8_t *out, char error[GPU_ERROR_SIZE])
{
    return copy(g, "copy out", out, g->v.coded, g->coded_len, error);
}

bool paper_gpu_take_plain(struct paper_gpu *g, uint8_t *out, char error[GPU_ERROR_SIZE])
{
    return copy(g, "copy out", out, g->v.plain, g->v.plain_len, error);
}

/* --- Coding ----------------------------------------------------------------------------------- */

/* Queues the kernels that code position lists. Waits for the counts, and lets the host scale
 * them. */
static cudaError_t encode_lists(struct paper_gpu *g)
{
    struct codec_view *v = &g->v;
    cudaError_t status = codec_pack_lists(*v, g->stream);

    if (status == cudaSuccess)
        status = mark(g, "pack");
    if (status == cudaSuccess)
        status = cudaMemsetAsync(v->counts, 0, sizeof(g->lists->counts), g->stream);
    if (status == cudaSuccess)
        status = codec_count_lists(*v, g->stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(g->lists->counts, v->counts, sizeof(g->lists->counts),
                                 cudaMemcpyDeviceToHost, g->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(g->stream);
    if (status != cudaSuccess)
        return status;
    paper_set_model(&g->lists->model, g->lists->counts);
    status = cudaMemcpyAsync(v->model, &g->lists->model, sizeof(*v->model), cudaMemcpyHostToDevice,
                             g->stream);
    if (status == cudaSuccess)
        status = mark(g, "count");
    return status == cudaSuccess ? codec_encode_lists(*v, g->stream) : status;
}

/* Queues gpuLZ's kernel that matches and codes, after the kernel that chooses the symbols'
 * widths. */
static cudaError_t encode_fused(struct paper_gpu *g)
{
    const uint32_t chunks = (uint32_t)LZ_CHUNKS(g->v.plain_len);
    cudaError_t status = cudaSuccess;

    if (g->v.width == 0) {
        status = queue_spans(g, chunks);
        if (status == cudaSuccess)
            status = gpulz_queue_choice(view_of(g, 0, chunks), g->level, g->stream);
        if (status == cudaSuccess)
            status = mark(g, "choose");
    }
    if (status == cudaSuccess)
        status = codec_encode_fused(g->v, g->level, g->stream);
    return status == cudaSuccess ? mark(g, "find and code") : status;
}

/* Queues the kernels that write the chunks' coded forms to the slots, and their sizes. */
static cudaError_t encode(struct paper_gpu *g, enum paper_gpu_form form)
{
    cudaError_t status;

    if (g->v.chunks == 0)
        return g->lists == NULL ? cudaSuccess
                                : cudaMemsetAsync(g->v.model, 0, sizeof(*g->v.model), g->stream);
    if (form == PAPER_GPU_FUSED)
        return encode_fused(g);
    if (g->format->family == CODEC_POSITION_LISTS)
        status = encode_lists(g);
    else if (form == PAPER_GPU_WARPS)
        status = codec_encode_warps(g->v, g->format->family, g->stream);
    else
        status = codec_encode_threads(g->v, g->format->family, g->stream);
    return status == cudaSuccess ? mark(g, "code") : status;
}

/* Queues the sums of the sizes, and copies of all sums to the host. */
static cudaError_t sum(struct paper_gpu *g)
{
    const struct codec_view *v = &g->v;
    cudaError_t status = cudaSuccess;

    for (uint32_t p = 0; p < v->parts && status == cudaSuccess; p++) {
        const size_t first = (size_t)p * (v->chunks + 1), last = first + v->chunks;

        status = cudaMemsetAsync(v->sizes + last, 0, sizeof(*v->sizes), g->stream);
        if (status == cudaSuccess)
            status = cub::DeviceScan::ExclusiveSum(g->scan, g->scan_size, v->sizes + first,
                                                   v->sums + first, (int)v->chunks + 1, g->stream);
        if (status == cudaSuccess)
            status = cudaMemcpyAsync(&g->totals[p], v->sums + last, sizeof(*g->totals),
                                     cudaMemcpyDeviceToHost, g->stream);
    }
    return status;
}

static cudaError_t code_all(struct paper_gpu *g, enum paper_gpu_form form)
{
    cudaError_t status = begin(g);

    if (status == cudaSuccess)
        status = encode(g, form);
    if (status == cudaSuccess)
        status = sum(g);
    if (status == cudaSuccess)
        status = mark(g, "sum");
    if (status == cudaSuccess)
        status = codec_place_chunks(g->v, g->format->layout, g->stream);
    if (status == cudaSuccess)
        status = mark(g, "place");
    return status == cudaSuccess ? end(g) : status;
}

bool paper_gpu_code(struct paper_gpu *g, enum paper_gpu_form form, size_t *len,
                    char error[GPU_ERROR_SIZE])
{
    const struct codec_layout *layout = &g->format->layout;

    if (!paper_gpu_can_code(g, form)) {
        snprintf(error, GPU_ERROR_SIZE, "the format is not coded in this form");
        return false;
    }
    g->v.widths = (const uint32_t *)g->scratch;
    if (codec_failed(g, code_all(g, form), error))
        return false;
    g->coded_len = codec_front_size(layout, g->v.parts, g->v.chunks) +
                   (layout->has_heads ? (size_t)g->v.chunks * CODEC_HEAD_SIZE : 0);
    for (uint32_t p = 0; p < g->v.parts; p++)
        g->coded_len += g->totals[p];
    if (g->format->family == CODEC_GPULZ && g->v.width == 0)
        g->coded_len += g->v.chunks;
    *len = g->coded_len;
    return true;
}

/* --- Decoding --------------------------------------------------------------------------------- */

/* Copies a file, and where its parts are, to the device. */
static cudaError_t put_file(struct paper_gpu *g, const struct codec_file *file, const uint8_t *in,
                            size_t len)
{
    const size_t places = (size_t)file->count * g->v.parts;
    cudaError_t status = begin(g);

    if (status == cudaSuccess)
        status = cudaMemcpyAsync(g->v.coded, in, len, cudaMemcpyDefault, g->stream);
    if (status == cudaSuccess)
        status = mark(g, "copy in", true);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(g->places, file->places, places * sizeof(*file->places),
                                 cudaMemcpyHostToDevice, g->stream);
    if (status == cudaSuccess && file->widths != NULL)
        status = cudaMemcpyAsync(g->chunk_widths, file->widths, file->count, cudaMemcpyHostToDevice,
                                 g->stream);
    if (status == cudaSuccess && g->lists != NULL) {
        g->lists->model = file->model;
        status = cudaMemcpyAsync(g->v.model, &g->lists->model, sizeof(*g->v.model),
                                 cudaMemcpyHostToDevice, g->stream);
    }
    if (status == cudaSuccess)
        status = mark(g, "places in", true);
    g->v.places = g->places;
    g->v.chunk_widths = g->chunk_widths;
    return status == cudaSuccess ? end(g) : status;
}

/* Whether a file that paper_open has taken apart fits into the memory. */
static bool has_room(const struct paper_gpu *g, const struct codec_file *file, size_t len)
{
    return len <= g->room && file->plain <= g->most &&
           file->count == (file->plain + g->v.shape.chunk - 1) / g->v.shape.chunk;
}

bool paper_gpu_put_coded(struct paper_gpu *g, const uint8_t *in, size_t len,
                         char error[GPU_ERROR_SIZE])
{
    struct codec_file file;
    bool is_good = paper_open(&file, g->format, g->level, in, len);

    if (!is_good || !has_room(g, &file, len)) {
        snprintf(error, GPU_ERROR_SIZE, "damaged, or larger than expected");
        is_good = false;
    } else {
        set_plain(g, (size_t)file.plain);
        g->coded_len = len;
        is_good = !codec_failed(g, put_file(g, &file, in, len), error);
    }
    paper_close(&file);
    return is_good;
}

static cudaError_t decode_all(struct paper_gpu *g, enum paper_gpu_form form)
{
    const enum codec_family family = g->format->family;
    cudaError_t status = gpu_use_device(g->device);

    if (status == cudaSuccess)
        status = cudaMemsetAsync(g->v.is_damaged, 0, sizeof(*g->v.is_damaged), g->stream);
    if (status == cudaSuccess)
        status = begin(g);
    if (status == cudaSuccess && g->v.chunks > 0)
        status = form == PAPER_GPU_WARPS ? codec_decode_warps(g->v, family, g->stream)
                                         : codec_decode_threads(g->v, family, g->stream);
    if (status == cudaSuccess)
        status = mark(g, "decode");
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(g->is_damaged, g->v.is_damaged, sizeof(*g->is_damaged),
                                 cudaMemcpyDeviceToHost, g->stream);
    return status == cudaSuccess ? end(g) : status;
}

bool paper_gpu_decode(struct paper_gpu *g, enum paper_gpu_form form, size_t *len,
                      char error[GPU_ERROR_SIZE])
{
    if (!paper_gpu_can_decode(g, form)) {
        snprintf(error, GPU_ERROR_SIZE, "the format is not decoded in this form");
        return false;
    }
    if (codec_failed(g, decode_all(g, form), error))
        return false;
    if (*g->is_damaged != 0) {
        snprintf(error, GPU_ERROR_SIZE, "damaged");
        return false;
    }
    *len = g->v.plain_len;
    return true;
}
