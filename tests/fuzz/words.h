/*
 * words.h - a command line and variables for options, from a fuzz target's input
 */
#ifndef GZLZSS_FUZZ_WORDS_H
#define GZLZSS_FUZZ_WORDS_H

#include "src/names.h"
#include "tests/fuzz/target.h"

enum { FUZZ_WORDS_MAX = 40 };

struct fuzz_words {
    char *all;
    char *argv[FUZZ_WORDS_MAX + 1]; /* argv[0..argc), and NULL */
    int argc;
};

/* Reads words up to the first empty one, or up to the end of the input's first `most` bytes: the
 * program's name, the contents of GZIP and GZLZSS, which are put into the environment, and the
 * arguments. */
static inline void fuzz_words_read(struct fuzz_words *w, struct fuzz_input *in, size_t most)
{
    const struct fuzz_input part = {in->data, most < in->len ? most : in->len};
    char *word, *variables[2] = {NULL, NULL};
    size_t length;

    w->argc = 0;
    word = w->all = fuzz_need(malloc(part.len + 1));
    if (part.len > 0)
        memcpy(w->all, part.data, part.len);
    w->all[part.len] = '\0';
    for (int i = 0; w->argc < FUZZ_WORDS_MAX; i++) {
        length = strlen(word);
        if (i == 1 || i == 2)
            variables[i - 1] = word;
        else if (i == 0 || length > 0)
            w->argv[w->argc++] = word;
        if ((i > 2 && length == 0) || word + length >= w->all + part.len)
            break;
        word += length + 1;
    }
    length = (size_t)(word + strlen(word) - w->all);
    fuzz_take(in, length < part.len ? length + 1 : part.len);
    w->argv[w->argc] = NULL;
    setenv("GZIP", variables[0] != NULL ? variables[0] : "", 1);
    setenv("GZLZSS", variables[1] != NULL ? variables[1] : "", 1);
}

static inline void fuzz_words_free(struct fuzz_words *w)
{
    free(w->all);
}

#endif
