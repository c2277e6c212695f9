/*
 * interval.h - decodes an interval of a .gz, from one mark to another, by itself
 *
 * A segment of gzlzss or `pigz -i` ends with a mark (inflate/find.h), and the data after a mark
 * refers to nothing before it.  Nine bytes can look like a mark by chance, or on purpose.  So the
 * result of an interval is valid only if the interval before it ends at exactly the same byte at
 * which this interval starts.
 *
 * The data must also be as gzlzss, `pigz -i`, or cat of several such files writes it: good members
 * with plain headers, and nothing else.  For any other data, the result is INTERVAL_ODD.  Then
 * gunzip's own code decompresses the file and reports what is wrong.
 */
#ifndef GZLZSS_MPI_INTERVAL_H
#define GZLZSS_MPI_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum interval_result {
    INTERVAL_GOOD,
    /* No mark ends in [from, to), because the interval before this one goes on through these
     * bytes. */
    INTERVAL_NONE,
    /* The data is damaged, or not the plain kind described above. */
    INTERVAL_ODD,
    INTERVAL_READ_ERROR,
    INTERVAL_WRITE_ERROR,
    INTERVAL_NO_MEMORY,
};

struct interval {
    /* The caller sets the fields below. */
    int fd;
    uint64_t size; /* bytes of the file */
    /* The interval begins after the first mark that ends in bytes [from, to) of the file.  It ends
     * after the first mark that ends at `to` or later, or at the end of the file. */
    uint64_t from, to;
    /* Whether the interval begins at `from`, where a block starts, with or without a mark. */
    bool begins_at_from;
    /* Whether the interval was decoded before, and so begins at `start`, which is set. */
    bool was_decoded;
    /* Takes the output, a part at a time.  Returns false, with errno set, if it cannot take a
     * part. */
    bool (*take)(void *ctx, const uint8_t *bytes, size_t len);
    void *ctx;

    /* interval_decode sets the fields below. */
    int error;           /* errno, after an error in reading or writing */
    uint64_t start, end; /* bytes of the file: where the interval begins and ends */
    uint64_t out;        /* bytes of output */
    uint64_t ends;       /* members that end in the interval */
    /* The CRC-32 and the number of the interval's bytes of data that belong to the member in which
     * the interval begins. */
    uint32_t head_crc;
    uint64_t head_len;
    /* The CRC-32 and the length in the trailer of the member in which the interval begins.  Valid
     * only if that member also ends in the interval. */
    uint32_t stored_crc, stored_len;
    /* The CRC-32 and the number of the bytes of data that the interval has after the last end of a
     * member.  Valid only if a member ends in the interval. */
    uint32_t tail_crc;
    uint64_t tail_len;
    /* Bytes of data of the last member that ends in the interval.  Valid only if several members
     * end in it. */
    uint64_t last_len;
};

/* A thread's memory for decoding, about 0.7 MB.  If memory is short, interval_tools_new returns
 * NULL.  The argument of interval_tools_free may be NULL. */
struct interval_tools;
struct interval_tools *interval_tools_new(void);
void interval_tools_free(struct interval_tools *t);

/* Decodes the interval, and sets the fields of *p for the results. */
enum interval_result interval_decode(struct interval_tools *t, struct interval *p);

/* Whether there is a mark in bytes [from, to) of the file. */
bool interval_has_mark(struct interval_tools *t, int fd, uint64_t from, uint64_t to);

#endif
