/*
 * select.h - writes parts of a file's decompressed data: --range and --lines
 */
#ifndef GZLZSS_SRC_SELECT_H
#define GZLZSS_SRC_SELECT_H

#include "src/files.h"

/* Writes the ranges that the options give.  Apart from that, works as decompress_file does
 * (decompress.h). */
void select_file(struct file *f, struct pipeline *p);

#endif
