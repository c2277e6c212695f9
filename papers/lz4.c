/*
 * lz4.c - LZ4: a match at the position last seen under the same hash, and less looking where
 * nothing is found
 *
 * After M. Mathur, "Analysis of Parallel Lempel-Ziv Compression Using CUDA", Delhi Technological
 * University, 2013, chapters 8 (LZ4) and 10 (CuLZ4).  The input is cut into chunks of 1 MiB, which
 * are worked on side by side; a thread walks along each, as LZ4 does.  The dissertation says little
 * about the search; this is that of LZ4 itself (Y. Collet).
 *
 * A hash table has, for the first four bytes of a position, the position where the walk last came
 * across the same hash.  The walk tries a position: it looks up what the table has, and puts the
 * position there.  If the four bytes are the same, that is a match, and it is made as long as it
 * can be: first to the front, over literals, then to the back.  The walk goes on behind it, and the
 * position two bytes before the match's end gets into the table, too.  If the four bytes are not
 * the same, the walk goes a step ahead.  Steps are of one byte at first, then of `acceleration`
 * bytes, and grow by a byte with every 2^skip tries that found nothing.  A match ends them.
 *
 * What the match repeats may lie 32 KiB back.  A segment is the paper's chunk: `-b 1024` makes it
 * as large.  The key `chunk` has smaller ones instead, which know nothing of each other and are
 * called packets here, as a chunk is something else in this program.
 *
 * Where this differs from the paper and from LZ4, and why.  All of it together: 32 MiB of the
 * dictionary and of the kernel source that bench/papers.sh takes are 17.75 and 11.39 MB in LZ4's
 * coding, and 17.83 and 11.08 MB by `lz4 -1 -B7 -BD` (1.9.4).
 *
 * - LZ4's window is 64 KiB, DEFLATE's is half of that.
 * - LZ4's coding (a byte for the numbers of literals and of repeated bytes, two for the distance,
 *   more bytes for large numbers) is DEFLATE's here.  The own coding's size follows from the
 *   sequences.  Join those without literals at the distance of the one before: they are cut at 258
 *   bytes, and LZ4 never has two such matches side by side.  A sequence of L literals and a match
 *   of M bytes then takes 1 + more(L) + L + 2 + more(M - 4) bytes, where more(n) is 0 below 15, and
 *   (n - 15) / 255 + 1, rounded down, from there on.  The literals at the end take 1 + more(L) + L.
 * - LZ4's blocks end with five literals, and no match starts in their last twelve bytes, for the
 *   sake of its decoders.  This one's matches go up to the end; the dissertation's first 13 bytes,
 *   which are always literals, seem to be its way to have that rule.
 * - Matches end at the end of one of this program's chunks, 32 KiB each, which a GPU works on side
 *   by side.  At the start of one, the table has every third position of the 32 KiB before, as
 *   LZ4 enters a dictionary, and not the positions that a walk along them would have tried.
 * - LZ4 enters a chunk's first byte and goes on; this tries it, too.
 * - The dissertation's appendix hashes three bytes by MurmurHash3, enters every position, and keeps
 *   several for each hash, of which the longest match wins.  That is its LZSS with LZ4's coding; it
 *   has no skipping.  LZ4 is what both chapters speak of.  LZ4's hash is a multiplication.
 * - The table has LZ4's size for inputs below 64 KiB, in which positions have 16 bits, as here.
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "papers/lz4.h"
#include "papers/method.h"

struct lz4_state {
    uint16_t table[LZ4_TABLE_MAX];
};

/* A walk.  Positions are counted from `base`. */
struct lz4_walk {
    const uint8_t *base;
    uint16_t *table;
    uint32_t bits;         /* of the table's size */
    uint32_t acceleration; /* these are the keys' values */
    uint32_t skip;
    uint32_t first; /* the first byte that a match may repeat; the table's, where it has no other */
};

static inline uint16_t *entry_at(const struct lz4_walk *w, uint32_t pos)
{
    return &w->table[lz4_hash(load32(w->base + pos), w->bits)];
}

/* Fills the table: with the positions before the packet, which starts at `begin`. */
static void fill_table(const struct lz4_walk *w, uint32_t begin)
{
    for (size_t i = 0; i < (size_t)1 << w->bits; i++)
        w->table[i] = (uint16_t)w->first;
    for (uint32_t pos = w->first; pos + LZ4_MIN_MATCH <= begin; pos += LZ4_STRIDE)
        *entry_at(w, pos) = (uint16_t)pos;
}

