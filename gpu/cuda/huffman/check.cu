/*
 * check.cu - decodes what write.cu wrote, and compares it with the input, before it is believed
 *
 * The check takes nothing from the writer but hints: where blocks and spans start.  It parses each
 * block's header from the output's bits, with the functions for decompression, and makes its own
 * tables of them.  Then one thread decodes each span, from the place that the hint says, compares
 * every byte with the input, and must come out exactly at the bit and byte where the next span is
 * said to start.  The first span starts at the segment's first block and byte, and the last must
 * end at the segment's end.  So, if all spans are right, a decoder that goes from the first bit to
 * the last gets the input; a wrong hint can only make the check fail.
 *
 * What it cannot see: an input that was damaged on its way to the device; the CRCs of pack.cu are
 * for that.  Everything between the last block and the output's end is compared bit by bit.
 */
#include "gpu/cuda/huffman/coding.cuh"
#include "gpu/cuda/inflate/bits.cuh"
#include "gpu/cuda/inflate/codes.cuh"

#define THREADS GPU_SPANS

/* Warps of a block of threads that makes tables. */
#define WARPS 4

struct gpu_check_tables {
    tables t;
};

size_t gpu_check_tables_size(void)
{
    return sizeof(gpu_check_tables);
}

/* Returns n bits, 1 to 32, of the words from bit `bit` on. */
static __device__ uint32_t bits_at(const uint32_t *words, uint32_t bit, uint32_t n)
{
    const uint64_t two = words[bit / 32] | (uint64_t)words[bit / 32 + 1] << 32;

    return (uint32_t)(two >> bit % 32 & ((1ull << n) - 1));
}

/* Whether a stored block's header is at bit `at`.  Sets at to the bit after it. */
static __device__ bool is_stored_header(const uint32_t *out, uint32_t &at, uint32_t length,
                                        bool is_final)
{
    const uint32_t data = (at + 3 + 7) / 8 * 8;
    bool good = bits_at(out, at, data - at) == is_final;

    good &= bits_at(out, data, 32) == (length | (length ^ 0xffff) << 16);
    at = data + 32;
    return good;
}

/* Whether the mark, or nothing, is between the last block's end and the output's end. */
static __device__ bool ends_well(const uint32_t *out, uint32_t at, bool is_last, uint32_t length)
{
    if (!is_last && (!is_stored_header(out, at, 0, false) || !is_stored_header(out, at, 0, false)))
        return false;
    return (at + 7) / 8 == length && (at % 8 == 0 || bits_at(out, at, 8 - at % 8) == 0);
}

/* Checks the block's frame, and makes its tables.  A warp does it; lane 0's result counts. */
static __device__ bool check_frame(const gpu_coder &c, uint32_t number, tables &own, uint32_t lane)
{
    const gpu_coded_block b = c.blocks[number];
    const gpu_to_code t = c.to_code[b.segment];
    const uint32_t *const out = c.out + t.out / 4;
    const bool is_end = b.begin + b.bytes == t.length, is_final = is_end && t.is_last != 0;
    bool good = true;

    if (b.type == DEFLATE_STORED) {
        uint32_t at = b.at;

        for (uint32_t done = 0; done < b.bytes; done += DEFLATE_MAX_STORED) {
            const uint32_t length = min(b.bytes - done, (uint32_t)DEFLATE_MAX_STORED);

            good &= is_stored_header(out, at, length, is_final && done + length == b.bytes);
            good &= done > 0 || at == b.data;
            at += 8 * length;
        }
        good &= at == b.end;
    } else {
        const gpu_compressed in = {out, b.end, b.end, 0, 0, 0, 0, GPU_MANY_RAW};

        good &= bits_at(out, b.at, 3) == (is_final | b.type << 1);
        make_tables(in, b.at, own, lane, WARP, [] { __syncwarp(); });
        __syncwarp();
        good &= own.is_good != 0 && own.data == b.data;
    }
    if (is_end)
        good &= ends_well(out, b.end, t.is_last != 0, c.coded[b.segment].length);
    return good;
}

