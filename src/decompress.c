/*
 * decompress.c - decompresses, tests or lists one file (decompress.h)
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/trail.h"
#include "base/bgzf.h"
#include "base/io.h"
#include "base/isal.h"
#include "base/sparse.h"
#include "compat/gunzip.h"
#include "inflate/raw.h"
#include "src/cleanup.h"
#include "src/decompress.h"
#include "src/indexes.h"
#include "src/list.h"
#include "src/names.h"
#include "src/progress.h"
#include "src/testing.h"

/* The context of read_input and write_output. */
struct file_reader {
    struct file *f;
    struct access_builder *builder; /* NULL if no index is made */
    struct access_trail *trail;     /* NULL: decompression begins at the start */
    struct gz_ahead ahead;          /* the functions of the builder, or of the trail */
    /* If not NULL, this callback gets the output, and the output file gets nothing. */
    int (*take)(void *ctx, const void *buf, size_t len);
    void *take_ctx;
    struct expansion *expansion; /* NULL if one thread does all the work */
    bool is_announced;           /* file_announce was called */
    bool has_told_extra;         /* note_extra has printed its message */
    uint64_t in, out;            /* bytes read and written so far */
    struct sparse_output sparse; /* writes the output if has_holes is true */
    bool has_holes;              /* the output may have holes */
    off_t start;                 /* where the input starts, if it is a regular file; else -1 */
};

/* Whether the work should go on.  False with errno set if it was cancelled. */
static bool goes_on(const struct file_reader *r)
{
    if (r->f->is_cancelled == NULL || !*r->f->is_cancelled)
        return true;
    errno = ECANCELED;
    return false;
}

static void show_progress(struct file_reader *r)
{
    if (r->expansion != NULL)
        r->in = expansion_position(r->expansion);
    progress_update(r->f->progress, &r->f->shown, r->in, r->out, r->f->m.collect ? "" : "cpu");
}

/* Keeps the input's first bytes for file_tell_format. */
static void keep_first(const struct file_reader *r, const void *bytes, size_t len)
{
    struct file *const f = r->f;
    size_t room, n;

    if (r->in == 0)
        f->first_len = 0;
    room = sizeof(f->first) - f->first_len;
    n = len < room ? len : room;
    memcpy(f->first + f->first_len, bytes, n);
    f->first_len += n;
}

static ssize_t read_input(void *ctx, void *buf, size_t len)
{
    struct file_reader *r = ctx;
    ssize_t n;

    if (!goes_on(r))
        return -1;
    if (r->expansion != NULL)
        n = expansion_read(r->expansion, buf, len);
    else
        n = io_read(r->f->in_fd, buf, len);
    if (n > 0) {
        keep_first(r, buf, (size_t)n);
        r->in += (uint64_t)n;
        show_progress(r);
    }
    return n;
}

static int write_output(void *ctx, const void *buf, size_t len)
{
    struct file_reader *r = ctx;

    if (!goes_on(r))
        return -1;
    r->out += len;
    if (r->expansion != NULL)
        show_progress(r);
    if (r->builder != NULL)
        access_builder_wrote(r->builder, buf, len);
    if (r->take != NULL)
        return r->take(r->take_ctx, buf, len);
    if (r->f->out_fd < 0) /* -t and -l write nothing */
        return 0;
    if (r->has_holes)
        return sparse_write(&r->sparse, buf, len) ? 0 : -1;
    return io_write(r->f->out_fd, buf, len) ? 0 : -1;
}

bool decompress_judge_status(struct file *f, enum gz_status status, const struct gz_info *info)
{
    const bool discards = f->o->action == ACTION_TEST || f->o->action == ACTION_LIST;
    struct gz_complaint list[GZ_COMPLAINTS_MAX];
    const size_t count = gz_complaints(status, info, f->to_stdout, list);

    if (status == GZ_NO_MEMORY)
        f->retry = RETRY_MEMORY;
    if (status == GZ_READ_ERROR || status == GZ_WRITE_ERROR) {
        if (status == GZ_READ_ERROR)
            file_read_error(f, errno);
        else
            file_write_error(f, errno);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct gz_complaint *c = &list[i];

        if (c->verbose && f->o->verbose == 0)
            continue;
        if (!c->warning)
            f->m.status = STATUS_ERROR;
        else if (f->m.status == STATUS_OK)
            f->m.status = STATUS_WARNING;
        if (!c->warning || !f->m.quiet)
            msg_print(&f->m, "%-s%s: %s%-s", c->before, f->m.program, f->name, c->after);
    }
    if (status == GZ_NOT_GZIP)
        file_tell_format(f);
    f->m.stop |= gz_status_is_fatal(status, f->to_stdout, discards);
    return !gz_status_is_error(status, f->to_stdout);
}

