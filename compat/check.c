/*
 * check.c - the check values of the formats that contain DEFLATE data (check.h)
 *
 * As in crc.c, ISA-L computes the Adler-32 where it can be loaded.  Otherwise zlib does, which
 * takes several times as long.
 */
#include "config.h"

#include "compat/check.h"

#include <zlib.h>

#include "compat/crc.h"

#ifdef HAVE_ISAL
#include "base/isal.h"
#endif

enum gz_check gz_check_of(enum container container)
{
    return container == CONTAINER_ZLIB  ? GZ_CHECK_ADLER32
           : container == CONTAINER_RAW ? GZ_CHECK_NONE
                                        : GZ_CHECK_CRC32;
}

uint32_t gz_check_start(enum gz_check check)
{
    return check == GZ_CHECK_ADLER32 ? 1 : 0;
}

/* Returns the Adler-32 of A followed by p[0..len); `value` is the Adler-32 of A. */
static uint32_t adler(uint32_t value, const uint8_t *p, size_t len)
{
    /* zlib's length is an unsigned int, which cannot hold 4 GiB or more. */
    const uInt step = 1u << 30;

#ifdef HAVE_ISAL
    const struct isal *isal = len > ISAL_SMALL ? isal_for(len) : NULL;
    if (isal != NULL && isal->adler32 != NULL)
        return isal->adler32(value, p, len);
#endif
    for (; len > step; p += step, len -= step)
        value = (uint32_t)adler32(value, p, step);
    /* Without bytes, p may be NULL.  zlib would then return the initial value. */
    return len > 0 ? (uint32_t)adler32(value, p, (uInt)len) : value;
}

uint32_t gz_check_more(enum gz_check check, uint32_t value, const void *buf, size_t len)
{
    switch (check) {
    case GZ_CHECK_CRC32:
        return gz_crc32(value, buf, len);
    case GZ_CHECK_ADLER32:
        return adler(value, buf, len);
    case GZ_CHECK_NONE:
        break;
    }
    return 0;
}

uint32_t gz_check_combine(enum gz_check check, uint32_t a, uint32_t b, uint64_t len_b)
{
    /* zlib's z_off_t may have only 32 bits.  The Adler-32 depends only on the length modulo
     * 65521. */
    const uint32_t adler_modulus = 65521;

    switch (check) {
    case GZ_CHECK_CRC32:
        return gz_crc32_combine(a, b, len_b);
    case GZ_CHECK_ADLER32:
        return (uint32_t)adler32_combine(a, b, (z_off_t)(len_b % adler_modulus));
    case GZ_CHECK_NONE:
        break;
    }
    return 0;
}
