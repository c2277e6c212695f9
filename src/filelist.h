/*
 * filelist.h - reads the names of operands from a file, for --files-from
 */
#ifndef GZLZSS_FILELIST_H
#define GZLZSS_FILELIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct filelist {
    FILE *file;
    int end;    /* the byte after each name: a newline or a zero byte */
    char *name; /* the last name, in `room` bytes */
    size_t room;
};

/* Opens the file `path`, or standard input if that is "-".  is_null: names end with zero bytes.
 * False with errno set if that fails.  Afterwards, call filelist_close, even after a failure. */
bool filelist_open(struct filelist *l, const char *path, bool is_null);

enum filelist_step {
    FILELIST_NAME,  /* l->name is the next name, which is not empty */
    FILELIST_END,   /* there are no more names */
    FILELIST_ERROR, /* reading failed; errno says why */
    FILELIST_ZERO,  /* there is a zero byte in a name that should end with a newline */
};

/* Reads the next name, and leaves out empty ones.  The last name need not be ended. */
enum filelist_step filelist_next(struct filelist *l);

/* Closes the file, unless it is standard input, and frees memory. */
void filelist_close(struct filelist *l);

#endif
