/*
 * bytes.h - writes the little-endian numbers of headers and trailers
 */
#ifndef GZLZSS_COMPAT_BYTES_H
#define GZLZSS_COMPAT_BYTES_H

#include <stdint.h>

/* These functions write a number of 16, 32 or 64 bits to `to`, lowest byte first, and return the
 * address after the number. */
static inline uint8_t *gz_put_u16(uint8_t *to, unsigned value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    return to + 2;
}

static inline uint8_t *gz_put_u32(uint8_t *to, uint32_t value)
{
    return gz_put_u16(gz_put_u16(to, value & 0xffff), value >> 16);
}

static inline uint8_t *gz_put_u64(uint8_t *to, uint64_t value)
{
    return gz_put_u32(gz_put_u32(to, (uint32_t)value), (uint32_t)(value >> 32));
}

#endif
