/*
 * codec.c - the list of formats, and whole inputs coded and decoded on the CPU (codec.h)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/codec/codec.h"
#include "papers/codec/culzss.h"
#include "papers/codec/dklzss.h"
#include "papers/codec/glzss.h"
#include "papers/codec/gpulz.h"
#include "papers/codec/lz4.h"
#include "papers/codec/lzss.h"
#include "papers/codec/position_lists.h"
#include "papers/culzss.h"
#include "papers/dklzss.h"
#include "papers/gpulz.h"
#include "papers/lzss.h"
#include "papers/position_lists.h"

/* --- Formats with one part and nothing in common between chunks ------------------------------- */

/* Defines a format's `encode` and `decode` by those of NAME.h. */
#define PLAIN_FORMAT(name)                                                                        \
    static void name##_encode_chunk(const struct codec_file *file, uint32_t i, const uint8_t *in, \
                                    const uint16_t *tags, uint8_t *const out[CODEC_PARTS],        \
                                    uint32_t sizes[CODEC_PARTS])                                  \
    {                                                                                             \
        sizes[0] = name##_encode(&file->shape, in, tags, paper_plain(file, i), out[0]);           \
    }                                                                                             \
                                                                                                  \
    static bool name##_decode_chunk(const struct codec_file *file, uint32_t i,                    \
                                    const uint8_t *bytes, uint8_t *out)                           \
    {                                                                                             \
        const struct codec_place place = file->places[i];                                         \
                                                                                                  \
        return name##_decode(&file->shape, bytes + place.at, place.size, out,                     \
                             paper_plain(file, i));                                               \
    }

PLAIN_FORMAT(culzss)
PLAIN_FORMAT(glzss)
PLAIN_FORMAT(lzss)
PLAIN_FORMAT(lz4)
PLAIN_FORMAT(dklzss)

static struct codec_shape culzss_shape(const struct lz_level *level)
{
    const uint32_t chunk = level->param[CULZSS_CHUNK];

    return (struct codec_shape){.chunk = chunk,
                                .bound = culzss_bound(chunk),
                                .least = LZ_MIN_MATCH,
                                .most = level->param[CULZSS_LENGTH],
                                .is_apart = true};
}

static struct codec_shape glzss_shape_25(const struct lz_level *level)
{
    const uint32_t chunk = level->param[GLZSS_CHUNK];

    return (struct codec_shape){.chunk = chunk,
                                .bound = glzss_bound(chunk),
                                .least = GLZSS_MIN_MATCH,
                                .most = GLZSS_CODE_LENGTH_MAX_25,
                                .variant = GLZSS_25};
}

static struct codec_shape glzss_shape_17(const struct lz_level *level)
{
    struct codec_shape shape = glzss_shape_25(level);

    shape.most = GLZSS_CODE_LENGTH_MAX_17;
    shape.variant = GLZSS_17;
    return shape;
}

static struct codec_shape lzss_shape(const struct lz_level *level)
{
    return (struct codec_shape){.chunk = LZSS_CODE_CHUNK,
                                .bound = lzss_bound(LZSS_CODE_CHUNK),
                                .least = LZ_MIN_MATCH,
                                .most = level->param[LZSS_LENGTH]};
}

static struct codec_shape lz4_shape(const struct lz_level *level)
{
    const uint32_t key = level->param[LZ4_CHUNK];
    const uint32_t chunk = key == 0 ? LZ4_CODE_CHUNK : lz4_packet(key);

    return (struct codec_shape){
        .chunk = chunk, .bound = lz4_bound(chunk), .least = LZ4_MIN_MATCH, .most = UINT32_MAX};
}

static struct codec_shape dklzss_shape(const struct lz_level *level)
{
    const uint32_t chunk = level->param[DKLZSS_CHUNK];

    return (struct codec_shape){.chunk = chunk,
                                .bound = dklzss_bound(chunk),
                                .least = LZ_MIN_MATCH,
                                .most = level->param[DKLZSS_LOOKAHEAD],
                                .is_apart = true,
                                .variant = both_log2(chunk)};
}

/* --- gpuLZ ------------------------------------------------------------------------------------ */

static struct codec_shape gpulz_shape(const struct lz_level *level)
{
    const uint32_t chunk = level->param[GPULZ_CHUNK];

    return (struct codec_shape){.chunk = chunk, .bound = chunk, .is_apart = true};
}

/* Sets the width of each chunk's symbols.  As in the match finder, all chunks in the same
 * LZ_CHUNK_SIZE bytes have the same width. */
