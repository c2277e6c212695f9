/*
 * papers.h - the match finders of published papers (methods), which can replace a level's
 *
 * A method finds what its paper describes, on both engines: papers/NAME.c and papers/NAME.cu are
 * twins. NAME.c opens with the paper's idea, and lists every difference from it. The rest of the
 * program knows no method by name: it uses this list, and the text that a user writes.
 *
 * docs/adding.md, "A method of a paper", says how to add one.
 */
#ifndef GZLZSS_PAPERS_H
#define GZLZSS_PAPERS_H

#include "lzss/lzss.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The methods' names as C identifiers. NAME.c defines paper_NAME, and NAME.cu gpu_finder_NAME. */
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

/* A parameter of a method. Its value is either a number or a word. */
struct paper_key {
    const char *name; /* NULL ends the list of keys */
    const char *help; /* what the value means, in a few words */
    uint32_t usual;   /* the value if the user gives none: the paper's */
    /* A number: it lies in this range, and is a power of two if is_power. */
    uint32_t least, most;
    bool is_power;
    /* A word: one of these, ended by NULL; the value is its index. NULL: the value is a number. */
    const char *const *words;
};

struct paper_method {
    const char *name;
    const char *summary; /* what the method finds, in one line */
    const char *source;  /* the paper */
    const struct lz_finder *finder;
    /* Bytes that a core matches in a second, with the usual values (struct lz_level). For a new
     * method, take level 6's number, and divide it by the ratio of the matching times that -vv
     * prints for the method and for level 6. */
    double core_guess;
    const struct paper_key *keys; /* keys[i]'s value becomes param[i]; at most LZ_PARAMS */
};

/* All methods in the order of the list, ended by NULL. A build without them has none. */
extern const struct paper_method *const paper_methods[];

/* Puts the method with its usual values into the level's row. The row's numbers for encoding
 * (split, segment_default) stay. */
void paper_use(const struct paper_method *method, struct lz_level *level);

/* Size of the buffer for a message, in bytes. */
#define PAPER_ERROR_SIZE 256

/* Reads KEY=VALUE[,KEY=VALUE]... for the method in the level's row. If the text is wrong, returns
 * false with a message in error; some values may be set then. */
bool paper_set(const struct paper_method *method, const char *text, struct lz_level *level,
               char error[PAPER_ERROR_SIZE]);

/* Puts the method NAME[,KEY=VALUE]... into the level's row. If the text is wrong, returns false
 * with a message in error, and leaves the row as it was. */
bool paper_parse(const char *text, struct lz_level *level, char error[PAPER_ERROR_SIZE]);

/* The methods and their GPU twins. */
#define PAPER_DECLARE(name)                        \
    extern const struct paper_method paper_##name; \
    extern const struct gpu_finder gpu_finder_##name;
PAPER_METHODS(PAPER_DECLARE)
#undef PAPER_DECLARE

#ifdef __cplusplus
}
#endif

#endif
