/*
 * stream.h - what other files of the library need from streams
 */
#ifndef GZLZSS_LIB_STREAM_H
#define GZLZSS_LIB_STREAM_H

#include <stdbool.h>

#include "base/wake.h"
#include "lib/object.h"

/* The stream calls wake_call when it is cancelled, and once after stream_polls has returned true:
 * when there is output, or the stream has ended.  NULL: it calls it no more. */
void stream_set_wake(gzlzss_stream *s, const struct wake *wake);

/* Says that the caller waits for its input from now on.  False: do not wait; the stream has
 * something to do. */
bool stream_polls(gzlzss_stream *s);

/* Makes `progress` get no smaller numbers than these; called before the first input is given. */
void stream_set_told(gzlzss_stream *s, uint64_t in, uint64_t out);

/* The stream's operation. */
const struct operation *stream_operation(const gzlzss_stream *s);

#endif
