/*
 * write.cu - writes the blocks of all segments: the twin of huffman/write.c
 *
 * A chunk's codes are written by one block of threads.  A thread first counts the bits of its
 * span's codes; a scan then gives each span its place.  Words that two spans share are filled in
 * with atomic operations; so the output must be zeros before.
 */
#include <cub/block/block_scan.cuh>

#include "gpu/cuda/huffman/coding.cuh"

#define THREADS GPU_SPANS

typedef cub::BlockScan<uint32_t, THREADS> Scan;

/* Writes bits in order, from any bit on. */
struct writer {
    uint32_t *next; /* the word of the first bit of `bits` */
    uint64_t bits;  /* pending bits, and zeros before them in the first word */
    uint32_t count; /* number of bits in `bits`, with those zeros */
    bool is_shared; /* the next word may have bits of other threads */
};

static __device__ __forceinline__ void seek(writer &w, uint32_t *out, uint32_t bit)
{
    w.next = out + bit / 32;
    w.count = bit % 32;
    w.bits = 0;
    w.is_shared = w.count > 0;
}

/* Adds n bits, 0 to 32. */
static __device__ __forceinline__ void put(writer &w, uint32_t value, uint32_t n)
{
    w.bits |= (uint64_t)value << w.count;
    w.count += n;
    if (w.count >= 32) {
        if (w.is_shared)
            atomicOr(w.next, (uint32_t)w.bits);
        else
            *w.next = (uint32_t)w.bits;
        w.is_shared = false;
        w.next++;
        w.bits >>= 32;
        w.count -= 32;
    }
}

/* Writes the pending bits. */
static __device__ __forceinline__ void finish(writer &w)
{
    if (w.count > 0 && w.bits != 0)
        atomicOr(w.next, (uint32_t)w.bits);
    w.bits = 0;
}

/* The code of entry i of a table by symbol in a fixed block (RFC 1951, 3.2.6). */
static __device__ uint32_t fixed_code(uint32_t i)
{
    const uint32_t length = gpu_fixed_length(i);
    const uint32_t code = i >= GPU_DISTANCES ? i - GPU_DISTANCES
                          : i < 144          ? 0x30 + i
                          : i < 256          ? 0x190 + i - 144
                          : i < 280          ? i - 256
                                             : 0xc0 + i - 280;

    return __brev(code) >> (32 - length) << 8 | length;
}

/* The code of entry i of the block's table. */
static __device__ __forceinline__ uint32_t code_of(const gpu_coder &c, uint32_t number,
                                                   uint32_t type, uint32_t i)
{
    return type == DEFLATE_DYNAMIC ? c.codes[(size_t)number * GPU_CODED_SYMBOLS + i]
                                   : fixed_code(i);
}

/* A part of a chunk, as write_chunks needs it. */
struct part {
    uint32_t end;       /* where it ends in the chunk */
    uint32_t at;        /* the place of its first code; in stored blocks, of the block's data */
    uint32_t bits;      /* the bits of the codes of the chunk's parts before it */
    uint32_t begin;     /* in stored blocks: where the block starts in the segment */
    uint32_t is_stored; /* its block is stored */
};

/* The bits of a match. */
struct match_code {
    uint32_t length, length_bits, distance, distance_bits;
};

static __device__ __forceinline__ match_code code_match(const uint32_t *codes, const lz_sequence &s)
{
    const uint32_t length = deflate_length_symbol(s.length);
    const uint32_t distance = deflate_distance_symbol(s.distance);
    const uint32_t length_extra = deflate_length_extra_bits(length);
    const uint32_t distance_extra = deflate_distance_extra_bits(distance);
    const uint32_t a = codes[length], b = codes[GPU_DISTANCES + distance];
    match_code m;

    m.length = a >> 8 | deflate_length_extra(s.length, length_extra) << (a & 255);
    m.length_bits = (a & 255) + length_extra;
    m.distance = b >> 8 | deflate_distance_extra(s.distance, distance_extra) << (b & 255);
    m.distance_bits = (b & 255) + distance_extra;
    return m;
}

