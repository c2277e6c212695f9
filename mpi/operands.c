/*
 * operands.c - works on all files of a run, dealt to the ranks (operands.h)
 *
 * If a file has more than an even share of all bytes, all ranks share it: they work on it together,
 * on one such file after the other.  The other files are dealt to the ranks (deal.h).  A rank works
 * on such a file alone, and no rank waits for another.
 *
 * Rank 0 decides what to do with a shared file, and opens its output under a temporary name.  At
 * the end, rank 0 names the output and removes the input, with the command's own code.  If a rank
 * has died, mpirun kills the other ranks by SIGTERM.  Each of these then removes the temporary
 * file.
 *
 * Messages about files are collected.  Rank 0 prints them, in the order of the operands.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "compat/crc.h"
#include "compat/gunzip.h"
#include "compat/gzip.h"
#include "gpu/gpu.h"
#include "mpi/compress.h"
#include "mpi/deal.h"
#include "mpi/expand.h"
#include "mpi/operands.h"
#include "pipeline/pipeline.h"
#include "src/compress.h"
#include "src/decompress.h"
#include "src/testing.h"

/* The most bytes of input that a rank compresses in a wave: WAVE_THREAD for each thread, at least
 * WAVE_MIN, at most WAVE_MAX.  For each rank there are two buffers of this size for input, and
 * three to six for output (OUTPUTS_MEMORY in compress.c).  With smaller waves, two runs are too
 * little to keep all threads at work.  With larger waves, it happens more often that one rank gets
 * all the input that takes long to compress.  With waves twice as large, eight ranks took 4 %
 * longer. */
#define WAVE_THREAD ((size_t)4 << 20)
#define WAVE_MIN ((size_t)12 << 20)
#define WAVE_MAX ((size_t)48 << 20)

/* Takes the place of WAVE_MAX if a GPU may be used, because a GPU is fast only with much input at a
 * time. */
#define WAVE_GPU ((size_t)192 << 20)

/* With fewer bytes of input for each rank, --backend=auto looks for no GPU. */
#define GPU_MIN ((uint64_t)32 << 20)

/* If a file of this size or more has no marks, -v prints that one rank decompresses it. */
#define EXPECTS_MARKS ((off_t)4 << 20)

struct mpi_run {
    const struct options *o;
    struct messages *m;
    struct rank_tools tools;
    struct ranks all;
    int *owner;            /* for each operand: the rank that works on it, or DEAL_TO_ALL */
    struct messages *said; /* for each operand: this rank's messages */
    int printed;           /* operands, from the first, whose messages were printed */
    bool is_test;          /* GZLZSS_TEST_MPI_WAVE is set */
    bool all_together;     /* for tests: all ranks work on every file */
};

/* The directory of all files is the working directory, since names are relative to it. */
static struct directory here = {.fd = AT_FDCWD};

static struct file new_file(const struct mpi_run *w, const char *operand)
{
    return (struct file){
        .o = w->o,
        .operand = operand,
        .directory = &here,
        .destination = {.directory = &here},
        .m = {.program = w->m->program, .quotes = true, .quiet = w->m->quiet, .collect = true},
        .name = operand,
        .in_fd = -1,
        .out_fd = -1,
        .output.fd = -1,
    };
}

/* --- A file that several ranks share -------------------------------------------------------- */

/* The data by which other ranks recognize the input that rank 0 has opened. */
struct input_identity {
    uint64_t size;
    int64_t mtime;
    uint64_t inode;
};

/* The data about a shared file on a rank other than 0: copies of rank 0's names, and a
 * registration, which makes a signal remove the temporary file. */
struct borrowed {
    char *name, *output_name, *temporary;
    struct cleanup_output armed;
};

static void arm(struct borrowed *b)
{
    sigset_t before;

    b->armed.directory = AT_FDCWD;
    b->armed.name = b->temporary;
    cleanup_hold(&before);
    cleanup_arm(&b->armed);
    cleanup_release(&before);
}

static void disarm(struct borrowed *b)
{
    sigset_t before;

    cleanup_hold(&before);
    cleanup_disarm(&b->armed);
    cleanup_release(&before);
}

/* Opens the file that rank 0 has opened.  Returns false, with a message, if on this machine the
 * file's name leads to another file or to no file. */
