/*
 * wrong_write.c - a library for LD_PRELOAD that damages output files while they are written, as
 * faulty memory, a driver or a disk may do, without an error
 *
 * After each writev to a regular file, the library damages the file, if the byte WRONG_BYTE
 * (counted from 0) is among those that were just written.  WRONG_WAY says how:
 *
 *     flip      one bit of the byte is flipped
 *     lose      the byte and up to 511 bytes after it are zeros, as if the write of a block were
 *               lost
 *     append    the file gets one byte more than were written
 *     cut       the file loses the byte and all bytes after it
 *     unread    the byte is right, but reading it back by pread fails with EIO
 *
 * The library looks only at files that are open for reading, too, as gzlzss's output files are.
 * With a C library other than glibc, it does nothing.
 */
#include "config.h"

#include <features.h>

#ifdef __GLIBC__

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

enum { BLOCK = 512 };

typedef ssize_t writev_function(int fd, const struct iovec *parts, int count);
typedef ssize_t pread_function(int fd, void *buf, size_t len, off_t at);

static void *next_function(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static int way_is(const char *way)
{
    const char *value = getenv("WRONG_WAY");

    return value != NULL && strcmp(value, way) == 0;
}

static off_t wrong_byte(void)
{
    const char *value = getenv("WRONG_BYTE");

    return value != NULL ? (off_t)atoll(value) : -1;
}

/* Damages the file, whose bytes [from, to) were just written. */
static void damage(int fd, off_t from, off_t to)
{
    static const char zeros[BLOCK];
    const off_t at = wrong_byte();
    pread_function *const read_at = (pread_function *)next_function("pread");
    ssize_t done = 1;
    char byte;

    if (at < from || at >= to || read_at(fd, &byte, 1, at) != 1)
        return;
    byte ^= 0x10;
    if (way_is("flip"))
        done = pwrite(fd, &byte, 1, at);
    else if (way_is("lose"))
        done = pwrite(fd, zeros, (size_t)(to - at < BLOCK ? to - at : BLOCK), at);
    else if (way_is("append"))
        done = pwrite(fd, &byte, 1, to);
    if (done < 1 || (way_is("cut") && ftruncate(fd, at) != 0))
        abort();
}

VISIBLE ssize_t writev(int fd, const struct iovec *parts, int count)
{
    writev_function *const next = (writev_function *)next_function("writev");
    const off_t from = lseek(fd, 0, SEEK_CUR);
    const ssize_t n = next(fd, parts, count);
    const int error = errno;
    struct stat file;

    if (n > 0 && from >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode))
        damage(fd, from, from + n);
    errno = error;
    return n;
}

/* Whether the file is open for writing, too, as an output is. */
static int is_output(int fd)
{
    return pwrite(fd, "", 0, 0) == 0;
}

VISIBLE ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
    const off_t wrong = wrong_byte();

    if (way_is("unread") && wrong >= at && wrong < at + (off_t)len && is_output(fd)) {
        errno = EIO;
        return -1;
    }
    return ((pread_function *)next_function("pread"))(fd, buf, len, at);
}

VISIBLE ssize_t pread64(int fd, void *buf, size_t len, off_t at)
{
    return pread(fd, buf, len, at);
}

#endif
