/*
 * finders.h - the list of the levels' match finders
 *
 * A finder called NAME has one file for each engine: lzss/NAME.c defines lz_finder_NAME (struct
 * lz_finder), and gpu/cuda/match/NAME.cu defines gpu_finder_NAME.  Both find the same sequences. To
 * add a finder, write these two files, list them in Makefile.am, add an entry here, and name the
 * finder in a row of levels.c.  The CPU's finder keeps its tables in its state (new_state in struct
 * lz_finder).
 *
 * The list is used only for the declarations below.  The engines get a finder from its level's row.
 */
#ifndef GZLZSS_LZSS_FINDERS_H
#define GZLZSS_LZSS_FINDERS_H

#include "lzss/lzss.h"

/* A match finder on the GPU.  gpu/cuda/internal.cuh defines it, for gpu/ and papers/. */
struct gpu_finder;

#define LZ_FINDERS(X) X(tagging) X(chains) X(optimal)

#ifdef __cplusplus
extern "C" {
#endif

#define LZ_FINDER_DECLARE(name)                     \
    extern const struct lz_finder lz_finder_##name; \
    extern const struct gpu_finder gpu_finder_##name;
LZ_FINDERS(LZ_FINDER_DECLARE)
#undef LZ_FINDER_DECLARE

/* Finders that only the CPU engine has.  They have no twin for the GPU. */
extern const struct lz_finder lz_finder_literals, lz_finder_runs;

#ifdef __cplusplus
}
#endif

#endif
