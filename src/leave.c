/*
 * leave.c - the end of a program that has used a GPU (leave.h)
 */
#include "config.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#endif

#include "src/leave.h"

/* ThreadSanitizer takes any clone for a fork, which does not share its memory. */
#if defined(__linux__) && defined(SYS_pidfd_open) && !defined(__SANITIZE_THREAD__)

/* Waits for the end of the process that the descriptor is about.  The parent's thread-local data are
 * this thread's as well, and that thread may still be at work: so nothing but system calls. */
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

    self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self < 0)
        return;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
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
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    (void)!chdir("/");
    leave_child();
    _exit(status);
}
