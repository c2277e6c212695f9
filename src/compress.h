/*
 * compress.h - one file, compressed as a job of a pipeline
 */
#ifndef GZLZSS_SRC_COMPRESS_H
#define GZLZSS_SRC_COMPRESS_H

#include "pipeline/pipeline.h"
#include "src/files.h"

/* Opens the output of a file that file_open opened, makes the header, and gives both to the job;
 * the job's callbacks are the caller's.  False: that failed, and the work has ended. */
bool compress_begin(struct file *f, struct pipeline_job *job);

/* Makes the header alone, once the output is there; false, with a message, if memory is short. */
bool compress_make_header(struct file *f);

/* Updates the progress: bytes so far, as struct pipeline_job's `wrote` has them. */
void compress_wrote(struct file *f, uint64_t in, uint64_t out, const char *engine);

/* Ends the work after the job has ended.  f->m says what came of it. */
void compress_end(struct file *f, struct pipeline *p, const struct pipeline_job *job);

/* What -vv adds at the end of a run of several files: how much was done by what. */
void compress_report_run(struct messages *m, struct pipeline *p);

#endif