static bool open_input(struct file *f, const struct input_identity *input)
{
    struct stat st;

    f->in_fd = io_open(f->name, O_RDONLY | O_CLOEXEC);
    if (f->in_fd < 0 || fstat(f->in_fd, &st) != 0) {
        file_read_error(f, errno);
        return false;
    }
    if ((uint64_t)st.st_size == input->size && (int64_t)st.st_mtim.tv_sec == input->mtime &&
        (uint64_t)st.st_ino == input->inode)
        return true;
    msg_data_error(&f->m, "%s: is another file, or has changed, where another rank runs", f->name);
    return false;
}

/* Makes the other ranks open the same files as rank 0: the input, and the output if there is one.
 * Returns true if all ranks have opened these files. */
static bool share_file(struct together *c, struct borrowed *b)
{
    struct file *f = c->f;
    struct input_identity input = {0};
    bool ok = true;
    int error;

    if (c->r->rank == 0)
        input = (struct input_identity){(uint64_t)f->in_stat.st_size,
                                        (int64_t)f->in_stat.st_mtim.tv_sec,
                                        (uint64_t)f->in_stat.st_ino};
    ranks_share(c->r, &input, sizeof(input));
    b->name = ranks_share_text(c->r, f->name);
    b->output_name = ranks_share_text(c->r, f->output_name);
    b->temporary = ranks_share_text(c->r, f->output.temporary);
    c->size = input.size;
    if (c->r->rank != 0) {
        f->name = b->name;
        f->output_name = b->output_name;
        if (b->temporary[0] != '\0')
            arm(b);
        ok = open_input(f, &input);
    }
    if (ok && b->temporary[0] != '\0') {
        error = sharedfile_open(&c->out, b->temporary);
        if (error != 0)
            file_write_error(f, error);
        ok = error == 0;
    }
    return ranks_agree(c->r, ok);
}

/* Closes the output.  Returns true if `ok` is true on all ranks and all ranks have written their
 * parts.  If the input will be removed, first syncs the output to the disk, so that a crash of a
 * machine loses nothing. */
static bool close_output(struct together *c, bool ok)
{
    const bool sync = ok && (!c->f->o->keep || c->f->o->synchronous);
    const int error = sharedfile_close(&c->out, sync);

    if (ok && error != 0)
        file_write_error(c->f, error);
    return ranks_agree(c->r, ok && error == 0);
}

/* Undoes share_file. */
static void end_sharing(struct together *c, struct borrowed *b)
{
    if (c->r->rank != 0) {
        if (b->temporary != NULL && b->temporary[0] != '\0')
            disarm(b);
        if (c->f->in_fd >= 0)
            close(c->f->in_fd);
        c->f->in_fd = -1;
        c->f->output_name = NULL;
    }
    free(b->name);
    free(b->output_name);
    free(b->temporary);
}

/* Ends the work on a file on rank 0, after file_finish.  If `ok` is set, makes the output final;
 * otherwise, or if that fails, removes the output. */
static void end_file(struct file *f, bool ok)
{
    if (ok && file_try_commit(f))
        return;
    if (ok)
        msg_data_error(&f->m, "%s: %s", f->name,
                       errno != 0 ? strerror(errno) : "file changed while it was read");
    file_discard(f);
}

/* --- Compression ---------------------------------------------------------------------------- */

static void compress(struct mpi_run *w, const struct ranks *r, const char *operand,
                     struct messages *m)
{
    struct file f = new_file(w, operand);
    struct together c = {.t = &w->tools, .r = r, .f = &f};
    struct borrowed b = {0};
    bool ok = true;

    f.output.is_shared = true;
    if (r->rank == 0)
        ok = file_open(&f) && file_open_output(&f) && compress_make_header(&f);
    ok = ranks_agree(r, ok);
    if (ok) {
        if (r->rank == 0)
            file_announce(&f);
        ok = share_file(&c, &b) && compress_together(&c);
        ok = close_output(&c, ok);
    }
    if (r->rank == 0) {
        if (ok)
            file_report(&f, c.out_bytes - f.header_len - GZ_TRAILER_SIZE, c.size);
        if (ok && w->o->verbose > 1)
            msg_note(&f.m, "%s: %d rank%s, of %d thread%s here", f.name, r->count,
                     r->count == 1 ? "" : "s", w->tools.threads, w->tools.threads == 1 ? "" : "s");
        file_finish(&f, ok);
        end_file(&f, ok && f.m.status != STATUS_ERROR);
    }
    end_sharing(&c, &b);
    ranks_tell(r, &f.m);
    *m = f.m;
}

/* --- Decompression -------------------------------------------------------------------------- */

/* Makes the pipeline for decompression by the threads of one rank.  If that fails, or if the rank
 * has one thread, the rank decompresses without a pipeline. */