/* Prints, below gzip's message, where a .gz is damaged. */
static void tell_place(struct file *f, enum gz_status status, const struct gz_info *info)
{
    const uint64_t out = info->out_bytes - info->member_bytes;

    if (info->format != GZ_FORMAT_GZIP || f->o->action == ACTION_LIST || f->m.quiet ||
        !msg_has_own_name(&f->m))
        return;
    if (status == GZ_BAD_DATA || (status == GZ_TRUNCATED && !info->lone_byte))
        msg_note(&f->m,
                 "%s: noticed near byte %" PRIu64 ", output byte %" PRIu64
                 ", in the member at byte %" PRIu64 ", output byte %" PRIu64 "; see --recover",
                 f->name, info->in_bytes, info->out_bytes, info->member_at, out);
    else if (status == GZ_BAD_CRC || status == GZ_BAD_LENGTH)
        msg_note(&f->m,
                 "%s: the member is bytes %" PRIu64 " to %" PRIu64 ", output bytes %" PRIu64
                 " to %" PRIu64 "; see --recover",
                 f->name, info->member_at, info->in_bytes - 1, out,
                 info->out_bytes - (info->member_bytes > 0));
}

bool decompress_restore_name(struct file *f, const struct gz_info *info)
{
    const char *stored = names_base(info->name);
    const char *output = file_output_in_messages(f);
    char *name;

    if (!f->o->no_time)
        f->stored_time = info->mtime;
    if (f->o->no_name || !info->has_name || stored[0] == '\0' ||
        (f->to_stdout && f->o->action != ACTION_LIST))
        return true;
    if (info->name_cut) {
        msg_data_error(&f->m, "%s: corrupted input -- file name too large", f->name);
        f->m.stop = true;
        return false;
    }
    name = names_join(output, (size_t)(names_base(output) - output), stored);
    if (name == NULL) {
        file_out_of_memory(f);
        return false;
    }
    free(f->output_name);
    f->output_name = name;
    return true;
}

static void list(struct file *f, const struct gz_info *info)
{
    struct list_entry e = {
        .method = gz_format_name(info->format),
        .crc = info->crc,
        .has_crc = info->has_crc,
        .time = f->stored_time != 0           ? (time_t)f->stored_time
                : S_ISREG(f->in_stat.st_mode) ? f->in_stat.st_mtim.tv_sec
                                              : 0,
        .packed = info->read_bytes,
        .original = info->member_bytes,
        .overhead = info->header_bytes,
        .name = file_output_in_messages(f),
    };

    if (f->o->exact) {
        /* With --exact, the numbers describe all members.  gzip's numbers, set above, describe the
         * last member, and include bytes that follow the compressed data. */
        e.has_crc = info->has_crc && info->members == 1;
        e.packed = info->in_bytes;
        e.original = info->out_bytes;
        e.overhead = info->deflate_bytes > 0 ? info->in_bytes - info->deflate_bytes : 0;
    }
    list_print(f->list, &e);
}

/* Prints that a member's header has an extra field.  gzip prints this for every member.  gzlzss
 * prints it once for a file, because in BGZF, every 64 KiB of data is a member with such a
 * field. */
static void note_extra(void *ctx, unsigned bytes)
{
    struct file_reader *r = ctx;

    if (r->f->o->verbose == 0 || r->has_told_extra)
        return;
    r->has_told_extra = true;
    if (r->is_announced)
        file_announce_again(r->f);
    msg_note(&r->f->m, "%s: extra field of %u bytes ignored", r->f->name, bytes);
}

