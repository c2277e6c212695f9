/*
 * zip.h - writes a zip file with one deflated entry (PKWARE's APPNOTE.TXT)
 *
 * compat/older/zip.c reads zip files.
 */
#ifndef GZLZSS_COMPAT_ZIP_H
#define GZLZSS_COMPAT_ZIP_H

#include <stddef.h>
#include <stdint.h>

/* The facts about an output that gz_write_end needs. */
struct gz_data {
    const uint8_t *start; /* the bytes that gz_write_start has written */
    size_t start_len;     /* the number of bytes at `start` */
    uint32_t check;       /* the check value of the uncompressed data (compat/check.h) */
    uint64_t len;         /* bytes of the uncompressed data */
    uint64_t packed;      /* bytes of the compressed data */
};

/* These are gz_start_room, gz_write_start, gz_end_room and gz_write_end for CONTAINER_ZIP. */
size_t zip_start_room(const char *name);
size_t zip_write_start(uint8_t *out, const char *name, uint32_t mtime);
size_t zip_end_room(size_t start_len);
size_t zip_write_end(uint8_t *out, const struct gz_data *data);

#endif
