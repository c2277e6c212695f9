/*
 * compress.c - compresses one file (compress.h)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat/container.h"
#include "compat/gzip.h"
#include "src/cleanup.h"
#include "src/compress.h"
#include "src/indexes.h"
#include "src/names.h"

/* Prints, for -vv, what the match finder has counted, if it counts anything. */
static void report_counters(struct file *f, const struct pipeline_stats *s)
{
    const char *const *names = pipeline_level(&f->o->pipeline)->finder->counter_names;
    char counted[LZ_COUNTERS * 64];
    size_t used = 0;

    if (names == NULL || s->cpu_segments + s->redone_segments == 0)
        return;
    for (size_t i = 0; i < LZ_COUNTERS; i++)
        used += (size_t)snprintf(counted + used, sizeof(counted) - used, "%s%llu %.32s",
                                 i > 0 ? ", " : "", (unsigned long long)s->counters[i], names[i]);
    msg_note(&f->m, "%s: matching by CPU: %s", f->name, counted);
}

/* Prints what -vv adds: why no GPU was used, how much each engine did, and the seconds of all
 * threads. */
static void report_work(struct file *f, struct pipeline *p, const struct pipeline_stats *s)
{
    /* Print tenths of a second; milliseconds with -vvv, or if the whole took less than 1 s. */
    const int digits = f->o->verbose > 2 || s->match + s->encode < 1 ? 3 : 1;
    const unsigned long long segments = s->cpu_segments + s->gpu_segments;
    char why[GPU_ERROR_SIZE], engines[GPU_ERROR_SIZE + 80] = "", redone[48] = "", parts[48] = "";
    char gpu[96] = "", verify[32] = "", names[GPU_ERROR_SIZE], trouble[GPU_ERROR_SIZE];

    pipeline_gpu_trouble(p, trouble);
    pipeline_gpu_names(p, names);
    if (s->gpu_segments > 0) {
        snprintf(engines, sizeof(engines), ": %llu by CPU, %llu by GPU (%s)",
                 (unsigned long long)s->cpu_segments, (unsigned long long)s->gpu_segments, names);
        snprintf(gpu, sizeof(gpu), "; GPU: copy in %.*f, kernels %.*f, copy out %.*f", digits,
                 s->gpu.copy_in, digits, s->gpu.kernels, digits, s->gpu.copy_out);
        if (trouble[0] != '\0')
            msg_note(&f->m, "%s: a GPU failed or could not be used: %s", f->name, trouble);
    } else {
        if (trouble[0] == '\0')
            pipeline_why_no_gpu(p, &f->o->pipeline, s, why);
        msg_note(&f->m, "%s: GPU not used: %s", f->name, trouble[0] != '\0' ? trouble : why);
    }
    if (s->redone_segments > 0)
        snprintf(redone, sizeof(redone), ", %llu redone", (unsigned long long)s->redone_segments);
    if (s->split_segments > 0)
        snprintf(parts, sizeof(parts), ", %llu in parts", (unsigned long long)s->split_segments);
    if (f->o->pipeline.verify)
        snprintf(verify, sizeof(verify), ", verify %.*f", digits, s->verify);
    msg_note(&f->m,
             "%s: %llu segment%s%s%s%s; "
             "seconds: read %.*f, match %.*f, encode %.*f, write %.*f%s%s",
             f->name, segments, segments == 1 ? "" : "s", engines, redone, parts, digits, s->read,
             digits, s->match, digits, s->encode, digits, s->write, verify, gpu);
    report_counters(f, s);
}

/* Returns the time to store in the header, or 0 to store no time. */
static uint32_t time_to_store(struct file *f)
{
    const time_t t = f->in_stat.st_mtim.tv_sec;

    const enum container container = f->o->pipeline.container;

    /* A pipe has no time of its own. */
    if (f->o->no_time || !S_ISREG(f->in_stat.st_mode) ||
        (container != CONTAINER_GZIP && container != CONTAINER_ZIP))
        return 0;
    if (t > 0 && t <= UINT32_MAX)
        return (uint32_t)t;
    msg_warning(&f->m, "%s: warning: file timestamp out of range for gzip format", f->name);
    return 0;
}

/* Returns the number of output bytes that count for the ratio.  As in gzip, the header and the
 * trailer of gzip's format do not count. */
