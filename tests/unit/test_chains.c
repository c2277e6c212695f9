/*
 * test_chains.c - the levels with the chains finder find the matches that lzss/chains.h defines
 *
 * The CPU engine's chains finder keeps 16-bit positions in tables that it rebases from chunk to
 * chunk, follows links between them, and skips candidates that cannot be better than the best so
 * far.  The textbook method below does none of that.  Instead, it sorts all positions of the
 * segment by hash, so that each position has a list of the earlier positions with the same hash.
 * The textbook method compares the position with each position in the list, from the first byte on,
 * and then chooses.  The textbook method shares only the level table and the hash functions with
 * the finder.  The textbook method and the finder must give exactly the same sequences.
 */
#include "config.h"

#include <string.h>

#include "lzss/chains.h"
#include "lzss/finders.h"
#include "lzss/links.h"
#include "lzss/lzss.h"
#include "tests/unit/inputs.h"
#include "tests/unit/textbook.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

#define MIB ((size_t)1 << 20)
#define MAX_LEN (MIB + 1)
#define WINDOW 32767

static struct matchers matchers = {.segment_size = MAX_LEN};

/* --- The textbook method --- */

/* The positions of a segment, sorted by hash; positions with the same hash are in rising order. */
struct order {
    /* For each hash, where its positions start in `positions`. */
    size_t starts[(1 << LZ_CHAINS_HASH_BITS) + 1];
    size_t positions[MAX_LEN];
    size_t places[MAX_LEN]; /* for each position, its index in `positions` */
};

static struct order *by_three, *by_four, *by_seven;

/* Sorts all positions of in[0..len) that have at least `bytes` bytes before the segment's end. */
TEXTBOOK void sort_positions(struct order *o, const uint8_t *in, size_t len, unsigned bytes)
{
    memset(o->starts, 0, sizeof(o->starts));
    for (size_t pos = 0; pos + bytes <= len; pos++)
        o->starts[hash_at(in + pos, bytes) + 1]++;
    for (size_t hash = 0; hash < 1 << LZ_CHAINS_HASH_BITS; hash++)
        o->starts[hash + 1] += o->starts[hash];
    /* After this loop, each start has moved to the start of the next hash. */
    for (size_t pos = 0; pos + bytes <= len; pos++) {
        size_t place = o->starts[hash_at(in + pos, bytes)]++;

        o->positions[place] = pos;
        o->places[pos] = place;
    }
    memmove(o->starts + 1, o->starts, sizeof(o->starts) - sizeof(o->starts[0]));
    o->starts[0] = 0;
}

/* Returns where chunk `c` of a segment of `len` bytes ends. */
TEXTBOOK size_t chunk_end(size_t len, size_t c)
{
    return c + 1 < LZ_CHUNKS(len) ? (c + 1) * LZ_CHUNK_SIZE : len;
}

struct match {
    size_t length; /* 0: none */
    size_t distance;
};

/* A match that was chosen. */
struct taken {
    size_t pos;
    struct match match;
};

/* The textbook method's data about the current chunk, which ends at `end`. */
struct task {
    const uint8_t *in;
    size_t len, end;
    const struct lz_level *level;
    bool threes;  /* look for matches of three bytes */
    size_t least; /* the shortest match that is worth taking */
};

/* Returns the value of a match: four for each byte, minus the cost of its distance in bits. */
TEXTBOOK int worth(struct match match)
{
    return 4 * (int)match.length - magnitude(match.distance);
}

/*
 * Returns the match at `pos` that is worth most, or the nearest one of those that are worth most.
 * The candidates are the `depth` nearest positions with the same hash of the first `bytes` bytes.
 * At least these bytes must be equal, and at most `most` bytes count.  A match of `nice` bytes ends
 * the search.
 */
