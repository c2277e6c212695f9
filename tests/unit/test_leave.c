/*
 * test_leave.c - leave() ends a program that has used a GPU: the program's parent notices the end
 * at once, and nothing stays behind for ever
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/leave.h"
#include "tests/unit/unit.h"

#ifdef LEAVE_HAS_CHILD
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#endif

static void *wait_forever(void *argument)
{
    (void)argument;
    for (;;)
        pause();
    return NULL;
}

/* Starts a child process with several threads and some memory.  The child writes to its standard
 * output, which is `fd`, and calls leave(7).  Returns the child's exit status.  Sets *pid to its
 * process number. */
static int status_of_child(int fd, pid_t *pid)
{
    int status = -1;

    *pid = fork();
    if (*pid == 0) {
        const size_t size = (size_t)16 << 20;
        void *memory = unit_need(malloc(size));
        pthread_t thread;

        leave_prepare();
        dup2(fd, STDOUT_FILENO);
        memset(memory, 1, size);
        for (int i = 0; i < 4; i++)
            if (pthread_create(&thread, NULL, wait_forever, memory) != 0)
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

    if (!CHECK(pipe(ends) == 0) || !CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0))
        return;
    CHECK_EQ(status_of_child(ends[1], &pid), 7);
    close(ends[1]);
    CHECK_EQ(read(ends[0], text, sizeof(text)), 4);
    /* The process that stays behind keeps no descriptor open, neither the output's nor any
     * other. */
    CHECK_EQ(read(ends[0], text, sizeof(text)), 0);
    close(ends[0]);
}

#ifdef LEAVE_HAS_CHILD

/* True if a process can stay behind.  (qemu-user, an emulator of processors, supports neither the
 * prctl below nor the clone that leave() needs.) */
static bool can_stay(void)
{
    const long pidfd = syscall(SYS_pidfd_open, getpid(), 0);

    if (pidfd >= 0)
        close((int)pidfd);
    return pidfd >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 0) == 0 &&
           access("/proc/1/task/1/children", R_OK) == 0;
}

/* The process that stays behind becomes a child of the process that takes over orphans, which is
 * this test. */
static void test_what_stays(void)
{
    int ends[2], status = -1;
    pid_t pid, other;

    if (!can_stay())
        return;
    if (!CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) || !CHECK(pipe(ends) == 0))
        return;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(status_of_child(ends[1], &pid), 7);
        other = waitpid(-1, &status, 0);
        CHECK(other > 0 && other != pid);
        CHECK_EQ(status, 0);
        CHECK(waitpid(-1, &status, 0) == -1 && errno == ECHILD);
    }
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
    close(ends[0]);
    close(ends[1]);
}

/* The variables that batch systems set in their jobs.  The tests may themselves run in such a
 * job. */
static const char *const job_variables[] = {
    "SLURM_JOB_ID", "PBS_JOBID",  "LSB_JOBID",      "SGE_TASK_ID",
    "FLUX_JOB_ID",  "OAR_JOB_ID", "_CONDOR_JOB_AD", "KUBERNETES_SERVICE_HOST",
};
enum { JOB_VARIABLES = sizeof(job_variables) / sizeof(*job_variables) };

/* In a batch system's job, no process stays behind. */
static void test_batch_job(void)
{
    int ends[2], status = -1;
    pid_t pid;

    if (!can_stay())
        return;
    if (!CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) || !CHECK(pipe(ends) == 0))
        return;
    for (int i = 0; i < JOB_VARIABLES; i++) {
        CHECK(setenv(job_variables[i], "1", 1) == 0);
        CHECK_EQ(status_of_child(ends[1], &pid), 7);
        CHECK(waitpid(-1, &status, 0) == -1 && errno == ECHILD);
        CHECK(unsetenv(job_variables[i]) == 0);
    }
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
    close(ends[0]);
    close(ends[1]);
}

/* The work of a process 1 that waits only for its own children: it starts 24 programs that call
 * leave().  Returns how many zombies it has at the end, or 100 on an error. */
static int process_one(void)
{
    int ends[2], dead = 0;
    pid_t pid;

    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0 || !can_stay())
        return 77;
    if (pipe(ends) != 0)
        return 100;
    for (int i = 0; i < 24; i++)
        if (status_of_child(ends[1], &pid) != 7)
            return 100;
    while (waitpid(-1, NULL, 0) > 0)
        dead++;
    return dead;
}

/* The work of a process that takes over orphans but does not wait for them.  24 programs that call
 * leave() run as its children or, with `between`, as children of a child that ends.  Returns how
 * many zombies there are at the end, or 100 on an error. */
static int subreaper(bool between)
{
    int ends[2], dead = 0, status = -1;
    pid_t pid, parent;

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || pipe(ends) != 0)
        return 100;
    for (int i = 0; i < 24; i++) {
        parent = between ? fork() : 0;
        if (parent == 0 && status_of_child(ends[1], &pid) != 7)
            _exit(100);
        if (between && parent == 0)
            _exit(0);
        if (between && (waitpid(parent, &status, 0) != parent || status != 0))
            return 100;
    }
    while (waitpid(-1, NULL, 0) > 0)
        dead++;
    return dead;
}

/* If an ancestor takes orphans but does not wait for them, the number of zombies stays limited. */
static void test_subreaper(void)
{
    for (int between = 0; can_stay() && between < 2; between++) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0)
            _exit(subreaper(between != 0));
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        CHECK(WEXITSTATUS(status) >= 16 && WEXITSTATUS(status) < 24);
    }
}

/* If process 1 does not wait for orphans, the number of zombies stays limited. */
static void test_no_burial(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0 &&
            unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
            _exit(77);
        pid = fork();
        if (pid == 0)
            _exit(process_one());
        if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
            _exit(100);
        _exit(WEXITSTATUS(status));
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        printf("# test_no_burial: not allowed to be process 1\n");
    else
        CHECK(WEXITSTATUS(status) >= 16 && WEXITSTATUS(status) < 24);
}

#endif

int main(void)
{
    RUN(test_status_and_output);
#ifdef LEAVE_HAS_CHILD
    for (int i = 0; i < JOB_VARIABLES; i++)
        unsetenv(job_variables[i]);
    RUN(test_what_stays);
    RUN(test_batch_job);
    RUN(test_subreaper);
    RUN(test_no_burial);
#endif
    return unit_done();
}