static void need_pipeline(struct mpi_run *w)
{
    struct pipeline_config config = w->o->pipeline;
    char error[GPU_ERROR_SIZE];

    if (w->tools.p != NULL || w->tools.threads == 1)
        return;
    config.threads = w->tools.threads;
    config.backend = BACKEND_CPU;
    config.expand_backend = BACKEND_CPU;
    config.caller_works = true;
    pipeline_limit(&config);
    gz_crc32_prepare(UINT64_MAX);
    w->tools.p = pipeline_new(&config, error);
}

/* Decompresses a file by this rank alone, with the command's own code.  The input must be open. */
static void expand_here(struct mpi_run *w, struct file *f)
{
    need_pipeline(w);
    decompress_file(f, w->tools.p);
    end_file(f, f->m.status != STATUS_ERROR);
}

static void expand_alone(struct mpi_run *w, const char *operand, struct messages *m)
{
    struct file f = new_file(w, operand);

    if (file_open(&f))
        expand_here(w, &f);
    else
        file_discard(&f);
    *m = f.m;
}

/* The context of peek_read, which reads a file from its beginning without moving its position. */
struct peek {
    int fd;
    uint64_t at;
    bool has_extra;
};

static ssize_t peek_read(void *ctx, void *buf, size_t len)
{
    struct peek *p = ctx;
    const ssize_t n = io_read_at(p->fd, buf, len, p->at);

    p->at += n > 0 ? (uint64_t)n : 0;
    return n;
}

static int peek_write(void *ctx, const void *buf, size_t len)
{
    (void)ctx;
    (void)buf;
    (void)len;
    return 0;
}

static void peek_extra(void *ctx, unsigned bytes)
{
    struct peek *p = ctx;

    (void)bytes;
    p->has_extra = true;
}

/* Whether ranks can share the decompression of a file.  They can if the file is a .gz and seems to
 * have marks.  Fills in *info from the file's header. */
static bool may_share(struct together *e, struct gz_info *info)
{
    struct peek peek = {.fd = e->f->in_fd};
    struct gz_io io = {.read = peek_read, .write = peek_write, .ctx = &peek, .extra = peek_extra};
    struct gz_stream *s;
    bool is_plain;

    if (e->r->count == 1 || !S_ISREG(e->f->in_stat.st_mode))
        return false;
    s = gz_open(&io, info);
    if (s == NULL)
        return false;
    is_plain = gz_read_header(s) == GZ_OK && info->format == GZ_FORMAT_GZIP && !peek.has_extra;
    gz_close(s);
    e->size = (uint64_t)e->f->in_stat.st_size;
    return is_plain && expand_has_marks(e, info->in_bytes);
}

/* Decompresses a file by all ranks.  On rank 0, the input must be open. */
static enum expand_result expand_by_all(struct together *e, const struct gz_info *info)
{
    struct file *f = e->f;
    uint64_t header = info->in_bytes, members = 0, last = 0;
    enum expand_result result = EXPAND_FAILED;
    struct borrowed b = {0};
    bool ok = true;

    if (e->r->rank == 0) {
        f->output.is_shared = true;
        ok = decompress_restore_name(f, info) && file_open_output(f);
        if (ok)
            file_announce(f);
    }
    if (ranks_agree(e->r, ok)) {
        ranks_share(e->r, &header, sizeof(header));
        if (share_file(e, &b))
            result = expand_together(e, header, &members, &last);
        ok = close_output(e, result == EXPAND_DONE);
        if (!ok && result == EXPAND_DONE)
            result = EXPAND_FAILED;
    }
    if (e->r->rank == 0 && result != EXPAND_NOT_HERE) {
        if (result == EXPAND_DONE)
            file_report(f, e->size - (members == 1 ? header + GZ_TRAILER_SIZE : 0), last);
        file_finish(f, result == EXPAND_DONE);
        end_file(f, result == EXPAND_DONE && f->m.status != STATUS_ERROR);
    }
    end_sharing(e, &b);
    return result;
}

