/*
 * io.h - reads and writes all bytes, in spite of signals and non-blocking descriptors
 *
 * read(2) and write(2) fail if a signal interrupts them, or if a non-blocking descriptor is not
 * ready; write(2) may also write only some of the bytes.  In these cases, the functions below
 * repeat the call.
 *
 * Other calls, too, fail with EINTR on some file systems, for example with FUSE.  So use the
 * functions below instead of these calls, too.
 */
#ifndef GZLZSS_BASE_IO_H
#define GZLZSS_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

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

/* The same, but may return fewer bytes before the file's end, as pread(2) may. */
ssize_t io_read_some_at(int fd, void *buf, size_t len, uint64_t offset);

/* Writes all of buf[0..len), even if signals come or the descriptor is non-blocking.  Returns
 * false, with errno set, after an error. */
bool io_write(int fd, const void *buf, size_t len);

/* Writes the buffers parts[0..count) as io_write does, by one system call if possible.  `count` is
 * at most IOV_MAX.  Changes the array `parts`. */
bool io_write_parts(int fd, struct iovec *parts, int count);

/* --- Other calls --- */

/* These functions make the system call of a similar name, and repeat it after a signal.  They
 * return what the call returns: -1 with errno set after an error. */
int io_open(const char *path, int flags); /* flags without O_CREAT */
int io_open_at(int directory, const char *path, int flags, mode_t mode);
int io_link_at(int from_directory, const char *from, int to_directory, const char *to, int flags);
int io_rename_at(int from_directory, const char *from, int to_directory, const char *to);
int io_unlink_at(int directory, const char *path); /* a signal handler may call it */
int io_set_length(int fd, uint64_t length);
int io_set_mode(int fd, mode_t mode);
int io_set_owner(int fd, uid_t user, gid_t group);
int io_set_times(int fd, const struct timespec times[2]);
int io_synchronize(int fd);

/* Closes the descriptor.  Returns 0, or -1 with errno set if data that was written may be lost.
 *
 * The descriptor is closed in any case, so the call must not be repeated.  EINTR counts as success:
 * a signal has ended the wait for a server.  The data stays in the system's cache and is written
 * later, as after any close() of a local file. */
int io_close(int fd);

#endif
