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
 * Many files can be in the first two steps at a time, on any threads.  The main thread calls
 * file_commit for one file after another, in the order given.  So if the program is interrupted,
 * the first files are done and all others are untouched.
 *
 * An input may change between file_open and file_commit, which may be seconds apart if files wait
 * for each other.  So before file_commit removes an input, it compares the input's times and size
 * with those that file_open saw.
 */
#ifndef GZLZSS_FILES_H
#define GZLZSS_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "compat/status.h"
#include "src/destination.h"
#include "src/directories.h"
#include "src/messages.h"
#include "src/options.h"
#include "src/output.h"
#include "src/progress.h"
#include "src/signatures.h"

struct access_builder;
struct list;

/* The most bytes of a file handle: Linux's MAX_HANDLE_SZ. */
#define FILE_HANDLE_MAX 128

/* The file handle from name_to_handle_at(2).  It identifies a file within its file system, even if
 * a later file gets the same inode number.  Some file systems have no handles. */
struct file_id {
    bool is_known; /* false: the file system has no handles */
    unsigned size; /* bytes of the handle */
    int type;      /* the handle's type */
    unsigned char handle[FILE_HANDLE_MAX];
};

/* Why a file that failed may succeed when no other file is under way. */
enum file_retry {
    RETRY_NO,
    RETRY_CHANGED, /* the input changed while it was read */
    RETRY_ROOM,    /* the disk was full */
    RETRY_MEMORY,  /* memory or descriptors were short */
};

/* The results of the work on a file. */
struct file_result {
    bool has_ended;        /* file_finish was called; if not, the other fields are not valid */
    double seconds;        /* from file_open to file_finish */
    bool is_known;         /* the work succeeded; if not, the fields below are not valid */
    enum gz_format format; /* the compressed data's format; the last member's if there are
                            * several */
    bool is_bgzf;          /* the data is BGZF; always false if it was read from a pipe */
    uint64_t compressed,   /* bytes of all compressed data */
        uncompressed;      /* bytes of the data before compression, or after decompression */
    uint64_t members;
    bool has_crc;       /* the data is a single member, in gzip's format */
    uint32_t crc;       /* see has_crc */
    const char *engine; /* "cpu", "gpu" or "cpu+gpu" */
    bool is_verified;   /* the output was decoded again and compared (--verify) */
};

struct file {
    /* The caller sets these fields and zeros all others.  The objects that the fields point to must
     * stay valid. */
    const struct options *o;
    const char *operand;              /* the name as the user gave it; "-" is standard input */
    struct directory *directory;      /* the directory that contains the file */
    struct destination destination;   /* where the output goes; may be set after file_open */
    struct messages m;                /* collects the messages and the status of all steps */
    struct list *list;                /* for ACTION_LIST */
    const _Atomic bool *is_cancelled; /* becomes true when the work should stop; or NULL */
    struct progress *progress;        /* updated during the work; NULL: none */

    /* After file_open: */
    bool is_directory; /* the operand is a directory; in_fd is open */
    /* The input, or -1.  A caller may take the descriptor over: it sets in_fd to -1, and closes the
     * descriptor later. */
    int in_fd;

    /* After the work: */
    uint64_t in_bytes, out_bytes; /* bytes read and written; 0 if the work failed */
    enum file_retry retry;        /* whether a file that failed may be tried again, and why */
    struct file_result result;    /* for `report` */
    /* The JSON object of --json, without the status (report.h); NULL: print nothing. */
    char *report;
    struct progress_part shown; /* the share of this file in `progress` so far */

