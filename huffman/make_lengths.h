/*
 * make_lengths.h - computes optimal code lengths, and canonical codes from them, on both engines
 * (lengths.h)
 *
 * Huffman's algorithm gives the best code.  If the symbols are sorted by frequency, it takes linear
 * time, because merged nodes arise in order of weight, so that the lightest node is always at the
 * head of one of two queues: the leaves and the merged nodes (van Leeuwen, 1976).  Sorting into
 * buckets takes linear time, too, in practice.
 *
 * If that code has a length above the limit, the package-merge algorithm (Larmore and Hirschberg,
 * 1990) gives the best code within the limit.  Package-merge is far slower, so it runs only then.
 * A limit of 15 bits is exceeded only if the frequencies are as steep as the Fibonacci numbers.
 */
#ifndef GZLZSS_HUFFMAN_MAKE_LENGTHS_H
#define GZLZSS_HUFFMAN_MAKE_LENGTHS_H

#include <stdbool.h>
#include <string.h>

#include "base/both.h"
#include "base/bytes.h"
#include "huffman/lengths.h"

/* A leaf is a number that holds a symbol that occurs and, in its upper bits, the symbol's
 * frequency, which is called its weight.  So sorting leaves puts them in order of weight, and
 * leaves of equal weight in order of symbol. */
#define LEAF(weight, symbol) ((uint64_t)(weight) << 16 | (symbol))
#define LEAF_WEIGHT(leaf) ((leaf) >> 16)
#define LEAF_SYMBOL(leaf) ((leaf)&0xffff)

/* The bucket of a weight.  Each weight below 32 has a bucket of its own.  From there on, the
 * weights from one power of two up to the next have 32 buckets. */
BOTH_INLINE unsigned bucket(uint32_t weight)
{
    /* Setting this bit raises the logarithm of a small weight to HUFF_BUCKET_BITS, and does not
     * change a larger logarithm. */
    unsigned shift = both_log2(weight | 1u << HUFF_BUCKET_BITS) - HUFF_BUCKET_BITS;

    return (shift << HUFF_BUCKET_BITS) + (weight >> shift);
}

/* Sorts the n leaves.  First it puts them into buckets, most of which get one symbol or none.  Then
 * it moves the few that are out of order within a bucket, one by one. */
BOTH_STATIC void sort_leaves(struct huff_lengths_work *w, unsigned n)
{
    const uint64_t *BOTH_RESTRICT const leaves = w->leaves;
    uint64_t *BOTH_RESTRICT const sorted = w->sorted;
    uint16_t *BOTH_RESTRICT const start = w->in.sort.start;
    uint16_t *BOTH_RESTRICT const bucket_of = w->in.sort.bucket_of;
    uint32_t all = 0;
    unsigned buckets, sum = 0;

    for (unsigned i = 0; i < n; i++)
        all |= (uint32_t)LEAF_WEIGHT(leaves[i]);
    buckets = bucket(all) + 1;
    memset(start, 0, buckets * sizeof(*start));
    for (unsigned i = 0; i < n; i++) {
        bucket_of[i] = (uint16_t)bucket((uint32_t)LEAF_WEIGHT(leaves[i]));
        start[bucket_of[i]]++;
    }
    for (unsigned i = 0; i < buckets; i++) {
        unsigned count = start[i];

        start[i] = (uint16_t)sum;
        sum += count;
    }
    for (unsigned i = 0; i < n; i++)
        sorted[start[bucket_of[i]]++] = leaves[i];
    for (unsigned i = 1; i < n; i++) {
        const uint64_t leaf = sorted[i];
        unsigned to = i;

        for (; to > 0 && sorted[to - 1] > leaf; to--)
            sorted[to] = sorted[to - 1];
        sorted[to] = leaf;
    }
}

/* A weight above that of any leaf or node, and above the sum of two. */
#define NO_WEIGHT ((uint64_t)1 << 40)
#define NO_LEAF LEAF(NO_WEIGHT, 0)

/* A merged node's weight, in the form of a leaf, with NODE_MARK instead of a symbol.  So a leaf is
 * less than a node of equal weight.  The sum of two leaves or nodes has the sum of their weights in
 * its upper bits, since the lower 16 bits never carry. */
