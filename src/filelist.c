/*
 * filelist.c - reads the names of operands from a file (filelist.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "src/filelist.h"

/* Bytes of names to read at a time. */
#define READ_SIZE ((size_t)64 << 10)

/* Give up if a name has no end after this many bytes.  No system takes a name as long as this, so
 * the file is not a list of names. */
#define NAME_SIZE_MAX ((size_t)1 << 20)

/* Milliseconds to wait for a name before the caller is told to do something else. */
#define PATIENCE 100

bool filelist_open(struct filelist *l, const char *path, bool is_null)
{
    const bool is_stdin = strcmp(path, "-") == 0;

    *l = (struct filelist){.end = is_null ? '\0' : '\n'};
    l->fd = is_stdin ? STDIN_FILENO : io_open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    return l->fd >= 0;
}

/* Reads more bytes of the file.  False with errno set after an error. */
static bool read_more(struct filelist *l)
{
    ssize_t n;

    if (l->next > 0)
        memmove(l->text, l->text + l->next, l->filled - l->next);
    l->filled -= l->next;
    l->next = 0;
    if (l->filled > NAME_SIZE_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    /* Leave room for a zero byte after the last name. */
    if (l->room - l->filled <= READ_SIZE) {
        const size_t room = 2 * l->room + READ_SIZE + 1;
        char *grown = realloc(l->text, room);

        if (grown == NULL)
            return false;
        l->text = grown;
        l->room = room;
    }
    n = io_read(l->fd, l->text + l->filled, READ_SIZE);
    if (n < 0)
        return false;
    l->filled += (size_t)n;
    l->no_more = n == 0;
    return true;
}

/* Returns the end of the next name in `text`; NULL if that end was not read yet. */
static char *end_of_next(const struct filelist *l)
{
    const size_t length = l->filled - l->next;

    return length > 0 ? memchr(l->text + l->next, l->end, length) : NULL;
}

enum filelist_step filelist_next(struct filelist *l, const char **name)
{
    for (;;) {
        char *start, *end = end_of_next(l);

        if (end == NULL && !l->no_more) {
            if (!read_more(l))
                return FILELIST_ERROR;
            continue;
        }
        if (end == NULL && l->next == l->filled)
            return FILELIST_END;
        start = l->text + l->next;
        if (end == NULL)
            end = l->text + l->filled;
        l->next = (size_t)(end - l->text) + (end < l->text + l->filled);
        *end = '\0';
        *name = start;
        if (strlen(start) != (size_t)(end - start))
            return FILELIST_ZERO;
        if (end > start)
            return FILELIST_NAME;
    }
}

bool filelist_waits(struct filelist *l)
{
    struct pollfd p = {.fd = l->fd, .events = POLLIN};

    while (end_of_next(l) == NULL && !l->no_more) {
        if (poll(&p, 1, PATIENCE) == 0)
            return true;
        if (!read_more(l))
            break; /* filelist_next will meet the error again */
    }
    return false;
}

void filelist_close(struct filelist *l)
{
    if (l->fd > STDIN_FILENO)
        close(l->fd);
    free(l->text);
}
