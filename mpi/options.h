/*
 * options.h - checks that ranks support the options that were given
 */
#ifndef GZLZSS_MPI_OPTIONS_H
#define GZLZSS_MPI_OPTIONS_H

#include "src/options.h"

/* Whether ranks can do what the options ask for.  If not, prints the reason.  Sets the options that
 * ranks always use. */
bool mpi_options_check(struct options *o, struct messages *m);

/* Prints the text of --help. */
void mpi_options_help(const char *program);

#endif
