/*
 * decompress.h - one file, decompressed, tested or listed
 */
#ifndef GZLZSS_SRC_DECOMPRESS_H
#define GZLZSS_SRC_DECOMPRESS_H

#include "compat/status.h"
#include "src/files.h"

/* The work on a file (files.h), for ACTION_DECOMPRESS, ACTION_TEST and ACTION_LIST; by the crew of
 * that pipeline, or by one thread if it is NULL. */
void decompress_file(struct file *f, struct pipeline *p);

/* Gives the output the name, and the time, that the header has, if it is to have them: before it is
 * opened.  False, with a message, if that cannot be. */
bool decompress_restore_name(struct file *f, const struct gz_info *info);

#endif
