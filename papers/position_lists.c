/*
 * position_lists.c - the dictionary stage of a parallel LZMA: the longest match among the last
 * positions with the same first bytes, if it saves space
 *
 * After "Parallel Data Compression Using LZMA", International Journal of Advanced Computational
 * Engineering and Networking, 2013, section III, A to C.
 *
 * The input is cut into blocks of equal size, which are compressed side by side. The first two
 * bytes at a position are hashed. Each hash has a list of positions, the last one first. The list's
 * length is limited: "more elements, more compression", but also more time. The bytes at the
 * current position are compared with those at all positions in the list, and the longest match
 * wins. A pair of distance and length takes eight bytes. So if the match has at least eight bytes,
 * a pair replaces it, and the search goes on after it. If not, the byte at the position stays a
 * literal. All positions are entered into the lists.
 *
 * The paper's blocks are called packets here, since "block" means something else in this program.
 * The paper says that three or four bytes may be hashed instead of two, and gives neither a list's
 * length nor a block's size. These three numbers, and the eight bytes, are keys; the values of
 * `list` and `block` are this program's.
 *
 * Differences from the paper, and their reasons (percentages: for 32 MiB of the dictionary and 32
 * MiB of the kernel source, as bench/papers.sh takes them):
 *
 * - DEFLATE's Huffman codes replace the paper's arithmetic coder, whose model is the frequency of
 *   each byte (III, D and E; the paper also calls it a range encoder). The size in the paper's
 *   coding, before its arithmetic coder, can be computed from this program's sequences. First, join
 *   a sequence without literals to the one before if both have the same distance. A literal takes
 *   one byte, and a match a pair of eight bytes. Each row of pairs without literals between them
 *   also takes an index entry of eight bytes: two integers, the row's place and its number of
 *   pairs. The arithmetic coder then brings these bytes down to their entropy, each byte by itself.
 *
 * - A packet has at most 32 KiB, this program's chunk. The paper's positions have 32 bits, so its
 *   blocks can be larger. How much that gains is not measured; packets of 8 KiB make the .gz file 5
 *   and 13 % larger than those of 32 KiB.
 *
 * - A match has at most 258 bytes, as in DEFLATE. Without a limit, a GPU, which searches at all
 *   positions, would compare most bytes of long matches thousands of times.
 *
 * - Of equally long matches, the nearest wins; the paper leaves this open. If the farthest won, the
 *   .gz file would be 0.6 and 0.8 % larger.
 *
 * - In the paper, different bytes have different hashes. For three or four bytes, such a table
 *   would be too large, so different bytes may share an entry here. The result is the same: a
 *   search passes over positions with other bytes, and does not count them as elements of the list.
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "papers/method.h"
#include "papers/position_lists.h"

/* The CPU's table has 2^TABLE_BITS entries. With fewer, searches pass over more positions with
 * other bytes, which takes time. The matches are the same with any number. */
#define TABLE_BITS 15

/* A packet's lists. Positions are counted from its start. */
struct position_lists_state {
    uint16_t last[1 << TABLE_BITS]; /* the last position of each entry */
    uint16_t before[LZ_CHUNK_SIZE]; /* for each position, the position before it in the same
                                     * entry */
};

static void make_lists(struct position_lists_state *s, const uint8_t *packet, uint32_t size,
                       uint32_t hash)
{
    memset(s->last, 0xff, sizeof(s->last));
    for (uint32_t pos = 0; pos + hash <= size; pos++) {
        uint16_t *const last =
            &s->last[position_lists_entry(load32(packet + pos), hash, TABLE_BITS)];

        s->before[pos] = *last;
        *last = (uint16_t)pos;
    }
}

/* Returns the match at `pos` of the packet. */
static struct paper_match match_at(const struct position_lists_state *s,
                                   const struct lz_level *level, const uint8_t *packet,
                                   uint32_t pos, uint32_t size)
{
    const uint32_t hash = level->param[POSITION_LISTS_HASH];
    const uint32_t threshold = level->param[POSITION_LISTS_THRESHOLD];
    const uint32_t mask = position_lists_mask(hash);
    const uint32_t most = position_lists_most(size - pos, hash, threshold);
    const uint8_t *const here = packet + pos;
    const uint32_t want = load32(here);
    uint32_t left = level->param[POSITION_LISTS_LIST], longest = threshold - 1;
    struct paper_match best = {0, 0};

    if (most == 0)
        return best;
    for (uint32_t at = s->before[pos]; at != POSITION_LISTS_NONE; at = s->before[at]) {
        const uint8_t *const there = packet + at;

        if (((load32(there) ^ want) & mask) != 0)
            continue;
        if (here[longest] == there[longest]) {
            const uint32_t length = (uint32_t)match_length(here, there, 0, most);

            if (length > longest) {
                best = (struct paper_match){length, pos - at};
                longest = length;
            }
        }
        if (--left == 0 || longest == most)
            break;
    }
    return best;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    const uint32_t packet = level->param[POSITION_LISTS_BLOCK];
    struct position_lists_state *const s = m->state;
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;

    for (size_t start = m->begin; start < m->end; start += LZ_CHUNK_SIZE) {
        struct lz_chunk *result = &m->to_chunks[start / LZ_CHUNK_SIZE];
        const uint32_t end = (uint32_t)(LZ_CHUNK_END(start, len) - start);
        struct lz_pending p = {0, 0, 0, 0};

        result->sequences = out;
        for (uint32_t begin = 0; begin < end; begin += packet) {
            const uint8_t *const bytes = in + start + begin;
            const uint32_t size = end - begin < packet ? end - begin : packet;

            make_lists(s, bytes, size, level->param[POSITION_LISTS_HASH]);
            for (uint32_t pos = 0; pos < size;) {
                const struct paper_match match = match_at(s, level, bytes, pos, size);
                const int32_t at = (int32_t)(begin + pos);

                if (match.length == 0) {
                    pos++;
                    continue;
                }
                /* Adjacent matches at the same distance need not be joined. The first of them has
                 * 258 bytes, so a joined match would be cut after it anyway. */
                out = lz_emit_next(out, &p, at, match.length, match.distance);
                pos += match.length;
            }
        }
        out = lz_emit_next(out, &p, 0, 0, 0);
        result->count = (uint32_t)(out - result->sequences);
    }
}

static const struct lz_finder finder = {
    .name = "position-lists",
    .twin = LZ_TWIN,
    .in_parts = true,
    .plain_state = sizeof(struct position_lists_state),
    .find = find_matches,
};

static const struct paper_key keys[] = {
    {.name = "hash", .help = "bytes that are hashed", .usual = 2, .least = 2, .most = 4},
    {.name = "list",
     .help = "positions with the same bytes that are compared",
     .usual = 16,
     .origin = "value ours, the paper gives none",
     .least = 1,
     .most = 4096},
    {.name = "threshold",
     .help = "bytes of the shortest match",
     .usual = 8,
     .least = LZ_MIN_MATCH,
     .most = LZ_MAX_MATCH},
    {.name = "block",
     .help = "bytes of the blocks, which no match leaves",
     .usual = LZ_CHUNK_SIZE,
     .origin = "value ours, the paper gives none",
     .least = POSITION_LISTS_PACKET_MIN,
     .most = LZ_CHUNK_SIZE,
     .is_power = true},
    {.name = NULL},
};

const struct paper_method paper_position_lists = {
    .name = "position-lists",
    .summary = "the longest match among the last positions of the same bytes, if it saves space",
    .source = "Parallel Data Compression Using LZMA, IJACEN 1 (2), 2013",
    .finder = &finder,
    .core_guess = 52e6,
    .keys = keys,
};
