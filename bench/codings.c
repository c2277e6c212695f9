/*
 * codings.c - computes the size of a method's matches in its paper's own coding (codings.h)
 *
 * Each coding has functions that add the sizes, in bits, of literals, of a match, and of a
 * segment's end. Where a paper does not give a width, the comment says which one is assumed.
 */
#include "config.h"

#include <string.h>

#include "base/both.h"
#include "bench/codings.h"
#include "papers/culzss.h"
#include "papers/dklzss.h"
#include "papers/glzss.h"
#include "papers/gpulz.h"
#include "papers/lzss.h"

/* Each literal is a flag bit and a byte. */
static void flagged_literals(struct coding_sum *sum, const uint8_t *in, size_t at, size_t count)
{
    (void)in;
    (void)at;
    sum->bits += 9 * (uint64_t)count;
}

/* --- CULZSS ---------------------------------------------------------------------------------- */

/* A match is a flag bit, a byte for the distance and a byte for the length. In the paper, a match
 * repeats only bytes of the window, so it is never longer than its distance. gzlzss joins adjacent
 * matches, so a longer match counts as several. */
static void culzss_match(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                         size_t distance)
{
    const size_t most = sum->level->param[CULZSS_LENGTH];
    const size_t one = most < distance ? most : distance;

    (void)in;
    (void)at;
    sum->bits += 17 * (uint64_t)((length + one - 1) / one);
}

/* --- GLZSS ----------------------------------------------------------------------------------- */

/* A match is a flag bit, 16 bits for the distance, and 8 for the length. The paper does not give
 * the width of a length: 8 bits are assumed. With these, the compression ratio of kernel source is
 * 2.42, close to the 2.55 in the paper's table 3 for another version of it. With 16 bits, it would
 * be 2.01. */
static void glzss_match(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                        size_t distance)
{
    const size_t most = 4 + 255;

    (void)in;
    (void)at;
    (void)distance;
    sum->bits += 25 * (uint64_t)((length + most - 1) / most);
}

/* Each chunk takes 8 bytes more (section 6.5). */
static void glzss_end(struct coding_sum *sum)
{
    const size_t chunk = sum->level->param[GLZSS_CHUNK];

    sum->bits += 64 * (uint64_t)((sum->len + chunk - 1) / chunk);
}

/* --- Mathur's LZSS --------------------------------------------------------------------------- */

/* A match is a flag bit, 12 bits for the distance and 4 for the length. */
static void lzss_match(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                       size_t distance)
{
    const size_t most = sum->level->param[LZSS_LENGTH];

    (void)in;
    (void)at;
    (void)distance;
    sum->bits += 17 * (uint64_t)((length + most - 1) / most);
}

/* --- LZ4 ------------------------------------------------------------------------------------- */

/* Returns the bytes that a number takes in addition to its part of the token, which holds up to
 * 15. */
static uint64_t lz4_more(size_t number)
{
    return number < 15 ? 0 : (number - 15) / 255 + 1;
}

/* Only counts the literals: they share a token with the next match, which adds their size. */
static void lz4_literals(struct coding_sum *sum, const uint8_t *in, size_t at, size_t count)
{
    (void)in;
    (void)at;
    sum->state[0] += (uint32_t)count;
}

/* Returns the bytes of the literals counted so far, including their token, and resets the count. */
static uint64_t lz4_take_literals(struct coding_sum *sum)
{
    const uint64_t bytes = 1 + lz4_more(sum->state[0]) + sum->state[0];

    sum->state[0] = 0;
    return bytes;
}

static void lz4_match(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                      size_t distance)
{
    (void)in;
    (void)at;
    (void)distance;
    sum->bits += 8 * (lz4_take_literals(sum) + 2 + lz4_more(length - 4));
}

/* A segment is an LZ4 block, which ends with a token and literals. (LZ4's own blocks end with at
 * least five literals.) */
static void lz4_end(struct coding_sum *sum)
{
    sum->bits += 8 * lz4_take_literals(sum);
}

/* --- Lists of positions ---------------------------------------------------------------------- */

/* The size before the paper's range coder: a byte for a literal, two numbers of 32 bits for a
 * match, and two more at the start of a row of matches. The savings of the range coder are not
 * counted. */
static void position_lists_literals(struct coding_sum *sum, const uint8_t *in, size_t at,
                                    size_t count)
{
    (void)in;
    (void)at;
    sum->bits += 8 * (uint64_t)count;
    sum->state[0] = 0;
}

static void position_lists_match(struct coding_sum *sum, const uint8_t *in, size_t at,
                                 size_t length, size_t distance)
{
    (void)in;
    (void)at;
    (void)distance;
    if (sum->state[0] == 0)
        sum->bits += 64;
    sum->state[0] = 1;
    sum->bits += 64 * (uint64_t)((length + 257) / 258);
}

/* --- gpuLZ ----------------------------------------------------------------------------------- */

/* Indexes of sum->state. FLAGS: how many flags the current packet has. PACKETS, CHUNKS: the current
 * packet and chunk, counted from 1. WIDTH: the bytes of a symbol. */
enum { GPULZ_FLAGS, GPULZ_PACKETS, GPULZ_WIDTH, GPULZ_CHUNKS };

/* Ends a packet, which the paper calls a chunk: pads its flags to whole bytes, and adds its two
 * numbers of 32 bits. */
