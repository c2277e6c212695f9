/*
 * files.c - the files of the papers' formats: fronts, heads and places (codec.h has the layouts)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "papers/codec/codec.h"
#include "papers/codec/position_lists.h"
#include "papers/gpulz.h"

static uint64_t get_number(const uint8_t *bytes, uint32_t size)
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < size; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

/* Writes a number of `size` bytes.  Returns its end. */
static uint8_t *put_number(uint8_t *bytes, uint64_t number, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    return bytes + size;
}

static uint64_t front_size(const struct codec_file *file)
{
    return codec_front_size(&file->format->layout, file->format->parts, file->count);
}

/* Begins *file.  After that, paper_close may be called. */
static void begin(struct codec_file *file, const struct paper_format *format,
                  const struct lz_level *level)
{
    memset(file, 0, sizeof(*file));
    file->format = format;
    file->shape = format->shape(level);
    file->has_widths = format->family == CODEC_GPULZ && level->param[GPULZ_SYMBOL] == GPULZ_AUTO;
}

/* Sets the plain size and the number of chunks, and allocates what depends on them.  Returns false
 * if memory is short. */
static bool set_plain(struct codec_file *file, const struct lz_level *level, uint64_t plain)
{
    const uint32_t chunk = file->shape.chunk;

    file->plain = plain;
    file->count = (uint32_t)((plain + chunk - 1) / chunk);
    file->places = calloc((size_t)file->count * file->format->parts + 1, sizeof(*file->places));
    if (file->places == NULL)
        return false;
    if (file->format->family == CODEC_GPULZ) {
        file->widths = malloc((size_t)file->count + 1);
        if (file->widths != NULL && !file->has_widths)
            memset(file->widths, (int)gpulz_width(level->param[GPULZ_SYMBOL]), file->count);
        return file->widths != NULL;
    }
    if (file->format->family == CODEC_POSITION_LISTS) {
        file->scratch = malloc(position_lists_packed_bound(chunk));
        return file->scratch != NULL;
    }
    return true;
}

bool paper_begin(struct codec_file *file, const struct paper_format *format,
                 const struct lz_level *level, size_t plain)
{
    begin(file, format, level);
    return plain <= UINT32_MAX && set_plain(file, level, plain);
}

void paper_close(struct codec_file *file)
{
    free(file->places);
    free(file->widths);
    free(file->scratch);
    file->places = NULL;
    file->widths = file->scratch = NULL;
}

void paper_place(struct codec_file *file)
{
    const uint32_t parts = file->format->parts;
    uint64_t at = front_size(file);

    for (uint32_t part = 0; part < parts; part++)
        for (uint32_t i = 0; i < file->count; i++) {
            struct codec_place *const place = &file->places[(size_t)i * parts + part];

            at += file->format->layout.has_heads ? CODEC_HEAD_SIZE : 0;
            place->at = at;
            at += place->size;
        }
    file->size = at + (file->has_widths ? file->count : 0);
}

/* --- Writing ---------------------------------------------------------------------------------- */

static uint8_t *put_model(const struct codec_file *file, uint8_t *to)
{
    const uint16_t *const sums = file->model.sums;

    to = put_number(to, file->shape.chunk, 4);
    for (uint32_t b = 0; b < 256; b++)
        to = put_number(to, (uint32_t)(sums[b + 1] - sums[b]), 2);
    return to;
}

/* Writes gpuLZ's front, and the widths at the end.  Both arrays of places have an entry more than
 * there are chunks: the sum of all sizes. */
static void put_gpulz(const struct codec_file *file, uint8_t *bytes)
{
    uint8_t *const arrays[2] = {bytes + CODEC_GPULZ_FRONT,
                                bytes + CODEC_GPULZ_FRONT + 4 * ((size_t)file->count + 1)};
    uint64_t sums[2] = {0, 0};

    for (uint32_t i = 0; i <= file->count; i++)
        for (uint32_t part = 0; part < 2; part++) {
            (void)put_number(arrays[part] + 4 * (size_t)i, sums[part], 4);
            if (i < file->count)
                sums[part] += file->places[2 * (size_t)i + part].size;
        }
    bytes = put_number(bytes, file->plain, 4);
    bytes = put_number(bytes, file->count, 4);
    bytes = put_number(bytes, sums[0], 4);
    bytes = put_number(bytes, sums[1], 4);
    if (file->has_widths)
        memcpy(bytes - CODEC_GPULZ_FRONT + file->size - file->count, file->widths, file->count);
}

