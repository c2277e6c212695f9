/*
 * compression.h - what the compression of a job needs while the job is open
 */
#ifndef GZLZSS_COMPRESSION_H
#define GZLZSS_COMPRESSION_H

#include "pipeline/compress/ahead.h"
#include "pipeline/compress/source.h"
#include "pipeline/crew/state.h"

/* Places for pushed segments, beside one for each worker that claims. */
#define PUSH_SPARE 2

struct compression {
    struct source source;

    struct ahead_list ahead; /* segments that wait in memory */
    /* What was claimed more than POLICY_PIPE_SECONDS ago, if the job is so old; and since then. */
    struct pace claimed[2];

    uint64_t written; /* segments; the writer's, */
    uint32_t crc;     /* like the CRC of these, and the sums of bytes in the job's stats */
};

/* How jobs that are compressed open, are cancelled and close. */
extern const struct direction compression;

#endif
