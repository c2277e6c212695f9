/*
 * policy.c - decides from measured numbers (policy.h)
 */
#include "config.h"

#include "lzss/lzss.h"
#include "pipeline/crew/policy.h"

/* Seconds in which a GPU comes up and returns a first batch, even at the slow levels. */
#define GPU_BATCH_SECONDS (2 * POLICY_GPU_SECONDS)

/* A pipe is assumed to give, in all, 4 times what it has given so far. */
#define PIPE_HOPE 4

/* While a GPU is brought up, 1 of 8 cores does not match, since bringing up a GPU takes a core. */
#define OPENING_SHARE 8

/* If the GPUs are at least twice as fast as all workers, the GPUs match alone.  At first, the GPUs
 * seem half as fast as they are, because their batches wait until workers have finished their own
 * segments. */
#define GPU_IS_FASTER 2

/* Workers that are busy for this share of their time count as fully busy. */
#define BUSY 0.9

/* A segment is split if one worker would need at least 5 ms to match it.  Starting helpers takes
 * part of that time, so a lower number makes small inputs slower. */
#define SPLIT_SECONDS 0.005

/* The most chunks that a worker takes at a time.  Before a helper can match, it has to index the
 * chunk before its first one.  Indexing a chunk takes a tenth of the time of matching it at level
 * 6, and half of that time at level 1.  So a lower number wastes more time.  With a higher number,
 * the times at which the workers finish differ more. */
#define PART_MAX 8

/* Bytes a second that a core copies from GPU memory. */
#define FETCH_RATE 8e9

/* A GPU that is up returns a small batch after about LATENCY seconds, or after SLOW_LATENCY at the
 * slow levels.  If the input or the output is in GPU memory, the cores get the inputs that they
 * match in less time.  But inputs of MANY bytes or more go to the GPU, because the cores take about
 * as long to share such an input. */
#define LATENCY 0.002
#define SLOW_LATENCY 0.1
#define MANY 1000000

/* Rates are trusted once each worker, on average, has matched for 30 ms. */
#define STEADY_SECONDS 0.03

/* Returns seconds per byte; 0 if nothing was measured. */
static double per_byte(struct policy_work w)
{
    return w.bytes > 0 ? w.seconds / w.bytes : 0;
}

/* Whether enough was matched to use the measured rate.  While only a few small files were matched,
 * most of the measured time was spent waiting for a core. */
static bool is_measured(const struct policy_facts *f)
{
    return f->match.bytes >= (double)f->segment_size;
}

/* Whether enough was matched to know whether a GPU pays.  A worker's first files take several times
 * as long as later files, since the system first has to supply the worker's memory.  Without this
 * rule, 4 threads wanted a GPU for 20,000 files of 4 KB, and took 0.73 s instead of 0.57 s. */
static bool is_steady(const struct policy_facts *f)
{
    return f->match.seconds >= STEADY_SECONDS * f->threads;
}

double policy_match_seconds(const struct policy_facts *f, double bytes)
{
    return bytes * (is_measured(f) ? per_byte(f->match) : 1 / f->core_guess);
}

/* Seconds that a GPU takes to come up. */
static double gpu_seconds(const struct policy_facts *f)
{
    return f->uses_gpu ? POLICY_GPU_IN_USE_SECONDS : POLICY_GPU_SECONDS;
}

/* The rate at which a core is assumed to match, after it has fetched the bytes if they are in GPU
 * memory. */
static double core_rate(const struct policy_facts *f)
{
    return f->is_on_gpu ? 1 / (1 / f->core_guess + 1 / FETCH_RATE) : f->core_guess;
}

uint64_t policy_gpu_min(const struct policy_facts *f, uint64_t longest)
{
    const uint64_t bytes = (uint64_t)(gpu_seconds(f) * f->threads * core_rate(f));

    /* However many cores there are, an input takes at least the time in which one core matches a
     * segment.  If that time is longer than a GPU needs to come up and return a first batch, an
     * input of more than one segment is worth a GPU. */
    return longest > f->segment_size && f->segment_size < bytes &&
                   (double)f->segment_size / f->core_guess > GPU_BATCH_SECONDS
               ? f->segment_size
               : bytes;
}

/* Returns the most seconds that a GPU would save on `bytes` bytes if it were brought up now, by the
 * measured rates.  The GPU is assumed to do all of the remaining matching once it is up.  For small
 * files, matching is the lesser part of the work, so a GPU saves little.  Returns 0 if too little
 * was measured. */
