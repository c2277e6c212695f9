/*
 * directories.h - directories that files are reached through, open as long as somebody uses them
 *
 * A file is reached through its directory's descriptor, so that what is removed is what was read even
 * if names above it change meanwhile.
 */
#ifndef GZLZSS_DIRECTORIES_H
#define GZLZSS_DIRECTORIES_H

#include <stdbool.h>
#include <sys/types.h>

struct directory {
    bool is_open; /* false: names are used as they are, from where the program was started */
    int fd;       /* AT_FDCWD if it is not open */
    dev_t device; /* which directory it is, if it is open */
    ino_t inode;
    unsigned users; /* directories.c's */
};

/* Makes a directory of fd, which it owns from now on, for one user.  If fd is -1 or fstat fails,
 * the directory is not open.  NULL if memory is short: fd is closed. */
struct directory *directory_new(int fd);

/* One more user; one user less.  Without users, the directory is closed and freed.  d may be NULL
 * in the latter. */
void directory_use(struct directory *d);
void directory_release(struct directory *d);

/* Whether it has one user only. */
bool directory_is_unshared(const struct directory *d);

/* Whether both are the same directory. */
bool directory_is_same(const struct directory *a, const struct directory *b);

/* The directory of an operand, kept for the operand after it. */
struct last_directory {
    struct directory *directory; /* or NULL; this is one user of it */
    char *name;                  /* its name, up to and with the slash */
};

/* Opens the directory that an operand is in, unless it is that of the operand before.  Standard
 * input is in none.  A caller that keeps it must count as a user.  NULL if memory is short. */
struct directory *directory_of(struct last_directory *last, const char *operand);
void directory_forget(struct last_directory *last);

#endif
