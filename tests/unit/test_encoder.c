/*
 * test_encoder.c - the encoder's output decodes to its input; its blocks end at the right places
 * and are as small as possible; the encoder refuses a sequence that is not a match
 *
 * zlib's inflate decodes everything, block by block, so each block's type, size and place are
 * known.  The right size of a block is computed from the sequences with the tables of RFC 1951,
 * section 3.2.5, and with the code lengths and headers that test_lengths.c and test_header.c check.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include <zlib.h>

#include "huffman/header.h"
#include "huffman/huffman.h"
#include "huffman/lengths.h"
#include "lzss/lzss.h"
#include "tests/unit/inputs.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

static struct huff_lengths_work work;

#define MIB ((size_t)1 << 20)
#define MAX_LEN (2 * MIB)

/* The chunks after which a block ends in any case with HUFF_BEST, and two more. */
#define DIVIDED_CHUNKS 128
#define MAX_CHUNKS (DIVIDED_CHUNKS + 2)

/* The bytes between two places where a block may end with HUFF_BEST, as with `split`. */
#define BEST_SPLIT 2048
#define MAX_PARTS (MAX_CHUNKS * (LZ_CHUNK_SIZE / BEST_SPLIT + 1) + 1)
#define MAX_BLOCKS (MAX_PARTS + MAX_CHUNKS + 2)

enum { STORED, FIXED, DYNAMIC };

/* The values of the encoder's `split` to test: a block may end within a chunk after this many
 * bytes.  WHOLE_CHUNKS is more than a chunk, so that blocks end only at ends of chunks. */
#define WHOLE_CHUNKS ((size_t)1 << 20)
static const size_t splits[] = {HUFF_SPLIT_MIN, 8192, 16384, 65535, WHOLE_CHUNKS};
#define SPLITS (sizeof(splits) / sizeof(*splits))

static struct huff_encoder *encoder;
static struct matchers matchers = {.segment_size = MAX_LEN};

/* --- Segments: data, and the sequences for it --- */

struct segment {
    uint8_t *in;
    size_t len;
    struct lz_sequence *sequences;
    struct lz_chunk chunks[MAX_CHUNKS];
};

static size_t chunk_end(const struct segment *s, size_t chunk)
{
    size_t end = (chunk + 1) * LZ_CHUNK_SIZE;

    return end < s->len ? end : s->len;
}

/* Allocates a segment.  Its input ends right after the pad, so that a sanitizer sees reads past the
 * pad.  At first, all chunks are literals. */
static void segment_new(struct segment *s, size_t len)
{
    size_t most = LZ_CHUNKS(len) * LZ_CHUNK_MAX_SEQUENCES;

    s->len = len;
    s->in = unit_need(malloc(len + LZ_INPUT_PAD));
    s->sequences = unit_need(malloc((most + 1) * sizeof(*s->sequences)));
    memset(s->in, 0, len);
    memset(s->in + len, 0x5a, LZ_INPUT_PAD);
    for (size_t c = 0; c < MAX_CHUNKS; c++) {
        s->chunks[c].sequences = s->sequences;
        s->chunks[c].count = 0;
    }
}

static void segment_free(struct segment *s)
{
    free(s->in);
    free(s->sequences);
}

/* Sets the segment's sequences to those that the CPU engine finds at a level. */
static void find_matches_of(struct segment *s, int level)
{
    const struct lz_chunk *found =
        lz_match_segment(matcher_of(&matchers, lz_level(level)), s->in, s->len);
    struct lz_sequence *out = s->sequences;

    for (size_t c = 0; c < LZ_CHUNKS(s->len); c++) {
        s->chunks[c].sequences = out;
        s->chunks[c].count = found[c].count;
        for (uint32_t i = 0; i < found[c].count; i++)
            *out++ = found[c].sequences[i];
    }
}

static void find_matches(struct segment *s)
{
    find_matches_of(s, 1);
}

/* Which literals and matches add_random makes. */
struct style {
    /* Literals have `values` equally likely values, from `first` on.  If `values` is 0, each value
     * is half as likely as the one before. */
    unsigned first, values;
    unsigned most_literals; /* the most literals before a match */
    unsigned most_length;   /* the greatest length of a match; below 3: no matches */
    unsigned most_distance;
};

static uint8_t random_literal(const struct style *style, uint64_t *state)
{
    if (style->values == 0)
        return (uint8_t)(style->first +
                         (unsigned)__builtin_ctz(1u << 20 | (unsigned)unit_rand(state)));
    return (uint8_t)(style->first + unit_below(state, style->values));
}

/*
 * Adds random sequences, and their data, to a chunk.  The first starts at *pos, where the chunk's
 * earlier sequences end.  The last ends at `end` or just before it.  All lengths and distances can
 * occur, while a match finder, which looks for long matches nearby, would not find all of these
 * matches.  The chunks must be made in order.
 */
static void add_random_until(struct segment *s, size_t chunk, size_t *pos, size_t end,
                             const struct style *style, uint64_t *state)
{
    struct lz_sequence *out;

    if (s->chunks[chunk].count == 0)
        s->chunks[chunk].sequences = s->sequences + chunk * LZ_CHUNK_MAX_SEQUENCES;
    out = s->sequences + chunk * LZ_CHUNK_MAX_SEQUENCES + s->chunks[chunk].count;
    for (size_t i = *pos; i < end; i++)
        s->in[i] = random_literal(style, state);
    while (style->most_length >= 3) {
        size_t literals = unit_below(state, style->most_literals + 1u) + (*pos == 0);
        size_t length = 3 + unit_below(state, style->most_length - 2u);
        size_t match = *pos + literals;
        size_t farthest = match < style->most_distance ? match : style->most_distance;

        if (match + length > end)
            break;
        out->literals = (uint16_t)literals;
        out->length = (uint16_t)length;
        out->distance = (uint16_t)(1 + unit_below(state, farthest));
        for (size_t i = 0; i < length; i++)
            s->in[match + i] = s->in[match + i - out->distance];
        *pos = match + length;
        out++;
        s->chunks[chunk].count++;
    }
}

static void add_random(struct segment *s, size_t chunk, const struct style *style, uint64_t *state)
{
    size_t pos = chunk * LZ_CHUNK_SIZE;

    s->chunks[chunk].count = 0;
    add_random_until(s, chunk, &pos, chunk_end(s, chunk), style, state);
}

/* Returns a random style: with few or many literals, and with long matches, short ones or none. */
static struct style random_style(uint64_t *state)
{
    struct style style;

    style.values = 1 + (unsigned)unit_below(state, 1 + unit_below(state, 256));
    style.first = (unsigned)unit_below(state, 257 - style.values);
    style.most_literals = (unsigned)unit_below(state, (uint64_t)1 << unit_below(state, 12));
    style.most_length = (unsigned)unit_below(state, 1 + unit_below(state, LZ_MAX_MATCH + 1));
    style.most_distance = 1 + (unsigned)unit_below(state, 1 + unit_below(state, LZ_WINDOW_SIZE));
    return style;
}

/* Makes one chunk at random, in a style that changes now and then. */
static void add_changing(struct segment *s, size_t chunk, struct style *style, uint64_t *state)
{
    size_t pos = chunk * LZ_CHUNK_SIZE, end = pos, last = chunk_end(s, chunk);

    s->chunks[chunk].count = 0;
    while (end < last) {
        end += 1 + unit_below(state, 12000);
        end = end < last ? end : last;
        if (unit_below(state, 2))
            *style = random_style(state);
        add_random_until(s, chunk, &pos, end, style, state);
    }
}

/* --- The size that blocks should have --- */

/* How often each symbol occurs in a block, without the end of the block, and the number of extra
 * bits. */
struct tally {
    uint32_t litlen[286], distance[30];
    uint64_t extra;
    size_t bytes;
};

/* The sizes, in bits, that one block has with each type.  A stored block is assumed to start at a
 * byte boundary. */
struct sizes {
    uint64_t bits[3];
    uint64_t least;
};

static struct sizes sizes_of(const struct tally *t)
{
    uint32_t litlen[286];
    uint8_t litlen_lengths[286], distance_lengths[30];
    struct huff_header header;
    struct sizes sizes;

    memcpy(litlen, t->litlen, sizeof(litlen));
    litlen[256] = 1;
    huff_lengths(&work, litlen, 286, 15, litlen_lengths);
    huff_lengths(&work, t->distance, 30, 15, distance_lengths);
    huff_header_plan(&work, litlen_lengths, distance_lengths, &header);

