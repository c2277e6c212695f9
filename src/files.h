/*
 * files.h - what compression and decompression of a file have in common: names, opening,
 * attributes, and removing the input
 *
 * A file goes through up to three steps.
 *
 * 1. file_open opens the input and decides whether there is anything to do.
 * 2. compress_begin and compress_end, or decompress_file (compress.h, decompress.h), do the work.
 *    The output is then complete, but a signal still removes it.
 * 3. file_commit makes the output final and removes the input.
 *
 * Many files can be in the first two steps at a time, in any threads.  file_commit takes one file
 * after another, in the order given: so whenever the program ends, the first files are done and the
 * others untouched.
 *
 * An input may change between its opening and its commit, which may be seconds apart if files wait
 * for each other.  Only a file that is still what was read may be removed: file_commit compares the
 * input's times and size first.
 */
#ifndef GZLZSS_FILES_H
#define GZLZSS_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "src/directories.h"
#include "src/messages.h"
#include "src/options.h"
#include "src/output.h"
#include "src/progress.h"

struct list;

/* The most bytes of a file handle: Linux's MAX_HANDLE_SZ. */
#define FILE_HANDLE_MAX 128

/* Tells a file from all others of its file system, also from later ones with the same inode number:
 * the handle from name_to_handle_at(2).  Some file systems have none. */
struct file_id {
    bool is_known; /* the file system has handles, and this is the file's */
    unsigned size; /* bytes of the handle */
    int type;      /* the handle's type */
    unsigned char handle[FILE_HANDLE_MAX];
};

/* Why a file that failed may succeed when no other file is under way. */
enum file_retry {
    RETRY_NO,
    RETRY_CHANGED, /* the input changed while it was read */
    RETRY_ROOM,    /* the disk was full */
    RETRY_MEMORY,  /* there was no memory, or no descriptor */
};

struct file {
    /* The caller sets these and zeros all others.  What the pointers point to must stay. */
    const struct options *o;
    const char *operand;              /* the file's whole name; "-" is standard input */
    struct directory *directory;      /* the directory that it is in */
    struct messages m;                /* messages and status, of all steps */
    struct list *list;                /* for ACTION_LIST */
    const _Atomic bool *is_cancelled; /* NULL, or becomes true when the work should fail soon */
    struct progress *progress;        /* updated during the work; NULL: none */

    /* After file_open: */
    bool is_directory; /* the operand is a directory; in_fd is open */
    int in_fd;         /* the input, or -1; a caller that takes it sets -1 here, and closes it */

    /* After the work: */
    uint64_t in_bytes, out_bytes; /* bytes read and written; 0 if the work failed */
    enum file_retry retry;        /* whether a file that failed may be tried again, and why */
    struct progress_part shown;   /* what `progress` counts of this file so far */

    /* Only files.c, compress.c and decompress.c (and mpi/) use the rest; others may read in_stat
     * after file_open. */
    const char *name;     /* the input's name in messages */
    char *found_name;     /* the input's name if it is not the operand; to be freed */
    char *output_name;    /* the output's name, to be freed; NULL: standard output, or no output */
    bool is_stdin;        /* the input is standard input */
    bool is_shortened;    /* output_name was shortened, as it was too long */
    bool to_stdout;       /* the output is standard output, or there is no output */
    int out_fd;           /* a descriptor to write to, or -1 */
    bool made_temporary;  /* after the work: the output had a temporary name (output.h) */
    uint32_t stored_time; /* the time from the header, for the output; 0: none */
    struct stat in_stat;  /* the input's data before anything was read */
    /* The input's id; known only if the file waits for its commit and may be removed. */
    struct file_id in_id;
    uint8_t *header; /* header[0..header_len): the gzip header to write; to be freed */
    size_t header_len;
    struct output output; /* unused if the output is standard output, or there is no output */
};

/* Opens the input.  False if there is nothing to do: a message says why, or the input is a
 * directory to go through.  f->m has the messages and the status, also of the functions below. */
bool file_open(struct file *f);

/* Makes the output final and removes the input; if that fails, a message says so.  Frees what the
 * file has, but not f itself, nor the messages in f->m.  Call this or file_discard for every file,
 * whichever step it got to. */
void file_commit(struct file *f);

/* Removes the output, and frees what file_commit frees. */
void file_discard(struct file *f);

/* Does what file_commit does; but if the input is no longer what was read, does nothing and returns
 * false.  errno is 0 then, or says why the input could not be looked at.  After file_discard, the
 * file may be worked on again. */
bool file_try_commit(struct file *f);

/* The input's size in bytes, as file_open saw it; 0 if it is not a regular file. */
uint64_t file_regular_size(const struct file *f);

/* --- For compress.c and decompress.c --- */

/* The work follows a file_open that returned true, and ends with file_finish.  A function that
 * fails has printed a message. */

/* Creates the output that f->output_name names.  f->out_fd becomes a descriptor to write to, or -1
 * for ACTION_TEST and ACTION_LIST. */
bool file_open_output(struct file *f);

/* Begins the -v line about the file, and its progress.  Call this just before the file is read. */
void file_announce(struct file *f);

/* Begins the -v line again if the progress line has taken its place.  Leaves errno as it is. */
void file_announce_again(struct file *f);

/* Call this once all was read.  False if the input was written to meanwhile: the output may then be
 * neither the old data nor the new.  If the file waits for others, this returns true, and
 * file_try_commit looks at the input when the file's turn comes. */
bool file_is_unchanged(struct file *f);

/* Prints the rest of the -v line about the file.  `deflated`: bytes of DEFLATE data; `original`:
 * bytes of the data itself. */
void file_report(struct file *f, uint64_t deflated, uint64_t original);

/* Ends the work.  ok: it went well; then this completes the output.  If not, or if that fails,
 * removes the output.  If the file waits for file_commit, its input may stay open, and with
 * --atomic its output. */
void file_finish(struct file *f, bool ok);

/* The output's name in messages. */
const char *file_output_in_messages(const struct file *f);

/* Prints an error in reading the input, or in writing the output, and sets f->m.stop: gzip ends
 * here, too. */
void file_read_error(struct file *f, int error);
void file_write_error(struct file *f, int error);

/* Prints that the input became shorter while it was read.  The file may be tried again. */
void file_became_shorter(struct file *f);

/* Prints that memory is short, and sets f->m.stop. */
void file_out_of_memory(struct file *f);

#endif