TEXTBOOK struct match best_of(const struct task *t, const struct order *o, size_t bytes,
                              size_t most, size_t pos, size_t depth)
{
    const uint8_t *here = t->in + pos;
    struct match best = {0, 0};
    size_t place, first;

    if (most > t->end - pos)
        most = t->end - pos;
    if (most < bytes)
        return best;
    place = o->places[pos];
    first = o->starts[hash_at(here, (unsigned)bytes)];
    for (size_t i = 1; i <= depth && place >= first + i; i++) {
        struct match match = {0, pos - o->positions[place - i]};

        if (match.distance > WINDOW)
            break;
        match.length = agreeing(here, here - match.distance, most);
        if (match.length >= bytes && (best.length == 0 || worth(match) > worth(best)))
            best = match;
        if (match.length >= t->level->nice)
            break;
    }
    return best;
}

/* Searches at `pos`, which is `ahead` positions after the start of the match found so far.  Returns
 * the match if it has at least `least` bytes. */
TEXTBOOK struct match best_at(const struct task *t, size_t pos, size_t least, size_t ahead)
{
    const size_t depth = t->level->depth >> ahead, long_depth = t->level->long_depth >> ahead;
    struct match best = {0, 0};

    if (t->level->long_depth > 0)
        best = best_of(t, by_seven, 7, 258, pos, long_depth);
    if (best.length == 0)
        best = best_of(t, by_four, 4, t->level->long_depth > 0 ? 6 : 258, pos, depth);
    if (best.length == 0 && t->threes) {
        best = best_of(t, by_three, 3, 3, pos, 1);
        if (best.distance > t->level->max_distance3)
            best.length = 0;
    }
    return best.length >= least ? best : (struct match){0, 0};
}

/* Looks for a match shortly after `pos` that is better than *match.  If there is one, sets *match
 * to it and returns how far ahead it starts; otherwise returns 0.  A better match has at least the
 * length of *match.  If the two lengths are equal, a smaller distance can make the later match
 * better. */
TEXTBOOK size_t look_ahead(const struct task *t, size_t pos, struct match *match)
{
    static const int pays[] = {0, 3, 7};

    if (match->length >= t->level->nice)
        return 0;
    for (size_t ahead = 1; ahead <= t->level->lazy; ahead++) {
        struct match next = best_at(t, pos + ahead, match->length, ahead);

        if (next.length > 0 && worth(next) >= worth(*match) + pays[ahead]) {
            *match = next;
            return ahead;
        }
    }
    return 0;
}

/* Finds the matches of chunk `c` of the segment in[0..len), whose positions are sorted.  Returns
 * the number of sequences. */
TEXTBOOK size_t match_chunk(const struct lz_level *level, const uint8_t *in, size_t len, size_t c,
                            struct lz_sequence *out)
{
    size_t start = c * LZ_CHUNK_SIZE, end = chunk_end(len, c);
    struct task t = {.in = in, .len = len, .end = end, .level = level};
    /* Adjacent matches at the same distance are joined. */
    static struct taken taken[LZ_CHUNK_SIZE / 3];
    size_t taken_count = 0, count = 0, literals = start;
    const unsigned distinct = sample_values(in + start, end - start);

    t.least = least_taken(distinct, level->depth);
    t.threes = distinct >= 80; /* if max_distance3 is 0, every distance is too far */
    for (size_t pos = start; pos < end;) {
        struct match match = best_at(&t, pos, t.least, 0);

        if (match.length > 0) {
            for (size_t ahead; (ahead = look_ahead(&t, pos, &match)) > 0;)
                pos += ahead;
            if (taken_count > 0 && taken[taken_count - 1].match.distance == match.distance &&
                taken[taken_count - 1].pos + taken[taken_count - 1].match.length == pos)
                taken[taken_count - 1].match.length += match.length;
            else
                taken[taken_count++] = (struct taken){pos, match};
            pos += match.length;
        } else {
            pos++;
        }
    }
    for (size_t i = 0; i < taken_count; i++) {
        uint32_t length = (uint32_t)taken[i].match.length;

        for (uint32_t piece = 0; piece < lz_pieces(length); piece++)
            out[count++] = (struct lz_sequence){
                (uint16_t)(piece == 0 ? taken[i].pos - literals : 0),
                (uint16_t)lz_piece_length(length, piece),
                (uint16_t)taken[i].match.distance,
            };
        literals = taken[i].pos + length;
    }
    return count;
}

