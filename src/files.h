/*
 * files.h - what happens to a file whether it is compressed or decompressed: names, opening,
 * attributes, and removing what is done with
 *
 * A file goes through up to three steps.
 *
 * 1. file_open opens the input and decides whether there is anything to be done.
 * 2. compress_begin and compress_end, or decompress_file (compress.h, decompress.h), do the work.
 *    The output is then complete, but a signal still removes it.
 * 3. file_commit makes the output final and removes the input.
 *
 * Many files can be in the first two steps at a time, in any thread.  file_commit is for one after
 * the other: then, whenever the program ends, some files are done and the others untouched, in the
 * order given.
 *
 * An input may change between its opening and its end, by seconds where files wait for each other.
 * What is removed is only what was read: file_commit looks at the input's times and size first.
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

/* Bytes of a file handle, at most: Linux's MAX_HANDLE_SZ. */
#define FILE_HANDLE_MAX 128

/* What tells a file from all others of its file system, also from those that get its inode number
 * when it is gone: the handle of name_to_handle_at(2).  Some file systems have none. */
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
    struct list *list;                /* for ACTION_LIST */
    const _Atomic bool *is_cancelled; /* NULL, or whether the work is to fail soon */
    struct progress *progress;        /* to be kept up to date during the work; NULL: none */

    /* After file_open: */
    bool is_directory; /* and in_fd is open */
    int in_fd;         /* -1 if not open; the caller's to close if it takes it */

    /* After the work: bytes read and written, or 0 if that failed; and then why it may be tried
     * again. */
    uint64_t in_bytes, out_bytes;
    enum file_retry retry;
    struct progress_part shown; /* what of it `progress` has */

    /* The rest is for files.c and what does the work, but for in_stat, which is valid after
     * file_open. */
    const char *name;  /* of the input, as messages show it */
    char *found_name;  /* of the input where it is not the operand's; to be freed */
    char *output_name; /* to be freed; NULL: standard output, or none */
    bool is_stdin;
    bool is_shortened;    /* the output's name, as it would have been too long */
    bool to_stdout;       /* the output is standard output, or there is none */
    int out_fd;           /* to write to, or -1 */
    bool made_temporary;  /* the output had a temporary name (output.h); after the work */
    uint32_t stored_time; /* to be restored, 0 if there is none */
    struct stat in_stat;  /* the input's, before anything was read */
    struct file_id in_id; /* likewise */
    uint8_t *header;      /* of what is compressed; to be freed */
    size_t header_len;
    struct output output; /* unless the output is standard output, or there is none */
};

/* Opens the input.  Returns false if there is no work: a message says why, or the input is a
 * directory to go through.  f->m has the messages and the status, here and below. */
bool file_open(struct file *f);

/* One of these two ends every file, wherever it got to.  file_commit makes the output final and
 * removes the input; if that fails, a message says so.  file_discard removes the output.  Both
 * free what the file has (but not f itself, nor the messages in f->m). */
void file_commit(struct file *f);
void file_discard(struct file *f);

/* As file_commit; but if the input is no longer what was read, it does nothing and returns
 * false.  errno is 0 then, or says why the input could not be looked at.  The file may be worked on
 * again after file_discard. */
bool file_try_commit(struct file *f);

/* The input's size in bytes before anything was read, after file_open; 0 if it is no regular file. */
uint64_t file_regular_size(const struct file *f);

/* --- For compress.c and decompress.c --- */

/* The work follows a file_open that returned true, and ends with file_finish.  A function that
 * fails has printed why. */

/* Creates the output that f->output_name names: f->out_fd is then what to write to, or -1 with
 * ACTION_TEST and ACTION_LIST. */
bool file_open_output(struct file *f);

/* Begins the line about the file, and its progress, just before it is read; and begins the line
 * again after the progress took its place.  The latter leaves errno as it is. */
void file_announce(struct file *f);
void file_announce_again(struct file *f);

/* Once all was read: false if the input was written to meanwhile.  The output may then be neither
 * the old data nor the new.  A file that waits for others is looked at when its turn comes
 * (file_try_commit). */
bool file_is_unchanged(struct file *f);

/* The rest of the line about the file: `deflated` bytes came of, or became, `original`. */
void file_report(struct file *f, uint64_t deflated, uint64_t original);

/* Ends the work.  If it went well (`ok`), completes the output; if not, or if that fails, removes
 * it.  A file that waits for file_commit may have its input open, and with --atomic its output. */
void file_finish(struct file *f, bool ok);

/* The output's name in messages. */
const char *file_output_in_messages(const struct file *f);

/* Errors.  After one in reading or writing `name`, nothing will be any better: gzip ends. */
void file_io_error(struct file *f, const char *name, int error);
void file_out_of_memory(struct file *f);

#endif
