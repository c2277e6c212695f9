/*
 * relay.c - tells of places where a block starts while compat/ decodes (relay.h)
 */
#include "config.h"

#include "access/relay.h"

/* After a stop, decoding does not stop in the next STOPS_APART bytes of input.  The reason is that
 * compat/ writes all output before it calls `run`, which takes time. */
#define STOPS_APART ((uint64_t)16 << 10)

bool access_relay_has(struct access_relay *r, uint64_t bit, uint64_t *from)
{
    *from = UINT64_MAX;
    r->inner_has = r->inner != NULL && r->inner->has(r->inner->ctx, bit, from);
    if (r->inner_has || bit >= r->stop_from)
        return true;
    if (r->stop_from < *from)
        *from = r->stop_from;
    return false;
}

bool access_relay_run(struct access_relay *r, struct gz_place *place)
{
    r->stop_from = place->bit + 8 * STOPS_APART;
    return !r->inner_has || r->inner->run(r->inner->ctx, place);
}
