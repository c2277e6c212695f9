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
 * the input consists of nothing but good members of gzip, or good data in zlib's format or raw
 * DEFLATE, as `container` says, with the right check values, and the output fits.
 *
 * Otherwise returns false; out[0..room) then has undefined contents.  Decompress the input again
 * by compat/gunzip.h, which also knows other formats and finds out what is wrong.
 */
bool gz_whole(struct inf_whole *w, enum container container, const uint8_t *in, size_t len,
              uint8_t *out, size_t room, size_t *made);

#endif
