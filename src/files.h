/*
 * files.h - what happens to one file: names, opening, attributes, and removing what is done with
 *
 * A file goes through up to three steps.  file_open opens the input and decides whether there is
 * anything to be done.  file_process does it, up to an output that is complete, but still goes if a
 * signal comes.  file_commit makes it final and removes the input.  The first two can be done for many
 * files at a time, in any thread, and file_commit for one after the other: then, whenever the program
 * ends, some files are done and the others untouched, in the order given.
 *
 * An input may change between its opening and its end, by seconds where files wait for each other.
 * What is removed is only what was read: file_commit looks at the input's times and size first.
 */
#ifndef GZLZSS_FILES_H
#define GZLZSS_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "src/list.h"
#include "src/messages.h"
#include "src/options.h"
#include "src/output.h"
#include "src/pipeline.h"

/* A directory, through which its files are reached, so that what is removed is what was read even
 * if names above it change meanwhile. */
struct directory {
    bool is_open; /* false: names are to be used as they are, from where the program was started */
    int fd;       /* AT_FDCWD if it is not open */
    dev_t device; /* which directory it is, if it is open */
    ino_t inode;
    unsigned users; /* counted by who makes and frees it (operands.c) */
};

/* Bytes of a file handle, at most: Linux's MAX_HANDLE_SZ. */
#define FILE_HANDLE_MAX 128

/* What tells a file from all others of its file system, also from those that get its inode number when it
 * is gone: the handle of name_to_handle_at(2).  Some file systems have none. */
struct file_id {
    bool is_known;
    unsigned size; /* of the handle */
    int type;
    unsigned char handle[FILE_HANDLE_MAX];
};

/* Why a file that failed may do better when nothing else is under way. */
enum file_retry {
    RETRY_NO,
    RETRY_CHANGED, /* the input changed while it was read */
    RETRY_ROOM,    /* the disk was full */
    RETRY_MEMORY,  /* there was no memory, or no descriptor */
};

struct file {
    /* For the caller to set, the rest being zero; what is pointed to must stay. */
    const struct options *o;
    const char *operand; /* the file's whole name; "-" is standard input */
    struct directory *directory;
    struct messages m;
    struct pipeline *pipeline; /* to compress, and only for file_process; NULL: memory is short */
    struct list *list;         /* for ACTION_LIST */
    struct progress *progress; /* to be kept up to date by file_process; NULL: none */

    /* After file_open: */
    bool is_directory; /* and in_fd is open */
    int in_fd;         /* -1 if not open; the caller's to close if it takes it */

    /* After file_process: bytes read and written, or 0 if that failed; and then why it may be tried again. */
    uint64_t in_bytes, out_bytes;
    enum file_retry retry;

    /* The rest is for files.c, but for in_stat, which is valid after file_open. */
    const char *name;  /* of the input, as messages show it */
    char *found_name;  /* of the input where it is not the operand's; to be freed */
    char *output_name; /* to be freed; NULL: standard output, or none */
    bool is_stdin;
    bool is_shortened;    /* the output's name, as it would have been too long */
    bool to_stdout;       /* the output is standard output, or there is none */
    int out_fd;           /* to write to, or -1 */
    bool made_temporary;  /* the output had a temporary name (output.h); after file_process */
    uint32_t stored_time; /* to be restored, 0 if there is none */
    struct stat in_stat;  /* the input's, before anything was read */
    struct file_id in_id; /* likewise */
    struct output output; /* unless the output is standard output, or there is none */
};

/* Opens the input; returns false if that was all: it is not to be worked on, which was said, or it
 * is a directory to be gone through.  f->m has what was said, here and below, and the status. */
bool file_open(struct file *f);

/* Does the work, after a file_open that returned true.  If it fails, that was said, and no output is
 * left.  A file that waits for file_commit may have its input open, and with --atomic its output. */
void file_process(struct file *f);

/* The end of each file, wherever it got to: what was made becomes final, and the input goes; or
 * what was made goes.  Both free what the file has (but not f itself, nor what f->m collected).
 * file_commit may fail, which is said. */
void file_commit(struct file *f);
void file_discard(struct file *f);

/* file_commit, but if the input is no longer what was read, it does nothing and returns false: it may be
 * worked on again, after file_discard. */
bool file_try_commit(struct file *f);

#endif
