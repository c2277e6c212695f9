/*
 * test_bytes.c - loads, stores and match lengths, whose code differs from processor to processor
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "tests/unit/unit.h"

/* MOST: the longest comparison, in bytes.  BEYOND: the number of bytes after a comparison's end
 * that the comparison may read. */
#define MOST 70
#define BEYOND 15

static uint8_t a[16 + MOST + BEYOND], b[16 + MOST + BEYOND];

static void loads_and_stores(void)
{
    for (unsigned i = 0; i < sizeof(a); i++)
        a[i] = (uint8_t)(0xf1 + i);
    for (unsigned at = 0; at < 16; at++) {
        uint64_t value = 0;

        for (unsigned i = 8; i-- > 0;)
            value = value << 8 | a[at + i];
        CHECK_EQ(load64(a + at), value);
        CHECK_EQ(load32(a + at), (uint32_t)value);
        store64(b + at, value);
        CHECK(memcmp(a + at, b + at, 8) == 0);
    }
}

/* Tests comparisons at all addresses, with the first difference in any bit of any byte.  Bytes
 * after the end do not count. */
static void lengths(void)
{
    uint64_t random = 1;

    for (size_t max = 0; max <= MOST; max++) {
        for (size_t known = 0; known <= max; known++) {
            for (size_t first = known; first <= max + BEYOND - 1; first++) {
                const uint64_t r = unit_rand(&random);
                const size_t at = r % 16, other = r / 16 % 16;

                memset(a, (int)(r >> 16 & 0xff), sizeof(a));
                memset(b, (int)(r >> 16 & 0xff), sizeof(b));
                b[other + first] ^= (uint8_t)(1 << (r >> 24 & 7));
                /* Differences after the first one must not matter. */
                for (size_t i = first + 1; i < max + BEYOND; i++)
                    b[other + i] ^= (uint8_t)(unit_rand(&random) & 1);
                if (!CHECK_EQ(match_length(a + at, b + other, known, max),
                              first < max ? first : max))
                    return;
            }
        }
    }
}

int main(void)
{
    RUN(loads_and_stores);
    RUN(lengths);
    return unit_done();
}
