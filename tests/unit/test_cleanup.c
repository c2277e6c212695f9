/*
 * test_cleanup.c - the signal handler waits for a thread that creates or removes a file, and uses
 * no processor time meanwhile; it removes only the outputs that are not done
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "src/cleanup.h"
#include "tests/unit/unit.h"

/* Two pipes.  When the child's thread is between cleanup_hold and cleanup_release, it writes to
 * `inside`.  The thread stays there until it can read from `leave`. */
static int inside[2], leave[2];

static void *hold_and_wait(void *argument)
{
    static struct cleanup_output output = {.directory = AT_FDCWD};
    sigset_t before;
    char c;

    output.name = argument;
    cleanup_hold(&before);
    cleanup_arm(&output);
    if (write(inside[1], "i", 1) != 1 || read(leave[0], &c, 1) != 1)
        _exit(1);
    cleanup_release(&before);
    return NULL;
}

/* The work of the child process, whose thread is between cleanup_hold and cleanup_release when the
 * signal comes. */
static _Noreturn void run_child(char *name)
{
    pthread_t thread;

    signal(SIGINT, SIG_DFL);
    cleanup_init();
    if (!thread_start(&thread, hold_and_wait, name))
        _exit(2);
    for (;;)
        pause();
}

/* Returns the seconds of processor time that a process has used. */
static double cpu_seconds(pid_t pid)
{
    struct timespec t = {0};
    clockid_t clock;

    CHECK(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void test_waits_asleep(void)
{
    char name[] = "test_cleanup.XXXXXX", c;
    const int file = mkstemp(name);
    int status = -1;
    double before;
    pid_t pid;

    if (!CHECK(file >= 0) || !CHECK(pipe(inside) == 0) || !CHECK(pipe(leave) == 0))
        return;
    close(file);
    pid = fork();
    if (pid == 0)
        run_child(name);
    if (!CHECK(pid > 0) || !CHECK(read(inside[0], &c, 1) == 1))
        return;
    before = cpu_seconds(pid);
    CHECK(kill(pid, SIGINT) == 0);
    usleep(500000);
    CHECK(waitpid(pid, &status, WNOHANG) == 0);
    CHECK(access(name, F_OK) == 0);
    CHECK(cpu_seconds(pid) - before < 0.05);
    CHECK(write(leave[1], "l", 1) == 1);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    CHECK(access(name, F_OK) != 0);
    unlink(name);
}

/* Outputs that are done, in any order, are not removed; the others are. */
static void test_removes_what_is_not_done(void)
{
    static const int orders[][2] = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};

    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
        char names[3][sizeof("test_cleanup.XXXXXX")];
        struct cleanup_output outputs[3];
        int status = -1;
        pid_t pid;

        for (size_t k = 0; k < 3; k++) {
            strcpy(names[k], "test_cleanup.XXXXXX");
            close(mkstemp(names[k]));
            outputs[k] = (struct cleanup_output){.directory = AT_FDCWD, .name = names[k]};
        }
        pid = fork();
        if (pid == 0) {
            signal(SIGINT, SIG_DFL);
            cleanup_init();
            for (size_t k = 0; k < 3; k++)
                cleanup_arm(&outputs[k]);
            for (size_t k = 0; k < 2; k++)
                cleanup_disarm(&outputs[orders[i][k]]);
            raise(SIGINT);
            _exit(1);
        }
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        for (int k = 0; k < 3; k++)
            CHECK_EQ(unlink(names[k]) == 0, k == orders[i][0] || k == orders[i][1]);
    }
}

int main(void)
{
    RUN(test_waits_asleep);
    RUN(test_removes_what_is_not_done);
    return unit_done();
}
