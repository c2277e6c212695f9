/*
 * codings.c - computes the size of a method's matches in the format of the method's paper
 * (codings.h)
 *
 * Each coding has three functions: the first adds the size of literals, the second the size of a
 * match, and the third what belongs to a chunk of the paper. papers/codec/NAME.h describes the
 * formats, and says which parts of them the papers leave open.
 */
#include "config.h"

#include <string.h>

#include "base/both.h"
#include "bench/codings.h"
#include "papers/culzss.h"
#include "papers/dklzss.h"
#include "papers/glzss.h"
#include "papers/gpulz.h"
#include "papers/lz4.h"
#include "papers/lzss.h"
#include "papers/position_lists.h"

/* The size of a chunk's coded form, when it has ended, in whole bytes. */
static uint64_t whole_bytes(const struct coding_sum *sum)
{
    return (sum->chunk_bits + 7) / 8;
}

/* Pads the chunk to whole bytes, and adds a number of bits that each chunk has in the file. */
static void end_padded(struct coding_sum *sum, uint32_t bits)
{
    sum->bits += 8 * whole_bytes(sum) + bits;
}

/* Returns into how many matches of at most `most` bytes a match of `length` bytes is cut. The last
 * of them may be shorter than `least`: its bytes are then literals, and *rest is their number, else
 * 0. */
static size_t cut(size_t length, size_t most, size_t least, size_t *rest)
{
    const size_t last = length % most;

    if (most < least) {
        *rest = length;
        return 0;
    }
    *rest = last < least ? last : 0;
    return length / most + (last > 0 && *rest == 0);
}

/* Each literal takes a flag bit and a byte. */
static void flagged_literals(struct coding_sum *sum, size_t at, size_t count)
{
    (void)at;
    sum->chunk_bits += 9 * (uint64_t)count;
}

/* Adds a match that is cut into matches of `bits` bits; the rest of it becomes flagged literals. */
static void flagged_match(struct coding_sum *sum, size_t length, size_t most, uint32_t bits)
{
    size_t rest;

    sum->chunk_bits += bits * (uint64_t)cut(length, most, LZ_MIN_MATCH, &rest);
    flagged_literals(sum, 0, rest);
}

/* Chunks of 1 MiB (Mathur's thesis). */
static size_t one_mb(const struct lz_level *level)
{
    (void)level;
    return (size_t)1 << 20;
}

/* --- CULZSS ---------------------------------------------------------------------------------- */

static size_t culzss_chunk(const struct lz_level *level)
{
    return level->param[CULZSS_CHUNK];
}

/* A match takes a flag bit, a byte for the distance and a byte for the length. A match of the paper
 * is never longer than its distance, because it copies only bytes of the window. A match of gzlzss
 * may be longer, because gzlzss joins adjacent matches; it then counts as several matches. */
static void culzss_match(struct coding_sum *sum, size_t at, size_t length, size_t distance)
{
    const size_t most = sum->level->param[CULZSS_LENGTH];

    (void)at;
    flagged_match(sum, length, most < distance ? most : distance, 17);
}

/* A chunk that would grow is stored. Each chunk has a size of 16 bits. */
static void culzss_end(struct coding_sum *sum, size_t plain)
{
    const uint64_t coded = whole_bytes(sum);

    sum->bits += 8 * (coded < plain ? coded : plain) + 16;
}

/* --- GLZSS ----------------------------------------------------------------------------------- */

/* The index of sum->state with the number of literals in the current run. */
enum { GLZSS_RUN };

static size_t glzss_chunk(const struct lz_level *level)
{
    return level->param[GLZSS_CHUNK];
}

/* Counts the literals, and adds no size yet. */
static void glzss_literals(struct coding_sum *sum, size_t at, size_t count)
{
    (void)at;
    sum->state[GLZSS_RUN] += (uint32_t)count;
}

/* Ends a run of literals. Each 256 of them take a flag bit and a byte for their number. */
static void glzss_end_run(struct coding_sum *sum)
{
    const uint64_t run = sum->state[GLZSS_RUN];

    sum->chunk_bits += 9 * ((run + 255) / 256) + 8 * run;
    sum->state[GLZSS_RUN] = 0;
}

/* A match takes a flag bit, 16 bits for the distance, and 8 bits for the length. The paper does not
 * give the width of a length, so 8 bits are assumed. With 25 bits, DNA cannot reach the ratios of
 * the paper's table 3: its matches have 4.4 bytes on average, and a ratio of 1.94 would need 17.7
 * bits for each. */
