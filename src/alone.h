/*
 * alone.h - works on one file while no other is under way
 */
#ifndef GZLZSS_ALONE_H
#define GZLZSS_ALONE_H

#include "src/run.h"

/* Works on the file that the operand names, in `directory`, and makes it final.  Returns -1.  But
 * if the operand is a directory to go through (--recursive), returns a descriptor of the directory,
 * for the caller to close, and does nothing else. */
int alone_do(struct run *r, const char *operand, struct directory *directory);

#endif