static __global__ void __launch_bounds__(WARPS *WARP) check_frames(gpu_coder c)
{
    const uint32_t number = (blockIdx.x * WARPS * WARP + threadIdx.x) / WARP;
    const uint32_t lane = threadIdx.x % WARP;

    if (number >= min(*c.block_count, c.block_room))
        return;
    const uint32_t segment = c.blocks[number].segment;

    if ((c.coded[segment].bad & ~(uint32_t)GPU_BAD_BITS) != 0)
        return;
    const bool good = check_frame(c, number, c.tables[number].t, lane);

    if (lane == 0 && !good)
        atomicOr(&c.coded[segment].bad, (uint32_t)GPU_BAD_BITS);
}

/* What the thread of a span knows. */
struct place {
    uint32_t byte; /* of the chunk */
    uint32_t bit;  /* of the segment's output */
};

/* Decodes a stored block's bytes from `at` up to byte `stop`, and compares them.  Moves `at`. */
static __device__ bool check_stored(const uint32_t *out, const uint8_t *in, place &at,
                                    uint32_t stop, uint32_t offset, uint32_t data)
{
    const uint8_t *const bytes = (const uint8_t *)out;
    bool good = at.bit == data + gpu_stored_place(offset);

    for (; at.byte < stop; at.byte++, offset++)
        good &= bytes[(data + gpu_stored_place(offset)) / 8] == in[at.byte];
    at.bit = data + gpu_stored_place(offset);
    /* If the block goes on with a new header, the hint has the place after it. */
    return good;
}

/* Decodes codes from `at` until byte `stop` is reached or passed, and compares what they stand for
 * with the chunk `in`, which must not be passed beyond `length`.  `before` is the number of bytes
 * of the segment before the chunk. */
static __device__ bool check_codes(const tables &t, const uint32_t *out, const uint8_t *in,
                                   place &at, uint32_t stop, uint32_t length, uint32_t before)
{
    gpu_reader r;
    bool good = true;

    gpu_seek(r, out, at.bit);
    while (good && at.byte < stop) {
        gpu_refill(r);
        const uint32_t code = look_up<true>(t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(code));
        if (ENTRY_KIND(code) == LITERAL) {
            good = ENTRY_VALUE(code) == in[at.byte];
            at.byte++;
            continue;
        }
        if (ENTRY_KIND(code) != COPY)
            return false;
        const uint32_t copied = ENTRY_VALUE(code) + gpu_take(r, ENTRY_EXTRA(code));

        gpu_refill(r);
        const uint32_t second = look_up<false>(t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(second));
        if (ENTRY_KIND(second) != COPY)
            return false;
        const uint32_t distance = ENTRY_VALUE(second) + gpu_take(r, ENTRY_EXTRA(second));

        if (copied > length - at.byte || distance > before + at.byte)
            return false;
        const uint8_t *const to = in + at.byte;

        for (uint32_t i = 0; i < copied; i++)
            good &= to[i] == *(to + i - distance);
        at.byte += copied;
    }
    at.bit = gpu_bit_of(r, out);
    return good;
}

/* Whether the code of the end of the block is at `at`, and the block's end after it. */
static __device__ bool is_block_end(const tables &t, const uint32_t *out, const gpu_coded_block &b,
                                    uint32_t at)
{
    gpu_reader r;

    if (b.type == DEFLATE_STORED)
        return at == b.end;
    gpu_seek(r, out, at);
    gpu_refill(r);
    const uint32_t code = look_up<true>(t, r.buffer);

    return ENTRY_KIND(code) == END && at + ENTRY_LENGTH(code) == b.end;
}

/* Where the next span that has codes starts: in this chunk, or in the segment's next one. */
static __device__ place next_start(const gpu_coder &c, uint32_t chunk, uint32_t length)
{
    for (uint32_t i = threadIdx.x + 1; i < GPU_SPANS; i++) {
        const gpu_span_start s = c.starts[chunk * GPU_SPANS + i];

        if (s.byte != GPU_NO_CODE)
            return {s.byte, s.bit};
    }
    return {length, 0};
}

