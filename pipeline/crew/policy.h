/*
 * policy.h - what is worth a GPU, who matches what, and how segments are shared out
 *
 * These are pure functions: from what is known and was measured, to a decision.  Who asks fills in
 * struct policy_facts.  tests/unit/test_policy.c has numbers for both sides of every rule.
 *
 * Sizes are bytes of input, times are seconds, and rates are bytes a second.
 */
#ifndef GZLZSS_POLICY_H
#define GZLZSS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What finds matches: the CPU, with a GPU beside it where that is worth it; the CPU alone; a GPU
 * alone, but for segments that it gets wrong, or all after it has failed. */
enum backend { BACKEND_AUTO, BACKEND_CPU, BACKEND_GPU };

/* Bytes, and the seconds that they took one thread. */
struct policy_work {
    double bytes, seconds;
};

/* What is known when something is to be decided. */
struct policy_facts {
    /* The same for the whole run: */
    enum backend backend;
    int threads;         /* workers that there may be */
    double core_guess;   /* a core's rate of matching before any was measured (struct lz_level) */
    bool is_slow;        /* a core takes most of a second for a segment of the default size */
    bool in_parts;       /* several workers can match one segment */
    size_t segment_size; /* the largest that a segment can be */

    /* What was measured, by all threads together: */
    struct policy_work match; /* by the CPU */
    struct policy_work encode, read, write;
    double gpu_rate; /* of all GPUs, lately; 0: not known yet */

    /* What is to be done: */
    uint64_t left;     /* that nobody has claimed and is certain to come */
    uint64_t expected; /* the same, with a guess at files that are known by their number alone */
    uint64_t longest;  /* the largest of the inputs that these are from; 0: it is not known */
    bool is_on_gpu;    /* it is in a GPU's memory */
    bool is_pipe;      /* how much the input has is not known; it has given, so far, */
    uint64_t given;    /* so much */

    /* Who is at work: */
    bool gpu_is_coming; /* one is being brought up */
    int feeding;        /* GPU batches that are in use; 0: no GPU is */
    int matching;       /* workers that match a segment */
    bool reads_ahead;   /* one reads ahead */
};

/* Seconds that one thread takes to match so many bytes: by what was measured, once that is a
 * segment's bytes, or else the guess. */
double policy_match_seconds(const struct policy_facts *f, double bytes);

/* The size from which on an input is worth bringing up a GPU.  `longest` as in policy_facts. */
uint64_t policy_gpu_min(const struct policy_facts *f, uint64_t longest);

/* Whether files of a known size are worth bringing up a GPU; `least` is the size from which on they
 * are by that alone. */
bool policy_files_want_gpu(const struct policy_facts *f, uint64_t least);

/* Whether a pipe, which may go on for ever or end now, is worth bringing up a GPU.  `bytes` of
 * it were claimed in the last `seconds`.  The cores must have been busy with these for the given
 * share of that time: otherwise the other end of the pipe is what takes long, *keeps_up becomes
 * true, and no GPU is wanted. */
bool policy_pipe_wants_gpu(const struct policy_facts *f, uint64_t least, double bytes,
                           double seconds, double share, bool *keeps_up);

/* How many GPUs so many bytes are worth; `further` bytes for each but the first. */
int policy_gpus(uint64_t bytes, uint64_t further, int most);

/* Whether a worker may match the next segment, rather than leave it to the GPUs. */
bool policy_cpu_may_match(const struct policy_facts *f);

/* Whether several workers are to match one segment of `len` bytes where `others` segments are known
 * to be left; `claimers` workers may claim any. */
bool policy_may_split(const struct policy_facts *f, size_t len, uint64_t others, int claimers);

/* How many chunks of a segment a worker takes now: half of its fair share of the `left` chunks,
 * 1 or more, that nobody has taken.  The worker is the segment's owner or a helper; `others`
 * more may come. */
unsigned policy_part(unsigned left, unsigned others, bool is_owner);

/* The fewest chunks that somebody else is called for. */
#define POLICY_PART_MIN 2

/* Seconds that a GPU takes to come up: what it must save at least. */
#define POLICY_GPU_SECONDS 0.28

/* The same where the process uses a GPU already: its driver is initialized, and there is a context. */
#define POLICY_GPU_IN_USE_SECONDS 0.1

/* Seconds over which the speed of a pipe is measured. */
#ifndef POLICY_PIPE_SECONDS
#define POLICY_PIPE_SECONDS 1.0
#endif

/* The share of these in which the cores must be busy. */
#define POLICY_PIPE_SHARE 0.75

/* Bytes for which a further GPU is brought up. */
#define POLICY_FURTHER_GPU ((uint64_t)8 << 30)

#endif
