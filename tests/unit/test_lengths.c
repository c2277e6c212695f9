/*
 * test_lengths.c - code lengths are optimal within their limit, and codes are canonical
 *
 * Optimal means that no prefix code within the limit has a smaller sum of frequency times length.
 * Two oracles give that sum.  The first, for any histogram, is the coin collector's list, merged
 * and sorted in the plain way.  That list has only weights, no trees, so the first oracle shares
 * nothing with the code under test.  The second oracle tries all shapes of a code tree, for a few
 * symbols, and also checks the first oracle.
 *
 * If several codes have the same cost, huff_lengths must always choose the same code.  If the limit
 * matters, huff_lengths must choose the code of package-merge, where every list is made completely
 * and a leaf comes before a package of the same weight.
 */
#include "config.h"

#include <string.h>

#include "huffman/lengths.h"
#include "tests/unit/unit.h"

static struct huff_lengths_work work;

static int compare_weights(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Sets `weights` to the frequencies of the symbols in use, in rising order.  Returns the number of
 * these symbols. */
static unsigned used_weights(const uint32_t *frequencies, unsigned n, uint64_t *weights)
{
    unsigned used = 0;

    for (unsigned i = 0; i < n; i++)
        if (frequencies[i] > 0)
            weights[used++] = frequencies[i];
    qsort(weights, used, sizeof(*weights), compare_weights);
    return used;
}

/* Returns the least cost of a code for n weights, at least two: the sum of the 2n - 2 lightest
 * coins and packages of the largest denomination. */
static uint64_t coin_collector(const uint64_t *weights, unsigned n, unsigned limit)
{
    uint64_t list[2 * HUFF_MAX_SYMBOLS], sum = 0;
    unsigned items = 0;

    for (unsigned level = 0; level < limit; level++) {
        unsigned packages = items / 2;

        for (unsigned i = 0; i < packages; i++)
            list[i] = list[2 * i] + list[2 * i + 1];
        memcpy(list + packages, weights, n * sizeof(*weights));
        items = packages + n;
        qsort(list, items, sizeof(*list), compare_weights);
    }
    for (unsigned i = 0; i < 2 * n - 2; i++)
        sum += list[i];
    return sum;
}

/* An item in package-merge's lists: its weight, and how often it contains each leaf. */
struct item {
    uint64_t weight;
    uint8_t uses[HUFF_MAX_SYMBOLS];
};

/* Sets lengths[0..n) to the code lengths that package-merge gives for n weights. */
static void plain_lengths(const uint64_t *weights, unsigned n, unsigned limit, uint8_t *lengths)
{
    static struct item list[2 * HUFF_MAX_SYMBOLS], packages[HUFF_MAX_SYMBOLS];
    unsigned items = 0;

    for (unsigned level = 0; level < limit; level++) {
        unsigned offered = items / 2, leaf = 0, package = 0;

        for (unsigned i = 0; i < offered; i++) {
            packages[i].weight = list[2 * i].weight + list[2 * i + 1].weight;
            for (unsigned k = 0; k < n; k++)
                packages[i].uses[k] = (uint8_t)(list[2 * i].uses[k] + list[2 * i + 1].uses[k]);
        }
        for (items = 0; items < n + offered; items++) {
            if (leaf < n && (package == offered || weights[leaf] <= packages[package].weight)) {
                memset(&list[items], 0, sizeof(list[items]));
                list[items].weight = weights[leaf];
                list[items].uses[leaf++] = 1;
            } else {
                list[items] = packages[package++];
            }
        }
    }
    memset(lengths, 0, n);
    for (unsigned i = 0; i < 2 * n - 2; i++)
        for (unsigned k = 0; k < n; k++)
            lengths[k] = (uint8_t)(lengths[k] + list[i].uses[k]);
}

/* Returns the least cost, by trying every tree.  The tree has `open` nodes at `depth` so far, and n
 * weights are left.  Any number of these nodes can be leaves, which get the heaviest weights.  Each
 * other node has two children. */
static uint64_t every_tree(const uint64_t *weights, unsigned n, unsigned depth, unsigned open,
                           unsigned limit)
{
    uint64_t best = UINT64_MAX, cost = 0;

    if (n == 0 && open == 0)
        return 0;
    if (open == 0 || open > n || depth > limit)
        return UINT64_MAX;
    for (unsigned leaves = 0; leaves <= open; leaves++) {
        uint64_t rest = every_tree(weights, n - leaves, depth + 1, 2 * (open - leaves), limit);

        if (rest != UINT64_MAX && cost + rest < best)
            best = cost + rest;
        if (leaves < open)
            cost += depth * weights[n - leaves - 1];
    }
    return best;
}

/*
 * Checks that the codes are those of RFC 1951, section 3.2.2, bit-reversed.  In order of length,
 * then of symbol, and read as a binary fraction, each code must be the sum of 2^-length over the
 * codes before it.  With a Kraft sum of 1, the codes are then prefix-free.  The function also
 * checks that from a decoder's view: each word of HUFF_MAX_LENGTH bits must start with exactly one
 * code.
 */
static void check_codes(const uint8_t *lengths, unsigned n)
{
    static uint8_t starts[1 << HUFF_MAX_LENGTH];
    uint16_t codes[HUFF_MAX_SYMBOLS];
    uint32_t sum = 0;
    bool once = true;

    memset(codes, 0xa5, sizeof(codes));
    huff_codes(lengths, n, codes);
    memset(starts, 0, sizeof(starts));
    for (unsigned length = 1; length <= HUFF_MAX_LENGTH; length++) {
        for (unsigned i = 0; i < n; i++) {
            uint32_t fraction = 0;

            if (lengths[i] != length)
                continue;
            for (unsigned bit = 0; bit < HUFF_MAX_LENGTH; bit++)
                fraction |= (codes[i] >> bit & 1u) << (HUFF_MAX_LENGTH - 1 - bit);
            CHECK_EQ(fraction, sum);
            sum += 1u << (HUFF_MAX_LENGTH - length);
            for (uint32_t word = codes[i]; word < sizeof(starts); word += 1u << length)
                starts[word]++;
        }
    }
    for (uint32_t word = 0; word < sizeof(starts); word++)
        once = once && starts[word] == 1;
    CHECK(once);
    for (unsigned i = 0; i < n; i++)
        if (lengths[i] == 0)
            CHECK_EQ(codes[i], 0);
    if (n < HUFF_MAX_SYMBOLS)
        CHECK_EQ(codes[n], 0xa5a5);
}

/* Checks that the symbols' code lengths are those of package-merge.  `weights` are in rising
 * order. */
static void check_choice(const uint32_t *frequencies, unsigned n, const uint64_t *weights,
                         unsigned used, unsigned limit, const uint8_t *lengths)
{
    uint8_t plain[HUFF_MAX_SYMBOLS];

    plain_lengths(weights, used, limit, plain);
    for (unsigned i = 0; i < n; i++) {
        unsigned before = 0;

        if (frequencies[i] == 0)
            continue;
        for (unsigned k = 0; k < n; k++)
            before += frequencies[k] > 0 && (frequencies[k] < frequencies[i] ||
                                             (frequencies[k] == frequencies[i] && k < i));
        CHECK_EQ(lengths[i], plain[before]);
    }
}

/* No code is longer than this, since the sum of all frequencies is below 2^32. */
#define NO_LIMIT 48

/* Checks everything that huff_lengths promises for a histogram. */
static void check_lengths(const uint32_t *frequencies, unsigned n, unsigned limit)
{
    uint8_t lengths[HUFF_MAX_SYMBOLS + 1];
    uint64_t weights[HUFF_MAX_SYMBOLS], sum, cost = 0, kraft = 0;
    unsigned used = used_weights(frequencies, n, weights), coded = 0;

    memset(lengths, 0xa5, sizeof(lengths));
    sum = huff_lengths(&work, frequencies, n, limit, lengths);
    CHECK_EQ(lengths[n], 0xa5);
    for (unsigned i = 0; i < n; i++) {
        if (!CHECK(lengths[i] <= limit))
            return;
        if (frequencies[i] > 0)
            CHECK(lengths[i] > 0);
        coded += lengths[i] > 0;
        kraft += lengths[i] > 0 ? (uint64_t)1 << (limit - lengths[i]) : 0;
        cost += (uint64_t)frequencies[i] * lengths[i];
    }
    CHECK_EQ(sum, cost);
    CHECK_EQ(kraft, (uint64_t)1 << limit);
    CHECK_EQ(coded, used < 2 ? 2 : used);
    if (used >= 2) {
        CHECK_EQ(cost, coin_collector(weights, used, limit));
        if (cost > coin_collector(weights, used, NO_LIMIT))
            check_choice(frequencies, n, weights, used, limit, lengths);
        if (used <= 10)
            CHECK_EQ(cost, every_tree(weights, used, 0, 1, limit));
    }
    check_codes(lengths, n);
}

/* If fewer than two symbols are in use, two symbols nevertheless get codes of one bit.  The lowest
 * unused symbols get the codes that are missing. */
static void few_symbols(void)
{
    static const unsigned sizes[] = {2, 19, 30, 286};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        unsigned n = sizes[s];

        for (unsigned limit = 7; limit <= 15; limit += 8) {
            uint32_t frequencies[HUFF_MAX_SYMBOLS] = {0};
            uint8_t lengths[HUFF_MAX_SYMBOLS];

            if (n > 1u << limit)
                continue;
            huff_lengths(&work, frequencies, n, limit, lengths);
            for (unsigned i = 0; i < n; i++)
                CHECK_EQ(lengths[i], i < 2);
            check_lengths(frequencies, n, limit);

            for (unsigned only = 0; only < n; only++) {
                unsigned other = only == 0 ? 1 : 0;

                memset(frequencies, 0, sizeof(frequencies));
                frequencies[only] = 1 + only * 1000;
                huff_lengths(&work, frequencies, n, limit, lengths);
                for (unsigned i = 0; i < n; i++)
                    CHECK_EQ(lengths[i], i == only || i == other);
                check_codes(lengths, n);
            }
            memset(frequencies, 0, sizeof(frequencies));
            frequencies[n - 1] = 1;
            frequencies[n / 2 - 1] = 1000000;
            check_lengths(frequencies, n, limit);
        }
    }
}

