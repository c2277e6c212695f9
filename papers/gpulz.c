/*
 * gpulz.c - gpuLZ: matches of symbols of 1 to 4 bytes in a small window, found in one pass
 *
 * After B. Zhang et al., "GPULZ: Optimizing LZSS Lossless Compression for Multi-byte Data on Modern
 * GPUs", ICS 2023.
 *
 * The input is cut into independent chunks of 2 KiB (section 3.3.1), and is read as symbols of S
 * bytes (3.2.3), so lengths and distances are multiples of S. The window of a position is the W
 * symbols before it. For each position, a pointer goes through the window, beginning with the
 * farthest symbol (3.3.2, Listing 1). A run grows while the symbols in the window equal the symbols
 * at the position. The first different symbol ends the run, and the next run starts after that
 * symbol. So each symbol of the window is looked at only once. But the method misses a run that
 * starts inside another one, so it does not always find the longest match. Of the runs found, the
 * longest wins; of equally long ones, the farthest. A run ends before the position, so a match is
 * never longer than its distance, and length and distance fit in a byte each. A walk from the
 * chunk's start then selects matches.
 *
 * The paper's chunks are called packets here, since "chunk" means something else in this program.
 * Their size is counted in bytes, not in symbols; the combinations that the paper's Table 1 leaves
 * out show this.
 *
 * Symbols have one to four bytes (3.2.3). The paper measures one, two and four (4.2), and compares
 * itself with others at two (4.3). The window has at least 32 symbols here, the paper's smallest,
 * and at most 255, since a distance must fit in a byte.
 *
 * The paper's coding has a flag bit, then S bytes for a literal symbol or two bytes for a match.
 * For each chunk, there are also two numbers: where its flags (padded to whole bytes) and its codes
 * begin (3.3.3). The size in this coding can be computed from this program's sequences. First, join
 * a sequence without literals to the one before if both have the same distance. Then count a match
 * of n bytes at distance d as n / d matches of the paper, rounded up: this program has joined them
 * (lzss/common.h), and all but the last were as long as their distance. All other bytes are
 * literals, S bytes each.
 *
 * Differences from the paper, and their reasons:
 *
 * - DEFLATE replaces the paper's coding, and the CPU does it. In the paper, one kernel matches,
 *   selects and encodes; here, it writes tags instead of codes. A prefix sum within a chunk then
 *   only counts runs of tags (gpu/cuda/match/compact.cu). In place of the paper's prefix sum over
 *   all chunks, an atomic addition gives each chunk its space, in any order.
 *
 * - Listing 1 forgets the last run. It compares a run with the best one only when a symbol differs,
 *   so a run that is still open at the end of the window or of the chunk is lost. The authors' code
 *   compares once more after the loop, and so does this method.
 *
 * - A match has at least three symbols of one byte, or at least two symbols of two bytes. The paper
 *   does not say which least length it uses. The authors' code also takes matches of two symbols of
 *   one byte, and of one symbol of two bytes. But DEFLATE has no matches of two bytes. In the
 *   paper's coding, the former saves one bit, and the latter saves nothing.
 *
 * - `symbol=auto`, the default, is this program's. The paper knows the type of its data, which
 *   gives the width of symbols. It takes one byte if the fields compressed so far have an average
 *   ratio below 1.5 (3.2.3). This program does not know the type of a file's data. So for every 32
 *   KiB, `auto` matches the first 2 KiB with one, two and four bytes. It takes the width with the
 *   smallest size in the paper's coding, but one byte if wider symbols give a ratio below 1.5.
 *   Three bytes are not tried: a fourth search would cost more time, and few types have that width.
 *
 * - A packet may have 512 bytes to 32 KiB. In the paper, it has 2 to 16 KiB, so that its arrays fit
 *   in shared memory.
 *
 * - At a packet's end, fewer bytes than a symbol may be left; they become literals. The authors'
 *   code pads the input instead. With symbols of one, two or four bytes, that happens only at a
 *   segment's end; with three, at the end of each packet.
 */
#include "config.h"

#include "base/bytes.h"
#include "papers/gpulz.h"
#include "papers/method.h"

/* A packet, read as symbols. */
struct gpulz_packet {
    const uint8_t *in;
    uint32_t size;   /* symbols */
    uint32_t window; /* the greatest distance of a match, symbols */
};

/* Makes a function part of its caller, so that `width` is a constant there. Without the attribute,
 * gcc 12 inlines only some of the calls, and the search takes up to twice as long. */
#define WIDTH_INLINE static inline __attribute__((always_inline))

/* Looks at the symbols in the eight bytes at p. Returns how many of them come before the first one
 * that equals the symbol at `here`. */
WIDTH_INLINE uint32_t other_symbols(const uint8_t *p, const uint8_t *here, uint32_t width)
{
    /* The lowest bit of each whole symbol. Three bytes: the eight bytes have two whole symbols. */
    const uint64_t ones = width == 3 ? 0x1000001 : UINT64_MAX / (UINT64_MAX >> (64 - 8 * width));
    const uint64_t symbol = load64(here) & UINT64_MAX >> (64 - 8 * width);
    const uint64_t diff = load64(p) ^ symbol * ones;
    /* The lowest bit that is set in `same` is the highest bit of the first equal symbol. Higher
     * bits may be wrong. */
    const uint64_t same = (diff - ones) & ~diff & ones << (8 * width - 1);

    return same == 0 ? 8 / width : (uint32_t)__builtin_ctzll(same) / (8 * width);
}

/* Returns the match at position `at` of the packet. Position, length and distance are counted in
 * symbols. */
