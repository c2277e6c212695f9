/*
 * coder.cu - the memory for Huffman coding on the device, and the order of its steps (coder.cuh)
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/huffman/coder.cuh"
#include "huffman/estimate.h"

/* Bytes behind each segment's output that the check may read. */
#define OUT_PAD 64

/* The room for a segment's output. */
static size_t room_for(size_t length)
{
    return gpu_round_up(most_bytes(length) + OUT_PAD, 16);
}

static uint32_t sums_for(size_t bytes)
{
    return (uint32_t)(bytes / GPU_CRC_PART + 1);
}

/* Device memory is one allocation, so that it comes and goes in one call. */
struct arena {
    uint8_t *base;
    size_t used;
};

template <typename T> static void take(arena *a, T **p, size_t count)
{
    /* coder_make measures with no memory. */
    *p = (T *)((uintptr_t)a->base + a->used);
    a->used = gpu_round_up(a->used + count * sizeof(T), 256);
}

/* Lays out the arrays; `sums` is the most CRC parts of input or output. */
static void lay_out(coder_memory *m, arena *a)
{
    gpu_coder *const c = &m->c;
    const size_t chunks = m->chunks, slots = chunks * GPU_PARTS;

    take(a, (gpu_to_code **)&c->to_code, chunks);
    take(a, &c->chunk_segment, chunks);
    take(a, &c->in_sums, m->sums);
    m->from_host = a->used; /* until here, the host sends the arrays */
    take(a, &c->coded, chunks);
    take(a, &c->block_count, 1);
    take(a, &c->packed_size, 1);
    m->cleared = a->used - m->from_host;
    take(a, &c->out_sums, m->sums);
    take(a, &c->ends, m->sequences);
    take(a, &c->part_ends, slots);
    take(a, &c->parts, chunks);
    take(a, &c->part_counts, slots * GPU_CODED_SYMBOLS);
    take(a, &c->part_blocks, slots);
    take(a, &c->part_bits, slots);
    c->block_room = gpu_block_room((uint32_t)chunks);
    take(a, &c->blocks, c->block_room);
    take(a, &c->segment_blocks, slots);
    take(a, &c->block_counts, (size_t)c->block_room * GPU_CODED_SYMBOLS);
    take(a, &c->codes, (size_t)c->block_room * GPU_CODED_SYMBOLS);
    take(a, &c->headers, (size_t)c->block_room * GPU_BLOCK_HEADER);
    take(a, &c->planners, GPU_PLANNERS);
    take(a, (uint8_t **)&c->tables, (size_t)c->block_room * gpu_check_tables_size());
    take(a, &c->starts, chunks * GPU_SPANS);
    take(a, &c->packed, m->packed_room);
}

cudaError_t coder_make(coder_memory *m, size_t chunks, size_t sequences)
{
    arena a = {NULL, 0};
    cudaError_t status;

    memset(m, 0, sizeof(*m));
    m->chunks = chunks;
    m->sequences = sequences;
    m->sums = 2 * chunks + 2;
    m->packed_room = chunks * (LZ_CHUNK_SIZE + LZ_CHUNK_SIZE / 64 + 256);
    lay_out(m, &a);
    status = cudaMalloc(&m->device, a.used);
    if (status != cudaSuccess)
        return status;
    a = {m->device, 0};
    lay_out(m, &a);
    status = cudaMallocHost(&m->host, m->from_host + m->cleared + m->sums * sizeof(gpu_crc_part));
    if (status != cudaSuccess)
        coder_free(m);
    return status;
}

void coder_free(coder_memory *m)
{
    cudaFree(m->device);
    cudaFreeHost(m->host);
    memset(m, 0, sizeof(*m));
}

/* The host's copy of an array that starts at p on the device.  Those that the host sends and gets
 * lie in the same order. */
template <typename T> static T *host_of(const coder_memory *m, const T *p)
{
    return (T *)(m->host + ((const uint8_t *)p - m->device));
}

void coder_begin(coder_memory *m, uint32_t split)
{
    m->c.segments = 0;
    m->c.split = split;
    m->c.out_sum_count = 0;
    m->in_sum_count = 0;
    m->out_used = 0;
    m->longest = 0;
    m->chunk = 0;
}

