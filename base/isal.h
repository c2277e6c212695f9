/*
 * isal.h - ISA-L, loaded when there is enough for it to do
 *
 * The system loads what a program is linked with before main().  For ISA-L that takes 70 us, a
 * tenth of the time that the command takes for a file of 1 KB.  So the command and the library are
 * not linked with ISA-L, unless configure was told to (--with-isal=linked), but load it when it is
 * worth that time.  Where ISA-L is not installed, zlib does all of its work, with the same output.
 *
 * Decompression by zlib 1.2.13 takes 2.1 to 2.9 times the processor time of ISA-L 2.30: one thread
 * on a Xeon, 327 MB of documentation, headers and Python sources and 564 MB of headers and sources,
 * compressed by gzlzss -6 and by gzip -6.  The command's message says 2.5 times.
 */
#ifndef GZLZSS_ISAL_H
#define GZLZSS_ISAL_H

/* Says why zlib decompresses in place of ISA-L.  NULL if ISA-L decompresses; it is loaded then.
 * Whether ISA-L's inflate is right is known once inf_open has made a decoder.  Any thread may
 * ask. */
const char *isal_why_not(void);

#ifdef HAVE_ISAL

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <stdint.h>

/* The functions that ISA-L has under these names. */
struct isal {
    __typeof__(&crc32_gzip_refl) crc32_gzip_refl;
    __typeof__(&isal_inflate_init) inflate_init;
    __typeof__(&isal_inflate) inflate;
};

/* Returns ISA-L, and loads it first if need be.  NULL if it cannot be loaded; this is tried only
 * once.  Any thread may ask. */
const struct isal *isal_open(void);

/* Whether ISA-L's inflate does what inflate/raw.c expects. */
enum isal_verdict { ISAL_UNKNOWN, ISAL_RIGHT, ISAL_WRONG };

/* isal_open for a caller that inflates.  Also NULL unless ISA-L's inflate is ISAL_RIGHT.  As long
 * as that is unknown, calls `try` to find out. */
const struct isal *isal_open_inflate(enum isal_verdict (*try)(const struct isal *isal, void *ctx),
                                     void *ctx);

/* The same, but never calls `try`: NULL as long as the verdict is unknown. */
const struct isal *isal_if_tried(void);

/* Returns ISA-L if it is loaded, or if a CRC of `bytes` bytes is worth loading it; else NULL.  Any
 * thread may ask. */
const struct isal *isal_for(uint64_t bytes);

#endif

#endif
