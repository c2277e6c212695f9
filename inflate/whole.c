/*
 * whole.c - decodes DEFLATE from memory to memory (whole.h)
 *
 * A fast step decodes up to two literals, and then another literal or a match.  It checks only once
 * whether enough input and room are left, and may write some bytes after its output.  Near the end
 * of the input or the room, careful steps check everything.
 */
#include "config.h"

#include "inflate/whole.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "inflate/codes.h"

/* The input and the output of a call: in[0..len), and out[0..room), of which out[0..made) is
 * written so far. */
struct buffers {
    const uint8_t *in;
    size_t len;
    uint8_t *out;
    size_t room, made;
};

/* The functions that are compiled for each path of base/cpu.h. */
struct whole_functions {
    enum inf_result (*decode_fast)(const struct inf_codes *c, struct reader *reader,
                                   struct buffers *b);
};

struct inf_whole {
    struct inf_codes codes;
    const struct whole_functions *functions;
};

/* --- Fast steps ----------------------------------------------------------------------------- */

/* Bytes that are copied at a time. */
#define WORD ((size_t)8)

/* The most bytes that copy_match writes after the end of the match. */
#define BEHIND (5 * WORD)

/* The most bytes that a fast step writes: two literals, a match, and the bytes after it. */
#define FAST_STEP (2 + DEFLATE_MAX_MATCH + BEHIND)

/* The most bytes of input that a fast step reads.  It loads 8 bytes up to two times, and moves on
 * by up to 7 bytes each time. */
#define FAST_INPUT ((size_t)16)

static inline void copy_word(uint8_t *to, const uint8_t *from)
{
    memcpy(to, from, WORD);
}

/* Copies a match of `length` bytes to `to`, from `distance` bytes back.  May also write up to
 * BEHIND bytes after it. */
static inline void copy_match(uint8_t *to, size_t distance, size_t length)
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
        return;
    }
    if (distance == 1) {
        memset(to, *from, length);
        return;
    }
    /* The match repeats `distance` bytes.  Each copy doubles the length of the part that repeats,
     * until that is a word or more. */
    for (size_t step = distance; step < WORD && to < end; to += step, step = (size_t)(to - from))
        memcpy(to, from, step);
    for (; to < end; to += WORD, from += WORD)
        copy_word(to, from);
}

/* A reader of bits for fast steps.  Only the lowest 8 bits of `count` are valid.  So skip_entry can
 * subtract a whole entry, whose lowest 8 bits are its number of bits. */
struct fast_reader {
    const uint8_t *next; /* the first byte that is not in the valid bits */
    uint64_t bits;       /* as in struct reader */
    uint64_t count;
};

/* fill_bits for fast steps. */
static inline void fill_fast(struct fast_reader *r)
{
    r->bits |= load64(r->next) << (r->count & 63);
    r->next += 7 - (r->count >> 3 & 7);
    r->count |= 56;
}

/* Skips the bits of an entry. */
static inline void skip_entry(struct fast_reader *r, uint32_t entry)
{
    r->bits >>= entry_bits(entry);
    r->count -= entry;
}

/* take_value for fast steps. */
static inline size_t take_fast(struct fast_reader *r, uint32_t entry)
{
    const uint64_t mask = (UINT64_C(1) << entry_bits(entry)) - 1;
    /* Where entry_code_bits masks four bits, this masks six.  The other two are 0 in the entries of
     * lengths and distances, and shifts by numbers of six bits need no mask on x86. */
    const size_t value = entry_value(entry) + ((r->bits & mask) >> (entry >> 8 & 63));

    skip_entry(r, entry);
    return value;
}

/* Writes the literal of `entry` to `out`, and skips its bits.  If `fills`, fills the reader after
 * that.  Returns the next code's entry.  It is looked up before the literal is written: loading an
 * entry takes longer than that. */
static inline __attribute__((always_inline)) uint32_t put_literal(struct fast_reader *r,
                                                                  const struct inf_codes *c,
                                                                  uint32_t entry, bool fills,
                                                                  uint8_t *out)
{
    const uint8_t literal = (uint8_t)entry_value(entry);

    skip_entry(r, entry);
    if (fills)
        fill_fast(r);
    entry = look_up(r->bits, c->litlen, LITLEN_ROOT);
    *out = literal;
    return entry;
}

/* Takes fast steps up to the end of the block, or until the input or the room may be too small for
 * another step.  Returns INF_BLOCK, INF_BAD or INF_MORE. */
