/*
 * version.h - prints the version, and what is built in and found on this machine
 */
#ifndef GZLZSS_VERSION_H
#define GZLZSS_VERSION_H

/* Prints what --version prints.  Starts no GPU, since that could take a second. */
void version_print(void);

#endif
