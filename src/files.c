/*
 * files.c - what happens to one operand: names, opening, attributes, and removing what is done with
 *
 * The order of things is what keeps data safe: the output is created with a name that did not exist
 * and, until it is complete, goes if anything fails or a signal comes; only when it has been
 * written, given its attributes and closed without an error is the input removed.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat/gzip.h"
#include "compat/inflate.h"
#include "src/cleanup.h"
#include "src/files.h"
#include "src/io.h"

/* Everything about the operand at hand. */
struct task {
    const struct options *o;
    struct pipeline *pipeline;
    struct messages *m;
    const char *name;  /* of the input, as messages show it */
    char *found_name;  /* of the input where it is not the operand's; to be freed */
    char *output_name; /* to be freed; NULL: standard output, or none for -t */
    bool is_stdin;
    int in_fd, out_fd; /* -1 if not open */
    struct stat in_stat;
};

/* Suffixes of compressed files, and what decompression puts in their place. */
static const struct {
    const char *suffix;
    const char *replacement;
} suffixes[] = {{".gz", ""}, {".tgz", ".tar"}, {".taz", ".tar"}, {"-gz", ""},
                {".z", ""},  {"-z", ""},       {"_z", ""}};

/* The index of the suffix a name ends in (in any case, and not all of the name), or -1. */
static int find_suffix(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t n = strlen(suffixes[i].suffix);

        if (length > n && name[length - n - 1] != '/' &&
            strcasecmp(name + length - n, suffixes[i].suffix) == 0)
            return (int)i;
    }
    return -1;
}

/* a[0..n) followed by b; NULL if memory is short. */
static char *concatenate(const char *a, size_t n, const char *b)
{
    char *s = malloc(n + strlen(b) + 1);

    if (s != NULL) {
        memcpy(s, a, n);
        strcpy(s + n, b);
    }
    return s;
}

static bool out_of_memory(struct task *t)
{
    msg_error(t->m, t->name, "memory exhausted");
    return false;
}

/* The name in messages about the output. */
static const char *output_in_messages(const struct task *t)
{
    return t->output_name != NULL ? t->output_name : "stdout";
}

static bool open_input(struct task *t)
{
    const struct options *o = t->o;
    /* What may be removed has to be a regular file, and opening must not wait for someone to open
     * the other end of a FIFO before that is known; -f is only about links. */
    const bool in_place = !o->to_stdout && o->action != ACTION_TEST;
    const int flags = O_RDONLY | O_NOCTTY | O_CLOEXEC | (in_place ? O_NONBLOCK : 0) |
                      (in_place && !o->force ? O_NOFOLLOW : 0);

    if (t->is_stdin) {
        t->in_fd = STDIN_FILENO;
        t->name = "stdin";
        if (o->action != ACTION_COMPRESS && !o->force && isatty(t->in_fd)) {
            msg_error(t->m, NULL,
                      "compressed data not read from a terminal. Use -f to force decompression.\n"
                      "For help, type: %s -h",
                      t->m->program);
            return false;
        }
        if (fstat(t->in_fd, &t->in_stat) != 0) {
            msg_error(t->m, t->name, "%s", strerror(errno));
            return false;
        }
        return true;
    }
    t->in_fd = open(t->name, flags);
    if (t->in_fd < 0 && errno == ENOENT && o->action != ACTION_COMPRESS &&
        find_suffix(t->name) < 0) {
        t->found_name = concatenate(t->name, strlen(t->name), ".gz");
        if (t->found_name == NULL)
            return out_of_memory(t);
        t->in_fd = open(t->found_name, flags);
        t->name = t->found_name;
    }
    if (t->in_fd < 0 || fstat(t->in_fd, &t->in_stat) != 0) {
        msg_error(t->m, t->name, "%s", strerror(errno));
        return false;
    }
    if (S_ISDIR(t->in_stat.st_mode)) {
        msg_warning(t->m, t->name, "is a directory -- ignored");
        return false;
    }
    if (in_place) {
        if (!S_ISREG(t->in_stat.st_mode)) {
            msg_warning(t->m, t->name, "is not a directory or a regular file - ignored");
            return false;
        }
        if (t->in_stat.st_nlink > 1 && !o->force) {
            unsigned long others = (unsigned long)t->in_stat.st_nlink - 1;

            msg_warning(t->m, t->name, "has %lu other link%s -- file ignored", others,
                        others == 1 ? "" : "s");
            return false;
        }
    }
    return true;
}

