/*
 * interval.h - an interval of a .gz, from one mark to another, decoded without what is before it
 *
 * Where a segment ends there may be a mark (inflate/find.h), and what follows does not refer to what
 * is before it.  Nine bytes may be a mark by accident, or somebody's intent: so an interval counts only
 * if decoding what is before it has come to exactly its start.  What is more, it counts only if it
 * is made as gzlzss makes files, pigz -i, or cat of several: members, with headers as anybody writes
 * them, that are right, and nothing else.  All else is INTERVAL_ODD, and is for gunzip's own code.
 */
#ifndef GZLZSS_MPI_INTERVAL_H
#define GZLZSS_MPI_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum interval_result {
    INTERVAL_GOOD,
    INTERVAL_NONE, /* no mark lies in that part of the input: the interval before goes on through it */
    INTERVAL_ODD, /* it is damaged, or not one to be decoded so */
    INTERVAL_READ_ERROR,
    INTERVAL_WRITE_ERROR,
    INTERVAL_NO_MEMORY,
};

struct interval {
    /* For the caller to set.  The interval begins at the first mark's end from byte `from` on that lies
     * before `to`, and ends at the first from `to` on, or with the file. */
    int fd;
    uint64_t size; /* of the file */
    uint64_t from, to;
    bool begins_at_from; /* a block begins at `from`, mark or not, */
    bool was_decoded;    /* or at `start`, as it is set already */
    /* Takes the output, a part at a time.  False, with errno set, if that fails. */
    bool (*take)(void *ctx, const uint8_t *bytes, size_t len);
    void *ctx;

    /* What came of it. */
    int error;           /* an errno, after an error in reading or writing */
    uint64_t start, end; /* bytes of the input */
    uint64_t out;        /* bytes of output */
    uint64_t ends;       /* members that end in the interval */
    /* The member that the interval begins in the middle of: of its data up to its end or the interval's;
     * and what its trailer says, if it ends here. */
    uint32_t head_crc, stored_crc;
    uint64_t head_len;
    uint32_t stored_len;
    /* The member that goes on behind the interval, if that is another. */
    uint32_t tail_crc;
    uint64_t tail_len;
    uint64_t last_len; /* bytes of the last member that ends here, if it is not the first */
};

/* What a thread needs for it, about 0.7 MB; NULL if memory is short. */
struct interval_tools;
struct interval_tools *interval_tools_new(void);
void interval_tools_free(struct interval_tools *t); /* t may be NULL */

enum interval_result interval_decode(struct interval_tools *t, struct interval *p);

/* Whether there is a mark in bytes [from, to) of the file. */
bool interval_has_mark(struct interval_tools *t, int fd, uint64_t from, uint64_t to);

#endif
