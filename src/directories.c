/*
 * directories.c - directories that files are reached through (directories.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "src/directories.h"
#include "src/names.h"

struct directory *directory_new(int fd)
{
    struct directory *d = malloc(sizeof(*d));
    struct stat st;

    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    *d = (struct directory){.fd = AT_FDCWD, .users = 1};
    if (fd >= 0 && fstat(fd, &st) == 0) {
        d->fd = fd;
        d->is_open = true;
        d->device = st.st_dev;
        d->inode = st.st_ino;
    } else if (fd >= 0) {
        close(fd);
    }
    return d;
}

void directory_use(struct directory *d)
{
    d->users++;
}

void directory_release(struct directory *d)
{
    if (d == NULL || --d->users > 0)
        return;
    if (d->is_open)
        close(d->fd);
    free(d);
}

bool directory_is_unshared(const struct directory *d)
{
    return d->users == 1;
}

bool directory_is_same(const struct directory *a, const struct directory *b)
{
    return a->device == b->device && a->inode == b->inode;
}

/* Whether the first `length` bytes of `operand` are the name of the directory that *last has. */
static bool is_last(const struct last_directory *last, const char *operand, size_t length)
{
    return last->directory != NULL && strlen(last->name) == length &&
           memcmp(last->name, operand, length) == 0;
}

struct directory *directory_of(struct last_directory *last, const char *operand)
{
    const size_t length = (size_t)(names_base(operand) - operand);
    /* An operand that ends with a slash names a directory.  It is opened by its whole path, so its
     * parent need not be open. */
    const bool is_whole = operand[length] == '\0' || strcmp(operand, "-") == 0;
    int fd = -1;

    if (is_last(last, operand, length) && last->directory->is_open != is_whole)
        return last->directory;
    directory_forget(last);
    last->name = names_join(operand, length, "");
    if (last->name == NULL)
        return NULL;
    if (!is_whole)
        fd = io_open(length == 0 ? "." : last->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    last->directory = directory_new(fd);
    return last->directory;
}

/* Opens a directory of `parent`, or makes it.  Does not follow a link.  Returns a descriptor, or -1
 * with errno. */
static int open_or_make(int parent, const char *name)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = io_open_at(parent, name, flags, 0);
    struct stat st;

    if (fd < 0 && errno == ENOENT) {
        if (mkdirat(parent, name, DIRECTORY_MODE) != 0 && errno != EEXIST)
            return -1;
        fd = io_open_at(parent, name, flags, 0);
    }
    if (fd < 0 && errno == ENOTDIR)
        errno = fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)
                    ? ELOOP
                    : ENOTDIR;
    return fd;
}

/* Opens the directory that `path` is in, step by step from `top`, which `path` begins with, and
 * makes directories that do not exist.  Returns a descriptor, or -1 with errno. */
static int open_below(const char *top, char *path)
{
    int fd = io_open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *slash;

    for (char *name = path + strlen(top); fd >= 0; name = slash + 1) {
        int next, error;

        name += strspn(name, "/");
        slash = strchr(name, '/');
        if (slash == NULL)
            break;
        *slash = '\0';
        next = open_or_make(fd, name);
        error = errno;
        *slash = '/';
        close(fd);
        fd = next;
        errno = error;
    }
    return fd;
}

struct directory *directory_below(struct last_directory *last, const char *top, char *path,
                                  int *error)
{
    const size_t length = (size_t)(names_base(path) - path);
    int fd;

    *error = 0;
    if (is_last(last, path, length) && last->directory->is_open)
        return last->directory;
    directory_forget(last);
    last->name = names_join(path, length, "");
    if (last->name == NULL)
        return NULL;
    fd = open_below(top, path);
    if (fd < 0)
        *error = errno;
    last->directory = directory_new(fd);
    if (last->directory != NULL && fd >= 0 && !last->directory->is_open)
        *error = errno; /* of fstat */
    return last->directory;
}

void directory_forget(struct last_directory *last)
{
    directory_release(last->directory);
    free(last->name);
    *last = (struct last_directory){0};
}
