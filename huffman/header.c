/*
 * header.c - the header of a dynamic block
 *
 * A run of equal code lengths can be said in several ways: symbol 16 repeats the length before it 3
 * to 6 times, 17 and 18 say 3 to 10 and 11 to 138 zeros, and every length can be said by itself.
 * Which way is shortest depends on how long the symbols' own codes are, and these on how often each
 * is used.  So: start from a plausible guess of the code, choose the cheapest way to say each run
 * under it, make the best code for those choices, and once more with that code.  The choice for a
 * run is exact: its cost depends only on how many of each symbol are used, and few combinations are
 * worth trying.  (Of these: that 16 can repeat zeros too is not used, since 17 and 18 say more
 * zeros in about as many bits.)
 */
#include "config.h"

#include <string.h>

#include "huffman/header.h"
#include "huffman/lengths.h"

enum { REPEAT = 16, ZEROS_SHORT = 17, ZEROS_LONG = 18 };

static const uint8_t extra_bits[DEFLATE_PRECODE_SYMBOLS] = {
    [REPEAT] = 2, [ZEROS_SHORT] = 3, [ZEROS_LONG] = 7};

/* The order in which the precode's lengths are sent. */
static const uint8_t precode_order[DEFLATE_PRECODE_SYMBOLS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                               11, 4,  12, 3, 13, 2, 14, 1, 15};

/* Adds an item. */
static void add(struct huff_header *h, unsigned symbol, unsigned extra)
{
    h->items[h->item_count].symbol = (uint8_t)symbol;
    h->items[h->item_count++].extra = (uint8_t)extra;
}

/* Adds `count` of a symbol that stands for min to max lengths each, `total` lengths in all. */
static void add_runs(struct huff_header *h, unsigned symbol, unsigned count, unsigned min,
                     unsigned max, unsigned total)
{
    for (; count > 0; count--) {
        unsigned run = total - (count - 1) * min;

        if (run > max)
            run = max;
        add(h, symbol, run - min);
        total -= run;
    }
}

/* Adds `run` zeros the cheapest way when symbol s costs cost[s] bits, extra bits included. */
static void add_zeros(struct huff_header *h, unsigned run, const uint8_t *cost)
{
    unsigned best = run * cost[0], best_long = 0, best_short = 0;
    unsigned most_long = (run + 137) / 138, single, covered, for_long;

    if (run < 3) {
        while (run-- > 0)
            add(h, 0, 0);
        return;
    }
    for (unsigned n_long = 0; n_long <= most_long; n_long++) {
        for (unsigned n_short = n_long == 0; n_short <= 3; n_short++) {
            unsigned most = 138 * n_long + 10 * n_short;
            unsigned left = run > most ? run - most : 0;
            unsigned c = n_long * cost[ZEROS_LONG] + n_short * cost[ZEROS_SHORT] + left * cost[0];

            if (11 * n_long + 3 * n_short + left <= run && c < best) {
                best = c;
                best_long = n_long;
                best_short = n_short;
            }
        }
    }
    covered = 138 * best_long + 10 * best_short;
    single = run > covered ? run - covered : 0;
    covered = run - single;
    for (unsigned i = 0; i < single; i++)
        add(h, 0, 0);
    /* The long ones take what they can; the short ones need at least 3 each. */
    for_long = covered - 3 * best_short;
    if (for_long > 138 * best_long)
        for_long = 138 * best_long;
    add_runs(h, ZEROS_LONG, best_long, 11, 138, for_long);
    add_runs(h, ZEROS_SHORT, best_short, 3, 10, covered - for_long);
}

/* The same for `run` codes of `length` bits: the first is said, the others may repeat it. */
static void add_lengths(struct huff_header *h, unsigned length, unsigned run, const uint8_t *cost)
{
    unsigned best, best_repeats = 0, left;

    add(h, length, 0);
    run--;
    best = run * cost[length];
    for (unsigned repeats = 1; 3 * repeats <= run; repeats++) {
        unsigned c;

        left = run > 6 * repeats ? run - 6 * repeats : 0;
        c = repeats * cost[REPEAT] + left * cost[length];
        if (c < best) {
            best = c;
            best_repeats = repeats;
        }
    }
    left = run > 6 * best_repeats ? run - 6 * best_repeats : 0;
    add_runs(h, REPEAT, best_repeats, 3, 6, run - left);
    for (unsigned i = 0; i < left; i++)
        add(h, length, 0);
}