    sizes.bits[STORED] = 8 * t->bytes + 40 * ((t->bytes + 65534) / 65535);
    sizes.bits[FIXED] = 3 + t->extra;
    sizes.bits[DYNAMIC] = 3 + t->extra + header.bits;
    for (unsigned i = 0; i < 286; i++) {
        sizes.bits[FIXED] += litlen[i] * (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
        sizes.bits[DYNAMIC] += litlen[i] * litlen_lengths[i];
    }
    for (unsigned i = 0; i < 30; i++) {
        sizes.bits[FIXED] += t->distance[i] * 5;
        sizes.bits[DYNAMIC] += t->distance[i] * distance_lengths[i];
    }
    sizes.least = sizes.bits[STORED];
    for (int type = FIXED; type <= DYNAMIC; type++)
        if (sizes.bits[type] < sizes.least)
            sizes.least = sizes.bits[type];
    return sizes;
}

/* Returns the entropy, in bits, of symbols that occur counts[0..n) times.  Sets *used to the number
 * of symbols that occur. */
static double entropy(const uint32_t *counts, unsigned n, unsigned *used)
{
    double sum = 0, bits = 0;

    for (unsigned i = 0; i < n; i++)
        sum += counts[i];
    for (unsigned i = 0; i < n; i++) {
        if (counts[i] > 0) {
            bits += counts[i] * log2(sum / counts[i]);
            (*used)++;
        }
    }
    return bits;
}

/* Returns the encoder's estimate of a block's size, by which it decides where blocks end
 * (encoder.c). */
static double estimate_of(const struct tally *t)
{
    const struct sizes sizes = sizes_of(t);
    uint32_t litlen[286];
    unsigned used = 0;
    double bits;

    memcpy(litlen, t->litlen, sizeof(litlen));
    litlen[256] = 1;
    bits = 3 + (double)t->extra + entropy(litlen, 286, &used) + entropy(t->distance, 30, &used);
    bits += 150 + 3.25 * used;
    bits = fmin(bits, (double)sizes.bits[FIXED]);
    return fmin(bits, (double)sizes.bits[STORED]);
}

/* Sets *sum to the symbols of *a and *b together. */
static void add_tallies(const struct tally *a, const struct tally *b, struct tally *sum)
{
    for (unsigned i = 0; i < 286; i++)
        sum->litlen[i] = a->litlen[i] + b->litlen[i];
    for (unsigned i = 0; i < 30; i++)
        sum->distance[i] = a->distance[i] + b->distance[i];
    sum->extra = a->extra + b->extra;
    sum->bytes = a->bytes + b->bytes;
}

/* The parts of a segment.  A block may end only at the end of a part. */
struct part {
    size_t end;
    struct tally tally;
};
static struct part parts[MAX_PARTS];
static size_t part_count;

/* Cuts the segment into parts.  A part ends with its chunk, or with the first sequence that ends at
 * least `split` bytes after the last cut, unless that sequence is the chunk's last. */
static void cut(const struct segment *s, size_t split)
{
    part_count = 0;
    for (size_t c = 0; c < LZ_CHUNKS(s->len); c++) {
        size_t pos = c * LZ_CHUNK_SIZE, start = pos;
        struct part *part = &parts[part_count];

        memset(part, 0, sizeof(*part));
        for (uint32_t i = 0; i <= s->chunks[c].count; i++) {
            struct lz_sequence q = {(uint16_t)(chunk_end(s, c) - pos), 0, 0};
            bool more = i < s->chunks[c].count;
            unsigned extra_bits;

            if (more)
                q = s->chunks[c].sequences[i];
            for (unsigned l = 0; l < q.literals; l++)
                part->tally.litlen[s->in[pos++]]++;
            if (more) {
                part->tally.litlen[length_symbol(q.length, &extra_bits)]++;
                part->tally.extra += extra_bits;
                part->tally.distance[distance_symbol(q.distance, &extra_bits)]++;
                part->tally.extra += extra_bits;
                pos += q.length;
            }
            if (!more || (pos - start >= split && i + 1 < s->chunks[c].count)) {
                part->tally.bytes = pos - start;
                part->end = start = pos;
                part = &parts[++part_count];
                memset(part, 0, sizeof(*part));
            }
        }
    }
}

/* The sizes of a block that consists of the parts from `first` up to, not including, `end`. */
static struct sizes block_sizes(const struct segment *s, size_t first, size_t end)
{
    struct tally all;

    memset(&all, 0, sizeof(all));
    cut(s, WHOLE_CHUNKS);
    for (size_t c = first; c < end; c++)
        add_tallies(&all, &parts[c].tally, &all);
    return sizes_of(&all);
}

/* --- Decoding --- */

struct block {
    unsigned type;
    bool final;
    uint64_t at, bits; /* where the block's code starts, and the code's size, in bits */
    size_t start, end; /* where the block's data starts and ends */
};

struct blocks {
    size_t count;
    struct block block[MAX_BLOCKS];
    uint64_t bits; /* the size of all blocks, in bits */
};

static unsigned bits_at(const uint8_t *data, uint64_t at, unsigned count)
{
    unsigned value = 0;

    for (unsigned i = 0; i < count; i++)
        value |= (unsigned)(data[(at + i) / 8] >> (at + i) % 8 & 1) << i;
    return value;
}

/* Inflates data[0..size) and notes its blocks.  Returns true if the output is want[0..len), the
 * last byte was used, and the last block is final if `last` is true and not final if `last` is
 * false. */
static bool decode(const uint8_t *data, size_t size, const uint8_t *want, size_t len, bool last,
                   struct blocks *blocks)
{
    uint8_t *out = unit_need(malloc(len + 1));
    z_stream z;
    int status = Z_OK;
    bool same;

