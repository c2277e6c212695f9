/*
 * cuda_batch.c - decompression of many small inputs in one call (include/gzlzss_cuda.h)
 *
 * The GPU that has the outputs decompresses all inputs side by side (gpu/inflate.h).  The calling
 * thread then decompresses the inputs that the GPU has left, one after the other.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "lib/cuda.h"
#include "lib/decompress.h"

/* A call of gzlzss_cuda_decompress_batch. */
struct batch {
    gzlzss *z;
    struct operation operation;
    struct cuda_attempt attempt;
    gzlzss_item *items;
    size_t count;
    gzlzss_format format;
    /* The GPU that has the first output in a GPU's memory; -1 if there is none. */
    int device;
    /* The GPU's work: inputs[i] is items[which[i]]. */
    struct gpu_inflate_input *inputs;
    size_t *which;
    size_t input_count;
    /* Bytes of input and output of the items that are done. */
    uint64_t in_bytes, out_bytes;
};

/* --- Where memory is -------------------------------------------------------------------------- */

/* The size of a page of memory in bytes.  Larger pages have a multiple of this size. */
#define PAGE ((uintptr_t)4096)

/* Where the memory from address `start` up to `end` is, which was located last. */
struct located {
    bool is_on_gpu;
    int device;
    uintptr_t start, end;
};

/* Finds out where the `len` bytes at *p are.  Asks the driver only if *p is outside the range of
 * *l.  If *p is the device address of host memory, *p becomes the host address. */
static gzlzss_status locate(struct located *l, const void **p, size_t len)
{
    uintptr_t at = (uintptr_t)*p;
    struct gpu_memory memory;
    gzlzss_status status;

    if (at < l->start || at >= l->end) {
        status = cuda_locate(*p, &memory);
        if (status != GZLZSS_OK)
            return status;
        l->is_on_gpu = memory.is_on_gpu;
        l->device = memory.device;
        if (memory.is_on_gpu) {
            l->start = (uintptr_t)memory.block;
            l->end = l->start + memory.block_size;
            return GZLZSS_OK;
        }
        *p = memory.host;
        at = (uintptr_t)memory.host;
    }
    /* If one byte of a page is in the host's memory, the whole page is there. */
    if (!l->is_on_gpu) {
        l->start = at / PAGE * PAGE;
        l->end = (at + len + PAGE - 1) / PAGE * PAGE;
    }
    return GZLZSS_OK;
}

/* --- By a GPU --------------------------------------------------------------------------------- */

static bool tell(void *ctx, uint64_t in, uint64_t out)
{
    struct batch *b = ctx;

    return cuda_tell(&b->attempt, in, out);
}

static enum gpu_inflate_result run(void *ctx, struct gpu_inflate *g, char error[GPU_ERROR_SIZE])
{
    struct batch *b = ctx;

    return gpu_inflate_many(g, b->inputs, b->input_count, (enum container)b->format, tell, b,
                            error);
}

/* Whether the GPU may be asked to decompress this item.  If so, fills in *to. */
static bool is_for_gpu(struct batch *b, const gzlzss_item *item, struct located *in,
                       struct located *out, struct gpu_inflate_input *to)
{
    const void *from = item->in, *into = item->out;

    if (item->in_len == 0 || item->out_len == 0 || locate(out, &into, item->out_len) != GZLZSS_OK ||
        !out->is_on_gpu || locate(in, &from, item->in_len) != GZLZSS_OK)
        return false;
    if (b->device < 0)
        b->device = out->device;
    *to = (struct gpu_inflate_input){.in = from,
                                     .in_len = item->in_len,
                                     .out = item->out,
                                     .room = item->out_len,
                                     .in_block = (const void *)in->start,
                                     .out_block = (const void *)out->start};
    return out->device == b->device;
}

