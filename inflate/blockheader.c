/*
 * blockheader.c - the header of a DEFLATE block, checked without decoding the block
 *
 * A dynamic block (RFC 1951, section 3.2.7) starts with the lengths of its codes, from which a
 * decoder makes its tables.  Codes too long for the number of symbols leave some bit patterns
 * without a meaning; RFC 1951 says no more about them than that a lone distance code has one bit.
 * zlib and GNU gzip take such an incomplete code for damage.  ISA-L does not: it goes on until a
 * pattern without a meaning turns up.  So its back end (inflate/raw.c) asks here first.
 *
 * Every block is checked, so that has to be quick.  ISA-L takes 5 us or more for a block with such
 * a header; this takes 0.6 to 0.8 us, most of them for one code length after the other.
 */
#include "config.h"

#include "inflate/blockheader.h"

#include <string.h>

enum {
    LENGTH_SYMBOLS = 19, /* symbols of the code that the code lengths are written in */
    LENGTH_BITS_MAX = 7, /* its longest code */
    COPY = 16,           /* its symbols that stand for several code lengths */
    ZEROS = 17,
    MANY_ZEROS = 18,
    LITLEN_MAX = 286, /* codes of literals, of lengths and of the end of the block */
    DISTANCE_MAX = 30,
    END_OF_BLOCK = 256,
    BITS_MAX = 15, /* of all these codes */
};

/* --- Bits, low ones first ------------------------------------------------------------------- */

/* The next `count` bits of the input are the low ones of `bits`.  Those above are zeros or, where
 * the input goes on, what comes next. */
struct bit_reader {
    uint64_t bits;
    unsigned count;
    const uint8_t *in, *end;
};

/* Makes 56 bits or more available, or all that the input has. */
static inline void fill_bits(struct bit_reader *r)
{
    if (r->end - r->in >= 8 && r->count < 64) {
        uint64_t next;
        memcpy(&next, r->in, sizeof next);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        next = __builtin_bswap64(next);
#endif
        r->bits |= next << r->count;
        r->in += (63 - r->count) / 8;
        r->count |= 56;
        return;
    }
    for (; r->count < 56 && r->in != r->end; r->count += 8)
        r->bits |= (uint64_t)*r->in++ << r->count;
}

/* Makes n bits available, n <= 32.  False: the input has fewer. */
static inline bool need(struct bit_reader *r, unsigned n)
{
    if (r->count < n)
        fill_bits(r);
    return r->count >= n;
}

/* Takes n of the bits that are available, n <= 32. */
static inline unsigned take_bits(struct bit_reader *r, unsigned n)
{
    const unsigned value = (unsigned)(r->bits & ((UINT64_C(1) << n) - 1));
    r->bits >>= n;
    r->count -= n;
    return value;
}

/* --- Codes ---------------------------------------------------------------------------------- */

enum { ALL = 1 << BITS_MAX };

/* How many of ALL patterns of BITS_MAX bits start with a code of that length; 0 means no code. */
static inline unsigned patterns_of(unsigned length)
{
    return (unsigned)ALL >> length & (ALL - 1);
}

/* How many have a meaning, therefore, in a code of those lengths; more than ALL: it is none. */
static unsigned used_patterns(const uint8_t *lengths, unsigned n)
{
    unsigned used = 0;

    for (unsigned i = 0; i < n; i++)
        used += patterns_of(lengths[i]);
    return used;
}

/* Whether zlib decodes with that code: it is complete, or of one symbol that has one bit, or of
 * none.  `used` is its used_patterns(). */
static bool usable(const uint8_t *lengths, unsigned n, unsigned used)
{
    unsigned symbols = 0;

    if (used == ALL || used == 0)
        return true;
    if (used != ALL / 2)
        return false;
    for (unsigned i = 0; i < n; i++)
        symbols += lengths[i] != 0;
    return symbols == 1;
}

/* One symbol of the code lengths' code, and what it says. */
struct step {
    uint8_t bits;      /* of its code and of the repeat count that follows it */
    uint8_t code_bits; /* of these, its code's */
    uint8_t times;     /* how many code lengths it stands for if the repeat count is 0 */
    uint8_t keep;      /* what they are: the one before & keep, | value */
    uint8_t value;
};

/* Finds for LENGTH_BITS_MAX bits what they start with, in a complete code. */
static void make_steps(const uint8_t lengths[LENGTH_SYMBOLS],
                       struct step steps[1 << LENGTH_BITS_MAX])
{
    uint8_t first[LENGTH_BITS_MAX + 2] = {0}, sorted[LENGTH_SYMBOLS];
    unsigned code = 0; /* its first bit is the lowest, as in the input */

    for (unsigned i = 0; i < LENGTH_SYMBOLS; i++)
        first[lengths[i] + 1]++;
    first[1] = 0;
    for (unsigned l = 1; l <= LENGTH_BITS_MAX; l++)
        first[l + 1] = (uint8_t)(first[l + 1] + first[l]);
    const unsigned n = first[LENGTH_BITS_MAX + 1];
    for (unsigned i = 0; i < LENGTH_SYMBOLS; i++)
        if (lengths[i] != 0)
            sorted[first[lengths[i]]++] = (uint8_t)i;
    for (unsigned i = 0; i < n; i++) {
        const unsigned symbol = sorted[i], l = lengths[symbol];
        struct step step = {.bits = (uint8_t)l, .code_bits = (uint8_t)l, .times = 1};
        switch (symbol) {
        case COPY:
            step.bits = (uint8_t)(l + 2);
            step.times = 3;
            step.keep = 0xff;
            break;
        case ZEROS:
            step.bits = (uint8_t)(l + 3);
            step.times = 3;
            break;
        case MANY_ZEROS:
            step.bits = (uint8_t)(l + 7);
            step.times = 11;
            break;
        default:
            step.value = (uint8_t)symbol;
        }
        for (unsigned at = code; at < 1u << LENGTH_BITS_MAX; at += 1u << l)
            steps[at] = step;
        /* The next code is this plus one, where the last bit, now the highest, counts one. */
        unsigned bit = 1u << (l - 1);
        for (; (code & bit) != 0; bit >>= 1)
            code ^= bit;
        code |= bit;
    }
}

