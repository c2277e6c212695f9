/*
 * reader.h - reads the decompressed data of a .gz at any place
 *
 * A reader keeps points from which decoding may begin, and a few cursors where recent reads have
 * ended.  A read begins at the nearest point or cursor before its offset.  Points come from an
 * index, from the file's layout (BGZF, marks), and from reads, which leave a point every
 * ACCESS_APART bytes.
 *
 * An index and a layout are hints.  They may be wrong, by accident or on purpose.  So:
 *
 *   - The first read from a hint decodes on to the next point, or to the end of the file.
 *   - Before the first read from a hint, the data from the start of the file to the first hint is
 *     decoded, if it has at most ACCESS_START_MAX bytes.  So hints that are all shifted by the same
 *     number of bytes are found.
 *   - Each read compares all hints that it passes.
 *   - If decoding began at a hint and comes to a trailer, the length in it must be possible.
 *
 * If a place, a length or a CRC is not as expected, all hints are dropped, with everything that was
 * found out by decoding from them: points, cursors and the length of the data.  Bytes that earlier
 * reads have given out cannot be taken back.
 *
 * These checks cannot find wrong bytes in the window that an index gives.  They also cannot find
 * places from some hint on that are all shifted, until a read passes that hint.  Only decoding all
 * data before these places could find them.
 */
#ifndef GZLZSS_ACCESS_READER_H
#define GZLZSS_ACCESS_READER_H

#include "access/index.h"
#include "access/points.h"
#include "compat/status.h"

/* The usual distance of points that reads leave, in bytes of output.  Decoding from one point to
 * the next takes 2 ms. */
#ifndef ACCESS_APART /* tests choose other sizes */
#define ACCESS_APART ((uint64_t)1 << 20)
#endif

/* The check of the first hint decodes at most this many bytes of output, in 0.2 s. */
#define ACCESS_START_MAX ((uint64_t)64 << 20)

/* The most bytes of memory for points.  If the points need more, every second point is dropped, and
 * the distance of new points doubles. */
#define ACCESS_POINTS_MEMORY ((uint64_t)32 << 20)

/* Where a reader's hints come from. */
enum access_hints {
    ACCESS_UNKNOWN, /* the reader has not looked yet */
    ACCESS_NOTHING, /* the file has no hints, and the reader has no index */
    ACCESS_INDEX,
    ACCESS_BGZF,
    ACCESS_MARKS,
    ACCESS_WRONG_HINTS, /* there were hints, and they were wrong */
};

struct access_reader;

/* Makes a reader.  *source is copied; the file or memory to which it refers must not change.
 * Returns NULL if memory is short. */
struct access_reader *access_open(const struct access_source *source);

/* Frees r, which may be NULL. */
void access_close(struct access_reader *r);

/* Gives the reader an index.  The index must not change until access_close.  Call this before any
 * read.  If the call fails, the reader is as before.  index->watch is asked during the call
 * only. */
enum access_index_status access_use_index(struct access_reader *r,
                                          const struct access_source *index);

/* Looks for BGZF or marks, unless the reader has an index, or has looked before.  Returns the kind
 * of hints that the reader has now.  The result is ACCESS_UNKNOWN if `watch`, which may be NULL,
 * has ended the search; a later call then begins it again.  If another thread is looking, waits for
 * it.  Reads that need no hints do not wait. */
enum access_hints access_look(struct access_reader *r, const struct access_watch *watch);

/* Whether a read has found that the hints are wrong. */
bool access_had_wrong_hints(struct access_reader *r);

/* Sets whether a read fails if it began at a hint, and the hints are wrong.  Such a read returns
 * GZ_BAD_DATA, and access_look returns ACCESS_WRONG_HINTS from then on.  By default, the read
 * begins again without hints. */
void access_set_strict(struct access_reader *r, bool is_strict);

/*
 * Reads `len` bytes of the decompressed data, from byte `offset` on, into buf.  Sets *done to the
 * number of bytes read, which is less than `len` only at the end of the data or after an error.
 * After an error, these are bytes before the damage; 0 if the hints are wrong.
 * Returns the same statuses as access_cursor_step, and GZ_READ_ERROR if `watch`, which may be NULL,
 * ends the read.  Several threads may read at the same time.
 */
enum gz_status access_read(struct access_reader *r, void *buf, size_t len, uint64_t offset,
                           size_t *done, const struct access_watch *watch);

/* Checks the last point at byte `offset` of the output or before it, by decoding up to the next
 * point, if the point is a hint and no read has checked it.  access_proven_point then returns that
 * point.  If it is the last of all points, and the length of the data is not known, checks the
 * point before it instead.  If a hint is wrong, all are dropped.  After an error, which a read will
 * find again, nothing is checked. */
void access_check(struct access_reader *r, uint64_t offset, const struct access_watch *watch);

/* Returns the last proven point at byte `offset` of the output or before it: the start, a point
 * that a read has left, or a hint that a read has checked.  Copies its window to the end of the
 * INF_WINDOW bytes of `window`, after zeros if it is shorter.  The result's `stored` is the length
 * of that window. */
struct access_point access_proven_point(struct access_reader *r, uint64_t offset, uint8_t *window);

/* Whether a read from byte `offset` of the output on must first decode more than `len` bytes.  It
 * must if no point and no cursor is at `offset` or in the `len` bytes before it. */
bool access_is_far(struct access_reader *r, uint64_t offset, uint64_t len);

/* Adds *p, a proven point where a block starts, with the window window[0..len), which is copied.
 * p->is_hint says whether decoding began at a hint.  Does nothing if the last point before *p is
 * too near, or if decoding began at a hint and the hints were wrong.  Ignores the members
 * is_checked, form, stored and bytes of *p.  Returns the first byte of output at which the next
 * point would be added. */
uint64_t access_leave_point(struct access_reader *r, const struct access_point *p,
                            const uint8_t *window, size_t len);

/* The length of the decompressed data if hints or an earlier read tell it, else UINT64_MAX.  Hints
 * may be wrong.  With bgzip's index, the result is the place of the last member instead. */
uint64_t access_size_hint(struct access_reader *r, const struct access_watch *watch);

/* Sets *size to the length of the decompressed data.  Decodes from the last point up to the end,
 * unless an earlier read has come to the end.  If the last point is a hint, so is the result. */
enum gz_status access_size(struct access_reader *r, uint64_t *size,
                           const struct access_watch *watch);

/* Output between two places, and the line feeds before each of them. */
struct access_stretch {
    uint64_t from, lines_from;
    uint64_t to, lines_to;
};

/* Finds the stretch in which line `line` (counted from 0) begins, by the line numbers in the index.
 * The line numbers are hints, so the caller must count the line feeds in the stretch.  Returns
 * false if the index has no line numbers. */
bool access_find_line(struct access_reader *r, uint64_t line, struct access_stretch *found);

/* Writes an index of the points that are known, as access_index_write does.  A BGZF file gets
 * bgzip's index, whatever the format.  Hints that no read has found wrong are written, too.
 * Returns false with errno set, also if `watch`, which may be NULL, has ended the work. */
bool access_export(struct access_reader *r, enum access_format format,
                   bool (*put)(void *ctx, const void *bytes, size_t len), void *ctx,
                   const struct access_watch *watch);

#endif
