/*
 * isal.h - ISA-L, opened when there is enough for it to do
 *
 * Whatever a process is linked with is loaded before main(); ISA-L takes 70 us of it, and a tenth of
 * the time that compressing 1 KB takes.  So neither the command nor the library is linked with ISA-L,
 * unless configure was told so (--with-isal=linked): the first who has enough work opens it.  Where it
 * is not installed, zlib does all of its work, and the output is the same.
 */
#ifndef GZLZSS_ISAL_H
#define GZLZSS_ISAL_H

#ifdef HAVE_ISAL

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <stddef.h>

/* ISA-L's functions of these names. */
struct isal {
    __typeof__(&crc32_gzip_refl) crc32_gzip_refl;
    __typeof__(&isal_inflate_init) inflate_init;
    __typeof__(&isal_inflate) inflate;
};

/* ISA-L, opened if it is not open; NULL if it is not on this machine.  Any thread may ask. */
const struct isal *isal_open(void);

/* ISA-L if it is open, or if `len` bytes, with those of the calls before, are worth opening it for; else
 * NULL.  Any thread may ask. */
const struct isal *isal_for(size_t len);

#endif

#endif
