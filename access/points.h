/*
 * points.h - places in a .gz from which decoding may begin
 *
 * A point says where a block or a member starts in the file, how many bytes of output come before
 * it, and which bytes the data may refer to (the window).
 */
#ifndef GZLZSS_ACCESS_POINTS_H
#define GZLZSS_ACCESS_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of access_point.line if it is not known. */
#define ACCESS_NO_LINE UINT64_MAX

/* How a window is stored. */
enum access_form {
    ACCESS_NO_WINDOW, /* nothing refers to bytes before the point */
    ACCESS_RAW,       /* the bytes themselves, INF_WINDOW at most */
    ACCESS_PACKED,    /* in zlib's format (RFC 1950) */
};

struct access_point {
    uint64_t bit;  /* the place in the file, in bits */
    uint64_t out;  /* bytes of output before the point */
    uint64_t line; /* line feeds before the point, or ACCESS_NO_LINE */
    /* Whether a member's header starts at the point; if not, a DEFLATE block starts there. */
    bool is_header;
    /* Whether the point comes from an index or a guess, or from decoding that began at such a
     * point.  If not, decoding from the start of the file has come to the point. */
    bool is_hint;
    /* Whether decoding from this hint has come to the place that another hint gives, or decoding
     * has come to this hint.  A later read may still find that both are wrong. */
    bool is_checked;
    /* The CRC and the length of the member's data before the point.  has_crc says whether both are
     * known. */
    bool has_crc;
    uint32_t crc;
    uint64_t len;
    enum access_form form;
    uint32_t stored; /* bytes of the stored window */
    /* The stored window, in allocated memory.  If NULL, the window is in the index, from byte `at`
     * on. */
    uint8_t *bytes;
    uint64_t at;
};

/* Points, by rising `out` and `bit`. */
struct access_points {
    struct access_point *list;
    size_t count, room;
    uint64_t bytes; /* memory for windows */
    /* The most bytes of memory for the list and the windows.  If they need more, every second point
     * is dropped.  0 means no limit. */
    uint64_t most;
    /* How often every second point was dropped. */
    unsigned halvings;
};

/* Inserts a copy of *p into the list, which then owns p->bytes.  If memory is short, frees p->bytes
 * and returns false. */
bool access_points_add(struct access_points *points, const struct access_point *p);

/* Returns the number of points with an `out` of at most `out`.  The last of these points has the
 * result less 1 as its index. */
size_t access_points_until(const struct access_points *points, uint64_t out);

/* Removes the hints. */
void access_points_drop_hints(struct access_points *points);

/* Frees all points.  The list is then empty and may be used again. */
void access_points_clear(struct access_points *points);

#endif
