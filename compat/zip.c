/*
 * zip.c - writes a zip file with one deflated entry (zip.h)
 *
 * The entry's header is written before the sizes and the CRC are known.  So they are stored in a
 * descriptor after the data (APPNOTE.TXT, section 4.3.9), and again in the directory at the file's
 * end.  Sizes of 4 GiB or more need the fields of zip64 (section 4.5.3).  The header's time has a
 * resolution of two seconds, so an extra field that Info-ZIP has defined ("UT") has the exact time.
 */
#include "config.h"

#include "compat/zip.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "compat/bytes.h"
#include "compat/gzip.h"

#define MAGIC_ENTRY 0x04034b50
#define MAGIC_DESCRIPTOR 0x08074b50
#define MAGIC_DIRECTORY 0x02014b50
#define MAGIC_END 0x06054b50
#define MAGIC_END64 0x06064b50
#define MAGIC_LOCATOR 0x07064b50

/* Versions of the format: one with deflated entries, and one with zip64. */
#define VERSION_DEFLATE 20
#define VERSION_ZIP64 45

#define FLAG_SIZES_FOLLOW 8
#define FLAG_UTF8 0x800

#define EXTRA_ZIP64 1
#define EXTRA_TIME 0x5455
/* Bytes of the extra fields. */
#define EXTRA_ZIP64_SIZE 20
#define EXTRA_TIME_SIZE 9

/* Bytes of the parts of a zip file, without names and extra fields. */
#define ENTRY_SIZE 30
#define DESCRIPTOR_MOST 24
#define DIRECTORY_SIZE 46
#define END64_SIZE 56
#define LOCATOR_SIZE 20
#define END_SIZE 22

/* The fields of an entry's header that the directory repeats: their offset and their size. */
#define COMMON_AT 6
#define COMMON_SIZE 8

/* The offset of the name's length in an entry's header. */
#define NAME_LENGTH_AT 26

/* The longest name that fits into the field for its length.  A longer name is cut off there. */
#define NAME_MOST 65535u

/* A field of 32 bits with this value means that the number is in a field of zip64. */
#define SEE_ZIP64 UINT32_MAX

/* An entry without a name gets this name, as in pigz. */
#define NO_NAME "-"

static size_t name_length(const char *name)
{
    const size_t len = strlen(name != NULL ? name : NO_NAME);

    return len < NAME_MOST ? len : NAME_MOST;
}

/* Returns the number of bytes that a character in UTF-8 has after its first byte; 4 if `first`
 * starts no character. */
static unsigned utf8_more(uint8_t first)
{
    return first < 0x80                     ? 0
           : first >= 0xc2 && first < 0xe0  ? 1
           : first >= 0xe0 && first < 0xf0  ? 2
           : first >= 0xf0 && first <= 0xf4 ? 3
                                            : 4;
}

/* Whether a name is UTF-8 and not only ASCII. */
static bool is_utf8(const char *name, size_t len)
{
    bool has_more = false;

    for (size_t i = 0; i < len; i++) {
        const unsigned more = utf8_more((uint8_t)name[i]);

        if (more > 3 || more >= len - i)
            return false;
        has_more |= more > 0;
        for (unsigned k = 0; k < more; k++)
            if (((uint8_t)name[++i] & 0xc0) != 0x80)
                return false;
    }
    return has_more;
}

/* Writes a time and a date.  They are in UTC, so that the bytes do not depend on the time zone.
 * The format's first year is 1980.  An earlier or unknown time becomes 1 January 1980. */
static uint8_t *put_dos_time(uint8_t *p, uint32_t mtime)
{
    const time_t seconds = (time_t)mtime;
    struct tm t;

    if (mtime == 0 || gmtime_r(&seconds, &t) == NULL || t.tm_year < 80)
        return gz_put_u16(gz_put_u16(p, 0), 1 << 5 | 1);
    p = gz_put_u16(p, (unsigned)(t.tm_hour << 11 | t.tm_min << 5 | t.tm_sec / 2));
    return gz_put_u16(p, (unsigned)((t.tm_year - 80) << 9 | (t.tm_mon + 1) << 5 | t.tm_mday));
}

size_t zip_start_room(const char *name)
{
    return ENTRY_SIZE + name_length(name) + EXTRA_TIME_SIZE;
}

