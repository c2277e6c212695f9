/*
 * finders.h - the list of match finders
 *
 * A match finder is a way to choose a segment's matches.  Each has one file per engine:
 * lzss/NAME.c, which defines lz_find_NAME, and gpu/NAME.cu, which defines gpu_find_NAME, both
 * giving the same sequences.  Adding one takes these two files (listed in Makefile.am), a row here,
 * and its tables in struct lz_matcher; levels.c then names it.
 */
#ifndef GZLZSS_LZSS_FINDERS_H
#define GZLZSS_LZSS_FINDERS_H

#define LZ_FINDERS(X) X(tagging) X(chains) X(optimal)

enum lz_finder {
#define LZ_FINDER_ID(name) LZ_FINDER_##name,
    LZ_FINDERS(LZ_FINDER_ID)
#undef LZ_FINDER_ID
};

#endif
