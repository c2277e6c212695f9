/*
 * whole.c - decodes DEFLATE from memory to memory (whole.h)
 *
 * While enough input and room are left, a fast step decodes up to two literals and then another
 * literal or a match, may write some bytes too many, and checks for input and room only once.  The
 * last steps check everything.
 */
#include "config.h"

#include "inflate/whole.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "inflate/codes.h"

/* The input and the output of a call. */
struct whole {
    const uint8_t *in;
    size_t len;
    uint8_t *out;
    size_t room, made;
};

/* The functions that are compiled for each path of base/cpu.h. */
struct whole_functions {
    enum inf_result (*decode_fast)(const struct inf_codes *c, struct reader *reader,
                                   struct whole *w);
};

struct inf_whole {
    struct inf_codes codes;
    const struct whole_functions *functions;
};

/* --- Fast steps ----------------------------------------------------------------------------- */

/* Bytes that are copied at a time, the most of them that are copied too many, and the most bytes
 * that a fast step writes. */
#define WORD ((size_t)8)
#define BEHIND (5 * WORD)
#define FAST_STEP (2 + DEFLATE_MAX_MATCH + BEHIND)

/* A fast step loads 8 bytes twice, and each time moves on by up to 7. */
#define FAST_INPUT ((size_t)16)

static inline void copy_word(uint8_t *to, const uint8_t *from)
{
    memcpy(to, from, WORD);
}

/* Copies a match of `length` bytes to `to`, from `distance` bytes back.  May write BEHIND bytes
 * more. */
