/*
 * test_verify.c - verify_segment accepts right outputs, and sees every change that matters
 *
 * A change of a bit does not matter if a decoder gives the same bytes and ends at the same place.
 * So whenever verify_segment accepts a changed output, zlib's inflate must decode it to the input.
 */
#include "config.h"

#include <string.h>

#include <zlib.h>

#include "compat/check.h"
#include "compat/container.h"
#include "huffman/huffman.h"
#include "lzss/lzss.h"
#include "pipeline/compress/store.h"
#include "pipeline/compress/verify.h"
#include "tests/unit/inputs.h"
#include "tests/unit/unit.h"

#define MAX_LEN ((size_t)70000)

static struct matchers matchers = {.segment_size = MAX_LEN};
static struct huff_encoder *encoder;
static struct inf_whole *decoder;
static uint8_t *decoded;

/* A segment with its output, which has room for a BGZF member. */
struct segment {
    struct slot slot;
    enum container container;
    enum huff_end end;
    uint8_t *in, *out;
    size_t before;
};

/* Computes the values of the slot's input. */
static void note(struct segment *g)
{
    const enum gz_check check = gz_check_of(g->container);
    const uint8_t *in = g->in + g->before;

    g->slot.check = gz_check_more(check, gz_check_start(check), in, g->slot.len);
    verify_note(&g->slot, g->container, in);
}

/* Compresses in[before..before + len), after in[0..before), at a level. */
static void make(struct segment *g, int level, enum container container, enum huff_end end,
                 uint8_t *in, size_t before, size_t len)
{
    const struct lz_level *l = lz_level(level);
    const enum gz_check check = gz_check_of(container);
    struct lz_matcher *m = lz_is_stored(l) ? NULL : matcher_of(&matchers, l);
    uint8_t *data;

    *g = (struct segment){.container = container, .end = end, .in = in, .before = before};
    g->out = unit_need(malloc(huff_bound(MAX_LEN) + BGZF_AROUND));
    data = g->out + gz_before_data(container);
    g->slot = (struct slot){.len = len, .out = g->out};
    if (lz_is_stored(l))
        g->slot.out_len = store_segment(in + before, len, end, check, data, &g->slot.check);
    else if (before == 0)
        CHECK(huff_encode_segment(encoder, in, len, lz_match_segment(m, in, len), l->split, end,
                                  data, &g->slot.out_len));
    else
        CHECK(huff_encode_after(encoder, in, before + len, before,
                                lz_match_after(m, in, before + len), l->split, end, data,
                                &g->slot.out_len));
    note(g);
    if (container == CONTAINER_BGZF)
        g->slot.out_len = gz_write_member(g->out, g->slot.out_len, g->slot.check, len);
}

static bool is_accepted(struct segment *g)
{
    /* The pipeline decodes to the memory of the input. */
    memcpy(decoded, g->in, g->before + g->slot.len);
    return verify_segment(decoder, &g->slot, g->container, g->end == HUFF_LAST, decoded, g->before);
}

/* Whether zlib decodes the output to the segment. */
static bool zlib_agrees(const struct segment *g)
{
    const bool is_member = g->container == CONTAINER_BGZF;
    uint8_t *back = unit_need(malloc(g->slot.len + 1));
    z_stream s = {.next_in = g->out,
                  .avail_in = (uInt)g->slot.out_len,
                  .next_out = back,
                  .avail_out = (uInt)g->slot.len + 1};
    int result;
    bool ok;

    if (inflateInit2(&s, is_member ? 15 + 16 : -15) != Z_OK ||
        (g->before > 0 && inflateSetDictionary(&s, g->in, (uInt)g->before) != Z_OK))
        abort();
    result = inflate(&s, Z_SYNC_FLUSH);
    ok = (g->end == HUFF_LAST ? result == Z_STREAM_END : result == Z_OK || result == Z_BUF_ERROR) &&
         s.avail_in == 0 && s.total_out == g->slot.len &&
         memcmp(back, g->in + g->before, g->slot.len) == 0;
    inflateEnd(&s);
    free(back);
    return ok;
}

/* Changes each bit of the output, `step` bits apart.  Few changes may be accepted, and only if zlib
 * accepts them, too. */