WIDTH_INLINE struct paper_match match_at(const struct gpulz_packet *p, uint32_t at, uint32_t width)
{
    const uint8_t *const here = p->in + at * width;
    const uint32_t left = p->size - at;
    struct paper_match best = {0, 0};
    uint32_t distance = at < p->window ? at : p->window;

    /* A match `distance` symbols back has at most `distance` symbols, since its source must end
     * before `here`.  So only distances above best.length can give a longer match. */
    while (distance > best.length && best.length < left) {
        const uint8_t *const there = here - distance * width;
        const uint32_t others = other_symbols(there, here, width);
        uint32_t run;

        if (others > 0) {
            distance = others < distance ? distance - others : 0;
            continue;
        }
        run = distance < left ? distance : left;
        run = (uint32_t)match_length(here, there, width, run * width) / width;
        if (run > best.length)
            best = (struct paper_match){run, distance};
        distance = run < distance ? distance - run - 1 : 0;
    }
    if (best.length < gpulz_least(width))
        best.length = 0;
    return best;
}

/* The output of a walk. */
struct gpulz_output {
    struct lz_sequence *sequences; /* where the next sequence goes; NULL: only count */
    struct lz_pending pending;
    uint32_t literals, matches; /* numbers of literals and matches in the paper's coding */
};

/* Walks through a packet that starts at byte `start` of its chunk. */
WIDTH_INLINE void match_packet(const struct gpulz_packet *p, uint32_t start, uint32_t width,
                               struct gpulz_output *out)
{
    for (uint32_t at = 0; at < p->size;) {
        const struct paper_match match = match_at(p, at, width);
        const int32_t pos = (int32_t)(start + at * width);
        const uint32_t length = match.length * width, distance = match.distance * width;

        if (length == 0) {
            out->literals++;
            at++;
            continue;
        }
        out->matches++;
        if (out->sequences != NULL && !lz_join(&out->pending, pos, length, distance))
            out->sequences = lz_emit_next(out->sequences, &out->pending, pos, length, distance);
        at += match.length;
    }
}

/* Walks through the packets of in[0..size), which is the start of a chunk. */
static void match_packets(const struct lz_level *level, const uint8_t *in, uint32_t size,
                          uint32_t width, struct gpulz_output *out)
{
    const uint32_t most = level->param[GPULZ_CHUNK];

    for (uint32_t start = 0; start < size; start += most) {
        const uint32_t bytes = size - start < most ? size - start : most;
        const struct gpulz_packet p = {in + start, bytes / width, level->param[GPULZ_WINDOW]};

        if (width == 1)
            match_packet(&p, start, 1, out);
        else if (width == 2)
            match_packet(&p, start, 2, out);
        else if (width == 3)
            match_packet(&p, start, 3, out);
        else
            match_packet(&p, start, 4, out);
    }
}

uint32_t gpulz_choose_width(const struct lz_level *level, const uint8_t *in, uint32_t size)
{
    const uint32_t sample = size < GPULZ_SAMPLE ? size : GPULZ_SAMPLE;
    struct gpulz_output by1 = {.sequences = NULL}, by2 = by1, by4 = by1;

    if (level->param[GPULZ_SYMBOL] != GPULZ_AUTO)
        return gpulz_width(level->param[GPULZ_SYMBOL]);
    match_packets(level, in, sample, 1, &by1);
    match_packets(level, in, sample, 2, &by2);
    match_packets(level, in, sample, 4, &by4);
    return gpulz_choose(sample, gpulz_bits(by1.literals, by1.matches, 1),
                        gpulz_bits(by2.literals, by2.matches, 2),
                        gpulz_bits(by4.literals, by4.matches, 4));
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    struct gpulz_output out = {
        .sequences = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES,
    };

    for (size_t start = m->begin; start < m->end; start += LZ_CHUNK_SIZE) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        const uint32_t size = (uint32_t)(LZ_CHUNK_END(start, len) - start);

        result->sequences = out.sequences;
        out.pending = (struct lz_pending){0, 0, 0, 0};
        match_packets(level, in + start, size, gpulz_choose_width(level, in + start, size), &out);
        out.sequences = lz_emit_next(out.sequences, &out.pending, 0, 0, 0);
        result->count = (uint32_t)(out.sequences - result->sequences);
    }
}

static const struct lz_finder finder = {
    .name = "gpulz",
    .twin = LZ_TWIN,
    .in_parts = true,
    .find = find_matches,
};

/* The key's words, in the order of GPULZ_AUTO and GPULZ_1 to GPULZ_4. */
static const char *const symbols[] = {"auto", "1", "2", "3", "4", NULL};

static const struct paper_key keys[] = {
    {.name = "symbol",
     .help = "bytes of a symbol",
     .usual = GPULZ_AUTO,
     .origin = "value ours, the paper's: 2",
     .words = symbols},
    {.name = "window",
     .help = "symbols before a position that are searched",
     .usual = 128,
     .least = GPULZ_WINDOW_MIN,
     .most = GPULZ_WINDOW_MAX},
    {.name = "chunk",
     .help = "bytes of the chunks, which no match leaves",
     .usual = 2048,
     .least = GPULZ_PACKET_MIN,
     .most = LZ_CHUNK_SIZE,
     .is_power = true},
    {.name = NULL},
};

const struct paper_method paper_gpulz = {
    .name = "gpulz",
    .summary = "matches of symbols of 1 to 4 bytes in a small window, found in one pass",
    .source = "B. Zhang et al.: GPULZ: Optimizing LZSS Lossless Compression for Multi-byte Data on "
              "Modern GPUs, ICS 2023",
    .finder = &finder,
    .core_guess = 12e6,
    .keys = keys,
};
