/*
 * signatures.c - recognizes compressed data by its first bytes (signatures.h)
 *
 * The table has formats whose data hardly gets smaller, and whose first bytes are not likely to
 * start any other file.  The table leaves out formats that may also hold uncompressed data (PDF,
 * TIFF, tar).  To add a format, add a row, and a line to tests/filelist.bats.
 */
#include "config.h"

#include <string.h>

#include "base/io.h"
#include "src/signatures.h"

struct signature {
    const char *format;
    bool is_read;    /* gzlzss decompresses the format */
    unsigned offset; /* where the bytes are in the file */
    unsigned length; /* how many bytes there are */
    char bytes[12];
};

#define ROW(called, at, text)                                                         \
    {                                                                                 \
        .format = (called), .offset = (at), .length = sizeof(text) - 1, .bytes = text \
    }

#define READ(called, text)                                                             \
    {                                                                                  \
        .format = (called), .is_read = true, .length = sizeof(text) - 1, .bytes = text \
    }

static const struct signature table[] = {
    READ("gzip", "\x1f\x8b"),
    READ("compress", "\x1f\x9d"),
    READ("pack", "\x1f\x1e"),
    READ("LZH", "\x1f\xa0"),
    READ("zip", "PK\x03\x04"),
    ROW("zstd", 0, "\x28\xb5\x2f\xfd"),
    ROW("xz", 0,
        "\xfd"
        "7zXZ\0"),
    ROW("lzip", 0, "LZIP\x01"),
    ROW("bzip2", 4, "1AY&SY"), /* the start of a block, after BZh and a digit */
    ROW("lz4", 0, "\x04\x22\x4d\x18"),
    ROW("lz4", 0, "\x02\x21\x4c\x18"),
    ROW("lzop", 0, "\x89LZO\0\r\n\x1a\n"),
    ROW("snappy", 0, "\xff\x06\0\0sNaPpY"),
    ROW("7z", 0, "7z\xbc\xaf\x27\x1c"),
    ROW("RAR", 0, "Rar!\x1a\x07"),
    ROW("CAB", 0, "MSCF\0\0\0\0"),
    ROW("squashfs", 0, "hsqs"),
    ROW("PNG", 0, "\x89PNG\r\n\x1a\n"),
    ROW("JPEG", 0, "\xff\xd8\xff"),
    ROW("JPEG 2000", 0, "\0\0\0\x0cjP  \r\n\x87\n"),
    ROW("JPEG XL", 0, "\0\0\0\x0cJXL \r\n\x87\n"),
    ROW("GIF", 0, "GIF87a"),
    ROW("GIF", 0, "GIF89a"),
    ROW("WebP", 8, "WEBPVP8"),
    ROW("MP4", 4, "ftyp"),                  /* also HEIF, AVIF, QuickTime */
    ROW("Matroska", 0, "\x1a\x45\xdf\xa3"), /* also WebM */
    ROW("Ogg", 0, "OggS\0"),
    ROW("FLAC", 0, "fLaC"),
    ROW("MP3", 0, "ID3\x03\0"),
    ROW("MP3", 0, "ID3\x04\0"),
    ROW("WOFF", 0, "wOFF"),
    ROW("WOFF", 0, "wOF2"),
};

const char *signatures_match(const char *bytes, size_t len, bool *is_read)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct signature *s = &table[i];

        *is_read = s->is_read;
        if (len >= s->offset + s->length && memcmp(bytes + s->offset, s->bytes, s->length) == 0)
            return s->format;
    }
    return NULL;
}

const char *signatures_find(int fd)
{
    char bytes[SIGNATURE_MAX];
    const ssize_t n = io_read_at(fd, bytes, sizeof(bytes), 0);
    bool is_read;

    return n > 0 ? signatures_match(bytes, (size_t)n, &is_read) : NULL;
}
