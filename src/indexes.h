/*
 * indexes.h - index files beside compressed files: found, read, and made
 */
#ifndef GZLZSS_SRC_INDEXES_H
#define GZLZSS_SRC_INDEXES_H

#include "access/builder.h"
#include "access/reader.h"
#include "src/files.h"

/* An index that is read. */
struct index_file {
    bool is_open;
    struct access_source source;
};

/* Finds the index of the input (--index-file, or one beside the file), and gives it to the reader.
 * If an index that was not asked for is of no use, only prints a note.  False, with a message, if
 * an index that was asked for is of no use. */
bool indexes_open(struct file *f, struct index_file *index, struct access_reader *reader);

/* Closes it; nothing may use the reader any more. */
void indexes_close(struct index_file *index);

/* Writes the builder's index of the compressed file `name`, which has file_size bytes and `size`
 * bytes of data.  False, with a message, if that fails; then there is no new index. */
bool indexes_write(struct file *f, struct access_builder *b, const char *name, uint64_t file_size,
                   uint64_t size);

#endif
