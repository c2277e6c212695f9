/*
 * main.c - the command: reads the options, then works on one operand after another
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/thread.h"
#include "gpu/gpu.h"
#include "src/cleanup.h"
#include "src/destination.h"
#include "src/devices.h"
#include "src/leave.h"
#include "src/messages.h"
#include "src/operands.h"
#include "src/options.h"
#include "src/testing.h"
#include "src/version.h"

/* Makes sure that descriptors 0 to 2 are open.  If one of them were closed, the next file that is
 * opened would get its number, and messages could be written into that file.  So this function
 * opens each closed one on the root directory, which always exists.  Reading or writing it fails
 * then, as with a closed descriptor.  False if opening fails. */
static bool take_standard_descriptors(bool *stdin_is_closed)
{
#ifdef O_PATH
    const int flags = O_PATH;
#else
    const int flags = O_RDONLY;
#endif

    *stdin_is_closed = fcntl(STDIN_FILENO, F_GETFD) < 0 && errno == EBADF;
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/", flags) != fd)
            return false;
    return true;
}

/* Tells the GPU's driver, by an environment variable, how many queues to make.  A value set by the
 * user stays.  Call it before any thread starts, since other threads may read the environment. */
static void choose_queues(const struct lz_level *level)
{
    const int queues = gpu_queues(level);
    char text[16];

    if (queues == 0)
        return;
    snprintf(text, sizeof(text), "%d", queues);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", text, 0);
}

/* Closes standard output, and prints an error if that fails.  Some file systems report only at this
 * moment that the disk is full. */
static void close_stdout(const struct options *o, struct messages *m)
{
    /* If an earlier write has failed, the stream has noted that, but its errno is lost: report
     * EIO. */
    int error = fflush(stdout) != 0 ? errno : ferror(stdout) ? EIO : 0;

    if (error == 0 && o->synchronous && o->to_stdout && io_synchronize(STDOUT_FILENO) != 0)
        error = errno == EINVAL || errno == EROFS ? 0 : errno;
    if (io_close(STDOUT_FILENO) != 0 && error == 0)
        error = errno;
    if (error != 0)
        msg_data_error(m, "stdout: %s", strerror(error));
}

/* Does all the work of the command.  Returns the exit status. */
static int run(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    struct messages m = {.program = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : PACKAGE_NAME};
    struct options o;
    bool may_exit = true, stdin_is_closed;

    if (!take_standard_descriptors(&stdin_is_closed))
        return STATUS_ERROR; /* print nothing, since the message could end up in a file */
    if (!options_parse(&o, argc, argv, &m)) {
        options_free(&o);
        return m.status;
    }
    o.stdin_is_closed = stdin_is_closed;
    testing_choose_engine();
    switch (o.action) {
    case ACTION_HELP:
        options_help(m.program);
        break;
    case ACTION_VERSION:
        version_print();
        break;
    case ACTION_LICENSE:
        options_license();
        break;
    case ACTION_LIST_MATCHERS:
        options_matchers();
        break;
    case ACTION_LIST_DEVICES:
        devices_list(o.json, &m);
        break;
    default:
        leave_prepare();
        choose_queues(pipeline_level(&o.pipeline));
        testing_configure(&o.pipeline);
        cleanup_init();
        if (destination_prepare(&o, &m))
            may_exit = operands_process(&o, &m);
        break;
    }
    if (!m.stop)
        close_stdout(&o, &m);
    if (!may_exit)
        leave(m.status);
    options_free(&o);
    return m.status;
}

/* --- Where the stack is small --- */

/* If the stack is smaller than this many bytes, the work is done on a thread with its own stack.
 * The loader and ISA-L alone take about 8 KiB each. */
#define STACK_MIN ((rlim_t)128 << 10)

/* The arguments and the result of the thread that does the work. */
struct call {
    int argc;
    char **argv;
    sigset_t signals; /* the signals that the process blocks */
    int status;
};

static void *run_call(void *argument)
{
    struct call *c = argument;

    pthread_sigmask(SIG_SETMASK, &c->signals, NULL);
    c->status = run(c->argc, c->argv);
    return NULL;
}

/* Runs the command on a new thread and waits for it.  Meanwhile, only the new thread takes signals.
 * False if no thread can be started. */
static bool run_in_thread(struct call *c)
{
    pthread_t thread;
    sigset_t all;
    bool is_started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &c->signals);
    is_started = thread_start(&thread, run_call, c);
    if (is_started)
        pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &c->signals, NULL);
    return is_started;
}

int main(int argc, char **argv)
{
    struct call c = {.argc = argc, .argv = argv};
    struct rlimit stack;

    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_MIN && run_in_thread(&c))
        return c.status;
    return run(argc, argv);
}
