/*
 * stream.h - what fd.c needs of streams
 */
#ifndef GZLZSS_LIB_STREAM_H
#define GZLZSS_LIB_STREAM_H

#include <stdbool.h>

#include "lib/object.h"

/* A byte is written to the descriptor `wake` when the stream is cancelled, and once, after
 * stream_polls has returned true, when there is output, or it has ended.  -1: no more. */
void stream_set_wake(gzlzss_stream *s, int wake);

/* False: there is something already. */
bool stream_polls(gzlzss_stream *s);

const struct operation *stream_operation(const gzlzss_stream *s);

#endif