static inline __attribute__((always_inline)) enum inf_result
decode_fast(const struct inf_codes *c, struct reader *reader, struct buffers *b)
{
    uint8_t *out = b->out + b->made;
    enum inf_result result = INF_MORE;
    struct fast_reader r;
    uint32_t entry;
    size_t length, distance;

    if (b->len < FAST_INPUT || b->room < FAST_STEP || reader->at > b->len - FAST_INPUT)
        return INF_MORE;
    const uint8_t *const in_end = b->in + (b->len - FAST_INPUT);
    uint8_t *const out_end = b->out + (b->room - FAST_STEP);

    r.next = b->in + reader->at;
    r.bits = reader->bits;
    r.count = reader->count;
    fill_fast(&r);
    entry = look_up(r.bits, c->litlen, LITLEN_ROOT);
    while (r.next <= in_end && out <= out_end) {
        if ((entry & ENTRY_LITERAL) != 0) {
            entry = put_literal(&r, c, entry, false, out++);
            if ((entry & ENTRY_LITERAL) != 0) {
                entry = put_literal(&r, c, entry, false, out++);
                if ((entry & ENTRY_LITERAL) != 0) {
                    entry = put_literal(&r, c, entry, true, out++);
                    continue;
                }
            }
        }
        if ((entry & (ENTRY_SECOND | ENTRY_END)) != 0 || entry_bits(entry) == 0) {
            if ((entry & ENTRY_SECOND) != 0)
                entry = look_up_second(r.bits, c->litlen, LITLEN_ROOT, entry);
            if ((entry & ENTRY_LITERAL) != 0) {
                entry = put_literal(&r, c, entry, true, out++);
                continue;
            }
            if (entry_bits(entry) == 0 || (entry & ENTRY_END) != 0) {
                result = (entry & ENTRY_END) != 0 ? INF_BLOCK : INF_BAD;
                skip_entry(&r, entry);
                break;
            }
        }
        length = take_fast(&r, entry);
        entry = look_up(r.bits, c->distance, DISTANCE_ROOT);
        fill_fast(&r);
        if ((entry & ENTRY_SECOND) != 0)
            entry = look_up_second(r.bits, c->distance, DISTANCE_ROOT, entry);
        distance = take_fast(&r, entry);
        if (entry_bits(entry) == 0 || distance > (size_t)(out - b->out)) {
            result = INF_BAD;
            break;
        }
        fill_fast(&r);
        /* As in put_literal, the next entry is looked up first. */
        entry = look_up(r.bits, c->litlen, LITLEN_ROOT);
        copy_match(out, distance, length);
        out += length;
    }
    b->made = (size_t)(out - b->out);
    reader->at = (size_t)(r.next - b->in);
    reader->bits = r.bits;
    reader->count = r.count & 63;
    return result;
}

static NOINLINE enum inf_result decode_fast_portable(const struct inf_codes *c, struct reader *r,
                                                     struct buffers *b)
{
    return decode_fast(c, r, b);
}

#ifdef HAVE_AVX2_PATH
static AVX2_PATH NOINLINE enum inf_result decode_fast_avx2(const struct inf_codes *c,
                                                           struct reader *r, struct buffers *b)
{
    return decode_fast(c, r, b);
}
#endif

static const struct whole_functions functions[CPU_PATHS] = {
    [CPU_PORTABLE] = {decode_fast_portable},
#ifdef HAVE_AVX2_PATH
    [CPU_AVX2] = {decode_fast_avx2},
#endif
#ifdef HAVE_AVX512_PATH
    [CPU_AVX512] = {decode_fast_avx2},
#endif
};

struct inf_whole *inf_whole_new(void)
{
    struct inf_whole *w = calloc(1, sizeof(*w));

    if (w != NULL)
        w->functions = &functions[cpu_path()];
    return w;
}

void inf_whole_free(struct inf_whole *w)
{
    free(w);
}

/* --- Careful steps -------------------------------------------------------------------------- */

/* Makes 56 to 63 bits valid, or as many as the input still has.  Reads no byte after the input. */
static inline void fill_to_end(struct reader *r, size_t len)
{
    if (len - r->at >= sizeof(r->bits)) {
        fill_bits(r);
        return;
    }
    /* fill_bits may have left bits of the next byte above the valid ones. */
    r->bits &= ~(UINT64_MAX << r->count);
    for (; r->count < 56 && r->at < len; r->count += 8)
        r->bits |= (uint64_t)r->in[r->at++] << r->count;
}

/* Returns the next code's entry.  Sets *result to INF_CUT if the input ends before the code and its
 * extra bits do, or to INF_BAD if no code starts with the next bits.  Otherwise leaves *result as
 * it is. */
