/*
 * test_blockheader.c - inf_check_block() judges good and bad headers of DEFLATE blocks as zlib
 * does, except that it judges as GNU gzip does where has_no_length_code (blocks.h) is true
 */
#include "config.h"

#include "inflate/blockheader.h"
#include "tests/unit/blocks.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <time.h>
#include <zlib.h>

/* --- zlib's verdict ------------------------------------------------------------------------- */

/* Returns what inf_check_block() should return, according to zlib. */
static enum inf_block_verdict by_zlib(uint64_t bits, unsigned count, const uint8_t *in, size_t len,
                                      unsigned *header_bits)
{
    static z_stream z;
    static uint8_t bytes[8 + 2 * INF_BLOCK_HEADER_MAX];
    uint8_t none;
    size_t n = 0;

    if (z.state == NULL && inflateInit2(&z, -15) != Z_OK)
        abort();
    inflateReset(&z);
    if (count % 8 != 0)
        inflatePrime(&z, (int)(count % 8), (int)(bits & ((1u << count % 8) - 1)));
    for (unsigned i = count % 8; i < count; i += 8)
        bytes[n++] = (uint8_t)(bits >> i);
    len = len < sizeof bytes - n ? len : sizeof bytes - n;
    if (len != 0)
        memcpy(bytes + n, in, len);
    z.next_in = bytes;
    z.avail_in = (uInt)(n + len);
    z.next_out = &none;
    z.avail_out = 0;
    const int ret = inflate(&z, Z_TREES);
    if (ret == Z_DATA_ERROR)
        return INF_BLOCK_BAD;
    if ((z.data_type & 256) == 0) {
        const uint8_t first = (uint8_t)(bits << (8 - count % 8));
        struct bytes all = {0};
        if (count % 8 != 0)
            add(&all, &first, 1);
        add(&all, bytes, n + len);
        const bool no_code = has_no_length_code(all.data, all.len, (8 - count % 8) % 8);
        drop(&all);
        return no_code ? INF_BLOCK_BAD : INF_BLOCK_CUT;
    }
    *header_bits = count % 8 + 8 * (unsigned)z.total_in - (z.data_type & 31);
    return INF_BLOCK_GOOD;
}

/* Compares zlib's verdict with that of inf_check_block() for the block that starts at bit `skip` of
 * in[0..len).  The block's first `count` bits are loaded before the call. */
static bool compare_at(const uint8_t *in, size_t len, unsigned skip, unsigned count,
                       enum inf_block_verdict *verdict)
{
    struct inf_block block;
    unsigned header_bits = 0;
    uint64_t bits = 0;
    /* Memory of exactly this size lets a sanitizer see reads past the end. */
    const unsigned loaded = (skip + count) / 8;
    for (unsigned i = 0; i < count; i++)
        bits |= (uint64_t)(in[(skip + i) / 8] >> (skip + i) % 8 & 1) << i;
    uint8_t *rest = unit_need(malloc(len - loaded + 1));
    if (len != loaded)
        memcpy(rest, in + loaded, len - loaded);
    rest = unit_need(realloc(rest, len - loaded != 0 ? len - loaded : 1));

    *verdict = inf_check_block(bits, count, rest, len - loaded, &block);
    const enum inf_block_verdict want = by_zlib(bits, count, rest, len - loaded, &header_bits);
    bool ok = CHECK_EQ(*verdict, want);
    if (ok && want == INF_BLOCK_GOOD) {
        ok = CHECK_EQ(block.header_bits, header_bits);
        ok = CHECK_EQ(block.final, in[skip / 8] >> skip % 8 & 1) && ok;
        ok = CHECK(header_bits <= 8 * INF_BLOCK_HEADER_MAX) && ok;
    }
    free(rest);
    return ok;
}

/* Compares the verdicts of zlib and of inf_check_block() on a header, and on each beginning of the
 * header. */
static enum inf_block_verdict compare(const struct bytes *b)
{
    enum inf_block_verdict verdict = INF_BLOCK_CUT, cut;

    for (unsigned loaded = 0; loaded <= 8 && loaded <= b->len; loaded++)
        compare_at(b->data, b->len, 0, 8 * loaded, &verdict);
    for (size_t len = 0; len < b->len; len++) {
        if (!compare_at(b->data, len, 0, 0, &cut)) {
            printf("# in the first %zu of %zu bytes\n", len, b->len);
            break;
        }
        CHECK(cut == INF_BLOCK_CUT || cut == verdict);
    }
    return verdict;
}

