/*
 * line.h - files that are worked on side by side, and made final in the order given
 *
 * Each file is a job of the run's pipeline, whose threads work on several jobs at a time.  The main
 * thread makes files final, and prints their messages, in order (file_try_commit).
 *
 * A file is worked on again, alone, if it failed for want of disk space, memory or descriptors, or
 * if its input changed while it waited.  Before that, all earlier files are made final, and all
 * later files are undone.
 */
#ifndef GZLZSS_LINE_H
#define GZLZSS_LINE_H

#include "src/run.h"

struct entry;

struct line {
    struct run *run;
    struct entry *first, *last; /* files under way, in order */
    size_t count,               /* how many files are under way */
        most;                   /* the most that may be; 0: not known yet */
    /* Counts by hash of the files under way; NULL until there may be some. */
    struct counts *counts;
    struct entry *again;      /* files that have to be worked on again, in order */
    struct entry **again_end; /* where the next such file goes */
    /* An upper bound of the directories that files under way keep open. */
    long directories;
};

/* Makes a line without files. */
void line_init(struct line *l, struct run *r);

/* Frees what the line has.  No file may be under way. */
void line_free(struct line *l);

/* Submits the file `name` in `directory`, of `size` bytes.  to_come: files that may follow.  May
 * make the first files under way final.  False: the file must be worked on alone. */
bool line_submit(struct line *l, const char *name, struct directory *directory, uint64_t size,
                 uint64_t to_come);

/* Waits for all files under way, and makes them final. */
void line_drain(struct line *l);

/* Whether any file under way is in this directory. */
bool line_is_busy(const struct line *l, const struct directory *d);

#endif
