/*
 * push.c - decodes DEFLATE that comes in pieces (push.h)
 *
 * Between two calls, the decoder keeps up to 63 bits of input that were taken but not decoded: the
 * start of a code whose other bits have not come yet.  The start of a block's header may have more
 * bits, so the bytes after the first bits are kept in `header`.  What is left of a match when the
 * room is full is kept as its length and distance.
 *
 * When a call ends for another reason than a lack of input, it gives back the bytes that are still
 * whole in the reader's bits, so that no byte after the data's end is taken.
 *
 * Matches that reach back before the current output are copied from a ring.  inf_push_keep puts the
 * output there.
 */
#include "config.h"

#include "inflate/push.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "inflate/fast.h"

/* The functions that are compiled for each path of base/cpu.h. */
struct push_functions {
    enum inf_result (*decode_most)(const struct inf_codes *c, struct reader *r,
                                   struct inf_piece *piece, const struct inf_window *window);
};

/* What comes next in the input. */
enum state { HEADER, STORED, CODES, END };

struct inf_push {
    const struct push_functions *functions;
    enum state state;
    bool is_final; /* the current block is the last one */
    /* Input that was taken and not decoded: the lowest `count` bits of `bits`; the other bits are
     * zero.  In a block's header, header[0..header_len) follows. */
    uint64_t bits;
    unsigned count;
    unsigned header_len;
    uint8_t header[INF_BLOCK_HEADER_MAX + 1];
    unsigned stored_left;    /* bytes of a stored block still to come */
    size_t length, distance; /* the rest of a match; length 0: none */
    struct inf_codes *codes; /* NULL before the first block */
    struct inf_window window;
};

/* Decodes most of a block's codes (fast.h). */
FAST_INLINE enum inf_result decode_most(const struct inf_codes *c, struct reader *r,
                                        struct inf_piece *piece, const struct inf_window *window)
{
    uint8_t *out = piece->out + piece->made;
    const enum inf_result result =
        decode_fast(c, r, piece->len, &out, piece->out, piece->out + piece->room, 1, window);

    piece->made = (size_t)(out - piece->out);
    return result;
}

static NOINLINE enum inf_result decode_most_portable(const struct inf_codes *c, struct reader *r,
                                                     struct inf_piece *piece,
                                                     const struct inf_window *window)
{
    return decode_most(c, r, piece, window);
}

#ifdef HAVE_AVX2_PATH
static AVX2_PATH NOINLINE enum inf_result decode_most_avx2(const struct inf_codes *c,
                                                           struct reader *r,
                                                           struct inf_piece *piece,
                                                           const struct inf_window *window)
{
    return decode_most(c, r, piece, window);
}
#endif

static const struct push_functions functions[CPU_PATHS] = {
    [CPU_PORTABLE] = {decode_most_portable},
#ifdef HAVE_AVX2_PATH
    [CPU_AVX2] = {decode_most_avx2},
#endif
#ifdef HAVE_AVX512_PATH
    [CPU_AVX512] = {decode_most_avx2},
#endif
};

/* --- Decoders ------------------------------------------------------------------------------- */

struct inf_push *inf_push_new(void)
{
    struct inf_push *p = calloc(1, sizeof(*p));

    if (p != NULL)
        p->functions = &functions[cpu_path()];
    return p;
}

/* Returns a copy of size bytes, or NULL. */
static void *copy_of(const void *from, size_t size)
{
    void *copy = malloc(size);

    if (copy != NULL)
        memcpy(copy, from, size);
    return copy;
}

struct inf_push *inf_push_copy(const struct inf_push *from)
{
    struct inf_push *p = copy_of(from, sizeof(*from));

    if (p == NULL)
        return NULL;
    if (from->codes != NULL)
        p->codes = copy_of(from->codes, sizeof(*from->codes));
    if (from->window.ring != NULL)
        p->window.ring = copy_of(from->window.ring, INF_WINDOW + BEHIND);
    if ((p->codes == NULL) == (from->codes == NULL) &&
        (p->window.ring == NULL) == (from->window.ring == NULL))
        return p;
    inf_push_free(p);
    return NULL;
}

void inf_push_free(struct inf_push *p)
{
    if (p == NULL)
        return;
    free(p->codes);
    free(p->window.ring);
    free(p);
}

/* --- The window ----------------------------------------------------------------------------- */

