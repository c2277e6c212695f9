/*
 * indexes.h - finds, reads and makes index files beside compressed files
 */
#ifndef GZLZSS_SRC_INDEXES_H
#define GZLZSS_SRC_INDEXES_H

#include "access/builder.h"
#include "access/reader.h"
#include "src/files.h"

/* An index file that is open for a reader. */
struct index_file {
    bool is_open;
    struct access_source source;
};

/* Finds the index of the input, and gives it to the reader.  The index is the one that --index-file
 * names, or one beside the file.  If the index that --index-file names cannot be used, prints a
 * message and returns false.  If an index beside the file cannot be used, only prints a note. */
bool indexes_open(struct file *f, struct index_file *index, struct access_reader *reader);

/* Closes the index.  Nothing may use the reader afterwards. */
void indexes_close(struct index_file *index);

/* Whether `name` in the directory `directory` is an index, and its file is beside it.  A walk
 * leaves such an index alone.  suffix: the user's suffix of compressed files. */
bool indexes_is_beside(int directory, const char *name, const char *suffix);

/* Whether indexes_write may write the index of the compressed file `name`, as far as can be told
 * before the file is read.  If not, prints a message and returns false. */
bool indexes_may_write(struct file *f, const char *name);

/*
 * Writes the builder's index of the compressed file `name`, which has file_size bytes and
 * decompresses to `size` bytes.  If that fails, prints a message, leaves no new index, and returns
 * false.
 *
 * The index gets its name only if nothing has that name, or an older index, or with -f.  If
 * --index-file names a device or a pipe, the index is written to it, as the output is with -o.
 */
bool indexes_write(struct file *f, struct access_builder *b, const char *name, uint64_t file_size,
                   uint64_t size);

#endif
