/*
 * relay.h - lets a user see places where a block starts while compat/ decodes
 *
 * compat/ asks a struct gz_ahead (compat/io.h) whether another thread has decoded ahead from a
 * place, and if so, what.  A relay passes these questions on.  Besides, it makes compat/ stop at
 * the first block after every 16 KiB of input, so that its user gets the place, the window and the
 * check value there.
 */
#ifndef GZLZSS_ACCESS_RELAY_H
#define GZLZSS_ACCESS_RELAY_H

#include "compat/io.h"

struct access_relay {
    /* The caller's functions, or NULL.  Set this. */
    const struct gz_ahead *inner;
    /* The next two members are zero at first. */
    bool inner_has;     /* the last result of inner->has */
    uint64_t stop_from; /* decoding does not stop before this bit, unless `inner` asks for it */
};

/* As gz_ahead.has: whether decoding stops at bit `bit`. */
bool access_relay_has(struct access_relay *r, uint64_t bit, uint64_t *from);

/* As gz_ahead.run: lets `inner` write what it has.  The user has taken note of the place. */
bool access_relay_run(struct access_relay *r, struct gz_place *place);

#endif
