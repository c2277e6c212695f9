/*
 * walk.c - goes through directories, one entry after another (walk.h)
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "src/names.h"
#include "src/walk.h"

/* A walk keeps at most this many directories open, besides the first.  With more, a deep tree needs
 * fewer directories opened again, but takes more descriptors. */
#define LEVELS_OPEN_MAX 16

/* A directory on the path from the first directory of the walk to the deepest one. */
struct level {
    struct directory *directory; /* NULL while it is closed */
    bool by_path;                /* the directory's files are opened by whole paths; it is never
                                  * closed */
    /* device and inode identify the directory, to check it when it is opened again. */
    dev_t device;
    ino_t inode;      /* see `device` */
    size_t name, end; /* the level's path is w->path[0..end); its name starts at path[name] */
    char *names;      /* the names in the directory, as read_names returns them */
    const char *next; /* the first name that walk_next has not returned */
};

void walk_free(struct walk *w)
{
    free(w->path);
    free(w->levels);
}

/* Sets w->path to the path of `name` in the directory whose path is the first `length` bytes of
 * w->path.  False if memory is short. */
static bool set_path(struct walk *w, size_t length, const char *name)
{
    const size_t size = strlen(name) + 1;

    if (length + size + 1 > w->path_room) {
        const size_t room = 2 * (length + size + 1);
        char *grown = realloc(w->path, room);

        if (grown == NULL)
            return false;
        w->path = grown;
        w->path_room = room;
    }
    if (length > 0 && w->path[length - 1] != '/')
        w->path[length++] = '/';
    memcpy(w->path + length, name, size);
    return true;
}

bool walk_begin(struct walk *w, const char *operand)
{
    return set_path(w, 0, operand);
}

/* --- Entering ------------------------------------------------------------------------------- */

/* Returns all names in a directory but "." and "..", one after the other, each with its zero byte;
 * an empty name follows the last.  NULL, with errno set, if that fails. */
static char *read_names(DIR *dir)
{
    char *names = malloc(1);
    size_t length = 0, room = 1;
    const struct dirent *entry;

    if (names == NULL)
        return NULL;
    for (;;) {
        size_t size;

        errno = 0;
        entry = readdir(dir);
        if (entry == NULL)
            break;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        size = strlen(entry->d_name) + 1;
        if (length + size + 1 > room) {
            char *grown = realloc(names, room = 2 * room + size);

            if (grown == NULL) {
                free(names);
                errno = ENOMEM;
                return NULL;
            }
            names = grown;
        }
        memcpy(names + length, entry->d_name, size);
        length += size;
    }
    if (errno != 0) {
        int error = errno;

        free(names);
        errno = error;
        return NULL;
    }
    names[length] = '\0';
    return names;
}

/* The number of names in what read_names returned. */
static long count_names(const char *names)
{
    long count = 0;

    for (const char *n = names; n != NULL && *n != '\0'; n += strlen(n) + 1)
        count++;
    return count;
}

/* How many levels may be open, besides the first. */
static size_t levels_open(void)
{
    const long most = sysconf(_SC_OPEN_MAX); /* -1: no limit */
    const long share = most / 16;

    return most < 0 || share > LEVELS_OPEN_MAX ? LEVELS_OPEN_MAX : share < 1 ? 1 : (size_t)share;
}

static void close_level(struct level *l)
{
    directory_release(l->directory);
    l->directory = NULL;
}

/* Adds a level, which becomes a user of its directory.  False if memory is short. */
static bool add_level(struct walk *w, const struct level *l)
{
    const size_t keep = levels_open();
    struct level *above;

    if (w->depth == w->level_room) {
        const size_t room = 2 * w->level_room + 16;
        struct level *grown = realloc(w->levels, room * sizeof(*grown));

        if (grown == NULL)
            return false;
        w->levels = grown;
        w->level_room = room;
    }
    w->levels[w->depth++] = *l;
    if (w->depth > keep + 1) {
        above = &w->levels[w->depth - 1 - keep];
        /* Files under way may still use the directory.  It stays open until they release it. */
        if (!above->by_path)
            close_level(above);
    }
    return true;
}

long walk_enter(struct walk *w, struct directory *d, int fd, bool by_path)
{
    struct level l = {.directory = d,
                      .by_path = by_path,
                      .device = d->device,
                      .inode = d->inode,
                      .name = (size_t)(names_base(w->path) - w->path),
                      .end = strlen(w->path)};
    DIR *dir = fdopendir(fd);
    int error = errno;

    if (dir != NULL) {
        l.next = l.names = read_names(dir);
        error = l.names == NULL ? errno : add_level(w, &l) ? 0 : ENOMEM;
        closedir(dir);
    } else {
        close(fd);
    }
    if (error == 0)
        return count_names(l.names);
    free(l.names);
    directory_release(d);
    errno = error;
    return -1;
}

/* --- Returning to closed levels ------------------------------------------------------------- */

/* Opens `name` in the directory fd.  Returns -1, with errno set, if that fails or `name` is no
 * longer the level's directory. */
static int open_again(int fd, const char *name, const struct level *l)
{
    struct stat st;
    const int again = io_open_at(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    int error;

    if (again < 0)
        return -1;
    error = fstat(again, &st) != 0                            ? errno
            : st.st_dev != l->device || st.st_ino != l->inode ? ENOENT
                                                              : 0;
    if (error == 0)
        return again;
    close(again);
    errno = error;
    return -1;
}

/* Opens the deepest level's directory through all levels above; -1 with errno set if that fails. */
static int open_from_first(struct walk *w)
{
    int fd = -1;

    for (size_t i = 1; i < w->depth && (i == 1 || fd >= 0); i++) {
        const struct level *l = &w->levels[i];
        const char after = w->path[l->end];
        const int above = fd;

        w->path[l->end] = '\0';
        fd = open_again(i == 1 ? w->levels[0].directory->fd : above, w->path + l->name, l);
        w->path[l->end] = after;
        if (above >= 0) {
            const int error = errno;

            close(above);
            errno = error;
        }
    }
    return fd;
}

/* Opens the deepest level's directory again; false with errno set if that fails. */
static bool reopen(struct walk *w)
{
    struct level *l = &w->levels[w->depth - 1];
    const int fd = open_from_first(w);

    if (fd < 0)
        return false;
    l->directory = directory_new(fd);
    if (l->directory == NULL)
        errno = ENOMEM;
    return l->directory != NULL;
}

void walk_leave(struct walk *w)
{
    struct level *l = &w->levels[--w->depth];

    if (w->depth > 0 && l[-1].directory == NULL && l->directory != NULL && l->directory->is_open) {
        const int fd = open_again(l->directory->fd, "..", &l[-1]);

        /* If open_again fails, walk_next tries `reopen`, if entries are left. */
        if (fd >= 0)
            l[-1].directory = directory_new(fd);
    }
    close_level(l);
    free(l->names);
}

enum walk_step walk_next(struct walk *w, struct directory **d)
{
    while (w->depth > 0) {
        struct level *l = &w->levels[w->depth - 1];
        const char *name = l->next;

        if (*name == '\0') {
            walk_leave(w);
            continue;
        }
        if (l->directory == NULL && !reopen(w)) {
            w->path[l->end] = '\0';
            return WALK_LOST;
        }
        l->next += strlen(name) + 1;
        if (!set_path(w, l->end, name))
            return WALK_NO_MEMORY;
        *d = l->directory;
        return WALK_ENTRY;
    }
    return WALK_END;
}
