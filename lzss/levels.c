/*
 * levels.c - the level table
 *
 * To add a level, add a row and raise LZ_LEVEL_MAX (lzss.h); docs/adding.md has the rest.  To change
 * what a level does, change its row; the golden digests in tests/data then change too, on purpose,
 * and the commit says why.
 */
#include "config.h"

#include "lzss/finders.h"
#include "lzss/lzss.h"

#define MIB (UINT32_C(1) << 20)

/* Level 0's, which finds nothing. */
static const struct lz_finder finder_stored = {.name = "stored"};

/* Chosen by what bench/levels.sh and bench/worst.sh print; the figures are in bench/levels.md.
 * At level 6, depth is worth more than looking two positions ahead, but for text (0.3 to 0.5 %
 * larger), and costs most on text of few letters, where a core does a fifth of what it does on
 * source.  From level 7 on, long prefixes come first: each step costs more, and gains less, until a
 * parse by costs takes over.
 *
 * Where a block may end every 8 KiB instead of every 16, outputs are 0.01 to 0.03 % smaller on
 * source and 0.1 to 0.4 on machine code, and encoding takes 5 to 9 % longer.  With 4 KiB, machine
 * code gets another 0.1 to 0.2 % smaller (the first 40 MB of a /usr/bin 0.7), and other data stays
 * within 0.04 %.  Level 1 as a whole would take 7 % longer, levels 2 and 4 take 1 to 2 %, level 7
 * no longer.  So level 6 needs a fifth less depth for the same size of machine code.
 *
 * The guess is what a core of an H100 machine (Intel Xeon, 16 cores, all at work) does on source
 * code.  The first segments show what it is here and now.  (At level 1 it does 310 MB/s, but the
 * CPU took as long as CPU and GPU together for 1.2 GB; at level 6 for 200 to 250 MB, at level 9 for
 * 130 to 200.  policy_gpu_min says 1210, 255 and 184.)
 */
static const struct lz_level levels[] = {
    /* clang-format off */
    /*                           depths       nice  max_distance3 lazy passes split  segment  guess */
    [0]  = {&finder_stored,       0,   0,   0,   0,     0, 0, 0,     0, 2 * MIB, 5e9,   {0}}, /* no matches */
    [1]  = {&lz_finder_tagging,   0,   0,   0,   0,     0, 0, 0,  8192, 2 * MIB, 270e6, {0}}, /* fastest */
    [2]  = {&lz_finder_chains,    4,   0,   0,  16,     0, 0, 0,  8192, 2 * MIB, 135e6, {0}}, /* greedy */
    [3]  = {&lz_finder_chains,    8,   0,   0,  24,  4096, 0, 0,  8192, 2 * MIB, 120e6, {0}}, /* with threes */
    [4]  = {&lz_finder_chains,    9,   0,   0,  24,  4096, 1, 0,  4096, 2 * MIB, 85e6,  {0}}, /* lazy */
    [5]  = {&lz_finder_chains,   20,   0,   0,  50,  4096, 1, 0,  4096, 2 * MIB, 75e6,  {0}}, /* deeper */
    [6]  = {&lz_finder_chains,   29,   0,   0,  96,  4096, 1, 0,  4096, 2 * MIB, 57e6,  {0}}, /* the default */
    [7]  = {&lz_finder_chains,   12,  24,   0, 130,  4096, 2, 0,  4096, 2 * MIB, 48e6,  {0}}, /* long first */
    [8]  = {&lz_finder_chains,   24,  32,   0, 258,  4096, 2, 0,  4096, 2 * MIB, 43e6,  {0}},
    [9]  = {&lz_finder_chains,  100,  40,   0, 258,  4096, 2, 0,  4096, 2 * MIB, 41e6,  {0}},
    [10] = {&lz_finder_optimal,  16,  20,  20, 258,     0, 0, 2,  4096, 4 * MIB, 6.5e6, {0}}, /* by costs */
    [11] = {&lz_finder_optimal,  24,  64,  64, 160,     0, 0, 3,  4096, 4 * MIB, 4.8e6, {0}},
    [12] = {&lz_finder_optimal,  24,  64,  64, 258,     0, 0, 4,  4096, 4 * MIB, 4.3e6, {0}}, /* smallest */
    /* clang-format on */
};

_Static_assert(sizeof(levels) / sizeof(levels[0]) == LZ_LEVEL_MAX + 1, "a row for every level");

const struct lz_level *lz_level(int level)
{
    return &levels[level];
}