static void glzss_match(struct coding_sum *sum, size_t at, size_t length, size_t distance)
{
    size_t rest;
    const uint64_t matches = cut(length, GLZSS_MIN_MATCH + 255, GLZSS_MIN_MATCH, &rest);

    (void)distance;
    glzss_end_run(sum);
    sum->chunk_bits += 25 * matches;
    glzss_literals(sum, at, rest);
}

/* The form with 17 bits for a near and short match, which is an assumption, too. */
static void glzss_match_17(struct coding_sum *sum, size_t at, size_t length, size_t distance)
{
    glzss_end_run(sum);
    while (length >= GLZSS_MIN_MATCH) {
        const size_t most = GLZSS_MIN_MATCH + 127, piece = length < most ? length : most;

        sum->chunk_bits += piece < GLZSS_MIN_MATCH + 16 && distance <= 2048 ? 17 : 25;
        length -= piece;
    }
    glzss_literals(sum, at, length);
}

/* Each chunk has 8 bytes for its sizes (section 6.5). */
static void glzss_end(struct coding_sum *sum, size_t plain)
{
    (void)plain;
    glzss_end_run(sum);
    end_padded(sum, 64);
}

/* --- Mathur's LZSS --------------------------------------------------------------------------- */

/* A match takes a flag bit, 12 bits for the distance and 4 bits for the length. */
static void lzss_match(struct coding_sum *sum, size_t at, size_t length, size_t distance)
{
    (void)at;
    (void)distance;
    flagged_match(sum, length, sum->level->param[LZSS_LENGTH], 17);
}

/* Each chunk has 8 bytes for its sizes. */
static void lzss_end(struct coding_sum *sum, size_t plain)
{
    (void)plain;
    end_padded(sum, 64);
}

/* --- Mathur's LZ4 ---------------------------------------------------------------------------- */

/* The index of sum->state with the number of literals that share a token with the next match. */
enum { LZ4_LITERALS };

/* The literals at a chunk's start that have a token without a match. */
#define LZ4_FIRST 13

static size_t lz4_chunk(const struct lz_level *level)
{
    const uint32_t key = level->param[LZ4_CHUNK];

    return key == 0 ? one_mb(level) : lz4_packet(key);
}

/* The token has room for a number up to 15. Returns how many more bytes follow the token if the
 * number is `number`. */
static uint64_t lz4_more(size_t number)
{
    return number < 15 ? 0 : (number - 15) / 255 + 1;
}

/* Returns how many of the `count` bytes at in[at] are among the chunk's first 13. */
static size_t lz4_among_first(const struct coding_sum *sum, size_t at, size_t count)
{
    const size_t before = at % sum->chunk, left = before < LZ4_FIRST ? LZ4_FIRST - before : 0;

    return count < left ? count : left;
}

/* Counts the literals, and adds no size yet. */
static void lz4_literals(struct coding_sum *sum, size_t at, size_t count)
{
    sum->state[LZ4_LITERALS] += (uint32_t)(count - lz4_among_first(sum, at, count));
}

/* Adds the token, the counted literals and two bytes of distance, and resets the count to 0. */
static void lz4_end_entry(struct coding_sum *sum)
{
    const uint64_t literals = sum->state[LZ4_LITERALS];

    sum->chunk_bits += 8 * (1 + lz4_more(literals) + literals + 2);
    sum->state[LZ4_LITERALS] = 0;
}

static void lz4_match(struct coding_sum *sum, size_t at, size_t length, size_t distance)
{
    const size_t left = length - lz4_among_first(sum, at, length);

    (void)distance;
    if (left < LZ4_MIN_MATCH) {
        sum->state[LZ4_LITERALS] += (uint32_t)left;
        return;
    }
    lz4_end_entry(sum);
    sum->chunk_bits += 8 * lz4_more(left - LZ4_MIN_MATCH);
}

/* The first literals and those at the end have tokens without a match, whose distance is 0. Each
 * chunk has 8 bytes for its sizes. */
static void lz4_end(struct coding_sum *sum, size_t plain)
{
    if (sum->state[LZ4_LITERALS] > 0)
        lz4_end_entry(sum);
    sum->chunk_bits += 8 * (1 + (plain < LZ4_FIRST ? plain : LZ4_FIRST) + 2);
    end_padded(sum, 64);
}

/* --- Lists of positions ---------------------------------------------------------------------- */

