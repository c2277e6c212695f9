/*
 * find_start.h - where a region may start
 */
#ifndef GZLZSS_EXPAND_FIND_START_H
#define GZLZSS_EXPAND_FIND_START_H

#include "pipeline/expand/expansion.h"
#include "pipeline/expand/tools.h"

/* The parameters of a search for a start. */
struct start_search {
    struct input *input;
    const struct inf_finder *finder;
    bool marks_only;            /* look only for marks and members */
    _Atomic uint64_t *searched; /* counts bytes in which no header of a block was found */
    /* The search for headers stops when *searched reaches this limit. */
    const _Atomic uint64_t *search_max;
};

/* Looks for a start in bytes [from, to) of the input.  The first choice is the end of the first
 * mark in these bytes, or the end of the first member header that begins in them.  If neither
 * exists, and marks_only is not set, the start is the end of the first empty stored block, or else
 * a stored block after another one, or else the first header of a dynamic block.  Sets *kind, and
 * *start to a bit of the input.  Returns false if there is no start.  Called without the lock. */
bool find_start(const struct start_search *s, struct expand_tools *t, uint64_t from, uint64_t to,
                enum start_kind *kind, uint64_t *start);

#endif
