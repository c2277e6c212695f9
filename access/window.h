/*
 * window.h - the windows of points: the bytes before a point that data after it may copy
 */
#ifndef GZLZSS_ACCESS_WINDOW_H
#define GZLZSS_ACCESS_WINDOW_H

#include "access/points.h"
#include "access/source.h"

/* Copies the point's window to the bytes before `end`, where there is room for INF_WINDOW bytes.
 * Returns the number of bytes in the window, or -1 if the window is damaged or cannot be read.
 * `index` is the index from which the point was read, or NULL. */
ssize_t access_window_get(const struct access_point *p, const struct access_source *index,
                          uint8_t *end);

/*
 * Packs the window[0..len) of the point at bit `bit` of the file, len at most INF_WINDOW: sets
 * p->form, p->stored and p->bytes.  Returns false if memory is short.
 *
 * Decoding needs only the bytes of the window that data after the point copies.  So if the file can
 * be read, all other bytes are set to 0 first.  (`file` is NULL if it cannot be read.)  In text,
 * that makes the packed window a third as large.  If no byte is needed, the point gets no window.
 */
bool access_window_pack(struct access_point *p, const struct access_source *file,
                        const uint8_t *window, size_t len);

#endif