/* The index of sum->state that tells whether a match has come last. */
enum { POSITION_LISTS_IN_ROW };

static size_t position_lists_chunk(const struct lz_level *level)
{
    return level->param[POSITION_LISTS_BLOCK];
}

/* A literal takes a byte. */
static void position_lists_literals(struct coding_sum *sum, size_t at, size_t count)
{
    (void)at;
    sum->chunk_bits += 8 * (uint64_t)count;
    sum->state[POSITION_LISTS_IN_ROW] = 0;
}

/* A match takes two numbers of 32 bits. A row of adjacent matches takes two more such numbers in
 * the index (section III.C.2). The paper's example, 27 bytes, leaves out the index; with it, there
 * are 35. */
static void position_lists_match(struct coding_sum *sum, size_t at, size_t length, size_t distance)
{
    (void)at;
    (void)length;
    (void)distance;
    if (sum->state[POSITION_LISTS_IN_ROW] == 0)
        sum->chunk_bits += 64;
    sum->state[POSITION_LISTS_IN_ROW] = 1;
    sum->chunk_bits += 64;
}

/* Each block begins with two numbers of 32 bits. */
static void position_lists_end(struct coding_sum *sum, size_t plain)
{
    (void)plain;
    end_padded(sum, 64);
}

/* --- gpuLZ ----------------------------------------------------------------------------------- */

/* Indexes of sum->state: the number of flags in the chunk, and the bytes of a symbol, 0 at the
 * chunk's start. */
enum { GPULZ_FLAGS, GPULZ_WIDTH };

static size_t gpulz_chunk(const struct lz_level *level)
{
    return level->param[GPULZ_CHUNK];
}

/* Returns the size of a symbol at in[at], in bytes. The match finder chooses it for each
 * LZ_CHUNK_SIZE bytes. */
static uint32_t gpulz_width_at(struct coding_sum *sum, size_t at)
{
    if (sum->state[GPULZ_WIDTH] == 0) {
        const size_t start = at / LZ_CHUNK_SIZE * LZ_CHUNK_SIZE;

        sum->state[GPULZ_WIDTH] = gpulz_choose_width(
            sum->level, sum->in + start, (uint32_t)(LZ_CHUNK_END(start, sum->len) - start));
    }
    return sum->state[GPULZ_WIDTH];
}

/* Each symbol that is a literal takes a flag bit and the symbol's bytes. Only a chunk's last symbol
 * may have fewer bytes than the others. */
static void gpulz_literals(struct coding_sum *sum, size_t at, size_t count)
{
    const uint32_t width = gpulz_width_at(sum, at);
    const uint32_t symbols = ((uint32_t)count + width - 1) / width;

    sum->chunk_bits += symbols + 8 * (uint64_t)count;
    sum->state[GPULZ_FLAGS] += symbols;
}

/* A match takes a flag bit, a byte for the length and a byte for the distance. A match of the paper
 * is never longer than its distance. A match of gzlzss may be longer, because gzlzss joins adjacent
 * matches; it then counts as several matches. */
static void gpulz_match(struct coding_sum *sum, size_t at, size_t length, size_t distance)
{
    const uint32_t least = gpulz_width_at(sum, at) == 1 ? 2 : 1;
    size_t rest;
    const size_t matches = cut(length, distance, least, &rest);

    sum->chunk_bits += 17 * (uint64_t)matches;
    sum->state[GPULZ_FLAGS] += (uint32_t)matches;
    gpulz_literals(sum, at, rest);
}

/* Pads the chunk's flags to whole bytes, and adds two places of 32 bits, and a width of 8 bits if
 * chunks have different widths. */
static void gpulz_end(struct coding_sum *sum, size_t plain)
{
    const uint32_t flags = sum->state[GPULZ_FLAGS];

    (void)plain;
    sum->bits += sum->chunk_bits + (8 - flags % 8) % 8 + 64;
    sum->bits += sum->level->param[GPULZ_SYMBOL] == GPULZ_AUTO ? 8 : 0;
}

/* --- DKLZSS ---------------------------------------------------------------------------------- */

static size_t dklzss_chunk(const struct lz_level *level)
{
    return level->param[DKLZSS_CHUNK];
}

/* The paper does not give its coding. This function assumes that a match takes a flag bit,
 * log2(chunk) bits for the position, and log2(chunk) bits for the length. A match of the paper is
 * never longer than its distance. A match of gzlzss may be longer, because gzlzss joins adjacent
 * matches; it then counts as several matches. */
