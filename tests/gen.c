/*
 * gen.c - test data: gen KIND BYTES [SEED] writes BYTES bytes to standard output
 *
 * The same arguments must give the same bytes on every machine, since recorded digests of
 * compressed data (tests/data/golden.sha256) depend on them.  So gen has its own random numbers,
 * uses only integers, and writes numbers of several bytes low byte first.  Never change the bytes
 * of a kind; add a new kind.
 *
 * Each kind is a function that writes a small unit (a word, a line, a record).  The function is
 * called until there are enough bytes, and the last unit is cut off.  `gen kinds` lists the kinds.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_SIZE = 1 << 18,
    RING_SIZE = 1 << 16,
    PICK_SIZE = 4096,
    PERIOD_MAX = 65536,
    BASE_SIZE = 300
};

struct prefixed;

struct gen {
    uint64_t random; /* state of the random numbers */
    uint64_t left;   /* bytes of the current kind that are still to be written */
    size_t used;     /* bytes in `buffer` */
    unsigned char buffer[BUFFER_SIZE];

    /* The state of the kinds, from one unit to the next. */
    unsigned char pattern[PERIOD_MAX];
    unsigned period, phase; /* phase: how many bytes of the pattern were written */
    uint16_t pick[PICK_SIZE];
    unsigned word, column, sentence; /* for text */
    unsigned depth, lines;           /* for source */
    unsigned section, records;       /* for binary */
    uint32_t counter;
    uint64_t address;
    uint32_t lfsr, lfsr_steps; /* for debruijn */
    unsigned char ring[RING_SIZE];
    uint32_t position; /* the next index in `ring` */
    unsigned stretch; /* for copies: the number of the stretch; the others are of the current one */
    uint32_t records_left, suffixes;
    const struct prefixed *kind;
    unsigned char base[BASE_SIZE];
};

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next(struct gen *g)
{
    uint64_t z = g->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns a nearly uniform number from 0 to n - 1; n is below 2^32. */
static uint32_t below(struct gen *g, uint32_t n)
{
    return (uint32_t)(((next(g) >> 32) * n) >> 32);
}

/* Returns a number from 1 to 2^bits - 1 whose number of bits is uniformly random, so that small
 * numbers are frequent. */
static uint32_t skewed(struct gen *g, unsigned bits)
{
    uint32_t top = UINT32_C(1) << below(g, bits);

    return top + below(g, top);
}

static void flush(struct gen *g)
{
    if (fwrite(g->buffer, 1, g->used, stdout) != g->used || fflush(stdout) != 0) {
        perror("gen");
        exit(1);
    }
    g->used = 0;
}

static void put(struct gen *g, const void *data, size_t n)
{
    const unsigned char *bytes = data;

    if (n > g->left)
        n = (size_t)g->left;
    g->left -= n;
    while (n > 0) {
        size_t room = BUFFER_SIZE - g->used;
        size_t step = n < room ? n : room;

        memcpy(g->buffer + g->used, bytes, step);
        g->used += step;
        bytes += step;
        n -= step;
        if (g->used == BUFFER_SIZE)
            flush(g);
    }
}

static void put_string(struct gen *g, const char *s)
{
    put(g, s, strlen(s));
}

static void put_decimal(struct gen *g, uint32_t value)
{
    char digits[10];
    size_t n = sizeof(digits);

    do {
        digits[--n] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put(g, digits + n, sizeof(digits) - n);
}

/* Writes the low `size` bytes of `value`, lowest first. */
static void put_little(struct gen *g, uint64_t value, unsigned size)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < size; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    put(g, bytes, size);
}

/* zeros, byte, period1 to period9: a pattern again and again.  `pattern` holds many repeats of it,
 * so that a unit is long. */
static void put_period(struct gen *g)
{
    put(g, g->pattern, PERIOD_MAX / g->period * g->period);
}

static void make_pattern(struct gen *g, unsigned period, int byte)
{
    g->period = period;
    for (unsigned i = 0; i < PERIOD_MAX; i++) {
        if (i >= period)
            g->pattern[i] = g->pattern[i - period];
        else
            g->pattern[i] = (unsigned char)(byte >= 0 ? byte : (int)below(g, 256));
    }
}

/* random: uniformly random bytes. */
static void put_random(struct gen *g)
{
    unsigned char bytes[64];

    for (size_t i = 0; i < sizeof(bytes); i += 8) {
        uint64_t r = next(g);

        for (unsigned k = 0; k < 8; k++)
            bytes[i + k] = (unsigned char)(r >> (8 * k));
    }
    put(g, bytes, sizeof(bytes));
}

/* Words of text, the most frequent first. */
static const char *const words[] = {
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "that",
    "is",
    "was",
    "it",
    "for",
    "as",
    "with",
    "be",
    "on",
    "by",
    "not",
    "this",
    "are",
    "at",
    "from",
    "which",
    "or",
    "had",
    "an",
    "but",
    "have",
    "they",
    "one",
    "all",
    "were",
    "there",
    "when",
    "can",
    "more",
    "if",
    "no",
    "out",
    "so",
    "what",
    "up",
    "than",
    "only",
    "time",
    "some",
    "into",
    "other",
    "then",
    "two",
    "may",
    "first",
    "any",
    "like",
    "now",
    "such",
    "these",
    "must",
    "over",
    "even",
    "most",
    "after",
    "made",
    "each",
    "where",
    "through",
    "before",
    "well",
    "much",
    "same",
    "between",
    "because",
    "both",
    "under",
    "while",
    "still",
    "last",
    "never",
    "another",
    "long",
    "since",
    "against",
    "few",
    "every",
    "number",
    "part",
    "without",
    "until",
    "always",
    "again",
    "small",
    "often",
    "place",
    "found",
    "often",
    "given",
    "line",
    "water",
    "river",
    "stone",
    "bridge",
    "north",
    "valley",
    "winter",
    "harbour",
    "letter",
    "paper",
    "window",
    "garden",
    "machine",
    "measure",
    "distance",
    "weight",
    "village",
    "morning",
    "evening",
    "summer",
    "road",
    "wall",
    "iron",
    "copper",
    "signal",
    "engine",
    "record",
    "table",
    "figure",
    "result",
    "method",
    "value",
    "search",
    "buffer",
    "length",
    "symbol",
    "window",
    "literal",
    "pattern",
    "segment",
    "carry",
    "follow",
    "return",
    "count",
    "begin",
    "finish",
    "answer",
    "open",
    "close",
    "reach",
    "build",
    "turn",
    "gather",
    "divide",
    "compare",
    "remain",
    "quiet",
    "narrow",
    "certain",
    "common",
    "simple",
    "early",
    "heavy",
    "bright",
    "perhaps",
    "almost",
    "rather",
    "indeed",
    "however",
    "therefore",
    "although",
    "whether",
    "merchant",
    "captain",
    "engineer",
    "carpenter",
    "printer",
    "teacher",
    "neighbour",
    "stranger",
    "cathedral",
    "lighthouse",
    "orchard",
    "quarry",
    "timetable",
    "railway",
    "telegraph",
    "observatory",
    "compression",
    "dictionary",
    "frequency",
    "probability",
    "alphabet",
    "sequence",
    "hypothesis",
    "remarkable",
    "considerable",
    "extraordinary",
    "approximately",
    "nevertheless",
    "circumference",
};

enum { WORDS = sizeof(words) / sizeof(words[0]) };

/* Makes `pick` such that entry i of the list of words has a probability in proportion to 1 / (i +
 * 8). */
static void make_pick(struct gen *g)
{
    uint32_t total = 0, sum = 0, word = 0;

    for (uint32_t i = 0; i < WORDS; i++)
        total += 1000000 / (i + 8);
    for (uint32_t k = 0; k < PICK_SIZE; k++) {
        while (word + 1 < WORDS &&
               (uint64_t)k * total >= (uint64_t)(sum + 1000000 / (word + 8)) * PICK_SIZE)
            sum += 1000000 / (word++ + 8);
        g->pick[k] = (uint16_t)word;
    }
}

/* Makes a random name.  Without such names, the text would consist of a few hundred strings. */
static size_t make_name(struct gen *g, char name[16])
{
    static const char consonants[] = "bdfghklmnprstvwz", vowels[] = "aeiouaeo";
    unsigned syllables = 1 + below(g, 4);
    size_t n = 0;

    for (unsigned i = 0; i < syllables; i++) {
        name[n++] = consonants[below(g, 16)];
        name[n++] = vowels[below(g, 8)];
    }
    if (below(g, 2) == 0)
        name[n++] = consonants[below(g, 16)];
    return n;
}

/* text: sentences in paragraphs of wrapped lines.  Often, a word depends only on the word before
 * it, so that phrases repeat. */
static void put_text(struct gen *g)
{
    static const char *const endings[] = {"s", "ed", "ing", "er", "ly"};
    char word[32];
    size_t n;
    uint32_t dice = below(g, 64);

    if (g->column == 0 && g->sentence == 0)
        put_string(g, "    ");
    if (dice == 0) {
        n = make_name(g, word);
        word[0] = (char)(word[0] - 'a' + 'A');
    } else if (dice == 1) {
        n = (size_t)snprintf(word, sizeof(word), "%" PRIu32, skewed(g, 12));
    } else {
        if (dice < 24)
            g->word = (g->word * 37 + dice % 3) % WORDS;
        else
            g->word = g->pick[below(g, PICK_SIZE)];
        n = strlen(words[g->word]);
        memcpy(word, words[g->word], n);
        if (g->word >= 96 && dice % 4 == 0) {
            const char *ending = endings[below(g, 5)];

            memcpy(word + n, ending, strlen(ending));
            n += strlen(ending);
        }
        if (g->sentence == 0 || g->sentence == 1000)
            word[0] = (char)(word[0] - 'a' + 'A');
    }
    if (g->sentence == 1000)
        g->sentence = 0;
    g->sentence++;
    dice = below(g, 256);
    if (g->sentence > 4 && dice < 18) {
        word[n++] = dice < 2 ? '?' : '.';
        g->sentence = 1000;
    } else if (dice > 240) {
        word[n++] = dice > 253 ? ';' : ',';
    }
    g->column += (unsigned)n + 1;
    if (g->sentence == 1000 && below(g, 8) == 0) {
        word[n++] = '\n';
        word[n++] = '\n';
        g->column = 0;
        g->sentence = 0;
    } else if (g->column > 70) {
        word[n++] = '\n';
        g->column = 0;
    } else {
        word[n++] = ' ';
    }
    put(g, word, n);
}

/* source: text that looks a bit like C, with functions, nested blocks, comments, and the same few
 * identifiers near each other. */

static void put_identifier(struct gen *g)
{
    /* Identifiers come from a small set that slowly changes, so that the same ones occur near each
     * other. */
    uint32_t i = g->lines / 64 * 5 + below(g, 12);

    put_string(g, words[96 + (i * 7) % (WORDS - 96)]);
    if (i % 3 == 0) {
        put_string(g, "_");
        put_string(g, words[i % 96]);
    }
    if (i % 11 == 0)
        put_decimal(g, i % 10);
}

static void put_expression(struct gen *g)
{
    static const char *const operators[] = {" + ", " - ", " * ", " & ", " << ", "->", ".", " | "};

    for (unsigned terms = 1 + below(g, 3); terms > 0; terms--) {
        uint32_t dice = below(g, 8);

        if (dice == 0) {
            put_decimal(g, skewed(g, 10));
        } else if (dice == 1) {
            put_string(g, "0x");
            put_decimal(g, skewed(g, 16));
        } else {
            put_identifier(g);
            if (dice == 2)
                put_string(g, "[i]");
        }
        if (terms > 1)
            put_string(g, operators[below(g, 8)]);
    }
}

static void put_source(struct gen *g)
{
    static const char *const types[] = {"int",           "size_t",        "static void",
                                        "const char *",  "struct node *", "uint32_t",
                                        "unsigned long", "bool"};
    static const char *const comparisons[] = {" == ", " != ", " < ", " > ", " <= ", " >= "};
    uint32_t dice = below(g, 32);

    bool closes = g->depth > 0 && dice < 6;

    g->lines++;
    g->depth -= closes;
    for (unsigned i = 0; i < g->depth; i++)
        put_string(g, "    ");
    if (closes) {
        put_string(g, g->depth == 0 ? "}\n\n" : "}\n");
    } else if (g->depth == 0) {
        if (dice < 4) {
            put_string(g, "#define ");
            put_identifier(g);
            put_string(g, " ");
            put_decimal(g, skewed(g, 14));
            put_string(g, "\n");
        } else if (dice < 8) {
            put_string(g, "/* ");
            for (unsigned i = 3 + below(g, 9); i > 0; i--) {
                put_string(g, words[g->pick[below(g, PICK_SIZE)]]);
                put_string(g, " ");
            }
            put_string(g, "*/\n");
        } else {
            put_string(g, types[below(g, 8)]);
            put_string(g, " ");
            put_identifier(g);
            put_string(g, "(");
            put_string(g, types[below(g, 8)]);
            put_string(g, " ");
            put_identifier(g);
            put_string(g, ")\n{\n");
            g->depth = 1;
        }
    } else if (dice < 11 && g->depth < 6) {
        put_string(g, dice < 9 ? "if (" : "while (");
        put_expression(g);
        put_string(g, comparisons[below(g, 6)]);
        put_expression(g);
        put_string(g, ") {\n");
        g->depth++;
    } else if (dice < 13) {
        put_string(g, "return ");
        put_expression(g);
        put_string(g, ";\n");
    } else if (dice < 17) {
        put_identifier(g);
        put_string(g, "(");
        put_expression(g);
        put_string(g, ", ");
        put_expression(g);
        put_string(g, ");\n");
    } else {
        put_identifier(g);
        put_string(g, dice < 20 ? " += " : " = ");
        put_expression(g);
        put_string(g, ";\n");
    }
}

/* binary: data like object files, tables and dumps.  The data has sections of records.  All records
 * of a section have the same layout of counters, small numbers with many zero bytes, addresses and
 * strings. */
static void put_binary(struct gen *g)
{
    char name[16] = "";

    if (g->records == 0) {
        g->records = 20 + below(g, 500);
        g->section = below(g, 4);
        g->address = UINT64_C(0x00007f0000000000) + ((uint64_t)below(g, 1 << 20) << 12);
    }
    g->records--;
    g->counter++;
    switch (g->section) {
    case 0: /* a table of objects, 32 bytes each */
        put_little(g, g->counter, 4);
        put_little(g, below(g, 6), 2);
        put_little(g, UINT64_C(1) << below(g, 12), 2);
        put_little(g, g->address, 8);
        put_little(g, (uint64_t)0 - below(g, 40), 4);
        put_little(g, 0, 4);
        put_little(g, skewed(g, 12), 8);
        g->address += 16 * (1 + below(g, 20));
        break;
    case 1: /* relocations, 24 bytes each */
        put_little(g, g->address, 8);
        put_little(g, 8, 4);
        put_little(g, below(g, 300), 4);
        put_little(g, below(g, 4) == 0 ? 0 : g->address - 4 * below(g, 5000), 8);
        g->address += 8;
        break;
    case 2: /* names in a fixed field, and samples that drift */
        make_name(g, name);
        put(g, name, 12);
        put_little(g, g->counter * 1000 + below(g, 1000), 4);
        for (int i = 0; i < 8; i++)
            put_little(g, 2048 + g->counter % 97 + below(g, 16), 2);
        break;
    default: /* strings that end in a zero byte */
        put_string(g, words[g->pick[below(g, PICK_SIZE)]]);
        put_string(g, "_");
        put_string(g, words[g->pick[below(g, PICK_SIZE)]]);
        put_little(g, 0, 1);
        break;
    }
}

/*
 * debruijn: strings over few symbols that do not repeat, so that Huffman coding helps but match
 * finders find nothing long.  A shift register of sixteen bits, with the feedback of a primitive
 * polynomial, goes through all 65535 values other than 0.  Each symbol is the register's next b
 * bits, where b is a power of two, so prime to 65535.  Then 16/b consecutive symbols are a value of
 * the register, and do not occur again for 65535 bytes.  Stretches with four numbers of symbols
 * take turns.  With 16 symbols, no four bytes repeat; with 4 symbols, no eight bytes; with 256
 * symbols, no two bytes; and with 2 symbols, no sixteen bytes.
 */
static void put_debruijn(struct gen *g)
{
    static const unsigned bits[] = {4, 2, 8, 1};
    unsigned b = bits[g->lfsr_steps / 65535 % 4];
    unsigned char symbol;

    for (unsigned i = 0; i < b; i++) {
        uint32_t s = g->lfsr;

        g->lfsr = (s << 1 | ((s >> 15 ^ s >> 13 ^ s >> 12 ^ s >> 10) & 1)) & 0xffff;
    }
    g->lfsr_steps++;
    symbol = (unsigned char)(g->lfsr & ((1u << b) - 1));
    if (b < 8)
        symbol = (unsigned char)(symbol + 'a');
    put(g, &symbol, 1);
}

/* sparse: zeros, with islands of random bytes, some far apart and some close together. */
static void put_sparse(struct gen *g)
{
    static const unsigned char zeros[8192];
    unsigned char island[64];
    uint32_t n = skewed(g, 6);

    put(g, zeros, skewed(g, 13));
    for (uint32_t i = 0; i < n; i++)
        island[i] = (unsigned char)below(g, 256);
    put(g, island, n);
}

/* match32k: random bytes that repeat only at distance 32768, the greatest for a match, or at 32769,
 * which is too far. */
static void put_match32k(struct gen *g)
{
    uint32_t dice = below(g, 8);
    uint32_t distance = dice < 5 ? 32768 : 32769;
    uint32_t n = skewed(g, 9);
    unsigned char run[512];
    uint32_t i;

    /* At the start, nothing can repeat.  Between two repeats, there must be new bytes. */
    for (i = 0; i < n; i++, g->position++) {
        bool fresh = g->position < distance || dice == 7 || i == 0;

        run[i] =
            fresh ? (unsigned char)below(g, 256) : g->ring[(g->position - distance) % RING_SIZE];
        g->ring[g->position % RING_SIZE] = run[i];
    }
    if (g->position >= UINT32_C(1) << 31)
        g->position -= UINT32_C(1) << 30;
    put(g, run, n);
}

/* mixed: all other kinds in turn, in pieces of odd lengths, so that segments and chunks end at many
 * different places in them. */
static void put_mixed(struct gen *g)
{
    static void (*const kinds[])(struct gen *) = {put_text,   put_source,  put_random,
                                                  put_binary, put_period,  put_debruijn,
                                                  put_sparse, put_match32k};
    void (*kind)(struct gen *) = kinds[below(g, 8)];
    uint64_t whole = g->left, stretch = skewed(g, 18) | 1;

    if (stretch > whole)
        stretch = whole;
    make_pattern(g, 1 + below(g, 300), -1);
    g->left = stretch;
    while (g->left > 0)
        kind(g);
    g->left = whole - stretch;
}

/*
 * copies: data in which the output depends on every parameter of the level table (tests/levels.c
 * checks that).  Stretches of three kinds take turns.
 */

/* Puts `n` bytes that are also kept in g->ring. */
static void put_kept(struct gen *g, const unsigned char *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        g->ring[g->position++ % RING_SIZE] = bytes[i];
    put(g, bytes, n);
}

static void put_random_byte(struct gen *g)
{
    unsigned char byte = (unsigned char)below(g, 256);

    put_kept(g, &byte, 1);
}

/* Matches of three to six bytes whose distance is near a power of two: for the largest distance of
 * a match of three. */
static void put_short_copy(struct gen *g)
{
    uint32_t dice = below(g, 8);
    uint32_t distance = (UINT32_C(1) << (dice < 2 ? below(g, 16) : 12 + below(g, 3)));
    uint32_t n = 3;

    if (below(g, 4) == 0)
        n += below(g, 4);
    distance += below(g, 3) - 1; /* 0 stands for the ring's size */
    for (uint32_t i = 0; i < n; i++)
        put_kept(g, &g->ring[(g->position - distance) % RING_SIZE], 1);
    for (uint32_t i = below(g, 3); i > 0; i--)
        put_random_byte(g);
}

/* What the records of a stretch of put_prefixed are like. */
struct prefixed {
    uint8_t prefix, suffix; /* bytes of each */
    uint16_t suffixes;      /* about how many different suffixes there are */
    uint16_t records;       /* about how many records there are */
};

/* The stretch's prefix, and one of many suffixes: for the depths, as many candidates have the
 * prefix, and the match is longer with the right one. */
static void put_prefixed(struct gen *g)
{
    uint32_t suffix = below(g, g->suffixes) * UINT32_C(0x9e3779b1);

    put_kept(g, g->base, g->kind->prefix);
    for (unsigned i = 0; i < g->kind->suffix; i++, suffix >>= 8) {
        unsigned char byte = (unsigned char)suffix;

        put_kept(g, &byte, 1);
    }
    /* Where no byte follows, a match often ends just before a prefix, and the next search, which is
     * no look-ahead, begins there. */
    if (below(g, 2) == 0)
        put_random_byte(g);
}

/* The first bytes of the base, then another byte: matches of all lengths, for `nice`. */
static void put_part_of_base(struct gen *g)
{
    uint32_t dice = below(g, 8);
    uint32_t n = dice == 0 ? 250 + below(g, 12) : dice == 1 ? 3 + below(g, 270) : skewed(g, 8);
    unsigned char other = (unsigned char)(g->base[n] + 1 + below(g, 255));

    put_kept(g, g->base, n);
    put_kept(g, &other, 1);
}

static void put_copies(struct gen *g)
{
    static const struct prefixed kinds[] = {
        {4, 2, 64, 800}, {8, 4, 512, 2400}, {6, 1, 16, 500}, {13, 3, 64, 400},
        {5, 1, 24, 500}, {26, 2, 64, 300},  {4, 2, 32, 500}, {8, 4, 640, 2600},
        {7, 3, 48, 500}, {66, 3, 64, 150},  {6, 1, 24, 500}, {12, 4, 128, 400},
    };

    if (g->records_left == 0) {
        g->kind = &kinds[g->stretch / 3 % (sizeof(kinds) / sizeof(*kinds))];
        g->suffixes = g->kind->suffixes / 2 + below(g, g->kind->suffixes);
        g->records_left = g->stretch % 3 == 0 ? g->kind->records : 200 + below(g, 200);
        g->stretch++;
        for (unsigned i = 0; i < BASE_SIZE; i++)
            g->base[i] = (unsigned char)below(g, 256);
    }
    g->records_left--;
    if (g->stretch % 3 == 1)
        put_prefixed(g);
    else if (g->stretch % 3 == 2)
        put_short_copy(g);
    else
        put_part_of_base(g);
}

static const struct {
    const char *name;
    void (*put)(struct gen *);
    unsigned period; /* for put_period: the period; 0 for other kinds */
    int byte;        /* for put_period: the byte to repeat; -1: random bytes */
} kinds[] = {
    {"zeros", put_period, 1, 0},      {"byte", put_period, 1, 'x'},
    {"period1", put_period, 1, -1},   {"period2", put_period, 2, -1},
    {"period3", put_period, 3, -1},   {"period4", put_period, 4, -1},
    {"period5", put_period, 5, -1},   {"period6", put_period, 6, -1},
    {"period7", put_period, 7, -1},   {"period8", put_period, 8, -1},
    {"period9", put_period, 9, -1},   {"random", put_random, 0, 0},
    {"text", put_text, 0, 0},         {"source", put_source, 0, 0},
    {"binary", put_binary, 0, 0},     {"mixed", put_mixed, 0, 0},
    {"debruijn", put_debruijn, 0, 0}, {"sparse", put_sparse, 0, 0},
    {"match32k", put_match32k, 0, 0}, {"copies", put_copies, 0, 0},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool read_number(const char *text, uint64_t *value)
{
    char *end;

    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

int main(int argc, char **argv)
{
    static struct gen g;
    uint64_t seed = 1;
    int kind = -1;

    if (argc == 2 && strcmp(argv[1], "kinds") == 0) {
        for (int i = 0; i < KINDS; i++)
            puts(kinds[i].name);
        return 0;
    }
    for (int i = 0; argc > 1 && i < KINDS; i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            kind = i;
    if (argc < 3 || argc > 4 || kind < 0 || !read_number(argv[2], &g.left) ||
        (argc == 4 && !read_number(argv[3], &seed))) {
        fprintf(stderr, "Usage: gen KIND BYTES [SEED], or: gen kinds\n");
        return 2;
    }
    g.random = seed;
    g.lfsr = 1 + below(&g, 65535);
    make_pick(&g);
    if (kinds[kind].period > 0)
        make_pattern(&g, kinds[kind].period, kinds[kind].byte);
    while (g.left > 0)
        kinds[kind].put(&g);
    flush(&g);
    return 0;
}
