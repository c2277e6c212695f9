/*
 * fuzz.h - runs the decoder of one format on one input (fuzz_decompress.c)
 */
#ifndef GZLZSS_FUZZ_H
#define GZLZSS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

enum fuzz_format {
    FUZZ_GZIP,
    FUZZ_LZW,
    FUZZ_PACK,
    FUZZ_LZH,
    FUZZ_ZIP,
    FUZZ_ZLIB,
    FUZZ_RAW,
    FUZZ_ANY,
    FUZZ_FORMATS
};

/* The bytes of the format's magic number, which come before each input; "" if the format has
 * none. */
const char *fuzz_magic(enum fuzz_format format);

/* Decompresses the magic number and the input in three ways, and aborts if the results differ. */
void fuzz_one(enum fuzz_format format, const uint8_t *input, size_t len);

#endif