    memset(&z, 0, sizeof(z));
    if (inflateInit2(&z, -15) != Z_OK)
        abort();
    z.next_in = (uint8_t *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)(len + 1);
    blocks->count = 0;
    blocks->bits = 0;
    while (status == Z_OK && blocks->bits < 8 * size) {
        struct block b = {0};

        b.at = blocks->bits;
        b.start = z.total_out;
        b.final = bits_at(data, b.at, 1);
        if (!b.final || last)
            b.type = bits_at(data, b.at + 1, 2);
        status = inflate(&z, Z_BLOCK);
        /* zlib's data_type.  128: zlib has stopped after a block.  64: that block was the final
         * one.  The lower bits: how many bits of the last byte zlib has not used. */
        if (status == Z_OK && z.data_type & 128) {
            blocks->bits = 8 * (uint64_t)z.total_in - (z.data_type & 63);
            b.end = z.total_out;
            b.bits = blocks->bits - b.at;
            if (CHECK(blocks->count < MAX_BLOCKS))
                blocks->block[blocks->count++] = b;
            if (z.data_type & 64)
                status = inflate(&z, Z_BLOCK);
        }
    }
    same = CHECK_EQ(z.total_out, len) && CHECK(memcmp(out, want, len) == 0);
    same = CHECK_EQ(status, last ? Z_STREAM_END : Z_OK) && same;
    same = CHECK_EQ(z.total_in, size) && same;
    inflateEnd(&z);
    free(out);
    return same;
}

/* Checks that the block at *b has the symbols in *tally, and the best type.  If that type is
 * "stored", several stored blocks may take the place of one.  Returns the block after them. */
static const struct block *check_block(const struct block *b, const struct block *end, size_t from,
                                       const struct tally *tally)
{
    const struct sizes sizes = sizes_of(tally);
    const size_t to = from + tally->bytes;
    const uint64_t aligning = -(b->at + 3) & 7;

    if (b->type != STORED) {
        CHECK_EQ(b->start, from);
        CHECK_EQ(b->end, to);
        CHECK_EQ(b->bits, sizes.bits[b->type]);
        CHECK_EQ(b->bits,
                 sizes.bits[FIXED] < sizes.bits[DYNAMIC] ? sizes.bits[FIXED] : sizes.bits[DYNAMIC]);
        CHECK(b->bits <= sizes.bits[STORED] - 5 + aligning);
        return b + 1;
    }
    CHECK(sizes.bits[STORED] - 5 + aligning <= sizes.bits[FIXED]);
    CHECK(sizes.bits[STORED] - 5 + aligning <= sizes.bits[DYNAMIC]);
    for (size_t pos = from; pos < to && b < end; b++) {
        size_t piece = to - pos < 65535 ? to - pos : 65535;

        CHECK_EQ(b->type, STORED);
        CHECK_EQ(b->start, pos);
        CHECK_EQ(b->end - b->start, piece);
        CHECK_EQ(b->bits, 3 + (-(b->at + 3) & 7) + 32 + 8 * piece);
        pos += piece;
    }
    return b;
}

/* True if one of the blocks from *b on ends at `pos`. */
static bool one_ends_at(const struct block *b, const struct block *end, size_t pos)
{
    while (b < end && b->end < pos)
        b++;
    return b < end && b->end == pos;
}

/*
 * Checks that blocks end where they should, and are as small as they should be.  A part joins the
 * block before it if one block is, by the encoder's estimate, no larger than two blocks.  The
 * encoder's logarithms are off by up to 0.001.  If the decision depends on such a difference, both
 * decisions are right.
 */
static void check_sizes(const struct segment *s, size_t split, bool last,
                        const struct blocks *blocks)
{
    const struct block *b = blocks->block, *end = b + blocks->count;
    static struct tally open, both;
    size_t from = 0;

    for (size_t i = 0; i < blocks->count; i++)
        CHECK_EQ(blocks->block[i].final, last && i + 1 == blocks->count);
    cut(s, split);
    memset(&open, 0, sizeof(open));
    for (size_t i = 0; i < part_count; i++) {
        const double off = 3 + 0.002 * (double)(open.bytes + parts[i].tally.bytes);
        double more;

        add_tallies(&open, &parts[i].tally, &both);
        more = estimate_of(&both) - estimate_of(&open) - estimate_of(&parts[i].tally);
        if (i == 0 || !one_ends_at(b, end, from + open.bytes)) {
            CHECK(i == 0 || more < off);
            open = both;
            continue;
        }
        CHECK(more > -off);
        b = check_block(b, end, from, &open);
        from += open.bytes;
        open = parts[i].tally;
    }
    if (s->len > 0 && CHECK(b < end))
        b = check_block(b, end, from, &open);
    CHECK_EQ(end - b, last ? s->len == 0 : 2); /* two empty blocks mark the segment's end */
}

/* `marked` is the encoded segment with a mark, that is, with two empty stored blocks at its end.
 * With HUFF_SYNC, a segment has only one of these blocks.  Checks that its bytes are those of
 * `marked` without the last five. */
static void check_sync(const struct segment *s, size_t split, const uint8_t *marked, size_t size)
{
    const size_t bound = huff_bound(s->len);
    uint8_t *out = unit_need(malloc(bound));
    size_t shorter = 0;

    if (CHECK(huff_encode_segment(encoder, s->in, s->len, s->chunks, split, HUFF_SYNC, out,
                                  &shorter)) &&
        CHECK_EQ(shorter, size - 5))
        CHECK(memcmp(out, marked, shorter) == 0);
    free(out);
}

/* Encodes a segment with this split, and checks everything.  Returns the size in bytes. */
static size_t check_split(const struct segment *s, size_t split, bool last, struct blocks *blocks)
{
    size_t bound = huff_bound(s->len), size = 0;
    uint8_t *out = unit_need(malloc(bound));

    if (CHECK(huff_encode_segment(encoder, s->in, s->len, s->chunks, split,
                                  last ? HUFF_LAST : HUFF_MARK, out, &size)) &&
        CHECK(size <= bound) && decode(out, size, s->in, s->len, last, blocks)) {
        check_sizes(s, split, last, blocks);
        CHECK_EQ(size, (blocks->bits + 7) / 8);
        if (!last) {
            static const uint8_t mark[] = {0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0xff};

            CHECK(size >= 10 && memcmp(out + size - sizeof(mark), mark, sizeof(mark)) == 0);
            CHECK_EQ(blocks->bits % 8, 0);
            check_sync(s, split, out, size);
        }
    } else {
        blocks->count = 0;
    }
    free(out);
    return size;
}

/* Encodes and checks a segment, with whole chunks as parts. */
static size_t check_segment(const struct segment *s, bool last, struct blocks *blocks)
{
    return check_split(s, WHOLE_CHUNKS, last, blocks);
}

/* --- Round trips and sizes --- */

static struct blocks blocks;

static void empty(void)
{
    struct segment s;

    segment_new(&s, 0);
    CHECK_EQ(check_segment(&s, true, &blocks), 2);
    CHECK_EQ(blocks.count, 1);
    CHECK_EQ(blocks.block[0].type, FIXED);
    CHECK_EQ(check_segment(&s, false, &blocks), 10);
    CHECK_EQ(blocks.count, 2);
    CHECK_EQ(blocks.block[0].type, STORED);
    CHECK_EQ(blocks.block[1].type, STORED);
    segment_free(&s);
}

/* Returns the type of the block for a segment of one chunk.  (check_segment checks that no other
 * type would be smaller.) */
static unsigned only_type(const struct segment *s)
{
    check_segment(s, false, &blocks);
    check_segment(s, true, &blocks);
    CHECK_EQ(blocks.count, 1);
    return blocks.block[0].type;
}

static void few_bytes(void)
{
    uint8_t scattered[40]; /* values far apart, so that a dynamic block's header takes many bits */
    uint64_t state = 12;

    for (size_t i = 0; i < sizeof(scattered); i++)
        scattered[i] = (uint8_t)unit_rand(&state);
    for (size_t len = 1; len <= 40; len++) {
        struct segment s;

        segment_new(&s, len);
        for (size_t i = 0; i < len; i++)
            s.in[i] = (uint8_t)(scattered[i] % 144);
        /* A block with fixed codes takes 8 bits for each literal, as a stored block does, but fewer
         * bits for its header and its end. */
        CHECK_EQ(only_type(&s), FIXED);
        for (size_t i = 0; i < len; i++)
            s.in[i] = (uint8_t)(144 + scattered[i] % 112);
        /* Fixed codes take 9 bits for each literal, and 10 bits more.  A stored block takes 8 bits
         * for each, and 40 bits more.  With 30 literals, both sizes are equal: fixed codes win. */
        CHECK_EQ(only_type(&s), len <= 30 ? FIXED : STORED);
        segment_free(&s);
    }
}

static void each_type_when_smallest(void)
{
    static const struct style flat = {0, 256, 0, 0, 1};
    uint64_t state = 1;
    struct segment s;

    segment_new(&s, LZ_CHUNK_SIZE);
    add_random(&s, 0, &flat, &state);
    CHECK_EQ(only_type(&s), STORED);
    CHECK_EQ(blocks.bits, 8 * (LZ_CHUNK_SIZE + 5));

    /* A literal, then a run one byte longer than 127 matches of 258 bytes.  The last match takes
     * two bytes from the match before it. */
    memset(s.in, 0, s.len);
    find_matches(&s);
    CHECK_EQ(s.chunks[0].count, 128);
    CHECK_EQ(only_type(&s), DYNAMIC);
    CHECK(blocks.bits < 8 * 64);
    segment_free(&s);

    segment_new(&s, 1000);
    find_matches(&s);
    CHECK_EQ(only_type(&s), FIXED);
    CHECK(blocks.bits < 8 * 16);
    segment_free(&s);
}

static void random_chunks(void)
{
    uint64_t state = 2;
    unsigned types[3] = {0};

    for (unsigned round = 0; round < 1500; round++) {
        struct style style = random_style(&state);
        size_t len = 1 + unit_below(&state, round % 50 == 0 ? LZ_CHUNK_SIZE : 1 + round);
        struct segment s;

        segment_new(&s, len);
        add_random(&s, 0, &style, &state);
        types[only_type(&s)]++;
        segment_free(&s);
    }
    for (int type = STORED; type <= DYNAMIC; type++)
        CHECK(types[type] >= 20);
    printf("# %u stored, %u fixed, %u dynamic\n", types[STORED], types[FIXED], types[DYNAMIC]);
}

/* Tests chunks of different styles.  Some styles are repeated, so that joining chunks makes them
 * smaller. */
static void random_segments(void)
{
    uint64_t state = 3;

    for (unsigned round = 0; round < 60; round++) {
        size_t len = 1 + unit_below(&state, 7 * LZ_CHUNK_SIZE);
        struct style style = random_style(&state);
        struct segment s;

        segment_new(&s, len);
        for (size_t c = 0; c < LZ_CHUNKS(len); c++) {
            if (unit_below(&state, 2))
                style = random_style(&state);
            add_random(&s, c, &style, &state);
        }
        for (size_t i = 0; i < SPLITS; i++)
            check_split(&s, splits[i], round % 2 == 0, &blocks);
        segment_free(&s);
    }
}

/* Tests every length, with the smallest and the largest distance of every distance symbol. */
static void every_symbol(void)
{
    uint64_t state = 4;
    struct segment s;
    unsigned length = 3, distance = 1;
    struct lz_sequence *out;

    segment_new(&s, 20 * LZ_CHUNK_SIZE);
    out = s.sequences;
    for (size_t i = 0; i < s.len; i++)
        s.in[i] = (uint8_t)unit_rand(&state);
    for (size_t c = 1; c < LZ_CHUNKS(s.len); c++) {
        size_t pos = c * LZ_CHUNK_SIZE;

        s.chunks[c].sequences = out;
        while (pos + length <= chunk_end(&s, c)) {
            out->literals = 0;
            out->length = (uint16_t)length;
            out->distance = (uint16_t)distance;
            for (size_t i = 0; i < length; i++, pos++)
                s.in[pos] = s.in[pos - distance];
            out++;
            length = length == LZ_MAX_MATCH ? 3 : length + 1;
            /* 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, ...: each symbol's smallest and largest
             * distance. */
            if (distance < 5 || distance % 2 == 0)
                distance++;
            else
                distance += (1u << (30 - __builtin_clz(distance - 1))) - 1;
            if (distance > LZ_WINDOW_SIZE)
                distance = 1;
        }
        s.chunks[c].count = (uint32_t)(out - s.chunks[c].sequences);
    }
    CHECK(out - s.sequences > 256 * 8);
    check_segment(&s, true, &blocks);
    check_segment(&s, false, &blocks);
    segment_free(&s);
}

/* Adds a sequence to chunk c at `pos`, copies the match's bytes, and returns where the match
 * ends. */
static size_t add_match(struct segment *s, size_t c, size_t pos, size_t literals, size_t length,
                        size_t distance)
{
    struct lz_sequence *q = s->sequences + c * LZ_CHUNK_MAX_SEQUENCES + s->chunks[c].count++;

    s->chunks[c].sequences = s->sequences + c * LZ_CHUNK_MAX_SEQUENCES;
    *q = (struct lz_sequence){(uint16_t)literals, (uint16_t)length, (uint16_t)distance};
    pos += literals;
    for (size_t i = 0; i < length; i++, pos++)
        s->in[pos] = s->in[pos - distance];
    return pos;
}

/* The encoder gathers and writes several literals at a time, and compares several bytes of a match
 * at a time.  So try all numbers of literals from 0 to more than the encoder writes at a time,
 * before matches that are about as long as it compares at a time.  Chunks end with a match, or with
 * any number of literals. */
static void literals_and_lengths(void)
{
    static const size_t lengths[] = {3, 4, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 66, 258};
    uint64_t state = 12;
    struct segment s;

    for (size_t rest = 0; rest < 40; rest++) {
        size_t pos = 1;

        segment_new(&s, 2 * LZ_CHUNK_SIZE);
        for (size_t i = 0; i < s.len; i++)
            s.in[i] = (uint8_t)(unit_rand(&state) % 60);
        pos = add_match(&s, 0, 0, 1, 3, 1);
        for (size_t literals = rest % 2; literals < 40; literals += 2)
            for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
                pos = add_match(&s, 0, pos, literals, lengths[i],
                                1 + unit_below(&state, pos + literals));
        CHECK(pos + 40 < LZ_CHUNK_SIZE);
        pos = add_match(&s, 1, LZ_CHUNK_SIZE, LZ_CHUNK_SIZE - 258 - rest, 258, 1 + rest);
        CHECK_EQ(s.len - pos, rest);
        s.len -= rest / 2;
        check_segment(&s, true, &blocks);
        segment_free(&s);
    }
}

/* Three literals and a match fit between two flushes, except if they have long codes and the most
 * extra bits. */
static void long_codes(void)
{
    uint64_t state = 13;
    uint8_t lengths[286];
    unsigned rare = 0, too_long = 0;
    size_t pos = LZ_CHUNK_SIZE;
    struct segment s;

    segment_new(&s, 2 * LZ_CHUNK_SIZE);
    for (size_t i = 0; i < s.len; i++)
        s.in[i] = (uint8_t)(i < pos ? unit_rand(&state) : unit_below(&state, 8));
    for (unsigned i = 1; pos + 300 < s.len; i++) {
        if (i % 180 == 0) {
            for (unsigned k = 0; k < 3; k++)
                s.in[pos + k] = (uint8_t)(20 + rare++);
            pos = add_match(&s, 1, pos, 3, 131 + rare % 100, 24577 + unit_below(&state, 8000));
        } else {
            pos = add_match(&s, 1, pos, unit_below(&state, 4), 3 + unit_below(&state, 2), 1);
        }
    }
    CHECK(rare >= 60 && rare < 200);
    check_split(&s, WHOLE_CHUNKS, true, &blocks);
    CHECK_EQ(blocks.count, 2);

    /* The distance takes at least 14 bits.  The length takes its code and 5 extra bits. */
    cut(&s, WHOLE_CHUNKS);
    parts[1].tally.litlen[256] = 1;
    huff_lengths(&work, parts[1].tally.litlen, 286, 15, lengths);
    for (unsigned i = 20; i < 20 + rare; i += 3)
        too_long += lengths[i] + lengths[i + 1] + lengths[i + 2] + lengths[281] + 5 + 14 > 56;
    CHECK(too_long >= 15);
    segment_free(&s);
}

/* Each segment can be decoded alone.  Together, one after another, they make one stream. */
static void concatenated(void)
{
    static const size_t lens[] = {100000, 0, 1, LZ_CHUNK_SIZE, 77777, 3};
    static const size_t count = sizeof(lens) / sizeof(*lens);
    uint64_t state = 5;
    uint8_t *all = unit_need(malloc(400000)), *code = unit_need(malloc(400000));

    for (size_t used = 1; used <= count; used++) {
        size_t len = 0, size = 0;

        for (size_t i = 0; i < used; i++) {
            struct segment s;
            size_t n = 0;

            segment_new(&s, lens[i]);
            for (size_t c = 0; c < LZ_CHUNKS(s.len); c++) {
                struct style style = random_style(&state);

                add_random(&s, c, &style, &state);
            }
            check_split(&s, splits[i % SPLITS], false, &blocks);
            CHECK(huff_encode_segment(encoder, s.in, s.len, s.chunks, splits[i % SPLITS],
                                      i + 1 == used, code + size, &n));
            size += n;
            memcpy(all + len, s.in, s.len);
            len += s.len;
            segment_free(&s);
        }
        decode(code, size, all, len, true, &blocks);
    }
    free(all);
    free(code);
}

/* Data that does not compress grows by at most 0.01 % and a few bytes. */
static void incompressible(void)
{
    static const size_t lens[] = {1,       1000,   LZ_CHUNK_SIZE - 1, LZ_CHUNK_SIZE, 65535,
                                  65536,   65537,  3 * 65535,         MIB - 1,       MIB,
                                  MIB + 1, MAX_LEN};
    uint64_t state = 6;

    for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
        struct segment s;
        size_t size;

        segment_new(&s, lens[i]);
        for (size_t j = 0; j < s.len; j++)
            s.in[j] = (uint8_t)(unit_rand(&state) >> 56);
        find_matches(&s);
        for (size_t j = 0; j < SPLITS; j++) {
            size = check_split(&s, splits[j], true, &blocks);
            CHECK(size <= s.len + s.len / 10000 + 8);
            size = check_split(&s, splits[j], false, &blocks);
            CHECK(size <= s.len + s.len / 10000 + 8 + 10);
        }
        segment_free(&s);
    }
}

