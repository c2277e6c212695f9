/*
 * options.h - which of the command's options go with ranks
 */
#ifndef GZLZSS_MPI_OPTIONS_H
#define GZLZSS_MPI_OPTIONS_H

#include "src/options.h"

/* Whether what options_parse made of the command line can be done by ranks; if not, a message says
 * why. */
bool mpi_options_check(struct options *o, struct messages *m);

/* Prints what --help prints. */
void mpi_options_help(const char *program);

#endif
