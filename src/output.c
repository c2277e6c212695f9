/*
 * output.c - a file that is written, and how it gets its name (output.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "src/names.h"
#include "src/output.h"

/* The mode of a new output.  Until the output gets the input's attributes, only its owner may read
 * it.  MODE_PUBLIC is for an output that gets no attributes; the umask then decides who may read
 * it. */
#define MODE (S_IRUSR | S_IWUSR)
#define MODE_PUBLIC (MODE | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)
#define FLAGS (O_RDWR | O_CLOEXEC)

/* How a temporary name begins, and the size of the whole name in bytes, including the final
 * zero. */
#define TEMPORARY_PREFIX ".gzlzss-"
#define TEMPORARY_SIZE (sizeof(TEMPORARY_PREFIX) + 16)

/* The most random names to try for a temporary file.  The first is almost always free. */
#define ATTEMPTS 100

/* Room for "/proc/self/fd/N". */
#define LINK_SIZE 40

static void name_link(char link[LINK_SIZE], int fd)
{
    snprintf(link, LINK_SIZE, "/proc/self/fd/%d", fd);
}

/* Makes a new temporary name, in the directory of the final one.  Returns 0 or an errno. */
static int new_temporary(struct output *o)
{
    const size_t length = (size_t)(names_base(o->name) - o->name);
    unsigned long long number;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return errno;
    free(o->temporary);
    o->temporary = malloc(length + TEMPORARY_SIZE);
    if (o->temporary == NULL)
        return ENOMEM;
    memcpy(o->temporary, o->name, length);
    snprintf(o->temporary + length, TEMPORARY_SIZE, TEMPORARY_PREFIX "%016llx", number);
    return 0;
}

/* --- Creating --- */

/* Registers the file as one that a signal removes. */
static void arm(struct output *o, enum output_kind kind)
{
    o->kind = kind;
    o->armed.directory = o->directory;
    o->armed.name = kind == OUTPUT_TEMPORARY ? o->temporary : o->name;
    cleanup_arm(&o->armed);
}

static mode_t mode_of(const struct output *o)
{
    return o->is_public ? MODE_PUBLIC : MODE;
}

/* Creates the file under a name.  Returns 0 or an errno. */
static int create_as(struct output *o, const char *name, enum output_kind kind)
{
    sigset_t before;
    int error = 0;

    cleanup_hold(&before);
    o->fd = io_open_at(o->directory, name, FLAGS | O_CREAT | O_EXCL | O_NOFOLLOW, mode_of(o));
    if (o->fd >= 0)
        arm(o, kind);
    else
        error = errno;
    cleanup_release(&before);
    return error;
}

/* Creates the file without a name.  False if the system, or this file system, cannot do that. */
static bool create_unnamed(struct output *o)
{
#ifdef O_TMPFILE
    const size_t length = (size_t)(names_base(o->name) - o->name);
    char *parent = length > 0 ? names_join(o->name, length, "") : NULL;
    char link[LINK_SIZE];
    struct stat file, linked;

    if (length > 0 && parent == NULL)
        return false;
    o->fd = io_open_at(o->directory, parent != NULL ? parent : ".", FLAGS | O_TMPFILE, mode_of(o));
    free(parent);
    if (o->fd < 0)
        return false;
    name_link(link, o->fd);
    if (fstat(o->fd, &file) == 0 && stat(link, &linked) == 0 && file.st_dev == linked.st_dev &&
        file.st_ino == linked.st_ino) {
        o->kind = OUTPUT_UNNAMED;
        return true;
    }
    close(o->fd);
    o->fd = -1;
#else
    (void)o;
#endif
    return false;
}

static int create_temporary(struct output *o)
{
    int error = 0;

    for (int i = 0; i < ATTEMPTS; i++) {
        error = new_temporary(o);
        if (error == 0)
            error = create_as(o, o->temporary, OUTPUT_TEMPORARY);
        if (error != EEXIST)
            break;
    }
    return error;
}

