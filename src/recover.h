/*
 * recover.h - recovers what is left of a damaged file (--recover)
 */
#ifndef GZLZSS_SRC_RECOVER_H
#define GZLZSS_SRC_RECOVER_H

#include "src/files.h"

/* Decompresses what can be decompressed of a file (files.h), or only looks at it (ACTION_TEST).
 * Prints where it is damaged, and what was written instead. */
void recover_file(struct file *f);

#endif
