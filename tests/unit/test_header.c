/*
 * test_header.c - the header of a dynamic block contains the right code lengths, and is short
 *
 * A small parser, written from RFC 1951, section 3.2.7, reads each header.  The parser must find
 * the same lengths, and the header must have the announced size.  The size is compared with the
 * size of zlib's header, which uses the longest possible repeat at every step.
 */
#include "config.h"

#include <string.h>

#include "huffman/header.h"
#include "huffman/lengths.h"
#include "tests/unit/unit.h"

static struct huff_lengths_work work;

/* A header may be longer than zlib's by at most this many bits.  Symbols are chosen by an estimate
 * of their cost, so one header in a hundred is longer than zlib's, mostly by 1 to 3 bits.  The
 * largest difference seen here is 8 bits; a real error in the choice costs more. */
#define MAX_LONGER 8

/* The lengths of both alphabets' codes. */
struct lengths {
    uint8_t litlen[DEFLATE_LITLEN_SYMBOLS];
    uint8_t distance[DEFLATE_DISTANCE_SYMBOLS];
};

/* Totals over all headers checked so far: the sizes of gzlzss's and zlib's headers in bits, the
 * number of headers, and how many of gzlzss's were longer. */
static uint64_t our_bits, zlib_bits;
static unsigned headers, longer;

/* --- A reader of dynamic headers --- */

struct reader {
    const uint8_t *data;
    size_t pos, end; /* position and end, in bits */
};

static unsigned get(struct reader *r, unsigned count)
{
    unsigned value = 0;

    for (unsigned i = 0; i < count; i++, r->pos++)
        if (r->pos < r->end)
            value |= (unsigned)(r->data[r->pos / 8] >> r->pos % 8 & 1) << i;
    return value;
}

/* Reads a symbol of the canonical code with these lengths, bit by bit.  Returns 19 if the bits are
 * no code. */
static unsigned get_symbol(struct reader *r, const uint8_t *lengths)
{
    unsigned code = 0, first = 0;

    for (unsigned length = 1; length <= 7; length++) {
        unsigned count = 0;

        code = code << 1 | get(r, 1);
        first <<= 1;
        for (unsigned s = 0; s < 19; s++)
            if (lengths[s] == length && first + count++ == code)
                return s;
        first += count;
    }
    return 19;
}

/* Reads a header.  Returns false if the header breaks a rule. */
static bool parse(struct reader *r, struct lengths *out)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned hlit = get(r, 5) + 257, hdist = get(r, 5) + 1, hclen = get(r, 4) + 4;
    uint8_t precode[19] = {0}, all[286 + 30];
    unsigned kraft = 0, n = 0;

    if (!CHECK(hlit <= 286 && hdist <= 30))
        return false;
    for (unsigned i = 0; i < hclen; i++) {
        precode[order[i]] = (uint8_t)get(r, 3);
        kraft += precode[order[i]] > 0 ? 128u >> precode[order[i]] : 0;
    }
    /* Some decoders accept only a complete code. */
    if (!CHECK_EQ(kraft, 128))
        return false;
    while (n < hlit + hdist) {
        unsigned s = get_symbol(r, precode), repeat = 1, value = s;

        if (!CHECK(s <= 18))
            return false;
        if (s == 16) {
            if (!CHECK(n > 0))
                return false;
            value = all[n - 1];
            repeat = 3 + get(r, 2);
        } else if (s >= 17) {
            value = 0;
            repeat = s == 17 ? 3 + get(r, 3) : 11 + get(r, 7);
        }
        if (!CHECK(repeat <= hlit + hdist - n))
            return false;
        memset(all + n, (int)value, repeat);
        n += repeat;
    }
    memset(out, 0, sizeof(*out));
    memcpy(out->litlen, all, hlit);
    memcpy(out->distance, all + hlit, hdist);
    return true;
}

/* --- zlib's header --- */

/* Counts the symbols that zlib uses for lengths[0..n).  Returns the number of extra bits. */
static unsigned zlib_symbols(const uint8_t *lengths, unsigned n, uint32_t *frequencies)
{
    unsigned extra = 0, end;

    for (unsigned i = 0; i < n; i = end) {
        unsigned run;

        for (end = i + 1; end < n && lengths[end] == lengths[i]; end++)
            ;
        run = end - i;
        if (lengths[i] > 0) {
            frequencies[lengths[i]]++;
            for (run--; run >= 3; run -= run < 6 ? run : 6) {
                frequencies[16]++;
                extra += 2;
            }
        } else {
            for (; run >= 11; run -= run < 138 ? run : 138) {
                frequencies[18]++;
                extra += 7;
            }
            if (run >= 3) {
                frequencies[17]++;
                extra += 3;
                run = 0;
            }
        }
        frequencies[lengths[i]] += run;
    }
    return extra;
}