/* A Fibonacci histogram makes the deepest tree for its sum: with n symbols, the depth is n - 1, far
 * above the limits.  With 45 symbols, the sum is still below 2^32, as required. */
static void fibonacci(void)
{
    static const unsigned limits[] = {7, 15};
    uint64_t state = 1;

    for (unsigned l = 0; l < 2; l++) {
        for (unsigned n = 2; n <= 45; n++) {
            uint32_t frequencies[HUFF_MAX_SYMBOLS] = {0}, a = 1, b = 1;

            for (unsigned i = 0; i < n; i++) {
                uint32_t sum = a + b;

                frequencies[i] = a;
                a = b;
                b = sum;
            }
            check_lengths(frequencies, n, limits[l]);

            /* Shuffle the frequencies, among symbols that are not used. */
            for (unsigned i = 100; i > 1; i--) {
                unsigned j = (unsigned)unit_below(&state, i);
                uint32_t swap = frequencies[i - 1];

                frequencies[i - 1] = frequencies[j];
                frequencies[j] = swap;
            }
            check_lengths(frequencies, 100, limits[l]);
        }
    }
}

/* Tests a full alphabet, in part with the steepest possible frequencies, so that the limit also
 * affects the other symbols. */
static void steep_and_flat(void)
{
    for (unsigned steep = 0; steep <= 30; steep++) {
        for (unsigned n = steep + 2; n <= HUFF_MAX_SYMBOLS; n += 71) {
            uint32_t frequencies[HUFF_MAX_SYMBOLS];

            for (unsigned i = 0; i < n; i++)
                frequencies[i] = i < steep ? 1u << i : 1;
            check_lengths(frequencies, n, 15);
            check_lengths(frequencies, n, 9);
            if (n <= 128)
                check_lengths(frequencies, n, 7);
        }
    }
}

