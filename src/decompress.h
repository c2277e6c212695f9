/*
 * decompress.h - decompresses, tests or lists one file
 */
#ifndef GZLZSS_SRC_DECOMPRESS_H
#define GZLZSS_SRC_DECOMPRESS_H

#include "compat/status.h"
#include "src/files.h"

struct access_trail;

/* Decompresses, tests or lists a file, as f->o->action says (files.h).  The threads of pipeline p
 * help; if p is NULL, the calling thread works alone. */
void decompress_file(struct file *f, struct pipeline *p);

/* Decompresses the input from its current position on, and gives the output to `take`.  Any thread
 * may call `take`, but only one thread at a time.  `take` returns 0, or -1 to end the decompression
 * with the status GZ_WRITE_ERROR.  If `trail` is not NULL, the input's position must be
 * access_trail_in(trail), and the output begins with byte access_trail_out(trail) of the file's
 * data.  Prints nothing.  Sets *info. */
enum gz_status decompress_through(struct file *f, struct pipeline *p, struct access_trail *trail,
                                  int (*take)(void *ctx, const void *buf, size_t len), void *ctx,
                                  struct gz_info *info);

/* Returns the format of the input, as the options and the input's name tell it.  CONTAINER_GZIP
 * means that the first bytes of the input tell the format. */
enum container decompress_container(const struct file *f);

/* Prints how reading the header, or decompression, ended.  True if all is well. */
bool decompress_judge_status(struct file *f, enum gz_status status, const struct gz_info *info);

/* Gives the output the name and the time that the header has, as far as the options allow.  Call
 * this function before the output is opened.  False, with a message, if that fails. */
bool decompress_restore_name(struct file *f, const struct gz_info *info);

#endif
