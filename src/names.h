/*
 * names.h - the names of compressed files: their suffixes, and the names of outputs
 */
#ifndef GZLZSS_NAMES_H
#define GZLZSS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_SUFFIX_DEFAULT ".gz"
#define NAMES_SUFFIX_ZLIB ".zz" /* pigz's suffix */
#define NAMES_SUFFIX_RAW ".deflate"
#define NAMES_SUFFIX_ZIP ".zip"
#define NAMES_SUFFIX_MAX 30 /* most bytes of a suffix given by the user, as in gzip */

/* Returns where the suffix of a compressed file starts in `name`.  The suffix is the user's, `own`,
 * or one that gzip knows, in upper or lower case.  If `own` is the end of a known suffix, as "gz"
 * is the end of ".gz", tries the known suffixes first.  Otherwise, tries `own` first.  NULL if the
 * name has no suffix, or is only a suffix. */
const char *names_suffix(const char *name, const char *own);

/* Does what names_suffix does, for a file to decompress: also knows ".zz", the suffix of zlib's
 * format. */
const char *names_packed_suffix(const char *name, const char *own);

/* Whether a name ends in ".zz", in any letter case. */
bool names_are_zlib(const char *name);

/* If a file to decompress does not exist, there may be a file that has the same name with a
 * suffix.  Returns the i-th suffix to try, counted from 0; NULL after the last. */
const char *names_guess(int i, const char *own);

/* Returns first[0..length) followed by `second`, for the caller to free.  NULL if memory is
 * short. */
char *names_join(const char *first, size_t length, const char *second);

/* Returns the text that replaces the suffix when a compressed file is decompressed: ".tar" or an
 * empty string. */
const char *names_replacement(const char *suffix);

/* Returns the last component of a name, that is, the text after the last slash.  This text may be
 * empty. */
const char *names_base(const char *name);

/*
 * Shortens a name that is too long for the file system, by one step, as gzip does.  False if the
 * name cannot be made shorter.
 *
 * With `own`, the name is a compressed file's, and its suffix stays.  If ".tar" comes before the
 * suffix, both become ".tgz".  Otherwise, dots divide the name into parts, and one part loses one
 * byte.  That part is the last one of more than three bytes.  If no part has more than three bytes,
 * it is the last one of more than two bytes.  If no part has more than two bytes, it is the last
 * one of more than one byte.  If all parts have one byte, the last part and its dot are removed.
 *
 * With `own` NULL, the last byte is removed.
 */
bool names_shorten(char *name, const char *own);

/* Returns a hash of the name `base`, which has no directory.  Suffixes, ".tar" and letter case do
 * not change the hash.  So two files in a directory have the same hash if one may be the output of
 * the other, or if both may have the same output.  This holds only if the user's suffix `own`
 * starts with a dot and has no other dot.  For example, with the suffix "gz", the output of "f."
 * is "f.gz", which has another hash. */
uint64_t names_hash(const char *base, const char *own);

#endif
