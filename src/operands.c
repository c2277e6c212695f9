/*
 * operands.c - works on one operand after another, through directories, and files side by side
 *
 * All files of a run are jobs of one pipeline, whose threads, and perhaps GPUs, work on several
 * files at a time.  The result must be the same as if one file were done after the other.
 * Therefore:
 *
 * - The main thread makes files final, and prints their messages, in order (file_commit).  If gzip
 *   would have ended at a file, the work on all later files is undone.
 * - A file that may be the output of a file under way, or may have the same output, waits for that
 *   file.
 * - Files about which the user may be asked, and files that are not regular, are worked on alone.
 * - A file may change after it was read, while it waits for earlier files.  gzip would not have
 *   read it so early.  So such a file is worked on again when its turn comes.
 * - Several files at a time need more disk space, more memory and more descriptors.  A file that
 *   fails because these are short is worked on again, alone (`again` in line.c).  Before that, all
 *   earlier files are made final, and the work on all later files is undone.
 *
 * When you add an option that makes files depend on each other, look at may_be_side_by_side,
 * is_plain and has_output.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "src/alone.h"
#include "src/compress.h"
#include "src/filelist.h"
#include "src/indexes.h"
#include "src/line.h"
#include "src/names.h"
#include "src/operands.h"
#include "src/walk.h"

/* The state of a run. */
struct operands {
    struct run run;
    struct line line;
    struct walk walk;
    struct last_directory last;
    /* Files are worked on side by side, and the user may be asked whether to overwrite one. */
    bool may_ask;
    uint64_t to_come; /* files that were found and not worked on yet */
};

/* Finishes the files under way, then ends the run with the error that memory is short. */
static void out_of_memory(struct operands *w)
{
    line_drain(&w->line);
    msg_error(w->run.m, "memory exhausted");
    w->run.m->stop = true;
}

/* --- How a file is worked on ---------------------------------------------------------------- */

/* Whether a file can be worked on while others are. */
static bool is_plain(const struct operands *w, const struct stat *st)
{
    return w->run.side_by_side && S_ISREG(st->st_mode) &&
           /* With -f, a file with several hard links may be found, and worked on, under each of its
            * names. */
           (st->st_nlink == 1 || !w->run.o->force);
}

/* Whether the output exists already, so that -f removes it or the user is asked.  Such a file must
 * be worked on alone.  Otherwise, -f could remove the old output although the program then ends at
 * an earlier file, and the question could come before questions about earlier files. */
static bool has_output(struct operands *w, const char *name, struct directory *directory)
{
    const struct options *o = w->run.o;
    const char *base = names_base(name), *suffix = names_packed_suffix(base, o->suffix);
    struct destination to;
    char *output = NULL;
    struct stat st;
    bool is_there;

    if (o->action == ACTION_TEST)
        return false;
    /* If the output's name is too long, it will be shortened, and may then be equal to another
     * output's. */
    if (strlen(base) + strlen(o->suffix) > NAME_MAX)
        return true;
    if (!w->may_ask && (!o->force || o->atomic))
        return false;
    if (!destination_find(&to, &w->run.outputs, o, name, directory))
        return true;
    if (o->action == ACTION_COMPRESS)
        output = names_join(base, strlen(base), o->suffix);
    else if (suffix != NULL)
        output = names_join(base, (size_t)(suffix - base), names_replacement(suffix));
    is_there = output == NULL || fstatat(to.directory->fd, output, &st, AT_SYMLINK_NOFOLLOW) == 0;
    free(output);
    return is_there;
}

/* --- Directories ---------------------------------------------------------------------------- */

/* Whether files in the directory `operand`, which is in `directory`, must be opened by whole
 * paths.  True if the operand is a symbolic link.  If the link leads to a directory above, the walk
 * finds the link again and again, each time with one more link in the path.  The system limits the
 * links in a path, so the walk ends. */
static bool is_by_path(const char *operand, const struct directory *directory)
{
    const char *base = names_base(operand);
    struct stat st;

    /* Only a name that the user gave can end with a slash; a name found in a directory does not. */
    if (base[0] == '\0')
        return false;
    return !directory->is_open ||
           (fstatat(directory->fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode));
}

/* Enters the directory whose path is w->walk.path.  fd is a descriptor of the directory; this
 * function closes it. */