/* Decides what the output is called; false, with a message, if the file is to be left alone. */
static bool name_output(struct task *t)
{
    size_t length = strlen(t->name);
    int suffix;

    if (t->is_stdin || t->o->to_stdout || t->o->action == ACTION_TEST)
        return true;
    suffix = find_suffix(t->name);
    if (t->o->action == ACTION_COMPRESS) {
        if (suffix >= 0) {
            /* Not even a warning: "gzlzss *" is meant to pass over what it did before. */
            if (!t->m->quiet)
                msg_note(t->m, t->name, "already has %s suffix -- unchanged",
                         t->name + length - strlen(suffixes[suffix].suffix));
            return false;
        }
        t->output_name = concatenate(t->name, length, ".gz");
    } else {
        if (suffix < 0) {
            msg_warning(t->m, t->name, "unknown suffix -- ignored");
            return false;
        }
        t->output_name = concatenate(t->name, length - strlen(suffixes[suffix].suffix),
                                     suffixes[suffix].replacement);
    }
    return t->output_name != NULL || out_of_memory(t);
}

/* Asks whether an existing file may go; only a person at a terminal can say yes. */
static bool may_overwrite(struct task *t)
{
    char answer[16] = "";
    bool yes = false;

    if (t->o->force)
        return true;
    if (isatty(STDIN_FILENO)) {
        fprintf(stderr, "%s: %s already exists; do you wish to overwrite (y or n)? ", t->m->program,
                t->output_name);
        fflush(stderr);
        yes =
            fgets(answer, sizeof(answer), stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
        if (!yes)
            msg_warning(t->m, NULL, "%s not overwritten", t->output_name);
    } else {
        msg_warning(t->m, t->output_name, "already exists; not overwritten");
    }
    return yes;
}

/* Removes the file that has the output's name, unless that is the input, reached through a link. */
static bool remove_old_output(struct task *t)
{
    struct stat old, operand;

    if (lstat(t->output_name, &old) == 0 && old.st_dev == t->in_stat.st_dev &&
        old.st_ino == t->in_stat.st_ino && lstat(t->name, &operand) == 0 &&
        S_ISLNK(operand.st_mode)) {
        msg_error(t->m, t->output_name, "input and output are the same file");
        return false;
    }
    if (unlink(t->output_name) != 0) {
        msg_error(t->m, t->output_name, "%s", strerror(errno));
        return false;
    }
    return true;
}

static bool open_output(struct task *t)
{
    /* Nobody else may read what is not yet known to be for them. */
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int error;

    if (t->o->action == ACTION_TEST)
        return true;
    if (t->output_name == NULL) {
        if (t->o->action == ACTION_COMPRESS && !t->o->force && isatty(STDOUT_FILENO)) {
            msg_error(t->m, NULL,
                      "compressed data not written to a terminal. Use -f to force compression.\n"
                      "For help, type: %s -h",
                      t->m->program);
            return false;
        }
        t->out_fd = STDOUT_FILENO;
        return true;
    }
    for (int tries = 0;; tries++) {
        cleanup_hold();
        t->out_fd = open(t->output_name, flags, S_IRUSR | S_IWUSR);
        error = errno;
        if (t->out_fd >= 0)
            cleanup_arm(t->output_name);
        cleanup_release();
        if (t->out_fd >= 0)
            return true;
        if (error != EEXIST || tries > 0)
            break;
        if (!may_overwrite(t) || !remove_old_output(t))
            return false;
    }
    msg_error(t->m, t->output_name, "%s", strerror(error));
    return false;
}

/* Gives the output the input's owner, mode and times. */
static void copy_attributes(struct task *t)
{
    const struct timespec times[2] = {t->in_stat.st_atim, t->in_stat.st_mtim};
    mode_t mode = t->in_stat.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);

    /* Only root may give files away; group access is for the input's group alone. */
    if (fchown(t->out_fd, t->in_stat.st_uid, t->in_stat.st_gid) != 0 &&
        fchown(t->out_fd, (uid_t)-1, t->in_stat.st_gid) != 0)
        mode &= ~(mode_t)S_IRWXG;
    if (fchmod(t->out_fd, mode) != 0)
        msg_warning(t->m, t->output_name, "%s", strerror(errno));
    if (futimens(t->out_fd, times) != 0)
        msg_warning(t->m, t->output_name, "%s", strerror(errno));
}

