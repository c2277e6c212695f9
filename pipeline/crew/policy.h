/*
 * policy.h - decides what is worth a GPU, which engine matches what, and how segments are split
 *
 * These functions are pure: they go from what is known and was measured to a decision.  Their
 * caller fills in struct policy_facts (facts.c).  tests/unit/test_policy.c has numbers on both
 * sides of every rule: when you change a rule, change its numbers there.
 *
 * Sizes are bytes of input, times are seconds, and rates are bytes a second.
 */
#ifndef GZLZSS_POLICY_H
#define GZLZSS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What finds matches.  AUTO: the CPU, and a GPU beside it where that is worth it.  CPU: the CPU
 * alone.  GPU: a GPU, and the CPU only for segments that the GPU got wrong, or for all segments
 * once the GPU has failed. */
enum backend { BACKEND_AUTO, BACKEND_CPU, BACKEND_GPU };

/* An amount of work: bytes, and the seconds that one thread took for them. */
struct policy_work {
    double bytes, seconds;
};

/* What is known when a decision is made. */
struct policy_facts {
    /* Constant for a pipeline: */
    enum backend backend;
    int threads; /* the most workers */
    /* A core's rate of matching, assumed until it is measured (struct lz_level). */
    double core_guess;
    bool is_slow;        /* a core takes most of a second for a segment of the default size */
    bool in_parts;       /* several workers can match one segment */
    size_t segment_size; /* bytes of the largest possible segment */

    /* Measured so far, summed over all threads: */
    struct policy_work match; /* matching by the CPU */
    struct policy_work encode, read, write;
    double gpu_rate; /* rate of all GPUs together, lately; 0: not known yet */

    /* The work to do: */
    uint64_t left; /* bytes that are certain to come and not claimed */
    /* `left`, and an estimate for announced files, whose sizes are not known yet. */
    uint64_t expected;
    uint64_t longest; /* bytes of the largest input among these; 0: not known */
    bool is_on_gpu;   /* the input is in GPU memory */
    bool is_pipe;     /* the input's size is not known: it is a pipe, or pushed */
    uint64_t given;   /* bytes that the pipe has given so far */

    /* What is at work now: */
    bool gpu_is_coming; /* a GPU is being brought up */
    int feeding;        /* GPU batches in use; 0: no GPU is in use */
    int matching;       /* workers that match a segment */
    bool reads_ahead;   /* a worker reads ahead of a pipe */
};

/* Seconds that one thread takes to match `bytes` bytes: by the measured rate once a segment's bytes
 * were matched, before that by core_guess. */
double policy_match_seconds(const struct policy_facts *f, double bytes);

/* The least size of an input that is worth bringing up a GPU.  `longest` as in policy_facts. */
uint64_t policy_gpu_min(const struct policy_facts *f, uint64_t longest);

/* Whether files of a known size are worth bringing up a GPU.  `least` bytes or more always are.
 * Fewer bytes are if the measured rates show that a GPU saves more time than it takes to come
 * up. */
bool policy_files_want_gpu(const struct policy_facts *f, uint64_t least);

/* Whether a pipe is worth bringing up a GPU; it may go on for ever, or end now.  `bytes` of it were
 * claimed in the last `seconds`.  A GPU is wanted only if the cores were busy with these for
 * `share` of that time.  Otherwise the other end of the pipe is the slow one: then *keeps_up
 * becomes true. */
bool policy_pipe_wants_gpu(const struct policy_facts *f, uint64_t least, double bytes,
                           double seconds, double share, bool *keeps_up);

/* How many GPUs `bytes` bytes are worth, 1 to `most`: the first, and one more for each `further`
 * bytes.  `further` 0: `most`. */
int policy_gpus(uint64_t bytes, uint64_t further, int most);

/* Whether a worker may match the next segment, in place of leaving it to the GPUs. */
bool policy_cpu_may_match(const struct policy_facts *f);

/* Whether several workers should match one segment of `len` bytes.  `others` segments are known to
 * be left, and `claimers` workers may claim segments. */
bool policy_may_split(const struct policy_facts *f, size_t len, uint64_t others, int claimers);

/* How many chunks a worker should take now from a split segment: half of its fair share of the
 * `left` chunks, 1 or more, that no worker has taken.  is_owner: the worker is the segment's owner,
 * not a helper.  `others` more workers may come. */
unsigned policy_part(unsigned left, unsigned others, bool is_owner);

/* The fewest chunks worth waking a helper for.  With fewer, the owner is done before the helper has
 * started. */
#define POLICY_PART_MIN 2

/* Seconds that a GPU takes to come up.  It must save at least this much.  A lower number brings
 * up GPUs for smaller inputs; measure gzlzss on both sides of the new threshold before you
 * change it. */
#define POLICY_GPU_SECONDS 0.28

/* The same if the process uses a GPU already: the driver is initialized, and a context exists. */
#define POLICY_GPU_IN_USE_SECONDS 0.1

/* The speed of a pipe is measured over this many seconds.  With more, a GPU comes later; with
 * fewer, a short pause of the other end decides. */
#ifndef POLICY_PIPE_SECONDS
#define POLICY_PIPE_SECONDS 1.0
#endif

/* The cores must be busy for this share of that time, else a GPU would only wait for the pipe,
 * too. */
#define POLICY_PIPE_SHARE 0.75

/* Another GPU is brought up for each 8 GiB of input. */
#define POLICY_FURTHER_GPU ((uint64_t)8 << 30)

#endif
