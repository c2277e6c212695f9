/*
 * make_header.h - plans and writes the header of a dynamic block; for make_header.c and for the GPU
 *
 * A run of equal code lengths can be coded in several ways.  Symbol 16 of the precode repeats the
 * previous length 3 to 6 times; 17 and 18 stand for 3 to 10 and for 11 to 138 zeros; and each
 * length has a symbol of its own.  The shortest way depends on the lengths of these symbols' codes,
 * and the lengths of the codes depend on how often each symbol is used.
 *
 * So the plan takes two rounds.  The first round assumes typical lengths of the precode's codes,
 * codes each run in the cheapest way for these lengths, and makes the best precode for the symbols
 * used.  The second round does the same with the lengths of that precode.  The better result of the
 * two is used.  In each round, every run gets the cheapest of all ways.  They can all be compared,
 * because the cost of a way depends only on how often it uses each symbol, so few combinations have
 * to be tried.  (Symbol 16 could repeat zeros, too.  It is not used for that, as 17 and 18 stand
 * for more zeros in about as many bits.)
 */
#ifndef GZLZSS_HUFFMAN_MAKE_HEADER_H
#define GZLZSS_HUFFMAN_MAKE_HEADER_H

#include <stdbool.h>
#include <string.h>

#include "base/both.h"
#include "huffman/header.h"
#include "huffman/make_lengths.h"

/* Symbols of the precode. */
enum { REPEAT = 16, ZEROS_SHORT = 17, ZEROS_LONG = 18 };

/* The number of extra bits of a symbol of the precode. */
BOTH_INLINE unsigned extra_bits(unsigned symbol)
{
    return symbol < REPEAT ? 0 : symbol == REPEAT ? 2 : symbol == ZEROS_SHORT ? 3 : 7;
}

/* How a run of equal lengths is coded.  A run of zeros uses symbol 18 `longest` times and symbol 17
 * `shorter` times.  A run of another length uses symbol 16 `shorter` times.  Together these symbols
 * stand for `covered` lengths.  Each remaining length of the run is coded by its own symbol.  These
 * symbols are written before symbols 18 and 17, but after symbols 16. */
struct run_split {
    unsigned longest, shorter, covered;
};

BOTH_INLINE struct run_split split(unsigned longest, unsigned shorter, unsigned covered)
{
    const struct run_split s = {longest, shorter, covered};

    return s;
}

/* Finds the cheapest way to code `run` zeros.  cost[s] is the cost of symbol s in bits, with its
 * extra bits. */
BOTH_STATIC struct run_split split_zeros(unsigned run, const uint8_t *cost)
{
    struct run_split best = {0, 0, 0};
    unsigned least = run * cost[0];
    const unsigned most_long = (run + 137) / 138;

    /* Most runs are short, and need no search. */
    if (run < 3)
        return best;
    if (run <= 10)
        return cost[ZEROS_SHORT] < least ? split(0, 1, run) : best;
    for (unsigned n_long = 0; n_long <= most_long; n_long++) {
        for (unsigned n_short = n_long == 0; n_short <= 3; n_short++) {
            unsigned most = 138 * n_long + 10 * n_short;
            unsigned left = run > most ? run - most : 0;
            unsigned c = n_long * cost[ZEROS_LONG] + n_short * cost[ZEROS_SHORT] + left * cost[0];

            if (11 * n_long + 3 * n_short + left <= run && c < least) {
                least = c;
                best = split(n_long, n_short, run - left);
            }
            /* All zeros are covered, so more symbols would only cost more. */
            if (left == 0)
                break;
        }
    }
    return best;
}

/* Finds the cheapest way to code `run` lengths equal to `length`, which follow one more such
 * length. */
BOTH_STATIC struct run_split split_repeats(unsigned length, unsigned run, const uint8_t *cost)
{
    struct run_split best = {0, 0, 0};
    unsigned least = run * cost[length];

    for (unsigned repeats = 1; 3 * repeats <= run; repeats++) {
        unsigned left = run > 6 * repeats ? run - 6 * repeats : 0;
        unsigned c = repeats * cost[REPEAT] + left * cost[length];

        if (c < least) {
            least = c;
            best = split(0, repeats, run - left);
        }
        /* All lengths are covered, so more symbols would only cost more. */
        if (left == 0)
            break;
    }
    return best;
}

/* The end of the run of equal lengths that starts at `begin`. */
BOTH_STATIC unsigned run_end(const struct huff_header *h, unsigned begin)
{
    const unsigned n = h->litlen_count + h->distance_count;
    unsigned end = begin + 1;

    while (end < n && h->lengths[end] == h->lengths[begin])
        end++;
    return end;
}

/* A run that is long enough for symbol 16, 17 or 18. */
struct length_run {
    uint8_t length;
    uint16_t count;
};

