/*
 * links.h - hash chains on the CPU: the distance from each position to the previous one with its
 * hash
 *
 * The first pass over a chunk enters each position into a hash table, and notes the distance to the
 * position that it displaces there.  These distances are the links of the chains.  No branch of
 * this pass depends on the data, so the processor predicts all of them.  The searches come after
 * this pass, and follow only the links that they need.
 *
 * A position is a signed number of 16 bits, counted from the chunk's start; that keeps the table
 * small.  When a chunk is done, links_age subtracts 32768 from each entry of the table; an entry
 * that goes out of reach becomes LINKS_NONE.
 */
#ifndef GZLZSS_LZSS_LINKS_H
#define GZLZSS_LZSS_LINKS_H

#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#include "base/bytes.h"
#include "lzss/hashes.h"

/* The entry of a hash that has no position.  As a number it is -32768: further back than any
 * position that a chunk can reach. */
#define LINKS_NONE INT16_MIN

_Static_assert(LZ_CHUNK_SIZE == 32768 && LZ_CHAINS_WINDOW < 32768, "positions in 16 bits");

/* A set of chains, by prefixes of one length. */
struct links {
    /* The last position of each hash, or LINKS_NONE.  Prefixes of 3 and of 12 or more bytes use
     * only the first half of the table. */
    int16_t table[1 << LZ_CHAINS_HASH_BITS];

    /* The links of the previous chunk, then those of the current one. */
    uint16_t links[2 * LZ_CHUNK_SIZE];
};

/* links_at(l)[p], for p from -LZ_CHUNK_SIZE to the chunk's last position, is the distance from p to
 * the previous position of its chain; if there is none, it is more than LZ_CHAINS_WINDOW.  A search
 * must end at the first position of the chain that lies more than LZ_CHAINS_WINDOW before the
 * position from which the search began. */
static inline uint16_t *links_at(struct links *l)
{
    return l->links + LZ_CHUNK_SIZE;
}

/* The number of bits of the hash of `bytes` bytes. */
static inline int links_hash_bits(unsigned bytes)
{
    return bytes >= 4 && bytes <= 8 ? LZ_CHAINS_HASH_BITS : LZ_CHAINS_HASH_BITS_FEW;
}

/* Empties the first 2^bits entries of the table.  The C library's wmemset takes the widest vectors
 * that the processor has, two entries a wide character. */
static inline void links_empty(struct links *l, int bits)
{
    const uint32_t two = (uint16_t)LINKS_NONE * UINT32_C(0x10001);

    _Static_assert(sizeof(wchar_t) == 2 * sizeof(l->table[0]), "two entries");
    wmemset((wchar_t *)(void *)l->table, (wchar_t)two, ((size_t)1 << bits) / 2);
}

/* Empties the table at the start of a segment. */
static inline void links_start(struct links *l, unsigned bytes)
{
    links_empty(l, links_hash_bits(bytes));
}

/* Prepares the table, which has the positions of a chunk, for the chunk after it. */
static inline __attribute__((always_inline)) void links_age(struct links *l, unsigned bytes)
{
    const size_t entries = (size_t)1 << links_hash_bits(bytes);

    /* The new entry is entry - LZ_CHUNK_SIZE, or LINKS_NONE if the entry is negative.  For the
     * expression below, compilers use vectors of 16-bit numbers. */
    for (size_t i = 0; i < entries; i++) {
        int16_t entry = l->table[i];

        l->table[i] = (int16_t)((entry & ~(entry >> 15)) | LINKS_NONE);
    }
}

/* Prepares the table and the links of a chunk for the chunk after it. */
static inline __attribute__((always_inline)) void links_next_chunk(struct links *l, unsigned bytes)
{
    links_age(l, bytes);
    memcpy(l->links, links_at(l), LZ_CHUNK_SIZE * sizeof(l->links[0]));
}

/* Prepares for a chunk.  If `follows` is true, keeps the positions that the table has of the chunk
 * before it.  Otherwise the chunk is a segment's first, and the table is emptied. */
static inline void links_start_chunk(struct links *l, unsigned bytes, bool follows)
{
    if (follows)
        links_next_chunk(l, bytes);
    else
        links_start(l, bytes);
}

