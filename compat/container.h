/*
 * container.h - writes headers and trailers around DEFLATE data: those of gzip, zlib, BGZF and zip
 *
 * The writer of an output calls gz_write_start, writes the data, and calls gz_write_end.  In BGZF,
 * the data itself consists of members.  gz_write_member makes a member from each segment.
 */
#ifndef GZLZSS_COMPAT_CONTAINER_H
#define GZLZSS_COMPAT_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#include "base/bgzf.h"
#include "base/container.h"
#include "compat/zip.h"

/* Returns the most bytes that gz_write_start writes.  `name` may be NULL. */
size_t gz_start_room(enum container container, const char *name);

/*
 * Writes the bytes before the data to `out`, which has room for gz_start_room(container, name)
 * bytes.  Returns the number of bytes written; raw data and BGZF have none.
 *
 *   - name: the file's base name, or NULL.  Only gzip and zip store it.  An entry of a zip file
 *     must have a name; if `name` is NULL, its name is "-".
 *   - mtime: the modification time in seconds since 1970, 0 if unknown.  Only gzip and zip store
 *     it.
 *   - level: sets the bits for the speed of compression, as gzip and zlib do.
 */
size_t gz_write_start(enum container container, uint8_t *out, const char *name, uint32_t mtime,
                      int level);

/* Returns the most bytes that gz_write_end writes, where gz_write_start has written start_len
 * bytes. */
size_t gz_end_room(enum container container, size_t start_len);

/* The most bytes that gz_write_end writes in any format but zip. */
#define GZ_END_MOST 28

/* Writes the bytes after the data to `out`, which has room for gz_end_room bytes.  Returns the
 * number of bytes written; raw data has none.  Formats other than zip need only data->check and
 * data->len. */
size_t gz_write_end(enum container container, uint8_t *out, const struct gz_data *data);

/* Returns the number of bytes that stand before the DEFLATE data in each segment's output.  In
 * BGZF, these are the header of a member; the other formats have none. */
static inline size_t gz_before_data(enum container container)
{
    return container == CONTAINER_BGZF ? BGZF_HEADER_SIZE : 0;
}

/* Makes a member of BGZF from the `packed` bytes of DEFLATE data at member + BGZF_HEADER_SIZE:
 * writes the header before them and the trailer after them.  The data decompresses to `len` bytes
 * with CRC-32 `crc`.  Returns the member's size; 0 if len is 0, since a member without data would
 * end a file of BGZF. */
size_t gz_write_member(uint8_t *member, size_t packed, uint32_t crc, size_t len);

#endif