/* --- Checks --- */

/* Rows that the level table does not have, but could. */
static const struct lz_level strange[] = {
    /* clang-format off */
    {&lz_finder_chains,  1,  0, 0,  16, 32736, 0, 0, 0, 0, 0, {0}},
    {&lz_finder_chains,  4,  0, 0,  12,    32, 2, 0, 0, 0, 0, {0}},
    {&lz_finder_chains,  5,  0, 0, 258,   320, 1, 0, 0, 0, 0, {0}},
    {&lz_finder_chains,  9,  0, 0,  12,     0, 2, 0, 0, 0, 0, {0}},
    {&lz_finder_chains, 10,  0, 0, 258,  4064, 0, 0, 0, 0, 0, {0}},
    {&lz_finder_chains,  4,  4, 0,  12,  4096, 2, 0, 0, 0, 0, {0}},
    {&lz_finder_chains,  7,  5, 0,  33,   320, 2, 0, 0, 0, 0, {0}},
    {&lz_finder_chains,  4, 13, 9,  13,    32, 1, 5, 0, 0, 0, {0}},
    {&lz_finder_chains,  6,  5, 0,  20, 32736, 0, 0, 0, 0, 0, {0}},
    {&lz_finder_chains, 21,  2, 0, 258,     0, 1, 0, 0, 0, 0, {0}},
    {&lz_finder_chains,  8, 80, 0,  12,     0, 2, 0, 0, 0, 0, {0}},
    /* clang-format on */
};

#define STRANGE (sizeof(strange) / sizeof(*strange))
#define ROWS (levels + STRANGE)

/* The greatest `deep` for check_segment: CHEAP for data with long chains everywhere, CHEAPER for
 * much of such data, and ALL for other data.  The textbook method is slow on data with long
 * chains. */
#define CHEAP 13
#define CHEAPER 9
#define ALL SIZE_MAX

