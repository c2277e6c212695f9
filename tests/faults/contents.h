/*
 * contents.h - the data that scenarios name
 */
#ifndef GZLZSS_TESTS_FAULTS_CONTENTS_H
#define GZLZSS_TESTS_FAULTS_CONTENTS_H

#include "tests/faults/tree.h"

#define CONTENTS_MAX 16

struct contents {
    struct {
        const char *name;
        struct bytes data;
    } all[CONTENTS_MAX];
    size_t count;
};

/* Makes all contents, by the command `gzlzss`, in the directory `work`:
 *
 *   tiny, small, other, text   lines of words: 300, 3000, 5000 and 150,000 bytes
 *   holes               600,000 bytes, most of them zero
 *   big                 9,500,000 bytes; the last 1,000,000 are zero
 *   names               a list of files
 *   *.gz                the same, compressed in segments of 32 KiB (big.gz: of 2 MiB)
 *   solid.gz            text in one segment
 *   named.gz            small; the header says "stored"
 *   text.gz.gzi         an index of text.gz
 *
 * Ends the program if that fails. */
void contents_make(struct contents *c, const char *gzlzss, const char *work);

struct bytes contents_find(const struct contents *c, const char *name, size_t length);

#endif
