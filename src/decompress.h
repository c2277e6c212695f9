/*
 * decompress.h - decompresses, tests or lists one file
 */
#ifndef GZLZSS_SRC_DECOMPRESS_H
#define GZLZSS_SRC_DECOMPRESS_H

#include "compat/status.h"
#include "src/files.h"

/* Does ACTION_DECOMPRESS, ACTION_TEST or ACTION_LIST to a file (files.h).  The threads of pipeline
 * p help; if p is NULL, the calling thread works alone. */
void decompress_file(struct file *f, struct pipeline *p);

/* Gives the output the name and the time that the header has, unless the options forbid either.
 * Call it before the output is opened.  False, with a message, if that fails. */
bool decompress_restore_name(struct file *f, const struct gz_info *info);

#endif