bool inf_copy_from_window(const struct inf_window *w, uint8_t *to, const uint8_t *start,
                          size_t distance, size_t length)
{
    /* The match starts so many bytes before the window's end. */
    const size_t back = distance - (size_t)(to - start);
    const size_t at = (w->at - back) & (INF_WINDOW - 1);

    if (back > w->len)
        return false;
    if (length <= back && length <= INF_WINDOW - at) {
        const uint8_t *from = w->ring + at;
        uint8_t *const end = to + length;

        for (; to < end; to += WORD, from += WORD)
            copy_word(to, from);
        return true;
    }
    for (size_t i = 0; i < length; i++)
        to[i] = i < back ? w->ring[(at + i) & (INF_WINDOW - 1)] : *(to + i - distance);
    return true;
}

bool inf_push_keep(struct inf_push *p, const uint8_t *out, size_t made)
{
    struct inf_window *w = &p->window;
    const uint8_t *const end = out + made;
    size_t first;

    if (made == 0)
        return true;
    if (w->ring == NULL)
        w->ring = malloc(INF_WINDOW + BEHIND);
    if (w->ring == NULL)
        return false;
    if (made > INF_WINDOW)
        made = INF_WINDOW;
    first = made < INF_WINDOW - w->at ? made : INF_WINDOW - w->at;
    memcpy(w->ring + w->at, end - made, first);
    memcpy(w->ring, end - made + first, made - first);
    w->at = (w->at + made) & (INF_WINDOW - 1);
    w->len = w->len + made < INF_WINDOW ? w->len + made : INF_WINDOW;
    return true;
}

/* --- Codes ---------------------------------------------------------------------------------- */

/* Copies the rest of a match as far as there is room.  Returns whether all of it was copied. */
static bool copy_rest(struct inf_push *p, struct inf_piece *piece)
{
    const struct inf_window *w = &p->window;

    for (; p->length > 0 && piece->made < piece->room; p->length--, piece->made++)
        piece->out[piece->made] =
            p->distance <= piece->made
                ? piece->out[piece->made - p->distance]
                : w->ring[(w->at - (p->distance - piece->made)) & (INF_WINDOW - 1)];
    return p->length == 0;
}

/* Takes a match from the reader, but copies nothing yet.  `entry` is the entry of the match's
 * length.  Takes nothing and returns INF_CUT if the input ends within the match.  Returns INF_END
 * if that went well. */
static enum inf_result take_match(struct inf_push *p, struct reader *reader,
                                  const struct inf_piece *piece, uint32_t entry)
{
    enum inf_result result = INF_END;
    struct reader r = *reader;
    const size_t length = take_value(&r, entry);
    size_t distance;

    entry = next_entry(&r, p->codes->distance, DISTANCE_ROOT, &result);
    if (result != INF_END)
        return result;
    distance = take_value(&r, entry);
    if (distance > piece->made + p->window.len)
        return INF_BAD;
    p->length = length;
    p->distance = distance;
    *reader = r;
    return INF_END;
}

/* Decodes codes with careful steps.  Returns INF_BLOCK at the block's end, INF_CUT if the input
 * ends within a code, INF_MORE if there is no room, or INF_BAD. */
static enum inf_result decode_careful(struct inf_push *p, struct reader *r, struct inf_piece *piece)
{
    enum inf_result result = INF_END;

    while (result == INF_END) {
        uint32_t entry;

        if (r->count < MATCH_BITS)
            fill_to_end(r, piece->len);
        entry = next_entry(r, p->codes->litlen, LITLEN_ROOT, &result);
        if (result != INF_END)
            break;
        if ((entry & ENTRY_END) != 0) {
            skip(r, entry_bits(entry));
            return INF_BLOCK;
        }
        if (piece->made == piece->room)
            return INF_MORE;
        if ((entry & ENTRY_LITERAL) != 0) {
            skip(r, entry_bits(entry));
            piece->out[piece->made++] = (uint8_t)entry_value(entry);
            continue;
        }
        result = take_match(p, r, piece, entry);
        if (result == INF_END && !copy_rest(p, piece))
            return INF_MORE;
    }
    return result;
}

static enum inf_result decode_codes(struct inf_push *p, struct reader *r, struct inf_piece *piece)
{
    enum inf_result result;

    if (!copy_rest(p, piece))
        return INF_MORE;
    result = p->functions->decode_most(p->codes, r, piece, &p->window);
    return result == INF_MORE ? decode_careful(p, r, piece) : result;
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* Copies a stored block's bytes.  Returns as decode_careful does. */
static enum inf_result copy_stored(struct inf_push *p, struct reader *r, struct inf_piece *piece)
{
    size_t n;

