/*
 * index.h - index files: of bgzip (.gzi), gztool (gzipindx), and indexed_gzip (GZIDX)
 *
 * A point's place in the file is given by two numbers: the first whole byte of its data, and the
 * number of early bits.  Early bits are bits of the previous byte that belong to the data, too.
 *
 * An index of bgzip lists the members of a BGZF file:
 *
 *     8 bytes: the number of members, without the first
 *     for each member but the first:
 *         8 bytes: its place in the file
 *         8 bytes: its place in the output
 *
 * All numbers are little-endian.
 *
 * An index of gztool lists points with windows in zlib's format, which have a checksum:
 *
 *     8 bytes: zeros
 *     8 bytes: "gzipindx", or "gzipindX" if the index has line numbers
 *     with line numbers, 4 bytes: 0 if lines end with a line feed
 *     8 bytes: the number of points
 *     8 bytes: the same number again
 *     for each point:
 *         8 bytes: its place in the output
 *         8 bytes: its first whole byte in the file
 *         4 bytes: the number of early bits
 *         4 bytes: the length of the window
 *         the window
 *         with line numbers, 8 bytes: the number of the line, from 1
 *     8 bytes: the length of the output
 *     with line numbers, 8 bytes: the number of line feeds
 *
 * All numbers are big-endian.
 *
 * An index of indexed_gzip lists points with windows that are not compressed:
 *
 *     5 bytes: "GZIDX"
 *     1 byte: the version, 0 or 1
 *     1 byte: 0
 *     8 bytes: the length of the file
 *     8 bytes: the length of the output
 *     4 bytes: the usual number of bytes of output between two points
 *     4 bytes: the length of a window
 *     4 bytes: the number of points
 *     for each point:
 *         8 bytes: its first whole byte in the file
 *         8 bytes: its place in the output
 *         1 byte: the number of early bits
 *         from version 1 on, 1 byte: 1 if the point has a window
 *     the windows
 *
 * All numbers are little-endian.
 */
#ifndef GZLZSS_ACCESS_INDEX_H
#define GZLZSS_ACCESS_INDEX_H

#include "access/points.h"
#include "access/source.h"

enum access_format { ACCESS_BGZIP, ACCESS_GZTOOL, ACCESS_INDEXED_GZIP };

enum access_index_status {
    ACCESS_INDEX_OK,
    ACCESS_INDEX_UNKNOWN, /* in none of the formats */
    ACCESS_INDEX_DAMAGED, /* numbers in the index contradict each other, or it is cut off */
    ACCESS_INDEX_OTHER,   /* the index belongs to a file of another length */
    ACCESS_INDEX_READ_ERROR,
    ACCESS_INDEX_NO_MEMORY,
};

/* The facts in an index, besides its points. */
struct access_index {
    enum access_format format;
    uint64_t file_size; /* the length of the file; UINT64_MAX: not known */
    uint64_t size;      /* the length of the output; UINT64_MAX: not known */
    uint64_t lines;     /* line feeds in the output, or ACCESS_NO_LINE */
};

/*
 * Reads the index of a file of file_size bytes.  Adds the points to *points, with is_hint set for
 * all but the point at the start of the file.  Windows stay in the index (window.h).
 */
enum access_index_status access_index_read(const struct access_source *source, uint64_t file_size,
                                           struct access_points *points,
                                           struct access_index *index);

/* Whether the file begins as an index in one of the formats.  An index of bgzip has no magic
 * number, so its length must be what its first number says. */
bool access_index_begins(const struct access_source *source);

/* Writes an index in gztool's or indexed_gzip's format by calls of `put`, which returns false if it
 * fails.  The windows of the points are in memory, or in `source`, the index from which they were
 * read.  Returns false if `put` fails, memory is short, or a window is damaged.  is_header must be
 * false in all points. */
bool access_index_write(const struct access_points *points, const struct access_source *source,
                        const struct access_index *index,
                        bool (*put)(void *ctx, const void *bytes, size_t len), void *ctx);

#endif