/* Enters position `pos` into the entry of its hash.  Returns the distance to the displaced
 * position, 1 to 65535.  If the entry had no position, the result is more than LZ_CHAINS_WINDOW, as
 * LINKS_NONE is 32768 less than a chunk's first position. */
static inline uint16_t links_enter(int16_t *entry, int32_t pos)
{
    int32_t distance = pos - *entry;

    *entry = (int16_t)pos;
    return (uint16_t)distance;
}

/* The hash of the `bytes` (3 to 8, 12, 24 or 64) bytes at p. */
static inline uint32_t links_hash(const uint8_t *p, unsigned bytes)
{
    uint64_t eight;

    if (bytes == 3)
        return lz_hash3(load32(p));
    if (bytes == 4)
        return lz_hash4(load32(p));
    eight = load64(p);
    if (bytes == 5)
        return lz_hash5((uint32_t)eight, (uint32_t)(eight >> 32));
    if (bytes == 6)
        return lz_hash6((uint32_t)eight, (uint32_t)(eight >> 32));
    if (bytes == 7)
        return lz_hash7((uint32_t)eight, (uint32_t)(eight >> 32));
    if (bytes == 8)
        return lz_hash8((uint32_t)eight, (uint32_t)(eight >> 32));
    if (bytes == 24)
        return lz_hash24(eight, load64(p + 8), load64(p + 16));
    if (bytes == 64)
        return lz_hash64(eight, load64(p + 16), load64(p + 40), load64(p + 56));
    return lz_hash12((uint32_t)eight, (uint32_t)(eight >> 32), load32(p + 8));
}

/* Makes the links of the chunk in[0..size) for two sets of chains at once, so that their cache
 * misses overlap.  Each set has prefixes of a length that is a compile-time constant. */
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

/* Steps that have a version for each path (cpu.h).  `size` is the chunk's size, and the first byte
 * after it that is read is in[size]; the last one is in[size + LZ_INPUT_PAD - 1]. */
struct links_functions {
    /* Makes the links of the chunk in[0..size) by three, four or LZ_LONG bytes. */
    void (*make3)(struct links *l, const uint8_t *in, int32_t size);
    void (*make4)(struct links *l, const uint8_t *in, int32_t size);
    void (*make7)(struct links *l, const uint8_t *in, int32_t size);

    /* links_age for a table of three bytes, and links_next_chunk for one of four or LZ_LONG. */
    void (*age3)(struct links *l);
    void (*next_chunk)(struct links *l);
};

/* The fastest versions that this processor can run. */
const struct links_functions *links_functions(void);

/*
 * Segments of up to LINKS_SMALL bytes use only 2^LINKS_SMALL_BITS entries of the table.  Clearing a
 * whole table, and getting its pages from the system in a new process, would take longer than
 * matching such a segment.  With more bits, clearing takes longer; with fewer bits, the walks in
 * links_make_small take longer.
 *
 * Walks are slow, because the processor cannot predict where a walk ends.  So the small table pays
 * only for small segments: in comparison with a whole table, levels 2 and 6 take 0.87 to 0.96 times
 * as long for 1 KB, as long for 2 KB, and 1.2 to 1.3 times as long for 4 KB.
 */
#define LINKS_SMALL_BITS 13
#define LINKS_SMALL 1024

/*
 * Makes the same links as links_start and links_make, for a segment in[0..size) of at most
 * LINKS_SMALL bytes.
 *
 * Several hashes share an entry of the small table.  The entry holds the last position of a list of
 * all positions with these hashes.  To find the last position with the same hash, the loop goes
 * back along the list.  The lists are kept in the memory for the previous chunk's links, as there
 * is no previous chunk.
 *
 * The time is bounded.  A walk that looks for some hash starts at a position with that hash, and
 * goes back to the last earlier position with it.  The next walk for the same hash ends at the
 * position from which the previous walk started.  So two walks for one hash never pass over the
 * same position.  Each position is passed over at most once for each of the 3 or 7 other hashes
 * that share its entry.
 */
static inline __attribute__((always_inline)) void links_make_small(struct links *l, unsigned bytes,
                                                                   const uint8_t *in, int32_t size)
{
    const int shift = links_hash_bits(bytes) - LINKS_SMALL_BITS;
    uint16_t *links = links_at(l), *before = l->links;

    links_empty(l, LINKS_SMALL_BITS);
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
