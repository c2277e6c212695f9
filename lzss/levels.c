/*
 * levels.c - the level table
 *
 * To add a level, add a row and raise LZ_LEVEL_MAX (lzss.h).  To change what a level does, change
 * its row; the golden digests in tests/data then change too, on purpose, and the commit says why.
 */
#include "config.h"

#include "lzss/finders.h"
#include "lzss/lzss.h"

/* On the files of bench/corpora.sh, sizes are gzip's at the same level or less, but for 0.1 % more
 * at levels 1 and 4 on lib.tar and at levels 8 and 9 on linux200. */
static const struct lz_level levels[] = {
    /*                 depth nice near3 lazy */
    [1] = {LZ_FINDER_tagging, 0, 0, 0, 0},       /* fastest */
    [2] = {LZ_FINDER_chains, 4, 16, 0, 0},       /* greedy */
    [3] = {LZ_FINDER_chains, 8, 24, 0, 0},       /* greedy, as deep as pays */
    [4] = {LZ_FINDER_chains, 8, 24, 0, 1},       /* lazy */
    [5] = {LZ_FINDER_chains, 16, 32, 4096, 2},   /* lazier */
    [6] = {LZ_FINDER_chains, 48, 100, 4096, 2},  /* the default */
    [7] = {LZ_FINDER_chains, 90, 130, 4096, 2},  /* little is left to gain, */
    [8] = {LZ_FINDER_chains, 200, 258, 4096, 2}, /* at more and more */
    [9] = {LZ_FINDER_chains, 500, 258, 4096, 2}, /* cost */
};

_Static_assert(sizeof(levels) / sizeof(levels[0]) == LZ_LEVEL_MAX + 1, "a row for every level");

const struct lz_level *lz_level(int level)
{
    return &levels[level];
}