/* Whether the error is in a member's header, and at least one good member comes before it. */
static bool is_next_member_bad(enum gz_status status, const struct gz_info *info)
{
    return info->members > 0 && (status == GZ_UNKNOWN_METHOD || status == GZ_ENCRYPTED ||
                                 status == GZ_RESERVED_FLAGS || status == GZ_BAD_HEADER_CRC);
}

/* Prints what a GPU did, or why it was not used, for -vv. */
static void report_gpu(struct file *f, struct pipeline *p,
                       const struct pipeline_expansion_stats *stats)
{
    char name[GPU_ERROR_SIZE], trouble[GPU_ERROR_SIZE];

    pipeline_expand_gpu(p, name, trouble);
    if (stats->gpu_bytes > 0)
        msg_note(&f->m, "%s: GPU (%s) decompressed %.0f%% of the output", f->name, name,
                 100 * (double)stats->gpu_bytes / (double)f->out_bytes);
    if (trouble[0] != '\0')
        msg_note(&f->m, "%s: GPU not used%s: %s", f->name, stats->gpu_bytes > 0 ? " any more" : "",
                 trouble);
}

/* Prints how much several threads and a GPU did, for -vv. */
static void report_expansion(struct file *f, struct pipeline *p,
                             const struct pipeline_expansion_stats *stats)
{
    if (f->o->verbose < 2)
        return;
    report_gpu(f, p, stats);
    if (stats->gpu_bytes > 0 && stats->runs == 0)
        return;
    if (stats->runs == 0 || f->out_bytes == 0)
        msg_note(&f->m, "%s: decompressed by one thread", f->name);
    else
        msg_note(&f->m, "%s: %" PRIu64 " parts decompressed ahead, %.0f%% of the output", f->name,
                 stats->runs, 100 * (double)stats->bytes / (double)f->out_bytes);
}

/* Whether zlib decompressed the file in place of ISA-L, and the file is so large that this made a
 * difference. */
static bool lacked_isal(const struct file *f, enum gz_format format)
{
    return gz_is_deflate(format) && f->in_bytes >= PIPELINE_EXPAND_MIN && isal_why_not() != NULL;
}

/* Whether several threads may decompress the file.  A regular file must be large enough.  The
 * size of standard input is not looked at: reading may begin at any offset, so the size tells
 * little. */
static bool may_expand(const struct file *f)
{
    return (f->is_stdin || !S_ISREG(f->in_stat.st_mode) ||
            (uint64_t)f->in_stat.st_size >= PIPELINE_EXPAND_MIN || testing_region() > 0 ||
            f->o->pipeline.is_test);
}

/* Whether the file is the only one, and so small that loading ISA-L would take longer than
 * decompressing the file. */
static bool is_small(const struct file *f)
{
    return options_name_one(f->o) && S_ISREG(f->in_stat.st_mode) &&
           (uint64_t)f->in_stat.st_size < INF_SMALL && testing_region() == 0;
}

static void note_place(void *ctx, uint64_t bit, uint64_t out, const uint8_t *end, size_t len)
{
    access_builder_note(ctx, bit, out, end, len);
}

static void seek_input(void *ctx, uint64_t byte)
{
    const struct file_reader *r = ctx;

    /* The input is a regular file, so lseek cannot fail. */
    lseek(r->f->in_fd, (off_t)byte, SEEK_SET);
}

/* Returns the functions for gz_io.ahead.  If there is a trail, these are the trail's functions.  If
 * an index is made, they are those of the index's builder.  Otherwise they are the expansion's
 * functions, or NULL if e is NULL. */
static const struct gz_ahead *watch(struct file_reader *r, struct expansion *e)
{
    const struct gz_ahead *ahead = e != NULL ? expansion_ahead(e) : NULL;

    if (r->trail != NULL) {
        r->ahead = access_trail_ahead(r->trail, ahead, seek_input, r);
        return &r->ahead;
    }
    if (r->builder == NULL)
        return ahead;
    if (e != NULL)
        expansion_watch(e, &(struct expansion_watch){.at = note_place, .ctx = r->builder});
    r->ahead = access_builder_ahead(r->builder, ahead);
    return &r->ahead;
}