static void gpulz_end(struct coding_sum *sum)
{
    const uint32_t flags = sum->state[GPULZ_FLAGS];

    if (flags > 0)
        sum->bits += (8 - flags % 8) % 8 + 64;
    sum->state[GPULZ_FLAGS] = 0;
}

/* Moves the sum on to in[at]. If in[at] is in another packet, ends the current one. Returns the
 * bytes of a symbol at in[at]. */
static uint32_t gpulz_come_to(struct coding_sum *sum, const uint8_t *in, size_t at)
{
    const uint32_t packets = (uint32_t)(at / sum->level->param[GPULZ_CHUNK]) + 1;
    const uint32_t chunks = (uint32_t)(at / LZ_CHUNK_SIZE) + 1;

    if (packets != sum->state[GPULZ_PACKETS])
        gpulz_end(sum);
    sum->state[GPULZ_PACKETS] = packets;
    if (chunks != sum->state[GPULZ_CHUNKS]) {
        const size_t start = at / LZ_CHUNK_SIZE * LZ_CHUNK_SIZE;

        sum->state[GPULZ_CHUNKS] = chunks;
        sum->state[GPULZ_WIDTH] = gpulz_choose_width(
            sum->level, in + start, (uint32_t)(LZ_CHUNK_END(start, sum->len) - start));
    }
    return sum->state[GPULZ_WIDTH];
}

/* Each literal symbol is a flag bit and the symbol's bytes. */
static void gpulz_literals(struct coding_sum *sum, const uint8_t *in, size_t at, size_t count)
{
    const size_t packet = sum->level->param[GPULZ_CHUNK];

    while (count > 0) {
        const size_t left = packet - at % packet, some = count < left ? count : left;
        const uint32_t width = gpulz_come_to(sum, in, at);
        const uint32_t symbols = ((uint32_t)some + width - 1) / width;

        sum->bits += symbols + 8 * (uint64_t)some;
        sum->state[GPULZ_FLAGS] += symbols;
        at += some;
        count -= some;
    }
}

/* A match is a flag bit, a byte for the length and a byte for the distance. In the paper, a match
 * is never longer than its distance. gzlzss joins adjacent matches, so a longer match counts as
 * several. */
static void gpulz_match(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                        size_t distance)
{
    const uint32_t matches = (uint32_t)((length + distance - 1) / distance);

    (void)gpulz_come_to(sum, in, at);
    sum->bits += 17 * (uint64_t)matches;
    sum->state[GPULZ_FLAGS] += matches;
}

/* --- DKLZSS ---------------------------------------------------------------------------------- */

/* The paper does not give its coding. A match is assumed to be a flag bit, and log2(chunk) bits
 * each for the distance and the length. In the paper, a match is never longer than its distance.
 * gzlzss joins adjacent matches, so a longer match counts as several. */
static void dklzss_match(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                         size_t distance)
{
    const size_t most = sum->level->param[DKLZSS_LOOKAHEAD];
    const size_t one = most < distance ? most : distance;

    (void)in;
    (void)at;
    sum->bits +=
        (1 + 2 * both_log2(sum->level->param[DKLZSS_CHUNK])) * (uint64_t)((length + one - 1) / one);
}

/* --- All ------------------------------------------------------------------------------------- */

static const struct coding codings[] = {
    {"culzss", flagged_literals, culzss_match, NULL},
    {"glzss-basic", flagged_literals, glzss_match, glzss_end},
    {"glzss-tagging", flagged_literals, glzss_match, glzss_end},
    {"lzss", flagged_literals, lzss_match, NULL},
    {"lz4", lz4_literals, lz4_match, lz4_end},
    {"position-lists", position_lists_literals, position_lists_match, NULL},
    {"gpulz", gpulz_literals, gpulz_match, gpulz_end},
    {"dklzss", flagged_literals, dklzss_match, NULL},
};

const struct coding *coding_of(const char *method)
{
    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++)
        if (strcmp(codings[i].method, method) == 0)
            return &codings[i];
    return NULL;
}

uint64_t coding_bits(const struct coding *coding, const struct lz_level *level, const uint8_t *in,
                     size_t len, const struct lz_chunk *chunks)
{
    struct coding_sum sum = {.level = level, .len = len};

    for (size_t start = 0; start < len; start += LZ_CHUNK_SIZE) {
        const struct lz_chunk *c = &chunks[start / LZ_CHUNK_SIZE];
        const size_t end = LZ_CHUNK_END(start, len);
        size_t at = start;

        for (uint32_t i = 0; i < c->count;) {
            const struct lz_sequence *s = &c->sequences[i];
            const size_t distance = s->distance;
            size_t length = s->length;

            if (s->literals > 0)
                coding->literals(&sum, in, at, s->literals);
            at += s->literals;
            /* Join matches that were cut for DEFLATE. */
            for (i++; i < c->count && c->sequences[i].literals == 0 &&
                      c->sequences[i].distance == distance;
                 i++)
                length += c->sequences[i].length;
            coding->match(&sum, in, at, length, distance);
            at += length;
        }
        if (at < end)
            coding->literals(&sum, in, at, end - at);
    }
    if (coding->end != NULL)
        coding->end(&sum);
    return sum.bits;
}
