/*
 * cursors.h - a few cursors that wait at the places where reads have ended.  A later read that
 * continues from such a place uses the cursor, and need not begin at a point.
 *
 * The caller has a lock that protects the struct.
 */
#ifndef GZLZSS_ACCESS_CURSORS_H
#define GZLZSS_ACCESS_CURSORS_H

#include "access/cursor.h"

/* The most cursors that are kept, of 0.7 MB each. */
#define ACCESS_CURSORS 4

/* The cursors that wait.  idle[0] was put in last, idle[1] before that, and so on.  Unused entries
 * of the array, which come last, are NULL; so at first, all entries are NULL. */
struct access_cursors {
    struct access_cursor *idle[ACCESS_CURSORS];
};

/* Frees all cursors in s. */
void access_cursors_clear(struct access_cursors *s);

/* Frees the cursors that began at a hint. */
void access_cursors_drop_hints(struct access_cursors *s);

/* Whether a cursor is at byte `from` of the output or after it, and not after `to`. */
bool access_cursors_have(const struct access_cursors *s, uint64_t to, uint64_t from);

/* Takes out the cursor with the highest place from byte `from` to byte `to`; NULL if there is
 * none. */
struct access_cursor *access_cursors_take(struct access_cursors *s, uint64_t to, uint64_t from);

/* Returns a cursor for a read to set to a point.  If fewer than ACCESS_CURSORS cursors wait, makes
 * a new cursor.  If all ACCESS_CURSORS wait, or memory is short, takes out the waiting cursor that
 * was put in first.  Returns NULL if memory is short and no cursor waits. */
struct access_cursor *access_cursors_make(struct access_cursors *s,
                                          const struct access_source *source);

/* Puts a cursor in.  If ACCESS_CURSORS cursors wait already, frees the cursor that was put in
 * first. */
void access_cursors_put(struct access_cursors *s, struct access_cursor *c);

#endif
