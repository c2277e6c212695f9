/*
 * compression.h - the state of a job that is compressed, from its opening to its closing
 */
#ifndef GZLZSS_COMPRESSION_H
#define GZLZSS_COMPRESSION_H

#include "pipeline/compress/ahead.h"
#include "pipeline/compress/flush.h"
#include "pipeline/compress/source.h"
#include "pipeline/crew/state.h"

/* Pushed segments that may wait, in addition to one segment for each worker that claims.  With a
 * lower number, a worker that needs its next segment may find none waiting. */
#define PUSH_SPARE 2

/* The state of a job whose output is read back.  Only read_back.c uses it. */
struct read_back {
    uint64_t in, out; /* bytes of input and output up to the end of the segment put last */
    bool has_last;    /* the segment put last is the job's last */
    uint32_t sum;     /* what share_of gave for all segments verified so far, by exclusive or */
    /* With pieces: window[0..window_len) are the bytes before the next piece to verify.  NULL: the
     * segments are no pieces, and can be verified in any order. */
    uint8_t *window;
    size_t window_len;
    bool is_busy; /* a thread verifies a piece */
};

struct compression {
    struct source source;

    struct ahead_list ahead; /* segments that wait in memory */
    struct flush flush;      /* the state of a pushed input that is flushed */
    /* Two samples of how much was claimed, to measure a pipe's speed.  The speed is measured since
     * claimed[0].  When claimed[1] is older than POLICY_PIPE_SECONDS, it becomes claimed[0], and a
     * new sample becomes claimed[1]. */
    struct pace claimed[2];

    uint64_t written; /* segments written so far; only the writer changes it */
    /* The check value of the input up to the end of the last segment written; only the writer
     * changes it. */
    uint32_t check;
    struct read_back read_back;
    uint8_t *end; /* room for the bytes after the data (gz_write_end); NULL if there are none */
};

/* The functions by which jobs.c opens, cancels and closes a job that is compressed. */
extern const struct direction compression;

#endif
