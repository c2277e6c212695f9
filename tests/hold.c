/*
 * hold.c - a library for LD_PRELOAD that holds a program at a write, so that a test can do
 * something meanwhile, however fast or slow the machine is
 *
 * A thread that is about to write to a regular file whose path ends with the text HOLD waits, if
 * the program has made at least HOLD_WRITES such writes (by default 0).  An empty HOLD means any
 * regular file, also one without a name.  The thread first makes the file HOLD_AT, and then waits
 * until the file HOLD_UNTIL exists.  Without HOLD_AT, the library does nothing.
 *
 * The functions `holds_at` and `lets_go` of tests/helpers.bash use it.  With a C library other than
 * glibc, it does nothing.
 */
#include "config.h"

#include <features.h>

#ifdef __GLIBC__

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

enum { PATH_SIZE = 1024, LINK_SIZE = 40 };

typedef ssize_t write_function(int fd, const void *data, size_t len);
typedef ssize_t writev_function(int fd, const struct iovec *parts, int count);
typedef ssize_t pwrite_function(int fd, const void *data, size_t len, off_t at);

static void *next_function(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Whether the file is regular and has the name to wait for. */
static bool is_meant(int fd)
{
    const char *end = getenv("HOLD");
    char link[LINK_SIZE], path[PATH_SIZE];
    struct stat file;
    ssize_t len;

    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        return false;
    if (end == NULL || end[0] == '\0')
        return true;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    len = readlink(link, path, sizeof path - 1);
    if (len < (ssize_t)strlen(end))
        return false;
    path[len] = '\0';
    return strcmp(path + len - strlen(end), end) == 0;
}

/* Whether enough writes were made before this one. */
static bool is_time(void)
{
    static atomic_long writes;
    const char *before = getenv("HOLD_WRITES");

    return atomic_fetch_add(&writes, 1) >= (before != NULL ? atol(before) : 0);
}

/* Waits if the file is meant. */
static void hold(int fd)
{
    const char *at = getenv("HOLD_AT"), *until = getenv("HOLD_UNTIL");
    const struct timespec pause = {.tv_nsec = 1000000};
    const int error = errno;
    int made;

    if (at != NULL && until != NULL && access(until, F_OK) != 0 && is_meant(fd) && is_time()) {
        made = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (made < 0)
            abort();
        close(made);
        while (access(until, F_OK) != 0)
            nanosleep(&pause, NULL);
    }
    errno = error;
}

VISIBLE ssize_t write(int fd, const void *data, size_t len)
{
    hold(fd);
    return ((write_function *)next_function("write"))(fd, data, len);
}

VISIBLE ssize_t writev(int fd, const struct iovec *parts, int count)
{
    hold(fd);
    return ((writev_function *)next_function("writev"))(fd, parts, count);
}

VISIBLE ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
    hold(fd);
    return ((pwrite_function *)next_function("pwrite"))(fd, data, len, at);
}

VISIBLE ssize_t pwrite64(int fd, const void *data, size_t len, off_t at)
{
    return pwrite(fd, data, len, at);
}

#endif