#define NODE_MARK 0x7000
#define NODE(leaf) (((leaf) & ~(uint64_t)0xffff) | NODE_MARK)

BOTH_ASSERT(HUFF_MAX_SYMBOLS <= NODE_MARK && 2 * NODE_MARK <= 0xffff, "a mark of nodes");

/*
 * Huffman's algorithm on n >= 2 sorted leaves, after which the array has room for two more.  Sets
 * lengths[symbol] for each leaf's symbol, and *total to the sum of weight times length.
 *
 * Returns false, and sets no length, if a length exceeds the limit.  Then parents[i] is the number
 * of merged nodes of depth i; nodes deeper than limit - 1 are counted in parents[limit - 1].
 *
 * It is practically random which queue has the next node, so no branch depends on that.
 * Comparisons choose the pair to merge among the two lightest leaves and the two lightest nodes.
 * The new node is stored as the parent of all four.  For the two of them that are not merged now,
 * the right parent is stored later.
 */
BOTH_STATIC bool huffman(struct huff_lengths_work *w, unsigned n, unsigned limit, uint8_t *lengths,
                         uint64_t *total, unsigned *parents)
{
    /* Leaf i is merged into node leaf_parent[i], and node i into node parent[i], a later one. */
    uint16_t *BOTH_RESTRICT const leaf_parent = w->in.tree.leaf_parent;
    uint16_t *BOTH_RESTRICT const parent = w->in.tree.parent;
    uint64_t *BOTH_RESTRICT const leaves = w->sorted, *BOTH_RESTRICT const nodes = w->in.tree.nodes;
    uint8_t *BOTH_RESTRICT const depth = w->in.tree.depth;
    unsigned leaf = 0, next = 0;
    uint64_t sums = 0;

    leaves[n] = leaves[n + 1] = NO_LEAF;
    nodes[0] = nodes[1] = NO_LEAF;
    for (unsigned node = 0; node < n - 1; node++) {
        const uint64_t l0 = leaves[leaf], l1 = leaves[leaf + 1];
        const uint64_t n0 = nodes[next], n1 = nodes[next + 1];
        const unsigned merged_leaves = 1u + (l1 < n0) - (n1 < l0);
        uint64_t sum = l0 + n0;

        sum = l0 + l1 < sum ? l0 + l1 : sum;
        sum = n0 + n1 < sum ? n0 + n1 : sum;
        leaf_parent[leaf] = leaf_parent[leaf + 1] = (uint16_t)node;
        parent[next] = parent[next + 1] = (uint16_t)node;
        leaf += merged_leaves;
        next += 2 - merged_leaves;
        nodes[node] = NODE(sum);
        nodes[node + 2] = NO_LEAF;
        /* A leaf's weight is part of as many nodes as the leaf is deep, so `sums` becomes the sum
         * of weight times depth. */
        sums += LEAF_WEIGHT(sum);
    }
    *total = sums;
    depth[n - 2] = 0;
    for (unsigned node = n - 2; node-- > 0;)
        depth[node] = (uint8_t)(depth[parent[node]] + 1);
    /* The lightest leaf is the deepest.  A depth fits in 8 bits, because the sum of all weights
     * grows with the depth at least like the Fibonacci numbers, and would exceed 2^32 long before
     * depth 255. */
    if (depth[leaf_parent[0]] + 1u > limit) {
        memset(parents, 0, limit * sizeof(*parents));
        for (unsigned node = 0; node < n - 1; node++)
            /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): memset cleared them */
            parents[depth[node] < limit ? depth[node] : limit - 1]++;
        return false;
    }
    for (unsigned i = 0; i < n; i++)
        lengths[LEAF_SYMBOL(leaves[i])] = (uint8_t)(depth[leaf_parent[i]] + 1);
    return true;
}

/*
 * Package-merge on n >= 2 sorted leaves.  It solves the coin collector's problem.  Each leaf has
 * one coin of each denomination, 2^-1 to 2^-limit, with the leaf's weight.  The task is to take
 * coins worth n - 1 together with the least weight.  A leaf's depth is then the number of its coins
 * that are taken.  Each denomination is a level; the top level has the largest.  From the lowest
 * level up, the items of a level are paired to packages.  Such a package is worth as much as a coin
 * of the next level, so it joins these coins in the next level's list of items.
 *
 * Two things save time:
 *
 *   - A level's list, in order of weight, mostly begins with the same weights as the list below it,
 *     since only packages of packages are new, and these are heavy.  As far as two successive lists
 *     are equal, they also give equal packages to the lists above.  These packages and their places
 *     are not computed again.
 *   - Only the first enough[level] items of a list are made; enough[level] is at least enough[level
 *     + 1], the number for the list below.  These items are right, since the start of a list
 *     depends only on the starts of the lists below.
 *
 * Returns false, with no length set, if more items of a list should be taken than were made.
 */
