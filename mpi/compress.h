/*
 * compress.h - one file, compressed by some ranks
 */
#ifndef GZLZSS_MPI_COMPRESS_H
#define GZLZSS_MPI_COMPRESS_H

#include "mpi/work.h"

/*
 * Writes the whole member.  All ranks of c->r call it, with the file and the output open; rank 0 has
 * the header in c->f.  Returns whether this rank did its part; if one did not, all return soon.  A
 * message in c->f says what went wrong here.
 */
bool compress_together(struct together *c);

#endif
