/*
 * fast.h - the loop that decodes the codes of a DEFLATE block while input and room are plenty
 *
 * Three decoders compile this loop: whole.c and push.c, which decode to bytes, and symbols.c, which
 * decodes to symbols.  Each turn of the loop decodes up to two literals, and then another literal
 * or a match.  A turn checks only once whether enough input and room are left, and may write some
 * bytes after its output.
 *
 * The time of a turn is mostly that of a chain of operations, each of which waits for the operation
 * before it.  In this chain, the loop loads an entry, shifts the entry's bits out, and takes the
 * next bits as the next entry's index.  To keep the chain short, the loop looks up the next entry
 * before it writes the current literal or match.  It also does so before it fills the reader, as
 * the bits that are left are enough for an index.  This is the design of libdeflate's decoder.
 */
#ifndef GZLZSS_INFLATE_FAST_H
#define GZLZSS_INFLATE_FAST_H

#include <string.h>

#include "inflate/codes.h"

/* The prefix of functions that are always inlined, because the loop is compiled for a constant size
 * of units, and for each path of base/cpu.h. */
#define FAST_INLINE static inline __attribute__((always_inline))

/* --- Matches -------------------------------------------------------------------------------- */

/* Bytes that are copied at a time. */
#define WORD ((size_t)8)

/* The most bytes that copy_match writes after the end of the match. */
#define BEHIND (5 * WORD)

FAST_INLINE void copy_word(uint8_t *to, const uint8_t *from)
{
    uint64_t word;

    /* The two words may overlap, so one memcpy from one to the other is not allowed. */
    memcpy(&word, from, WORD);
    memcpy(to, &word, WORD);
}

/* Copies a match of `length` bytes to `to`, from `distance` bytes back.  May also write up to
 * BEHIND bytes after the match.  (Copying 16 or 32 bytes at a time is slower, because a match often
 * starts with bytes that were just written, and the processor then waits until these are in its
 * cache.) */
FAST_INLINE void copy_match(uint8_t *to, size_t distance, size_t length)
{
    const uint8_t *from = to - distance;
    uint8_t *const end = to + length;

    if (distance >= WORD) {
        /* Most matches have at most 5 words, so copy these without a loop. */
        copy_word(to, from);
        copy_word(to + WORD, from + WORD);
        copy_word(to + 2 * WORD, from + 2 * WORD);
        copy_word(to + 3 * WORD, from + 3 * WORD);
        copy_word(to + 4 * WORD, from + 4 * WORD);
        for (to += 5 * WORD, from += 5 * WORD; to < end; to += WORD, from += WORD)
            copy_word(to, from);
    } else if (distance == 1) {
        const uint64_t word = *from * UINT64_C(0x0101010101010101);

        for (; to < end; to += WORD)
            memcpy(to, &word, WORD);
    } else {
        /* The match repeats `distance` bytes.  Only the first `distance` bytes of each word are
         * right.  The next word overwrites the rest. */
        for (; to < end; to += distance, from += distance)
            copy_word(to, from);
    }
}

/* --- The window ----------------------------------------------------------------------------- */

/* The output before the current output, in other memory: the last `len` bytes of it, INF_WINDOW at
 * most.  The bytes before ring[at] are the last ones, and those before ring[0] are at the ring's
 * end.  After the ring, there are BEHIND bytes of memory without meaning. */
struct inf_window {
    uint8_t *ring; /* INF_WINDOW + BEHIND bytes */
    size_t at, len;
};

/* Copies a match of `length` bytes to `to`, from `distance` bytes back, where the current output
 * starts at `start`, so that the match starts in the window.  May also write up to BEHIND bytes
 * after the match.  Returns false if the match starts before the window (push.c). */
bool inf_copy_from_window(const struct inf_window *w, uint8_t *to, const uint8_t *start,
                          size_t distance, size_t length);

/* --- Bits ----------------------------------------------------------------------------------- */

/* A reader of bits for this loop.  Only the lowest 8 bits of `count` are valid, so take_entry can
 * subtract a whole entry, whose lowest 8 bits are its number of bits. */
struct fast_reader {
    const uint8_t *next; /* the first byte that is not in the valid bits */
    uint64_t bits;       /* as in struct reader */
    uint64_t count;
};

/* Makes 56 to 63 bits valid; reads 8 bytes. */
FAST_INLINE void fill_fast(struct fast_reader *r)
{
    r->bits |= load64(r->next) << (r->count & 63);
    r->next += 7 - (r->count >> 3 & 7);
    r->count |= 56;
}

/* Skips the bits of an entry.  Returns the bits as they were before. */
FAST_INLINE uint64_t take_entry(struct fast_reader *r, uint32_t entry)
{
    const uint64_t bits = r->bits;

    r->bits >>= entry & 63;
    r->count -= entry;
    return bits;
}

/* Returns the value of an entry plus the extra bits after its code, with which `bits` starts. */
FAST_INLINE size_t fast_value(uint32_t entry, uint64_t bits)
{
    /* Where entry_code_bits masks four bits, this function masks five.  The fifth bit is 0 in the
     * entries of lengths and distances, and x86 needs no instruction to mask a shift by five
     * bits. */
    return entry_value(entry) + (low_bits(bits, (uint8_t)entry) >> (entry >> 8 & 31));
}

/* --- Codes ---------------------------------------------------------------------------------- */

/* Writes the literal of `entry`, whose bits are skipped already, to `out`, as one unit of `unit`
 * bytes.  Returns the next code's entry. */
