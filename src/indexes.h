/*
 * indexes.h - finds, reads and makes index files beside compressed files
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

/* Finds the index of the input (the one that --index-file names, or one beside the file), and gives
 * it to the reader.  False, with a message, if the index that --index-file names cannot be used.
 * If another one cannot be used, only prints a note. */
bool indexes_open(struct file *f, struct index_file *index, struct access_reader *reader);

/* Closes the index.  Nothing may use the reader afterwards. */
void indexes_close(struct index_file *index);

/* Writes the builder's index of the compressed file `name`, which has file_size bytes and `size`
 * bytes of data.  False, with a message, if that fails; then there is no new index. */
bool indexes_write(struct file *f, struct access_builder *b, const char *name, uint64_t file_size,
                   uint64_t size);

#endif
