/*
 * test_optimal.c - the levels with the optimal finder find the matches that lzss/optimal.h defines
 *
 * The CPU engine's optimal finder packs lists, costs and steps into a few bits each, follows links
 * of 16 bits, takes many lengths at a time, and keeps costs from unit to unit.  The textbook method
 * below does none of that.  For every position, it notes the nearest earlier position with the same
 * hash.  The textbook method compares candidates from the first byte on, keeps each parse as a list
 * of matches, and adds up costs in 64 bits, one length at a time.  The textbook method shares with
 * the finder only the hash functions, lz_pieces, the logarithm, and the estimates that use the
 * logarithm.  The finder and the textbook method must give exactly the same sequences.
 */
#include "config.h"

#include <string.h>

#include "lzss/finders.h"
#include "lzss/lzss.h"
#include "lzss/optimal.h"
#include "tests/unit/inputs.h"
#include "tests/unit/textbook.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

#define GROUP ((size_t)4 << 20)
#define MAX_LEN (GROUP + 2 * LZ_CHUNK_SIZE + 5)
#define UNIT 4096
#define WINDOW 32767
#define LIST 8
#define SYMBOLS (286 + 30)

static struct matchers matchers = {.segment_size = MAX_LEN};

/* --- The textbook method: matches --- */

struct match {
    uint16_t length, distance;
};

/* The candidates at a position, in order of length. */
struct list {
    struct match matches[LIST];
};

/* earlier[k][pos] is the nearest position before pos whose first prefixes[k] bytes have the same
 * hash, or -1. */
#define PREFIXES 8
static const unsigned prefixes[PREFIXES] = {3, 4, 5, 6, 8, 12, 24, 64};
static int32_t *earlier[PREFIXES];

/* The lists of one group's positions, and how many matches each list has. */
static struct list *lists;
static uint8_t *list_counts;

/* Fills `earlier`.  Positions with fewer than prefixes[k] bytes before the segment's end are not
 * candidates, and have no candidates. */
TEXTBOOK void note_earlier(const uint8_t *in, size_t len)
{
    static int32_t newest[1 << LZ_CHAINS_HASH_BITS];

    for (int k = 0; k < PREFIXES; k++) {
        for (size_t i = 0; i < sizeof(newest) / sizeof(*newest); i++)
            newest[i] = -1;
        for (size_t pos = 0; pos + prefixes[k] <= len; pos++) {
            int32_t *entry = &newest[hash_at(in + pos, prefixes[k])];

            earlier[k][pos] = *entry;
            *entry = (int32_t)pos;
        }
    }
}

/* The state of a search for the matches of a list. */
struct search {
    const uint8_t *in;
    size_t pos, most; /* the position, and the longest match it may have */
    size_t at;        /* the last candidate that was looked at; at first, the position itself */
    size_t longest;   /* the longest match in the list so far, or 0 */
    struct match *list;
    unsigned count;
};

/* Why a step of the search ended. */
enum end { GOOD_ENOUGH, DEPTH_USED_UP, CHAIN_ENDED };

/* Looks at up to `depth` candidates, beginning with the one after s->at.  Stops at a match of
 * `enough` bytes. */
TEXTBOOK enum end step(struct search *s, int k, size_t depth, size_t enough)
{
    for (; depth > 0; depth--) {
        int32_t candidate = earlier[k][s->at];
        size_t length, distance;

        if (candidate < 0 || s->pos - (size_t)candidate > WINDOW)
            return CHAIN_ENDED;
        s->at = (size_t)candidate;
        distance = s->pos - s->at;
        length = agreeing(s->in + s->pos, s->in + s->at, k == 0 && s->most > 3 ? 3 : s->most);
        if (length < prefixes[k] || length <= s->longest)
            continue;
        s->count -= s->count == LIST;
        s->list[s->count++] = (struct match){(uint16_t)length, (uint16_t)distance};
        s->longest = length;
        if (length >= enough)
            return GOOD_ENOUGH;
    }
    return DEPTH_USED_UP;
}

/* Makes the list of `pos`, with matches that end before `end`.  Returns its length. */
TEXTBOOK unsigned make_list(const struct lz_level *level, const uint8_t *in, size_t pos, size_t end,
                            struct match *list)
{
    const size_t depths[PREFIXES] = {
        4,
        level->depth,
        level->depth,
        level->depth,
        level->long_depth,
        level->long_depth,
        level->longest_depth,
        level->longest_depth,
    };
    /* Without longest_depth, the last two prefixes are left out. */
    const int last = level->longest_depth > 0 ? 7 : 5;
    struct search s = {.in = in, .pos = pos, .most = end - pos < 258 ? end - pos : 258, .at = pos};

    s.list = list;
    if (s.most < 3)
        return 0;
    step(&s, 0, depths[0], 3);
    s.at = pos;
    for (int k = 1; k <= last && s.longest < level->nice; k++) {
        const size_t enough = k < last ? prefixes[k + 1] : level->nice;

        if (prefixes[k] > s.most || prefixes[k] > level->nice)
            break;
        if (s.longest >= enough)
            continue;
        switch (step(&s, k, depths[k], enough < level->nice ? enough : level->nice)) {
        case GOOD_ENOUGH:
            break;
        case DEPTH_USED_UP:
            s.at = pos;
            break;
        case CHAIN_ENDED:
            return s.count;
        }
    }
    return s.count;
}

