/*
 * codings.c - computes the size of a method's matches in the coding of the method's paper
 * (codings.h)
 *
 * Each coding has up to three functions. Each function adds a size in bits to the sum: the first
 * adds the size of literals, the second the size of a match, and the third the size of a segment's
 * end. If a paper does not give the width of a field, the comment says which width is assumed.
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

/* Each literal takes a flag bit and a byte. */
static void flagged_literals(struct coding_sum *sum, const uint8_t *in, size_t at, size_t count)
{
    (void)in;
    (void)at;
    sum->bits += 9 * (uint64_t)count;
}

/* --- CULZSS ---------------------------------------------------------------------------------- */

/* A match takes a flag bit, a byte for the distance and a byte for the length. A match of the paper
 * is never longer than its distance, because it copies only bytes of the window. A match of gzlzss
 * may be longer, because gzlzss joins adjacent matches. If it is longer, the function counts as
 * many matches of the paper as cover its length. */
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

/* A match takes a flag bit, 16 bits for the distance, and 8 bits for the length. The paper does not
 * give the width of a length, so 8 bits are assumed: with 8 bits, the compression ratio of kernel
 * source is 2.42, and with 16 bits, the ratio would be 2.01. Table 3 of the paper has a ratio of
 * 2.55, for another version of the kernel. */
static void glzss_match(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                        size_t distance)
{
    const size_t most = 4 + 255;

    (void)in;
    (void)at;
    (void)distance;
    sum->bits += 25 * (uint64_t)((length + most - 1) / most);
}

/* Besides its literals and matches, each chunk of the paper takes 8 bytes (section 6.5). */
static void glzss_end(struct coding_sum *sum)
{
    const size_t chunk = sum->level->param[GLZSS_CHUNK];

    sum->bits += 64 * (uint64_t)((sum->len + chunk - 1) / chunk);
}

/* --- Mathur's LZSS --------------------------------------------------------------------------- */

/* A match takes a flag bit, 12 bits for the distance and 4 bits for the length. */
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

/* The token of LZ4 has room for a number up to 15. Returns how many more bytes follow the token if
 * the number is `number`. */
static uint64_t lz4_more(size_t number)
{
    return number < 15 ? 0 : (number - 15) / 255 + 1;
}

/* Counts the literals, and adds no size yet: these literals share a token with the next match, and
 * lz4_match adds the size of both. */
static void lz4_literals(struct coding_sum *sum, const uint8_t *in, size_t at, size_t count)
{
    (void)in;
    (void)at;
    sum->state[0] += (uint32_t)count;
}

/* Returns the number of bytes that the token and the counted literals take, and resets the count to
 * 0. */
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

/* Each segment becomes an LZ4 block, which ends with a token and literals. LZ4 itself would end
 * each block with at least five literals; this function does not demand them. */
static void lz4_end(struct coding_sum *sum)
{
    sum->bits += 8 * lz4_take_literals(sum);
}

/* --- Lists of positions ---------------------------------------------------------------------- */

/* A literal takes a byte. A match takes two numbers of 32 bits. A row of adjacent matches takes two
 * more such numbers at its start. The paper then makes the result smaller by a range coder, which
 * these functions leave out. */
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

/* Indexes of sum->state. GPULZ_FLAGS has the number of flags in the current packet. GPULZ_PACKETS
 * and GPULZ_CHUNKS have the numbers of the current packet and of the current chunk, counted from 1.
 * GPULZ_WIDTH has the size of a symbol in bytes. */
enum { GPULZ_FLAGS, GPULZ_PACKETS, GPULZ_WIDTH, GPULZ_CHUNKS };

/* Ends a packet. (The paper calls a packet a chunk.) Adds the bits that pad the packet's flags to
 * whole bytes, and the two numbers of 32 bits that each packet has. */
static void gpulz_end(struct coding_sum *sum)
{
    const uint32_t flags = sum->state[GPULZ_FLAGS];

    if (flags > 0)
        sum->bits += (8 - flags % 8) % 8 + 64;
    sum->state[GPULZ_FLAGS] = 0;
}

/* Prepares the sum for a literal or a match at in[at]: if in[at] is not in the current packet, ends
 * that packet. Returns the size of a symbol at in[at], in bytes. */
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

/* Each symbol that is a literal takes a flag bit and the symbol's bytes. */
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

/* A match takes a flag bit, a byte for the length and a byte for the distance. A match of the paper
 * is never longer than its distance. A match of gzlzss may be longer, because gzlzss joins adjacent
 * matches; it then counts as several matches. */
static void gpulz_match(struct coding_sum *sum, const uint8_t *in, size_t at, size_t length,
                        size_t distance)
{
    const uint32_t matches = (uint32_t)((length + distance - 1) / distance);

    (void)gpulz_come_to(sum, in, at);
    sum->bits += 17 * (uint64_t)matches;
    sum->state[GPULZ_FLAGS] += matches;
}

/* --- DKLZSS ---------------------------------------------------------------------------------- */

/* The paper does not give its coding. This function assumes that a match takes a flag bit,
 * log2(chunk) bits for the distance, and log2(chunk) bits for the length. A match of the paper is
 * never longer than its distance. A match of gzlzss may be longer, because gzlzss joins adjacent
 * matches; it then counts as several matches. */
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
            /* Join the parts of a match that was cut because DEFLATE allows at most 258 bytes. */
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