static void enter(struct operands *w, int fd, bool by_path)
{
    int copy = by_path ? -1 : dup(fd), error = 0;
    struct directory *d;
    long found = -1;

    if (!by_path && copy < 0) {
        line_drain(&w->line); /* this frees descriptors */
        copy = dup(fd);
        error = copy < 0 ? errno : 0;
    }
    d = directory_new(copy);
    /* The user may name a directory twice.  If files in it are still under way, the walk would take
     * their partial outputs for inputs, so finish these files first. */
    if (d != NULL && line_is_busy(&w->line, d))
        line_drain(&w->line);
    if (d == NULL || error != 0) {
        close(fd);
        directory_release(d);
        error = error != 0 ? error : ENOMEM;
    } else {
        found = walk_enter(&w->walk, d, fd, by_path);
        error = found < 0 ? errno : 0;
    }
    progress_found(&w->run.progress, found < 0 ? -1 : found - 1);
    if (error != 0) {
        line_drain(&w->line);
        msg_error(w->run.m, "%s: %s", w->walk.path, strerror(error));
    } else {
        w->to_come += (uint64_t)found;
    }
}

/* Works on an operand, or on a file found in a directory.  Submits a file to the line, or works on
 * it alone.  Enters a directory.  `name` is w->walk.path. */