static inline void copy_match(uint8_t *to, size_t distance, size_t length)
{
    const uint8_t *from = to - distance;
    uint8_t *const end = to + length;

    if (distance >= WORD) {
        /* Most matches have at most 40 bytes. */
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
    /* Each copy makes the bytes that repeat twice as many, until they are as long as a word. */
    for (size_t step = distance; step < WORD && to < end; to += step, step = (size_t)(to - from))
        memcpy(to, from, step);
    for (; to < end; to += WORD, from += WORD)
        copy_word(to, from);
}

/* A reader of bits for fast steps.  Of `count`, only the lowest 8 bits count: so a whole entry,
 * whose lowest 8 bits are its number of bits, can be subtracted. */
struct fast_reader {
    const uint8_t *next; /* the first byte that is not in the valid bits */
    uint64_t bits;       /* as in struct reader */
    uint64_t count;
};

/* fill_bits. */
static inline void fill_fast(struct fast_reader *r)
{
    r->bits |= load64(r->next) << (r->count & 63);
    r->next += 7 - (r->count >> 3 & 7);
    r->count |= 56;
}

/* Skips the bits of an entry. */
static inline void skip_entry(struct fast_reader *r, uint32_t entry)
{
    r->bits >>= entry & 63;
    r->count -= entry;
}

static inline uint32_t look_up_fast(const struct fast_reader *r, const uint32_t *table,
                                    unsigned root)
{
    return table[r->bits & ((1u << root) - 1)];
}

static inline uint32_t look_up_fast_second(const struct fast_reader *r, const uint32_t *table,
                                           unsigned root, uint32_t first)
{
    return table[(first >> 16) + low_bits(r->bits >> root, first >> 8 & 15)];
}

/* take_value. */
static inline size_t take_fast(struct fast_reader *r, uint32_t entry)
{
    const uint64_t mask = (UINT64_C(1) << (entry & 63)) - 1;
    const size_t value = (entry >> 16) + ((r->bits & mask) >> (entry >> 8 & 63));

    skip_entry(r, entry);
    return value;
}

/* Decodes fast steps up to the end of the block, or until the input or the room may be too small
 * for another.  Returns INF_BLOCK, INF_BAD or INF_MORE. */
static inline __attribute__((always_inline)) enum inf_result
decode_fast(const struct inf_codes *c, struct reader *reader, struct whole *w)
{
    uint8_t *out = w->out + w->made;
    enum inf_result result = INF_MORE;
    struct fast_reader r;
    uint32_t entry;
    size_t length, distance;

    if (w->len < FAST_INPUT || w->room < FAST_STEP || reader->at > w->len - FAST_INPUT)
        return INF_MORE;
    const uint8_t *const in_end = w->in + (w->len - FAST_INPUT);
    uint8_t *const out_end = w->out + (w->room - FAST_STEP);

    r.next = w->in + reader->at;
    r.bits = reader->bits;
    r.count = reader->count;
    fill_fast(&r);
    entry = look_up_fast(&r, c->litlen, LITLEN_ROOT);
    while (r.next <= in_end && out <= out_end) {
        /* Each look_up of the next code comes before the work for the last one: loading the entry
         * takes longer than that work. */
        if ((entry & ENTRY_LITERAL) != 0) {
            uint8_t literal = (uint8_t)(entry >> 16);

            skip_entry(&r, entry);
            entry = look_up_fast(&r, c->litlen, LITLEN_ROOT);
            *out++ = literal;
            if ((entry & ENTRY_LITERAL) != 0) {
                literal = (uint8_t)(entry >> 16);
                skip_entry(&r, entry);
                entry = look_up_fast(&r, c->litlen, LITLEN_ROOT);
                *out++ = literal;
                if ((entry & ENTRY_LITERAL) != 0) {
                    literal = (uint8_t)(entry >> 16);
                    skip_entry(&r, entry);
                    fill_fast(&r);
                    entry = look_up_fast(&r, c->litlen, LITLEN_ROOT);
                    *out++ = literal;
                    continue;
                }
            }
        }
        if ((entry & (ENTRY_SECOND | ENTRY_END)) != 0 || (entry & 63) == 0) {
            if ((entry & ENTRY_SECOND) != 0)
                entry = look_up_fast_second(&r, c->litlen, LITLEN_ROOT, entry);
            if ((entry & ENTRY_LITERAL) != 0) {
                const uint8_t literal = (uint8_t)(entry >> 16);

                skip_entry(&r, entry);
                fill_fast(&r);
                entry = look_up_fast(&r, c->litlen, LITLEN_ROOT);
                *out++ = literal;
                continue;
            }
            if ((entry & 63) == 0 || (entry & ENTRY_END) != 0) {
                result = (entry & ENTRY_END) != 0 ? INF_BLOCK : INF_BAD;
                skip_entry(&r, entry);
                break;
            }
        }
        length = take_fast(&r, entry);
        entry = look_up_fast(&r, c->distance, DISTANCE_ROOT);
        fill_fast(&r);
        if ((entry & ENTRY_SECOND) != 0)
            entry = look_up_fast_second(&r, c->distance, DISTANCE_ROOT, entry);
        distance = take_fast(&r, entry);
        if ((entry & 63) == 0 || distance > (size_t)(out - w->out)) {
            result = INF_BAD;
            break;
        }
        fill_fast(&r);
        entry = look_up_fast(&r, c->litlen, LITLEN_ROOT);
        copy_match(out, distance, length);
        out += length;
    }
    w->made = (size_t)(out - w->out);
    reader->at = (size_t)(r.next - w->in);
    reader->bits = r.bits;
    reader->count = r.count & 63;
    return result;
}

static NOINLINE enum inf_result decode_fast_portable(const struct inf_codes *c, struct reader *r,
                                                     struct whole *w)
{
    return decode_fast(c, r, w);
}

#ifdef HAVE_AVX2_PATH
static AVX2_PATH NOINLINE enum inf_result decode_fast_avx2(const struct inf_codes *c,
                                                           struct reader *r, struct whole *w)
{
    return decode_fast(c, r, w);
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
    /* Above the valid bits, there may be bits of the next byte already. */
    r->bits &= ~(UINT64_MAX << r->count);
    for (; r->count < 56 && r->at < len; r->count += 8)
        r->bits |= (uint64_t)r->in[r->at++] << r->count;
}

/* Returns the next code's entry.  An entry that takes more bits than are valid is of no code. */
static inline uint32_t next_entry(const struct reader *r, const uint32_t *table, unsigned root,
                                  enum inf_result *result)
{
    uint32_t entry = look_up(r, table, root);

    if ((entry & ENTRY_SECOND) != 0)
        entry = look_up_second(r, table, root, entry);
    if ((entry & 63) > r->count)
        *result = INF_CUT;
    else if ((entry & 63) == 0)
        *result = r->count < DEFLATE_MAX_CODE ? INF_CUT : INF_BAD;
    return entry;
}

/* Decodes a match, whose first entry is `entry`. */
static enum inf_result take_match(const struct inf_codes *c, struct reader *r, struct whole *w,
                                  uint32_t entry)
{
    const size_t length = take_value(r, entry);
    enum inf_result result = INF_END;
    size_t distance;

    fill_to_end(r, w->len);
    entry = next_entry(r, c->distance, DISTANCE_ROOT, &result);
    if (result != INF_END)
        return result;
    distance = take_value(r, entry);
    if (distance > w->made)
        return INF_BAD;
    if (length > w->room - w->made)
        return INF_MORE;
    for (size_t i = 0; i < length; i++, w->made++)
        w->out[w->made] = w->out[w->made - distance];
    return INF_END;
}

/* Decodes the rest of a block.  Returns INF_BLOCK at its end. */
static enum inf_result decode_careful(const struct inf_codes *c, struct reader *reader,
                                      struct whole *w)
{
    enum inf_result result = INF_END;
    struct reader r = *reader;

    while (result == INF_END) {
        uint32_t entry;

        fill_to_end(&r, w->len);
        entry = next_entry(&r, c->litlen, LITLEN_ROOT, &result);
        if (result != INF_END)
            break;
        if ((entry & ENTRY_END) != 0) {
            skip(&r, entry & 63);
            result = INF_BLOCK;
        } else if ((entry & ENTRY_LITERAL) == 0) {
            result = take_match(c, &r, w, entry);
        } else if (w->made == w->room) {
            result = INF_MORE;
        } else {
            skip(&r, entry & 63);
            w->out[w->made++] = (uint8_t)(entry >> 16);
        }
    }
    *reader = r;
    return result;
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* Decodes a block after its header, from bit *place on.  Returns INF_BLOCK at its end, which *place
 * then is. */
static enum inf_result decode_codes(const struct inf_whole *whole, struct whole *w, size_t *place)
{
    const struct inf_codes *c = &whole->codes;
    struct reader r = {.in = w->in, .at = *place / 8};
    enum inf_result result;

    fill_to_end(&r, w->len);
    if (r.count < *place % 8)
        return INF_CUT;
    skip(&r, *place % 8);
    result = whole->functions->decode_fast(c, &r, w);
    if (result == INF_MORE)
        result = decode_careful(c, &r, w);
    *place = 8 * r.at - r.count;
    return result;
}

static enum inf_result copy_stored(struct whole *w, size_t stored, size_t *place)
{
    if (stored > w->len - *place / 8)
        return INF_CUT;
    if (stored > w->room - w->made)
        return INF_MORE;
    if (stored > 0)
        memcpy(w->out + w->made, w->in + *place / 8, stored);
    w->made += stored;
    *place += 8 * stored;
    return INF_BLOCK;
}

/* Decodes the block at bit *place. */
static enum inf_result decode_block(struct inf_whole *whole, struct whole *w, size_t *place,
                                    bool *is_final)
{
    const size_t first = *place / 8;
    const unsigned skipped = *place % 8;
    struct inf_block block;

    if (first >= w->len)
        return INF_CUT;
    switch (inf_read_block((uint64_t)w->in[first] >> skipped, 8 - skipped, w->in + first + 1,
                           w->len - first - 1, &block, &whole->codes.lengths)) {
    case INF_BLOCK_CUT:
        return INF_CUT;
    case INF_BLOCK_BAD:
        return INF_BAD;
    case INF_BLOCK_GOOD:
        break;
    }
    *is_final = block.final;
    *place += block.header_bits;
    if (block.type == INF_BLOCK_STORED)
        return copy_stored(w, block.stored_len, place);
    inf_make_codes(&whole->codes, &block);
    return decode_codes(whole, w, place);
}

enum inf_result inf_whole(struct inf_whole *whole, const uint8_t *in, size_t len, uint8_t *out,
                          size_t room, size_t *used, size_t *made)
{
    struct whole w = {.in = in, .len = len, .out = out, .room = room};
    enum inf_result result;
    bool is_final = false;
    size_t place = 0;

    do {
        result = decode_block(whole, &w, &place, &is_final);
        if (result != INF_BLOCK)
            return result;
    } while (!is_final);
    *used = (place + 7) / 8;
    *made = w.made;
    return INF_END;
}