/* Makes the lists of the chunk in[start..end), and stores them from index `first` on. */
TEXTBOOK void make_lists(const struct lz_level *level, const uint8_t *in, size_t start, size_t end,
                         size_t first)
{
    for (size_t pos = start; pos < end;) {
        size_t i = first + pos - start, skip = 1;

        list_counts[i] = (uint8_t)make_list(level, in, pos, end, lists[i].matches);
        if (list_counts[i] > 0 && lists[i].matches[list_counts[i] - 1].length >= level->nice)
            skip = lists[i].matches[list_counts[i] - 1].length;
        memset(list_counts + i + 1, 0, skip - 1);
        pos += skip;
    }
}

/* --- The textbook method: parses and costs --- */

/* The current chunk. */
struct chunk {
    const uint8_t *in; /* the chunk's bytes */
    size_t size;
    const struct list *lists; /* the lists of its positions */
    const uint8_t *list_counts;
    unsigned unit; /* the number of the chunk's first unit in the group */
};

/* A match, of any length, in a parse of the chunk. */
struct parsed {
    size_t pos, length, distance;
};
static struct parsed parse[LZ_CHUNK_SIZE];
static size_t parse_count;

/* The counts of the symbols in each unit and in each block of a group, and the number of each
 * unit's block. */
static uint32_t units[GROUP / UNIT][SYMBOLS], blocks[GROUP / UNIT][SYMBOLS];
static unsigned block_of[GROUP / UNIT];
static unsigned most_blocks; /* the largest number of blocks in a group so far */

/* Adds a match to the parse.  If the last match ends where this match starts, at the same distance,
 * the two become one match. */
TEXTBOOK void take(size_t pos, struct match match)
{
    struct parsed *last = parse_count > 0 ? &parse[parse_count - 1] : NULL;

    if (last != NULL && last->pos + last->length == pos && last->distance == match.distance)
        last->length += match.length;
    else
        parse[parse_count++] = (struct parsed){pos, match.length, match.distance};
}

/* Counts the parse's symbols in the unit where they start.  All pieces of a match count in the unit
 * where the match starts. */
TEXTBOOK void count_symbols(const struct chunk *c)
{
    size_t pos = 0;
    unsigned extra_bits;

    for (size_t i = 0; i <= parse_count; i++) {
        const struct parsed *p = &parse[i];
        uint32_t *unit;

        for (; pos < (i < parse_count ? p->pos : c->size); pos++)
            units[c->unit + pos / UNIT][c->in[pos]]++;
        if (i == parse_count)
            break;
        unit = units[c->unit + pos / UNIT];
        for (uint32_t piece = 0; piece < lz_pieces((uint32_t)p->length); piece++) {
            uint32_t length = lz_piece_length((uint32_t)p->length, piece);

            unit[length_symbol(length, &extra_bits)]++;
            unit[286 + distance_symbol(p->distance, &extra_bits)]++;
        }
        pos += p->length;
    }
}

/* Converts the parse to sequences.  Returns how many there are. */
TEXTBOOK size_t to_sequences(struct lz_sequence *out)
{
    size_t count = 0, literals = 0;

    for (size_t i = 0; i < parse_count; i++) {
        const struct parsed *p = &parse[i];

        for (uint32_t piece = 0; piece < lz_pieces((uint32_t)p->length); piece++)
            out[count++] = (struct lz_sequence){
                (uint16_t)(piece == 0 ? p->pos - literals : 0),
                (uint16_t)lz_piece_length((uint32_t)p->length, piece),
                (uint16_t)p->distance,
            };
        literals = p->pos + p->length;
    }
    return count;
}

/* Returns the longest match at `pos`; at the chunk's end, a match of length 0. */
TEXTBOOK struct match longest_at(const struct chunk *c, size_t pos)
{
    if (pos == c->size || c->list_counts[pos] == 0)
        return (struct match){0, 0};
    return c->lists[pos].matches[c->list_counts[pos] - 1];
}

TEXTBOOK void first_parse(const struct chunk *c)
{
    const unsigned least = least_taken(sample_values(c->in, c->size), 16);

    for (size_t pos = 0; pos < c->size;) {
        struct match match = longest_at(c, pos), next = longest_at(c, pos + 1);

        if (match.length < least || (match.length == 3 && match.distance > 4096)) {
            pos++;
            continue;
        }
        for (;;) {
            /* As in chains.h, the match at the next position must not be shorter. */
            if (next.length < match.length || 4 * (next.length - match.length) +
                                                      magnitude(match.distance) -
                                                      magnitude(next.distance) <
                                                  3)
                break;
            match = next;
            pos++;
            next = longest_at(c, pos + 1);
        }
        take(pos, match);
        pos += match.length;
    }
}

/* Sets *litlen to the logarithm of the number of literals and lengths, including the end of the
 * block, and *distance to the logarithm of the number of distances. */
TEXTBOOK void log2_totals(const uint32_t *counts, uint32_t *litlen, uint32_t *distance)
{
    uint32_t totals[2] = {1, 0};

    for (unsigned i = 0; i < SYMBOLS; i++)
        totals[i >= 286] += counts[i];
    *litlen = lz_log2_256(totals[0]);
    *distance = totals[1] > 0 ? lz_log2_256(totals[1]) : 0;
}

