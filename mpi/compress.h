/*
 * compress.h - compresses one file with several ranks
 */
#ifndef GZLZSS_MPI_COMPRESS_H
#define GZLZSS_MPI_COMPRESS_H

#include "mpi/work.h"

/*
 * Compresses c->f and writes the whole member to c->out.  All ranks of c->r must call this
 * function, with the file and the output open; rank 0 must have the header in c->f.  Returns
 * whether this rank did its part.  If it did not, c->f has a message about this rank's error.  If a
 * rank fails, all ranks return soon.
 */
bool compress_together(struct together *c);

#endif