size_t zip_write_start(uint8_t *out, const char *name, uint32_t mtime)
{
    const char *stored = name != NULL ? name : NO_NAME;
    const size_t len = name_length(name);
    uint8_t *p = gz_put_u32(out, MAGIC_ENTRY);

    p = gz_put_u16(p, VERSION_DEFLATE);
    p = gz_put_u16(p, FLAG_SIZES_FOLLOW | (is_utf8(stored, len) ? FLAG_UTF8 : 0));
    p = gz_put_u16(p, GZ_METHOD_DEFLATE);
    p = put_dos_time(p, mtime);
    memset(p, 0, 12); /* the CRC and the sizes */
    p = gz_put_u16(p + 12, (unsigned)len);
    p = gz_put_u16(p, mtime != 0 ? EXTRA_TIME_SIZE : 0);
    memcpy(p, stored, len);
    p += len;
    if (mtime != 0) {
        p = gz_put_u16(gz_put_u16(p, EXTRA_TIME), EXTRA_TIME_SIZE - 4);
        *p++ = 1; /* the field has the time of modification only */
        p = gz_put_u32(p, mtime);
    }
    return (size_t)(p - out);
}

size_t zip_end_room(size_t start_len)
{
    /* The directory repeats the name and the extra field of the start. */
    return DESCRIPTOR_MOST + DIRECTORY_SIZE + start_len + EXTRA_ZIP64_SIZE + END64_SIZE +
           LOCATOR_SIZE + END_SIZE;
}

/* Writes a size: 64 bits with zip64, else 32 bits. */
static uint8_t *put_size(uint8_t *p, bool is_zip64, uint64_t size)
{
    return is_zip64 ? gz_put_u64(p, size) : gz_put_u32(p, (uint32_t)size);
}

/* Writes the directory, with its one entry. */
static uint8_t *put_directory(uint8_t *p, const struct gz_data *data, bool is_zip64)
{
    const uint8_t *name = data->start + ENTRY_SIZE;
    const unsigned name_len =
        data->start[NAME_LENGTH_AT] | (unsigned)data->start[NAME_LENGTH_AT + 1] << 8;
    const unsigned time_len = (unsigned)(data->start_len - ENTRY_SIZE) - name_len;
    const unsigned version = is_zip64 ? VERSION_ZIP64 : VERSION_DEFLATE;

    p = gz_put_u16(gz_put_u16(gz_put_u32(p, MAGIC_DIRECTORY), version), version);
    memcpy(p, data->start + COMMON_AT, COMMON_SIZE);
    p = gz_put_u32(p + COMMON_SIZE, data->check);
    p = gz_put_u32(p, is_zip64 ? SEE_ZIP64 : (uint32_t)data->packed);
    p = gz_put_u32(p, is_zip64 ? SEE_ZIP64 : (uint32_t)data->len);
    p = gz_put_u16(p, name_len);
    p = gz_put_u16(p, (is_zip64 ? EXTRA_ZIP64_SIZE : 0) + time_len);
    memset(p, 0, 14); /* comment, disk, attributes, and the entry's offset */
    p += 14;
    memcpy(p, name, name_len);
    p += name_len;
    if (is_zip64) {
        p = gz_put_u16(gz_put_u16(p, EXTRA_ZIP64), EXTRA_ZIP64_SIZE - 4);
        p = gz_put_u64(gz_put_u64(p, data->len), data->packed);
    }
    memcpy(p, name + name_len, time_len);
    return p + time_len;
}

/* Writes zip64's end of the directory.  The directory starts at byte `at` of the file, and has
 * `size` bytes. */
static uint8_t *put_end64(uint8_t *p, uint64_t at, uint64_t size)
{
    p = gz_put_u64(gz_put_u32(p, MAGIC_END64), END64_SIZE - 12);
    p = gz_put_u16(gz_put_u16(p, VERSION_ZIP64), VERSION_ZIP64);
    p = gz_put_u32(gz_put_u32(p, 0), 0);
    p = gz_put_u64(gz_put_u64(p, 1), 1);
    p = gz_put_u64(gz_put_u64(p, size), at);
    p = gz_put_u32(gz_put_u32(p, MAGIC_LOCATOR), 0);
    return gz_put_u32(gz_put_u64(p, at + size), 1);
}

size_t zip_write_end(uint8_t *out, const struct gz_data *data)
{
    const bool is_zip64 = data->len >= SEE_ZIP64 || data->packed >= SEE_ZIP64;
    uint8_t *p = gz_put_u32(gz_put_u32(out, MAGIC_DESCRIPTOR), data->check), *directory;
    uint64_t at, size;

    p = put_size(put_size(p, is_zip64, data->packed), is_zip64, data->len);
    directory = p;
    at = data->start_len + data->packed + (uint64_t)(directory - out);
    p = put_directory(p, data, is_zip64);
    size = (uint64_t)(p - directory);
    if (is_zip64 || at >= SEE_ZIP64)
        p = put_end64(p, at, size);
    p = gz_put_u32(gz_put_u32(p, MAGIC_END), 0);
    p = gz_put_u16(gz_put_u16(p, 1), 1);
    p = gz_put_u32(p, (uint32_t)size);
    p = gz_put_u32(p, at < SEE_ZIP64 ? (uint32_t)at : SEE_ZIP64);
    return (size_t)(gz_put_u16(p, 0) - out);
}
