/*
 * level.h - the level, or the method of a paper, that a measuring program is given
 */
#ifndef GZLZSS_BENCH_LEVEL_H
#define GZLZSS_BENCH_LEVEL_H

#include <stdio.h>
#include <stdlib.h>

#include "papers/papers.h"

/* The row of `text`, which is the number of a level but 0, or what --matcher takes.  Ends the
 * program if it is neither. */
static inline struct lz_level level_of(const char *text)
{
    struct lz_level level = *lz_level(LZ_LEVEL_DEFAULT);
    char error[PAPER_ERROR_SIZE];

    char *end;
    const long number = strtol(text, &end, 10);

    if (*end == '\0' && number >= LZ_LEVEL_MIN && number <= LZ_LEVEL_MAX) {
        level = *lz_level((int)number);
    } else if (!paper_parse(text, &level, error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    return level;
}

#endif