/* Returns the estimated size of a block with these symbols.  Each symbol in use costs 5.5 bits in
 * the header; in the first pass, four times as much. */
TEXTBOOK uint64_t estimate(const uint32_t *counts, unsigned pass)
{
    uint32_t litlen, distance;
    uint64_t size = 0;

    log2_totals(counts, &litlen, &distance);
    for (unsigned i = 0; i < SYMBOLS; i++)
        size += lz_symbol_size(counts[i], i < 286 ? litlen : distance, pass == 1 ? 5632 : 1408);
    return size;
}

/* Joins the first `count` units of the group to blocks. */
TEXTBOOK void make_blocks(unsigned count, unsigned pass)
{
    unsigned b = 0;

    memcpy(blocks[0], units[0], sizeof(blocks[0]));
    block_of[0] = 0;
    for (unsigned u = 1; u < count; u++) {
        uint32_t both[SYMBOLS];

        for (unsigned i = 0; i < SYMBOLS; i++)
            both[i] = blocks[b][i] + units[u][i];
        if (estimate(blocks[b], pass) + estimate(units[u], pass) >= estimate(both, pass))
            memcpy(blocks[b], both, sizeof(both));
        else
            memcpy(blocks[++b], units[u], sizeof(both));
        block_of[u] = b;
    }
    if (b + 1 > most_blocks)
        most_blocks = b + 1;
}

/* The costs of symbols in a block, including extra bits, in 1/16 bit.  Distances have one cost for
 * each symbol. */
struct prices {
    uint64_t literal[256], length[259], distance[30];
};

TEXTBOOK void make_prices(const uint32_t *counts, bool last, struct prices *prices)
{
    uint32_t litlen, distance;
    unsigned symbol, extra_bits;

    log2_totals(counts, &litlen, &distance);
    for (unsigned i = 0; i < 256; i++)
        prices->literal[i] = lz_symbol_cost(counts[i], litlen, last);
    for (size_t length = 3; length <= 258; length++) {
        symbol = length_symbol(length, &extra_bits);
        prices->length[length] = lz_symbol_cost(counts[symbol], litlen, last) + 16 * extra_bits;
    }
    for (unsigned i = 0; i < 30; i++)
        prices->distance[i] =
            lz_symbol_cost(counts[286 + i], distance, last) + 16 * (i < 4 ? 0 : i / 2 - 1);
}

TEXTBOOK void shortest_path(const struct chunk *c, bool last)
{
    static struct prices prices;
    static uint64_t to_end[LZ_CHUNK_SIZE + 1];
    static struct match steps[LZ_CHUNK_SIZE]; /* length 1: a literal */
    unsigned extra_bits;

    to_end[c->size] = 0;
    for (size_t pos = c->size; pos-- > 0;) {
        if (pos + 1 == c->size || (pos + 1) % UNIT == 0)
            make_prices(blocks[block_of[c->unit + pos / UNIT]], last, &prices);
        to_end[pos] = prices.literal[c->in[pos]] + to_end[pos + 1];
        steps[pos] = (struct match){1, 0};
        for (size_t length = 3, i = 0; i < c->list_counts[pos]; i++) {
            const struct match match = c->lists[pos].matches[i];
            uint64_t distance = prices.distance[distance_symbol(match.distance, &extra_bits)];

            for (; length <= match.length; length++) {
                uint64_t cost = prices.length[length] + distance + to_end[pos + length];

                if (cost < to_end[pos]) {
                    to_end[pos] = cost;
                    steps[pos] = (struct match){(uint16_t)length, match.distance};
                }
            }
        }
    }
    for (size_t pos = 0; pos < c->size; pos += steps[pos].length)
        if (steps[pos].length > 1)
            take(pos, steps[pos]);
}

/* The expected sequences of each chunk, with room for MAX_LEN bytes.  (Memory that is not used is
 * never touched.) */
static struct lz_sequence (*want)[LZ_CHUNK_MAX_SEQUENCES];
static size_t want_counts[LZ_CHUNKS(MAX_LEN)];

/* Makes one block of all units of the chunks in the sample: chunks 4, 12, 20 and so on. */
TEXTBOOK void join_sample(unsigned count)
{
    memset(blocks[0], 0, sizeof(blocks[0]));
    for (unsigned u = 0; u < count; u++) {
        for (unsigned i = 0; i < SYMBOLS; i++)
            blocks[0][i] += u / (LZ_CHUNK_SIZE / UNIT) % 8 == 4 ? units[u][i] : 0;
        block_of[u] = 0;
    }
}

/* The chunk that starts at in[start], in the group in[begin..end). */
TEXTBOOK struct chunk chunk_at(const uint8_t *in, size_t start, size_t begin, size_t end)
{
    const size_t first = start - begin;

    return (struct chunk){
        .in = in + start,
        .size = end - start < LZ_CHUNK_SIZE ? end - start : LZ_CHUNK_SIZE,
        .lists = lists + first,
        .list_counts = list_counts + first,
        .unit = (unsigned)(first / UNIT),
    };
}

/* Makes three parses of the chunks in the group's sample, and the block for the group's first pass.
 * False if the group has no sample. */
