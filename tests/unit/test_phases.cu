/*
 * test_phases.cu - the phases of phases.cuh are those of codes that are read in order
 *
 * The kernel runs on the emulated device.
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "base/zlib_header.h"
#include "gpu/cuda/inflate/bits.cuh"
#include "gpu/cuda/inflate/codes.cuh"
#include "gpu/cuda/inflate/phases.cuh"
#include "gpu/cuda/inflate/pieces.cuh"
#include "tests/unit/unit.h"

/* Threads of a team. */
#define TEAM 128u

/* The most bytes of a test's input, and the most spans of its first block. */
#define INPUT_MAX (96u << 10)
#define SPANS_MAX (8 * INPUT_MAX / SPAN + TEAM)

/* Bits of a block of DEFLATE, with the zeros behind a batch. */
struct block {
    uint32_t words[(INPUT_MAX + GPU_COMPRESSED_PAD) / 4];
    uint32_t bits;
};

/* What a kernel finds out about a block's spans. */
struct found {
    uint32_t count; /* spans in which codes of the block start */
    uint32_t truth[SPANS_MAX], phases[SPANS_MAX];
};

/* --- The kernel ------------------------------------------------------------------------------- */

struct memory {
    tables t;
    code_sizes sizes;
    team_exits<TEAM / WARP> exits;
};

/* Reads codes in order, up to the block's end or the first code that is not good.  truth[i] becomes
 * the phase of span number i.  Returns the number of spans. */
static __device__ uint32_t read_in_order(const gpu_compressed &in, const tables &t, uint32_t *truth)
{
    uint32_t count = 0, bit = t.data;
    gpu_reader r;

    gpu_seek(r, in.words, bit);
    for (;;) {
        if ((bit - t.data) / SPAN == count)
            truth[count++] = (bit - t.data) % SPAN;
        gpu_refill(r);
        const uint32_t e = look_up<true>(t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(e) + ENTRY_EXTRA(e));
        if (ENTRY_KIND(e) == COPY) {
            gpu_refill(r);
            const uint32_t d = look_up<false>(t, r.buffer);

            gpu_drop(r, ENTRY_LENGTH(d) + ENTRY_EXTRA(d));
            if (ENTRY_KIND(d) != COPY)
                return count;
        } else if (ENTRY_KIND(e) != LITERAL) {
            return count;
        }
        bit = gpu_bit_of(r, in.words);
        if (bit >= in.bits)
            return count;
    }
}

static __global__ void __launch_bounds__(TEAM) find_all(gpu_compressed in, found *f)
{
    extern __shared__ uint4 shared[];
    memory &m = *(memory *)shared;
    const auto sync = [] { __syncthreads(); };

    make_tables(in, 0, m.t, threadIdx.x, TEAM, sync);
    if (!m.t.is_good)
        return;
    make_code_sizes(m.t, m.sizes, threadIdx.x, TEAM, sync);
    if (threadIdx.x == 0)
        f->count = read_in_order(in, m.t, f->truth);
    __syncthreads();
    for (uint32_t i = 0; i < f->count; i += TEAM) {
        const uint32_t span = i + threadIdx.x, cut = m.t.data + span * SPAN;

        f->phases[span] =
            find_phase(in, m.t, m.sizes, f->truth[i], cut, threadIdx.x, m.exits, sync);
    }
}

/* --- Blocks ----------------------------------------------------------------------------------- */

/* Compares the phases of the spans of the block that starts at bit 0.  Its codes must start in
 * `least` spans or more. */
static void check_block(const block &b, uint32_t least)
{
    found *f = (found *)unit_need(calloc(1, sizeof(*f)));
    gpu_compressed in = {};
    uint32_t wrong = 0;

    in.words = b.words;
    in.bits = b.bits;
    CHECK_EQ(emulated_allow_shared((const void *)find_all, sizeof(memory)), cudaSuccess);
    find_all<<<1, TEAM, sizeof(memory), NULL>>>(in, f);
    CHECK(f->count >= least);
    for (uint32_t i = 0; i < f->count; i++)
        wrong += f->phases[i] != f->truth[i];
    /* The last code of a block that is cut off may lead to the span behind the input. */
    for (uint32_t i = f->count + 1; i < (f->count + TEAM - 1) / TEAM * TEAM; i++)
        wrong += f->phases[i] < PHASES;
    CHECK_EQ(wrong, 0);
    free(f);
}

/* Appends the lowest `count` bits of `value`, the lowest first. */
static void put(block *b, uint32_t value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, b->bits++)
        b->words[b->bits / 32] |= (value >> i & 1) << b->bits % 32;
}

/* Appends a Huffman code, whose highest bit comes first. */
static void put_code(block *b, uint32_t code, uint32_t length)
{
    put(b, __brev(code) >> (32 - length), length);
}

/* Appends the header of a block in which 255 literals have codes of 8 bits.  Literal 255 and the
 * block's end have 9 bits. */
static void put_flat_header(block *b)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9};

    put(b, 1, 1);
    put(b, 2, 2);
    put(b, 0, 5 + 5);
    put(b, 7 - 4, 4);
    for (uint8_t length : order)
        put(b, length == 17 || length == 18 || length == 7 ? 0 : 2, 3);
    /* The codes of 0, 8, 9 and 16 (repeat 3 to 6 times) are 00, 01, 10 and 11. */
    put_code(b, 1, 2);
    for (uint32_t i = 0; i < 42; i++) {
        put_code(b, 3, 2);
        put(b, 3, 2);
    }
    put_code(b, 1, 2);
    put_code(b, 1, 2);
    put_code(b, 2, 2);
    put_code(b, 2, 2);
    put_code(b, 0, 2);
}

