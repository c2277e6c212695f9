/*
 * levels.c - prints the level table, for tests: a line "LEVEL FINDER" for each level, from 0 on
 *
 * Functions in tests/helpers.bash use this program.
 */
#include "config.h"

#include <stdio.h>

#include "lzss/lzss.h"

int main(void)
{
    for (int level = LZ_LEVEL_STORED; level <= LZ_LEVEL_MAX; level++)
        printf("%d %s\n", level, lz_level(level)->finder->name);
    return fflush(stdout) != 0;
}
