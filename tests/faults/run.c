/*
 * run.c - runs a scenario once, with a fault or without (run.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/run.h"

#define ARGUMENTS_MAX 32
#define PIPE_SIZE (1 << 20)
#define FEED_SIZE 20000

/* The time of all files of a scenario, in seconds since 1970. */
#define FILE_TIME 1000000000

static void die(const char *what)
{
    perror(what);
    exit(3);
}

void place_make(struct place *p, const struct tools *t, int number)
{
    struct shared empty;
    int fd;

    memset(&empty, 0, sizeof(empty));
    p->home = text_of("%s/%d", t->work, number);
    p->files = text_of("%s/files", p->home);
    p->in = text_of("%s/in", p->home);
    p->out = text_of("%s/out", p->home);
    p->err = text_of("%s/err", p->home);
    p->other = text_of("%s/other", p->home);
    p->counts = text_of("%s/counts", p->home);
    if (mkdir(p->home, 0700) != 0 && errno != EEXIST)
        die(p->home);
    bytes_write(p->counts, (struct bytes){(uint8_t *)&empty, sizeof(empty)});
    fd = open(p->counts, O_RDWR | O_CLOEXEC);
    p->shared =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(empty), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p->shared == MAP_FAILED)
        die(p->counts);
    close(fd);
}

/* Whether it is a directory that another process renames. */
static bool moves(const struct scenario *s)
{
    return s->changing != NULL && s->changing[strlen(s->changing) - 1] == '/';
}

/* --- The files ------------------------------------------------------------------------------ */