void coder_add(coder_memory *m, uint32_t start, uint32_t length, bool is_last)
{
    const uint32_t segment = m->c.segments++, chunks = LZ_CHUNKS(length);
    gpu_to_code *const t = host_of(m, m->c.to_code) + segment;
    uint32_t *const chunk_segment = host_of(m, m->c.chunk_segment);
    gpu_crc_part *const sums = host_of(m, m->c.in_sums);

    t->length = length;
    t->chunk = m->chunk;
    t->chunks = chunks;
    t->out = (uint32_t)m->out_used;
    t->is_last = is_last;
    t->in_sum = m->in_sum_count;
    t->in_sums = length == 0 ? 0 : (length + GPU_CRC_PART - 1) / GPU_CRC_PART;
    t->out_sum = m->c.out_sum_count;
    t->out_sums = length == 0 ? 0 : sums_for(room_for(length));
    for (uint32_t i = 0; i < t->in_sums; i++) {
        gpu_crc_part part = {};

        part.start = start + (uint64_t)i * GPU_CRC_PART;
        part.length =
            length - i * GPU_CRC_PART < GPU_CRC_PART ? length - i * GPU_CRC_PART : GPU_CRC_PART;
        part.is_first = i == 0;
        sums[m->in_sum_count++] = part;
    }
    for (uint32_t i = 0; i < chunks; i++)
        chunk_segment[m->chunk++] = segment;
    m->c.out_sum_count += t->out_sums;
    m->out_used += length == 0 ? 0 : room_for(length);
    if (length > m->longest)
        m->longest = length;
}

cudaError_t coder_queue(coder_memory *m, const gpu_view &v, long flip, cudaStream_t stream)
{
    gpu_coder *const c = &m->c;
    const uint8_t *const sums = (const uint8_t *)c->out_sums;
    cudaError_t status;

    if (m->c.out_sum_count > m->sums || m->in_sum_count > m->sums ||
        m->out_used > (size_t)v.chunks * LZ_CHUNK_SIZE * sizeof(*v.tags))
        return cudaErrorInvalidValue;
    /* The tags have become sequences, so their memory is free. */
    c->out = (uint32_t *)v.tags;
    status = cudaMemcpyAsync(m->device, m->host, m->from_host, cudaMemcpyHostToDevice, stream);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(m->device + m->from_host, 0, m->cleared, stream);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(c->out, 0, m->out_used, stream);
    if (status == cudaSuccess)
        status = gpu_count_parts(v, *c, stream);
    if (status == cudaSuccess)
        status = gpu_make_blocks(v, *c, stream);
    if (status == cudaSuccess)
        status = gpu_write_codes(v, *c, stream);
    if (status == cudaSuccess && flip > 0)
        status = gpu_flip_bit(*c, (uint32_t)flip - 1, stream);
    if (status == cudaSuccess)
        status = gpu_check_codes(v, *c, stream);
    if (status == cudaSuccess)
        status = gpu_pack_output(*c, m->longest, stream);
    if (status == cudaSuccess)
        status = gpu_sum_up(v.input, c->in_sums, m->in_sum_count, stream);
    /* The results: sums of the input, then what was cleared, then sums of the output. */
    if (status == cudaSuccess)
        status =
            cudaMemcpyAsync(host_of(m, c->in_sums), c->in_sums,
                            m->in_sum_count * sizeof(gpu_crc_part), cudaMemcpyDeviceToHost, stream);
    memset(m->host + m->from_host, 0xff, m->cleared);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(m->host + m->from_host, m->device + m->from_host, m->cleared,
                                 cudaMemcpyDeviceToHost, stream);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(m->host + (sums - m->device), sums,
                                 c->out_sum_count * sizeof(gpu_crc_part), cudaMemcpyDeviceToHost,
                                 stream);
    return status;
}

size_t coder_packed(const coder_memory *m)
{
    const uint32_t size = *host_of(m, m->c.packed_size);

    return size <= m->packed_room ? size : 0;
}

/* Joins the sums of parts. */
static uint32_t join(const gpu_crc_part *parts, uint32_t count)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < count && parts[i].length > 0; i++)
        sum = gpu_crc_join(sum, parts[i].crc, parts[i].length);
    return ~sum;
}

bool coder_result(const coder_memory *m, uint32_t segment, const uint8_t *packed,
                  struct gpu_output *o)
{
    const gpu_to_code t = host_of(m, m->c.to_code)[segment];
    const gpu_coded r = host_of(m, m->c.coded)[segment];
    const size_t size = coder_packed(m);

    o->is_wrong = r.bad != 0 && (r.bad & GPU_BAD_ROOM) == 0;
    o->bytes = NULL;
    if (r.bad != 0 || r.length > size || r.packed > size - r.length ||
        r.length > most_bytes(t.length))
        return false;
    o->bytes = packed + r.packed;
    o->length = r.length;
    o->in_crc = join(host_of(m, m->c.in_sums) + t.in_sum, t.in_sums);
    o->out_crc = join(host_of(m, m->c.out_sums) + t.out_sum, t.out_sums);
    return true;
}

cudaError_t coder_load(void)
{
    cudaError_t status = gpu_load_parts();

    if (status == cudaSuccess)
        status = gpu_load_blocks();
    if (status == cudaSuccess)
        status = gpu_load_write();
    if (status == cudaSuccess)
        status = gpu_load_check();
    if (status == cudaSuccess)
        status = gpu_load_pack();
    return status == cudaSuccess ? gpu_load_crc() : status;
}
