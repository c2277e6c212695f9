/*
 * encoder.c - turns a segment's sequences into DEFLATE blocks
 *
 * The smaller a block is, the better its Huffman codes fit its data.  But each block costs a
 * header.  So the encoder goes through the segment part by part; a part is a chunk, or some of a
 * chunk's sequences.  count.c compares the part's matches with the input and counts its symbols.
 * plan.c estimates from the counts how many bits the part would take as a block.  One block is kept
 * open: if block and part take no more bits together than apart, the part joins the block;
 * otherwise the block is written, and the part opens the next one.  With HUFF_BEST, divide.c
 * decides where blocks end, once the parts of up to HUFF_DIVIDED_CHUNKS chunks are counted.  They
 * are not kept, but counted again when their blocks are written.
 *
 * When a block is written, plan.c chooses the shortest of DEFLATE's three forms by their exact
 * sizes, and write.c writes it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "huffman/bitwriter.h"
#include "huffman/count.h"
#include "huffman/divide.h"
#include "huffman/estimate.h"
#include "huffman/huffman.h"
#include "huffman/plan.h"
#include "huffman/state.h"
#include "huffman/write.h"

/* Fills the tables of symbols.  It sets all entries of a symbol at once, as the lengths or
 * distances of a symbol are adjacent; this makes the start of a process faster.  Symbol 284 also
 * sets the entry of length 258, which symbol 285 then overwrites.  Entries of distance_symbols that
 * stand for no distance (0, 257 and 258) are not set. */
static void fill_symbols(struct huff_encoder *e)
{
    for (unsigned symbol = DEFLATE_FIRST_LENGTH; symbol < DEFLATE_LITLEN_SYMBOLS; symbol++)
        memset(e->length_symbols + (deflate_least_length(symbol) - LZ_MIN_MATCH),
               (int)(symbol - DEFLATE_FIRST_LENGTH),
               (size_t)1 << deflate_length_extra_bits(symbol));
    for (unsigned symbol = 0; symbol < DEFLATE_DISTANCE_SYMBOLS; symbol++) {
        const unsigned least = deflate_least_distance(symbol);
        const size_t count = (size_t)1 << deflate_distance_extra_bits(symbol);

        if (least <= 256)
            memset(e->distance_symbols + least, (int)symbol, count);
        else
            memset(e->distance_symbols + 256 + (least + 127) / 128, (int)symbol, count / 128);
    }
}

static const struct huff_functions functions[CPU_PATHS] = {
    [CPU_PORTABLE] = {huff_count_portable, huff_write_portable, NULL, huff_estimate_portable},
#ifdef HAVE_AVX2_PATH
    [CPU_AVX2] = {huff_count_avx2, huff_write_avx2, huff_make_codes_avx2, huff_estimate_avx2},
#endif
#ifdef HAVE_AVX512_PATH
    [CPU_AVX512] = {huff_count_avx512, huff_write_avx512, huff_make_codes_avx512,
                    huff_estimate_avx2},
#endif
};

struct huff_encoder *huff_encoder_new(void)
{
    struct huff_encoder *e = aligned_alloc(_Alignof(struct huff_encoder), sizeof(*e));

    if (e == NULL)
        return NULL;
    e->functions = &functions[cpu_path()];
    e->has_fixed_codes = e->long_matches = false;
    fill_symbols(e);
    return e;
}

void huff_encoder_free(struct huff_encoder *e)
{
    free(e);
}

size_t huff_bound(size_t len)
{
    return most_bytes(len);
}

/* Plans and writes block b. */
static void end_block(struct huff_encoder *e, struct bitwriter *w, const uint8_t *in, size_t len,
                      const struct lz_chunk *chunks, const struct huff_block *b, bool final)
{
    huff_plan_block(&e->plan, b, w->count);
    huff_write_block(e, w, in, len, chunks, b, final);
}

#ifdef __SANITIZE_THREAD__
/* .ci/run compiles the rest of huffman/ without ThreadSanitizer, but compiles this file with
 * ThreadSanitizer.  The accesses below show ThreadSanitizer that each chunk's bytes and sequences
 * are read, and that the output is written. */
static void show_reads(const uint8_t *in, size_t len, const struct lz_chunk *chunks, size_t first)
{
    const volatile uint8_t *const bytes = in;

    for (size_t c = first; c < LZ_CHUNKS(len); c++) {
        const volatile struct lz_sequence *const sequences = chunks[c].sequences;
        const uint32_t count = chunks[c].count;

        (void)bytes[c * LZ_CHUNK_SIZE];
        (void)bytes[LZ_CHUNK_END(c * LZ_CHUNK_SIZE, len) - 1];
        if (count > 0) {
            (void)sequences[0].length;
            (void)sequences[count - 1].length;
        }
    }
}

static void show_writes(volatile uint8_t *out, size_t out_len)
{
    if (out_len > 0) {
        out[0] = out[0];
        out[out_len - 1] = out[out_len - 1];
    }
}
#else
#define show_reads(in, len, chunks, first) ((void)0)
#define show_writes(out, out_len) ((void)0)
#endif

/* Ends the segment's output, which starts at `out`.  `is_empty` says that the output has no block
 * yet.  Returns the output's length. */
static size_t end_segment(struct bitwriter *w, const uint8_t *in, enum huff_end end, bool is_empty,
                          uint8_t *out)
{
    size_t out_len;

    if (is_empty && end == HUFF_LAST) {
        /* An empty file becomes a fixed block that has only the end-of-block symbol. */
        bits_put(w, 1 | DEFLATE_FIXED << 1, 3);
        bits_put(w, 0, 7);
    }
    if (end != HUFF_LAST)
        huff_write_stored(w, in, 0, false);
    if (end == HUFF_MARK)
        huff_write_stored(w, in, 0, false);
    bits_align(w);
    out_len = (size_t)(w->next - out);
    show_writes(out, out_len);
    return out_len;
}