static void gpulz_prepare(struct codec_file *file, const struct lz_level *level, const uint8_t *in,
                          const uint16_t *tags)
{
    const size_t chunk = file->shape.chunk;

    (void)tags;
    for (size_t start = 0; start < file->plain; start += LZ_CHUNK_SIZE) {
        const size_t end = LZ_CHUNK_END(start, file->plain);
        const uint32_t width = gpulz_choose_width(level, in + start, (uint32_t)(end - start));

        for (size_t at = start; at < end; at += chunk)
            file->widths[at / chunk] = (uint8_t)width;
    }
}

static void gpulz_encode_chunk(const struct codec_file *file, uint32_t i, const uint8_t *in,
                               const uint16_t *tags, uint8_t *const out[CODEC_PARTS],
                               uint32_t sizes[CODEC_PARTS])
{
    const struct gpulz_sizes both =
        gpulz_encode(in, tags, paper_plain(file, i), file->widths[i], out[0], out[1]);

    sizes[0] = both.flags;
    sizes[1] = both.data;
}

static bool gpulz_decode_chunk(const struct codec_file *file, uint32_t i, const uint8_t *bytes,
                               uint8_t *out)
{
    const struct codec_place *const places = &file->places[(size_t)i * CODEC_PARTS];
    const struct gpulz_sizes sizes = {places[0].size, places[1].size};

    return gpulz_decode(bytes + places[0].at, bytes + places[1].at, sizes, file->widths[i], out,
                        paper_plain(file, i));
}

/* --- Position lists --------------------------------------------------------------------------- */

static struct codec_shape position_lists_shape(const struct lz_level *level)
{
    const uint32_t block = level->param[POSITION_LISTS_BLOCK];

    return (struct codec_shape){.chunk = block,
                                .bound = (uint32_t)range_bound(position_lists_packed_bound(block)),
                                .least = LZ_MIN_MATCH,
                                .most = UINT32_MAX};
}

void paper_set_model(struct range_model *model, const uint64_t counts[256])
{
    uint16_t frequencies[256];
    uint64_t total = 0;
    int32_t left = RANGE_TOTAL;

    for (uint32_t b = 0; b < 256; b++)
        total += counts[b];
    for (uint32_t b = 0; b < 256; b++) {
        const uint64_t share = total > 0 ? counts[b] * RANGE_TOTAL / total : 0;

        frequencies[b] = (uint16_t)(share == 0 && counts[b] > 0 ? 1 : share);
        left -= frequencies[b];
    }
    /* Shares were rounded, so the sum may be wrong.  Correct it by 1 at a time, in the byte that is
     * the most frequent then. */
    while (total > 0 && left != 0) {
        uint32_t best = 0;

        for (uint32_t b = 1; b < 256; b++)
            if (frequencies[b] > frequencies[best])
                best = b;
        frequencies[best] = (uint16_t)(frequencies[best] + (left > 0 ? 1 : -1));
        left += left > 0 ? -1 : 1;
    }
    (void)range_model_set(model, frequencies);
}

/* Counts the bytes of all packed blocks. */
static void position_lists_prepare(struct codec_file *file, const struct lz_level *level,
                                   const uint8_t *in, const uint16_t *tags)
{
    uint64_t counts[256] = {0};

    (void)level;
    for (uint32_t i = 0; i < file->count; i++) {
        const size_t at = (size_t)i * file->shape.chunk;
        const uint32_t size = position_lists_pack(&file->shape, in + at, tags + at,
                                                  paper_plain(file, i), file->scratch);

        for (uint32_t k = 0; k < size; k++)
            counts[file->scratch[k]]++;
    }
    paper_set_model(&file->model, counts);
}

static void position_lists_encode_chunk(const struct codec_file *file, uint32_t i,
                                        const uint8_t *in, const uint16_t *tags,
                                        uint8_t *const out[CODEC_PARTS],
                                        uint32_t sizes[CODEC_PARTS])
{
    const uint32_t size =
        position_lists_pack(&file->shape, in, tags, paper_plain(file, i), file->scratch);

    sizes[0] = range_encode(&file->model, file->scratch, size, out[0]);
}

static bool position_lists_decode_chunk(const struct codec_file *file, uint32_t i,
                                        const uint8_t *bytes, uint8_t *out)
{
    const struct codec_place place = file->places[i];

    return position_lists_decode(&file->model, bytes + place.at, place.size, file->scratch, out,
                                 paper_plain(file, i));
}

/* --- The list --------------------------------------------------------------------------------- */

static const struct paper_format culzss = {
    .method = "culzss",
    .family = CODEC_CULZSS,
    .parts = 1,
    .layout = {.has_plain = true, .has_count = true, .size_bytes = 2},
    .limits = {{CULZSS_WINDOW, "window", CULZSS_CODE_DISTANCE_MAX},
               {CULZSS_LENGTH, "length", CULZSS_CODE_LENGTH_MAX}},
    .shape = culzss_shape,
    .encode = culzss_encode_chunk,
    .decode = culzss_decode_chunk,
};

