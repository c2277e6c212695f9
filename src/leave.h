/*
 * leave.h - the end of a program that has used a GPU
 */
#ifndef GZLZSS_LEAVE_H
#define GZLZSS_LEAVE_H

/*
 * Ends the process with this exit status, as _exit does, but does not make whoever waits for it wait
 * until the system has taken back the memory and the GPUs that it used, which takes the driver 0.1 s
 * or more.  A child that shares the memory and the descriptors keeps both alive until the process has
 * ended, and then ends, too; it does nothing else, and takes no signals.  Linkers that have a lot of
 * memory to give back do likewise (mold, by R. Ueyama).
 *
 * The three standard descriptors are closed, and the working directory is left, so that nobody waits
 * for these; other descriptors that the process was started with stay open for as long as the child is
 * there.  Where there can be no such child, this is no more than _exit.
 */
_Noreturn void leave(int status);

#endif
