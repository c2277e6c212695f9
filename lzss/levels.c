/*
 * levels.c - the level table
 *
 * To add a level, add a row and raise LZ_LEVEL_MAX (lzss.h).  To change what a level does, change
 * its row; the golden digests in tests/data then change too, on purpose, and the commit says why.
 */
#include "config.h"

#include "lzss/finders.h"
#include "lzss/lzss.h"

static const struct lz_level levels[] = {
    [1] = {LZ_FINDER_tagging}, /* fastest; gzip -1's size or less */
    /* Until the slower finders are here, the levels above 1 do what level 1 does. */
    [2] = {LZ_FINDER_tagging},
    [3] = {LZ_FINDER_tagging},
    [4] = {LZ_FINDER_tagging},
    [5] = {LZ_FINDER_tagging},
    [6] = {LZ_FINDER_tagging},
    [7] = {LZ_FINDER_tagging},
    [8] = {LZ_FINDER_tagging},
    [9] = {LZ_FINDER_tagging},
};

_Static_assert(sizeof(levels) / sizeof(levels[0]) == LZ_LEVEL_MAX + 1, "a row for every level");

const struct lz_level *lz_level(int level)
{
    return &levels[level];
}