/* Opens a stream.  If several threads can help, also opens an expansion, which lets them help.  If
 * memory is short, tries again without the expansion, and once more after freeing the memory that
 * the pipeline keeps for later.  NULL if memory is still short. */
static struct gz_stream *open_stream(struct file_reader *r, struct gz_io *io, struct gz_info *info,
                                     struct pipeline *p)
{
    struct pipeline_expansion_stats stats;
    struct gz_stream *s;

    io->ahead = watch(r, NULL);
    if (p != NULL && may_expand(r->f))
        r->expansion = pipeline_expand(p, r->f->in_fd, testing_region(), write_output, r);
    if (r->expansion != NULL) {
        io->ahead = watch(r, r->expansion);
        s = gz_open(io, info);
        if (s != NULL)
            return s;
        io->ahead = watch(r, NULL);
        expansion_close(r->expansion, &stats);
        r->expansion = NULL;
    }
    s = gz_open(io, info);
    if (s == NULL && p != NULL) {
        pipeline_give_back(p);
        s = gz_open(io, info);
    }
    return s;
}

/* Begins the output, which file_open_output has opened. */
static void begin_output(struct file_reader *r)
{
    const struct file *f = r->f;
    const enum sparse sparse = f->o->sparse;

    r->sparse = (struct sparse_output){.fd = f->out_fd};
    if (f->out_fd < 0 || sparse == SPARSE_NEVER)
        return;
    r->sparse.allocates = !f->to_stdout && sparse_pays_to_allocate(f->out_fd);
    r->has_holes = !f->to_stdout || (sparse == SPARSE_ALWAYS && sparse_is_possible(f->out_fd));
}

/* Ends the output.  Returns the decompression's status, or GZ_WRITE_ERROR with errno set. */
static enum gz_status end_output(struct file_reader *r, enum gz_status status)
{
    const int error = errno;

    if (r->has_holes && status != GZ_WRITE_ERROR && !sparse_end(&r->sparse))
        return GZ_WRITE_ERROR;
    errno = error;
    return status;
}

/* Lets other threads, and perhaps a GPU, take part in the decompression. */
static void begin_expansion(const struct file_reader *r, const struct gz_io *io)
{
    expansion_set_container(r->expansion, io->container);
    if (r->f->out_fd < 0 && r->builder == NULL)
        expansion_discard(r->expansion);
    expansion_begin(r->expansion);
}

/* Whether a mistake of a GPU could be the reason for this status. */
static bool is_doubtful(enum gz_status status)
{
    return status == GZ_BAD_CRC || status == GZ_BAD_LENGTH || status == GZ_BAD_DATA ||
           status == GZ_TRUNCATED;
}

/* Goes back to the start of the input and of the output.  False if that is not possible. */
static bool rewind_files(struct file_reader *r)
{
    const int out = r->f->out_fd;

    if (r->start < 0 || (out >= 0 && r->f->to_stdout) ||
        (out >= 0 && (io_set_length(out, 0) != 0 || lseek(out, 0, SEEK_SET) != 0)) ||
        lseek(r->f->in_fd, r->start, SEEK_SET) != r->start)
        return false;
    r->in = r->out = 0;
    begin_output(r);
    return true;
}

/* Called after a failure.  If a GPU took part and the files can be rewound, decompresses everything
 * again on the CPU, sets *s to the new stream, and returns the new status.  Otherwise, returns
 * `status`. */
static enum gz_status decompress_again(struct file_reader *r, struct gz_io *io,
                                       struct gz_info *info, struct gz_stream **s,
                                       struct pipeline *p, enum gz_status status)
{
    struct pipeline_expansion_stats stats;
    const struct gz_info before = *info;

    expansion_close(r->expansion, &stats);
    r->expansion = NULL;
    io->ahead = NULL;
    if (stats.gpu_bytes == 0)
        return status;
    if (!rewind_files(r)) {
        if (r->f->o->verbose > 1)
            msg_note(&r->f->m, "%s: a GPU took part; --backend=cpu does without", r->f->name);
        return status;
    }
    if (r->f->o->verbose > 1)
        msg_note(&r->f->m, "%s: a GPU took part, so the CPU decompresses again", r->f->name);
    gz_close(*s);
    *s = open_stream(r, io, info, p);
    if (*s == NULL) {
        *info = before;
        return GZ_NO_MEMORY;
    }
    if (r->expansion != NULL)
        expansion_avoid_gpu(r->expansion);
    status = gz_read_header(*s);
    if (status == GZ_OK && r->expansion != NULL)
        begin_expansion(r, io);
    if (status == GZ_OK)
        status = gz_run(*s);
    if (status == GZ_OK)
        pipeline_blame_gpu(p);
    return status;
}

