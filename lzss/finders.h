/*
 * finders.h - the list of the levels' match finders
 *
 * Each has one file per engine: lzss/NAME.c, which defines lz_finder_NAME (struct lz_finder), and
 * gpu/NAME.cu, which defines gpu_finder_NAME, to which the former points.  Both find the same
 * sequences.  To add a finder, write these two files, list them in Makefile.am, add a row here, and
 * name it in levels.c.  The CPU finder's tables are its state (struct lz_finder).
 *
 * No other code goes through this list: the engines have a finder from its level alone.
 */
#ifndef GZLZSS_LZSS_FINDERS_H
#define GZLZSS_LZSS_FINDERS_H

#include "lzss/lzss.h"

#define LZ_FINDERS(X) X(tagging) X(chains) X(optimal)

#ifdef __cplusplus
extern "C" {
#endif

#define LZ_FINDER_DECLARE(name)                     \
    extern const struct lz_finder lz_finder_##name; \
    extern const struct gpu_finder gpu_finder_##name;
LZ_FINDERS(LZ_FINDER_DECLARE)
#undef LZ_FINDER_DECLARE

#ifdef __cplusplus
}
#endif

#endif
