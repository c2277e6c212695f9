/*
 * decoders.h - shared by the tests of the decoders: decodes a file with small reads, truncated,
 * damaged, and with reads and writes that fail
 */
#ifndef GZLZSS_DECODERS_H
#define GZLZSS_DECODERS_H

#include "tests/unit/encoders.h"
#include "tests/unit/streams.h"
#include "tests/unit/unit.h"

/* Each file is tried with reads of these sizes; 0: one read for the whole file. */
static const size_t decoder_reads[] = {0, 1, 2, 3, 7, 4096};
#define DECODER_READS (sizeof decoder_reads / sizeof decoder_reads[0])

/* Of a large file, only this many bytes at its end are read in small pieces, since each read takes
 * time. */
#define SMALL_READS_MAX ((size_t)20000)

/* Checks that the file decodes to exactly this data, and that its format is recognized. */
static inline void check_decodes(const struct bytes *file, const struct bytes *data,
                                 enum gz_format format)
{
    for (size_t i = 0; i < DECODER_READS; i++) {
        struct job job = {.read_max = decoder_reads[i]};
        if (file->len > SMALL_READS_MAX && job.read_max != 0 && job.read_max < 4096)
            job.max_from = file->len - SMALL_READS_MAX;
        CHECK_EQ(run(&job, file->data, file->len), GZ_OK);
        CHECK(same(&job.out, data));
        CHECK_EQ(job.info.format, format);
        CHECK_EQ(job.info.members, 1);
        CHECK_EQ(job.info.member_bytes, data->len);
        CHECK_EQ(job.info.in_bytes, file->len);
        CHECK(job.info.read_bytes == file->len);
        drop(&job.out);
    }
}

/* Checks that the result does not depend on the size of reads.  With DEFLATE, only the amount of
 * output before an error may differ. */
static inline enum gz_status check_same_in_all_reads(const struct bytes *file)
{
    struct job whole = {0};
    const enum gz_status status = run(&whole, file->data, file->len);

    for (size_t i = 1; i < 4; i++) {
        struct job job = {.read_max = decoder_reads[i]};
        CHECK_EQ(run(&job, file->data, file->len), status);
        if (status != GZ_OK && job.out.len < whole.out.len && job.info.deflate_bytes != 0)
            whole.out.len = job.out.len;
        if (status != GZ_OK && job.out.len > whole.out.len && job.info.deflate_bytes != 0)
            job.out.len = whole.out.len;
        CHECK(same(&job.out, &whole.out));
        if (status == GZ_OK)
            CHECK_EQ(job.info.in_bytes, whole.info.in_bytes);
        drop(&job.out);
    }
    drop(&whole.out);
    return status;
}

/* Cuts the file off after each number of bytes, and checks what the decoder does.  If `zeros` is
 * false, the output must be a prefix of the data; otherwise, the output may be anything.  If
 * `quiet` is false, the result must be `status`; otherwise, the result may also be GZ_OK. */
static inline void check_truncations(const struct bytes *file, const struct bytes *data,
                                     enum gz_status status, bool quiet, bool zeros)
{
    for (size_t n = 0; n < file->len; n++) {
        /* Memory of exactly this size lets a sanitizer see reads past the end. */
        uint8_t *copy = unit_need(malloc(n == 0 ? 1 : n));
        struct job job = {0};
        memcpy(copy, file->data, n);
        const enum gz_status got = run(&job, copy, n);
        if (n < 2)
            CHECK_EQ(got, GZ_TRUNCATED);
        else
            CHECK(got == status || (quiet && got == GZ_OK));
        if (!zeros && CHECK(job.out.len <= data->len) && job.out.len != 0)
            CHECK(memcmp(job.out.data, data->data, job.out.len) == 0);
        drop(&job.out);
        free(copy);
    }
}

/* Checks that damaged copies do no harm.  Returns the number of copies whose damage the decoder
 * noticed. */
static inline unsigned check_damage(const struct bytes *file, unsigned count, uint64_t seed)
{
    unsigned noticed = 0;

    for (unsigned i = 0; i < count; i++) {
        struct bytes copy = {0};
        add(&copy, file->data, file->len);
        damage(&copy, &seed);
        noticed += check_same_in_all_reads(&copy) != GZ_OK;
        drop(&copy);
    }
    return noticed;
}

/* Makes a read fail at many positions of the file, and a write at many positions of the output. */
static inline void check_failures(const struct bytes *file, const struct bytes *data)
{
    for (size_t n = 0; n < file->len; n += 1 + n / 50) {
        struct job job = {.read_fail = 1 + n, .read_max = n % 3};
        CHECK_EQ(run(&job, file->data, file->len), GZ_READ_ERROR);
        CHECK_EQ(job.error, EIO);
        drop(&job.out);
    }
    for (size_t n = 0; n < data->len; n += 1 + n / 10) {
        struct job job = {.write_fail = 1 + n};
        CHECK_EQ(run(&job, file->data, file->len), GZ_WRITE_ERROR);
        CHECK_EQ(job.error, ENOSPC);
        drop(&job.out);
    }
}

/* Sets *data to test data of the next kind and size.  Returns false if all kinds and sizes were
 * used. */
static inline bool next_data(struct bytes *data, unsigned *state)
{
    static const size_t sizes[] = {1, 2, 3, 255, 5000, 600000};
    const size_t count = sizeof sizes / sizeof sizes[0];
    const unsigned kind = *state / (unsigned)count;
    uint64_t random = *state;

    drop(data);
    if (kind >= 4)
        return false;
    for (size_t n = sizes[*state % count]; data->len < n;) {
        static const char *const words[] = {"code ", "width ", "table ", "group\n", "prefix "};
        const uint64_t r = unit_rand(&random);
        if (kind == 0)
            add(data, words[r % 5], strlen(words[r % 5]));
        else
            add_byte(data, kind == 1 ? r & 0xff : kind == 2 ? 0 : (r & 3) + (r >> 60));
        data->len = data->len < n ? data->len : n;
    }
    ++*state;
    return true;
}

#endif