static void change_bits(struct segment *g, size_t step)
{
    size_t changed = 0, accepted = 0;

    for (size_t bit = 0; bit < 8 * g->slot.out_len; bit += step) {
        g->out[bit / 8] ^= (uint8_t)(1 << bit % 8);
        changed++;
        if (is_accepted(g)) {
            accepted++;
            CHECK(zlib_agrees(g));
        }
        g->out[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    /* Some bits mean nothing: the padding of stored blocks and of the last byte. */
    CHECK(accepted <= changed / 8 + 30);
}

/* Cuts the output off, and lets it go on.  The empty blocks of a mark have no data, so a decoder
 * does not miss them. */
static void change_length(struct segment *g)
{
    const size_t len = g->slot.out_len;

    for (size_t less = 1; less <= 40 && less <= len; less++) {
        g->slot.out_len = len - less;
        CHECK(!is_accepted(g) || (g->end != HUFF_LAST && less % 5 == 0 && less <= 10));
    }
    memset(g->out + len, 0, 5);
    for (size_t more = 1; more <= 4; more++) {
        g->slot.out_len = len + more;
        CHECK(!is_accepted(g));
    }
    g->slot.out_len = len;
}

/* Claims that the segment had other bytes. */
static void change_claims(struct segment *g)
{
    const struct slot right = g->slot;

    g->slot.sum ^= 0x8000;
    CHECK(!is_accepted(g));
    g->slot = right;
    g->slot.len++;
    note(g);
    CHECK(!is_accepted(g));
    if (right.len > 0) {
        g->slot.len = right.len - 1;
        note(g);
        CHECK(!is_accepted(g));
    }
    g->slot = right;
    if (g->container != CONTAINER_BGZF) {
        g->end = g->end == HUFF_LAST ? HUFF_MARK : HUFF_LAST;
        CHECK(!is_accepted(g));
        g->end = g->end == HUFF_LAST ? HUFF_MARK : HUFF_LAST;
    }
    CHECK(is_accepted(g));
}

static void check(int level, enum container container, enum huff_end end, uint8_t *in,
                  size_t before, size_t len)
{
    const size_t step = UNIT_SANITIZED ? 4001 : len < 1000 ? 1 : 601;
    struct segment g;

    make(&g, level, container, end, in, before, len);
    CHECK(is_accepted(&g));
    CHECK(memcmp(decoded + before, in + before, len) == 0);
    change_bits(&g, step);
    if (container != CONTAINER_BGZF || len > 0) {
        change_length(&g);
        change_claims(&g);
    }
    free(g.out);
}

static void test_segments(void)
{
    static const size_t lens[] = {1, 2, 200, 5000, 65280};
    static const int levels[] = {0, 1, 6, 12};
    uint64_t state = 5;
    uint8_t *in = unit_need(malloc(LZ_CHUNK_SIZE + MAX_LEN + LZ_INPUT_PAD));

    fill_tokens(in, LZ_CHUNK_SIZE + MAX_LEN, 40, 12, &state);
    memset(in + LZ_CHUNK_SIZE + MAX_LEN, 0, LZ_INPUT_PAD);
    for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
        for (size_t k = 0; k < sizeof(levels) / sizeof(*levels); k++) {
            check(levels[k], CONTAINER_GZIP, HUFF_LAST, in, 0, lens[i]);
            check(levels[k], CONTAINER_GZIP, HUFF_MARK, in, 0, lens[i]);
            check(levels[k], CONTAINER_ZLIB, HUFF_MARK, in, 0, lens[i]);
            check(levels[k], CONTAINER_RAW, HUFF_LAST, in, 0, lens[i]);
            check(levels[k], CONTAINER_BGZF, HUFF_LAST, in, 0, lens[i]);
            if (levels[k] > 0 && LZ_CHUNK_SIZE + lens[i] <= MAX_LEN)
                check(levels[k], CONTAINER_GZIP, HUFF_SYNC, in, LZ_CHUNK_SIZE, lens[i]);
        }
    free(in);
}

/* An input without bytes: a block without data, or in BGZF nothing at all. */
static void test_empty(void)
{
    uint8_t in[LZ_INPUT_PAD] = {0};

    check(6, CONTAINER_GZIP, HUFF_LAST, in, 0, 0);
    check(0, CONTAINER_RAW, HUFF_LAST, in, 0, 0);
    check(6, CONTAINER_BGZF, HUFF_LAST, in, 0, 0);
}

int main(void)
{
    encoder = unit_need(huff_encoder_new());
    decoder = unit_need(inf_whole_new());
    decoded = unit_need(malloc(LZ_CHUNK_SIZE + MAX_LEN + MAX_LEN));
    RUN(test_segments);
    RUN(test_empty);
    free(decoded);
    inf_whole_free(decoder);
    huff_encoder_free(encoder);
    matchers_free(&matchers);
    return unit_done();
}