static void expand(struct mpi_run *w, const char *operand, struct messages *m)
{
    const struct ranks *r = &w->all;
    struct file f = new_file(w, operand);
    struct together e = {.t = &w->tools, .r = r, .f = &f};
    struct gz_info info = {0};
    enum { NOTHING, SHARE, HERE } how = NOTHING;
    bool is_open = false, has_tried = false;

    if (r->rank == 0) {
        is_open = file_open(&f);
        if (is_open)
            how = may_share(&e, &info) ? SHARE : HERE;
    }
    ranks_share(r, &how, sizeof(how));
    if (how == SHARE && expand_by_all(&e, &info) == EXPAND_NOT_HERE) {
        how = HERE;
        has_tried = true;
    }
    if (r->rank == 0 && has_tried) {
        /* Begin again from the start. */
        file_finish(&f, false);
        file_discard(&f);
        msg_discard(&f.m);
        f = new_file(w, operand);
        is_open = file_open(&f);
    }
    if (r->rank == 0 && how == HERE && is_open) {
        if (r->count > 1 &&
            (w->o->verbose > 1 || (w->o->verbose > 0 && f.in_stat.st_size >= EXPECTS_MARKS)))
            msg_note(&f.m, "%s: %s: one rank decompresses it", f.name,
                     has_tried ? "its parts do not fit together" : "it has no marks");
        expand_here(w, &f);
    } else if (r->rank == 0 && !is_open) {
        file_discard(&f);
    }
    ranks_tell(r, &f.m);
    *m = f.m;
}

/* --- All operands --------------------------------------------------------------------------- */

/* Sets sizes[i] to the size of each operand, as rank 0 sees it; 0 if it is not a regular file. */
static void look_at_sizes(struct mpi_run *w, uint64_t *sizes)
{
    struct stat st;

    for (int i = 0; i < w->o->name_count && w->all.rank == 0; i++)
        if (stat(w->o->names[i], &st) == 0 && S_ISREG(st.st_mode))
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the caller has memory for it */
            sizes[i] = (uint64_t)st.st_size;
    ranks_share(&w->all, sizes, (size_t)w->o->name_count * sizeof(*sizes));
}

/* Makes the library's object.  Returns false, with a message, if the object cannot be made.
 * `bytes` is the size of all operands. */
static bool make_object(struct mpi_run *w, uint64_t bytes)
{
    gzlzss_options options = GZLZSS_OPTIONS_INIT;
    const struct gpus_config *gpus = &w->o->pipeline.gpus;
    char error[GPU_ERROR_SIZE] = "";
    const int local = ranks_local();
    gzlzss_status status;
    int device = 0, devices = 0;

    options.level = w->o->pipeline.level;
    options.matcher = w->o->matcher;
    options.verify = w->o->pipeline.verify;
    options.threads = w->tools.threads;
    options.segment_size = w->o->pipeline.segment_size;
    options.backend = w->o->pipeline.backend == BACKEND_CPU   ? GZLZSS_CPU
                      : w->o->pipeline.backend == BACKEND_GPU ? GZLZSS_GPU
                                                              : GZLZSS_AUTO;
    if (options.backend == GZLZSS_AUTO && bytes / (uint64_t)w->all.count < GPU_MIN)
        options.backend = GZLZSS_CPU;
    if (options.backend != GZLZSS_CPU)
        devices = gpus->count > 0 ? gpus->count : gpu_count(error);
    if (devices > 0) {
        device = gpus->count > 0 ? gpus->numbers[local % devices] : local % devices;
        options.devices = &device;
        options.device_count = 1;
        if (!w->is_test)
            w->tools.wave = WAVE_GPU;
    }
    status = gzlzss_new(&w->tools.z, &options);
    if (status == GZLZSS_ERROR_GPU) {
        gzlzss_no_gpu(NULL, error, sizeof(error));
        msg_error(w->m, "cannot use a GPU: %s", error);
    } else if (status != GZLZSS_OK) {
        msg_error(w->m, "%s", gzlzss_status_text(status));
    }
    return status == GZLZSS_OK;
}

/* On rank 0, prints the messages about all operands before operand `end`.  On other ranks, drops
 * these messages. */
static void print_until(struct mpi_run *w, int end)
{
    if (w->all.rank == 0)
        msg_flush(w->m);
    for (; w->printed < end; w->printed++)
        if (w->all.rank == 0)
            msg_flush(&w->said[w->printed]);
        else
            msg_discard(&w->said[w->printed]);
}

