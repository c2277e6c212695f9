/*
 * isal.h - ISA-L, loaded when there is enough for it to do
 *
 * What a program is linked with is loaded before main(), and for ISA-L that takes 70 us, a tenth of the time
 * that 1 KB takes in all.  So neither the command nor the library is linked with it, unless configure was
 * told so (--with-isal=linked).  Where it is not installed, zlib does all of its work, and what comes out is
 * the same.
 *
 * Decompression by zlib 1.2.13 takes 2.1 to 2.9 times the processor time that it takes by ISA-L 2.30: one
 * thread on a Xeon, 327 MB of documentation, headers and Python sources and 564 MB of headers and sources,
 * compressed by gzlzss -6 and by gzip -6.  Users are told of 2.5 times.
 */
#ifndef GZLZSS_ISAL_H
#define GZLZSS_ISAL_H

/* Why zlib decompresses in ISA-L's place, in words; NULL if ISA-L does, which is loaded then.  What its inflate
 * does is known once there was a decoder (inf_open).  Any thread may ask. */
const char *isal_why_not(void);

#ifdef HAVE_ISAL

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <stdint.h>

/* ISA-L's functions of these names. */
struct isal {
    __typeof__(&crc32_gzip_refl) crc32_gzip_refl;
    __typeof__(&isal_inflate_init) inflate_init;
    __typeof__(&isal_inflate) inflate;
};

/* ISA-L, loaded if it is not yet; NULL if it cannot be, which is not tried again.  Any thread may ask. */
const struct isal *isal_open(void);

/* What is known of its inflate. */
enum isal_verdict { ISAL_UNKNOWN, ISAL_RIGHT, ISAL_WRONG };

/* isal_open, for one who inflates: NULL, too, if its inflate was found not to do what is expected of it.
 * `try` is to find out, the first time. */
const struct isal *isal_open_inflate(enum isal_verdict (*try)(const struct isal *isal, void *ctx),
                                     void *ctx);

/* That if it was found to do so before; else NULL. */
const struct isal *isal_if_tried(void);

/* ISA-L if it is loaded, or if the CRC of so many bytes is worth loading it; else NULL.  Any thread may
 * ask. */
const struct isal *isal_for(uint64_t bytes);

#endif

#endif