/* Encodes the segment in[0..len) from `at` to its end.  The sequences of chunk at.chunk start at
 * `at`.  Decides part by part where blocks end. */
static bool encode_by_parts(struct huff_encoder *e, const uint8_t *in, size_t len,
                            const struct lz_chunk *chunks, struct huff_place at, size_t split,
                            enum huff_end end, uint8_t *out, size_t *out_len)
{
    struct bitwriter w = {out, 0, 0};
    struct huff_block *open = NULL, *next = &e->blocks[0], *both = &e->blocks[1],
                      *spare = &e->blocks[2];

    show_reads(in, len, chunks, at.chunk);
    while (at.byte < len) {
        next->start = at;
        if (!huff_count_part(e, in, len, chunks, split, &at, &next->counts))
            return false;
        next->end = at;
        e->functions->estimate(next);
        if (open != NULL) {
            struct huff_block *closed = open;

            huff_join(open, next, both);
            e->functions->estimate(both);
            if (both->bits <= open->bits + next->bits) {
                open = both;
                both = closed;
                continue;
            }
            end_block(e, &w, in, len, chunks, open, false);
        } else {
            open = spare;
        }
        spare = open;
        open = next;
        next = spare;
    }
    if (open != NULL)
        end_block(e, &w, in, len, chunks, open, end == HUFF_LAST);
    *out_len = end_segment(&w, in, end, open == NULL, out);
    return true;
}

/* Divides the data from `at` to the start of chunk `end_chunk`, or to the segment's end, into
 * blocks.  False if a match is wrong. */
static bool divide(struct huff_encoder *e, const uint8_t *in, size_t len,
                   const struct lz_chunk *chunks, struct huff_place at, size_t end_chunk)
{
    struct huff_block *const part = &e->blocks[0];

    huff_divide_start(&e->division);
    while (at.byte < len && at.chunk < end_chunk) {
        part->start = at;
        if (!huff_count_part(e, in, len, chunks, HUFF_BEST_SPLIT, &at, &part->counts))
            return false;
        part->end = at;
        huff_divide_add(&e->division, e->functions, part);
    }
    huff_divide_finish(&e->division);
    return true;
}

/* Counts the parts of a block, which starts at *at and has `parts` parts, again: sets *block.
 * Moves *at to its end.  The matches are known to be right. */
static void count_block(struct huff_encoder *e, const uint8_t *in, size_t len,
                        const struct lz_chunk *chunks, size_t parts, struct huff_place *at,
                        struct huff_block *block)
{
    struct huff_block *const part = &e->blocks[1];

    for (size_t i = 0; i < parts; i++) {
        part->start = *at;
        (void)huff_count_part(e, in, len, chunks, HUFF_BEST_SPLIT, at, &part->counts);
        part->end = *at;
        if (i == 0)
            *block = *part;
        else
            huff_join(block, part, block);
    }
}

/* Does what encode_by_parts does, but compares many ways to divide the segment into blocks. */
static bool encode_best(struct huff_encoder *e, const uint8_t *in, size_t len,
                        const struct lz_chunk *chunks, struct huff_place at, enum huff_end end,
                        uint8_t *out, size_t *out_len)
{
    const struct huff_division *const d = &e->division;
    struct huff_block *const block = &e->blocks[0];
    const bool is_empty = at.byte == len;
    struct bitwriter w = {out, 0, 0};

    show_reads(in, len, chunks, at.chunk);
    while (at.byte < len) {
        if (!divide(e, in, len, chunks, at, at.chunk + HUFF_DIVIDED_CHUNKS))
            return false;
        for (size_t part = 0; part < d->count; part = d->link[part]) {
            count_block(e, in, len, chunks, d->link[part] - part, &at, block);
            end_block(e, &w, in, len, chunks, block, end == HUFF_LAST && at.byte == len);
        }
    }
    *out_len = end_segment(&w, in, end, is_empty, out);
    return true;
}

/* Encodes the segment from `at`, as huff_encode_segment says. */
static bool encode(struct huff_encoder *e, const uint8_t *in, size_t len,
                   const struct lz_chunk *chunks, struct huff_place at, size_t split,
                   enum huff_end end, uint8_t *out, size_t *out_len)
{
    if (split == HUFF_BEST)
        return encode_best(e, in, len, chunks, at, end, out, out_len);
    return encode_by_parts(e, in, len, chunks, at, split, end, out, out_len);
}

size_t huff_store(const uint8_t *in, size_t len, enum huff_end end, uint8_t *out)
{
    struct bitwriter w = {out, 0, 0};

    huff_write_stored(&w, in, len, end == HUFF_LAST);
    if (end == HUFF_MARK || end == HUFF_SYNC)
        huff_write_stored(&w, in, 0, false);
    if (end == HUFF_MARK)
        huff_write_stored(&w, in, 0, false);
    return (size_t)(w.next - out);
}

bool huff_encode_segment(struct huff_encoder *e, const uint8_t *in, size_t len,
                         const struct lz_chunk *chunks, size_t split, enum huff_end end,
                         uint8_t *out, size_t *out_len)
{
    const struct huff_place start = {0, 0, 0};

    return encode(e, in, len, chunks, start, split, end, out, out_len);
}

bool huff_encode_after(struct huff_encoder *e, const uint8_t *in, size_t len, size_t begin,
                       const struct lz_chunk *chunks, size_t split, enum huff_end end, uint8_t *out,
                       size_t *out_len)
{
    const struct huff_place start = {.byte = begin, .chunk = begin / LZ_CHUNK_SIZE};

    return encode(e, in, len, chunks, start, split, end, out, out_len);
}