/* Codes of 8 bits, and now and then one of 9: threads that start between codes stay there. */
static void test_codes_of_8_or_9_bits(void)
{
    block *b = (block *)unit_need(calloc(1, sizeof(*b)));
    uint64_t seed = 1;

    put_flat_header(b);
    for (uint32_t i = 0; i < 40000; i++) {
        if (unit_below(&seed, 50) == 0)
            put_code(b, 0x1fe, 9);
        else
            put_code(b, (uint32_t)unit_below(&seed, 255), 8);
    }
    put_code(b, 0x1ff, 9);
    check_block(*b, 8 * 40000 / SPAN);
    free(b);
}

/* Appends what zlib makes of data[0..len), as far as there is room. */
static void compress(block *b, const uint8_t *data, size_t len, int level, int strategy)
{
    z_stream z = {};

    if (deflateInit2(&z, level, Z_DEFLATED, -15, 9, strategy) != Z_OK)
        abort();
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)len;
    z.next_out = (Bytef *)b->words;
    z.avail_out = INPUT_MAX;
    if (deflate(&z, Z_FINISH) == Z_STREAM_ERROR)
        abort();
    b->bits = (uint32_t)(8 * z.total_out);
    (void)deflateEnd(&z);
}

static const char *own_name;

/* This program's own code: literals, matches, and codes that are too long for the tables. */
static void test_machine_code(void)
{
    static const int levels[] = {1, 6, 9};
    FILE *file = fopen(own_name, "rb");
    uint8_t *code = (uint8_t *)unit_need(malloc(2 * INPUT_MAX));
    size_t len;

    if (!CHECK(file != NULL))
        return;
    len = fread(code, 1, 2 * INPUT_MAX, file);
    (void)fclose(file);
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        block *b = (block *)unit_need(calloc(1, sizeof(*b)));

        /* The file begins with tables; its machine code follows. */
        compress(b, code + len / 4, len - len / 4, levels[i], Z_DEFAULT_STRATEGY);
        check_block(*b, TEAM);
        free(b);
    }
    free(code);
}

/* Codes of all lengths up to 15 bits: most are too long for the tables of sizes. */
static void test_long_codes(void)
{
    uint8_t *data = (uint8_t *)unit_need(malloc(INPUT_MAX));
    block *b = (block *)unit_need(calloc(1, sizeof(*b)));
    uint64_t seed = 2;

    /* Byte i is half as frequent as byte i - 1. */
    for (uint32_t i = 0; i < INPUT_MAX; i++)
        data[i] = (uint8_t)(__ffs((int)(unit_below(&seed, 1 << 16) | 1 << 16)) +
                            (unit_below(&seed, 9) == 0 ? (int)unit_below(&seed, 200) : 0));
    compress(b, data, INPUT_MAX, 6, Z_DEFAULT_STRATEGY);
    check_block(*b, TEAM);
    free(b);
    free(data);
}

/* Appends the header of a block with codes of 1 to 15 bits for symbols from 0 on.  The two last
 * symbols of both alphabets have 15 bits: the block's end and 284, and the distances 28 and 29. */
static void put_steep_header(block *b)
{
    enum { LITLENS = 285, DISTANCES = 30, STEPS = 14 };

    put(b, 1, 1);
    put(b, 2, 2);
    put(b, LITLENS - 257, 5);
    put(b, DISTANCES - 1, 5);
    /* The lengths 0 to 15 have codes of four bits; there are no repeats. */
    put(b, 19 - 4, 4);
    for (uint32_t i = 0; i < 19; i++)
        put(b, i < 3 ? 0 : 4, 3);
    for (uint32_t i = 0; i < LITLENS; i++)
        put_code(b, i < STEPS ? i + 1 : i == 256 || i == 284 ? 15 : 0, 4);
    for (uint32_t i = 0; i < DISTANCES; i++)
        put_code(b, i < STEPS ? i + 1 : i >= 28 ? 15 : 0, 4);
}

/* Lengths and distances of 48 bits, the most that there are, and of 39, and short literals between
 * them. */
static void test_longest_codes(void)
{
    block *b = (block *)unit_need(calloc(1, sizeof(*b)));
    uint64_t seed = 4;

    put_steep_header(b);
    for (uint32_t i = 0; i < 10000; i++) {
        put_code(b, 0x7fff, 15);
        put(b, (uint32_t)unit_below(&seed, 1 << 5), 5);
        if (unit_below(&seed, 2) == 0) {
            put_code(b, 0x7ffe + (uint32_t)unit_below(&seed, 2), 15);
            put(b, (uint32_t)unit_below(&seed, 1 << 13), 13);
        } else {
            put_code(b, 0x3ffe, 14); /* 13 */
            put(b, (uint32_t)unit_below(&seed, 1 << 5), 5);
        }
        put(b, 0, (uint32_t)unit_below(&seed, 3));
    }
    put_code(b, 0x7ffe, 15);
    check_block(*b, 39 * 10000 / SPAN);
    free(b);
}

/* A block that goes on behind the end of the input. */
static void test_cut_off(void)
{
    block *b = (block *)unit_need(calloc(1, sizeof(*b)));
    uint64_t seed = 3;

    put_flat_header(b);
    while (b->bits < 200 * SPAN)
        put_code(b, (uint32_t)unit_below(&seed, 255), 8);
    check_block(*b, 190);
    free(b);
}

int main(int, char **argv)
{
    own_name = argv[0];
    RUN(test_codes_of_8_or_9_bits);
    RUN(test_machine_code);
    RUN(test_long_codes);
    RUN(test_longest_codes);
    RUN(test_cut_off);
    return unit_done();
}
