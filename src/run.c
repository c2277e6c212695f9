/*
 * run.c - what all files of a run share (run.h)
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "base/isal.h"
#include "base/limits.h"
#include "compat/crc.h"
#include "src/report.h"
#include "src/run.h"

/* --- Limits --------------------------------------------------------------------------------- */

/* Do not look up the system's limits for a single file of up to this many bytes.  Such a file needs
 * little: a few MB of memory, 1 MB more for each thread that takes a part (of 64 KiB or more), and
 * less processor time than a CPU quota grants at once.  Looking up the limits takes 0.5 ms, a tenth
 * of the time for 2 MB at level 1. */
#define LIMITS_MIN ((off_t)2 << 20)

/* LIMITS_MIN at the slow levels, which need more memory. */
#define LIMITS_MIN_SLOW ((off_t)128 << 10)

#define MIB ((uint64_t)1 << 20)

/* If the other end of a pipe is closed, no more bytes will come, so the bytes in the pipe count as
 * its size. */
bool run_is_minor(const struct run *r, const struct file *f)
{
    const bool is_slow =
        r->o->action == ACTION_COMPRESS && pipeline_level(&r->config)->finder->is_slow;
    const off_t most = is_slow ? LIMITS_MIN_SLOW : LIMITS_MIN;
    struct pollfd p = {.fd = f->in_fd, .events = POLLIN};
    int ready;

    if (!options_name_one(r->o) || limits_mapped() != UINT64_MAX || r->o->memory > 0 ||
        r->o->memory_percent > 0)
        return false;
    if (S_ISFIFO(f->in_stat.st_mode))
        return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0 &&
               ioctl(f->in_fd, FIONREAD, &ready) == 0 && ready <= most;
    return S_ISREG(f->in_stat.st_mode) && f->in_stat.st_size <= most;
}

/* Makes malloc reserve less address space.  By default, malloc reserves 64 MiB for each thread. */
static void save_addresses(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

/* Decompressing a file takes 0.7 MB of memory.  By default, malloc returns this memory to the
 * system after each file, and gets it again, page by page, for the next file.  For a small file,
 * this takes a quarter of the time. */
void run_keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

/* How many descriptors to ask the system for: enough for a few thousand small files side by
 * side. */
#define DESCRIPTORS_WANTED 16384

/* Raises the limit on descriptors to DESCRIPTORS_WANTED, or as far as allowed, and returns it.
 * Systems usually set a limit of 1024 for the sake of programs that use select(), which this
 * program does not use. */
static long most_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return _POSIX_OPEN_MAX;
    if (limit.rlim_cur < DESCRIPTORS_WANTED && limit.rlim_cur < limit.rlim_max) {
        const struct rlimit raised = {limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max
                                                                          : DESCRIPTORS_WANTED,
                                      limit.rlim_max};

        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    return limit.rlim_cur < INT_MAX ? (long)limit.rlim_cur : INT_MAX;
}

/* Applies --memory to the system's limit. */
static void limit_memory(struct run *r)
{
    const struct options *o = r->o;

    if (o->memory_percent > 0)
        r->config.memory = r->config.memory / 100 * o->memory_percent;
    else if (o->memory > 0 && o->memory < r->config.memory)
        r->config.memory = o->memory;
}

/* Whether there is enough memory for compression.  If not, prints an error. */
static bool has_memory(const struct run *r)
{
    const uint64_t least = pipeline_least_memory(&r->config);

    if (r->o->action != ACTION_COMPRESS || r->config.memory >= least)
        return true;
    msg_error(r->m, "memory exhausted: needs %" PRIu64 " MiB, and the limit is %" PRIu64 " MiB",
              (least + MIB - 1) / MIB, r->config.memory / MIB);
    return false;
}

bool run_need_limits(struct run *r)
{
    if (r->knows_limits)
        return !r->m->stop;
    r->knows_limits = true;
    if (!r->o->threads_given)
        r->config.threads = 0;
    pipeline_limit(&r->config);
    limit_memory(r);
    r->descriptors = most_descriptors();
    r->config.open_jobs = (unsigned)(r->descriptors / RUN_DESCRIPTORS_SHARE / 2 + 1);
    if (r->config.address_space != UINT64_MAX)
        save_addresses();
    if (pipeline_threads(&r->config) == 1)
        r->side_by_side = false;
    if (!has_memory(r))
        r->m->stop = true;
    return !r->m->stop;
}

/* --- The pipeline --------------------------------------------------------------------------- */

/* Prints, once in a run with -vv, that ISA-L was not used, and how much slower that is. */
static void report_isal(struct run *r, const struct file *f)
{
    if (!f->lacked_isal || r->told_isal || r->o->verbose < 2 || r->o->action == ACTION_LIST)
        return;
    r->told_isal = true;
    msg_note(r->m, "ISA-L not used, so decompression takes 2.5 times as long: %s", isal_why_not());
}

void run_account(struct run *r, struct file *f)
{
    if (f->made_temporary && !r->told_temporary && !r->m->quiet) {
        r->told_temporary = true;
        msg_note(r->m, "%s: --atomic uses a temporary name here", f->operand);
    }
    report_isal(r, f);
    report_print(r->m, f);
    msg_merge_status(r->m, &f->m);
    r->m->stop |= f->m.stop;
    progress_file_done(&r->progress, &f->shown, file_regular_size(f), f->in_bytes, f->out_bytes);
}

bool run_need_pipeline(struct run *r, uint64_t size)
{
    char error[GPU_ERROR_SIZE];

    if (r->pipeline != NULL)
        return true;
    /* The output for a single file of up to LZ_SEGMENT_MIN bytes is the same with any segment
     * size.  So use the smallest segments: mapping and freeing memory for larger ones takes 30 us.
     * If the file grows before it is read, the output is still right, but up to a tenth larger.  A
     * size of 0 tells nothing, since files in /proc have that size, whatever they contain. */
    if (options_name_one(r->o) && size > 0 && size <= LZ_SEGMENT_MIN &&
        r->o->action == ACTION_COMPRESS)
        r->config.segment_size = LZ_SEGMENT_MIN;
    gz_crc32_prepare(options_name_one(r->o) && size > 0 ? size : UINT64_MAX);
    r->pipeline = pipeline_new(&r->config, error);
    if (r->pipeline != NULL ||
        (r->o->action != ACTION_COMPRESS && r->o->pipeline.backend != BACKEND_GPU))
        return true;
    msg_error(r->m, r->o->pipeline.backend == BACKEND_GPU ? "cannot use a GPU: %s" : "%s", error);
    r->m->stop = true;
    return false;
}
