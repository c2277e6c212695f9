/*
 * finders.h - the list of match finders
 *
 * Each has one file per engine: lzss/NAME.c, which defines lz_finder_NAME (struct lz_finder), and
 * gpu/NAME.cu, which defines gpu_find_NAME and the two functions that go with it.  Both find the
 * same sequences.  To add a finder, write these two files, list them in Makefile.am, add a row
 * here, and name it in levels.c.  Tables that it needs go into struct lz_matcher, or into a state
 * of its own.
 */
#ifndef GZLZSS_LZSS_FINDERS_H
#define GZLZSS_LZSS_FINDERS_H

#include "lzss/lzss.h"

#define LZ_FINDERS(X) X(tagging) X(chains) X(optimal)

enum {
#define LZ_FINDER_ID(name) LZ_FINDER_##name,
    LZ_FINDERS(LZ_FINDER_ID)
#undef LZ_FINDER_ID
};

#ifdef __cplusplus
extern "C" {
#endif

#define LZ_FINDER_DECLARE(name) extern const struct lz_finder lz_finder_##name;
LZ_FINDERS(LZ_FINDER_DECLARE)
#undef LZ_FINDER_DECLARE

#ifdef __cplusplus
}
#endif

#endif
