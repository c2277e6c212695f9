/*
 * hand_overs.h - counts how often inflate/raw.c lets zlib go on inside a block
 *
 * For a test that is compiled, with inflate/raw.c, with -DinflatePrime=test_prime.
 */
#ifndef GZLZSS_HAND_OVERS_H
#define GZLZSS_HAND_OVERS_H

#include <zlib.h>

/* With ISA-L as the back end, inflate/raw.c takes bits back from zlib when it lets zlib go on
 * inside a block: it calls inflatePrime with a negative number. */
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