/*
 * Walks along the packet [begin, end).  `chunk` is where the chunk starts; p is the last match that
 * was found in it.
 *
 * An entry that was never written names the first byte.  That is a match nowhere: the first byte's
 * four bytes are entered before all others.
 */
static struct lz_sequence *walk_along(const struct lz4_walk *w, uint32_t begin, uint32_t end,
                                      uint32_t chunk, struct lz_pending *p, struct lz_sequence *out)
{
    uint32_t behind = begin; /* the last match */
    uint32_t misses = 0;

    for (uint32_t pos = begin; pos + LZ4_MIN_MATCH <= end;) {
        uint16_t *const entry = entry_at(w, pos);
        uint32_t there = *entry, length;

        *entry = (uint16_t)pos;
        if (!lz4_reaches(pos, there) || load32(w->base + there) != load32(w->base + pos)) {
            pos += lz4_step(misses++, w->acceleration, w->skip);
            continue;
        }
        length = (uint32_t)match_length(w->base + pos, w->base + there, LZ4_MIN_MATCH, end - pos);
        for (; pos > behind && there > w->first && w->base[pos - 1] == w->base[there - 1];
             pos--, there--)
            length++;
        out = lz_emit_next(out, p, (int32_t)(pos - chunk), length, pos - there);
        pos += length;
        behind = pos;
        misses = 0;
        if (pos + LZ4_MIN_MATCH <= end)
            *entry_at(w, pos - 2) = (uint16_t)(pos - 2);
    }
    return out;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    const uint32_t packet = lz4_packet(level->param[LZ4_CHUNK]);
    struct lz4_walk w = {.table = ((struct lz4_state *)m->state)->table,
                         .bits = both_log2(level->param[LZ4_TABLE]),
                         .acceleration = level->param[LZ4_ACCELERATION],
                         .skip = level->param[LZ4_SKIP]};
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;

    for (size_t start = m->begin; start < m->end; start += LZ_CHUNK_SIZE) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        const bool has_history = level->param[LZ4_CHUNK] == 0 && start > 0;
        const uint32_t chunk = has_history ? LZ_CHUNK_SIZE : 0;
        const uint32_t end = chunk + (uint32_t)(LZ_CHUNK_END(start, len) - start);
        struct lz_pending p = {0, 0, 0, 0};

        result->sequences = out;
        w.base = in + start - chunk;
        for (uint32_t begin = chunk; begin < end; begin += packet) {
            w.first = has_history ? 0 : begin;
            fill_table(&w, begin);
            out =
                walk_along(&w, begin, end - begin < packet ? end : begin + packet, chunk, &p, out);
        }
        out = lz_emit_next(out, &p, 0, 0, 0);
        result->count = (uint32_t)(out - result->sequences);
    }
}

static const struct lz_finder finder = {
    .name = "lz4",
    .gpu = &gpu_finder_lz4,
    .in_parts = true,
    .plain_state = sizeof(struct lz4_state),
    .find = find_matches,
};

static const char *const chunks[] = {"segment", "32k", "16k", "8k", "4k", NULL};

static const struct paper_key keys[] = {
    {.name = "table",
     .help = "entries of the hash table",
     .usual = 8192,
     .least = LZ4_TABLE_MIN,
     .most = LZ4_TABLE_MAX,
     .is_power = true},
    {.name = "acceleration",
     .help = "bytes of a step after two that found nothing",
     .usual = 1,
     .least = 1,
     .most = LZ4_ACCELERATION_MAX},
    {.name = "skip",
     .help = "steps grow every 2^skip tries",
     .usual = 6,
     .least = 0,
     .most = LZ4_SKIP_MAX},
    {.name = "chunk",
     .help = "what matches and their sources stay in",
     .usual = 0,
     .words = chunks},
    {.name = NULL},
};

const struct paper_method paper_lz4 = {
    .name = "lz4",
    .summary = "what the last position of the same hash offers, with skipping",
    .source =
        "Y. Collet: LZ4; M. Mathur: Analysis of Parallel Lempel-Ziv Compression Using CUDA, 2013",
    .finder = &finder,
    .core_guess = 185e6,
    .keys = keys,
};
