/*
 * output.h - a file that is written: how it comes to have its name
 *
 * There are two ways.  By default an output has its name from the start, as gzip's has: programs
 * that watch a directory see it being opened and closed, and a process that is killed leaves a part
 * of it.  With `atomic`, it gets its name when it is whole:
 *
 *   unnamed     The file has no name (O_TMPFILE) until linkat() gives it one.  If the process is
 *               killed, the system takes the file back.
 *   temporary   Where the file system has no unnamed files, or there is no /proc to name them
 *               through, the file has a name of its own, beginning with ".gzlzss-", until it gets
 *               the right one.  If the process is killed, that file is left.
 *
 * Another file that has the name is replaced by rename(), so that it is there until the new one is.
 * An unnamed file gets a temporary name for that first, in the system call before.
 *
 * A signal that ends the program removes whatever name a file has that is not committed
 * (cleanup.h).
 */
#ifndef GZLZSS_OUTPUT_H
#define GZLZSS_OUTPUT_H

#include <stdbool.h>

#include "src/cleanup.h"

enum output_kind { OUTPUT_NONE, OUTPUT_NAMED, OUTPUT_UNNAMED, OUTPUT_TEMPORARY };

struct output {
    enum output_kind kind; /* OUTPUT_NONE: there is no file */
    int fd;                /* to write to, or -1 */
    bool replaces;         /* atomic only: a file that has the name may be replaced */
    bool is_shared;   /* atomic only: other processes write to it, too, and open it by its name:
                              it is a temporary one */
    int directory;    /* the name is relative to this descriptor, or AT_FDCWD */
    const char *name; /* the caller's; it has to stay until the commit */
    char *temporary;  /* a temporary name; else NULL */
    struct cleanup_output armed;
};

/* Creates the file, which only its owner can read.  With `atomic`, o->replaces must be set before;
 * without, a file that has the name is an error; o->is_shared may be set.  Returns 0, or an errno,
 * and there is no file: EEXIST if the name is taken (and not to be replaced), ENAMETOOLONG if it is
 * too long. */
int output_create(struct output *o, int directory, const char *name, bool atomic);

/* To be called when all is written: file systems report the last write errors now.  Returns 0 or
 * an errno; output_discard must follow an error. */
int output_finish(struct output *o);

/* Gives a finished file its final name.  Only between cleanup_hold and cleanup_release.  Returns
 * 0 or an errno, EEXIST if the name was taken meanwhile; output_discard must follow an error. */
int output_commit(struct output *o);

/* Removes a file that is not committed, and frees what *o has.  After a commit, or without a
 * file, it only frees. */
void output_discard(struct output *o);

#endif
