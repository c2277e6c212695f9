/*
 * alone.h - works on one file while no other is under way
 */
#ifndef GZLZSS_ALONE_H
#define GZLZSS_ALONE_H

#include "src/run.h"

/* If the operand is a directory and --recursive is given, only opens the directory, and returns its
 * descriptor, which the caller must close.  Otherwise, works on the file `operand`, which is in
 * `directory`, makes the file's output final, and returns -1. */
int alone_do(struct run *r, const char *operand, struct directory *directory);

#endif
