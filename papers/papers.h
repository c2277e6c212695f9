/*
 * papers.h - match finders from published papers ("methods"), each of which can replace the match
 * finder of a level
 *
 * A method finds the matches that its paper describes. papers/NAME.c (CPU) and papers/NAME.cu (GPU)
 * are twins, which find the same matches. NAME.c opens with the paper's idea, and lists every
 * difference from the paper. No other part of the program knows a method by name, since --matcher
 * looks the name up in the list of methods.
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
    const char *help; /* the meaning of the value, in a few words */
    uint32_t usual;   /* the value if the user gives none */
    /* If the value is a number, it is in [least, most].  With is_power, it is a power of two. */
    uint32_t least, most;
    bool is_power;
    /* If the value is a word: the possible words, ended by NULL; the value is the word's index.
     * NULL: the value is a number. */
    const char *const *words;
    /* If the value is a number: a word that may be given instead, whose value is most + 1. NULL:
     * there is none. */
    const char *word;
    /* If the paper does not have the key, or another usual value: whose they are, for
     * --matcher=help. NULL: they are the paper's. */
    const char *origin;
};

/* Values of the key `threads`, which some methods have: how many threads of a GPU work on a chunk.
 * PAPER_AUTO: as many as this program finds fastest. PAPER_AS_PAPER: as many as in the paper. Both
 * find the same matches, and the CPU engine ignores the key. */
enum { PAPER_AUTO, PAPER_AS_PAPER };

struct paper_method {
    const char *name;
    const char *summary; /* what the method finds, in one line */
    const char *source;  /* the paper */
    const struct lz_finder *finder;
    /* Bytes that a core matches in a second, with the usual values (struct lz_level). For a new
     * method, run level 6 and the method with -vv on the same file. Then multiply level 6's
     * core_guess by its matching time, and divide by the method's matching time. */
    double core_guess;
    const struct paper_key *keys; /* keys[i]'s value becomes param[i]; at most LZ_PARAMS keys */
};

/* All methods in the order of PAPER_METHODS, ended by NULL. Empty in a build without the
 * methods. */
extern const struct paper_method *const paper_methods[];

/* Makes the method, with its usual values, the match finder of the level. The level's fields for
 * encoding (split, segment_default) stay. */
void paper_use(const struct paper_method *method, struct lz_level *level);

/* Size of the buffer for a message, in bytes. */
#define PAPER_ERROR_SIZE 256

/* Sets parameters of the level's method from the text KEY=VALUE[,KEY=VALUE].... If the text is
 * wrong, returns false with a message in `error`; some of the values may have been set by then. */
bool paper_set(const struct paper_method *method, const char *text, struct lz_level *level,
               char error[PAPER_ERROR_SIZE]);

/* Makes the method NAME[,KEY=VALUE]... the match finder of the level. If the text is wrong, returns
 * false with a message in `error`, and leaves the level as it was. */
bool paper_parse(const char *text, struct lz_level *level, char error[PAPER_ERROR_SIZE]);

/* The methods and their GPU twins. */
struct gpu_finder;
#define PAPER_DECLARE(name)                        \
    extern const struct paper_method paper_##name; \
    extern const struct gpu_finder gpu_finder_##name;
PAPER_METHODS(PAPER_DECLARE)
#undef PAPER_DECLARE

#ifdef __cplusplus
}
#endif

#endif
