/*
 * mutate.c - damages files of each format for fuzz_decompress.c, without clang
 *
 * The tests' encoders make the files from small data; mutate damages them again and again.  By
 * default, mutate makes the same damaged files on each run, for a few seconds.
 *
 *     FUZZ_SECONDS=N   in the environment: runs N seconds for each format, with new random damage
 *                      on each run
 *     FUZZ_CORPUS=DIR  in the environment: writes the undamaged files to DIR, for libFuzzer
 */
#include "config.h"

#include <time.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/encoders.h"

enum { DEFAULT_RUNS = 6000, VARIANTS = 8, GENERATIONS = 4 };

static const char *const names[FUZZ_FORMATS] = {"gzip", "lzw",  "pack", "lzh",
                                                "zip",  "zlib", "raw",  "any"};

static void add_data(struct bytes *b, unsigned kind)
{
    static const char *const words[] = {"bit ", "byte ", "word ", "code\n"};
    uint64_t state = kind;

    for (unsigned i = 0; i < 100 + 150 * (kind % 5); i++) {
        const uint64_t r = unit_rand(&state);
        if (kind % 3 == 0)
            add(b, words[r % 4], strlen(words[r % 4]));
        else
            add_byte(b, kind % 3 == 1 ? r & 0xff : 0);
    }
}

static void encode_variant(struct bytes *file, enum fuzz_format format, unsigned variant)
{
    static const struct lzw_options lzw[] = {
        {16, true, 0}, {9, false, 0}, {12, true, 40}, {10, true, 0}};
    struct bytes data = {0};

    add_data(&data, variant);
    switch (format) {
    case FUZZ_GZIP:
    case FUZZ_ANY: {
        /* A header with all possible fields, and its CRC. */
        static const char header[] = "\x1f\x8b\x08\x1e\0\0\0\0\0\3\2\0exname\0comment";
        add(file, header, sizeof header);
        add_le(file, gz_crc32(0, file->data, file->len) & 0xffff, 2);
        add_deflate(file, data.data, data.len, (int)(variant % 9) + 1, Z_DEFAULT_STRATEGY);
        add_le(file, gz_crc32(0, data.data, data.len), 4);
        add_le(file, data.len, 4);
        if (format == FUZZ_ANY)
            encode_pack(file, data.data, data.len, 24);
        break;
    }
    case FUZZ_LZW:
        encode_lzw(file, data.data, data.len, &lzw[variant % 4]);
        break;
    case FUZZ_PACK:
        encode_pack(file, data.data, data.len, 9 + variant);
        break;
    case FUZZ_LZH:
        encode_lzh(file, data.data, data.len, 1u << (2 * variant));
        break;
    case FUZZ_ZIP:
        encode_zip(file, data.data, data.len, variant % 3 == 0 ? 0 : 8, variant % 2 * 8);
        break;
    case FUZZ_ZLIB:
        add(file, "\x78\x9c", 2);
        add_deflate(file, data.data, data.len, (int)(variant % 9) + 1, Z_DEFAULT_STRATEGY);
        for (int shift = 24; shift >= 0; shift -= 8)
            add_byte(file, (uint8_t)(adler32(1, data.data, (uInt)data.len) >> shift));
        break;
    case FUZZ_RAW:
        add_deflate(file, data.data, data.len, (int)(variant % 9) + 1, Z_DEFAULT_STRATEGY);
        break;
    case FUZZ_FORMATS:
        break;
    }
    drop(&data);
}

static void write_corpus(const char *dir, enum fuzz_format format)
{
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        struct bytes file = {0};
        char name[512];
        encode_variant(&file, format, variant);
        snprintf(name, sizeof name, "%s/%s-%u", dir, names[format], variant);
        FILE *out = fopen(name, "wb");
        const size_t magic = strlen(fuzz_magic(format));
        CHECK(out != NULL);
        if (out != NULL) {
            CHECK_EQ(fwrite(file.data + magic, 1, file.len - magic, out), file.len - magic);
            CHECK_EQ(fclose(out), 0);
        }
        drop(&file);
    }
}

static void run_format(enum fuzz_format format)
{
    const char *seconds = getenv("FUZZ_SECONDS"), *corpus = getenv("FUZZ_CORPUS");
    const time_t start = time(NULL), limit = seconds != NULL ? atoi(seconds) : 0;
    const size_t magic = strlen(fuzz_magic(format));
    uint64_t state = limit != 0 ? (uint64_t)start : 1;
    unsigned long runs = 0;

    if (corpus != NULL)
        write_corpus(corpus, format);
    while (limit != 0 ? time(NULL) - start < limit : runs < DEFAULT_RUNS) {
        struct bytes file = {0};
        encode_variant(&file, format, runs / GENERATIONS % VARIANTS);
        for (unsigned i = 0; i < GENERATIONS && file.len > magic; i++, runs++) {
            damage(&file, &state);
            if (file.len < magic)
                break;
            /* Memory of exactly this size lets a sanitizer see reads past the end. */
            uint8_t *input = unit_need(malloc(file.len - magic + 1));
            memcpy(input, file.data + magic, file.len - magic);
            input = unit_need(realloc(input, file.len > magic ? file.len - magic : 1));
            fuzz_one(format, input, file.len - magic);
            free(input);
        }
        drop(&file);
    }
    printf("# %s: %lu inputs\n", names[format], runs);
    CHECK(runs > 0);
}

#define FORMAT(name, format) \
    static void name(void)   \
    {                        \
        run_format(format);  \
    }

FORMAT(gzip, FUZZ_GZIP)
FORMAT(lzw, FUZZ_LZW)
FORMAT(pack, FUZZ_PACK)
FORMAT(lzh, FUZZ_LZH)
FORMAT(zip, FUZZ_ZIP)
FORMAT(zlib, FUZZ_ZLIB)
FORMAT(raw, FUZZ_RAW)
FORMAT(any, FUZZ_ANY)

int main(void)
{
    RUN(gzip);
    RUN(lzw);
    RUN(pack);
    RUN(lzh);
    RUN(zip);
    RUN(zlib);
    RUN(raw);
    RUN(any);
    return unit_done();
}