/* The rows of the level table that use chains, then the rows of `strange`. */
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
    static struct lz_sequence want[LZ_CHUNK_MAX_SEQUENCES * LZ_CHUNKS(MAX_LEN)];
    static size_t ends[LZ_CHUNKS(MAX_LEN) + 1]; /* where each chunk's sequences end in `want` */
    static size_t calls;
    const size_t pads = len > 2 * LZ_CHUNK_SIZE + 4 ? 1 : 2;
    const size_t first = UNIT_SANITIZED ? calls++ % 3 : 0, step = UNIT_SANITIZED ? 3 : 1;

    sort_positions(by_three, in, len, 3);
    sort_positions(by_four, in, len, 4);
    sort_positions(by_seven, in, len, 7);
    for (size_t r = first; r < ROWS; r += step) {
        if (row(r)->depth > deep || row(r)->long_depth > deep)
            continue;
        for (size_t c = 0; c < LZ_CHUNKS(len); c++)
            ends[c + 1] = ends[c] + match_chunk(row(r), in, len, c, want + ends[c]);
        for (size_t p = 0; p < pads; p++) {
            uint8_t *copy = padded(in, len, p == 1);
            const struct lz_chunk *chunks =
                lz_match_segment(matcher_of(&matchers, row(r)), copy, len);

            for (size_t c = 0; c < LZ_CHUNKS(len); c++) {
                if (!check_valid(in, len, c, &chunks[c], WINDOW) ||
                    !same_sequences(&chunks[c], want + ends[c], ends[c + 1] - ends[c])) {
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

/* --- Inputs --- */

static const struct input_kind kinds[] = {
    {"zeros", ZEROS, 0},
    {"period 1", PERIOD, 1},
    {"period 2", PERIOD, 2},
    {"period 3", PERIOD, 3},
    {"period 4", PERIOD, 4},
    {"period 5", PERIOD, 5},
    {"period 6", PERIOD, 6},
    {"period 7", PERIOD, 7},
    {"period 8", PERIOD, 8},
    {"period 9", PERIOD, 9},
    {"random", RANDOM, 0},
    {"2 values", FEW_VALUES, 2},
    {"4 values", FEW_VALUES, 4},
    {"tokens of 5 values", TOKENS, 5},
    {"tokens of 6 values", TOKENS, 6},
    {"tokens of 7 values", TOKENS, 7},
    {"tokens of 8 values", TOKENS, 8},
    {"tokens of 15 values", TOKENS, 15},
    {"tokens of 16 values", TOKENS, 16},
    {"tokens of 39 values", TOKENS, 39},
    {"tokens of 40 values", TOKENS, 40},
    {"tokens of 71 values", TOKENS, 71},
    {"tokens of 72 values", TOKENS, 72},
    {"tokens of 79 values", TOKENS, 79},
    {"tokens of 80 values", TOKENS, 80},
    {"tokens of 256 values", TOKENS, 256},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

#define TOKEN 9 /* the most bytes of a token */

static void fill(uint8_t *out, size_t len, size_t k, uint64_t seed)
{
    fill_kind(out, len, &kinds[k], TOKEN, seed);
}

static void shortest(void)
{
    for (size_t k = 0; k < KINDS; k++) {
        uint8_t in[20];

        fill(in, sizeof(in), k, 1);
        for (size_t len = 0; len <= sizeof(in); len++)
            check_segment(kinds[k].name, in, len, ALL);
    }
}

/*
 * Tests segments of about one and two chunks, with matches that end with the chunk, or could go on
 * after the chunk's end.  Except near the ends of chunks, the data is zeros, which take the
 * textbook method little time.
 */
static void around_chunks(void)
{
    static uint8_t in[2 * LZ_CHUNK_SIZE + 4];
    const size_t span = 300;

    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].kind == TOKENS && kinds[k].parameter % 8 != 0)
            continue;
        memset(in, 0, sizeof(in));
        fill(in, span, k, 2);
        fill(in + LZ_CHUNK_SIZE - span, span, k, 3);
        fill(in + LZ_CHUNK_SIZE, span, k, 4);
        fill(in + sizeof(in) - span, span, k, 5);
        for (size_t len = LZ_CHUNK_SIZE - 2; len <= LZ_CHUNK_SIZE + 2; len++)
            check_segment(kinds[k].name, in, len, ALL);
        for (size_t len = sizeof(in) - 6; len <= sizeof(in) - 2; len++)
            check_segment(kinds[k].name, in, len, ALL);
    }
}

/* Tests data with matches everywhere, in several chunks. */
static void several_chunks(void)
{
    static uint8_t in[2 * LZ_CHUNK_SIZE + 1000];

    for (size_t k = 0; k < KINDS; k++) {
        bool dense = kinds[k].kind == FEW_VALUES || kinds[k].parameter == 5;

        fill(in, sizeof(in), k, 6);
        check_segment(kinds[k].name, in, sizeof(in), dense ? CHEAP : ALL);
        if (dense)
            check_segment(kinds[k].name, in, 3000, ALL);
    }
}

/* Tests segments with positions above 65535.  Several positions have the same low 16 bits.  The
 * longest segments have many such positions. */
static void whole_segments(void)
{
    uint8_t *in = unit_need(malloc(MAX_LEN));

    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].kind == PERIOD || (kinds[k].kind == TOKENS && kinds[k].parameter != 80))
            continue;
        const size_t len = kinds[k].kind == TOKENS ? MAX_LEN : 5 * 65536 + 1;

        fill(in, len, k, 7);
        check_segment(kinds[k].name, in, len, CHEAPER);
    }
    free(in);
}

/* Tests segments just short enough for the small table (links_make_small), and one byte too
 * long. */
