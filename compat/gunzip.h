/*
 * gunzip.h - decompression of all that GNU gunzip reads: gzip, compress, pack, lzh and zip
 *
 * A stream is one or more members back to back.  After a member, zero bytes to the end are padding
 * and are ignored (tapes pad so); anything else that does not start a member is trailing garbage,
 * which is reported but does not make the data wrong.  This is what GNU gzip 1.12 does, with its
 * corners: one lone byte that is not zero is not garbage but a truncated member (gz_info.lone_byte
 * tells whether it can be); a member after padding is garbage; an empty input is truncated.
 *
 * After a member in gzip's or pack's format, members of any format but zip may follow.  A member in
 * another format is the last: compress's data ends where the input ends; what follows lzh's data,
 * or a zip file's first entry, is ignored, but for whether there is another entry.
 */
#ifndef GZLZSS_COMPAT_GUNZIP_H
#define GZLZSS_COMPAT_GUNZIP_H

#include "compat/io.h"
#include "compat/status.h"

/*
 * In steps, for a caller that has to know what there is before it opens an output:
 *
 *     struct gz_stream *s = gz_open(&io, &info);       NULL if memory is short
 *     status = gz_read_header(s);                           reads, but never writes
 *     ... if GZ_OK, open the output, which may be called info.name ...
 *     status = gz_run(s);
 *     gz_close(s);
 *
 * gz_read_header() finds all that GNU gzip finds before it opens its output: whether this is a
 * format it knows, and what is wrong with a gzip or a zip header.  A header of another format is
 * judged by gz_run(), but for the magic number.  With io->copy_unknown nothing is GZ_NOT_GZIP.
 *
 * gz_run() does the rest, and gz_read_header() first if it has not been called; after a
 * gz_read_header() that failed it says the same again.  Data is written as it is decoded, before
 * its CRC is known, and up to where an error was found: the caller throws it away on an error.
 * After the end or an error, read is not called again, unless something was decoded ahead.
 *
 * *io is copied, *info is not, and must stay until gz_close().  The functions leave errno as read
 * or write set it.  Takes about 0.6 MB of memory, and 1.0 MB more for compress's format.  With io->ahead,
 * what gzip's format needs is taken by gz_open: it comes before what those take who decode ahead.
 */
struct gz_stream *gz_open(const struct gz_io *io, struct gz_info *info);

/* As gz_close and gz_open, with the same memory.  False if more is needed and memory is short: then the
 * stream is still what it was. */
bool gz_reopen(struct gz_stream *s, const struct gz_io *io, struct gz_info *info);

enum gz_status gz_read_header(struct gz_stream *s);
enum gz_status gz_run(struct gz_stream *s);
void gz_close(struct gz_stream *s); /* s may be NULL */

/* All of that at once. */
enum gz_status gz_decompress(const struct gz_io *io, struct gz_info *info);

#endif
