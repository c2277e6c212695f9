/*
 * line.h - files that are worked on side by side, and made final in the order given
 *
 * Each is a job of the run's pipeline, whose threads work on several at a time.  The main thread makes
 * them final, and prints their messages, in order (file_try_commit).  A file that failed for want of
 * room, memory or descriptors, or whose input changed while it waited, is worked on again, alone: all
 * files before it are made final first, and those after it are undone.
 */
#ifndef GZLZSS_LINE_H
#define GZLZSS_LINE_H

#include "src/run.h"

struct entry;

struct line {
    struct run *run;
    struct entry *first, *last; /* files under way, in order; */
    size_t count, most;         /* how many, and how many there may be; 0: not known yet */
    struct counts *counts;      /* of these; NULL until there may be some */
    struct entry *again;        /* files to be worked on again, */
    struct entry **again_end;   /* and where the next one goes */
    long directories;           /* that files under way may keep open */
};

void line_init(struct line *l, struct run *r);
void line_free(struct line *l);

/* Submits a file of that name in that directory, of `size` bytes; to_come: files that may follow.  The
 * first files under way may be made final.  False: it has to be worked on alone. */
bool line_submit(struct line *l, const char *name, struct directory *directory, uint64_t size,
                 uint64_t to_come);

/* Waits until no file is under way, and makes all final. */
void line_drain(struct line *l);

/* Whether any file under way is in this directory. */
bool line_is_busy(const struct line *l, const struct directory *d);

#endif