/* Appends to `out` a stored block as the RFC defines it, as huff_store should write it.  Returns
 * the block's end. */
static uint8_t *put_stored(uint8_t *out, const uint8_t *in, size_t len, bool final)
{
    const uint8_t header[] = {final, len & 0xff, len >> 8, ~len & 0xff, ~len >> 8 & 0xff};

    memcpy(out, header, sizeof(header));
    memcpy(out + sizeof(header), in, len);
    return out + sizeof(header) + len;
}

static void stored(void)
{
    static const size_t lens[] = {0,     1,      1000,   65534,   65535,     65536,
                                  65540, 131070, 131071, MIB - 1, 3 * 65535, MAX_LEN};
    static const enum huff_end ends[] = {HUFF_LAST, HUFF_MARK, HUFF_SYNC, HUFF_MORE};
    uint8_t *in = unit_need(malloc(MAX_LEN)), *want = unit_need(malloc(huff_bound(MAX_LEN)));
    uint64_t state = 7;

    for (size_t j = 0; j < MAX_LEN; j++)
        in[j] = (uint8_t)unit_rand(&state);
    for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
        for (size_t e = lens[i] == 0 ? 3 : 0; e < 4; e++) {
            const enum huff_end end = lens[i] == 0 ? HUFF_LAST : ends[e];
            uint8_t *out = unit_need(malloc(huff_bound(lens[i]))), *to = want;
            size_t from = 0;

            for (; lens[i] - from > 65535; from += 65535)
                to = put_stored(to, in + from, 65535, false);
            to = put_stored(to, in + from, lens[i] - from, end == HUFF_LAST);
            if (end == HUFF_MARK || end == HUFF_SYNC)
                to = put_stored(to, in, 0, false);
            if (end == HUFF_MARK)
                to = put_stored(to, in, 0, false);
            CHECK_EQ(huff_store(in, lens[i], end, out), to - want);
            CHECK(memcmp(out, want, (size_t)(to - want)) == 0);
            free(out);
        }
    free(in);
    free(want);
}

