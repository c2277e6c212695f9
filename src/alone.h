/*
 * alone.h - the work on one file, with no other under way
 */
#ifndef GZLZSS_ALONE_H
#define GZLZSS_ALONE_H

#include "src/run.h"

/* Works on the file that the operand names, in `directory`, and makes it final.  If it is a directory
 * that the options say to go through, returns a descriptor of it in place of that; else -1. */
int alone_do(struct run *r, const char *operand, struct directory *directory);

#endif
