/*
 * decompress.h - what decompression of memory, descriptors and streams shares
 */
#ifndef GZLZSS_LIB_DECOMPRESS_H
#define GZLZSS_LIB_DECOMPRESS_H

#include "compat/status.h"
#include "lib/object.h"

/* What came of a decompression, unless its `read` or `write` says more; error_number is of these. */
gzlzss_status decompress_judge(const struct operation *o, enum gz_status status, int error_number);

#endif
