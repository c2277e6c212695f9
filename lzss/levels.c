/*
 * levels.c - the level table
 *
 * To add a level, add a row and raise LZ_LEVEL_MAX (lzss.h); docs/adding.md has the rest.  To
 * change what a level does, change its row.  The golden digests in tests/data then change on
 * purpose, and the commit says why.
 */
#include "config.h"

#include "lzss/finders.h"
#include "lzss/lzss.h"

#define MIB (UINT32_C(1) << 20)

/* The bytes of a segment of BGZF, and a few more: the format has the exact number (base/bgzf.h). */
#define SHORT (UINT32_C(64) << 10)

/* Level 0's finder, which finds nothing. */
static const struct lz_finder finder_stored = {.name = "stored"};

/*
 * Level 1 is the fastest.  Levels 2 and 3 take matches greedily; from level 3 on, matches of three
 * bytes count.  Levels 4 to 6 look ahead by one position, each with more depth.  Levels 7 to 9
 * search by seven bytes first, and look two positions ahead.  Levels 10 to 12 choose matches by
 * their costs.
 *
 * How the parameters were chosen.  bench/levels.sh and bench/worst.sh measured them; their figures
 * are in bench/levels.md.
 *
 * At level 6, more depth gains more than looking two positions ahead does, except on text (0.3 to
 * 0.5 % larger).  Depth costs most on text of few letters, where a core reaches a fifth of its
 * speed on source code.  From level 7 on, searches by long prefixes come first.  Each further step
 * costs more and gains less, up to level 10, where a parse by costs takes over.
 *
 * At level 9, depth by seven bytes matters for highly repetitive data.  With 100 in place of 40, a
 * table of chemical structures and a MIME database in XML are 1.2 to 1.4 % smaller, other data
 * 0.2 %, and matching takes an eighth longer.  Depth by four bytes hardly matters there: with 60 in
 * place of 100, output is 0.01 % larger.
 *
 * From level 6 on, a match of three bytes may lie 8192 bytes back.  Compared with 4096, that makes
 * machine code 0.11 % and images 0.4 % smaller, and source code and XML 0.03 % larger.
 *
 * From level 10 on, chains by up to eight prefixes find the nearest match of each length with few
 * candidates.  More depth and more passes still gain most on text.  Level 10 leaves out the two
 * longest prefixes, which take 4 % of its time and gain 0.5 % on XML, 0.1 % on source code, and
 * nothing on other data.
 *
 * `split`: a block may end every 16, 8 or 4 KiB.  Compared with 16 KiB, 8 KiB makes output
 * 0.01 to 0.03 % smaller on source code and 0.1 to 0.4 % on machine code, and encoding takes 5 to 9
 * % longer.  Compared with 8 KiB, 4 KiB makes machine code another 0.1 to 0.2 % smaller (the first
 * 40 MB of a /usr/bin, 0.7 %), and changes other data by at most 0.04 %.  With 4 KiB, level 1 takes
 * 7 % longer, levels 2 and 4 take 1 to 2 % longer, and level 7 takes the same time.  With 4 KiB,
 * level 6 needs a fifth less depth for the same size of machine code.  Level 1 has 16 KiB, which
 * takes 3 % less time than 8 KiB; text is as large, and machine code and XML are 0.2 % larger.
 * From level 10 on, the encoder compares many divisions (HUFF_BEST), which makes output 0.1 %
 * smaller (XML, 0.4 %).
 *
 * `core_guess` is the speed of a core on source code, on a machine with an H100 and 16 busy cores
 * (Intel Xeon).  A run uses it until its first segments have shown the real speed.  Level 1 is
 * guessed lower than the measured 310 MB/s: for 1.2 GB, the CPU alone took as long as CPU and GPU
 * together.  At level 6 that was so for 200 to 250 MB, and at level 9 for 130 to 200 MB; from the
 * guesses, policy_gpu_min computes 1210, 255 and 184 MB for these levels.
 *
 * BGZF.  Its segments have less than 64 KiB, so a level finds fewer matches in them.  Its levels 1
 * to 9 are chosen beside bgzip with libdeflate, so that the output is no larger than bgzip's at the
 * same level, and takes less time (bench/levels.md has figures and exceptions).  From level 4 on,
 * matches of three bytes reach back 16384 bytes, which makes machine code 0.2 % smaller.  The
 * guesses are those of the most similar levels above.
 */