/* Every second chunk does not compress, and the other chunks compress hardly or not at all.  Each
 * chunk is a block of its own, so the segment has the most headers. */
static void worst_mixtures(void)
{
    static const struct style others[] = {
        {0, 1, 0, 0, 1},           /* zeros */
        {128, 128, 0, 0, 1},       /* 7 bits for each literal */
        {0, 250, 0, 0, 1},         /* nearly 8 bits for each literal */
        {0, 256, 1, 3, 32768},     /* far matches that cost as much as literals */
        {0, 256, 2000, 3, 32768},  /* the same, but few matches */
        {0, 256, 30000, 258, 100}, /* almost random */
    };
    static const struct style flat = {0, 256, 0, 0, 1};
    uint64_t state = 7;

    for (size_t o = 0; o < sizeof(others) / sizeof(*others); o++) {
        struct segment s;

        segment_new(&s, MIB - o);
        for (size_t c = 0; c < LZ_CHUNKS(s.len); c++)
            add_random(&s, c, c % 2 ? &others[o] : &flat, &state);
        check_segment(&s, o % 2 == 0, &blocks);
        segment_free(&s);
    }
}

/* --- Chunks that share a block --- */

/* Encodes chunks of two styles in turn, with `each` chunks of one style before the next.  Returns
 * the number of blocks. */
static size_t count_blocks(const struct style *a, const struct style *b, size_t chunks, size_t each)
{
    uint64_t state = 8;
    struct segment s;

    segment_new(&s, chunks * LZ_CHUNK_SIZE - 100);
    for (size_t c = 0; c < chunks; c++)
        add_random(&s, c, c / each % 2 ? b : a, &state);
    check_segment(&s, false, &blocks);
    /* Do not count the block that marks the segment's end. */
    CHECK(blocks.count > 0 && blocks.block[blocks.count - 1].start == s.len);
    check_segment(&s, true, &blocks);
    segment_free(&s);
    return blocks.count;
}

static void sharing(void)
{
    /* With equally likely literals, a chunk's own code could gain more by chance than its header
     * costs.  With the probabilities of `low` and `high`, the same code is the best for all chunks
     * of a style. */
    static const struct style low = {'a', 0, 0, 0, 1}, high = {200, 0, 0, 0, 1};
    static const struct style matches = {'a', 16, 20, 20, 5000}, zeros = {0, 1, 0, 0, 1};
    static const struct style flat = {0, 256, 0, 0, 1};

    CHECK_EQ(count_blocks(&low, &low, 2, 1), 1);
    CHECK_EQ(count_blocks(&low, &low, 32, 1), 1);
    /* Two blocks are allowed, since the first chunk has fewer possible distances. */
    CHECK(count_blocks(&matches, &matches, 32, 1) <= 2);
    CHECK_EQ(count_blocks(&zeros, &zeros, 32, 1), 1);
    /* In separate blocks, the two styles take 2 bits for each byte.  In one block, they take 3
     * bits. */
    CHECK_EQ(count_blocks(&low, &high, 2, 1), 2);
    CHECK_EQ(count_blocks(&low, &high, 32, 1), 32);
    CHECK_EQ(count_blocks(&low, &high, 32, 4), 8);
    CHECK_EQ(count_blocks(&low, &high, 32, 16), 2);
    CHECK_EQ(count_blocks(&low, &matches, 32, 8), 4);
    /* A stored block has at most 65535 bytes, so 1 MiB less 100 bytes takes 16 blocks. */
    CHECK_EQ(count_blocks(&flat, &flat, 32, 1), 16);
    CHECK_EQ(count_blocks(&zeros, &flat, 2, 1), 2);
}

/* The encoder decides by an estimate whether two chunks become one block or two.  The result must
 * be the smaller of the two by exact sizes, or only a little larger than that. */
static void sharing_is_about_exact(void)
{
    uint64_t state = 9;
    unsigned together = 0, apart = 0;

    for (unsigned round = 0; round < 120; round++) {
        struct style a = random_style(&state), b = a;
        struct segment s;
        uint64_t one, two;

        /* Make the styles similar, so that the two results have nearly the same size. */
        b.values = 1 + (unsigned)((b.values + unit_below(&state, 3)) % 256);
        if (b.first + b.values > 256)
            b.first = 256 - b.values;
        segment_new(&s, LZ_CHUNK_SIZE + 1 + unit_below(&state, 3000));
        add_random(&s, 0, &a, &state);
        add_random(&s, 1, &b, &state);
        check_segment(&s, true, &blocks);
        one = block_sizes(&s, 0, 2).least;
        two = block_sizes(&s, 0, 1).least + block_sizes(&s, 1, 2).least;
        CHECK(blocks.bits <= (one < two ? one : two) + 200);
        together += one < two;
        apart += one > two;
        segment_free(&s);
    }
    CHECK(together >= 10);
    CHECK(apart >= 10);
    printf("# %u together, %u apart\n", together, apart);
}

/* A chunk that is best stored comes before a few bytes that are not.  If these bytes were in the
 * chunk's block, they would be stored, too. */
static void short_tail(void)
{
    static const struct style flat = {0, 256, 0, 0, 1};
    uint64_t state = 13;

    for (size_t tail = 1; tail <= 300; tail += 13) {
        struct segment s;

        segment_new(&s, LZ_CHUNK_SIZE + tail);
        add_random(&s, 0, &flat, &state);
        find_matches(&s);
        check_segment(&s, true, &blocks);
        CHECK(blocks.bits <= block_sizes(&s, 0, 1).least + block_sizes(&s, 1, 2).least + 2);
        CHECK_EQ(blocks.block[0].type, STORED);
        segment_free(&s);
    }
}

/* --- Blocks that end within chunks --- */

/* Adds a sequence with distance 1 to chunk `c`, whose sequences end at `pos` so far.  The literals
 * must be in the segment's input already.  Returns where the sequence ends. */
static size_t add_sequence(struct segment *s, size_t c, size_t pos, size_t literals, size_t length)
{
    struct lz_sequence *out = s->sequences + c * LZ_CHUNK_MAX_SEQUENCES;

    s->chunks[c].sequences = out;
    out[s->chunks[c].count++] = (struct lz_sequence){(uint16_t)literals, (uint16_t)length, 1};
    pos += literals;
    memset(s->in + pos, s->in[pos - 1], length);
    return pos + length;
}

/* Where the blocks of find_ends end. */
static size_t ends[MAX_BLOCKS];

static size_t find_ends(const struct segment *s)
{
    size_t count = 0;

    check_split(s, 8192, true, &blocks);
    for (size_t i = 0; i < blocks.count; i++)
        ends[count++] = blocks.block[i].end;
    return count;
}

/* Fills out[0..len) with random literals: `values` equally likely values from `first` on. */
static void fill_values(uint8_t *out, size_t len, unsigned first, unsigned values, uint64_t *state)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(first + unit_below(state, values));
}

/* The data changes at a place, and a match ends there or nearby.  Tests exactly where a block may
 * end. */
