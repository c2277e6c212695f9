/*
 * test_status.c - the messages about each result of decompression, and whether the result ends the
 * command
 *
 * For -c, -t and -l, tests/formats.bats compares the messages with GNU gzip's.  For output to a
 * file, this test has the messages and the behaviour that were observed with GNU gzip 1.12.
 */
#include "config.h"

#include <string.h>

#include "compat/gunzip.h"
#include "tests/unit/unit.h"

/* Writes all messages about a status to `text`, with "gzip: F" in the middle of each. */
static void said(enum gz_status status, const struct gz_info *info, bool to_stdout, char *text,
                 size_t size)
{
    struct gz_complaint list[GZ_COMPLAINTS_MAX];
    const size_t n = gz_complaints(status, info, to_stdout, list);
    size_t used = 0;

    CHECK(n <= GZ_COMPLAINTS_MAX);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%sgzip: F%s", list[i].before,
                                 list[i].warning ? "(warning) " : "", list[i].after);
}

static void says(enum gz_status status, const struct gz_info *info, bool to_stdout,
                 const char *expected)
{
    char text[600];
    said(status, info, to_stdout, text, sizeof text);
    if (!CHECK(strcmp(text, expected) == 0))
        printf("# %s\n# %s\n", text, expected);
}

static void messages(void)
{
    const struct gz_info none = {0};
    const struct gz_info numbers = {.unknown = 17,
                                    .header_crc = {0xabc, 0x1234},
                                    .zip_packed = 4294967295,
                                    .zip_size = 4294967294};
    const struct gz_info both = {.bad_length = true, .more_entries = true};
    const struct gz_info flags = {.unknown_flags = 0x60, .unknown = 31};
    const struct gz_info zeros = {.zeros_follow = true};

    says(GZ_OK, &none, true, "");
    says(GZ_OK, &zeros, true,
         "\n(warning) gzip: F: decompression OK, trailing zero bytes ignored\n");
    says(GZ_TRAILING_GARBAGE, &zeros, true,
         "\n(warning) gzip: F: decompression OK, trailing garbage ignored\n");
    says(GZ_NOT_GZIP, &none, false, "\ngzip: F: not in gzip format\n");
    says(GZ_UNKNOWN_METHOD, &numbers, false, "gzip: F: unknown method 17 -- not supported\n");
    says(GZ_ENCRYPTED, &none, false, "gzip: F is encrypted -- not supported\n");
    says(GZ_RESERVED_FLAGS, &flags, false, "gzip: F has flags 0x60 -- not supported\n");
    says(GZ_BAD_HEADER_CRC, &numbers, false,
         "gzip: F: header checksum 0x0abc != computed checksum 0x1234\n");
    says(GZ_BAD_CRC, &none, false, "\ngzip: F: invalid compressed data--crc error\n");
    says(GZ_BAD_CRC, &both, false,
         "\ngzip: F: invalid compressed data--crc error\n"
         "\ngzip: F: invalid compressed data--length error\n"
         "gzip: F has more than one entry -- unchanged\n");
    says(GZ_MORE_ENTRIES, &(struct gz_info){.more_entries = true}, true,
         "(warning) gzip: F has more than one entry--rest ignored\n");
    says(GZ_MORE_ENTRIES, &(struct gz_info){.more_entries = true}, false,
         "gzip: F has more than one entry -- unchanged\n");
    says(GZ_OK, &flags, true, "\n(warning) gzip: F: warning, unknown flags 0x60\n");
    says(GZ_TOO_MANY_BITS, &flags, true,
         "\n(warning) gzip: F: warning, unknown flags 0x60\n"
         "\ngzip: F: compressed with 31 bits, can only handle 16 bits\n");
    says(GZ_CORRUPT, &none, true, "\ngzip: F: corrupt input.\n");
    says(GZ_CORRUPT, &none, false, "\ngzip: F: corrupt input. Use zcat to recover some data.\n");
    says(GZ_CORRUPT_START, &none, false, "\ngzip: F: corrupt input.\n");
    says(GZ_BAD_TABLE, &none, false, "\ngzip: F: Bad table\n\n");
    says(GZ_BAD_STORED_LENGTH, &numbers, false,
         "len 4294967294, siz 4294967295\n\ngzip: F: invalid compressed data--length mismatch\n");
}

/* Tests the warnings that only -v prints. */
static void verbose(void)
{
    struct gz_complaint list[GZ_COMPLAINTS_MAX];
    const struct gz_info zeros = {.zeros_follow = true, .unknown_flags = 0x20};

    CHECK_EQ(gz_complaints(GZ_OK, &zeros, true, list), 2);
    CHECK(list[0].warning && !list[0].verbose);
    CHECK(list[1].warning && list[1].verbose);
}

static void effects(void)
{
    for (int i = GZ_OK; i <= GZ_NO_MEMORY; i++) {
        const enum gz_status status = (enum gz_status)i;
        const bool fine =
            status == GZ_OK || status == GZ_TRAILING_GARBAGE || status == GZ_MORE_ENTRIES;
        const bool checked =
            status == GZ_BAD_CRC || status == GZ_BAD_ADLER || status == GZ_BAD_LENGTH;
        const bool next =
            status == GZ_NOT_GZIP || status == GZ_NOT_ZLIB || status == GZ_DICTIONARY ||
            status == GZ_UNKNOWN_METHOD || status == GZ_ENCRYPTED || status == GZ_RESERVED_FLAGS ||
            status == GZ_BAD_HEADER_CRC || status == GZ_TOO_MANY_BITS || status == GZ_BAD_ZIP ||
            status == GZ_ZIP_METHOD || status == GZ_ZIP_ENCRYPTED;
        CHECK_EQ(gz_status_is_error(status, true), !fine);
        CHECK_EQ(gz_status_is_error(status, false), !fine || status == GZ_MORE_ENTRIES);
        CHECK_EQ(gz_status_is_fatal(status, true, true), !fine && !next && !checked);
        CHECK_EQ(gz_status_is_fatal(status, true, false), !fine && !next);
        CHECK_EQ(gz_status_is_fatal(status, false, false),
                 (!fine && !next) || status == GZ_MORE_ENTRIES);

        /* If the status is an error, the message counts as an error; otherwise as a warning. */
        const struct gz_info info = {.more_entries = status == GZ_MORE_ENTRIES};
        struct gz_complaint list[GZ_COMPLAINTS_MAX];
        for (int to_stdout = 0; to_stdout < 2; to_stdout++) {
            const size_t n = gz_complaints(status, &info, to_stdout != 0, list);
            CHECK_EQ(n, status != GZ_OK);
            if (n != 0)
                CHECK_EQ(!list[0].warning, gz_status_is_error(status, to_stdout != 0));
        }
    }
}

static void names(void)
{
    CHECK(strcmp(gz_format_name(GZ_FORMAT_GZIP), "defla") == 0);
    CHECK(strcmp(gz_format_name(GZ_FORMAT_COMPRESS), "compr") == 0);
    CHECK(strcmp(gz_format_name(GZ_FORMAT_PACK), "pack") == 0);
    CHECK(strcmp(gz_format_name(GZ_FORMAT_LZH), "lzh") == 0);
    CHECK(strcmp(gz_format_name(GZ_FORMAT_ZIP), "defla") == 0);
    CHECK(strcmp(gz_format_name(GZ_FORMAT_ZIP_STORED), "store") == 0);
}

int main(void)
{
    RUN(messages);
    RUN(verbose);
    RUN(effects);
    RUN(names);
    return unit_done();
}