static void small_tables(void)
{
    static const char *const files[] = {"tests/data/source.txt", "tests/data/prose.txt",
                                        "tests/data/object.bin"};
    static uint8_t in[LINKS_SMALL + 1];
    const char *srcdir = getenv("srcdir");

    for (size_t k = 0; k < KINDS; k++) {
        fill(in, sizeof(in), k, 13);
        for (size_t len = LINKS_SMALL - 1; len <= LINKS_SMALL + 1; len++)
            check_segment(kinds[k].name, in, len, CHEAP);
    }
    for (size_t i = 0; srcdir != NULL && i < sizeof(files) / sizeof(*files); i++) {
        char name[4096];

        snprintf(name, sizeof(name), "%s/%s", srcdir, files[i]);
        CHECK_EQ(unit_read_file(name, in, sizeof(in)), sizeof(in));
        for (size_t len = LINKS_SMALL - 3; len <= LINKS_SMALL + 1; len++)
            check_segment(files[i], in, len, ALL);
    }
}

/* Tests files that exist wherever this test is built: its executable and gzlzss's sources, in one
 * segment. */
static void real_files(void)
{
    static const char *const sources[] = {
        "LICENSE",        "Makefile.am",       "configure.ac",
        "lzss/lzss.h",    "lzss/chains.c",     "lzss/chains.h",
        "src/operands.c", "huffman/encoder.c", "tests/unit/test_chains.c",
        "lzss/lzss.h",
    };
    const char *srcdir = getenv("srcdir");
    uint8_t *in = unit_need(malloc(MAX_LEN));
    size_t len = unit_read_file("/proc/self/exe", in, 5 * LZ_CHUNK_SIZE);

    check_segment("this program", in, len, ALL);
    len = 0;
    for (size_t i = 0; srcdir != NULL && i < sizeof(sources) / sizeof(*sources); i++) {
        char name[4096];

        snprintf(name, sizeof(name), "%s/%s", srcdir, sources[i]);
        len += unit_read_file(name, in + len, MAX_LEN - len);
    }
    printf("# %zu bytes of source\n", len);
    check_segment("sources", in, len, ALL);
    free(in);
}

/* True if a match of `length` bytes at `distance` starts at `pos`. */
static bool found(const struct lz_chunk *chunks, size_t pos, size_t length, size_t distance)
{
    const struct lz_chunk *chunk = &chunks[pos / LZ_CHUNK_SIZE];
    size_t at = pos / LZ_CHUNK_SIZE * LZ_CHUNK_SIZE;

    for (uint32_t i = 0; i < chunk->count; i++) {
        at += chunk->sequences[i].literals;
        if (at == pos)
            return chunk->sequences[i].length == length && chunk->sequences[i].distance == distance;
        at += chunk->sequences[i].length;
    }
    return false;
}

/*
 * A marker of `size` (3, 4 or 7) bytes, which occur nowhere else, is at `first` and again
 * `distance` bytes later, between different neighbours.  The rest is zeros, which all have the same
 * hash, so that they displace no marker from the table.  So the first marker must be found from the
 * second exactly if the distance is small enough.  Later in each chunk, all byte values occur.
 */
static void repeat_marker(size_t size, size_t first, size_t distance)
{
    static const uint8_t marker[] = {201, 113, 7, 59, 99, 214, 67};
    size_t second = first + distance;
    size_t len = (second / LZ_CHUNK_SIZE + 1) * LZ_CHUNK_SIZE;
    uint8_t *in = unit_need(calloc(len + LZ_INPUT_PAD, 1));

    for (size_t start = 0; start < len; start += LZ_CHUNK_SIZE)
        for (size_t i = 0; i < 256; i++)
            in[start + 2500 + i] = (uint8_t)(89 * i);
    for (int turn = 0; turn < 2; turn++) {
        size_t at = turn == 0 ? first : second;

        if (at > 0)
            in[at - 1] = turn == 0 ? 83 : 131;
        memcpy(in + at, marker, size);
        in[at + size] = turn == 0 ? 171 : 242;
    }
    /* Also check a segment that ends right after the second marker of three bytes, where the
     * marker's link is not known yet. */
    if (size == 3)
        check_segment("marker at the end", in, second + size, CHEAPER);
    check_segment("marker", in, len, CHEAPER);
    for (size_t r = 0; r < ROWS; r++) {
        size_t reach = size > 3 ? WINDOW : row(r)->max_distance3;

        CHECK_EQ(
            found(lz_match_segment(matcher_of(&matchers, row(r)), in, len), second, size, distance),
            distance <= reach && second % LZ_CHUNK_SIZE + size <= LZ_CHUNK_SIZE);
    }
    free(in);
}