enum container decompress_container(const struct file *f)
{
    const enum container given = f->o->pipeline.container;

    if (given == CONTAINER_ZLIB || given == CONTAINER_RAW)
        return given;
    return !f->is_stdin && names_are_zlib(f->name) ? CONTAINER_ZLIB : CONTAINER_GZIP;
}

/* Prints what -l and -v say about the file.  ok: whether the work succeeded.  status: how the work
 * ended. */
static void conclude(struct file *f, bool ok, enum gz_status status, const struct gz_info *info)
{
    /* Whether the input ends where the compressed data ends.  If it does not, gzip's -l prints the
     * totals so far and no line for the file, while --exact prints the line.  If the input is
     * standard input, gzip then prints neither these totals nor the report of -v. */
    const bool ends = status != GZ_TRAILING_GARBAGE && !info->zeros_follow;

    if (f->o->json)
        return; /* report.c prints the result */
    if (f->o->action != ACTION_LIST) {
        if (ok && (ends || !f->is_stdin))
            file_report(f, info->read_bytes - info->header_bytes, info->member_bytes);
    } else if (ok && (ends || f->o->exact)) {
        list(f, info);
    } else if (f->is_stdin || f->o->exact) {
        return; /* print neither a line about this file nor totals */
    } else if (status == GZ_BAD_CRC || status == GZ_BAD_LENGTH) {
        list_print_totals(f->list);
    } else if (ok || is_next_member_bad(status, info)) {
        list_break_off(f->list);
    }
}

/* Whether the input is a file whose first member is one of BGZF. */
static bool is_bgzf(const struct file_reader *r)
{
    uint8_t start[BGZF_START];

    return r->start >= 0 &&
           io_read_at(r->f->in_fd, start, sizeof(start), (uint64_t)r->start) == sizeof(start) &&
           bgzf_starts(start);
}

/* Notes the results for the report.  gpu_bytes: bytes of output that a GPU has decoded. */
static void note_result(struct file_reader *r, const struct gz_info *info, uint64_t gpu_bytes)
{
    const uint64_t out_bytes = r->f->out_bytes;

    r->f->result = (struct file_result){.is_known = true,
                                        .format = info->format,
                                        .is_bgzf = info->format == GZ_FORMAT_GZIP && is_bgzf(r),
                                        .compressed = info->in_bytes,
                                        .uncompressed = out_bytes,
                                        .members = info->members,
                                        .has_crc = info->has_crc && info->members == 1,
                                        .crc = info->crc,
                                        .engine = gpu_bytes == 0           ? "cpu"
                                                  : gpu_bytes == out_bytes ? "gpu"
                                                                           : "cpu+gpu"};
}

/* Begins to make an index if the options want one.  False, with a message, if memory is short, or
 * the index cannot have its name. */
static bool begin_index(struct file_reader *r)
{
    const struct access_source source = {.fd = r->f->in_fd,
                                         .size = (uint64_t)r->f->in_stat.st_size};

    if (!r->f->o->makes_index)
        return true;
    if (!indexes_may_write(r->f, r->f->name))
        return false;
    r->builder = access_builder_new(r->start == 0 ? &source : NULL);
    if (r->builder == NULL)
        file_out_of_memory(r->f);
    return r->builder != NULL;
}

/* Writes the index, if one was made.  False, with a message, if that fails. */
static bool end_index(struct file_reader *r, const struct gz_info *info)
{
    const uint64_t size = r->start == 0 ? (uint64_t)r->f->in_stat.st_size : info->read_bytes;

    if (r->builder == NULL)
        return true;
    if (info->format != GZ_FORMAT_GZIP) {
        msg_error(&r->f->m, "%s: only a file in gzip's own format can have an index", r->f->name);
        return false;
    }
    return indexes_write(r->f, r->builder, r->f->name, size, r->out);
}