TEXTBOOK bool parse_sample(const uint8_t *in, size_t begin, size_t end, unsigned count)
{
    const size_t first = begin + 4 * LZ_CHUNK_SIZE;

    if (LZ_CHUNKS(end - begin) < 8 || sample_values(in + first, LZ_CHUNK_SIZE) < 16)
        return false;
    for (unsigned pass = 0; pass < 3; pass++) {
        join_sample(count);
        memset(units, 0, count * sizeof(units[0]));
        for (size_t start = first; start < end; start += 8 * LZ_CHUNK_SIZE) {
            const struct chunk c = chunk_at(in, start, begin, end);

            parse_count = 0;
            shortest_path(&c, false);
            count_symbols(&c);
        }
    }
    join_sample(count);
    return true;
}

/* Finds the sequences of the group in[begin..end). */
TEXTBOOK void match_group(const struct lz_level *level, const uint8_t *in, size_t begin, size_t end)
{
    unsigned count = (unsigned)((end - begin + UNIT - 1) / UNIT);

    for (unsigned pass = 0; pass <= level->passes; pass++) {
        if (pass > 1 || (pass == 1 && !parse_sample(in, begin, end, count)))
            make_blocks(count, pass);
        memset(units, 0, count * sizeof(units[0]));
        for (size_t start = begin; start < end; start += LZ_CHUNK_SIZE) {
            const struct chunk c = chunk_at(in, start, begin, end);

            if (pass == 0)
                make_lists(level, in, start, start + c.size, start - begin);
            parse_count = 0;
            if (pass == 0)
                first_parse(&c);
            else
                shortest_path(&c, pass == level->passes);
            count_symbols(&c);
            want_counts[start / LZ_CHUNK_SIZE] = to_sequences(want[start / LZ_CHUNK_SIZE]);
        }
    }
}

/* --- Checks --- */

/* Rows that the level table does not have, but could. */
static const struct lz_level strange[] = {
    /* clang-format off */
    {&lz_finder_optimal,  1,  1,  1,  12,    0, 0, 1, 0, 0, 0, {0}},
    {&lz_finder_optimal,  2,  3,  5,  16, 4096, 2, 2, 0, 0, 0, {0}},
    {&lz_finder_optimal,  4,  1,  9,  33,    0, 0, 3, 0, 0, 0, {0}},
    {&lz_finder_optimal,  5,  9,  2, 258,    0, 0, 1, 0, 0, 0, {0}},
    {&lz_finder_optimal,  9,  0,  0, 100,    0, 0, 2, 0, 0, 0, {0}},
    {&lz_finder_optimal,  1,  0, 11, 257,   32, 1, 1, 0, 0, 0, {0}},
    {&lz_finder_optimal, 10,  2,  1,  13,    0, 0, 3, 0, 0, 0, {0}},
    /* clang-format on */
};

#define STRANGE (sizeof(strange) / sizeof(*strange))
#define ROWS (levels + STRANGE)

/* The greatest `deep` for check_segment: CHEAP for data with long chains everywhere, CHEAPER for
 * much of such data, and ALL for other data.  The textbook method is slow on data with long
 * chains. */
#define CHEAP 32
#define CHEAPER 10
#define ALL SIZE_MAX

/* The rows of the level table that use the optimal finder, then the rows of `strange`. */
static const struct lz_level *table[LZ_ROWS];
static size_t levels;

static const struct lz_level *row(size_t r)
{
    return r < levels ? table[r] : &strange[r - levels];
}

/* Checks the segment in[0..len) with all rows of a depth up to `deep`.  `what` names the segment in
 * a failure.  Under sanitizers, each call takes another third of the rows: there, memory errors
 * matter, which hardly depend on a row's numbers. */
static void check_segment(const char *what, const uint8_t *in, size_t len, size_t deep)
{
    static size_t calls;
    const size_t pads = len > 2 * LZ_CHUNK_SIZE + 4 ? 1 : 2;
    const size_t first = UNIT_SANITIZED ? calls++ % 3 : 0, step = UNIT_SANITIZED ? 3 : 1;

    note_earlier(in, len);
    for (size_t r = first; r < ROWS; r += step) {
        if (row(r)->depth > deep || row(r)->long_depth > deep || row(r)->longest_depth > deep)
            continue;
        for (size_t begin = 0; begin < len; begin += GROUP)
            match_group(row(r), in, begin, len - begin < GROUP ? len : begin + GROUP);
        for (size_t p = 0; p < pads; p++) {
            uint8_t *copy = padded(in, len, p == 1);
            const struct lz_chunk *chunks =
                lz_match_segment(matcher_of(&matchers, row(r)), copy, len);

            for (size_t c = 0; c < LZ_CHUNKS(len); c++) {
                if (!check_valid(in, len, c, &chunks[c], WINDOW) ||
                    !same_sequences(&chunks[c], want[c], want_counts[c])) {
                    printf("# %s, %zu bytes, chunk %zu, pad %zu, %s %zu\n", what, len, c, p,
                           r < levels ? "level" : "strange row",
                           r < levels ? (size_t)(row(r) - lz_level(0)) : r - levels);
                    break;
                }
            }
            CHECK(memcmp(copy, in, len) == 0);
            free(copy);
        }
    }
}

/* --- Numbers --- */

