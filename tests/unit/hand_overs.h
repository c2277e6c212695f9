/*
 * hand_overs.h - counts how often inflate/raw.c has zlib go on inside a block
 *
 * For a test that is compiled, inflate/raw.c with it, with -DinflatePrime=test_prime.
 */
#ifndef GZLZSS_HAND_OVERS_H
#define GZLZSS_HAND_OVERS_H

#include <zlib.h>

/* Where ISA-L is the back end, it takes bits back from zlib when it has zlib go on inside a
 * block. */
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