/* With 2^limit symbols, all codes must have the length `limit`, for any frequencies. */
static void full_alphabets(void)
{
    uint64_t state = 2;

    for (unsigned limit = 1; limit <= 8; limit++) {
        uint32_t frequencies[HUFF_MAX_SYMBOLS];
        uint8_t lengths[HUFF_MAX_SYMBOLS];
        unsigned n = 1u << limit;

        for (unsigned i = 0; i < n; i++)
            frequencies[i] = 1 + (uint32_t)(unit_rand(&state) >> (41 + unit_below(&state, 23)));
        huff_lengths(&work, frequencies, n, limit, lengths);
        for (unsigned i = 0; i < n; i++)
            CHECK_EQ(lengths[i], limit);
        check_lengths(frequencies, n, limit);
    }
}

/* Tests the largest possible sum of frequencies, with equal ones and with powers of two.  The coin
 * collector's packages then weigh more than 2^32, and nothing may overflow. */
static void largest_sums(void)
{
    uint32_t powers[32];

    for (unsigned i = 0; i < 32; i++)
        powers[i] = (uint32_t)1 << i;
    check_lengths(powers, 32, 15);
    check_lengths(powers, 32, 7);
    check_lengths(powers, 32, 5);
    for (unsigned n = 2; n <= HUFF_MAX_SYMBOLS; n++) {
        uint32_t frequencies[HUFF_MAX_SYMBOLS];

        for (unsigned i = 0; i < n; i++)
            frequencies[i] = UINT32_MAX / n;
        frequencies[n / 3] += UINT32_MAX % n;
        check_lengths(frequencies, n, 15);
        if (n <= 128)
            check_lengths(frequencies, n, 7);
    }
}