/* Lists the items for the GPU.  Returns false if memory is short. */
static bool list_items(struct batch *b)
{
    struct located in = {0}, out = {0};

    b->inputs = malloc((b->count + 1) * sizeof(*b->inputs));
    b->which = malloc((b->count + 1) * sizeof(*b->which));
    if (b->inputs == NULL || b->which == NULL)
        return false;
    for (size_t i = 0; i < b->count; i++)
        if (is_for_gpu(b, &b->items[i], &in, &out, &b->inputs[b->input_count]))
            b->which[b->input_count++] = i;
    return true;
}

/* Makes the GPU decompress what it can.  Returns false if the call was cancelled. */
static bool use_gpu(struct batch *b)
{
    enum gpu_inflate_result result;

    if (b->input_count == 0 || !object_may_use(b->z, b->device))
        return true;
    /* Without an engine, cuda_use_engine does not call run(), so set the results here. */
    for (size_t i = 0; i < b->input_count; i++)
        b->inputs[i].result = GPU_INFLATE_LEFT;
    result = cuda_use_engine(&b->attempt, b->device, run, b);
    for (size_t i = 0; i < b->input_count; i++) {
        gzlzss_item *item = &b->items[b->which[i]];

        if (b->inputs[i].result != GPU_INFLATE_DONE && result == GPU_INFLATE_LOST) {
            item->status = cuda_lost(&b->operation);
            item->out_len = 0;
        }
        if (b->inputs[i].result != GPU_INFLATE_DONE)
            continue;
        item->status = GZLZSS_OK;
        item->out_len = b->inputs[i].made;
        b->in_bytes += item->in_len;
        b->out_bytes += item->out_len;
    }
    b->operation.told_in = b->attempt.in_bytes;
    b->operation.told_out = b->attempt.out_bytes;
    return result != GPU_INFLATE_STOPPED;
}

/* --- By the CPU ------------------------------------------------------------------------------- */

/* An item in the host's memory. */
struct host_item {
    uint8_t *in;
    size_t in_len;
    /* `room` is one byte more than the item has.  If the output fills this additional byte, too,
     * the output is too long for the item. */
    uint8_t *out;
    size_t room;
    size_t made;
};

/* Copies len bytes.  One side is the host's memory; *m says where the other side is. */
static bool copy(const struct batch *b, const struct gpu_memory *m, void *to, const void *from,
                 size_t len)
{
    if (len == 0)
        return true;
    if (m->is_on_gpu)
        return operation_copy(&b->operation, m->device, to, from, len);
    memcpy(to, from, len);
    return true;
}

/* Copies the item's input to the host, decompresses it, and copies the output to its place. */
static gzlzss_status expand_copies(struct batch *b, const gzlzss_item *item, struct host_item *h)
{
    struct gpu_memory in, out;
    gzlzss_status status = cuda_locate(item->in, &in);

    if (status == GZLZSS_OK)
        status = cuda_locate(item->out, &out);
    if (status != GZLZSS_OK)
        return status;
    if (!copy(b, &in, h->in, in.is_on_gpu ? item->in : in.host, h->in_len))
        return operation_error(&b->operation, GZLZSS_ERROR_READ, errno);
    h->made = h->room;
    status = decompress_memory(b->z, (enum container)b->format, h->out, &h->made, h->in, h->in_len,
                               NULL);
    if (h->made == h->room) {
        h->made--;
        status = GZLZSS_ERROR_ROOM;
    }
    if (!copy(b, &out, out.is_on_gpu ? item->out : out.host, h->out, h->made)) {
        h->made = 0;
        return operation_error(&b->operation, GZLZSS_ERROR_WRITE, errno);
    }
    return status;
}

static void expand_item(struct batch *b, gzlzss_item *item)
{
    struct host_item h = {.in_len = item->in_len, .room = item->out_len + 1};

    h.in = malloc(item->in_len > 0 ? item->in_len : 1);
    h.out = item->out_len < SIZE_MAX ? malloc(h.room) : NULL;
    item->status = GZLZSS_ERROR_MEMORY;
    if (h.in != NULL && h.out != NULL)
        item->status = expand_copies(b, item, &h);
    item->out_len = h.made;
    free(h.in);
    free(h.out);
}

