/*
 * range.h - the arguments of --range and --lines
 */
#ifndef GZLZSS_SRC_RANGE_H
#define GZLZSS_SRC_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* A part of the decompressed data. */
struct range {
    bool is_lines;    /* the numbers count lines, not bytes */
    bool is_from_end; /* `from` is counted back from the end; never with is_lines */
    uint64_t from;    /* the first byte or line, from 0 on */
    uint64_t length;  /* UINT64_MAX: up to the end */
};

/* Reads the argument of --range (OFFSET:LENGTH) or --lines (FIRST:COUNT).  False if it makes no
 * sense. */
bool range_parse(const char *text, bool is_lines, struct range *r);

#endif
