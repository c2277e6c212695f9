/*
 * pipe_reader.h - reads a pipe while the other end writes into it
 *
 * read() locks a pipe while it copies the pipe's bytes, and the program at the other end waits.
 * But a pipe holds its bytes in pages, and tee() gives another pipe the same pages without a copy.
 * So a reader calls tee() to give the pages to a pipe of its own, copies the bytes from there, and
 * then drops them from the first pipe.
 *
 * The bytes must stay in the first pipe until they are copied: a program that writes by vmsplice()
 * reuses a page as soon as the pipe has room for another.  So do not use splice() in place of
 * tee(), although it would be less work.
 */
#ifndef GZLZSS_PIPE_READER_H
#define GZLZSS_PIPE_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pipe_reader;

/* Makes a reader of the pipe fd.  Nobody else may read the pipe until the reader is freed.  Returns
 * NULL if memory is short. */
struct pipe_reader *pipe_reader_new(int fd);

/* Frees the reader.  r may be NULL. */
void pipe_reader_free(struct pipe_reader *r);

/* Reads as io_read does (base/io.h).  Only one thread at a time may call this. */
ssize_t pipe_reader_read(struct pipe_reader *r, uint8_t *buf, size_t len);

#endif
