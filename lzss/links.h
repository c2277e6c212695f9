/*
 * links.h - hash chains on the CPU: for every position, how far back the one before it is
 *
 * A first pass over each chunk enters every position into a hash table and notes the distance to
 * the one it displaces: the links of the chains.  No branch in it depends on the data.  Searches
 * then follow links only where they need to.
 *
 * Positions are counted from the chunk's start, in signed 16 bits.  When a chunk is done, 32768 is
 * taken off every entry of the table (links_next_chunk), and what falls out of reach becomes NONE.
 */
#ifndef GZLZSS_LZSS_LINKS_H
#define GZLZSS_LZSS_LINKS_H

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "lzss/hashes.h"

/* The entry that names no position: further back than any that is in reach of a chunk. */
#define LINKS_NONE INT16_MIN

_Static_assert(LZ_CHUNK_SIZE == 32768 && LZ_CHAINS_WINDOW < 32768, "positions in 16 bits");

/* One set of chains: the table, and the links of the chunk before, then of the chunk at hand.  Chains by
 * three and twelve bytes use only the first part of the table. */
struct links {
    int16_t table[1 << LZ_CHAINS_HASH_BITS];
    uint16_t links[2 * LZ_CHUNK_SIZE];
};

/* links_at(l)[p], for p from -LZ_CHUNK_SIZE up to the chunk's last position, is the distance to the
 * position before p in p's chain.  If there is none, the link is longer than LZ_CHAINS_WINDOW.  A search
 * ends at the first position that lies more than LZ_CHAINS_WINDOW before where it began. */
static inline uint16_t *links_at(struct links *l)
{
    return l->links + LZ_CHUNK_SIZE;
}

/* The bits of the hash of the first `bytes` (3, 4, 7 or 12) bytes. */
static inline int links_hash_bits(unsigned bytes)
{
    return bytes == 4 || bytes == LZ_LONG ? LZ_CHAINS_HASH_BITS : LZ_CHAINS_HASH_BITS_FEW;
}

/* Forgets everything: a segment starts. */
static inline void links_start(struct links *l, unsigned bytes)
{
    const size_t entries = (size_t)1 << links_hash_bits(bytes);

    for (size_t i = 0; i < entries; i++)
        l->table[i] = LINKS_NONE;
}

/* The chunk is done; the next follows. */
static inline void links_next_chunk(struct links *l, unsigned bytes)
{
    const size_t entries = (size_t)1 << links_hash_bits(bytes);

    /* entry - LZ_CHUNK_SIZE, or NONE if it was negative, in operations that vectors of 16 bits have. */
    for (size_t i = 0; i < entries; i++) {
        int16_t entry = l->table[i];

        l->table[i] = (int16_t)((entry & ~(entry >> 15)) | LINKS_NONE);
    }
    memcpy(l->links, links_at(l), LZ_CHUNK_SIZE * sizeof(l->links[0]));
}

/* A chunk starts: a segment's first, or the one that follows the chunk whose positions are in the table. */
static inline void links_start_chunk(struct links *l, unsigned bytes, bool follows)
{
    if (follows)
        links_next_chunk(l, bytes);
    else
        links_start(l, bytes);
}

/* Enters position `pos` under its hash, and returns the distance to the one before, 1 to 65535.  Without
 * one, the distance is above LZ_CHAINS_WINDOW: NONE lies 32768 back from a chunk's first position. */
static inline uint16_t links_enter(int16_t *entry, int32_t pos)
{
    int32_t distance = pos - *entry;

    *entry = (int16_t)pos;
    return (uint16_t)distance;
}

/* The hash of the first `bytes` (3, 4, 7 or 12) bytes at p. */
static inline uint32_t links_hash(const uint8_t *p, unsigned bytes)
{
    uint64_t eight;

    if (bytes == 3)
        return lz_hash3(load32(p));
    if (bytes == 4)
        return lz_hash4(load32(p));
    eight = load64(p);
    if (bytes == 7)
        return lz_hash7((uint32_t)eight, (uint32_t)(eight >> 32));
    return lz_hash12((uint32_t)eight, (uint32_t)(eight >> 32), load32(p + 8));
}

/* Enters the chunk in[0..size) by its positions' first `bytes` bytes, a constant. */
static inline __attribute__((always_inline)) void
links_make(struct links *restrict l, unsigned bytes, const uint8_t *restrict in, int32_t size)
{
    uint16_t *links = links_at(l);

    for (int32_t i = 0; i < size; i++)
        links[i] = links_enter(&l->table[links_hash(in + i, bytes)], i);
}

/* The same for two at a time, so that the one's misses of the cache overlap with the other's. */
static inline __attribute__((always_inline)) void
links_make_two(struct links *restrict a, unsigned a_bytes, struct links *restrict b,
               unsigned b_bytes, const uint8_t *restrict in, int32_t size)
{
    uint16_t *restrict a_links = links_at(a);
    uint16_t *restrict b_links = links_at(b);

    for (int32_t i = 0; i < size; i++) {
        int16_t *a_entry = &a->table[links_hash(in + i, a_bytes)];
        int16_t *b_entry = &b->table[links_hash(in + i, b_bytes)];

        a_links[i] = links_enter(a_entry, i);
        b_links[i] = links_enter(b_entry, i);
    }
}

/* Segments of at most this many bytes have a table of this many entries.  To clear the large table, and to get
 * its pages from the system in a new process, takes longer than to match such a segment. */
#define LINKS_SMALL_BITS 12
#define LINKS_SMALL (1 << LINKS_SMALL_BITS)

/*
 * Does the same as links_start and links_make, for a segment in[0..size) of at most LINKS_SMALL bytes.
 * An entry of the small table is shared by several hashes.  It has the last position of a list, which has all
 * positions of these hashes.  The search for the last one with the same hash goes back along the list.  Lists are
 * kept in the memory for the links of the chunk before, as there is no such chunk.
 * The time is bounded: a position that was passed over for a hash lies behind a position with that hash from
 * then on, where the next search for it ends.  So it is passed over at most once for each of the 7 or 15
 * other hashes.
 */
static inline __attribute__((always_inline)) void links_make_small(struct links *l, unsigned bytes,
                                                                   const uint8_t *in, int32_t size)
{
    const int shift = links_hash_bits(bytes) - LINKS_SMALL_BITS;
    uint16_t *links = links_at(l), *before = l->links;

    for (int32_t i = 0; i < LINKS_SMALL; i++)
        l->table[i] = LINKS_NONE;
    for (int32_t i = 0; i < size; i++) {
        const uint32_t hash = links_hash(in + i, bytes);
        int16_t *const last = &l->table[hash >> shift];
        int16_t at = *last;

        before[i] = (uint16_t)at;
        *last = (int16_t)i;
        while (at != LINKS_NONE && links_hash(in + at, bytes) != hash)
            at = (int16_t)before[at];
        links[i] = (uint16_t)(i - at);
    }
}

#endif