static __global__ void __launch_bounds__(THREADS) check_chunks(gpu_view v, gpu_coder c)
{
    const uint32_t chunk = blockIdx.x, segment = c.chunk_segment[chunk];
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t length = span.end - span.start;
    const uint8_t *const in = v.input + span.start;
    const gpu_to_code t = c.to_code[segment];
    const uint32_t *const out = c.out + t.out / 4;
    const uint32_t before = span.before * (uint32_t)LZ_CHUNK_SIZE;
    const gpu_span_start start = c.starts[chunk * GPU_SPANS + threadIdx.x];
    const uint32_t parts = c.parts[chunk];
    uint32_t slot = chunk * GPU_PARTS, k = 0;

    if ((c.coded[segment].bad & ~(uint32_t)GPU_BAD_BITS) != 0)
        return;
    /* A chunk's first byte begins a code. */
    bool good = threadIdx.x > 0 || start.byte == 0;

    if (start.byte != GPU_NO_CODE) {
        place at = {start.byte, start.bit};
        place next = next_start(c, chunk, length);
        uint32_t number, part_end;

        while (k + 1 < parts && at.byte >= c.part_ends[slot + k])
            k++;
        number = c.part_blocks[slot + k];
        if (threadIdx.x == 0 && span.before == 0)
            good &= c.blocks[number].begin == 0 && c.blocks[number].at == 0 &&
                    at.bit == c.blocks[number].data;
        /* Each turn checks codes up to the span's end, or to the end of a block. */
        while (good) {
            const gpu_coded_block b = c.blocks[number];
            const tables &own = c.tables[number].t;
            const bool is_stored = b.type == DEFLATE_STORED;

            while (k + 1 < parts && c.part_blocks[slot + k + 1] == number)
                k++;
            part_end = c.part_ends[slot + k];
            if (is_stored)
                good = b.begin <= before + at.byte &&
                       check_stored(out, in, at, min(next.byte, part_end),
                                    before + at.byte - b.begin, b.data);
            else
                good = check_codes(own, out, in, at, min(next.byte, part_end), length, before);
            good = good && at.byte <= part_end && at.byte <= next.byte;
            if (!good)
                break;
            if (at.byte < part_end ||
                (k + 1 == parts && part_end == length && before + length < b.begin + b.bytes)) {
                /* The block goes on behind this place. */
                if (at.byte == length)
                    next = {length, c.starts[(chunk + 1) * GPU_SPANS].bit};
                good = at.byte == next.byte && at.bit == next.bit;
                break;
            }
            /* The block ends here. */
            good = before + at.byte == b.begin + b.bytes &&
                   is_block_end(own, out, b, is_stored ? b.end : at.bit);
            if (before + at.byte == t.length)
                break;
            const bool is_chunk_end = at.byte == length;
            const uint32_t after =
                is_chunk_end ? c.part_blocks[slot + GPU_PARTS] : c.part_blocks[slot + k + 1];

            good = good && c.blocks[after].at == b.end && c.blocks[after].segment == segment &&
                   c.blocks[after].begin == before + at.byte;
            if (is_chunk_end) {
                good = good && c.starts[(chunk + 1) * GPU_SPANS].bit == c.blocks[after].data;
                break;
            }
            number = after;
            at.bit = c.blocks[after].data;
            k++;
            if (at.byte == next.byte) {
                good = good && at.bit == next.bit;
                break;
            }
        }
    }
    if (!good)
        atomicOr(&c.coded[segment].bad, (uint32_t)GPU_BAD_BITS);
}

cudaError_t gpu_check_codes(const gpu_view &v, const gpu_coder &c, cudaStream_t stream)
{
    check_frames<<<(c.block_room + WARPS - 1) / WARPS, WARPS * WARP, 0, stream>>>(c);
    check_chunks<<<v.chunks, THREADS, 0, stream>>>(v, c);
    return cudaGetLastError();
}

cudaError_t gpu_load_check(void)
{
    const void *const kernels[] = {(const void *)check_frames, (const void *)check_chunks};

    return gpu_load(kernels);
}
