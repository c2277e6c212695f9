/*
 * glzss_find.h - the GLZSS methods on the CPU: the keys and the walk
 *
 * The walk looks for a match at one position after another, but skips the positions inside a match.
 * The positions where it looks are its stops.  GLZSS-basic enters only the stops into the hash
 * table; glzss-tagging (is_tagging) also enters other positions (glzss_enter_more).
 */
#ifndef GZLZSS_PAPERS_GLZSS_FIND_H
#define GZLZSS_PAPERS_GLZSS_FIND_H

#include "base/bytes.h"
#include "papers/glzss.h"
#include "papers/method.h"

/* clang-format off */
/* The keys of a GLZSS method. threads_words: the words of its key `threads`. papers: the paper's
 * value of that key. */
#define GLZSS_KEYS(threads_words, papers) { \
    {.name = "table", \
     .help = "entries of the hash table", \
     .usual = 4096, \
     .least = GLZSS_TABLE_MIN, \
     .most = GLZSS_TABLE_MAX, \
     .is_power = true}, \
    {.name = "chunk", \
     .help = "bytes of the chunks, which no match leaves", \
     .usual = 65536, \
     .least = GLZSS_PACKET_MIN, \
     .most = GLZSS_PACKET_MAX, \
     .is_power = true}, \
    {.name = "threads", \
     .help = "threads of a GPU that work on a chunk", \
     .usual = PAPER_AUTO, \
     .origin = "value ours, the paper's: " papers, \
     .words = threads_words}, \
    {.name = NULL}, \
}
/* clang-format on */

/* Bytes of the finder's state: a hash table of the largest size. */
#define GLZSS_STATE_SIZE (GLZSS_TABLE_MAX * sizeof(uint16_t))

/* A packet of the input, and its hash table. */
struct glzss_packet {
    const uint8_t *bytes;
    uint16_t *table;
    uint32_t bits;
};

static inline uint16_t *glzss_entry(const struct glzss_packet *packet, uint32_t at)
{
    return &packet->table[glzss_hash(load32(packet->bytes + at), packet->bits)];
}

/* For glzss-tagging: enters positions into the table that GLZSS-basic does not enter, after the
 * stop `at`. pre: the stop's candidate. length: the length of its match; 0: none. */
static inline void glzss_enter_more(const struct glzss_packet *packet, uint32_t at, uint32_t pre,
                                    uint32_t length)
{
    uint32_t side = pre + 4;

    if (length > 0) {
        const uint32_t last = glzss_before_last_step(length);

        for (uint32_t step = 4; step <= last; step += 4)
            *glzss_entry(packet, at + step) = (uint16_t)(at + step);
        side += last;
    } else if (!glzss_is_passed(side, at)) {
        return;
    }
    *glzss_entry(packet, side) = (uint16_t)side;
}

/* Walks through the packet's positions [at, end), which lie in one chunk, and writes their
 * sequences. Returns where the next sequence goes. *literals is where the literals before the next
 * match start. Adjacent matches need no joining (lz_continues), since each match ends where bytes
 * differ, or with the chunk. */
static inline struct lz_sequence *glzss_walk(const struct glzss_packet *packet, uint32_t at,
                                             uint32_t end, bool is_tagging,
                                             const uint8_t **literals, struct lz_sequence *out)
{
    while (at + GLZSS_MIN_MATCH <= end) {
        const uint8_t *const here = packet->bytes + at;
        uint16_t *const entry = glzss_entry(packet, at);
        const uint32_t pre = *entry, distance = at - pre;
        uint32_t length = 0;

        *entry = (uint16_t)at;
        if (load32(here) == load32(here - distance) && glzss_is_near(distance))
            length = (uint32_t)match_length(here, here - distance, GLZSS_MIN_MATCH, end - at);
        if (is_tagging)
            glzss_enter_more(packet, at, pre, length);
        if (length == 0) {
            at++;
            continue;
        }
        out = lz_emit(out, (size_t)(here - *literals), length, distance);
        at += length;
        *literals = here + length;
    }
    return out;
}

/*
 * A finder's `find`. A packet may have two chunks, and a call may begin with the second. If the
 * call before ended with the first chunk (goes_on), the table has the first chunk's positions
 * already. Otherwise, this function first walks through the first chunk, only to fill the table. It
 * writes the sequences of the first chunk to the place where those of the second chunk will
 * overwrite them.
 */
static inline void glzss_find(const struct lz_matcher *m, const struct lz_level *level,
                              const uint8_t *in, size_t len, bool is_tagging)
{
    const size_t size = level->param[GLZSS_CHUNK];
    struct lz_sequence *out = m->to_sequences + m->begin / LZ_CHUNK_SIZE * LZ_CHUNK_MAX_SEQUENCES;
    struct glzss_packet packet = {NULL, m->state, both_log2(level->param[GLZSS_TABLE])};

    for (size_t start = m->goes_on ? m->begin : m->begin & ~(size - 1); start < m->end;
         start += LZ_CHUNK_SIZE) {
        const size_t end = LZ_CHUNK_END(start, len);
        const uint8_t *literals = in + start;
        struct lz_sequence *to = out;

        for (size_t first = start & ~(size - 1); first < end; first += size) {
            const uint32_t from = first < start ? (uint32_t)(start - first) : 1;
            const size_t until = end - first < size ? end - first : size;

            packet.bytes = in + first;
            if (first >= start)
                memset(packet.table, 0, sizeof(*packet.table) << packet.bits);
            to = glzss_walk(&packet, from, (uint32_t)until, is_tagging, &literals, to);
        }
        if (start < m->begin)
            continue;
        m->to_chunks[start / LZ_CHUNK_SIZE] =
            (struct lz_chunk){.sequences = out, .count = (uint32_t)(to - out)};
        out = to;
    }
}

#endif
