/*
 * run.h - what all files of a run have in common: options, limits, and a pipeline once it is needed
 */
#ifndef GZLZSS_RUN_H
#define GZLZSS_RUN_H

#include "pipeline/pipeline.h"
#include "src/files.h"
#include "src/list.h"

/* A quarter of all descriptors is for directories, a quarter for files that wait to be made
 * final, and a quarter for files that are worked on, each with an input and an output.  The rest
 * is for all else. */
#define RUN_DESCRIPTORS_SHARE 4

struct run {
    const struct options *o;
    struct messages *m;
    struct list list;
    struct progress progress;
    struct pipeline *pipeline;     /* NULL until run_need_pipeline */
    struct pipeline_config config; /* o's, with what limits.h says */
    bool knows_limits;
    bool side_by_side;   /* files may be worked on side by side */
    long descriptors;    /* that there may be; after run_need_limits */
    bool told_temporary; /* that outputs have temporary names */
};

/* Lets malloc keep what the decompression of a file took, for the next. */
void run_keep_memory(void);

/* Whether the file, which is open, is all there is to do, and so small that no limits matter. */
bool run_is_minor(const struct run *r, const struct file *f);

/* Finds out how many threads and how much memory the system allows, before the first pipeline is
 * made.  False, with a message, if that is too little. */
bool run_need_limits(struct run *r);

/* Makes the pipeline if it is not there yet; false, with a message, if there can be none.  Decompression
 * can do without one.  `size` is that of the regular file for which the pipeline is needed, 0 if it is for
 * something else. */
bool run_need_pipeline(struct run *r, uint64_t size);

/* Makes the status of a file that is final count. */
void run_account(struct run *r, const struct file *f);

#endif