/* --- Headers -------------------------------------------------------------------------------- */

/* Makes a code for code lengths in which each of the symbols 0 to 15 has 4 bits. */
static void plain_lengths(struct header *h)
{
    memset(h->length_lengths, 0, sizeof h->length_lengths);
    memset(h->length_lengths, 4, 16);
    h->listed = LENGTH_CODES;
}

/* Returns the verdict on a header that gives each code length by itself, without repeats. */
static enum inf_block_verdict verdict_of(const struct codes *c, unsigned litlens,
                                         unsigned distances)
{
    struct bytes b = {0};
    struct bits bits = {.to = &b};
    struct header h = {.litlens = litlens, .distances = distances};

    plain_lengths(&h);
    for (unsigned i = 0; i < litlens; i++)
        add_step(&h, c->litlen[i], 0);
    for (unsigned i = 0; i < distances; i++)
        add_step(&h, c->distance[i], 0);
    put_header(&bits, true, &h);
    end_bits(&bits);
    const enum inf_block_verdict verdict = compare(&b);
    drop(&b);
    return verdict;
}

static enum inf_block_verdict verdict_of_header(const struct header *h)
{
    struct bytes b = {0};
    struct bits bits = {.to = &b};

    put_header(&bits, false, h);
    end_bits(&bits);
    const enum inf_block_verdict verdict = compare(&b);
    drop(&b);
    return verdict;
}

static void types(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum inf_block_verdict verdict;
    } cases[] = {
        {"", 0, INF_BLOCK_CUT},
        {"\0\0\0\xff\xff", 5, INF_BLOCK_GOOD},
        {"\xf9\1\0\xfe\xff", 5, INF_BLOCK_GOOD}, /* padding bits need not be zeros */
        {"\0\0\0\xff", 4, INF_BLOCK_CUT},
        {"\0\0\0\xff\xfe", 5, INF_BLOCK_BAD},
        {"\0\0\0\0\0", 5, INF_BLOCK_BAD},
        {"\2", 1, INF_BLOCK_GOOD},
        {"\3", 1, INF_BLOCK_GOOD},
        {"\4", 1, INF_BLOCK_CUT},
        {"\5", 1, INF_BLOCK_CUT},
        {"\6", 1, INF_BLOCK_BAD},
        {"\7", 1, INF_BLOCK_BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes b = {0};
        add(&b, cases[i].bytes, cases[i].len);
        if (!CHECK_EQ(compare(&b), cases[i].verdict))
            printf("# in case %zu\n", i);
        drop(&b);
    }
    struct inf_block block;
    CHECK_EQ(inf_check_block(0, 0, (const uint8_t *)"\1\x34\x12\xcb\xed", 5, &block),
             INF_BLOCK_GOOD);
    CHECK(block.final);
    CHECK_EQ(block.type, INF_BLOCK_STORED);
    CHECK_EQ(block.stored_len, 0x1234);
    CHECK_EQ(block.header_bits, 40);
    CHECK_EQ(inf_check_block(2, 3, (const uint8_t *)"", 0, &block), INF_BLOCK_GOOD);
    CHECK(!block.final);
    CHECK_EQ(block.type, INF_BLOCK_FIXED);
    CHECK_EQ(block.header_bits, 3);
}

/* Tests a stored block of which some bits are loaded before the call.  The block's padding then
 * ends at a boundary of the input's bytes, not of the bits that are loaded. */
static void stored_after_bits(void)
{
    struct bytes b = {0};
    add(&b, "\0\0\0\0\0\0\0\0\xff\xff\0\0\xff\xff\0\0\xff\xff", 18);
    enum inf_block_verdict verdict;
    for (unsigned skip = 0; skip < 24; skip++)
        for (unsigned count = 8 - skip % 8; count <= 64; count += 8)
            compare_at(b.data, b.len, skip, count, &verdict);
    drop(&b);
}

static void counts(void)
{
    struct codes c = {.litlen = {[0] = 1, [256] = 1}, .distance = {1, 1}};
    for (unsigned litlens = 257; litlens <= 288; litlens++)
        for (unsigned distances = 2; distances <= 32; distances++)
            CHECK_EQ(verdict_of(&c, litlens, distances),
                     litlens <= 286 && distances <= 30 ? INF_BLOCK_GOOD : INF_BLOCK_BAD);
}