static void work_on(struct mpi_run *w)
{
    const struct ranks alone = ranks_alone();
    const bool compresses = w->o->action == ACTION_COMPRESS;
    const int count = w->o->name_count;
    int *speaks = calloc((size_t)count, sizeof(*speaks));
    int next = 0;

    for (int i = 0; i < count; i++) {
        if (w->owner[i] == DEAL_TO_ALL && compresses)
            compress(w, &w->all, w->o->names[i], &w->said[i]);
        else if (w->owner[i] == DEAL_TO_ALL)
            expand(w, w->o->names[i], &w->said[i]);
        if (w->owner[i] == DEAL_TO_ALL && next == i)
            print_until(w, ++next);
    }
    for (int i = 0; i < count; i++) {
        if (w->owner[i] != w->all.rank)
            continue;
        if (compresses)
            compress(w, &alone, w->o->names[i], &w->said[i]);
        else
            expand_alone(w, w->o->names[i], &w->said[i]);
    }
    for (int i = 0; i < count; i++) {
        msg_merge_status(w->m, &w->said[i]);
        if (speaks != NULL)
            speaks[i] = w->owner[i] == w->all.rank && w->said[i].length > 0;
    }
    /* Find out which rank has messages about which file.  If the ranks agree, all have memory. */
    if (ranks_agree(&w->all, speaks != NULL)) {
        MPI_Allreduce(MPI_IN_PLACE, speaks, count, MPI_INT, MPI_MAX, w->all.comm);
        for (int i = 0; i < count; i++)
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as it says above */
            if (w->owner[i] != DEAL_TO_ALL && speaks[i] != 0)
                ranks_hand_over(&w->all, &w->said[i], w->owner[i]);
    }
    print_until(w, count);
    free(speaks);
}

/* Sets the status to the worst of all ranks. */
static void agree_on_status(struct mpi_run *w)
{
    int mine = w->m->status == STATUS_ERROR ? 2 : w->m->status == STATUS_WARNING ? 1 : 0, all;

    ranks_meet(&w->all);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, w->all.comm);
    w->m->status = all == 2 ? STATUS_ERROR : all == 1 ? STATUS_WARNING : STATUS_OK;
}

/* Makes the fields `wave` and `most_threads` the same on all ranks, since each rank has to compute
 * where the other ranks' runs begin.  Machines may differ in processors or in having a GPU, so all
 * ranks use the smallest `wave` of any rank. */
static void agree_on_tools(struct mpi_run *w)
{
    uint64_t mine = w->tools.wave, least;

    ranks_meet(&w->all);
    MPI_Allreduce(&mine, &least, 1, MPI_UINT64_T, MPI_MIN, w->all.comm);
    w->tools.wave = (size_t)least;
    MPI_Allreduce(&w->tools.threads, &w->tools.most_threads, 1, MPI_INT, MPI_MAX, w->all.comm);
}

/* The most bytes of input that a rank with `threads` threads compresses in a wave. */
static size_t wave_of(int threads)
{
    const size_t wave = (size_t)threads * WAVE_THREAD;

    return wave < WAVE_MIN ? WAVE_MIN : wave > WAVE_MAX ? WAVE_MAX : wave;
}

void mpi_operands_process(const struct options *o, struct messages *m)
{
    const char *test = getenv("GZLZSS_TEST_MPI_WAVE");
    struct mpi_run w = {.o = o, .m = m, .all = ranks_all()};
    const size_t count = (size_t)o->name_count;
    uint64_t *sizes = calloc(count, sizeof(*sizes)), total = 0;
    bool ok, dealt;

    w.owner = calloc(count, sizeof(*w.owner));
    w.said = calloc(count, sizeof(*w.said));
    w.tools = (struct rank_tools){
        .o = o,
        .threads = o->threads_given ? o->pipeline.threads : ranks_threads(),
    };
    w.is_test = test != NULL;
    w.tools.wave = w.is_test ? (size_t)strtoull(test, NULL, 10) : wave_of(w.tools.threads);
    w.all_together = w.is_test || testing_region() > 0;
    ok = sizes != NULL && w.owner != NULL && w.said != NULL;
    if (!ok)
        msg_error(m, "memory exhausted");
    if (ranks_agree(&w.all, ok)) {
        look_at_sizes(&w, sizes);
        for (size_t i = 0; i < count; i++)
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): all ranks have memory */
            total += sizes[i];
        dealt = deal_files(w.owner, sizes, count, w.all.count, w.all_together);
        if (!dealt)
            msg_error(m, "memory exhausted");
        for (size_t i = 0; i < count; i++)
            w.said[i] = (struct messages){.program = m->program, .collect = true};
        /* All ranks must call make_object, even a rank that has failed, because ranks_local needs
         * all ranks. */
        ok = o->action != ACTION_COMPRESS || make_object(&w, total);
        if (ranks_agree(&w.all, ok && dealt)) {
            agree_on_tools(&w);
            work_on(&w);
        } else {
            ranks_tell(&w.all, m);
        }
    } else {
        ranks_tell(&w.all, m);
    }
    agree_on_status(&w);
    gzlzss_free(w.tools.z);
    if (w.tools.p != NULL)
        pipeline_free(w.tools.p);
    free(sizes);
    free(w.owner);
    free(w.said);
}
