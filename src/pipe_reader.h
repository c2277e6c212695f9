/*
 * pipe_reader.h - reading a pipe faster than one thread can
 *
 * What is in a pipe are pages, and read() copies them, one thread at a time and at 2 GB/s or so, with
 * the pipe locked: meanwhile, the program at the other end waits.  tee() gives other pipes the same
 * pages without a copy.  So a reader has them given to pipes of its own, from which several threads
 * copy side by side, and when all are copied, it drops them from the pipe.  (Not before: splice()
 * would be less work, but a program that writes by vmsplice() takes a page to be free again when
 * there is room in the pipe for another.)
 */
#ifndef GZLZSS_PIPE_READER_H
#define GZLZSS_PIPE_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The most threads that help. */
#define PIPE_READER_MOST 3

struct pipe_reader;

/* For the pipe fd, of which nobody else may read, with up to so many threads, 0 to PIPE_READER_MOST,
 * that help; they start when there is something for them to do.  NULL if memory is short. */
struct pipe_reader *pipe_reader_new(int fd, int threads);

/* Does nothing if it is NULL. */
void pipe_reader_free(struct pipe_reader *r);

/* As io_read (io.h).  One thread at a time. */
ssize_t pipe_reader_read(struct pipe_reader *r, uint8_t *buf, size_t len);

#endif