static void dklzss_match(struct coding_sum *sum, size_t at, size_t length, size_t distance)
{
    const size_t most = sum->level->param[DKLZSS_LOOKAHEAD];

    (void)at;
    flagged_match(sum, length, most < distance ? most : distance,
                  1 + 2 * both_log2(sum->level->param[DKLZSS_CHUNK]));
}

/* Each chunk has a size of 16 bits. */
static void dklzss_end(struct coding_sum *sum, size_t plain)
{
    (void)plain;
    end_padded(sum, 16);
}

/* --- All ------------------------------------------------------------------------------------- */

static const struct coding codings[] = {
    {"culzss", NULL, culzss_chunk, flagged_literals, culzss_match, culzss_end, 64},
    {"glzss-basic", "25", glzss_chunk, glzss_literals, glzss_match, glzss_end, 32},
    {"glzss-basic", "17", glzss_chunk, glzss_literals, glzss_match_17, glzss_end, 32},
    {"glzss-tagging", "25", glzss_chunk, glzss_literals, glzss_match, glzss_end, 32},
    {"glzss-tagging", "17", glzss_chunk, glzss_literals, glzss_match_17, glzss_end, 32},
    {"lzss", NULL, one_mb, flagged_literals, lzss_match, lzss_end, 32},
    {"lz4", NULL, lz4_chunk, lz4_literals, lz4_match, lz4_end, 32},
    {"position-lists", NULL, position_lists_chunk, position_lists_literals, position_lists_match,
     position_lists_end, 0},
    /* Each of the two arrays has an entry more than there are chunks. */
    {"gpulz", NULL, gpulz_chunk, gpulz_literals, gpulz_match, gpulz_end, 128 + 64},
    {"dklzss", NULL, dklzss_chunk, flagged_literals, dklzss_match, dklzss_end, 32},
};

const struct coding *coding_of(const char *method, const char *form)
{
    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++)
        if (strcmp(codings[i].method, method) == 0 &&
            (form == NULL || (codings[i].form != NULL && strcmp(codings[i].form, form) == 0)))
            return &codings[i];
    return NULL;
}

/* Adds in[at..at + length): literals if distance is 0, otherwise a match. Ends the chunks that end
 * there. */
static void add(const struct coding *coding, struct coding_sum *sum, size_t at, size_t length,
                size_t distance)
{
    while (length > 0) {
        const size_t start = at % sum->chunk, left = sum->chunk - start;
        const size_t some = length < left ? length : left;

        if (distance == 0)
            coding->literals(sum, at, some);
        else
            coding->match(sum, at, some, distance);
        at += some;
        length -= some;
        if (some == left || at == sum->len) {
            coding->end(sum, start + some);
            sum->chunk_bits = 0;
            memset(sum->state, 0, sizeof(sum->state));
        }
    }
}

/* A match, or literals if distance is 0, that may go on. */
struct open_piece {
    size_t at, length, distance;
};

/* Adds `length` bytes after the piece: to the piece if the distance is the same, else as a new
 * one. */
static void go_on(const struct coding *coding, struct coding_sum *sum, struct open_piece *piece,
                  size_t length, size_t distance)
{
    if (length == 0)
        return;
    if (distance != piece->distance) {
        add(coding, sum, piece->at, piece->length, piece->distance);
        piece->at += piece->length;
        piece->length = 0;
        piece->distance = distance;
    }
    piece->length += length;
}

uint64_t coding_bits(const struct coding *coding, const struct lz_level *level, const uint8_t *in,
                     size_t len, const struct lz_chunk *chunks)
{
    struct coding_sum sum = {.level = level, .in = in, .len = len, .chunk = coding->chunk(level)};
    struct open_piece piece = {0, 0, 0};

    for (size_t start = 0; start < len; start += LZ_CHUNK_SIZE) {
        const struct lz_chunk *c = &chunks[start / LZ_CHUNK_SIZE];
        const size_t end = LZ_CHUNK_END(start, len);

        for (uint32_t i = 0; i < c->count; i++) {
            go_on(coding, &sum, &piece, c->sequences[i].literals, 0);
            go_on(coding, &sum, &piece, c->sequences[i].length, c->sequences[i].distance);
        }
        go_on(coding, &sum, &piece, end - piece.at - piece.length, 0);
    }
    add(coding, &sum, piece.at, piece.length, piece.distance);
    return sum.bits;
}