/* Returns the logarithm to base 2 of x, at least 1, to about twelve digits.  Finds the fraction bit
 * by bit: divides x by 2^(1/2), 2^(1/4) and so on, if the quotient is at least 1. */
static double log2_of(double x)
{
    double log2 = 0, root = 2, part = 1;

    for (; x >= 2; x /= 2)
        log2++;
    for (int bit = 0; bit < 45; bit++) {
        double r = 1.5;

        for (int i = 0; i < 8; i++)
            r = (r + root / r) / 2; /* Newton's method for a square root */
        root = r;
        part /= 2;
        if (x >= root) {
            x /= root;
            log2 += part;
        }
    }
    return log2;
}

static void check_log2(uint32_t x)
{
    double exact = 256 * log2_of(x);

    CHECK(lz_log2_256(x) <= exact + 1e-4);
    CHECK(lz_log2_256(x) > exact - 1 - 1e-4);
}

static void logarithms(void)
{
    uint64_t state = 1;

    for (uint32_t x = 1; x <= 4096; x++)
        check_log2(x);
    for (unsigned bits = 0; bits < 32; bits++) {
        CHECK_EQ(lz_log2_256(1u << bits), 256 * bits);
        for (unsigned i = 0; i < 200; i++)
            check_log2(1u << bits | (uint32_t)unit_below(&state, (uint64_t)1 << bits));
        check_log2(UINT32_MAX >> bits);
    }
    for (uint32_t x = 1; x < 100000; x++)
        CHECK(lz_log2_256(x) <= lz_log2_256(x + 1));
}

/* lz_symbol_cost is the ideal length of a symbol's code, except that two logarithms in it are
 * rounded. */
static void symbols(void)
{
    static const uint32_t totals[] = {1, 2, 3, 1000, 8192, 40000, 1u << 22};
    uint64_t state = 2;

    for (size_t t = 0; t < sizeof(totals) / sizeof(*totals); t++) {
        const uint32_t total = totals[t], log2_total = lz_log2_256(total);

        CHECK_EQ(lz_symbol_size(0, log2_total, 1408), 0);
        for (unsigned i = 0; i <= 300; i++) {
            uint32_t count = i == 0    ? total
                             : i < 100 ? 1 + (uint32_t)unit_below(&state, total)
                                       : 1 + (uint32_t)unit_below(&state, total < 99 ? total : 99);
            double bits = log2_of(total) - log2_of(count);
            double size = count * bits + 5.5, cost = bits < 15 ? 16 * bits : 240;
            double got = (double)lz_symbol_size(count, log2_total, 1408) / 256;

            CHECK(got < size + count / 256.0 + 0.01 && got > size - count / 256.0 - 0.01);
            CHECK(lz_symbol_cost(count, log2_total, false) < cost + 0.1);
            CHECK(lz_symbol_cost(count, log2_total, false) > cost - 1.1);
        }
        /* A symbol that does not occur counts as half an occurrence, so it costs one bit more than
         * one that occurs once. */
        if (total <= 8192)
            CHECK_EQ(lz_symbol_cost(0, log2_total, false),
                     lz_symbol_cost(1, log2_total, false) + 16);
    }
    CHECK_EQ(lz_symbol_cost(0, lz_log2_256(1u << 15), false), 240);
    CHECK_EQ(lz_symbol_cost(1, lz_log2_256(1u << 15), false), 240);
    CHECK_EQ(lz_symbol_cost(1, lz_log2_256(1u << 16), false), 240);

    /* In the last pass, three quarters of the way to whole bits. */
    for (uint32_t count = 1; count <= 4096; count++) {
        const uint32_t cost = lz_symbol_cost(count, lz_log2_256(4096), false);
        uint32_t whole = 16;

        while (cost >= whole + 8)
            whole += 16;
        CHECK_EQ(lz_symbol_cost(count, lz_log2_256(4096), true), (cost + 3 * whole + 2) / 4);
    }
}

static void packing(void)
{
    for (uint32_t length = 3; length <= 258; length++) {
        for (uint32_t distance = 1; distance <= WINDOW; distance += 1 + (length % 51 ? 97 : 0)) {
            uint32_t packed = lz_pack_match(length, distance);
            unsigned extra_bits;

            CHECK_EQ(lz_packed_length(packed), length);
            CHECK_EQ(lz_packed_distance(packed), distance);
            CHECK_EQ(lz_packed_symbol(packed), distance_symbol(distance, &extra_bits));
        }
    }
}

/* --- Inputs --- */

