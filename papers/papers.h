/*
 * papers.h - the match finders of published papers, which can take the place of a level's
 *
 * A method finds what its paper says, on both engines: papers/NAME.c and papers/NAME.cu are twins,
 * and NAME.c opens with the paper and with all in which the method differs from it.  The rest of
 * the program knows no method by its name: it has them from here, as a list and by what a user
 * writes.
 *
 * docs/adding.md, "A method of a paper", says how to add one.
 */
#ifndef GZLZSS_PAPERS_H
#define GZLZSS_PAPERS_H

#include "lzss/lzss.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names as in C.  NAME.c defines paper_NAME, and NAME.cu gpu_finder_NAME. */
/* clang-format off */
#define PAPER_METHODS(X) \
    X(culzss) \
    X(glzss_basic) \
    X(glzss_tagging) \
    X(lzss) \
    X(lz4) \
    X(position_lists) \
    X(gpulz) \
    X(dklzss)
/* clang-format on */

/* A parameter of a method. */
struct paper_key {
    const char *name; /* NULL: the list ends before this one */
    const char *help; /* what the value is, in a few words */
    uint32_t usual;   /* the value without the key: the paper's */
    /* It is a number in this range, in some keys one of the powers of two in it; */
    uint32_t least, most;
    bool is_power;
    /* or one of these words, which NULL ends; the value is the word's place in the list, from 0. */
    const char *const *words;
};

struct paper_method {
    const char *name;
    const char *summary; /* what it finds, in a line */
    const char *source;  /* the paper */
    const struct lz_finder *finder;
    /* See struct lz_level; with the usual values.  It is level 6's, as much smaller as -vv says that
     * matching takes longer than at level 6. */
    double core_guess;
    const struct paper_key *keys; /* at most LZ_PARAMS; keys[i]'s value becomes param[i] */
};

/* All methods, in the order of the list; NULL ends it.  A build without them has none. */
extern const struct paper_method *const paper_methods[];

/* Puts the method into the level's row, with the usual values.  What of the row is about encoding
 * stays. */
void paper_use(const struct paper_method *method, struct lz_level *level);

/* Room for a message that says why a text is wrong. */
#define PAPER_ERROR_SIZE 256

/* Reads KEY=VALUE[,KEY=VALUE]... for the method that is in the row.  False if the text is wrong, with
 * a message in error; some values may be set then. */
bool paper_set(const struct paper_method *method, const char *text, struct lz_level *level,
               char error[PAPER_ERROR_SIZE]);

/* Puts the method that the text asks for, NAME[,KEY=VALUE]..., into the level's row.  False if the
 * text is wrong, with a message in error; the row is then as it was. */
bool paper_parse(const char *text, struct lz_level *level, char error[PAPER_ERROR_SIZE]);

/* Each method, and its GPU twin. */
#define PAPER_DECLARE(name)                        \
    extern const struct paper_method paper_##name; \
    extern const struct gpu_finder gpu_finder_##name;
PAPER_METHODS(PAPER_DECLARE)
#undef PAPER_DECLARE

#ifdef __cplusplus
}
#endif

#endif
