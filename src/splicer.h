/*
 * splicer.h - reading a pipe faster than one thread copies
 *
 * What is in a pipe are pages, and to read them is to copy them, which one thread does at 2 GB/s or
 * so; meanwhile the pipe is full, and the program that writes into it waits.  splice() moves pages
 * to another pipe without a copy.  So a splicer moves what has come to pipes of its own, and has
 * threads that copy from there, side by side.
 */
#ifndef GZLZSS_SPLICER_H
#define GZLZSS_SPLICER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The most threads that copy. */
#define SPLICER_MOST 4

struct splicer;

/* Bytes that were taken but not copied yet; starts as zeros. */
struct splicer_ticket {
    int pieces;
    int error; /* an errno, if one could not be copied */
};

/* Takes from the pipe fd, with up to so many threads, 1 to SPLICER_MOST, that start when there is
 * something for them to do.  NULL if memory is short or the system has no splice(). */
struct splicer *splicer_new(int fd, int threads);

/* Nothing may be under way; does nothing if it is NULL. */
void splicer_free(struct splicer *r);

/* Takes up to `len` of the bytes that come next, and returns how many: they will be at buf once
 * splicer_wait has returned for the ticket, and the next call gets those behind them.  0 if it is
 * better to read() them, because they are too few or all threads are busy, or if it cannot be done.
 * Never waits for bytes.  One thread at a time. */
size_t splicer_take(struct splicer *r, uint8_t *buf, size_t len, struct splicer_ticket *ticket);

/* Waits until all that was taken with the ticket has been copied.  Returns 0, or an errno if it
 * could not be.  Any thread. */
int splicer_wait(struct splicer *r, const struct splicer_ticket *ticket);

#endif
