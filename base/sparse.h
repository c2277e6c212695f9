/*
 * sparse.h - files with holes: writes zeros as holes, and reads holes without asking the disk
 *
 * A hole is a part of a file that takes no room on the disk, and reads as zeros.
 *
 * A file without holes may be allocated a little ahead of its writing, because some file systems
 * then write faster.
 */
#ifndef GZLZSS_BASE_SPARSE_H
#define GZLZSS_BASE_SPARSE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file that is written from its current position on.  To begin, set `fd` and zero the rest. */
struct sparse_output {
    int fd;
    uint64_t position; /* bytes given to sparse_write so far */
    uint64_t zeros;    /* zeros at the end of the bytes given, not written yet */
    /* Whether to allocate ahead; the file must be empty at first.  Set it to the result of
     * sparse_pays_to_allocate.  It becomes false when too little room is free, allocating has
     * failed, or the file has got a hole. */
    bool allocates;
    bool has_allocated; /* room may be allocated after the file's end */
    uint64_t allocated; /* bytes of the file that have room */
};

/* Whether writing to a new file fd is faster if room for it is allocated ahead. */
bool sparse_pays_to_allocate(int fd);

/* Whether zeros may be written to fd as holes.  They may if fd is a regular file, its position is
 * at its end, and O_APPEND is not set.  (With O_APPEND, writes ignore the position.) */
bool sparse_is_possible(int fd);

/* Writes buf[0..len) like io_write, but leaves out long runs of zeros.  Returns false, with errno
 * set, after an error.  Call sparse_end after the last write. */
bool sparse_write(struct sparse_output *s, const void *buf, size_t len);

/* Makes the file as long as the data, even if it ends with a hole, and sets its position to its
 * end.  Frees the room after it.  Returns false, with errno set, after an error. */
bool sparse_end(struct sparse_output *s);

/* Whether the regular file fd takes fewer than `size` bytes on the disk.  If so, the file has
 * holes, or the file system compresses it. */
bool sparse_has_holes(int fd, uint64_t size);

/* A file with holes that is read.  To begin, use SPARSE_INPUT. */
struct sparse_input {
    int fd;
    pthread_mutex_t lock; /* of the rest */
    /* The last data found between two holes: bytes data_start to data_end of the file.  Some file
     * systems look at every page up to the next hole, so each piece of data is looked up once. */
    uint64_t data_start, data_end;
};

#define SPARSE_INPUT(fd) ((struct sparse_input){(fd), PTHREAD_MUTEX_INITIALIZER, 0, 0})

/* Reads like io_read_at, but fills in zeros for holes.  May change the file's position.  Several
 * threads may read at a time. */
ssize_t sparse_read_at(struct sparse_input *in, void *buf, size_t len, uint64_t offset);

#endif