/* Completes the output if all went well, else removes it; then removes the input if it is to go. */
static void finish_output(struct task *t, bool ok)
{
    if (t->output_name == NULL || t->out_fd < 0)
        return;
    if (ok)
        copy_attributes(t);
    if (close(t->out_fd) != 0 && ok) {
        msg_error(t->m, t->output_name, "%s", strerror(errno));
        ok = false;
    }
    t->out_fd = -1;
    cleanup_hold();
    if (!ok)
        unlink(t->output_name);
    cleanup_disarm();
    if (ok && !t->o->keep && unlink(t->name) != 0)
        msg_warning(t->m, t->name, "%s", strerror(errno));
    cleanup_release();
}

/* "74.9%": how much smaller; what is left of `whole` is `part`. */
static void print_ratio(uint64_t part, uint64_t whole)
{
    double saved = whole == 0 ? 0 : 100.0 * ((double)whole - (double)part) / (double)whole;

    fprintf(stderr, "%5.1f%%", saved);
}

static void report(const struct task *t, uint64_t deflated, uint64_t original)
{
    if (t->o->verbose == 0)
        return;
    fprintf(stderr, "%s:\t", t->name);
    if (t->o->action == ACTION_TEST) {
        fprintf(stderr, " OK\n");
        return;
    }
    print_ratio(deflated, original);
    if (t->output_name != NULL)
        fprintf(stderr, " -- %s %s", t->o->keep ? "created" : "replaced with", t->output_name);
    fputc('\n', stderr);
}

/* What -vv adds: which engine did how much, and where the time went. */
static void report_work(const struct task *t, const struct pipeline_stats *s)
{
    const char *trouble = pipeline_gpu_trouble(t->pipeline);

    if (trouble[0] != '\0')
        msg_note(t->m, t->name, "GPU not used: %s", trouble);
    if (t->o->verbose < 2)
        return;
    msg_note(t->m, t->name, "segments matched: %llu by CPU, %llu by GPU (%s), %llu of these redone",
             (unsigned long long)s->cpu_segments, (unsigned long long)s->gpu_segments,
             pipeline_gpu_name(t->pipeline) != NULL ? pipeline_gpu_name(t->pipeline) : "none",
             (unsigned long long)s->redone_segments);
    msg_note(t->m, t->name,
             "thread seconds: read %.3f, match %.3f, encode %.3f, write %.3f; "
             "GPU seconds: copy in %.3f, kernels %.3f, copy out %.3f",
             s->read, s->match, s->encode, s->write, s->gpu.copy_in, s->gpu.kernels,
             s->gpu.copy_out);
}

