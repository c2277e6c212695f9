/*
 * whole.h - decompresses a small input in memory in one go, if nothing is odd about it
 */
#ifndef GZLZSS_COMPAT_WHOLE_H
#define GZLZSS_COMPAT_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/container.h"
#include "inflate/whole.h"

/*
 * Decompresses in[0..len) to out[0..room), and sets *made to the bytes of output.  Returns true if
 * the output fits, and the input has nothing but good data with the right check values.  The input
 * must be one stream if `container` is CONTAINER_ZLIB or CONTAINER_RAW, else one or more members of
 * gzip.
 *
 * Otherwise returns false; out[0..room) then has undefined contents.  The caller must decompress
 * the input again by compat/gunzip.h, which knows more formats and finds out what is wrong.
 */
bool gz_whole(struct inf_whole *w, enum container container, const uint8_t *in, size_t len,
              uint8_t *out, size_t room, size_t *made);

#endif
