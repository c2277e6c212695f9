/*
 * test_leave.c - the end of a program that has used a GPU: who waits for it is told at once, and
 * nothing stays behind
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "src/leave.h"
#include "tests/unit/unit.h"

static void *wait_forever(void *argument)
{
    (void)argument;
    for (;;)
        pause();
    return NULL;
}

/* The exit status of a child that leaves with 7, in a process with several threads, after it has
 * written to `fd` as its standard output.  *pid is its process. */
static int status_of_child(int fd, pid_t *pid)
{
    int status = -1;

    *pid = fork();
    if (*pid == 0) {
        pthread_t thread;

        dup2(fd, STDOUT_FILENO);
        close(fd);
        for (int i = 0; i < 4; i++)
            if (pthread_create(&thread, NULL, wait_forever, NULL) != 0)
                _exit(1);
        if (write(STDOUT_FILENO, "done", 4) != 4)
            _exit(2);
        leave(7);
    }
    if (*pid < 0 || waitpid(*pid, &status, 0) != *pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static void test_status_and_output(void)
{
    char text[8];
    int ends[2];
    pid_t pid;

    if (!CHECK(pipe(ends) == 0))
        return;
    CHECK_EQ(status_of_child(ends[1], &pid), 7);
    close(ends[1]);
    CHECK_EQ(read(ends[0], text, sizeof(text)), 4);
    /* Its end is closed, whatever stays. */
    CHECK_EQ(read(ends[0], text, sizeof(text)), 0);
    close(ends[0]);
}

/* What stays comes to whoever takes orphans over: that is us now. */
static void test_what_stays(void)
{
#if defined(__linux__) && defined(SYS_pidfd_open) && !defined(__SANITIZE_THREAD__)
    const long pidfd = syscall(SYS_pidfd_open, getpid(), 0);
    int ends[2], status = -1;
    pid_t pid, other;

    if (pidfd < 0)
        return;
    close((int)pidfd);
    if (!CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) || !CHECK(pipe(ends) == 0))
        return;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(status_of_child(ends[1], &pid), 7);
        other = waitpid(-1, &status, 0);
        CHECK(other > 0 && other != pid);
        CHECK_EQ(status, 0);
        CHECK(waitpid(-1, &status, 0) == -1 && errno == ECHILD);
    }
    close(ends[0]);
    close(ends[1]);
#endif
}

int main(void)
{
    RUN(test_status_and_output);
    RUN(test_what_stays);
    return unit_done();
}