static void threes_end(void)
{
    static const size_t seconds[] = {5000, 32764, 32765, 32766, 32768, 32769, 36864};
    static const size_t reaches[] = {32, 320, 4064, 4096};

    for (size_t s = 0; s < sizeof(seconds) / sizeof(*seconds); s++)
        for (size_t n = 0; n < sizeof(reaches) / sizeof(*reaches); n++)
            for (size_t distance = reaches[n] - 1; distance <= reaches[n] + 1; distance++)
                repeat_marker(3, seconds[s] - distance, distance);
}

static void window_ends(void)
{
    static const size_t firsts[] = {0,     1,     2,     100,   32760, 32763,
                                    32766, 32767, 32769, 32770, 65535, 65536};

    for (size_t f = 0; f < sizeof(firsts) / sizeof(*firsts); f++)
        for (size_t distance = WINDOW - 1; distance <= WINDOW + 2; distance++)
            for (size_t size = 4; size <= 7; size += 3)
                repeat_marker(size, firsts[f], distance);
}

/* Positions about 65536 or 131072 bytes back have the same low 16 bits as near positions. */
static void stale_positions(void)
{
    static const size_t nearby[] = {7, 8, 9, 300, 32766, 32767, 32768};

    for (size_t turns = 1; turns <= 2; turns++) {
        for (size_t n = 0; n < sizeof(nearby) / sizeof(*nearby); n++) {
            for (size_t size = 4; size <= 7; size += 3) {
                repeat_marker(size, 0, turns * 65536 + nearby[n]);
                repeat_marker(size, 50000, turns * 65536 + nearby[n]);
            }
        }
    }
}

/* Tests random data that repeats at exactly the window's size, or just beyond it. */
static void repeated_windows(void)
{
    static uint8_t in[4 * LZ_CHUNK_SIZE];
    uint64_t state = 8;

    for (size_t distance = WINDOW - 1; distance <= WINDOW + 1; distance++) {
        for (size_t i = 0; i < sizeof(in); i++)
            in[i] = i < distance ? (uint8_t)unit_rand(&state) : in[i - distance];
        check_segment("repeated window", in, sizeof(in), ALL);
    }
}

/*
 * Checks a match of `size` bytes whose source is the candidate number `back` for its first `bytes`
 * bytes.  `lead` bytes before it, a short match starts whose source is the nearest candidate.  So
 * the long match is found by looking `lead` positions ahead of the short one.
 */
static void check_depth(size_t bytes, size_t size, size_t back, size_t lead, uint64_t *state)
{
    static const uint8_t text[] = "xyabcdefghijklmnopqrst";
    static uint8_t in[16384];
    size_t len = 0;

    for (size_t i = 0; i < 256; i++)
        in[len++] = (uint8_t)i;
    memcpy(in + len, text + 2, size);
    len += size;
    for (size_t i = 1; i < back; i++) {
        memcpy(in + len, text + 2, bytes);
        for (len += bytes; in[len - 1] < 128 || len % 3; len++)
            in[len] = (uint8_t)(128 | unit_rand(state));
    }
    memcpy(in + len, text + 2 - lead, 4);
    in[len + 4] = 1;
    memcpy(in + len + 5, text + 2 - lead, size + lead);
    len += 5 + size + lead;
    in[len++] = 2;
    check_segment("depths", in, len, ALL);
}

/* The source of the long match is the last candidate within the depth, or the first one beyond it.
 * Tested with the full depth, half of it, and a quarter, which look-ahead uses. */
