/*
 * deflate.h - decodes DEFLATE from and to the buffers of compat/stream.h
 */
#ifndef GZLZSS_COMPAT_DEFLATE_H
#define GZLZSS_COMPAT_DEFLATE_H

#include <stdint.h>

#include "compat/stream.h"

/* Decodes raw DEFLATE from the reading position to the data's end.  Sets *check and *len to the
 * check value (compat/check.h) and the length of the decoded data; after an error, this is the data
 * before the error. */
enum gz_status gz_read_deflate(struct gz_stream *s, uint32_t *check, uint64_t *len);

/* Frees the decoder that gz_read_deflate keeps in s for its next call. */
void gz_free_deflate(struct gz_stream *s);

#endif
