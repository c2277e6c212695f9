/*
 * walk.h - directories that are gone through, one entry after another
 *
 * Files are reached through their directory's descriptor, never by a path, so that there may be any
 * number of levels.  Neither the stack nor the number of descriptors bounds it: levels are in an
 * array, and only the first and the last few of them are open.  One that was closed is opened anew
 * on the way back, as ".." of the one below, or else by its name in those above; it has to be the
 * same directory.
 */
#ifndef GZLZSS_WALK_H
#define GZLZSS_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "src/directories.h"

struct level;

struct walk {
    char *path; /* the entry's, or the operand's; in `path_room` bytes */
    size_t path_room;
    struct level *levels; /* levels[0..depth): the directory gone through, after all above it */
    size_t depth, level_room;
};

/* Frees what the walk has; all levels must have been left. */
void walk_free(struct walk *w);

/* Sets w->path to an operand, before any directory was entered.  False: memory is short. */
bool walk_begin(struct walk *w, const char *operand);

/* Enters the directory d, whose path is w->path, and reads its names by the descriptor fd.  The walk
 * owns both from now on.  by_path: names in d are used as a whole, and d stays open.  Returns how
 * many names there are, or -1 with errno set: nothing was entered. */
long walk_enter(struct walk *w, struct directory *d, int fd, bool by_path);

enum walk_step {
    WALK_ENTRY,     /* w->path is the next entry's */
    WALK_END,       /* all was gone through */
    WALK_LOST,      /* the deepest directory, whose path is w->path, cannot be opened again: errno
                       says why; calling again tries again, unless walk_leave was called */
    WALK_NO_MEMORY, /* for a path; the entry is left out */
};

/* Goes to the next entry; *d becomes the directory that it is in. */
enum walk_step walk_next(struct walk *w, struct directory **d);

/* Leaves the deepest directory, done or not; there must be one. */
void walk_leave(struct walk *w);

#endif
