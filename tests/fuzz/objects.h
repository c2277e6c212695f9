/*
 * objects.h - the library's objects that fuzz targets share
 */
#ifndef GZLZSS_FUZZ_OBJECTS_H
#define GZLZSS_FUZZ_OBJECTS_H

#include "gzlzss.h"
#include "tests/fuzz/target.h"

enum { FUZZ_LIBRARY_FORMATS = GZLZSS_ZIP + 1 };

/* Returns an object with three threads and segments of 32 KiB, so that a small input has several.
 * The same arguments give the same object, which stays. */
static inline gzlzss *fuzz_object(gzlzss_format format, bool rsyncable)
{
    static gzlzss *all[FUZZ_LIBRARY_FORMATS][2];
    gzlzss **z = &all[format][rsyncable];
    gzlzss_options options = GZLZSS_OPTIONS_INIT;

    options.level = 9;
    options.threads = 3;
    options.backend = GZLZSS_CPU;
    options.segment_size = 32768;
    options.format = format;
    options.rsyncable = rsyncable;
    if (*z == NULL)
        REQUIRE(gzlzss_new(z, &options) == GZLZSS_OK);
    return *z;
}

/* The window bits by which zlib reads a format of the library. */
static inline int fuzz_bits_of(gzlzss_format format)
{
    return format == GZLZSS_ZLIB  ? FUZZ_BITS_ZLIB
           : format == GZLZSS_RAW ? FUZZ_BITS_RAW
                                  : FUZZ_BITS_GZIP;
}

/* Requires that compressed[0..len) is plain[0..plain_len) in this format. */
static inline void fuzz_require_plain(gzlzss_format format, const uint8_t *compressed, size_t len,
                                      const uint8_t *plain, size_t plain_len)
{
    struct fuzz_plain p = {0};

    if (format == GZLZSS_ZIP) { /* zlib does not read it, so this depends on our own decoder */
        size_t n = plain_len + 1;

        p.bytes = fuzz_need(malloc(plain_len + 1));
        REQUIRE(gzlzss_decompress(fuzz_object(format, false), p.bytes, &n, compressed, len, NULL) ==
                GZLZSS_OK);
        p.len = n;
        p.is_good = true;
    } else {
        p = fuzz_inflate(compressed, len, fuzz_bits_of(format), plain_len + 1);
    }
    REQUIRE(p.is_good && p.len == plain_len);
    REQUIRE(plain_len == 0 || memcmp(p.bytes, plain, plain_len) == 0);
    free(p.bytes);
}

#endif
