/*
 * run.h - what all files of a run share: options, limits, and the pipeline, made when it is first
 * needed
 */
#ifndef GZLZSS_RUN_H
#define GZLZSS_RUN_H

#include "pipeline/pipeline.h"
#include "src/files.h"
#include "src/list.h"

/* The descriptors are divided into this many shares: one for directories; one for files that wait
 * to be made final; one for files that are worked on, each with an input and an output; and one for
 * everything else. */
#define RUN_DESCRIPTORS_SHARE 4

struct run {
    const struct options *o;
    struct messages *m;
    struct list list;
    struct progress progress;
    struct last_directory outputs; /* for destination_find */
    struct pipeline *pipeline;     /* NULL until run_need_pipeline */
    struct pipeline_config config; /* o->pipeline, with the system's limits */
    bool knows_limits;             /* run_need_limits was called */
    bool side_by_side;             /* files may be worked on side by side */
    long descriptors;              /* how many the process may have open; set by run_need_limits */
    bool told_temporary;           /* the note was printed that outputs have temporary names */
    bool told_isal;                /* the note was printed that ISA-L is not used */
};

/* Lets malloc keep the memory that decompressing a file takes, for the next file. */
void run_keep_memory(void);

/* Whether the file, which must be open, is the only one, and so small that the system's limits do
 * not matter (LIMITS_MIN). */
bool run_is_minor(const struct run *r, const struct file *f);

/* Finds out how many threads and how much memory the system allows.  Call it before the first
 * pipeline is made.  False, with a message, if the memory is too little. */
bool run_need_limits(struct run *r);

/* Makes the pipeline if there is none yet.  size: the bytes of the regular file for which the
 * pipeline is needed; 0 if it is needed for something else.  If making the pipeline fails for
 * compression, prints a message and returns false.  Decompression works without a pipeline, so if
 * making it fails for decompression, returns true, and r->pipeline stays NULL. */
bool run_need_pipeline(struct run *r, uint64_t size);

/* Adds a finished file's status to the run's, and its bytes to the progress; prints its report. */
void run_account(struct run *r, struct file *f);

#endif
