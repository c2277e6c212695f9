/*
 * output.h - a file that is written, and how it gets its name
 *
 * There are two ways.
 *
 * By default, an output has its name from the start, as with gzip.  Programs that watch a directory
 * see it being opened and closed, and a process that is killed leaves a partial file.
 *
 * With `atomic`, an output gets its name when it is complete.  Until then it is one of these:
 *
 *   unnamed     The file has no name (O_TMPFILE) until linkat() gives it one.  If the process is
 *               killed, the system removes the file.
 *   temporary   If the file system has no unnamed files, or there is no /proc to name them through,
 *               the file has another name, which begins with ".gzlzss-".  If the process is
 *               killed, that file is left.
 *
 * If another file has the name already, rename() replaces it, so that at any time one of the two
 * has the name.  An unnamed file needs a temporary name for that: output_commit gives it one just
 * before.
 *
 * A signal that ends the program removes every file with a name that is not committed (cleanup.h).
 */
#ifndef GZLZSS_OUTPUT_H
#define GZLZSS_OUTPUT_H

#include <stdbool.h>

#include "src/cleanup.h"

enum output_kind { OUTPUT_NONE, OUTPUT_NAMED, OUTPUT_UNNAMED, OUTPUT_TEMPORARY };

struct output {
    enum output_kind kind; /* how the file is named now; OUTPUT_NONE: there is no file */
    int fd;                /* a descriptor to write to, or -1 */
    bool replaces;         /* atomic only: another file that has the name is replaced */
    /* Atomic only: other processes write to the file, too, and open it by its name, so it gets a
     * temporary name. */
    bool is_shared;
    int directory;               /* a descriptor that the name is relative to, or AT_FDCWD */
    const char *name;            /* the caller's; it must stay until the commit */
    char *temporary;             /* the temporary name, or NULL */
    struct cleanup_output armed; /* registers the file while it has a name and is not committed */
};

/* Creates the file, which only its owner can read.  With `atomic`, set o->replaces and o->is_shared
 * before; without, a file that has the name is an error.  Returns 0, or an errno, and then there is
 * no file: EEXIST if the name is taken and may not be replaced, ENAMETOOLONG if it is too long. */
int output_create(struct output *o, int directory, const char *name, bool atomic);

/* Closes the file for writing.  Call it when all is written: file systems report the last write
 * errors now.  Returns 0 or an errno; after an error, call output_discard. */
int output_finish(struct output *o);

/* Gives a finished file its final name.  Call it only between cleanup_hold and cleanup_release.
 * Returns 0 or an errno, EEXIST if the name was taken meanwhile; after an error, call
 * output_discard. */
int output_commit(struct output *o);

/* Removes a file that is not committed, and frees what *o has.  After a commit, or without a file,
 * only frees. */
void output_discard(struct output *o);

#endif