static const struct input_kind kinds[] = {
    {"zeros", ZEROS, 0},
    {"period 1", PERIOD, 1},
    {"period 2", PERIOD, 2},
    {"period 3", PERIOD, 3},
    {"period 5", PERIOD, 5},
    {"period 12", PERIOD, 12},
    {"period 13", PERIOD, 13},
    {"random", RANDOM, 0},
    {"2 values", FEW_VALUES, 2},
    {"4 values", FEW_VALUES, 4},
    {"20 values", FEW_VALUES, 20},
    {"tokens of 5 values", TOKENS, 5},
    {"tokens of 6 values", TOKENS, 6},
    {"tokens of 7 values", TOKENS, 7},
    {"tokens of 8 values", TOKENS, 8},
    {"tokens of 15 values", TOKENS, 15},
    {"tokens of 16 values", TOKENS, 16},
    {"tokens of 39 values", TOKENS, 39},
    {"tokens of 40 values", TOKENS, 40},
    {"tokens of 79 values", TOKENS, 79},
    {"tokens of 80 values", TOKENS, 80},
    {"tokens of 256 values", TOKENS, 256},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

#define TOKEN 16 /* the most bytes of a token */

static void fill(uint8_t *out, size_t len, size_t k, uint64_t seed)
{
    fill_kind(out, len, &kinds[k], TOKEN, seed);
}

static void shortest(void)
{
    for (size_t k = 0; k < KINDS; k++) {
        uint8_t in[24];

        fill(in, sizeof(in), k, 1);
        for (size_t len = 0; len <= sizeof(in); len++)
            check_segment(kinds[k].name, in, len, ALL);
    }
}

/* Tests segments of about one and two chunks, with matches that end with the chunk, or could go on
 * after the chunk's end.  Except near the ends of chunks, the data is zeros. */
static void around_chunks(void)
{
    static uint8_t in[2 * LZ_CHUNK_SIZE + 4];
    const size_t span = 300;

    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].kind == TOKENS ? kinds[k].parameter % 8 != 0 : kinds[k].parameter % 4 == 1)
            continue;
        memset(in, 0, sizeof(in));
        fill(in, span, k, 2);
        fill(in + LZ_CHUNK_SIZE - span, span, k, 3);
        fill(in + LZ_CHUNK_SIZE, span, k, 4);
        fill(in + sizeof(in) - span, span, k, 5);
        for (size_t len = LZ_CHUNK_SIZE - 1; len <= LZ_CHUNK_SIZE + 1; len++)
            check_segment(kinds[k].name, in, len, k % 4 ? CHEAPER : CHEAP);
        for (size_t len = sizeof(in) - 5; len <= sizeof(in) - 3; len++)
            check_segment(kinds[k].name, in, len, k % 4 ? CHEAPER : CHEAP);
    }
}

/* Tests data with matches everywhere, in several chunks and units. */
static void several_chunks(void)
{
    static uint8_t in[LZ_CHUNK_SIZE + UNIT + 1000];

    for (size_t k = 0; k < KINDS; k++) {
        bool dense = kinds[k].kind == FEW_VALUES || kinds[k].kind == TOKENS;

        fill(in, sizeof(in), k, 6);
        check_segment(kinds[k].name, in, sizeof(in), dense ? CHEAPER : CHEAP);
        check_segment(kinds[k].name, in + 4096, 4096, ALL);
    }
}

/* Tests units with different kinds of data.  Joining makes some of these units smaller. */
static void many_units(void)
{
    static uint8_t in[9 * LZ_CHUNK_SIZE];
    uint64_t state = 7;

    most_blocks = 0;
    for (unsigned round = 0; round < 3; round++) {
        size_t k = 0;

        for (size_t start = 0; start < sizeof(in); start += UNIT) {
            if (start == 0 || unit_below(&state, 3) == 0)
                k = unit_below(&state, KINDS);
            fill(in + start, UNIT, k, unit_below(&state, 5));
        }
        check_segment("units", in, sizeof(in) - unit_below(&state, 20000), CHEAPER);
    }
    CHECK(most_blocks > 8);
    printf("# %u blocks\n", most_blocks);
}

/* Tests files that exist wherever this test is built: tests/data, the test's executable, gzlzss's
 * sources. */
static void real_files(void)
{
    static const char *const names[] = {
        "tests/data/prose.txt", "tests/data/source.txt", "tests/data/object.bin",
        "lzss/optimal.c",       "lzss/optimal.h",        "LICENSE",
        "lzss/chains.c",        "tests/data/object.bin", "tests/data/prose.txt",
    };
    static uint8_t in[4 * LZ_CHUNK_SIZE];
    const char *srcdir = getenv("srcdir");
    size_t len = 0;

    for (size_t i = 0; srcdir != NULL && i < sizeof(names) / sizeof(*names); i++) {
        char name[4096];
        size_t n;

        snprintf(name, sizeof(name), "%s/%s", srcdir, names[i]);
        n = unit_read_file(name, in + len, sizeof(in) - len);
        if (i < 3)
            check_segment(names[i], in + len, n, ALL);
        len += n;
    }
    printf("# %zu bytes of files\n", len);
    check_segment("files", in, len, ALL);
    len = unit_read_file("/proc/self/exe", in, sizeof(in));
    check_segment("this program", in, len, CHEAP);
}

/*
 * A marker of `size` bytes, which occur nowhere else, is at `first` and again `distance` bytes
 * later, between different neighbours.  The rest is zeros.  The first marker is just near enough
 * for a match, or just too far.
 */
static void repeat_marker(size_t size, size_t first, size_t distance)
{
    static const uint8_t marker[] = {201, 113, 7, 59, 99, 214, 67, 140, 3, 182, 222, 90, 51};
    size_t second = first + distance, len = second + size + 300;
    uint8_t *in = unit_need(calloc(len, 1));

    for (int turn = 0; turn < 2; turn++) {
        size_t at = turn == 0 ? first : second;

        if (at > 0)
            in[at - 1] = turn == 0 ? 83 : 131;
        memcpy(in + at, marker, size);
        in[at + size] = turn == 0 ? 171 : 242;
    }
    check_segment("marker", in, len, CHEAPER);
    free(in);
}

