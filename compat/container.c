/*
 * container.c - writes headers and trailers around DEFLATE data (container.h)
 */
#include "config.h"

#include "compat/container.h"

#include <string.h>

#include "base/zlib_header.h"
#include "compat/bytes.h"
#include "compat/gzip.h"
#include "compat/zip.h"

/* --- BGZF ----------------------------------------------------------------------------------- */

/* The member without data that ends a file of BGZF (SAM specification, 4.1.2). */
static const uint8_t bgzf_end[] = {0x1f, 0x8b, 8, 4, 0,    0, 0, 0, 0, 0xff, 6, 0, 'B', 'C',
                                   2,    0,    0, 0, 0x03, 0, 0, 0, 0, 0,    0, 0, 0,   0};

_Static_assert(sizeof(bgzf_end) == BGZF_HEADER_SIZE + 2 + BGZF_TRAILER_SIZE, "two bytes of data");
_Static_assert(sizeof(bgzf_end) <= GZ_END_MOST, "room for all ends but that of zip");
_Static_assert(BGZF_TRAILER_SIZE == GZ_TRAILER_SIZE, "the trailer is gzip's");

/* Writes the header of a member of `size` bytes, BGZF_SIZE_MAX at most. */
static void put_bgzf_header(uint8_t *out, size_t size)
{
    memcpy(out, bgzf_end, BGZF_START);
    gz_put_u16(out + BGZF_START, (unsigned)(size - 1));
}

size_t gz_write_member(uint8_t *member, size_t packed, uint32_t crc, size_t len)
{
    const size_t size = BGZF_HEADER_SIZE + packed + BGZF_TRAILER_SIZE;

    if (len == 0)
        return 0;
    put_bgzf_header(member, size);
    gz_write_trailer(member + BGZF_HEADER_SIZE + packed, crc, len);
    return size;
}

static size_t put_bgzf_end(uint8_t *out)
{
    memcpy(out, bgzf_end, sizeof(bgzf_end));
    put_bgzf_header(out, sizeof(bgzf_end));
    return sizeof(bgzf_end);
}

/* --- zlib ----------------------------------------------------------------------------------- */

/* Writes the header for a window of 32 KiB.  The two highest bits of its flags say how slow
 * compression was, from 0 (fastest) to 3.  zlib writes the same bits at the same level. */
static size_t put_zlib_header(uint8_t *out, int level)
{
    const unsigned method = 7 << 4 | GZ_METHOD_DEFLATE;
    const unsigned speed = level < 2 ? 0 : level < 6 ? 1 : level == 6 ? 2 : 3;
    const unsigned header = method << 8 | speed << 6;

    out[0] = (uint8_t)method;
    out[1] = (uint8_t)(speed << 6 | (31 - header % 31));
    return ZLIB_HEADER_SIZE;
}

static size_t put_zlib_end(uint8_t *out, uint32_t adler)
{
    for (unsigned i = 0; i < ZLIB_TRAILER_SIZE; i++)
        out[i] = (uint8_t)(adler >> (24 - 8 * i));
    return ZLIB_TRAILER_SIZE;
}

/* --- All formats ---------------------------------------------------------------------------- */

size_t gz_start_room(enum container container, const char *name)
{
    switch (container) {
    case CONTAINER_GZIP:
        return GZ_HEADER_SIZE + (name != NULL ? strlen(name) + 1 : 0);
    case CONTAINER_ZLIB:
        return ZLIB_HEADER_SIZE;
    case CONTAINER_ZIP:
        return zip_start_room(name);
    case CONTAINER_RAW:
    case CONTAINER_BGZF:
        break;
    }
    return 0;
}

size_t gz_write_start(enum container container, uint8_t *out, const char *name, uint32_t mtime,
                      int level)
{
    switch (container) {
    case CONTAINER_GZIP:
        return gz_write_header(out, name, mtime, level);
    case CONTAINER_ZLIB:
        return put_zlib_header(out, level);
    case CONTAINER_ZIP:
        return zip_write_start(out, name, mtime);
    case CONTAINER_RAW:
    case CONTAINER_BGZF:
        break;
    }
    return 0;
}

size_t gz_end_room(enum container container, size_t start_len)
{
    switch (container) {
    case CONTAINER_GZIP:
        return GZ_TRAILER_SIZE;
    case CONTAINER_ZLIB:
        return ZLIB_TRAILER_SIZE;
    case CONTAINER_BGZF:
        return sizeof(bgzf_end);
    case CONTAINER_ZIP:
        return zip_end_room(start_len);
    case CONTAINER_RAW:
        break;
    }
    return 0;
}

size_t gz_write_end(enum container container, uint8_t *out, const struct gz_data *data)
{
    switch (container) {
    case CONTAINER_GZIP:
        gz_write_trailer(out, data->check, data->len);
        return GZ_TRAILER_SIZE;
    case CONTAINER_ZLIB:
        return put_zlib_end(out, data->check);
    case CONTAINER_BGZF:
        return put_bgzf_end(out);
    case CONTAINER_ZIP:
        return zip_write_end(out, data);
    case CONTAINER_RAW:
        break;
    }
    return 0;
}
