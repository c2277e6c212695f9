/*
 * levels.c - the level table
 *
 * To add a level, add a row and raise LZ_LEVEL_MAX (lzss.h).  To change what a level does, change
 * its row; the golden digests in tests/data then change too, on purpose, and the commit says why.
 */
#include "config.h"

#include "lzss/finders.h"
#include "lzss/lzss.h"

/* Chosen by what bench/levels.sh and bench/worst.sh print; the figures are in bench/levels.md.
 * More depth at level 6 is better on source, but too slow on text of few letters.  From level 7 on,
 * long prefixes come first: each step costs more, and gains less, until a parse by costs takes
 * over.  Parts of 8 KiB instead of 16 make outputs 0.02 % smaller, and encoding 5 % slower. */
static const struct lz_level levels[] = {
    /* clang-format off */
    /*                         depths       nice  near3 lazy passes split */
    [1]  = {LZ_FINDER_tagging,   0,   0,   0,   0,     0, 0, 0, 16384}, /* tagging: fastest */
    [2]  = {LZ_FINDER_chains,    4,   0,   0,  16,     0, 0, 0, 16384}, /* greedy */
    [3]  = {LZ_FINDER_chains,    8,   0,   0,  24,     0, 0, 0, 16384}, /* greedy, as deep as pays */
    [4]  = {LZ_FINDER_chains,   10,   0,   0,  24,     0, 1, 0, 16384}, /* lazy */
    [5]  = {LZ_FINDER_chains,   16,   0,   0,  32,  4096, 2, 0, 16384}, /* lazier; matches of three */
    [6]  = {LZ_FINDER_chains,   24,   0,   0, 100,  4096, 2, 0, 16384}, /* the default */
    [7]  = {LZ_FINDER_chains,   12,  24,   0, 130,  4096, 2, 0,  8192}, /* long prefixes first */
    [8]  = {LZ_FINDER_chains,   24,  32,   0, 258,  4096, 2, 0,  8192},
    [9]  = {LZ_FINDER_chains,  100,  40,   0, 258,  4096, 2, 0,  8192},
    [10] = {LZ_FINDER_optimal,  16,  32,  32, 258,     0, 0, 2,  8192}, /* by costs */
    [11] = {LZ_FINDER_optimal,  24,  48,  48, 258,     0, 0, 3,  8192},
    [12] = {LZ_FINDER_optimal,  32, 100, 100, 258,     0, 0, 4,  8192}, /* smallest */
    /* clang-format on */
};

_Static_assert(sizeof(levels) / sizeof(levels[0]) == LZ_LEVEL_MAX + 1, "a row for every level");

const struct lz_level *lz_level(int level)
{
    return &levels[level];
}
