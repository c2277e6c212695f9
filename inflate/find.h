/*
 * find.h - finds where a block of DEFLATE may start in the middle of data
 *
 * The places found are guesses, as any bits may look like a header.  Data that was decoded from a
 * guess must not be used before decoding from the data's start has reached the same place.
 */
#ifndef GZLZSS_INFLATE_FIND_H
#define GZLZSS_INFLATE_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the mark that `pigz -i` writes: the last bytes of two empty stored blocks.  Data after a
 * mark does not refer to data before it. */
#define INF_MARK_SIZE ((size_t)9)

/* Bytes of the pattern 00 00 FF FF with which an empty stored block ends.  The pattern starts at a
 * byte boundary.  zlib's Z_SYNC_FLUSH writes such a block. */
#define INF_SYNC_SIZE ((size_t)4)

/* Whether in[0..INF_MARK_SIZE) is a mark. */
bool inf_is_mark(const uint8_t *in);

/* Whether in[0..INF_SYNC_SIZE) is the end of an empty stored block. */
bool inf_is_sync(const uint8_t *in);

/*
 * Finds the next hint in in[from..to), from <= to.  A hint is a mark, the end of an empty stored
 * block, or the first two bytes of a gzip header.  Returns a place before which no hint starts.  If
 * the place is not `to`, a hint probably starts in the INF_HINT_SIZE bytes from there on.  Returns
 * `to` if there is no hint.
 */
#define INF_HINT_SIZE ((size_t)128)
size_t inf_find_hint(const uint8_t *in, size_t from, size_t to);

/*
 * Finds a place in in[from..to) where a stored block probably ends and another one starts, both of
 * them not empty or final.  The first block's length, with its complement, and the second block's
 * header lie in in[from..len).  Data that does not compress has such blocks one after another; this
 * search is many times as fast as that for dynamic blocks.  Returns SIZE_MAX if there is no such
 * place.
 */
size_t inf_find_stored(const uint8_t *in, size_t len, size_t from, size_t to);

/* The place that inf_find_dynamic returns if it found none. */
#define INF_NOWHERE UINT64_MAX

/* Bits of the input that inf_find_dynamic looks up at a time.  With more, it skips further, but the
 * table takes more of the first-level cache.  13 bits extend just to the end of the second count of
 * a header. */
#define INF_FIND_BITS 13

/* Tables for inf_find_dynamic. */
struct inf_finder {
    /* Indexed by the next INF_FIND_BITS bits: how many bits to skip to the next place where a
     * header may start, 0 to INF_FIND_BITS. */
    uint8_t skip[1 << INF_FIND_BITS];

    /* Indexed by four precode lengths of 3 bits: how many of the 128 patterns of 7 bits start with
     * one of the codes of these lengths. */
    uint16_t used[1 << 12];
};

/* Fills in the tables. */
void inf_finder_init(struct inf_finder *f);

/* Fills in the tables for final blocks.  With these tables, inf_find_dynamic finds only headers of
 * dynamic blocks that are final blocks. */
void inf_finder_init_final(struct inf_finder *f);

/*
 * Returns the first bit, from `from` to before `to`, at which a good header (blockheader.h) starts
 * in in[0..len).  The header must be that of a dynamic block that is not the final one (but see
 * inf_finder_init_final), and must lie completely in in[0..len).  Returns INF_NOWHERE if there is
 * none.  Reads up to 8 bytes after in[0..len), but the result does not depend on them.
 */
uint64_t inf_find_dynamic(const struct inf_finder *f, const uint8_t *in, size_t len, uint64_t from,
                          uint64_t to);

/* As inf_find_dynamic, but adds to *checked how many headers were read beyond their precode.  In
 * data that was made for it, reading them takes nearly all the time: up to 2 us for each byte. */
uint64_t inf_find_counted(const struct inf_finder *f, const uint8_t *in, size_t len, uint64_t from,
                          uint64_t to, uint64_t *checked);

#endif
