/*
 * leave.c - ends a program that has used a GPU, without waiting for the driver (leave.h)
 */
#include "config.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/leave.h"

#ifdef LEAVE_HAS_CHILD
#include <sched.h>
#include <sys/prctl.h>
#endif

#define DESCRIPTORS 256

/* Descriptors that were open when leave_prepare was called. */
static bool inherited[DESCRIPTORS] = {true, true, true};

void leave_prepare(void)
{
    struct pollfd descriptors[DESCRIPTORS];
    const long most = sysconf(_SC_OPEN_MAX);
    const int count = most < 0 || most > DESCRIPTORS ? DESCRIPTORS : (int)most;

    for (int fd = 0; fd < count; fd++)
        descriptors[fd] = (struct pollfd){.fd = fd};
    if (poll(descriptors, (nfds_t)count, 0) < 0)
        return;
    for (int fd = 3; fd < count; fd++)
        inherited[fd] = (descriptors[fd].revents & POLLNVAL) == 0;
}

/* leave starts no child if there are this many zombies of earlier runs.  A few zombies are
 * harmless, because some processes collect their dead children only now and then. */
#define ZOMBIES_MAX 16

/* Look at no more than this many processes to count zombies.  1000 of them take about 10 ms. */
#define LOOKS_MAX 1000

#ifdef LEAVE_HAS_CHILD

/* Reads /proc/PID/stat, which is "PID (NAME) STATE PARENT ...".  Makes *rest point to the
 * parenthesis after NAME. */
static bool read_stat(pid_t pid, char line[256], const char **rest)
{
    char path[32];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    *rest = fgets(line, 256, file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    return *rest != NULL;
}

/* Counts the zombies called `name` among the children of a process.  Lowers *looks by one for each
 * child.  Returns ZOMBIES_MAX if there are more than *looks children, or if /proc does not tell. */
static int count_dead_children(pid_t pid, const char *name, int *looks)
{
    char path[64], line[256], dead[24];
    const char *rest;
    FILE *children;
    int child, count = 0;

    /* The system gives orphans to the process's first thread, as long as that thread lives. */
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    children = fopen(path, "re");
    if (children == NULL)
        return ZOMBIES_MAX;
    snprintf(dead, sizeof(dead), "(%s) Z", name);
    /* NOLINTNEXTLINE(cert-err34-c): the system writes these numbers, so they are in range */
    while (count < ZOMBIES_MAX && fscanf(children, "%d", &child) == 1) {
        if (--*looks < 0)
            count = ZOMBIES_MAX;
        else if (read_stat(child, line, &rest) && strstr(line, dead) != NULL)
            count++;
    }
    fclose(children);
    return count;
}

/* Returns the parent of a process; 0 if the parent is in another PID namespace, -1 if it is
 * unknown. */
static pid_t parent_of(pid_t pid)
{
    char line[256], state;
    const char *rest;
    int parent;

    /* If the process's first thread has ended (state Z), another thread gets its orphans, which
     * count_dead_children would not see. */
    /* NOLINTNEXTLINE(cert-err34-c): as above */
    if (!read_stat(pid, line, &rest) || sscanf(rest, ") %c %d", &state, &parent) != 2 ||
        state == 'Z')
        return -1;
    return parent;
}

/*
 * Estimates how many zombies earlier runs have left; ZOMBIES_MAX if it cannot.  The system gives an
 * orphan to the nearest ancestor that has asked for orphans (PR_SET_CHILD_SUBREAPER), otherwise to
 * process 1.  There is no way to find out which ancestors have asked.  So this function counts the
 * zombies of each ancestor, and returns the largest count.
 */
static int count_zombies(void)
{
    int looks = LOOKS_MAX, most = 0;
    char name[16] = "", self[16] = "";
    pid_t pid = getpid();

    prctl(PR_GET_NAME, name);
    /* /proc may show another PID namespace, where the same numbers mean other processes. */
    if (readlink("/proc/self", self, sizeof(self) - 1) < 0 || strtol(self, NULL, 10) != pid)
        return ZOMBIES_MAX;
    for (pid = getppid(); most < ZOMBIES_MAX; pid = parent_of(pid)) {
        int count;

        if (pid < 0 || --looks < 0)
            return ZOMBIES_MAX;
        count = count_dead_children(pid > 0 ? pid : 1, name, &looks);
        if (most < count)
            most = count;
        if (pid <= 1)
            break;
    }
    return most;
}

/* The child's work: waits until the parent, whose pidfd is *argument, has ended.  The child shares
 * thread-local data with a thread of the parent that may still run.  So the child may make system
 * calls only. */
static int stay(void *argument)
{
    struct pollfd parent = {.fd = *(int *)argument, .events = POLLIN};

    syscall(SYS_ppoll, &parent, 1, NULL, NULL, 0);
    return 0;
}

/* Whether this process is part of a batch system's job.  Batch systems set the variables below in
 * the environment of their jobs.  They count or kill the processes that a job leaves behind. */
static bool is_in_batch_job(void)
{
    static const char *const variables[] = {
        "SLURM_JOB_ID", "PBS_JOBID",  "LSB_JOBID",      "SGE_TASK_ID",
        "FLUX_JOB_ID",  "OAR_JOB_ID", "_CONDOR_JOB_AD", "KUBERNETES_SERVICE_HOST",
    };

    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        if (getenv(variables[i]) != NULL)
            return true;
    return false;
}

static void leave_child(void)
{
    /* Both objects are static, because the child uses them after this function has returned. */
    static _Alignas(64) unsigned char stack[16384];
    static int self;
    sigset_t all;

    if (is_in_batch_job() || count_zombies() >= ZOMBIES_MAX)
        return;
    self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self < 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    /* The flags name no signal, so the child sends none to this process when it ends. */
    (void)clone(stay, stack + sizeof(stack), CLONE_VM | CLONE_FILES, &self);
}

#else

static void leave_child(void)
{
}

#endif

void leave(int status)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (inherited[fd])
            close(fd);
    (void)!chdir("/");
    leave_child();
    _exit(status);
}
