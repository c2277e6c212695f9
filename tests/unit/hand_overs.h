/*
 * hand_overs.h - counts how often inflate/raw.c switches from ISA-L to zlib inside a block
 *
 * The test and inflate/raw.c must be compiled with -DinflatePrime=test_prime.
 */
#ifndef GZLZSS_HAND_OVERS_H
#define GZLZSS_HAND_OVERS_H

#include <zlib.h>

/* When inflate/raw.c lets zlib go on inside a block that ISA-L began, it calls inflatePrime with a
 * negative number, to drop bits.  No other code does that. */
static unsigned long hand_overs;

#undef inflatePrime
int inflatePrime(z_streamp z, int bits, int value);
int test_prime(z_streamp z, int bits, int value);

int test_prime(z_streamp z, int bits, int value)
{
    hand_overs += bits < 0;
    return inflatePrime(z, bits, value);
}

#endif
