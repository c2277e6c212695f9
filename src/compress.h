/*
 * compress.h - compresses one file, as a job of a pipeline
 */
#ifndef GZLZSS_SRC_COMPRESS_H
#define GZLZSS_SRC_COMPRESS_H

#include "pipeline/pipeline.h"
#include "src/files.h"

/* Opens the output of a file that file_open opened, makes the header, and gives the output and the
 * header to the job.  The caller sets the job's callbacks.  False if a step failed; in that case,
 * the work on the file has ended. */
bool compress_begin(struct file *f, struct pipeline_job *job);

/* Makes the file's header; the output must be open.  False, with a message, if memory is short. */
bool compress_make_header(struct file *f);

/* Updates the progress line.  The arguments are those of `wrote` in struct pipeline_job. */
void compress_wrote(struct file *f, uint64_t in, uint64_t out, const char *engine);

/* Ends the work on the file after the job has ended.  f->m has the messages and the status. */
void compress_end(struct file *f, struct pipeline *p, const struct pipeline_job *job);

/* Prints what -vv adds at the end of a run of several files: how much each engine did. */
void compress_report_run(struct messages *m, struct pipeline *p);

#endif
