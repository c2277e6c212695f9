/*
 * trial.h - data on which a decoder is tried before it is used
 *
 * inflate/raw.c loads any library with ISA-L's name, and reads and sets fields of its state.  This
 * data shows whether the library decodes as raw.c expects; if not, zlib does the work.
 */
#ifndef GZLZSS_INFLATE_TRIAL_H
#define GZLZSS_INFLATE_TRIAL_H

#include <stdint.h>

enum {
    INF_TRIAL_LEN = 291,    /* bytes of the data */
    INF_TRIAL_CALLS = 4,    /* calls in which the data is decoded */
    INF_TRIAL_MADE = 35008, /* bytes that the data decodes to */
};

/* The CRC of the decoded bytes. */
#define INF_TRIAL_CRC UINT32_C(0x8617df49)

/* The data: raw DEFLATE. */
extern const uint8_t inf_trial_data[INF_TRIAL_LEN];

/* For each call: where its input ends, in bytes from the start of the data, and where its room for
 * output ends, in bytes from the start of all output. */
struct inf_trial_call {
    uint16_t in, out;
};
extern const struct inf_trial_call inf_trial_calls[INF_TRIAL_CALLS];

#endif
