/*
 * names.h - the names of compressed files: which suffixes there are, and what becomes of them
 */
#ifndef GZLZSS_NAMES_H
#define GZLZSS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_SUFFIX_DEFAULT ".gz"
#define NAMES_SUFFIX_MAX 30 /* bytes of a suffix given by the user, as in gzip */

/* Where in `name` the suffix of a compressed file starts: `own`, which the user may have chosen, or
 * one of those that gunzip knows; in upper or lower case.  `own` goes first, unless it is the tail
 * of a known one, as "gz" is: then the known ones go first.  NULL if the name has no suffix, or is
 * nothing but a suffix. */
const char *names_suffix(const char *name, const char *own);

/* What to append to a name that does not exist and is to be decompressed: the i-th suffix to try,
 * from 0; NULL after the last. */
const char *names_guess(int i, const char *own);

/* first[0..length) followed by second; NULL if memory is short; to be freed. */
char *names_join(const char *first, size_t length, const char *second);

/* The name of what `name` decompresses to; `suffix` is what names_suffix found in it.  NULL if
 * memory is short; to be freed. */
char *names_decompressed(const char *name, const char *suffix);

/* The last component: all after the last slash, which may be nothing. */
const char *names_base(const char *name);

/*
 * Makes a name that is too long for the file system shorter, as gzip does.  With `own`, the name is
 * a compressed file's: its suffix stays, and a byte goes from the last of the parts between dots
 * that has more than three bytes, or more than two, or one, or else all from the last dot on.  But
 * ".tar" and the suffix become ".tgz".  With NULL, the last byte goes.  Returns false if nothing is
 * left.
 */
bool names_shorten(char *name, const char *own);

/* A number that is the same for two names in a directory if one might be the output of the other,
 * or both might have the same output: suffixes, letter case, and a ".tar" do not count.  `base` has
 * no directory.  `own` has to start with a dot and have no other: "f." and "gz" make an "f.gz" that
 * has another number than "f.". */
uint64_t names_hash(const char *base, const char *own);

#endif