static void literal_codes(void)
{
    struct codes c = {.distance = {1, 1}};

    CHECK_EQ(verdict_of(&c, 257, 2), INF_BLOCK_BAD); /* no code for the end of the block */
    for (unsigned l = 1; l <= 15; l++) {
        memset(c.litlen, 0, sizeof c.litlen);
        c.litlen[256] = (uint8_t)l;
        CHECK_EQ(verdict_of(&c, 257, 2), l == 1 ? INF_BLOCK_GOOD : INF_BLOCK_BAD);
        c.litlen[0] = 1; /* complete if the other symbol has 1 bit, too */
        CHECK_EQ(verdict_of(&c, 257, 2), l == 1 ? INF_BLOCK_GOOD : INF_BLOCK_BAD);
        c.litlen[1] = 1; /* one code more than fits */
        CHECK_EQ(verdict_of(&c, 257, 2), INF_BLOCK_BAD);
    }
    /* A code with one symbol for each length from 1 to 14 bits, and two symbols of 15 bits, is
     * complete.  The loop makes one of these lengths longer or shorter, or removes it. */
    memset(c.litlen, 0, sizeof c.litlen);
    for (unsigned i = 0; i < 15; i++)
        c.litlen[i] = (uint8_t)(i + 1);
    c.litlen[256] = 15;
    CHECK_EQ(verdict_of(&c, 257, 2), INF_BLOCK_GOOD);
    for (unsigned i = 0; i < 15; i++) {
        const uint8_t length = c.litlen[i];
        for (unsigned other = 0; other <= 15; other++) {
            c.litlen[i] = (uint8_t)other;
            CHECK_EQ(verdict_of(&c, 257, 2), other == length ? INF_BLOCK_GOOD : INF_BLOCK_BAD);
        }
        c.litlen[i] = length;
    }
    c.litlen[256] = 0; /* without the end of the block, a code of 15 bits is missing */
    CHECK_EQ(verdict_of(&c, 257, 2), INF_BLOCK_BAD);
    c.litlen[256] = 15;
    c.litlen[285] = 15; /* now there is one code too many */
    CHECK_EQ(verdict_of(&c, 286, 2), INF_BLOCK_BAD);
    CHECK_EQ(verdict_of(&c, 285, 2), INF_BLOCK_GOOD);
}

static void distance_codes(void)
{
    struct codes c = {.litlen = {[0] = 1, [256] = 1}};

    CHECK_EQ(verdict_of(&c, 257, 1), INF_BLOCK_GOOD); /* no distance codes at all */
    CHECK_EQ(verdict_of(&c, 257, 30), INF_BLOCK_GOOD);
    for (unsigned l = 1; l <= 15; l++)
        for (unsigned at = 0; at < 30; at += 29) {
            c.distance[at] = (uint8_t)l; /* a single distance code */
            CHECK_EQ(verdict_of(&c, 257, 30), l == 1 ? INF_BLOCK_GOOD : INF_BLOCK_BAD);
            for (unsigned k = 1; k <= 15; k++) {
                c.distance[15] = (uint8_t)k; /* two distance codes */
                CHECK_EQ(verdict_of(&c, 257, 30),
                         l == 1 && k == 1 ? INF_BLOCK_GOOD : INF_BLOCK_BAD);
            }
            c.distance[15] = c.distance[at] = 0;
        }
    c.distance[3] = 1;
    c.distance[4] = 2;
    c.distance[5] = 2;
    CHECK_EQ(verdict_of(&c, 257, 6), INF_BLOCK_GOOD);
    c.distance[6] = 15;
    CHECK_EQ(verdict_of(&c, 257, 6), INF_BLOCK_GOOD); /* the header does not list the seventh */
    CHECK_EQ(verdict_of(&c, 257, 7), INF_BLOCK_BAD);
}