/* --- Dynamic blocks ------------------------------------------------------------------------- */

/* The most code lengths that are not zeros and come of one step, and more. */
enum { STEP_MAX = 16 };

/* Reads n code lengths, written in the code of those steps, to `lengths`, which are zeros.  Up to
 * STEP_MAX bytes behind them are written to as well.  *used becomes used_patterns() of them. */
static enum inf_block_verdict read_lengths(struct bit_reader *reader, const struct step *steps,
                                           uint8_t *lengths, unsigned n, unsigned *used)
{
    struct bit_reader r = *reader;
    unsigned last = COPY, patterns = 0; /* there is no code length before the first */

    for (unsigned i = 0; i < n;) {
        if (r.count < LENGTH_BITS_MAX + 7)
            fill_bits(&r);
        /* Bits may be missing at the end of the input.  That does not matter to a code that is
         * there as a whole, nor does it to a repeat, which is judged when its count is there. */
        const struct step step = steps[r.bits & ((1u << LENGTH_BITS_MAX) - 1)];
        if (step.bits > r.count)
            return INF_BLOCK_CUT;
        const unsigned times = step.times + (take_bits(&r, step.bits) >> step.code_bits);
        last = (last & step.keep) | step.value;
        if (times > n - i || last == COPY)
            return INF_BLOCK_BAD;
        memset(lengths + i, (int)last, STEP_MAX);
        patterns += times * patterns_of(last);
        i += times;
    }
    *reader = r;
    *used = patterns;
    return INF_BLOCK_GOOD;
}

_Static_assert(sizeof(((struct inf_lengths *)0)->all) == LITLEN_MAX + DISTANCE_MAX + STEP_MAX,
               "room for all");

/* Checks a dynamic block's header from its counts on. */
static enum inf_block_verdict check_dynamic(struct bit_reader *r, struct inf_lengths *found)
{
    static const uint8_t order[LENGTH_SYMBOLS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t length_lengths[LENGTH_SYMBOLS] = {0};
    uint8_t *const lengths = found->all;
    struct step steps[1 << LENGTH_BITS_MAX];
    unsigned used;

    if (!need(r, 14))
        return INF_BLOCK_CUT;
    const unsigned litlens = 257 + take_bits(r, 5), distances = 1 + take_bits(r, 5),
                   listed = 4 + take_bits(r, 4);
    if (litlens > LITLEN_MAX || distances > DISTANCE_MAX)
        return INF_BLOCK_BAD;
    *found = (struct inf_lengths){.litlens = litlens, .distances = distances};
    for (unsigned i = 0; i < listed; i++) {
        if (!need(r, 3))
            return INF_BLOCK_CUT;
        length_lengths[order[i]] = (uint8_t)take_bits(r, 3);
    }

    if (used_patterns(length_lengths, LENGTH_SYMBOLS) != ALL)
        return INF_BLOCK_BAD;
    make_steps(length_lengths, steps);

    const enum inf_block_verdict verdict =
        read_lengths(r, steps, lengths, litlens + distances, &used);
    if (verdict != INF_BLOCK_GOOD)
        return verdict;
    const unsigned used_distances = used_patterns(lengths + litlens, distances);
    return lengths[END_OF_BLOCK] != 0 && usable(lengths, litlens, used - used_distances) &&
                   usable(lengths + litlens, distances, used_distances)
               ? INF_BLOCK_GOOD
               : INF_BLOCK_BAD;
}

/* --- Blocks --------------------------------------------------------------------------------- */

static enum inf_block_verdict check_stored(struct bit_reader *r, struct inf_block *block)
{
    take_bits(r, r->count % 8);
    if (!need(r, 32))
        return INF_BLOCK_CUT;
    block->stored_len = take_bits(r, 16);
    return take_bits(r, 16) == (block->stored_len ^ 0xffff) ? INF_BLOCK_GOOD : INF_BLOCK_BAD;
}

enum inf_block_verdict inf_check_block(uint64_t bits, unsigned count, const uint8_t *in, size_t len,
                                       struct inf_block *block)
{
    struct inf_lengths lengths;

    return inf_read_block(bits, count, in, len, block, &lengths);
}

enum inf_block_verdict inf_read_block(uint64_t bits, unsigned count, const uint8_t *in, size_t len,
                                      struct inf_block *block, struct inf_lengths *lengths)
{
    struct bit_reader r = {.count = count, .in = in, .end = in + len};
    enum inf_block_verdict verdict = INF_BLOCK_GOOD;

    r.bits = count < 64 ? bits & ((UINT64_C(1) << count) - 1) : bits;
    if (!need(&r, 3))
        return INF_BLOCK_CUT;
    *block = (struct inf_block){.final = take_bits(&r, 1) != 0};
    block->type = (enum inf_block_type)take_bits(&r, 2);
    switch (block->type) {
    case INF_BLOCK_STORED:
        verdict = check_stored(&r, block);
        break;
    case INF_BLOCK_FIXED:
        break;
    case INF_BLOCK_DYNAMIC:
        verdict = check_dynamic(&r, lengths);
        break;
    default:
        verdict = INF_BLOCK_BAD;
    }
    block->header_bits = count + 8 * (unsigned)(r.in - in) - r.count;
    return verdict;
}
