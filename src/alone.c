/*
 * alone.c - works on one file while no other is under way (alone.h)
 */
#include "config.h"

#include "src/alone.h"
#include "src/compress.h"
#include "src/decompress.h"
#include "src/recover.h"
#include "src/report.h"
#include "src/select.h"
#include "src/testing.h"

/* The job's `wrote` callback. */
static void wrote_alone(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine)
{
    compress_wrote(job->ctx, in, out, engine);
}

/* Works on a file that file_open opened. */
static void process_alone(struct run *r, struct file *f)
{
    struct pipeline_job job = {.wrote = wrote_alone, .ctx = f};

    if (r->o->recover) {
        recover_file(f);
    } else if (r->o->range_count > 0) {
        select_file(f, r->pipeline);
    } else if (r->o->action != ACTION_COMPRESS) {
        decompress_file(f, r->pipeline);
    } else if (compress_begin(f, &job)) {
        job.status = pipeline_run(r->pipeline, &job);
        compress_end(f, r->pipeline, &job);
    }
}

/* Whether the file, which file_open has opened, needs the pipeline.  Compression always needs it;
 * decompression needs it if several threads or a GPU can help.  minor: the result of
 * run_is_minor. */
static bool needs_crew(const struct run *r, const struct file *f, bool minor)
{
    return r->o->action == ACTION_COMPRESS ||
           (!r->o->recover && (S_ISREG(f->in_stat.st_mode) || S_ISFIFO(f->in_stat.st_mode)) &&
            (!minor || testing_region() > 0 || r->config.is_test) &&
            (pipeline_threads(&r->config) > 1 || r->config.expand_backend != BACKEND_CPU));
}

int alone_do(struct run *r, const char *operand, struct directory *directory)
{
    struct file f = {
        .o = r->o,
        .operand = operand,
        .directory = directory,
        .m = {.program = r->m->program, .quiet = r->m->quiet, .progress = &r->progress},
        .list = &r->list,
        .progress = &r->progress};
    bool is_open = file_open(&f), minor = is_open && run_is_minor(r, &f);

    if (is_open && !destination_find(&f.destination, &r->outputs, r->o, operand, directory)) {
        file_out_of_memory(&f);
        is_open = false;
    }
    if (is_open && (minor || run_need_limits(r)) &&
        (!needs_crew(r, &f, minor) || run_need_pipeline(r, file_regular_size(&f)))) {
        process_alone(r, &f);
        report_make(&f);
    } else if (f.is_directory && r->o->recursive) {
        const int fd = f.in_fd;

        f.in_fd = -1;
        file_commit(&f);
        msg_merge_status(r->m, &f.m);
        return fd;
    }
    file_commit(&f);
    run_account(r, &f);
    return -1;
}
