/*
 * sharedfile.h - the output, to which all ranks write, each its own parts
 *
 * Each rank opens the file by MPI-IO for itself alone.  So a rank that works on the file never
 * waits for other ranks.  If a rank has an error, it tells the others when the ranks meet next.  A
 * rank writes megabytes in one run.  Collective writes would first collect these on some ranks,
 * which only moves them once more.
 *
 * sharedfile_write returns once the bytes are written.  Do not use MPI_File_iwrite_at, which
 * returns earlier: if a disk is full, Open MPI 4.1 ends by a segmentation fault, and MPICH 4.0
 * never says that the write is done (both as in Debian 12).  The threads that compress or decode go
 * on meanwhile in any case.
 *
 * Errors are returned as errnos.  MPI has only classes of errors.  If the class is a general one,
 * sharedfile.c asks the file system whether it is full.
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
    const char *name; /* the caller's string, which must stay until sharedfile_close */
    int directory;    /* a descriptor of the file's directory, if the name has a colon; else -1 */
};

/* Opens a file that exists, for writing.  Returns 0 or an errno. */
int sharedfile_open(struct sharedfile *f, const char *name);

/* Writes bytes[0..len) at `offset`.  Returns 0 or an errno. */
int sharedfile_write(struct sharedfile *f, uint64_t offset, const void *bytes, size_t len);

/* Closes the file, if it is open.  If `sync` is set, first writes the file to the disk.  Returns 0
 * or an errno. */
int sharedfile_close(struct sharedfile *f, bool sync);

#endif