FAST_INLINE uint32_t put_literal(const struct fast_reader *r, const struct inf_codes *c,
                                 uint32_t entry, uint8_t *out, unsigned unit)
{
    const uint16_t literal = (uint16_t)entry_value(entry);

    entry = look_up(r->bits, c->litlen, LITLEN_ROOT);
    if (unit == 1)
        *out = (uint8_t)literal;
    else
        memcpy(out, &literal, sizeof(literal));
    return entry;
}

/* Returns the distance that is next in the input, and skips its code and extra bits.  Returns 0 if
 * the next bits are not the code of a distance.  Leaves LITLEN_ROOT bits or more in r->bits. */
FAST_INLINE size_t take_distance(struct fast_reader *r, const struct inf_codes *c)
{
    uint32_t entry = look_up(r->bits, c->distance, DISTANCE_ROOT);

    /* The bit just above the valid bits is a bit of the input, too, because fill_fast makes at most
     * 63 bits valid, but loads 64. */
    _Static_assert(2 * LITLEN_ROOT + DEFLATE_MAX_CODE + 5 + DISTANCE_ROOT <= 57, "bits for both");
    if (__builtin_expect((entry & ENTRY_SPECIAL) != 0, 0)) {
        fill_fast(r);
        if ((entry & ENTRY_SECOND) != 0)
            entry = look_up_second(r->bits, c->distance, DISTANCE_ROOT, entry);
    } else if (__builtin_expect((uint8_t)r->count < DISTANCE_ROOT + 13 + LITLEN_ROOT - 1, 0)) {
        fill_fast(r);
    }
    return fast_value(entry, take_entry(r, entry));
}

/* The most bytes of input that a turn of the loop reads.  It fills the reader up to two times, and
 * each time loads 8 bytes and moves on by up to 7. */
#define FAST_INPUT ((size_t)16)

/* The most units that a turn of the loop writes: two literals, a match, and the units after the
 * match that copy_match may overwrite. */
#define FAST_ROOM (2 + DEFLATE_MAX_MATCH + BEHIND)

/*
 * Decodes codes from `reader`, whose input has `len` bytes, up to the end of the block, or until
 * the next turn might need more input or room.  The output consists of units of `unit` bytes;
 * `unit` is a constant, 1 or 2.  The output goes to *to, and *to moves to the output's end.
 * Matches may reach back to `start` and, if `window` is not NULL, into the window; a constant NULL
 * leaves that code out.  Nothing is written from `end` on.  Returns INF_BLOCK at the block's end,
 * INF_MORE if the block goes on, or INF_BAD.
 */
FAST_INLINE enum inf_result decode_fast(const struct inf_codes *c, struct reader *reader,
                                        size_t len, uint8_t **to, const uint8_t *start,
                                        const uint8_t *end, unsigned unit,
                                        const struct inf_window *window)
{
    enum inf_result result = INF_MORE;
    uint8_t *out = *to;

    if (len < FAST_INPUT || (size_t)(end - out) < FAST_ROOM * unit || reader->at > len - FAST_INPUT)
        return INF_MORE;
    const uint8_t *const last_in = reader->in + (len - FAST_INPUT);
    const uint8_t *const last_out = end - FAST_ROOM * unit;
    struct fast_reader r = {reader->in + reader->at, reader->bits, reader->count};

    fill_fast(&r);
    uint32_t entry = look_up(r.bits, c->litlen, LITLEN_ROOT);
    while (r.next <= last_in && out <= last_out) {
        uint64_t bits = take_entry(&r, entry);

        if ((entry & ENTRY_LITERAL) != 0) {
            entry = put_literal(&r, c, entry, out, unit);
            bits = take_entry(&r, entry);
            out += unit;
            if ((entry & ENTRY_LITERAL) != 0) {
                entry = put_literal(&r, c, entry, out, unit);
                bits = take_entry(&r, entry);
                out += unit;
            }
        }
        if (__builtin_expect((entry & ENTRY_SECOND) != 0, 0)) {
            r.bits = bits;
            r.count += entry;
            entry = look_up_second(bits, c->litlen, LITLEN_ROOT, entry);
            bits = take_entry(&r, entry);
        }
        if ((entry & ENTRY_LITERAL) != 0) {
            entry = put_literal(&r, c, entry, out, unit);
            fill_fast(&r);
            out += unit;
            continue;
        }
        if (__builtin_expect((entry & ENTRY_SPECIAL) != 0, 0)) {
            result = (entry & ENTRY_END) != 0 ? INF_BLOCK : INF_BAD;
            break;
        }
        const size_t length = fast_value(entry, bits) * unit;
        const size_t distance = take_distance(&r, c) * unit;

        if (__builtin_expect(distance - 1 >= (size_t)(out - start), 0)) {
            /* The distance is 0 if it has no code. */
            if (window == NULL || distance == 0 ||
                !inf_copy_from_window(window, out, start, distance, length)) {
                result = INF_BAD;
                break;
            }
            entry = look_up(r.bits, c->litlen, LITLEN_ROOT);
            fill_fast(&r);
            out += length;
            continue;
        }
        entry = look_up(r.bits, c->litlen, LITLEN_ROOT);
        fill_fast(&r);
        copy_match(out, distance, length);
        out += length;
    }
    *to = out;
    reader->at = (size_t)(r.next - reader->in);
    reader->bits = r.bits;
    reader->count = r.count & 63;
    return result;
}

#endif
