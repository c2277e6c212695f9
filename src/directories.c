/*
 * directories.c - directories that files are reached through (directories.h)
 */
#include "config.h"

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

struct directory *directory_of(struct last_directory *last, const char *operand)
{
    const size_t length = (size_t)(names_base(operand) - operand);
    /* An operand that ends with a slash names a directory.  It is opened by its whole path, so its
     * parent need not be open. */
    const bool is_whole = operand[length] == '\0' || strcmp(operand, "-") == 0;
    int fd = -1;

    if (last->directory != NULL && last->directory->is_open != is_whole &&
        strlen(last->name) == length && memcmp(last->name, operand, length) == 0)
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

void directory_forget(struct last_directory *last)
{
    directory_release(last->directory);
    free(last->name);
    *last = (struct last_directory){0};
}
