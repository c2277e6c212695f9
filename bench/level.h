/*
 * level.h - reads an argument of the measuring programs: a level, or a method
 */
#ifndef GZLZSS_BENCH_LEVEL_H
#define GZLZSS_BENCH_LEVEL_H

#include <stdio.h>
#include <stdlib.h>

#include "papers/papers.h"

/* Returns the parameters of the level or method that `text` names. `text` is a level's number, at
 * least LZ_LEVEL_MIN, or a method in the form of --matcher's value. If `text` is neither of them,
 * prints a message and ends the program. */
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