    /* Only files.c, compress.c and decompress.c (and mpi/) use the fields below.  Others may read
     * only in_stat, and only after file_open. */
    const char *name;   /* the input's name in messages */
    char *found_name;   /* the input's name if it is not the operand; to be freed */
    char *output_name;  /* the output's name, to be freed; NULL: standard output, or no output */
    size_t output_base; /* output_name + output_base is the output's name in
                           * destination.directory */
    /* The input's first bytes, which decompression has read. */
    char first[SIGNATURE_MAX];
    size_t first_len;
    bool is_stdin;        /* the input is standard input */
    bool is_shortened;    /* output_name was shortened, as it was too long */
    bool to_stdout;       /* the output is standard output, or there is no output */
    int out_fd;           /* a descriptor to write to, or -1 */
    bool made_temporary;  /* after the work: the output had a temporary name (output.h) */
    bool lacked_isal;     /* after the work: ISA-L would have saved much time, but was not used */
    double began;         /* clock_seconds at file_open */
    uint32_t stored_time; /* the time from the header, for the output; 0: none */
    struct stat in_stat;  /* the input's attributes before anything was read */
    /* The input's id; known only if the file waits for its commit and may be removed. */
    struct file_id in_id;
    struct access_builder *builder; /* makes an index of the output; NULL: no index */
    uint8_t *header; /* header[0..header_len): the gzip header to write; to be freed */
    size_t header_len;
    struct output output; /* unused if the output is standard output, or there is no output */
};

/* Opens the input.  False if there is nothing to do.  In that case, either a message says why, or
 * f->is_directory is true, and the caller may go through the directory.  This function and all
 * functions below leave messages and status in f->m. */
bool file_open(struct file *f);

/* Makes the output final and removes the input; if that fails, prints a message.  Frees everything
 * that f holds, except f->report and the messages in f->m.  Call either this function or
 * file_discard once for every file, even if an earlier step failed. */
void file_commit(struct file *f);

/* Removes the output and keeps the input.  Frees f->report, and everything that file_commit
 * frees. */
void file_discard(struct file *f);

/* If the input has changed since it was read, does nothing, sets errno to 0, and returns false.  If
 * the input cannot be examined, does nothing, sets errno to the reason, and returns false.  In both
 * cases, the caller may call file_discard and work on the file again.  Otherwise, does what
 * file_commit does, and returns true. */
bool file_try_commit(struct file *f);

/* The input's size in bytes, as file_open saw it; 0 if it is not a regular file. */
uint64_t file_regular_size(const struct file *f);

/* --- For compress.c and decompress.c --- */

/* Call these functions after file_open has returned true; call file_finish last.  A function that
 * fails has printed a message. */

/* Creates the output that f->output_name names.  f->out_fd becomes a descriptor to write to, or -1
 * for ACTION_TEST and ACTION_LIST. */
bool file_open_output(struct file *f);

/* Begins the -v line about the file, and the file's part of the progress line.  Call this just
 * before the file is read. */
void file_announce(struct file *f);

/* Prints the beginning of the -v line again if the progress line has overwritten it.  Leaves errno
 * as it is. */
void file_announce_again(struct file *f);

/* Call this when the whole input was read.  If the file waits for others, always returns true;
 * file_try_commit checks the input when the file's turn comes.  Otherwise, returns whether the
 * input is still what was read.  If the input has changed meanwhile, prints a message, since the
 * output may be a mixture of old and new data. */
bool file_is_unchanged(struct file *f);

/* Prints the rest of the -v line about the file.  `deflated`: bytes of DEFLATE data; `original`:
 * bytes of the data itself. */
void file_report(struct file *f, uint64_t deflated, uint64_t original);

/* Ends the work.  If ok (the work succeeded), sets the output's attributes and closes the output.
 * If not ok, or if closing fails, removes the output.  The input may stay open until file_commit.
 * With --atomic, the output may stay open until then, too. */
void file_finish(struct file *f, bool ok);

/* The output's name in messages. */
const char *file_output_in_messages(const struct file *f);

/* Prints an error in reading the input, or in writing the output, and sets f->m.stop, because gzip
 * ends after such an error. */
void file_read_error(struct file *f, int error);
void file_write_error(struct file *f, int error);

/* Prints that the input became shorter while it was read.  The file may be tried again. */
void file_became_shorter(struct file *f);

/* If the input begins as data of a format that gzlzss does not decompress, prints which.  Reads
 * f->first. */
void file_tell_format(struct file *f);

/* Prints that memory is short, and sets f->m.stop. */
void file_out_of_memory(struct file *f);

#endif