BOTH_STATIC bool package_merge(struct huff_lengths_work *w, unsigned n, unsigned limit,
                               const unsigned *enough, uint8_t *lengths)
{
    const uint64_t *BOTH_RESTRICT const leaves = w->sorted;
    /* packages[level][i] is the number of packages among the first i items of the level, in order
     * of weight; a package has two items of level + 1.  made[level] is the number of items made. */
    uint16_t(*BOTH_RESTRICT const packages)[2 * HUFF_MAX_SYMBOLS + 1] = w->in.merge.packages;
    unsigned made[HUFF_MAX_LENGTH];
    /* `list` has the weights of the current level's items, which replace those of the level below.
     * package_weight has the weights of the packages made from the level below, and package_at
     * their places in the current list.  NO_WEIGHT ends package_weight and leaf_weight, as it is
     * never the lighter of two.  It also ends the items of the level below in `list`, as no item
     * has this weight. */
    uint64_t *BOTH_RESTRICT const list = w->in.merge.list;
    uint64_t *BOTH_RESTRICT const package_weight = w->in.merge.package_weight;
    uint64_t *BOTH_RESTRICT const leaf_weight = w->in.merge.leaf_weight;
    uint16_t *BOTH_RESTRICT const package_at = w->in.merge.package_at;
    uint8_t *BOTH_RESTRICT const ends = w->in.merge.ends;
    unsigned items = enough[limit - 1] < n ? enough[limit - 1] : n;
    unsigned same_items = 0, package = 0, take = 2 * n - 2, depth = 0;
    bool whole = items == n;

    memset(ends, 0, sizeof(w->in.merge.ends));
    for (unsigned i = 0; i < n; i++)
        leaf_weight[i] = LEAF_WEIGHT(leaves[i]);
    leaf_weight[n] = NO_WEIGHT;
    memcpy(list, leaf_weight, items * sizeof(*list));
    memset(packages[limit - 1], 0, (items + 1) * sizeof(packages[0][0]));
    made[limit - 1] = items;

    for (unsigned level = limit - 1; level-- > 0;) {
        const unsigned offered = items / 2;
        const unsigned same = same_items / 2 < package ? same_items / 2 : package;
        const unsigned start = same == 0 ? 0 : package_at[same - 1] + 1u;
        const bool whole_below = whole;
        unsigned equal = 1;

        for (unsigned i = same; i < offered; i++)
            package_weight[i] = list[2 * i] + list[2 * i + 1];
        package_weight[offered] = NO_WEIGHT;
        list[items] = NO_WEIGHT;
        whole = whole && n + offered <= enough[level];
        items = n + offered < enough[level] ? n + offered : enough[level];
        memcpy(packages[level], packages[level + 1], (start + 1) * sizeof(packages[0][0]));
        package = same;
        same_items = start;
        for (unsigned i = start; i < items; i++) {
            const uint64_t leaf = leaf_weight[i - package], packed = package_weight[package];
            const uint64_t lighter = packed < leaf ? packed : leaf;

            equal &= list[i] == lighter;
            same_items += equal;
            list[i] = lighter;
            package_at[package] = (uint16_t)i;
            package += packed < leaf;
            packages[level][i + 1] = (uint16_t)package;
        }
        /* If the list below is incomplete, and all packages made from it are in this list, further
         * packages may be missing here.  They would come after the last package, perhaps before the
         * leaves that now follow the last package.  So drop these leaves. */
        if (!whole_below && package == offered) {
            items = package == 0 ? 0 : package_at[package - 1] + 1u;
            same_items = same_items < items ? same_items : items;
        }
        made[level] = items;
    }

    /* Take the 2n - 2 lightest items of the top level, and then, at each level below, the items
     * that make up the packages taken.  Each level takes its leaves from the lightest on, so the
     * depth of leaf i is the number of levels that take more than i leaves. */
    for (unsigned level = 0; level < limit; level++) {
        unsigned taken;

        if (take > made[level])
            return false;
        taken = packages[level][take];
        ends[take - taken]++;
        depth++;
        take = 2 * taken;
    }
    for (unsigned i = 0; i < n; i++) {
        depth -= ends[i];
        lengths[LEAF_SYMBOL(leaves[i])] = (uint8_t)depth;
    }
    return true;
}

