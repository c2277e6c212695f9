/*
 * io.h - reads and writes all bytes, in spite of signals and non-blocking descriptors
 *
 * read(2) and write(2) fail if a signal interrupts them, or if a non-blocking descriptor is not
 * ready; write(2) may also write only some of the bytes.  In these cases, the functions below
 * repeat the call.
 */
#ifndef GZLZSS_BASE_IO_H
#define GZLZSS_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Whether the errno `error` says that a signal came, or that a non-blocking descriptor was not
 * ready.  A call that failed with this errno may succeed if it is repeated. */
bool io_is_transient(int error);

/* Calls read(2), and repeats it after a signal.  If a non-blocking descriptor has no data, waits
 * until it has.  Returns the number of bytes read, 0 at the end, or -1 with errno set. */
ssize_t io_read(int fd, void *buf, size_t len);

/* Reads `len` bytes of a file from byte `offset` on, and leaves the file's position alone.  Returns
 * the number of bytes read, which is less than `len` only at the file's end; -1 with errno set
 * after an error. */
ssize_t io_read_at(int fd, void *buf, size_t len, uint64_t offset);

/* Writes all of buf[0..len), even if signals come or the descriptor is non-blocking.  Returns
 * false, with errno set, after an error. */
bool io_write(int fd, const void *buf, size_t len);

/* Writes the buffers parts[0..count) as io_write does, by one system call if possible.  `count` is
 * at most IOV_MAX.  Changes the array `parts`. */
bool io_write_parts(int fd, struct iovec *parts, int count);

#endif