static uint64_t packed_bytes(const struct file *f, uint64_t out_bytes)
{
    return f->o->pipeline.container == CONTAINER_GZIP ? out_bytes - f->header_len - GZ_TRAILER_SIZE
                                                      : out_bytes;
}

/* Notes the results of a job that succeeded. */
static void note_result(struct file *f, const struct pipeline_job *job)
{
    static const enum gz_format formats[] = {
        [CONTAINER_GZIP] = GZ_FORMAT_GZIP, [CONTAINER_ZLIB] = GZ_FORMAT_ZLIB,
        [CONTAINER_RAW] = GZ_FORMAT_RAW,   [CONTAINER_BGZF] = GZ_FORMAT_GZIP,
        [CONTAINER_ZIP] = GZ_FORMAT_ZIP,
    };
    const enum container container = f->o->pipeline.container;
    const struct pipeline_stats *stats = &job->stats;
    const bool is_bgzf = container == CONTAINER_BGZF;
    /* In BGZF, each segment with data is a member, and a member without data follows the last. */
    const uint64_t members =
        is_bgzf && stats->in_bytes > 0 ? stats->cpu_segments + stats->gpu_segments + 1 : 1;

    f->result =
        (struct file_result){.is_known = true,
                             .format = formats[container],
                             .is_bgzf = is_bgzf,
                             .compressed = stats->out_bytes,
                             .uncompressed = stats->in_bytes,
                             .members = members,
                             .has_crc = formats[container] == GZ_FORMAT_GZIP && members == 1,
                             .crc = job->check,
                             .is_verified = f->o->pipeline.verify,
                             .engine = stats->gpu_segments == 0   ? "cpu"
                                       : stats->cpu_segments == 0 ? "gpu"
                                                                  : "cpu+gpu"};
}

/* The job's `segment` callback: notes the start of the next segment for the index. */
static void note_segment(struct pipeline_job *job, uint64_t in, uint64_t out)
{
    const struct file *f = job->ctx;

    if (f->o->pipeline.container == CONTAINER_BGZF)
        access_builder_member(f->builder, out, in);
    else
        access_builder_note(f->builder, 8 * out, in, NULL, 0);
}

/* Begins an index of the output.  False, with a message, if memory is short, or the index cannot
 * have its name. */
static bool begin_index(struct file *f, struct pipeline_job *job)
{
    const bool is_bgzf = f->o->pipeline.container == CONTAINER_BGZF;

    if (!indexes_may_write(f, file_output_in_messages(f)))
        return false;
    /* An index of BGZF lists all members, which can be many.  So write_index finds them in the
     * output, if it is a file that can be read again. */
    if (is_bgzf && !f->to_stdout)
        return true;
    f->builder = is_bgzf ? access_builder_new_bgzf() : access_builder_new(NULL);
    if (f->builder == NULL) {
        file_out_of_memory(f);
        return false;
    }
    if (!is_bgzf)
        access_builder_note(f->builder, 8 * f->header_len, 0, NULL, 0);
    job->segment = note_segment;
    return true;
}

/* Writes the index of the output.  False, with a message, if that fails. */
static bool write_index(struct file *f, const struct pipeline_stats *stats)
{
    const struct access_source output = {.fd = f->out_fd, .size = stats->out_bytes};

    if (f->o->pipeline.container == CONTAINER_BGZF && !f->to_stdout)
        f->builder = access_builder_new(&output);
    if (f->builder == NULL) {
        file_out_of_memory(f);
        return false;
    }
    return indexes_write(f, f->builder, file_output_in_messages(f), stats->out_bytes,
                         stats->in_bytes);
}

/* Prints why --verify failed. */
static void report_unverified(struct file *f, int error)
{
    if (error != 0)
        msg_data_error(&f->m, "%s: cannot be read back for --verify: %s",
                       file_output_in_messages(f), strerror(error));
    else
        msg_data_error(&f->m, "%s: --verify found that the output does not decompress to the input",
                       f->name);
}

