/*
 * test_skip.c - bytes that were written before a GPU failed are not written again, but they count
 * for the check value, and are compared (struct gz_skip)
 *
 * The file that writes decoded runs is included, because it alone knows write_bytes.
 */
#include "config.h"

#include "pipeline/expand/in_order.c"

#include "compat/crc.h"
#include "tests/unit/unit.h"

#define LEN ((size_t)1000)

static uint8_t bytes[LEN], written[LEN];
static size_t written_len;

static int keep(void *ctx, const void *from, size_t len)
{
    (void)ctx;
    if (written_len + len > LEN)
        abort();
    memcpy(written + written_len, from, len);
    written_len += len;
    return 0;
}

/* Writes the bytes in parts, of which the first `skip` bytes were written before, and had the CRC
 * `crc`.  Returns the place at the end. */
static struct gz_place write_parts(size_t part, size_t skip, uint32_t crc)
{
    struct gz_place place = {.skip = {.left = skip, .crc = crc}};
    struct expansion e = {.place = &place, .write = keep, .check = GZ_CHECK_CRC32};

    written_len = 0;
    for (size_t at = 0; at < LEN; at += part) {
        const size_t n = LEN - at < part ? LEN - at : part;

        CHECK(write_bytes(&e, bytes + at, n, gz_crc32(0, bytes + at, n)));
    }
    return place;
}

/* Tests parts that end before, at and after the last skipped byte. */
static void test_parts_of_runs(void)
{
    static const size_t parts[] = {1, 7, 100, 499, 500, 501, 999, LEN};
    static const size_t skips[] = {0, 1, 99, 100, 101, 500, 999, LEN};

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        for (size_t k = 0; k < sizeof(skips) / sizeof(*skips); k++) {
            const size_t skip = skips[k];
            const uint32_t crc = gz_crc32(0, bytes, skip);
            struct gz_place place = write_parts(parts[i], skip, crc);

            CHECK_EQ(place.check, gz_crc32(0, bytes, LEN));
            CHECK_EQ(place.skip.left, 0);
            CHECK(!place.skip.is_wrong);
            CHECK(written_len == LEN - skip && memcmp(written, bytes + skip, LEN - skip) == 0);
            /* The bytes that were written before were others. */
            place = write_parts(parts[i], skip, crc ^ 1);
            CHECK_EQ(place.skip.is_wrong, skip > 0);
        }
}

int main(void)
{
    uint64_t state = 1;

    for (size_t i = 0; i < LEN; i++)
        bytes[i] = (uint8_t)unit_rand(&state);
    RUN(test_parts_of_runs);
    return unit_done();
}