/* Tests histograms of a few symbols, for which the second oracle tries every tree.  Frequencies are
 * often equal, and all possible limits occur. */
static void small_histograms(void)
{
    uint64_t state = 3;

    for (unsigned round = 0; round < 3000; round++) {
        uint32_t frequencies[12] = {0};
        unsigned n = 2 + (unsigned)unit_below(&state, 11);
        unsigned limit = 4 + (unsigned)unit_below(&state, 5);
        unsigned spread = 1 + (unsigned)unit_below(&state, 28);

        if (n <= 8 && round % 2)
            limit = 3;
        for (unsigned i = 0; i < n; i++)
            frequencies[i] = (uint32_t)unit_below(&state, (uint64_t)1 << (1 + i % spread));
        check_lengths(frequencies, n, limit);
    }
}

/* Tests DEFLATE's alphabets, with counts as in real blocks, and with steeper ones. */
static void random_histograms(void)
{
    static const struct {
        unsigned n, limit;
    } alphabets[] = {{286, 15}, {30, 15}, {19, 7}};
    uint64_t state = 4;

    for (unsigned round = 0; round < 600; round++) {
        unsigned n = alphabets[round % 3].n;
        uint32_t frequencies[HUFF_MAX_SYMBOLS] = {0};
        unsigned most = 1 + (unsigned)unit_below(&state, 23);
        unsigned unused = (unsigned)unit_below(&state, 4);

        /* Numbers whose magnitude is uniformly random make deeper trees than uniformly random
         * numbers. */
        for (unsigned i = 0; i < n; i++)
            if (unit_below(&state, 4) >= unused)
                frequencies[i] =
                    (uint32_t)(unit_rand(&state) >> (64 - unit_below(&state, most + 1) - 1));
        check_lengths(frequencies, n, alphabets[round % 3].limit);
    }
}

/* Tests the example of RFC 1951, section 3.2.2: symbols A to H. */
static void rfc_example(void)
{
    static const uint8_t lengths[] = {3, 3, 3, 3, 3, 2, 4, 4};
    static const uint16_t reversed[] = {2, 6, 1, 5, 3, 0, 7, 15};
    uint16_t codes[8];

    huff_codes(lengths, 8, codes);
    for (unsigned i = 0; i < 8; i++)
        CHECK_EQ(codes[i], reversed[i]);
}

int main(void)
{
    RUN(few_symbols);
    RUN(fibonacci);
    RUN(steep_and_flat);
    RUN(full_alphabets);
    RUN(largest_sums);
    RUN(small_histograms);
    RUN(random_histograms);
    RUN(rfc_example);
    return unit_done();
}