/* Tests the code for code lengths. */
static void length_codes(void)
{
    struct header h = {.litlens = 257, .distances = 1, .listed = LENGTH_CODES};

    /* The code lengths: 256 zeros, then 1 for the end of the block, then 0 for the one distance. */
    add_step(&h, 18, 138 - 11);
    add_step(&h, 18, 118 - 11);
    add_step(&h, 1, 0);
    add_step(&h, 0, 0);
    h.length_lengths[18] = 1;
    h.length_lengths[1] = 2;
    h.length_lengths[0] = 2;
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_GOOD);
    h.length_lengths[2] = 7; /* too many codes */
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_BAD);
    h.length_lengths[2] = 0;
    h.length_lengths[0] = 3; /* incomplete */
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_BAD);
    h.length_lengths[5] = 3; /* complete again */
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_GOOD);
    h.length_lengths[5] = 4;
    h.length_lengths[6] = 5;
    h.length_lengths[7] = 6;
    h.length_lengths[8] = 7;
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_BAD);
    h.length_lengths[9] = 7;
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_GOOD);
    h.listed = 4; /* only the lengths for 16, 17, 18 and 0 */
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_BAD);

    /* A single code of one bit is incomplete.  Distances may have an incomplete code, but code
     * lengths may not. */
    memset(h.length_lengths, 0, sizeof h.length_lengths);
    h.length_lengths[1] = 1;
    h.listed = LENGTH_CODES;
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_BAD);

    /* If the code for code lengths has no symbols, the verdict is "bad" as soon as that code was
     * read, whether or not more bits follow. */
    memset(h.length_lengths, 0, sizeof h.length_lengths);
    for (unsigned n = 0; n < 40; n++) {
        struct bytes b = {0};
        struct bits bits = {.to = &b};
        h.n = 0;
        put_header(&bits, true, &h);
        end_bits(&bits);
        for (unsigned i = 0; i < n; i++)
            add_byte(&b, 0xa5);
        CHECK_EQ(compare(&b), INF_BLOCK_BAD);
        drop(&b);
    }
}

static void repeats(void)
{
    struct header h = {.litlens = 257, .distances = 1};

    h.listed = LENGTH_CODES;
    h.length_lengths[0] = h.length_lengths[1] = h.length_lengths[8] = h.length_lengths[15] = 3;
    h.length_lengths[16] = h.length_lengths[17] = h.length_lengths[18] = h.length_lengths[9] = 3;
    /* Symbol 16 repeats the length before it, but no length comes before it here. */
    add_step(&h, 16, 0);
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_BAD);
    /* The code lengths are 255 zeros, then 1 for symbol 255 and 1 for the end of the block.  Symbol
     * 16 repeats the last length for three distances. */
    h.n = 0;
    add_step(&h, 18, 138 - 11);
    add_step(&h, 18, 117 - 11);
    add_step(&h, 1, 0);
    add_step(&h, 1, 0);
    h.distances = 4;
    add_step(&h, 16, 0);
    add_step(&h, 0, 0);
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_BAD); /* three distance codes of 1 bit */
    h.n -= 2;
    add_step(&h, 0, 0);
    add_step(&h, 16, 0);
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_GOOD); /* now the repeated length is 0 */
    h.distances = 3;
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_BAD); /* one code too many */

    /* Try repeats that end with the last code length, or go beyond it.  The repeats start among the
     * lengths of the first alphabet or of the second. */
    for (unsigned symbol = 16; symbol <= 18; symbol++)
        for (unsigned before = 0; before < 30; before++)
            for (unsigned more = 0; more < (symbol == 16   ? 4u
                                            : symbol == 17 ? 8u
                                                           : 128u);
                 more += symbol == 18 ? 5 : 1) {
                const unsigned times = (symbol == 18 ? 11 : 3) + more;
                h.n = 0;
                h.litlens = 257;
                h.distances = 30;
                add_step(&h, 18, 138 - 11);
                add_step(&h, 18, 118 - 11);
                add_step(&h, 1, 0);
                for (unsigned k = 0; k < before; k++)
                    add_step(&h, 0, 0);
                if (symbol == 16 && before == 0)
                    add_step(&h, 0, 0);
                add_step(&h, symbol, more);
                const unsigned n = (symbol == 16 && before == 0) + before + times;
                /* If the header is too short, the bits after it may be taken for the rest of the
                 * header. */
                const enum inf_block_verdict verdict = verdict_of_header(&h);
                CHECK(n < 30 ? verdict != INF_BLOCK_BAD
                             : verdict == (n == 30 ? INF_BLOCK_GOOD : INF_BLOCK_BAD));
            }

    /* A repeat that begins in one alphabet and ends in the other. */
    h.n = 0;
    h.litlens = 270;
    h.distances = 30;
    add_step(&h, 18, 138 - 11);
    add_step(&h, 18, 118 - 11);
    add_step(&h, 1, 0);
    add_step(&h, 18, 43 - 11);
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_GOOD);
}