static double gpu_saves(const struct policy_facts *f, double bytes)
{
    const double fetch = f->is_on_gpu ? per_byte(f->read) : 0;
    const double match = bytes * (per_byte(f->match) + fetch) / f->threads;
    const double all = match + bytes * per_byte(f->encode) / f->threads;

    return is_steady(f) && all > gpu_seconds(f) ? match * (1 - gpu_seconds(f) / all) : 0;
}

bool policy_files_want_gpu(const struct policy_facts *f, uint64_t least)
{
    return f->backend == BACKEND_GPU || f->expected >= least ||
           gpu_saves(f, (double)f->expected) > gpu_seconds(f);
}

bool policy_later_want_gpu(const struct policy_facts *f, uint64_t least)
{
    return f->uses_gpu && f->earlier + f->expected >= least;
}

uint64_t policy_gpu_up_min(const struct policy_facts *f, uint64_t batch_size)
{
    /* At the slow levels, one core matches a whole segment. */
    const double seconds = f->is_slow ? SLOW_LATENCY : LATENCY * f->threads;
    const uint64_t bytes = (uint64_t)(seconds * core_rate(f));
    const uint64_t least = bytes < MANY ? bytes : MANY;

    return f->uses_gpu && least < batch_size ? least : batch_size;
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

/* Returns the seconds that a core takes to match a segment of the longest input.  For a pipe, the
 * segment is assumed to be full. */
static double longest_segment(const struct policy_facts *f)
{
    const bool is_short = !f->is_pipe && f->longest > 0 && f->longest < f->segment_size;

    return policy_match_seconds(f, (double)(is_short ? f->longest : f->segment_size));
}

/* Whether a core may take longer for one segment than a GPU takes to come up and return a batch. */
static bool segments_take_long(const struct policy_facts *f)
{
    return f->is_slow && (f->longest == 0 || longest_segment(f) > GPU_BATCH_SECONDS);
}

/*
 * Whether a worker may match a segment.  With BACKEND_AUTO, it may not in these cases, in which
 * matching would cost more than it gains:
 *
 * - The GPUs are at least twice as fast as all workers together.
 * - The segments that the GPUs match already keep all cores busy with encoding, reading and
 *   writing.  Even if some of that time is spent waiting, more matching would only mean more
 *   waiting.
 * - The GPUs would be done with all that is left before the worker is done with one segment.  Then,
 *   in the end, everyone would wait for that segment.  At the slow levels, most inputs of more than
 *   one segment are such cases, even while a GPU is brought up.
 * - A GPU is being brought up, and this worker would leave no core free for that.  Bringing up a
 *   GPU takes a core, and takes longer if no core is free.  Reading ahead takes a core, too.
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
    /* While the GPUs' rate is not known, leave the segments to the GPUs.  The rate will be known
     * soon, and is likely to be high. */
    if (f->gpu_rate == 0)
        return false;
    if (policy_match_seconds(f, f->gpu_rate) > GPU_IS_FASTER * f->threads)
        return false;
    if (f->gpu_rate * handling > BUSY * f->threads)
        return false;
    /* Nobody knows how much is left of a pipe, so assume that it is a lot. */
    return f->is_pipe || (double)f->left > f->gpu_rate * longest_segment(f);
}

bool policy_may_split(const struct policy_facts *f, size_t len, uint64_t others, int claimers)
{
    /* Splitting pays when fewer segments are left than there are threads, as at the end of files.
     * With a pipe, which only one worker at a time reads, that may be the case at any time.  While
     * GPUs are in use or are being brought up, do not split, because the workers without work then
     * wait on purpose. */
    return f->in_parts && f->threads > 1 && f->feeding == 0 && !f->gpu_is_coming &&
           (double)len / f->core_guess >= SPLIT_SECONDS &&
           (f->threads > claimers || others < (uint64_t)f->threads);
}

/* A worker takes half of its share, so that all workers end at about the same time. */
unsigned policy_part(unsigned left, unsigned others, bool is_owner)
{
    const unsigned share = left / (2 * (others + 1)), least = is_owner ? 1 : POLICY_PART_MIN;
    const unsigned part = share < least ? least : share > PART_MAX ? PART_MAX : share;

    return part < left ? part : left;
}
