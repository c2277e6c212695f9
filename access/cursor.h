/*
 * cursor.h - decodes a .gz from any point on, step by step
 *
 * The caller makes a cursor, sets it to a point, and calls access_cursor_step again and again.
 * Each step gives a piece of output, or comes to a place of interest, or both.  Only gzip's own
 * format is decoded, with any number of members.
 */
#ifndef GZLZSS_ACCESS_CURSOR_H
#define GZLZSS_ACCESS_CURSOR_H

#include "access/points.h"
#include "access/source.h"
#include "compat/gzip.h"
#include "inflate/steps.h"

struct access_cursor {
    const struct access_source *source;
    struct inf_buffers b;

    /* The output: piece[0..piece_len) are the last bytes of the `out` bytes before the cursor.  The
     * caller takes bytes from the piece, and must have taken all of them before the next step. */
    const uint8_t *piece;
    size_t piece_len;
    uint64_t out;

    /* A step ends when a block ends at this bit of the file or after it.  If stop_at is UINT64_MAX,
     * no step ends at the end of a block. */
    uint64_t stop_at;
    /* Whether the last step ended at a place where a block or a member's header starts; `bit` is
     * that place. */
    bool is_at_place, is_at_header;
    uint64_t bit;
    /* Whether all output was made, and the file has no other member. */
    bool has_ended;
    /* With has_ended: whether the file goes on with bytes that are no member, and not all zero. */
    bool has_garbage;

    /* For the reader alone (reader.c): whether decoding began at the start of the file or at a
     * point that was checked; and whether it began at a hint, checked or not.  `began` is the byte
     * of the output at which it began. */
    bool is_proven, is_hint;
    uint64_t began;

    /* The CRC and the length of the member's data before the cursor.  knows_member says whether
     * both are known. */
    bool knows_member;
    uint32_t crc;
    uint64_t len;
    /* With is_at_header: the length of the member before, modulo 2^32, as its trailer says. */
    uint32_t stored_len;

    /* For cursor.c alone. */
    enum { CURSOR_HEADER, CURSOR_DATA, CURSOR_TRAILER } state;
    uint8_t *in, *memory; /* buffers */
};

/* Makes a cursor, with 0.7 MB of memory.  Returns NULL if memory is short. */
struct access_cursor *access_cursor_new(const struct access_source *source);

/* Frees c, which may be NULL. */
void access_cursor_free(struct access_cursor *c);

/* Sets the cursor to a point.  window[0..len) are the last bytes of output before the point; len is
 * at most INF_WINDOW.  Returns false if memory is short. */
bool access_cursor_begin(struct access_cursor *c, const struct access_point *p,
                         const uint8_t *window, size_t len);

/* The point at the start of the file. */
struct access_point access_start(void);

/*
 * Does the next step of decoding.  Returns GZ_OK, or:
 *
 *   - GZ_BAD_DATA, GZ_BAD_CRC, GZ_BAD_LENGTH, GZ_TRUNCATED, or an error in a header: the file is
 *     damaged;
 *   - GZ_NOT_GZIP: the file does not begin with a member, or a member in an older format follows;
 *   - GZ_READ_ERROR, with errno set, or GZ_NO_MEMORY.
 */
enum gz_status access_cursor_step(struct access_cursor *c);

/* The byte of the output that the cursor gives next. */
static inline uint64_t access_cursor_place(const struct access_cursor *c)
{
    return c->out - c->piece_len;
}

/* The bytes before the cursor that later data may refer to: *len of them, INF_WINDOW at most. */
const uint8_t *access_cursor_window(const struct access_cursor *c, size_t *len);

#endif
