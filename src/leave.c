/*
 * leave.c - ends a program that has used a GPU, without a wait for the driver (leave.h)
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

/* The number of zombies from which leave starts no child.  Some processes wait for their children
 * only now and then, so a few zombies mean nothing. */
#define ZOMBIES_MAX 16

/* The most processes to look at for zombies.  1000 take some 10 ms. */
#define LOOKS_MAX 1000

#ifdef LEAVE_HAS_CHILD

/* Reads /proc/PID/stat, "PID (NAME) STATE PARENT ...".  *rest points to the part from ") STATE"
 * on. */
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

/* The number of zombies that are children of the process and were called `name`.  ZOMBIES_MAX if
 * that cannot be seen, or takes more looks than *looks. */
static int count_dead_children(pid_t pid, const char *name, int *looks)
{
    char path[64], line[256], dead[24];
    const char *rest;
    FILE *children;
    int child, count = 0;

    /* An orphan becomes a child of the process's first thread, as long as that lives. */
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    children = fopen(path, "re");
    if (children == NULL)
        return ZOMBIES_MAX;
    snprintf(dead, sizeof(dead), "(%s) Z", name);
    while (count < ZOMBIES_MAX && fscanf(children, "%d", &child) == 1) {
        if (--*looks < 0)
            count = ZOMBIES_MAX;
        else if (read_stat(child, line, &rest) && strstr(line, dead) != NULL)
            count++;
    }
    fclose(children);
    return count;
}

/* The parent of a process; 0 if the parent is in another PID namespace, -1 if it cannot be told. */
static pid_t parent_of(pid_t pid)
{
    char line[256], state;
    const char *rest;
    int parent;

    /* If a process's first thread has ended, another thread gets the orphans. */
    if (!read_stat(pid, line, &rest) || sscanf(rest, ") %c %d", &state, &parent) != 2 ||
        state == 'Z')
        return -1;
    return parent;
}

/*
 * The number of zombies from earlier runs; ZOMBIES_MAX if that cannot be seen.  An orphan goes to
 * the nearest ancestor that has asked for orphans (PR_SET_CHILD_SUBREAPER), or else to process 1.
 * Nothing tells which ancestors have asked.  So the result is the largest number that any ancestor
 * has.
 */
static int count_zombies(void)
{
    int looks = LOOKS_MAX, most = 0;
    char name[16] = "", self[16] = "";
    pid_t pid = getpid();

    prctl(PR_GET_NAME, name);
    /* /proc may belong to another namespace, where the same numbers mean other processes. */
    if (readlink("/proc/self", self, sizeof(self) - 1) < 0 || atoi(self) != pid)
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

/* Waits until the process of the pidfd *argument ends.  The child shares thread-local data with a
 * thread of the parent that may still run: so do nothing here but a system call. */
static int stay(void *argument)
{
    struct pollfd parent = {.fd = *(int *)argument, .events = POLLIN};

    syscall(SYS_ppoll, &parent, 1, NULL, NULL, 0);
    return 0;
}

/* Whether a batch system runs this process as part of a job: it sets one of these variables.  It
 * counts or kills the processes that a job leaves behind. */
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
    /* The child uses both after this function, and this process, have ended. */
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
    /* The child sends no signal when it ends: only a process that has adopted it notices. */
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