/* Returns the size of zlib's header in bits.  huff_lengths makes the code, since its codes are
 * optimal, which test_lengths.c checks.  zlib's own codes are not always optimal.  In zlib, a run
 * does not go from one alphabet into the other. */
static unsigned zlib_header_bits(const struct lengths *l)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint32_t frequencies[19] = {0};
    unsigned hlit = 286, hdist = 30, hclen = 19, bits;
    uint8_t precode[19];

    while (hlit > 257 && l->litlen[hlit - 1] == 0)
        hlit--;
    while (hdist > 1 && l->distance[hdist - 1] == 0)
        hdist--;
    bits = zlib_symbols(l->litlen, hlit, frequencies);
    bits += zlib_symbols(l->distance, hdist, frequencies);
    huff_lengths(&work, frequencies, 19, 7, precode);
    while (hclen > 4 && precode[order[hclen - 1]] == 0)
        hclen--;
    for (unsigned s = 0; s < 19; s++)
        bits += frequencies[s] * precode[s];
    return bits + 5 + 5 + 4 + 3 * hclen;
}

/* --- Tests --- */

/* Writes the header for `l`, starting at any bit of a byte, and checks everything that header.h
 * promises. */
static void check_header(const struct lengths *l)
{
    static unsigned offset;
    struct huff_header h;
    struct lengths back;
    struct reader r;
    struct bitwriter w;
    size_t size;
    uint8_t *out;
    unsigned zlib = zlib_header_bits(l);

    offset = (offset + 3) % 8;
    memset(&h, 0xa5, sizeof(h));
    huff_header_plan(&work, l->litlen, l->distance, &h);
    our_bits += h.bits;
    zlib_bits += zlib;
    headers++;
    longer += h.bits > zlib;
    CHECK(h.bits <= zlib + MAX_LONGER);

    /* Memory of exactly the promised size lets a sanitizer see writes past it. */
    size = (offset + h.bits + 7) / 8;
    out = malloc(size + BITWRITER_SLACK);
    if (out == NULL)
        abort();
    w.next = out;
    w.bits = 0;
    w.count = 0;
    bits_put(&w, (1u << offset) - 1, offset);
    huff_header_write(&h, &w);
    CHECK_EQ(8 * (w.next - out) + w.count, offset + h.bits);
    bits_align(&w);

    r.data = out;
    r.pos = 0;
    r.end = 8 * size;
    CHECK_EQ(get(&r, offset), (1u << offset) - 1);
    if (parse(&r, &back)) {
        CHECK_EQ(r.pos, offset + h.bits);
        CHECK(memcmp(back.litlen, l->litlen, sizeof(back.litlen)) == 0);
        CHECK(memcmp(back.distance, l->distance, sizeof(back.distance)) == 0);
    }
    free(out);
}

/* Tests the shortest possible codes, and the smallest number of lengths in each alphabet. */
static void fewest(void)
{
    struct lengths l = {0};

    l.litlen[0] = l.litlen[256] = 1;
    check_header(&l); /* without distances, one length is sent nevertheless */
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++) {
        l.distance[i] = 1;
        check_header(&l);
        l.distance[i] = 0;
    }
    memset(&l, 0, sizeof(l));
    check_header(&l);
}

/* Tests the most lengths, all equal, or all zero except the last.  So runs are as long as possible,
 * and go from one alphabet into the other. */
static void longest_runs(void)
{
    struct lengths l;

    for (int length = 1; length <= DEFLATE_MAX_CODE; length++) {
        memset(&l, length, sizeof(l));
        check_header(&l);
        memset(l.distance, DEFLATE_MAX_CODE + 1 - length, sizeof(l.distance));
        check_header(&l);
        memset(&l, 0, sizeof(l));
        l.litlen[DEFLATE_LITLEN_SYMBOLS - 1] = (uint8_t)length;
        l.distance[DEFLATE_DISTANCE_SYMBOLS - 1] = (uint8_t)length;
        check_header(&l);
        l.litlen[DEFLATE_LITLEN_SYMBOLS - 1] = 0;
        check_header(&l);
    }
}

/* Tests a run of each possible number of zeros or of one length, among other lengths or at an end.
 * So all ways are tested to divide a run into repeats of 3 to 6, 3 to 10 and 11 to 138. */
