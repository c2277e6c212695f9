/*
 * progress.h - one line on standard error that tells how far the work is
 *
 * A run has one line.  For one file, it has the file's name; for several, how many are done of
 * those found so far.  Whoever prints something else on the terminal removes the line first
 * (progress_erase), as messages.c does.  The next update draws it again.
 *
 * A terminal may be stopped (Ctrl-S), and a pipe full.  Drawing the line never waits for that: a line
 * that cannot be written at once is left out, as is one for which another thread is printing.  Only
 * removing the line for a message may wait, as the message would.
 */
#ifndef GZLZSS_PROGRESS_H
#define GZLZSS_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a run.  Any thread.  All zero, it shows nothing; so does a null pointer to one. */
struct progress {
    bool is_wanted; /* it may be shown; if not, nothing else counts */
    bool expanding; /* decompression: the ratio is of output to input */
    double delay;   /* seconds before the line is shown first */
    double start;   /* when the work began, as clock_seconds tells it */

    pthread_mutex_t line_lock; /* of the terminal's line; taken before `lock` where both are */
    int fd;                    /* the line is drawn there */
    double shown;              /* when it was drawn last; 0: not yet */
    size_t width;              /* columns of what is on the terminal now; 0: there is no line */

    pthread_mutex_t lock; /* of what follows; never held while anything is written */

    unsigned long found, done; /* files */
    uint64_t total;            /* bytes of all files; 0 if that is not known */
    uint64_t passed;           /* of these, those that were read, or of files that are done */
    uint64_t in, out;          /* bytes read and written */

    const char *name;    /* of the file that is worked on alone, or NULL */
    uint64_t name_total; /* its bytes; 0 if that is not known */
};

/* What a file has added to it so far. */
struct progress_part {
    uint64_t in, out;
};

/* What progress_start has to know of a run. */
struct progress_run {
    bool asked;     /* --progress: the line is shown from the start, also where it is no terminal */
    bool verbose;   /* -v: it is shown after two seconds, on a terminal */
    bool to_stdout; /* the run writes to standard output */
    bool expanding; /* it decompresses */
    bool recursive; /* operands that are directories are walked through */
    char *const *names; /* the operands; none: standard input */
    int name_count;
};

/* Starts a run.  The line is never shown where the output itself goes to a terminal. */
void progress_start(struct progress *p, const struct progress_run *run);

/* Ends it: removes the line.  If the terminal is stopped, the line stays, as the program's end does not
 * wait for that. */
void progress_end(struct progress *p);

/* So many more files were found; -1 if one turned out to be an empty directory. */
void progress_found(struct progress *p, long files);

/* Work on one file alone begins.  `name` has to stay until the last progress_update for it; `total`
 * is its size, or 0 if that is not known. */
void progress_file(struct progress *p, const char *name, uint64_t total);

/* Bytes of a file that were read and written so far, and what does the work ("cpu").  This and
 * progress_file_done draw the line, a few times a second at most. */
void progress_update(struct progress *p, struct progress_part *part, uint64_t in, uint64_t out,
                     const char *engine);

/* A file of `size` bytes is done; `in` bytes were read for it, and `out` written; 0 if it
 * failed. */
void progress_file_done(struct progress *p, const struct progress_part *part, uint64_t size,
                        uint64_t in, uint64_t out);

/* Removes the line for what is printed next; returns whether there was one. */
bool progress_erase(struct progress *p);

/* The same, and nobody draws the line before progress_resume: whoever prints something does so
 * between these two. */
void progress_pause(struct progress *p);
void progress_resume(struct progress *p);

#endif