/* Makes the directories above a path that begins with `base`. */
static void make_directories(const char *base, char *path)
{
    for (char *slash = path + strlen(base); (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            die(path);
        *slash = '/';
    }
}

static void make_file(const struct tools *t, const char *base, const char *spec, size_t length)
{
    const struct timespec times[2] = {{.tv_sec = FILE_TIME}, {.tv_sec = FILE_TIME}};
    const char *equals = memchr(spec, '=', length);
    const size_t name = (size_t)(equals - spec);
    char *path = text_of("%s/%.*s", base, (int)name, spec);

    make_directories(base, path);
    bytes_write(path, contents_find(&t->contents, equals + 1, length - name - 1));
    if (utimensat(AT_FDCWD, path, times, 0) != 0)
        die(path);
    free(path);
}

void run_prepare(const struct tools *t, const struct place *p, const struct scenario *s)
{
    const char *spec = s->files;

    tree_remove(p->files);
    if (mkdir(p->files, 0700) != 0)
        die(p->files);
    for (size_t length; *spec != '\0'; spec += length) {
        length = strcspn(spec, " ");
        make_file(t, p->files, spec, length);
        while (spec[length] == ' ')
            length++;
    }
    if (s->in != NULL)
        bytes_write(p->in, contents_find(&t->contents, s->in, strlen(s->in)));
    tree_remove(p->other);
    unlink(p->other);
    if (s->changing != NULL && !moves(s))
        bytes_write(p->other, contents_find(&t->contents, "small", 5));
}

/* --- The process ---------------------------------------------------------------------------- */

/* Starts a process that writes the scenario's input to a pipe.  Returns the pipe's other end. */
static int feed(const struct place *p, pid_t *feeder)
{
    int ends[2];
    struct bytes data;

    if (pipe2(ends, O_CLOEXEC) != 0)
        die("pipe2");
    *feeder = fork();
    if (*feeder < 0)
        die("fork");
    if (*feeder > 0) {
        close(ends[1]);
        return ends[0];
    }
    close(ends[0]);
    data = bytes_read(p->in);
    for (size_t at = 0; at < data.len; at += FEED_SIZE) {
        const size_t n = data.len - at < FEED_SIZE ? data.len - at : FEED_SIZE;

        if (write(ends[1], data.at + at, n) < 0)
            break;
    }
    _exit(0);
}

static void set_variables(const struct tools *t, const struct place *p, const struct scenario *s,
                          const char *what)
{
    const char *const unset[] = {"GZLZSS", "GZIP", "LD_PRELOAD", NULL};
    char *copy = strdup(s->environment != NULL ? s->environment : ""), *rest = copy, *word;
    const char *target = s->changing;

    for (size_t i = 0; unset[i] != NULL; i++)
        unsetenv(unset[i]);
    while ((word = strsep(&rest, " ")) != NULL)
        if (word[0] != '\0')
            putenv(word);
    if (what != NULL && strstr(what, "appear") != NULL)
        target = s->output;
    if (target != NULL)
        setenv("FAULT_FILE", text_of("%s/%s", p->files, target), 1);
    setenv("FAULT_OTHER", p->other, 1);
    setenv("FAULT_SHARED", p->counts, 1);
    setenv("LC_ALL", "C", 1);
    if (what != NULL)
        setenv("FAULT", what, 1);
    if (s->program != PROGRAM_RANKS)
        setenv("LD_PRELOAD", t->shim, 1);
}

static void set_arguments(const struct tools *t, const struct scenario *s, char **argv)
{
    char *rest = strdup(s->arguments), *word;
    size_t n = 0;

    if (s->program == PROGRAM_RANKS) {
        static char *const words[] = {
            "--oversubscribe", "--allow-run-as-root", "-q", "-n", "2", "env"};

        argv[n++] = (char *)t->mpirun;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            argv[n++] = words[i];
        argv[n++] = text_of("LD_PRELOAD=%s", t->shim);
    }
    argv[n++] = (char *)t->programs[s->program];
    while ((word = strsep(&rest, " ")) != NULL && n < ARGUMENTS_MAX - 1)
        if (word[0] != '\0')
            argv[n++] = word;
    argv[n] = NULL;
}

static void redirect(const char *path, int flags, int to)
{
    const int fd = open(path, flags, 0600);

    if (fd < 0 || dup2(fd, to) < 0)
        _exit(97);
    if (fd != to)
        close(fd);
}

static void become(const struct tools *t, const struct place *p, const struct scenario *s,
                   const char *what, int in, int out)
{
    char *argv[ARGUMENTS_MAX];
    sigset_t none;

    setpgid(0, 0);
    if (in >= 0)
        dup2(in, STDIN_FILENO);
    else
        redirect(s->in != NULL ? p->in : "/dev/null", O_RDONLY, STDIN_FILENO);
    if (out >= 0)
        dup2(out, STDOUT_FILENO);
    else
        redirect(p->out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(p->err, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, STDERR_FILENO);
    set_variables(t, p, s, what);
    set_arguments(t, s, argv);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir(p->files) == 0)
        execv(argv[0], argv);
    _exit(96);
}

/* Waits for a process, and kills it when its time is over.  SIGCHLD is blocked. */
static void await(pid_t pid, struct result *r)
{
    struct timespec end, now, left;
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += RUN_SECONDS;
    while (waitpid(pid, &r->status, WNOHANG) == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        left = (struct timespec){.tv_sec = end.tv_sec - now.tv_sec};
        if (left.tv_sec > 0) {
            sigtimedwait(&child, NULL, &left);
            continue;
        }
        r->has_hung = true;
        kill(-pid, SIGKILL);
        waitpid(pid, &r->status, 0);
        break;
    }
}

static struct bytes read_pipe(int fd)
{
    struct bytes data = {malloc(PIPE_SIZE + 1), 0};
    ssize_t n;

    while (data.len < PIPE_SIZE && (n = read(fd, data.at + data.len, PIPE_SIZE - data.len)) > 0)
        data.len += (size_t)n;
    return data;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void run_once(const struct tools *t, const struct place *p, const struct scenario *s,
              const char *what, struct result *r)
{
    int in = -1, out[2] = {-1, -1};
    pid_t pid, feeder = -1;

    memset(r, 0, sizeof(*r));
    memset(p->shared, 0, sizeof(*p->shared));
    run_prepare(t, p, s);
    if ((s->flags & IN_PIPE) != 0)
        in = feed(p, &feeder);
    if ((s->flags & OUT_PIPE) != 0 &&
        (pipe2(out, O_CLOEXEC) != 0 || fcntl(out[1], F_SETPIPE_SZ, PIPE_SIZE) < 0))
        die("pipe2");
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0)
        become(t, p, s, what, in, out[1]);
    close_if_open(in);
    close_if_open(out[1]);
    await(pid, r);
    if (feeder > 0)
        waitpid(feeder, NULL, 0);
    r->out = out[0] >= 0 ? read_pipe(out[0]) : bytes_read(p->out);
    r->err = bytes_read(p->err);
    close_if_open(out[0]);
    tree_add(&r->tree, p->files, "");
    if (moves(s)) {
        char *name = strndup(s->changing, strlen(s->changing) - 1);

        tree_add(&r->tree, p->other, name);
        free(name);
    }
    memcpy(&r->shared, p->shared, sizeof(r->shared));
}

void result_free(struct result *r)
{
    tree_free(&r->tree);
    free(r->out.at);
    free(r->err.at);
}

void run_print(FILE *to, const struct tools *t, const struct place *p, const struct scenario *s,
               const char *what)
{
    const char *target = strstr(what, "appear") != NULL ? s->output : s->changing;

    fprintf(to, "cd '%s' && ", p->files);
    if (s->in != NULL)
        fprintf(to, (s->flags & IN_PIPE) != 0 ? "cat '%s' | " : "<'%s' ", p->in);
    if (s->environment != NULL)
        fprintf(to, "%s ", s->environment);
    if (target != NULL)
        fprintf(to, "FAULT_FILE='%s/%s' FAULT_OTHER='%s' ", p->files, target, p->other);
    fprintf(to, "LC_ALL=C FAULT='%s' ", what);
    if (s->program == PROGRAM_RANKS)
        fprintf(to, "%s -n 2 env ", t->mpirun);
    fprintf(to, "LD_PRELOAD='%s' '%s' %s%s\n", t->shim, t->programs[s->program], s->arguments,
            (s->flags & OUT_PIPE) != 0 ? " | cat" : "");
}
