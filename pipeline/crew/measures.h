/*
 * measures.h - what was done, and how fast: numbers for the policy, and for -vv
 */
#ifndef GZLZSS_MEASURES_H
#define GZLZSS_MEASURES_H

#include "pipeline/crew/state.h"

/* A job's input was opened. */
void measure_job(struct pipeline *p);

/* GPUs are wanted, for so many bytes.  Only the first call counts. */
void measure_wanted(struct pipeline *p, uint64_t bytes);

/* A thread read or wrote so many bytes in so many seconds. */
void measure_read(struct pipeline *p, double bytes, double seconds);
void measure_written(struct pipeline *p, double bytes, double seconds);

/* A segment was encoded, which the CPU matched, or a GPU. */
void measure_encoded(struct pipeline *p, double bytes, double seconds, bool by_gpu);

/* The CPU matched so many bytes, in so many seconds of all threads together. */
void measure_matched(struct pipeline *p, double bytes, double seconds);

/* A GPU brought back a batch of so many bytes. */
void measure_batch(struct pipeline *p, uint64_t bytes);

/* The rate of the GPUs is measured anew. */
void measures_forget_pace(struct pipeline *p);

/* Copies what was done so far. */
void measures_totals(const struct pipeline *p, struct pipeline_totals *totals);

/* Sets what the policy is told of this; `feeders` is how many there are. */
void measures_tell(const struct pipeline *p, int feeders, struct policy_facts *f);

#endif