/* The format of a GLZSS method, in one of the two forms. */
#define GLZSS_FORMAT(name, method_name, form_name, form_shape) \
    static const struct paper_format name = {                  \
        .method = method_name,                                 \
        .form = form_name,                                     \
        .family = CODEC_GLZSS,                                 \
        .parts = 1,                                            \
        .layout = {.has_count = true, .has_heads = true},      \
        .shape = form_shape,                                   \
        .encode = glzss_encode_chunk,                          \
        .decode = glzss_decode_chunk,                          \
    };

GLZSS_FORMAT(glzss_basic_25, "glzss-basic", "25", glzss_shape_25)
GLZSS_FORMAT(glzss_basic_17, "glzss-basic", "17", glzss_shape_17)
GLZSS_FORMAT(glzss_tagging_25, "glzss-tagging", "25", glzss_shape_25)
GLZSS_FORMAT(glzss_tagging_17, "glzss-tagging", "17", glzss_shape_17)

static const struct paper_format lzss = {
    .method = "lzss",
    .family = CODEC_LZSS,
    .parts = 1,
    .layout = {.has_plain = true, .has_heads = true},
    .limits = {{LZSS_WINDOW, "window", LZSS_CODE_DISTANCE_MAX},
               {LZSS_LENGTH, "length", LZSS_CODE_LENGTH_MAX}},
    .shape = lzss_shape,
    .encode = lzss_encode_chunk,
    .decode = lzss_decode_chunk,
};

static const struct paper_format lz4 = {
    .method = "lz4",
    .family = CODEC_LZ4,
    .parts = 1,
    .layout = {.has_plain = true, .has_heads = true},
    .shape = lz4_shape,
    .encode = lz4_encode_chunk,
    .decode = lz4_decode_chunk,
};

static const struct paper_format position_lists = {
    .method = "position-lists",
    .family = CODEC_POSITION_LISTS,
    .parts = 1,
    .layout = {.has_plain = true, .has_model = true, .size_bytes = 4},
    .shape = position_lists_shape,
    .prepare = position_lists_prepare,
    .encode = position_lists_encode_chunk,
    .decode = position_lists_decode_chunk,
};

/* gpuLZ's layout, for two parts, is in files.c. */
static const struct paper_format gpulz = {
    .method = "gpulz",
    .family = CODEC_GPULZ,
    .parts = 2,
    .shape = gpulz_shape,
    .prepare = gpulz_prepare,
    .encode = gpulz_encode_chunk,
    .decode = gpulz_decode_chunk,
};

static const struct paper_format dklzss = {
    .method = "dklzss",
    .family = CODEC_DKLZSS,
    .parts = 1,
    .layout = {.has_plain = true, .size_bytes = 2},
    .shape = dklzss_shape,
    .encode = dklzss_encode_chunk,
    .decode = dklzss_decode_chunk,
};

const struct paper_format *const paper_formats[] = {
    &culzss,
    &glzss_basic_25,
    &glzss_basic_17,
    &glzss_tagging_25,
    &glzss_tagging_17,
    &lzss,
    &lz4,
    &position_lists,
    &gpulz,
    &dklzss,
    NULL,
};

const struct paper_format *paper_format_of(const char *method, const char *form)
{
    for (size_t i = 0; paper_formats[i] != NULL; i++) {
        const struct paper_format *const format = paper_formats[i];

        if (strcmp(format->method, method) == 0 &&
            (form == NULL || (format->form != NULL && strcmp(format->form, form) == 0)))
            return format;
    }
    return NULL;
}

bool paper_fits(const struct paper_format *format, const struct lz_level *level,
                char error[PAPER_ERROR_SIZE])
{
    for (size_t i = 0; format->limits[i].name != NULL; i++) {
        const struct codec_limit *const limit = &format->limits[i];

        if (level->param[limit->key] > limit->most) {
            snprintf(error, PAPER_ERROR_SIZE, "%s's format has no room for %s=%u; give at most %u",
                     format->method, limit->name, level->param[limit->key], limit->most);
            return false;
        }
    }
    return true;
}

/* --- Tags ------------------------------------------------------------------------------------- */

size_t paper_segment(const struct paper_format *format, const struct lz_level *level)
{
    const size_t chunk = format->shape(level).chunk;

    return chunk > 2 * LZ_CHUNK_SIZE ? chunk : level->segment_default;
}

