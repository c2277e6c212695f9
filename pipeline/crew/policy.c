/*
 * policy.c - decisions from measured numbers (policy.h)
 */
#include "config.h"

#include "lzss/lzss.h"
#include "pipeline/crew/policy.h"

/* In so many seconds, a GPU comes up and brings back a first batch, even at the slow levels. */
#define GPU_BATCH_SECONDS (2 * POLICY_GPU_SECONDS)

/* A pipe is thought to hold so many times what it has given. */
#define PIPE_HOPE 4

/* One core in so many is left alone while a GPU is brought up. */
#define OPENING_SHARE 8

/* GPUs that are so many times as fast as all workers are left to it.  (At first they seem half as
 * fast as they are, as what they matched waits for cores to finish segments of their own.) */
#define GPU_IS_FASTER 2

/* That share of the workers' time counts as all of it. */
#define BUSY 0.9

/* A segment is matched by several workers if it would take one so many seconds: to start others
 * takes some of them. */
#define SPLIT_SECONDS 0.005

/* Others take so many chunks of it at a time at most.  They have to index the chunk before these
 * first: that costs a tenth of what it takes to match one at level 6, and half at level 1. */
#define PART_MAX 8

/* Seconds of matching, by each worker on average, after which what they took counts. */
#define STEADY_SECONDS 0.03

/* Seconds for each byte, 0 if nothing was measured. */
static double per_byte(struct policy_work w)
{
    return w.bytes > 0 ? w.seconds / w.bytes : 0;
}

/* Whether enough was matched to go by.  What a few small files took says more about waiting for a
 * core than about matching. */
static bool is_measured(const struct policy_facts *f)
{
    return f->match.bytes >= (double)f->segment_size;
}

/* Whether so much was matched that it can be known whether a GPU pays.  A worker's first files take
 * several times as long as those after them: the system brings its memory.  (With less to go by, 4
 * threads wanted a GPU for 20,000 files of 4 KB, and took 0.73 s in place of 0.57.) */
static bool is_steady(const struct policy_facts *f)
{
    return f->match.seconds >= STEADY_SECONDS * f->threads;
}

double policy_match_seconds(const struct policy_facts *f, double bytes)
{
    return bytes * (is_measured(f) ? per_byte(f->match) : 1 / f->core_guess);
}

/* How long a GPU takes to come up. */
static double gpu_seconds(const struct policy_facts *f)
{
    return f->is_on_gpu ? POLICY_GPU_IN_USE_SECONDS : POLICY_GPU_SECONDS;
}

uint64_t policy_gpu_min(const struct policy_facts *f, uint64_t longest)
{
    const uint64_t bytes = (uint64_t)(gpu_seconds(f) * f->threads * f->core_guess);

    /* However many cores there are, they take as long as one of them does for a segment.  Where
     * that is longer than it takes a GPU to bring back a batch, one segment is enough. */
    return longest > f->segment_size && f->segment_size < bytes &&
                   (double)f->segment_size / f->core_guess > GPU_BATCH_SECONDS
               ? f->segment_size
               : bytes;
}

/* How much sooner so many bytes would be done if a GPU were brought up now, at most, by what was
 * measured: the matching of what is left when it is up.  0 if too little was measured.  (Of small
 * files, matching is the lesser part.) */
static double gpu_saves(const struct policy_facts *f, double bytes)
{
    const double match = bytes * per_byte(f->match) / f->threads;
    const double all = match + bytes * per_byte(f->encode) / f->threads;

    return is_steady(f) && all > gpu_seconds(f) ? match * (1 - gpu_seconds(f) / all) : 0;
}

bool policy_files_want_gpu(const struct policy_facts *f, uint64_t least)
{
    return f->backend == BACKEND_GPU || f->expected >= least ||
           gpu_saves(f, (double)f->expected) > gpu_seconds(f);
}

bool policy_pipe_wants_gpu(const struct policy_facts *f, uint64_t least, double bytes,
                           double seconds, double share, bool *keeps_up)
{
    const double busy = (policy_match_seconds(f, bytes) + bytes * per_byte(f->encode)) / f->threads;
    const bool is_bottleneck = busy >= share * seconds;

    if (f->backend == BACKEND_GPU)
        return true;
    if (PIPE_HOPE * f->given < least)
        return false;
    *keeps_up = !is_bottleneck;
    return is_bottleneck;
}

int policy_gpus(uint64_t bytes, uint64_t further, int most)
{
    const uint64_t count = further == 0 ? (uint64_t)most : 1 + bytes / further;

    return count < (uint64_t)most ? (int)count : most;
}

/* How long a core takes for a segment of the longest input; of a pipe, that is a whole one. */
static double longest_segment(const struct policy_facts *f)
{
    const bool is_short = !f->is_pipe && f->longest > 0 && f->longest < f->segment_size;

    return policy_match_seconds(f, (double)(is_short ? f->longest : f->segment_size));
}

/* Whether a core may take longer for a segment than a GPU does to come up and bring back many. */
static bool segments_take_long(const struct policy_facts *f)
{
    return f->is_slow && (f->longest == 0 || longest_segment(f) > GPU_BATCH_SECONDS);
}

/*
 * A worker may not match a segment where that would cost more than it gains:
 *
 * - where the GPUs are at least twice as fast as all workers together;
 * - where what the GPUs match keeps all cores busy with encoding, reading and writing (part of that
 *   may be waiting; but then matching more would only mean waiting more);
 * - where the GPUs would be done with all that is left before the worker is done with one segment:
 *   in the end everyone would wait for that segment.  At the slow levels this is so for most
 *   inputs of more than a segment, and even while a GPU is brought up;
 * - on all cores at once while a GPU is brought up: that takes a core, and slows the others down if
 *   none is free.  Reading ahead takes a core, too.
 */
bool policy_cpu_may_match(const struct policy_facts *f)
{
    const double handling = per_byte(f->read) + per_byte(f->encode) + per_byte(f->write);

    if (f->feeding == 0 && !f->gpu_is_coming)
        return true;
    if (f->backend == BACKEND_GPU)
        return false;
    if (f->feeding == 0)
        return !segments_take_long(f) &&
               f->matching + f->reads_ahead < f->threads - f->threads / OPENING_SHARE;
    /* Soon to be known, and likely to be high. */
    if (f->gpu_rate == 0)
        return false;
    if (policy_match_seconds(f, f->gpu_rate) > GPU_IS_FASTER * f->threads)
        return false;
    if (f->gpu_rate * handling > BUSY * f->threads)
        return false;
    /* How much is left of a pipe is not known: a lot. */
    return f->is_pipe || (double)f->left > f->gpu_rate * longest_segment(f);
}

bool policy_may_split(const struct policy_facts *f, size_t len, uint64_t others, int claimers)
{
    /* Of files, few are left only at the end; of a pipe, which one reads at a time, at any time.
     * Beside a GPU, workers that wait do so for a reason. */
    return f->in_parts && f->threads > 1 && f->feeding == 0 && !f->gpu_is_coming &&
           (double)len / f->core_guess >= SPLIT_SECONDS &&
           (f->threads > claimers || others < (uint64_t)f->threads);
}

/* Half of a worker's share, so that all end at about the same time. */
unsigned policy_part(unsigned left, unsigned others, bool is_owner)
{
    const unsigned share = left / (2 * (others + 1)), least = is_owner ? 1 : POLICY_PART_MIN;
    const unsigned part = share < least ? least : share > PART_MAX ? PART_MAX : share;

    return part < left ? part : left;
}
