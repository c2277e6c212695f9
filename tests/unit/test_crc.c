/*
 * test_crc.c - CRC-32 has known values and equals a bit-by-bit computation; two CRCs can be joined
 */
#include "config.h"

#include "compat/crc.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <string.h>

/* Computes a CRC one bit at a time, by RFC 1952, section 8.  This is slow, but so short that it is
 * easy to check. */
static uint32_t crc_by_bits(uint32_t crc, const uint8_t *p, size_t len)
{
    crc = ~crc;
    while (len-- > 0) {
        crc ^= *p++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}

static void fill(uint8_t *p, size_t len, uint64_t seed)
{
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)unit_rand(&seed);
}

static void known_values(void)
{
    static const struct {
        const char *text;
        uint32_t crc;
    } known[] = {
        {"", 0},
        {"a", 0xe8b7be43},
        {"abc", 0x352441c2},
        {"123456789", 0xcbf43926}, /* the check value of CRC catalogues */
        {"The quick brown fox jumps over the lazy dog", 0x414fa339},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK_EQ(gz_crc32(0, known[i].text, strlen(known[i].text)), known[i].crc);

    static const uint8_t zeros[32];
    CHECK_EQ(gz_crc32(0, zeros, 1), 0xd202ef8d);
    CHECK_EQ(gz_crc32(0, zeros, sizeof zeros), 0x190a55ad);
}

static void no_bytes(void)
{
    CHECK_EQ(gz_crc32(0, NULL, 0), 0);
    CHECK_EQ(gz_crc32(0x12345678, NULL, 0), 0x12345678);
    CHECK_EQ(gz_crc32(0x12345678, "x", 0), 0x12345678);
}

/* Tests every length and alignment around the library's vector widths. */
static void by_bits(void)
{
    uint8_t buf[1200];
    fill(buf, sizeof buf, 1);
    for (size_t start = 0; start < 17; start++)
        for (size_t len = 0; len <= 1100; len += len < 300 ? 1 : 37)
            if (!CHECK_EQ(gz_crc32((uint32_t)start * 99, buf + start, len),
                          crc_by_bits((uint32_t)start * 99, buf + start, len)))
                return;
}

static void continued(void)
{
    uint8_t buf[5000];
    uint64_t seed = 2;
    fill(buf, sizeof buf, 3);
    const uint32_t whole = gz_crc32(0, buf, sizeof buf);
    for (int i = 0; i < 500; i++) {
        size_t cut = unit_below(&seed, sizeof buf + 1);
        CHECK_EQ(gz_crc32(gz_crc32(0, buf, cut), buf + cut, sizeof buf - cut), whole);
    }
}

static void combine_splits(void)
{
    uint8_t buf[5000];
    uint64_t seed = 4;
    fill(buf, sizeof buf, 5);
    for (int i = 0; i < 2000; i++) {
        size_t len = unit_below(&seed, sizeof buf + 1);
        size_t cut = i % 4 == 0 ? 0 : i % 4 == 1 ? len : unit_below(&seed, len + 1);
        uint32_t a = gz_crc32(0, buf, cut), b = gz_crc32(0, buf + cut, len - cut);
        CHECK_EQ(gz_crc32_combine(a, b, len - cut), gz_crc32(0, buf, len));
    }
    CHECK_EQ(gz_crc32_combine(0, 0, 0), 0);
}

/* Returns the CRC of n zero bytes.  For large n, it joins CRCs of two equal halves. */
static uint32_t crc_of_zeros(uint64_t n)
{
    static const uint8_t zero;
    uint32_t crc = 0, power = gz_crc32(0, &zero, 1);
    for (int bit = 0; bit < 64; bit++) {
        if ((n >> bit & 1) != 0)
            crc = gz_crc32_combine(crc, power, (uint64_t)1 << bit);
        power = gz_crc32_combine(power, power, (uint64_t)1 << bit);
    }
    return crc;
}

/* Tests lengths that do not fit in 31, 32 or 63 bits. */
static void combine_long(void)
{
    /* The CRCs that GNU gzip writes for 1 MiB, 1 GiB and 5 GiB of zeros. */
    CHECK_EQ(crc_of_zeros((uint64_t)1 << 20), 0xa738ea1c);
    CHECK_EQ(crc_of_zeros((uint64_t)1 << 30), 0x5b64c2b0);
    CHECK_EQ(crc_of_zeros((uint64_t)5 << 30), 0x193838c3);

    /* Joining is associative: (A B) C = A (B C), with any lengths of B and C. */
    uint64_t seed = 6;
    for (int i = 0; i < 2000; i++) {
        uint32_t a = (uint32_t)unit_rand(&seed), b = (uint32_t)unit_rand(&seed);
        uint32_t c = (uint32_t)unit_rand(&seed);
        uint64_t len_b = unit_rand(&seed) >> (1 + unit_below(&seed, 63));
        uint64_t len_c = unit_rand(&seed) >> (1 + unit_below(&seed, 63));
        CHECK_EQ(gz_crc32_combine(gz_crc32_combine(a, b, len_b), c, len_c),
                 gz_crc32_combine(a, gz_crc32_combine(b, c, len_c), len_b + len_c));
    }
}

/* Whether ISA-L was loaded at run time. */
static bool is_isal_loaded(void)
{
#if defined(HAVE_ISAL) && defined(ISAL_SONAME)
    void *library = dlopen(ISAL_SONAME, RTLD_LAZY | RTLD_NOLOAD);

    if (library != NULL)
        dlclose(library);
    return library != NULL;
#else
    return false;
#endif
}

/* ISA-L is loaded once many small CRCs were computed, if it is installed. */
static void many_small(void)
{
    static const uint8_t bytes[2000];

    for (unsigned i = 0; i < 140; i++)
        gz_crc32(0, bytes, sizeof(bytes));
#if defined(HAVE_ISAL) && defined(ISAL_SONAME)
    CHECK(is_isal_loaded() || dlopen(ISAL_SONAME, RTLD_LAZY) == NULL);
#endif
}

int main(void)
{
    RUN(known_values);
    RUN(no_bytes);
    RUN(by_bits);
    /* Until here, a build that loads ISA-L at run time has used zlib's CRC, and it uses zlib's for
     * a part of the next calls. */
    CHECK(!is_isal_loaded());
    RUN(continued);
    RUN(many_small);
    RUN(combine_splits);
    RUN(combine_long);
    gz_crc32_prepare(UINT64_MAX);
    RUN(by_bits);
    RUN(continued);
    return unit_done();
}