/* Writes the runs that are long enough for symbol 16, 17 or 18 to `runs`.  Writes to others[] how
 * often each length occurs in all other runs.  Returns the number of runs written. */
BOTH_STATIC unsigned find_runs(const struct huff_header *h, struct length_run *runs,
                               uint32_t *others)
{
    const unsigned n = h->litlen_count + h->distance_count;
    uint16_t ends[DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS];
    unsigned all = 0, found = 0;

    for (unsigned i = 1; i < n; i++) {
        ends[all] = (uint16_t)i;
        all += h->lengths[i] != h->lengths[i - 1];
    }
    ends[all++] = (uint16_t)n;
    memset(others, 0, DEFLATE_PRECODE_SYMBOLS * sizeof(*others));
    for (unsigned r = 0, begin = 0; r < all; begin = ends[r++]) {
        const uint8_t length = h->lengths[begin];
        const unsigned count = ends[r] - begin;
        /* The first length of a run is coded by its own symbol, unless it is 0. */
        const bool may_be_shorter = count >= 3 + (length != 0);

        runs[found].length = length;
        runs[found].count = (uint16_t)count;
        found += may_be_shorter;
        others[length] += may_be_shorter ? 0 : count;
    }
    return found;
}

/* A precode, and the header that results from it. */
struct precode {
    uint8_t cost[DEFLATE_PRECODE_SYMBOLS];    /* the costs assumed when runs were coded */
    uint8_t lengths[DEFLATE_PRECODE_SYMBOLS]; /* the lengths of the precode's codes */
    unsigned count;                           /* how many of the `lengths` are sent */
    uint32_t bits;                            /* the header's size */
};

/* Counts the precode's symbols for the n runs, which are coded in the cheapest way under `cost`,
 * and for the lengths in others[]. */
BOTH_STATIC void count_symbols(const struct length_run *runs, unsigned n, const uint32_t *others,
                               const uint8_t *cost, uint32_t *frequencies)
{
    memcpy(frequencies, others, DEFLATE_PRECODE_SYMBOLS * sizeof(*frequencies));
    for (const struct length_run *r = runs; r < runs + n; r++) {
        const struct run_split s = r->length == 0 ? split_zeros(r->count, cost)
                                                  : split_repeats(r->length, r->count - 1u, cost);

        frequencies[ZEROS_LONG] += s.longest;
        frequencies[r->length == 0 ? ZEROS_SHORT : REPEAT] += s.shorter;
        frequencies[r->length] += r->count - s.covered;
    }
}

/* Makes the best precode for these frequencies of its symbols. */
BOTH_STATIC void make_precode(struct huff_lengths_work *w, struct precode *p,
                              const uint32_t *frequencies)
{
    BOTH_TABLE uint8_t order[DEFLATE_PRECODE_SYMBOLS] = DEFLATE_PRECODE_ORDER;

    p->bits = (uint32_t)make_lengths(w, frequencies, DEFLATE_PRECODE_SYMBOLS, DEFLATE_MAX_PRECODE,
                                     p->lengths);

    p->count = DEFLATE_PRECODE_SYMBOLS;
    while (p->count > 4 && p->lengths[order[p->count - 1]] == 0)
        p->count--;
    p->bits += 5 + 5 + 4 + 3 * p->count;
    for (unsigned s = REPEAT; s < DEFLATE_PRECODE_SYMBOLS; s++)
        p->bits += frequencies[s] * extra_bits(s);
}

BOTH_STATIC void make_header(struct huff_lengths_work *w,
                             const uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS],
                             const uint8_t distance_lengths[DEFLATE_DISTANCE_SYMBOLS],
                             struct huff_header *h)
{
    /* The costs assumed in the first round, which are typical of the headers of text and
     * programs. */
    BOTH_TABLE uint8_t guess[DEFLATE_PRECODE_SYMBOLS] = {3, 7, 7, 6, 5, 4, 4,     3,     3,    3,
                                                         4, 4, 5, 6, 7, 7, 4 + 2, 5 + 3, 5 + 7};
    struct length_run runs[DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS];
    uint32_t others[DEFLATE_PRECODE_SYMBOLS], frequencies[DEFLATE_PRECODE_SYMBOLS];
    uint32_t again[DEFLATE_PRECODE_SYMBOLS];
    struct precode first, second;
    const struct precode *better = &first;
    bool is_same = true;
    unsigned n;

    memcpy(first.cost, guess, sizeof(first.cost));
    h->litlen_count = DEFLATE_LITLEN_SYMBOLS;
    while (h->litlen_count > 257 && litlen_lengths[h->litlen_count - 1] == 0)
        h->litlen_count--;
    h->distance_count = DEFLATE_DISTANCE_SYMBOLS;
    while (h->distance_count > 1 && distance_lengths[h->distance_count - 1] == 0)
        h->distance_count--;
    memcpy(h->lengths, litlen_lengths, h->litlen_count);
    memcpy(h->lengths + h->litlen_count, distance_lengths, h->distance_count);
    n = find_runs(h, runs, others);