/* Loads what belongs to the parts of a chunk: their bounds, places and codes. */
static __device__ void load_parts(const gpu_coder &c, uint32_t chunk, uint32_t count, part *parts,
                                  uint32_t (*codes)[GPU_CODED_SYMBOLS])
{
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t slot = chunk * GPU_PARTS + k, number = c.part_blocks[slot];
        const uint32_t type = c.blocks[number].type;

        if (type != DEFLATE_STORED)
            for (uint32_t i = threadIdx.x; i < GPU_CODED_SYMBOLS; i += THREADS)
                codes[k][i] = code_of(c, number, type, i);
        if (threadIdx.x == k) {
            const gpu_coded_block b = c.blocks[number];

            parts[k].end = c.part_ends[slot];
            parts[k].is_stored = type == DEFLATE_STORED;
            parts[k].begin = b.begin;
            parts[k].at =
                b.data +
                (type == DEFLATE_STORED ? 0 : c.part_bits[slot] - c.part_bits[b.first_slot]);
            parts[k].bits = c.part_bits[slot] - c.part_bits[chunk * GPU_PARTS];
        }
    }
}

static __global__ void __launch_bounds__(THREADS) write_chunks(gpu_view v, gpu_coder c)
{
    __shared__ uint16_t ends[LZ_CHUNK_MAX_SEQUENCES + 1];
    __shared__ uint32_t codes[GPU_PARTS][GPU_CODED_SYMBOLS];
    __shared__ part parts[GPU_PARTS];
    __shared__ Scan::TempStorage storage;

    const uint32_t chunk = blockIdx.x, segment = c.chunk_segment[chunk];
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t length = span.end - span.start;
    const uint8_t *const in = v.input + span.start;
    const gpu_result r = v.results[chunk];
    uint32_t *const out = c.out + c.to_code[segment].out / 4;
    gpu_span_start start = {0, GPU_NO_CODE};

    if (c.coded[segment].bad != 0)
        return;
    const gpu_sequences s = {v.sequences + r.offset, r.count};

    for (uint32_t i = threadIdx.x; i < s.count; i += THREADS)
        ends[i] = c.ends[r.offset + i];
    load_parts(c, chunk, c.parts[chunk], parts, codes);
    __syncthreads();

    /* Count the bits of this span's codes.  Those of stored blocks do not count, since their places
     * follow from their bytes. */
    const uint32_t from = min(threadIdx.x * GPU_SPAN, length), to = min(from + GPU_SPAN, length);
    uint32_t bits = 0, k = 0, at, total;

    gpu_walk(
        s, ends, length, from, to,
        [&](uint32_t p, uint32_t stop) {
            while (p < stop) {
                while (p >= parts[k].end)
                    k++;
                const uint32_t end = min(stop, parts[k].end);

                if (parts[k].is_stored)
                    p = end;
                for (; p < end; p++)
                    bits += codes[k][in[p]] & 255;
            }
        },
        [&](uint32_t p, const lz_sequence &q) {
            while (p >= parts[k].end)
                k++;
            if (!parts[k].is_stored) {
                const match_code m = code_match(codes[k], q);

                bits += m.length_bits + m.distance_bits;
            }
        });
    Scan(storage).ExclusiveSum(bits, at, total);

    /* Write them. */
    const uint32_t chunk_start = span.before * (uint32_t)LZ_CHUNK_SIZE;
    writer w = {out, 0, 0, false};
    bool is_first = true;

    k = 0;
    /* Goes to the part with byte p, and to the byte's place. */
    auto enter = [&](uint32_t p) {
        const bool moves = is_first || p >= parts[k].end;

        if (moves) {
            finish(w);
            while (p >= parts[k].end)
                k++;
        }
        if (parts[k].is_stored)
            return;
        if (is_first)
            seek(w, out, parts[k].at + at - parts[k].bits);
        else if (moves)
            seek(w, out, parts[k].at);
    };
    /* Notes where the span's first code is. */
    auto note = [&](uint32_t p) {
        if (is_first) {
            start.byte = (uint16_t)p;
            start.bit = parts[k].is_stored
                            ? parts[k].at + gpu_stored_place(chunk_start + p - parts[k].begin)
                            : (uint32_t)(w.next - out) * 32 + w.count;
        }
        is_first = false;
    };
    /* Writes bytes [p, stop) of a stored block. */
    auto store = [&](uint32_t p, uint32_t stop) {
        while (p < stop) {
            const uint32_t offset = chunk_start + p - parts[k].begin;
            const uint32_t left = (uint32_t)DEFLATE_MAX_STORED - offset % DEFLATE_MAX_STORED;
            const uint32_t end = min(stop, p + left);

            seek(w, out, parts[k].at + gpu_stored_place(offset));
            for (; p < end; p++)
                put(w, in[p], 8);
            finish(w);
        }
    };

    gpu_walk(
        s, ends, length, from, to,
        [&](uint32_t p, uint32_t stop) {
            while (p < stop) {
                enter(p);
                note(p);
                const uint32_t end = min(stop, parts[k].end);

                if (parts[k].is_stored)
                    store(p, end);
                else
                    for (uint32_t i = p; i < end; i++)
                        put(w, codes[k][in[i]] >> 8, codes[k][in[i]] & 255);
                p = end;
            }
        },
        [&](uint32_t p, const lz_sequence &q) {
            enter(p);
            note(p);
            if (parts[k].is_stored) {
                store(p, p + q.length);
            } else {
                const match_code m = code_match(codes[k], q);

                put(w, m.length, m.length_bits);
                put(w, m.distance, m.distance_bits);
            }
        });
    finish(w);
    c.starts[chunk * GPU_SPANS + threadIdx.x] = start;
}

