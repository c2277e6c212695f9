/*
 * lz4.c - LZ4: a match at the last position with the same hash, and longer steps where nothing
 * matches
 *
 * After M. Mathur, "Analysis of Parallel Lempel-Ziv Compression Using CUDA", Delhi Technological
 * University, 2013, chapters 8 (LZ4) and 10 (CuLZ4), and after LZ4 itself (Y. Collet). The input is
 * cut into chunks of 1 MiB, which are compressed side by side; one thread goes through each chunk.
 *
 * The dissertation calls its method LZ4, but its pseudocode (8) and its code (16.1) search in
 * another way than LZ4: they are the dissertation's LZSS with LZ4's coding. So there are two forms:
 *
 * - By default, the search is Collet's. All keys and their values are his or this program's; only
 *   LZ4's idea and coding are in the dissertation.
 *
 * - `skip=no,enter=all,window=4096` is the dissertation's search, and with `-b 1024` and
 *   `threads=1` also its CuLZ4.
 *
 * Collet's search: a hash table holds, for each hash of four bytes, the last position with that
 * hash that the walk visited. At each position, the walk looks up the entry, and replaces it by the
 * position. If the four bytes at the entry's position equal those here, they form a match, which is
 * extended: first backwards, over literals, then forwards. The walk then enters the position two
 * bytes before the match's end, and goes on after the match. If the four bytes differ (a miss), the
 * walk goes one step ahead. The first two steps after a match have one byte. The next ones have
 * `acceleration` bytes, and one byte more after every 2^skip misses. These growing steps make LZ4
 * fast on data that does not compress. With skip=no, all steps have one byte.
 *
 * The dissertation's search (enter=all): all positions are entered, by the MurmurHash3 of their
 * first three bytes, and a bucket holds several of them. A search compares with the last `chain`
 * positions in the bucket that are in the window. The longest match wins if it has at least four
 * bytes, and of equally long ones the nearest. The walk goes on after the match, or if there is
 * none, by one byte, so `skip` and `acceleration` have no effect. The first 13 bytes of a segment
 * are literals. The window is 4 KiB in the dissertation, although its offsets have 16 bits.
 *
 * By default, a match may lie 32 KiB back. The paper's chunk is this program's segment; `-b 1024`
 * makes segments as large as in the paper. With the key `chunk`, the input is cut into smaller
 * independent chunks instead. They are called packets here, since "chunk" means something else in
 * this program.
 *
 * Differences of the default search from LZ4, and their reasons. Together, they change sizes
 * little: 32 MiB of the dictionary and 32 MiB of the kernel source (as bench/papers.sh takes them)
 * become 17.75 and 11.39 MB in LZ4's coding; `lz4 -1 -B7 -BD` (1.9.4) makes 17.83 and 11.08 MB of
 * them.
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
 *   always literals, perhaps as its version of that rule; enter=all has that.
 *
 * - Matches end with this program's chunks of 32 KiB, which a GPU matches side by side. At a
 *   chunk's start, the table is filled with every third position of the 32 KiB before, in the way
 *   that LZ4 enters a dictionary, and not with the positions that a walk would have visited there.
 *
 * - LZ4 enters a chunk's first position without a search; this method also searches there.
 *
 * - The table has the size that LZ4 uses for inputs below 64 KiB, where positions take 16 bits, as
 *   here.
 *
 * Differences of enter=all from the dissertation, and their reasons:
 *
 * - In the code, a bucket has a fixed number of places, not given. As printed, the first position
 *   fills all free places of its bucket, for want of a break, so each bucket has only one position.
 *   With the break, a bucket drops new positions while it is full. Then whether a position is in
 *   the table depends on all positions before it, and chunks could not be matched side by side. So
 *   here, a bucket has all positions of the window, and a search looks at the last `chain` of them.
 *
 * - The code enters the literals of an entry only when it writes the entry, so a search does not
 *   see them. Here, a search sees all positions before its own.
 *
 * - The number of buckets (the key `table`), the number of places (`chain`), and the search in a
 *   bucket (getMaxMatchLength) are not printed.
 *
 * - A search compares up to 258 bytes, DEFLATE's greatest length; matches at one distance, side by
 *   side, are joined. In the dissertation, lengths have no limit. Without this one, a GPU, which
 *   searches at all positions, would compare most bytes of long matches thousands of times.
 */
#include "config.h"