static void window_ends(void)
{
    static const size_t firsts[] = {0, 100, 32767, 32769};
    static const size_t sizes[] = {4, 8, 13};

    for (size_t f = 0; f < sizeof(firsts) / sizeof(*firsts); f++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
            for (size_t distance = WINDOW - 1; distance <= WINDOW + 1; distance++)
                repeat_marker(sizes[s], firsts[f], distance);
}

/* Every other match has three bytes at the same distance.  That distance is about the greatest at
 * which the first parse takes a match of three bytes, or about the greatest of any match.  Between
 * these matches are near matches of three bytes, which make the length 3 cheap. */
static void threes(void)
{
    static const size_t distances[] = {4095, 4096, 4097, WINDOW - 1, WINDOW, WINDOW + 1};
    static uint8_t in[2 * LZ_CHUNK_SIZE];
    uint64_t state = 14;

    for (size_t d = 0; d < sizeof(distances) / sizeof(*distances); d++) {
        for (size_t i = 0; i < sizeof(in); i++)
            in[i] = (uint8_t)unit_rand(&state);
        for (size_t at = 33000; at + 8 <= sizeof(in); at += 8) {
            memcpy(in + at, in + at - 1001, 3);
            memcpy(in + at + 4, in + at + 4 - distances[d], 3);
        }
        check_segment("threes", in, sizeof(in), CHEAP);
    }
}

/* Positions about 65536 or 131072 bytes back have the same low 16 bits as near positions. */
static void stale_positions(void)
{
    static const size_t nearby[] = {13, 300, 32767};

    for (size_t turns = 1; turns <= 2; turns++)
        for (size_t n = 0; n < sizeof(nearby) / sizeof(*nearby); n++)
            for (size_t size = 4; size <= 13; size += 9)
                repeat_marker(size, 50000, turns * 65536 + nearby[n]);
}

/* Tests random data that repeats at exactly the window's size, or just beyond it.  Adjacent matches
 * at the same distance fill whole chunks, cross units, and end with chunks. */
static void repeated_windows(void)
{
    static uint8_t in[3 * LZ_CHUNK_SIZE + 1000];
    uint64_t state = 8;

    for (size_t distance = WINDOW - 1; distance <= WINDOW + 1; distance++) {
        for (size_t i = 0; i < sizeof(in); i++)
            in[i] = i < distance ? (uint8_t)unit_rand(&state) : in[i - distance];
        check_segment("repeated window", in, sizeof(in), CHEAP);
    }
}

/* Tests repeats whose length is about one, two or three times the greatest match length, so that
 * after the longest matches, 1, 2, 3 or more bytes may be left over.  Some cross from one unit to
 * the next. */
static void side_by_side(void)
{
    static uint8_t in[12000];
    uint64_t state = 9;

    for (size_t matches = 1; matches <= 3; matches++) {
        for (size_t length = 258 * matches - 4; length <= 258 * matches + 4; length++) {
            size_t at = length % 2 ? 3000 : UNIT - 300;

            for (size_t i = 0; i < sizeof(in); i++)
                in[i] = (uint8_t)unit_rand(&state);
            memmove(in + at, in + at - 1000, length);
            in[at + length] = (uint8_t)~in[at + length - 1000];
            /* A repeat whose middle has another distance than its ends. */
            memcpy(in + 10000, in + 100, 700);
            memcpy(in + 10200, in + 9000, 100);
            check_segment("side by side", in, sizeof(in), CHEAPER);
        }
    }
}

/* Checks a match of `size` bytes.  Of the earlier positions with the same first `bytes` bytes,
 * number `back`, counted from the nearest, is the match's source. */
static void check_depth(size_t bytes, size_t size, size_t back, uint64_t *state)
{
    static uint8_t in[65536];
    uint8_t text[32];
    size_t len = 0;

    for (size_t i = 0; i < 256; i++)
        in[len++] = (uint8_t)i;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)unit_rand(state);
    memcpy(in + len, text, size);
    len += size;
    for (size_t i = 1; i < back; i++) {
        memcpy(in + len, text, bytes);
        len += bytes;
        in[len] = (uint8_t)(text[bytes] + 1 + unit_below(state, 255));
        len++;
        in[len++] = (uint8_t)unit_rand(state);
    }
    memcpy(in + len, text, size);
    len += size;
    in[len++] = 2;
    check_segment("depths", in, len, ALL);
}

/* For each search: the source of the match is the last candidate within the depth, or the first one
 * beyond it. */
static void depths(void)
{
    static const size_t sizes[][2] = {{3, 3}, {3, 18}, {4, 6}, {4, 18}, {8, 9}, {8, 18}, {24, 30}};
    static bool done[7][2000];
    uint64_t state = 10;

    for (size_t r = 0; r < ROWS; r++) {
        for (size_t s = 0; s < 7; s++) {
            size_t bytes = sizes[s][0];
            size_t depth = bytes == 3   ? LZ_OPTIMAL_DEPTH3
                           : bytes == 4 ? row(r)->depth
                           : bytes == 8 ? row(r)->long_depth
                                        : row(r)->longest_depth;

            for (size_t back = depth > 1 ? depth - 1 : 0; back <= depth + 2; back++) {
                if (!done[s][back])
                    check_depth(bytes, sizes[s][1], back, &state);
                done[s][back] = true;
            }
        }
    }
}