static void cuts(void)
{
    uint64_t state = 14;

    for (size_t at = 8190; at <= 8194; at++) {
        struct segment s;
        size_t pos, count;

        /* A match that ends at `at`, and matches that end several hundred bytes later.  The rest is
         * literals. */
        segment_new(&s, 2 * LZ_CHUNK_SIZE);
        fill_values(s.in, at, 0, 4, &state);
        fill_values(s.in + at, s.len - at, 128, 4, &state);
        pos = add_sequence(&s, 0, 0, at - 10, 10);
        CHECK_EQ(pos, at);
        pos = add_sequence(&s, 0, pos, 500, 20);
        pos = add_sequence(&s, 0, pos, 500, 20);
        count = find_ends(&s);
        CHECK_EQ(count, 2);
        CHECK_EQ(ends[0], at >= 8192 ? at : at + 520);

        /* The rest of a chunk belongs to its last part.  So without a later sequence in the chunk,
         * no block can end with this match. */
        s.chunks[0].count = 1;
        fill_values(s.in + at, LZ_CHUNK_SIZE - at, 0, 4, &state);
        count = find_ends(&s);
        CHECK_EQ(count, 2);
        CHECK_EQ(ends[0], LZ_CHUNK_SIZE);
        segment_free(&s);
    }

    for (size_t before = 0; before <= 2; before++) {
        struct segment s;
        size_t pos = 0, count;

        /* The first sequence has more literals than a part needs.  The second, if there is one,
         * ends with the chunk, where a part ends in any case. */
        segment_new(&s, LZ_CHUNK_SIZE + 20000);
        fill_values(s.in, 20000, 0, 4, &state);
        fill_values(s.in + 20000, LZ_CHUNK_SIZE - 20000, 100, 3, &state);
        fill_values(s.in + LZ_CHUNK_SIZE, 20000, 200, 5, &state);
        if (before > 0)
            pos = add_sequence(&s, 0, pos, 19900, 100);
        if (before > 1)
            pos = add_sequence(&s, 0, pos, LZ_CHUNK_SIZE - pos - 258, 258);
        count = find_ends(&s);
        CHECK_EQ(count, before > 1 ? 3 : 2);
        CHECK_EQ(ends[0], before > 1 ? 20000 : LZ_CHUNK_SIZE);
        CHECK_EQ(ends[count - 1], s.len);

        /* Add two sequences to the next chunk, which ends with the segment. */
        pos = add_sequence(&s, 1, LZ_CHUNK_SIZE, 10000, 258);
        fill_values(s.in + pos, s.len - pos, 0, 2, &state);
        pos = add_sequence(&s, 1, pos, s.len - pos - 3, 3);
        CHECK_EQ(pos, s.len);
        count = find_ends(&s);
        CHECK_EQ(count, before > 1 ? 4 : 3);
        CHECK_EQ(ends[count - 2], LZ_CHUNK_SIZE + 10258);
        segment_free(&s);
    }
}

/* Tests a block that starts within a chunk, covers two whole chunks, one of which has only
 * literals, and ends within the last chunk. */
static void spanning(void)
{
    uint64_t state = 15;
    struct segment s;
    size_t pos, count;

    segment_new(&s, 5 * LZ_CHUNK_SIZE - 77);
    fill_values(s.in, 10000, 0, 4, &state);
    fill_values(s.in + 10000, 3 * LZ_CHUNK_SIZE, 100, 4, &state);
    fill_values(s.in + 3 * LZ_CHUNK_SIZE + 10000, 2 * LZ_CHUNK_SIZE - 10077, 200, 4, &state);
    for (size_t c = 0; c < 4; c++) {
        if (c == 2)
            continue;
        pos = c * LZ_CHUNK_SIZE;
        for (unsigned i = 0; i < 15; i++)
            pos = add_sequence(&s, c, pos, 1980, 20);
    }
    count = find_ends(&s);
    CHECK_EQ(count, 3);
    CHECK_EQ(ends[0], 10000); /* the fifth match is the first to end after 8192 bytes */
    CHECK_EQ(ends[1], 3 * LZ_CHUNK_SIZE + 10000);
    segment_free(&s);
}

/* Tests chunks whose style changes at any place, in segments of any size.  Some chunks have no
 * sequences. */
static void cuts_are_exact(void)
{
    uint64_t state = 16;
    unsigned within = 0, across = 0;

    for (unsigned round = 0; round < 60; round++) {
        size_t len = 1 + unit_below(&state, 6 * LZ_CHUNK_SIZE);
        struct style style = random_style(&state);
        struct segment s;

        segment_new(&s, len);
        for (size_t c = 0; c < LZ_CHUNKS(len); c++)
            add_changing(&s, c, &style, &state);
        for (size_t i = 0; i < SPLITS; i++) {
            check_split(&s, splits[i], round % 2 == 0, &blocks);
            for (size_t j = 0; j + 1 < blocks.count; j++) {
                const struct block *b = &blocks.block[j];

                within += b->type != STORED && b->end % LZ_CHUNK_SIZE != 0;
                across += b->type != STORED && b->start % LZ_CHUNK_SIZE != 0 &&
                          b->start / LZ_CHUNK_SIZE != (b->end - 1) / LZ_CHUNK_SIZE;
            }
        }
        segment_free(&s);
    }
    CHECK(within >= 100);
    CHECK(across >= 20);
    printf("# %u blocks end within a chunk, %u go on from within one to the next\n", within,
           across);
}

/*
 * Every few KiB, as soon as a part may end, the data changes between bytes that do not compress and
 * bytes that compress well or hardly.  So the segment has the largest number of headers, and each
 * stored block needs bits to align it.
 */
static void hostile_parts(void)
{
    static const struct {
        unsigned first, values;
    } others[] = {{0, 1}, {0, 2}, {144, 112}, {0, 250}, {0, 256}};
    uint64_t state = 17;

    for (size_t o = 0; o < sizeof(others) / sizeof(*others); o++) {
        for (size_t i = 0; i < SPLITS; i++) {
            struct segment s;
            size_t size;

            segment_new(&s, 24 * LZ_CHUNK_SIZE - o);
            for (size_t c = 0; c < LZ_CHUNKS(s.len); c++) {
                size_t pos = c * LZ_CHUNK_SIZE, part = splits[i] < 16384 ? splits[i] : 4096;

                for (unsigned n = 0; pos + part <= chunk_end(&s, c); n++) {
                    bool flat = (n + c) % 2;

                    fill_values(s.in + pos, part, flat ? 0 : others[o].first,
                                flat ? 256 : others[o].values, &state);
                    pos = add_sequence(&s, c, pos, part - 3, 3);
                }
                fill_values(s.in + pos, chunk_end(&s, c) - pos, 0, 256, &state);
            }
            size = check_split(&s, splits[i], o % 2 == 0, &blocks);
            /* At least half of the data is random, except for the matches. */
            CHECK(size > s.len / 2 - s.len / HUFF_SPLIT_MIN * 3);
            if (o == 4)
                CHECK(size <= s.len + s.len / 10000 + 13);
            segment_free(&s);
        }
    }
}

/* Fills HUFF_SPLIT_MIN bytes from `pos` on with a part that the encoder estimates to be only a
 * little smaller as a compressed block than as a stored block.  The part has just few enough
 * different values for that. */
static void fill_hardly_smaller(struct segment *s, size_t pos, uint64_t *state)
{
    for (unsigned values = 256; values > 128; values--) {
        struct segment part;
        double bits;

        segment_new(&part, HUFF_SPLIT_MIN);
        fill_values(part.in, part.len, 0, values, state);
        add_sequence(&part, 0, 0, part.len - 3, 3);
        cut(&part, WHOLE_CHUNKS);
        bits = estimate_of(&parts[0].tally);
        memcpy(s->in + pos, part.in, part.len);
        segment_free(&part);
        if (bits < 8 * HUFF_SPLIT_MIN)
            break;
    }
}

/* Makes as many blocks as possible.  Every other part is stored.  Between stored parts is a part
 * that a compressed block makes a few bits smaller, so that it is not stored. */
static void most_blocks(void)
{
    const size_t pairs = 96;
    uint64_t state = 19;
    struct segment s;
    size_t size;

    segment_new(&s, 2 * pairs * HUFF_SPLIT_MIN);
    fill_values(s.in, s.len, 0, 256, &state);
    for (size_t pos = 0; pos < s.len;) {
        if (pos / HUFF_SPLIT_MIN % 2)
            fill_hardly_smaller(&s, pos, &state);
        pos = add_sequence(&s, pos / LZ_CHUNK_SIZE, pos, HUFF_SPLIT_MIN - 3, 3);
    }
    size = check_split(&s, HUFF_SPLIT_MIN, false, &blocks);
    CHECK_EQ(blocks.count, 2 * pairs + 2);
    CHECK(size < s.len && size > s.len - s.len / 50);
    segment_free(&s);
}

/* --- The best blocks --- */

/* Whether parts [begin, end) may be a block with HUFF_BEST.  A block of less than HUFF_SPLIT_MIN
 * bytes must end where a chunk ends. */
static bool may_be_block(const struct segment *s, size_t begin, size_t end)
{
    const size_t start = begin == 0 ? 0 : parts[begin - 1].end, stop = parts[end - 1].end;

    return stop - start >= HUFF_SPLIT_MIN || stop % LZ_CHUNK_SIZE == 0 || stop == s->len;
}

/* Lengths of segments in these tests.  The textbook method takes long for long ones. */
#define LONG_ENOUGH ((size_t)64 << 10)

