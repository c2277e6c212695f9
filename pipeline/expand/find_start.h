/*
 * find_start.h - where a region may start
 */
#ifndef GZLZSS_EXPAND_FIND_START_H
#define GZLZSS_EXPAND_FIND_START_H

#include "pipeline/expand/expansion.h"
#include "pipeline/expand/tools.h"

/* What a search for a start has to know, and counts. */
struct start_search {
    struct input *input;
    const struct inf_finder *finder;
    bool marks_only;                    /* look for marks and members alone */
    _Atomic uint64_t *searched;         /* bytes in which no header of a block was found */
    const _Atomic uint64_t *search_max; /* the search ends when that many have been */
};

/* Looks for a start in bytes [from, to) of the input: the first mark or member that begins behind
 * `from`, or else, unless `marks_only`, an empty stored block, or the header of a dynamic block.
 * Sets *kind and *start, which is a bit of the input.  False if there is none.  Without the
 * lock. */
bool find_start(const struct start_search *s, struct expand_tools *t, uint64_t from, uint64_t to,
                enum start_kind *kind, uint64_t *start);

#endif
