/*
 * work.h - what a rank has for all its files, and the work of several ranks on one
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

struct rank_tools {
    const struct options *o;
    gzlzss *z;          /* compression: the library's object; else NULL */
    struct pipeline *p; /* decompression by one rank alone: what the command has; else NULL */
    int threads;        /* of this rank: others may have more, or fewer */
    int most_threads;   /* of any rank */
    size_t wave; /* bytes of input of a wave that a rank compresses, at most; the same for all */
};

/* A file that some ranks work on.  Rank 0 of them has it as the command would; the others have its
 * name, its size, and a descriptor. */
struct together {
    const struct rank_tools *t;
    const struct ranks *r;
    struct file *f;        /* its messages are this rank's */
    struct sharedfile out; /* not open if there is no output */
    uint64_t size;         /* of the input, */
    uint64_t out_bytes;    /* and of the output, once it is there */
};

#endif
