/*
 * index.h - index files: of bgzip (.gzi), gztool (gzipindx), and indexed_gzip (GZIDX)
 *
 * bgzip's lists the members of a BGZF file: 8 bytes with their number, then for each, but the
 * first, 8 bytes with its place in the file and 8 with that in the output.  All numbers are
 * little-endian.
 *
 * gztool's lists points with windows in zlib's format:
 *
 *     8 zeros, "gzipindx", or "gzipindX" if the numbers of lines are there
 *     with lines: 4 bytes, 0 if lines end with a line feed
 *     8 bytes: the number of points, twice
 *     for each point: 8 bytes: place in the output; 8: the first whole byte in the file; 4: how
 * many
 *         bits of the byte before belong to the data; 4: bytes of the window; the window;
 *         with lines: 8 bytes, the number of the line, from 1
 *     8 bytes: the length of the output; with lines: 8 bytes, the number of line feeds
 *
 * All numbers are big-endian.  Windows in zlib's format have a checksum.
 *
 * indexed_gzip's has windows as they are:
 *
 *     "GZIDX", version (0 or 1), 0
 *     8 bytes: the length of the file; 8: of the output; 4: usual bytes between two points; 4:
 * bytes
 *         of a window; 4: the number of points
 *     for each point: 8 bytes: the first whole byte in the file; 8: place in the output; 1: bits,
 * as
 *         above; from version 1 on: 1 byte, 1 if the point has a window
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
    ACCESS_INDEX_DAMAGED, /* numbers in it contradict each other, or it is cut off */
    ACCESS_INDEX_OTHER,   /* it belongs to a file of another length */
    ACCESS_INDEX_READ_ERROR,
    ACCESS_INDEX_NO_MEMORY,
};

/* What an index says. */
struct access_index {
    enum access_format format;
    uint64_t file_size; /* the length of the file; UINT64_MAX: not known */
    uint64_t size;      /* the length of the output; UINT64_MAX: not known */
    uint64_t lines;     /* line feeds in the output, or ACCESS_NO_LINE */
};

/*
 * Reads the index of a file of file_size bytes.  The points are added to *points, with is_hint set,
 * except that the point at the start of the file is always true.  Windows stay in the index
 * (window.h).
 */
enum access_index_status access_index_read(const struct access_source *source, uint64_t file_size,
                                           struct access_points *points,
                                           struct access_index *index);

/* Writes an index in gztool's or indexed_gzip's format by calls of `put`, which returns false if it
 * fails.  The windows of the points are in memory, or in `source`, the index from which they were
 * read.  False if `put` or memory fails, or a window is damaged.  No point is a header. */
bool access_index_write(const struct access_points *points, const struct access_source *source,
                        const struct access_index *index,
                        bool (*put)(void *ctx, const void *bytes, size_t len), void *ctx);

#endif
