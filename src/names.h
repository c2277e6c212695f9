/*
 * names.h - the names of compressed files: their suffixes, and the names of outputs
 */
#ifndef GZLZSS_NAMES_H
#define GZLZSS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_SUFFIX_DEFAULT ".gz"
#define NAMES_SUFFIX_MAX 30 /* most bytes of a suffix given by the user, as in gzip */

/* Returns where the suffix of a compressed file starts in `name`: the user's suffix `own`, or one
 * that gzip knows; in upper or lower case.  `own` is tried first, unless it is the end of a known
 * suffix, as "gz" is: then the known ones are tried first.  NULL if the name has no suffix, or is
 * only a suffix. */
const char *names_suffix(const char *name, const char *own);

/* The i-th suffix, from 0, to try at the end of a name that does not exist, for decompression; NULL
 * after the last. */
const char *names_guess(int i, const char *own);

/* Returns first[0..length) followed by `second`, for the caller to free.  NULL if memory is
 * short. */
char *names_join(const char *first, size_t length, const char *second);

/* Returns the name that `name` decompresses to, for the caller to free.  `suffix` is what
 * names_suffix found in it.  NULL if memory is short. */
char *names_decompressed(const char *name, const char *suffix);

/* Returns the last component of a name: all after the last slash, which may be nothing. */
const char *names_base(const char *name);

/*
 * Shortens a name that is too long for the file system, by one step, as gzip does.  False if
 * nothing is left.
 *
 * With `own`, the name is a compressed file's, and its suffix stays.  If ".tar" comes before the
 * suffix, both become ".tgz".  Otherwise one byte is taken from the last of the parts between dots
 * that has more than three bytes; if no part has, more than two; or else more than one.  If all
 * parts have one byte, everything from the last dot before the suffix on is taken away.
 *
 * With NULL, the last byte is taken away.
 */
bool names_shorten(char *name, const char *own);

/* Returns a hash that is equal for two names in a directory if one may be the output of the other,
 * or both may have the same output: suffixes, letter case and ".tar" do not count.  `base` has no
 * directory.  `own` must start with a dot and have no other dot: with the suffix "gz", "f." becomes
 * "f.gz", and these two have different hashes. */
uint64_t names_hash(const char *base, const char *own);

#endif
