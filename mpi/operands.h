/*
 * operands.h - works on all files of a run, dealt to the ranks
 */
#ifndef GZLZSS_MPI_OPERANDS_H
#define GZLZSS_MPI_OPERANDS_H

#include "src/options.h"

/* Works on all operands.  All ranks must call this function, with the same options.  Rank 0
 * prints.  m->status becomes the same on all ranks. */
void mpi_operands_process(const struct options *o, struct messages *m);

#endif
