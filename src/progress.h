/*
 * progress.h - one line on standard error that shows how far the work is
 *
 * A run has one line.  For one file, the line shows the file's name; for several, how many of the
 * files found so far are done.  Code that prints something else on the terminal must remove the
 * line first (progress_erase or progress_pause), as messages.c does.  The next update draws the
 * line again.
 *
 * A terminal may be stopped (Ctrl-S), or a pipe may be full.  Drawing the line never waits for
 * terminal or pipe: if the line cannot be written at once, or another thread is printing, the line
 * is not drawn.  Only removing the line before a message may wait, since the message would wait
 * anyway.
 */
#ifndef GZLZSS_PROGRESS_H
#define GZLZSS_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The progress of a run.  Any thread may call the functions below.  If the struct is all zeros, or
 * the pointer to it is NULL, nothing is shown. */
struct progress {
    bool is_wanted; /* the line may be shown; if false, all other fields are ignored */
    bool expanding; /* the run decompresses, so the output is the uncompressed side of the ratio */
    double delay;   /* seconds before the line is first shown */
    double start;   /* clock_seconds when the work began */

    pthread_mutex_t line_lock; /* protects the next three fields; take it before `lock` */
    int fd;                    /* a descriptor to draw the line on */
    double shown;              /* when the line was last drawn; 0: not yet */
    size_t width;              /* columns of the line on the terminal now; 0: no line */

    pthread_mutex_t lock; /* protects the fields below; never held during a write */

    unsigned long found, /* files found so far */
        done;            /* files that are done */
    uint64_t total;      /* bytes of all files; 0: not known */
    /* How many of the `total` bytes were read, or belong to files that are done. */
    uint64_t passed;
    uint64_t in, out; /* bytes read and written so far */

    const char *name;    /* the file's name if a file is worked on alone; otherwise NULL */
    uint64_t name_total; /* that file's bytes; 0: not known */
};

/* How many bytes one file has added to `in` and `out` in struct progress so far. */
struct progress_part {
    uint64_t in, out;
};

/* The arguments of progress_start. */
struct progress_run {
    /* --progress: show the line from the start, even if standard error is no terminal. */
    bool asked;
    bool verbose;       /* -v: show the line after 2 seconds if standard error is a terminal */
    bool to_stdout;     /* the run writes to standard output */
    bool expanding;     /* the run decompresses */
    bool recursive;     /* the run goes through directories */
    char *const *names; /* the operands; if there are none, standard input */
    int name_count;     /* how many operands */
};

/* Starts a run's progress.  The line is never shown if the output itself goes to a terminal. */
void progress_start(struct progress *p, const struct progress_run *run);

/* Ends a run's progress and removes the line.  If the terminal is stopped, leaves the line, so that
 * the program can end. */
void progress_end(struct progress *p);

/* Adds `files` to the number of files found.  `files` may be -1: an operand counted as one file,
 * but turned out to be an empty directory. */
void progress_found(struct progress *p, long files);

/* Tells that work on one file alone begins.  `name` must stay until the last progress_update for
 * the file.  `total` is the file's size; 0: not known. */
void progress_file(struct progress *p, const char *name, uint64_t total);

/* Tells how many bytes of a file were read and written so far, and by which engine (for example
 * "cpu").  Draws the line, a few times a second at most. */
void progress_update(struct progress *p, struct progress_part *part, uint64_t in, uint64_t out,
                     const char *engine);

/* Tells that a file of `size` bytes is done.  `in` and `out`: bytes read and written for the file;
 * 0 if the work on it failed.  Draws the line, a few times a second at most. */
void progress_file_done(struct progress *p, const struct progress_part *part, uint64_t size,
                        uint64_t in, uint64_t out);

/* Removes the line, before something is printed.  Returns whether there was a line. */
bool progress_erase(struct progress *p);

/* Removes the line, and lets no thread draw it until progress_resume.  Print messages between the
 * two calls. */
void progress_pause(struct progress *p);

/* Lets threads draw the line again. */
void progress_resume(struct progress *p);

#endif