int output_create(struct output *o, int directory, const char *name, bool atomic)
{
    struct stat old;

    o->fd = -1;
    o->directory = directory;
    o->name = name;
    if (!atomic)
        return create_as(o, name, OUTPUT_NAMED);
    if (fstatat(directory, name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!o->replaces)
            return EEXIST;
    } else if (errno != ENOENT) {
        return errno;
    }
    return !o->is_shared && create_unnamed(o) ? 0 : create_temporary(o);
}

/* --- The end --- */

int output_finish(struct output *o)
{
    /* An unnamed file must stay open until it gets its name.  But some file systems report write
     * errors only when a descriptor is closed.  So close a copy of the descriptor now. */
    int fd = o->kind == OUTPUT_UNNAMED ? dup(o->fd) : o->fd;

    if (o->kind != OUTPUT_UNNAMED)
        o->fd = -1;
    return fd >= 0 && io_close(fd) == 0 ? 0 : errno;
}

/* Gives an unnamed file a name.  Returns 0 or an errno.  If copy_attributes has given the file to
 * another owner, the system may let only that owner link the file (fs.protected_hardlinks, see
 * proc(5)).  In that case, the process makes itself the owner, links the file, and sets the owner
 * back. */
static int link_unnamed(const struct output *o, const char *name)
{
    char link[LINK_SIZE];
    struct stat st;
    int error;

    name_link(link, o->fd);
    if (io_link_at(AT_FDCWD, link, o->directory, name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    error = errno;
    if (error == EPERM && fstat(o->fd, &st) == 0 && st.st_uid != geteuid() &&
        io_set_owner(o->fd, geteuid(), (gid_t)-1) == 0) {
        error = io_link_at(AT_FDCWD, link, o->directory, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
        if (io_set_owner(o->fd, st.st_uid, (gid_t)-1) != 0 && error == 0)
            error = errno;
    }
    return error;
}

/* Gives an unnamed file a temporary name.  Returns 0 or an errno. */
static int name_unnamed(struct output *o)
{
    int error = 0;

    for (int i = 0; i < ATTEMPTS; i++) {
        error = new_temporary(o);
        if (error == 0)
            error = link_unnamed(o, o->temporary);
        if (error != EEXIST)
            break;
    }
    if (error == 0)
        arm(o, OUTPUT_TEMPORARY);
    return error;
}

/* Renames the temporary file, but not over another file.  Returns 0 or an errno. */
static int rename_temporary(const struct output *o)
{
    int error;

    if (io_link_at(o->directory, o->temporary, o->directory, o->name, 0) == 0) {
        io_unlink_at(o->directory, o->temporary);
        return 0;
    }
    error = errno;
    if (error == EEXIST)
        return error;
#ifdef RENAME_NOREPLACE
    /* Some file systems have no hard links, so try to rename the file. */
    if (renameat2(o->directory, o->temporary, o->directory, o->name, RENAME_NOREPLACE) == 0)
        return 0;
    error = errno;
#endif
    return error;
}

int output_commit(struct output *o)
{
    int error = 0;

    if (o->kind == OUTPUT_UNNAMED && !o->replaces)
        error = link_unnamed(o, o->name);
    else if (o->kind == OUTPUT_UNNAMED)
        error = name_unnamed(o);
    else if (o->kind == OUTPUT_TEMPORARY && !o->replaces)
        error = rename_temporary(o);
    if (error == 0 && o->kind == OUTPUT_TEMPORARY && o->replaces &&
        io_rename_at(o->directory, o->temporary, o->directory, o->name) != 0)
        error = errno;
    if (error != 0)
        return error;
    if (o->kind != OUTPUT_UNNAMED)
        cleanup_disarm(&o->armed);
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    o->kind = OUTPUT_NONE;
    return 0;
}

void output_discard(struct output *o)
{
    sigset_t before;

    if (o->kind != OUTPUT_NONE && o->fd >= 0)
        close(o->fd);
    if (o->kind == OUTPUT_NAMED || o->kind == OUTPUT_TEMPORARY) {
        cleanup_hold(&before);
        io_unlink_at(o->directory, o->armed.name);
        cleanup_disarm(&o->armed);
        cleanup_release(&before);
    }
    free(o->temporary);
    o->temporary = NULL;
    o->kind = OUTPUT_NONE;
    o->fd = -1;
}
