/*
 * destination.h - where an input's output goes: beside the input, or where --output, --output-dir
 * or --output-dir-mirror say
 */
#ifndef GZLZSS_DESTINATION_H
#define GZLZSS_DESTINATION_H

#include <stdbool.h>

#include "src/directories.h"
#include "src/messages.h"
#include "src/options.h"

/* The directory that an output goes to. */
struct destination {
    struct directory *directory;
    int error; /* an errno if that directory does not exist and could not be made; otherwise 0 */
};

/* Prepares for the options that say where outputs go.  Makes the directory of --output-dir-mirror
 * if it does not exist.  If --output names a device, a pipe, or the file that is standard output
 * already, makes that file the standard output, and sets o->to_stdout.  False, with a message, if a
 * step fails. */
bool destination_prepare(struct options *o, struct messages *m);

/* Whether an output that the user has named must be written to the file that is there: a device, a
 * pipe, or the file that is standard output already.  Such a file is never removed or replaced. */
bool destination_is_kept(const char *name);

/* Opens a file for which destination_is_kept is true.  Returns a descriptor, or -1 with errno
 * set.  Opening a FIFO waits for its reader. */
int destination_open_kept(const char *name);

/* Whether --output-dir-mirror cannot mirror this operand because its path contains "..".  The
 * output could then be outside the directory that the user has named. */
bool destination_goes_up(const struct options *o, const char *operand);

/* Finds the directory for the output of `operand`, which is in `directory`.  Makes directories for
 * --output-dir-mirror.  A caller that keeps d->directory must call directory_use.  *last keeps the
 * directory for the next call; use it for nothing else.  False if memory is short. */
bool destination_find(struct destination *d, struct last_directory *last, const struct options *o,
                      const char *operand, struct directory *directory);

/* Returns the path of the output of `name`, but without a change of the suffix: the path ends with
 * the suffix of `name`.  The caller frees the path.  NULL if memory is short. */
char *destination_path(const struct options *o, const char *name);

#endif