/* Chooses the items for all[0..n) under `cost`, makes the code for them, and sets h->bits. */
static void choose(struct huff_header *h, const uint8_t *all, unsigned n, const uint8_t *cost)
{
    uint32_t frequencies[DEFLATE_PRECODE_SYMBOLS] = {0};
    unsigned end;

    h->item_count = 0;
    for (unsigned i = 0; i < n; i = end) {
        for (end = i + 1; end < n && all[end] == all[i]; end++)
            ;
        if (all[i] == 0)
            add_zeros(h, end - i, cost);
        else
            add_lengths(h, all[i], end - i, cost);
    }
    for (unsigned i = 0; i < h->item_count; i++)
        frequencies[h->items[i].symbol]++;
    huff_lengths(frequencies, DEFLATE_PRECODE_SYMBOLS, DEFLATE_MAX_PRECODE, h->precode_lengths);

    h->precode_count = DEFLATE_PRECODE_SYMBOLS;
    while (h->precode_count > 4 && h->precode_lengths[precode_order[h->precode_count - 1]] == 0)
        h->precode_count--;
    h->bits = 5 + 5 + 4 + 3u * h->precode_count;
    for (unsigned s = 0; s < DEFLATE_PRECODE_SYMBOLS; s++)
        h->bits += frequencies[s] * (h->precode_lengths[s] + extra_bits[s]);
}

void huff_header_plan(const uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS],
                      const uint8_t distance_lengths[DEFLATE_DISTANCE_SYMBOLS],
                      struct huff_header *h)
{
    /* A guess to start from: what symbols cost in the headers of ordinary text and programs. */
    static const uint8_t guess[DEFLATE_PRECODE_SYMBOLS] = {3, 7, 7, 6, 5, 4, 4,     3,     3,    3,
                                                           4, 4, 5, 6, 7, 7, 4 + 2, 5 + 3, 5 + 7};
    uint8_t all[DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS];
    uint8_t cost[DEFLATE_PRECODE_SYMBOLS];
    struct huff_header again;
    unsigned n;

    h->litlen_count = DEFLATE_LITLEN_SYMBOLS;
    while (h->litlen_count > 257 && litlen_lengths[h->litlen_count - 1] == 0)
        h->litlen_count--;
    h->distance_count = DEFLATE_DISTANCE_SYMBOLS;
    while (h->distance_count > 1 && distance_lengths[h->distance_count - 1] == 0)
        h->distance_count--;
    memcpy(all, litlen_lengths, h->litlen_count);
    memcpy(all + h->litlen_count, distance_lengths, h->distance_count);
    n = h->litlen_count + h->distance_count;

    choose(h, all, n, guess);
    for (unsigned s = 0; s < DEFLATE_PRECODE_SYMBOLS; s++) {
        /* A symbol that was not used would get a long code. */
        unsigned length = h->precode_lengths[s] > 0 ? h->precode_lengths[s] : DEFLATE_MAX_PRECODE;

        cost[s] = (uint8_t)(length + extra_bits[s]);
    }
    again.litlen_count = h->litlen_count;
    again.distance_count = h->distance_count;
    choose(&again, all, n, cost);
    if (again.bits < h->bits)
        *h = again;
}

void huff_header_write(const struct huff_header *h, struct bitwriter *w)
{
    uint16_t codes[DEFLATE_PRECODE_SYMBOLS];

    huff_codes(h->precode_lengths, DEFLATE_PRECODE_SYMBOLS, codes);
    bits_put(w, h->litlen_count - 257u, 5);
    bits_put(w, h->distance_count - 1u, 5);
    bits_put(w, h->precode_count - 4u, 4);
    for (unsigned i = 0; i < h->precode_count; i++) {
        bits_flush(w);
        bits_put(w, h->precode_lengths[precode_order[i]], 3);
    }
    for (unsigned i = 0; i < h->item_count; i++) {
        unsigned s = h->items[i].symbol;

        bits_flush(w);
        bits_put(w, codes[s], h->precode_lengths[s]);
        bits_put(w, h->items[i].extra, extra_bits[s]);
    }
    bits_flush(w);
}
