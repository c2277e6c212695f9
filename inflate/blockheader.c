/*
 * blockheader.c - checks the header of a DEFLATE block without decoding the block (blockheader.h)
 *
 * A dynamic block (RFC 1951, section 3.2.7) starts with the lengths of its codes, from which a
 * decoder makes its tables.  If the codes are too long for the number of symbols, some patterns of
 * bits have no meaning.  RFC 1951 says about such incomplete codes only that a single distance code
 * has one bit.  zlib and GNU gzip reject most of them as damage (blockheader.h lists the
 * exceptions).  ISA-L goes on until it meets a pattern without a meaning.  So when ISA-L decodes
 * (inflate/raw.c), the header is checked here first.
 *
 * Every block is checked, so the check must be fast.  ISA-L takes 5 us or more for a dynamic block;
 * the check of its header takes 0.6 to 0.8 us.  Most of this time is spent on reading the code
 * lengths one after the other.  So one table look-up gives everything about the next symbol of the
 * precode (struct step), and there are no branches on the symbol.
 */
#include "config.h"

#include "inflate/blockheader.h"

#include <string.h>

#include "base/deflate.h"

enum {
    LENGTH_SYMBOLS = 19, /* symbols of the precode, which encodes the code lengths */
    LENGTH_BITS_MAX = 7, /* bits of the precode's longest codes */
    COPY = 16,           /* the precode's symbols that stand for several code lengths */
    ZEROS = 17,
    MANY_ZEROS = 18,
    LITLEN_MAX = 286,  /* the most codes of literals, lengths and the end of the block */
    DISTANCE_MAX = 30, /* the most codes of distances */
    END_OF_BLOCK = 256,
    BITS_MAX = 15, /* bits of the longest codes of literals, lengths and distances */
};

/* --- Bits, low ones first ------------------------------------------------------------------- */

/* A reader of bits. */
struct bit_reader {
    uint64_t bits;           /* the next bits, of which the lowest `count` are available */
    unsigned count;          /* the number of available bits */
    const uint8_t *in, *end; /* the bytes after the available bits */
};

/* Makes 56 bits or more available, or as many as the input has. */
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

/* Makes n bits available, n <= 32; false if the input has fewer. */
static inline bool need(struct bit_reader *r, unsigned n)
{
    if (r->count < n)
        fill_bits(r);
    return r->count >= n;
}

/* Takes n of the available bits, n <= 32. */
static inline unsigned take_bits(struct bit_reader *r, unsigned n)
{
    const unsigned value = (unsigned)(r->bits & ((UINT64_C(1) << n) - 1));
    r->bits >>= n;
    r->count -= n;
    return value;
}

/* --- Codes ---------------------------------------------------------------------------------- */

enum { ALL = 1 << BITS_MAX };

/* Returns how many of the ALL patterns of BITS_MAX bits start with a given code of `length` bits; 0
 * for length 0, which means that there is no code. */
static inline unsigned patterns_of(unsigned length)
{
    return (unsigned)ALL >> length & (ALL - 1);
}

/* Returns how many of the ALL patterns start with one of the codes of these lengths.  If that is
 * more than ALL, no code has these lengths. */
static unsigned used_patterns(const uint8_t *lengths, unsigned n)
{
    unsigned used = 0;

    for (unsigned i = 0; i < n; i++)
        used += patterns_of(lengths[i]);
    return used;
}

/* Whether zlib accepts a code of these lengths: it is complete, or has one symbol with a code of
 * one bit, or no symbol.  `used` is used_patterns(lengths, n). */
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

/* A symbol of the precode.  It stands for one or more code lengths, each of which is (previous code
 * length & keep) | value. */
struct step {
    uint8_t bits;      /* bits of the symbol's code and of the repeat count after it */
    uint8_t code_bits; /* bits of the code alone */
    uint8_t times;     /* how many code lengths the symbol stands for if the repeat count is 0 */
    uint8_t keep;
    uint8_t value;
};

/* Fills in the table of steps.  The index is the next LENGTH_BITS_MAX bits of the input, and the
 * entry is the symbol whose code they start with.  The precode is complete. */
static void make_steps(const uint8_t lengths[LENGTH_SYMBOLS],
                       struct step steps[1 << LENGTH_BITS_MAX])
{
    uint8_t first[LENGTH_BITS_MAX + 2] = {0}, sorted[LENGTH_SYMBOLS];
    unsigned code = 0; /* the current code; its first bit is the lowest one, as in the input */

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
        /* Add one to get the next code.  In this order of bits, the lowest bit of the code is bit l
         * - 1. */
        unsigned bit = 1u << (l - 1);
        for (; (code & bit) != 0; bit >>= 1)
            code ^= bit;
        code |= bit;
    }
}

/* --- Dynamic blocks ------------------------------------------------------------------------- */

/* The number of code lengths that read_lengths writes for every step.  If a step stands for fewer
 * lengths, later steps overwrite the surplus.  If a step stands for more, all of its lengths are
 * zero, and zeros need not be written. */
enum { STEP_MAX = 16 };

/* Reads n code lengths, by the table of steps, into `lengths`, which the caller has set to zero.
 * May overwrite up to STEP_MAX bytes after them.  Sets *used to used_patterns of the lengths. */
static enum inf_block_verdict read_lengths(struct bit_reader *reader, const struct step *steps,
                                           uint8_t *lengths, unsigned n, unsigned *used)
{
    struct bit_reader r = *reader;
    unsigned last = COPY; /* marks that there is no previous code length */
    unsigned patterns = 0;

    for (unsigned i = 0; i < n;) {
        if (r.count < LENGTH_BITS_MAX + 7)
            fill_bits(&r);
        /* At the end of the input, some of these bits may be missing.  A code that is complete is
         * still found.  A repeat is checked only if its count is complete. */
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

/* Checks a dynamic block's header after the first three bits. */
static enum inf_block_verdict check_dynamic(struct bit_reader *r, struct inf_lengths *found)
{
    static const uint8_t order[LENGTH_SYMBOLS] = DEFLATE_PRECODE_ORDER;
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