    count_symbols(runs, n, others, first.cost, frequencies);
    make_precode(w, &first, frequencies);
    for (unsigned s = 0; s < DEFLATE_PRECODE_SYMBOLS; s++) {
        /* Assume the longest code for a symbol that was not used. */
        unsigned length = first.lengths[s] > 0 ? first.lengths[s] : DEFLATE_MAX_PRECODE;

        second.cost[s] = (uint8_t)(length + extra_bits(s));
    }
    count_symbols(runs, n, others, second.cost, again);
    /* In most cases, the counts are the same as in the first round, and would give the same
     * precode. */
    for (unsigned s = 0; s < DEFLATE_PRECODE_SYMBOLS; s++)
        is_same &= frequencies[s] == again[s];
    if (!is_same) {
        make_precode(w, &second, again);
        if (second.bits < first.bits)
            better = &second;
    }
    memcpy(h->cost, better->cost, sizeof(h->cost));
    memcpy(h->precode_lengths, better->lengths, sizeof(h->precode_lengths));
    h->precode_count = (uint16_t)better->count;
    h->bits = better->bits;
}

/* The state of writing a precode's symbols. */
struct precode_writer {
    struct bitwriter *bits;
    const uint8_t *lengths;
    uint16_t codes[DEFLATE_PRECODE_SYMBOLS];
};

/* Writes a symbol, with `extra` as the value of its extra bits. */
BOTH_STATIC void write_symbol(struct precode_writer *w, unsigned symbol, unsigned extra)
{
    bits_flush(w->bits);
    bits_put(w->bits, w->codes[symbol], w->lengths[symbol]);
    bits_put(w->bits, extra, extra_bits(symbol));
}

/* Writes `symbol` `count` times.  Each time, the symbol stands for min to max lengths.  The sum of
 * these is `total`. */
BOTH_STATIC void write_runs(struct precode_writer *w, unsigned symbol, unsigned count, unsigned min,
                            unsigned max, unsigned total)
{
    for (; count > 0; count--) {
        unsigned run = total - (count - 1) * min;

        if (run > max)
            run = max;
        write_symbol(w, symbol, run - min);
        total -= run;
    }
}

/* Writes the symbols for `run` zeros. */
BOTH_STATIC void write_zeros(struct precode_writer *w, unsigned run, const uint8_t *cost)
{
    const struct run_split s = split_zeros(run, cost);
    /* The long symbols stand for as many zeros as they can, but 3 are left for each short
     * symbol. */
    unsigned for_long = s.covered - 3 * s.shorter;

    if (for_long > 138 * s.longest)
        for_long = 138 * s.longest;
    for (unsigned i = s.covered; i < run; i++)
        write_symbol(w, 0, 0);
    write_runs(w, ZEROS_LONG, s.longest, 11, 138, for_long);
    write_runs(w, ZEROS_SHORT, s.shorter, 3, 10, s.covered - for_long);
}

/* Writes the symbols for `run` lengths that equal `length`, which is not 0. */
BOTH_STATIC void write_lengths(struct precode_writer *w, unsigned length, unsigned run,
                               const uint8_t *cost)
{
    const struct run_split s = split_repeats(length, run - 1, cost);

    write_symbol(w, length, 0);
    write_runs(w, REPEAT, s.shorter, 3, 6, s.covered);
    for (unsigned i = 1 + s.covered; i < run; i++)
        write_symbol(w, length, 0);
}

BOTH_STATIC void put_header(const struct huff_header *h, struct bitwriter *bits)
{
    const unsigned n = h->litlen_count + h->distance_count;
    BOTH_TABLE uint8_t order[DEFLATE_PRECODE_SYMBOLS] = DEFLATE_PRECODE_ORDER;
    struct precode_writer w;

    w.bits = bits;
    w.lengths = h->precode_lengths;
    make_codes(h->precode_lengths, DEFLATE_PRECODE_SYMBOLS, w.codes);
    bits_put(bits, h->litlen_count - 257u, 5);
    bits_put(bits, h->distance_count - 1u, 5);
    bits_put(bits, h->precode_count - 4u, 4);
    for (unsigned i = 0; i < h->precode_count; i++) {
        bits_flush(bits);
        bits_put(bits, h->precode_lengths[order[i]], 3);
    }
    for (unsigned begin = 0, end; begin < n; begin = end) {
        end = run_end(h, begin);
        if (h->lengths[begin] == 0)
            write_zeros(&w, end - begin, h->cost);
        else
            write_lengths(&w, h->lengths[begin], end - begin, h->cost);
    }
    bits_flush(bits);
}

#endif