static void depths(void)
{
    static const struct {
        size_t bytes, size;
    } matches[] = {{4, 18}, {4, 6}, {7, 18}, {7, 12}};
    enum { BACK_MAX = 1000 };
    static bool done[4][BACK_MAX + 1][3];
    uint64_t state = 9;

    for (size_t r = 0; r < ROWS; r++) {
        for (size_t m = 0; m < sizeof(matches) / sizeof(*matches); m++) {
            size_t all = matches[m].bytes == 4 ? row(r)->depth : row(r)->long_depth;

            for (unsigned parts = 1; parts <= 4 && all > 0; parts *= 2) {
                size_t depth = all / parts;

                CHECK(depth < BACK_MAX);
                for (size_t back = depth > 1 ? depth - 1 : 0; back <= depth + 1; back++) {
                    for (size_t lead = 0; lead <= 2; lead++) {
                        if (!done[m][back][lead])
                            check_depth(matches[m].bytes, matches[m].size, back, lead, &state);
                        done[m][back][lead] = true;
                    }
                }
            }
        }
    }
}

/* Tests a match of about `nice` bytes, and a longer one farther back. */
static void nices(void)
{
    static uint8_t in[2000];
    uint64_t state = 10;

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

/*
 * The first match has nice - 1 bytes, at distance 1.  Two positions later, look-ahead finds a match
 * of about `nice` bytes, which is not better.  If the second match has `nice` bytes or more, it
 * must still end the search.  So a longer match farther back, which would be better, is not found.
 */
static void ends_without_winning(void)
{
    static const uint8_t text[] = "abcdefghijklmnop";
    static uint8_t in[1000];

    for (size_t r = 0; r < ROWS; r++) {
        for (size_t more = 1; more <= 5; more++) {
            size_t zeros = row(r)->nice - 3, len = 0;

            in[len++] = 'x';
            memset(in + len, 0, zeros);
            memcpy(in + len + zeros, text, 12);
            len += zeros + 12;
            in[len++] = 'y';
            memset(in + len, 0, zeros);
            memcpy(in + len + zeros, text, more);
            len += zeros + more;
            in[len++] = 'z';
            memset(in + len, 0, zeros + 3);
            memcpy(in + len + zeros + 3, text, 12);
            len += zeros + 15;
            check_segment("ends without winning", in, len, ALL);
        }
    }
}

/* Only the first 4096 bytes of a chunk decide how many different values the chunk is assumed to
 * have. */
static void samples(void)
{
    static uint8_t in[LZ_CHUNK_SIZE + 6000];

    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].kind != TOKENS || kinds[k].parameter % 8 != 7)
            continue;
        for (size_t at = 4095; at <= 4096; at++) {
            fill(in, sizeof(in), k, 11);
            in[at] = 255;
            in[LZ_CHUNK_SIZE + at] = 255;
            memset(in + 8000, 255, LZ_CHUNK_SIZE - 8000);
            check_segment(kinds[k].name, in, sizeof(in), ALL);
        }
    }
}

/* Tests data of several kinds, in pieces of random length, so that matches that start in data of
 * one kind end at any place in data of another kind. */
static void mixtures(void)
{
    static uint8_t in[3 * LZ_CHUNK_SIZE];
    uint64_t state = 12;

    for (unsigned round = 0; round < 16; round++) {
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
        check_segment("mixture", in, len, ALL);
    }
}

int main(void)
{
    levels = rows_of(&lz_finder_chains, table);
    by_three = unit_need(malloc(sizeof(*by_three)));
    by_four = unit_need(malloc(sizeof(*by_four)));
    by_seven = unit_need(malloc(sizeof(*by_seven)));
    RUN(shortest);
    RUN(around_chunks);
    RUN(small_tables);
    RUN(several_chunks);
    RUN(whole_segments);
    RUN(real_files);
    RUN(threes_end);
    RUN(window_ends);
    RUN(stale_positions);
    RUN(repeated_windows);
    RUN(depths);
    RUN(nices);
    RUN(ends_without_winning);
    RUN(samples);
    RUN(mixtures);
    free(by_seven);
    free(by_four);
    free(by_three);
    matchers_free(&matchers);
    return unit_done_on_paths();
}
