/*
 * progress.h - one line on standard error that tells how far the work is
 *
 * A run has one line.  For one file, the line has the file's name; for several, how many of the
 * files found so far are done.  Code that prints something else on the terminal must remove the
 * line first (progress_erase or progress_pause), as messages.c does.  The next update draws it
 * again.
 *
 * A terminal may be stopped (Ctrl-S), and a pipe full.  Drawing the line never waits for that: a
 * line that cannot be written at once is left out.  So is a line while another thread prints.  Only
 * removing the line for a message may wait, as the message would.
 */
#ifndef GZLZSS_PROGRESS_H
#define GZLZSS_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The progress of a run.  Any thread may call functions on it.  If it is all zero, nothing is
 * shown; a null pointer in place of it shows nothing, too. */
struct progress {
    bool is_wanted; /* the line may be shown; if false, all other fields are ignored */
    bool expanding; /* the run decompresses: the ratio is computed from output to input */
    double delay;   /* seconds before the line is first shown */
    double start;   /* clock_seconds when the work began */

    pthread_mutex_t line_lock; /* protects the next three; lock it before `lock` if you need both */
    int fd;                    /* a descriptor to draw the line on */
    double shown;              /* when the line was last drawn; 0: not yet */
    size_t width;              /* columns of the line on the terminal now; 0: no line */

    pthread_mutex_t lock; /* protects the fields below; never held during a write */

    unsigned long found, /* files found so far */
        done;            /* files that are done */
    uint64_t total;      /* bytes of all files; 0: not known */
    /* Bytes of `total` that were read, or belong to files that are done. */
    uint64_t passed;
    uint64_t in, out; /* bytes read and written so far */

    const char *name;    /* the name of a file that is worked on alone, or NULL */
    uint64_t name_total; /* that file's bytes; 0: not known */
};

/* What one file has added to `in` and `out` in struct progress so far. */
struct progress_part {
    uint64_t in, out;
};

/* The arguments of progress_start. */
struct progress_run {
    /* --progress: show the line from the start, also if standard error is no terminal. */
    bool asked;
    bool verbose;       /* -v: show the line after 2 seconds, on a terminal */
    bool to_stdout;     /* the run writes to standard output */
    bool expanding;     /* the run decompresses */
    bool recursive;     /* the run goes through directories */
    char *const *names; /* the operands; if there are none, standard input */
    int name_count;     /* how many operands */
};

/* Starts a run's progress.  The line is never shown if the output itself goes to a terminal. */
void progress_start(struct progress *p, const struct progress_run *run);

/* Ends a run's progress: removes the line.  If the terminal is stopped, the line stays: the
 * program's end does not wait for that. */
void progress_end(struct progress *p);

/* Counts `files` more files as found; -1 if an operand turned out to be an empty directory. */
void progress_found(struct progress *p, long files);

/* Tells that work on one file alone begins.  `name` must stay until the last progress_update for
 * the file.  `total` is its size; 0: not known. */
void progress_file(struct progress *p, const char *name, uint64_t total);

/* Tells how many bytes of a file were read and written so far, and by which engine ("cpu").  Draws
 * the line, a few times a second at most. */
void progress_update(struct progress *p, struct progress_part *part, uint64_t in, uint64_t out,
                     const char *engine);

/* Tells that a file of `size` bytes is done.  `in` bytes were read for it and `out` written; 0 if
 * it failed.  Draws the line, a few times a second at most. */
void progress_file_done(struct progress *p, const struct progress_part *part, uint64_t size,
                        uint64_t in, uint64_t out);

/* Removes the line, before something is printed.  Returns whether there was a line. */
bool progress_erase(struct progress *p);

/* Removes the line, and lets no thread draw it until progress_resume.  Print messages between these
 * two. */
void progress_pause(struct progress *p);

/* Lets threads draw the line again. */
void progress_resume(struct progress *p);

#endif
