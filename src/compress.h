/*
 * compress.h - one file, compressed
 */
#ifndef GZLZSS_SRC_COMPRESS_H
#define GZLZSS_SRC_COMPRESS_H

#include "src/files.h"

/* The work on a file (files.h), with f->pipeline.  What fails is said in f->m. */
void compress_file(struct file *f);

#endif