/* Tests more candidates than a list can hold, each longer than the one before.  From round to
 * round, fewer of the lengths are in the list, at last only the first. */
static void full_lists(void)
{
    static uint8_t in[3000];
    uint64_t state = 11;

    for (size_t apart = 1; apart <= 6; apart++) {
        uint8_t text[40];
        size_t len = 0;

        for (size_t i = 0; i < sizeof(text); i++)
            text[i] = (uint8_t)unit_rand(&state);
        for (size_t n = sizeof(text); n >= 3; n = n > apart ? n - apart : 0) {
            memcpy(in + len, text, n);
            len += n;
            in[len++] = n < sizeof(text) ? (uint8_t)~text[n] : 0;
        }
        memcpy(in + len, text, sizeof(text));
        len += sizeof(text);
        in[len++] = 1;
        check_segment("full lists", in, len, ALL);
    }
}

/* Tests a match of about `nice` bytes, and a longer one farther back. */
static void nices(void)
{
    static uint8_t in[2000];
    uint64_t state = 12;

    for (size_t r = 0; r < ROWS; r++) {
        size_t nice = row(r)->nice;

        for (size_t n = nice - 2; n <= nice + 2; n++) {
            for (size_t i = 0; i < 400; i++)
                in[i] = (uint8_t)unit_rand(&state);
            memcpy(in + 400, in, n);
            in[400 + n] = (uint8_t)~in[n];
            memcpy(in + 401 + n, in, 400);
            /* The longer match may also start one or two positions ahead. */
            memcpy(in + 801 + n, in, n);
            memcpy(in + 801 + 2 * n, in + n - 4, 24);
            check_segment("nices", in, 825 + 2 * n, ALL);
        }
    }
}

/* Only the first 4096 bytes of a chunk decide how many different values the chunk is assumed to
 * have. */
static void samples(void)
{
    static uint8_t in[6000];

    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].kind != TOKENS || kinds[k].parameter % 8 != 7)
            continue;
        for (size_t at = 4095; at <= 4096; at++) {
            fill(in, sizeof(in), k, 11);
            in[at] = 255;
            check_segment(kinds[k].name, in, sizeof(in), CHEAP);
        }
    }
}

/* Tests data of several kinds, in pieces of random length, so that matches that start in data of
 * one kind end at any place in data of another kind. */
static void mixtures(void)
{
    static uint8_t in[3 * LZ_CHUNK_SIZE];
    uint64_t state = 13;

    for (unsigned round = 0; round < 8; round++) {
        size_t len = unit_below(&state, sizeof(in) + 1), pos = 0;

        while (pos < len) {
            size_t n = 1 + unit_below(&state, 1 + unit_below(&state, 2000));

            if (n > len - pos)
                n = len - pos;
            if (unit_below(&state, 3) && pos > 0) {
                size_t distance = 1 + unit_below(&state, pos < 40000 ? pos : 40000);

                n = 1 + n % 300;
                for (size_t i = 0; i < n && pos + i < len; i++)
                    in[pos + i] = in[pos + i - distance];
            } else {
                fill(in + pos, n, unit_below(&state, KINDS), unit_rand(&state));
            }
            pos += n;
        }
        check_segment("mixture", in, len, round % 4 ? CHEAPER : CHEAP);
    }
}

/* Tests more data than one group.  No block goes from one group into the next, but matches do. */
static void two_groups(void)
{
    uint8_t *in = unit_need(calloc(MAX_LEN, 1));
    const size_t around = 2 * LZ_CHUNK_SIZE;

    fill_tokens(in + 100000, 20000, 40, TOKEN, &(uint64_t){1});
    fill_tokens(in + GROUP - around, 2 * around, 40, TOKEN, &(uint64_t){2});
    for (size_t pos = 0; pos + UNIT <= MAX_LEN; pos += UNIT)
        in[pos + pos / UNIT % 100] = (uint8_t)(pos / UNIT);
    check_segment("two groups", in, MAX_LEN, CHEAPER - 1);
    free(in);
}

int main(void)
{
    levels = rows_of(&lz_finder_optimal, table);
    want = unit_need(malloc(LZ_CHUNKS(MAX_LEN) * sizeof(*want)));
    lists = unit_need(malloc(GROUP * sizeof(*lists)));
    list_counts = unit_need(malloc(GROUP));
    for (int k = 0; k < PREFIXES; k++)
        earlier[k] = unit_need(malloc(MAX_LEN * sizeof(*earlier[k])));
    RUN(logarithms);
    RUN(symbols);
    RUN(packing);
    RUN(shortest);
    RUN(around_chunks);
    RUN(several_chunks);
    RUN(many_units);
    RUN(real_files);
    RUN(threes);
    RUN(window_ends);
    RUN(stale_positions);
    RUN(repeated_windows);
    RUN(side_by_side);
    RUN(depths);
    RUN(full_lists);
    RUN(nices);
    RUN(samples);
    RUN(mixtures);
    RUN(two_groups);
    for (int k = 0; k < PREFIXES; k++)
        free(earlier[k]);
    free(list_counts);
    free(lists);
    free(want);
    matchers_free(&matchers);
    return unit_done_on_paths();
}
