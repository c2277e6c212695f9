/*
 * filelist.h - reads the names of operands from a file, for --files-from
 */
#ifndef GZLZSS_FILELIST_H
#define GZLZSS_FILELIST_H

#include <stdbool.h>
#include <stddef.h>

struct filelist {
    int fd;
    char end; /* the byte after each name: a newline or a zero byte */
    /* text[0..filled) was read and is still needed.  `room` is the size of the memory at `text`. */
    char *text;
    size_t filled, room;
    size_t next; /* text[next..filled): bytes after the last name that was returned */
    bool no_more;
};

/* Opens the file `path`, or standard input if that is "-".  is_null: names end with zero bytes.
 * False with errno set if that fails.  Afterwards, call filelist_close, even after a failure. */
bool filelist_open(struct filelist *l, const char *path, bool is_null);

enum filelist_step {
    FILELIST_NAME,  /* *name is the next name, which is not empty */
    FILELIST_END,   /* there are no more names */
    FILELIST_ERROR, /* reading failed, or a name has no end; errno says why */
    FILELIST_ZERO,  /* there is a zero byte in a name that should end with a newline */
};

/* Reads the next name that is not empty.  The byte after the last name may be missing.  *name is
 * valid until the next call. */
enum filelist_step filelist_next(struct filelist *l, const char **name);

/* Waits for the next name for at most a tenth of a second.  True if the name has not come by
 * then. */
bool filelist_waits(struct filelist *l);

/* Closes the file, unless it is standard input, and frees memory. */
void filelist_close(struct filelist *l);

#endif
