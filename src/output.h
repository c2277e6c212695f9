/*
 * output.h - a file that is written, and how it gets its name
 *
 * There are two ways to name an output.
 *
 * By default, an output has its final name from the start, as with gzip.  A process that is killed
 * leaves a partial file under that name.
 *
 * With `atomic`, an output gets its final name when it is complete.  Until then, the file is one of
 * these:
 *
 *   unnamed     The file has no name (O_TMPFILE) until linkat() gives it one.  If the process is
 *               killed, the system removes the file.
 *   temporary   If the file system has no unnamed files, or there is no /proc to name them through,
 *               the file has another name, which begins with ".gzlzss-".  If the process is
 *               killed, that file is left.
 *
 * If another file has the final name already, rename() replaces it: at any time, the name belongs
 * to the old file or to the complete new one.  rename() needs a name to start from, so
 * output_commit first gives an unnamed file a temporary name.
 *
 * A signal that ends the program removes every output that has a name and is not committed yet
 * (cleanup.h).
 */
#ifndef GZLZSS_OUTPUT_H
#define GZLZSS_OUTPUT_H

#include <stdbool.h>

#include "src/cleanup.h"

enum output_kind { OUTPUT_NONE, OUTPUT_NAMED, OUTPUT_UNNAMED, OUTPUT_TEMPORARY };

struct output {
    enum output_kind kind; /* how the file is named now; OUTPUT_NONE: there is no file */
    int fd;                /* a descriptor to write to, or -1 */
    bool replaces;         /* atomic only: replace a file that has the final name already */
    /* atomic only: other processes open the file by its name and write to it.  So the file must
     * have a temporary name, and cannot be unnamed. */
    bool is_shared;
    bool is_public;              /* true: the umask decides who may read the file; false: only the
                                  * owner */
    int directory;               /* a descriptor that the name is relative to, or AT_FDCWD */
    const char *name;            /* the final name; the caller keeps it until the commit */
    char *temporary;             /* the temporary name, or NULL */
    struct cleanup_output armed; /* registers the file while it has a name and is not committed */
};

/* Creates the file.  Only its owner can read it, unless o->is_public is true: then the umask
 * decides who can.  Before the call, the caller gives o->is_public a value and, with `atomic`, also
 * o->replaces and o->is_shared.  Returns 0 or an errno; after an error, the call has left no file
 * behind.  EEXIST: another file has this name (never returned with `atomic` if o->replaces is
 * true).  ENAMETOOLONG: the name is too long. */
int output_create(struct output *o, int directory, const char *name, bool atomic);

/* Closes the file for writing.  Call this function when everything is written.  Some file systems
 * report the last write errors only when a file is closed.  Returns 0 or an errno; after an error,
 * call output_discard. */
int output_finish(struct output *o);

/* Gives a finished file its final name.  Call it only between cleanup_hold and cleanup_release.
 * Returns 0 or an errno; EEXIST if another file has got the name meanwhile.  After an error, call
 * output_discard. */
int output_commit(struct output *o);

/* Removes the file if it is not committed, and frees the memory of *o. */
void output_discard(struct output *o);

#endif
