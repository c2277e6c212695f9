/*
 * pipe_reader.h - reading a pipe while the other end writes into it
 *
 * read() keeps a pipe locked while it copies what is in it, and the program at the other end waits.
 * What is in it are pages, and tee() gives another pipe the same pages without a copy.  So a reader
 * has them given to a pipe of its own, copies them from there, and then drops them from the pipe.
 * (Not before: splice() would be less work, but a program that writes by vmsplice() uses a page
 * again once there is room in the pipe for another.)
 */
#ifndef GZLZSS_PIPE_READER_H
#define GZLZSS_PIPE_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pipe_reader;

/* For the pipe fd, of which nobody else may read meanwhile.  NULL if memory is short. */
struct pipe_reader *pipe_reader_new(int fd);

/* Does nothing if it is NULL. */
void pipe_reader_free(struct pipe_reader *r);

/* As io_read (io.h).  One thread at a time. */
ssize_t pipe_reader_read(struct pipe_reader *r, uint8_t *buf, size_t len);

#endif
