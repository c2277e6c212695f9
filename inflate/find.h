/*
 * find.h - where a block of DEFLATE may start in the middle of data
 *
 * What is found is a guess: the same bits may be something else.  Whoever decodes from there must
 * not use it before decoding from the start has come to the same place.
 */
#ifndef GZLZSS_INFLATE_FIND_H
#define GZLZSS_INFLATE_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The mark of `pigz -i`: two empty stored blocks, of which these are the last bytes.  What follows
 * does not refer to what comes before. */
#define INF_MARK_SIZE ((size_t)9)

/* An empty stored block, as zlib's Z_SYNC_FLUSH writes it: its last bytes. */
#define INF_SYNC_SIZE ((size_t)4)

/* Whether in[0..INF_MARK_SIZE), or in[0..INF_SYNC_SIZE), are these. */
bool inf_is_mark(const uint8_t *in);
bool inf_is_sync(const uint8_t *in);

/*
 * Where in in[from..to), from <= to, one of these starts, or the first two bytes of a gzip header:
 * at the place that is returned or in the INF_HINT_SIZE bytes from there on, there may be some; there
 * are none before it.  `to` if there are none.
 */
#define INF_HINT_SIZE ((size_t)128)
size_t inf_find_hint(const uint8_t *in, size_t from, size_t to);

#define INF_NOWHERE UINT64_MAX

/* A table for inf_find_dynamic. */
#define INF_FIND_BITS 13

struct inf_finder {
    uint8_t skip[1 << INF_FIND_BITS]; /* how many bits further a header may start */
    uint16_t used[1 << 12];           /* what four code lengths of 3 bits use up, of 128 */
};

void inf_finder_init(struct inf_finder *f);

/*
 * The first bit of in[0..len), from bit `from` to before bit `to`, where the header of a dynamic
 * block that is not the final one starts, and all of the header is good (blockheader.h); or
 * INF_NOWHERE.  A header that in[0..len) does not have all of is not found.  Nothing after in + len
 * is used, but up to 8 bytes are read.
 */
uint64_t inf_find_dynamic(const struct inf_finder *f, const uint8_t *in, size_t len, uint64_t from,
                          uint64_t to);

#endif
