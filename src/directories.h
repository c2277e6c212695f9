/*
 * directories.h - directories that files are reached through, open as long as they have users
 *
 * A file is reached through its directory's descriptor.  So the file that is removed is the file
 * that was read, even if a directory above it is renamed or replaced meanwhile.
 */
#ifndef GZLZSS_DIRECTORIES_H
#define GZLZSS_DIRECTORIES_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The mode of directories that the command makes, before the umask. */
#define DIRECTORY_MODE (S_IRWXU | S_IRWXG | S_IRWXO)

struct directory {
    bool is_open;   /* false: names are relative to the working directory */
    int fd;         /* a descriptor of the directory; AT_FDCWD if it is not open */
    dev_t device;   /* if open: with `inode`, identifies the directory */
    ino_t inode;    /* if open: see `device` */
    unsigned users; /* how many users; only directories.c uses this */
};

/* Makes a struct directory, with one user, of the descriptor fd.  The struct owns fd from now on.
 * If fd is -1 or fstat fails, the directory is not open.  If memory is short, closes fd and returns
 * NULL. */
struct directory *directory_new(int fd);

/* Counts one more user. */
void directory_use(struct directory *d);

/* Counts one user less.  After the last user, closes and frees the directory.  d may be NULL. */
void directory_release(struct directory *d);

/* Whether the directory has exactly one user. */
bool directory_is_unshared(const struct directory *d);

/* Whether a and b are the same directory.  False if only one is open. */
bool directory_is_same(const struct directory *a, const struct directory *b);

/* The directory of the last operand, kept for the next operand.  All fields are zeros at first. */
struct last_directory {
    /* The directory, or NULL.  This struct counts as one of the directory's users. */
    struct directory *directory;
    char *name; /* the directory's name, with the slash at its end */
};

/* Returns the directory that an operand is in.  Opens the directory, unless it is the last
 * operand's directory.  For standard input ("-"), returns a directory that is not open.  A caller
 * that keeps the result must call directory_use.  NULL if memory is short. */
struct directory *directory_of(struct last_directory *last, const char *operand);

/* The same for an output whose path begins with the directory `top`.  Makes the directories below
 * `top` that do not exist, and follows no link below `top`.  Sets *error to 0 or an errno.  After
 * an error, the directory is not open, and nothing must be written to it.  Changes `path` only
 * meanwhile. */
struct directory *directory_below(struct last_directory *last, const char *top, char *path,
                                  int *error);

/* Releases the directory that is kept. */
void directory_forget(struct last_directory *last);

#endif
