/*
 * batch.c - the layout of segments in a batch (gpu.h)
 *
 * This file needs no CUDA, and is part of every build.
 */
#include "config.h"

#include "gpu/gpu.h"

/* Returns the offset where the next segment starts. */
static size_t next_start(const struct gpu_batch *b)
{
    return (b->used + GPU_ALIGNMENT - 1) / GPU_ALIGNMENT * GPU_ALIGNMENT;
}

void gpu_batch_clear(struct gpu_batch *b)
{
    b->length = 0;
    b->count = 0;
    b->used = 0;
    b->chunk_count = 0;
    b->codes = false;
}

bool gpu_batch_fits(const struct gpu_batch *b, size_t len)
{
    const size_t start = next_start(b);

    return b->count < b->chunk_room && start <= b->capacity && len <= b->capacity - start &&
           LZ_CHUNKS(len) <= b->chunk_room - b->chunk_count;
}

uint8_t *gpu_batch_add(struct gpu_batch *b, size_t len, unsigned *index)
{
    const size_t start = next_start(b);

    if (!gpu_batch_fits(b, len))
        return NULL;
    *index = b->count++;
    b->segments[*index].start = (uint32_t)start;
    b->segments[*index].length = (uint32_t)len;
    b->segments[*index].from = NULL;
    b->segments[*index].is_last = false;
    b->used = start + len;
    b->length += len;
    b->chunk_count += (unsigned)LZ_CHUNKS(len);
    return b->input + start;
}

void gpu_batch_set_length(struct gpu_batch *b, unsigned index, size_t len)
{
    struct gpu_segment *s = &b->segments[index];

    b->length -= s->length - len;
    if (index + 1 == b->count) {
        b->used = s->start + len;
        b->chunk_count -= (unsigned)(LZ_CHUNKS(s->length) - LZ_CHUNKS(len));
    }
    s->length = (uint32_t)len;
}

void gpu_batch_set_last(struct gpu_batch *b, unsigned index, bool is_last)
{
    b->segments[index].is_last = is_last;
}

void gpu_batch_set_source(struct gpu_batch *b, unsigned index, const uint8_t *from)
{
    b->segments[index].from = from;
}

const struct lz_chunk *gpu_batch_chunks(const struct gpu_batch *b, unsigned index)
{
    return b->chunks + b->segments[index].chunk;
}
