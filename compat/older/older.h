/*
 * older.h - the formats other than gzip's that GNU gunzip reads
 *
 * Each function starts at the reading position, after the magic number.  It stops at the end of its
 * data if the format marks that end, else at the end of the input.
 */
#ifndef GZLZSS_COMPAT_OLDER_OLDER_H
#define GZLZSS_COMPAT_OLDER_OLDER_H

#include "compat/stream.h"

enum gz_status gz_read_lzw(struct gz_stream *s);  /* unlzw.c: .Z of compress */
enum gz_status gz_read_pack(struct gz_stream *s); /* unpack.c: .z of pack */
enum gz_status gz_read_lzh(struct gz_stream *s);  /* unlzh.c: SCO's compress -H */

/* zip.c: the first entry of a zip file.  The first function parses the entry's header, after the
 * four bytes of the magic number; the second decodes the entry's data. */
enum gz_status gz_read_zip_header(struct gz_stream *s);
enum gz_status gz_read_zip(struct gz_stream *s);

#endif
