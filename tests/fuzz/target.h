/*
 * target.h - the fuzz targets, and what they share
 *
 * A target is a function that takes one input of any bytes.  It returns if all is well, and aborts
 * if something is not as it must be.  Its name is in FUZZ_TARGETS, and the function fuzz_NAME is in
 * one of the files of this folder.  entry.c makes of a target a program for a fuzzer, and replay.c
 * runs targets on files.
 */
#ifndef GZLZSS_FUZZ_TARGET_H
#define GZLZSS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allow large stack frames in targets, as in unit tests (tests/unit/unit.h). */
#pragma GCC diagnostic ignored "-Wframe-larger-than="

/* Keep this list equal to fuzz_targets in Makefile.am. */
/* clang-format off */
#define FUZZ_TARGETS(X) \
    X(gzip) X(lzw) X(pack) X(lzh) X(zip) X(zlib) X(raw) X(any) \
    X(ahead) X(recover) X(expand) X(stream_compress) X(stream_decompress) \
    X(decoder) X(levels) X(reader) X(index) X(options) X(command)
/* clang-format on */

#define FUZZ_DECLARE(name) void fuzz_##name(const uint8_t *data, size_t len);
FUZZ_TARGETS(FUZZ_DECLARE)
#undef FUZZ_DECLARE

#define REQUIRE(condition) \
    ((condition)           \
         ? (void)0         \
         : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), abort()))

/* Returns `memory`, which must not be NULL. */
static inline void *fuzz_need(void *memory)
{
    REQUIRE(memory != NULL);
    return memory;
}

/* The part of an input that is not read yet.  The first bytes of most inputs are choices: how the
 * rest is treated. */
struct fuzz_input {
    const uint8_t *data;
    size_t len;
};

/* Takes the next byte as a number from 0 to n - 1; n is 256 at most.  0 if there is none. */
static inline unsigned fuzz_choose(struct fuzz_input *in, unsigned n)
{
    if (in->len == 0)
        return 0;
    in->len--;
    return *in->data++ % n;
}

/* Takes the next two bytes as a number from 0 to 65535. */
static inline size_t fuzz_choose16(struct fuzz_input *in)
{
    const unsigned low = fuzz_choose(in, 256);

    return low | fuzz_choose(in, 256) << 8;
}

/* Takes the next `len` bytes, or all if there are fewer. */
static inline struct fuzz_input fuzz_take(struct fuzz_input *in, size_t len)
{
    const struct fuzz_input taken = {in->data, len < in->len ? len : in->len};

    in->data += taken.len;
    in->len -= taken.len;
    return taken;
}

/* What zlib makes of compressed data. */
struct fuzz_plain {
    uint8_t *bytes; /* bytes[0..len), for the caller to free */
    size_t len;
    size_t used;      /* bytes of input up to the end of the last good member */
    unsigned members; /* good members */
    bool is_good;     /* the data is one or more good members, up to its end */
    bool is_too_long; /* the output has more than `most` bytes */
};

/* How zlib's inflateInit2 names formats. */
enum { FUZZ_BITS_GZIP = 15 + 16, FUZZ_BITS_ZLIB = 15, FUZZ_BITS_RAW = -15 };

/* Decompresses in[0..len) with zlib.  A .gz may have many members. */
struct fuzz_plain fuzz_inflate(const uint8_t *in, size_t len, int bits, size_t most);

#endif
