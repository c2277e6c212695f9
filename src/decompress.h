/*
 * decompress.h - one file, decompressed, tested or listed
 */
#ifndef GZLZSS_SRC_DECOMPRESS_H
#define GZLZSS_SRC_DECOMPRESS_H

#include "src/files.h"

/* The work on a file (files.h), for ACTION_DECOMPRESS, ACTION_TEST and ACTION_LIST; by the crew of
 * that pipeline, or by one thread if it is NULL. */
void decompress_file(struct file *f, struct pipeline *p);

#endif
