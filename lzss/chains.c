/*
 * chains.c - the hash chain match finder on the CPU (chains.h says what it finds)
 *
 * As in tagging.c, a first pass over each chunk enters every position into the hash table and notes
 * the distance to the one it displaces: the chains' links.  No branch in it depends on the data.
 * The parse then follows links only where it stops.
 *
 * Positions are counted from the chunk's start, in signed 16 bits.  When a chunk is done, 32768 is
 * taken off every entry of the tables (rebase), and what falls out of reach becomes NONE.
 */
#include "config.h"

#include <string.h>

#include "lzss/bytes.h"
#include "lzss/chains.h"
#include "lzss/emit.h"
#include "lzss/matcher.h"

#define NONE INT16_MIN

_Static_assert(LZ_CHUNK_SIZE == 32768 && LZ_CHAINS_WINDOW < 32768, "positions in 16 bits");

/* One chunk at hand. */
struct chunk {
    const uint8_t *in; /* its first byte */
    int32_t size;
    const uint16_t *links;  /* links[p] for p from -LZ_CHUNK_SIZE to size-1; 0 ends a chain */
    uint32_t distinct;      /* different bytes in its first LZ_SAMPLE */
    const uint16_t *links3; /* links3[p] for p from 0 to size-1, or NULL */
};

static void clear(int16_t *table, size_t entries)
{
    for (size_t i = 0; i < entries; i++)
        table[i] = NONE;
}

static void rebase(int16_t *restrict table, size_t entries)
{
    /* The compiler makes this a saturating subtraction, many entries at a time. */
    for (size_t i = 0; i < entries; i++) {
        int32_t entry = table[i] - LZ_CHUNK_SIZE;

        table[i] = (int16_t)(entry < NONE ? NONE : entry);
    }
}

/* Enters position `pos` under its hash and returns the distance to the one before; more than
 * 65535 bytes cannot be. */
static inline uint16_t enter(int16_t *entry, int32_t pos, int32_t farthest)
{
    int32_t distance = pos - *entry;

    *entry = (int16_t)pos;
    return (uint16_t)(distance <= farthest ? distance : 0);
}

static void make_links(int16_t *restrict table, uint16_t *restrict links,
                       const uint8_t *restrict in, int32_t size)
{
    int32_t i = 0;

    for (; i + 4 <= size; i += 4) {
        uint64_t bytes = load64(in + i);

        for (int32_t k = 0; k < 4; k++) {
            uint32_t hash = lz_chains_hash((uint32_t)(bytes >> (8 * k)));

            links[i + k] = enter(&table[hash], i + k, LZ_CHAINS_WINDOW);
        }
    }
    for (; i < size; i++)
        links[i] = enter(&table[lz_chains_hash(load32(in + i))], i, LZ_CHAINS_WINDOW);
}

/* The same for three bytes.  The table need not be kept from chunk to chunk: what is in reach of a
 * chunk's first positions, the `near3` bytes before it, is entered anew. */
static void make_links3(int16_t *restrict table, uint16_t *restrict links,
                        const uint8_t *restrict in, int32_t size, int32_t before, int32_t near3)
{
    clear(table, 1 << LZ_CHAINS_HASH3_BITS);
    for (int32_t i = -before; i < 0; i++)
        table[lz_chains_hash3(load32(in + i))] = (int16_t)i;
    for (int32_t i = 0; i < size; i++)
        links[i] = enter(&table[lz_chains_hash3(load32(in + i))], i, near3);
}

