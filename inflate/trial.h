/*
 * trial.h - data by which a decoder is tried before it is relied on
 *
 * inflate/raw.c drives ISA-L by fields of its state, and any library of the right name is loaded.  One that
 * does not decode as raw.c expects is found out by this, and zlib does the work.
 */
#ifndef GZLZSS_INFLATE_TRIAL_H
#define GZLZSS_INFLATE_TRIAL_H

#include <stdint.h>

enum {
    INF_TRIAL_LEN = 291,
    INF_TRIAL_CALLS = 4,
    INF_TRIAL_MADE = 35008, /* bytes that the data decodes to, */
};
#define INF_TRIAL_CRC UINT32_C(0x8617df49) /* and their CRC */

/* Raw DEFLATE. */
extern const uint8_t inf_trial_data[INF_TRIAL_LEN];

/* What each call is to get: input and room for output, counted from the start. */
struct inf_trial_call {
    uint16_t in, out;
};
extern const struct inf_trial_call inf_trial_calls[INF_TRIAL_CALLS];

#endif