static inline uint32_t next_entry(const struct reader *r, const uint32_t *table, unsigned root,
                                  enum inf_result *result)
{
    uint32_t entry = look_up(r->bits, table, root);

    if ((entry & ENTRY_SECOND) != 0)
        entry = look_up_second(r->bits, table, root, entry);
    if (entry_bits(entry) > r->count)
        *result = INF_CUT;
    else if (entry_bits(entry) == 0)
        *result = r->count < DEFLATE_MAX_CODE ? INF_CUT : INF_BAD;
    return entry;
}

/* Decodes a match; `entry` is that of its length.  Returns INF_END if that went well. */
static enum inf_result take_match(const struct inf_codes *c, struct reader *r, struct buffers *b,
                                  uint32_t entry)
{
    const size_t length = take_value(r, entry);
    enum inf_result result = INF_END;
    size_t distance;

    fill_to_end(r, b->len);
    entry = next_entry(r, c->distance, DISTANCE_ROOT, &result);
    if (result != INF_END)
        return result;
    distance = take_value(r, entry);
    if (distance > b->made)
        return INF_BAD;
    if (length > b->room - b->made)
        return INF_MORE;
    for (size_t i = 0; i < length; i++, b->made++)
        b->out[b->made] = b->out[b->made - distance];
    return INF_END;
}

/* Decodes the rest of a block with careful steps.  Returns INF_BLOCK at its end. */
static enum inf_result decode_careful(const struct inf_codes *c, struct reader *reader,
                                      struct buffers *b)
{
    enum inf_result result = INF_END;
    struct reader r = *reader;

    while (result == INF_END) {
        uint32_t entry;

        fill_to_end(&r, b->len);
        entry = next_entry(&r, c->litlen, LITLEN_ROOT, &result);
        if (result != INF_END)
            break;
        if ((entry & ENTRY_END) != 0) {
            skip(&r, entry_bits(entry));
            result = INF_BLOCK;
        } else if ((entry & ENTRY_LITERAL) == 0) {
            result = take_match(c, &r, b, entry);
        } else if (b->made == b->room) {
            result = INF_MORE;
        } else {
            skip(&r, entry_bits(entry));
            b->out[b->made++] = (uint8_t)entry_value(entry);
        }
    }
    *reader = r;
    return result;
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* Decodes the codes of a block, from bit *place on.  Returns INF_BLOCK at the block's end, and sets
 * *place to the bit after it. */
static enum inf_result decode_codes(const struct inf_whole *whole, struct buffers *b, size_t *place)
{
    const struct inf_codes *c = &whole->codes;
    struct reader r = {.in = b->in, .at = *place / 8};
    enum inf_result result;

    fill_to_end(&r, b->len);
    if (r.count < *place % 8)
        return INF_CUT;
    skip(&r, *place % 8);
    result = whole->functions->decode_fast(c, &r, b);
    if (result == INF_MORE)
        result = decode_careful(c, &r, b);
    *place = 8 * r.at - r.count;
    return result;
}

/* The same for a stored block of `stored` bytes. */
static enum inf_result copy_stored(struct buffers *b, size_t stored, size_t *place)
{
    if (stored > b->len - *place / 8)
        return INF_CUT;
    if (stored > b->room - b->made)
        return INF_MORE;
    if (stored > 0)
        memcpy(b->out + b->made, b->in + *place / 8, stored);
    b->made += stored;
    *place += 8 * stored;
    return INF_BLOCK;
}

/* Decodes the block whose header is at bit *place.  Returns INF_BLOCK at the block's end, and sets
 * *place to the bit after it. */
static enum inf_result decode_block(struct inf_whole *whole, struct buffers *b, size_t *place,
                                    bool *is_final)
{
    struct inf_block block;
    const enum inf_result result = inf_begin_block(&whole->codes, b->in, b->len, *place, &block);

    if (result != INF_MORE)
        return result;
    *is_final = block.final;
    *place += block.header_bits;
    if (block.type == INF_BLOCK_STORED)
        return copy_stored(b, block.stored_len, place);
    return decode_codes(whole, b, place);
}

enum inf_result inf_whole(struct inf_whole *whole, const uint8_t *in, size_t len, uint8_t *out,
                          size_t room, size_t *used, size_t *made)
{
    struct buffers b = {.in = in, .len = len, .out = out, .room = room};
    enum inf_result result;
    bool is_final = false;
    size_t place = 0;

    do {
        result = decode_block(whole, &b, &place, &is_final);
        if (result != INF_BLOCK)
            return result;
    } while (!is_final);
    *used = (place + 7) / 8;
    *made = b.made;
    return INF_END;
}
