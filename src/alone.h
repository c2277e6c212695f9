/*
 * alone.h - works on one file while no other is under way
 */
#ifndef GZLZSS_ALONE_H
#define GZLZSS_ALONE_H

#include "src/run.h"

/* Works on the file `operand`, which is in `directory`, makes its output final, and returns -1.  If
 * the operand is a directory and --recursive is given, only opens it, and returns its descriptor,
 * which the caller must close. */
int alone_do(struct run *r, const char *operand, struct directory *directory);

#endif