/*
 * Package-merge with short lists.  parents[i] is the number of merged nodes that Huffman's
 * algorithm made at depth i.  In a code, a level takes two items for each merged node at its depth
 * or deeper.  The best code within the limit mostly takes few items more than Huffman's code.  So
 * each list gets as many items as Huffman's code takes, an eighth more, and 8.  If these are too
 * few, the lists are made again in full.
 */
BOTH_STATIC void limited(struct huff_lengths_work *w, unsigned n, unsigned limit,
                         const unsigned *parents, uint8_t *lengths)
{
    unsigned enough[HUFF_MAX_LENGTH] = {0}, deeper = 0;

    for (unsigned level = limit; level-- > 0;) {
        deeper += parents[level];
        enough[level] = 2 * deeper + deeper / 4 + 8;
    }
    if (package_merge(w, n, limit, enough, lengths))
        return;
    for (unsigned level = 0; level < limit; level++)
        enough[level] = 2 * n - 1;
    package_merge(w, n, limit, enough, lengths);
}

BOTH_STATIC uint64_t make_lengths(struct huff_lengths_work *w, const uint32_t *frequencies,
                                  unsigned n, unsigned limit, uint8_t *lengths)
{
    uint64_t *const leaves = w->leaves, *const sorted = w->sorted, sum;
    unsigned parents[HUFF_MAX_LENGTH], used = 0;

    for (unsigned i = 0; i < n; i++) {
        leaves[used] = LEAF(frequencies[i], i);
        used += frequencies[i] > 0;
    }
    memset(lengths, 0, n);
    if (used < 2) {
        unsigned only = used == 1 ? (unsigned)LEAF_SYMBOL(leaves[0]) : 1;

        lengths[only] = 1;
        lengths[only == 0 ? 1 : 0] = 1;
        return frequencies[only];
    }
    sort_leaves(w, used);
    if (!huffman(w, used, limit, lengths, &sum, parents)) {
        limited(w, used, limit, parents, lengths);
        sum = 0;
        for (unsigned i = 0; i < used; i++)
            sum += LEAF_WEIGHT(sorted[i]) * lengths[LEAF_SYMBOL(sorted[i])];
    }
    return sum;
}

/* Returns the low `length` bits of a code in reverse order.  It reverses 16 bits (neighbours first,
 * then pairs, and so on), and then drops the surplus bits. */
BOTH_STATIC unsigned reverse(unsigned code, unsigned length)
{
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
    return code >> (16 - length);
}

BOTH_STATIC void make_codes(const uint8_t *lengths, unsigned n, uint16_t *codes)
{
    unsigned count[HUFF_MAX_LENGTH + 1] = {0}, next[HUFF_MAX_LENGTH + 1];
    uint16_t used[HUFF_MAX_SYMBOLS + 2];
    unsigned used_count = 0, code = 0;

    /* In a small block, most symbols have no code.  So the symbols that have one are listed first,
     * without a branch for each. */
    for (unsigned i = 0; i < n; i++) {
        if (n - i >= 8 && load64(lengths + i) == 0) {
            i += 7;
            continue;
        }
        used[used_count] = (uint16_t)i;
        used_count += lengths[i] != 0;
    }
    for (unsigned i = 0; i < used_count; i++)
        count[lengths[used[i]]]++;
    for (unsigned length = 1; length <= HUFF_MAX_LENGTH; length++) {
        code = (code + count[length - 1]) << 1;
        next[length] = code;
    }
    memset(codes, 0, n * sizeof(*codes));
    for (unsigned i = 0; i < used_count; i++) {
        const unsigned symbol = used[i], length = lengths[symbol];

        codes[symbol] = (uint16_t)reverse(next[length]++, length);
    }
}

#endif