    for (; p->stored_left > 0 && r->count > 0 && piece->made < piece->room; p->stored_left--) {
        piece->out[piece->made++] = (uint8_t)r->bits;
        skip(r, 8);
    }
    if (p->stored_left == 0)
        return INF_BLOCK;
    if (piece->made == piece->room)
        return INF_MORE;
    n = piece->len - r->at < piece->room - piece->made ? piece->len - r->at
                                                       : piece->room - piece->made;
    if (n > p->stored_left)
        n = p->stored_left;
    if (n > 0)
        memcpy(piece->out + piece->made, r->in + r->at, n);
    r->at += n;
    piece->made += n;
    p->stored_left -= (unsigned)n;
    return p->stored_left == 0 ? INF_BLOCK : piece->made == piece->room ? INF_MORE : INF_CUT;
}

/* Skips a block's header, which has `bits` bits: those in the reader, and then bytes from rest[0]
 * on, of which rest[0..before) came with earlier pieces. */
static void skip_header(struct reader *r, unsigned bits, const uint8_t *rest, unsigned before)
{
    unsigned bytes;

    if (bits <= r->count) {
        skip(r, bits);
        return;
    }
    bits -= r->count;
    bytes = (bits + 7) / 8;
    r->at += bytes - before;
    r->count = 8 * bytes - bits;
    r->bits = (uint64_t)rest[bytes - 1] >> (8 - r->count);
}

/* Reads a block's header.  Returns INF_MORE after it; INF_CUT if it goes on after this piece, all
 * of which is then taken. */
static enum inf_result begin_block(struct inf_push *p, struct reader *r, size_t len)
{
    const uint8_t *rest = r->in + r->at;
    const unsigned before = p->header_len;
    size_t rest_len = len - r->at;
    enum inf_result result;
    struct inf_block block;

    if (p->codes == NULL) {
        p->codes = malloc(sizeof(*p->codes));
        if (p->codes == NULL)
            return INF_NO_MEMORY;
        p->codes->is_fixed = false;
    }
    if (before > 0) {
        if (rest_len > sizeof(p->header) - before)
            rest_len = sizeof(p->header) - before;
        if (rest_len > 0)
            memcpy(p->header + before, rest, rest_len);
        rest = p->header;
        rest_len += before;
    }
    result = inf_begin_block_of(p->codes, r->bits, r->count, rest, rest_len, &block);
    if (result == INF_CUT) {
        /* An incomplete header is shorter than INF_BLOCK_HEADER_MAX. */
        if (before == 0 && rest_len > 0)
            memcpy(p->header, rest, rest_len);
        p->header_len = (unsigned)rest_len;
        r->at = len;
    }
    if (result != INF_MORE)
        return result;
    skip_header(r, block.header_bits, rest, before);
    p->header_len = 0;
    p->is_final = block.final;
    p->stored_left = block.stored_len;
    p->state = block.type == INF_BLOCK_STORED ? STORED : CODES;
    return INF_MORE;
}

/* Decodes blocks until something ends that. */
static enum inf_result decode_blocks(struct inf_push *p, struct reader *r, struct inf_piece *piece)
{
    for (;;) {
        enum inf_result result = INF_MORE;

        if (p->state == HEADER)
            result = begin_block(p, r, piece->len);
        if (result != INF_MORE)
            return result;
        result = p->state == STORED ? copy_stored(p, r, piece) : decode_codes(p, r, piece);
        if (result != INF_BLOCK)
            return result;
        p->state = p->is_final ? END : HEADER;
        if (p->is_final)
            return INF_END;
    }
}

enum inf_result inf_push(struct inf_push *p, struct inf_piece *piece)
{
    struct reader r = {.in = piece->in, .bits = p->bits, .count = p->count, .at = piece->used};
    const enum inf_result result = decode_blocks(p, &r, piece);

    if (result != INF_CUT) {
        const size_t whole = r.count / 8, taken = r.at - piece->used;
        const size_t back = whole < taken ? whole : taken;

        r.at -= back;
        r.count -= 8 * (unsigned)back;
    }
    p->bits = r.bits & ~(UINT64_MAX << r.count);
    p->count = r.count;
    piece->used = r.at;
    return result == INF_CUT ? INF_MORE : result;
}
