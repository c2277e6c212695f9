/*
 * files.h - what happens to one file: names, opening, attributes, and removing what is done with
 *
 * A file goes through up to three steps.  file_open opens the input and decides whether there is
 * anything to be done.  file_process does it, up to an output that is complete and closed, but still
 * goes if a signal comes.  file_commit makes it final and removes the input.  The first two can be
 * done for many files at a time, in any thread, and file_commit for one after the other: then,
 * whenever the program ends, some files are done and the others untouched, in the order given.
 */
#ifndef GZLZSS_FILES_H
#define GZLZSS_FILES_H

#include <sys/stat.h>

#include "src/cleanup.h"
#include "src/list.h"
#include "src/options.h"

/* A directory, through which its files are reached, so that what is removed is what was read even if
 * names above it change meanwhile. */
struct directory {
    int fd; /* or AT_FDCWD */
    dev_t device;
    ino_t inode;
    bool is_open; /* false: names are to be used as they are, from where the program was started */
    unsigned users;
};

struct file {
    /* For the caller to set; both strings must stay. */
    const struct options *o;
    const char *operand; /* the file's whole name; "-" is standard input */
    struct directory *directory;
    struct messages m;
    struct pipeline *pipeline; /* set for file_process alone; NULL: memory is short */
    struct list *list;

    /* After file_open: */
    bool is_directory; /* and in_fd is open */
    int in_fd;         /* -1 if not open; the caller's to close if it takes it */

    /* The rest is for files.c. */
    const char *name;  /* of the input, as messages show it */
    char *found_name;  /* of the input where it is not the operand's; to be freed */
    char *output_name; /* to be freed; NULL: standard output, or none */
    bool is_stdin, to_stdout, made_output;
    int out_fd;
    uint32_t stored_time; /* to be restored, 0 if there is none */
    struct stat in_stat;
    struct cleanup_output armed;
};

/* Opens the input; returns false if that was all: it is not to be worked on, which was said, or it
 * is a directory to be gone through. */
bool file_open(struct file *f);

/* Does the work.  What went wrong was said, and nothing is left of it.  The files are closed after it:
 * many can wait for file_commit. */
void file_process(struct file *f);

/* Makes it final, or undoes it; both free what the file has (but not f itself). */
void file_commit(struct file *f);
void file_discard(struct file *f);

/* Says that there is no memory. */
void file_out_of_memory(struct file *f);

#endif
