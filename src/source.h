/*
 * source.h - the input of a compression, segment by segment
 *
 * Segments of a regular file that certainly have another byte after them can be read in any order
 * and by several threads at a time.  All others, up to and including the last, are read one after
 * another, since only reading on tells whether one is the last; a file that grows meanwhile is
 * followed to wherever its end is then.
 */
#ifndef GZLZSS_SOURCE_H
#define GZLZSS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct source {
    int fd;
    size_t segment_size;
    uint64_t any_order; /* segments 0..any_order-1 can be read in any order */
    uint64_t base;      /* where in the file segment 0 starts, if any_order > 0 */

    /* Of reading in order: */
    uint64_t in_order; /* segments read so */
    bool have_peeked;  /* one byte of the next segment was read already */
    uint8_t peeked;
    uint64_t end; /* bytes of the whole input, once the last segment was read */
};

/* Looks at the file from where it is positioned. */
void source_init(struct source *s, int fd, size_t segment_size);

/* Reads `count` whole segments from `first` on, all below any_order.  Any thread.  Returns false
 * with errno set; ENODATA if the file has become shorter. */
bool source_read_at(const struct source *s, uint64_t first, size_t count, uint8_t *buf);

/* Reads the next segment after the any_order ones: *len bytes, less than a whole segment only if it
 * is the last, 0 only if the input is empty.  One thread at a time; the source has ended once *last
 * is set.  Returns false with errno set. */
bool source_read_next(struct source *s, uint8_t *buf, size_t *len, bool *last);

/* Leaves the file positioned after what was read, as reading it from front to back would have. */
void source_finish(const struct source *s);

/* read(2) that goes on after a signal and waits where a descriptor is non-blocking. */
ssize_t read_some(int fd, void *buf, size_t len);

/* Writes all of it; false with errno set. */
bool write_all(int fd, const void *buf, size_t len);

#endif
