/*
 * stream.h - functions of streams that other files of the library call
 */
#ifndef GZLZSS_LIB_STREAM_H
#define GZLZSS_LIB_STREAM_H

#include <stdbool.h>

#include "base/wake.h"
#include "lib/object.h"

/* Sets the wake that ends the caller's waits, or takes it away if `wake` is NULL.  The stream calls
 * wake_call when the stream is cancelled.  After stream_polls has returned true, the stream also
 * calls wake_call once, when there is output or the stream has ended. */
void stream_set_wake(gzlzss_stream *s, const struct wake *wake);

/* Tells the stream that the caller is about to wait for its input.  Returns false if the caller
 * must not wait, because the stream has something to do. */
bool stream_polls(gzlzss_stream *s);

/* Makes sure that `progress` gets no numbers smaller than `in` and `out`.  Call this before the
 * first input. */
void stream_set_told(gzlzss_stream *s, uint64_t in, uint64_t out);

/* Returns the stream's operation. */
const struct operation *stream_operation(const gzlzss_stream *s);

#endif
