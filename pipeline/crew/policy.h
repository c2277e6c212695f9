/*
 * policy.h - decides when to use GPUs, whether CPU or GPU matches a segment, and how to split
 * segments
 *
 * These functions are pure: they compute a decision from known facts and measured numbers.  Their
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

/* The engine that finds matches.  AUTO: the CPU, and also a GPU if that is worth it.  CPU: the CPU
 * alone.  GPU: a GPU; the CPU matches only segments that the GPU got wrong, or all segments once
 * the GPU has failed. */
enum backend { BACKEND_AUTO, BACKEND_CPU, BACKEND_GPU };

/* An amount of work: bytes, and the seconds that one thread took for them. */
struct policy_work {
    double bytes, seconds;
};

/* The facts from which a decision is made. */
struct policy_facts {
    /* These facts never change in a pipeline: */
    enum backend backend;
    int threads; /* the most workers */
    /* The rate at which a core is assumed to match until the rate is measured (struct lz_level). */
    double core_guess;
    bool is_slow;        /* a core takes most of a second for a segment of the default size */
    bool in_parts;       /* several workers can match one segment */
    size_t segment_size; /* bytes of the largest possible segment */

    /* These facts were measured so far, summed over all threads: */
    struct policy_work match; /* matching by the CPU */
    struct policy_work encode, read, write;
    double gpu_rate; /* rate of all GPUs together, lately; 0: not known yet */

    /* The work to do: */
    uint64_t left; /* bytes that are certain to come and are not claimed yet */
    /* `left`, plus an estimate for announced files whose sizes are not known yet. */
    uint64_t expected;
    uint64_t longest; /* bytes of the largest input to do; 0: not known */
    bool is_on_gpu;   /* the input is in GPU memory: a core has to fetch what it matches */
    bool uses_gpu;    /* the input or the output is in GPU memory: a CUDA context exists */
    uint64_t earlier; /* bytes of finished jobs for which uses_gpu was true */
    bool is_pipe;     /* the input's size is not known: it is a pipe, or pushed */
    uint64_t given;   /* bytes that the pipe has given so far */

    /* The work that is being done now: */
    bool gpu_is_coming; /* a GPU is being brought up */
    int feeding;        /* GPU batches in use; 0: no GPU is in use */
    int matching;       /* workers that match a segment */
    bool reads_ahead;   /* a worker reads ahead of a pipe */
};

/* Seconds that one thread takes to match `bytes` bytes.  Uses core_guess until a whole segment's
 * bytes were matched, then the measured rate. */
double policy_match_seconds(const struct policy_facts *f, double bytes);

/* The fewest bytes of input that are worth bringing up a GPU.  `longest` is as in policy_facts. */
uint64_t policy_gpu_min(const struct policy_facts *f, uint64_t longest);

/* Whether files of a known size are worth bringing up a GPU.  With BACKEND_GPU, or if at least
 * `least` bytes are expected, they always are.  Fewer bytes are worth it if, by the measured rates,
 * a GPU saves more time than it takes to come up. */
bool policy_files_want_gpu(const struct policy_facts *f, uint64_t least);

/* Whether later jobs are likely to be worth a GPU, so that one should come up beside this job, even
 * if this job alone is not worth it.  A program that has compressed `least` bytes of GPU memory is
 * assumed to compress as many again.  If that is wrong, the time lost is at most the time that the
 * cores took for the bytes so far. */
bool policy_later_want_gpu(const struct policy_facts *f, uint64_t least);

/* The fewest bytes of input for which a GPU that is up already is used.  `batch_size` is the bytes
 * of a full batch. */
uint64_t policy_gpu_up_min(const struct policy_facts *f, uint64_t batch_size);

/* Whether a pipe is worth bringing up a GPU.  A pipe may go on for ever or end now, so two
 * conditions must hold:
 *
 * - The pipe is likely to give `least` bytes in all.
 * - For `share` of the last `seconds`, the cores were busy with the pipe's bytes.  `bytes` bytes of
 *   the pipe were claimed in that time.
 *
 * If only the second condition fails, the other end of the pipe is slower than the CPU.  Then
 * *keeps_up becomes true. */
bool policy_pipe_wants_gpu(const struct policy_facts *f, uint64_t least, double bytes,
                           double seconds, double share, bool *keeps_up);

/* The number of GPUs to use for `bytes` bytes, 1 to `most`: one GPU, and one more for each
 * `further` bytes.  If `further` is 0, returns `most`. */
int policy_gpus(uint64_t bytes, uint64_t further, int most);

/* Whether a worker may match the next segment instead of leaving it to the GPUs. */
bool policy_cpu_may_match(const struct policy_facts *f);

/* Whether several workers should match one segment of `len` bytes.  `others` is the number of
 * segments known to be left, and `claimers` the number of workers that may claim segments. */
bool policy_may_split(const struct policy_facts *f, size_t len, uint64_t others, int claimers);

/* The number of chunks that a worker should take next from a split segment: about half of its fair
 * share.  `left` is the number of chunks that no worker has taken, 1 or more.  `others` is the
 * number of workers that may still join.  is_owner says whether the worker is the segment's owner
 * or a helper. */
unsigned policy_part(unsigned left, unsigned others, bool is_owner);

/* The fewest chunks worth waking a helper for.  With fewer, the owner is done before the helper has
 * started. */
#define POLICY_PART_MIN 2

/* Seconds that a GPU takes to come up.  A GPU is brought up only if it saves at least this time.  A
 * lower number brings up GPUs for smaller inputs; measure gzlzss on both sides of the new threshold
 * before you change it. */
#define POLICY_GPU_SECONDS 0.28

/* Seconds that a GPU takes to come up if the process already uses a GPU, so that the driver is
 * initialized and a context exists.  Measured: 15 ms until the first result. */
#define POLICY_GPU_IN_USE_SECONDS 0.02

/* The speed of a pipe is measured over this many seconds.  With more, a GPU comes later; with
 * fewer, a short pause of the other end decides. */
#ifndef POLICY_PIPE_SECONDS
#define POLICY_PIPE_SECONDS 1.0
#endif

/* A pipe gets a GPU only if the cores were busy for this share of POLICY_PIPE_SECONDS.  Otherwise a
 * GPU would wait for the pipe, as the cores do. */
#define POLICY_PIPE_SHARE 0.75

/* Another GPU is brought up for each 8 GiB of input. */
#define POLICY_FURTHER_GPU ((uint64_t)8 << 30)

#endif
