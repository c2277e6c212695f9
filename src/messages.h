/*
 * messages.h - everything the command says on standard error, and the exit status that follows
 */
#ifndef GZLZSS_MESSAGES_H
#define GZLZSS_MESSAGES_H

#include <stdbool.h>

enum { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_WARNING = 2 };

struct messages {
    const char *program; /* the name the command was called by, which starts every line */
    bool quiet;          /* say no warnings */
    int status;          /* the exit status so far: an error outranks a warning */
};

/* "PROGRAM: NAME: ..." and a newline; without "NAME: " if name is NULL.  An error makes the exit
 * status 1; a warning makes it 2 unless it is 1, also when quiet. */
void msg_error(struct messages *m, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void msg_warning(struct messages *m, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same form for something that went as it should; the exit status stays. */
void msg_note(struct messages *m, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
