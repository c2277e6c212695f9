/*
 * isal.h - loads ISA-L when there is enough work for it
 *
 * A program's libraries are loaded before main().  For ISA-L that takes 70 us, a tenth of the time
 * that the command takes for a file of 1 KB.  So the command and the library are not linked with
 * ISA-L (unless configure was given --with-isal=linked).  They load ISA-L at run time, once there
 * is so much work that loading it saves time.  Where ISA-L is not installed, zlib does all the
 * work, with the same output.
 *
 * Decompression by zlib 1.2.13 takes 2.1 to 2.9 times the processor time of ISA-L 2.30.  This was
 * measured with one thread on a Xeon, for 327 MB of documentation, headers and Python sources and
 * for 564 MB of headers and sources, compressed by gzlzss -6 and by gzip -6.  If ISA-L is not used,
 * the command prints a message, which gives the factor as 2.5.
 */
#ifndef GZLZSS_ISAL_H
#define GZLZSS_ISAL_H

/* Returns the reason why zlib decompresses instead of ISA-L; NULL if ISA-L decompresses.  Loads
 * ISA-L to find out.  A wrong inflate in ISA-L is a reason, too, but it is known only after
 * inf_open has made a decoder for an input that is not small, because only this call of inf_open
 * tests ISA-L's inflate.  Any thread may call this. */
const char *isal_why_not(void);

#ifdef HAVE_ISAL

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <stdint.h>

/* zlib computes the check value of up to this many bytes, even if ISA-L is loaded.  ISA-L's first
 * call asks the processor what it can do, and in a virtual machine that takes longer than zlib
 * takes for these bytes. */
#define ISAL_SMALL 1024

/* Pointers to ISA-L's functions crc32_gzip_refl, isal_adler32, isal_inflate_init and
 * isal_inflate.  adler32 is NULL if this ISA-L does not have it. */
struct isal {
    __typeof__(&crc32_gzip_refl) crc32_gzip_refl;
    __typeof__(&isal_adler32) adler32;
    __typeof__(&isal_inflate_init) inflate_init;
    __typeof__(&isal_inflate) inflate;
};

/* Returns ISA-L, and loads it first if necessary.  Returns NULL if it cannot be loaded; loading is
 * tried only once.  Any thread may call this. */
const struct isal *isal_open(void);

/* Bytes of the text that isal_version writes. */
#define ISAL_VERSION_SIZE 128

/* Writes ISA-L's versions: the name of the loaded file, which ends in a version, and the version of
 * the headers with which this program was built.  Call this only if isal_open returns ISA-L. */
void isal_version(char text[ISAL_VERSION_SIZE]);

/* Whether ISA-L's inflate does what inflate/raw.c expects. */
enum isal_verdict { ISAL_UNKNOWN, ISAL_RIGHT, ISAL_WRONG };

/* Like isal_open, for a caller that inflates: returns ISA-L only if its inflate is ISAL_RIGHT, else
 * NULL.  If it is not known yet whether the inflate is right, calls `try` to find out. */
const struct isal *isal_open_inflate(enum isal_verdict (*try)(const struct isal *isal, void *ctx),
                                     void *ctx);

/* Like isal_open_inflate, but never calls `try`.  Returns NULL while it is not known whether
 * ISA-L's inflate is right. */
const struct isal *isal_if_tried(void);

/* Returns ISA-L if it is loaded already, or if CRCs of `bytes` bytes, or of so many bytes in all
 * calls of the process, are worth loading it; else NULL.  Any thread may call this. */
const struct isal *isal_for(uint64_t bytes);

#endif

#endif