/* Returns the least sum of estimates of all divisions of the segment's parts into blocks. */
static double least_of_divisions(const struct segment *s)
{
    static double least[MAX_PARTS + 1];

    least[part_count] = 0;
    for (size_t begin = part_count; begin-- > 0;) {
        struct tally block = {0};

        least[begin] = INFINITY;
        for (size_t end = begin + 1; end <= part_count; end++) {
            add_tallies(&block, &parts[end - 1].tally, &block);
            if (may_be_block(s, begin, end))
                least[begin] = fmin(least[begin], estimate_of(&block) + least[end]);
        }
    }
    return least[0];
}

/* Encodes a segment with HUFF_BEST, and checks that it has the best blocks, apart from errors of
 * the encoder's logarithms.  Returns the size in bytes. */
static size_t check_best(const struct segment *s)
{
    const struct block *b = blocks.block, *end;
    uint8_t *out = unit_need(malloc(huff_bound(s->len)));
    size_t size = 0, from = 0;
    double estimate = 0;
    struct tally open = {0};

    if (!CHECK(huff_encode_segment(encoder, s->in, s->len, s->chunks, HUFF_BEST, HUFF_LAST, out,
                                   &size)) ||
        !CHECK(size <= huff_bound(s->len)) || !decode(out, size, s->in, s->len, true, &blocks)) {
        free(out);
        return size;
    }
    free(out);
    end = blocks.block + blocks.count;
    cut(s, BEST_SPLIT);
    for (size_t i = 0; i < part_count && b < end; i++) {
        add_tallies(&open, &parts[i].tally, &open);
        if (!one_ends_at(b, end, from + open.bytes))
            continue;
        b = check_block(b, end, from, &open);
        estimate += estimate_of(&open);
        from += open.bytes;
        open = (struct tally){0};
    }
    CHECK_EQ(from, s->len);
    CHECK(b == end);
    CHECK(estimate <= least_of_divisions(s) + 3 + 0.004 * (double)s->len);
    return size;
}

/* Random segments.  Many of them become smaller than with the smallest split. */
static void best_blocks(void)
{
    uint64_t state = 20;
    unsigned smaller = 0;

    for (unsigned round = 0; round < 60; round++) {
        struct style style = random_style(&state);
        const size_t len = 1 + unit_below(&state, (round % 4 + 1) * LONG_ENOUGH);
        struct segment s;

        segment_new(&s, len);
        for (size_t c = 0; c < LZ_CHUNKS(len); c++)
            add_changing(&s, c, &style, &state);
        smaller += check_best(&s) < check_split(&s, HUFF_SPLIT_MIN, true, &blocks);
        segment_free(&s);
    }
    CHECK(smaller >= 20);
    printf("# %u of 60 are smaller than with the smallest split\n", smaller);
}

/* Data that changes every 2 KiB, and data that does not compress: the output keeps to its bound. */
static void best_blocks_of_hostile_data(void)
{
    uint64_t state = 21;

    for (unsigned values = 0; values <= 256; values += 64) {
        struct segment s;

        segment_new(&s, LONG_ENOUGH);
        for (size_t pos = 0, n = 0; pos + BEST_SPLIT < s.len; n++) {
            fill_values(s.in + pos, BEST_SPLIT, 0, n % 2 == 0 ? 256 : 1 + values % 256, &state);
            pos = add_sequence(&s, pos / LZ_CHUNK_SIZE, pos, BEST_SPLIT - 3, 3);
        }
        check_best(&s);
        segment_free(&s);
    }
}

/* In data that does not change, blocks are long.  One ends after DIVIDED_CHUNKS chunks. */
static void best_blocks_of_a_long_segment(void)
{
    static const struct style style = {'a', 4, 30, 60, 32768};
    uint64_t state = 22;
    struct segment s;
    uint8_t *out;
    size_t size = 0;

    segment_new(&s, MAX_CHUNKS * LZ_CHUNK_SIZE - 5);
    for (size_t c = 0; c < MAX_CHUNKS; c++)
        add_random(&s, c, &style, &state);
    out = unit_need(malloc(huff_bound(s.len)));
    CHECK(huff_encode_segment(encoder, s.in, s.len, s.chunks, HUFF_BEST, HUFF_LAST, out, &size));
    if (decode(out, size, s.in, s.len, true, &blocks)) {
        CHECK(blocks.count < 8);
        CHECK(
            one_ends_at(blocks.block, blocks.block + blocks.count, DIVIDED_CHUNKS * LZ_CHUNK_SIZE));
    }
    free(out);
    segment_free(&s);
}

/* Encodes the sequences that each level finds, with each split. */
static void every_level_and_split(void)
{
    uint64_t state = 18;
    struct segment s;

    segment_new(&s, 3 * LZ_CHUNK_SIZE + 100);
    for (size_t pos = 0; pos < s.len;) {
        size_t n = 1 + unit_below(&state, 9000);

        n = n < s.len - pos ? n : s.len - pos;
        fill_values(s.in + pos, n, (unsigned)unit_below(&state, 100),
                    1 + (unsigned)unit_below(&state, 150), &state);
        pos += n;
    }
    for (int level = LZ_LEVEL_MIN; level <= LZ_LEVEL_MAX; level++) {
        find_matches_of(&s, level);
        if (lz_level(level)->split == HUFF_BEST)
            check_best(&s);
        else
            check_split(&s, lz_level(level)->split, true, &blocks);
        for (size_t i = 0; i < SPLITS; i++)
            check_split(&s, splits[i], false, &blocks);
    }
    segment_free(&s);
}

/* --- Wrong sequences --- */

/* True if the encoder accepts the segment.  If the encoder does, also checks that the output
 * decodes to the input. */
static bool accepts(const struct segment *s)
{
    uint8_t *out = unit_need(malloc(huff_bound(s->len)));
    size_t size = 0;
    bool ok;

    /* The split must not change whether the encoder accepts the segment. */
    ok = huff_encode_segment(encoder, s->in, s->len, s->chunks, HUFF_SPLIT_MIN, HUFF_LAST, out,
                             &size);
    CHECK_EQ(
        huff_encode_segment(encoder, s->in, s->len, s->chunks, WHOLE_CHUNKS, HUFF_LAST, out, &size),
        ok);
    CHECK_EQ(
        huff_encode_segment(encoder, s->in, s->len, s->chunks, HUFF_BEST, HUFF_LAST, out, &size),
        ok);
    if (ok)
        decode(out, size, s->in, s->len, true, &blocks);
    free(out);
    return ok;
}

/*
 * True if the encoder accepts one sequence in a segment of zeros.  In zeros, the bytes of any match
 * are right, so a refusal must be because of the sequence's numbers.
 */
static bool accepts_zeros(size_t len, size_t chunk, unsigned literals, unsigned length,
                          unsigned distance)
{
    static uint8_t zeros[70000 + 3 * LZ_CHUNK_SIZE + 70000];
    struct lz_sequence q = {(uint16_t)literals, (uint16_t)length, (uint16_t)distance};
    struct segment s = {.in = zeros + 70000, .len = len};

    s.chunks[chunk].sequences = &q;
    s.chunks[chunk].count = 1;
    return accepts(&s);
}

static void numbers_out_of_range(void)
{
    static const size_t len = 2 * LZ_CHUNK_SIZE + 100;

    /* Lengths. */
    for (unsigned length = 0; length <= 400; length++)
        CHECK_EQ(accepts_zeros(len, 0, 1, length, 1), length >= 3 && length <= 258);
    CHECK(!accepts_zeros(len, 0, 1, 65535, 1));
    CHECK(!accepts_zeros(len, 0, 1, 32768, 1));

    /* Distances: zero, to before the segment's start, and beyond the window. */
    for (unsigned literals = 0; literals <= 20; literals++)
        for (unsigned distance = 0; distance <= 22; distance++)
            CHECK_EQ(accepts_zeros(len, 0, literals, 3, distance),
                     distance >= 1 && distance <= literals);
    CHECK(!accepts_zeros(len, 0, 1000, 258, 65535));
    CHECK(!accepts_zeros(len, 0, 32000, 3, 32001));
    CHECK(accepts_zeros(len, 0, 32000, 3, 32000));
    CHECK(accepts_zeros(len, 1, 0, 3, 32768));
    CHECK(!accepts_zeros(len, 1, 0, 3, 32769));
    CHECK(!accepts_zeros(len, 1, 1, 3, 32769));
    CHECK(accepts_zeros(len, 2, 50, 3, 32768));
    CHECK(!accepts_zeros(len, 2, 50, 3, 32769));
    CHECK(!accepts_zeros(len, 2, 50, 3, 65535));
    CHECK(!accepts_zeros(len, 2, 50, 3, 0));

    /* Matches across the end of a chunk, and across the end of the segment. */
    for (unsigned length = 3; length <= 258; length += 17) {
        for (unsigned over = 0; over <= 3; over++) {
            CHECK_EQ(accepts_zeros(len, 0, LZ_CHUNK_SIZE - length + over, length, 1), over == 0);
            CHECK_EQ(accepts_zeros(len, 1, LZ_CHUNK_SIZE - length + over, length, 1), over == 0);
        }
    }
    for (unsigned over = 0; over <= 3; over++)
        CHECK_EQ(accepts_zeros(len, 2, 97 + over, 3, 1), over == 0);
    CHECK(!accepts_zeros(len, 0, 65535, 3, 1));
    CHECK(!accepts_zeros(len, 2, 65535, 3, 1));
    CHECK(!accepts_zeros(1, 0, 1, 3, 1));
    CHECK(!accepts_zeros(3, 0, 1, 3, 1));
    CHECK(accepts_zeros(4, 0, 1, 3, 1));
}

