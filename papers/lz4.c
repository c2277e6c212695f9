/*
 * lz4.c - LZ4: a match at the last position with the same hash, and longer steps where nothing
 * matches
 *
 * After M. Mathur, "Analysis of Parallel Lempel-Ziv Compression Using CUDA", Delhi Technological
 * University, 2013, chapters 8 (LZ4) and 10 (CuLZ4). The input is cut into chunks of 1 MiB, which
 * are compressed side by side; one thread goes through each chunk as LZ4 does. The dissertation
 * says little about the search, so this is the search of LZ4 itself (Y. Collet).
 *
 * A hash table holds, for each hash of four bytes, the last position with that hash that the walk
 * visited. At each position, the walk looks up the entry, and replaces it by the position. If the
 * four bytes at the entry's position equal those here, they form a match, which is extended: first
 * backwards, over literals, then forwards. The walk then enters the position two bytes before the
 * match's end, and goes on after the match. If the four bytes differ (a miss), the walk goes one
 * step ahead. The first two steps after a match have one byte. The next ones have `acceleration`
 * bytes, and one byte more after every 2^skip misses. These growing steps make LZ4 fast on data
 * that does not compress.
 *
 * A match may lie 32 KiB back. The paper's chunk is this program's segment; `-b 1024` makes
 * segments as large as in the paper. With the key `chunk`, the input is cut into smaller
 * independent chunks instead. They are called packets here, since "chunk" means something else in
 * this program.
 *
 * Differences from the paper and from LZ4, and their reasons. Together, they change sizes little:
 * 32 MiB of the dictionary and 32 MiB of the kernel source (as bench/papers.sh takes them) become
 * 17.75 and 11.39 MB in LZ4's coding; `lz4 -1 -B7 -BD` (1.9.4) makes 17.83 and 11.08 MB of them.
 *
 * - LZ4's window is 64 KiB, DEFLATE's is half of that.
 *
 * - DEFLATE replaces LZ4's coding (one byte for the number of literals and the length of a match,
 *   two bytes for the distance, and more bytes for large numbers). The size in LZ4's coding can be
 *   computed from this program's sequences. First, join a sequence without literals to the one
 *   before if both have the same distance: this program cuts matches after 258 bytes, and LZ4 never
 *   has two such matches side by side. A sequence of L literals and a match of M bytes then takes 1
 *   + more(L) + L + 2 + more(M - 4) bytes, where more(n) is 0 if n < 15, otherwise (n - 15) / 255 +
 *   1, rounded down. The literals at the end take 1 + more(L) + L bytes.
 *
 * - LZ4's decoders need blocks that end with five literals, and in whose last twelve bytes no match
 *   starts. Here, matches may reach up to the end. In the dissertation, the first 13 bytes are
 *   always literals, perhaps as its version of that rule.
 *
 * - Matches end with this program's chunks of 32 KiB, which a GPU matches side by side. At a
 *   chunk's start, the table is filled with every third position of the 32 KiB before, in the way
 *   that LZ4 enters a dictionary, and not with the positions that a walk would have visited there.
 *
 * - LZ4 enters a chunk's first position without a search; this method also searches there.
 *
 * - The code in the dissertation's appendix hashes three bytes by MurmurHash3, enters every
 *   position, keeps several positions for each hash, and takes the longest match. This code is the
 *   dissertation's LZSS with LZ4's coding, without growing steps. But both chapters describe LZ4,
 *   so this method follows LZ4, whose hash is a multiplication.
 *
 * - The table has the size that LZ4 uses for inputs below 64 KiB, where positions take 16 bits, as
 *   here.
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "papers/lz4.h"
#include "papers/method.h"

struct lz4_state {
    uint16_t table[LZ4_TABLE_MAX];
};

/* The constant state of a walk. Positions are counted from `base`. */
struct lz4_walk {
    const uint8_t *base;
    uint16_t *table;
    uint32_t bits;         /* the table has 2^bits entries */
    uint32_t acceleration; /* the value of the key `acceleration` */
    uint32_t skip;
    /* The first position that a match may repeat. Entries that were never written have this
     * value. */
    uint32_t first;
};

static inline uint16_t *entry_at(const struct lz4_walk *w, uint32_t pos)
{
    return &w->table[lz4_hash(load32(w->base + pos), w->bits)];
}

/* Clears the table, then enters the positions before the packet, which starts at `begin`. */
static void fill_table(const struct lz4_walk *w, uint32_t begin)
{
    for (size_t i = 0; i < (size_t)1 << w->bits; i++)
        w->table[i] = (uint16_t)w->first;
    for (uint32_t pos = w->first; pos + LZ4_MIN_MATCH <= begin; pos += LZ4_STRIDE)
        *entry_at(w, pos) = (uint16_t)pos;
}

/*
 * Walks along the packet [begin, end) and writes its sequences. chunk: where the chunk starts. p:
 * the chunk's last match so far.
 *
 * An entry that was never written holds the first position. Such an entry never gives a match. The
 * first position is entered before all others. So if the bytes there were equal to those at the
 * walk's position, their entry would have been written.
 */
static struct lz_sequence *walk_along(const struct lz4_walk *w, uint32_t begin, uint32_t end,
                                      uint32_t chunk, struct lz_pending *p, struct lz_sequence *out)
{
    uint32_t behind = begin; /* end of the last match */
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
