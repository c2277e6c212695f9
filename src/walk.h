/*
 * walk.h - goes through directories, one entry after another
 *
 * Files are reached through their directory's descriptor, never by a path, so there may be any
 * number of levels.  Neither the stack nor the number of descriptors limits them: the levels are in
 * an array, and only the first and the last few are open.  On the way back, a closed level is
 * opened again as ".." of the level below, or else by its path from the first level.  Device and
 * inode must be the same as before.
 */
#ifndef GZLZSS_WALK_H
#define GZLZSS_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "src/directories.h"

struct level;

struct walk {
    char *path; /* the path of the current entry, or the operand; in `path_room` bytes */
    size_t path_room;
    struct level *levels; /* levels[0..depth): the directories from the first to the deepest */
    size_t depth, level_room;
};

/* Frees the memory of the walk.  All levels must have been left. */
void walk_free(struct walk *w);

/* Sets w->path to an operand, before any directory is entered.  False: memory is short. */
bool walk_begin(struct walk *w, const char *operand);

/* Enters the directory d, whose path is w->path, and reads its names through the descriptor fd.
 * The walk owns d and fd from now on, even if this fails.  by_path: d is not open, and files in it
 * are opened by whole paths.  Returns the number of names; -1 with errno set if nothing was
 * entered. */
long walk_enter(struct walk *w, struct directory *d, int fd, bool by_path);

enum walk_step {
    WALK_ENTRY, /* w->path is the path of the next entry */
    WALK_END,   /* there are no more entries */
    /* The deepest directory, whose path is w->path, cannot be opened again; errno says why.  Call
     * walk_next to try again, or walk_leave to give it up. */
    WALK_LOST,
    WALK_NO_MEMORY, /* there is no memory for the entry's path; the entry is left out */
};

/* Goes to the next entry.  *d becomes the directory that contains it. */
enum walk_step walk_next(struct walk *w, struct directory **d);

/* Leaves the deepest directory, whether all its entries were visited or not.  There must be such a
 * directory. */
void walk_leave(struct walk *w);

#endif
