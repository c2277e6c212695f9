/*
 * gunzip.h - decompresses all formats that GNU gunzip reads: gzip, compress, pack, lzh and zip
 *
 * A stream is one or more members back to back.  Zero bytes from a member's end to the end of the
 * input are padding, as on tapes, and are ignored.  Anything else that does not start a member is
 * trailing garbage, which is reported but does not make the data wrong.  GNU gzip 1.12 does the
 * same.  It also does the same in three odd cases: a single byte that is not zero is not garbage
 * but a truncated member (gz_info.lone_byte); a member after padding is garbage (unless
 * gz_io.skip_zeros is set); and an empty input is truncated.
 *
 * After a member in gzip's or pack's format, members of any format but zip may follow.  A member in
 * another format is the last one.  Data in compress's format extends to the end of the input.
 * Bytes after lzh's data are ignored.  Bytes after a zip file's first entry are ignored, too, but
 * another entry of a zip file is reported.
 */
#ifndef GZLZSS_COMPAT_GUNZIP_H
#define GZLZSS_COMPAT_GUNZIP_H

#include "compat/io.h"
#include "compat/status.h"

/*
 * Decompression in steps, for a caller that has to know the format and the name before it opens an
 * output:
 *
 *     struct gz_stream *s = gz_open(&io, &info);       NULL if memory is short
 *     status = gz_read_header(s);                           reads, but never writes
 *     ... if GZ_OK, open the output, which may be called info.name ...
 *     status = gz_run(s);
 *     gz_close(s);
 *
 * gz_read_header() finds all errors that GNU gzip finds before it opens its output: an unknown
 * format, and errors in a gzip or a zip header.  Of other formats it parses only the magic number,
 * and gz_run() judges the header.  With io->copy_unknown, it never returns GZ_NOT_GZIP.
 *
 * gz_run() does the rest.  It calls gz_read_header() if the caller has not done so.  If
 * gz_read_header() has failed, gz_run() returns the same error.  gz_run() writes data as it decodes
 * it, before the data's CRC is known, and up to the place where it finds an error.  So after an
 * error, the caller must throw the output away.  After the end or an error, gz_run() does not call
 * io->read again, unless other threads have decoded ahead (io->ahead).
 *
 * *io is copied.  *info is not copied, and must stay valid until gz_close().  The functions leave
 * errno as read or write has set it.  A stream takes about 0.6 MB of memory, and 1.0 MB more for
 * compress's format.  With io->ahead, gz_open takes all memory for gzip's format at once, before
 * threads that decode ahead take theirs.
 */
struct gz_stream *gz_open(const struct gz_io *io, struct gz_info *info);

/* Closes the stream and opens it again, as gz_close and gz_open do, but with the same memory.  If
 * the stream needs more memory, and memory is short, returns false and leaves the stream
 * unchanged. */
bool gz_reopen(struct gz_stream *s, const struct gz_io *io, struct gz_info *info);

enum gz_status gz_read_header(struct gz_stream *s);
enum gz_status gz_run(struct gz_stream *s);

/* Frees s, which may be NULL. */
void gz_close(struct gz_stream *s);

/* Opens a stream, decompresses it and closes it, in one call. */
enum gz_status gz_decompress(const struct gz_io *io, struct gz_info *info);

#endif
