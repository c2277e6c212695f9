/*
 * messages.h - everything the command says on standard error, and the exit status that follows
 *
 * Messages are GNU gzip's, word for word, after the name the program was called by.  What belongs to
 * one file of many that are worked on side by side is collected, and printed when that file's turn
 * comes, so that it reads as if one had been done after the other.
 */
#ifndef GZLZSS_MESSAGES_H
#define GZLZSS_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

/* gzip's exit statuses. */
enum status { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_WARNING = 2 };

struct messages {
    const char *program;
    bool quiet; /* no warnings, though they count */
    enum status status;
    bool
        stop; /* after an error of the kind that makes gzip end at once, without the operands left */

    bool collect; /* keep what is said until msg_flush */
    char *text;
    size_t length, room;
};

/* Each is one line: "PROGRAM: ", what the format makes, and the line's end; that of an error and of a
 * warning changes the status. */
void msg_error(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void msg_warning(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void msg_note(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An error in the data, or in reading or writing it, which gzip starts on a new line. */
void msg_data_error(struct messages *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What the format makes, as it is. */
void msg_print(struct messages *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints what was collected and frees it. */
void msg_flush(struct messages *m);

/* Frees what was collected without printing it. */
void msg_discard(struct messages *m);

/* Makes `from`'s status `to`'s, if it is worse. */
void msg_merge_status(struct messages *to, const struct messages *from);

#endif