static void do_file(struct operands *w, const char *name, struct directory *directory)
{
    const bool is_known =
        directory->is_open && names_base(name)[0] != '\0' && strcmp(name, "-") != 0;
    struct stat st = {0};
    int fd;

    w->to_come -= w->to_come > 0;
    if (w->run.m->stop)
        return;
    if (is_known && fstatat(directory->fd, names_base(name), &st, AT_SYMLINK_NOFOLLOW) == 0) {
        /* Each entry of the line has a copy of the name.  The limit on the name's length keeps the
         * entries from taking too much memory. */
        if (is_plain(w, &st) && strlen(name) < PATH_MAX && !has_output(w, name, directory) &&
            line_submit(&w->line, name, directory, (uint64_t)st.st_size, w->to_come))
            return;
        if (S_ISDIR(st.st_mode) && w->run.o->recursive) {
            fd = io_open_at(directory->fd, names_base(name),
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
            if (fd >= 0) {
                enter(w, fd, false);
                return;
            }
        }
    }
    line_drain(&w->line);
    if (w->run.m->stop)
        return;
    fd = alone_do(&w->run, name, directory);
    if (fd >= 0)
        enter(w, fd, is_by_path(name, directory));
}

/* Leaves out an entry of directory d, whose path is w->walk.path, if it is the index of a file
 * beside it.  Otherwise, a run with --index would compress the indexes of an earlier run, and would
 * make indexes of these. */
static bool leave_out(struct operands *w, const struct directory *d)
{
    const char *const name = w->walk.path;

    if (!indexes_is_beside(d->fd, d->is_open ? names_base(name) : name, w->run.o->suffix))
        return false;
    w->to_come -= w->to_come > 0;
    progress_found(&w->run.progress, -1);
    if (w->run.o->verbose > 0) {
        line_drain(&w->line);
        msg_note(w->run.m, "%s is an index -- unchanged", name);
    }
    return true;
}

/* Works on all files in the directory that `enter` has entered, and in the directories below it.
 * Does nothing if no directory was entered. */
static void do_entries(struct operands *w)
{
    struct directory *d;
    bool has_drained = false;

    for (;;) {
        switch (walk_next(&w->walk, &d)) {
        case WALK_ENTRY:
            if (!leave_out(w, d))
                do_file(w, w->walk.path, d);
            has_drained = false;
            break;
        case WALK_END:
            return;
        case WALK_NO_MEMORY:
            out_of_memory(w);
            break;
        case WALK_LOST: {
            const int error = errno;

            if (!has_drained) {
                line_drain(&w->line); /* this frees descriptors */
                has_drained = true;
                break;
            }
            has_drained = false;
            if (error == ENOMEM)
                out_of_memory(w);
            else
                msg_error(w->run.m, "%s: %s", w->walk.path, strerror(error));
            walk_leave(&w->walk);
            break;
        }
        }
        if (w->run.m->stop)
            while (w->walk.depth > 0)
                walk_leave(&w->walk);
    }
}

/* --- All operands --- */

/* Whether the options allow files to be worked on side by side. */
static bool may_be_side_by_side(const struct options *o)
{
    const bool one_file = options_name_one(o);
    const bool in_order = o->action == ACTION_LIST || o->recover || o->range_count > 0 ||
                          (o->to_stdout && o->action != ACTION_TEST);
    /* A header may store any name, so names do not tell whether one file is another's output. */
    const bool restores_names = o->action == ACTION_DECOMPRESS && !o->no_name;
    /* names_hash needs a suffix that starts with a dot and has no other dot.  With -S z, a.g
     * becomes a.gz, and the two names have different hashes. */
    const bool plain_suffix = o->suffix[0] == '.' && strpbrk(o->suffix + 1, "./") == NULL;

    return o->pipeline.threads > 1 && !one_file && !o->makes_index && !in_order &&
           !restores_names && plain_suffix;
}

static void do_operand(struct operands *w, const char *operand)
{
    struct directory *directory;

    if (destination_goes_up(w->run.o, operand)) {
        line_drain(&w->line);
        msg_warning(w->run.m, "%s: has .. in its path -- ignored", operand);
        return;
    }
    directory = directory_of(&w->last, operand);
    if (directory != NULL && walk_begin(&w->walk, operand)) {
        do_file(w, w->walk.path, directory);
        do_entries(w);
    } else {
        out_of_memory(w);
    }
}

/* Works on one of the operands that --files-from names.  In such a list, "-" is the name of a file,
 * as in xz. */
static void do_listed(struct operands *w, const char *name)
{
    progress_found(&w->run.progress, 1);
    do_operand(w, strcmp(name, "-") == 0 ? "./-" : name);
}

/* Works on all operands that --files-from names. */
static void do_list(struct operands *w)
{
    const struct options *o = w->run.o;
    const char *path = strcmp(o->files_from, "-") == 0 ? "stdin" : o->files_from;
    struct messages *m = w->run.m;
    struct filelist list;
    enum filelist_step step =
        filelist_open(&list, o->files_from, o->null_names) ? FILELIST_NAME : FILELIST_ERROR;
    const char *name;
    int error = errno;

    if (o->name_count == 0)
        progress_found(&w->run.progress, -1); /* standard input was counted as a file, but is
                                               * none here */
    while (step == FILELIST_NAME && !m->stop) {
        /* The program that writes the names may wait until the files named so far are done. */
        if (filelist_waits(&list))
            line_drain(&w->line);
        step = filelist_next(&list, &name);
        error = errno;
        if (step == FILELIST_NAME)
            do_listed(w, name);
    }
    line_drain(&w->line);
    if (step == FILELIST_ERROR)
        msg_error(m, "%s: %s", path, strerror(error));
    else if (step == FILELIST_ZERO)
        msg_error(m, "%s: a name has a zero byte; for names that end with one, give --null", path);
    filelist_close(&list);
}

/* Works on all operands. */
static void do_all(struct operands *w)
{
    const struct options *o = w->run.o;

    if (o->name_count == 0 && o->files_from == NULL)
        do_operand(w, "-");
    for (int i = 0; i < o->name_count && !w->run.m->stop; i++)
        do_operand(w, o->names[i]);
    if (o->files_from != NULL && !w->run.m->stop)
        do_list(w);
    line_drain(&w->line);
}

static void begin_progress(struct progress *p, const struct options *o)
{
    progress_start(
        p, &(struct progress_run){
               .asked = o->progress,
               .verbose = o->verbose > 0 && !o->no_progress,
               .to_stdout = o->to_stdout || o->action == ACTION_LIST || o->json ||
                            (o->name_count == 0 && o->output == NULL && o->action != ACTION_TEST),
               .expanding = o->action != ACTION_COMPRESS,
               .recursive = o->recursive || o->files_from != NULL,
               .names = o->names,
               .name_count = o->name_count,
           });
}

bool operands_process(const struct options *o, struct messages *m)
{
    struct operands w = {
        .run = {.o = o,
                .config = o->pipeline,
                .m = m,
                .list = {.verbose = o->verbose > 0, .quiet = m->quiet, .exact = o->exact},
                .side_by_side = may_be_side_by_side(o)},
        .to_come = (uint64_t)o->name_count};
    struct run *run = &w.run;
    bool may_exit = true;

    w.may_ask = run->side_by_side && !o->force && (o->presume_input_tty || isatty(STDIN_FILENO));
    line_init(&w.line, run);
    run->config.caller_works = true;
    if (o->action != ACTION_COMPRESS) {
        run->config.expand_backend = run->config.backend;
        run->config.backend = BACKEND_CPU;
    }
    if (o->action != ACTION_COMPRESS && !options_name_one(o))
        run_keep_memory();
    /* If the user asks for a GPU and there is none, fail before any file is touched. */
    if (o->pipeline.backend == BACKEND_GPU) {
        if (!run_need_limits(run) || !run_need_pipeline(run, 0))
            return true;
    }
    begin_progress(&run->progress, o);
    m->progress = &run->progress;
    do_all(&w);
    progress_end(&run->progress);
    m->progress = NULL;
    if (o->action == ACTION_COMPRESS && o->verbose > 1 && run->pipeline != NULL &&
        !options_name_one(o))
        compress_report_run(m, run->pipeline);
    if (o->action == ACTION_LIST && (o->name_count > 1 || o->files_from != NULL) && !o->json &&
        !m->quiet && !m->stop)
        list_print_totals(&run->list);
    directory_forget(&w.last);
    directory_forget(&run->outputs);
    line_free(&w.line);
    walk_free(&w.walk);
    if (run->pipeline != NULL)
        may_exit = pipeline_leave(run->pipeline);
    return may_exit;
}
