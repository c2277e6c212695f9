/*
 * lengths.c - optimal code lengths, and the canonical codes that go with them
 *
 * Huffman's algorithm gives the best code.  With the symbols sorted by frequency it takes linear
 * time: merged nodes come into being in order of weight, so the lightest node is always the first
 * of one of two queues, the leaves and the merged nodes (van Leeuwen, 1976).
 *
 * When that code has a length above the limit, which for the 15-bit codes takes a histogram as
 * steep as the Fibonacci numbers, the package-merge algorithm (Larmore and Hirschberg, 1990) gives
 * the best code within it.  It is slower by far, so it runs only then.
 */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "huffman/lengths.h"

/* A symbol that occurs, and how often. */
struct leaf {
    uint32_t weight;
    uint16_t symbol;
};

/* Sorts by weight, equal weights staying in order: radix sort, one pass for each byte in use. */
static void sort_leaves(struct leaf *leaves, unsigned n)
{
    struct leaf other[HUFF_MAX_SYMBOLS];
    struct leaf *from = leaves, *to = other;
    uint32_t all = 0;

    for (unsigned i = 0; i < n; i++)
        all |= leaves[i].weight;
    for (unsigned shift = 0; shift < 32 && all >> shift != 0; shift += 8) {
        uint16_t start[256] = {0};
        struct leaf *swap = from;
        unsigned sum = 0;

        for (unsigned i = 0; i < n; i++)
            start[(from[i].weight >> shift) & 255]++;
        for (unsigned d = 0; d < 256; d++) {
            unsigned count = start[d];

            start[d] = (uint16_t)sum;
            sum += count;
        }
        for (unsigned i = 0; i < n; i++)
            to[start[(from[i].weight >> shift) & 255]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != leaves)
        memcpy(leaves, from, n * sizeof(*leaves));
}

/* Huffman's algorithm on n >= 2 sorted leaves: depths[i] becomes leaf i's.  Returns false, with
 * depths undefined, if one exceeds the limit. */
static bool huffman(const struct leaf *leaves, unsigned n, unsigned limit, uint8_t *depths)
{
    /* Merged node i has weight[i] and is merged in turn into parent[i], which is a later one. */
    uint32_t weight[HUFF_MAX_SYMBOLS];
    uint16_t leaf_parent[HUFF_MAX_SYMBOLS], parent[HUFF_MAX_SYMBOLS];
    uint8_t depth[HUFF_MAX_SYMBOLS];
    unsigned next_leaf = 0, next_node = 0;

    for (unsigned node = 0; node < n - 1; node++) {
        uint32_t sum = 0;

        for (int k = 0; k < 2; k++) {
            if (next_leaf < n &&
                (next_node == node || leaves[next_leaf].weight <= weight[next_node])) {
                sum += leaves[next_leaf].weight;
                leaf_parent[next_leaf++] = (uint16_t)node;
            } else {
                sum += weight[next_node];
                parent[next_node++] = (uint16_t)node;
            }
        }
        weight[node] = sum;
    }
    depth[n - 2] = 0;
    for (unsigned node = n - 2; node-- > 0;)
        depth[node] = (uint8_t)(depth[parent[node]] + 1);
    /* The lightest leaf is the deepest; a depth cannot pass 255 since the sum of all weights would
     * be a Fibonacci number beyond 2^32 long before. */
    if (depth[leaf_parent[0]] + 1u > limit)
        return false;
    for (unsigned i = 0; i < n; i++)
        depths[i] = (uint8_t)(depth[leaf_parent[i]] + 1);
    return true;
}

/*
 * Package-merge on n >= 2 sorted leaves.  Seen from the coin collector's problem it solves: every
 * leaf is a coin of each denomination 2^-1 to 2^-limit, and coins worth n - 1 are to be had for the
 * least weight; how many of a leaf's coins are taken is its depth.  From the smallest denomination
 * up, coins are paired into packages, which join the coins of the next.
 */
static void package_merge(const struct leaf *leaves, unsigned n, unsigned limit, uint8_t *depths)
{
    /* is_package[level][i]: whether item i, in order of weight, is a package of two items from
     * level + 1.  weights are those of the level in hand and of the one before it. */
    bool is_package[HUFF_MAX_LENGTH][2 * HUFF_MAX_SYMBOLS];
    uint64_t weights[2][2 * HUFF_MAX_SYMBOLS];
    uint64_t *below = weights[0], *here = weights[1];
    unsigned items_below = 0, take;

    for (unsigned level = limit; level-- > 0;) {
        unsigned packages = items_below / 2, leaf = 0, package = 0, items = 0;
        uint64_t *swap;

        while (leaf < n || package < packages) {
            uint64_t pair = package < packages ? below[2 * package] + below[2 * package + 1] : 0;
            bool p = leaf == n || (package < packages && pair < leaves[leaf].weight);

            is_package[level][items] = p;
            here[items++] = p ? pair : leaves[leaf].weight;
            if (p)
                package++;
            else
                leaf++;
        }
        items_below = items;
        swap = below;
        below = here;
        here = swap;
    }

    /* Take the 2n - 2 lightest items of the top level, and what their packages are made of. */
    memset(depths, 0, n);
    take = 2 * n - 2;
    for (unsigned level = 0; level < limit && take > 0; level++) {
        unsigned leaf = 0;

        for (unsigned i = 0; i < take; i++)
            if (!is_package[level][i])
                depths[leaf++]++;
        take = 2 * (take - leaf);
    }
}

void huff_lengths(const uint32_t *frequencies, unsigned n, unsigned limit, uint8_t *lengths)
{
    struct leaf leaves[HUFF_MAX_SYMBOLS];
    uint8_t depths[HUFF_MAX_SYMBOLS];
    unsigned used = 0;

    for (unsigned i = 0; i < n; i++) {
        lengths[i] = 0;
        if (frequencies[i] > 0) {
            leaves[used].weight = frequencies[i];
            leaves[used++].symbol = (uint16_t)i;
        }
    }
    if (used < 2) {
        unsigned other = used == 1 && leaves[0].symbol == 0 ? 1 : 0;

        lengths[used == 1 ? leaves[0].symbol : 1] = 1;
        lengths[other] = 1;
        return;
    }
    sort_leaves(leaves, used);
    if (!huffman(leaves, used, limit, depths))
        package_merge(leaves, used, limit, depths);
    for (unsigned i = 0; i < used; i++)
        lengths[leaves[i].symbol] = depths[i];
}

/* The low `length` bits of a code in the other order. */
static unsigned reverse(unsigned code, unsigned length)
{
    unsigned reversed = 0;

    for (unsigned i = 0; i < length; i++)
        reversed |= ((code >> i) & 1) << (length - 1 - i);
    return reversed;
}

void huff_codes(const uint8_t *lengths, unsigned n, uint16_t *codes)
{
    unsigned count[HUFF_MAX_LENGTH + 1] = {0}, next[HUFF_MAX_LENGTH + 1];
    unsigned code = 0;

    for (unsigned i = 0; i < n; i++)
        count[lengths[i]]++;
    count[0] = 0;
    for (unsigned length = 1; length <= HUFF_MAX_LENGTH; length++) {
        code = (code + count[length - 1]) << 1;
        next[length] = code;
    }
    for (unsigned i = 0; i < n; i++)
        codes[i] = lengths[i] == 0 ? 0 : (uint16_t)reverse(next[lengths[i]]++, lengths[i]);
}
