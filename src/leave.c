/*
 * leave.c - the end of a program that has used a GPU (leave.h)
 */
#include "config.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/leave.h"

#ifdef LEAVE_HAS_CHILD
#include <sched.h>
#include <sys/prctl.h>
#endif

#define DESCRIPTORS 256

/* Those that were open at first. */
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

/* So many may lie there: some take notice only now and then. */
#define ZOMBIES_MAX 16

#ifdef LEAVE_HAS_CHILD

/* How many dead children of earlier runs process 1 has taken no notice of yet; ZOMBIES_MAX if that
 * cannot be seen. */
static int count_zombies(void)
{
    FILE *children = fopen("/proc/1/task/1/children", "re");
    char name[16] = "", dead[24], path[32], line[256];
    int child, count = 0;

    if (children == NULL)
        return ZOMBIES_MAX;
    prctl(PR_GET_NAME, name);
    snprintf(dead, sizeof(dead), "(%s) Z", name);
    while (fscanf(children, "%d", &child) == 1) {
        FILE *status;

        snprintf(path, sizeof(path), "/proc/%d/stat", child);
        status = fopen(path, "re");
        if (status == NULL)
            continue;
        if (fgets(line, sizeof(line), status) != NULL && strstr(line, dead) != NULL)
            count++;
        fclose(status);
    }
    fclose(children);
    return count;
}

/* Waits for the end of the process that the descriptor is about.  The parent's thread-local data
 * are this thread's as well, and that thread may still be at work: so nothing but a system call. */
static int stay(void *argument)
{
    struct pollfd parent = {.fd = *(int *)argument, .events = POLLIN};

    syscall(SYS_ppoll, &parent, 1, NULL, NULL, 0);
    return 0;
}

static void leave_child(void)
{
    /* Both outlive this function, and this process. */
    static _Alignas(64) unsigned char stack[16384];
    static int self;
    sigset_t all;

    if (count_zombies() >= ZOMBIES_MAX)
        return;
    self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self < 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    /* No signal to this process when it ends: only one that has taken it over will see that. */
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