/* The best match at `pos` that is longer than `length`, looking at `depth` candidates. */
static inline struct lz_match search(const struct chunk *c, int32_t pos, uint32_t length,
                                     uint32_t depth, uint32_t nice)
{
    const uint8_t *here = c->in + pos;
    uint32_t max =
        (uint32_t)(c->size - pos) < LZ_MAX_MATCH ? (uint32_t)(c->size - pos) : LZ_MAX_MATCH;
    struct lz_match best = {0, 0};
    uint32_t distance = 0, first, last;

    if (max <= length || max < LZ_MIN_MATCH)
        return best;
    first = load32(here);
    if (length < LZ_MIN_MATCH) {
        if (c->links3 != NULL && c->links3[pos] != 0 &&
            ((load32(here - c->links3[pos]) ^ first) & 0xffffff) == 0) {
            best.length = LZ_MIN_MATCH;
            best.distance = c->links3[pos];
        }
        length = LZ_MIN_MATCH;
        if (max == LZ_MIN_MATCH)
            return best;
    }
    if (nice > max)
        nice = max;
    /* A longer match agrees in the byte after the best so far, and in the three before that. */
    last = load32(here + length - 3);
    for (; depth > 0; depth--) {
        uint32_t link = c->links[pos - (int32_t)distance];
        const uint8_t *there;

        distance += link;
        if (link == 0 || distance > LZ_CHAINS_WINDOW)
            break;
        there = here - distance;
        if (load32(there + length - 3) == last && load32(there) == first) {
            uint32_t n = (uint32_t)match_length(here, there, 4, max);

            if (n > length) {
                length = n;
                best.length = n;
                best.distance = distance;
                if (n >= nice)
                    break;
                last = load32(here + length - 3);
            }
        }
    }
    return best;
}

static uint32_t count_distinct(const uint8_t *in, int32_t size)
{
    uint8_t seen[256] = {0};
    uint32_t distinct = 0;

    for (int32_t i = 0; i < size && i < LZ_SAMPLE; i++)
        seen[in[i]] = 1;
    for (int i = 0; i < 256; i++)
        distinct += seen[i];
    return distinct;
}

static struct lz_sequence *parse(const struct chunk *c, const struct lz_level *level,
                                 struct lz_sequence *restrict out)
{
    const uint32_t depth = level->depth, nice = level->nice;
    const uint32_t least = lz_least_length(c->distinct, depth);
    int32_t pos = 0, literals = 0;

    while (pos < c->size) {
        struct lz_match match = search(c, pos, least - 1, depth, nice);

        if (match.length == 0) {
            pos++;
            continue;
        }
        while (level->lazy > 0 && match.length < nice) {
            struct lz_match next = search(c, pos + 1, match.length - 1, depth / 2, nice);

            if (next.length > 0 && lz_gain(match, next) >= LZ_GAIN_NEXT) {
                pos++;
                match = next;
                continue;
            }
            if (level->lazy < 2)
                break;
            next = search(c, pos + 2, match.length - 1, depth / 4, nice);
            if (next.length == 0 || lz_gain(match, next) < LZ_GAIN_AFTER_NEXT)
                break;
            pos += 2;
            match = next;
        }
        out = lz_emit(out, (size_t)(pos - literals), match.length, match.distance);
        pos += (int32_t)match.length;
        literals = pos;
    }
    return out;
}

void lz_find_chains(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                    size_t len)
{
    struct lz_sequence *out = m->sequences;
    uint16_t *links = m->links + LZ_CHUNK_SIZE;

    clear(m->chain_table, 1 << LZ_CHAINS_HASH_BITS);
    for (size_t start = 0, c = 0; start < len; start += LZ_CHUNK_SIZE, c++) {
        struct chunk chunk = {.in = in + start, .links = links};

        chunk.size = (int32_t)(LZ_CHUNK_END(start, len) - start);
        chunk.distinct = count_distinct(chunk.in, chunk.size);
        if (start > 0) {
            rebase(m->chain_table, 1 << LZ_CHAINS_HASH_BITS);
            memcpy(m->links, links, LZ_CHUNK_SIZE * sizeof(*links));
        }
        make_links(m->chain_table, links, chunk.in, chunk.size);
        if (lz_wants_length3(chunk.distinct, level->near3)) {
            make_links3(m->chain_table3, m->links3, chunk.in, chunk.size,
                        start > 0 ? level->near3 : 0, level->near3);
            chunk.links3 = m->links3;
        }
        m->chunks[c].sequences = out;
        out = parse(&chunk, level, out);
        m->chunks[c].count = (uint32_t)(out - m->chunks[c].sequences);
    }
}