/* Tests the longest possible header. */
static void longest(void)
{
    struct codes c = {0};
    struct header h = {.litlens = 286, .distances = 30, .listed = LENGTH_CODES};

    /* 226 symbols have codes of 8 bits, and 60 have codes of 9 bits.  Two distances have codes of 4
     * bits, and the others have codes of 5 bits.  In the code for code lengths, the lengths 8, 9, 4
     * and 5 are among the eight that have codes of 7 bits. */
    for (unsigned i = 0; i < 286; i++)
        c.litlen[i] = i < 226 ? 8 : 9;
    for (unsigned i = 0; i < 30; i++)
        c.distance[i] = i < 2 ? 4 : 5;
    const uint8_t seven[] = {8, 9, 4, 5, 6, 7, 10, 11}, others[] = {1, 2, 3, 0};
    for (unsigned i = 0; i < 8; i++)
        h.length_lengths[seven[i]] = 7;
    for (unsigned i = 0; i < 4; i++)
        h.length_lengths[others[i]] = (uint8_t)(i + 1);
    for (unsigned i = 0; i < 286; i++)
        add_step(&h, c.litlen[i], 0);
    for (unsigned i = 0; i < 30; i++)
        add_step(&h, c.distance[i], 0);
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_GOOD);
    h.steps[h.n - 1].symbol = 4;
    CHECK_EQ(verdict_of_header(&h), INF_BLOCK_BAD);
}

/* --- At random ------------------------------------------------------------------------------ */

/* Compares the verdicts on good headers, spoiled headers and noise.  Any number of bits is loaded
 * before the call. */
static void at_random(void)
{
    const char *seconds = getenv("FUZZ_SECONDS");
    const time_t start = time(NULL), limit = seconds != NULL ? atoi(seconds) : 0;
    uint64_t state = limit != 0 ? (uint64_t)start : 3;
    unsigned long seen[3] = {0}, n = 0;

    for (; limit != 0 ? time(NULL) - start < limit : n < 60000; n++) {
        struct bytes b = {0};
        struct bits bits = {.to = &b};
        struct codes c;
        struct header h;
        enum inf_block_verdict verdict;
        const unsigned skip = below(&state, 8);
        const bool spoil = !one_in(&state, 4);

        put_bits(&bits, unit_rand(&state), skip);
        random_codes(&c, spoil, &state);
        random_header(&h, &c, spoil, &state);
        put_header(&bits, one_in(&state, 2), &h);
        put_bits(&bits, unit_rand(&state), below(&state, 64));
        end_bits(&bits);
        if (spoil && one_in(&state, 4))
            for (uint64_t k = 1 + unit_below(&state, 3); k != 0; k--)
                b.data[unit_below(&state, b.len)] ^= (uint8_t)(1u << unit_below(&state, 8));
        if (one_in(&state, 4))
            b.len = 1 + unit_below(&state, b.len);
        if (one_in(&state, 50))
            for (size_t i = 1; i < b.len; i++)
                b.data[i] = (uint8_t)unit_rand(&state);
        unsigned count = 8 * below(&state, 9);
        count = count < skip ? 8 - skip : count - skip;
        if ((count + skip) % 8 != 0 || count > 64)
            count = 8 - skip;
        if (skip + count > 8 * b.len)
            count = 8 * (unsigned)b.len - skip;
        if (!compare_at(b.data, b.len, skip, count, &verdict)) {
            printf("# header %lu\n", n);
            drop(&b);
            break;
        }
        seen[verdict]++;
        drop(&b);
    }
    printf("# %lu headers: %lu good, %lu cut off, %lu bad\n", n, seen[INF_BLOCK_GOOD],
           seen[INF_BLOCK_CUT], seen[INF_BLOCK_BAD]);
    CHECK(seen[INF_BLOCK_GOOD] > n / 10 && seen[INF_BLOCK_CUT] > n / 20 &&
          seen[INF_BLOCK_BAD] > n / 10);
}

int main(void)
{
    RUN(types);
    RUN(stored_after_bits);
    RUN(counts);
    RUN(literal_codes);
    RUN(distance_codes);
    RUN(length_codes);
    RUN(repeats);
    RUN(longest);
    RUN(at_random);
    return unit_done();
}