void paper_front(const struct codec_file *file, uint8_t *bytes)
{
    const struct codec_layout *const l = &file->format->layout;
    uint8_t *to = bytes;

    if (file->format->parts == 2) {
        put_gpulz(file, bytes);
        return;
    }
    if (l->has_plain)
        to = put_number(to, file->plain, 4);
    if (l->has_count)
        to = put_number(to, file->count, 4);
    if (l->has_model)
        to = put_model(file, to);
    for (uint32_t i = 0; i < file->count; i++) {
        const struct codec_place place = file->places[i];

        to = put_number(to, place.size, l->size_bytes);
        if (l->has_heads) {
            (void)put_number(bytes + place.at - 8, paper_plain(file, i), 4);
            (void)put_number(bytes + place.at - 4, place.size, 4);
        }
    }
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* A file while it is taken apart. */
struct reader {
    const uint8_t *bytes;
    uint64_t size, at;
    bool is_bad; /* a number was asked for that the file does not have */
};

/* Takes a number of `size` bytes. */
static uint64_t take(struct reader *r, uint32_t size)
{
    const uint64_t at = r->at;

    if (size > r->size - at) {
        r->is_bad = true;
        return 0;
    }
    r->at += size;
    return get_number(r->bytes + at, size);
}

/* Returns the plain size of a GLZSS file: the sum of the plain sizes in the chunks' heads, the
 * first of which is at the reader's place.  Sets *is_bad if the file has no such heads. */
static uint64_t sum_of_heads(struct reader r, uint32_t count, bool *is_bad)
{
    uint64_t plain = 0;

    for (uint32_t i = 0; i < count && !r.is_bad; i++) {
        uint64_t size;

        plain += take(&r, 4);
        size = take(&r, 4);
        if (size > r.size - r.at)
            r.is_bad = true;
        else
            r.at += size;
    }
    *is_bad = r.is_bad || plain > UINT32_MAX;
    return plain;
}

static bool take_model(struct codec_file *file, struct reader *r)
{
    uint16_t frequencies[256];
    const uint64_t block = take(r, 4);

    for (uint32_t b = 0; b < 256; b++)
        frequencies[b] = (uint16_t)take(r, 2);
    return !r->is_bad && block == file->shape.chunk &&
           (range_model_set(&file->model, frequencies) || file->plain == 0);
}

/* Sets the places of all chunks of a format with one part. */
static bool take_places(struct codec_file *file, struct reader *r)
{
    const struct codec_layout *const l = &file->format->layout;
    struct reader sizes = *r;

    r->at = front_size(file);
    for (uint32_t i = 0; i < file->count; i++) {
        uint64_t size = l->size_bytes > 0 ? take(&sizes, l->size_bytes) : 0;

        if (l->has_heads) {
            if (take(r, 4) != paper_plain(file, i))
                return false;
            size = take(r, 4);
        }
        if (r->is_bad || size > r->size - r->at)
            return false;
        file->places[i] = (struct codec_place){r->at, (uint32_t)size};
        r->at += size;
    }
    return r->at == r->size;
}

static bool open_one_part(struct codec_file *file, const struct lz_level *level, struct reader *r)
{
    const struct codec_layout *const l = &file->format->layout;
    const uint64_t stated = l->has_plain ? take(r, 4) : 0;
    const uint32_t count = l->has_count ? (uint32_t)take(r, 4) : 0;
    const uint64_t plain = l->has_plain ? stated : sum_of_heads(*r, count, &r->is_bad);
    const uint64_t chunks = (plain + file->shape.chunk - 1) / file->shape.chunk;

    /* Each chunk takes at least a byte, so a small file cannot ask for many places. */
    if (r->is_bad || chunks > r->size || (l->has_count && chunks != count) ||
        !set_plain(file, level, plain) || (l->has_model && !take_model(file, r)))
        return false;
    return front_size(file) <= r->size && take_places(file, r);
}

/* Sets the places of one of gpuLZ's parts from its array, and moves the reader past that array.
 * `at`: where the part's bytes start; size: their number. */
static bool take_array(struct codec_file *file, struct reader *r, uint32_t part, uint64_t at,
                       uint64_t size)
{
    uint64_t place = take(r, 4);

    if (place != 0)
        return false;
    for (uint32_t i = 0; i < file->count; i++) {
        const uint64_t next = take(r, 4);

        if (next < place || next > size)
            return false;
        file->places[2 * (size_t)i + part] =
            (struct codec_place){at + place, (uint32_t)(next - place)};
        place = next;
    }
    return place == size;
}

static bool open_gpulz(struct codec_file *file, const struct lz_level *level, struct reader *r)
{
    const uint64_t plain = take(r, 4), count = take(r, 4), flags = take(r, 4), data = take(r, 4);
    const uint64_t chunks = (plain + file->shape.chunk - 1) / file->shape.chunk;
    uint64_t front;

    if (r->is_bad || count != chunks || count > r->size || !set_plain(file, level, plain))
        return false;
    front = front_size(file);
    if (front + flags + data + (file->has_widths ? count : 0) != r->size ||
        !take_array(file, r, 0, front, flags) || !take_array(file, r, 1, front + flags, data))
        return false;
    for (uint32_t i = 0; file->has_widths && i < count; i++) {
        const uint8_t width = r->bytes[r->size - count + i];

        if (width == 0 || width > 4)
            return false;
        file->widths[i] = width;
    }
    return true;
}

bool paper_open(struct codec_file *file, const struct paper_format *format,
                const struct lz_level *level, const uint8_t *bytes, size_t size)
{
    struct reader r = {bytes, size, 0, false};

    begin(file, format, level);
    file->size = size;
    return format->parts == 2 ? open_gpulz(file, level, &r) : open_one_part(file, level, &r);
}