/* --- Frames ----------------------------------------------------------------------------------- */

/* Writes the header of a stored block at bit `at`: its type, padding, length and its complement.
 * Returns the bit after it. */
static __device__ uint32_t put_stored_header(uint32_t *out, uint32_t at, uint32_t length,
                                             bool is_final)
{
    const uint32_t data = (at + 3 + 7) / 8 * 8;
    writer w;

    seek(w, out, at);
    put(w, is_final, 3);
    finish(w);
    seek(w, out, data);
    put(w, length, 16);
    put(w, length ^ 0xffff, 16);
    finish(w);
    return data + 32;
}

/* Writes the headers and the ends of blocks.  A thread does one block; the thread of a segment's
 * last block also writes the mark. */
static __global__ void __launch_bounds__(THREADS) write_frames(gpu_coder c)
{
    const uint32_t number = blockIdx.x * THREADS + threadIdx.x;

    if (number >= min(*c.block_count, c.block_room))
        return;
    const gpu_coded_block b = c.blocks[number];
    const gpu_to_code t = c.to_code[b.segment];
    uint32_t *const out = c.out + t.out / 4;
    const bool is_end = b.begin + b.bytes == t.length, is_final = is_end && t.is_last != 0;

    if (c.coded[b.segment].bad != 0)
        return;
    if (b.type == DEFLATE_STORED) {
        uint32_t at = b.at;

        for (uint32_t done = 0; done < b.bytes; done += DEFLATE_MAX_STORED) {
            const uint32_t length = min(b.bytes - done, (uint32_t)DEFLATE_MAX_STORED);

            at = put_stored_header(out, at, length, is_final && done + length == b.bytes) +
                 8 * length;
        }
    } else {
        const uint32_t end = code_of(c, number, b.type, DEFLATE_END_OF_BLOCK);
        const uint8_t *const header = c.headers + (size_t)number * GPU_BLOCK_HEADER;
        const uint32_t bits = b.type == DEFLATE_DYNAMIC ? b.header : 0;
        writer w;

        seek(w, out, b.at);
        put(w, is_final | b.type << 1, 3);
        for (uint32_t i = 0; i < bits; i += 8)
            put(w, header[i / 8] & ((1u << min(8u, bits - i)) - 1), min(8u, bits - i));
        finish(w);
        seek(w, out, b.end - (end & 255));
        put(w, end >> 8, end & 255);
        finish(w);
    }
    if (is_end && t.is_last == 0)
        put_stored_header(out, put_stored_header(out, b.end, 0, false), 0, false);
}

cudaError_t gpu_write_codes(const gpu_view &v, const gpu_coder &c, cudaStream_t stream)
{
    write_chunks<<<v.chunks, THREADS, 0, stream>>>(v, c);
    write_frames<<<(c.block_room + THREADS - 1) / THREADS, THREADS, 0, stream>>>(c);
    return cudaGetLastError();
}

static __global__ void flip_bit(gpu_coder c, uint32_t bit)
{
    if (threadIdx.x == 0)
        c.out[c.to_code[0].out / 4 + bit / 32] ^= 1u << bit % 32;
}

cudaError_t gpu_flip_bit(const gpu_coder &c, uint32_t bit, cudaStream_t stream)
{
    flip_bit<<<1, WARP, 0, stream>>>(c, bit);
    return cudaGetLastError();
}

cudaError_t gpu_load_write(void)
{
    const void *const kernels[] = {(const void *)write_chunks, (const void *)write_frames,
                                   (const void *)flip_bit};

    return gpu_load(kernels);
}
