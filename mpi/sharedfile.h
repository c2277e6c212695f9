/*
 * sharedfile.h - the output, which all ranks write to, each its own parts
 *
 * A rank opens the file by MPI-IO for itself alone: so nothing that it does to the file waits for
 * the others, and an error is that rank's, which tells the others when they meet next.  What a rank
 * writes is megabytes in one run; to collect it on some ranks before it is written, as collective
 * writes do, would only move it once more.
 *
 * Writing waits.  With MPI_File_iwrite_at, which would not, a disk that is full ends Open MPI 4.1 by a
 * segmentation fault, and MPICH 4.0 never says that it is done (both of Debian 12).  The threads that
 * compress, or decode, go on meanwhile in any case.
 *
 * Errors are errnos, as MPI knows only classes: where a class says nothing, the file system is asked
 * whether it is full.
 */
#ifndef GZLZSS_MPI_SHAREDFILE_H
#define GZLZSS_MPI_SHAREDFILE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sharedfile {
    MPI_File file;
    bool is_open;
    const char *name; /* the caller's */
    int directory;    /* an open one, if the name has a colon; or -1 */
};

/* Opens a file that is there, for writing.  0 or an errno, as below. */
int sharedfile_open(struct sharedfile *f, const char *name);

/* Writes all of it. */
int sharedfile_write(struct sharedfile *f, uint64_t offset, const void *bytes, size_t len);

/* Closes it, if it is open; with `sync`, what was written is on the disk then. */
int sharedfile_close(struct sharedfile *f, bool sync);

#endif