void paper_tags(const struct lz_chunk *chunks, size_t len, uint16_t *tags)
{
    memset(tags, 0, len * sizeof(*tags));
    for (size_t start = 0; start < len; start += LZ_CHUNK_SIZE) {
        const struct lz_chunk *const c = &chunks[start / LZ_CHUNK_SIZE];
        uint16_t *to = tags + start;

        for (uint32_t i = 0; i < c->count; i++) {
            const struct lz_sequence s = c->sequences[i];

            to += s.literals;
            for (uint32_t k = 0; k < s.length; k++)
                to[k] = s.distance;
            to += s.length;
        }
    }
}

bool paper_match(const struct paper_format *format, const struct lz_level *level, const uint8_t *in,
                 size_t len, uint16_t *tags)
{
    const size_t segment = paper_segment(format, level);
    struct lz_matcher *const m = lz_matcher_new(level, segment);

    for (size_t at = 0; m != NULL && at < len; at += segment) {
        const size_t some = len - at < segment ? len - at : segment;

        paper_tags(lz_match_segment(m, in + at, some), some, tags + at);
    }
    lz_matcher_free(m);
    return m != NULL;
}

/* --- Whole inputs ----------------------------------------------------------------------------- */

/* A part of all chunks, one after the other. */
struct part {
    uint8_t *bytes;
    size_t size, room;
};

/* Makes room for `more` bytes.  Returns false if memory is short. */
static bool reserve(struct part *p, size_t more)
{
    const size_t room = 2 * p->room + more;
    uint8_t *bytes;

    if (p->room - p->size >= more)
        return true;
    bytes = realloc(p->bytes, room);
    if (bytes == NULL)
        return false;
    p->bytes = bytes;
    p->room = room;
    return true;
}

/* Encodes all chunks, and sets their sizes.  Returns false if memory is short. */
static bool encode_chunks(const struct codec_file *file, const uint8_t *in, const uint16_t *tags,
                          struct part parts[CODEC_PARTS])
{
    const uint32_t count = file->format->parts;

    for (uint32_t i = 0; i < file->count; i++) {
        const size_t at = (size_t)i * file->shape.chunk;
        uint8_t *out[CODEC_PARTS] = {NULL, NULL};
        uint32_t sizes[CODEC_PARTS];

        if (!reserve(&parts[0], file->shape.bound) ||
            (count == 2 && !reserve(&parts[1], file->shape.bound)))
            return false;
        for (uint32_t k = 0; k < count; k++)
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): count is 1 or 2 */
            out[k] = parts[k].bytes + parts[k].size;
        file->format->encode(file, i, in + at, tags + at, out, sizes);
        for (uint32_t k = 0; k < count; k++) {
            parts[k].size += sizes[k];
            file->places[(size_t)i * count + k].size = sizes[k];
        }
    }
    return true;
}

/* Returns the file, which the caller frees, from its parts; NULL if memory is short. */
static uint8_t *assemble(struct codec_file *file, const struct part parts[CODEC_PARTS])
{
    const uint32_t count = file->format->parts;
    uint8_t *bytes;
    size_t from[CODEC_PARTS] = {0, 0};

    paper_place(file);
    bytes = malloc(file->size);
    if (bytes == NULL)
        return NULL;
    paper_front(file, bytes);
    for (size_t i = 0; i < (size_t)file->count * count; i++) {
        const struct codec_place place = file->places[i];

        /* A part that has bytes has memory. */
        if (place.size > 0)
            /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): as it says above */
            memcpy(bytes + place.at, parts[i % count].bytes + from[i % count], place.size);
        from[i % count] += place.size;
    }
    return bytes;
}

uint8_t *paper_encode(const struct paper_format *format, const struct lz_level *level,
                      const uint8_t *in, size_t len, const uint16_t *tags, size_t *size)
{
    struct part parts[CODEC_PARTS] = {{NULL, 0, 0}, {NULL, 0, 0}};
    struct codec_file file;
    uint8_t *bytes = NULL;

    if (paper_begin(&file, format, level, len)) {
        if (format->prepare != NULL)
            format->prepare(&file, level, in, tags);
        if (encode_chunks(&file, in, tags, parts))
            bytes = assemble(&file, parts);
        *size = file.size;
    }
    free(parts[0].bytes);
    free(parts[1].bytes);
    paper_close(&file);
    return bytes;
}

uint8_t *paper_decode(const struct paper_format *format, const struct lz_level *level,
                      const uint8_t *coded, size_t size, size_t *len)
{
    struct codec_file file;
    uint8_t *out = NULL;
    bool is_good = paper_open(&file, format, level, coded, size);

    if (is_good) {
        *len = file.plain;
        out = malloc(*len > 0 ? *len : 1);
        is_good = out != NULL;
    }
    for (uint32_t i = 0; is_good && i < file.count; i++)
        is_good = format->decode(&file, i, coded, out + (size_t)i * file.shape.chunk);
    if (!is_good) {
        free(out);
        out = NULL;
    }
    paper_close(&file);
    return out;
}
