/*
 * default_signals.c - runs a command with all signals as they are by default
 *
 *     default_signals COMMAND [ARGUMENT...]
 *
 * A process that starts with a signal ignored (under nohup, as a background job of a script, from
 * Python) passes that on, and a shell's trap cannot undo it.  The tests send signals, close pipes
 * and set limits, and must see the same as users.
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
    /* For SIGKILL, SIGSTOP and numbers without a signal this fails and does no harm. */
    for (int s = 1; s <= SIGRTMAX; s++)
        signal(s, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