/* Tests, for every length, a match with one wrong bit in one byte, and a match that is right only
 * up to its last byte. */
static void bytes_that_differ(void)
{
    uint64_t state = 10;
    struct segment s;

    segment_new(&s, 2000);
    for (size_t i = 0; i < s.len; i++)
        s.in[i] = (uint8_t)unit_rand(&state);
    s.chunks[0].count = 1;
    for (unsigned length = 3; length <= 258; length++) {
        const struct lz_sequence q = {1000, (uint16_t)length, 900};
        uint8_t *match = s.in + q.literals;

        s.sequences[0] = q;
        memcpy(match, match - q.distance, length);
        match[length] = (uint8_t) ~*(match - q.distance + length);
        CHECK(accepts(&s));
        for (unsigned bit = 0; bit < 8; bit++) {
            match[length - 1] ^= (uint8_t)(1u << bit);
            CHECK(!accepts(&s));
            match[length - 1] ^= (uint8_t)(1u << bit);
        }
        for (unsigned at = 0; at < length; at++) {
            match[at] ^= (uint8_t)(1u << at % 8);
            CHECK(!accepts(&s));
            match[at] ^= (uint8_t)(1u << at % 8);
        }
        s.sequences[0].distance++;
        CHECK(!accepts(&s));
    }
    segment_free(&s);
}

/* The number of matches in the second chunk of bytes_that_differ_among_many: enough for two vectors
 * of sequences, and some more. */
#define MANY 40

/* Fills the first chunk with zeros, and with matches of one length, either long or short. */
static void add_zeros(struct segment *s, bool long_matches)
{
    const unsigned literals = 5, length = long_matches ? LZ_MAX_MATCH : LZ_MIN_MATCH;
    size_t pos = 0;

    memset(s->in, 0, LZ_CHUNK_SIZE);
    s->chunks[0].count = 0;
    for (; pos + literals + length <= LZ_CHUNK_SIZE; pos += literals + length)
        s->sequences[s->chunks[0].count++] =
            (struct lz_sequence){(uint16_t)literals, (uint16_t)length, 1};
}

/* Tests, for every length, one wrong bit in one of many matches.  The chunk before has long matches
 * or short ones, since the encoder may compare matches in another way after long ones. */
static void bytes_that_differ_among_many(void)
{
    const unsigned literals = 7;
    uint64_t state = 12;
    struct segment s;

    segment_new(&s, 2 * LZ_CHUNK_SIZE);
    s.chunks[1].sequences = s.sequences + LZ_CHUNK_MAX_SEQUENCES;
    s.chunks[1].count = MANY;
    for (unsigned length = 3; length <= 258; length++) {
        size_t pos = LZ_CHUNK_SIZE;

        add_zeros(&s, length % 2 == 0);
        for (size_t i = pos; i < s.len; i++)
            s.in[i] = (uint8_t)unit_rand(&state);
        for (unsigned i = 0; i < MANY; i++) {
            const unsigned distance = 1 + (unsigned)unit_below(&state, 2000);

            s.sequences[LZ_CHUNK_MAX_SEQUENCES + i] =
                (struct lz_sequence){(uint16_t)literals, (uint16_t)length, (uint16_t)distance};
            pos += literals;
            for (unsigned k = 0; k < length; k++, pos++)
                s.in[pos] = s.in[pos - distance];
        }
        CHECK(accepts(&s));
        for (unsigned i = 0; i < 8; i++) {
            const unsigned match = i % 2 ? MANY - 1 : (unsigned)unit_below(&state, MANY);
            const unsigned at = i < 2 ? length - 1 : (unsigned)unit_below(&state, length);
            uint8_t *byte = s.in + LZ_CHUNK_SIZE + match * (literals + length) + literals + at;

            *byte ^= (uint8_t)(1u << i);
            CHECK(!accepts(&s));
            *byte ^= (uint8_t)(1u << i);
        }
    }
    segment_free(&s);
}

/* The least length or distance of a symbol must have that symbol.  The next smaller length or
 * distance must have another symbol. */
static void least_values(void)
{
    for (unsigned i = DEFLATE_FIRST_LENGTH; i < DEFLATE_LITLEN_SYMBOLS; i++) {
        const unsigned length = deflate_least_length(i);

        CHECK_EQ(deflate_length_symbol(length), i);
        CHECK(length == LZ_MIN_MATCH || deflate_length_symbol(length - 1) == i - 1);
    }
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++) {
        const unsigned distance = deflate_least_distance(i);

        CHECK_EQ(deflate_distance_symbol(distance), i);
        CHECK(distance == 1 || deflate_distance_symbol(distance - 1) == i - 1);
    }
}

/* One number of one sequence in a large segment is changed, as by a broken engine.  If the sequence
 * is still a match by chance, the output must decode to the input.  Otherwise, the encoder must
 * refuse the segment.  After refusals, the encoder must work as before. */
static void damaged_lists(void)
{
    static const struct style style = {'a', 4, 30, 60, 32768};
    uint64_t state = 11;
    unsigned refused = 0;
    struct segment s;

    segment_new(&s, 3 * LZ_CHUNK_SIZE - 50);
    for (size_t c = 0; c < 3; c++)
        add_random(&s, c, &style, &state);
    for (unsigned round = 0; round < 400; round++) {
        struct lz_chunk *chunk = &s.chunks[unit_below(&state, 3)];
        struct lz_sequence *q =
            s.sequences + (chunk->sequences - s.sequences) + unit_below(&state, chunk->count);
        const struct lz_sequence right = *q;
        const struct lz_chunk right_chunk = *chunk;
        uint16_t value = (uint16_t)unit_rand(&state);

        switch (round % 4) {
        case 0:
            q->literals = round % 8 ? value : (uint16_t)(q->literals + 1);
            break;
        case 1:
            q->length = round % 8 == 1 ? value : (uint16_t)(q->length + 1);
            break;
        case 2:
            q->distance = value;
            break;
        default:
            /* A list that ends early is still right, since the rest becomes literals.  Another
             * chunk's list is hardly ever right. */
            if (round % 8 == 3)
                chunk->count = (uint32_t)unit_below(&state, chunk->count);
            else
                *chunk = s.chunks[(chunk - s.chunks + 1) % 3];
        }
        refused += !accepts(&s);
        *q = right;
        *chunk = right_chunk;
    }
    CHECK(refused >= 250);
    CHECK(accepts(&s));
    check_segment(&s, true, &blocks);
    printf("# %u of 400 refused\n", refused);
    segment_free(&s);
}

int main(void)
{
    encoder = unit_need(huff_encoder_new());
    RUN(least_values);
    RUN(empty);
    RUN(few_bytes);
    RUN(each_type_when_smallest);
    RUN(random_chunks);
    RUN(random_segments);
    RUN(every_symbol);
    RUN(literals_and_lengths);
    RUN(long_codes);
    RUN(concatenated);
    RUN(incompressible);
    RUN(stored);
    RUN(worst_mixtures);
    RUN(sharing);
    RUN(sharing_is_about_exact);
    RUN(short_tail);
    RUN(cuts);
    RUN(spanning);
    RUN(cuts_are_exact);
    RUN(hostile_parts);
    RUN(most_blocks);
    RUN(best_blocks);
    RUN(best_blocks_of_hostile_data);
    RUN(best_blocks_of_a_long_segment);
    RUN(every_level_and_split);
    RUN(numbers_out_of_range);
    RUN(bytes_that_differ);
    RUN(bytes_that_differ_among_many);
    RUN(damaged_lists);
    matchers_free(&matchers);
    huff_encoder_free(encoder);
    return unit_done_on_paths();
}
