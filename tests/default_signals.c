/*
 * default_signals.c - runs a command with the default actions of all signals
 *
 *     default_signals COMMAND [ARGUMENT...]
 *
 * A process that ignores a signal (under nohup, as a background job of a script, or started from
 * Python) passes that on to its children, and a shell's trap cannot undo it.  The tests send
 * signals, close pipes and set limits, and need the default actions, as users have them.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    sigset_t none;

    if (argc < 2) {
        fprintf(stderr, "usage: default_signals COMMAND [ARGUMENT...]\n");
        return 2;
    }
    /* For SIGKILL, SIGSTOP and numbers that are not signals, the call fails without harm. */
    for (int s = 1; s <= SIGRTMAX; s++)
        signal(s, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
