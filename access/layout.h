/*
 * layout.h - where a file's members or segments start, without decoding it
 *
 * The results are hints, which may be wrong.  So the reader checks a point before it gives out
 * bytes that were decoded from there (reader.c).
 */
#ifndef GZLZSS_ACCESS_LAYOUT_H
#define GZLZSS_ACCESS_LAYOUT_H

#include "access/points.h"
#include "access/source.h"

enum access_layout {
    ACCESS_LAYOUT_FOUND,
    ACCESS_LAYOUT_NONE, /* the file is of another kind, or damaged */
    ACCESS_LAYOUT_READ_ERROR,
    ACCESS_LAYOUT_NO_MEMORY,
};

/*
 * Goes through the members of a BGZF file without decoding them.  That is possible because each
 * member's header says how long the member is, and its trailer says how much data it holds.  Calls
 * `found` for the first member and for each other member with data, until `found` returns false.
 * `at` and `out` are the bytes of the file and of the output where the member starts.  Sets *size
 * to the bytes of all data.
 *
 * ACCESS_LAYOUT_NONE: the file is not BGZF up to its end.  ACCESS_LAYOUT_NO_MEMORY: `found` has
 * returned false.
 */
enum access_layout access_bgzf_walk(const struct access_source *file,
                                    bool (*found)(void *ctx, uint64_t at, uint64_t out), void *ctx,
                                    uint64_t *size);

/* Makes points of the members that start `apart` bytes of output or more after the last point.
 * Sets *size as access_bgzf_walk does. */
enum access_layout access_bgzf_list(const struct access_source *file, uint64_t apart,
                                    struct access_points *points, uint64_t *size);

/*
 * Lists the segments of a file that gzlzss or `pigz -i` has written, by the marks between them
 * (docs/format.md).  Marks do not say how long a segment is.  So this succeeds only if the file is
 * one member, and all of these are true:
 *
 *   - the first segment has a multiple of 1024 bytes;
 *   - if the first segment's length is subtracted from the length in the trailer once for each
 *     mark, modulo 2^32, the result is 1 to the first segment's length;
 *   - the last segment's length is exactly this result, and the last segment ends before the
 *     trailer.
 *
 * If the segments' lengths differ, or if nine bytes of other data look like a mark, it is very
 * unlikely that all three are true by chance.  Sets *size to the bytes of all data.
 */
enum access_layout access_marks_list(const struct access_source *file, struct access_points *points,
                                     uint64_t *size);

/*
 * Finds a mark near the end of the file, after which at least `want` bytes of output follow up to
 * the file's end.  Decodes the segments after that mark.  Each of them must end at the next mark,
 * and the last of them before the trailer.  Sets *bit to the mark's end and *len to the bytes of
 * output after it.
 *
 * Looks at no more than the last 64 MiB of the file.
 */
enum access_layout access_marks_tail(const struct access_source *file, uint64_t want, uint64_t *bit,
                                     uint64_t *len);

#endif
