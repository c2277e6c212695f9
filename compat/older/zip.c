/*
 * zip.c - the first entry of a zip file, if it is deflated or stored
 *
 * An entry consists of a local header (PKWARE's APPNOTE.TXT, section 4.3.7), the name, an extra
 * field, and the data.  If the header was written before the CRC and the sizes were known, a flag
 * says so, and the CRC and the sizes follow the data (section 4.3.9).  Like GNU gzip, the decoder
 * reads the first entry, reports whether another follows, and never looks at the directory at the
 * end of the file.
 */
#include "config.h"

#include "compat/crc.h"
#include "compat/deflate.h"
#include "compat/older/older.h"

enum {
    FLAG_ENCRYPTED = 1,
    FLAG_SIZES_FOLLOW = 8,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    EXTRA_ZIP64 = 1,
    MAGIC_SIZE = 4,
    HEADER_SIZE = 30 - MAGIC_SIZE,
    SIZES_SIZE = 16
};

/* If a size in the header has this value, the size is in zip64's field instead. */
#define SEE_ZIP64 UINT32_MAX

/* Copies the next len bytes of the input to `to`, or skips them if `to` is NULL.  Returns false if
 * the input ends first. */
static bool read_bytes(struct gz_stream *s, uint8_t *to, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int byte = gz_next_byte(s);
        if (byte < 0)
            return false;
        if (to != NULL)
            to[i] = (uint8_t)byte;
    }
    return true;
}

static unsigned get_u16(const uint8_t p[2])
{
    return p[0] | (unsigned)p[1] << 8;
}

/* Parses zip64's field, of `len` bytes.  The field has the original size and then the compressed
 * size.  A size is missing if the header has a value other than SEE_ZIP64 for it.  As everywhere in
 * this file, only the lowest 32 bits of a size count.  Returns false if the input ends first. */
static bool read_zip64(struct gz_stream *s, unsigned len)
{
    uint32_t *const sizes[] = {&s->zip_size, &s->zip_packed};
    uint8_t size[8];

    s->is_zip64 = true;
    for (size_t i = 0; i < 2 && len >= sizeof size; i++) {
        if (*sizes[i] != SEE_ZIP64)
            continue;
        if (!read_bytes(s, size, sizeof size))
            return false;
        *sizes[i] = gz_get_u32(size);
        len -= (unsigned)sizeof size;
    }
    return read_bytes(s, NULL, len);
}

/* Parses extra fields of `len` bytes in all.  Returns false if the input ends first. */
static bool read_extra(struct gz_stream *s, unsigned len)
{
    uint8_t field[4]; /* the field's number, and the size of its data */

    for (unsigned size; len >= sizeof field; len -= size) {
        if (!read_bytes(s, field, sizeof field))
            return false;
        len -= (unsigned)sizeof field;
        size = get_u16(field + 2) < len ? get_u16(field + 2) : len;
        if (!(get_u16(field) == EXTRA_ZIP64 ? read_zip64(s, size) : read_bytes(s, NULL, size)))
            return false;
    }
    return read_bytes(s, NULL, len);
}

/* A name and extra fields follow the header; their sizes are at h + 22 and h + 24. */
enum gz_status gz_read_zip_header(struct gz_stream *s)
{
    uint8_t h[HEADER_SIZE] = {0};
    bool is_whole = read_bytes(s, h, sizeof h);

    s->zip_crc = gz_get_u32(h + 10);
    s->zip_packed = gz_get_u32(h + 14);
    s->zip_size = gz_get_u32(h + 18);
    s->is_zip64 = false;
    is_whole = is_whole && read_bytes(s, NULL, get_u16(h + 22)) && read_extra(s, get_u16(h + 24));
    if (!is_whole)
        return s->in_stop == GZ_READ_ERROR ? GZ_READ_ERROR : GZ_BAD_ZIP;
    const unsigned flags = get_u16(h + 2), method = get_u16(h + 4);
    if ((method & 0xff) != METHOD_STORED && (method & 0xff) != METHOD_DEFLATED)
        return GZ_ZIP_METHOD;
    if ((flags & FLAG_ENCRYPTED) != 0)
        return GZ_ZIP_ENCRYPTED;
    s->info->format = (method & 0xff) == METHOD_STORED ? GZ_FORMAT_ZIP_STORED : GZ_FORMAT_ZIP;
    s->sizes_follow = (flags & FLAG_SIZES_FOLLOW) != 0;
    return GZ_OK;
}

/* Copies stored data, whose size must be in the header. */
static enum gz_status read_stored(struct gz_stream *s, uint32_t *crc, uint64_t *len)
{
    if (s->zip_packed != s->zip_size) {
        s->info->zip_packed = s->zip_packed;
        s->info->zip_size = s->zip_size;
        return GZ_BAD_STORED_LENGTH;
    }
    *crc = 0;
    *len = 0;
    while (*len < s->zip_size) {
        if (s->in_pos == s->in_end && !gz_refill(s))
            return s->in_stop;
        const uint8_t *data = s->in + s->in_pos;
        size_t n = s->in_end - s->in_pos;
        if (n > s->zip_size - *len)
            n = s->zip_size - *len;
        *crc = gz_crc32(*crc, data, n);
        *len += n;
        s->in_pos += n;
        if (!gz_put(s, data, n))
            return GZ_WRITE_ERROR;
    }
    return GZ_OK;
}

/* Whether another entry seems to follow, that is, its magic number and at least one more byte. */
static bool entry_follows(struct gz_stream *s)
{
    uint8_t next[MAGIC_SIZE + 1];
    return read_bytes(s, next, sizeof next) && memcmp(next, "PK\3\4", MAGIC_SIZE) == 0;
}

/* Decodes the data, and compares its size and its CRC with the stored values, which come before or
 * after the data.  *whole becomes true if the entry was read to its end. */
static enum gz_status read_entry(struct gz_stream *s, bool *whole)
{
    /* A magic number, which is not checked, the CRC, and both sizes.  Each size has 4 bytes, or 8
     * if one of them does not fit into 32 bits (zip64). */
    uint8_t sizes[SIZES_SIZE + 8];
    const uint64_t packed_from = s->info->deflate_bytes;
    uint32_t crc;
    uint64_t len;
    enum gz_status status = s->info->format == GZ_FORMAT_ZIP_STORED
                                ? read_stored(s, &crc, &len)
                                : gz_read_deflate(s, &crc, &len);

    if (status != GZ_OK)
        return status;
    if (s->sizes_follow) {
        const bool is_zip64 =
            s->is_zip64 || len >= UINT32_MAX || s->info->deflate_bytes - packed_from >= UINT32_MAX;

        if (!read_bytes(s, sizes, is_zip64 ? sizeof sizes : SIZES_SIZE))
            return s->in_stop;
        s->zip_crc = gz_get_u32(sizes + 4);
        s->zip_size = gz_get_u32(sizes + (is_zip64 ? 16 : 12));
    }
    *whole = true;
    return gz_check_data(s, crc, len, s->zip_crc, s->zip_size);
}

enum gz_status gz_read_zip(struct gz_stream *s)
{
    bool whole = false;
    enum gz_status status = read_entry(s, &whole);

    s->info->has_crc = false; /* gzip -lv has no CRC for a zip file */
    s->info->in_bytes = gz_in_offset(s);
    s->info->more_entries = whole && entry_follows(s);
    return status == GZ_OK && s->info->more_entries ? GZ_MORE_ENTRIES : status;
}