static const struct lz_level levels[] = {
    /* clang-format off */
    /*                           depths      nice max3 lazy passes split segment  guess */
    [0]  = {&finder_stored,       0,  0,  0,   0,    0, 0, 0,    0, 2 * MIB, 5e9,   {0}},
    [1]  = {&lz_finder_tagging,   0,  0,  0,   0,    0, 0, 0, 16384, 2 * MIB, 270e6, {0}},
    [2]  = {&lz_finder_chains,    4,  0,  0,  16,    0, 0, 0, 8192, 2 * MIB, 135e6, {0}},
    [3]  = {&lz_finder_chains,    8,  0,  0,  24, 4096, 0, 0, 8192, 2 * MIB, 120e6, {0}},
    [4]  = {&lz_finder_chains,    9,  0,  0,  24, 4096, 1, 0, 4096, 2 * MIB, 85e6,  {0}},
    [5]  = {&lz_finder_chains,   20,  0,  0,  50, 4096, 1, 0, 4096, 2 * MIB, 75e6,  {0}},
    [6]  = {&lz_finder_chains,   29,  0,  0,  96, 8192, 1, 0, 4096, 2 * MIB, 57e6,  {0}},
    [7]  = {&lz_finder_chains,   12, 24,  0, 130, 8192, 2, 0, 4096, 2 * MIB, 48e6,  {0}},
    [8]  = {&lz_finder_chains,   24, 32,  0, 258, 8192, 2, 0, 4096, 2 * MIB, 43e6,  {0}},
    [9]  = {&lz_finder_chains,   60, 100, 0, 258, 8192, 2, 0, 4096, 2 * MIB, 41e6,  {0}},
    [10] = {&lz_finder_optimal,   8, 24,  0, 258,    0, 0, 2,    0, 4 * MIB, 6.5e6, {0}},
    [11] = {&lz_finder_optimal,  16, 48, 48, 258,    0, 0, 3,    0, 4 * MIB, 4.8e6, {0}},
    [12] = {&lz_finder_optimal,  24, 128, 64, 258,    0, 0, 4,    0, 4 * MIB, 4.3e6, {0}},

    /* BGZF */
    [13] = {&lz_finder_chains,    2,  0,  0,  16,     0, 0, 0, 8192, SHORT,   135e6, {0}},
    [14] = {&lz_finder_chains,    8,  0,  0,  24,  4096, 0, 0, 8192, SHORT,   120e6, {0}},
    [15] = {&lz_finder_chains,    9,  0,  0,  24,  4096, 1, 0, 4096, SHORT,   85e6,  {0}},
    [16] = {&lz_finder_chains,   18,  0,  0,  40, 16384, 1, 0, 8192, SHORT,   75e6,  {0}},
    [17] = {&lz_finder_chains,   40,  0,  0,  70, 16384, 1, 0, 4096, SHORT,   57e6,  {0}},
    [18] = {&lz_finder_chains,   50, 50,  0, 130, 16384, 2, 0, 4096, SHORT,   43e6,  {0}},
    [19] = {&lz_finder_chains,   60, 500, 0, 258, 16384, 2, 0, 4096, SHORT,   41e6,  {0}},
    [20] = {&lz_finder_optimal,   8, 32,  0, 160,     0, 0, 2,    0, SHORT,   4.8e6, {0}},
    [21] = {&lz_finder_optimal,  16, 48, 48, 258,    0, 0, 4,    0, SHORT,   3.7e6, {0}},
    /* clang-format on */
};

const struct lz_level lz_huffman_only = {
    .finder = &lz_finder_literals, .split = 4096, .segment_default = 2 * MIB, .core_guess = 5e9};

const struct lz_level lz_run_length = {
    .finder = &lz_finder_runs, .split = 4096, .segment_default = 2 * MIB, .core_guess = 400e6};

_Static_assert(sizeof(levels) / sizeof(levels[0]) == LZ_ROWS, "a row for every level");

const struct lz_level *lz_level(int level)
{
    return &levels[level];
}

const struct lz_level *lz_level_for_more(const struct lz_level *level)
{
    if (level->finder->find_more != NULL)
        return level;
    if (level->finder == &lz_finder_tagging)
        return &levels[2];
    return level->finder == &lz_finder_optimal ? &levels[9] : NULL;
}