/* Prints how the job ended.  True if it succeeded. */
static bool judge(struct file *f, struct pipeline *p, const struct pipeline_job *job)
{
    const struct pipeline_stats *stats = &job->stats;

    switch (job->status) {
    case PIPELINE_OK:
        break;
    case PIPELINE_READ_ERROR:
        if (job->error_number == PIPELINE_SHORTER)
            file_became_shorter(f);
        else
            file_read_error(f, job->error_number);
        return false;
    case PIPELINE_WRITE_ERROR:
        file_write_error(f, job->error_number);
        return false;
    case PIPELINE_NO_MEMORY:
        file_out_of_memory(f);
        return false;
    case PIPELINE_WRONG:
        msg_data_error(&f->m, "%s: internal error: the match finder was wrong; please report this",
                       f->name);
        return false;
    case PIPELINE_NOT_VERIFIED:
        report_unverified(f, job->error_number);
        return false;
    case PIPELINE_CANCELLED:
        return false;
    }
    if (!file_is_unchanged(f))
        return false;
    f->in_bytes = stats->in_bytes;
    f->out_bytes = stats->out_bytes;
    note_result(f, job);
    if (S_ISREG(f->in_stat.st_mode) && stats->in_bytes != (uint64_t)f->in_stat.st_size)
        msg_note(&f->m, "%s: file size changed while zipping", f->name);
    file_report(f, packed_bytes(f, stats->out_bytes), stats->in_bytes);
    if (f->o->verbose > 1)
        report_work(f, p, stats);
    return !f->o->makes_index || write_index(f, stats);
}

bool compress_make_header(struct file *f)
{
    const struct options *o = f->o;
    const enum container container = o->pipeline.container;
    const char *name = f->is_stdin ? o->alias : names_base(f->name);
    const size_t comment = o->comment != NULL ? strlen(o->comment) + 1 : 0;

    /* If the output's name was shortened, store the whole name in the header even with --no-name,
     * since it is nowhere else. */
    if (o->no_name && !f->is_shortened)
        name = NULL;
    /* Ask for at least one byte, since malloc may return NULL if it is asked for 0 bytes. */
    f->header = malloc(gz_start_room(container, name) + comment + 1);
    if (f->header == NULL) {
        file_out_of_memory(f);
        return false;
    }
    f->header_len = gz_write_start(container, f->header, name, time_to_store(f), o->pipeline.level);
    if (o->comment != NULL && container == CONTAINER_GZIP)
        f->header_len = gz_add_comment(f->header, f->header_len, o->comment);
    return true;
}

bool compress_begin(struct file *f, struct pipeline_job *job)
{
    if (!file_open_output(f) || !compress_make_header(f) ||
        (f->o->makes_index && !begin_index(f, job))) {
        file_finish(f, false);
        return false;
    }
    file_announce(f);
    job->in_fd = f->in_fd;
    job->out_fd = f->out_fd;
    job->header = f->header;
    job->header_len = f->header_len;
    job->reads_back = f->output.kind != OUTPUT_NONE;
    return true;
}

void compress_wrote(struct file *f, uint64_t in, uint64_t out, const char *engine)
{
    /* While several files are under way, the progress line shows no engine, since each file may be
     * on another engine. */
    progress_update(f->progress, &f->shown, in, out, f->m.collect ? "" : engine);
}

void compress_end(struct file *f, struct pipeline *p, const struct pipeline_job *job)
{
    if (job->status == PIPELINE_WRITE_ERROR && !f->m.collect)
        cleanup_signal_for(job->error_number);
    file_announce_again(f);
    file_finish(f, judge(f, p, job));
    access_builder_free(f->builder);
    f->builder = NULL;
}

void compress_report_run(struct messages *m, struct pipeline *p)
{
    char names[GPU_ERROR_SIZE], gpus[GPU_ERROR_SIZE + 96] = "";
    struct pipeline_totals t;
    unsigned long long segments;

    pipeline_totals(p, &t);
    pipeline_gpu_names(p, names);
    segments = t.cpu_segments + t.gpu_segments;
    if (t.gpu_segments > 0)
        snprintf(gpus, sizeof(gpus), ": %llu by CPU, %llu by GPU (%s)",
                 (unsigned long long)t.cpu_segments, (unsigned long long)t.gpu_segments, names);
    if (t.gpu_bytes > 0 && names[0] != '\0')
        msg_note(m, "GPU wanted when %.0f MB were known to come", (double)t.gpu_bytes / 1e6);
    msg_note(m, "%llu segment%s%s, of %llu file%s", segments, segments == 1 ? "" : "s", gpus,
             (unsigned long long)t.jobs, t.jobs == 1 ? "" : "s");
}