static bool decompress(struct file *f, struct pipeline *p)
{
    struct file_reader reader = {.f = f, .start = -1};
    struct gz_io io = {.read = read_input,
                       .write = write_output,
                       .ctx = &reader,
                       .copy_unknown = f->o->force && f->to_stdout && f->o->action != ACTION_LIST,
                       .extra = note_extra,
                       .container = decompress_container(f),
                       .is_small = is_small(f)};
    struct pipeline_expansion_stats stats = {0};
    struct gz_info info;
    struct gz_stream *s;
    enum gz_status status;
    bool ok;

    if (S_ISREG(f->in_stat.st_mode))
        reader.start = lseek(f->in_fd, 0, SEEK_CUR);
    if (!begin_index(&reader))
        return false;
    s = open_stream(&reader, &io, &info, p);
    if (s == NULL) {
        access_builder_free(reader.builder);
        file_out_of_memory(f);
        return false;
    }
    status = gz_read_header(s);
    if (f->o->action == ACTION_LIST && f->o->force && status == GZ_TRUNCATED && info.read_bytes < 2)
        status = GZ_NOT_GZIP; /* -f alone would copy the file */
    if (status != GZ_OK) {
        ok = decompress_judge_status(f, status, &info);
    } else if (!decompress_restore_name(f, &info) || !file_open_output(f)) {
        ok = false;
    } else {
        file_announce(f);
        reader.is_announced = true;
        begin_output(&reader);
        if (reader.expansion != NULL && gz_is_deflate(info.format))
            begin_expansion(&reader, &io);
        status = gz_run(s);
        if (is_doubtful(status) && reader.expansion != NULL)
            status = decompress_again(&reader, &io, &info, &s, p, status);
        status = end_output(&reader, status);
        /* The failed write may have been on a worker thread, which blocks SIGPIPE. */
        if (status == GZ_WRITE_ERROR && !f->m.collect)
            cleanup_signal_for(errno);
        file_announce_again(f);
        f->in_bytes = reader.in;
        f->out_bytes = reader.out;
        ok = decompress_judge_status(f, status, &info) && file_is_unchanged(f);
        tell_place(f, status, &info);
        conclude(f, ok, status, &info);
        ok = ok && end_index(&reader, &info);
    }
    gz_close(s);
    if (reader.expansion != NULL) {
        expansion_close(reader.expansion, &stats);
        if (ok)
            report_expansion(f, p, &stats);
    }
    access_builder_free(reader.builder);
    if (ok && f->o->json)
        note_result(&reader, &info, stats.gpu_bytes);
    f->lacked_isal = ok && lacked_isal(f, info.format);
    return ok;
}

enum gz_status decompress_through(struct file *f, struct pipeline *p, struct access_trail *trail,
                                  int (*take)(void *ctx, const void *buf, size_t len), void *ctx,
                                  struct gz_info *info)
{
    struct file_reader reader = {
        .f = f, .trail = trail, .take = take, .take_ctx = ctx, .start = -1};
    struct gz_io io = {.read = read_input,
                       .write = write_output,
                       .ctx = &reader,
                       .container = decompress_container(f)};
    struct pipeline_expansion_stats stats;
    struct gz_stream *s;
    enum gz_status status = GZ_NO_MEMORY;

    *info = (struct gz_info){0}; /* without memory, nobody else sets it */
    s = open_stream(&reader, &io, info, p);
    if (s != NULL)
        status = gz_read_header(s);
    if (status == GZ_OK && reader.expansion != NULL && gz_is_deflate(info->format)) {
        /* A GPU's output can be trusted only after the CRC of its member was compared.  This
         * decompression may end before that comparison, so it uses no GPU. */
        expansion_avoid_gpu(reader.expansion);
        begin_expansion(&reader, &io);
    }
    if (status == GZ_OK)
        status = gz_run(s);
    gz_close(s);
    if (reader.expansion != NULL)
        expansion_close(reader.expansion, &stats);
    f->in_bytes = reader.in;
    return status;
}

void decompress_file(struct file *f, struct pipeline *p)
{
    file_finish(f, decompress(f, p));
}