/* --- The call --------------------------------------------------------------------------------- */

/* The status of an item until it is done. */
#define NOT_DONE GZLZSS_ERROR_CANCELLED

/* Decompresses the items that are not done.  Returns false if the call was cancelled. */
static bool use_cpu(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        gzlzss_item *item = &b->items[i];

        if (item->status != NOT_DONE)
            continue;
        if (!operation_goes_on(&b->operation))
            return false;
        expand_item(b, item);
        b->in_bytes += item->in_len;
        b->out_bytes += item->out_len;
        if (!operation_tell(&b->operation, b->in_bytes, b->out_bytes))
            return false;
    }
    return true;
}

/* Waits for the stream.  If this is a default stream, the calling thread's context tells to which
 * GPU it belongs.  If the thread has no context, the stream is taken to belong to the GPU that has
 * the first input or output in a GPU's memory. */
static gzlzss_status wait_for(struct batch *b, struct CUstream_st *stream)
{
    struct located in = {0}, out = {0};
    gzlzss_status status = GZLZSS_OK;

    for (size_t i = 0; i < b->count && !in.is_on_gpu && !out.is_on_gpu; i++) {
        const gzlzss_item *item = &b->items[i];
        const void *from = item->in, *to = item->out;

        if (item->in_len > 0)
            status = locate(&in, &from, item->in_len);
        if (item->out_len > 0 && status == GZLZSS_OK)
            status = locate(&out, &to, item->out_len);
        if (status != GZLZSS_OK)
            return status;
    }
    const struct gpu_memory of_in = {.is_on_gpu = in.is_on_gpu, .device = in.device},
                            of_out = {.is_on_gpu = out.is_on_gpu, .device = out.device};

    return cuda_wait(&b->operation, stream, &of_in, &of_out);
}

/* Decompresses all items, in a call that has begun. */
static gzlzss_status run_batch(struct batch *b, struct CUstream_st *stream)
{
    gzlzss_status status = wait_for(b, stream);
    bool is_done;

    if (status != GZLZSS_OK)
        return status;
    if (!list_items(b))
        return GZLZSS_ERROR_MEMORY;
    is_done = use_gpu(b) && use_cpu(b);
    for (size_t i = 0; i < b->count && status == GZLZSS_OK; i++)
        status = b->items[i].status;
    return is_done ? status : GZLZSS_ERROR_CANCELLED;
}

static bool is_valid(const gzlzss_item *item)
{
    return (item->in != NULL || item->in_len == 0) && (item->out != NULL || item->out_len == 0);
}

gzlzss_status gzlzss_cuda_decompress_batch(gzlzss *z, gzlzss_item *items, size_t count,
                                           gzlzss_format format, struct CUstream_st *stream,
                                           gzlzss_call *call)
{
    struct batch b = {.z = z,
                      .operation.wake_up = cuda_wake_up,
                      .items = items,
                      .count = count,
                      .format = format,
                      .device = -1};
    gzlzss_status status;

    if ((items == NULL && count > 0) || format < GZLZSS_GZIP || format > GZLZSS_RAW)
        return GZLZSS_ERROR_ARGUMENT;
    for (size_t i = 0; i < count; i++)
        if (!is_valid(&items[i]))
            return GZLZSS_ERROR_ARGUMENT;
    for (size_t i = 0; i < count; i++)
        items[i].status = NOT_DONE;
    status = operation_begin(&b.operation, z, call);
    if (status == GZLZSS_OK) {
        b.attempt.operation = &b.operation;
        status = run_batch(&b, stream);
        operation_end(&b.operation);
        call_set_results(call, b.in_bytes, b.out_bytes);
    }
    for (size_t i = 0; i < count; i++)
        if (items[i].status == NOT_DONE) {
            items[i].status = status;
            items[i].out_len = 0;
        }
    free(b.inputs);
    free(b.which);
    return status;
}