#include "papers/lz4.h"
#include "papers/method.h"

/* The finder's memory: the table of enter=visited, or the state of enter=all. */
union lz4_state {
    uint16_t table[LZ4_TABLE_MAX];
    struct lzss_state all;
};

/* Finds the matches of enter=visited. */
static void find_visited(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    const uint32_t packet = lz4_packet(level->param[LZ4_CHUNK]);
    struct lz4_steps w = lz4_steps_of(level, ((union lz4_state *)m->state)->table);
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;

    for (size_t start = m->begin; start < m->end; start += LZ_CHUNK_SIZE) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        const bool has_history = level->param[LZ4_CHUNK] == 0 && start > 0;
        const uint32_t chunk = has_history ? LZ_CHUNK_SIZE : 0;
        const uint32_t end = chunk + (uint32_t)(LZ_CHUNK_END(start, len) - start);
        struct lz_pending p = {0, 0, 0, 0};
        struct lz4_match match;

        result->sequences = out;
        w.base = in + start - chunk;
        for (uint32_t begin = chunk; begin < end; begin += packet) {
            w.first = has_history ? 0 : begin;
            lz4_begin(&w, begin, end - begin < packet ? end : begin + packet);
            while (lz4_next(&w, &match))
                out = lz_emit_next(out, &p, (int32_t)(match.at - chunk), match.length,
                                   match.distance);
        }
        out = lz_emit_next(out, &p, 0, 0, 0);
        result->count = (uint32_t)(out - result->sequences);
    }
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    const struct lzss_numbers numbers = lz4_numbers_of(level);

    if (level->param[LZ4_ENTER] == LZ4_ALL)
        lzss_find(m, &numbers, in, len);
    else
        find_visited(m, level, in, len);
}

static const struct lz_finder finder = {
    .name = "lz4",
    .twin = LZ_TWIN_WALKS,
    .in_parts = true,
    .plain_state = sizeof(union lz4_state),
    .find = find_matches,
};

static const char *const chunks[] = {"segment", "32k", "16k", "8k", "4k", NULL};
static const char *const entered[] = {"visited", "all", NULL};
static const char *const threads[] = {"auto", "1", NULL};

static const struct paper_key keys[] = {
    {.name = "table",
     .help = "entries of the hash table",
     .usual = 8192,
     .origin = "Collet's",
     .least = LZ4_TABLE_MIN,
     .most = LZ4_TABLE_MAX,
     .is_power = true},
    {.name = "acceleration",
     .help = "bytes of a step after two that found nothing",
     .usual = 1,
     .origin = "Collet's",
     .least = 1,
     .most = LZ4_ACCELERATION_MAX},
    {.name = "skip",
     .help = "steps grow every 2^skip tries",
     .usual = 6,
     .origin = "Collet's, the paper's: no",
     .least = 0,
     .most = LZ4_SKIP_MAX,
     .word = "no"},
    {.name = "chunk",
     .help = "what matches and their sources stay in",
     .usual = 0,
     .origin = "key ours",
     .words = chunks},
    {.name = "enter",
     .help = "positions that are entered in the table",
     .usual = LZ4_VISITED,
     .origin = "Collet's, the paper's: all",
     .words = entered},
    {.name = "window",
     .help = "bytes before a position that are searched",
     .usual = LZ_WINDOW_SIZE,
     .origin = "value ours, the paper's: 4096",
     .least = LZ4_MIN_MATCH,
     .most = LZ_WINDOW_SIZE},
    {.name = "chain",
     .help = "positions of a bucket that a search looks at with enter=all",
     .usual = 16,
     .origin = "value ours, the paper gives none",
     .least = 1,
     .most = LZ_WINDOW_SIZE},
    {.name = "threads",
     .help = "threads of a GPU that work on a segment",
     .usual = PAPER_AUTO,
     .origin = "value ours, the paper's: 1",
     .words = threads},
    {.name = NULL},
};

const struct paper_method paper_lz4 = {
    .name = "lz4",
    .summary = "what the last position of the same hash offers, with growing steps",
    .source = "the search of Y. Collet's LZ4, or with skip=no,enter=all,window=4096 that of M. "
              "Mathur: Analysis of Parallel Lempel-Ziv Compression Using CUDA, DTU Delhi, 2013",
    .finder = &finder,
    .core_guess = 185e6,
    .keys = keys,
};
