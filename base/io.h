/*
 * io.h - read and write as everyone means them
 */
#ifndef GZLZSS_BASE_IO_H
#define GZLZSS_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Whether a call that failed with this errno is to be made again: a signal came, or it would have had to
 * wait. */
bool io_is_transient(int error);

/* read(2) that goes on after a signal and waits where a descriptor is non-blocking: how many bytes,
 * 0 at the end, or -1 with errno set. */
ssize_t io_read(int fd, void *buf, size_t len);

/* Reads a file from `offset` on, wherever it stands: `len` bytes, fewer only at its end; or -1 with errno
 * set. */
ssize_t io_read_at(int fd, void *buf, size_t len, uint64_t offset);

/* Writes all of it, as io_read reads; returns false with errno set. */
bool io_write(int fd, const void *buf, size_t len);

/* The same for `count` pieces, IOV_MAX at most, by one system call if possible.  The array is
 * changed. */
bool io_write_parts(int fd, struct iovec *parts, int count);

#endif
