/*
 * work.h - a rank's data for all its files, and the data about a file that several ranks share
 */
#ifndef GZLZSS_MPI_WORK_H
#define GZLZSS_MPI_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "include/gzlzss.h"
#include "mpi/ranks.h"
#include "mpi/sharedfile.h"
#include "src/files.h"
#include "src/options.h"

struct pipeline;

struct rank_tools { /* A rank's data for all its files. */
    const struct options *o;
    gzlzss *z;          /* for compression: the library's object; else NULL */
    struct pipeline *p; /* for decompression by one rank alone: the command's pipeline; else NULL */
    int threads;        /* threads of this rank; other ranks may have more or fewer */
    int most_threads;   /* the most threads of any rank */
    /* The most bytes of input that a rank compresses in a wave; the same on all ranks. */
    size_t wave;
};

/* A file on which several ranks work together.  Rank 0 of these ranks has all the data that the
 * command has about a file.  The other ranks have the file's name, its size, and a descriptor. */
struct together {
    const struct rank_tools *t;
    const struct ranks *r; /* the ranks that work on the file */
    struct file *f;        /* the file, with this rank's messages */
    struct sharedfile out; /* the output; not open if there is none */
    uint64_t size;         /* bytes of the input */
    uint64_t out_bytes;    /* bytes of the output, once it is written */
};

#endif
