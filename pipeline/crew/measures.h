/*
 * measures.h - counts work and measures its speed, for the policy and for -vv
 */
#ifndef GZLZSS_MEASURES_H
#define GZLZSS_MEASURES_H

#include "pipeline/crew/state.h"

/* Counts a job whose input was opened. */
void measure_job(struct pipeline *p);

/* Notes that GPUs are wanted for `bytes` bytes.  Only the first call counts. */
void measure_wanted(struct pipeline *p, uint64_t bytes);

/* Counts `bytes` bytes that a thread read in `seconds` seconds. */
void measure_read(struct pipeline *p, double bytes, double seconds);

/* Counts `bytes` bytes of input whose output a thread wrote in `seconds` seconds. */
void measure_written(struct pipeline *p, double bytes, double seconds);

/* Counts a segment of `bytes` bytes that a thread encoded in `seconds` seconds.  by_gpu says
 * whether a GPU had matched the segment. */
void measure_encoded(struct pipeline *p, double bytes, double seconds, bool by_gpu);

/* Counts `bytes` bytes that the CPU matched; `seconds` is the time of all threads together. */
void measure_matched(struct pipeline *p, double bytes, double seconds);

/* Notes that a batch of `bytes` bytes has come back from a GPU now. */
void measure_batch(struct pipeline *p, uint64_t bytes);

/* Starts to measure the GPUs' rate again, without the batches so far. */
void measures_forget_pace(struct pipeline *p);

/* Copies the totals so far to *totals. */
void measures_totals(const struct pipeline *p, struct pipeline_totals *totals);

/* Sets the policy's facts about speed: match, encode, read, write and gpu_rate.  `feeders` is the
 * number of feeders. */
void measures_tell(const struct pipeline *p, int feeders, struct policy_facts *f);

#endif
