/*
 * crc.c - gzip's CRC-32 (RFC 1952, section 8), by ISA-L where it can be loaded, else by zlib
 *
 * Both libraries compute the same function; ISA-L folds with carry-less multiplication, which is
 * several times faster.  zlib joins two CRCs in either case.  The functions here take lengths of 64
 * bits, even where zlib's own functions take shorter numbers.
 */
#include "config.h"

#include "compat/crc.h"

#include <zlib.h>

#ifdef HAVE_ISAL
#include "base/isal.h"
#endif

uint32_t gz_crc32(uint32_t crc, const void *buf, size_t len)
{
    const uint8_t *p = buf;

    /* Without bytes, buf may be NULL.  zlib would then return the initial value. */
    if (len == 0)
        return crc;
#ifdef HAVE_ISAL
    const struct isal *isal = len > ISAL_SMALL ? isal_for(len) : NULL;
    if (isal != NULL)
        return isal->crc32_gzip_refl(crc, p, len);
#endif
    /* zlib's length is an unsigned int, which cannot hold 4 GiB or more. */
    const uInt step = 1u << 30;
    for (; len > step; p += step, len -= step)
        crc = (uint32_t)crc32(crc, p, step);
    return (uint32_t)crc32(crc, p, (uInt)len);
}

void gz_crc32_prepare(uint64_t bytes)
{
#ifdef HAVE_ISAL
    isal_for(bytes);
#else
    (void)bytes;
#endif
}

uint32_t gz_crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b)
{
    /* Appending a byte to A multiplies its CRC by x^8 modulo the CRC's polynomial.  That polynomial
     * is primitive, so x^(2^32-1) = 1, and lengths that are equal modulo 2^32-1 have the same
     * effect on the CRC.  The remaining length is applied in steps, because zlib's z_off_t may have
     * only 32 bits.  A step joins with a CRC of 0, which only multiplies. */
    const uint32_t step = 1u << 30;
    uint32_t len = (uint32_t)(len_b % UINT32_MAX);
    for (; len > step; len -= step)
        crc_a = (uint32_t)crc32_combine(crc_a, 0, (z_off_t)step);
    return len == 0 ? crc_a ^ crc_b : (uint32_t)crc32_combine(crc_a, crc_b, (z_off_t)len);
}