static bool compress(struct task *t)
{
    const char *base = strrchr(t->name, '/');
    struct pipeline_stats stats;
    enum pipeline_status status;
    uint8_t *header;
    size_t header_len;
    uint32_t mtime = 0;
    int error;

    base = base != NULL ? base + 1 : t->name;
    if (t->is_stdin || t->o->no_name)
        base = NULL;
    /* A pipe has no time worth storing. */
    if (!t->o->no_name && S_ISREG(t->in_stat.st_mode) && t->in_stat.st_mtim.tv_sec > 0 &&
        t->in_stat.st_mtim.tv_sec <= UINT32_MAX)
        mtime = (uint32_t)t->in_stat.st_mtim.tv_sec;
    header = malloc(GZ_HEADER_SIZE + strlen(t->name) + 1);
    if (header == NULL)
        return out_of_memory(t);
    header_len = gz_write_header(header, base, mtime, t->o->pipeline.level);

    status =
        pipeline_compress(t->pipeline, t->in_fd, t->out_fd, header, header_len, &stats, &error);
    free(header);
    switch (status) {
    case PIPELINE_OK:
        break;
    case PIPELINE_READ_ERROR:
        msg_error(t->m, t->name, "%s",
                  error == ENODATA ? "file became shorter while it was read" : strerror(error));
        return false;
    case PIPELINE_WRITE_ERROR:
        msg_error(t->m, output_in_messages(t), "%s", strerror(error));
        return false;
    case PIPELINE_NO_MEMORY:
        return out_of_memory(t);
    case PIPELINE_WRONG:
        msg_error(t->m, t->name, "internal error: the match finder was wrong; please report this");
        return false;
    }
    if (t->o->verbose > 0) {
        report_work(t, &stats);
        report(t, stats.out_bytes - header_len - GZ_TRAILER_SIZE, stats.in_bytes);
    }
    return true;
}

/* For gz_decompress. */
static ssize_t read_input(void *ctx, void *buf, size_t len)
{
    const struct task *t = ctx;

    return io_read(t->in_fd, buf, len);
}

static int write_output(void *ctx, const void *buf, size_t len)
{
    const struct task *t = ctx;

    if (t->o->action == ACTION_TEST)
        return 0;
    return io_write(t->out_fd, buf, len) ? 0 : -1;
}

static bool decompress(struct task *t)
{
    const struct gz_io io = {.read = read_input,
                             .write = write_output,
                             .ctx = t,
                             .copy_unknown = t->o->force && t->out_fd == STDOUT_FILENO};
    struct gz_info info;
    enum gz_status status = gz_decompress(&io, &info);

    switch (status) {
    case GZ_OK:
        /* Tapes and their like are filled up with zeros; only who asks wants to know. */
        if (info.zeros_follow && t->o->verbose > 0)
            msg_warning(t->m, t->name, "decompression OK, trailing zero bytes ignored");
        break;
    case GZ_TRAILING_GARBAGE:
        msg_warning(t->m, t->name, "%s", gz_status_message(status));
        break;
    case GZ_READ_ERROR:
        msg_error(t->m, t->name, "%s", strerror(errno));
        return false;
    case GZ_WRITE_ERROR:
        msg_error(t->m, output_in_messages(t), "%s", strerror(errno));
        return false;
    case GZ_UNKNOWN_METHOD:
        msg_error(t->m, t->name, "unknown method %u -- not supported", info.unknown);
        return false;
    default:
        msg_error(t->m, t->name, "%s", gz_status_message(status));
        return false;
    }
    report(t, info.deflate_bytes, info.out_bytes);
    return true;
}

void file_process(const char *name, const struct options *o, struct pipeline *p, struct messages *m)
{
    struct task t = {.o = o,
                     .pipeline = p,
                     .m = m,
                     .name = name,
                     .is_stdin = strcmp(name, "-") == 0,
                     .in_fd = -1,
                     .out_fd = -1};

    if (open_input(&t) && name_output(&t) && open_output(&t))
        finish_output(&t, o->action == ACTION_COMPRESS ? compress(&t) : decompress(&t));
    if (t.in_fd >= 0 && !t.is_stdin)
        close(t.in_fd);
    free(t.found_name);
    free(t.output_name);
}