static void every_run(void)
{
    for (unsigned run = 1; run <= DEFLATE_LITLEN_SYMBOLS; run++) {
        for (unsigned start = 0; start <= 1 && start + run <= DEFLATE_LITLEN_SYMBOLS; start++) {
            struct lengths l;

            for (int in_run = 0; in_run <= 8; in_run += 8) {
                for (unsigned i = 0; i < DEFLATE_LITLEN_SYMBOLS; i++)
                    l.litlen[i] = (uint8_t)(7 + i % 2);
                for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++)
                    l.distance[i] = (uint8_t)(4 + i % 2);
                memset(l.litlen + start, in_run, run);
                check_header(&l);

                /* Try the run again with one length everywhere else, so that the header has few
                 * symbols besides those of the run, and these are frequent. */
                memset(&l, 8 - in_run, sizeof(l));
                memset(l.litlen + start, in_run, run);
                check_header(&l);
            }
        }
    }
}

/* A run goes from the end of one alphabet into the other. */
static void runs_across(void)
{
    for (unsigned before = 0; before <= 29; before++) {
        for (unsigned after = 0; after <= 29; after++) {
            struct lengths l;

            memset(&l, 8, sizeof(l));
            memset(l.litlen + 280 - before, 0, before);
            memset(l.litlen + 280, 9, 6);
            memset(l.distance, 9, after);
            check_header(&l);

            memset(l.litlen + 257, 0, DEFLATE_LITLEN_SYMBOLS - 257);
            memset(l.litlen + 257 - before, 5, before);
            memset(l.distance, 5, after);
            check_header(&l);
        }
    }
}

/* Tests lengths that real blocks have: the best codes for random histograms. */
static void random_codes(void)
{
    uint64_t state = 1;

    for (unsigned round = 0; round < 3000; round++) {
        uint32_t litlen[DEFLATE_LITLEN_SYMBOLS] = {0}, distance[DEFLATE_DISTANCE_SYMBOLS] = {0};
        unsigned draws = 1 + (unsigned)unit_below(&state, (uint64_t)1 << (1 + round % 14));
        unsigned low = (unsigned)unit_below(&state, 256), symbols = 1 + round % 256;
        struct lengths l;

        /* Literals from a part of the alphabet; each is the sum of two random numbers, so that some
         * are frequent. */
        for (unsigned i = 0; i < draws; i++) {
            unsigned literal =
                (unsigned)(unit_below(&state, symbols) + unit_below(&state, symbols));

            litlen[(low + literal / 2) % 256]++;
            if (round % 3 > 0) {
                litlen[257 + unit_below(&state, 1 + unit_below(&state, 29))]++;
                distance[unit_below(&state, 30)]++;
            }
        }
        litlen[DEFLATE_END_OF_BLOCK] = 1;
        huff_lengths(&work, litlen, DEFLATE_LITLEN_SYMBOLS, DEFLATE_MAX_CODE, l.litlen);
        huff_lengths(&work, distance, DEFLATE_DISTANCE_SYMBOLS, DEFLATE_MAX_CODE, l.distance);
        check_header(&l);
    }
}

/* Tests lengths that no code would have: runs of any number of equal lengths, with few or many
 * values. */
static void random_lengths(void)
{
    uint64_t state = 2;

    for (unsigned round = 0; round < 6000; round++) {
        uint8_t all[DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS];
        unsigned values = 1 + (unsigned)unit_below(&state, 16);
        unsigned longest = 1 + (unsigned)unit_below(&state, round % 4 == 0 ? 300 : 14);
        unsigned zeros = (unsigned)unit_below(&state, 4);
        struct lengths l;

        for (unsigned i = 0; i < sizeof(all);) {
            unsigned run = 1 + (unsigned)unit_below(&state, longest);
            unsigned value = (unsigned)unit_below(&state, values);

            if (unit_below(&state, 4) < zeros)
                value = 0;
            for (; run > 0 && i < sizeof(all); run--)
                all[i++] = (uint8_t)value;
        }
        memcpy(l.litlen, all, sizeof(l.litlen));
        memcpy(l.distance, all + sizeof(l.litlen), sizeof(l.distance));
        check_header(&l);
    }
}

/* Checks that choosing symbols pays.  In total, gzlzss's headers are clearly shorter than zlib's,
 * and few are longer. */
static void shorter_than_zlib(void)
{
    CHECK(our_bits < zlib_bits - zlib_bits / 100);
    CHECK(longer < headers / 50);
    printf("# %u headers, %.3f of zlib's size; %u longer than zlib's\n", headers,
           (double)our_bits / (double)zlib_bits, longer);
}

int main(void)
{
    RUN(fewest);
    RUN(longest_runs);
    RUN(every_run);
    RUN(runs_across);
    RUN(random_codes);
    RUN(random_lengths);
    RUN(shorter_than_zlib);
    return unit_done();
}
