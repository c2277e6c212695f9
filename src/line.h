/*
 * line.h - files that are worked on side by side, and made final in the order given
 *
 * A file is final when its output is complete and named, and its input is removed.  Each file is a
 * job of the run's pipeline, whose threads work on several jobs at a time.  The main thread makes
 * the files final, and prints their messages, in the order given (file_try_commit).
 *
 * If a file fails because disk space, memory or descriptors are short, or if its input changes
 * while it waits, it is worked on again, alone.  Before that, all earlier files are made final, and
 * the work on all later files is undone.
 */
#ifndef GZLZSS_LINE_H
#define GZLZSS_LINE_H

#include "src/run.h"

struct entry;

struct line {
    struct run *run;
    struct entry *first, *last; /* files under way, in order */
    size_t count,               /* how many files are under way */
        most;                   /* the most files that may be under way; 0: not known yet */
    /* Counts the files under way by hash; NULL before the first file. */
    struct counts *counts;
    struct entry *again;      /* files that have to be worked on again, in order */
    struct entry **again_end; /* the pointer to set when the next file is added to `again` */
    /* The files under way keep at most this many directories open. */
    long directories;
};

/* Makes a line without files. */
void line_init(struct line *l, struct run *r);

/* Frees the line's memory.  No file may be under way. */
void line_free(struct line *l);

/* Submits the file `name`, of `size` bytes, in `directory`.  to_come: how many more files may
 * follow.  May also make earlier files final.  False: the caller must work on the file alone. */
bool line_submit(struct line *l, const char *name, struct directory *directory, uint64_t size,
                 uint64_t to_come);

/* Waits for all files under way, and makes them final. */
void line_drain(struct line *l);

/* Whether any file under way is in this directory. */
bool line_is_busy(const struct line *l, const struct directory *d);

#endif
