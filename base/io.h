/*
 * io.h - reading and writing without their pitfalls
 *
 * read(2) and write(2) may stop after some of the bytes, after a signal, and where a descriptor is
 * non-blocking.  These functions go on.
 */
#ifndef GZLZSS_BASE_IO_H
#define GZLZSS_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Whether to make a call again that failed with this errno: a signal came, or the call would have
 * had to wait. */
bool io_is_transient(int error);

/* read(2), again after a signal, and after a wait if a non-blocking descriptor has nothing.
 * Returns the number of bytes, 0 at the end, or -1 with errno set. */
ssize_t io_read(int fd, void *buf, size_t len);

/* Reads `len` bytes of a file from byte `offset` on, and leaves the file's position alone.  Returns
 * fewer bytes only at the file's end; -1 with errno set after an error. */
ssize_t io_read_at(int fd, void *buf, size_t len, uint64_t offset);

/* Writes all of buf[0..len), going on as io_read does.  Returns false, with errno set, after an
 * error. */
bool io_write(int fd, const void *buf, size_t len);

/* The same for `count` buffers, IOV_MAX at most, by one system call if possible.  Changes the
 * array. */
bool io_write_parts(int fd, struct iovec *parts, int count);

#endif
